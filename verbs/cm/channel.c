/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channel.c - event channels: the descriptor, the queue, fetching and acknowledging.
 *
 * A thread may be blocked in rdma_get_cm_event when another destroys the channel: real programs end
 * like that. With the real library the thread then never returns, and so it does here.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cm.h"
#include "host/nic_process.h"
#include "verbs/gone.h"
#include "verbs/wait.h"

/* The channel of ids whose own was destroyed. */
static struct cm_channel nowhere = { .base = { .fd = -1 },
				     .events = TAILQ_HEAD_INITIALIZER(nowhere.events),
				     .dead = true };

struct cm_channel *cm_channel_make(void)
{
	struct cm_channel *channel = calloc(1, sizeof(*channel));
	int err;

	if (!channel)
		return vb_failed(-ENOMEM);
	channel->base.fd = vb_event_fd();
	if (channel->base.fd < 0) {
		err = -errno;
		free(channel);
		return vb_failed(err);
	}
	TAILQ_INIT(&channel->events);
	return channel;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct cm_channel *channel;
	int err = cm_begin();

	if (err)
		return vb_failed(err);
	channel = cm_channel_make();
	return channel ? &channel->base : NULL;
}

/*
 * A kernel ends the ids of a channel that is closed: no event of theirs has anywhere to go. They
 * are left to be destroyed.
 */
static void end_ids(struct cm_channel *channel)
{
	struct cm_id *id = NULL;

	while ((id = cm_id_next(id)) != NULL) {
		if (cm_channel_of(id) != channel)
			continue;
		id->base.channel = &nowhere.base;
		cm_listen_stop(id, true);
		cm_drop(id);
		id->state = CM_OVER;
	}
}

void rdma_destroy_event_channel(struct rdma_event_channel *base)
{
	struct cm_channel *channel = (struct cm_channel *)base;
	struct cm_event *event;
	bool waited;

	if (channel->dead)
		return;
	cm_enter();
	while ((event = TAILQ_FIRST(&channel->events)) != NULL) {
		TAILQ_REMOVE(&channel->events, event, link);
		cm_event_drop(event);
	}
	end_ids(channel);
	process_close(base->fd);
	channel->dead = true;
	waited = channel->waiters > 0;
	cm_leave();
	if (!waited)
		vb_gone(channel, &channel->gone);
}

static void __attribute__((noreturn)) sleep_forever(void)
{
	cm_leave();
	for (;;)
		pause();
}

static void end_wait(struct cm_channel *channel)
{
	if (--channel->waiters == 0 && channel->dead)
		vb_gone(channel, &channel->gone);
}

static void end_cancelled(void *channel)
{
	cm_enter();
	end_wait(channel);
	cm_leave();
}

/* The lock is held. */
static int await_event(struct cm_channel *channel)
{
	int err = 0;

	while (!err && TAILQ_EMPTY(&channel->events)) {
		channel->waiters++;
		pthread_cleanup_push(end_cancelled, channel);
		err = vb_event_wait(cm_backend(), channel->base.fd, "rdma_get_cm_event");
		pthread_cleanup_pop(0);
		if (channel->dead) {
			end_wait(channel);
			sleep_forever();
		}
		end_wait(channel);
	}
	return err;
}

/* The first event leaves the queue. The lock is held. */
static struct cm_event *take_event(struct cm_channel *channel)
{
	struct cm_event *event = TAILQ_FIRST(&channel->events);

	TAILQ_REMOVE(&channel->events, event, link);
	vb_event_taken(channel->base.fd);
	event->of->given++;
	if (event->group)
		event->group->given++;
	if (event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		event->of->backlog++;
	/* What an answer turns out to be: reply.c. */
	if (event->event.event != RDMA_CM_EVENT_CONNECT_RESPONSE || cm_answer_stays(event->of))
		cm_trace_event(event, "rdma_get_cm_event");
	return event;
}

int rdma_get_cm_event(struct rdma_event_channel *base, struct rdma_cm_event **out)
{
	struct cm_channel *channel = (struct cm_channel *)base;
	struct cm_event *event;
	int err;

	if (!out || !base)
		return cm_fail(EINVAL);
	do {
		cm_enter();
		err = channel->dead ? -EINVAL : await_event(channel);
		if (err)
			return cm_leave_with(err);
		event = take_event(channel);
		cm_leave();
	} while (!cm_finish(event->of, event));
	*out = &event->event;
	return 0;
}

/* The id stays until all its events are acknowledged. */
void cm_event_acknowledge(struct rdma_cm_event *base)
{
	struct cm_event *event = (struct cm_event *)base;
	struct cm_group *group = event->group;
	struct cm_id *id = event->of;

	free(event);
	pthread_mutex_lock(&id->mutex);
	id->acked++;
	if (group)
		group->acked++;
	pthread_cond_broadcast(&id->cond);
	pthread_mutex_unlock(&id->mutex);
}

int rdma_ack_cm_event(struct rdma_cm_event *base)
{
	if (!base)
		return cm_fail(EINVAL);
	cm_note(((struct cm_event *)base)->of, "rdma_ack_cm_event number=%s",
		rdma_event_str(base->event));
	cm_event_acknowledge(base);
	return 0;
}

int cm_complete(struct cm_id *id)
{
	const struct rdma_cm_event *event;

	if (!id->sync)
		return 0;
	if (id->base.event)
		cm_event_acknowledge(id->base.event);
	id->base.event = NULL;
	if (rdma_get_cm_event(id->base.channel, &id->base.event))
		return -1;
	event = id->base.event;
	if (!event->status)
		return 0;
	return cm_fail(event->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : event->status);
}
