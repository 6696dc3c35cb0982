/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds a fault line about packets: its words and settings become a DAT_SIM_FAULT rule. */
#include "bind.h"
#include "keywords.h"

#include <string.h>

static const struct {
	const char *name;
	DAT_SIM_NAK_CODE code;
} naks[] = {
	{ "sequence", DAT_SIM_NAK_SEQUENCE },
	{ "invalid_request", DAT_SIM_NAK_INVALID_REQUEST },
	{ "remote_access", DAT_SIM_NAK_REMOTE_ACCESS },
	{ "remote_operation", DAT_SIM_NAK_REMOTE_OPERATION },
	{ "reserved", DAT_SIM_NAK_RESERVED },
};

static const struct {
	const char *name;
	DAT_SIM_PACKET bit;
} opcodes[] = {
	{ "SEND", DAT_SIM_PACKET_SEND },
	{ "WRITE", DAT_SIM_PACKET_WRITE },
	{ "READ_REQUEST", DAT_SIM_PACKET_READ_REQUEST },
	{ "READ_RESPONSE", DAT_SIM_PACKET_READ_RESPONSE },
	{ "ACK", DAT_SIM_PACKET_ACK },
	{ "NAK", DAT_SIM_PACKET_NAK },
	{ "RNR_NAK", DAT_SIM_PACKET_RNR_NAK },
	{ "CM", DAT_SIM_PACKET_CM },
	{ "DISCONNECT", DAT_SIM_PACKET_DISCONNECT },
};

/* ---- words ---- */

static bool unknown_word(struct binder *binder, const struct fault_word *word)
{
	struct suggest suggest;
	struct text list = { 0 };
	size_t i;

	suggest_start(&suggest, word->word, (int)strlen(word->word));
	for (i = 0; verdict_words[i].word; i++) {
		suggest_try(&suggest, verdict_words[i].word);
		text_add(&list, "%s%s", i ? ", " : "", verdict_words[i].word);
	}
	diag_add(&binder->script->diag, word->at, "expected one of %s, found \"%s\"",
		 text_of(&list), word->word);
	diag_suggest(&binder->script->diag, &suggest);
	text_free(&list);
	return false;
}

static bool bad_word(struct binder *binder, const struct fault_word *word, const char *wants)
{
	diag_add(&binder->script->diag, word->at, "\"%s\" %s", word->word, wants);
	return false;
}

static bool bind_nak(struct binder *binder, const struct fault_word *word, DAT_SIM_FAULT *rule)
{
	size_t i;

	for (i = 0; word->value->kind == VALUE_NAME && i < ARRAY_SIZE(naks); i++) {
		if (!strcmp(naks[i].name, word->value->text)) {
			rule->nak = naks[i].code;
			return true;
		}
	}
	return bind_expected_word(binder, word->value, fault_nak_codes);
}

static bool bind_operand(struct binder *binder, const struct fault_word *word, enum operand operand,
			 DAT_SIM_FAULT *rule)
{
	DAT_UINT64 *ns = strcmp(word->word, "jitter") ? &rule->delay_ns : &rule->jitter_ns;

	if (!word->value)
		return operand == OPERAND_NONE || operand == OPERAND_MAYBE_TIME ||
		       bad_word(binder, word,
				operand == OPERAND_TIME      ? "takes a time, such as 5us"
				: operand == OPERAND_PERCENT ? "takes a share, such as 1%"
							     : "takes a code, such as sequence");
	switch (operand) {
	case OPERAND_NONE:
		return bad_word(binder, word, "takes no value");
	case OPERAND_TIME:
	case OPERAND_MAYBE_TIME:
		return value_ns(binder, word->value, ns);
	case OPERAND_PERCENT:
		return bind_percent(binder, word->value, &rule->probability);
	case OPERAND_NAK:
		return bind_nak(binder, word, rule);
	}
	return false;
}

static bool bind_words(struct binder *binder, struct statement *st)
{
	struct fault *fault = &st->fault;
	const struct fault_word *word;
	bool judged = false;
	size_t i;

	for (word = fault->words; word; word = word->next) {
		for (i = 0; verdict_words[i].word && !same_word(verdict_words[i].word, word->word);
		     i++)
			;
		if (!verdict_words[i].word)
			return unknown_word(binder, word);
		if (verdict_words[i].verdict >= 0 && judged)
			return bad_word(
				binder, word,
				"is one verdict too many: a rule has one, write two fault lines");
		if (!bind_operand(binder, word, verdict_words[i].operand, &fault->rule))
			return false;
		if (verdict_words[i].verdict >= 0) {
			fault->rule.verdict = (DAT_SIM_VERDICT)verdict_words[i].verdict;
			judged = true;
		}
		fault->optional |= !strcmp(word->word, "optional");
	}
	if (judged)
		return true;
	diag_add(&binder->script->diag, st->at,
		 "expected what happens: drop, delay 5us, loss 1%% ...");
	return false;
}

/* ---- settings ---- */

static bool bind_opcode(struct binder *binder, const struct value *value, DAT_UINT32 *packets)
{
	const struct value *v = value->kind == VALUE_FLAGS ? value->elements : value;
	struct suggest suggest;
	size_t i;

	for (; v; v = v->next) {
		for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
			if (v->kind == VALUE_NAME && !v->actor &&
			    same_word(opcodes[i].name, v->text))
				break;
		}
		if (i == ARRAY_SIZE(opcodes))
			break;
		*packets |= opcodes[i].bit;
		if (v == value)
			return true;
	}
	if (!v)
		return true;
	diag_add(&binder->script->diag, v->at,
		 "expected SEND, WRITE, READ_REQUEST, READ_RESPONSE, ACK, NAK, RNR_NAK, CM or "
		 "DISCONNECT");
	if (v->kind == VALUE_NAME) {
		suggest_start(&suggest, v->text, (int)strlen(v->text));
		for (i = 0; i < ARRAY_SIZE(opcodes); i++)
			suggest_try(&suggest, opcodes[i].name);
		diag_suggest(&binder->script->diag, &suggest);
	}
	return false;
}

static bool bind_part(struct binder *binder, const struct value *value, DAT_SIM_PART *part)
{
	if (value->kind == VALUE_NAME && !strcmp(value->text, "first"))
		*part = DAT_SIM_PART_FIRST;
	else if (value->kind == VALUE_NAME && !strcmp(value->text, "last"))
		*part = DAT_SIM_PART_LAST;
	else {
		return bind_expected_word(binder, value, "first or last");
	}
	return true;
}

static bool bind_setting(struct binder *binder, const struct setting *setting, DAT_SIM_FAULT *rule)
{
	bool known;

	if (setting->unequal) {
		diag_add(&binder->script->diag, setting->at, "expected %s=value", setting->key);
		return false;
	}
	if (!strcmp(setting->key, "opcode"))
		return bind_opcode(binder, setting->value, &rule->packets);
	if (!strcmp(setting->key, "part"))
		return bind_part(binder, setting->value, &rule->part);
	if (!bind_fault_count(binder, setting, rule, &known))
		return false;
	return known || bind_unknown_key(binder, setting, fault_packet_keys);
}

/* A script for a program has no actors: it names adapters, and EPs as the trace names them. */
static bool bind_program_place(struct binder *binder, struct fault *fault)
{
	const struct traffic *traffic = &fault->traffic;

	if (traffic->ep)
		return bind_numbered_ep(binder, traffic->ep, &fault->to_ep);
	return bind_adapter(binder, traffic->from, traffic->from_at) &&
	       bind_adapter(binder, traffic->to, traffic->to_at);
}

static bool bind_place(struct binder *binder, struct fault *fault)
{
	const struct script *script = binder->script;
	struct traffic *traffic = &fault->traffic;

	if (script->for_program)
		return bind_program_place(binder, fault);
	if (!traffic->ep) {
		traffic->from_actor = bind_actor(binder, traffic->from, traffic->from_at);
		if (traffic->from_actor >= 0)
			traffic->to_actor = bind_actor(binder, traffic->to, traffic->to_at);
		return traffic->from_actor >= 0 && traffic->to_actor >= 0;
	}
	if (traffic->ep->kind == VALUE_NAME && !bind_object(binder, traffic->ep))
		return false;
	if (traffic->ep->kind == VALUE_NAME &&
	    script->symbols[traffic->ep->symbol].type == DAT_HANDLE_TYPE_EP)
		return true;
	diag_add(&binder->script->diag, traffic->ep->at, "expected an EP, as actor.ep");
	return false;
}

/* A NAK or RNR NAK answers a request. The default is every request that can be answered so. */
static bool check_kind(struct binder *binder, const struct statement *st, DAT_SIM_FAULT *rule)
{
	DAT_UINT32 requests = DAT_SIM_PACKET_SEND;

	if (rule->verdict == DAT_SIM_NAK)
		requests |= DAT_SIM_PACKET_WRITE | DAT_SIM_PACKET_READ_REQUEST;
	if (rule->verdict != DAT_SIM_NAK && rule->verdict != DAT_SIM_RNR)
		return true;
	if (!rule->packets)
		rule->packets = requests;
	if (!(rule->packets & ~requests))
		return true;
	diag_add(&binder->script->diag, st->at,
		 "%s answers only %s: leave opcode= out or name only those",
		 rule->verdict == DAT_SIM_NAK ? "nak" : "rnr",
		 rule->verdict == DAT_SIM_NAK ? "SEND, WRITE and READ_REQUEST" : "SEND");
	return false;
}

bool bind_fault(struct binder *binder, struct statement *st)
{
	const struct setting *setting;

	if (st->fault.kind != FAULT_PACKET)
		return bind_fault_call(binder, st) && bind_fault_once(binder, &st->fault);
	if (!bind_place(binder, &st->fault) || !bind_words(binder, st))
		return false;
	for (setting = st->fault.settings; setting; setting = setting->next) {
		if (!bind_setting(binder, setting, &st->fault.rule))
			return false;
	}
	return bind_fault_once(binder, &st->fault) && check_kind(binder, st, &st->fault.rule);
}
