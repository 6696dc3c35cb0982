/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper.h - the helper thread, which runs events of a simulated fabric in a process of several
 * threads.
 *
 * Virtual time then follows the monotonic clock, and requests progress even if no thread calls the
 * library: a program may spin on its memory until an RDMA Write arrives. Threads that sleep in a
 * wait run events when they are due. While no thread does, the helper sleeps until the next event.
 * It is started once the process has several threads and an event is pending, and ends with the
 * world. A program of one thread never has it.
 */
#ifndef HOST_HELPER_H
#define HOST_HELPER_H

#include "backend.h"

/* With the lock held: start the helper now, whether or not the process has other threads. */
bool helper_start(struct backend *b);
/*
 * With the lock held, which is released meanwhile: the world ends, so end the helper. `shared`: the
 * world if it was shared; its own lock has been released for the last time.
 */
void helper_end(struct backend *b, struct nic_world *shared);
/* The door's `sleep` for a shared world. */
void helper_sleep_shared(struct backend *b, bool idle, uint64_t until);
/*
 * The door's `sleep`, for a thread that runs events when it wakes; until a monotonic time, or
 * NIC_TIME_NEVER.
 */
void helper_sleep(struct backend *b, uint64_t until);
/* True if the calling thread is a helper. */
bool helper_is_this(void);
/* In a forked child: the helper thread does not exist here. */
void helper_forget(struct backend *b);
/* Note that the calling thread is its process's first: at start, and in a forked child. */
void helper_first_thread(void);
/*
 * How many threads the process has beside the calling one, if all of them belong to libraries of
 * this project; otherwise -1. *lowest: no helper among them has a lower id. A process whose first
 * thread calls pthread_exit lives until the last of its other threads ends, which then exits by
 * exit(0).
 */
int helper_leaves_alone(bool *lowest);

#endif /* HOST_HELPER_H */
