/* SPDX-License-Identifier: BSD-3-Clause */
/* `event` and `no event` lines: the event that an EVD has to deliver, and when. */
#include "world.h"

#include <string.h>

#include "device.h"

bool run_dequeue(struct run *run, int evd, DAT_EVENT *event, bool *got)
{
	struct object *object = &run->objects[evd];
	struct text actual = { 0 };
	DAT_RETURN ret;

	ret = dat_evd_dequeue(object->handle, event);
	*got = ret == DAT_SUCCESS;
	if (*got) {
		if (object->surfaced_count)
			memmove(object->surfaced, object->surfaced + 1,
				--object->surfaced_count * sizeof(*object->surfaced));
		return ledger_event(run, evd, event);
	}
	if (ret == DAT_QUEUE_EMPTY)
		return true;
	text_add(&actual, "dat_evd_dequeue = ");
	text_result(&actual, ret);
	return run_fail(run, EXIT_FAILED, NULL, &actual, "the EVD cannot be read");
}

/* ---- an event as a script would write it ---- */

static void text_evd(const struct run *run, struct text *text, const char *what)
{
	const struct statement *st = run->st;

	text_add(text, "%s: %s ", run->script->actors[st->actor_index].name, what);
	text_handle(run, text, st->actor_index, run->objects[st->event.evd->symbol].handle);
}

static void text_event(const struct run *run, struct text *text, const DAT_EVENT *event)
{
	const struct layout *layout = layout_of_event(event->event_number);
	const struct member *member = layout->members;
	bool dto = event->event_number == DAT_DTO_COMPLETION_EVENT;
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;

	text_evd(run, text, "event");
	text_add(text, " ");
	group_print(text, GROUP_EVENT, event->event_number, false, sizeof(event->event_number));
	if (member->kind == MEMBER_HANDLE) {
		text_add(text, " ");
		text_handle(run, text, run->st->actor_index,
			    (DAT_HANDLE)(uintptr_t)member_get(member, event));
	}
	if (dto && data->status == DAT_DTO_SUCCESS)
		text_add(text, " length=%llu", (unsigned long long)data->transfered_length);
	else if (dto) {
		text_add(text, " ");
		print_member(run, text, layout_find(layout, "status"), event);
	}
}

/* Only the fields that the script names, so that both lines differ only where the values differ. */
static void text_event_asked(const struct run *run, struct text *text, const DAT_EVENT *event,
			     struct text *fields)
{
	const struct event *wanted = &run->st->event;
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	const struct setting *setting;
	bool asks_status = false;

	for (setting = wanted->wanted; setting; setting = setting->next)
		asks_status |= !strcmp(setting->key, "status");
	text_evd(run, text, "event");
	text_add(text, " ");
	group_print(text, GROUP_EVENT, event->event_number, false, sizeof(event->event_number));
	if (wanted->object) {
		text_add(text, " ");
		text_handle(run, text, run->st->actor_index,
			    (DAT_HANDLE)(uintptr_t)member_get(wanted->layout->members, event));
	}
	if (event->event_number == DAT_DTO_COMPLETION_EVENT && data->status != DAT_DTO_SUCCESS &&
	    !asks_status) {
		text_add(text, " ");
		print_member(run, text, layout_find(wanted->layout, "status"), event);
	}
	if (fields->length)
		text_add(text, " %s", text_of(fields));
}

/* ---- matching ---- */

/* W1: the reason field of a watermark event. */
static bool reason_fits(const DAT_EVENT *event)
{
	DAT_COUNT reason = event->event_data.asynch_error_event_data.reason;

	switch ((int)event->event_number) {
	case DAT_ASYNC_SRQ_LOW_WATERMARK:
		return reason == DAT_SRQ_LOW_WATERMARK_EVENT;
	case DAT_ASYNC_EP_SOFT_HIGH_WATERMARK:
		return reason == DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT;
	default:
		return true;
	}
}

static bool check_event_itself(struct run *run, const DAT_EVENT *event)
{
	DAT_EVD_HANDLE evd = run->objects[run->st->event.evd->symbol].handle;
	struct text expected = { 0 }, actual = { 0 };

	if (!reason_fits(event)) {
		text_add(&expected, "the reason that goes with the event (ruling W1)");
		text_add(&actual, "reason=%d", event->event_data.asynch_error_event_data.reason);
	} else if (event->evd_handle != evd) {
		text_add(&expected, "evd_handle of the EVD it came from");
		text_handle(run, &actual, run->st->actor_index, event->evd_handle);
	} else {
		return true;
	}
	return run_fail(run, EXIT_CHECKER, &expected, &actual, "an event with wrong data");
}

static bool status_fits(const struct event *wanted, const DAT_EVENT *event)
{
	const struct setting *setting;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		return true;
	for (setting = wanted->wanted; setting; setting = setting->next) {
		if (!strcmp(setting->key, "status"))
			return true; /* matched with the other fields */
	}
	return event->event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

static bool object_fits(const struct run *run, const struct event *wanted, const DAT_EVENT *event)
{
	return !wanted->object ||
	       (DAT_HANDLE)(uintptr_t)member_get(wanted->layout->members, event) ==
		       value_handle(run, wanted->object);
}

static bool check_event(struct run *run, const DAT_EVENT *event)
{
	const struct event *wanted = &run->st->event;
	struct text actual = { 0 }, fields = { 0 };
	bool same = event->event_number == wanted->number->number;

	/* The ordinary case needs no text of the event. */
	if (same && status_fits(wanted, event) && object_fits(run, wanted, event) &&
	    settings_fit(run, wanted->wanted, 0, event))
		return check_event_itself(run, event);
	if (!same) {
		text_event(run, &actual, event);
	} else {
		same = match_settings(run, wanted->wanted, 0, event, &fields, " ") &&
		       status_fits(wanted, event) && object_fits(run, wanted, event);
		text_event_asked(run, &actual, event, &fields);
	}
	text_free(&fields);
	if (same) {
		text_free(&actual);
		return check_event_itself(run, event);
	}
	return run_fail(run, EXIT_FAILED, NULL, &actual, "another event came");
}

/* ---- waiting for it ---- */

static bool no_event_came(struct run *run, uint64_t until_ns)
{
	struct text actual = { 0 };

	text_evd(run, &actual, "no event");
	text_add(&actual, " until ");
	text_time(&actual, until_ns);
	return run_fail(run, EXIT_FAILED, NULL, &actual, "the event did not come");
}

static bool wrong_moment(struct run *run, uint64_t came_ns, const DAT_EVENT *event)
{
	struct text actual = { 0 };

	text_time(&actual, came_ns);
	text_add(&actual, " ");
	text_event(run, &actual, event);
	return run_fail(run, EXIT_FAILED, NULL, &actual, "the event came at another time");
}

uint64_t run_limit(const struct run *run)
{
	const struct statement *st = run->st->next;

	while (st && !run->real && st->when.kind == WHEN_DEFAULT)
		st = st->next;
	if (st && !run->real && st->when.kind == WHEN_AT && !st->when.relative)
		return st->when.from_ns;
	return run_now(run) + (run->real ? DEVICE_PATIENCE_NS * run->slow : BUSY_LIMIT_NS);
}

static bool step_until_event(struct run *run, int evd, uint64_t limit_ns, DAT_EVENT *event,
			     bool *got)
{
	bool stepped = true;
	int i;

	for (i = 0; i < BUSY_LIMIT_STEPS && stepped; i++) {
		if (!run_dequeue(run, evd, event, got))
			return false;
		if (*got)
			return true;
		if (!run_step(run, limit_ns, &stepped))
			return false;
	}
	return true;
}

/* A moment or a range: the clock advances there, and run_watch records when each event arrived. */
static bool await_moment(struct run *run, const struct when *when, int evd, DAT_EVENT *event,
			 bool *got)
{
	uint64_t base = when->relative ? run->previous_ns : 0;
	uint64_t from = base + when->from_ns, to = base + when->to_ns, came;
	bool stepped = true;

	*got = false;
	if (!run_until(run, from))
		return false;
	while (stepped && !run_surfaced(run, evd, &came)) {
		if (!run_step(run, to, &stepped))
			return false;
	}
	if (!run_surfaced(run, evd, &came))
		return run_until(run, to);
	if (!run_dequeue(run, evd, event, got))
		return false;
	return (came >= from && came <= to) || wrong_moment(run, came, event);
}

static bool await_event(struct run *run, const struct statement *st, DAT_EVENT *event)
{
	int evd = st->event.evd->symbol;
	uint64_t limit = run_now(run);
	bool got = false, good = true;

	/* On a device, an event that a fabric delivers at once takes a moment. */
	switch (run->real ? WHEN_ANY : st->when.kind) {
	case WHEN_DEFAULT:
		good = run_dequeue(run, evd, event, &got);
		break;
	case WHEN_ANY:
		limit = run_limit(run);
		good = step_until_event(run, evd, limit, event, &got);
		break;
	case WHEN_AT:
	case WHEN_WITHIN:
		good = await_moment(run, &st->when, evd, event, &got);
		break;
	}
	if (!good)
		return false;
	return got || no_event_came(run, run_now(run));
}

/* Remember the connection request: it has to be answered in the end. */
static void keep_request(struct run *run, const DAT_EVENT *event)
{
	if (event->event_number == DAT_CONNECTION_REQUEST_EVENT)
		run_stray(run, event->event_data.cr_arrival_event_data.cr_handle,
			  DAT_HANDLE_TYPE_CR);
}

static void name_request(struct run *run, const DAT_EVENT *event)
{
	const struct target *target = run->st->event.targets;
	DAT_CR_HANDLE cr = event->event_data.cr_arrival_event_data.cr_handle;

	if (event->event_number != DAT_CONNECTION_REQUEST_EVENT)
		return;
	if (target && target->symbol >= 0)
		object_made(run, target->symbol, cr);
	else
		run_stray(run, cr, DAT_HANDLE_TYPE_CR);
}

static bool run_absent(struct run *run, const struct statement *st)
{
	struct text actual = { 0 };
	uint64_t base = st->when.relative ? run->previous_ns : 0;
	DAT_EVENT event;
	bool got;

	if (st->when.kind == WHEN_AT && !run_until(run, base + st->when.from_ns))
		return false;
	if (st->when.kind == WHEN_ANY && !run_until_quiet(run))
		return false;
	run_settle(run);
	if (!run_dequeue(run, st->event.evd->symbol, &event, &got))
		return false;
	if (!got)
		return true;
	text_event(run, &actual, &event);
	return run_fail(run, EXIT_FAILED, NULL, &actual, "an event came");
}

bool run_event(struct run *run, const struct statement *st)
{
	DAT_EVENT event;

	if (st->event.absent)
		return run_absent(run, st);
	for (run->turn = 1; run->turn <= st->repeat; run->turn++) {
		if (!await_event(run, st, &event))
			return false;
		if (!check_event(run, &event)) {
			keep_request(run, &event);
			return false;
		}
		name_request(run, &event);
	}
	return true;
}
