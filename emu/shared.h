/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shared.h - a fabric of several processes: joining and leaving it, its lock, who does what.
 *
 * The arena is a file that every process of the fabric maps (shared_file.h). Whoever holds its lock may
 * change anything in it, another's objects too; what only their owner can do is put into its inbox
 * (inbox.h), and its bell is rung. A process empties its inbox whenever it takes the lock, so whatever
 * it sees, it sees after that.
 *
 * Virtual time follows the monotonic clock, the same for all. Events run in the process that finds them
 * due, with the exception of those that end in an upcall, which are their owner's, and of those whose
 * payload is out of reach (reach.h), which are the sender's.
 */
#ifndef EMU_SHARED_H
#define EMU_SHARED_H

#include "fabric.h"
#include "shared_file.h"
#include "lockstep.h"

/* Beside the arena, of this process. */
struct emu_membership {
	int fd; /* the arena's file; locks on it say who is alive */
	int32_t pid;
	struct emu_mapped mapped;
	char path[256];
	char node[EMU_NAME];
	uint64_t ring;                      /* processes whose bells are to be rung, by number */
	uint64_t vain;                      /* processes whose memory is out of reach */
	uint64_t reach;                     /* and those within */
	uint32_t births[EMU_PROCESSES + 1]; /* that this is about */
	uint64_t nonce;                     /* others look for it here */
	bool bounce;                        /* take all for out of reach */
	bool held;                          /* this process holds the fabric's lock */
	/* In lockstep. */
	uint32_t turn_given; /* to this thread, which is to be told; 0: none */
	uint32_t awaiting;   /* threads of this process in emu_lockstep_await */
	uint64_t retry; /* the turn is nobody's for so long, monotonic; 0: until something happens */
	uint64_t bound_ns;         /* emu_lockstep.bound_ns, if that made sense */
	uint64_t now;              /* virtual time, when it was looked at last */
	uint64_t soon, soon_since; /* what was too soon, and monotonic time when that was seen */
	struct emu_seen seen;
	int32_t helper; /* the thread that looks after the world; 0: it has not come yet */
	uint32_t strangers;
	int32_t stranger[EMU_STRANGERS];
	struct emu_newborn newborn[EMU_NEWBORN];
};

/* Join the fabric of that name, or make it as config says. */
int emu_shared_join(struct emu_world *w, const struct nic_config *config);
/* With the lock held, which is gone then, and so is the mapping. The last one takes the file along. */
void emu_shared_leave(struct emu_world *w);

/* Make one that stays when nobody takes part. -EEXIST: there is one of that name. */
int emu_shared_make(struct emu_world *w, const struct nic_config *config);
/* Call look with the lock held, taking no part; w is for nothing else. -ENOENT: there is none. */
int emu_shared_look(struct emu_world *w, const struct nic_config *config,
		    int (*look)(struct emu_world *w, void *arg), void *arg);
/* With the lock held: it has no name from now on, and its trace is where it was to go. */
void emu_shared_finish(struct emu_world *w);

/* The rest of lib/nic.h's group for shared worlds. */
bool emu_shared(struct nic_world *world);
bool emu_shared_lockstep(struct nic_world *world);
bool emu_shared_enter(struct nic_world *world, bool idle);
void emu_shared_await(struct nic_world *world);
void emu_shared_exit(struct nic_world *world);
bool emu_shared_settle(struct nic_world *world);
void emu_shared_thread_ends(struct nic_world *world);
void emu_shared_sleep(struct nic_world *world, bool idle, uint64_t until,
		      const struct nic_unlocked *unlocked);
void emu_shared_ring(struct nic_world *world, bool idle);
void emu_shared_watch(struct nic_world *world, uint64_t now);

/* There is memory for that part of the arena: else a store into it would end the process. False: no room. */
bool emu_shared_back(struct emu_world *w, const void *at, uint64_t bytes);

/* The lock alone: the inbox stays as it is. */
void emu_shared_take(struct emu_world *w);
void emu_shared_release(struct emu_world *w);
/* The same, by one who has changed nothing that recover.h looks after. */
void emu_shared_let_go(struct emu_world *w);

/* The process that an event is for; 0: this one. */
uint16_t emu_shared_runner(struct emu_world *w, const struct emu_event *event);
/* Is that process, of which the fabric thinks it takes part, alive? */
bool emu_shared_alive(const struct emu_world *w, uint16_t process);
/* A process is gone, without having left: its connections break, what it had comes back. */
void emu_shared_bury(struct emu_world *w, uint16_t process);

static inline struct emu_process *emu_process(struct emu_world *w, uint16_t process)
{
	return &w->fab->shared.process[process <= EMU_PROCESSES ? process : 0];
}

static inline uint16_t emu_process_of(const struct emu_world *w, uint16_t adapter)
{
	uint16_t process = w->fab->adapters[adapter].process;

	return process <= EMU_PROCESSES ? process : 0;
}

#endif /* EMU_SHARED_H */
