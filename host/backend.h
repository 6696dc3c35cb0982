/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend.h - a backend instance: one kind of NIC in this process, with its world, open adapters
 * and lock.
 *
 * There is one struct backend for each kind ("emu", "hw"). It is made when first needed and kept
 * until the process ends, so that the provider in the first word of every handle, live or stale,
 * stays valid. Its world comes and goes: the first open (or dat_sim_create) makes it, the last
 * close (or dat_sim_destroy) ends it.
 *
 * Lock: `lock` covers the backend, its adapters, all their objects, and everything behind the door.
 * It is skipped while the process has a single thread (ruling G7).
 */
#ifndef HOST_BACKEND_H
#define HOST_BACKEND_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/single_threaded.h>

#include "bias.h"
#include "fault_text.h"
#include "front.h"
#include "nic.h"
#include "path.h"

#define NS_PER_US 1000ul

#define ADAPTER_NAME_MAX 256 /* with the NUL */

struct agent_call;
struct helper;

/* An adapter that a front has open; the front's own struct for it embeds this first (front.h). */
struct adapter {
	TAILQ_ENTRY(adapter) link;
	LIST_ENTRY(adapter) in_bucket; /* by its name, in backend.named */
	struct backend *backend;
	struct front *front;
	struct nic *nic;
	struct nic_attr attr;
	char name[ADAPTER_NAME_MAX];
	unsigned int opens;
	bool failed; /* the front's to set and to read */
};

TAILQ_HEAD(adapter_list, adapter);
LIST_HEAD(adapter_bucket, adapter);
#define ADAPTER_BUCKETS 256u
TAILQ_HEAD(agent_call_list, agent_call);

struct backend {
	struct front *fronts[HOST_FRONTS]; /* those attached so far */
	const struct nic_backend *kind;
	struct nic_ops ops;         /* the kind's table, laid over nic_unsupported */
	const struct nic_ops *door; /* what is called: `ops`, or the decorator's over it */
	struct nic_faults *fault;   /* the decorator; NULL: none, fault_door.h */
	uint64_t seed;              /* of the world */
	struct nic_world *world;    /* NULL: there is none */
	/*
	 * `world` if several processes share it, else NULL. A shared world has a lock of its own,
	 * taken after `lock`. Its process always has several threads, because it has a helper.
	 */
	struct nic_world *shared;
	struct fault_text faults; /* the rules of DATSIM_FAULTS */
	struct adapter_list adapters;
	struct adapter_bucket named[ADAPTER_BUCKETS];
	unsigned int users; /* calls that sleep in the world without an adapter */
	/*
	 * The world is ending: `users` must leave, and it is destroyed behind a release of the
	 * lock. No other one is made until then: backend_await_end.
	 */
	bool ending;
	bool threaded;                    /* the process has several threads, and every nic knows */
	bool kept;                        /* the maker of the world ends it, not the last close */
	bool attends;                     /* the process joined for its turns: outside_attend */
	bool departed;                    /* it has left again: it may have one thread */
	bool silent;                      /* calls that only ask have no line in the trace */
	int blocks[PATH_BLOCKS];          /* path.h */
	struct agent_call_list calls_due; /* agent.h */
	pthread_mutex_t lock;
	bool module;      /* the kind is one of a module, which has a thread of its own */
	struct bias bias; /* for a backend in a module, and for a shared world */
	/*
	 * The world is shared, and the calls of every message do not need its lock:
	 * nic_backend.quiet.
	 */
	bool quick;
	unsigned int empty_polls; /* polls on that path in a row that found nothing */
	bool quick_locked;        /* `lock` is held, taken by obj_peek_biased */
	pthread_cond_t wake;
	unsigned int sleepers;   /* threads asleep in the door's `wait` */
	uint64_t sleepers_until; /* the next event when the latest of them fell asleep */
	struct helper *helper;   /* helper.h; NULL: not needed yet */
	bool first_ended;        /* the process's first thread has called pthread_exit */
};

/* The state before backend_init. */
#define BACKEND_INITIALIZER(name)                                    \
	{                                                            \
		.adapters = TAILQ_HEAD_INITIALIZER(name.adapters),   \
		.calls_due = TAILQ_HEAD_INITIALIZER(name.calls_due), \
		.lock = PTHREAD_MUTEX_INITIALIZER,                   \
	}

void backend_init(struct backend *b, const struct nic_backend *kind);

/*
 * The locks of this process, outermost first. fork() takes them all before it makes the child, so
 * that no thread changes what they protect meanwhile, and gives the child its own, unlocked. The
 * lock of a backend is none of them: a child forgets all that it protects.
 */
enum fork_lock {
	FORK_LOCK_LOADER,   /* dat.conf and provider libraries: lib/registry/loader.c */
	FORK_LOCK_MODULE,   /* loading the hardware backend: backend_hw.c */
	FORK_LOCK_ATTACH,   /* the fronts of a backend: backend.c */
	FORK_LOCK_REGISTRY, /* lib/registry/registry.c */
	FORK_LOCK_CELLS,    /* bias.c */
	FORK_LOCK_HANDLES,  /* lib/handle.c */
	FORK_LOCK_SLABS,    /* lib/slab.c */
	FORK_LOCKS
};
/* In a constructor, before any thread: this unlocked mutex, which lives as long as the process. */
void backend_fork_lock(enum fork_lock which, pthread_mutex_t *mutex);
pthread_mutex_t *backend_fork_mutex(enum fork_lock which);

/*
 * Get the backend that DAT_PROVIDER names, and attach this front to it. -ENODEV: there is none, and
 * the reason is on stderr. No lock is held.
 */
int backend_chosen(const struct front_ops *ops, struct backend **backend);
/* The same with the emulator, whatever DAT_PROVIDER says. */
void backend_emulator(const struct front_ops *ops, struct backend **backend);
/* Iterate over all backend instances; NULL begins and ends. */
struct backend *backend_next(struct backend *after);

/* The front of b that has this table; NULL: it was never attached. */
struct front *backend_front(const struct backend *b, const struct front_ops *ops);

/* The services of the host process (nic.h), for a front's table of upcalls. */
#define BACKEND_SERVICES                                                          \
	.monotonic_ns = backend_serve_monotonic_ns, .sleep = backend_serve_sleep, \
	.wake = backend_serve_wake
uint64_t backend_serve_monotonic_ns(void *nic_ctx);
enum nic_wait backend_serve_sleep(void *nic_ctx, uint64_t until);
void backend_serve_wake(void *nic_ctx);

void backend_lock(struct backend *b);
/* With the lock held: wake all threads that sleep here or in the door's `wait`. */
void backend_wake(struct backend *b);
/* A condition variable whose timeouts are monotonic times. */
void backend_cond_init(pthread_cond_t *cond);

/* With the lock held, when a shared world begins or ends. */
void backend_make_quick(struct backend *b, bool quick);
/*
 * Take `lock` without the lock of a shared world, if that is sufficient; false: it is not, no lock
 * is held.
 */
bool backend_enter_quick(struct backend *b);
void backend_leave_quick(struct backend *b);

/*
 * For the calls of every message in a shared world: take the biased lock, or `lock` if that is
 * sufficient. False: neither is; no lock is held, and the call has to take the careful path.
 */
static inline bool backend_enter_biased(struct backend *b)
{
	return bias_enter_own(&b->bias) || backend_enter_quick(b);
}

static inline void backend_leave_biased(struct backend *b)
{
	if (__builtin_expect(b->quick_locked, 0))
		backend_leave_quick(b);
	else
		bias_leave();
}

/*
 * Without a lock, after a poll that found nothing. After many in a row the thread yields, because
 * the process that is to send the message may wait for this CPU.
 */
void backend_count_empty_poll(struct backend *b);

static inline void backend_enter(struct backend *b)
{
	if (!__libc_single_threaded)
		backend_lock(b);
}

/* In a process of several threads. */
void backend_release(struct backend *b);
/* With the lock held: sleep without it until backend_wake. */
void backend_sleep(struct backend *b);
uint64_t backend_monotonic_ns(void);

static inline void backend_unlock(struct backend *b)
{
	if (!__libc_single_threaded)
		backend_release(b);
}

/* agent.c: run the agents that are due, unless this thread is inside an agent. */
void agents_run(struct backend *b);
/* turn.c: the end of a call on a shared world. */
void turn_settle(struct backend *b);
/* helper.c: make sure that a thread runs pending events. */
void helper_look(struct backend *b);

static inline void backend_leave(struct backend *b)
{
	if (__builtin_expect(b->shared != NULL, 0))
		turn_settle(b);
	if (__builtin_expect(!TAILQ_EMPTY(&b->calls_due), 0))
		agents_run(b);
	if (!__libc_single_threaded)
		helper_look(b);
	backend_unlock(b);
}

/* ---- with the lock held ---- */

/* The process has several threads: tell every nic, once, and each nic that is opened later. */
void backend_tell_threaded(struct backend *b);
void backend_set_threaded(const struct backend *b, struct nic *nic);

/*
 * world.c. Make the world with this configuration; NULL: with the environment's. -ENOMEM; -ENODEV:
 * there is no hardware; -EAGAIN: the helper thread cannot be created; -EINVAL: a setting cannot be
 * met.
 */
int backend_make_world(struct backend *b, const struct nic_config *config);
void backend_end_world(struct backend *b);
/*
 * Before a look at b->world that is to make one or to open an adapter: wait until a world that is
 * ending has ended. False: this thread is what it waits for.
 */
bool backend_await_end(struct backend *b);
/*
 * A call that sleeps in the world, with no adapter to keep the world from ending, begins and ends.
 */
static inline void backend_use(struct backend *b)
{
	b->users++;
}

/* A child that was forked in between has no users. */
static inline void backend_unuse(struct backend *b)
{
	if (b->users > 0 && --b->users == 0 && b->ending)
		backend_wake(b);
}

/*
 * Open an adapter for a front, or share it if that front has it open; *adapter->opens grows by one.
 * -ENOMEM; -ENODEV: no adapter has that name, and stderr lists those that exist; -ENOSPC: the
 * backend has no room for it.
 */
int backend_open_adapter(struct front *front, const char *name, struct adapter **adapter);
void backend_close_adapter(struct adapter *adapter);
/*
 * A poll or query changed nothing. After a thousand in a row, one quantum of virtual time passes.
 */
void backend_idle(struct nic *nic);
/* The same, and the caller lets the time pass, if true is returned. */
bool backend_idles(struct nic *nic);

/* Append a line to the trace (nic_ops.trace takes a va_list). */
void nic_trace(struct nic *nic, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void backend_busy(struct nic *nic)
{
	nic->idle = 0;
}

#endif /* HOST_BACKEND_H */
