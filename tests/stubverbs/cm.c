/* SPDX-License-Identifier: BSD-3-Clause */
/* cm.c - ids of the stub's connection manager, their addresses and events: cm.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cm.h"

#define BACKLOG_MOST 1024 /* net.rdma_ucm.max_backlog */

struct stub_id *cm_ids;
static uint16_t next_port = 40000;

/* ---- events ---- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct stub_event_channel *channel;

	if (stub_refuses("rdma_create_event_channel"))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	channel->end = &channel->first;
	channel->v.fd = eventfd(0, EFD_SEMAPHORE);
	stub_count(1);
	return &channel->v;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	free(channel);
	stub_count(-1);
}

struct stub_event *cm_tell(struct stub_id *id, enum rdma_cm_event_type type, int status)
{
	struct stub_event_channel *channel = (struct stub_event_channel *)id->v.channel;
	struct stub_event *event = calloc(1, sizeof(*event));

	event->v.id = &id->v;
	event->v.event = type;
	event->v.status = status;
	stub_lock();
	*channel->end = event;
	channel->end = &event->next;
	stub_signal(channel->v.fd);
	stub_unlock();
	return event;
}

void cm_put_data(struct stub_event *event, const void *data, uint8_t size)
{
	/* RoCE pads private data to the size of its datagrams. */
	uint8_t length = !stub_config.iwarp && size < 56 ? 56 : size;

	if (size)
		memcpy(event->data, data, size);
	event->v.param.conn.private_data = event->data;
	event->v.param.conn.private_data_len = length;
}

int rdma_get_cm_event(struct rdma_event_channel *base, struct rdma_cm_event **event)
{
	struct stub_event_channel *channel = (struct stub_event_channel *)base;
	struct stub_event *first;
	uint64_t value;
	bool told = read(base->fd, &value, sizeof(value)) >= 0;

	stub_lock();
	first = told ? channel->first : NULL;
	channel->busy = first;
	stub_changed();
	if (first) {
		channel->first = first->next;
		if (!channel->first)
			channel->end = &channel->first;
		*event = &first->v;
		cm_id_of(first->v.id)->unsettled++;
		if (first->v.listen_id)
			cm_id_of(first->v.listen_id)->backlog++;
	}
	stub_unlock();
	if (told && !first)
		errno = EAGAIN;
	return first ? 0 : -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	stub_lock();
	cm_id_of(event->id)->unsettled--;
	stub_changed();
	stub_unlock();
	free(event);
	return 0;
}

static void forget_events(struct stub_id *id)
{
	struct stub_event_channel *channel = (struct stub_event_channel *)id->v.channel;
	struct stub_event **at = &channel->first, *event;

	while ((event = *at)) {
		if (event->v.id != &id->v) {
			at = &event->next;
			continue;
		}
		*at = event->next;
		free(event);
		stub_unsignal(channel->v.fd);
	}
	channel->end = at;
}

/* ---- ids ---- */

struct stub_id *cm_new_id(struct rdma_event_channel *channel, void *context,
			  enum rdma_port_space ps)
{
	struct stub_id *id = calloc(1, sizeof(*id));

	id->v.channel = channel;
	id->v.context = context;
	id->v.ps = ps;
	id->service_type = id->ack_timeout = -1;
	stub_lock();
	id->next = cm_ids;
	cm_ids = id;
	stub_unlock();
	stub_count(1);
	return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	if (cm_refused("rdma_create_id"))
		return -1;
	*id = &cm_new_id(channel, context, ps)->v;
	return 0;
}

void cm_on_device(struct stub_id *id)
{
	struct ibv_device **list;

	if (!stub_context) {
		list = ibv_get_device_list(NULL);
		ibv_open_device(list[0]);
		ibv_free_device_list(list);
		stub_count(-1); /* librdmacm owns it and never frees it */
	}
	id->v.verbs = stub_context;
	id->v.port_num = 1;
}

/* Requests that the listener has not read are rejected with it. */
static void reject_unread(struct stub_id *listener_id)
{
	struct stub_event_channel *channel = (struct stub_event_channel *)listener_id->v.channel;
	struct stub_event *event = channel ? channel->first : NULL;
	struct stub_id *child;

	while (event && event->v.listen_id != &listener_id->v)
		event = event->next;
	if (!event)
		return;
	child = cm_id_of(event->v.id);
	if (child->peer) {
		cm_set_asked(child->peer, false);
		cm_tell(child->peer, RDMA_CM_EVENT_REJECTED,
			stub_config.iwarp ? stub_config.reset : CM_REJECT_NO_LISTENER);
	}
	rdma_destroy_id(&child->v);
	reject_unread(listener_id);
}

/*
 * Does the destruction of this id tell its peer of a rejection? Of a request that it did not
 * answer; on InfiniBand also of an answer that it did not take or does not wait for.
 */
static bool rejects(const struct stub_id *id)
{
	if (id->asked || id->gave_up)
		return !stub_config.iwarp;
	return id->connected ? !id->open : id->peer->asked;
}

int rdma_destroy_id(struct rdma_cm_id *base)
{
	static const struct rdma_conn_param nothing;
	struct stub_id *id = cm_id_of(base), **at;

	stub_held_up(&id->asked);
	stub_lock();
	while (id->unsettled > 0)
		stub_wait();
	forget_events(id);
	if (id->listens)
		reject_unread(id);
	if (id->peer) {
		if (id->connected && id->heard && !id->answered && !stub_config.iwarp)
			cm_send(id, STUB_DREP, NULL);
		else if (id->open && !id->hung_up && !id->heard)
			cm_send(id, STUB_DREQ, NULL);
		else if (id->closes)
			cm_tell(id->peer, RDMA_CM_EVENT_DISCONNECTED, 0);
		else if (rejects(id))
			cm_send(id, STUB_REJ, &nothing);
		id->peer->peer = NULL;
	}
	cm_forget(id);
	for (at = &cm_ids; *at != id; at = &(*at)->next)
		;
	*at = id->next;
	stub_unlock();
	free(id);
	stub_count(-1);
	return 0;
}

/* ---- addresses ---- */

/* The port has the same place in addresses of both families. */
static void set_port(struct sockaddr *addr, uint16_t port)
{
	((struct sockaddr_in *)addr)->sin_port = htons(port);
}

static uint16_t port_of(const struct sockaddr *addr)
{
	return ntohs(((const struct sockaddr_in *)addr)->sin_port);
}

static void copy_address(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memcpy(to, from,
	       from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in));
}

struct stub_id *cm_listener(uint16_t port)
{
	struct stub_id *id;

	for (id = cm_ids; id && (!id->listens || id->port != port); id = id->next)
		;
	return id;
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct stub_id *id = cm_id_of(base);

	if (cm_refused("rdma_bind_addr"))
		return -1;
	if (stub_config.none || !stub_has_address(addr)) {
		errno = ENODEV;
		return -1;
	}
	id->port = port_of(addr);
	if (id->port && cm_listener(id->port)) {
		errno = EADDRINUSE;
		return -1;
	}
	if (!id->port)
		id->port = next_port++;
	copy_address(&base->route.addr.src_storage, addr);
	set_port(&base->route.addr.src_addr, id->port);
	cm_on_device(id);
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	if (cm_refused("rdma_listen"))
		return -1;
	stub_lock();
	cm_id_of(id)->backlog = backlog > 0 && backlog < BACKLOG_MOST ? backlog : BACKLOG_MOST;
	cm_id_of(id)->listens = true;
	stub_unlock();
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *src, struct sockaddr *dst,
		      int timeout)
{
	struct stub_id *id = cm_id_of(base);

	(void)timeout;
	if (cm_refused("rdma_resolve_addr"))
		return -1;
	if (src && !stub_has_address(src)) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	if (!id->port)
		id->port = next_port++;
	id->remote_port = port_of(dst);
	copy_address(&base->route.addr.dst_storage, dst);
	/* Without one, an address of the network of the destination. */
	copy_address(&base->route.addr.src_storage, src ? src : dst);
	set_port(&base->route.addr.src_addr, id->port);
	if (!stub_has_address(dst)) {
		cm_tell(id, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
		return 0;
	}
	if (stub_config.unresolved_addr > 0) {
		stub_config.unresolved_addr--;
		cm_tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
		return 0;
	}
	cm_on_device(id);
	cm_tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout)
{
	(void)timeout;
	if (cm_refused("rdma_resolve_route"))
		return -1;
	if (stub_config.unresolved_route > 0) {
		stub_config.unresolved_route--;
		cm_tell(cm_id_of(id), RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
		return 0;
	}
	cm_tell(cm_id_of(id), RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return htons(cm_id_of(id)->port);
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return htons(cm_id_of(id)->remote_port);
}
