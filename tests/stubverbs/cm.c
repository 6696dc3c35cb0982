/* SPDX-License-Identifier: BSD-3-Clause */
/* librdmacm: connections between QPs of the one device */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "stub.h"

#define REJECT_CONSUMER    28
#define REJECT_NO_LISTENER 8
#define REJECT_STALE       10
#define RESEND_US          5000
#define BACKLOG_MOST       1024 /* net.rdma_ucm.max_backlog */

struct stub_event {
	struct rdma_cm_event v;
	uint8_t data[256];
	struct stub_event *next;
};

struct stub_event_channel {
	struct rdma_event_channel v;
	struct stub_event *first, **end;
};

struct stub_id {
	struct rdma_cm_id v;
	struct stub_id *next;
	struct stub_id *peer;
	uint16_t port, remote_port;
	bool listens, connected, hung_up;
	bool open; /* the connection manager has a connection: who accepts waits for RTU */
	bool heard, answered; /* the peer's DREQ has come; its DREP is sent */
	bool asked;
	bool closes;   /* the peer has yet to hear of the end: stub_config.far */
	bool gave_up;  /* an answer came, and it did not take it */
	int unsettled; /* events taken and not acknowledged */
	int backlog;   /* requests that may still wait to be read */
	uint32_t qp_num;
	uint8_t rd_in, rd_out, retries;
	struct ibv_ece local_ece, remote_ece;
	int service_type, ack_timeout; /* -1: not set */
};

static void set_asked(struct stub_id *id, bool asked);
static void send_message(struct stub_id *id, enum stub_message message,
			 const struct rdma_conn_param *param);

/* A message of the connection manager that was lost; the kernel sends it again. */
struct stub_lost {
	enum stub_message message;
	uintptr_t serial;
	struct stub_id *from, *to;
	struct rdma_conn_param param;
	uint8_t data[256];
	struct stub_lost *next;
};

static struct stub_lost *all_lost, **lost_end = &all_lost;
static struct stub_id *late; /* hears of its connection late, */
static struct stub_lost late_answer;
static struct stub_id *ids;
static uint16_t next_port = 40000;

static struct stub_id *id_of(struct rdma_cm_id *id)
{
	return (struct stub_id *)id;
}

static int refused(const char *call)
{
	return stub_refuses(call) ? -1 : 0;
}

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

static struct stub_event *tell(struct stub_id *id, enum rdma_cm_event_type type, int status)
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

static void put_data(struct stub_event *event, const void *data, uint8_t size)
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

	if (read(base->fd, &value, sizeof(value)) < 0)
		return -1;
	stub_lock();
	first = channel->first;
	if (first) {
		channel->first = first->next;
		if (!channel->first)
			channel->end = &channel->first;
		*event = &first->v;
		id_of(first->v.id)->unsettled++;
		if (first->v.listen_id)
			id_of(first->v.listen_id)->backlog++;
	}
	stub_unlock();
	if (!first)
		errno = EAGAIN;
	return first ? 0 : -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	stub_lock();
	id_of(event->id)->unsettled--;
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

static struct stub_id *new_id(struct rdma_event_channel *channel, void *context,
			      enum rdma_port_space ps)
{
	struct stub_id *id = calloc(1, sizeof(*id));

	id->v.channel = channel;
	id->v.context = context;
	id->v.ps = ps;
	id->service_type = id->ack_timeout = -1;
	stub_lock();
	id->next = ids;
	ids = id;
	stub_unlock();
	stub_count(1);
	return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	if (refused("rdma_create_id"))
		return -1;
	*id = &new_id(channel, context, ps)->v;
	return 0;
}

static void on_device(struct stub_id *id)
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

static struct stub_id *listener(uint16_t port)
{
	struct stub_id *id;

	for (id = ids; id && (!id->listens || id->port != port); id = id->next)
		;
	return id;
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct stub_id *id = id_of(base);

	if (refused("rdma_bind_addr"))
		return -1;
	if (stub_config.none || !stub_has_address(addr)) {
		errno = ENODEV;
		return -1;
	}
	id->port = port_of(addr);
	if (id->port && listener(id->port)) {
		errno = EADDRINUSE;
		return -1;
	}
	if (!id->port)
		id->port = next_port++;
	copy_address(&base->route.addr.src_storage, addr);
	set_port(&base->route.addr.src_addr, id->port);
	on_device(id);
	return 0;
}

/*
 * The kernel repeats a message only as long as its id exists, but for answers: those it gives to
 * each repetition of what they answer.
 */
static bool is_answer(enum stub_message message)
{
	return message == STUB_REJ || message == STUB_DREP;
}

static void forget_lost(const struct stub_id *id)
{
	struct stub_lost **at = &all_lost, *lost;

	while ((lost = *at)) {
		if (lost->to != id && (lost->from != id || is_answer(lost->message))) {
			at = &lost->next;
			continue;
		}
		*at = lost->next;
		free(lost);
	}
	lost_end = at;
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
	child = id_of(event->v.id);
	if (child->peer) {
		set_asked(child->peer, false);
		tell(child->peer, RDMA_CM_EVENT_REJECTED,
		     stub_config.iwarp ? stub_config.reset : REJECT_NO_LISTENER);
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
	struct stub_id *id = id_of(base), **at;

	stub_held_up(&id->asked);
	stub_lock();
	while (id->unsettled > 0)
		stub_wait();
	forget_events(id);
	if (late == id)
		late = NULL;
	if (id->listens)
		reject_unread(id);
	if (id->peer) {
		if (id->connected && id->heard && !id->answered && !stub_config.iwarp)
			send_message(id, STUB_DREP, NULL);
		else if (id->open && !id->hung_up && !id->heard)
			send_message(id, STUB_DREQ, NULL);
		else if (id->closes)
			tell(id->peer, RDMA_CM_EVENT_DISCONNECTED, 0);
		else if (rejects(id))
			send_message(id, STUB_REJ, &nothing);
		id->peer->peer = NULL;
	}
	forget_lost(id);
	for (at = &ids; *at != id; at = &(*at)->next)
		;
	*at = id->next;
	stub_unlock();
	free(id);
	stub_count(-1);
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return htons(id_of(id)->port);
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return htons(id_of(id)->remote_port);
}

/* ---- options and extensions ---- */

int rdma_set_option(struct rdma_cm_id *base, int level, int name, void *value, size_t length)
{
	struct stub_id *id = id_of(base);

	if (refused("rdma_set_option"))
		return -1;
	if (level != RDMA_OPTION_ID || length != sizeof(uint8_t) ||
	    (name != RDMA_OPTION_ID_TOS && name != RDMA_OPTION_ID_ACK_TIMEOUT)) {
		errno = ENOSYS;
		return -1;
	}
	if (name == RDMA_OPTION_ID_TOS)
		id->service_type = *(uint8_t *)value;
	else
		id->ack_timeout = *(uint8_t *)value;
	return 0;
}

int stub_service_type(bool listens)
{
	int service_type = -1;
	struct stub_id *id;

	stub_lock();
	for (id = ids; id; id = id->next)
		if (id->listens == listens && (listens || id->connected))
			service_type = id->service_type;
	stub_unlock();
	return service_type;
}

int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (refused("rdma_set_local_ece"))
		return -1;
	if (id->qp || !ece->vendor_id || ece->comp_mask) {
		errno = EINVAL;
		return -1;
	}
	id_of(id)->local_ece = *ece;
	return 0;
}

int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (refused("rdma_get_remote_ece"))
		return -1;
	if (id->qp) {
		errno = EINVAL;
		return -1;
	}
	*ece = id_of(id)->remote_ece;
	return 0;
}

/* The extensions of the request. */
static void hear_request(struct stub_id *child, const struct stub_id *from)
{
	if (stub_config.ece_unheard)
		return;
	child->remote_ece = from->local_ece;
	if (stub_config.ece_foreign)
		child->remote_ece.vendor_id = stub_config.ece_foreign;
}

/*
 * The extensions of the answer, which librdmacm gives to the QP of an id that has one. False: they
 * are not those of the vendor that was asked, which ends the connection.
 */
static bool hear_answer(struct stub_id *id, const struct stub_id *from)
{
	struct ibv_ece ece = { .vendor_id = from->remote_ece.vendor_id,
			       .options = from->local_ece.options };
	int error;

	if (stub_config.ece_foreign && ece.vendor_id == stub_config.ece_foreign)
		ece.vendor_id = id->local_ece.vendor_id;
	if (!ece.vendor_id || stub_config.ece_unheard)
		ece = (struct ibv_ece){ .vendor_id = id->local_ece.vendor_id };
	else if (ece.vendor_id != id->local_ece.vendor_id)
		return false;
	id->remote_ece = ece;
	error = id->v.qp ? ibv_set_ece(id->v.qp, &ece) : 0;
	return error == 0 || error == EOPNOTSUPP;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	if (refused("rdma_create_qp"))
		return -1;
	id->qp = ibv_create_qp(pd, init);
	if (id->qp)
		id->qp->state = IBV_QPS_INIT;
	return id->qp ? 0 : -1;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	if (refused("rdma_init_qp_attr"))
		return -1;
	/* As the kernel: qp_state says for which state the attributes are. */
	if (attr->qp_state < IBV_QPS_INIT || attr->qp_state > IBV_QPS_RTS) {
		errno = EINVAL;
		return -1;
	}
	*mask = IBV_QP_STATE;
	if (attr->qp_state == IBV_QPS_RTS && id_of(id)->ack_timeout >= 0) {
		attr->timeout = (uint8_t)id_of(id)->ack_timeout;
		*mask |= IBV_QP_TIMEOUT;
	}
	return 0;
}

static int notified;

int stub_notified(void)
{
	return notified;
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	if (refused("rdma_notify"))
		return -1;
	stub_lock();
	notified += event == IBV_EVENT_COMM_EST;
	id_of(id)->open |= id_of(id)->connected;
	if (stub_config.quiet_accept && event == IBV_EVENT_COMM_EST)
		tell(id_of(id), RDMA_CM_EVENT_ESTABLISHED, 0);
	stub_unlock();
	return 0;
}

/* ---- connecting ---- */

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	if (refused("rdma_listen"))
		return -1;
	stub_lock();
	id_of(id)->backlog = backlog > 0 && backlog < BACKLOG_MOST ? backlog : BACKLOG_MOST;
	id_of(id)->listens = true;
	stub_unlock();
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *src, struct sockaddr *dst,
		      int timeout)
{
	struct stub_id *id = id_of(base);

	(void)timeout;
	if (refused("rdma_resolve_addr"))
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
		tell(id, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
		return 0;
	}
	if (stub_config.unresolved_addr > 0) {
		stub_config.unresolved_addr--;
		tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
		return 0;
	}
	on_device(id);
	tell(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout)
{
	(void)timeout;
	if (refused("rdma_resolve_route"))
		return -1;
	if (stub_config.unresolved_route > 0) {
		stub_config.unresolved_route--;
		tell(id_of(id), RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
		return 0;
	}
	tell(id_of(id), RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

/* responder_resources and initiator_depth swap meaning between the sides. */
static void put_param(struct stub_event *event, const struct rdma_conn_param *param)
{
	put_data(event, param->private_data, param->private_data_len);
	event->v.param.conn.responder_resources = param->initiator_depth;
	event->v.param.conn.initiator_depth = param->responder_resources;
}

static void remember(struct stub_id *id, const struct rdma_conn_param *param)
{
	id->qp_num = id->v.qp ? id->v.qp->qp_num : param->qp_num;
	id->retries = param->retry_count;
}

static void set_asked(struct stub_id *id, bool asked)
{
	struct stub_qp *qp = stub_qp_by_number(id->qp_num);

	id->asked = asked;
	if (qp && id->qp_num)
		qp->asked = asked;
}

static void to_error(struct stub_id *id)
{
	struct stub_qp *qp = stub_qp_by_number(id->qp_num);

	if (qp && id->qp_num)
		stub_to_error(qp);
}

/* Its number is soon that of another one. */
void stub_forget_number(const struct stub_qp *qp)
{
	struct stub_id *id;

	for (id = ids; id; id = id->next)
		if (id->qp_num == qp->v.qp_num)
			id->qp_num = 0;
}

/* ---- messages ---- */

static void on_request(struct stub_id *id, const struct rdma_conn_param *param)
{
	struct stub_id *at = listener(id->remote_port), *child;
	struct stub_event *event;

	if (stub_config.stale > 0) {
		stub_config.stale--;
		set_asked(id, false);
		to_error(id);
		tell(id, RDMA_CM_EVENT_REJECTED, REJECT_STALE);
		return;
	}
	if (!at) {
		set_asked(id, false);
		tell(id, RDMA_CM_EVENT_REJECTED,
		     stub_config.iwarp ? stub_config.reset : REJECT_NO_LISTENER);
		return;
	}
	if (at->backlog == 0) {
		set_asked(id, false);
		tell(id, RDMA_CM_EVENT_REJECTED, REJECT_CONSUMER);
		return;
	}
	at->backlog--;
	child = new_id(at->v.channel, at->v.context, at->v.ps);
	child->port = at->port;
	child->remote_port = id->port;
	child->peer = id;
	id->peer = child;
	child->v.route.addr.src_storage = id->v.route.addr.dst_storage;
	child->v.route.addr.dst_storage = id->v.route.addr.src_storage;
	on_device(child);
	child->service_type = id->service_type;
	hear_request(child, id);
	event = tell(child, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	event->v.listen_id = &at->v;
	put_param(event, param);
	if (stub_config.foreign)
		put_data(event, stub_config.foreign, 56);
}

/*
 * The side that asked does not take the answer. On InfiniBand it rejects it, when its id is
 * destroyed. On iWARP the side that answers is connected as soon as its answer is sent, and then
 * hears of the end.
 */
static void give_up(struct stub_id *asker, struct stub_id *id)
{
	set_asked(asker, false);
	asker->gave_up = true;
	tell(asker, RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL);
	if (!stub_config.iwarp)
		return;
	tell(id, RDMA_CM_EVENT_ESTABLISHED, 0);
	to_error(id);
	tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
}

/* librdmacm moves the QP of the side that asked to its states, which a QP in error refuses. */
static bool takes_answer(struct stub_id *asker, const struct stub_id *id)
{
	const struct ibv_qp *qp = asker->v.qp;

	return qp && qp->state != IBV_QPS_ERR && hear_answer(asker, id);
}

static void keep_message(struct stub_lost *kept, const struct rdma_conn_param *param)
{
	kept->param = *param;
	if (param->private_data_len)
		memcpy(kept->data, param->private_data, param->private_data_len);
	kept->param.private_data = kept->data;
}

static void keep_answer(struct stub_id *id, const struct rdma_conn_param *param)
{
	late = id;
	keep_message(&late_answer, param);
}

static void on_reply(struct stub_id *id, const struct rdma_conn_param *param)
{
	struct stub_qp *own = stub_qp_by_number(id->qp_num), *other;
	struct stub_id *peer = id->peer;

	if (!own || !peer)
		return;
	if (!takes_answer(peer, id)) {
		give_up(peer, id);
		return;
	}
	other = (struct stub_qp *)peer->v.qp;
	/* The side that asks decides for both. */
	other->retries = own->retries = peer->retries;
	if (peer->ack_timeout >= 0)
		other->ack_timeout = peer->ack_timeout;
	stub_connect(other, own);
	id->connected = peer->connected = true;
	peer->open = true;
	id->open = stub_config.iwarp;
	set_asked(peer, false);
	if (stub_config.hears_late)
		keep_answer(peer, param);
	else
		put_param(tell(peer, RDMA_CM_EVENT_ESTABLISHED, 0), param);
	if (!stub_config.quiet_accept)
		send_message(peer, STUB_RTU, NULL);
}

static void on_reject(struct stub_id *to, const struct rdma_conn_param *param)
{
	int by_iwarp = stub_config.reset ? -ECONNREFUSED : -ECONNRESET;

	set_asked(to, false);
	to->open = false;
	put_data(tell(to, RDMA_CM_EVENT_REJECTED, stub_config.iwarp ? by_iwarp : REJECT_CONSUMER),
		 param->private_data, param->private_data_len);
}

static void deliver(struct stub_id *id, struct stub_id *to, enum stub_message message,
		    const struct rdma_conn_param *param)
{
	switch (message) {
	case STUB_REQ:
		on_request(id, param);
		break;
	case STUB_REP:
		on_reply(id, param);
		break;
	case STUB_RTU:
		to->open = true;
		tell(to, RDMA_CM_EVENT_ESTABLISHED, 0);
		break;
	case STUB_REJ:
		on_reject(to, param);
		break;
	default: /* DREQ; DREP ends the wait of who hung up first */
		to->heard |= message == STUB_DREQ;
		tell(to, RDMA_CM_EVENT_DISCONNECTED, 0);
		break;
	}
}

/* All that were lost up to this one. */
static void resend(uintptr_t serial)
{
	struct stub_lost *lost;

	stub_lock();
	while ((lost = all_lost) && lost->serial <= serial) {
		all_lost = lost->next;
		if (!all_lost)
			lost_end = &all_lost;
		deliver(lost->from, lost->to, lost->message, &lost->param);
		free(lost);
	}
	stub_unlock();
}

/* What was sent arrives, and then the end. */
static void close_stream(struct stub_id *id)
{
	struct stub_qp *qp = stub_qp_by_number(id->qp_num);

	id->closes = false;
	if (qp && id->qp_num)
		stub_arrive(qp);
	to_error(id);
	tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	if (!id->peer)
		return;
	id->peer->hung_up = true;
	to_error(id->peer);
	tell(id->peer, RDMA_CM_EVENT_DISCONNECTED, 0);
}

void stub_resend(void)
{
	struct stub_id *id;

	stub_lock();
	for (id = ids; id; id = id->next)
		if (id->closes)
			close_stream(id);
	if (late)
		put_param(tell(late, RDMA_CM_EVENT_ESTABLISHED, 0), &late_answer.param);
	late = NULL;
	stub_unlock();
	resend(UINTPTR_MAX);
}

static void *resend_soon(void *serial)
{
	usleep(RESEND_US);
	resend((uintptr_t)serial);
	return NULL;
}

static void send_message(struct stub_id *id, enum stub_message message,
			 const struct rdma_conn_param *param)
{
	static uintptr_t serial;
	struct stub_lost *lost;
	pthread_t thread;

	/* TCP loses nothing. */
	if (stub_config.iwarp || stub_config.lose != message) {
		deliver(id, id->peer, message, param);
		return;
	}
	lost = calloc(1, sizeof(*lost));
	lost->message = message;
	lost->from = id;
	lost->to = id->peer;
	if (param)
		keep_message(lost, param);
	*lost_end = lost;
	lost_end = &lost->next;
	lost->serial = ++serial;
	if (stub_config.resends &&
	    pthread_create(&thread, NULL, resend_soon, (void *)lost->serial) == 0)
		pthread_detach(thread);
}

int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct stub_id *id = id_of(base);
	bool refuses;

	if (refused("rdma_connect"))
		return -1;
	remember(id, param);
	stub_lock();
	/* siw connects within the call. */
	refuses = stub_config.iwarp && !stub_config.reset && !listener(id->remote_port);
	if (!refuses) {
		set_asked(id, true);
		send_message(id, STUB_REQ, param);
	}
	stub_unlock();
	if (refuses)
		errno = ECONNREFUSED;
	return refuses ? -1 : 0;
}

int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *param)
{
	struct stub_id *id = id_of(base);

	if (refused("rdma_accept"))
		return -1;
	if (!id->peer) {
		errno = ENOTCONN;
		return -1;
	}
	remember(id, param);
	stub_lock();
	send_message(id, STUB_REP, param);
	stub_unlock();
	return 0;
}

int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t size)
{
	struct rdma_conn_param param = { .private_data = data, .private_data_len = size };

	if (refused("rdma_reject"))
		return -1;
	stub_lock();
	if (id_of(base)->peer)
		send_message(id_of(base), STUB_REJ, &param);
	stub_unlock();
	return 0;
}

/*
 * On InfiniBand the caller gets its event only after the peer has answered, and without a
 * connection nothing is sent and the call succeeds.
 */
int rdma_disconnect(struct rdma_cm_id *base)
{
	struct stub_id *id = id_of(base), *peer = id->peer;

	if (refused("rdma_disconnect"))
		return -1;
	stub_lock();
	if ((!id->open && !id->heard) || id->hung_up) {
		if (!stub_config.iwarp)
			to_error(id);
		stub_unlock();
		errno = EINVAL;
		return stub_config.iwarp ? -1 : 0;
	}
	id->hung_up = true;
	if (stub_config.far && peer) {
		id->closes = true;
		stub_unlock();
		return 0;
	}
	to_error(id);
	id->answered = id->heard;
	if (peer && !(stub_config.iwarp && id->heard))
		send_message(id, id->heard ? STUB_DREP : STUB_DREQ, NULL);
	if (stub_config.iwarp || !peer)
		tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	if (stub_config.iwarp && peer)
		to_error(peer);
	stub_unlock();
	return 0;
}

void stub_terminated(const struct stub_qp *a, const struct stub_qp *b)
{
	struct stub_id *id;

	stub_lock();
	for (id = ids; id; id = id->next) {
		if (!id->connected || id->hung_up ||
		    (id->qp_num != a->v.qp_num && id->qp_num != b->v.qp_num))
			continue;
		id->hung_up = true;
		to_error(id);
		tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	}
	stub_unlock();
}

void stub_removed(void)
{
	struct stub_id *id;

	stub_lock();
	for (id = ids; id; id = id->next) {
		to_error(id);
		tell(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	}
	stub_unlock();
}

void stub_cm_event(enum rdma_cm_event_type type, int status, bool asker)
{
	struct stub_id *id;

	stub_lock();
	for (id = ids; id; id = id->next) {
		if (!(asker ? id->asked : id->peer && id->peer->asked))
			continue;
		if (asker)
			set_asked(id, false);
		tell(id, type, status);
	}
	stub_unlock();
}

static bool all_settled(void)
{
	struct stub_event_channel *channel;
	struct stub_id *id;

	for (id = ids; id; id = id->next) {
		channel = (struct stub_event_channel *)id->v.channel;
		if (id->unsettled > 0 || (channel && channel->first))
			return false;
	}
	return true;
}

void stub_settle(void)
{
	stub_lock();
	while (!all_settled())
		stub_wait();
	stub_unlock();
}
