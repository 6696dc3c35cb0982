/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * async.c - events that a program waits for by a descriptor: the descriptor, the wait, and the
 * asynchronous events of a context.
 *
 * The descriptor is an eventfd that counts the events of a queue, so that a program can wait for
 * one by poll or epoll. A program that calls the library to wait sleeps in the door's `wait`, where
 * virtual time passes.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/nic_process.h"
#include "host/say.h"
#include "vb.h"

/* ---- the descriptor ---- */

int vb_event_fd(void)
{
	return process_fd(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
}

void vb_event_tell(struct vb_context *context, int fd)
{
	const uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	(void)n; /* the program closed it: it will not look */
	context->nic->attention = true;
	context->nic->up->wake(context->nic->ctx);
}

void vb_event_taken(int fd)
{
	uint64_t one;
	ssize_t n = 0;

	/* Not if the program read it. */
	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		n = read(fd, &one, sizeof(one));
	else if (!fcntl(fd, F_SETFL, O_NONBLOCK)) {
		n = read(fd, &one, sizeof(one));
		fcntl(fd, F_SETFL, 0);
	}
	(void)n;
}

int vb_event_wait(struct vb_context *context, int fd, const char *call)
{
	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		return -EAGAIN;
	context->nic->attention = false;
	switch (context->nic->ops->wait(context->nic, NULL, NIC_TIME_NEVER)) {
	case NIC_WAIT_HOPELESS:
		say("%s: nothing can bring the event that it waits for", call);
		return -EINTR;
	case NIC_WAIT_INTERRUPTED:
		return -EINTR;
	case NIC_WAIT_RAN:
	case NIC_WAIT_DEADLINE:
		break;
	}
	return 0;
}

/* ---- asynchronous events ---- */

void vb_async_add(struct vb_context *context, const struct ibv_async_event *event)
{
	struct vb_async *entry = malloc(sizeof(*entry));

	if (!entry)
		return; /* as a kernel without memory: the event is lost */
	entry->event = *event;
	TAILQ_INSERT_TAIL(&context->events, entry, link);
	vb_event_tell(context, context->ex.context.async_fd);
}

static const void *element_of(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return event->element.cq;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return event->element.qp;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return event->element.srq;
	default:
		return NULL;
	}
}

void vb_async_forget(struct vb_context *context, const void *element)
{
	struct vb_async *entry, *next;

	for (entry = TAILQ_FIRST(&context->events); entry; entry = next) {
		next = TAILQ_NEXT(entry, link);
		if (element_of(&entry->event) != element)
			continue;
		TAILQ_REMOVE(&context->events, entry, link);
		vb_event_taken(context->ex.context.async_fd);
		free(entry);
	}
}

static uint32_t *given_of(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return &VB_OF(event->element.cq, cq)->given_async;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return &VB_OF(event->element.srq, srq)->given_async;
	default:
		return element_of(event) ? &VB_OF(event->element.qp, qp)->given_async : NULL;
	}
}

VB_NEW(ibv_get_async_event);
int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *event)
{
	struct vb_context *context = vb_enter(ibv);
	struct vb_async *entry;
	uint32_t *given;
	int err = 0;

	while (!err && TAILQ_EMPTY(&context->events))
		err = vb_event_wait(context, ibv->async_fd, "ibv_get_async_event");
	if (err) {
		vb_leave(context);
		errno = -err;
		return -1;
	}
	entry = TAILQ_FIRST(&context->events);
	TAILQ_REMOVE(&context->events, entry, link);
	vb_event_taken(ibv->async_fd);
	*event = entry->event;
	given = given_of(event);
	if (given)
		++*given;
	vb_leave(context);
	free(entry);
	return 0;
}

static void acknowledge_event(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	++*completed;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

VB_NEW(ibv_ack_async_event);
void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_srq *srq = event->element.srq;
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;

	if (!element_of(event))
		return;
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		acknowledge_event(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		acknowledge_event(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	default:
		acknowledge_event(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	}
}

void vb_async_wait(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		   uint32_t given)
{
	pthread_mutex_lock(mutex);
	while (*completed != given)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}
