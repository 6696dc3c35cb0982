/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_quick.h - the calls of every message on a backend in a module whose lock is biased (bias.h).
 *
 * A front checks what is its own (the handle, the segment, its own count of Receives), and then
 * jumps to a function that the QP or CQ names, with the arguments in registers. That function makes
 * the whole of the call: it posts or polls, ends the critical section of the lock's owner (one
 * store to nic_host.inside) and returns what the front's caller gets; 0 means success. It may do so
 * only in the usual case. In any other it calls the front back (struct nic_quick_front), which then
 * ends the critical section.
 *
 * The backend's QPs, CQs and SRQs begin with the structs below, and it exchanges the functions
 * while a QP or CQ is in a state in which the usual case cannot occur. No decorator is asked: while
 * one is installed, lib makes none of these calls.
 */
#ifndef HOST_NIC_QUICK_H
#define HOST_NIC_QUICK_H

#include "nic.h"

/*
 * The completion event of a usual request, in the layout of the front's own event. The label is the
 * same for all requests of a queue (nic_quick_qp.label).
 */
struct nic_quick_event {
	uint64_t label[3];
	uint64_t wr_id;
	uint32_t status; /* 0: success */
	uint32_t unused;
	uint64_t length;
};

struct nic_quick_qp {
	struct nic_qp qp;
	/*
	 * One segment, not empty, of the region set by set_lkey, no flags. Receives: the front has
	 * seen that there is room, and has counted it already, because a flush may complete it
	 * inside. `request` is the front's own form of it, handed back by nic_quick_front. The
	 * order of the arguments is the one that leaves most of them in the registers in which
	 * dat_ep_post_send got them.
	 */
	int (*send)(struct nic_quick_qp *qp, uint64_t addr, const void *request, uint64_t wr_id,
		    uint32_t length);
	int (*recv)(struct nic_quick_qp *qp, uint64_t addr, const void *request, uint64_t wr_id,
		    uint32_t length);
	/* The front's count of Receives posted and not reaped; `poll` counts it down. */
	int32_t *recv_outstanding;
	/* The key of the segments of `send`, or of `recv`, from now on. */
	void (*set_lkey)(struct nic_quick_qp *qp, bool recv, uint32_t lkey);
	/* Set the labels of both queues. They are lost when the QP is modified. */
	void (*label)(struct nic_quick_qp *qp, const uint64_t send[3], const uint64_t recv[3]);
};

struct nic_quick_cq {
	struct nic_cq cq;
	int (*poll)(struct nic_quick_cq *cq, struct nic_quick_event *event);
};

struct nic_quick_srq {
	struct nic_srq srq;
	/*
	 * srq_post of one segment that is not empty, where the front has seen that there is room.
	 */
	int (*recv)(struct nic_srq *srq, uint64_t addr, uint32_t length, uint64_t wr_id,
		    uint32_t lkey);
};

/*
 * The front's side (nic_upcalls.quick). Each function ends the critical section and returns what
 * the front's caller gets.
 */
struct nic_quick_front {
	int empty; /* what `poll` returns when there is no completion */
	/* This request is not a usual one: the front posts it by nic_ops. */
	int (*send)(void *qp_ctx, const void *request, uint64_t wr_id);
	int (*recv)(void *qp_ctx, const void *request, uint64_t wr_id);
	/* The device refused the request. err: what post_send or post_recv returns. */
	int (*send_refused)(void *qp_ctx, int err);
	int (*recv_refused)(void *qp_ctx, int err);
	/* A completion other than the success of a usual request. */
	int (*completed)(void *cq_ctx, const struct nic_wc *wc, struct nic_quick_event *event);
};

static inline struct nic_quick_qp *nic_quick_qp(struct nic_qp *qp)
{
	return nic_container_of(qp, struct nic_quick_qp, qp);
}

static inline struct nic_quick_cq *nic_quick_cq(struct nic_cq *cq)
{
	return nic_container_of(cq, struct nic_quick_cq, cq);
}

static inline struct nic_quick_srq *nic_quick_srq(struct nic_srq *srq)
{
	return nic_container_of(srq, struct nic_quick_srq, srq);
}

#endif /* HOST_NIC_QUICK_H */
