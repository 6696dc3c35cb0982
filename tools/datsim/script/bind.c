/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads a script: parses it and binds each statement as it comes (bind.h), with the checks of order
 * and time that concern whole statements.
 */
#include "bind.h"

#include <stdlib.h>
#include <string.h>

static bool is_setup(const struct statement *st)
{
	return st->kind == STATEMENT_FABRIC || st->kind == STATEMENT_USE;
}

/* Does it wait for something, so that it takes a range of time or "*", too? */
static bool may_wait(const struct statement *st)
{
	return st->kind == STATEMENT_EVENT || st->kind == STATEMENT_PACKET;
}

static bool expects_nothing(const struct statement *st)
{
	return (st->kind == STATEMENT_EVENT && st->event.absent) ||
	       (st->kind == STATEMENT_PACKET && st->packet.absent);
}

/* Does the statement come where the order of a script allows it? */
static bool check_order(struct binder *binder, const struct statement *st)
{
	const char *wrong = NULL;

	if (binder->ended)
		wrong = "nothing comes after \"end\"";
	else if (st->kind == STATEMENT_FABRIC && binder->script->actor_count)
		wrong = "\"fabric\" comes before the first \"use\"";
	else if (is_setup(st) && binder->acted)
		wrong = "\"use\" and \"fabric\" come before everything else";
	if (!wrong)
		return true;
	diag_add(&binder->script->diag, st->at, "%s", wrong);
	return false;
}

static bool check_when(struct binder *binder, const struct statement *st)
{
	const char *wrong = NULL;

	if (st->when.kind == WHEN_DEFAULT ||
	    (st->kind == STATEMENT_AGENT && st->when.kind == WHEN_ANY))
		return true;
	if (is_setup(st))
		wrong = "a set-up line takes no time: time begins with the first line that is none";
	else if (st->when.kind == WHEN_AT || may_wait(st))
		wrong = NULL;
	else if (st->when.kind == WHEN_ANY)
		wrong = "\"*\" is for event, agent and packet lines only: write a time such as "
			"+5us, or none";
	else
		wrong = "a range is for event and packet lines only: write one time such as +5us, "
			"or none";
	if (expects_nothing(st) && st->when.kind == WHEN_WITHIN)
		wrong = "\"no event\" and \"no packet\" take one moment or \"*\", not a range";
	if (!wrong)
		return true;
	diag_add(&binder->script->diag, st->when.at, "%s", wrong);
	return false;
}

static bool bind_traffic(struct binder *binder, struct statement *st)
{
	struct traffic *traffic = &st->traffic;

	if (traffic->ep) {
		if (traffic->ep->kind != VALUE_NAME) {
			diag_add(&binder->script->diag, traffic->ep->at,
				 "expected an EP, as actor.ep");
			return false;
		}
		if (!bind_object(binder, traffic->ep))
			return false;
		if (traffic->message >= 1)
			return true;
		diag_add(&binder->script->diag, traffic->ep->at,
			 "expected the number of a message, 1 or more: messages count from 1");
		return false;
	}
	traffic->from_actor = bind_actor(binder, traffic->from, traffic->from_at);
	if (traffic->from_actor < 0)
		return false;
	traffic->to_actor = bind_actor(binder, traffic->to, traffic->to_at);
	if (traffic->to_actor < 0)
		return false;
	return st->kind != STATEMENT_LINK || bind_link(binder, st);
}

/* A script for a program only describes the fabric and its faults: the program makes the calls. */
static bool check_for_program(struct binder *binder, const struct statement *st)
{
	if (!binder->script->for_program)
		return true;
	if (st->kind != STATEMENT_FABRIC && st->kind != STATEMENT_FAULT &&
	    st->kind != STATEMENT_TURN)
		diag_add(&binder->script->diag, st->at,
			 "a script for a program has \"fabric\", \"fault\" and \"turn\" lines "
			 "only");
	else if (st->when.kind != WHEN_DEFAULT)
		diag_add(&binder->script->diag, st->when.at,
			 "a line of a program's script takes no time: a fault takes from= and "
			 "until=");
	else
		return true;
	return false;
}

static bool bind_statement(struct binder *binder, struct statement *st)
{
	if (!check_when(binder, st))
		return false;
	if (!is_setup(st))
		binder->acted = true;
	if (st->actor) {
		st->actor_index = bind_actor(binder, st->actor, st->actor_at);
		if (st->actor_index < 0)
			return false;
	}
	switch (st->kind) {
	case STATEMENT_FABRIC:
		return bind_fabric(binder, st);
	case STATEMENT_USE:
		return bind_use(binder, st);
	case STATEMENT_CALL:
		return bind_call(binder, st);
	case STATEMENT_EVENT:
		return bind_event(binder, st);
	case STATEMENT_AGENT:
		return bind_agent(binder, st);
	case STATEMENT_PACKET:
		return bind_packet(binder, st);
	case STATEMENT_HOLD:
	case STATEMENT_RELEASE:
	case STATEMENT_LINK:
		return bind_traffic(binder, st);
	case STATEMENT_FAULT:
		return bind_fault(binder, st);
	case STATEMENT_TURN:
		return bind_turn(binder, st);
	case STATEMENT_END:
		binder->ended = true;
		return true;
	case STATEMENT_HEAL:
	case STATEMENT_NOTE:
	case STATEMENT_QUIET:
		return true;
	}
	return false;
}

/* Does the message about the statement follow from that about an earlier line? */
static bool is_consequence(const struct binder *binder, const struct statement *st)
{
	return (st->loop && st->at.line == binder->bad_line) ||
	       (binder->unsure && binder->missing) || bind_needs_lost(binder, st);
}

bool bind_shows(const struct binder *binder)
{
	return binder->script->diag.count <= DIAG_MAX && !is_consequence(binder, binder->st);
}

/* Go on after a bad statement: what is known of its names helps to judge later lines. */
static void bind_after(struct binder *binder, struct statement *st)
{
	struct diag *diag = &binder->script->diag;
	const size_t length = diag->text.length;
	const int count = diag->count;

	if (st->kind == STATEMENT_USE && !bind_recover_use(binder, st))
		binder->unsure = true;
	diag_take_back(diag, count, length);
	binder->unsure |= st->hides_names;
	binder->bad_line = st->at.line;
	bind_lose_names(binder, st);
}

/* False: later lines cannot be judged. */
static bool bind_next(struct binder *binder, struct statement *st)
{
	struct diag *diag = &binder->script->diag;
	const size_t length = diag->text.length;
	const int count = diag->count;

	binder->missing = false;
	if (!check_for_program(binder, st))
		return false;
	if (!check_order(binder, st)) {
		bind_after(binder, st);
		return !binder->ended;
	}
	if (bind_statement(binder, st))
		return true;
	if (diag->count == count)
		diag_add(diag, st->at, "expected a valid statement here");
	if (is_consequence(binder, st))
		diag_take_back(diag, count, length);
	bind_after(binder, st);
	return true;
}

void bind_take(void *context, struct statement *st)
{
	struct binder *binder = context;

	if (binder->stopped)
		return;
	binder->st = st;
	if (st->broken) {
		bind_after(binder, st);
		return;
	}
	binder->steps += st->repeat;
	if (binder->steps <= SCRIPT_STEPS_MAX) {
		binder->stopped = !bind_next(binder, st);
		return;
	}
	diag_add(&binder->script->diag, st->at, "expected at most %d steps, repeats counted",
		 SCRIPT_STEPS_MAX);
	binder->stopped = true;
}

static bool load_script(struct script *script, const char *name, const char *text, size_t length,
			const DAT_SIM_CONFIG *config, int programs)
{
	struct binder binder = { .script = script };
	struct part all = { .to = length, .line = 1, .end = &script->statements };

	memset(script, 0, sizeof(*script));
	script->for_program = programs > 0;
	script->for_nodes = programs > 1;
	script->source.name = name;
	script->source.text = text;
	script->source.length = length;
	script->diag.source = &script->source;
	script->config = *config;
	if (length > SCRIPT_BYTES_MAX) {
		text_add(&script->diag.text, "%s: expected at most %u bytes\n", name,
			 SCRIPT_BYTES_MAX);
		script->diag.count++;
		return false;
	}
	script_parse(script, &all, bind_take, &binder);
	bind_forget_lost(&binder);
	diag_finish(&script->diag);
	script->steps = binder.steps;
	return !script->diag.count;
}

bool script_load(struct script *script, const char *name, const char *text, size_t length,
		 const DAT_SIM_CONFIG *config)
{
	return load_script(script, name, text, length, config, 0);
}

bool script_load_for_program(struct script *script, const char *name, const char *text,
			     size_t length, const DAT_SIM_CONFIG *config, bool several)
{
	return load_script(script, name, text, length, config, several ? 2 : 1);
}

void script_free(struct script *script)
{
	arena_free(&script->arena);
	text_free(&script->diag.text);
	free(script->symbols);
	script->symbols = NULL;
}
