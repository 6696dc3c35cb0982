/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual time as a script sees it: nanoseconds since its first line after set-up.
 *
 * When an event line gives a moment, the clock advances event by event and the tool reads the
 * length of the EVD after each one, so it knows when every queued event arrived.
 */
#include "world.h"

#include <string.h>

#include "device.h"

uint64_t run_clock(const struct run *run)
{
	DAT_UINT64 now = 0;

	if (run->real)
		return device_now();
	dat_sim_now(run->sim, &now);
	return now;
}

uint64_t run_now(const struct run *run)
{
	return run_clock(run) - run->origin_ns;
}

void run_settle(struct run *run)
{
	if (run->real)
		device_sleep(DEVICE_SETTLE_NS * run->slow);
}

static bool sim_failed(struct run *run, const char *call, DAT_RETURN ret)
{
	struct text actual = { 0 };

	text_add(&actual, "%s = ", call);
	text_result(&actual, ret);
	return run_fail(run, EXIT_INTERNAL, NULL, &actual, "the simulation refused");
}

static bool never_quiet(struct run *run)
{
	struct text expected = { 0 }, actual = { 0 };

	text_add(&expected, "nothing pending");
	text_add(&actual, "still busy at ");
	text_time(&actual, run_now(run));
	return run_fail(run, EXIT_NOT_QUIET, &expected, &actual,
			"the fabric does not become quiet");
}

/* ---- when events came ---- */

static void set_surfaced(struct object *evd, size_t count, uint64_t now)
{
	if (count < evd->surfaced_count) {
		/* The script dequeued the first ones by a call of its own. */
		memmove(evd->surfaced, evd->surfaced + (evd->surfaced_count - count),
			count * sizeof(*evd->surfaced));
		evd->surfaced_count = count;
	}
	while (evd->surfaced_count < count) {
		if (evd->surfaced_count == evd->surfaced_room) {
			evd->surfaced_room = evd->surfaced_room ? 2 * evd->surfaced_room : 16;
			evd->surfaced = mem_grow(evd->surfaced,
						 evd->surfaced_room * sizeof(*evd->surfaced));
		}
		evd->surfaced[evd->surfaced_count++] = now;
	}
}

/*
 * The number of queued events. A wait with a threshold of the whole queue and no timeout dequeues
 * nothing and reports how many there are. The wait is not the program's, so it is kept out of the
 * trace.
 */
static bool evd_queued(struct run *run, DAT_EVD_HANDLE evd, DAT_COUNT *count)
{
	DAT_EVD_PARAM param;
	DAT_EVENT event;
	DAT_RETURN ret;

	*count = 0;
	dat_sim_trace(run->sim, DAT_FALSE);
	ret = dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param);
	if (ret == DAT_SUCCESS)
		ret = dat_evd_wait(evd, 0, param.evd_qlen, &event, count);
	dat_sim_trace(run->sim, run->traced ? DAT_TRUE : DAT_FALSE);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		return true;
	return run_fail(
		run, EXIT_USAGE, NULL, NULL,
		ret == DAT_SUCCESS
			? "a moment was asked of an EVD that is full: give it a longer queue"
			: "a moment was asked of an EVD that cannot be waited on");
}

/* Run the events of this moment, traced: the wait in evd_queued would leave them out. */
static bool run_due_now(struct run *run)
{
	DAT_COUNT events = 0;
	DAT_UINT64 next = 0;
	DAT_RETURN ret;
	int i;

	for (i = 0; i < BUSY_LIMIT_STEPS; i++) {
		ret = dat_sim_pending(run->sim, &events, &next);
		if (ret == DAT_SUCCESS && (!events || next > run_clock(run)))
			return true;
		if (ret == DAT_SUCCESS)
			ret = dat_sim_step(run->sim);
		if (ret != DAT_SUCCESS)
			return sim_failed(run, "dat_sim_step", ret);
	}
	return never_quiet(run);
}

void run_observe(struct run *run)
{
	const struct symbol *symbol = run->script->symbols;
	DAT_COUNT count;
	int i;

	if (!run->any_timed || !run_due_now(run))
		return;
	for (i = 0; i < run->script->symbol_count; i++, symbol++) {
		if (!symbol->timed || !run->objects[i].alive)
			continue;
		if (!evd_queued(run, run->objects[i].handle, &count))
			return;
		set_surfaced(&run->objects[i], (size_t)count, run_now(run));
	}
}

bool run_surfaced(struct run *run, int evd, uint64_t *script_ns)
{
	if (!run->objects[evd].surfaced_count)
		return false;
	*script_ns = run->objects[evd].surfaced[0];
	return true;
}

/* ---- moving ---- */

bool run_step(struct run *run, uint64_t limit_ns, bool *stepped)
{
	DAT_COUNT events = 0;
	DAT_UINT64 next = 0;
	DAT_RETURN ret;

	*stepped = false;
	if (run->real) {
		*stepped = run_now(run) < limit_ns;
		device_sleep(*stepped ? DEVICE_STEP_NS : 0);
		return true;
	}
	ret = dat_sim_pending(run->sim, &events, &next);
	if (ret != DAT_SUCCESS)
		return sim_failed(run, "dat_sim_pending", ret);
	if (!events || next > run->origin_ns + limit_ns)
		return true;
	ret = dat_sim_step(run->sim);
	if (ret != DAT_SUCCESS)
		return sim_failed(run, "dat_sim_step", ret);
	*stepped = true;
	run_observe(run);
	return run->failure.code == EXIT_PASS && checks_look(run);
}

static bool already_past(struct run *run, uint64_t script_ns)
{
	struct text expected = { 0 }, actual = { 0 };

	text_time(&expected, script_ns);
	text_time(&actual, run_now(run));
	return run_fail(run, EXIT_FAILED, &expected, &actual,
			"the time of this line has passed already");
}

/*
 * Run the events that are due by then, one by one: a fabric that never becomes quiet must not hang
 * the tool.
 */
static bool run_due(struct run *run, uint64_t limit_ns)
{
	bool stepped = true;
	int i;

	for (i = 0; stepped; i++) {
		if (i == BUSY_LIMIT_STEPS)
			return never_quiet(run);
		if (!run_step(run, limit_ns, &stepped))
			return false;
	}
	return true;
}

bool run_until(struct run *run, uint64_t script_ns)
{
	uint64_t now = run_now(run);
	DAT_RETURN ret;

	if (run->real) {
		device_sleep(script_ns > now ? script_ns - now : 0);
		return true;
	}
	if (script_ns < now)
		return already_past(run, script_ns);
	if (!run_due(run, script_ns))
		return false;
	now = run_now(run);
	if (script_ns <= now)
		return true;
	ret = dat_sim_advance(run->sim, script_ns - now);
	return ret == DAT_SUCCESS || sim_failed(run, "dat_sim_advance", ret);
}

bool run_until_quiet(struct run *run)
{
	DAT_COUNT events = 0;

	if (run->real) {
		run_settle(run);
		return true;
	}
	if (!run_due(run, run_now(run) + BUSY_LIMIT_NS))
		return false;
	dat_sim_pending(run->sim, &events, NULL);
	return !events || never_quiet(run);
}
