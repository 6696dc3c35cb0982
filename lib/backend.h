/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend.h - one kind of NIC in this process: its world, its open adapters, its lock.
 *
 * There is one struct backend per kind ("emu", "hw"), made when first needed and kept until the
 * process ends, so that the provider in the first word of every handle, live or stale, stays valid.
 * The world inside comes and goes: made by the first open (or dat_sim_create), ended by the last close
 * (or dat_sim_destroy).
 *
 * Lock: `lock` covers the backend, its adapters and all their objects, and everything behind the door.
 * It is skipped while the process has a single thread (ruling G7).
 */
#ifndef LIB_BACKEND_H
#define LIB_BACKEND_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/single_threaded.h>

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#include "bias.h"
#include "fault_text.h"
#include "nic.h"

#define NS_PER_US 1000ul

struct ia;
struct lmr;
struct agent_call;
struct helper;
TAILQ_HEAD(ia_list, ia);

/* An adapter while at least one IA is open on it. */
struct adapter {
	TAILQ_ENTRY(adapter) link;
	struct backend *backend;
	struct nic *nic;
	struct nic_attr attr;
	struct ia_list ias;
	char name[DAT_NAME_MAX_LENGTH];
	unsigned int opens;
	uint32_t last_id[16]; /* per object type */
	struct lmr **lmrs;    /* by lmr_context >> 8; see lmr.h */
	uint32_t lmr_slots, lmr_free;
	int evds, cnos;
	bool failed;
};

TAILQ_HEAD(adapter_list, adapter);
TAILQ_HEAD(agent_call_list, agent_call);

struct backend {
	DAT_PROVIDER provider; /* what handles point at; its `extension` is the backend */
	const struct nic_backend *kind;
	struct nic_ops ops;         /* the kind's table, laid over nic_unsupported */
	const struct nic_ops *door; /* what is called: `ops`, or the decorator's over it */
	struct nic_faults *fault;   /* the decorator; NULL: none, fault_door.h */
	struct nic_upcalls up;      /* with it: upcalls that ask it first */
	uint64_t seed;              /* of the world */
	struct nic_world *world;    /* NULL: none now */
	/*
	 * The same, while it is one that several processes share: it has a lock of its own, taken after
	 * `lock`. Such a process is never of one thread: it has a helper.
	 */
	struct nic_world *shared;
	struct fault_text faults; /* those of DATSIM_FAULTS in it */
	struct adapter_list adapters;
	DAT_HANDLE sim;         /* dat_sim handle of the world, issued when first asked for */
	unsigned int sim_users; /* calls of dat_sim that sleep inside the world */
	bool ending;            /* the world: they must leave */
	bool threaded;          /* several threads were seen: every nic was told */
	bool made_by_test;      /* by dat_sim_create: the last close does not end the world */
	unsigned int live[16];  /* objects, per type */
	LIST_HEAD(, lmr_share) shares;    /* cookies of shared memory in use */
	struct agent_call_list calls_due; /* agent.h */
	int agents;                       /* CNOs that have one */
	pthread_mutex_t lock;
	bool module;      /* from one, with a thread of its own: quick_hw.h */
	struct bias bias; /* of a backend in a module, and of a shared world */
	/* The world is shared, and what every message calls does not need its lock: nic_backend.quiet. */
	bool quick;
	unsigned int vain; /* polls in a row that found nothing so */
	bool quick_locked; /* with `lock`: taken by obj_peek_biased */
	pthread_cond_t wake;
	unsigned int sleepers;   /* threads that sleep in the door's `wait` */
	uint64_t sleepers_until; /* the next event, as far as they know */
	struct helper *helper;   /* helper.h; NULL: not needed yet */
};

/* What is there before backend_init. */
#define BACKEND_INITIALIZER(name)                                    \
	{                                                            \
		.adapters = TAILQ_HEAD_INITIALIZER(name.adapters),   \
		.calls_due = TAILQ_HEAD_INITIALIZER(name.calls_due), \
		.lock = PTHREAD_MUTEX_INITIALIZER,                   \
	}

void backend_init(struct backend *b, const struct nic_backend *kind);

/* The backend that DAT_PROVIDER names; why there is none goes to stderr. No lock is held. */
DAT_RETURN backend_chosen(struct backend **backend);
/* All that were ever made, for counting; NULL ends. */
struct backend *backend_next(struct backend *after);

static inline struct backend *backend_of_provider(DAT_PROVIDER *provider)
{
	return provider->extension;
}

/* What behind the door calls, unless a decorator is in it. */
extern const struct nic_upcalls backend_upcalls;

void backend_lock(struct backend *b);
/* With the lock held: whoever sleeps, here or in the door's `wait`, looks again. */
void backend_wake(struct backend *b);
/* One whose waits end at monotonic times. */
void backend_cond_init(pthread_cond_t *cond);

/* With the lock, as a shared world begins or ends. */
void backend_make_quick(struct backend *b, bool quick);
/* `lock` without that of a shared world, where that will do; false: it will not, nothing is held. */
bool backend_enter_quick(struct backend *b);
void backend_leave_quick(struct backend *b);

/* Without a lock. What is waited for may be another process's to do, and that one may wait for this processor. */
void backend_poll_in_vain(struct backend *b);

static inline void backend_enter(struct backend *b)
{
	if (!__libc_single_threaded)
		backend_lock(b);
}

/* Where there are several threads. */
void backend_release(struct backend *b);
/* With the lock held: sleep without it until backend_wake. */
void backend_sleep(struct backend *b);
uint64_t backend_monotonic_ns(void);

static inline void backend_unlock(struct backend *b)
{
	if (!__libc_single_threaded)
		backend_release(b);
}

/* agent.c: those that are due, unless this thread is in an agent. */
void agents_run(struct backend *b);
/* turn.c: a call on a shared world is over. */
void turn_settle(struct backend *b);
/* helper.c: somebody has to run what is pending. */
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

/* There are several threads: told once to those nics there are, and to each that comes later. */
void backend_tell_threaded(struct backend *b);
void backend_set_threaded(const struct backend *b, struct nic *nic);

/* world.c. Make the world as config says; NULL: as the environment says. */
DAT_RETURN backend_make_world(struct backend *b, const struct nic_config *config);
void backend_end_world(struct backend *b);
/* Open an adapter, or share it where it is open; *adapter->opens grows by one. */
DAT_RETURN backend_open_adapter(struct backend *b, const char *name, struct adapter **adapter);
void backend_close_adapter(struct adapter *adapter);
/* A poll or query that changed nothing: after a thousand in a row a quantum of time passes. */
void backend_idle(struct nic *nic);

static inline void backend_busy(struct nic *nic)
{
	nic->idle = 0;
}

#endif /* LIB_BACKEND_H */
