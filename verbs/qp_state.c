/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qp_state.c - the states of a queue pair: the attributes that each transition needs and allows, as
 * one table; ibv_modify_qp; ibv_query_qp.
 */
#include <string.h>

#include "gone.h"
#include "trace.h"
#include "vb.h"
#include "wait.h"

#define MTU_CODES 5

/* ---- the table ---- */

#define PORT_AND_PKEY (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define ALTERNATE     (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)

/* [from][to], for QPs of type RC. Any state may be left for RESET; all but RESET for ERR. */
static const struct vb_transition rc_transitions[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1] = {
	[IBV_QPS_RESET] = {
		[IBV_QPS_RESET] = { true, 0, 0 },
		[IBV_QPS_INIT] = { true, PORT_AND_PKEY | IBV_QP_ACCESS_FLAGS, 0 },
	},
	[IBV_QPS_INIT] = {
		[IBV_QPS_RESET] = { true, 0, 0 },
		[IBV_QPS_ERR] = { true, 0, 0 },
		[IBV_QPS_INIT] = { true, 0, PORT_AND_PKEY | IBV_QP_ACCESS_FLAGS },
		[IBV_QPS_RTR] = { true,
				  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
				  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX },
	},
	[IBV_QPS_RTR] = {
		[IBV_QPS_RESET] = { true, 0, 0 },
		[IBV_QPS_ERR] = { true, 0, 0 },
		[IBV_QPS_RTS] = { true,
				  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
				  IBV_QP_CUR_STATE | ALTERNATE | IBV_QP_ACCESS_FLAGS |
					  IBV_QP_MIN_RNR_TIMER },
	},
	[IBV_QPS_RTS] = {
		[IBV_QPS_RESET] = { true, 0, 0 },
		[IBV_QPS_ERR] = { true, 0, 0 },
		[IBV_QPS_RTS] = { true, 0,
				  IBV_QP_CUR_STATE | ALTERNATE | IBV_QP_ACCESS_FLAGS |
					  IBV_QP_MIN_RNR_TIMER },
		[IBV_QPS_SQD] = { true, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	},
	[IBV_QPS_SQD] = {
		[IBV_QPS_RESET] = { true, 0, 0 },
		[IBV_QPS_ERR] = { true, 0, 0 },
		[IBV_QPS_RTS] = { true, 0,
				  IBV_QP_CUR_STATE | ALTERNATE | IBV_QP_ACCESS_FLAGS |
					  IBV_QP_MIN_RNR_TIMER },
		[IBV_QPS_SQD] = { true, 0,
				  IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
					  IBV_QP_MAX_DEST_RD_ATOMIC | ALTERNATE |
					  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
					  IBV_QP_MIN_RNR_TIMER },
	},
	[IBV_QPS_SQE] = {
		[IBV_QPS_RESET] = { true, 0, 0 },
		[IBV_QPS_ERR] = { true, 0, 0 },
	},
	[IBV_QPS_ERR] = {
		[IBV_QPS_RESET] = { true, 0, 0 },
		[IBV_QPS_ERR] = { true, 0, 0 },
	},
};

int vb_state_check(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	const struct vb_transition *t;

	if (from > IBV_QPS_ERR || to > IBV_QPS_ERR)
		return -EINVAL;
	t = type == IBV_QPT_RC ? &rc_transitions[from][to]
			       : vb_transition_unreliable(type, from, to);
	mask &= ~IBV_QP_STATE;
	if (!t || !t->valid || (mask & t->must) != t->must || (mask & ~(t->must | t->may)))
		return -EINVAL;
	return 0;
}

/* ---- the values ---- */

/* False: an attribute of the mask has a value that no QP here can have. */
static bool values_fit(const struct vb_context *context, const struct ibv_qp_attr *a, int mask)
{
	struct ibv_device_attr device;

	vb_device_attr((struct ibv_context *)&context->ex.context, &device);
	if ((mask & IBV_QP_PORT) && a->port_num != VB_PORT)
		return false;
	if ((mask & IBV_QP_PKEY_INDEX) && a->pkey_index != 0)
		return false;
	if ((mask & IBV_QP_AV) && !vb_address_fits(&a->ah_attr))
		return false;
	if ((mask & IBV_QP_PATH_MTU) && (a->path_mtu < IBV_MTU_256 || a->path_mtu > MTU_CODES))
		return false;
	if ((mask & IBV_QP_DEST_QPN) && a->dest_qp_num > 0xffffff)
		return false;
	if ((mask & IBV_QP_TIMEOUT) && a->timeout > 31)
		return false;
	if ((mask & IBV_QP_RETRY_CNT) && a->retry_cnt > 7)
		return false;
	if ((mask & IBV_QP_RNR_RETRY) && a->rnr_retry > 7)
		return false;
	if ((mask & IBV_QP_MIN_RNR_TIMER) && a->min_rnr_timer > 31)
		return false;
	/* No path migrates. */
	if ((mask & IBV_QP_PATH_MIG_STATE) && a->path_mig_state != IBV_MIG_MIGRATED)
		return false;
	if ((mask & IBV_QP_ALT_PATH) && a->alt_port_num != 0)
		return false;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && a->max_rd_atomic > device.max_qp_init_rd_atom)
		return false;
	return !(mask & IBV_QP_MAX_DEST_RD_ATOMIC) ||
	       a->max_dest_rd_atomic <= device.max_qp_rd_atom;
}

static void take_values(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
#define TAKE(bit, field)                         \
	do {                                     \
		if (mask & IBV_QP_##bit)         \
			to->field = from->field; \
	} while (0)
	TAKE(ACCESS_FLAGS, qp_access_flags);
	TAKE(PKEY_INDEX, pkey_index);
	TAKE(PORT, port_num);
	TAKE(QKEY, qkey);
	TAKE(AV, ah_attr);
	TAKE(PATH_MTU, path_mtu);
	TAKE(TIMEOUT, timeout);
	TAKE(RETRY_CNT, retry_cnt);
	TAKE(RNR_RETRY, rnr_retry);
	TAKE(RQ_PSN, rq_psn);
	TAKE(MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE(ALT_PATH, alt_ah_attr);
	TAKE(ALT_PATH, alt_port_num);
	TAKE(ALT_PATH, alt_timeout);
	TAKE(ALT_PATH, alt_pkey_index);
	TAKE(MIN_RNR_TIMER, min_rnr_timer);
	TAKE(SQ_PSN, sq_psn);
	TAKE(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(PATH_MIG_STATE, path_mig_state);
	TAKE(DEST_QPN, dest_qp_num);
#undef TAKE
}

/* ---- the way to the NIC ---- */

/* The pause of an RNR NAK by its code of 5 bits, in microseconds. */
static const uint32_t rnr_us[32] = {
	655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,    320,
	480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240,  15360,
	20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520,
};

/* 4.096 us times a power of two; 0 is no timer. */
static uint64_t timeout_ns(uint8_t code)
{
	return code ? 4096ul << code : 0;
}

static uint32_t access_of(unsigned int flags)
{
	return vb_access(flags) &
	       (NIC_ACCESS_REMOTE_READ | NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_ATOMIC);
}

static int set_path(struct vb_qp *qp, const struct ibv_qp_attr *a, enum ibv_qp_state to)
{
	const struct nic_qp_path path = {
		.adapter = vb_adapter_of(qp->obj.context, &a->ah_attr),
		.sends = to != IBV_QPS_RTR,
		.waits = to == IBV_QPS_SQD,
		.restarts = qp->ibv.state == IBV_QPS_SQE,
		.retry = a->retry_cnt,
		.rnr_retry = a->rnr_retry,
		.qp = a->dest_qp_num,
		.sq_psn = a->sq_psn & 0xffffff,
		.rq_psn = a->rq_psn & 0xffffff,
		.access = access_of(a->qp_access_flags),
		.rd_in = a->max_dest_rd_atomic,
		.rd_out = a->max_rd_atomic,
		.retry_timer_ns = timeout_ns(a->timeout),
		.rnr_timer_ns = rnr_us[a->min_rnr_timer] * NS_PER_US,
		.qkey = a->qkey,
		.mtu = a->path_mtu ? 128u << a->path_mtu : 0,
	};

	return qp->nic->nic->ops->qp_to(qp->nic, &path);
}

static void reset_qp(struct vb_qp *qp)
{
	qp->nic->nic->ops->qp_reset(qp->nic);
	vb_qp_part(qp, NIC_END_DISCONNECTED);
	vb_cq_forget(VB_OF(qp->ibv.send_cq, cq), qp->nic);
	vb_cq_forget(VB_OF(qp->ibv.recv_cq, cq), qp->nic);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->draining = false;
	qp->told_fatal = false;
}

/* The queue may have drained before the call returns. */
static int pause_sends(struct vb_qp *qp, const struct ibv_qp_attr *next)
{
	bool draining = qp->draining, tells = qp->tells_drained;
	int err;

	if (qp->ibv.state != IBV_QPS_SQD) {
		qp->draining = true;
		qp->tells_drained = next->en_sqd_async_notify;
	}
	err = set_path(qp, next, IBV_QPS_SQD);
	if (err) {
		qp->draining = draining;
		qp->tells_drained = tells;
	}
	return err;
}

static int enter_state(struct vb_qp *qp, const struct ibv_qp_attr *next, enum ibv_qp_state to)
{
	/*
	 * Drivers of RNICs take the state RTR and do nothing; they refuse RTS to a queue pair that
	 * librdmacm has not connected, and need not do anything for one that it has.
	 */
	if (vb_setting_iwarp() && (to == IBV_QPS_RTR || to == IBV_QPS_RTS))
		return to == IBV_QPS_RTR || qp->ibv.state == IBV_QPS_RTS ? 0 : -EINVAL;
	switch (to) {
	case IBV_QPS_RTR:
		return set_path(qp, next, to);
	case IBV_QPS_RTS:
		qp->draining = false;
		return set_path(qp, next, to);
	case IBV_QPS_SQD:
		return pause_sends(qp, next);
	case IBV_QPS_ERR:
		vb_qp_fail(qp, "ibv_modify_qp");
		return 0;
	default:
		return 0;
	}
}

static int modify_qp(struct vb_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state from = qp->ibv.state, to = mask & IBV_QP_STATE ? attr->qp_state : from;
	struct ibv_qp_attr next = qp->attr;
	int err = vb_state_check(qp->ibv.qp_type, from, to, mask);

	if (!err && (mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != from)
		err = -EINVAL;
	if (!err && !values_fit(qp->obj.context, attr, mask))
		err = -EINVAL;
	if (err)
		return err;
	take_values(&next, attr, mask);
	next.en_sqd_async_notify = mask & IBV_QP_EN_SQD_ASYNC_NOTIFY ? attr->en_sqd_async_notify
								     : 0;
	err = enter_state(qp, &next, to);
	if (err)
		return err;
	qp->attr = next;
	if (to == IBV_QPS_RESET)
		reset_qp(qp);
	if (to == from)
		vb_obj_trace(&qp->obj, "ibv_modify_qp mask=%x", (unsigned int)mask);
	/* A local request that waited in SQD runs, and may fail, before the call returns. */
	if (qp->ibv.state == from)
		vb_qp_enter(qp, to, "ibv_modify_qp");
	return 0;
}

VB_NEW(ibv_modify_qp);
int ibv_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct vb_qp *qp = VB_OF(ibv, qp);
	struct vb_context *context;
	int err;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	err = vb_fault(context, &qp->obj, VB_CALL_MODIFY_QP);
	if (!err)
		err = modify_qp(qp, attr, mask);
	return vb_result(context, vb_refuse(&qp->obj, "ibv_modify_qp", err));
}

VB_NEW(ibv_query_qp);
int ibv_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	const struct vb_qp *qp = VB_OF(ibv, qp);
	struct vb_context *context;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	(void)mask; /* it may limit what is asked for; everything is at hand */
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = ibv->state;
	attr->cap = qp->init.cap;
	attr->sq_draining = qp->draining;
	*init = qp->init;
	vb_obj_trace(&qp->obj, "ibv_query_qp state=%s", vb_state_word(ibv->state));
	vb_idle(vb_backend(context), context->nic);
	return vb_result(context, 0);
}
