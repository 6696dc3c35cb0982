/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lockstep: processes that end or begin while the fabric goes on.
 *
 * A process leaves the fabric in its turn, and exits. Its descriptors are closed by the kernel some
 * time later, which its peers and its parent notice: a read finds the end of a stream, a waitpid
 * finds the child. So the turn is not passed on before the kernel has done all of that. The helpers
 * of the other processes look at the one that ends, every EMU_NAP_NS. A process that replaces its
 * program by exec leaves in the same way; its new program joins and goes on with the turn.
 *
 * A process that forks keeps the turn until its child has joined, so that the child takes its place
 * among the others at the same point in each run.
 *
 * Both are bounded in real time, by DATSIM_LOCKSTEP; the trace then says "preempted".
 */
#include <unistd.h>

#include "lockstep.h"
#include "emu/shared/shared.h"
#include "emu/fabric/trace.h"

#define BUSY_TIMES 20u /* a process that is busy has so many times the bound */

static struct emu_lockstep *lockstep_of(struct emu_world *w)
{
	return &w->fab->shared.lockstep;
}

/* Any other value than that of emu_lockstep_held_by is garbage. */
static int32_t pid_of(uint64_t word)
{
	int32_t pid = (int32_t)(uint32_t)word;

	return pid > 0 && word == emu_lockstep_held_by(pid) ? pid : 0;
}

/*
 * One more look at that process: has this process looked for long enough? One that runs, or waits
 * for a processor, is given more time.
 */
static bool lost_patience(struct emu_world *w, struct emu_patience *patience, int32_t pid)
{
	if (patience->pid != pid)
		*patience = (struct emu_patience){ .pid = pid };
	patience->naps += emu_lockstep_task_busy(pid) ? 1 : BUSY_TIMES;
	return (uint64_t)patience->naps * EMU_NAP_NS >= BUSY_TIMES * w->membership->bound_ns;
}

/* ---- the end of a process ---- */

void emu_lockstep_await_end(struct emu_world *w, int32_t pid)
{
	lockstep_of(w)->leaver = emu_lockstep_held_by(pid);
	emu_shared_rouse(w);
}

bool emu_lockstep_leaves(const struct emu_lockstep *ls)
{
	return pid_of(ls->leaver) != 0;
}

bool emu_lockstep_look_at_leaver(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);
	struct emu_membership *m = w->membership;
	int32_t pid = pid_of(ls->leaver);
	char place[EMU_PLACE];
	bool gone = pid == 0 || emu_lockstep_task_gone(pid);

	if (!gone && !lost_patience(w, &m->leaver, pid))
		return false;
	if (!gone)
		emu_trace(w, "- note preempted: a process that has left does not end%s",
			  emu_lockstep_place(pid, pid, place, sizeof(place)));
	m->leaver = (struct emu_patience){ 0 };
	ls->leaver = 0;
	emu_shared_clean_up_dead(w, 0);
	emu_lockstep_ready_outside(w);
	return true;
}

bool emu_lockstep_leaver_stays(struct emu_world *w)
{
	if (!emu_lockstep_leaves(lockstep_of(w)))
		return false;
	if (!emu_lockstep_look_at_leaver(w))
		return true;
	/* As after a clean-up that found it dead: who saw it first must not matter. */
	emu_lockstep_kick(w);
	return false;
}

/* ---- the beginning of one ---- */

bool emu_lockstep_is_comer(struct emu_world *w)
{
	const struct emu_lockstep *ls = lockstep_of(w);

	return (ls->parent && pid_of(ls->parent) == getppid()) ||
	       (ls->leaver && pid_of(ls->leaver) == w->membership->pid);
}

void emu_lockstep_came(struct emu_world *w)
{
	struct emu_lockstep *ls = lockstep_of(w);

	if (ls->parent && pid_of(ls->parent) == getppid())
		ls->parent = 0;
	if (!ls->leaver || pid_of(ls->leaver) != w->membership->pid)
		return;
	ls->leaver = 0;
	emu_lockstep_ready_outside(w); /* exec has closed descriptors */
}

void emu_lockstep_await_child(struct emu_world *w)
{
	lockstep_of(w)->parent = emu_lockstep_held_by(w->membership->pid);
}

bool emu_lockstep_awaits_child(struct emu_world *w)
{
	return pid_of(lockstep_of(w)->parent) == w->membership->pid;
}

bool emu_lockstep_expects_process(struct emu_world *w, int pid)
{
	struct emu_lockstep *ls = lockstep_of(w);
	struct emu_membership *m = w->membership;

	if (!emu_lockstep_awaits_child(w))
		return false;
	if (pid > 0 && !emu_lockstep_task_gone(pid)) {
		if (!lost_patience(w, &m->comer, pid))
			return true;
		emu_trace(w, "- note preempted: a process that %s has started does not join",
			  emu_process(w, w->process)->node);
	}
	ls->parent = 0;
	m->comer = (struct emu_patience){ 0 };
	return false;
}

/* ---- a process without an adapter ---- */

/* For emu_lockstep_wait: the door's `sleep`. */
static enum nic_wait sleep_between(void *ctx, uint64_t until)
{
	const struct nic_unlocked *unlocked = ctx;

	(void)until;
	unlocked->unlock(unlocked->ctx);
	unlocked->lock(unlocked->ctx);
	return NIC_WAIT_RAN;
}

enum nic_wait emu_lockstep_pause(struct emu_world *w, uint64_t deadline,
				 const struct nic_unlocked *unlocked)
{
	const struct nic_upcalls up = { .sleep = sleep_between };
	struct nic nic = { .up = &up, .ctx = (void *)(uintptr_t)unlocked };

	return emu_lockstep_wait(w, &nic, 0, deadline);
}
