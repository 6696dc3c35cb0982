/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies payload between processes: with process_vm_readv and process_vm_writev where the kernel
 * permits it, else through the receiver's inbox.
 */
#include "reach.h"

#include <string.h>
#include <sys/uio.h>

#include "inbox.h"
#include "emu/mem.h"
#include "shared.h"

#define LAST_BYTES 8u

void emu_reach_place(uint64_t to, const void *from, uint64_t length)
{
	uint64_t first = length > LAST_BYTES ? length - LAST_BYTES : 0;

	/*
	 * Programs poll the last word, as they do on hardware; all other bytes are visible before
	 * it.
	 */
	memmove(emu_memory(to), from, first);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memmove(emu_memory(to + first), (const uint8_t *)from + first, length - first);
}

static bool read_from(const struct emu_process *p, uint64_t addr, void *to, uint64_t length)
{
	struct iovec local = { to, length }, remote = { emu_memory(addr), length };

	return process_vm_readv(p->pid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

static bool write_to(const struct emu_process *p, uint64_t addr, void *from, uint64_t length)
{
	struct iovec local = { from, length }, remote = { emu_memory(addr), length };

	return process_vm_writev(p->pid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

/* In another pid namespace the pid may mean another process; the nonce tells them apart. */
static bool probe_process(const struct emu_process *p)
{
	uint64_t nonce = 0;

	return p->nonce && read_from(p, p->probe, &nonce, sizeof(nonce)) && nonce == p->nonce;
}

/* The table entry has a new process. */
static void forget_process(struct emu_membership *m, uint16_t process)
{
	m->reachable &= ~(1ul << (process - 1));
	m->unreachable &= ~(1ul << (process - 1));
}

bool emu_reach_process(struct emu_world *w, uint16_t process)
{
	struct emu_membership *m = w->membership;
	uint64_t bit = 1ul << (process - 1);

	if (process == w->process)
		return true;
	if (m->bounce || !process || process > EMU_PROCESSES)
		return false;
	if (m->generation[process] != emu_process(w, process)->generation)
		forget_process(m, process);
	m->generation[process] = emu_process(w, process)->generation;
	if (!((m->reachable | m->unreachable) & bit)) {
		if (probe_process(emu_process(w, process)))
			m->reachable |= bit;
		else
			m->unreachable |= bit;
	}
	return m->reachable & bit;
}

bool emu_reach_copy(struct emu_world *w, const struct emu_place *to, const struct emu_place *from,
		    uint64_t length)
{
	void *target = emu_memory(to->addr), *source = emu_memory(from->addr);

	if (!to->process || !from->process)
		return false; /* the process is gone */
	/* Addresses in this process are checked against its own list of regions. */
	if ((to->process == w->process && !emu_mr_is_here(w, to->addr, length)) ||
	    (from->process == w->process && !emu_mr_is_here(w, from->addr, length)))
		return false;
	if (to->process == w->process && from->process == w->process) {
		emu_reach_place(to->addr, source, length);
		return true;
	}
	if (to->process == w->process)
		return emu_reach_process(w, from->process) &&
		       read_from(emu_process(w, from->process), from->addr, target, length);
	if (from->process != w->process)
		return false; /* does not happen: runner.c chose a process at one end */
	if (emu_reach_process(w, to->process))
		return write_to(emu_process(w, to->process), to->addr, source, length);
	return emu_inbox_copy(w, to->process, to->addr, source, length);
}
