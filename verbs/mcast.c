/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mcast.c - multicast groups of QPs of type UD, by their GID: the LID of a group is of no use here,
 * but on InfiniBand it has to be one of a group.
 *
 * A QP that is in a group cannot be destroyed, so a membership counts as a user of it.
 */
#include <arpa/inet.h>
#include <string.h>

#include "gone.h"
#include "trace.h"
#include "vb.h"

#define MULTICAST  0xff /* the first byte of such a GID */
#define MLID_FIRST 0xc000u
#define MLID_LAST  0xfffeu

/* On RoCE v2 the group of an IPv4 address has its mapped address for a GID. */
static bool is_of_group(const union ibv_gid *gid)
{
	struct in6_addr addr;
	uint32_t ipv4;

	memcpy(&addr, gid->raw, sizeof(addr));
	memcpy(&ipv4, gid->raw + 12, sizeof(ipv4));
	return gid->raw[0] == MULTICAST ||
	       (IN6_IS_ADDR_V4MAPPED(&addr) && IN_MULTICAST(ntohl(ipv4)));
}

static bool lid_fits(uint16_t lid)
{
	return vb_setting_ethernet() || (lid >= MLID_FIRST && lid <= MLID_LAST);
}

static int change_group(struct vb_qp *qp, const union ibv_gid *gid, uint16_t lid, bool join)
{
	int err;

	if (qp->ibv.qp_type != IBV_QPT_UD || !is_of_group(gid) || !lid_fits(lid))
		return -EINVAL;
	err = qp->nic->nic->ops->qp_group(qp->nic, gid->raw, join);
	if (!err)
		qp->obj.users += join ? 1 : -1u;
	return err == -EALREADY ? 0 : err;
}

/* The call's line, and what it returns. */
static int tell_group(const struct vb_qp *qp, const char *call, const union ibv_gid *gid, int err)
{
	char text[INET6_ADDRSTRLEN];

	if (vb_traced(&qp->obj) && !vb_refuse(&qp->obj, call, err))
		vb_obj_trace(&qp->obj, "%s gid=%s", call,
			     inet_ntop(AF_INET6, gid->raw, text, sizeof(text)));
	return vb_result(qp->obj.context, err);
}

VB_NEW(ibv_attach_mcast);
int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_qp *qp = VB_OF(ibv, qp);
	struct vb_context *context;
	int err;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	err = vb_fault(context, &qp->obj, VB_CALL_ATTACH_MCAST);
	if (!err)
		err = change_group(qp, gid, lid, true);
	return tell_group(qp, "ibv_attach_mcast", gid, err);
}

VB_NEW(ibv_detach_mcast);
int ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	struct vb_qp *qp = VB_OF(ibv, qp);

	if (vb_is_gone(ibv->context))
		return EINVAL;
	vb_enter(ibv->context);
	return tell_group(qp, "ibv_detach_mcast", gid, change_group(qp, gid, lid, false));
}
