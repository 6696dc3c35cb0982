/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mcast.c - multicast groups of QPs of type UD, by their GID: the LID of a group is of no use here.
 *
 * A QP that is in a group cannot be destroyed, so a membership counts as a user of it.
 */
#include "gone.h"
#include "vb.h"

#define MULTICAST 0xff /* the first byte of such a GID */

static int change_group(struct vb_qp *qp, const union ibv_gid *gid, bool join)
{
	int err;

	if (qp->ibv.qp_type != IBV_QPT_UD || gid->raw[0] != MULTICAST)
		return -EINVAL;
	err = qp->nic->nic->ops->qp_group(qp->nic, gid->raw, join);
	if (!err)
		qp->obj.users += join ? 1 : -1u;
	return err == -EALREADY ? 0 : err;
}

VB_NEW(ibv_attach_mcast);
int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_qp *qp = VB_OF(ibv, qp);
	struct vb_context *context;
	int err;

	(void)lid;
	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	err = vb_fault(context, &qp->obj, VB_CALL_ATTACH_MCAST);
	return vb_result(context, err ? err : change_group(qp, gid, true));
}

VB_NEW(ibv_detach_mcast);
int ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_context *context;

	(void)lid;
	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	return vb_result(context, change_group(VB_OF(ibv, qp), gid, false));
}
