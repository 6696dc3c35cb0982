/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bias.h - a lock that is biased towards one thread: that thread enters without an atomic
 * operation.
 *
 * A backend with a thread of its own makes every process multi-threaded, yet most programs have a
 * single thread. Without the bias, that thread would take and release a mutex in every post and
 * poll, only because the backend's thread may need it a few times a second. The biased lock moves
 * the cost to the side that is rare.
 *
 * The first thread of the program that takes the backend's lock becomes the owner. Its quick calls
 * (post, poll) do not take the lock. They store 1 to `inside`, a word in the owner's own cell, and
 * then test whether the gate is open, which is so while bias.gate points to that cell. All other
 * calls of the owner, and all calls of other threads, take the lock. A thread of the backend takes
 * it, closes the gate, executes membarrier, and waits until `inside` is 0.
 *
 * Example. O is the owner, polling; H is the backend's helper thread, which wants to change the CQ.
 *
 *   O: a quick call                          H: with the backend's lock
 *
 *   1  inside = 1                            a  gate = NULL
 *   2  gate == my cell?                      b  membarrier
 *   3    yes: poll the CQ                    c  while (inside) wait
 *        no:  inside = 0, take the lock      d  change the CQ
 *   4  inside = 0                            e  gate = O's cell, release the lock
 *
 * The danger is that O's processor delays the store of 1 past the load of 2, as x86 does: O reads
 * an open gate while H still reads inside == 0, and both are in the CQ. A memory fence between 1
 * and 2 would prevent it, at the price that this lock wants to save. Membarrier is that fence,
 * executed by H on O's processor: the kernel interrupts every processor that runs a thread of this
 * process. The interrupt falls into one of three places in O's code:
 *
 * - before 1: 2 comes after a, so O reads NULL, sets inside = 0 and takes the lock, where it waits
 *   for H.
 * - between 1 and 2: the store of 1 is visible now, so H waits at c; but 2 reads NULL, O leaves, H
 *   goes on.
 * - after 2: O may have read an open gate and be polling. inside is 1 and visible, so H waits until
 *   4.
 *
 * If the kernel refuses membarrier later (a seccomp filter), the bias ends.
 *
 * H pays an interrupt (microseconds), O two plain stores, a load and a compare.
 *
 * The second thread of the program that takes the lock ends the bias for good: the gate stays
 * closed, and from then on every thread locks.
 *
 * Lock: the backend's, for all of struct bias except reading the gate.
 */
#ifndef HOST_BIAS_H
#define HOST_BIAS_H

#include <stdbool.h>

/* With ThreadSanitizer the gate is read with an atomic load: it would report a race otherwise. */
#ifdef __SANITIZE_THREAD__
#define BIAS_SANITIZED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BIAS_SANITIZED
#endif
#endif

/*
 * A thread that owns a biased lock says here whether it is inside a quick call. A cell belongs to
 * one thread until the process ends, so a thread whose bias was ended may still write to it.
 */
struct bias_cell {
	int inside;
};

struct bias {
	struct bias_cell *gate;  /* the owner's cell while the gate is open; else NULL */
	struct bias_cell *owner; /* cell of the owner; NULL: there is none (yet, or any more) */
	bool by_first; /* only the thread of bias_first may own it: see bias_leave_first */
	bool possible; /* the kernel has membarrier */
	bool ended;    /* a second thread came, or the kernel refuses membarrier */
};

/* The calling thread's cell, if it ever owned a biased lock; else a cell that no thread reads. */
extern __thread struct bias_cell *bias_cell
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
/* The cell of the first thread that ever owned one. */
extern struct bias_cell bias_first __attribute__((visibility("hidden")));

/* Without the lock, before the first use in a process. */
void bias_start(struct bias *bias);
/* With the lock: end the bias until the next bias_start. */
void bias_stop(struct bias *bias);
/* In a forked child: as for a lock that was never used. */
void bias_forget(struct bias *bias);
/* A thread of the program has taken the lock. True: this ended the bias. */
bool bias_program_locked(struct bias *bias);
/* A thread of the backend has taken the lock: close the gate. It is about to release it: open. */
void bias_backend_locked(struct bias *bias);
void bias_backend_unlocking(struct bias *bias);

/* A thread that waits for the owner to leave polls `inside`; no wake is needed. */
static inline void bias_leave(void)
{
	__atomic_store_n(&bias_cell->inside, 0, __ATOMIC_RELEASE);
}

/* The same for a lock with by_first: the cell is at a fixed address, so this is one instruction. */
static inline void bias_leave_first(void)
{
	__atomic_store_n(&bias_first.inside, 0, __ATOMIC_RELEASE);
}

/*
 * Is the gate open for this cell? x86 keeps loads in order, so an ordinary compare with memory does
 * there.
 */
static inline bool bias_is_open(const struct bias *bias, const struct bias_cell *cell)
{
#if defined(__x86_64__) && !defined(BIAS_SANITIZED)
	if (!__builtin_expect(bias->gate == cell, 1))
		return false;
	__atomic_signal_fence(__ATOMIC_ACQUIRE);
	return true;
#else
	return __builtin_expect(__atomic_load_n(&bias->gate, __ATOMIC_ACQUIRE) == cell, 1);
#endif
}

/*
 * Enter a quick call. False: the caller is not the owner, or the gate is closed; call bias_leave
 * and take the lock. Threads that own no lock all store to one shared cell here; where they are
 * many, use bias_enter_own.
 */
static inline bool bias_enter(struct bias *bias)
{
	struct bias_cell *cell = bias_cell;

	__atomic_store_n(&cell->inside, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return bias_is_open(bias, cell);
}

/* The same, but tests the gate first; if false, bias_leave is not needed. */
static inline bool bias_enter_own(struct bias *bias)
{
	if (__atomic_load_n(&bias->gate, __ATOMIC_RELAXED) != bias_cell)
		return false;
	if (bias_enter(bias))
		return true;
	bias_leave();
	return false;
}

#endif /* HOST_BIAS_H */
