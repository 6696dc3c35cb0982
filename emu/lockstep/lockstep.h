/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lockstep.h - deterministic scheduling of the threads of a shared fabric.
 *
 * In an ordinary shared fabric, virtual time follows the monotonic clock and the kernel decides
 * which thread runs, so two runs of the same programs differ. In lockstep, one thread at a time
 * runs out of all threads of all processes, and virtual time advances only while none can run. The
 * thread that may run has the turn (emu_lockstep.turn, an index into the table of threads in the
 * arena). Every other thread that calls into the library sleeps on its futex in that table until it
 * is given the turn.
 *
 * A thread registers at its first call. It keeps the turn through its calls and through the
 * program's own code between them, and gives it up in three situations: it waits for a completion
 * or a deadline; it polls and finds nothing, which counts as a wait for one poll quantum of virtual
 * time; or it has made many calls in one turn while another thread is ready. The thread that gives
 * up the turn runs the scheduler itself (emu_lockstep_pass), under the fabric's lock:
 *
 *   1. Run the events that are due at the current virtual time. A thread whose CQ gains a
 *      completion, or whose deadline is reached, becomes ready.
 *   2. If threads are ready, choose one with the fabric's seeded generator, or the next in a fixed
 *      order (DATSIM_TURNS=order), give it the turn, stop. A switch that the user has asked for
 *      goes first (lockstep_turns.c).
 *   3. Otherwise set virtual time to the next event or deadline and start again at 1. If there is
 *      neither, no thread can ever continue: each one is told so in its turn (NIC_WAIT_HOPELESS).
 *
 * Example. The link has 1000 ns of latency and no bandwidth limit. The client has one thread, C,
 * and the server one, S; S has the turn first.
 *
 *   now     turn  what happens
 *   0       S     posts a Receive, waits for a completion in CQ 2, gives up the turn to C
 *   0       C     posts a Send; the packet becomes an event that is due at 1000
 *   0       C     waits for a completion in CQ 1, gives up the turn
 *   0       -     no event is due, no thread is ready: C's scheduler sets the time to 1000
 *   1000    -     the packet arrives: CQ 2 gains a completion, S is ready; the ACK is due at 2000
 *   1000    S     wakes up from its futex, dequeues the completion, waits for the next one
 *   2000    -     S's scheduler sets the time to 2000; the ACK completes the Send in CQ 1
 *   2000    C     dequeues the completion
 *
 * No step asks the kernel's scheduler or a real clock. Where two threads are ready at the same time
 * the seed chooses, so the same programs with the same seed always produce the same trace.
 *
 * Two things outside this scheme cannot be scheduled, and are handled in real time:
 *
 * - The thread that has the turn stays in the program: it blocks where libdat-turns.so
 *   (host/outside/) does not see it for as long as DATSIM_LOCKSTEP says, or computes for ten times
 *   as long. A watchdog in every process (emu_lockstep_watch) then marks the thread as away and
 *   takes the turn from it. The trace says "preempted": from there on, runs may differ. While a
 *   thread is away, virtual time does not run ahead of the monotonic clock, so that timeouts do not
 *   expire earlier than they would on hardware.
 * - A thread has been created but has made no call yet. lockstep_threads.c keeps the turn in the
 *   process until the new thread has registered.
 *
 * Every process can write to the arena, and one with a stray pointer may write anything. What a
 * thread waits for, and the limits on others, are therefore also kept in memory of its own process,
 * and the arena is repaired from there at each call. Garbage in the arena never makes a thread wait
 * forever.
 *
 * Lock: the fabric's, except where a comment says otherwise.
 */
#ifndef EMU_LOCKSTEP_H
#define EMU_LOCKSTEP_H

#include "emu/fabric/fabric.h"

/* The watchdog of a process: what it saw of the thread that has the turn. */
struct emu_watch {
	uint32_t turn;
	uint64_t activity;
	uint64_t at;     /* monotonic time of the last look */
	uint64_t since;  /* monotonic time of the first look that saw this turn and activity */
	uint64_t away;   /* part of the time since then that the thread spent by its own doing */
	uint64_t ran;    /* processor time of the thread, from /proc */
	uint64_t queued; /* and the time that it has waited for a processor */
};

/* How long this process has waited for another one to end or to come. */
struct emu_patience {
	int32_t pid;
	uint32_t naps;
};

#define EMU_NAP_NS      100000u               /* pause of a thread that polls for a condition */
#define EMU_BOUND_USUAL 50000000ul            /* default of DATSIM_LOCKSTEP */
#define EMU_BOUND_MOST  (3600 * 1000000000ul) /* upper limit of DATSIM_LOCKSTEP */
#define EMU_TIME_MOST   (1ul << 62)           /* virtual time is always below */

/* A thread of this process that has been created and has not called yet. */
struct emu_new_thread {
	int32_t tid;
	uint32_t naps;   /* checks so far, one every EMU_NAP_NS */
	uint32_t asleep; /* consecutive checks that found it asleep */
};

/* What a thread without the turn knows when it begins to sleep. */
struct emu_sleep {
	uint64_t retry; /* it looks again after this time; 0: when it is woken */
	uint32_t seen;  /* emu_thread.futex when another thread had the turn */
	bool looks;     /* that thread was on another core */
	bool naps;      /* this one has the turn but may not run yet: it looks again soon */
};

static inline bool emu_lockstep(const struct emu_world *w)
{
	return w->lockstep;
}

/*
 * Both are read from the arena, where another process may have written garbage: they are bounded.
 */
static inline uint32_t emu_thread_high(const struct emu_lockstep *ls)
{
	uint32_t high = __atomic_load_n(&ls->high, __ATOMIC_RELAXED);

	return high <= EMU_THREADS ? high : EMU_THREADS;
}

static inline uint32_t emu_lockstep_turn(const struct emu_lockstep *ls)
{
	uint32_t turn = __atomic_load_n(&ls->turn, __ATOMIC_RELAXED);

	return turn <= EMU_THREADS ? turn : 0;
}

/* Make a new fabric a lockstep one. turns: their order (turn_text.h); NULL: by seed. */
void emu_lockstep_begin(struct emu_world *w, uint64_t bound_ns, const char *turns);

/*
 * A call begins. False: another thread has the turn; release the lock, call emu_lockstep_await, try
 * again. idle: the caller is the process's helper thread, which takes no turns.
 */
bool emu_lockstep_enter(struct emu_world *w, bool idle);
/*
 * Has the calling thread given up the turn since it last entered? Then it need not take the lock to
 * learn that another one has it: as if emu_lockstep_enter had returned false.
 */
bool emu_lockstep_gave(struct emu_world *w);
/*
 * Without the lock, after either of them said so: sleep until this thread may have the turn.
 */
void emu_lockstep_await(struct emu_world *w);
/*
 * A call is over. False: it cost the turn; release the lock and enter again before the call
 * returns.
 */
bool emu_lockstep_settle(struct emu_world *w);
/* Something of the calling thread that has to do with what it waits for outside the library. */
void emu_lockstep_outside_event(struct emu_world *w, enum nic_outside what);
/* Its next wait is for a descriptor. */
void emu_lockstep_wait_outside(void);
/* Threads of all processes that wait for a descriptor test it again. */
void emu_lockstep_ready_outside(struct emu_world *w);
/* The calling thread is about to end. */
void emu_lockstep_exit(struct emu_world *w);

/* The door's `wait`. */
enum nic_wait emu_lockstep_wait(struct emu_world *w, struct nic *nic, uint32_t cq,
				uint64_t deadline);
/* A poll found nothing: the turn ends with this call, and the thread waits for one poll quantum. */
void emu_lockstep_poll(struct emu_world *w);
/* The same without a nic; `unlocked` releases the locks and takes them again. */
enum nic_wait emu_lockstep_pause(struct emu_world *w, uint64_t deadline,
				 const struct nic_unlocked *unlocked);
/* Sleep until emu_lockstep_wake is called in this process. */
void emu_lockstep_sleep(struct emu_world *w, const struct nic_unlocked *unlocked);

/* Make every waiting thread of this process ready, so that it tests its condition again. */
void emu_lockstep_wake(struct emu_world *w);
/*
 * The lock is about to be released. In each process of the set `processes`, which have messages in
 * their inboxes, make a thread ready that will empty the inbox. Returns the processes that have no
 * such thread.
 */
uint64_t emu_lockstep_ready_owners(struct emu_world *w, uint64_t processes);
/*
 * With the lock: the thread that was given the turn and is asleep; 0: none, or already asked for.
 * The caller wakes it after the release with emu_lockstep_wake_given().
 */
uint32_t emu_lockstep_given(struct emu_world *w);
void emu_lockstep_wake_given(struct emu_world *w, uint32_t i);

/*
 * The watchdog, a few times a second in each process: does the turn make progress? now: monotonic.
 */
void emu_lockstep_watch(struct emu_world *w, uint64_t now);
/* Take the turn from a thread, which stays in the program. now: monotonic. */
void emu_lockstep_send_away(struct emu_world *w, struct emu_thread *t, uint64_t now);
/* A process has died or is leaving: its threads lose their entries, and the turn if one had it. */
void emu_lockstep_drop_process(struct emu_world *w, uint16_t process);
/*
 * Have the threads of this process that wait for the turn look again. all: also those of others,
 * for which the arena may say so wrongly.
 */
void emu_lockstep_rouse(struct emu_world *w, bool all);
/*
 * This process has left; without the lock. When this returns, none of its threads reads the arena.
 */
void emu_lockstep_leave(struct emu_world *w);
/*
 * Run the scheduler: the turn is free. False: events lead to more and more events; the calling
 * thread keeps the turn, so that the lock can be released in between, and has to call again.
 */
bool emu_lockstep_pass(struct emu_world *w);
/*
 * If the turn is free, give it to a thread that can run, or to a waiting one that will run the
 * scheduler.
 */
void emu_lockstep_kick(struct emu_world *w);
/* A process died while it held the fabric's lock: make the state in the arena consistent. */
void emu_lockstep_recover(struct emu_world *w);
/* Stop virtual time (until this process dies at the latest), or let it run again. */
void emu_lockstep_hold(struct emu_world *w, bool held);
/* The value of `held` while that process stops time. */
uint64_t emu_lockstep_held_by(int32_t pid);
/* Is time stopped? Any value of `held` but a valid one is garbage and counts as no. */
bool emu_lockstep_held(const struct emu_lockstep *ls);
/* This process joins the fabric. */
void emu_lockstep_join(struct emu_world *w);
/* Does the process have a thread in that state? */
bool emu_lockstep_has_thread(const struct emu_lockstep *ls, uint16_t process,
			     enum emu_thread_state state);
/* Index of the calling thread; 0: it is not registered. */
uint32_t emu_lockstep_self(struct emu_world *w);
/* Is there a new thread in this process that is expected to make its first call soon? */
bool emu_lockstep_expects(struct emu_world *w);
/* Number of threads of this process that take no turns (or 1 if it cannot be determined). */
uint32_t emu_lockstep_outside(struct emu_world *w);
/* The process leaves the fabric: close what the two above keep open. */
void emu_lockstep_forget_tasks(struct emu_membership *m);
/*
 * A thread registers. late: another process has the turn already, so the order is not reproducible.
 */
void emu_lockstep_note_arrival(struct emu_world *w, int32_t tid, bool late);
/* `tid` is the helper. After a long sleep before its first call, it was taken for an outsider. */
void emu_lockstep_note_helper(struct emu_world *w, int32_t tid);
/* Number the threads that have registered since the last call, in the order of their creation. */
void emu_lockstep_number(struct emu_world *w);
/*
 * The thread with the turn was ending: has the kernel removed it, and are no new threads expected?
 */
bool emu_lockstep_has_ended(struct emu_world *w);

/* ---- lockstep_sleep.c ---- */

/* With the lock: what the calling thread `t` needs to know to sleep until it has the turn. */
void emu_lockstep_note_turn(struct emu_world *w, struct emu_thread *t, struct emu_sleep *sleep);
/* A short sleep that no cancellation ends. */
void emu_lockstep_nap(long ns);
/* Without the lock: sleep until something has changed for `t`, the calling thread. */
void emu_lockstep_sleep_on(struct emu_thread *t, const struct emu_sleep *sleep);
/* Returns whether it slept. */
bool emu_lockstep_wake_thread(struct emu_thread *t);
/* The watchdog: have threads of this process look again, once in a while. now: monotonic. */
void emu_lockstep_stir(struct emu_world *w, uint64_t now);

/* ---- lockstep_turns.c ---- */

/* Remember the switches in the text that this process's threads are to make. NULL: none. */
void emu_lockstep_load_turns(struct emu_world *w, const char *text);
/*
 * Is thread t to hand on the turn at the call that it is in? waits: it gives the turn up anyway;
 * else true only if the other thread can run.
 */
bool emu_lockstep_turn_due(struct emu_world *w, const struct emu_thread *t, bool waits);
/* How long thread t is to sleep at the end of the call that it is in, ns; 0: it is not to. */
uint64_t emu_lockstep_turn_pause(struct emu_world *w, const struct emu_thread *t);
/* The thread to which the turn is to be handed on, which can run; 0: none. It is asked for once. */
uint32_t emu_lockstep_turn_wanted(struct emu_world *w);
/* Trace how many calls thread i of this process has made; all its threads. */
void emu_lockstep_tell_calls(struct emu_world *w, uint32_t i);
void emu_lockstep_tell_all_calls(struct emu_world *w);

/* ---- lockstep_leaver.c: processes that end, and those that are about to join ---- */

/* Keep the turn until that process has ended, or joins again. */
void emu_lockstep_await_end(struct emu_world *w, int32_t pid);
/* Is the turn kept for a process that ends? */
bool emu_lockstep_leaves(const struct emu_lockstep *ls);
/* While the turn is kept: look at that process. True: it has ended, and the turn is free. */
bool emu_lockstep_look_at_leaver(struct emu_world *w);
/* The helper looks, and passes on the turn of one that has ended. True: one is to end yet. */
bool emu_lockstep_leaver_stays(struct emu_world *w);
/* This process has joined: it may be the one that left and the one that is expected. */
void emu_lockstep_came(struct emu_world *w);
/* Is this process, which joins, the one that the thread with the turn has started? */
bool emu_lockstep_is_comer(struct emu_world *w);
/* The thread with the turn is about to start a process. */
void emu_lockstep_await_child(struct emu_world *w);
/* Is this process about to start another one, or waiting for it to join? It keeps the turn. */
bool emu_lockstep_awaits_child(struct emu_world *w);
/* The process was started as `pid` (0: that failed). Has it still to join? */
bool emu_lockstep_expects_process(struct emu_world *w, int pid);

/* ---- lockstep_task.c ---- */

/* Has the process begun to exit, and is not a zombie yet? */
bool emu_lockstep_task_exits(int32_t pid);
/* All threads have exited, and its files are closed; or it cannot be seen. */
bool emu_lockstep_task_gone(int32_t pid);
/* Does the thread run, or wait for a processor or a disk? Does any thread of the process? */
bool emu_lockstep_thread_busy(int32_t pid, int32_t tid);
bool emu_lockstep_task_busy(int32_t pid);

/* State letter of a thread from /proc ('R', 'S', ...). '\0': it is gone, or /proc hides it. */
char emu_lockstep_task_state(int pid, int32_t tid);
/*
 * The part of `elapsed` that the thread has spent outside by its own doing. Time asleep counts
 * whole; while another thread of the process (the calling one apart) is busy, it counts a tenth,
 * and so does time on a processor. Time in which the thread waited for a processor does not count:
 * that depends on the machine.
 */
uint64_t emu_lockstep_outside_ns(struct emu_watch *watch, int pid, int32_t tid, uint64_t elapsed);
#define EMU_PLACE 48
/* " in futex", " in its own code"; "": the kernel does not tell this process. Returns place. */
const char *emu_lockstep_place(int pid, int32_t tid, char *place, size_t size);

/*
 * Does every thread of every process wait without a deadline, with no event queued, and does each
 * know? Only a process that joins can change that. The scheduler tells them one after another
 * (NIC_WAIT_HOPELESS).
 */
bool emu_lockstep_stuck(struct emu_world *w);

/*
 * Do all threads of the process wait (or stay away)? False if it has none, or if time is stopped
 * and a thread of another process can go on.
 */
bool emu_lockstep_waits(const struct emu_world *w, uint16_t process);

#endif /* EMU_LOCKSTEP_H */
