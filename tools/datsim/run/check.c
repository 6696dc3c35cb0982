/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checkers that are always on: after each step of the fabric, and before and after each call,
 * they read the clock, the EPs and the SRQs by public calls, as a program would. They read nothing
 * where a query could let time pass, or on a device, which changes state at any time.
 */
#include <stdlib.h>

#include "invoke.h"

/*
 * EPs queried in one pass. With more EPs, each pass takes the next few; every change is still seen.
 */
#define EPS_AT_ONCE 32

static int *symbols_of(const struct script *script, int type, int *count)
{
	int *list = mem_zero((size_t)script->symbol_count, sizeof(*list));
	int i;

	for (i = 0; i < script->symbol_count; i++) {
		if (script->symbols[i].type == type)
			list[(*count)++] = i;
	}
	return list;
}

void checks_begin(struct run *run)
{
	DAT_UINT64 now = 0;

	run->endpoints = symbols_of(run->script, DAT_HANDLE_TYPE_EP, &run->endpoint_count);
	run->queues = symbols_of(run->script, DAT_HANDLE_TYPE_SRQ, &run->queue_count);
	dat_sim_now(run->sim, &now);
	run->clock_ns = now;
	run->may_look = !run->script->config.poll_quantum_ns;
}

static bool check_clock(struct run *run)
{
	struct text expected = { 0 }, actual = { 0 };
	DAT_UINT64 now = 0;

	dat_sim_now(run->sim, &now);
	if (now >= run->clock_ns) {
		run->clock_ns = now;
		return true;
	}
	text_add(&expected, "the clock never goes back: ");
	text_time(&expected, run->clock_ns - run->origin_ns);
	text_add(&expected, " or later");
	text_add(&actual, "the clock at ");
	text_time(&actual, now > run->origin_ns ? now - run->origin_ns : 0);
	return checker_found(run, &expected, &actual);
}

/* With watch=posted the library tells on stderr which it was. */
bool checks_posted(struct run *run)
{
	DAT_COUNT changed = 0;

	if (!(run->script->config.hostile & DAT_SIM_HOSTILE_WATCH) ||
	    dat_sim_violations(run->sim, &changed) != DAT_SUCCESS || !changed)
		return true;
	return checker_failed(run, "no buffer changed by the program while it is posted",
			      "one that changed, see stderr");
}

bool checks_look(struct run *run)
{
	int i, n = run->endpoint_count < EPS_AT_ONCE ? run->endpoint_count : EPS_AT_ONCE;

	if (!run->begun)
		return true;
	if (!check_clock(run) || !checks_posted(run))
		return false;
	for (i = 0; i < n; i++) {
		if (run->next_endpoint >= run->endpoint_count)
			run->next_endpoint = 0;
		if (!check_ep(run, run->endpoints[run->next_endpoint++], NULL, false))
			return false;
	}
	for (i = 0; i < run->queue_count; i++) {
		if (!check_srq(run, run->queues[i]))
			return false;
	}
	return true;
}

/* ---- calls ---- */

/* The EPs that a call names: in its arguments, or through its connection request. */
static bool check_named(struct invocation *inv, const char *call, bool failed)
{
	const struct param *param;
	int i, ep;

	if (!inv->run->begun)
		return true;
	for (i = 0; (param = &inv->call->row->params[i])->kind != PARAM_END; i++) {
		if (param->kind != PARAM_HANDLE || param->type != DAT_HANDLE_TYPE_EP ||
		    !inv->call->in[i])
			continue;
		ep = value_object(inv->run, inv->call->in[i]);
		if (ep >= 0 && inv->run->script->symbols[ep].type == DAT_HANDLE_TYPE_EP &&
		    !check_ep(inv->run, ep, call, failed))
			return false;
	}
	ep = object_of(inv->run, inv->its_ep);
	return ep < 0 || check_ep(inv->run, ep, call, failed);
}

bool checks_before(struct invocation *inv)
{
	return check_named(inv, NULL, false);
}

bool checks_after(struct invocation *inv, DAT_RETURN ret)
{
	return check_named(inv, inv->call->name, ret != DAT_SUCCESS) && checks_look(inv->run);
}
