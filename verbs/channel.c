/* SPDX-License-Identifier: BSD-3-Clause */
/* channel.c - completion channels: which CQs have an event to fetch. */
#include <stdlib.h>

#include "gone.h"
#include "host/nic_process.h"
#include "trace.h"
#include "vb.h"

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
	vb_obj_remove(&channel->obj);
	vb_event_tell(vb_backend(channel->obj.context), channel->ibv.fd); /* who waits there */
	process_close(channel->ibv.fd);
	vb_gone(channel, &channel->ibv.context);
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
	vb_channel_discard(VB_OF(ibv, channel));
	return vb_result(context, 0);
}

/*
 * The lock is held, and after an error released. The kernel ends a wait for a channel with its
 * device, and not if the channel alone is destroyed.
 */
static int await_event(struct vb_context *context, struct vb_channel *channel)
{
	struct vb_stay stay = vb_stay_in(context, &channel->obj);
	bool closed;
	int err = 0;

	while (!err && STAILQ_EMPTY(&channel->ready)) {
		err = vb_event_wait(stay.b, channel->ibv.fd, "ibv_get_cq_event");
		if (vb_stays(&stay, &closed))
			continue;
		if (!closed)
			vb_sleep_forever(stay.b);
		err = -EIO;
	}
	if (err)
		backend_leave(stay.b);
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
