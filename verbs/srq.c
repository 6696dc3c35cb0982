/* SPDX-License-Identifier: BSD-3-Clause */
/* srq.c - shared receive queues. */
#include <stdlib.h>

#include "gone.h"
#include "trace.h"
#include "vb.h"
#include "wait.h"

VB_NEW(ibv_create_srq);
struct ibv_srq *ibv_create_srq(struct ibv_pd *ibv, struct ibv_srq_init_attr *init)
{
	struct vb_context *context = vb_context_of(ibv->context);
	struct vb_pd *pd = VB_OF(ibv, pd);
	const struct nic_attr *nic;
	struct vb_srq *srq;
	int err;

	if (vb_is_gone(ibv->context))
		return vb_failed(-EINVAL);
	nic = &context->adapter->base.attr;
	if (init->attr.max_wr < 1 || init->attr.max_wr > (uint32_t)nic->max_srq_wr ||
	    init->attr.max_sge >= (uint32_t)nic->max_sge)
		return vb_failed(vb_asked(ibv->context, "ibv_create_srq", -EINVAL));
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return vb_failed(-ENOMEM);
	vb_enter(ibv->context);
	err = vb_fault(context, NULL, VB_CALL_CREATE_SRQ);
	if (!err)
		err = context->nic->ops->srq_create(pd->nic, init->attr.max_wr,
						    init->attr.max_sge + 1,
						    context->adapter->last_id[VB_SRQ] + 1,
						    &srq->obj, &srq->nic);
	if (vb_context_refuse(context, "ibv_create_srq", err)) {
		vb_leave(context);
		free(srq);
		return vb_failed(err);
	}
	vb_obj_add(context, &srq->obj, VB_SRQ);
	vb_obj_trace(&srq->obj, "create max=%u", init->attr.max_wr);
	pd->obj.users++;
	srq->attr = init->attr;
	srq->attr.srq_limit = 0;
	srq->ibv = (struct ibv_srq){ .context = ibv->context,
				     .srq_context = init->srq_context,
				     .pd = ibv,
				     .handle = srq->obj.id };
	pthread_mutex_init(&srq->ibv.mutex, NULL);
	pthread_cond_init(&srq->ibv.cond, NULL);
	vb_leave(context);
	return &srq->ibv;
}

/* Drivers do not look at what else is said of a basic queue, as that it has a CQ. */
struct ibv_srq *vb_create_srq_ex(struct ibv_context *ibv, struct ibv_srq_init_attr_ex *init)
{
	bool basic = !(init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) ||
		     init->srq_type == IBV_SRQT_BASIC;

	if (init->comp_mask >= IBV_SRQ_INIT_ATTR_RESERVED || !basic)
		return vb_failed(vb_asked(ibv, "ibv_create_srq_ex", -EOPNOTSUPP));
	if (!(init->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return vb_failed(vb_asked(ibv, "ibv_create_srq_ex", -EINVAL));
	return ibv_create_srq(init->pd, (struct ibv_srq_init_attr *)init);
}

static int modify_srq(struct vb_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	const struct nic_ops *ops = srq->nic->nic->ops;
	uint32_t room = mask & IBV_SRQ_MAX_WR ? attr->max_wr : srq->attr.max_wr;
	uint32_t limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : srq->attr.srq_limit;
	int err = 0;

	/* Nor may the queue become smaller than the limit that it has. */
	if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) || limit > room)
		return -EINVAL;
	if (mask & IBV_SRQ_MAX_WR)
		err = ops->srq_resize(srq->nic, attr->max_wr);
	if (err)
		return err;
	if (mask & IBV_SRQ_MAX_WR)
		srq->attr.max_wr = attr->max_wr;
	if (!(mask & IBV_SRQ_LIMIT))
		return 0;
	err = ops->srq_limit(srq->nic, attr->srq_limit);
	if (!err)
		srq->attr.srq_limit = attr->srq_limit;
	return err;
}

VB_NEW(ibv_modify_srq);
int ibv_modify_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr, int mask)
{
	struct vb_srq *srq = VB_OF(ibv, srq);
	struct vb_context *context;
	int err;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	err = vb_fault(context, NULL, VB_CALL_MODIFY_SRQ);
	if (!err)
		err = modify_srq(srq, attr, mask);
	if (!err)
		vb_obj_trace(&srq->obj, "ibv_modify_srq max=%u low=%u available=%u",
			     srq->attr.max_wr, srq->attr.srq_limit,
			     context->nic->ops->srq_count(srq->nic));
	return vb_result(context, vb_refuse(&srq->obj, "ibv_modify_srq", err));
}

VB_NEW(ibv_query_srq);
int ibv_query_srq(struct ibv_srq *ibv, struct ibv_srq_attr *attr)
{
	struct vb_context *context;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	*attr = VB_OF(ibv, srq)->attr;
	vb_obj_trace(&VB_OF(ibv, srq)->obj, "ibv_query_srq max=%u low=%u", attr->max_wr,
		     attr->srq_limit);
	vb_idle(vb_backend(context), context->nic);
	return vb_result(context, 0);
}

void vb_srq_discard(struct vb_srq *srq)
{
	srq->nic->nic->ops->srq_destroy(srq->nic);
	vb_async_forget(srq->obj.context, &srq->ibv);
	VB_OF(srq->ibv.pd, pd)->obj.users--;
	vb_obj_remove(&srq->obj);
	pthread_mutex_destroy(&srq->ibv.mutex);
	pthread_cond_destroy(&srq->ibv.cond);
	vb_gone(srq, &srq->ibv.context);
}

VB_NEW(ibv_destroy_srq);
int ibv_destroy_srq(struct ibv_srq *ibv)
{
	struct vb_srq *srq = VB_OF(ibv, srq);
	struct vb_context *context;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	if (srq->obj.users > 0)
		return vb_result(context, vb_refuse(&srq->obj, "ibv_destroy_srq", -EBUSY));
	vb_async_wait(context, &ibv->mutex, &ibv->cond, &ibv->events_completed, &srq->given_async);
	vb_srq_discard(srq);
	return vb_result(context, 0);
}

/* The limit acts once for each time it is set. */
void vb_srq_on_limit(void *obj)
{
	struct vb_srq *srq = nic_container_of((struct vb_obj *)obj, struct vb_srq, obj);
	struct ibv_async_event event = { .element = { .srq = &srq->ibv },
					 .event_type = IBV_EVENT_SRQ_LIMIT_REACHED };

	srq->attr.srq_limit = 0;
	vb_async_add(srq->obj.context, &event);
}
