/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * post.c - posting work requests.
 *
 * The door leaves the check of keys at a post to the front. Verbs checks none there: a bad key is
 * found when the request runs. So a request with a key that is no good gets one more segment, which
 * is empty. That makes the NIC check every key when it runs the request, because only requests of
 * one segment are taken to be checked.
 */
#include <string.h>

#include "quick.h"
#include "trace.h"
#include "vb.h"

#define SEGMENTS 32 /* more than any adapter admits */

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct nic_sge), "the same form");
_Static_assert(offsetof(struct ibv_sge, lkey) == offsetof(struct nic_sge, lkey), "in order");

#define SEND_FLAGS                                                        \
	((unsigned int)IBV_SEND_FENCE | (unsigned int)IBV_SEND_SIGNALED | \
	 (unsigned int)IBV_SEND_SOLICITED | (unsigned int)IBV_SEND_INLINE)

/* ---- segments ---- */

struct segments {
	struct nic_sge sge[SEGMENTS];
	int n;
	uint64_t length;
};

/* False: there are more than `most`. */
static bool take_segments(struct segments *s, const struct ibv_sge *sge, int n, uint32_t most)
{
	if (n < 0 || (uint32_t)n > most || n >= SEGMENTS)
		return false;
	s->n = n;
	s->length = 0;
	for (int i = 0; i < n; i++) {
		s->sge[i] = (struct nic_sge){ sge[i].addr, sge[i].length, sge[i].lkey };
		s->length += sge[i].length;
	}
	return true;
}

static void have_checked(struct segments *s)
{
	s->sge[s->n++] = (struct nic_sge){ 0 };
}

/* ---- sends ---- */

uint8_t *vb_inline_slot(const struct vb_qp *qp, uint32_t n)
{
	uint32_t slots = qp->init.cap.max_send_wr + 1, slot = qp->inline_slot + n;

	return qp->inline_room +
	       (size_t)(slot < slots ? slot : slot - slots) * qp->init.cap.max_inline_data;
}

void vb_inline_use(struct vb_qp *qp)
{
	qp->inline_slot = qp->inline_slot < qp->init.cap.max_send_wr ? qp->inline_slot + 1 : 0;
}

bool vb_inline_take(const struct vb_qp *qp, const struct ibv_send_wr *wr, struct nic_sge *sge)
{
	uint32_t length = 0, most = qp->init.cap.max_inline_data;
	uint8_t *slot = vb_inline_slot(qp, 0);

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->init.cap.max_send_sge)
		return false;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *from = &wr->sg_list[i];

		if (from->length > most - length)
			return false;
		memcpy(slot + length, (void *)(uintptr_t)from->addr, from->length);
		length += from->length;
	}
	if (length == 0)
		return false;
	*sge = (struct nic_sge){ (uintptr_t)slot, length, qp->inline_mr->lkey };
	return true;
}

uint8_t vb_send_flags(const struct vb_qp *qp, unsigned int send_flags)
{
	uint32_t flags = 0;

	if (!(send_flags & IBV_SEND_SIGNALED) && !qp->init.sq_sig_all)
		flags |= NIC_WR_SUPPRESS;
	if (send_flags & IBV_SEND_SOLICITED)
		flags |= NIC_WR_SOLICITED;
	if (send_flags & IBV_SEND_FENCE)
		flags |= NIC_WR_FENCE;
	return (uint8_t)flags;
}

static void set_atomic(struct nic_send_wr *out, const struct ibv_send_wr *wr)
{
	bool swap = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	out->opcode = swap ? NIC_OP_SWAP : NIC_OP_ADD;
	out->compare = wr->wr.atomic.compare_add;
	out->operand = swap ? wr->wr.atomic.swap : wr->wr.atomic.compare_add;
	out->remote_addr = wr->wr.atomic.remote_addr;
	out->rkey = wr->wr.atomic.rkey;
}

/* -EINVAL: no request of this type of QP. */
static int set_opcode(struct nic_send_wr *out, const struct vb_qp *qp, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND_WITH_INV:
		out->flags |= NIC_WR_INVALIDATE;
		out->opcode = NIC_OP_SEND;
		out->imm = wr->invalidate_rkey;
		return 0;
	case IBV_WR_LOCAL_INV:
		out->opcode = NIC_OP_BIND;
		out->rkey = wr->invalidate_rkey;
		out->length = VB_BIND_INVALIDATES;
		return wr->num_sge ? -EINVAL : 0;
	case IBV_WR_BIND_MW:
		return wr->num_sge ? -EINVAL : vb_mw_bind_wr(out, qp, wr);
	case IBV_WR_SEND_WITH_IMM:
		out->flags |= NIC_WR_IMM;
		__attribute__((fallthrough));
	case IBV_WR_SEND:
		out->opcode = NIC_OP_SEND;
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		out->flags |= NIC_WR_IMM;
		__attribute__((fallthrough));
	case IBV_WR_RDMA_WRITE:
		out->opcode = NIC_OP_WRITE;
		break;
	case IBV_WR_RDMA_READ:
		out->opcode = NIC_OP_READ;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		set_atomic(out, wr);
		return 0;
	default:
		return -EINVAL;
	}
	out->imm = wr->imm_data;
	out->remote_addr = wr->wr.rdma.remote_addr;
	out->rkey = wr->wr.rdma.rkey;
	return 0;
}

/* RNICs have no atomics, and no immediate data. */
static bool is_of_infiniband(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

bool vb_post_fetches(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* The payload's segments. -EINVAL: this QP cannot send it, or not inline. */
static int find_payload(const struct vb_context *context, const struct vb_qp *qp,
			const struct ibv_send_wr *wr, struct segments *s)
{
	if (!take_segments(s, wr->sg_list, wr->num_sge, qp->init.cap.max_send_sge) ||
	    s->length > context->adapter->base.attr.max_msg_size)
		return -EINVAL;
	if ((wr->send_flags & IBV_SEND_INLINE) &&
	    (vb_post_fetches(wr->opcode) || s->length > qp->init.cap.max_inline_data))
		return -EINVAL;
	return 0;
}

/* Gather the payload from the program's memory, or from the slot that it is copied to. */
static int take_payload(struct vb_context *context, struct vb_qp *qp, const struct ibv_send_wr *wr,
			struct segments *s)
{
	int err = find_payload(context, qp, wr, s);

	if (err)
		return err;
	if (wr->send_flags & IBV_SEND_INLINE) {
		s->n = vb_inline_take(qp, wr, s->sge);
		return 0;
	}
	/* The NIC checks the key of an atomic in any case. */
	if (!vb_keys_allow(context, VB_OF(qp->ibv.pd, pd), s->sge, s->n,
			   vb_post_fetches(wr->opcode)) &&
	    wr->opcode != IBV_WR_ATOMIC_CMP_AND_SWP && wr->opcode != IBV_WR_ATOMIC_FETCH_AND_ADD)
		have_checked(s);
	return 0;
}

/* What a QP of another type than RC can send; type UD: where to. */
static int set_unreliable(const struct vb_qp *qp, const struct ibv_send_wr *wr, uint32_t length,
			  struct nic_send_wr *out, struct nic_to *to)
{
	if (out->flags & NIC_WR_INVALIDATE)
		return -EINVAL;
	if (qp->ibv.qp_type == IBV_QPT_UC)
		return out->opcode == NIC_OP_SEND || out->opcode == NIC_OP_WRITE ? 0 : -EINVAL;
	out->to = to;
	return out->opcode == NIC_OP_SEND ? vb_ah_resolve(qp, wr, length, to) : -EINVAL;
}

/* Fill in the request as the door takes it. It points to `s` and, of type UD, to `to`. */
static int make_request(const struct vb_qp *qp, const struct ibv_send_wr *wr,
			const struct segments *s, struct nic_send_wr *out, struct nic_to *to)
{
	int err;

	*out = (struct nic_send_wr){ .wr_id = wr->wr_id,
				     .flags = vb_send_flags(qp, wr->send_flags) };
	err = wr->send_flags & ~SEND_FLAGS ? -EINVAL : set_opcode(out, qp, wr);
	if (!err && vb_setting_iwarp() && is_of_infiniband(wr->opcode))
		err = -EINVAL;
	if (!err && qp->ibv.qp_type != IBV_QPT_RC)
		err = set_unreliable(qp, wr, (uint32_t)s->length, out, to);
	if (err)
		return err;
	out->sge = s->sge;
	out->num_sge = (uint16_t)s->n;
	if (out->opcode != NIC_OP_BIND)
		out->length = (uint32_t)s->length;
	return 0;
}

static int post_segments(struct vb_qp *qp, const struct ibv_send_wr *wr, const struct segments *s)
{
	struct nic_send_wr out;
	struct nic_to to;
	int err = make_request(qp, wr, s, &out, &to);

	return err ? err : qp->nic->nic->ops->post_send(qp->nic, &out);
}

static int post_one(struct vb_context *context, struct vb_qp *qp, const struct ibv_send_wr *wr)
{
	struct segments s;
	int err;

	err = take_payload(context, qp, wr, &s);
	if (!err)
		err = post_segments(qp, wr, &s);
	if (!err && (wr->send_flags & IBV_SEND_INLINE))
		vb_inline_use(qp);
	return err;
}

/* Of a batch. */
static int post_in_slot(struct vb_qp *qp, const struct vb_wr *wr)
{
	struct segments s;

	take_segments(&s, &wr->slot, 1, 1);
	return post_segments(qp, &wr->ibv, &s);
}

/* verbs' error of a full queue is ENOMEM. */
static int full_is_no_memory(int err)
{
	return err == -EAGAIN ? -ENOMEM : err;
}

int vb_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct vb_qp *qp = VB_OF(ibv, qp);
	bool entered = vb_batch_enter(qp);
	struct vb_context *context = vb_enter(ibv->context);
	int err = 0;

	if (ibv->state < IBV_QPS_RTS)
		err = -EINVAL;
	for (; wr && !err; wr = err ? wr : wr->next)
		err = full_is_no_memory(post_one(context, qp, wr));
	if (err) {
		vb_refuse(&qp->obj, "ibv_post_send", err);
		*bad = wr;
	}
	backend_busy(context->nic);
	vb_leave(context);
	vb_batch_leave(qp, entered);
	return -err;
}

/* Would the NIC refuse the request for its form? */
static bool is_refused(const struct vb_qp *qp, const struct nic_send_wr *wr)
{
	if (wr->opcode != NIC_OP_READ && wr->opcode != NIC_OP_SWAP && wr->opcode != NIC_OP_ADD)
		return false;
	return qp->attr.max_rd_atomic == 0 ||
	       (wr->opcode != NIC_OP_READ && (wr->num_sge != 1 || wr->length != sizeof(uint64_t)));
}

static int check_one(const struct vb_context *context, const struct vb_qp *qp,
		     const struct vb_wr *wr)
{
	struct nic_send_wr out;
	struct segments s;
	struct nic_to to;
	int err = 0;

	if (wr->in_slot)
		take_segments(&s, &wr->slot, 1, 1);
	else
		err = find_payload(context, qp, &wr->ibv, &s);
	if (!err)
		err = make_request(qp, &wr->ibv, &s, &out, &to);
	return !err && is_refused(qp, &out) ? -EINVAL : err;
}

/* Find a request that cannot be posted before any is. One alone needs no check beforehand. */
static int check_batch(const struct vb_context *context, const struct vb_qp *qp,
		       const struct vb_batch *batch)
{
	int err = 0;

	for (uint32_t i = 0; batch->n > 1 && i < batch->n && !err; i++)
		err = check_one(context, qp, &batch->wrs[i]);
	return err;
}

int vb_post_batch(struct vb_qp *qp, const struct vb_batch *batch)
{
	struct vb_context *context = vb_enter(qp->ibv.context);
	int err = qp->ibv.state < IBV_QPS_RTS ? -EINVAL : check_batch(context, qp, batch);

	for (uint32_t i = 0; i < batch->n && !err; i++) {
		const struct vb_wr *wr = &batch->wrs[i];

		err = wr->in_slot ? post_in_slot(qp, wr) : post_one(context, qp, &wr->ibv);
		if (!err)
			vb_inline_use(qp);
	}
	vb_refuse(&qp->obj, "ibv_wr_complete", full_is_no_memory(err));
	backend_busy(context->nic);
	return vb_result(context, full_is_no_memory(err));
}

/* ---- receives ---- */

static int recv_segments(struct vb_context *context, struct ibv_pd *pd,
			 const struct ibv_recv_wr *wr, uint32_t most, struct segments *s)
{
	if (!take_segments(s, wr->sg_list, wr->num_sge, most))
		return -EINVAL;
	if (!vb_keys_allow(context, VB_OF(pd, pd), s->sge, s->n, true))
		have_checked(s);
	return 0;
}

static int recv_one(struct vb_context *context, struct vb_qp *qp, const struct ibv_recv_wr *wr)
{
	struct nic_recv_wr out = { .wr_id = wr->wr_id };
	struct segments s;
	int err;

	if (recv_segments(context, qp->ibv.pd, wr, qp->init.cap.max_recv_sge, &s))
		return -EINVAL;
	out.sge = s.sge;
	out.num_sge = (uint16_t)s.n;
	err = full_is_no_memory(context->nic->ops->post_recv(qp->nic, &out));
	if (vb_traced(&qp->obj) && !err)
		vb_trace_recv(&qp->obj, wr, s.length);
	return err;
}

int vb_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vb_context *context = vb_enter(ibv->context);
	int err = 0;

	if (ibv->state == IBV_QPS_RESET || ibv->srq)
		err = -EINVAL;
	for (; wr && !err; wr = err ? wr : wr->next)
		err = recv_one(context, VB_OF(ibv, qp), wr);
	if (err) {
		vb_refuse(&VB_OF(ibv, qp)->obj, "ibv_post_recv", err);
		*bad = wr;
	}
	backend_busy(context->nic);
	return vb_result(context, err);
}

int vb_srq_post_one(struct vb_context *context, struct vb_srq *srq, const struct ibv_recv_wr *wr)
{
	struct nic_recv_wr out = { .wr_id = wr->wr_id };
	struct segments s;
	int err;

	if (recv_segments(context, srq->ibv.pd, wr, srq->attr.max_sge, &s))
		return -EINVAL;
	out.sge = s.sge;
	out.num_sge = (uint16_t)s.n;
	err = full_is_no_memory(context->nic->ops->srq_post(srq->nic, &out));
	if (vb_traced(&srq->obj) && !err)
		vb_trace_srq_recv(srq, wr, s.length);
	return err;
}

int vb_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vb_context *context = vb_enter(ibv->context);
	int err = 0;

	for (; wr && !err; wr = err ? wr : wr->next)
		err = vb_srq_post_one(context, VB_OF(ibv, srq), wr);
	if (err) {
		vb_refuse(&VB_OF(ibv, srq)->obj, "ibv_post_srq_recv", err);
		*bad = wr;
	}
	backend_busy(context->nic);
	return vb_result(context, err);
}
