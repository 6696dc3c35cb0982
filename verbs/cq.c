/* SPDX-License-Identifier: BSD-3-Clause */
/* cq.c - completion queues: polling, notification, and what becomes of a destroyed QP's entries. */
#include <stdlib.h>
#include <string.h>

#include "gone.h"
#include "quick.h"
#include "trace.h"

/* ---- create, resize, destroy ---- */

/*
 * Make room for as many kept completions as the queue can have, so that destroying a QP never needs
 * memory. The kernel gives no pages to a long array before it is used. False: there is no memory,
 * and nothing has changed.
 */
static bool make_room(struct vb_cq *cq, uint32_t cqe)
{
	uint32_t kept = cq->kept_end - cq->kept_first;
	struct nic_wc *room = calloc(cqe, sizeof(*room));

	if (!room)
		return false;
	if (kept > 0)
		memcpy(room, cq->kept + cq->kept_first, kept * sizeof(*room));
	free(cq->kept);
	cq->kept = room;
	cq->kept_first = 0;
	cq->kept_end = kept;
	cq->kept_room = cqe;
	return true;
}

struct vb_cq *vb_cq_create(struct ibv_context *ibv, const struct ibv_cq_init_attr_ex *attr)
{
	struct vb_context *context = vb_context_of(ibv);
	struct vb_cq *cq;
	int err;

	if (vb_is_gone(ibv) || attr->cqe < 1 ||
	    attr->cqe > (uint32_t)context->adapter->base.attr.max_cqe ||
	    attr->comp_vector >= (uint32_t)ibv->num_comp_vectors ||
	    (attr->channel && attr->channel->context != ibv))
		return vb_failed(vb_asked(ibv, "ibv_create_cq", -EINVAL));
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return vb_failed(-ENOMEM);
	vb_enter(ibv);
	err = vb_fault(context, NULL, VB_CALL_CREATE_CQ);
	if (!err && !make_room(cq, attr->cqe))
		err = -ENOMEM;
	if (!err)
		err = context->nic->ops->cq_create(context->nic, attr->cqe, &cq->obj, &cq->nic);
	if (vb_context_refuse(context, "ibv_create_cq", err)) {
		vb_leave(context);
		free(cq->kept);
		free(cq);
		return vb_failed(err);
	}
	vb_obj_add(context, &cq->obj, VB_CQ);
	vb_obj_trace(&cq->obj, "create cqe=%u", attr->cqe);
	cq->ibv = (struct ibv_cq){ .context = ibv,
				   .channel = attr->channel,
				   .cq_context = attr->cq_context,
				   .handle = cq->obj.id,
				   .cqe = (int)attr->cqe };
	pthread_mutex_init(&cq->ibv.mutex, NULL);
	pthread_cond_init(&cq->ibv.cond, NULL);
	if (attr->channel)
		attr->channel->refcnt++;
	vb_leave(context);
	return cq;
}

VB_NEW(ibv_create_cq);
struct ibv_cq *ibv_create_cq(struct ibv_context *ibv, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	/* A negative number is too large. */
	const struct ibv_cq_init_attr_ex attr = { .cqe = (uint32_t)cqe,
						  .cq_context = cq_context,
						  .channel = channel,
						  .comp_vector = (uint32_t)comp_vector };
	struct vb_cq *cq = vb_cq_create(ibv, &attr);

	return cq ? &cq->ibv : NULL;
}

VB_NEW(ibv_resize_cq);
int ibv_resize_cq(struct ibv_cq *ibv, int cqe)
{
	struct vb_cq *cq = VB_OF(ibv, cq);
	struct vb_context *context;
	uint32_t used;
	int err;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	used = cq->kept_end - cq->kept_first + context->nic->ops->cq_count(cq->nic);
	err = vb_fault(context, NULL, VB_CALL_RESIZE_CQ);
	if (!err && (cqe < 1 || (uint32_t)cqe < used || cqe > context->adapter->base.attr.max_cqe))
		err = -EINVAL;
	if (!err && (uint32_t)cqe > cq->kept_room && !make_room(cq, (uint32_t)cqe))
		err = -ENOMEM;
	if (!err)
		err = context->nic->ops->cq_resize(cq->nic, (uint32_t)cqe);
	if (!err) {
		ibv->cqe = cqe;
		vb_cq_limit(cq);
		vb_obj_trace(&cq->obj, "ibv_resize_cq cqe=%d", cqe);
	}
	return vb_result(context, vb_refuse(&cq->obj, "ibv_resize_cq", err));
}

void vb_cq_discard(struct vb_cq *cq)
{
	struct ibv_comp_channel *channel = cq->ibv.channel;

	cq->obj.context->nic->ops->cq_destroy(cq->nic);
	vb_async_forget(cq->obj.context, &cq->ibv);
	if (channel) {
		if (cq->events > 0)
			STAILQ_REMOVE(&VB_OF(channel, channel)->ready, cq, vb_cq, ready_link);
		for (; cq->events > 0; cq->events--)
			vb_event_taken(channel->fd);
		channel->refcnt--;
	}
	vb_obj_remove(&cq->obj);
	pthread_mutex_destroy(&cq->ibv.mutex);
	pthread_cond_destroy(&cq->ibv.cond);
	vb_cq_free_cursor(cq);
	free(cq->kept);
	vb_gone(cq, &cq->ibv.context);
}

VB_NEW(ibv_destroy_cq);
int ibv_destroy_cq(struct ibv_cq *ibv)
{
	struct vb_cq *cq = VB_OF(ibv, cq);
	struct vb_context *context;
	uint32_t given;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	if (cq->obj.users > 0)
		return vb_result(context, vb_refuse(&cq->obj, "ibv_destroy_cq", -EBUSY));
	/* No event comes any more, but another thread may take one while this one waits. */
	do {
		given = cq->given;
		vb_async_wait(context, &ibv->mutex, &ibv->cond, &ibv->comp_events_completed,
			      &cq->given);
		vb_async_wait(context, &ibv->mutex, &ibv->cond, &ibv->async_events_completed,
			      &cq->given_async);
	} while (cq->given != given);
	vb_cq_discard(cq);
	return vb_result(context, 0);
}

/* ---- poll ---- */

static enum ibv_wc_status status_of(const struct nic_wc *wc)
{
	static const enum ibv_wc_status statuses[NIC_WC_COUNT] = {
		[NIC_WC_SUCCESS] = IBV_WC_SUCCESS,
		[NIC_WC_FLUSHED] = IBV_WC_WR_FLUSH_ERR,
		[NIC_WC_LOCAL_LENGTH] = IBV_WC_LOC_LEN_ERR,
		[NIC_WC_LOCAL_QP] = IBV_WC_LOC_QP_OP_ERR,
		[NIC_WC_LOCAL_PROTECTION] = IBV_WC_LOC_PROT_ERR,
		[NIC_WC_BAD_RESPONSE] = IBV_WC_BAD_RESP_ERR,
		[NIC_WC_REMOTE_ACCESS] = IBV_WC_REM_ACCESS_ERR,
		[NIC_WC_REMOTE_OPERATION] = IBV_WC_REM_OP_ERR,
		[NIC_WC_RETRY_EXCEEDED] = IBV_WC_RETRY_EXC_ERR,
		[NIC_WC_RNR_EXCEEDED] = IBV_WC_RNR_RETRY_EXC_ERR,
		[NIC_WC_PARTIAL] = IBV_WC_GENERAL_ERR,
		[NIC_WC_BIND_FAILED] = IBV_WC_MW_BIND_ERR,
		[NIC_WC_REMOTE_INVALID] = IBV_WC_REM_INV_REQ_ERR,
	};

	if (wc->status >= NIC_WC_RNR_EXCEEDED) {
		if (wc->status > NIC_WC_OWN) /* by a fault */
			return (enum ibv_wc_status)(wc->status - NIC_WC_OWN);
		/* An RNIC's peer ends the stream, and what was on it is flushed. */
		if (wc->status == NIC_WC_RNR_EXCEEDED && vb_setting_iwarp())
			return IBV_WC_WR_FLUSH_ERR;
	}
	return wc->status < NIC_WC_COUNT ? statuses[wc->status] : IBV_WC_GENERAL_ERR;
}

static enum ibv_wc_opcode opcode_of(const struct nic_wc *wc)
{
	switch ((enum nic_opcode)wc->opcode) {
	case NIC_OP_SEND:
		return IBV_WC_SEND;
	case NIC_OP_WRITE:
		return IBV_WC_RDMA_WRITE;
	case NIC_OP_READ:
		return IBV_WC_RDMA_READ;
	case NIC_OP_BIND:
		return wc->length == VB_BIND_INVALIDATES ? IBV_WC_LOCAL_INV : IBV_WC_BIND_MW;
	case NIC_OP_SWAP:
		return IBV_WC_COMP_SWAP;
	case NIC_OP_ADD:
		return IBV_WC_FETCH_ADD;
	case NIC_OP_RECV:
	case NIC_OP_COUNT:
		break;
	}
	return wc->flags & NIC_WR_WRITTEN ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
}

static void fill_received(struct ibv_wc *out, const struct nic_wc *wc, const struct vb_qp *qp)
{
	++*wc->qp->reaped;
	if (qp->ibv.qp_type != IBV_QPT_UD) {
		out->src_qp = qp->attr.dest_qp_num;
		out->slid = qp->attr.ah_attr.dlid;
	} else if (wc->status == NIC_WC_SUCCESS) {
		out->src_qp = wc->src_qp;
		out->slid = vb_setting_ethernet() ? 0 : wc->src_adapter;
		out->sl = wc->src_sl;
		out->wc_flags = wc->flags & NIC_WR_GLOBAL ? IBV_WC_GRH : 0;
	}
}

/*
 * A request of type UC or UD that fails stops the send queue alone, also while it drains. Those
 * that are flushed for it may be polled when the program has started the queue again.
 */
static void stop_sending(struct vb_qp *qp, const struct nic_wc *wc)
{
	enum ibv_qp_state state = qp->ibv.state;

	if (wc->status != NIC_WC_SUCCESS && wc->status != NIC_WC_FLUSHED &&
	    (state == IBV_QPS_RTS || state == IBV_QPS_SQD))
		vb_qp_enter(qp, IBV_QPS_SQE, "error");
}

void vb_wc_fill_any(struct ibv_wc *out, const struct nic_wc *wc)
{
	struct vb_obj *obj = wc->qp->ctx;
	struct vb_qp *qp = nic_container_of(obj, struct vb_qp, obj);

	*out = (struct ibv_wc){ .wr_id = wc->wr_id,
				.status = status_of(wc),
				.opcode = opcode_of(wc),
				.vendor_err = wc->status,
				.byte_len = wc->length,
				.qp_num = qp->ibv.qp_num };
	if (wc->opcode == NIC_OP_RECV)
		fill_received(out, wc, qp);
	else if (qp->ibv.qp_type != IBV_QPT_RC)
		stop_sending(qp, wc);
	if (wc->opcode == NIC_OP_BIND)
		out->byte_len = 0;
	if (wc->flags & NIC_WR_INVALIDATE) {
		out->wc_flags |= IBV_WC_WITH_INV;
		out->invalidated_rkey = wc->imm;
	}
	if (wc->flags & NIC_WR_IMM) {
		out->wc_flags |= IBV_WC_WITH_IMM;
		out->imm_data = wc->imm;
	}
}

void vb_cq_limit(struct vb_cq *cq)
{
	cq->nic->nic->ops->cq_limit(cq->nic,
				    (uint32_t)cq->ibv.cqe - (cq->kept_end - cq->kept_first));
}

static void take_wc(const struct vb_cq *cq, struct ibv_wc *out, const struct nic_wc *wc)
{
	vb_wc_fill(out, wc);
	if (vb_traced(&cq->obj))
		vb_trace_wc(cq, wc->qp, out);
}

static int poll_kept(struct vb_cq *cq, int n, struct ibv_wc *wc)
{
	int got = 0;

	if (cq->kept_first == cq->kept_end)
		return 0;
	while (got < n && cq->kept_first != cq->kept_end)
		take_wc(cq, &wc[got++], &cq->kept[cq->kept_first++]);
	vb_cq_limit(cq);
	return got;
}

/* The first one lets time pass if there is none; the others are taken as they are. */
int vb_cq_poll_nic(struct vb_cq *cq, int n, struct ibv_wc *wc)
{
	const struct nic_ops *ops = cq->nic->nic->ops;
	struct nic_wc one;
	int got = 0;

	if (n < 1 || !ops->cq_spin(cq->nic, &one))
		return 0;
	do
		take_wc(cq, &wc[got++], &one);
	while (got < n && ops->cq_poll(cq->nic, &one, 1) == 1);
	return got;
}

int vb_cq_poll(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
	struct vb_context *context = vb_enter(ibv->context);
	struct vb_cq *cq = VB_OF(ibv, cq);
	int got;

	got = poll_kept(cq, n, wc);
	if (got == 0)
		got = vb_cq_poll_nic(cq, n, wc);
	vb_leave(context);
	return got;
}

/*
 * A NIC drops the completions of a QP that is reset or destroyed; the door leaves them to its
 * front. So all are taken from it, and those of other QPs are kept for the next polls.
 */
void vb_cq_forget(struct vb_cq *cq, const struct nic_qp *qp)
{
	const struct nic_ops *ops = cq->nic->nic->ops;
	uint32_t count = ops->cq_count(cq->nic), n = 0;
	struct nic_wc one;

	for (uint32_t i = cq->kept_first; i != cq->kept_end; i++)
		if (cq->kept[i].qp != qp)
			cq->kept[n++] = cq->kept[i];
	for (; count > 0 && ops->cq_poll(cq->nic, &one, 1) == 1; count--)
		if (one.qp != qp && n < cq->kept_room)
			cq->kept[n++] = one;
	cq->kept_first = 0;
	cq->kept_end = n;
	vb_cq_limit(cq);
}

/* ---- notification ---- */

int vb_cq_request_notify(struct ibv_cq *ibv, int solicited_only)
{
	struct vb_context *context = vb_enter(ibv->context);
	struct vb_cq *cq = VB_OF(ibv, cq);
	int err = vb_fault(context, NULL, VB_CALL_NOTIFY_CQ);

	if (err)
		return vb_result(context, vb_refuse(&cq->obj, "ibv_req_notify_cq", err));
	if (solicited_only)
		context->nic->ops->cq_arm_solicited(cq->nic);
	else
		context->nic->ops->cq_arm(cq->nic);
	vb_obj_trace(&cq->obj, "ibv_req_notify_cq solicited=%d", solicited_only != 0);
	return vb_result(context, 0);
}

void vb_cq_on_notify(void *obj)
{
	struct vb_cq *cq = nic_container_of((struct vb_obj *)obj, struct vb_cq, obj);
	struct vb_channel *channel;

	backend_busy(cq->obj.host.nic);
	if (!cq->ibv.channel)
		return;
	channel = VB_OF(cq->ibv.channel, channel);
	if (cq->events++ == 0)
		STAILQ_INSERT_TAIL(&channel->ready, cq, ready_link);
	vb_event_tell(vb_backend(cq->obj.context), channel->ibv.fd);
}

/* No QP is made without a CQ, but in a shared fabric another process may have written garbage. */
static void tell_overflow(struct vb_obj *obj)
{
	struct vb_cq *cq = nic_container_of(obj, struct vb_cq, obj);
	struct ibv_async_event event = { .element = { .cq = &cq->ibv },
					 .event_type = IBV_EVENT_CQ_ERR };

	vb_async_add(obj->context, &event);
}

/*
 * The QP fails once, however many flushed requests find the CQ full after that. A program that
 * renews the QP when it is told must not be told again of the life before.
 */
void vb_cq_on_lost(void *cq_obj, void *qp_obj, enum nic_opcode lost)
{
	struct vb_obj *obj = qp_obj;
	struct vb_qp *qp;

	(void)lost;
	if (cq_obj)
		tell_overflow(cq_obj);
	if (obj->kind != VB_QP)
		return;
	qp = nic_container_of(obj, struct vb_qp, obj);
	if (!qp->told_fatal)
		vb_qp_tell(qp, IBV_EVENT_QP_FATAL);
	qp->told_fatal = true;
}
