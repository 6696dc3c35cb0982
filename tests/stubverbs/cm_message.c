/* SPDX-License-Identifier: BSD-3-Clause */
/* cm_message.c - what ids send each other: cm.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm.h"

#define RESEND_US 5000

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
/* The side that asked, which hears of its connection late; and the answer for it. */
static struct stub_id *late;
static struct stub_lost late_answer;

/* responder_resources and initiator_depth swap meaning between the sides. */
static void put_param(struct stub_event *event, const struct rdma_conn_param *param)
{
	cm_put_data(event, param->private_data, param->private_data_len);
	event->v.param.conn.responder_resources = param->initiator_depth;
	event->v.param.conn.initiator_depth = param->responder_resources;
}

static void on_request(struct stub_id *id, const struct rdma_conn_param *param)
{
	struct stub_id *at = cm_listener(id->remote_port), *child;
	struct stub_event *event;

	if (stub_config.stale > 0) {
		stub_config.stale--;
		cm_set_asked(id, false);
		cm_to_error(id);
		cm_tell(id, RDMA_CM_EVENT_REJECTED, CM_REJECT_STALE);
		return;
	}
	if (!at) {
		cm_set_asked(id, false);
		cm_tell(id, RDMA_CM_EVENT_REJECTED,
			stub_config.iwarp ? stub_config.reset : CM_REJECT_NO_LISTENER);
		return;
	}
	if (at->backlog == 0) {
		cm_set_asked(id, false);
		cm_tell(id, RDMA_CM_EVENT_REJECTED, CM_REJECT_CONSUMER);
		return;
	}
	at->backlog--;
	child = cm_new_id(at->v.channel, at->v.context, at->v.ps);
	child->port = at->port;
	child->remote_port = id->port;
	child->peer = id;
	id->peer = child;
	child->v.route.addr.src_storage = id->v.route.addr.dst_storage;
	child->v.route.addr.dst_storage = id->v.route.addr.src_storage;
	cm_on_device(child);
	child->service_type = id->service_type;
	cm_hear_request(child, id);
	event = cm_tell(child, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	event->v.listen_id = &at->v;
	put_param(event, param);
	if (stub_config.foreign)
		cm_put_data(event, stub_config.foreign,
			    stub_config.foreign_size ? stub_config.foreign_size : 56);
}

/*
 * The side that asked does not take the answer. On InfiniBand it rejects it, when its id is
 * destroyed. On iWARP the side that answers is connected as soon as its answer is sent, and then
 * hears of the end.
 */
static void give_up(struct stub_id *asker, struct stub_id *id)
{
	cm_set_asked(asker, false);
	asker->gave_up = true;
	cm_tell(asker, RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL);
	if (!stub_config.iwarp)
		return;
	cm_tell(id, RDMA_CM_EVENT_ESTABLISHED, 0);
	cm_to_error(id);
	cm_tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
}

/* librdmacm moves the QP of the side that asked to its states, which a QP in error refuses. */
static bool takes_answer(struct stub_id *asker, const struct stub_id *id)
{
	const struct ibv_qp *qp = asker->v.qp;

	return qp && qp->state != IBV_QPS_ERR && cm_hear_answer(asker, id);
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
	own->srq_told = param->srq;
	stub_connect(other, own);
	id->connected = peer->connected = true;
	peer->open = true;
	id->open = stub_config.iwarp;
	cm_set_asked(peer, false);
	if (stub_config.hears_late)
		keep_answer(peer, param);
	else
		put_param(cm_tell(peer, RDMA_CM_EVENT_ESTABLISHED, 0), param);
	if (!stub_config.quiet_accept)
		cm_send(peer, STUB_RTU, NULL);
}

static void on_reject(struct stub_id *to, const struct rdma_conn_param *param)
{
	int by_iwarp = stub_config.reset ? -ECONNREFUSED : -ECONNRESET;

	cm_set_asked(to, false);
	to->open = false;
	cm_put_data(cm_tell(to, RDMA_CM_EVENT_REJECTED,
			    stub_config.iwarp ? by_iwarp : CM_REJECT_CONSUMER),
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
		cm_tell(to, RDMA_CM_EVENT_ESTABLISHED, 0);
		break;
	case STUB_REJ:
		on_reject(to, param);
		break;
	default: /* DREQ; DREP, for which the side waits that hung up first */
		to->heard |= message == STUB_DREQ;
		cm_tell(to, RDMA_CM_EVENT_DISCONNECTED, 0);
		break;
	}
}

/*
 * The kernel repeats a message only as long as its id exists, but for answers: those it gives to
 * each repetition of what they answer.
 */
static bool is_answer(enum stub_message message)
{
	return message == STUB_REJ || message == STUB_DREP;
}

void cm_forget(const struct stub_id *id)
{
	struct stub_lost **at = &all_lost, *lost;

	if (late == id)
		late = NULL;
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
	cm_to_error(id);
	cm_tell(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	if (!id->peer)
		return;
	id->peer->hung_up = true;
	cm_to_error(id->peer);
	cm_tell(id->peer, RDMA_CM_EVENT_DISCONNECTED, 0);
}

void stub_resend(void)
{
	struct stub_id *id;

	stub_lock();
	for (id = cm_ids; id; id = id->next)
		if (id->closes)
			close_stream(id);
	if (late)
		put_param(cm_tell(late, RDMA_CM_EVENT_ESTABLISHED, 0), &late_answer.param);
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

void cm_send(struct stub_id *id, enum stub_message message, const struct rdma_conn_param *param)
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
