/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a script with one more fault, of a sweep, and judges what the fault breaks: see point.h. */
#include "point.h"

#include <stdlib.h>
#include <string.h>

#include "tools/datsim/show/trace.h"
#include "world.h"

void point_free(struct point *point)
{
	free(point->lines);
}

bool point_plant(struct run *run)
{
	struct text actual = { 0 };
	DAT_RETURN ret;

	run->point->fired = 0;
	run->point->over = false;
	ret = dat_sim_call_fault_add(run->sim, &run->point->rule, &run->point->id);
	if (ret == DAT_SUCCESS)
		return true;
	text_add(&actual, "dat_sim_call_fault_add = ");
	text_result(&actual, ret);
	return run_fail(run, EXIT_INTERNAL, NULL, &actual, "the simulation takes no such fault");
}

void point_note_fired(struct run *run)
{
	DAT_UINT64 fired;

	if (!run->point || run->point->over)
		return;
	if (dat_sim_fault_fired(run->sim, run->point->id, &fired) == DAT_SUCCESS)
		run->point->fired = fired;
}

bool point_is_broken(struct run *run)
{
	if (!run->point || run->point->rule.verdict == DAT_SIM_CALL_PASS)
		return false;
	point_note_fired(run);
	return run->point->fired > 0;
}

bool point_passes_over(struct run *run)
{
	const struct failure *failure = &run->failure;

	/* EXIT_USAGE: the line cannot run, because the fault prevented the object that it names. */
	if ((failure->code != EXIT_FAILED && failure->code != EXIT_NOT_QUIET &&
	     failure->code != EXIT_USAGE) ||
	    !point_is_broken(run))
		return false;
	run_forgive(run);
	run->previous_ns = run->begun ? run_now(run) : 0;
	return true;
}

void point_line_over(struct run *run, const struct statement *st)
{
	struct point *point = run->point;

	if (point->rule.verdict != DAT_SIM_CALL_PASS)
		return;
	point_note_fired(run);
	point->lines = mem_grow(point->lines, (point->line_count + 1) * sizeof(*point->lines));
	point->lines[point->line_count++] = (struct point_line){
		.what = st->kind == STATEMENT_CALL  ? st->call.row->name
			: st->kind == STATEMENT_USE ? "use"
						    : "time",
		.until = point->fired,
	};
}

bool point_allows(struct run *run, const char *call, DAT_RETURN ret)
{
	struct text expected = { 0 }, actual = { 0 };

	if (!point_is_broken(run) || is_documented(call, ret))
		return true;
	text_add(&expected, "success, or an error that the page of %s lists", call);
	text_add(&actual, "%s = ", call);
	text_result(&actual, ret);
	return run_fail(run, EXIT_CHECKER, &expected, &actual,
			"an error that is nowhere documented");
}

static void traffic_release(struct run *run, const struct traffic *traffic)
{
	if (traffic->ep)
		dat_sim_release_message(value_handle(run, traffic->ep),
					(DAT_COUNT)traffic->message);
	else
		dat_sim_release_link(run->sim, run->script->actors[traffic->from_actor].adapter,
				     run->script->actors[traffic->to_actor].adapter);
}

bool point_settle(struct run *run)
{
	size_t i;

	point_note_fired(run);
	run->point->over = true;
	run->st = NULL;
	dat_sim_fault_clear(run->sim);
	for (i = 0; i < run->hold_count; i++) {
		if (!run->holds[i].released)
			traffic_release(run, &run->holds[i].st->traffic);
		run->holds[i].released = true;
	}
	/*
	 * With unlimited RNR retries a Send may never complete: the fault prevented the post of its
	 * Receive.
	 */
	if (run->script->config.rnr_retry == RNR_FOR_EVER && run->point->fired) {
		dat_sim_run_until_quiet(run->sim, BUSY_LIMIT_NS);
		return true;
	}
	return run_until_quiet(run);
}
