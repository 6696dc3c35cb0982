/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can follow on lines that are not those of an actor: use, fabric, link, fault, packet lines.
 */
#include "shell_complete.h"

#include <string.h>

#include "tools/datsim/script/hostile.h"
#include "tools/datsim/script/keywords.h"

/* ---- links and settings ---- */

/* The EPs of all actors, in full. */
static void offer_endpoints(struct completion *c)
{
	c->actor = -1;
	complete_offer_objects(c, DAT_HANDLE_TYPE_EP, true);
}

static const struct token *last_of(const struct token *token)
{
	while (token->kind != TOKEN_END && token[1].kind != TOKEN_END)
		token++;
	return token;
}

/* The words of "posted or off", as a message lists them. */
static void offer_listed(struct completion *c, const char *list)
{
	struct text word = { 0 };
	size_t n;

	for (; *list; list += n + strspn(list + n, ", ")) {
		n = strcspn(list, ", ");
		word.length = 0;
		text_append(&word, list, n);
		if (strcmp(text_of(&word), "or") != 0)
			words_add(c->words, text_of(&word));
	}
	text_free(&word);
}

/* What can be the value of a setting: key= is the end of the line. */
static void offer_setting(struct completion *c, const struct token *key)
{
	static const struct {
		const char *key, *values;
	} known[] = {
		{ "profile", "ib or iwarp" },
		{ "part", "first or last" },
		{ "op", "SEND, WRITE, READ, BIND or RECV" },
		{ "opcode", "SEND, WRITE, READ_REQUEST, READ_RESPONSE, ACK, NAK, RNR_NAK, CM or "
			    "DISCONNECT" },
	};
	size_t i;

	if (token_is(key, "ep"))
		offer_endpoints(c);
	if (token_is(key, "actor"))
		complete_offer_actors(c);
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		if (token_is(key, known[i].key))
			offer_listed(c, known[i].values);
	}
	for (i = 0; hostile_keys[i]; i++) {
		if (token_is(key, hostile_keys[i]))
			offer_listed(c, hostile_values(hostile_keys[i]));
	}
}

/* Keys, or the value of the one at the end of the line, which begins at `token`. */
static void offer_settings(struct completion *c, const struct token *token, const char *const *keys)
{
	const struct token *last = last_of(token);

	if (last > token && complete_is_mark(last, '='))
		offer_setting(c, last - 1);
	else
		complete_offer_list(c, keys);
}

/* Past a link, a>b. NULL: it is not complete, and its actors were offered. */
static const struct token *after_link(struct completion *c, const struct token *token)
{
	if (token->kind == TOKEN_END ||
	    (complete_is_mark(token + 1, '>') && token[2].kind == TOKEN_END)) {
		complete_offer_actors(c);
		return NULL;
	}
	return complete_is_mark(token + 1, '>') && token[2].kind == TOKEN_NAME ? token + 3 : NULL;
}

/* a>b SEND psn=+1 */
static void complete_packet(struct completion *c)
{
	const struct token *kind = after_link(c, c->now);

	if (kind && kind->kind == TOKEN_END)
		complete_offer_list(c, packet_kinds);
	else if (kind)
		offer_settings(c, kind, packet_keys);
}

/* hold a>b after 2 packets, release a.ep message 1 */
static void complete_traffic(struct completion *c, const struct token *token, bool hold)
{
	const struct token *next;

	if (token->kind == TOKEN_END)
		offer_endpoints(c);
	if (complete_is_mark(token + 1, '.')) {
		if (token[2].kind != TOKEN_END && token[3].kind == TOKEN_END)
			words_add(c->words, "message");
		return;
	}
	next = after_link(c, token);
	if (!next || !hold)
		return;
	if (next->kind == TOKEN_END)
		words_add(c->words, "after");
	else if (next[1].kind == TOKEN_NUMBER && next[2].kind == TOKEN_END)
		words_add(c->words, "packets");
}

/* ---- faults ---- */

static const struct {
	const char *word;
	enum fault_kind kind;
} fault_kinds[] = {
	{ "adapter", FAULT_ADAPTER },       { "alloc", FAULT_ALLOC }, { "call", FAULT_CALL },
	{ "completion", FAULT_COMPLETION }, { "event", FAULT_EVENT }, { "link", FAULT_PACKET },
	{ "notification", FAULT_EVENT },    { "qp", FAULT_PACKET },
};

static void offer_event(void *context, const char *name)
{
	uint64_t event;

	if (group_find(GROUP_EVENT, name, (int)strlen(name), &event) && fault_takes_event(event))
		complete_offer_name(context, name);
}

/* Past what the fault acts on. NULL: it is not complete, and was offered. */
static const struct token *after_subject(struct completion *c, const struct token *kind)
{
	const struct token *subject = kind + 1;
	const bool here = subject->kind == TOKEN_END;

	if (token_is(kind, "link"))
		return after_link(c, subject);
	if (token_is(kind, "qp")) {
		if (here)
			offer_endpoints(c);
		return !here && complete_is_mark(kind + 2, '.') && kind[3].kind == TOKEN_NAME
			       ? kind + 4
			       : NULL;
	}
	if (token_is(kind, "call") && here)
		fault_callees_each(complete_offer_name, c->words);
	else if (token_is(kind, "event") && here)
		group_each(GROUP_EVENT, offer_event, c->words);
	else if (token_is(kind, "adapter") && here)
		complete_offer_actors(c);
	else if (!token_is(kind, "call") && !token_is(kind, "event") && !token_is(kind, "adapter"))
		return subject;
	return here ? NULL : subject + 1;
}

/* The words for what a fault does, what may follow each of them, and settings. */
static void offer_fault(struct completion *c, enum fault_kind kind, const struct token *from)
{
	const struct token *last = last_of(from);
	const struct verdict_word *word;

	if (token_is(last, "nak")) {
		offer_listed(c, fault_nak_codes);
	} else if (token_is(last, "status")) {
		group_each(GROUP_DTO_STATUS, complete_offer_name, c->words);
	} else if (token_is(last, "fail")) {
		group_each(GROUP_RETURN, complete_offer_name, c->words);
	} else if (last > from && complete_is_mark(last, '=')) {
		offer_setting(c, last - 1);
	} else if (kind == FAULT_PACKET) {
		for (word = verdict_words; word->word; word++)
			words_add(c->words, word->word);
		complete_offer_list(c, fault_packet_keys);
	} else {
		complete_offer_list(c, fault_takes[kind].words);
		words_add(c->words, "optional");
		complete_offer_list(c, fault_takes[kind].keys);
	}
}

static void complete_fault(struct completion *c, const struct token *kind)
{
	const struct token *from;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fault_kinds); i++) {
		if (kind->kind == TOKEN_END)
			words_add(c->words, fault_kinds[i].word);
		if (!token_is(kind, fault_kinds[i].word))
			continue;
		from = after_subject(c, kind);
		if (from)
			offer_fault(c, fault_kinds[i].kind, from);
	}
}

/* ---- other lines ---- */

static void complete_use(struct completion *c, const struct token *kind)
{
	if (kind->kind == TOKEN_END)
		complete_offer_list(c, use_kinds);
	else if (token_is(kind, "connected"))
		offer_settings(c, kind, use_keys_connected);
	else if (token_is(kind, "adapter"))
		offer_settings(c, kind, use_keys_adapter);
}

/* The first word; `whole`: of the line, where a command of the shell can stand, too. */
void complete_start(struct completion *c, bool whole)
{
	static const char *const statements[] = { "end",  "fabric", "fault", "heal",  "hold",
						  "link", "no",     "note",  "quiet", "release",
						  "turn", "use",    NULL };
	static const char *const at_beginning[] = { "calls",  "for",  "help", "quit", "save",
						    "script", "show", "undo", NULL };

	complete_offer_list(c, statements);
	if (whole)
		complete_offer_list(c, at_beginning);
	complete_offer_actors(c);
}

void complete_statement(struct completion *c)
{
	static const char *const order[] = { "order", NULL };
	const struct token *first = c->now, *second = c->now + 1;

	if (complete_is_mark(second, '>')) {
		complete_packet(c);
	} else if (token_is(first, "use")) {
		complete_use(c, second);
	} else if (token_is(first, "fabric")) {
		offer_settings(c, first, fabric_keys);
	} else if (token_is(first, "fault")) {
		complete_fault(c, second);
	} else if (token_is(first, "help") && second->kind == TOKEN_END) {
		complete_offer_calls(c);
	} else if (token_is(first, "hold") || token_is(first, "release")) {
		complete_traffic(c, second, token_is(first, "hold"));
	} else if (token_is(first, "link")) {
		second = after_link(c, second);
		if (second)
			offer_settings(c, first, link_keys);
	} else if (token_is(first, "no") && second->kind == TOKEN_END) {
		words_add(c->words, "packet");
	} else if (token_is(first, "no") && token_is(second, "packet")) {
		after_link(c, second + 1);
	} else if (token_is(first, "turn")) {
		complete_offer_list(c, second->kind == TOKEN_END ? order : turn_keys);
	} else if (token_is(first, "end") && second->kind == TOKEN_END) {
		words_add(c->words, "quiet");
	} else if (token_is(first, "for") && second->kind == TOKEN_NAME &&
		   second[1].kind == TOKEN_END) {
		words_add(c->words, "in");
	}
}
