/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lone.h - a shared fabric of which this process is the only member, for tests that fill the arena
 * themselves. The test holds the fabric's lock all the time. A second process, OTHER, is an entry
 * of the arena and no more.
 */
#ifndef TESTS_UNIT_SHARED_LONE_H
#define TESTS_UNIT_SHARED_LONE_H

#include "emu/shared/shared.h"

enum {
	OWN = 1, /* this process's number */
	OTHER = 2,
	MINE = 1,               /* adapter of OWN */
	THEIRS = 2,             /* and of OTHER */
	SELF = 1,               /* place of the test's thread in the table of threads */
	NO_THREAD = 0x3ffffff0, /* a tid beyond all that the kernel gives */
};

/* A fabric with this configuration, and its lock; its name and its folder are chosen here. */
struct emu_world *lone_join(struct nic_config config);
void lone_leave(struct emu_world *world);
/* The same with OTHER, and with adapters to fill in. */
struct emu_world *lone_begin(struct nic_config config);
/* Leave it, as the last process. The test has emptied what the arena counts. */
void lone_end(struct emu_world *world);

/* The same with both processes counted as members, and an adapter of each. */
struct emu_world *lone_begin_two(struct nic_config config);
/* Whatever the test made of OWN's membership and of the events */
void lone_end_two(struct emu_world *world);

/* The same in lockstep. */
struct emu_world *lone_begin_lockstep(struct nic_config config);
void lone_end_lockstep(struct emu_world *world);
/* Fill in the entry of a thread that does not exist. */
void lone_thread(struct emu_world *world, uint32_t index, uint16_t process,
		 enum emu_thread_state state, uint64_t until);
/* Give the calling thread the turn; returns its entry. */
struct emu_thread *lone_enter(struct emu_world *world);
/* Are these words in the trace? */
bool lone_is_traced(struct emu_world *world, const char *words);

#endif
