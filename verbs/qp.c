/* SPDX-License-Identifier: BSD-3-Clause */
/* qp.c - queue pairs: creation, destruction, and their end by an error. */
#include <stdio.h>
#include <stdlib.h>

#include "gone.h"
#include "trace.h"
#include "vb.h"
#include "wait.h"

/* ---- creation ---- */

static bool caps_fit(const struct vb_context *context, const struct ibv_qp_init_attr *init)
{
	const struct nic_attr *nic = &context->adapter->base.attr;
	const struct ibv_qp_cap *cap = &init->cap;

	return cap->max_send_wr <= (uint32_t)nic->max_qp_wr &&
	       cap->max_send_sge < (uint32_t)nic->max_sge &&
	       cap->max_inline_data <= VB_INLINE_MAX &&
	       (init->srq || (cap->max_recv_wr <= (uint32_t)nic->max_qp_wr &&
			      cap->max_recv_sge < (uint32_t)nic->max_sge));
}

/* Objects of one context know nothing of those of another, even of the same device. */
static bool queues_fit(const struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	return !vb_is_gone(pd->context) && init->send_cq && init->send_cq->context == pd->context &&
	       init->recv_cq && init->recv_cq->context == pd->context &&
	       (!init->srq || init->srq->context == pd->context);
}

/*
 * One segment more than the program asks for is the library's: post.c. An atomic needs the room of
 * three.
 */
static uint32_t send_segments(const struct ibv_qp_init_attr *init)
{
	return init->cap.max_send_sge < 2 ? 3 : init->cap.max_send_sge + 1;
}

static enum nic_qp_kind kind_of(enum ibv_qp_type type)
{
	if (type == IBV_QPT_UD)
		return NIC_QP_DATAGRAM;
	return type == IBV_QPT_UC ? NIC_QP_UNRELIABLE : NIC_QP_RELIABLE;
}

static struct nic_qp_init nic_init(struct vb_context *context, struct vb_pd *pd,
				   const struct ibv_qp_init_attr *init)
{
	const struct nic_attr *nic = &context->adapter->base.attr;

	return (struct nic_qp_init){
		.pd = pd->nic,
		.send_cq = VB_OF(init->send_cq, cq)->nic,
		.recv_cq = VB_OF(init->recv_cq, cq)->nic,
		.srq = init->srq ? VB_OF(init->srq, srq)->nic : NULL,
		.cap = { .max_send_wr = init->cap.max_send_wr,
			 .max_recv_wr = init->srq ? 0 : init->cap.max_recv_wr,
			 .max_send_sge = send_segments(init),
			 .max_recv_sge = init->srq ? 1 : init->cap.max_recv_sge + 1,
			 .max_rdma_sge = send_segments(init),
			 .max_rd_in = (uint32_t)nic->max_rd_atomic_in,
			 .max_rd_out = (uint32_t)nic->max_rd_atomic_out },
		.kind = kind_of(init->qp_type),
		.noun = NIC_NOUN_QP,
		.name = context->adapter->last_id[VB_QP] + 1,
	};
}

/*
 * A slot is used again when the request that used it last has left the send queue: it is
 * acknowledged, for the queue had room again.
 */
static int make_inline_room(struct vb_qp *qp, struct vb_pd *pd)
{
	size_t bytes = ((size_t)qp->init.cap.max_send_wr + 1) * qp->init.cap.max_inline_data;
	int err;

	qp->inline_room = malloc(bytes);
	if (!qp->inline_room)
		return -ENOMEM;
	/* Not through the decorator: no rule shall take it for a call of the program's. */
	err = vb_backend(pd->obj.context)
		      ->ops.mr_reg(pd->nic, (uintptr_t)qp->inline_room, bytes,
				   NIC_ACCESS_LOCAL_READ | NIC_ACCESS_OF_FRONT, &qp->inline_mr);
	if (err)
		free(qp->inline_room);
	return err;
}

static void free_inline_room(struct vb_qp *qp)
{
	if (qp->inline_mr)
		qp->inline_mr->nic->ops->mr_dereg(qp->inline_mr);
	if (qp->inline_mr)
		free(qp->inline_room);
}

static const char *type_word(enum ibv_qp_type type)
{
	if (type == IBV_QPT_RC)
		return "RC";
	return type == IBV_QPT_UC ? "UC" : "UD";
}

/* A datagram takes its Receive without a line, so this one says whose they are. */
static void trace_create(const struct vb_qp *qp)
{
	char srq[24] = "";

	if (qp->init.srq)
		snprintf(srq, sizeof(srq), " srq=srq%u", VB_OF(qp->init.srq, srq)->obj.id);
	vb_obj_trace(&qp->obj, "create type=%s qpn=%u send=cq%u recv=cq%u%s",
		     type_word(qp->init.qp_type), qp->ibv.qp_num,
		     VB_OF(qp->init.send_cq, cq)->obj.id, VB_OF(qp->init.recv_cq, cq)->obj.id, srq);
}

static int create_qp(struct vb_context *context, struct vb_qp *qp, struct vb_pd *pd)
{
	struct nic_qp_init init = nic_init(context, pd, &qp->init);
	int err = make_inline_room(qp, pd);

	if (err)
		return err;
	err = context->nic->ops->qp_create(context->nic, &init, &qp->obj, &qp->nic);
	if (err) {
		free_inline_room(qp);
		return err;
	}
	vb_obj_add(context, &qp->obj, VB_QP);
	pd->obj.users++;
	VB_OF(qp->init.send_cq, cq)->obj.users++;
	VB_OF(qp->init.recv_cq, cq)->obj.users++;
	if (qp->init.srq)
		VB_OF(qp->init.srq, srq)->obj.users++;
	qp->ibv = (struct ibv_qp){ .context = &context->ex.context,
				   .qp_context = qp->init.qp_context,
				   .pd = &pd->ibv,
				   .send_cq = qp->init.send_cq,
				   .recv_cq = qp->init.recv_cq,
				   .srq = qp->init.srq,
				   .handle = qp->obj.id,
				   .qp_num = qp->nic->number,
				   .state = IBV_QPS_RESET,
				   .qp_type = qp->init.qp_type };
	trace_create(qp);
	pthread_mutex_init(&qp->ibv.mutex, NULL);
	pthread_cond_init(&qp->ibv.cond, NULL);
	return 0;
}

VB_NEW(ibv_create_qp);
struct ibv_qp *ibv_create_qp(struct ibv_pd *ibv, struct ibv_qp_init_attr *init)
{
	struct vb_context *context = vb_context_of(ibv->context);
	struct vb_qp *qp;
	int err;

	if (init->qp_type != IBV_QPT_RC &&
	    (vb_setting_iwarp() || (init->qp_type != IBV_QPT_UC && init->qp_type != IBV_QPT_UD)))
		return vb_failed(vb_asked(ibv->context, "ibv_create_qp", -EOPNOTSUPP));
	if ((init->srq && init->qp_type == IBV_QPT_UC) || !queues_fit(ibv, init) ||
	    !caps_fit(context, init))
		return vb_failed(vb_asked(ibv->context, "ibv_create_qp", -EINVAL));
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return vb_failed(-ENOMEM);
	qp->init = *init;
	qp->signaled = init->sq_sig_all ? IBV_SEND_SIGNALED : 0;
	if (qp->init.cap.max_inline_data < VB_INLINE_LEAST)
		qp->init.cap.max_inline_data = VB_INLINE_LEAST;
	vb_enter(ibv->context);
	err = vb_fault(context, NULL, VB_CALL_CREATE_QP);
	if (!err)
		err = create_qp(context, qp, VB_OF(ibv, pd));
	vb_context_refuse(context, "ibv_create_qp", err);
	vb_leave(context);
	if (!err) {
		init->cap = qp->init.cap;
		return &qp->ibv;
	}
	free(qp);
	return vb_failed(err);
}

/* ---- destruction ---- */

/* Requests that the program will never hear of. */
static void trace_unfinished(const struct vb_qp *qp)
{
	struct nic_qp_counts counts;

	if (!qp->nic->nic->tracing)
		return;
	qp->nic->nic->ops->qp_query(qp->nic, &counts);
	if (counts.send_posted > 0)
		vb_obj_trace(&qp->obj, "unfinished qpn=%u requests=%u", qp->ibv.qp_num,
			     counts.send_posted);
}

void vb_qp_discard(struct vb_qp *qp)
{
	const struct nic_ops *ops = qp->nic->nic->ops;
	struct vb_cq *send_cq = VB_OF(qp->init.send_cq, cq), *recv_cq = VB_OF(qp->init.recv_cq, cq);

	trace_unfinished(qp);
	ops->qp_reset(qp->nic);
	vb_qp_part(qp, NIC_END_DISCONNECTED);
	vb_range_close(&qp->send_range);
	vb_range_close(&qp->recv_range);
	vb_cq_forget(send_cq, qp->nic);
	vb_cq_forget(recv_cq, qp->nic);
	ops->qp_destroy(qp->nic);
	free_inline_room(qp);
	vb_async_forget(qp->obj.context, &qp->ibv);
	VB_OF(qp->ibv.pd, pd)->obj.users--;
	send_cq->obj.users--;
	recv_cq->obj.users--;
	if (qp->init.srq)
		VB_OF(qp->init.srq, srq)->obj.users--;
	vb_obj_remove(&qp->obj);
	pthread_mutex_destroy(&qp->ibv.mutex);
	pthread_cond_destroy(&qp->ibv.cond);
	vb_qp_free_batch(qp);
	vb_gone(qp, &qp->ibv.context);
}

#define ON_THE_WAY_NS 10000ul

void vb_qp_let_arrive(const struct vb_qp *qp, uint64_t ns)
{
	struct nic_qp_counts counts;

	/* Another thread may destroy it while time passes. */
	for (uint64_t passed = 0;
	     passed < ns && !vb_is_gone(qp->ibv.context) && qp->ibv.state == IBV_QPS_RTS;
	     passed += ON_THE_WAY_NS) {
		qp->nic->nic->ops->qp_query(qp->nic, &counts);
		if (counts.send_posted == 0)
			return;
		vb_pass_time(vb_backend(qp->obj.context), ON_THE_WAY_NS);
	}
}

VB_NEW(ibv_destroy_qp);
int ibv_destroy_qp(struct ibv_qp *ibv)
{
	struct vb_qp *qp = VB_OF(ibv, qp);
	struct vb_context *context = qp->obj.context;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	vb_enter(&context->ex.context);
	if (qp->obj.users > 0)
		return vb_result(context, vb_refuse(&qp->obj, "ibv_destroy_qp", -EBUSY));
	vb_async_wait(context, &ibv->mutex, &ibv->cond, &ibv->events_completed, &qp->given_async);
	if (ibv->qp_type == IBV_QPT_UD)
		vb_qp_let_arrive(qp, 1000000);
	vb_qp_discard(qp);
	return vb_result(context, 0);
}

/* ---- the end ---- */

void vb_qp_tell(struct vb_qp *qp, enum ibv_event_type what)
{
	struct ibv_async_event event = { .element = { .qp = &qp->ibv }, .event_type = what };

	vb_async_add(qp->obj.context, &event);
}

/* Work requests say what happened. Of an SRQ, the QP takes no further Receive, which is told. */
static void enter_error(struct vb_qp *qp, const char *by)
{
	bool first = qp->ibv.state != IBV_QPS_ERR;

	vb_qp_enter(qp, IBV_QPS_ERR, by);
	qp->draining = false;
	if (first && qp->ibv.srq)
		vb_qp_tell(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
}

void vb_qp_on_event(struct vb_qp *qp, enum nic_qp_event what)
{
	switch (what) {
	case NIC_QP_DRAINED:
		if (qp->draining && qp->tells_drained)
			vb_qp_tell(qp, IBV_EVENT_SQ_DRAINED);
		qp->draining = false;
		break;
	case NIC_QP_HEARD:
		vb_qp_tell(qp, IBV_EVENT_COMM_EST);
		break;
	case NIC_QP_ACCESS:
		vb_qp_tell(qp, IBV_EVENT_QP_ACCESS_ERR);
		break;
	case NIC_QP_REQUEST:
		vb_qp_tell(qp, IBV_EVENT_QP_REQ_ERR);
		break;
	case NIC_QP_ALARM: /* of connections only */
	case NIC_QP_EVENTS:
		break;
	}
}

void vb_qp_fail(struct vb_qp *qp, const char *by)
{
	if (qp->ibv.state == IBV_QPS_RESET)
		return;
	enter_error(qp, by);
	if (qp->conn)
		qp->nic->nic->ops->disconnect(qp->nic, true);
	else
		qp->nic->nic->ops->qp_fail(qp->nic);
}

void vb_qp_become(struct ibv_qp *ibv, enum ibv_qp_state state, struct vb_obj *conn)
{
	struct vb_qp *qp = VB_OF(ibv, qp);

	vb_qp_enter(qp, state, "connection");
	qp->conn = conn;
}

void vb_qp_part(struct vb_qp *qp, enum nic_conn_end why)
{
	struct vb_obj *conn = qp->conn;

	qp->conn = NULL;
	if (conn)
		vb_cm->end(conn, why);
}

void vb_qp_on_end(void *obj, enum nic_conn_end why)
{
	struct vb_qp *qp = nic_container_of((struct vb_obj *)obj, struct vb_qp, obj);

	enter_error(qp, qp->conn ? "connection" : "error");
	vb_qp_part(qp, why);
}
