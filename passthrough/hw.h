/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hw.h - the backend on verbs hardware: one verbs object for each object of nic.h.
 *
 * Threads and locks. There is one lock, libdat's (nic_host), and it is held in every function here but
 * where it says otherwise. One thread of ours, the loop (loop.c), serves asynchronous events, events of
 * connections, completion channels that nobody waits at, and timers; it holds the lock always but while
 * it sleeps. So watchers may be started and stopped from any thread (hw_kick makes the loop notice), and no event of
 * librdmacm or libibverbs is ever taken but unacknowledged when its object is destroyed. A thread in
 * `wait` sleeps at its own completion channel: no thread stands between a completion and who waits for it. What
 * the kernel may be long in destroying goes to a third (grave.c), which has no lock while it waits: whose an
 * event is, is looked up before it is acknowledged.
 *
 * Completions. A CQ of nic.h is a verbs CQ with a queue before it, `staged`. A poll that nothing special
 * concerns goes straight to verbs. To count, to wait, to be armed or to watch marks, hw_cq_fill empties the
 * verbs CQ into the queue; all accounting (slots, counts, marks) happens as a completion leaves verbs,
 * and upcalls are made when it is in the queue, so that no order is lost if they poll in turn.
 *
 * Every work request is signalled and has a slot, whose address is its wr_id. So it is known how much is
 * outstanding on each queue, that a queue has been flushed, and what an error completion was for.
 */
#ifndef PASSTHROUGH_HW_H
#define PASSTHROUGH_HW_H

#include <net/if.h>
#include <pthread.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/* The macros of ev.h alias types as they please. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#include <ev.h>
#pragma GCC diagnostic pop

#include "nic.h"
#include "nic_quick.h"

#define HW_COLD        __attribute__((cold, noinline))
#define HW_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HW_INLINE      64u  /* bytes that a post may carry itself, where the device can */
#define HW_QP_BUCKETS  1024 /* by number */
#define HW_IB_PRIVATE \
	56u /* what a request carries on InfiniBand and RoCE, its last byte a length */
#define HW_IB_LENGTH     0x80u /* that byte is a length */
#define HW_IWARP_PRIVATE 196u

struct hw_qp;
struct hw_srq;
struct hw_cq;

extern const struct nic_host *hw_host;

/* What is destroyed by a thread that may wait: grave.c. */
struct hw_grave {
	STAILQ_ENTRY(hw_grave) link;
	void (*destroy)(struct hw_grave *grave); /* without the lock */
	void (*release)(struct hw_grave *grave); /* with it: the memory */
};

/* What an id of librdmacm belongs to: its context. */
struct hw_cm {
	enum {
		HW_CM_ADAPTER,
		HW_CM_LISTENER,
		HW_CM_REQUEST,
		HW_CM_QP
	} kind;
	struct rdma_cm_id *id;
};

/* A local address and the port it is on. */
struct hw_place {
	char device[NIC_ADAPTER_NAME];
	char netdev[IFNAMSIZ];
	struct sockaddr_storage addr;
};

/* A thread in `wait`. */
struct hw_waiter {
	LIST_ENTRY(hw_waiter) link;
	int fd; /* an eventfd */
};

struct nic_world {
	struct nic control;
	struct hw_grave grave;
	struct rdma_event_channel *channel;
	ev_io channel_watch;
	LIST_HEAD(, hw_nic) nics;
	LIST_HEAD(, hw_waiter) waiters, spare_waiters;
	TAILQ_HEAD(, hw_qp) ending; /* end.c */
	ev_timer ending_timer;
	uint8_t rnr_retry;
};

struct hw_nic {
	struct nic base;
	struct nic_world *world;
	LIST_ENTRY(hw_nic) link;
	struct hw_cm cm; /* bound to the address; holds the device */
	struct ibv_context *verbs;
	struct ibv_device_attr dev;
	struct nic_attr attr;
	struct hw_place place;
	bool iwarp;
	bool failed;
	ev_io async_watch;
	int qps, cqs, srqs, mrs, mws, pds, listeners;
	LIST_HEAD(, hw_qp) all_qps;
	LIST_HEAD(, hw_qp) by_number[HW_QP_BUCKETS];
	LIST_HEAD(, hw_listener) all_listeners;
	struct hw_cq *sink; /* for completions that nobody wants */
};

struct hw_pd {
	struct nic_pd base;
	struct hw_grave grave;
	struct ibv_pd *verbs;
	struct ibv_mr *anchor; /* what a window is bound to, with no length, to be unbound */
	uint64_t anchor_memory;
	LIST_HEAD(, hw_mr) dead; /* regions that the device would not let go */
};

struct hw_mr {
	struct nic_mr base;
	struct ibv_mr *verbs; /* NULL: gone */
	struct hw_pd *pd;
	uint32_t windows; /* bound to it */
	uint32_t binding; /* binds on their way */
	bool dead;        /* lib has done with it: what is left goes with the last of those */
	LIST_ENTRY(hw_mr) in_pd;
};

struct hw_mw {
	struct nic_mw base;
	struct hw_pd *pd;
	struct ibv_mw *verbs;
	struct nic_mw_state state;
	unsigned int queued; /* binds not completed */
	bool dead;           /* freed meanwhile */
};

/* A bind on its way. */
struct hw_bind {
	struct hw_mw *mw;
	struct nic_mw_state state;
};

/* What the device tells of, once. */
enum hw_armed {
	HW_ARMED_NOT,
	HW_ARMED_SOLICITED, /* and errors */
	HW_ARMED_ANY
};

struct hw_cq {
	union {
		struct nic_cq base;
		struct nic_quick_cq quick;
	};
	struct hw_grave grave;
	bool buried;
	struct ibv_cq *verbs;  /* quick.verbs is it, or hw_refusing_cq */
	struct nic_wc unusual; /* what quick.other points to */
	struct ibv_comp_channel *channel;
	struct nic_wc *staged; /* a ring */
	uint32_t mask, put, get;
	uint32_t depth, limit;
	uint32_t room; /* work requests that may complete here, of all QPs */
	int marks;     /* QPs with a mark armed, whose receives complete here: ruling by count */
	bool crowded;  /* more may complete here than lib has room for: srq.c, cq.c */
	bool armed;    /* lib wants to be told */
	enum hw_armed verbs_armed;
	bool told; /* lib was, since the last `wait`: that one has nothing to wait for */
	bool filling;
	bool sink;
	ev_io watch;
};

struct hw_srq_chunk {
	LIST_ENTRY(hw_srq_chunk) link;
	struct nic_slot slots[];
};

struct hw_srq {
	union {
		struct nic_srq base;
		struct nic_quick_srq quick;
	};
	struct hw_grave grave;
	struct ibv_srq *verbs;
	struct ibv_recv_wr wr; /* the usual, but for what is different each time */
	struct ibv_sge sge;
	struct ibv_recv_wr *bad;
	uint32_t max_wr;   /* as lib has it */
	uint32_t capacity; /* the device's and ours */
	uint32_t posted;   /* not completed */
	uint32_t limit;    /* armed; 0: not */
	struct nic_slot *free;
	LIST_HEAD(, hw_srq_chunk) chunks;
	LIST_HEAD(, hw_qp) qps;
};

enum hw_qp_state {
	HW_QP_IDLE,
	HW_QP_CONNECTING, /* or accepting */
	HW_QP_CONNECTED,
	HW_QP_DRAINING, /* the program asked for a graceful end: requests complete first */
	HW_QP_ENDING,   /* the verbs QP is in error, its work is being flushed */
	HW_QP_ENDED
};

struct hw_qp {
	union {
		struct nic_qp base;
		struct nic_quick_qp quick;
	};
	struct ibv_qp
		*verbs; /* NULL: not yet, or not any more; quick.verbs is it, or hw_refusing_qp */
	enum hw_qp_state state; /* changed by hw_qp_set_state */
	uint64_t taken; /* receives completed; but those that were polled and reaped in one, as `reaped` */
	LIST_ENTRY(hw_qp) in_nic, in_bucket, in_srq;
	struct nic_qp_init init;
	uint32_t srq_room; /* what it counts for in its receive CQ, for all QPs of its SRQ there */
	uint32_t reaped;
	int32_t soft, hard;
	bool marked;  /* counted in the receive CQ's marks */
	bool discard; /* its verbs QP is exchanged: what that one flushes is not over */

	/* connection: cm.c */
	struct hw_cm cm;
	ev_timer deadline;
	bool passive;
	bool unanswered; /* its id and its verbs QP may be long in going: grave.c */
	uint8_t rd_in, rd_out;
	uint8_t private_size;
	uint8_t private_data[HW_IWARP_PRIVATE];

	/* its end: end.c */
	TAILQ_ENTRY(hw_qp) in_ending;
	enum nic_conn_end why;
	bool why_open; /* a flush was seen, its cause was not */
	bool last_wqe;
	unsigned int ticks; /* of waiting for the flush */
};

struct hw_listener {
	struct nic_listener base;
	struct hw_cm cm;
	uint64_t port;
	LIST_ENTRY(hw_listener) link;
};

/* A connection request that lib has not answered. */
struct hw_conn {
	struct nic_conn base;
	struct hw_cm cm;
	bool gone; /* the side that asked gave up */
	uint8_t data[256];
};

static inline struct hw_nic *hw_nic(struct nic *nic)
{
	return nic_container_of(nic, struct hw_nic, base);
}

static inline struct hw_cq *hw_cq(struct nic_cq *cq)
{
	return cq ? nic_container_of(cq, struct hw_cq, base) : NULL;
}

static inline struct hw_qp *hw_qp(struct nic_qp *qp)
{
	return nic_container_of(qp, struct hw_qp, base);
}

static inline struct hw_srq *hw_srq(struct nic_srq *srq)
{
	return srq ? nic_container_of(srq, struct hw_srq, base) : NULL;
}

static inline struct hw_pd *hw_pd(struct nic_pd *pd)
{
	return pd ? nic_container_of(pd, struct hw_pd, base) : NULL;
}

static inline struct hw_mr *hw_mr(struct nic_mr *mr)
{
	return nic_container_of(mr, struct hw_mr, base);
}

/* The oldest that is not completed. */
static inline uint32_t hw_slots_get(const struct nic_slots *s)
{
	return s->end - s->most;
}

static inline uint32_t hw_slots_used(const struct nic_slots *s)
{
	return s->put - hw_slots_get(s);
}

/* The oldest, taken off; NULL: none. */
static inline struct nic_slot *hw_slots_take(struct nic_slots *s)
{
	if (hw_slots_used(s) == 0)
		return NULL;
	return &s->slot[(s->end++ - s->most) & s->mask];
}

/* Some drivers return an error number negated (siw), and say 0 in errno. */
static inline int hw_error(int err)
{
	return err < 0 ? err : -err;
}

/* A call that leaves its error in errno. */
int hw_errno(void);
/* -ENOMEM of registering or creating: is it the limit on locked memory? Said once. */
int hw_no_memory(int err);

/* ---- loop.c: without the lock ---- */
int hw_loop_start(void);
/* ---- with it ---- */
void hw_kick(void);
void hw_watch(ev_io *watch);
void hw_unwatch(ev_io *watch);
void hw_timer(ev_timer *timer, uint64_t after_ns, uint64_t every_ns);
void hw_timer_stop(ev_timer *timer);

/* ---- wait.c ---- */
enum nic_wait hw_wait(struct nic *nic, struct nic_cq *cq, uint64_t deadline);
void hw_wake(struct nic *nic);
uint64_t hw_now(struct nic *nic);
void hw_waiters_free(struct nic_world *w);

/* ---- names.c ---- */
bool hw_adapter_name(struct nic_world *w, unsigned int i, char *name, size_t size);
void hw_canonical(struct nic_world *w, const char *name, char *out, size_t size);
/* The place that a name means. -ENODEV: none; other errors are said. */
int hw_find_place(struct nic_world *w, const char *name, struct hw_place *place);
/* Is there hardware at all? Said, if not. */
int hw_look_for_devices(void);
/* May this process use /dev/infiniband/NAME? 0, or an error number. */
int hw_device_file(const char *name);
const char *hw_address_text(const struct sockaddr_storage *addr, char *text, size_t size);
socklen_t hw_address_size(const struct sockaddr_storage *addr);

/* ---- device.c ---- */
int hw_open(struct nic_world *w, const char *name, const struct nic_upcalls *up, void *ctx,
	    struct nic **nic);
void hw_close(struct nic *nic);
void hw_query(struct nic *nic, struct nic_attr *attr);

/* ---- async.c ---- */
void hw_async_start(struct hw_nic *n);
/* Take what asynchronous events there are. */
void hw_async_look(struct hw_nic *n);
/* The device is gone: everything on it ends. */
void hw_failed(struct hw_nic *n);

/* ---- mr.c ---- */
int hw_pd_alloc(struct nic *nic, struct nic_pd **pd);
void hw_pd_free(struct nic_pd *pd);
int hw_mr_reg(struct nic_pd *pd, uint64_t addr, uint64_t length, uint32_t access,
	      struct nic_mr **mr);
void hw_mr_dereg(struct nic_mr *mr);
uint32_t hw_mr_windows(struct nic_mr *mr);
int hw_mw_alloc(struct nic_pd *pd, struct nic_mw **mw);
void hw_mw_free(struct nic_mw *mw);
void hw_mw_query(struct nic_mw *mw, struct nic_mw_state *state);
int hw_post_bind(struct hw_qp *qp, struct nic_slot *slot, const struct nic_send_wr *wr);
void hw_bind_done(struct nic_slot *slot, bool success);

/* ---- cq.c ---- */
int hw_cq_create(struct nic *nic, uint32_t depth, void *ctx, struct nic_cq **cq);
int hw_cq_resize(struct nic_cq *cq, uint32_t depth);
void hw_cq_destroy(struct nic_cq *cq);
int hw_cq_poll(struct nic_cq *cq, struct nic_wc *wc, int n);
bool hw_cq_spin(struct nic_cq *cq, struct nic_wc *wc);
uint32_t hw_cq_count(struct nic_cq *cq);
void hw_cq_limit(struct nic_cq *cq, uint32_t n);
/* After a change of what decides whether completions come straight from verbs. */
void hw_cq_choose(struct hw_cq *cq);
/* What was polled has to be looked at closer; it, or the next that lib is to see. */
const struct nic_wc *hw_cq_unusual(struct hw_cq *cq, const struct ibv_wc *polled);
const struct nic_wc *hw_cq_any(struct hw_cq *cq);
/* Empty the verbs CQ into the queue; tell lib if it is armed and there was something. */
void hw_cq_fill(struct hw_cq *cq);
/* Tell lib, if it wants to be told. */
void hw_cq_notify(struct hw_cq *cq);
/* A QP may complete so much more, or less, here. */
void hw_cq_attach(struct hw_cq *cq, int requests);
/* The receives of an SRQ may complete here: those of all QPs of it count once. */
void hw_cq_attach_srq(struct hw_qp *qp);
void hw_cq_detach_srq(struct hw_qp *qp);
/* A completion that never was in verbs. */
void hw_cq_add(struct hw_cq *cq, const struct nic_wc *wc);
int hw_sink(struct hw_nic *n, struct hw_cq **sink);
/* The CQ of a side; where lib names none, one that loses all. */
struct hw_cq *hw_cq_of(const struct hw_qp *qp, struct nic_cq *cq);

/* ---- notify.c ---- */
void hw_cq_arm(struct nic_cq *cq);
/* What the completion channel has to say. */
void hw_cq_channel(struct hw_cq *cq);
/* Keep it armed for ourselves: hw_cq_ours, or nobody else looks at it. */
void hw_cq_keep(struct hw_cq *cq);
/* We want to see each completion as it comes: marks count it, or it may be one too many. */
static inline bool hw_cq_ours(const struct hw_cq *cq)
{
	return cq->marks > 0 || cq->crowded;
}

/* ---- complete.c ---- */
/*
 * What a completion is to us: its slot is free, counts and marks are looked at. False: nobody is to
 * see it.
 */
bool hw_complete(struct hw_cq *cq, const struct ibv_wc *verbs, struct nic_wc *wc);
/* nic_quick_cq.other */
const struct nic_wc *hw_cq_other(struct nic_cq *cq, const struct ibv_wc *polled);

/* ---- srq.c ---- */
int hw_srq_create(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name, void *ctx,
		  struct nic_srq **srq);
int hw_srq_resize(struct nic_srq *srq, uint32_t max_wr);
void hw_srq_destroy(struct nic_srq *srq);
int hw_srq_post(struct nic_srq *srq, const struct nic_recv_wr *wr);
int hw_srq_limit(struct nic_srq *srq, uint32_t limit);
uint32_t hw_srq_count(struct nic_srq *srq);
/* Receives were taken: is it below its limit? */
void hw_srq_look(struct hw_srq *srq);

/* ---- qp.c ---- */
int hw_qp_create(struct nic *nic, const struct nic_qp_init *init, void *ctx, struct nic_qp **qp);
int hw_qp_modify(struct nic_qp *qp, const struct nic_qp_init *init);
uint32_t hw_qp_reset(struct nic_qp *qp);
void hw_qp_destroy(struct nic_qp *qp);
void hw_qp_query(struct nic_qp *qp, struct nic_qp_counts *counts);
void hw_qp_taken_limit(struct nic_qp *qp, int32_t soft, int32_t hard);
/* Make its verbs QP, if it can have one, and post the receives it has. */
int hw_qp_make_verbs(struct hw_qp *qp);
/* Destroy the verbs QP; what it has completed is in the CQs' queues. */
void hw_qp_drop_verbs(struct hw_qp *qp);
struct hw_qp *hw_qp_by_number(struct hw_nic *n, uint32_t number);
void hw_qp_look(struct hw_qp *qp); /* fill its CQs */
/* Its marks were set, or one acted. */
void hw_qp_mark(struct hw_qp *qp);
void hw_qp_set_state(struct hw_qp *qp, enum hw_qp_state state);

/* ---- post.c ---- */
int hw_post_send(struct nic_qp *qp, const struct nic_send_wr *wr);
int hw_post_recv(struct nic_qp *qp, const struct nic_recv_wr *wr);
void hw_post_init(struct hw_qp *qp);
/* The state decides whether there are quick posts. */
void hw_post_choose(struct hw_qp *qp);
/* What is left on its queues ends flushed. */
void hw_flush_rest(struct hw_qp *qp);

/* ---- refusing.c: what is posted to them, and polled from them, is an error ---- */
extern struct ibv_qp hw_refusing_qp;
extern struct ibv_cq hw_refusing_cq;

/* ---- module.c ---- */
extern const struct nic_ops hw_ops;
/* The world of this process, if there is one. */
extern struct nic_world *hw_world;

#endif /* PASSTHROUGH_HW_H */
