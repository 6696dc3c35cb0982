/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults while a script runs: added, removed, and checked for whether they acted. */
#include "passed.h"
#include "tools/datsim/show/show.h"
#include "world.h"

#include <string.h>

#define TRACE_NAME 64 /* bytes of an object's name in the trace */

static bool fault_refused(struct run *run, const char *call, DAT_RETURN ret)
{
	struct text actual = { 0 };

	text_add(&actual, "%s = ", call);
	text_result(&actual, ret);
	return run_fail(run, EXIT_FAILED, NULL, &actual, "the simulation takes no such fault");
}

/* Convert the times of a fault from script time to fabric time. */
static void to_fabric_time(const struct run *run, DAT_UINT64 *since_ns, DAT_UINT64 *until_ns)
{
	if (*since_ns)
		*since_ns += run->origin_ns;
	if (*until_ns)
		*until_ns += run->origin_ns;
}

static DAT_RETURN add_packet_rule(const struct run *run, const struct fault *fault, DAT_COUNT *id)
{
	const struct traffic *traffic = &fault->traffic;
	DAT_SIM_FAULT rule = fault->rule;

	if (traffic->ep) {
		rule.to_ep = value_handle(run, traffic->ep);
	} else {
		rule.from = run->script->actors[traffic->from_actor].adapter;
		rule.to = run->script->actors[traffic->to_actor].adapter;
	}
	to_fabric_time(run, &rule.since_ns, &rule.until_ns);
	return dat_sim_fault_add(run->sim, &rule, id);
}

/* An open IA of that actor; of any actor if the index is negative. */
static DAT_IA_HANDLE open_ia(const struct run *run, int actor)
{
	const struct symbol *symbol = run->script->symbols;
	int i;

	for (i = 0; i < run->script->symbol_count; i++)
		if (symbol[i].type == DAT_HANDLE_TYPE_IA && run->objects[i].alive &&
		    (actor < 0 || symbol[i].actor == actor))
			return run->objects[i].handle;
	return DAT_HANDLE_NULL;
}

/* On a device the backend exists while one of its adapters is open. */
static void find_world(struct run *run)
{
	if (run->real)
		dat_sim_of(open_ia(run, -1), &run->sim);
}

/* The name that libdat has for the adapter of an actor: on a device, emu0 is an alias. */
static const char *device_of(const struct run *run, int actor, DAT_IA_ATTR *attr)
{
	if (run->real && dat_ia_query(open_ia(run, actor), NULL, DAT_IA_FIELD_IA_ADAPTER_NAME, attr,
				      DAT_PROVIDER_FIELD_NONE, NULL) == DAT_SUCCESS)
		return attr->adapter_name;
	return run->script->actors[actor].adapter;
}

static DAT_RETURN add_call_rule(const struct run *run, const struct fault *fault, DAT_COUNT *id)
{
	DAT_SIM_CALL_FAULT rule = fault->call;
	DAT_IA_ATTR attr;

	if (fault->ep)
		rule.ep = value_handle(run, fault->ep);
	else if (fault->actor_index >= 0)
		rule.adapter = device_of(run, fault->actor_index, &attr);
	else if (fault->kind == FAULT_ADAPTER)
		rule.adapter = fault->subject->text;
	to_fabric_time(run, &rule.since_ns, &rule.until_ns);
	return dat_sim_call_fault_add(run->sim, &rule, id);
}

/* The number of the loop in place of "$i"; the bytes that it stands for, or 0: there is none. */
static int add_turn(const struct statement *st, const char *words, struct text *text)
{
	const char *equals = st->loop ? strchr(st->loop, '=') : NULL;
	size_t n = equals ? (size_t)(equals - st->loop) : 0;

	if (!n || words[0] != '$' || strncmp(words + 1, st->loop, n) != 0)
		return 0;
	text_add(text, "%s", equals + 1);
	return 1 + (int)n;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * A note in the trace before the line that adds the rule: the rule in the words of the script,
 * which the trace does not have otherwise.
 */
static void note_rule(struct run *run, const struct statement *st)
{
	struct text note = { 0 };
	const char *words;
	int length, i, n;

	if (!run->traced)
		return;
	words = source_line(&run->script->source, st->at.line, &length) + st->at.column - 1;
	text_add(&note, RULE_NOTE "%d:", st->at.line);
	for (i = (int)strlen("fault"); i < st->at.length; i += n) {
		n = add_turn(st, words + i, &note);
		if (n)
			continue;
		n = 1;
		if (is_blank(words[i]))
			continue;
		if (is_blank(words[i - 1]))
			text_append(&note, " ", 1);
		text_append(&note, words + i, 1);
	}
	dat_sim_trace_note(run->sim, text_of(&note));
	text_free(&note);
}

bool run_fault(struct run *run, const struct statement *st)
{
	bool packet = st->fault.kind == FAULT_PACKET;
	struct planted *planted;
	DAT_COUNT id;
	DAT_RETURN ret;

	find_world(run);
	note_rule(run, st);
	ret = packet ? add_packet_rule(run, &st->fault, &id) : add_call_rule(run, &st->fault, &id);
	if (ret != DAT_SUCCESS)
		return fault_refused(run, packet ? "dat_sim_fault_add" : "dat_sim_call_fault_add",
				     ret);
	run->faults = mem_grow(run->faults, (run->fault_count + 1) * sizeof(*run->faults));
	planted = &run->faults[run->fault_count++];
	*planted = (struct planted){ .st = st, .id = id };
	return true;
}

/* Removing a rule discards its count, so read it first. */
static void count_fired(struct run *run)
{
	DAT_UINT64 fired;
	size_t i;

	find_world(run);
	for (i = 0; i < run->fault_count; i++) {
		if (!run->faults[i].healed &&
		    dat_sim_fault_fired(run->sim, run->faults[i].id, &fired) == DAT_SUCCESS)
			run->faults[i].fired = fired;
	}
}

size_t run_faults_acted(struct run *run)
{
	size_t i, acted = 0;

	if (run->fault_count)
		count_fired(run);
	for (i = 0; i < run->fault_count; i++)
		acted += run->faults[i].fired > 0;
	return acted;
}

bool run_heal(struct run *run)
{
	DAT_RETURN ret;
	size_t i;

	count_fired(run);
	point_note_fired(run);
	if (run->point)
		run->point->over = true;
	for (i = 0; i < run->fault_count; i++)
		run->faults[i].healed = true;
	ret = dat_sim_fault_clear(run->sim);
	return ret == DAT_SUCCESS || fault_refused(run, "dat_sim_fault_clear", ret);
}

/* Whose calls, completions or events pass the rule: an actor, or an EP as the trace names it. */
static struct span subject_of(const struct run *run, const struct fault *fault,
			      char name[TRACE_NAME])
{
	const struct script *script = run->script;
	const char *adapter = "";

	if (fault->ep &&
	    dat_sim_name(value_handle(run, fault->ep), name, TRACE_NAME) == DAT_SUCCESS)
		adapter = name;
	else if (fault->ep)
		adapter = script->actors[script->symbols[fault->ep->symbol].actor].adapter;
	else if (fault->actor_index >= 0)
		adapter = script->actors[fault->actor_index].adapter;
	return (struct span){ adapter, strlen(adapter) };
}

/* What the rule saw; of a rule that heal removed, the trace does not tell. */
static void add_passed(const struct run *run, const struct planted *planted, struct text *text)
{
	const struct traffic *traffic = &planted->st->fault.traffic;
	const struct script *script = run->script;
	struct passed passed = { .rule = (uint64_t)planted->id };
	const char *trace, *to;
	char name[TRACE_NAME];
	size_t length;

	if (!run->traced || planted->healed ||
	    !passed_kind_of(planted->st->fault.kind, &passed.kind) ||
	    dat_sim_trace_read(run->sim, &trace, &length) != DAT_SUCCESS)
		return;
	text_add(text, "\npassed:   ");
	if (passed.kind != PASSED_PACKETS) {
		passed.from = subject_of(run, &planted->st->fault, name);
		to = "";
	} else if (traffic->ep) {
		to = script->actors[script->symbols[traffic->ep->symbol].actor].adapter;
		text_add(text, "to %s ", to);
	} else {
		to = script->actors[traffic->to_actor].adapter;
		passed.from.s = script->actors[traffic->from_actor].adapter;
		passed.from.length = strlen(passed.from.s);
		text_add(text, "%s>%s ", traffic->from, traffic->to);
	}
	passed.to = (struct span){ to, strlen(to) };
	passed_read(&passed, trace, length);
	passed_print(&passed, text);
}

void run_check_faults(struct run *run)
{
	static const char *const things[] = {
		[FAULT_PACKET] = "packet",    [FAULT_CALL] = "call",
		[FAULT_ALLOC] = "allocation", [FAULT_COMPLETION] = "completion",
		[FAULT_EVENT] = "event",      [FAULT_ADAPTER] = "moment",
		[FAULT_KILL] = "moment"
	};
	struct text actual = { 0 };
	size_t i;

	if (!run->fault_count)
		return;
	count_fired(run);
	for (i = 0; i < run->fault_count; i++) {
		if (run->faults[i].fired || run->faults[i].st->fault.optional)
			continue;
		run->st = run->faults[i].st;
		run->turn = 1;
		text_add(&actual, "no %s ever fitted; \"optional\" allows that",
			 things[run->faults[i].st->fault.kind]);
		add_passed(run, &run->faults[i], &actual);
		run_fail(run, EXIT_FAILED, NULL, &actual, "the fault never happened");
		return;
	}
}
