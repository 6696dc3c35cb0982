/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ah.c - address handles, and where a request of a QP of type UD goes.
 *
 * A packet goes to the adapter of the LID. The LID 0, which no adapter has, leaves it to the GID,
 * as on a network without LIDs.
 */
#include <endian.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "gone.h"
#include "trace.h"
#include "vb.h"

#define GRH_VERSION    6u
#define GRH_NEXT_IBA   0x1b
#define SERVICE_LEVELS 16
#define HOP_LIMIT_MOST 0xff
#define FLOW_MASK      0xfffffu
#define QKEY_OF_QP     0x80000000u /* a Q_Key of a request with this bit means the QP's own */

/* ---- create, destroy ---- */

bool vb_address_fits(const struct ibv_ah_attr *attr)
{
	return attr->port_num == VB_PORT && attr->sl < SERVICE_LEVELS &&
	       (attr->is_global ? attr->grh.sgid_index < VB_GIDS : !vb_setting_ethernet());
}

VB_NEW(ibv_create_ah);
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct vb_context *context = vb_context_of(pd->context);
	struct vb_ah *ah;
	int err;

	if (vb_setting_iwarp())
		return vb_failed(vb_asked(pd->context, "ibv_create_ah", -EOPNOTSUPP));
	if (vb_is_gone(pd->context) || !vb_address_fits(attr))
		return vb_failed(vb_asked(pd->context, "ibv_create_ah", -EINVAL));
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return vb_failed(-ENOMEM);
	ah->attr = *attr;
	vb_enter(pd->context);
	err = vb_fault(context, NULL, VB_CALL_CREATE_AH);
	if (vb_context_refuse(context, "ibv_create_ah", err)) {
		vb_leave(context);
		free(ah);
		return vb_failed(err);
	}
	vb_obj_add(context, &ah->obj, VB_AH);
	vb_obj_trace(&ah->obj, "create dlid=%u", attr->dlid);
	VB_OF(pd, pd)->obj.users++;
	ah->ibv = (struct ibv_ah){ .context = pd->context, .pd = pd, .handle = ah->obj.id };
	vb_leave(context);
	return &ah->ibv;
}

void vb_ah_discard(struct vb_ah *ah)
{
	VB_OF(ah->ibv.pd, pd)->obj.users--;
	vb_obj_remove(&ah->obj);
	ah->ibv.pd = NULL;
	vb_gone(ah, &ah->ibv.context);
}

VB_NEW(ibv_destroy_ah);
int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct vb_context *context;

	if (vb_is_gone(ah->context))
		return EINVAL;
	context = vb_enter(ah->context);
	vb_ah_discard(VB_OF(ah, ah));
	return vb_result(context, 0);
}

/* ---- the way back to a sender ---- */

/* The index of the port's GID that the packet was sent to, or a negative errno. */
static int find_gid(struct ibv_context *context, uint8_t port, const struct ibv_grh *grh)
{
	union ibv_gid own;

	if (be32toh(grh->version_tclass_flow) >> 28 != GRH_VERSION ||
	    (grh->next_hdr != GRH_NEXT_IBA && grh->next_hdr != IPPROTO_UDP))
		return -EPROTONOSUPPORT;
	for (int i = 0; port == VB_PORT && i < VB_GIDS; i++) {
		own = vb_gid(vb_context_of(context), i);
		if (memcmp(&own, &grh->dgid, sizeof(own)) == 0)
			return i;
	}
	return -EINVAL;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	struct ibv_ah_attr back = { .dlid = wc->slid,
				    .sl = wc->sl,
				    .src_path_bits = wc->dlid_path_bits,
				    .port_num = port };
	int index = vb_is_gone(context) ? -EINVAL : 0;
	uint32_t flow;

	if (index == 0 && (wc->wc_flags & IBV_WC_GRH)) {
		index = find_gid(context, port, grh);
		flow = be32toh(grh->version_tclass_flow);
		back.is_global = 1;
		back.grh.dgid = grh->sgid;
		back.grh.sgid_index = (uint8_t)index;
		back.grh.flow_label = flow & FLOW_MASK;
		back.grh.traffic_class = flow >> 20 & 0xff;
		back.grh.hop_limit = grh->hop_limit;
	}
	if (index < 0) {
		errno = -index;
		return -1;
	}
	*attr = back;
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

/* ---- a request ---- */

/* Of what follows the GRH: BTH, DETH, the payload in words, and the ICRC. */
static uint16_t packet_length(const struct ibv_send_wr *wr, uint32_t length)
{
	uint32_t imm = wr->opcode == IBV_WR_SEND_WITH_IMM ? 4 : 0;

	return (uint16_t)(12 + 8 + imm + ((length + 3) & ~3u) + 4);
}

static void fill_grh(const struct vb_context *context, const struct ibv_ah_attr *attr,
		     uint16_t length, uint8_t out[NIC_GRH])
{
	struct ibv_grh grh = {
		.version_tclass_flow =
			htobe32(GRH_VERSION << 28 | (uint32_t)attr->grh.traffic_class << 20 |
				(attr->grh.flow_label & FLOW_MASK)),
		.paylen = htobe16(length),
		.next_hdr = GRH_NEXT_IBA,
		.hop_limit = attr->grh.hop_limit,
		.sgid = vb_gid(context, attr->grh.sgid_index),
		.dgid = attr->grh.dgid,
	};

	_Static_assert(sizeof(grh) == NIC_GRH, "as the door has it");
	memcpy(out, &grh, sizeof(grh));
}

/* The number of the adapter that has this GID, as vb_gid makes it; 0: none. */
static uint16_t number_of_gid(const struct vb_context *context, const union ibv_gid *gid)
{
	const struct nic_attr *own = &context->adapter->base.attr;
	union ibv_gid mine = vb_gid(context, 1), local = vb_gid(context, 0);
	uint32_t here, there, number;

	if (memcmp(gid, &local, sizeof(local) - sizeof(uint16_t)) == 0)
		return (uint16_t)(gid->raw[14] << 8 | gid->raw[15]);
	if (memcmp(gid, &mine, 12) != 0)
		return 0;
	memcpy(&here, mine.raw + 12, sizeof(here));
	memcpy(&there, gid->raw + 12, sizeof(there));
	number = be32toh(there) - be32toh(here) + own->number;
	return number <= UINT16_MAX ? (uint16_t)number : 0;
}

uint16_t vb_adapter_of(const struct vb_context *context, const struct ibv_ah_attr *attr)
{
	if (attr->is_global && (attr->dlid == 0 || vb_setting_ethernet()))
		return number_of_gid(context, &attr->grh.dgid);
	return attr->dlid;
}

void vb_address_of(struct ibv_context *ibv, uint16_t number, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){ .dlid = number, .port_num = VB_PORT };
	if (!vb_setting_ethernet())
		return;
	attr->dlid = 0;
	attr->is_global = 1;
	attr->grh.hop_limit = HOP_LIMIT_MOST;
	attr->grh.dgid = vb_gid(vb_context_of(ibv), 0);
	attr->grh.dgid.raw[14] = (uint8_t)(number >> 8);
	attr->grh.dgid.raw[15] = (uint8_t)number;
}

int vb_ah_resolve(const struct vb_qp *qp, const struct ibv_send_wr *wr, uint32_t length,
		  struct nic_to *to)
{
	const struct vb_context *context = qp->obj.context;
	const struct ibv_ah_attr *attr;

	if (!wr->wr.ud.ah || wr->wr.ud.ah->pd != qp->ibv.pd)
		return -EINVAL;
	attr = &VB_OF(wr->wr.ud.ah, ah)->attr;
	*to = (struct nic_to){ .qp = wr->wr.ud.remote_qpn & VB_QPN_MASK,
			       .qkey = wr->wr.ud.remote_qkey,
			       .adapter = vb_adapter_of(context, attr),
			       .sl = attr->sl,
			       .global = attr->is_global };
	if (to->qkey & QKEY_OF_QP)
		to->qkey = qp->attr.qkey;
	if (to->global)
		fill_grh(context, attr, packet_length(wr, length), to->grh);
	return 0;
}
