/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of connections: from librdmacm's one channel to what they concern. */
#include <string.h>

#include "cm.h"

void hw_cm_drop(struct hw_cm *cm)
{
	if (!cm->id)
		return;
	cm->id->qp = NULL;
	rdma_destroy_id(cm->id);
	cm->id = NULL;
}

void hw_cm_drop_qp(struct hw_qp *qp)
{
	if (!qp->cm.id || !qp->unanswered) {
		hw_cm_drop(&qp->cm);
		return;
	}
	qp->cm.id->qp = NULL;
	if (hw_bury_id(qp->cm.id))
		qp->cm.id = NULL;
	else
		hw_cm_drop(&qp->cm);
}

static void on_request_event(struct hw_conn *conn, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		conn->gone = true;
		break;
	default:
		break;
	}
}

static struct hw_nic *nic_of(struct hw_cm *cm)
{
	switch (cm->kind) {
	case HW_CM_LISTENER:
		return hw_nic(nic_container_of(cm, struct hw_listener, cm)->base.nic);
	case HW_CM_REQUEST:
		return hw_nic(nic_container_of(cm, struct hw_conn, cm)->base.nic);
	case HW_CM_QP:
		return hw_nic(nic_container_of(cm, struct hw_qp, cm)->base.nic);
	default:
		return nic_container_of(cm, struct hw_nic, cm);
	}
}

static void dispatch(struct hw_cm *cm, struct rdma_cm_event *event, const uint8_t *private_data)
{
	/* Ids that names.c asks about an address have none, nor have those that are on their way out. */
	if (!cm)
		return;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		hw_failed(nic_of(cm));
		return;
	}
	switch (cm->kind) {
	case HW_CM_LISTENER:
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			hw_on_request(nic_container_of(cm, struct hw_listener, cm), event,
				      private_data);
		break;
	case HW_CM_REQUEST:
		on_request_event(nic_container_of(cm, struct hw_conn, cm), event);
		break;
	case HW_CM_QP:
		hw_on_qp_event(nic_container_of(cm, struct hw_qp, cm), event, private_data);
		break;
	default:
		break;
	}
}

static void on_readable(struct ev_loop *loop, ev_io *watch, int events)
{
	struct nic_world *w = nic_container_of(watch, struct nic_world, channel_watch);
	uint8_t private_data[256];
	struct rdma_cm_event *event, copy;
	struct hw_cm *cm;

	(void)loop;
	(void)events;
	while (rdma_get_cm_event(w->channel, &event) == 0) {
		copy = *event;
		memset(private_data, 0, sizeof(private_data));
		if (copy.param.conn.private_data && copy.param.conn.private_data_len)
			memcpy(private_data, copy.param.conn.private_data,
			       copy.param.conn.private_data_len);
		cm = copy.id->context;
		/* Before it is acted upon: acting may destroy the id, which waits for this. */
		rdma_ack_cm_event(event);
		dispatch(cm, &copy, private_data);
	}
}

void hw_cm_start(struct nic_world *w)
{
	ev_io_init(&w->channel_watch, on_readable, w->channel->fd, EV_READ);
	hw_watch(&w->channel_watch);
}

/* ---- private data ---- */

uint8_t hw_private_pack(const struct hw_nic *n, const void *data, uint32_t size, uint8_t *wire)
{
	if (size)
		memmove(wire, data, size);
	if (n->iwarp)
		return (uint8_t)size;
	/* What is shorter arrives padded: the last byte says what is data. */
	memset(wire + size, 0, HW_IB_PRIVATE - size);
	wire[HW_IB_PRIVATE - 1] = (uint8_t)(HW_IB_LENGTH | size);
	return HW_IB_PRIVATE;
}

uint32_t hw_private_size(const struct hw_nic *n, const uint8_t *wire, uint32_t size)
{
	uint8_t last = wire[HW_IB_PRIVATE - 1];

	if (n->iwarp)
		return size < HW_IWARP_PRIVATE ? size : HW_IWARP_PRIVATE;
	if (size >= HW_IB_PRIVATE && (last & HW_IB_LENGTH) &&
	    (last & ~HW_IB_LENGTH) < HW_IB_PRIVATE)
		return last & ~HW_IB_LENGTH;
	/* Of somebody else, who carries no length. */
	return size < HW_IB_PRIVATE ? size : HW_IB_PRIVATE;
}
