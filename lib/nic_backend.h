/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_backend.h - where adapters come from, a part of the door: nic.h includes it.
 *
 * A backend makes a world and opens adapters in it. One is linked in (emu/), one is in a module that is
 * loaded on demand (passthrough/). A world may be one that several processes share.
 */
#ifndef LIB_NIC_BACKEND_H
#define LIB_NIC_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct nic;
struct nic_upcalls;

/* What the environment or a test asked of a simulated fabric; a hardware backend ignores it. */
struct nic_config {
	const char *profile; /* "ib", "iwarp": how its transport behaves */
	uint64_t seed;
	uint64_t latency_ns;
	uint64_t bandwidth_bps;
	uint32_t mtu;
	uint32_t rnr_retry;
	uint64_t rnr_timer_ns;
	uint32_t retry;          /* so often a packet without an answer is sent again */
	uint64_t retry_timer_ns; /* after so long without one */
	uint64_t poll_quantum_ns;
	uint32_t network,
		prefix; /* of the adapters' IPv4 addresses, host order; 0: the usual ones */
	bool trace;
	const char *trace_file; /* written when the world ends; NULL: none */
	const char *fabric;     /* that several processes share: its name; NULL: a private one */
	const char *node;       /* this process's name on it; NULL: one is made up */
	bool bounce;            /* never reach into another process's memory */
	bool lockstep;          /* its processes take turns; asked for when it is made */
	uint64_t preempt_ns;    /* in lockstep: who stays outside for longer loses its turn */
};

/* A process that takes part in a shared world. */
struct nic_member {
	int pid;
	char node[NIC_ADAPTER_NAME];
	uint32_t adapters, qps, listeners;
	struct sockaddr_storage addr; /* of its first adapter */
	bool waiting;                 /* in the door's `wait`; in lockstep: all its threads */
	bool stuck;                   /* in lockstep: for ever, as all other processes do */
};

/* How lib lets go of the world's lock and its own, and takes them again. */
struct nic_unlocked {
	void (*unlock)(void *ctx);
	void (*lock)(void *ctx);
	void *ctx;
};

#define NIC_CONFIG_DEFAULT                                                                       \
	{                                                                                        \
		.profile = "ib", .seed = 1, .latency_ns = 1000, .bandwidth_bps = 100000000000ul, \
		.mtu = 4096, .rnr_retry = 6, .rnr_timer_ns = 100000, .retry = 7,                 \
		.retry_timer_ns = 1000000, .poll_quantum_ns = 2000                               \
	}

/*
 * A backend: makes a world (a fabric; on hardware the set of devices), opens adapters in it by name.
 * `world_destroy` needs every adapter closed.
 */
struct nic_world;
struct nic_backend {
	size_t size;
	const char *name;
	bool simulated; /* its worlds are made by dat_sim_create, too */
	/*
	 * What a process needs before the backend's lock is first taken in it, such as a thread; a forked
	 * child asks again. NULL: nothing. A negative errno: said why.
	 */
	int (*start)(void);
	/* -ENODEV: there is no hardware. */
	int (*world_create)(const struct nic_config *config, struct nic_world **world);
	void (*world_destroy)(struct nic_world *world);
	/* The i-th adapter name there is to list; false: no more. An open may accept further names. */
	bool (*adapter_name)(struct nic_world *world, unsigned int i, char *name, size_t size);
	/* The one name of those that mean an adapter, so that it is opened once. NULL: it has one only. */
	void (*canonical)(struct nic_world *world, const char *name, char *out, size_t size);
	/* -ENODEV: no adapter of that name can be. */
	int (*open)(struct nic_world *world, const char *name, const struct nic_upcalls *up,
		    void *ctx, struct nic **nic);
	/* Any nic call of the sim_* group before an adapter is open goes through this one. */
	struct nic *(*control)(struct nic_world *world);

	/* ---- worlds that several processes share; all NULL where there are none ---- */

	/*
	 * Does this one have a lock of its own? lib has it then, beside its own, around every call and upcall
	 * (but those of this group, unless they say so). It is taken second and released first.
	 * world_destroy is called without it.
	 */
	bool (*shared)(struct nic_world *world);
	/*
	 * Take it; upcalls come that were others' to cause. idle: in the thread that looks after the world.
	 * False: it is not taken, for the turn is another thread's; let go of lib's lock, await, try again.
	 */
	bool (*enter)(struct nic_world *world, bool idle);
	void (*leave)(struct nic_world *world);
	/* With neither, after enter said no; the world does not end meanwhile. */
	void (*await)(struct nic_world *world);
	/*
	 * With both: a call is over, what is due now runs. False: so is this thread's turn; let go of both and
	 * enter again, and settle again, before it returns.
	 */
	bool (*settle)(struct nic_world *world);
	/* Do threads take turns, in virtual time, so that nothing depends on when they really run? */
	bool (*lockstep)(struct nic_world *world);
	/* With both: this thread ends. */
	void (*thread_ends)(struct nic_world *world);
	/*
	 * With lib's only: nothing waits for this process, nothing is due. cq_poll, cq_spin, cq_count, post_send
	 * and post_recv may be called so, too, the two posts for a request with one segment. An error or false
	 * says nothing then: what is not usual is done with both.
	 */
	bool (*quiet)(struct nic_world *world);
	/* Is this world one of those in which they may? */
	bool (*quick)(struct nic_world *world);
	/*
	 * With both; releases both while it sleeps, until that monotonic time at most. Another process, or
	 * `ring`, wakes all that are not idle, and where there are none an idle one.
	 */
	void (*sleep)(struct nic_world *world, bool idle, uint64_t until_monotonic_ns,
		      const struct nic_unlocked *unlocked);
	void (*ring)(struct nic_world *world, bool idle);
	/* With both, a few times a second: processes that died are seen to. */
	void (*watch)(struct nic_world *world, uint64_t now_monotonic_ns);

	/* Shared worlds by name, from outside. -EINVAL: no name can be so; -EACCES: not this user's. */

	/* One that stays when nobody takes part. -EEXIST: there is one. */
	int (*fabric_make)(const struct nic_config *config);
	/* -ENOENT: none; -EBUSY: somebody takes part. */
	int (*fabric_end)(const char *name);
	/* The name that comes after this one; -ENOENT: none does. */
	int (*fabric_next)(char *name, size_t size);
	/* The i-th of its processes; those that died are seen to before. -ERANGE: no such; -ENOENT: no such fabric. */
	int (*fabric_member)(const char *name, unsigned int i, struct nic_member *member);
	/* In lockstep: time stands still until it is let go. -EINVAL: no such world is. */
	int (*fabric_hold)(const char *name, bool held);
};

extern const struct nic_backend emu_backend; /* linked in; the passthrough is loaded on demand */

/*
 * A backend in a module. It exports the entry below and nothing else, and imports nothing from libdat: what
 * it needs is here. The number in the name changes with this header.
 */
#define NIC_MODULE_ENTRY "dat_nic_backend_1"

struct nic_host {
	size_t size;       /* of this */
	size_t ops_size;   /* of struct nic_ops, as libdat knows it */
	size_t quick_size; /* of struct nic_quick_qp; 0: libdat knows none of the quick ways */
	/* The lock of the backend instance, for threads of the module's own. */
	void (*lock)(void);
	void (*unlock)(void);
	uint64_t (*monotonic_ns)(void);
	/* A line for the person who runs the program, on stderr. */
	void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

/* NULL: it cannot be; said why. Called once in a process. */
typedef const struct nic_backend *(*nic_module_entry)(const struct nic_host *host);

#endif /* LIB_NIC_BACKEND_H */
