/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reply.c - what the NIC says of a connection, and what becomes of it when the program fetches the
 * event: like the real library, this one moves the program's QP then, not before.
 */
#include "cm.h"

/* ---- upcalls ---- */

void cm_on_established(struct vb_obj *obj, const struct nic_conn_param *peer)
{
	struct cm_id *id = nic_container_of(obj, struct cm_id, obj);
	struct cm_event *event;

	if (cm_is_removed(id))
		return;
	if (!peer && id->state == CM_ACCEPTED && !cm_is_datagram(id)) {
		id->state = CM_CONNECTED;
		cm_event_add(id, RDMA_CM_EVENT_ESTABLISHED, 0);
	}
	if (!peer || id->state != CM_CONNECTING)
		return;
	if (cm_is_datagram(id)) {
		cm_datagram_answered(id, peer);
		return;
	}
	id->state = CM_ANSWERED;
	id->far = peer->by;
	id->initiator_depth = (uint8_t)(peer->rd_in < 255 ? peer->rd_in : 255);
	id->responder_resources = (uint8_t)(peer->rd_out < 255 ? peer->rd_out : 255);
	event = cm_event_add(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	if (event)
		cm_event_set_data(event, peer);
}

static void tell_rejection(struct cm_id *id, int status, const struct nic_conn_param *refusal)
{
	static const struct nic_conn_param none;
	struct cm_event *event = cm_event_add(id, RDMA_CM_EVENT_REJECTED, status);
	uint8_t size;

	if (!event)
		return;
	size = cm_event_copy_data(event, refusal ? refusal : &none, CM_REJECT_DATA);
	event->event.param.conn.private_data = size ? event->data : NULL;
	event->event.param.conn.private_data_len = size;
}

/*
 * The status of REJECTED. An RNIC reports an errno: ECONNREFUSED if the program rejected, as the
 * drivers irdma and cxgb4 do and rdma_is_consumer_reject expects, though not siw.
 */
static int reason_of(const struct cm_id *id, enum nic_conn_end why)
{
	if (cm_is_rnic(id))
		return why == NIC_END_REJECTED ? -ECONNREFUSED : -ECONNRESET;
	return why == NIC_END_REJECTED ? CM_REJECTED : CM_NO_LISTENER;
}

static void tell_end(struct cm_id *id, enum nic_conn_end why)
{
	const struct nic_conn_param *refusal = id->nic ? id->nic->nic->refusal : NULL;

	switch (why) {
	case NIC_END_REJECTED:
	case NIC_END_NO_LISTENER:
		tell_rejection(id, reason_of(id, why), refusal);
		break;
	case NIC_END_UNREACHABLE: /* no adapter has that address */
		cm_event_add(id, RDMA_CM_EVENT_UNREACHABLE, -EHOSTUNREACH);
		break;
	case NIC_END_ACCEPT_FAILED: /* the active side rejected the answer, or cannot be reached */
		if (!cm_is_rnic(id) && refusal) {
			tell_rejection(id, CM_REJECTED, refusal);
			break;
		}
		__attribute__((fallthrough));
	case NIC_END_TIMED_OUT:
		cm_event_add(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case NIC_END_DISCONNECTED:
	case NIC_END_BROKEN:
	case NIC_END_COUNT:
		cm_event_add(id, RDMA_CM_EVENT_DISCONNECTED, 0);
		cm_timewait_begin(id);
		break;
	}
}

void cm_on_end(struct vb_obj *obj, enum nic_conn_end why)
{
	struct cm_id *id = nic_container_of(obj, struct cm_id, obj);

	id->direct = false;
	if (cm_is_removed(id))
		return;
	if (cm_is_datagram(id)) {
		cm_datagram_ended(id, why);
		return;
	}
	if (id->state <= CM_LISTENING || id->state == CM_OVER)
		return;
	id->state = CM_OVER;
	tell_end(id, why);
}

/* ---- the event is fetched ---- */

/* The lock is held; the program's QP is ready, or is about to be the connection's. */
static int confirm_id(struct cm_id *id)
{
	struct vb_qp *qp = VB_OF(id->base.qp, qp);
	int err;

	if (id->state != CM_ANSWERED)
		return -ENOTCONN;
	err = id->nic->nic->ops->confirm(id->nic, id->far.qp ? NULL : qp->nic);
	if (err)
		return err;
	if (!id->far.qp) {
		vb_qp_become(id->base.qp, IBV_QPS_RTS, &id->obj);
		id->direct = true;
	}
	id->state = CM_CONNECTED;
	return 0;
}

bool cm_answer_stays(const struct cm_id *id)
{
	return !id->base.qp && id->far.qp; /* the program moves its own */
}

static void finish_answer(struct cm_id *id, struct rdma_cm_event *event)
{
	int err = 0;

	if (cm_answer_stays(id))
		return;
	if (!id->base.qp)
		err = -EINVAL;
	else if (id->far.qp)
		err = cm_qp_ready(id);
	cm_enter();
	if (!err)
		err = confirm_id(id);
	event->event = err ? RDMA_CM_EVENT_CONNECT_ERROR : RDMA_CM_EVENT_ESTABLISHED;
	event->status = err;
	cm_trace_event((struct cm_event *)event, "rdma_get_cm_event");
	if (err) {
		cm_drop(id);
		cm_event_move(id, cm_channel_of(id), NULL);
	}
	cm_leave();
	if (err)
		cm_qp_error(id);
}

static void finish_join(struct cm_id *id, struct cm_event *event)
{
	int err = cm_group_attach(id, event->group);

	if (!err)
		return;
	event->event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
	event->event.status = -err;
}

/* The program has the id of a request of a listener, whose device may be gone by now. */
static void learn_of(struct cm_id *id, const struct cm_id *listener)
{
	cm_enter();
	if (!listener->sync)
		id->base.channel = listener->base.channel;
	id->known = true;
	if (cm_is_removed(id))
		cm_event_add(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	cm_leave();
}

/* As the real library does it where the id cannot have a channel of its own. */
static void drop_request(struct cm_event *event)
{
	rdma_destroy_id(event->event.id);
	cm_event_acknowledge(&event->event);
}

bool cm_finish(struct cm_id *id, struct cm_event *event)
{
	switch (event->event.event) {
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		finish_answer(id, &event->event);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (id->sync && cm_id_migrate(cm_id_of(event->event.id), NULL)) {
			drop_request(event);
			return false;
		}
		learn_of(cm_id_of(event->event.id), id);
		break;
	case RDMA_CM_EVENT_REJECTED:
		cm_qp_error(id);
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		finish_join(id, event);
		break;
	default:
		break;
	}
	return true;
}
