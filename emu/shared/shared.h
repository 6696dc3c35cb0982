/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shared.h - a fabric of several processes: joining and leaving it, its lock, and which process
 * runs an event.
 *
 * The arena is a file that every process of the fabric maps (shared_file.h). The process that holds
 * the fabric's lock may change anything in it, including objects of other processes. Work that only
 * the owner of an object can do goes into the owner's inbox (inbox.h), and the owner is woken. A
 * process empties its inbox each time it takes the lock, so it never sees the arena with such work
 * still to be done.
 *
 * Virtual time follows the monotonic clock, which is the same in all processes but for the offset
 * of their time namespaces; or the fabric is in lockstep (lockstep.h). An event runs in the
 * process that finds it due, with two exceptions: an event that ends in an upcall runs in the
 * process that owns the QP or listener, and an event whose payload this process cannot reach
 * (reach.h) runs in the sender's process. A process that owns neither end of a connection runs
 * only its timers, and leaves its packets to an end. The packets of a QP run in order even so:
 * while one waits in an inbox, the next ones go behind it (runner.c).
 */
#ifndef EMU_SHARED_H
#define EMU_SHARED_H

#include "emu/fabric/sharing.h"
#include "emu/payload/peer.h"
#include "shared_file.h"
#include "emu/lockstep/lockstep.h"
#include "emu/lockstep/turn_text.h"

/* This process's own memory about the fabric it is in; not in the arena. */
struct emu_membership {
	int fd; /* the arena's file; each living process locks one byte of it */
	int32_t pid;
	struct emu_mapped mapped;
	struct nic_ops ops; /* the table of this process's nics: hooks.c */
	char path[256];
	char node[EMU_NAME];
	uint64_t to_wake; /* set of processes to wake when the lock is released */
	struct emu_peer peer[EMU_PROCESSES + 1]; /* the memory of the others */
	uint64_t nonce;        /* other processes read it here to test their access */
	bool bounce;           /* treat all memory as inaccessible */
	bool payload_lost;     /* the next completion is to fail: direct_owner.c */
	uint64_t clock_offset; /* of the monotonic clock of this process's time namespace */
	bool held;             /* this process holds the fabric's lock */
	bool brief;            /* it does so for the lines of one call: emu_direct_line_begin */
	bool apart;            /* the arena is a private copy: apart.h */
	uint32_t lock_ms;      /* wait so long for a stopped holder of the lock; 0: forever */
	/* The rest is for lockstep. */
	uint32_t turn_given;          /* wake this thread after the release; 0: none */
	uint32_t awaiting;            /* threads of this process in emu_lockstep_await */
	uint32_t thread_high;         /* highest entry that one of them has had */
	uint64_t stirred;             /* when they were last told to look again (monotonic) */
	uint64_t retry;               /* try again after this time (monotonic ns); 0: when woken */
	uint32_t called, called_naps; /* threads that are about to register, and checks for them */
	uint64_t bound_ns;            /* emu_lockstep.bound_ns at the join, if valid */
	uint64_t now;                 /* virtual time at the last look */
	uint64_t soon, soon_since;    /* see is_too_soon: the time, and since when (monotonic) */
	uint64_t back_ns;             /* no call returns before that virtual time */
	uint32_t turns;               /* switches that this process's threads are to make */
	struct emu_turn turn[EMU_TURNS];
	struct emu_turn *wanted; /* the one that the call in progress is to make; NULL: none */
	struct emu_watch watch;
	struct emu_patience leaver, comer;
	int32_t helper; /* its thread id; 0: it has not called yet */
	int tasks;      /* the open directory of this process's threads; 0: not open */
	dev_t tasks_dev;
	ino_t tasks_ino;
	uint32_t task_count; /* threads at the last count; 0: unknown */
	bool first_ended;    /* the process's first thread has ended before the others */
	uint32_t outsiders;
	int32_t outsider[EMU_OUTSIDERS];
	struct emu_new_thread new_thread[EMU_NEW_THREADS];
};

extern const struct emu_sharing emu_shared_hooks; /* hooks.c */

/* This process opens an adapter: settle which process has the node's name. */
void emu_shared_name(struct emu_world *w);
/* Join the fabric config->fabric, or make it as config says. */
int emu_shared_join(struct emu_world *w, const struct nic_config *config);
/* Leave: take the lock, remove this process, unmap. The last process removes the file. */
void emu_shared_leave(struct emu_world *w);

/* Make a fabric that stays when its last process leaves. -EEXIST: the name is in use. */
int emu_shared_make(struct emu_world *w, const struct nic_config *config);
/*
 * Map a fabric without joining it and call `look` with its lock held. -ENOENT: there is none.
 * `tidy`: clean up after processes that have died, first.
 */
int emu_shared_look(struct emu_world *w, const struct nic_config *config, bool tidy,
		    int (*look)(struct emu_world *w, void *arg), void *arg);
/* The absolute path of a trace's file; empty: it is too long. */
void emu_shared_trace_path(char *out, size_t room, const char *path);
/* With the lock held: remove the name of the fabric and write its trace. */
void emu_shared_finish(struct emu_world *w);

/* The group for shared worlds of struct nic_backend (host/nic_backend.h). */
bool emu_shared(struct nic_world *world);
bool emu_shared_lockstep(struct nic_world *world);
void emu_shared_outside(struct nic_world *world, enum nic_outside what);
enum nic_wait emu_shared_pause(struct nic_world *world, uint64_t until,
			       const struct nic_unlocked *unlocked);
bool emu_shared_expects(struct nic_world *world, int pid);
struct nic_book *emu_shared_book(struct nic_world *world);
bool emu_shared_enter(struct nic_world *world, bool idle);
void emu_shared_await(struct nic_world *world);
void emu_shared_exit(struct nic_world *world);
bool emu_shared_settle(struct nic_world *world);
void emu_shared_thread_ends(struct nic_world *world);
void emu_shared_process_exits(struct nic_world *world); /* exit.c */
void emu_shared_forked(struct nic_world *world);
void emu_shared_sleep(struct nic_world *world, bool idle, uint64_t until,
		      const struct nic_unlocked *unlocked);
void emu_shared_ring(struct nic_world *world, bool idle);
/* Wake the helpers of all other processes. */
void emu_shared_rouse(struct emu_world *w);
void emu_shared_watch(struct nic_world *world, uint64_t now);

/*
 * Allocate file blocks for a part of the arena; a store to a page without one would be a SIGBUS.
 * False: the file system is full.
 */
bool emu_shared_back(struct emu_world *w, const void *at, uint64_t bytes);

/* Take or release the lock and leave the inbox alone. */
void emu_shared_take(struct emu_world *w);
/* As emu_shared_take, by a process that is no member. False: its holder is stopped. */
bool emu_shared_take_as_guest(struct emu_world *w);
void emu_shared_release(struct emu_world *w);
/* Release it, having changed nothing that recovery rebuilds: cheaper. */
void emu_shared_release_clean(struct emu_world *w);

/* Close the file of the arena, if it is open. */
void emu_shared_close(struct emu_membership *m);
/* Others no longer see that this process lives. */
void emu_shared_unlock_byte(struct emu_world *w);
/* Is a process that is registered in the fabric still alive? */
bool emu_shared_alive(const struct emu_world *w, uint16_t process);
/*
 * With the lock held: clean up after every process that has died, in the order of their places, and
 * after `holder` (0: none), which died with this lock.
 */
void emu_shared_clean_up_dead(struct emu_world *w, uint16_t holder);
/* A process died: break its connections and free its objects. */
void emu_shared_clean_up(struct emu_world *w, uint16_t process);

static inline struct emu_process *emu_process(struct emu_world *w, uint16_t process)
{
	return &w->fab->shared.process[process <= EMU_PROCESSES ? process : 0];
}

static inline uint16_t emu_process_of(const struct emu_world *w, uint16_t adapter)
{
	uint16_t process = w->fab->adapters[adapter <= EMU_ADAPTERS ? adapter : 0].process;

	return process <= EMU_PROCESSES ? process : 0;
}

#endif /* EMU_SHARED_H */
