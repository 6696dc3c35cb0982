/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bias.h - a lock that its usual owner does not take.
 *
 * A backend with a thread of its own makes every process one of several threads; yet of programs most
 * have one. The first thread of the program that takes the backend's lock becomes its owner. The owner's
 * quick calls (those of every message) only say that they are inside; no lock, no atomic operation. A thread of the
 * backend that wants the lock takes it, says so and, by membarrier, makes sure that the owner either sees
 * that before it is inside, or is seen inside and waited for. The owner's other calls take the lock as
 * everybody's do. The second thread of the program that comes ends all this: from then on everybody locks.
 */
#ifndef LIB_BIAS_H
#define LIB_BIAS_H

#include <stdbool.h>

struct bias {
	const void *owner; /* a thread's bias_self; NULL: none yet, or never again */
	int inside;        /* a futex: the owner is in a quick call */
	int wanted;        /* a thread of the backend has the lock */
	bool possible;     /* the kernel can */
	bool ended;
};

/* Its address is the thread. */
extern __thread char bias_self __attribute__((tls_model("initial-exec")));

/* Without the lock, before the first use in a process. */
void bias_start(struct bias *bias);
/* With the lock: everybody locks, until the next start. */
void bias_stop(struct bias *bias);
/* A thread of the program has taken the lock. */
void bias_program_locked(struct bias *bias);
/* A thread of the backend has taken it, and is about to let it go. */
void bias_backend_locked(struct bias *bias);
void bias_backend_unlocking(struct bias *bias);
/* Somebody waits for the owner to be outside. */
void bias_wake(struct bias *bias);

static inline void bias_leave(struct bias *bias)
{
	__atomic_store_n(&bias->inside, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&bias->wanted, __ATOMIC_RELAXED), 0))
		bias_wake(bias);
}

/* False: not the owner, or somebody has the lock; then take it. */
static inline bool bias_enter(struct bias *bias)
{
	if (__atomic_load_n(&bias->owner, __ATOMIC_RELAXED) != &bias_self)
		return false;
	__atomic_store_n(&bias->inside, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* In this order: when `wanted` falls after an end, `owner` fell before. */
	if (__builtin_expect(!__atomic_load_n(&bias->wanted, __ATOMIC_ACQUIRE) &&
				     __atomic_load_n(&bias->owner, __ATOMIC_RELAXED) == &bias_self,
			     1))
		return true;
	bias_leave(bias);
	return false;
}

#endif /* LIB_BIAS_H */
