/* SPDX-License-Identifier: BSD-3-Clause */
/* quick.h - the short posts, inline payload, and the conversion of a completion. */
#ifndef VERBS_QUICK_H
#define VERBS_QUICK_H

#include <sys/single_threaded.h>

#include "vb.h"

/* The careful call takes what is longer: it alone knows the longest message of the device. */
#define VB_QUICK_BYTES (4u << 20)

/* vb_qp.quick: the short posts that the QP's type and state permit. */
enum vb_quick {
	VB_QUICK_SEND = 1u << 0,
	VB_QUICK_RECV = 1u << 1,
};

/* After a change of the QP's state. */
void vb_qp_choose_quick(struct vb_qp *qp);

/* cq.c: a poll that looks at no kept completion; it writes lines. */
int vb_cq_poll_nic(struct vb_cq *cq, int n, struct ibv_wc *wc);
/* cq.c: any completion. */
void vb_wc_fill_any(struct ibv_wc *out, const struct nic_wc *wc);

/* ---- post.c: a Receive of an SRQ, flags, inline payload ---- */

int vb_srq_post_one(struct vb_context *context, struct vb_srq *srq, const struct ibv_recv_wr *wr);

/* enum nic_wr_flag, of enum ibv_send_flags. */
uint8_t vb_send_flags(const struct vb_qp *qp, unsigned int flags);

/* The slot for the inline payload of the n-th request from now on. */
uint8_t *vb_inline_slot(const struct vb_qp *qp, uint32_t n);
/*
 * Copy the payload of an inline request to the next slot. False: it is empty, or there is too much.
 * It has the slot once it is posted.
 */
bool vb_inline_take(const struct vb_qp *qp, const struct ibv_send_wr *wr, struct nic_sge *sge);
void vb_inline_use(struct vb_qp *qp);

/*
 * A post beside ibv_wr_xxx: from ibv_wr_start on, the QP is the batch's until its end, as where a
 * driver holds the queue's lock so long. Otherwise the post might take the room, or the slots, that
 * the batch counts on. True: vb_batch_leave is to follow. Before the backend's lock.
 */
static inline bool vb_batch_enter(const struct vb_qp *qp)
{
	if (__builtin_expect(!qp->batch, 1) || __libc_single_threaded)
		return false;
	pthread_mutex_lock(&qp->batch->mutex);
	return true;
}

static inline void vb_batch_leave(const struct vb_qp *qp, bool entered)
{
	if (__builtin_expect(entered, 0))
		pthread_mutex_unlock(&qp->batch->mutex);
}

static inline void vb_wc_fill(struct ibv_wc *out, const struct nic_wc *wc)
{
	const unsigned int special = NIC_WR_IMM | NIC_WR_WRITTEN | NIC_WR_INVALIDATE;
	const struct vb_obj *obj = wc->qp->ctx;
	const struct vb_qp *qp = nic_container_of(obj, struct vb_qp, obj);
	bool received = wc->opcode == NIC_OP_RECV;

	if (__builtin_expect(wc->status != NIC_WC_SUCCESS || (wc->flags & special) ||
				     (!received && wc->opcode != NIC_OP_SEND) ||
				     qp->ibv.qp_type != IBV_QPT_RC,
			     0)) {
		vb_wc_fill_any(out, wc);
		return;
	}
	*out = (struct ibv_wc){ .wr_id = wc->wr_id,
				.status = IBV_WC_SUCCESS,
				.opcode = received ? IBV_WC_RECV : IBV_WC_SEND,
				.byte_len = wc->length,
				.qp_num = qp->ibv.qp_num };
	if (received) {
		++*wc->qp->reaped;
		out->src_qp = qp->attr.dest_qp_num;
		out->slid = qp->attr.ah_attr.dlid;
	}
}

#endif /* VERBS_QUICK_H */
