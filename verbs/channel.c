/* SPDX-License-Identifier: BSD-3-Clause */
/* channel.c - completion channels: which CQs have an event to fetch. */
#include <stdlib.h>

#include "gone.h"
#include "host/nic_process.h"
#include "trace.h"
#include "vb.h"
#include "wait.h"

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ibv)
{
	struct vb_channel *channel;
	struct vb_context *context;
	int err;

	if (vb_is_gone(ibv))
		return vb_failed(-EINVAL);
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return vb_failed(-ENOMEM);
	context = vb_enter(ibv);
	err = vb_fault(context, NULL, VB_CALL_CREATE_CHANNEL);
	channel->ibv = (struct ibv_comp_channel){ .context = ibv, .fd = err ? -1 : vb_event_fd() };
	if (channel->ibv.fd < 0) {
		err = err ? err : -errno;
		vb_context_refuse(context, "ibv_create_comp_channel", err);
		vb_leave(context);
		free(channel);
		return vb_failed(err);
	}
	STAILQ_INIT(&channel->ready);
	vb_obj_add(context, &channel->obj, VB_CHANNEL);
	vb_obj_trace(&channel->obj, "create");
	vb_event_helper(vb_backend(context));
	vb_leave(context);
	return &channel->ibv;
}

void vb_channel_discard(struct vb_channel *channel)
{
	if (channel->left)
		TAILQ_REMOVE(&channel->obj.context->objects, &channel->obj, link);
	else
		vb_obj_remove(&channel->obj);
	vb_event_tell(vb_backend(channel->obj.context), channel->ibv.fd); /* who waits there */
	process_close(channel->ibv.fd);
	vb_gone(channel, &channel->ibv.context);
}

/*
 * Threads that wait for the channel sleep on, as in a read from a descriptor that another thread
 * has closed. The kernel keeps the file for them, and ends their reads with the device.
 */
static void leave_to_waiters(struct vb_channel *channel)
{
	vb_obj_remove(&channel->obj);
	TAILQ_INSERT_TAIL(&channel->obj.context->objects, &channel->obj, link);
	channel->left = true;
	vb_gone_alone(&channel->ibv.context);
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ibv)
{
	struct vb_context *context;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	if (ibv->refcnt > 0)
		return vb_result(context, vb_refuse(&VB_OF(ibv, channel)->obj,
						    "ibv_destroy_comp_channel", -EBUSY));
	if (VB_OF(ibv, channel)->obj.users > 0)
		leave_to_waiters(VB_OF(ibv, channel));
	else
		vb_channel_discard(VB_OF(ibv, channel));
	return vb_result(context, 0);
}

struct waiter {
	struct vb_stay stay;
	struct vb_channel *channel;
};

/* The lock is held. False: the device was closed, and its channels with it. */
static bool end_wait(struct waiter *waiter)
{
	bool closed;

	if (!vb_stays(&waiter->stay, &closed))
		return false;
	if (--waiter->channel->obj.users == 0 && waiter->channel->left)
		vb_channel_discard(waiter->channel);
	return true;
}

static void end_cancelled(void *waiter)
{
	struct backend *b = ((struct waiter *)waiter)->stay.b;

	backend_enter(b);
	end_wait(waiter);
	backend_leave(b);
}

/* The lock is held, and after an error released. */
static int await_event(struct vb_context *context, struct vb_channel *channel)
{
	struct waiter waiter = { vb_stay_in(context, &channel->obj), channel };
	struct backend *b = waiter.stay.b;
	bool closed = false;
	int err = 0;

	channel->obj.users++;
	pthread_cleanup_push(end_cancelled, &waiter);
	while (!err && !closed && STAILQ_EMPTY(&channel->ready)) {
		err = vb_event_wait(b, channel->ibv.fd, "ibv_get_cq_event");
		vb_stays(&waiter.stay, &closed);
	}
	pthread_cleanup_pop(0);
	if (!end_wait(&waiter))
		err = -EIO;
	if (err)
		backend_leave(b);
	return err;
}

VB_NEW(ibv_get_cq_event);
int ibv_get_cq_event(struct ibv_comp_channel *ibv, struct ibv_cq **out, void **cq_context)
{
	struct vb_channel *channel = VB_OF(ibv, channel);
	struct vb_context *context;
	struct vb_cq *cq;
	int err;

	if (vb_is_gone(ibv->context)) {
		errno = EINVAL;
		return -1;
	}
	context = vb_enter(ibv->context);
	err = await_event(context, channel);
	if (err) {
		errno = -err;
		return -1;
	}
	cq = STAILQ_FIRST(&channel->ready);
	STAILQ_REMOVE_HEAD(&channel->ready, ready_link);
	if (--cq->events > 0)
		STAILQ_INSERT_TAIL(&channel->ready, cq, ready_link);
	vb_event_taken(ibv->fd);
	cq->given++;
	vb_obj_trace(&cq->obj, "ibv_get_cq_event");
	*out = &cq->ibv;
	*cq_context = cq->ibv.cq_context;
	vb_leave(context);
	return 0;
}

VB_NEW(ibv_ack_cq_events);
void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	if (vb_note_begin(cq->context)) {
		vb_obj_trace(&VB_OF(cq, cq)->obj, "ibv_ack_cq_events count=%u", n);
		vb_note_end(cq->context);
	}
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
