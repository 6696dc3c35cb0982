/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stub.h - a libibverbs and a librdmacm without a kernel, to test the passthrough and to count its
 * instructions where there is no device. They have the names and symbol versions of the real
 * libraries, so a program linked with them uses them in place of those, and so does every module
 * that it loads later.
 *
 * One device, "stub0", at 192.0.2.1 on the network interface "stub0", that talks to itself: a Send
 * is copied into the peer's Receive within ibv_post_send, or waits until one is posted. A work
 * request costs as little as possible, so that the layers above it can be counted. The data path is
 * for one thread at a time, except where a QP flushes late; one lock protects everything else.
 */
#ifndef TESTS_STUBVERBS_STUB_H
#define TESTS_STUBVERBS_STUB_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define STUB_ADDRESS 0xc0000201u /* 192.0.2.1 */

enum {
	STUB_SGE = 4,
	STUB_MR = 4096,
	STUB_QP = 4096,
	STUB_CQE = 65536,
	STUB_SRQ_WR = 4096,
};

/* ---- requests of a test ---- */

/* Messages of the connection manager. */
enum stub_message {
	STUB_NONE,
	STUB_REQ,
	STUB_REP,
	STUB_RTU,
	STUB_REJ,
	STUB_DREQ,
	STUB_DREP
};

/* Properties of the device; set them before anything is opened. */
struct stub_config {
	bool none;  /* there is no device */
	bool iwarp; /* with the reject codes of iWARP */
	bool port_down;
	bool negative;     /* post errors come as negative numbers */
	bool no_windows;   /* max_mw is 0 */
	bool no_inline;    /* a QP with inline data is refused */
	bool late;         /* a completion shows only when its CQ is armed, and raises no event */
	bool quiet_accept; /* the accepting side learns of a connection by rdma_notify only */
	int max_srq_sge;
	uint32_t srq_memory; /* no memory for an SRQ that is larger; 0: there is */
	bool srq_resizes;    /* the size of an SRQ can be changed */
	bool cleans;         /* the completions of a QP leave its CQs when it is destroyed */
	/* Flushed requests show after so many polls of their QP's receive CQ that found nothing. */
	int flush_polls;
	/* LAST_WQE_REACHED comes after so many more; -1: never */
	int last_wqe_polls;
	/* Each message of this kind is lost at first. It is sent again, while its id exists, */
	enum stub_message lose;
	bool resends; /* soon, or if this is not set by stub_resend */
	/* iWARP: the status of an event that tells of a refusal; 0: rdma_connect fails */
	int reset;
	/* iWARP: a Send completes when sent; without a Receive it ends the connection */
	bool early;
	/* iWARP: who asks has a connection at once, and hears of it from stub_resend */
	bool hears_late;
	/*
	 * iWARP: the peer is far away. A Send completes when sent, and arrives at the next
	 * stub_resend, as does the end of the stream; not at all if the QP is moved to the error
	 * state before.
	 */
	bool far;
	/* iWARP: the bytes of a Write are in place before the next request of its QP, not sooner */
	bool places_late;
	int unresolved_addr, unresolved_route; /* so many attempts time out */
	const uint8_t *foreign; /* 56 bytes that a peer of another kind sends with a request, */
	uint8_t foreign_size;   /* or so many */
	int stale;              /* so many requests are taken for an old connection, and rejected */
	bool blocks;            /* a QP's send queue is counted in blocks of 64 bytes */
	int vectors;            /* completion vectors; 0: 4 */
	int max_qp_wr;          /* 0: 4096; with `blocks` also their number */
	int max_recv_wr;        /* 0: max_qp_wr */
	int max_qp;             /* 0: STUB_QP - 1 */
	/* Extensions of the QPs created from now on (ECE). Vendor 0: the device has none. */
	uint32_t ece_vendor, ece_options;
	uint32_t ece_foreign; /* the vendor of requests, in place of that one */
	bool corrupts;        /* the last byte of a message of 1 KiB or more is another one */
	bool ece_unheard;     /* an older kernel: messages carry no extensions */
	bool addresses;       /* more interfaces and addresses than one (net.c) */
	bool second;          /* there is also "stub1", which has no address */
	bool by_gid;          /* no interface has the address, which a GID tells alone */
};
/* At the start it is as profile.c describes the device that STUB_PROFILE names. */
extern struct stub_config stub_config;
/* The properties of a device; NULL: no device has this name. */
const struct stub_config *stub_profile(const char *name);

/*
 * Makes the nth call of this name from now on (1: the next) fail with this error number, and if
 * `always` is set all later ones, too. Names of posts: "ibv_post_send", "ibv_post_recv",
 * "ibv_post_srq_recv". Error 0 cancels.
 */
void stub_fail(const char *call, int nth, int error, bool always);
/* The number of failures so far */
int stub_failed(const char *call);
/* Raises an asynchronous event of the device; `element` is its QP, CQ or SRQ, if it has one. */
void stub_async(enum ibv_event_type type, void *element);
/* Simulates the removal of the device: an event for each id, and IBV_EVENT_DEVICE_FATAL. */
void stub_remove_device(void);
/*
 * While held, the destruction of an id with an unanswered connection request, and of its QP,
 * blocks, as it does in a kernel that waits for the peer.
 */
void stub_hold(bool held);
/* Waits until n threads are blocked there. */
void stub_await_held(int n);
/*
 * An event for the ids that asked and have no answer, or for those that are asked and do not know
 * of a connection.
 */
void stub_cm_event(enum rdma_cm_event_type type, int status, bool asker);
/* Waits until every event of an id is acknowledged, and its reader has come back for the next. */
void stub_settle(void);
/* How many times rdma_notify reported that a connection is established */
int stub_notified(void);
/* Sends lost messages of the connection manager again. */
void stub_resend(void);
/*
 * A message to the QP takes a Receive of its SRQ and does not arrive whole: the Receive is flushed
 * with the QP.
 */
void stub_half_message(struct ibv_qp *qp);
/* Called when this thread has emptied a CQ; a test may let completions come just then. */
extern __thread void (*stub_after_poll)(struct ibv_cq *cq);
/* Called before a CQ is armed; a test may let a completion come just then. */
extern void (*stub_before_arming)(struct ibv_cq *cq);
/* Called before an SRQ is armed; a test may let the limit that it has be reached just then. */
struct stub_srq;
extern void (*stub_before_limit)(struct stub_srq *srq);
/* Waits until the CQ is armed, for solicited completions only or for all. */
void stub_await_armed(struct ibv_cq *cq, bool solicited_only);
/* The number of QPs in the error state that were destroyed before their Receives were flushed */
int stub_unflushed(void);
/*
 * The kernel has removed the device: each completion channel has an error, is readable, and stays
 * so. How many times one was read since; wait for the first time.
 */
void stub_break_channels(void);
int stub_reads_of_broken(void);
void stub_await_read_of_broken(void);
/* The number of CQs with this completion vector. */
int stub_cqs_of(int vector);
/* The type of service of an id that listens, or of one that does not; -1: not set, or no such id */
int stub_service_type(bool listens);
/* Waits until no event of the CQ is left in its channel. */
void stub_await_events_taken(struct ibv_cq *cq);
/*
 * The number of objects that exist: contexts, PDs, MRs, windows, CQs, channels, SRQs, QPs, ids.
 */
int stub_objects(void);
/* Lists of devices that were not freed. */
int stub_lists(void);
/* Waits until no more than n objects exist. */
void stub_await_objects(int n);

/* ---- inside ---- */

struct stub_recv {
	uint64_t wr_id;
	uint32_t length;
	int num_sge;
	struct ibv_sge sge[STUB_SGE];
};

/* Free-running counters over a ring. */
struct stub_ring {
	uint32_t put, get, mask;
	struct stub_recv *at;
};

struct stub_cq {
	struct ibv_cq v;
	uint32_t put, get, mask, depth;
	uint32_t seen; /* completions already polled */
	struct ibv_wc *at;
	enum {
		STUB_NOT_ARMED,
		STUB_ARMED,
		STUB_ARMED_SOLICITED
	} armed;
	int told;    /* number of events */
	int armings; /* and of ibv_req_notify_cq */
	int vector;
	struct stub_cq *next_of_all;
	bool waiting; /* is in the channel's list */
	struct stub_cq *next;
};

struct stub_channel {
	struct ibv_comp_channel v;
	bool broken;
	struct stub_cq *first;
};

struct stub_srq {
	struct ibv_srq v;
	struct stub_ring ring;
	uint32_t max_wr, limit;
};

struct stub_send {
	struct ibv_send_wr wr;
	struct ibv_sge sge[STUB_SGE];
};

struct stub_qp {
	struct ibv_qp v;
	struct stub_qp *peer;
	struct stub_ring *recv; /* its own ring or the SRQ's */
	struct stub_ring own;
	uint32_t max_recv, max_send;
	bool all_signalled;
	bool asked;              /* has an unanswered connection request */
	uint32_t put, get, mask; /* Sends that wait for a Receive */
	struct stub_send *waiting;
	char *late; /* the bytes of a Write that are not in place yet, */
	uint32_t late_bytes;
	uint64_t late_at; /* and their place */
	bool half;        /* a message has arrived in part, into this Receive: */
	struct stub_recv half_recv;
	bool flushing; /* in the error state, and not all is flushed and told */
	int polls;
	struct stub_qp *next_flushing;
	uint32_t ece_options, ece_own; /* in effect; and what it can */
	int ece_sets;
	int ack_timeout; /* -1: not set */
	int retries;     /* of a packet that is not acknowledged */
	/* As ibv_modify_qp set them; 0: not. The accepting side's library sets the first three. */
	int reads_in, reads_out;
	unsigned int access; /* of the peer */
	int rnr_timer;
	bool srq_told; /* the answer of the accepting side says that the QP has an SRQ */
};

struct stub_mr {
	struct ibv_mr v;
	int access;
	bool live;
	int windows;           /* windows bound to this region */
	struct stub_mr *bound; /* the region to which this window is bound */
};

extern struct ibv_context *stub_context;
uint32_t stub_max_qp_wr(void);
extern struct stub_qp *stub_flushing; /* flush.c */

void stub_lock(void);
void stub_unlock(void);
/* Waits, with the lock released, until another thread calls stub_changed. */
void stub_wait(void);
void stub_changed(void);
/* Blocks the destruction of an object that asked, while held. */
void stub_held_up(const bool *asked);
/* 0, or the error that the test requested */
int stub_refuses(const char *call);
void stub_count(int by);
void stub_signal(int fd);
void stub_unsignal(int fd);
struct stub_qp *stub_qp_by_number(uint32_t number);
struct stub_mr *stub_mr_by_key(uint32_t key);
/* Binds a window to a region, or to none. */
void stub_window_to(struct stub_mr *window, struct stub_mr *region);
/* Connects two QPs; breaks a connection: flushes the QP and its posted requests. */
void stub_connect(struct stub_qp *a, struct stub_qp *b);
void stub_to_error(struct stub_qp *qp);
void stub_removed(void); /* cm.c */
/* net.c: is this an address of the device? */
bool stub_has_address(const struct sockaddr *addr);
/* cm.c: the connection of these QPs is lost, as both sides hear */
void stub_terminated(const struct stub_qp *a, const struct stub_qp *b);
/* cm.c: no id is of this QP any more; with the lock held */
void stub_forget_number(const struct stub_qp *qp);
void stub_forget_events(const void *element);
/* pairs.c: a QP's CQs, SRQ and PD cannot be destroyed before it, as with a kernel. */
bool stub_is_used(const void *cq, const void *srq, const void *pd);
/* queues.c: the power of two that has room for n */
uint32_t stub_ring_size(uint32_t n);
/* Aborts otherwise: a library reads what it is given, and would read memory of something else. */
void stub_cq_exists(const struct ibv_cq *cq);
/* memory.c */
struct ibv_mw *stub_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int stub_dealloc_mw(struct ibv_mw *mw);

/* data.c */
int stub_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* The same where the device places late. */
int stub_post_send_behind(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
/* The same where the peer is far away; and the arrival of what was sent. */
int stub_post_send_far(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
void stub_arrive(struct stub_qp *qp);
int stub_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int stub_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int stub_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int stub_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int stub_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
void stub_complete(struct stub_cq *cq, const struct ibv_wc *wc, bool solicited);
/* Flushes everything posted to the QP. */
void stub_flush(struct stub_qp *qp);

/* flush.c */
/* The QP leaves the list of those that flush. */
void stub_flush_forget(struct stub_qp *qp);
/* A poll of the CQ has found nothing. */
void stub_flush_polled(struct stub_cq *cq);
/* The QP is destroyed: what was not flushed yet, and its completions. */
void stub_flush_destroyed(struct stub_qp *qp);

#endif /* TESTS_STUBVERBS_STUB_H */
