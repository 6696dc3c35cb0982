/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The biased lock, the rare side: the choice of an owner, closing the gate against it, and the end
 * of the bias. bias.h explains the scheme and has the owner's fast side.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"
#include "nic_process.h"
#include "say.h"

#define YIELDS       16
#define PAUSE_MAX_NS 1000000
#define BARRIER_NS   100000000

static struct bias_cell nowhere;
__thread struct bias_cell *bias_cell = &nowhere;
struct bias_cell bias_first;
static bool first_taken;
/* For two backends that choose an owner at the same time. */
static pthread_mutex_t cells_lock = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((constructor)) cells_begin(void)
{
	backend_fork_lock(FORK_LOCK_CELLS, &cells_lock);
}

void bias_start(struct bias *bias)
{
	if (!bias->possible && !bias->ended)
		bias->possible = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
					 0, 0) == 0;
}

void bias_forget(struct bias *bias)
{
	*bias = (struct bias){ .by_first = bias->by_first };
	bias_cell = &nowhere;
	bias_first.inside = 0;
	first_taken = false;
}

/*
 * A quick call takes well below a microsecond, unless its thread has lost its processor, perhaps to
 * this one. So yield first, then sleep for longer and longer pauses, up to a millisecond.
 */
static void wait_until_outside(const struct bias_cell *owner)
{
	struct timespec pause = { .tv_nsec = 1000 };
	int cancel = process_cancel_hold();

	for (int tries = 0; __atomic_load_n(&owner->inside, __ATOMIC_ACQUIRE); tries++) {
		if (tries < YIELDS) {
			sched_yield();
			continue;
		}
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
	}
	process_cancel_release(cancel);
}

/*
 * The kernel refuses membarrier now, though it had agreed: a seccomp filter was loaded meanwhile.
 * The owner's store of `inside` becomes visible without it, when its processor has written it back:
 * within microseconds, and at the latest when the thread is interrupted. Wait much longer than
 * that, once, and do without an owner from then on.
 */
static void barrier_refused(void)
{
	struct timespec pause = { .tv_nsec = BARRIER_NS };
	int cancel = process_cancel_hold();

	say("the kernel refuses membarrier, which it allowed at the start (%s): calls are slower "
	    "from now on; let the process's seccomp filter allow membarrier, or load it before the "
	    "first adapter is opened",
	    strerror(errno));
	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
	process_cancel_release(cancel);
}

/*
 * With the lock: close the gate; on return the owner is in no quick call until the gate opens,
 * which may be never.
 */
static void shut_out_owner(struct bias *bias)
{
	__atomic_store_n(&bias->gate, NULL, __ATOMIC_SEQ_CST);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0)) {
		barrier_refused();
		bias->ended = true;
	}
	wait_until_outside(bias->owner);
	if (bias->ended)
		bias->owner = NULL;
}

static void open_gate(struct bias *bias)
{
	__atomic_store_n(&bias->gate, bias->owner, __ATOMIC_RELEASE);
}

static bool is_owner(const struct bias *bias)
{
	return bias->owner == bias_cell;
}

/* A cell is never freed: after its thread has ended, a waiter may still read it. */
static struct bias_cell *new_cell(void)
{
	static struct kept {
		struct bias_cell cell;
		SLIST_ENTRY(kept) link;
	} * kept;
	static SLIST_HEAD(, kept) all;
	struct bias_cell *cell = &bias_first;

	pthread_mutex_lock(&cells_lock);
	if (first_taken) {
		kept = calloc(1, sizeof(*kept));
		if (kept)
			SLIST_INSERT_HEAD(&all, kept, link);
		cell = kept ? &kept->cell : NULL;
	}
	first_taken = true;
	pthread_mutex_unlock(&cells_lock);
	return cell;
}

/* Make the calling thread the owner; without memory for a cell, the lock stays without one. */
static void become_owner(struct bias *bias)
{
	struct bias_cell *cell = bias_cell == &nowhere ? new_cell() : bias_cell;

	if (!cell)
		return;
	bias_cell = cell;
	if (bias->by_first && cell != &bias_first) {
		bias->ended = true;
		return;
	}
	bias->owner = cell;
	open_gate(bias);
}

void bias_stop(struct bias *bias)
{
	if (bias->owner && !is_owner(bias))
		shut_out_owner(bias);
	bias->possible = false;
	bias->owner = NULL;
	__atomic_store_n(&bias->gate, NULL, __ATOMIC_RELEASE);
}

bool bias_program_locked(struct bias *bias)
{
	if (is_owner(bias) || bias->ended || !bias->possible)
		return false;
	if (!bias->owner) {
		become_owner(bias);
		return bias->ended;
	}
	bias->ended = true;
	shut_out_owner(bias);
	return true;
}

void bias_backend_locked(struct bias *bias)
{
	if (bias->gate && !is_owner(bias))
		shut_out_owner(bias);
}

void bias_backend_unlocking(struct bias *bias)
{
	if (bias->owner && !bias->gate)
		open_gate(bias);
}
