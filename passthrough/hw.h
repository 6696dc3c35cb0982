/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hw.h - the backend on verbs hardware: one verbs object for each object of nic.h.
 *
 * Threads and the lock. There is one lock, the backend instance's (nic_host). It is held in every
 * function here unless a comment says otherwise. The event thread (thread.c) serves asynchronous
 * events, connection events, completion channels without a waiter, and timers; it holds the lock
 * except while it sleeps. Any thread that holds the lock may therefore start and stop watchers
 * (hw_thread_wake makes the event thread notice). No event of librdmacm or libibverbs is left
 * unacknowledged when its object is destroyed: the event's owner is looked up, then the event is
 * acknowledged, then it is handled. A thread in `wait` sleeps at the completion channel of its CQ,
 * so no other thread stands between a completion and the waiter. Objects that the kernel may take
 * long to destroy go to a third thread (deferred.c), which does not hold the lock while it waits.
 *
 * Completions. A CQ of nic.h is a verbs CQ with a queue of staged completions before it. In the
 * usual case a poll goes straight to verbs. To count, to wait, to be armed or to watch limits,
 * hw_cq_fill moves all completions from the verbs CQ to the queue. The accounting (work queues,
 * counts, limits) is done as a completion leaves verbs; upcalls are made after it is in the queue,
 * so that an upcall that polls sees completions in order.
 *
 * Every work request is signalled and has a work queue entry (wq.h), whose address is its wr_id. So
 * the number of outstanding requests on each queue is known, and that a queue has been flushed, and
 * which request an error completion belongs to.
 */
#ifndef PASSTHROUGH_HW_H
#define PASSTHROUGH_HW_H

#include <net/if.h>
#include <pthread.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

/* The macros of ev.h violate C's aliasing rules. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#include <ev.h>
#pragma GCC diagnostic pop

#include "host/nic.h"
#include "host/nic_quick.h"
#include "knobs.h"
#include "wq.h"

#define HW_COLD          __attribute__((cold, noinline))
#define HW_UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define HW_INLINE        64u   /* bytes that a post may carry inline, if the device can */
#define HW_QP_BUCKETS    1024  /* of QPs, by QP number */
#define HW_SEGMENTS      64    /* at most, of any request */
#define HW_IB_PRIVATE    56u   /* private data of a request on InfiniBand; the last is a length */
#define HW_IB_LENGTH     0x80u /* set in that byte, if the peer is libdat */
#define HW_IWARP_PRIVATE 196u

struct hw_qp;
struct hw_srq;
struct hw_cq;

extern const struct nic_host *hw_host;

/* An entry of the destroy queue: deferred.c. */
struct hw_deferred {
	STAILQ_ENTRY(hw_deferred) link;
	void (*destroy)(struct hw_deferred *deferred); /* without the lock */
	void (*release)(struct hw_deferred *deferred); /* with the lock: frees the memory */
};

/* The owner of an id of librdmacm; it is the id's context. */
struct hw_cm {
	enum {
		HW_CM_ADAPTER,
		HW_CM_LISTENER,
		HW_CM_REQUEST,
		HW_CM_QP,
		HW_CM_PARTING
	} kind;
	struct rdma_cm_id *id;
};

/* A local address, and the device and network interface, "" if there is none, that have it. */
struct hw_place {
	char device[NIC_ADAPTER_NAME], netdev[IFNAMSIZ];
	struct sockaddr_storage addr;
};

/* A thread in `wait`. */
struct hw_waiter {
	LIST_ENTRY(hw_waiter) link;
	int fd; /* an eventfd */
};

struct nic_world {
	struct nic control;
	struct hw_deferred deferred;
	struct rdma_event_channel *channel;
	ev_io channel_watch;
	LIST_HEAD(, hw_nic) nics;
	LIST_HEAD(, hw_waiter) waiters, spare_waiters;
	TAILQ_HEAD(, hw_qp) ending;       /* end.c */
	LIST_HEAD(, hw_parting) partings; /* part.c */
	LIST_HEAD(, hw_cq) busy_cqs;      /* guard.c */
	ev_timer ending_timer, guard_timer;
	struct hw_knobs knobs;
};

struct hw_nic {
	struct nic base;
	struct nic_world *world;
	LIST_ENTRY(hw_nic) link;
	struct hw_cm cm; /* bound to the address; keeps the device open */
	struct ibv_context *verbs;
	struct ibv_device_attr dev;
	struct nic_attr attr;
	struct hw_place place;
	bool iwarp, failed;
	bool says_last_wqe;   /* a LAST_WQE_REACHED has come */
	bool last_wqe_missed; /* one was awaited, and did not come */
	unsigned int next_vector;
	ev_io async_watch;
	int qps, cqs, srqs, mrs, mws, pds, listeners;
	LIST_HEAD(, hw_qp) all_qps;
	LIST_HEAD(, hw_cq) all_cqs;
	LIST_HEAD(, hw_srq) all_srqs;
	LIST_HEAD(, hw_qp) by_number[HW_QP_BUCKETS];
	LIST_HEAD(, hw_listener) all_listeners;
	struct hw_cq *sink; /* for completions of QPs without a CQ */
};

struct hw_pd {
	struct nic_pd base;
	struct hw_deferred deferred;
	struct ibv_pd *verbs;
	struct ibv_mr *anchor;   /* a window is bound to it, with length 0, to unbind it */
	void *anchor_page;       /* its memory, and nothing else there */
	LIST_HEAD(, hw_mr) dead; /* deregistered by lib, and still in use by the device */
};

struct hw_mr {
	struct nic_mr base;
	struct ibv_mr *verbs; /* NULL: deregistered */
	struct hw_pd *pd;
	uint32_t windows; /* windows bound to it */
	uint32_t binding; /* binds in progress */
	bool bindless;    /* read-only memory: no window can be bound to it */
	bool dead;        /* deregistered by lib; freed with the last of those */
	LIST_ENTRY(hw_mr) in_pd;
};

struct hw_mw {
	struct nic_mw base;
	struct hw_pd *pd;
	struct ibv_mw *verbs;
	struct nic_mw_state state;
	unsigned int queued; /* binds not completed */
	bool dead;           /* freed by lib; the memory goes with the last bind */
};

/* A bind in progress. */
struct hw_bind {
	struct hw_mw *mw;
	struct nic_mw_state state;
};

/* Which completions raise an event; each arming raises one. */
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
	struct ibv_cq *verbs;
	LIST_ENTRY(hw_cq) in_nic, in_busy;
	struct hw_deferred deferred;
	bool destroyed, filling;
	struct nic_wc unusual; /* memory for the result of hw_cq_any and hw_cq_other */
	struct ibv_comp_channel *channel;
	struct nic_wc *staged; /* a ring */
	uint32_t mask, put, get;
	uint32_t depth, limit;
	uint32_t room;      /* work requests of all QPs that may complete here */
	int marks;          /* QPs with a limit armed whose Receives complete here */
	bool overcommitted; /* more may complete here than lib has room for: guard.c */
	bool busy;          /* the timer looks at it */
	bool polled;        /* completions went straight to lib since the timer looked, */
	uint32_t looked_at; /* where put was then */
	bool armed;         /* lib wants a cq_notify */
	enum hw_armed verbs_armed;
	bool told; /* cq_notify was called since the last `wait`, which need not sleep */
	bool mute; /* its channel has failed: the device is gone */
	bool sink;
	ev_io watch;
};

struct hw_srq_chunk {
	LIST_ENTRY(hw_srq_chunk) link;
	struct hw_wqe wqes[];
};

struct hw_srq {
	union {
		struct nic_srq base;
		struct nic_quick_srq quick;
	};
	struct hw_deferred deferred;
	LIST_ENTRY(hw_srq) in_nic;
	struct ibv_srq *verbs;
	struct ibv_recv_wr wr; /* the usual request, complete but for its wr_id and segment */
	struct ibv_sge sge;
	struct ibv_recv_wr *bad;
	uint32_t max_wr;   /* the size that lib knows */
	uint32_t capacity; /* entries here */
	uint32_t device;   /* and in the device, which may have been made smaller since */
	uint32_t posted;   /* not completed */
	uint32_t limit;    /* 0: not armed */
	struct hw_wqe *free;
	LIST_HEAD(, hw_srq_chunk) chunks;
	LIST_HEAD(, hw_qp) qps;
};

enum hw_qp_state {
	HW_QP_IDLE,
	HW_QP_CONNECTING, /* or accepting */
	HW_QP_CONNECTED,
	HW_QP_DRAINING, /* graceful disconnect: posted requests complete first */
	HW_QP_ENDING,   /* the verbs QP is in the error state, its work is being flushed */
	HW_QP_ENDED
};

struct hw_qp {
	union {
		struct nic_qp base;
		struct nic_quick_qp quick;
	};
	struct ibv_qp *verbs; /* NULL: not created yet, or destroyed */
	uint32_t max_inline;  /* bytes that a post may carry inline */
	struct hw_wq sq, rq;
	/* quick.c: the usual requests, complete but for wr_id, address and length */
	struct ibv_sge send_sge, recv_sge;
	struct ibv_send_wr send_wr;
	struct ibv_recv_wr recv_wr;
	struct ibv_send_wr *bad_send; /* set by verbs, and never read */
	struct ibv_recv_wr *bad_recv;
	enum hw_qp_state state; /* changed by hw_qp_set_state */
	/* Receives completed; like `reaped`, without those polled and reaped in one call */
	uint64_t taken;
	LIST_ENTRY(hw_qp) in_nic, in_bucket, in_srq;
	struct nic_qp_init init;
	uint32_t srq_room; /* counted in its receive CQ, for all QPs of its SRQ there */
	uint32_t reaped;
	int32_t soft, hard;
	bool marked;  /* counted in `marks` of the receive CQ */
	bool discard; /* its verbs QP is being replaced: ignore the flushes */

	/* connection: cm.c */
	struct hw_cm cm;
	ev_timer deadline;
	bool passive;
	bool replied;    /* the request was accepted: the peer may be connected */
	bool parted;     /* the peer has told of the end, or cannot be told */
	bool hung_up;    /* the peer is told of the end, and has not answered: part.c */
	bool unanswered; /* the peer was asked, and destroying takes long: deferred.c */
	bool bounded;    /* the program's deadline ends the attempts */
	uint8_t tries;   /* of resolving the address and the route, that timed out */
	uint8_t stale;   /* attempts that the peer took for an old connection */
	uint8_t rd_in, rd_out;
	uint8_t private_size;
	uint8_t private_data[HW_IWARP_PRIVATE];
	STAILQ_HEAD(hw_early_list, hw_early) early; /* complete.c */

	/* the end of the connection: end.c */
	TAILQ_ENTRY(hw_qp) in_ending;
	enum nic_conn_end why;
	bool why_unknown;                /* a flush was seen, and not its cause */
	bool graceful;                   /* the program has ended it so, and not abruptly since */
	bool fed;                        /* it may have taken Receives of its SRQ */
	bool last_wqe;                   /* and has flushed them */
	unsigned int close_ticks, ticks; /* waited for the peer to close a stream; for the flush */
};

struct hw_listener {
	struct nic_listener base;
	struct hw_cm cm;
	uint64_t port;
	LIST_ENTRY(hw_listener) link;
};

/* A completed Receive that lib is to see only after ESTABLISHED. */
struct hw_early {
	STAILQ_ENTRY(hw_early) link;
	struct ibv_wc verbs;
};

/* A connection request that lib has not answered. */
struct hw_conn {
	struct nic_conn base;
	struct hw_cm cm;
	bool gone; /* the peer has given up */
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

/* The error of a call that returns it. Some drivers negate it (siw). */
static inline int hw_error(int err)
{
	return err < 0 ? err : -err;
}

/* ---- error.c ---- */
/* The error of a call that leaves it in errno. */
int hw_errno(void);
/*
 * -ENOMEM of a registration or creation: if the limit on locked memory is the likely cause, say so
 * once.
 */
int hw_explain_no_memory(int err);

/* ---- thread.c ---- */
/* Without the lock. */
int hw_thread_start(void);
/* With the lock. */
void hw_thread_wake(void);
void hw_watch(ev_io *watch);
void hw_unwatch(ev_io *watch);
void hw_timer(ev_timer *timer, uint64_t after_ns, uint64_t every_ns);
void hw_timer_stop(ev_timer *timer);

/* ---- wait.c ---- */
enum nic_wait hw_wait(struct nic *nic, struct nic_cq *cq, uint64_t deadline);
void hw_wake(struct nic *nic);
uint64_t hw_now(struct nic *nic);
void hw_waiters_free(struct nic_world *w);

/* ---- device.c ---- */
int hw_open(struct nic_world *w, const char *name, const struct nic_upcalls *up, void *ctx,
	    struct nic **nic);
void hw_close(struct nic *nic);
void hw_query(struct nic *nic, struct nic_attr *attr);

/* ---- trial.c ---- */
/* As many requests of attr.max_sge segments as a send queue can have, at most attr.max_qp_wr. */
int hw_trial_qp_wr(const struct hw_nic *n);

/* ---- async.c ---- */
int hw_async_start(struct hw_nic *n);
/* Read and handle all pending asynchronous events. */
void hw_async_drain(struct hw_nic *n);
/* The device is gone: all connections on it end. */
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
int hw_post_bind(struct hw_qp *qp, struct hw_wqe *wqe, const struct nic_send_wr *wr);
void hw_bind_done(struct hw_wqe *wqe, bool success);

/* ---- cq.c ---- */
int hw_cq_create(struct nic *nic, uint32_t depth, void *ctx, struct nic_cq **cq);
int hw_cq_resize(struct nic_cq *cq, uint32_t depth);
void hw_cq_destroy(struct nic_cq *cq);
int hw_cq_poll(struct nic_cq *cq, struct nic_wc *wc, int n);
bool hw_cq_spin(struct nic_cq *cq, struct nic_wc *wc);
uint32_t hw_cq_count(struct nic_cq *cq);
void hw_cq_limit(struct nic_cq *cq, uint32_t n);
/* Choose the CQ's poll function, after a change of a condition in cq_is_indirect. */
void hw_cq_choose(struct hw_cq *cq);
/*
 * Account for a polled completion in the general way. That completion, or the next one for lib;
 * NULL: none.
 */
const struct nic_wc *hw_cq_unusual(struct hw_cq *cq, const struct ibv_wc *polled);
const struct nic_wc *hw_cq_any(struct hw_cq *cq);
/* The same for several. There may be more: count them all. */
const struct nic_wc *hw_cq_several(struct hw_cq *cq, const struct ibv_wc *polled, int n);
/*
 * Move all completions from the verbs CQ to the queue; cq_notify if lib armed it and there was one.
 */
void hw_cq_fill(struct hw_cq *cq);
/* Call cq_notify, if lib armed the CQ. */
void hw_cq_notify(struct hw_cq *cq);
/* The number of requests that may complete here changes by this. */
void hw_cq_attach(struct hw_cq *cq, int requests);
/* The Receives of an SRQ may complete here. They count once for all QPs of the SRQ. */
void hw_cq_attach_srq(struct hw_qp *qp);
void hw_cq_detach_srq(struct hw_qp *qp);
/* Add a completion that never was in verbs. */
void hw_cq_add(struct hw_cq *cq, const struct nic_wc *wc);
int hw_sink_get(struct hw_nic *n, struct hw_cq **sink);
/* The QP's send or receive CQ; if lib named none, the sink, which drops all completions. */
struct hw_cq *hw_cq_of(const struct hw_qp *qp, struct nic_cq *cq);

/* ---- notify.c ---- */
void hw_cq_arm(struct nic_cq *cq);
/* Read the completion channel, and handle its events. */
void hw_cq_channel(struct hw_cq *cq);
/* Keep the CQ armed for the event thread: hw_cq_watched, guard.c, or the sink. */
void hw_cq_keep_armed(struct hw_cq *cq);
/* Each completion has to be seen when it comes: a limit counts it. */
static inline bool hw_cq_watched(const struct hw_cq *cq)
{
	return cq->marks > 0;
}

/* ---- complete.c ---- */
/* Account for a completion, and translate it. False: lib is not to see it. */
bool hw_complete(struct hw_cq *cq, const struct ibv_wc *verbs, struct nic_wc *wc);
/* The same for any polled completion other than the success of a usual request. */
const struct nic_wc *hw_cq_other(struct hw_cq *cq, const struct ibv_wc *polled);
/* The QP is not connecting any more: lib gets the messages that came before its ESTABLISHED. */
void hw_complete_early(struct hw_qp *qp);

/* ---- srq.c ---- */
int hw_srq_create(struct nic_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t name, void *ctx,
		  struct nic_srq **srq);
int hw_srq_resize(struct nic_srq *srq, uint32_t max_wr);
void hw_srq_destroy(struct nic_srq *srq);
int hw_srq_post(struct nic_srq *srq, const struct nic_recv_wr *wr);
int hw_srq_limit(struct nic_srq *srq, uint32_t limit);
uint32_t hw_srq_count(struct nic_srq *srq);

/* ---- qp.c ---- */
int hw_qp_create(struct nic *nic, const struct nic_qp_init *init, void *ctx, struct nic_qp **qp);
int hw_qp_modify(struct nic_qp *qp, const struct nic_qp_init *init);
uint32_t hw_qp_reset(struct nic_qp *qp);
void hw_qp_destroy(struct nic_qp *qp);
void hw_qp_query(struct nic_qp *qp, struct nic_qp_counts *counts);
void hw_qp_taken_limit(struct nic_qp *qp, int32_t soft, int32_t hard);
/* Create the verbs QP, and post the Receives kept here. */
int hw_qp_make_verbs(struct hw_qp *qp);
void hw_qp_to_error(struct hw_qp *qp);
/* Destroy the verbs QP. Its completions are in the CQs' queues. */
void hw_qp_drop_verbs(struct hw_qp *qp);
struct hw_qp *hw_qp_by_number(struct hw_nic *n, uint32_t number);
void hw_qp_drain(struct hw_qp *qp); /* hw_cq_fill of its CQs */
/* After a change of soft or hard: count the QP in its receive CQ. */
void hw_qp_mark(struct hw_qp *qp);
void hw_qp_set_state(struct hw_qp *qp, enum hw_qp_state state);

/* ---- post.c ---- */
int hw_post_send(struct nic_qp *qp, const struct nic_send_wr *wr);
int hw_post_recv(struct nic_qp *qp, const struct nic_recv_wr *wr);
/* verbs refused the next request. 0: it is accepted nevertheless, and flushed with the others. */
int hw_send_refused(struct hw_qp *qp, const struct nic_send_wr *wr, int err);
int hw_recv_refused(struct hw_qp *qp, int err);
/* Complete all requests left on the QP's queues as flushed. */
void hw_flush_rest(struct hw_qp *qp);

/* ---- quick.c: the calls of every message ---- */
void hw_quick_start(int *inside);
void hw_quick_init(struct hw_qp *qp);
/* Choose the functions, after a change of the QP's state or of cq_is_indirect. */
void hw_quick_choose_qp(struct hw_qp *qp);
void hw_quick_choose_cq(struct hw_cq *cq, bool direct);

/* ---- module.c ---- */
extern const struct nic_ops hw_ops;
/* The world of this process; NULL: none. */
extern struct nic_world *hw_world;

#endif /* PASSTHROUGH_HW_H */
