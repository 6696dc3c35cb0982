/* SPDX-License-Identifier: BSD-3-Clause */
/* event.c - events: their queue, their contents, their names. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"
#include "verbs/cm_event.h"
#include "verbs/trace.h"

#define LINE 192

#define SAME(event)                                                      \
	_Static_assert((int)VB_CM_##event == (int)RDMA_CM_EVENT_##event, \
		       "vb.h numbers as the header of librdmacm does")
SAME(CONNECT_REQUEST);
SAME(CONNECT_RESPONSE);
SAME(UNREACHABLE);
SAME(REJECTED);
SAME(ESTABLISHED);
SAME(DISCONNECTED);
SAME(ADDR_ERROR);
SAME(ROUTE_ERROR);
SAME(TIMEWAIT_EXIT);

static void put_line(const struct cm_id *id, const char *format, va_list args)
{
	char text[LINE];

	vsnprintf(text, sizeof(text), format, args);
	if (id->obj.context)
		vb_obj_trace(&id->obj, "%s", text);
	else
		vb_context_trace(vb_context_of(id->device->verbs), "%s", text);
}

void cm_trace(const struct cm_id *id, const char *format, ...)
{
	va_list args;

	if (!id->device || !vb_context_of(id->device->verbs)->nic->tracing)
		return;
	va_start(args, format);
	put_line(id, format, args);
	va_end(args);
}

void cm_note(const struct cm_id *id, const char *format, ...)
{
	va_list args;

	if (!id->device || !vb_note_begin(id->device->verbs))
		return;
	va_start(args, format);
	put_line(id, format, args);
	va_end(args);
	vb_note_end(id->device->verbs);
}

static const char *error_word(int err)
{
	const char *name = strerrorname_np(err < 0 ? -err : err);

	return name ? name : "?";
}

void cm_trace_refusal(const struct cm_id *id, const char *call, int err)
{
	if (err)
		cm_trace(id, "refuse call=%s error=%s", call, error_word(err));
}

void cm_device_refuse(const struct cm_device *device, const char *call, int err)
{
	if (err && device)
		vb_context_trace(vb_context_of(device->verbs), "refuse call=%s error=%s", call,
				 error_word(err));
}

int cm_told(const struct cm_id *id, const char *call, int err)
{
	if (err)
		cm_note(id, "refuse call=%s error=%s", call, error_word(err));
	else
		cm_note(id, "%s", call);
	return cm_result(err);
}

void cm_trace_event(const struct cm_event *event, const char *verb)
{
	cm_trace(cm_id_of(event->event.id), "%s number=%s status=%d", verb,
		 rdma_event_str(event->event.event), event->event.status);
}

struct cm_event *cm_event_add(struct cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct cm_channel *channel = cm_channel_of(id);
	struct cm_event *event = channel->dead ? NULL : calloc(1, sizeof(*event));

	if (!event)
		return NULL; /* as a kernel without memory: the event is lost */
	event->of = id;
	event->event.id = &id->base;
	event->event.event = type;
	event->event.status = status;
	/* A request's id is set by the caller. */
	if (type != RDMA_CM_EVENT_CONNECT_REQUEST)
		cm_trace_event(event, "event");
	TAILQ_INSERT_TAIL(&channel->events, event, link);
	vb_event_tell(cm_backend(), channel->base.fd);
	return event;
}

uint8_t cm_event_copy_data(struct cm_event *event, const struct nic_conn_param *param,
			   uint32_t room)
{
	uint32_t size = param->private_data_size < CM_DATA_MAX ? param->private_data_size
							       : CM_DATA_MAX - 1;

	if (size)
		memcpy(event->data, param->private_data, size);
	/* InfiniBand does not say how many bytes of its packet the peer's program filled. */
	if (size < room && !vb_setting_iwarp())
		size = room;
	return (uint8_t)size;
}

void cm_event_set_data(struct cm_event *event, const struct nic_conn_param *param)
{
	bool asks = event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST;
	uint8_t size = cm_event_copy_data(event, param, asks ? CM_CONNECT_DATA : CM_ACCEPT_DATA);

	event->event.param.conn = (struct rdma_conn_param){
		.private_data = size ? event->data : NULL,
		.private_data_len = size,
		/* What this side may start is what the peer serves, and the other way round. */
		.responder_resources = (uint8_t)param->rd_out,
		.initiator_depth = (uint8_t)param->rd_in,
		.flow_control = 1,
		.retry_count = param->by.retry,
		.rnr_retry_count = param->by.rnr_retry,
		.qp_num = param->by.qp,
	};
}

/* The id of a request that was not fetched is unknown to the program. */
void cm_event_drop(struct cm_event *event)
{
	struct cm_id *child = cm_id_of(event->event.id);

	if (event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		cm_drop(child);
		child->device->users--; /* the listener has it, too */
		child->device = NULL;
		cm_id_free(child);
	}
	free(event);
}

void cm_event_move(struct cm_id *id, struct cm_channel *from, struct cm_channel *to)
{
	struct cm_event *event, *next;

	for (event = TAILQ_FIRST(&from->events); event; event = next) {
		next = TAILQ_NEXT(event, link);
		if (event->of != id)
			continue;
		TAILQ_REMOVE(&from->events, event, link);
		vb_event_taken(from->base.fd);
		if (to && event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
			event->event.id->channel = &to->base;
		if (to) {
			TAILQ_INSERT_TAIL(&to->events, event, link);
			vb_event_tell(cm_backend(), to->base.fd);
		} else {
			cm_event_drop(event);
		}
	}
}

void cm_event_drop_group(struct cm_id *id, const struct cm_group *group)
{
	struct cm_channel *channel = cm_channel_of(id);
	struct cm_event *event, *next;

	for (event = TAILQ_FIRST(&channel->events); event; event = next) {
		next = TAILQ_NEXT(event, link);
		if (event->group != group)
			continue;
		TAILQ_REMOVE(&channel->events, event, link);
		vb_event_taken(channel->base.fd);
		free(event);
	}
}

static void unlock_cancelled(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

void cm_await_acked(struct cm_id *id, const uint32_t *acked, const uint32_t *given)
{
	pthread_mutex_lock(&id->mutex);
	pthread_cleanup_push(unlock_cancelled, &id->mutex);
	while (*acked != *given)
		pthread_cond_wait(&id->cond, &id->mutex);
	pthread_cleanup_pop(1);
}

void cm_event_wait_acked(struct cm_id *id)
{
	cm_await_acked(id, &id->acked, &id->given);
}

const char *rdma_event_str(enum rdma_cm_event_type type)
{
	static const char *const names[] = {
		[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
		[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
		[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
		[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
		[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
		[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
		[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
		[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
		[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
		[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
		[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
		[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
		[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
		[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
		[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
		[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
	};

	return (unsigned int)type < sizeof(names) / sizeof(names[0]) ? names[type]
								     : "UNKNOWN EVENT";
}
