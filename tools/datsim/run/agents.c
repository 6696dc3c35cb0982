/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agents of CNOs. A script cannot define a function, so the tool has one agent for all CNOs: it
 * records each call, with the number that the script gave and the EVD, and `agent` lines look the
 * calls up in order.
 */
#include "world.h"

#include <string.h>

static void agent_called(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
	struct watch *watch = instance_data;
	struct run *run = watch->run;
	struct agent_call *call;

	if (run->agent_call_count == run->agent_call_room) {
		run->agent_call_room = run->agent_call_room ? 2 * run->agent_call_room : 16;
		run->agent_calls = mem_grow(run->agent_calls,
					    run->agent_call_room * sizeof(*run->agent_calls));
	}
	call = &run->agent_calls[run->agent_call_count++];
	*call = (struct agent_call){ watch->actor, watch->number, evd, false };
}

DAT_OS_WAIT_PROXY_AGENT agent_new(struct run *run, int actor, uint64_t number)
{
	struct watch *watch = mem_zero(1, sizeof(*watch));

	*watch = (struct watch){ run, actor, number, run->watches };
	run->watches = watch;
	return (DAT_OS_WAIT_PROXY_AGENT){ watch, agent_called };
}

bool agent_number(const DAT_OS_WAIT_PROXY_AGENT *agent, uint64_t *number)
{
	if (agent->proxy_agent_func != agent_called)
		return false;
	*number = ((const struct watch *)agent->instance_data)->number;
	return true;
}

/* The first call of an agent of this actor that no line has looked up; `number` NULL: any agent. */
static struct agent_call *first_call(const struct run *run, int actor, const struct value *number)
{
	struct agent_call *call;
	size_t i;

	for (i = 0; i < run->agent_call_count; i++) {
		call = &run->agent_calls[i];
		if (!call->seen && call->actor == actor &&
		    (!number || call->number == value_number(run, number)))
			return call;
	}
	return NULL;
}

static bool wrong_call(struct run *run, const struct statement *st, const struct agent_call *call)
{
	struct text actual = { 0 };

	text_add(&actual, "%s: ", run->script->actors[st->actor_index].name);
	if (call) {
		text_add(&actual, "agent %llu ", (unsigned long long)call->number);
		text_handle(run, &actual, st->actor_index, call->evd);
	} else {
		text_add(&actual, "no agent");
	}
	return run_fail(run, EXIT_FAILED, NULL, &actual,
			call ? "an agent was called" : "the agent was not called");
}

bool run_agent(struct run *run, const struct statement *st)
{
	const struct agent_line *agent = &st->agent;
	const struct value *wanted = agent->absent ? agent->number : NULL;
	struct agent_call *call = first_call(run, st->actor_index, wanted);
	uint64_t limit = run_now(run) + BUSY_LIMIT_NS;
	bool stepped = st->when.kind == WHEN_ANY;
	int i;

	for (i = 0; stepped && !call && i < BUSY_LIMIT_STEPS; i++) {
		if (!run_step(run, limit, &stepped))
			return false;
		call = first_call(run, st->actor_index, wanted);
	}
	if (agent->absent)
		return !call || wrong_call(run, st, call);
	if (!call || call->number != value_number(run, agent->number) ||
	    call->evd != value_handle(run, agent->evd))
		return wrong_call(run, st, call);
	call->seen = true;
	return true;
}
