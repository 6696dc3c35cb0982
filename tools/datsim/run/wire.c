/* SPDX-License-Identifier: BSD-3-Clause */
/* `hold`, `release`, `link`: lines that control the wire. */
#include "world.h"

#include <string.h>

static bool wire_failed(struct run *run, const char *call, DAT_RETURN ret)
{
	struct text actual = { 0 };

	if (ret == DAT_SUCCESS)
		return true;
	text_add(&actual, "%s = ", call);
	text_result(&actual, ret);
	return run_fail(run, EXIT_FAILED, NULL, &actual, "the wire refused");
}

static const char *adapter_of(const struct run *run, int actor)
{
	return run->script->actors[actor].adapter;
}

/* Held packets belong to the pending list of a failure report. */
static void remember_hold(struct run *run, const struct statement *st)
{
	if (run->hold_count == run->hold_room) {
		run->hold_room = run->hold_room ? 2 * run->hold_room : 8;
		run->holds = mem_grow(run->holds, run->hold_room * sizeof(*run->holds));
	}
	run->holds[run->hold_count].st = st;
	run->holds[run->hold_count++].released = false;
}

/* Actors may share an adapter: a link of the adapter is held for all of them. */
static bool same_traffic(const struct run *run, const struct traffic *a, const struct traffic *b)
{
	if (a->ep && b->ep)
		return a->ep->symbol == b->ep->symbol && a->message == b->message;
	return !a->ep && !b->ep &&
	       !strcmp(adapter_of(run, a->from_actor), adapter_of(run, b->from_actor)) &&
	       !strcmp(adapter_of(run, a->to_actor), adapter_of(run, b->to_actor));
}

/* False: this link or message is not held, so the line is a mistake. */
static bool forget_hold(struct run *run, const struct statement *st)
{
	bool held = false;
	size_t i;

	for (i = 0; i < run->hold_count; i++) {
		if (run->holds[i].released ||
		    !same_traffic(run, &run->holds[i].st->traffic, &st->traffic))
			continue;
		run->holds[i].released = true;
		held = true;
	}
	return held;
}

static bool not_held(struct run *run, const struct traffic *traffic)
{
	struct text expected = { 0 }, actual = { 0 };

	text_add(&expected, "a hold of it before this line");
	if (traffic->ep)
		text_add(&actual, "message %llu of %s.%s is not held",
			 (unsigned long long)traffic->message, traffic->ep->actor,
			 traffic->ep->text);
	else
		text_add(&actual, "%s>%s is not held", traffic->from, traffic->to);
	return run_fail(run, EXIT_FAILED, &expected, &actual, "there is nothing to release");
}

static bool wire_hold(struct run *run, const struct statement *st)
{
	const struct traffic *traffic = &st->traffic;
	DAT_RETURN ret;

	if (traffic->ep)
		ret = dat_sim_hold_message(value_handle(run, traffic->ep),
					   (DAT_COUNT)traffic->message,
					   (DAT_COUNT)traffic->packets);
	else
		ret = dat_sim_hold_link(run->sim, adapter_of(run, traffic->from_actor),
					adapter_of(run, traffic->to_actor),
					(DAT_COUNT)traffic->packets);
	remember_hold(run, st);
	return wire_failed(run, traffic->ep ? "dat_sim_hold_message" : "dat_sim_hold_link", ret);
}

static bool wire_release(struct run *run, const struct statement *st)
{
	const struct traffic *traffic = &st->traffic;
	DAT_RETURN ret;

	if (traffic->ep)
		ret = dat_sim_release_message(value_handle(run, traffic->ep),
					      (DAT_COUNT)traffic->message);
	else
		ret = dat_sim_release_link(run->sim, adapter_of(run, traffic->from_actor),
					   adapter_of(run, traffic->to_actor));
	if (!wire_failed(run, traffic->ep ? "dat_sim_release_message" : "dat_sim_release_link",
			 ret))
		return false;
	return forget_hold(run, st) || not_held(run, traffic);
}

static bool set_link(struct run *run, const struct statement *st)
{
	uint64_t latency = run->script->config.latency_ns;
	uint64_t bandwidth = run->script->config.bandwidth_bps;
	const struct setting *setting;
	DAT_RETURN ret;

	for (setting = st->traffic.settings; setting; setting = setting->next) {
		if (!strcmp(setting->key, "latency"))
			latency = setting->value->number;
		else
			bandwidth = setting->value->number;
	}
	ret = dat_sim_set_link(run->sim, adapter_of(run, st->traffic.from_actor),
			       adapter_of(run, st->traffic.to_actor), latency, bandwidth);
	return wire_failed(run, "dat_sim_set_link", ret);
}

bool run_wire(struct run *run, const struct statement *st)
{
	if (st->kind == STATEMENT_HOLD)
		return wire_hold(run, st);
	if (st->kind == STATEMENT_RELEASE)
		return wire_release(run, st);
	return set_link(run, st);
}
