/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stub.h - a libibverbs and a librdmacm without a kernel, so that the passthrough is tested and counted where there
 * is none. They have the names and symbol versions of the real ones: a program that is linked with them has
 * them in place of those, in whatever it loads later, too.
 *
 * One device, "stub0", at 192.0.2.1 on the network interface "stub0", that talks to itself: a Send is copied into the
 * peer's Receive within ibv_post_send, or waits until there is one. A work request costs the least that is
 * possible, so that what stands on top can be counted. Data paths are for one thread at a time; all else
 * has one lock.
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
};

/* ---- what a test asks for ---- */

/* How the device is; set it before anything is opened. */
struct stub_config {
	bool none;  /* there is no device */
	bool iwarp; /* and its reject codes */
	bool port_down;
	bool negative;   /* post errors come as negative numbers */
	bool no_windows; /* max_mw 0 */
	bool no_inline;  /* a QP with inline data is refused */
	bool late;       /* what completes is first seen as its CQ is armed, and raises nothing */
	bool quiet_accept; /* that a connection is there is told to who accepted by rdma_notify only */
	int max_srq_sge;
};
extern struct stub_config stub_config;

/*
 * The nth call from now on (1: the next) of this name fails with this error number, and so do all after it if
 * `always`. Names of posts: "ibv_post_send", "ibv_post_recv", "ibv_post_srq_recv". error 0: no more.
 */
void stub_fail(const char *call, int nth, int error, bool always);
/* How often it failed. */
int stub_failed(const char *call);
/* An asynchronous event of the device; of the QP, CQ or SRQ in `element`, if there is one. */
void stub_async(enum ibv_event_type type, void *element);
/* As if the device was pulled out: a device removal for each id, and IBV_EVENT_DEVICE_FATAL. */
void stub_remove_device(void);
/*
 * While it is held, who destroys an id that has asked and was not answered, or its QP, waits; as with a kernel that
 * waits for the peer.
 */
void stub_hold(bool held);
/* Until so many wait there. */
void stub_await_held(int n);
/* The CQ whose Receives are of this QP is asked for solicited completions, or for all. */
void stub_await_armed(struct ibv_cq *cq, bool solicited_only);
/* Objects that were made and not destroyed: contexts, PDs, MRs, windows, CQs, channels, SRQs, QPs, ids. */
int stub_objects(void);
/* Until there are no more than these. */
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
	uint32_t seen; /* of them, by polls */
	struct ibv_wc *at;
	enum {
		STUB_NOT_ARMED,
		STUB_ARMED,
		STUB_ARMED_SOLICITED
	} armed;
	int told;     /* so many times */
	bool waiting; /* in its channel's list */
	struct stub_cq *next;
};

struct stub_channel {
	struct ibv_comp_channel v;
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
	struct stub_ring *recv; /* its own or the SRQ's */
	struct stub_ring own;
	uint32_t max_recv, max_send;
	bool all_signalled;
	bool asked;              /* for a connection, and has no answer */
	uint32_t put, get, mask; /* Sends that wait for a Receive */
	struct stub_send *waiting;
};

struct stub_mr {
	struct ibv_mr v;
	int access;
	bool live;
	int windows;           /* bound to it */
	struct stub_mr *bound; /* of a window: to this region */
};

extern struct ibv_context *stub_context;

void stub_lock(void);
void stub_unlock(void);
/* Without the lock around it, until somebody changes something; and that. */
void stub_wait(void);
void stub_changed(void);
/* Where destroying waits. */
void stub_held_up(void);
/* 0, or the error that the test wants. */
int stub_refuses(const char *call);
void stub_count(int by);
void stub_signal(int fd);
void stub_unsignal(int fd);
struct stub_qp *stub_qp_by_number(uint32_t number);
struct stub_mr *stub_mr_by_key(uint32_t key);
/* A window is bound to that region, or to none. */
void stub_window_to(struct stub_mr *window, struct stub_mr *region);
/* Connect two QPs; break one: it and what it has posted are flushed. */
void stub_connect(struct stub_qp *a, struct stub_qp *b);
void stub_to_error(struct stub_qp *qp);
void stub_removed(void); /* cm.c */
void stub_forget_events(const void *element);
/* objects.c */
struct ibv_mw *stub_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int stub_dealloc_mw(struct ibv_mw *mw);

/* data.c */
int stub_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int stub_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int stub_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int stub_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int stub_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int stub_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
void stub_complete(struct stub_cq *cq, const struct ibv_wc *wc, bool solicited);

#endif /* TESTS_STUBVERBS_STUB_H */
