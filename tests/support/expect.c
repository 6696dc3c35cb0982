/* SPDX-License-Identifier: BSD-3-Clause */
/* Expectations. A failure reports the position in the test, the expected and the actual value. */
#include "tests/support/support.h"

/* ---- values as words ---- */

const char *ret_text(DAT_RETURN ret)
{
	static char text[4][160];
	static unsigned int turn;
	char *out = text[turn++ % COUNT(text)];
	const char *major = "?", *minor = "?";

	(void)dat_strerror(ret, &major, &minor);
	snprintf(out, sizeof(text[0]), "%#010x (%s, %s)", ret, major, minor);
	return out;
}

bool is_failure(DAT_RETURN ret, DAT_UINT32 type, DAT_UINT32 subtype)
{
	if (subtype != ANY_SUBTYPE)
		return ret == (DAT_CLASS_ERROR | type | subtype);
	return (ret & (DAT_CLASS_ERROR | DAT_CLASS_WARNING)) == DAT_CLASS_ERROR &&
	       DAT_GET_TYPE(ret) == type;
}

const char *event_text(const DAT_EVENT *event)
{
	static char text[4][160];
	static unsigned int turn;
	char *out = text[turn++ % COUNT(text)];
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	const DAT_ASYNCH_ERROR_EVENT_DATA *async = &event->event_data.asynch_error_event_data;
	int used;

	used = snprintf(out, sizeof(text[0]), "event %#x", (unsigned int)event->event_number);
	if (event->event_number == DAT_DTO_COMPLETION_EVENT)
		snprintf(out + used, sizeof(text[0]) - (size_t)used,
			 " (cookie %llu, status %d, length %llu)",
			 (unsigned long long)dto->user_cookie.as_64, (int)dto->status,
			 (unsigned long long)dto->transfered_length);
	if (((unsigned int)event->event_number & 0xff000) == 0x8000)
		snprintf(out + used, sizeof(text[0]) - (size_t)used, " (reason %d)", async->reason);
	return out;
}

/* ---- events ---- */

DAT_EVENT expect_event_(const char *where, DAT_EVD_HANDLE evd, int number)
{
	DAT_UINT64 until = 0;
	DAT_EVENT event;
	DAT_RETURN ret;

	memset(&event, 0xee, sizeof(event));
	do
		ret = dat_evd_dequeue(evd, &event);
	while (ret == DAT_QUEUE_EMPTY && device_again(&until));
	ck_assert_msg(ret == DAT_SUCCESS, "%s: expected event %#x, but dequeue gave %s", where,
		      (unsigned int)number, ret_text(ret));
	ck_assert_msg((int)event.event_number == number, "%s: expected event %#x, got %s", where,
		      (unsigned int)number, event_text(&event));
	ck_assert_msg(event.evd_handle == evd, "%s: the event names another EVD", where);
	return event;
}

/* Ruling G1: an empty queue is DAT_QUEUE_EMPTY without the class bit. */
void expect_no_event_(const char *where, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_dequeue(evd, &event);

	ck_assert_msg(ret != DAT_SUCCESS, "%s: expected no event, got %s", where,
		      event_text(&event));
	ck_assert_msg(ret == DAT_QUEUE_EMPTY, "%s: expected a bare DAT_QUEUE_EMPTY, got %s", where,
		      ret_text(ret));
}

DAT_EVENT expect_dto_(const char *where, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, int n,
		      DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event = expect_event_(where, evd, DAT_DTO_COMPLETION_EVENT);
	DAT_DTO_COMPLETION_EVENT_DATA *data = &event.event_data.dto_completion_event_data;

	ck_assert_msg(data->user_cookie.as_64 == (DAT_UINT64)n && data->status == status,
		      "%s: expected a completion with cookie %d, status %d; got %s", where, n,
		      (int)status, event_text(&event));
	ck_assert_msg(data->ep_handle == ep, "%s: the completion is another EP's", where);
	return event;
}

void expect_bind_(const char *where, DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, int n,
		  DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event = expect_event_(where, evd, DAT_RMR_BIND_COMPLETION_EVENT);
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *data = &event.event_data.rmr_completion_event_data;

	ck_assert_msg(data->user_cookie.as_64 == (DAT_UINT64)n && data->status == status,
		      "%s: expected cookie %d, status %d; got %llu, %d", where, n, (int)status,
		      (unsigned long long)data->user_cookie.as_64, (int)data->status);
	ck_assert_msg(data->rmr_handle == rmr, "%s: the completion is another RMR's", where);
}

DAT_EVENT expect_connection_(const char *where, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, int number)
{
	DAT_EVENT event = expect_event_(where, evd, number);

	ck_assert_msg(event.event_data.connect_event_data.ep_handle == ep,
		      "%s: the event is another EP's", where);
	return event;
}

DAT_EVENT expect_async_(const char *where, DAT_EVD_HANDLE evd, int number, DAT_HANDLE handle,
			int reason)
{
	DAT_EVENT event = expect_event_(where, evd, number);
	DAT_ASYNCH_ERROR_EVENT_DATA *data = &event.event_data.asynch_error_event_data;

	ck_assert_msg(data->dat_handle == handle, "%s: the event is another object's", where);
	ck_assert_msg(data->reason == reason, "%s: expected reason %d, got %d", where, reason,
		      data->reason);
	return event;
}

DAT_CR_HANDLE expect_request_(const char *where, DAT_EVD_HANDLE evd, DAT_PSP_HANDLE psp)
{
	DAT_EVENT event = expect_event_(where, evd, DAT_CONNECTION_REQUEST_EVENT);
	DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

	ck_assert_msg(data->sp_handle.psp_handle == psp, "%s: the request is another listener's",
		      where);
	return data->cr_handle;
}

/* ---- notifications ---- */

void expect_notified_(const char *where, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE expected)
{
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&w;
	DAT_RETURN ret = dat_cno_wait(cno, device ? device_patience_us() : 0, &evd);

	ck_assert_msg(ret == DAT_SUCCESS, "%s: expected a notification, got %s", where,
		      ret_text(ret));
	ck_assert_msg(evd == expected, "%s: another EVD notified", where);
}

void expect_silence_(const char *where, DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)&w;
	DAT_RETURN ret = dat_cno_wait(cno, 0, &evd);

	ck_assert_msg(ret == DAT_QUEUE_EMPTY, "%s: expected a bare DAT_QUEUE_EMPTY, got %s", where,
		      ret_text(ret));
	ck_assert_msg(evd == NO_HANDLE, "%s: the handle is not NULL", where);
}

/* ---- objects ---- */

void expect_state_(const char *where, DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
	DAT_EP_STATE actual = (DAT_EP_STATE)-1;
	DAT_UINT64 until = 0;
	DAT_RETURN ret;

	do
		ret = dat_ep_get_status(ep, &actual, NULL, NULL);
	while (ret == DAT_SUCCESS && actual != state && device_again(&until));
	ck_assert_msg(ret == DAT_SUCCESS, "%s: dat_ep_get_status: %s", where, ret_text(ret));
	ck_assert_msg(actual == state, "%s: expected EP state %d, got %d", where, (int)state,
		      (int)actual);
}

void expect_recv_counts_(const char *where, DAT_EP_HANDLE ep, DAT_COUNT nbufs, DAT_COUNT span)
{
	DAT_COUNT actual_nbufs = -77, actual_span = -77;
	DAT_UINT64 until = 0;
	DAT_RETURN ret;

	do
		ret = dat_ep_recv_query(ep, &actual_nbufs, &actual_span);
	while (ret == DAT_SUCCESS && (actual_nbufs != nbufs || actual_span != span) &&
	       device_again(&until));
	ck_assert_msg(ret == DAT_SUCCESS, "%s: dat_ep_recv_query: %s", where, ret_text(ret));
	ck_assert_msg(actual_nbufs == nbufs && actual_span == span,
		      "%s: expected %d buffers over %d messages, got %d over %d", where, nbufs,
		      span, actual_nbufs, actual_span);
}

void srq_counts_(const char *where, DAT_SRQ_HANDLE srq, DAT_COUNT max, DAT_COUNT available,
		 DAT_COUNT outstanding)
{
	DAT_SRQ_PARAM param;
	DAT_UINT64 until = 0;
	DAT_RETURN ret;

	memset(&param, 0xee, sizeof(param));
	do
		ret = dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param);
	while (ret == DAT_SUCCESS &&
	       (param.available_dto_count != available ||
		param.outstanding_dto_count != outstanding) &&
	       device_again(&until));
	ck_assert_msg(ret == DAT_SUCCESS, "%s: dat_srq_query: %s", where, ret_text(ret));
	ck_assert_msg(param.max_recv_dtos == max && param.available_dto_count == available &&
			      param.outstanding_dto_count == outstanding,
		      "%s: expected max/available/outstanding %d/%d/%d, got %d/%d/%d", where, max,
		      available, outstanding, param.max_recv_dtos, param.available_dto_count,
		      param.outstanding_dto_count);
}

/* ---- queues ---- */

int drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	int n = 0;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		n++;
	return n;
}

void post_se(DAT_EVD_HANDLE evd, int n)
{
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)n;
	must(dat_evd_post_se(evd, &event));
}

int stuff(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN ret;
	int n = 0;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	while ((ret = dat_evd_post_se(evd, &event)) == DAT_SUCCESS)
		n++;
	ck_assert_msg(is_failure(ret, DAT_QUEUE_FULL, ANY_SUBTYPE), "expected a full queue, got %s",
		      ret_text(ret));
	return n;
}
