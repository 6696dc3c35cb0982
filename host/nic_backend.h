/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_backend.h - backends, the part of the door that provides adapters; nic.h includes it.
 *
 * A backend makes a world and opens adapters in it. One backend is linked in (emu/); another one is
 * a module that is loaded on demand (passthrough/). Several processes may share a world. What it
 * calls in turn, struct nic_upcalls, is here, too.
 */
#ifndef HOST_NIC_BACKEND_H
#define HOST_NIC_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct nic;
struct nic_cq;
struct nic_upcalls;

/* What nic_backend.line_begin found. */
enum nic_line {
	NIC_LINE_READY, /* the call may be made: the world's lock is held for it */
	NIC_LINE_EMPTY, /* the CQ is empty, and nothing is due */
	NIC_LINE_DUE,   /* something is due */
};

/*
 * Ways in which a simulated NIC is as unkind as devices are allowed to be. Each is off unless the
 * fabric's maker asks for it.
 */
enum nic_hostile {
	NIC_HOSTILE_WATCH = 1 << 0,  /* watch=posted: tell of changes to buffers that are posted */
	NIC_HOSTILE_POISON = 1 << 1, /* poison=on: posted Receives hold garbage */
	NIC_HOSTILE_TAIL = 1 << 2,   /* placement=tail: the last bytes of a message land first */
	NIC_HOSTILE_RANDOM = 1 << 3, /* placement=random: its cache lines land in any order */
	NIC_HOSTILE_ENDS = 1 << 4,   /* ends=device: an end hears of a break as devices tell it */
	NIC_HOSTILE_RETRY = 1 << 5,  /* retry=spurious: requests are sent again for no reason */
	NIC_HOSTILE_SENT = 1 << 6,   /* complete=sent: requests complete before they arrive */
};

#define NIC_HOSTILE_ALL       127u
#define NIC_HOSTILE_PLACEMENT (NIC_HOSTILE_TAIL | NIC_HOSTILE_RANDOM)

/* Is it a set of these, with one placement at most? */
bool nic_hostile_is_valid(uint32_t set);

#define NIC_HOSTILE_TEXT 128
/* "watch=posted,poison=on": the set as DATSIM_HOSTILE has it; empty: "". */
void nic_hostile_text(uint32_t set, char text[NIC_HOSTILE_TEXT]);
/* Read such a list, or "all", which is each of them with random placement. */
bool nic_hostile_parse(const char *text, uint32_t *set);

/*
 * The configuration of a simulated fabric, from the environment or a test; a hardware backend
 * ignores it.
 */
struct nic_config {
	const char *profile; /* "ib" or "iwarp": the transport's behaviour */
	uint64_t seed;
	uint64_t latency_ns;
	uint64_t bandwidth_bps;
	uint32_t mtu;
	uint32_t rnr_retry;
	uint64_t rnr_timer_ns;
	uint32_t retry;          /* retransmissions of an unacknowledged packet */
	uint64_t retry_timer_ns; /* the time before each of them */
	uint64_t poll_quantum_ns;
	uint32_t network, prefix; /* of the adapters' IPv4 addresses, host order; 0: the default */
	bool trace;
	uint64_t trace_bytes;   /* longest trace; 0: as long as the backend can keep */
	uint64_t trace_last;    /* keep at least so many bytes of its end; 0: keep its beginning */
	const char *trace_file; /* written when the world ends; NULL: none */
	const char *fabric;     /* name of a fabric that processes share; NULL: a private one */
	const char *node;       /* this process's name on it; NULL: generated */
	bool bounce;            /* never copy directly from another process's memory */
	bool lockstep;          /* run it in lockstep; decided when the fabric is made */
	uint64_t preempt_ns;    /* in lockstep: time outside the library until a turn is lost */
	uint64_t back_ns;       /* in lockstep: this process is back at that virtual time */
	const char *turns;      /* in lockstep: their order, emu/lockstep/turn_text.h; NULL: any */
	uint32_t lock_ms; /* wait so long for a fabric's lock whose holder is stopped; 0: forever */
	uint32_t hostile; /* set of enum nic_hostile */
};

#define NIC_LOCK_MS 30000u

/* A process of a shared world. */
struct nic_member {
	int pid;
	char node[NIC_ADAPTER_NAME];
	uint32_t adapters, qps, listeners;
	struct sockaddr_storage addr; /* of its first adapter */
	bool waiting; /* it is in the door's `wait`; in lockstep: all its threads are */
	bool stuck;   /* in lockstep: no pending event can end any process's wait */
};

/*
 * How the backend releases the world's lock and lib's, and takes them again. lock: false if the
 * world has ended meanwhile, and may be gone.
 */
struct nic_unlocked {
	void (*unlock)(void *ctx);
	bool (*lock)(void *ctx);
	void *ctx;
};

#define NIC_CONFIG_DEFAULT                                                                       \
	{                                                                                        \
		.profile = "ib", .seed = 1, .latency_ns = 1000, .bandwidth_bps = 100000000000ul, \
		.mtu = 4096, .rnr_retry = 6, .rnr_timer_ns = 100000, .retry = 7,                 \
		.retry_timer_ns = 1000000, .poll_quantum_ns = 2000, .lock_ms = NIC_LOCK_MS       \
	}

/*
 * The book of a world in lockstep, which its processes share: the numbers that the kernel gives
 * out, process ids and ports. Programs see others in their place, which are the same in each run
 * (host/outside/turns_pid.c, turns_port.c). The thread that has the turn writes it, so no lock
 * protects it. Every process can write garbage to it, so an entry counts only if its two halves
 * agree, and numbers are bounded.
 */
#define NIC_BOOK_PIDS       256
#define NIC_BOOK_PIDS_FIRST 5000000 /* above each one that the kernel gives out */
#define NIC_BOOK_TIDS       1000000
#define NIC_BOOK_TIDS_FIRST (NIC_BOOK_PIDS_FIRST + NIC_BOOK_PIDS)
#define NIC_BOOK_PORTS      4096
#define NIC_BOOK_PORT_FIRST 61000 /* above those that the kernel gives out */
#define NIC_BOOK_MEETS      512

struct nic_book {
	uint32_t pids;                 /* entries given out so far */
	uint32_t tids;                 /* ids of threads that are not the first of their process */
	uint64_t pid[NIC_BOOK_PIDS];   /* the kernel's, as nic_book_word makes it; 0: it is gone */
	uint64_t outside;              /* the parent, outside the world, that was asked for last */
	uint32_t ports;                /* given out so far; the oldest are overwritten */
	uint32_t port[NIC_BOOK_PORTS]; /* the kernel's: it, and its complement */
	/*
	 * Locks, conditions and semaphores in memory that processes share, by their place in a page
	 * (host/outside/turns_lock.c). Several may have the same entry: then more threads look.
	 */
	struct nic_book_meet {
		uint32_t waiting; /* threads */
		uint32_t told;    /* how often, while there were any */
		uint32_t starved; /* how many of the threads have missed a lock too often */
	} meet[NIC_BOOK_MEETS];
	uint32_t spins; /* processes may share spin locks, which do not say so themselves */
};

static inline uint64_t nic_book_word(int32_t pid)
{
	return (uint64_t) ~(uint32_t)pid << 32 | (uint32_t)pid;
}

/* 0: it is free, or garbage. */
static inline int32_t nic_book_pid(uint64_t word)
{
	int32_t pid = (int32_t)(uint32_t)word;

	return pid > 0 && word == nic_book_word(pid) ? pid : 0;
}

static inline uint32_t nic_book_half(uint16_t port)
{
	return (uint32_t)(uint16_t)~port << 16 | port;
}

static inline uint16_t nic_book_port(uint32_t word)
{
	return word == nic_book_half((uint16_t)word) ? (uint16_t)word : 0;
}

/* What a thread that blocks outside the library tells of it: host/outside/outside.h. */
enum nic_outside {
	NIC_OUTSIDE_WAITS,    /* its next `wait` is for a descriptor */
	NIC_OUTSIDE_TELLS,    /* such waits, in all processes, may be over */
	NIC_OUTSIDE_LEAVES,   /* it is about to block in the kernel */
	NIC_OUTSIDE_RESTARTS, /* its process is killed now, and started again: time stops */
	/* It has woken or is creating another thread of its process, which is about to call. */
	NIC_OUTSIDE_CALLS,
	NIC_OUTSIDE_CALLS_NOT, /* it could not create that thread */
	NIC_OUTSIDE_ENDS,  /* its process is about to exit or to exec; the turn stays until then */
	NIC_OUTSIDE_BEARS, /* it is about to start a process; the turn stays until that joins */
	NIC_OUTSIDE_DEPARTS, /* its process makes a world of its own, and leaves this one */
};

/*
 * A backend makes a world (a fabric; on hardware the set of devices) and opens adapters in it by
 * name. `world_destroy` requires that every adapter is closed.
 */
struct nic_world;
struct nic_backend {
	size_t size;
	const char *name;
	bool simulated; /* dat_sim_create can make its worlds */
	/*
	 * Prepare the process before the backend's lock is first taken in it, for example start a
	 * thread; called again in a forked child. NULL: nothing to do. A negative errno: the reason
	 * is on stderr.
	 */
	int (*start)(void);
	/* -ENODEV: there is no hardware. */
	int (*world_create)(const struct nic_config *config, struct nic_world **world);
	void (*world_destroy)(struct nic_world *world);
	/*
	 * The i-th adapter name to list; false: no more. An open may accept further names. No lock
	 * is held, and there may be no world.
	 */
	bool (*adapter_name)(unsigned int i, char *name, size_t size);
	/*
	 * The canonical one of an adapter's names, so that it is opened once. NULL: an adapter has
	 * one name.
	 */
	void (*canonical)(struct nic_world *world, const char *name, char *out, size_t size);
	/* -ENODEV: no adapter can have that name. */
	int (*open)(struct nic_world *world, const char *name, const struct nic_upcalls *up,
		    void *ctx, struct nic **nic);
	/* A nic for calls of the sim_* group, which may come before any adapter is open. */
	struct nic *(*control)(struct nic_world *world);

	/* ---- worlds that several processes share; all NULL if the backend has none ---- */

	/*
	 * True if the world is shared and has a lock of its own. lib then holds that lock, in
	 * addition to its own, around every call and upcall (except those of this group, unless
	 * stated). It is taken after lib's lock and released before it. world_destroy is called
	 * without it.
	 */
	bool (*shared)(struct nic_world *world);
	/*
	 * Take the world's lock. Upcalls for events that other processes caused come now. idle: the
	 * caller is the helper thread. False: the lock is not taken, because another thread has the
	 * turn; release lib's lock, call await, and try again.
	 */
	bool (*enter)(struct nic_world *world, bool idle);
	void (*leave)(struct nic_world *world);
	/*
	 * After enter returned false, without either lock: wait for the turn. The world does not
	 * end meanwhile.
	 */
	void (*await)(struct nic_world *world);
	/*
	 * With both locks, at the end of a call: run the events that are due. False: this thread's
	 * turn is over too; release both locks, enter again and settle again before the call
	 * returns.
	 */
	bool (*settle)(struct nic_world *world);
	/*
	 * True in lockstep: threads take turns in virtual time, so that nothing depends on their
	 * real speed.
	 */
	bool (*lockstep)(struct nic_world *world);
	/* In lockstep, with both locks, of this thread. */
	void (*outside)(struct nic_world *world, enum nic_outside what);
	/*
	 * In lockstep, with both locks, which it releases while it sleeps: the door's `wait` of a
	 * process that has no adapter, until that virtual time.
	 */
	enum nic_wait (*pause)(struct nic_world *world, uint64_t until,
			       const struct nic_unlocked *unlocked);
	/*
	 * In lockstep, with both locks, after NIC_OUTSIDE_BEARS: is the process `pid`, which this
	 * one has started (0: none, the start failed), still to join the world?
	 */
	bool (*expects)(struct nic_world *world, int pid);
	/* In lockstep, without a lock: the world's book. */
	struct nic_book *(*book)(struct nic_world *world);
	/* With lib's lock alone: this thread ends. */
	void (*thread_ends)(struct nic_world *world);
	/*
	 * Without a lock: the process exits and has not destroyed the world; other threads, or this
	 * one, may be inside the library.
	 */
	void (*process_exits)(struct nic_world *world);
	/* In a forked child, which is not in the world: close the descriptors that it inherited. */
	void (*forked)(struct nic_world *world);
	/*
	 * With lib's lock only. True: nothing waits for this process and no event is due. cq_poll,
	 * cq_spin, cq_count, post_recv and srq_post may be called in the same way, and post_send
	 * for a request with one segment. If a post fails, nothing has happened, and the caller
	 * repeats it with both locks.
	 */
	bool (*quiet)(struct nic_world *world);
	/* True if those calls are allowed with lib's lock only in this world. */
	bool (*quick)(struct nic_world *world);
	/*
	 * Around such a call that writes lines into the trace: take the world's lock for it alone.
	 * Nothing runs that is due, so no upcall comes. cq: the call polls that CQ; NULL: it posts.
	 * After NIC_LINE_READY, line_end releases the lock; otherwise it was not taken. After
	 * NIC_LINE_DUE the caller makes the call with both locks.
	 */
	enum nic_line (*line_begin)(struct nic_world *world, struct nic_cq *cq);
	void (*line_end)(struct nic_world *world);
	/*
	 * With both locks; releases both while it sleeps, until that monotonic time at most.
	 * Another process, or `ring`, wakes all sleepers that are not idle, or an idle one if there
	 * are no others.
	 */
	void (*sleep)(struct nic_world *world, bool idle, uint64_t until_monotonic_ns,
		      const struct nic_unlocked *unlocked);
	void (*ring)(struct nic_world *world, bool idle);
	/* With both locks, a few times a second: clean up after processes that died. */
	void (*watch)(struct nic_world *world, uint64_t now_monotonic_ns);

	/*
	 * Shared worlds by name, from processes outside. -EINVAL: an invalid name; -EACCES: another
	 * user's world.
	 */

	/* Make a world that exists while no process uses it. -EEXIST: the name is in use. */
	int (*fabric_make)(const struct nic_config *config);
	/* -ENOENT: no such world; -EBUSY: a process uses it. */
	int (*fabric_end)(const char *name);
	/* The next name after this one; -ENOENT: there is none. */
	int (*fabric_next)(char *name, size_t size);
	/*
	 * The i-th process of a world, after those that died were cleaned up. -ERANGE: no such
	 * process; -ENOENT: no such world.
	 */
	int (*fabric_member)(const char *name, unsigned int i, struct nic_member *member);
	/*
	 * In lockstep: stop virtual time, or let it continue. -EINVAL: the world is not in
	 * lockstep.
	 */
	int (*fabric_hold)(const char *name, bool held);
	/* A line "note TEXT" for the trace, if it is recorded; no control characters. */
	int (*fabric_note)(const char *name, const char *text);
	/*
	 * The text of the lines that the trace has got since the last call with this *reader, which
	 * is NULL at first; it is valid until the next one. No name: free the reader.
	 */
	int (*fabric_trace)(const char *name, void **reader, const char **text, size_t *length);
};

extern const struct nic_backend emu_backend; /* linked in; the passthrough is loaded on demand */

/*
 * A backend in a module exports the entry below and nothing else. It imports nothing from libdat:
 * struct nic_host has everything it needs. The number in the name changes with this header.
 */
#define NIC_MODULE_ENTRY "dat_nic_backend_1"

struct nic_host {
	size_t size;         /* of this struct */
	size_t ops_size;     /* of struct nic_ops, as libdat knows it */
	size_t upcalls_size; /* of struct nic_upcalls */
	size_t quick_size;   /* of struct nic_quick_qp; 0: the front makes no fast calls */
	int *inside; /* the flag of the biased lock's owner, which fast calls clear (bias.h) */
	/* The lock of the backend instance, for threads of the module's own. */
	void (*lock)(void);
	void (*unlock)(void);
	uint64_t (*monotonic_ns)(void);
	/* Print a line on stderr for the user of the program. */
	void (*say)(const char *format, ...) __attribute__((format(printf, 1, 2)));
};

/* Called once in a process. NULL: the backend cannot be used, and the reason is on stderr. */
typedef const struct nic_backend *(*nic_module_entry)(const struct nic_host *host);

/* ---- upcalls: nic.h says when they may come ---- */

struct nic_upcalls {
	/* The calls of every message on hardware (nic_quick.h); NULL: this front makes none. */
	const struct nic_quick_front *quick;

	/* ---- nic_ops.send_one and recv_one have to be made in full ---- */
	int (*send_refused)(struct nic_qp *qp, void *request, uint64_t wr_id);
	int (*recv_refused)(struct nic_qp *qp, void *request, uint64_t wr_id);
	/* recv_one has posted it while the world is traced: the front's line. Returns 0. */
	int (*recv_posted)(struct nic_qp *qp, void *request, uint64_t wr_id);

	/* ---- the result of nic_ops.spin_one; what: nic_wc_what (nic_work.h) ---- */
	int (*completed)(void *out, void *cq_ctx, struct nic_qp *qp, uint64_t wr_id,
			 uint32_t length, uint32_t what);
	/* The same for spin_one_traced: the front also writes the completion's line. */
	int (*completed_traced)(void *out, void *cq_ctx, struct nic_qp *qp, uint64_t wr_id,
				uint32_t length, uint32_t what);
	int (*no_completion)(void *out);

	/* ---- completions and limits; ctx is the object's ---- */
	void (*cq_notify)(void *cq_ctx);
	/*
	 * A completion of qp is lost. Either the CQ has no room (see cq_limit): the front breaks qp
	 * unless the backend does, and qp_ctx is NULL if a device cannot tell whose it was. Or the
	 * QP has no CQ for it (cq_ctx is NULL), which is no error.
	 */
	void (*cq_lost)(void *cq_ctx, void *qp_ctx, enum nic_opcode lost);
	void (*srq_limit)(void *srq_ctx);
	void (*qp_soft_limit)(void *qp_ctx);
	void (*qp_event)(void *qp_ctx, enum nic_qp_event what); /* NIC_CAP_NUMBERS */

	/* ---- connections ---- */
	/*
	 * lib owns conn from now on and answers it by accept, reject or handoff, at once or later.
	 */
	void (*conn_request)(void *listener_ctx, struct nic_conn *conn);
	/*
	 * peer: the peer's answer, on the active side, valid during the upcall only; NULL on the
	 * passive side.
	 */
	void (*established)(void *qp_ctx, const struct nic_conn_param *peer);
	/*
	 * The QP is disconnected and its work has been flushed, except after a set-up that failed
	 * without any.
	 */
	void (*conn_end)(void *qp_ctx, enum nic_conn_end why);

	/* ---- adapter ---- */
	void (*adapter_failed)(void *nic_ctx);
	void (*adapter_event)(void *nic_ctx, enum nic_adapter_event what);

	/* ---- services of the host process ---- */
	uint64_t (*monotonic_ns)(void *nic_ctx);
	/*
	 * Release the lock, sleep until something is posted or added, or until that time; take it
	 * again.
	 */
	enum nic_wait (*sleep)(void *nic_ctx, uint64_t until_monotonic_ns);
	/* Wake all sleepers: their events may have happened. */
	void (*wake)(void *nic_ctx);
};

#endif /* HOST_NIC_BACKEND_H */
