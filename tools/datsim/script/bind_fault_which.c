/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binds what both kinds of fault lines have in common: the counts and times of a rule (nth=, from=
 * ...), and the adapters and EPs of a script for a program.
 */
#include "bind.h"

#include <string.h>

#define MILLION        1000000u
#define SMALLEST       100000u /* a millionth: so many billionths of one percent */
#define NODE_NAME_MOST 20u     /* bytes; adapter names have no room for more */
#define ADAPTERS_MOST  4096u

bool bind_percent(struct binder *binder, const struct value *value, DAT_UINT32 *parts)
{
	uint64_t n = 0;

	if (value->kind == VALUE_NUMBER && !value->negative && !strcmp(value->unit, "%") &&
	    value->number <= 100)
		n = value->number * (MILLION / 100) + value->billionths / SMALLEST;
	if (n < 1 || n > MILLION || (n == MILLION && value->billionths)) {
		diag_add(&binder->script->diag, value->at,
			 "expected a share from 0.0001%% to 100%%, such as 1%%");
		return false;
	}
	if (value->billionths % SMALLEST) {
		diag_add(&binder->script->diag, value->at,
			 "expected a share with at most 4 digits behind the point");
		return false;
	}
	*parts = (DAT_UINT32)n;
	return true;
}

static bool bind_count(struct binder *binder, const struct value *value, DAT_UINT64 *count)
{
	int64_t number;

	if (!value_between(binder, value, 1, INT32_MAX, &number))
		return false;
	*count = (DAT_UINT64)number;
	return true;
}

bool bind_fault_count(struct binder *binder, const struct setting *setting, DAT_SIM_FAULT *rule,
		      bool *known)
{
	const char *key = setting->key;

	*known = true;
	if (!strcmp(key, "nth"))
		return bind_count(binder, setting->value, &rule->nth);
	if (!strcmp(key, "every"))
		return bind_count(binder, setting->value, &rule->every);
	if (!strcmp(key, "after"))
		return bind_count(binder, setting->value, &rule->after);
	if (!strcmp(key, "times"))
		return bind_count(binder, setting->value, &rule->times);
	if (!strcmp(key, "probability"))
		return bind_percent(binder, setting->value, &rule->probability);
	if (!strcmp(key, "from"))
		return value_ns(binder, setting->value, &rule->since_ns);
	if (!strcmp(key, "until"))
		return value_ns(binder, setting->value, &rule->until_ns);
	*known = false;
	return true;
}

/* The end comes after the beginning. In a rule 0 stands for no end, so that is refused as well. */
static bool bind_fault_span(struct binder *binder, const struct fault *fault)
{
	const struct setting *setting;

	if (fault->rule.until_ns > fault->rule.since_ns)
		return true;
	for (setting = fault->settings; setting; setting = setting->next) {
		if (strcmp(setting->key, "until") != 0)
			continue;
		diag_add(&binder->script->diag, setting->value->at,
			 "expected a time %s: the rule could never act",
			 fault->rule.since_ns ? "later than that of from=" : "above 0");
		return false;
	}
	return true;
}

bool bind_fault_once(struct binder *binder, const struct fault *fault)
{
	static const char instead[] = " in a line, write two fault lines";
	const struct fault_word *word, *other;

	if (!bind_once(binder, fault->settings, instead) || !bind_fault_span(binder, fault))
		return false;
	for (word = fault->words; word; word = word->next)
		for (other = word->next; other; other = other->next)
			if (other->value && same_word(word->word, other->word))
				return bind_twice(binder, other->word, other->at, instead);
	return true;
}

/* Is `name` the word followed by a number from least to most, as emu12 or ep3? */
static bool is_numbered(const char *name, const char *word, unsigned int least, unsigned int most,
			unsigned int *number)
{
	size_t n = strlen(word), digits = strspn(name + strnlen(name, n), "0123456789");
	unsigned int i = 0, value = 0;

	if (strncmp(name, word, n) != 0 || digits < 1 || digits > 9 || name[n + digits] ||
	    (digits > 1 && name[n] == '0'))
		return false;
	for (; i < digits; i++)
		value = 10 * value + (unsigned int)(name[n + i] - '0');
	*number = value;
	return value >= least && value <= most;
}

bool bind_adapter(struct binder *binder, const char *name, struct place at)
{
	unsigned int number;

	if (name && binder->script->for_nodes && strlen(name) <= NODE_NAME_MOST)
		return true;
	if (name && is_numbered(name, "emu", 0, ADAPTERS_MOST - 1, &number))
		return true;
	if (binder->script->for_nodes) {
		diag_add(&binder->script->diag, at,
			 "expected a node: the name of a program, or one given with --node");
		return false;
	}
	diag_add(&binder->script->diag, at,
		 "expected an adapter, emu0 to emu%u: a script for a program names adapters",
		 ADAPTERS_MOST - 1);
	return false;
}

bool bind_numbered_ep(struct binder *binder, const struct value *value, uint32_t *number)
{
	unsigned int n;

	if (value->kind == VALUE_NAME && value->actor &&
	    (is_numbered(value->text, "ep", 1, INT32_MAX, &n) ||
	     is_numbered(value->text, "qp", 1, INT32_MAX, &n))) {
		*number = n;
		return bind_adapter(binder, value->actor, value->at);
	}
	diag_add(&binder->script->diag, value->at,
		 "expected an EP or QP as the trace names it, such as emu1.ep2");
	return false;
}

bool bind_failing_adapter(struct binder *binder, struct fault *fault)
{
	const struct value *subject = fault->subject;
	const struct script *script = binder->script;

	if (subject->kind != VALUE_NAME || subject->actor) {
		diag_add(&binder->script->diag, subject->at, "expected an actor, or emu0");
		return false;
	}
	fault->actor_index = script_actor(script, subject->text);
	if (fault->actor_index >= 0)
		return true;
	if (script->for_program || !strncmp(subject->text, "emu", 3))
		return bind_adapter(binder, subject->text, subject->at);
	return bind_actor(binder, subject->text, subject->at) >= 0;
}

bool bind_killed_node(struct binder *binder, struct fault *fault)
{
	const struct value *subject = fault->subject;

	if (!binder->script->for_nodes) {
		diag_add(&binder->script->diag, subject->at,
			 "only a script for several programs in lockstep can kill one");
		return false;
	}
	fault->call.verdict = DAT_SIM_PROCESS_KILL;
	if (subject->kind != VALUE_NAME || subject->actor)
		return bind_adapter(binder, NULL, subject->at);
	return bind_adapter(binder, subject->text, subject->at);
}

bool bind_restart(struct binder *binder, const struct statement *st)
{
	DAT_SIM_CALL_FAULT *call = (DAT_SIM_CALL_FAULT *)&st->fault.call;

	if (!st->fault.restarts && call->until_ns) {
		diag_add(&binder->script->diag, st->at, "\"after\" belongs to \"restart\"");
		return false;
	}
	if (st->fault.restarts)
		call->until_ns += call->since_ns + !call->until_ns;
	return true;
}
