/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lockstep.h - the processes of a shared fabric take turns: one thread of them all runs at a time, in the
 * order of virtual time.
 *
 * A thread takes part from its first call on. It keeps the turn, inside calls and outside, until a call
 * lets it wait: for something to happen, for a time, or, where it has looked in vain, for a poll quantum.
 * Who gives up the turn sees to what is next: what is due runs; of the threads that can go on then, the
 * fabric's seed chooses one; if there is none, time goes on to the next event or deadline. So who runs
 * what, and when, depends on nothing but the programs and the seed.
 *
 * A thread that keeps the turn and does not come back (it sleeps, blocks, computes) is away after a while:
 * the trace says "preempted", the others go on. While one is away, time does not run ahead of the monotonic clock.
 *
 * The arena is others', too: what a thread waits for, and how long others may stay away, is in each process's own
 * books as well, and put right from there, now and then (emu_lockstep_mend). So nothing that is written there makes
 * anybody wait for ever.
 *
 * Lock: all of this is with the fabric's, but what says otherwise.
 */
#ifndef EMU_LOCKSTEP_H
#define EMU_LOCKSTEP_H

#include "fabric.h"

/* What a process that watches saw last. */
struct emu_seen {
	uint32_t turn;
	uint64_t looks;
	uint64_t at, since; /* monotonic: the last look, the first that saw this */
	uint64_t away;      /* of the time since */
	uint64_t ran;       /* the thread, on a processor */
};

#define EMU_NAP_NS     100000u
#define EMU_BOUND      50000000ul            /* usual, and */
#define EMU_BOUND_MOST (3600 * 1000000000ul) /* most, of DATSIM_LOCKSTEP */
#define EMU_TIME_MOST  (1ul << 62)           /* now is less */

/* A thread of this process that has been created and may come: so many looks at it. */
struct emu_newborn {
	int32_t tid;
	uint32_t naps;
	uint32_t asleep; /* of the last ones */
};

static inline bool emu_lockstep(const struct emu_world *w)
{
	return w->lockstep;
}

/* As far as what is in the arena makes sense: it is others', too. */
static inline uint32_t emu_thread_high(const struct emu_lockstep *ls)
{
	uint32_t high = __atomic_load_n(&ls->high, __ATOMIC_RELAXED);

	return high <= EMU_THREADS ? high : EMU_THREADS;
}

static inline uint32_t emu_turn(const struct emu_lockstep *ls)
{
	uint32_t turn = __atomic_load_n(&ls->turn, __ATOMIC_RELAXED);

	return turn <= EMU_THREADS ? turn : 0;
}

/* A fabric is made: it is one of these. */
void emu_lockstep_begin(struct emu_world *w, uint64_t bound_ns);

/* A call begins. False: it is another thread's turn; let go of the lock, await, and try again. */
bool emu_lockstep_enter(struct emu_world *w, bool idle);
/* Without the lock, after emu_lockstep_enter said no: until it is worth trying. */
void emu_lockstep_await(struct emu_world *w);
/* A call is over. False: so is the turn; let go of the lock, and enter as above before anything else. */
bool emu_lockstep_settle(struct emu_world *w);
/* The thread ends. */
void emu_lockstep_exit(struct emu_world *w);

/* The door's `wait`. */
enum nic_wait emu_lockstep_wait(struct emu_world *w, struct nic *nic, uint32_t cq,
				uint64_t deadline);
/* A look in vain: the turn is over at the end of the call, for a poll quantum. */
void emu_lockstep_poll(struct emu_world *w);
/* Sleep until something happens in this process. */
void emu_lockstep_sleep(struct emu_world *w, const struct nic_unlocked *unlocked);

/* All threads of this process that wait have to look. */
void emu_lockstep_wake(struct emu_world *w);
/*
 * The lock is about to be let go: of processes whose bells are to be rung, threads see to it. Those that have
 * none which could are left.
 */
uint64_t emu_lockstep_rung(struct emu_world *w, uint64_t ring);
/* Without the lock again: wake who has got the turn. */
void emu_lockstep_tell(struct emu_world *w);

/* Now and then, by processes that wait: is whoever has the turn alive and kicking? now: the monotonic clock. */
void emu_lockstep_watch(struct emu_world *w, uint64_t now);
/* A process is gone, or goes. */
void emu_lockstep_bury(struct emu_world *w, uint16_t process);
/* This process has left, without the lock: none of its threads will look at the fabric when this returns. */
void emu_lockstep_leave(struct emu_world *w);
/* The turn is nobody's: see to what is next. False: that is not done yet, and this thread keeps the turn for it. */
bool emu_lockstep_pass(struct emu_world *w);
/* The turn is nobody's, perhaps: somebody gets it who sees to what is next. */
void emu_lockstep_kick(struct emu_world *w);
/* Somebody died with the lock. */
void emu_lockstep_recover(struct emu_world *w);
/* Let time go on, or stand still, for as long as this process lives. */
void emu_lockstep_hold(struct emu_world *w, bool held);
/* What a process that lets time stand still writes into `held`. */
uint64_t emu_lockstep_held_by(int32_t pid);
/* Does it stand still? Anything else there is nonsense. */
bool emu_lockstep_held(const struct emu_lockstep *ls);
/* This process joins. */
void emu_lockstep_join(struct emu_world *w);
/* Is there a thread of the process in that state? */
bool emu_lockstep_any(const struct emu_lockstep *ls, uint16_t process, enum emu_thread_state state);
/* This thread, if it takes part. */
uint32_t emu_lockstep_self(struct emu_world *w);
/* Threads of this process are on their way. */
bool emu_lockstep_expects(struct emu_world *w);
/* How many threads of this process take no part. */
uint32_t emu_lockstep_outside(struct emu_world *w);
/* One comes. late: the turn is elsewhere already. */
void emu_lockstep_welcome(struct emu_world *w, int32_t tid, bool late);
/* Those that have come since the last time get numbers. */
void emu_lockstep_number(struct emu_world *w);
/* The thread that had the turn when it began to end is gone, and so is all that it has let go on. */
bool emu_lockstep_has_ended(struct emu_world *w);
/* 'R', 'S', ...: of any process's. '\0': it is gone, or none of this process's business. */
char emu_lockstep_task_state(int pid, int32_t tid);

/*
 * Does every thread of every process wait, for ever, with nothing under way? Then nobody but a process that joins can
 * change that. Each thread is told (NIC_WAIT_HOPELESS), one after another, in their order.
 */
bool emu_lockstep_stuck(struct emu_world *w);

/* Has the process come to where all its threads wait? */
bool emu_lockstep_waits(const struct emu_world *w, uint16_t process);

#endif /* EMU_LOCKSTEP_H */
