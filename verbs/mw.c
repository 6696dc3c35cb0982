/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mw.c - memory windows: allocation, and the requests that bind them.
 *
 * A window of type 1 gets its key from the NIC at the post, one of type 2 from the program. What is
 * wrong with a bind beyond its form is found when it runs (IBV_WC_MW_BIND_ERR).
 */
#include <stdlib.h>

#include "gone.h"
#include "trace.h"
#include "quick.h"

#define KEY_OWN 0xffu /* the bits of a key that the program chooses */
/* A window has no local access, but programs ask for it, and devices do not mind. */
#define MW_ACCESS                                                                        \
	((unsigned int)IBV_ACCESS_REMOTE_READ | (unsigned int)IBV_ACCESS_REMOTE_WRITE |  \
	 (unsigned int)IBV_ACCESS_REMOTE_ATOMIC | (unsigned int)IBV_ACCESS_LOCAL_WRITE | \
	 (unsigned int)IBV_ACCESS_ZERO_BASED)
#define MW_REMOTE (NIC_ACCESS_REMOTE_READ | NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_ATOMIC)

/* ---- allocation ---- */

struct ibv_mw *vb_alloc_mw(struct ibv_pd *ibv, enum ibv_mw_type type)
{
	struct vb_pd *pd = VB_OF(ibv, pd);
	struct vb_context *context;
	struct vb_mw *mw;
	int err;

	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		return vb_failed(vb_asked(ibv->context, "ibv_alloc_mw", -EINVAL));
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return vb_failed(-ENOMEM);
	context = vb_enter(ibv->context);
	err = vb_fault(context, NULL, VB_CALL_ALLOC_MW);
	if (!err)
		err = context->nic->ops->mw_alloc(pd->nic, &mw->nic);
	if (!err) {
		vb_obj_add(context, &mw->obj, VB_MW);
		vb_obj_trace(&mw->obj, "create type=%d", type);
		pd->obj.users++;
		mw->ibv = (struct ibv_mw){ .context = ibv->context,
					   .pd = ibv,
					   .rkey = mw->nic->key,
					   .handle = mw->obj.id,
					   .type = type };
	}
	vb_context_refuse(context, "ibv_alloc_mw", err);
	vb_leave(context);
	if (!err)
		return &mw->ibv;
	free(mw);
	return vb_failed(err);
}

void vb_mw_discard(struct vb_mw *mw)
{
	mw->obj.context->nic->ops->mw_free(mw->nic);
	VB_OF(mw->ibv.pd, pd)->obj.users--;
	vb_obj_remove(&mw->obj);
	mw->ibv.pd = NULL;
	vb_gone(mw, &mw->ibv.context);
}

int vb_dealloc_mw(struct ibv_mw *ibv)
{
	struct vb_context *context = vb_enter(ibv->context);

	vb_mw_discard(VB_OF(ibv, mw));
	return vb_result(context, 0);
}

/* ---- binding ---- */

static int set_bind(struct nic_send_wr *out, const struct vb_qp *qp, struct ibv_mw *ibv,
		    const struct ibv_mw_bind_info *info)
{
	const struct vb_mr *mr = info->mr ? VB_OF(info->mr, mr) : NULL;

	if (qp->ibv.qp_type != IBV_QPT_RC || ibv->pd != qp->ibv.pd ||
	    (info->mw_access_flags & ~MW_ACCESS))
		return -EINVAL;
	if (info->length > 0 && (!mr || mr->ibv.pd != ibv->pd))
		return -EINVAL;
	out->opcode = NIC_OP_BIND;
	out->mw = VB_OF(ibv, mw)->nic;
	out->bind_addr = info->addr;
	/* No region has that length: without the permission to bind to it, the request fails. */
	out->bind_length = mr && !(mr->access & IBV_ACCESS_MW_BIND) ? UINT64_MAX : info->length;
	out->bind_access = vb_access(info->mw_access_flags) & MW_REMOTE;
	if (info->mw_access_flags & IBV_ACCESS_ZERO_BASED)
		out->bind_access |= NIC_ACCESS_ZERO_BASED;
	out->mr = mr ? mr->nic : NULL;
	return 0;
}

int vb_mw_bind_wr(struct nic_send_wr *out, const struct vb_qp *qp, const struct ibv_send_wr *wr)
{
	struct ibv_mw *mw = wr->bind_mw.mw;

	if (mw->type != IBV_MW_TYPE_2 || (wr->bind_mw.rkey & ~KEY_OWN) != (mw->rkey & ~KEY_OWN))
		return -EINVAL;
	out->rkey = wr->bind_mw.rkey;
	return set_bind(out, qp, mw, &wr->bind_mw.bind_info);
}

int vb_bind_mw(struct ibv_qp *ibv, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct vb_qp *qp = VB_OF(ibv, qp);
	struct nic_send_wr wr = { .wr_id = bind->wr_id,
				  .flags = vb_send_flags(qp, bind->send_flags) };
	struct vb_context *context;
	int err;

	/* The window is alive; verbs.h looks at nothing else. */
	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	err = vb_fault(context, &qp->obj, VB_CALL_BIND_MW);
	if (!err)
		err = ibv->state < IBV_QPS_RTS ? -EINVAL : set_bind(&wr, qp, mw, &bind->bind_info);
	if (!err && (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED))
		err = -EINVAL; /* windows of type 2 only */
	if (!err)
		err = context->nic->ops->post_send(qp->nic, &wr);
	if (!err) /* after an unbind, one that is not valid */
		mw->rkey = wr.mw->rkey ? wr.mw->rkey : wr.mw->key;
	if (err == -EAGAIN)
		err = -ENOMEM;
	backend_busy(context->nic);
	return vb_result(context, vb_refuse(&qp->obj, "ibv_bind_mw", err));
}
