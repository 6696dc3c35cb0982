/* SPDX-License-Identifier: BSD-3-Clause */
/* A private copy of the arena, in place of the mapping of the fabric's file: apart.h says why. */
#define _GNU_SOURCE
#include "apart.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/nic_process.h"
#include "lock.h"
#include "emu/payload/peer.h"
#include "shared.h"

static bool read_range(int fd, uint8_t *copy, off_t at, off_t end)
{
	while (at < end) {
		ssize_t got = pread(fd, copy + at, (size_t)(end - at), at);

		if (got <= 0)
			return false;
		at += got;
	}
	return true;
}

/* Holes of the file stay pages of the copy that nothing was written to. */
static bool read_arena(const struct emu_membership *m, uint8_t *copy)
{
	off_t size = (off_t)m->mapped.size, at = 0, end = 0;

	while (at < size) {
		at = lseek(m->fd, end, SEEK_DATA);
		if (at < 0)
			return errno == ENXIO;
		end = lseek(m->fd, at, SEEK_HOLE);
		if (end < 0 || !read_range(m->fd, copy, at, end < size ? end : size))
			return false;
		at = end;
	}
	return true;
}

/*
 * Threads that sleep do so on the file's pages, where no process will wake them. Those that are
 * about to sleep find another value, which the copy has as well.
 */
static void wake_sleepers(struct emu_world *w)
{
	struct emu_process *p = emu_process(w, w->process);

	emu_lockstep_rouse(w, true);
	__atomic_fetch_add(&p->futex, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &p->futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Has the holder, which was to be stopped, gone on while its arena was being copied? */
static bool is_unchanged(const struct emu_fabric *fab, const struct emu_fabric *copy, uint32_t word)
{
	return __atomic_load_n(&fab->lock.word, __ATOMIC_ACQUIRE) == word &&
	       fab->shared.section.after.sequence == copy->shared.section.after.sequence &&
	       fab->sequence == copy->sequence;
}

static struct emu_fabric *copy_arena(struct emu_world *w, uint32_t word)
{
	const struct emu_membership *m = w->membership;
	void *copy = mmap(NULL, m->mapped.size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (copy == MAP_FAILED)
		return NULL;
	if (read_arena(m, copy) && is_unchanged(w->fab, copy, word))
		return copy;
	munmap(copy, m->mapped.size);
	return NULL;
}

/* What the file's processes share with each other, and a process alone does not need. */
static void forget_others(struct emu_world *w, struct emu_fabric *copy)
{
	struct emu_shared *shared = &copy->shared;

	shared->stays =
		true; /* it is not for this process to end the fabric, or to write its trace */
	shared->trace_path[0] = '\0';
	shared->lockstep.held = 0;
	if (shared->lockstep.handed.process != w->process)
		shared->lockstep.handed.length = 0;
	emu_lock_keep(&copy->lock, &w->fab->lock);
}

static bool move_in(struct emu_world *w, uint32_t word)
{
	struct emu_membership *m = w->membership;
	struct emu_fabric *copy;

	wake_sleepers(w);
	copy = copy_arena(w, word);
	if (!copy)
		return false;
	forget_others(w, copy);
	/* One step for the other threads of this process, which may read the arena. */
	if (mremap(copy, m->mapped.size, m->mapped.size, MREMAP_MAYMOVE | MREMAP_FIXED, w->fab) ==
	    MAP_FAILED) {
		munmap(copy, m->mapped.size);
		return false;
	}
	madvise(w->fab, m->mapped.size, MADV_DONTFORK);
	madvise(w->fab, m->mapped.size, MADV_DONTDUMP);
	m->apart = true;
	m->nonce = 0;
	emu_peer_forget_all(w);
	emu_lockstep_forget_tasks(m);
	emu_shared_unlock_byte(w);
	emu_shared_close(m);
	return true;
}

bool emu_apart(struct emu_world *w, uint32_t word)
{
	uint16_t holder = w->fab->holder;
	int cancel = process_cancel_hold();
	bool moved = move_in(w, word);

	process_cancel_release(cancel);
	if (moved)
		fprintf(stderr,
			"libdat: shared fabric %s: this process has left it, and its adapters "
			"fail: thread %u%s%.31s is stopped and does not release its lock; let it "
			"continue or kill it, and reopen its adapters (DATSIM_LOCK_MS)\n",
			w->membership->path, word & FUTEX_TID_MASK, holder ? " of " : "",
			holder ? emu_process(w, holder)->node : "");
	return moved;
}
