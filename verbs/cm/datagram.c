/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datagram.c - ids for QPs of type UD. They do not connect: the active side asks for a queue pair,
 * and the answer names one with its Q_Key (SIDR). The NIC's connection carries the question and the
 * answer, and has no meaning after that: the active side never confirms it.
 */
#include "cm.h"

#define QKEY_IPOIB       0x0b1bu
#define SIDR_UNSUPPORTED 1 /* as InfiniBand numbers answers: no listener */
#define SIDR_REJECTED    2

uint32_t cm_datagram_qkey(const struct cm_id *id)
{
	return id->base.ps == RDMA_PS_IPOIB ? QKEY_IPOIB : RDMA_UDP_QKEY;
}

/* ---- the program's QP ---- */

int cm_datagram_attr(const struct cm_id *id, struct ibv_qp_attr *attr)
{
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->port_num = VB_PORT;
		attr->pkey_index = 0;
		attr->qkey = cm_datagram_qkey(id);
		return IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
	case IBV_QPS_RTR:
		return 0;
	case IBV_QPS_RTS:
		attr->sq_psn = 0;
		return IBV_QP_SQ_PSN;
	default:
		return -EINVAL;
	}
}

/* ---- events ---- */

static void set_event(struct cm_event *event, const struct nic_conn_param *param, uint32_t room)
{
	uint8_t size = cm_event_copy_data(event, param, room);

	event->event.param.ud = (struct rdma_ud_param){ .private_data = size ? event->data : NULL,
							.private_data_len = size };
}

/* The question names no queue pair. */
void cm_datagram_asked(struct cm_event *event, const struct nic_conn_param *param)
{
	set_event(event, param, CM_ASK_DATA);
}

void cm_datagram_answered(struct cm_id *id, const struct nic_conn_param *peer)
{
	struct cm_event *event;

	id->state = CM_CONNECTED;
	event = cm_event_add(id, RDMA_CM_EVENT_ESTABLISHED, 0);
	if (!event)
		return;
	set_event(event, peer, CM_ANSWER_DATA);
	event->event.param.ud.qp_num = peer->by.qp;
	event->event.param.ud.qkey = peer->by.psn;
	vb_address_of(id->base.verbs, peer->by.adapter, &event->event.param.ud.ah_attr);
}

void cm_datagram_ended(struct cm_id *id, enum nic_conn_end why)
{
	static const struct nic_conn_param none;
	const struct nic_conn_param *refusal = id->nic ? id->nic->nic->refusal : NULL;
	struct cm_event *event;
	int status = -ETIMEDOUT;

	if (id->state != CM_CONNECTING)
		return;
	id->state = CM_OVER;
	if (why == NIC_END_NO_LISTENER)
		status = SIDR_UNSUPPORTED;
	else if (why == NIC_END_REJECTED)
		status = SIDR_REJECTED;
	event = cm_event_add(id, RDMA_CM_EVENT_UNREACHABLE, status);
	if (event && status > 0) /* there was an answer */
		set_event(event, refusal ? refusal : &none, CM_ANSWER_DATA);
}
