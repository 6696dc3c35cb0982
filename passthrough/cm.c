/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection events: read from librdmacm's one event channel, and passed to the object that they
 * concern.
 */
#include <string.h>

#include "cm.h"

static void cm_request_event(struct hw_conn *conn, const struct rdma_cm_event *event)
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

static struct hw_nic *cm_nic(struct hw_cm *cm)
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

static void cm_dispatch(struct hw_cm *cm, struct rdma_cm_event *event, const uint8_t *private_data)
{
	/*
	 * The ids that names.c uses to look up an address have no context, nor have those in the
	 * destroy queue.
	 */
	if (!cm)
		return;
	if (cm->kind == HW_CM_PARTING) {
		hw_on_parting_event(cm, event->event);
		return;
	}
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		hw_failed(cm_nic(cm));
		return;
	}
	switch (cm->kind) {
	case HW_CM_LISTENER:
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			hw_on_request(nic_container_of(cm, struct hw_listener, cm), event,
				      private_data);
		break;
	case HW_CM_REQUEST:
		cm_request_event(nic_container_of(cm, struct hw_conn, cm), event);
		break;
	case HW_CM_QP:
		hw_on_qp_event(nic_container_of(cm, struct hw_qp, cm), event, private_data);
		break;
	default:
		break;
	}
}

static void cm_on_readable(struct ev_loop *loop, ev_io *watch, int events)
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
		/*
		 * Acknowledge first: handling the event may destroy the id, which waits for the
		 * acknowledgement.
		 */
		rdma_ack_cm_event(event);
		cm_dispatch(cm, &copy, private_data);
	}
}

void hw_cm_init(struct nic_world *w)
{
	ev_io_init(&w->channel_watch, cm_on_readable, w->channel->fd, EV_READ);
}

void hw_cm_start(struct nic_world *w)
{
	hw_watch(&w->channel_watch);
}
