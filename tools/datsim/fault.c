/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults while a script runs: planted, healed, and whether they happened. */
#include "world.h"

static bool refused(struct run *run, const char *call, DAT_RETURN ret)
{
	struct text actual = { 0 };

	text_add(&actual, "%s = ", call);
	text_result(&actual, ret);
	return run_fail(run, EXIT_FAILED, NULL, &actual, "the simulation takes no such fault");
}

bool run_fault(struct run *run, const struct statement *st)
{
	const struct gate *gate = &st->fault.gate;
	DAT_SIM_FAULT rule = st->fault.rule;
	struct planted *planted;
	DAT_COUNT id;
	DAT_RETURN ret;

	if (gate->ep) {
		rule.to_ep = value_handle(run, gate->ep);
	} else {
		rule.from = run->script->actors[gate->from_actor].adapter;
		rule.to = run->script->actors[gate->to_actor].adapter;
	}
	/* Windows are in script time. */
	if (rule.since_ns)
		rule.since_ns += run->origin_ns;
	if (rule.until_ns)
		rule.until_ns += run->origin_ns;
	ret = dat_sim_fault_add(run->sim, &rule, &id);
	if (ret != DAT_SUCCESS)
		return refused(run, "dat_sim_fault_add", ret);
	run->faults = mem_grow(run->faults, (run->fault_count + 1) * sizeof(*run->faults));
	planted = &run->faults[run->fault_count++];
	*planted = (struct planted){ .st = st, .id = id };
	return true;
}

/* What a rule did is forgotten with it. */
static void count_fired(struct run *run)
{
	DAT_UINT64 fired;
	size_t i;

	for (i = 0; i < run->fault_count; i++) {
		if (!run->faults[i].healed &&
		    dat_sim_fault_fired(run->sim, run->faults[i].id, &fired) == DAT_SUCCESS)
			run->faults[i].fired = fired;
	}
}

bool run_heal(struct run *run)
{
	DAT_RETURN ret;
	size_t i;

	count_fired(run);
	for (i = 0; i < run->fault_count; i++)
		run->faults[i].healed = true;
	ret = dat_sim_fault_clear(run->sim);
	return ret == DAT_SUCCESS || refused(run, "dat_sim_fault_clear", ret);
}

bool run_check_faults(struct run *run)
{
	struct text actual = { 0 };
	size_t i;

	if (!run->fault_count)
		return true;
	count_fired(run);
	for (i = 0; i < run->fault_count; i++) {
		if (run->faults[i].fired || run->faults[i].st->fault.optional)
			continue;
		run->st = run->faults[i].st;
		run->turn = 1;
		text_add(&actual, "no packet ever fitted; \"optional\" allows that");
		return run_fail(run, EXIT_FAILED, NULL, &actual, "the fault never happened");
	}
	return true;
}
