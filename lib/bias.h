/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bias.h - a lock that its usual owner does not take.
 *
 * A backend with a thread of its own makes every process one of several threads; yet of programs most
 * have one. The first thread of the program that takes the backend's lock becomes its owner. The owner's
 * quick calls (those of every message) only say that they are inside, and look whether the gate is open; no lock,
 * no atomic operation. A thread of the backend that wants the lock takes it, closes the gate and, by membarrier,
 * makes sure that the owner either sees that, or is seen inside and waited for. The owner's other calls take
 * the lock as everybody's do. The second thread of the program that comes ends all this: from then on
 * everybody locks.
 */
#ifndef LIB_BIAS_H
#define LIB_BIAS_H

#include <stdbool.h>

/* ThreadSanitizer is to see that it is meant to be read while it is written. */
#ifdef __SANITIZE_THREAD__
#define BIAS_SANITIZED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BIAS_SANITIZED
#endif
#endif

/* Where a thread that owns such locks says that it is inside. It is no other thread's, ever: who owns nothing any more need not know. */
struct bias_cell {
	int inside;
};

struct bias {
	struct bias_cell *gate;  /* the owner's, while it may go in; else NULL */
	struct bias_cell *owner; /* NULL: none yet, or none any more */
	bool by_first; /* it is for the first thread only that owned one, see bias_leave_first */
	bool possible; /* the kernel can */
	bool ended;
};

/* This thread's, if it ever owned one; else a cell that nobody looks at. */
extern __thread struct bias_cell *bias_cell
	__attribute__((visibility("hidden"), tls_model("initial-exec")));
/* Of the first thread that owned one. */
extern struct bias_cell bias_first __attribute__((visibility("hidden")));

/* Without the lock, before the first use in a process. */
void bias_start(struct bias *bias);
/* With the lock: everybody locks, until the next start. */
void bias_stop(struct bias *bias);
/* In a forked child: it is as if nobody had ever used it. */
void bias_forget(struct bias *bias);
/* A thread of the program has taken the lock. True: that ended the bias. */
bool bias_program_locked(struct bias *bias);
/* A thread of the backend has taken it, and is about to let it go. */
void bias_backend_locked(struct bias *bias);
void bias_backend_unlocking(struct bias *bias);

/* Who waits for the owner to be outside looks again by itself: there is nobody to be woken. */
static inline void bias_leave(void)
{
	__atomic_store_n(&bias_cell->inside, 0, __ATOMIC_RELEASE);
}

/* The same of a lock that no other thread owns: one instruction. */
static inline void bias_leave_first(void)
{
	__atomic_store_n(&bias_first.inside, 0, __ATOMIC_RELEASE);
}

/* May it go in? Loads stay in order on x86, so there the gate is compared where it lies. */
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
 * False: not the owner, or somebody has the lock; then bias_leave, and take it. Threads that own nothing all
 * write to one place here: where there are many, bias_enter_own.
 */
static inline bool bias_enter(struct bias *bias)
{
	struct bias_cell *cell = bias_cell;

	__atomic_store_n(&cell->inside, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return bias_is_open(bias, cell);
}

/* False: the same, and it is outside. */
static inline bool bias_enter_own(struct bias *bias)
{
	if (__atomic_load_n(&bias->gate, __ATOMIC_RELAXED) != bias_cell)
		return false;
	if (bias_enter(bias))
		return true;
	bias_leave();
	return false;
}

#endif /* LIB_BIAS_H */
