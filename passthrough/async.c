/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous events of a device: errors of QPs, CQs and SRQs, ports that go down, and the loss of
 * the device itself. Each ends the connections that it concerns, except a port that goes down.
 */
#include <errno.h>
#include <fcntl.h>

#include "cm.h"

static void async_on_readable(struct ev_loop *loop, ev_io *watch, int events)
{
	(void)loop;
	(void)events;
	hw_async_drain(nic_container_of(watch, struct hw_nic, async_watch));
}

int hw_async_start(struct hw_nic *n)
{
	int flags = fcntl(n->verbs->async_fd, F_GETFL);

	/* If the descriptor blocked, the read after the last event would never return. */
	if (flags < 0 || fcntl(n->verbs->async_fd, F_SETFL, flags | O_NONBLOCK))
		return -ENOMEM;
	ev_io_init(&n->async_watch, async_on_readable, n->verbs->async_fd, EV_READ);
	hw_watch(&n->async_watch);
	return 0;
}

void hw_failed(struct hw_nic *n)
{
	struct hw_qp *qp;

	if (n->failed)
		return;
	n->failed = true;
	hw_host->say("adapter %s is gone", n->place.device);
	LIST_FOREACH(qp, &n->all_qps, in_nic)
	if (qp->state != HW_QP_IDLE)
		hw_end(qp, NIC_END_BROKEN);
	n->base.up->adapter_failed(n->base.ctx);
}

/* A CQ overran: the QPs that complete there break, and lib is told that completions are lost. */
static void cq_failed(struct hw_cq *cq)
{
	struct hw_nic *n;
	struct hw_qp *qp;

	n = hw_nic(cq->base.nic);
	LIST_FOREACH(qp, &n->all_qps, in_nic)
	if (qp->verbs && (qp->verbs->send_cq == cq->verbs || qp->verbs->recv_cq == cq->verbs) &&
	    qp->state != HW_QP_IDLE)
		hw_end(qp, NIC_END_BROKEN);
	if (!cq->sink)
		n->base.up->cq_lost(cq->base.ctx, NULL, NIC_OP_SEND);
}

static void srq_failed(struct hw_srq *srq)
{
	struct hw_qp *qp;

	LIST_FOREACH(qp, &srq->qps, in_srq)
	if (qp->state != HW_QP_IDLE)
		hw_end(qp, NIC_END_BROKEN);
}

static void qp_event(struct hw_qp *qp, enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		qp->last_wqe = true;
		if (qp->base.nic)
			hw_nic(qp->base.nic)->says_last_wqe = true;
		break;
	case IBV_EVENT_COMM_EST:
		/* The peer sends already, but its last CM message is late: treat it as received. */
		if (qp->cm.id && qp->state == HW_QP_CONNECTING && qp->passive)
			rdma_notify(qp->cm.id, IBV_EVENT_COMM_EST);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		hw_qp_drain(qp);
		if (qp->state != HW_QP_IDLE)
			hw_end(qp, NIC_END_BROKEN);
		break;
	default:
		break;
	}
}

/*
 * A link that is soon up again costs retransmissions: those decide whether a connection breaks,
 * at both of its ends. A program may ask to hear at once.
 */
static void port_down(struct hw_nic *n, int port)
{
	struct hw_qp *qp;

	if (n->cm.id->port_num != port)
		return;
	hw_host->say("adapter %s: the link of port %d is down", n->place.device, port);
	if (!n->world->knobs.break_on_port_down)
		return;
	LIST_FOREACH(qp, &n->all_qps, in_nic)
	if (qp->state != HW_QP_IDLE)
		hw_end(qp, NIC_END_BROKEN);
}

/* Adapters at several addresses of a device share its events; each event concerns all of them. */
static void async_device_event(struct hw_nic *n, const struct ibv_async_event *event)
{
	struct hw_nic *other;

	LIST_FOREACH(other, &n->world->nics, link)
	{
		if (other->verbs != n->verbs)
			continue;
		if (event->event_type == IBV_EVENT_DEVICE_FATAL)
			hw_failed(other);
		else
			port_down(other, event->element.port_num);
	}
}

/* NULL: the event is about no object of this adapter. */
static void *owner_in(struct hw_nic *n, const struct ibv_async_event *event)
{
	struct hw_srq *srq;
	struct hw_cq *cq;
	struct hw_qp *qp;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		LIST_FOREACH(cq, &n->all_cqs, in_nic)
		if (cq->verbs == event->element.cq)
			return cq;
		return NULL;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		LIST_FOREACH(srq, &n->all_srqs, in_nic)
		if (srq->verbs == event->element.srq)
			return srq;
		return NULL;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		qp = hw_qp_by_number(n, event->element.qp->qp_num);
		return qp && qp->verbs == event->element.qp ? qp : NULL;
	default:
		return NULL;
	}
}

/*
 * The struct hw_... of the object that the event is about. NULL: the event is about no object,
 * about one that is being destroyed, or about one that the program itself created: librdmacm shares
 * one context of each device with the whole process.
 */
static void *async_owner(struct hw_nic *n, const struct ibv_async_event *event)
{
	void *owner = NULL;
	struct hw_nic *other;

	LIST_FOREACH(other, &n->world->nics, link)
	if (!owner && other->verbs == n->verbs)
		owner = owner_in(other, event);
	return owner;
}

static void object_event(enum ibv_event_type type, void *owner)
{
	struct hw_srq *srq = owner;

	switch (type) {
	case IBV_EVENT_CQ_ERR:
		cq_failed(owner);
		break;
	case IBV_EVENT_SRQ_ERR:
		srq_failed(srq);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		if (srq->limit) {
			srq->limit = 0;
			srq->base.nic->up->srq_limit(srq->base.ctx);
		}
		break;
	default:
		qp_event(owner, type);
		break;
	}
}

static void async_event(struct hw_nic *n, const struct ibv_async_event *event, void *owner)
{
	if (owner)
		object_event(event->event_type, owner);
	else if (event->event_type == IBV_EVENT_DEVICE_FATAL ||
		 event->event_type == IBV_EVENT_PORT_ERR)
		async_device_event(n, event);
	/* Connections notice a changed GID, P_Key or subnet manager by themselves. */
}

void hw_async_drain(struct hw_nic *n)
{
	struct ibv_async_event event, copy;
	void *owner;

	while (ibv_get_async_event(n->verbs, &event) == 0) {
		/*
		 * Acknowledge first: handling the event may destroy its object, which waits for the
		 * acknowledgement.
		 */
		copy = event;
		owner = async_owner(n, &event);
		ibv_ack_async_event(&event);
		async_event(n, &copy, owner);
	}
	/* The kernel has removed the device. */
	if (errno == EIO) {
		hw_unwatch(&n->async_watch);
		hw_failed(n);
	}
}
