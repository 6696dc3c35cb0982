/* SPDX-License-Identifier: BSD-3-Clause */
/* listen.c - listening ids, and the requests that come to them. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "verbs/trace.h"

/* ---- listen ---- */

static bool listens_at(const struct cm_listener *one, const struct cm_id *id,
		       const struct cm_device *device)
{
	return one->device == device && one->id->base.ps == id->base.ps &&
	       cm_port(&one->id->base.route.addr.src_addr) ==
		       cm_port(&id->base.route.addr.src_addr);
}

/*
 * The listener of another id at this port of the device: with a listener of the NIC the one that
 * hears requests, without it the one that may take over. NULL: there is none.
 */
static struct cm_listener *find_other(const struct cm_id *id, const struct cm_device *device,
				      bool has_nic)
{
	struct cm_id *other = NULL;

	while ((other = cm_id_next(other)) != NULL)
		for (int i = 0; other != id && i < CM_DEVICES; i++)
			if (listens_at(&other->listener[i], id, device) &&
			    (other->listener[i].nic != NULL) == has_nic)
				return &other->listener[i];
	return NULL;
}

static int begin_at(struct cm_listener *one)
{
	struct vb_context *context = vb_context_of(one->device->verbs);
	uint64_t port = cm_service(one->id, cm_port(&one->id->base.route.addr.src_addr));
	int err = context->nic->ops->listen(context->nic, &port, &one->obj, &one->nic);

	if (err)
		one->nic = NULL;
	else
		vb_obj_add(context, &one->obj, VB_LISTENER);
	return err;
}

static void stop_at(struct cm_listener *one, bool pass_on)
{
	struct cm_listener *heir = find_other(one->id, one->device, false);

	if (!one->nic)
		return;
	one->nic->nic->ops->unlisten(one->nic);
	one->nic = NULL;
	vb_obj_remove(&one->obj);
	if (heir && pass_on)
		cm_device_refuse(heir->device, "rdma_listen", begin_at(heir));
}

void cm_listen_stop(struct cm_id *id, bool pass_on)
{
	struct cm_listener *one;

	for (int i = 0; i < CM_DEVICES; i++) {
		one = &id->listener[i];
		if (!one->device)
			continue;
		stop_at(one, pass_on);
		if (one->device != id->device)
			one->device->users--; /* the id's user keeps another one open */
		one->device = NULL;
	}
}

/* The lock is held. */
static int listen_at(struct cm_id *id, int i, struct cm_device *device)
{
	struct cm_listener *one = &id->listener[i];
	int err = vb_fault(vb_context_of(device->verbs), NULL, VB_CALL_LISTEN);
	bool heard = find_other(id, device, true);

	one->id = id;
	one->device = device;
	if (!err && !heard)
		err = begin_at(one);
	cm_device_refuse(device, "rdma_listen", err);
	if (err)
		one->device = NULL;
	else if (!heard)
		vb_obj_trace(&one->obj, "rdma_listen port=%u",
			     cm_port(&id->base.route.addr.src_addr));
	return err;
}

static int listen_everywhere(struct cm_id *id)
{
	struct cm_device *device;
	int err = 0;

	for (unsigned int i = 0; !err && i < CM_DEVICES; i++) {
		err = cm_device_get(i, &device);
		if (err)
			break;
		cm_enter();
		err = listen_at(id, (int)i, device);
		cm_leave();
		if (err)
			cm_device_put(device);
	}
	return err;
}

static int listen_here(struct cm_id *id)
{
	int err;

	cm_enter();
	err = listen_at(id, 0, id->device);
	cm_leave();
	return err;
}

/* From here on an rdma_listen of another thread for the same id is refused. */
static int begin_listening(struct cm_id *id, int backlog)
{
	int err = -EINVAL;

	cm_enter();
	/* REUSEADDR ends here: no other id may have the port of an id that listens. */
	if (id->state == CM_BOUND)
		err = cm_id_check_port(id, &id->base.route.addr.src_addr, false);
	cm_trace_refusal(id, "rdma_listen", err);
	if (!err) {
		id->backlog = backlog > 0 && backlog < CM_BACKLOG_MOST ? backlog : CM_BACKLOG_MOST;
		id->state = CM_LISTENING;
	}
	cm_leave();
	return err;
}

int rdma_listen(struct rdma_cm_id *base, int backlog)
{
	static struct sockaddr_in any = { .sin_family = AF_INET };
	struct cm_id *id = cm_id_of(base);
	bool bound;
	int err;

	cm_enter();
	bound = id->state != CM_IDLE;
	cm_leave();
	if (!bound && cm_bind(id, (struct sockaddr *)&any, "rdma_listen"))
		return -1;
	err = begin_listening(id, backlog);
	if (err)
		return cm_fail(err);
	err = id->device ? listen_here(id) : listen_everywhere(id);
	cm_enter();
	if (err)
		cm_listen_stop(id, false);
	/* The state differs if another thread has destroyed the channel meanwhile. */
	if (err && id->state == CM_LISTENING)
		id->state = CM_BOUND;
	id->reuse_address &= err != 0;
	return cm_leave_with(err);
}

/* ---- requests ---- */

static void set_addresses(struct cm_id *child, const struct cm_listener *listener,
			  const struct nic_conn *conn)
{
	struct rdma_addr *addr = &child->base.route.addr;
	uint16_t port = cm_port(&listener->id->base.route.addr.src_addr);

	memcpy(&addr->src_storage, &cm_device_attr(listener->device)->addr,
	       sizeof(struct sockaddr_in));
	cm_set_port(&addr->src_addr, port);
	memcpy(&addr->dst_storage, &conn->remote, sizeof(conn->remote));
	if (conn->by.host && addr->dst_addr.sa_family == AF_INET)
		addr->dst_sin.sin_addr.s_addr = conn->by.host;
	cm_set_port(&addr->dst_addr, conn->by.port);
}

/* NULL: no memory. */
static struct cm_id *make_child(const struct cm_listener *listener, struct nic_conn *conn)
{
	struct cm_id *parent = listener->id, *child;

	if (cm_id_make(cm_channel_of(parent), parent->base.context, parent->base.ps,
		       parent->base.qp_type, &child))
		return NULL;
	child->inner = parent->inner;
	cm_join_device(child, listener->device);
	listener->device->users++;
	set_addresses(child, listener, conn);
	child->far = conn->by;
	child->initiator_depth = (uint8_t)conn->rd_in;
	child->responder_resources = (uint8_t)conn->rd_out;
	child->request = conn;
	child->state = CM_REQUESTED;
	child->passive = true;
	return child;
}

void cm_on_request(struct vb_obj *obj, struct nic_conn *conn)
{
	struct cm_listener *listener = nic_container_of(obj, struct cm_listener, obj);
	const struct nic_conn_param param = { .private_data = conn->private_data,
					      .private_data_size = conn->private_data_size,
					      .rd_in = conn->rd_in,
					      .rd_out = conn->rd_out,
					      .by = conn->by };
	struct cm_id *id = listener->id, *child = NULL;
	struct cm_event *event = NULL;

	if (id->backlog > 0 && !listener->device->removed)
		child = make_child(listener, conn);
	if (child)
		event = cm_event_add(id, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	if (!event) {
		if (child) {
			listener->device->users--;
			cm_id_free(child);
		}
		conn->nic->ops->reject(conn, !listener->device->removed);
		return;
	}
	id->backlog--;
	conn->ctx = child;
	event->event.id = &child->base;
	event->event.listen_id = &id->base;
	cm_trace_event(event, "event");
	if (cm_is_datagram(id))
		cm_datagram_asked(event, &param);
	else
		cm_event_set_data(event, &param);
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **out)
{
	struct cm_id *id = cm_id_of(listen);
	struct ibv_qp_init_attr init;
	struct rdma_cm_event *event;

	if (!id->sync)
		return cm_told(id, "rdma_get_request", -EINVAL);
	if (listen->event) {
		cm_event_acknowledge(listen->event);
		listen->event = NULL;
	}
	if (rdma_get_cm_event(listen->channel, &event))
		return -1;
	if (event->status || event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		listen->event = event;
		return cm_told(id, "rdma_get_request", event->status ? event->status : -EINVAL);
	}
	if (id->ep_init) {
		init = *id->ep_init;
		if (rdma_create_qp(event->id, listen->pd, &init)) {
			listen->event = event;
			return -1;
		}
	}
	*out = event->id;
	event->id->event = event;
	cm_note(cm_id_of(event->id), "rdma_get_request");
	return 0;
}
