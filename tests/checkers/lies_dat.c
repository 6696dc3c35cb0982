/* SPDX-License-Identifier: BSD-3-Clause */
/* Library calls that lie to their caller: the linker replaces the real ones by these. */
#include <stdbool.h>
#include <string.h>

#include <dat/udat.h>

#include "tests/checkers/lies.h"

#define WRAP(call, ...)                               \
	extern DAT_RETURN __real_##call(__VA_ARGS__); \
	extern DAT_RETURN __wrap_##call(__VA_ARGS__); \
	DAT_RETURN __wrap_##call(__VA_ARGS__)

static struct {
	DAT_EVENT event;
	bool kept, ep_freed, failed, connects;
	DAT_COUNT most;
	DAT_EP_HANDLE looked_at, completed; /* the EPs of the last query and first completion */
} now;

enum lie lie_of_world(enum lie lie)
{
	return lie; /* a script runs twice */
}

void lie_forget(void)
{
	memset(&now, 0, sizeof(now));
}

WRAP(dat_ep_get_status, DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
     DAT_BOOLEAN *request_idle)
{
	DAT_RETURN ret = __real_dat_ep_get_status(ep, state, recv_idle, request_idle);

	if (ret == DAT_SUCCESS && lie_now() == LIE_STATE && *state == DAT_EP_STATE_DISCONNECTED)
		*state = DAT_EP_STATE_RESERVED;
	if (ret == DAT_SUCCESS && now.failed)
		*state = DAT_EP_STATE_DISCONNECTED;
	if (ret == DAT_SUCCESS && now.connects)
		*state = DAT_EP_STATE_RESERVED;
	now.looked_at = ep;
	return ret;
}

WRAP(dat_ep_connect, DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
     DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
     DAT_CONNECT_FLAGS flags)
{
	DAT_RETURN ret = __real_dat_ep_connect(ep, remote, qual, timeout, size, data, qos, flags);

	now.failed = lie_now() == LIE_FAILED && ret != DAT_SUCCESS;
	now.connects = lie_now() == LIE_JUMP && ret == DAT_SUCCESS;
	return ret;
}

WRAP(dat_ep_free, DAT_EP_HANDLE ep)
{
	now.ep_freed = true;
	return __real_dat_ep_free(ep);
}

WRAP(dat_srq_query, DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	DAT_RETURN ret = __real_dat_srq_query(srq, mask, param);

	if (ret == DAT_SUCCESS && lie_now() == LIE_OUTSTANDING)
		param->outstanding_dto_count++;
	if (ret == DAT_SUCCESS && lie_now() == LIE_LACKING && param->available_dto_count > 0 &&
	    param->available_dto_count < param->outstanding_dto_count)
		param->available_dto_count--;
	if (ret != DAT_SUCCESS)
		return ret;
	now.most = param->available_dto_count > now.most ? param->available_dto_count : now.most;
	if (lie_now() == LIE_MOST)
		param->available_dto_count = now.most;
	param->max_recv_dtos += lie_now() == LIE_MAX;
	param->low_watermark += lie_now() == LIE_LOW;
	param->outstanding_dto_count += now.ep_freed && lie_now() == LIE_KEPT;
	param->outstanding_dto_count -= now.ep_freed && lie_now() == LIE_GONE;
	return ret;
}

WRAP(dat_srq_resize, DAT_SRQ_HANDLE srq, DAT_COUNT size)
{
	DAT_RETURN ret = __real_dat_srq_resize(srq, size);

	return lie_now() == LIE_CLASS ? (DAT_RETURN)DAT_GET_TYPE(ret) : ret;
}

WRAP(dat_pz_create, DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	DAT_RETURN ret = __real_dat_pz_create(ia, pz);

	if (ret != DAT_SUCCESS && lie_now() == LIE_OUTPUT)
		*pz = DAT_HANDLE_NULL;
	return ret;
}

WRAP(dat_get_handle_type, DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	return lie_now() == LIE_SILENT ? DAT_SUCCESS : __real_dat_get_handle_type(handle, type);
}

WRAP(dat_pz_free, DAT_PZ_HANDLE pz)
{
	if (lie_now() == LIE_STUCK)
		return (DAT_RETURN)((DAT_UINT32)DAT_CLASS_ERROR | DAT_INVALID_STATE |
				    DAT_INVALID_STATE_PZ_IN_USE);
	return __real_dat_pz_free(pz);
}

/* The tool closes abruptly only as a last resort, so an abrupt close does not lie. */
WRAP(dat_ia_close, DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	if (lie_now() == LIE_LEFT && flags == DAT_CLOSE_GRACEFUL_FLAG)
		return DAT_SUCCESS;
	return __real_dat_ia_close(ia, flags);
}

/* Does this lie keep the event, to return it later or a second time? */
static bool is_kept(const DAT_EVENT *event)
{
	if (lie_now() == LIE_LATE || lie_now() == LIE_ELSEWHERE)
		return event->event_number == DAT_DTO_COMPLETION_EVENT;
	return lie_now() == LIE_MARK &&
	       ((int)event->event_number == DAT_ASYNC_SRQ_LOW_WATERMARK ||
		(int)event->event_number == DAT_ASYNC_EP_SOFT_HIGH_WATERMARK);
}

/* True: the caller does not get the event now. */
static bool keep_event(const DAT_EVENT *event)
{
	if (now.kept || !is_kept(event))
		return false;
	now.event = *event;
	now.kept = true;
	return lie_now() == LIE_LATE || lie_now() == LIE_ELSEWHERE;
}

static void spoil_completion(DAT_EVENT *event)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	const DAT_DTO_COMPLETION_EVENT_DATA told = *dto;

	if (lie_now() == LIE_LONG)
		dto->transfered_length += 1000;
	if (!now.completed)
		now.completed = dto->ep_handle;
	if (lie_now() == LIE_EP)
		dto->ep_handle = now.completed;
	if (lie_now() != LIE_AS_BIND)
		return;
	event->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
	event->event_data.rmr_completion_event_data =
		(DAT_RMR_BIND_COMPLETION_EVENT_DATA){ .user_cookie = told.user_cookie };
}

static void spoil_bind(DAT_EVENT *event)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA told = event->event_data.rmr_completion_event_data;

	if (lie_now() == LIE_RMR)
		event->event_data.rmr_completion_event_data.rmr_handle = DAT_HANDLE_NULL;
	if (lie_now() != LIE_AS_DTO)
		return;
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->event_data.dto_completion_event_data =
		(DAT_DTO_COMPLETION_EVENT_DATA){ .ep_handle = now.looked_at,
						 .user_cookie = told.user_cookie };
}

static void spoil_event(DAT_EVENT *event)
{
	if (lie_now() == LIE_REASON)
		event->event_data.asynch_error_event_data.reason = 1;
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		spoil_completion(event);
	else if (event->event_number == DAT_RMR_BIND_COMPLETION_EVENT)
		spoil_bind(event);
	if (lie_now() == LIE_EVD)
		event->evd_handle = DAT_HANDLE_NULL;
}

WRAP(dat_evd_dequeue, DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	DAT_RETURN ret = __real_dat_evd_dequeue(evd, event);

	if (ret == DAT_SUCCESS && keep_event(event))
		return DAT_QUEUE_EMPTY;
	if (ret == DAT_SUCCESS)
		spoil_event(event);
	else if (now.event.evd_handle && (lie_now() != LIE_LATE || now.ep_freed) &&
		 (now.event.evd_handle == evd) == (lie_now() != LIE_ELSEWHERE)) {
		*event = now.event;
		event->evd_handle = evd;
		now.event.evd_handle = DAT_HANDLE_NULL;
		return DAT_SUCCESS;
	}
	return ret;
}
