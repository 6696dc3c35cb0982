/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * helper.h - who runs what happens on a simulated fabric once its process has several threads.
 *
 * Virtual time follows the monotonic clock then, and requests progress whether or not anybody calls the
 * library: a program may spin on its memory until an RDMA Write is there. Threads that sleep in a wait
 * run events as they come due. While nobody does, one helper thread sleeps until the next event. It is
 * started when the process has several threads and something is pending, and ends with the world. A
 * program of one thread never has it.
 */
#ifndef LIB_HELPER_H
#define LIB_HELPER_H

#include "backend.h"

/* With the lock held. Start it now, in a process that has one thread or several. */
bool helper_start(struct backend *b);
/*
 * With the lock held. The world ends: so does the helper. The lock is released meanwhile. `shared`: the world
 * was one, and its own lock is released already, for good.
 */
void helper_end(struct backend *b, struct nic_world *shared);
/* The door's `sleep` for a shared world. */
void helper_sleep_shared(struct backend *b, bool idle, uint64_t until);
/* The door's `sleep`, in a thread that runs events when it wakes: a monotonic time, or NIC_TIME_NEVER. */
void helper_sleep(struct backend *b, uint64_t until);
/* The caller is a helper, and no thread of the program. */
bool helper_is_this(void);
/* This is a forked child: no thread but its own came along. */
void helper_forget(struct backend *b);

#endif /* LIB_HELPER_H */
