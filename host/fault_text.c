/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_text.c - parse the fault rules of DATSIM_FAULTS, add them to a world, and report in the
 * trace how many times each acted.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "fault_door.h"
#include "fault_text.h"
#include "say.h"

#define BLANKS   " \t\n"
#define WORD_MAX 120 /* characters of a field and its value */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct word_list {
	const char *words[12]; /* the i-th word has the value i */
	const char *all;
};

static const struct word_list verdicts = {
	{ "pass", "drop", "corrupt", "delay", "reorder", "duplicate", "rnr", "nak", "link_down",
	  "link_up", "host_dead" },
	"pass, drop, corrupt, delay, reorder, duplicate, rnr, nak, link_down, link_up or host_dead"
};
static const struct word_list naks = {
	{ "sequence", "invalid_request", "remote_access", "remote_operation", "reserved" },
	"sequence, invalid_request, remote_access, remote_operation or reserved"
};
static const struct word_list parts = { { "any", "first", "last" }, "any, first or last" };
static const struct word_list packets = {
	{ "SEND", "WRITE", "READ_REQUEST", "READ_RESPONSE", "ACK", "NAK", "RNR_NAK", "CM",
	  "DISCONNECT" },
	"SEND, WRITE, READ_REQUEST, READ_RESPONSE, ACK, NAK, RNR_NAK, CM and DISCONNECT, "
	"with | between"
};

_Static_assert(NIC_FAULT_COUNT == 11, "a word for each verdict");
_Static_assert(NIC_NAK_COUNT == 5, "a word for each code of a NAK");
_Static_assert(NIC_PART_COUNT == 3, "a word for each part");
_Static_assert(NIC_PACKET_ALL == (1u << 9) - 1, "a word for each kind of packet");

static const struct word_list spoils = {
	{ "pass", "fail", "complete_as", "overflow", "lose", "delay", "fatal", "remove", "down",
	  "kill" },
	"pass, fail, complete_as, overflow, lose, delay, fatal, remove, down or kill"
};
_Static_assert(NIC_SPOIL_COUNT == 10, "a word for each way to spoil");

static const struct word_list apis = { { "dat", "verbs" }, "dat or verbs" };
_Static_assert(FAULT_TEXT_APIS == 2, "a word for each API");

/* The kinds of rule that have a field. Bits. */
enum kinds {
	PACKET = 1,
	CALL = 2,
	BOTH = 3
};

enum kind {
	NUMBER, /* uint32_t or uint64_t */
	NAME,   /* of an adapter */
	WORD,   /* uint32_t: one of a list */
	BITS    /* uint32_t: some of a list */
};

static const struct field {
	const char *name;
	enum kind kind;
	enum kinds of;
	size_t offset, size;
	uint64_t max;
	const struct word_list *list;
} fields[] = {
#define FIELD(name, kind, of, member, max, list)                                 \
	{                                                                        \
		name, kind, of, offsetof(struct fault_text_rule, member),        \
			sizeof(((struct fault_text_rule *)0)->member), max, list \
	}
	FIELD("line", NUMBER, BOTH, line, UINT32_MAX, NULL),
	FIELD("from", NAME, PACKET, packet.from, 0, NULL),
	FIELD("to", NAME, PACKET, packet.to, 0, NULL),
	FIELD("from_ep", NUMBER, PACKET, packet.from_qp, UINT32_MAX, NULL),
	FIELD("to_ep", NUMBER, PACKET, packet.to_qp, UINT32_MAX, NULL),
	FIELD("packets", BITS, PACKET, packet.packets, 0, &packets),
	FIELD("part", WORD, PACKET, packet.part, 0, &parts),
	FIELD("since_ns", NUMBER, BOTH, packet.since_ns, UINT64_MAX, NULL),
	FIELD("until_ns", NUMBER, BOTH, packet.until_ns, UINT64_MAX, NULL),
	FIELD("after", NUMBER, BOTH, packet.after, UINT64_MAX, NULL),
	FIELD("nth", NUMBER, BOTH, packet.nth, UINT64_MAX, NULL),
	FIELD("every", NUMBER, BOTH, packet.every, UINT64_MAX, NULL),
	FIELD("probability", NUMBER, BOTH, packet.probability, NIC_PROBABILITY_1, NULL),
	FIELD("verdict", WORD, PACKET, packet.fault, 0, &verdicts),
	FIELD("nak", WORD, PACKET, packet.nak, 0, &naks),
	FIELD("delay_ns", NUMBER, BOTH, packet.delay_ns, UINT64_MAX, NULL),
	FIELD("jitter_ns", NUMBER, PACKET, packet.jitter_ns, UINT64_MAX, NULL),
	FIELD("times", NUMBER, BOTH, packet.times, UINT64_MAX, NULL),
	FIELD("spoil", WORD, CALL, spoil, 0, &spoils),
	FIELD("call", NAME, CALL, call, 0, NULL),
	FIELD("adapter", NAME, CALL, adapter, 0, NULL),
	FIELD("ep", NUMBER, CALL, ep, UINT32_MAX, NULL),
	FIELD("api", WORD, CALL, api, 0, &apis),
	FIELD("error", NUMBER, CALL, error, UINT32_MAX, NULL),
	FIELD("completions", NUMBER, CALL, completions, UINT32_MAX, NULL),
	FIELD("status", NUMBER, CALL, status, UINT32_MAX, NULL),
	FIELD("event", NUMBER, CALL, event, UINT32_MAX, NULL),
};

/* ---- values ---- */

static void fault_text_error(const char *word, size_t length, const char *expected)
{
	char shown[WORD_MAX + 1];
	size_t i;

	for (i = 0; i < length && i < WORD_MAX; i++)
		shown[i] = word[i] < ' ' || word[i] > '~' ? '?' : word[i];
	shown[i] = '\0';
	say("DATSIM_FAULTS: \"%s\": expected %s", shown, expected);
}

static bool fault_text_number(const char *s, size_t length, uint64_t max, uint64_t *number)
{
	uint64_t n = 0;

	for (size_t i = 0; i < length; i++) {
		uint64_t digit = (uint64_t)(s[i] - '0');

		if (s[i] < '0' || s[i] > '9' || n > (max - digit) / 10 || digit > max)
			return false;
		n = 10 * n + digit;
	}
	*number = n;
	return length > 0;
}

static bool fault_text_word(const char *s, size_t length, const struct word_list *list,
			    uint64_t *number)
{
	for (size_t i = 0; i < COUNT(list->words) && list->words[i]; i++) {
		if (strlen(list->words[i]) == length && !memcmp(list->words[i], s, length)) {
			*number = i;
			return true;
		}
	}
	return false;
}

static bool fault_text_bits(const char *s, size_t length, const struct word_list *list,
			    uint64_t *bits)
{
	uint64_t bit;
	size_t n;

	*bits = 0;
	for (;; s += n + 1, length -= n + 1) {
		const char *bar = memchr(s, '|', length);

		n = bar ? (size_t)(bar - s) : length;
		if (!fault_text_word(s, n, list, &bit))
			return false;
		*bits |= (uint64_t)1 << bit;
		if (!bar)
			return true;
	}
}

/* Parse the value of a word, which begins at s. */
static bool fault_text_value(const struct field *field, const char *word, size_t whole,
			     const char *s, void *to)
{
	size_t length = whole - (size_t)(s - word);
	char expected[64];
	uint64_t number = 0;
	uint32_t small;
	bool good = false;

	snprintf(expected, sizeof(expected), "a whole number, at most %lu", field->max);
	switch (field->kind) {
	case NAME:
		good = length > 0 && length < NIC_ADAPTER_NAME;
		if (good)
			memcpy(to, s, length); /* the rest is zero */
		else
			fault_text_error(word, whole, "a name of at most 31 characters");
		return good;
	case NUMBER:
		good = fault_text_number(s, length, field->max, &number);
		break;
	case WORD:
		good = fault_text_word(s, length, field->list, &number);
		break;
	case BITS:
		good = fault_text_bits(s, length, field->list, &number);
		break;
	}
	if (!good)
		fault_text_error(word, whole, field->list ? field->list->all : expected);
	small = (uint32_t)number;
	if (field->size == sizeof(small))
		memcpy(to, &small, sizeof(small));
	else
		memcpy(to, &number, sizeof(number));
	return good;
}

/* ---- rules ---- */

/* Parse one word field=value and set the field's bit in *seen. */
static bool fault_text_field(const char *word, size_t length, struct fault_text_rule *rule,
			     uint64_t *seen)
{
	const char *equals = memchr(word, '=', length);
	size_t name = equals ? (size_t)(equals - word) : 0, i;

	for (i = 0; i < COUNT(fields); i++)
		if (strlen(fields[i].name) == name && !memcmp(fields[i].name, word, name))
			break;
	if (i == COUNT(fields)) {
		fault_text_error(word, length, "field=value, the field being one of DAT_SIM_FAULT");
		return false;
	}
	if (*seen >> i & 1) {
		fault_text_error(word, length, "each field once in a rule");
		return false;
	}
	*seen |= (uint64_t)1 << i;
	return fault_text_value(&fields[i], word, length, equals + 1,
				(char *)rule + fields[i].offset);
}

/* True if the rule has one verdict or spoil, and no field of the other kind. */
static bool rule_is_complete(uint64_t seen, bool *is_call)
{
	enum kinds verdict = 0, of = BOTH;

	for (size_t i = 0; i < COUNT(fields); i++) {
		if (!(seen >> i & 1))
			continue;
		if (fields[i].list == &verdicts || fields[i].list == &spoils)
			verdict |= fields[i].of;
		of &= fields[i].of;
	}
	*is_call = verdict == CALL;
	return of && (verdict == PACKET || verdict == CALL);
}

int fault_text_next(const char **text, struct fault_text_rule *rule)
{
	const char *p = *text + strspn(*text, BLANKS ";"), *start = p;
	uint64_t seen = 0;
	size_t length;

	memset(rule, 0, sizeof(*rule));
	if (!*p)
		return 0;
	while (*p && *p != ';') {
		length = strcspn(p, BLANKS ";");
		if (!fault_text_field(p, length, rule, &seen))
			return -EINVAL;
		p += length;
		p += strspn(p, BLANKS);
	}
	*text = p;
	if (rule_is_complete(seen, &rule->is_call))
		return 1;
	fault_text_error(start, (size_t)(p - start),
			 "a verdict, or a spoil, in each rule, and fields that go with it");
	return -EINVAL;
}

/* ---- the rules of a world ---- */

static const char *rule_words(const char *start, const char *end, char *line, size_t size)
{
	size_t length = 0;

	/* The form in a trace line: field=value words with one blank between them. */
	for (start += strspn(start, BLANKS ";"); start < end && length + 2 < size; start++) {
		bool blank = strchr(BLANKS, *start);

		if (!blank || (length && line[length - 1] != ' '))
			line[length++] = blank ? ' ' : *start;
	}
	while (length && line[length - 1] == ' ')
		length--;
	line[length] = '\0';
	return line;
}

/*
 * A rule with names of an API that this process does not use may be meant for another process. Here
 * it never acts; but it takes a number, because a rule has the same number in all processes.
 */
static struct nic_fault_rule rule_of_others(void)
{
	return (struct nic_fault_rule){ .spoil = NIC_SPOIL_PASS,
					.events = NIC_EVENT_NOTIFY,
					.after = UINT64_MAX };
}

/* The names of calls and events are a front's. */
static int fault_text_add_call(struct backend *b, const struct fault_text_rule *text, uint32_t *id)
{
	struct nic_fault_rule rule;
	struct nic_faults *faults;
	bool others = b->shared != NULL;
	int i = 0;

	for (; i < HOST_FRONTS && b->fronts[i]; i++) {
		others = others && b->fronts[i]->ops->api != text->api;
		if (b->fronts[i]->ops->call_fault(text, &rule))
			break;
	}
	if (i == HOST_FRONTS || !b->fronts[i]) {
		if (!others)
			return -EINVAL;
		rule = rule_of_others();
	}
	memcpy(rule.adapter, text->adapter, sizeof(rule.adapter));
	rule.qp = text->ep;
	faults = fault_door(b);
	return faults ? nic_fault_add(faults, &rule, id) : -ENOMEM;
}

static int fault_text_add(struct backend *b, const struct fault_text_rule *rule, uint32_t *id)
{
	struct nic *nic = b->kind->control(b->world);

	return rule->is_call ? fault_text_add_call(b, rule, id)
			     : nic->ops->packet_rule_add(nic, &rule->packet, id);
}

/* Why the rule was refused: what was expected. */
static const char *fault_text_wanted(const struct backend *b, const struct fault_text_rule *rule)
{
	bool of_dat = false, of_verbs = false;

	for (int i = 0; i < HOST_FRONTS && b->fronts[i]; i++) {
		of_dat |= b->fronts[i]->ops->api == FAULT_TEXT_DAT;
		of_verbs |= b->fronts[i]->ops->api == FAULT_TEXT_VERBS;
	}
	if (rule->is_call && rule->api == FAULT_TEXT_DAT && !of_dat)
		return "names of verbs, such as ibv_post_send, ENOMEM or IBV_WC_RETRY_EXC_ERR: "
		       "this program uses libibverbs, not uDAPL";
	if (rule->is_call && rule->api == FAULT_TEXT_VERBS && !of_verbs)
		return "names of uDAPL, such as dat_ep_post_send, DAT_INSUFFICIENT_RESOURCES or "
		       "DAT_DTO_ERR_TRANSPORT: this program uses uDAPL, not libibverbs";
	return "at most 256 rules, each of them possible: adapters by name, RNR for SEND, NAK for "
	       "requests, errors that the adapter can cause";
}

bool fault_text_load(struct backend *b, const char *text, bool with_packets)
{
	struct nic *nic = b->kind->control(b->world);
	struct fault_text *loaded = &b->faults;
	struct fault_text_rule rule;
	const char *start = text;
	char words[512];
	uint32_t id;
	int more;

	for (; (more = fault_text_next(&text, &rule)) > 0; start = text) {
		if (!with_packets && !rule.is_call)
			continue;
		rule_words(start, text, words, sizeof(words));
		if (loaded->count == COUNT(loaded->rules) || fault_text_add(b, &rule, &id)) {
			fault_text_error(words, strlen(words), fault_text_wanted(b, &rule));
			return false;
		}
		loaded->rules[loaded->count].id = id;
		loaded->rules[loaded->count++].line = rule.line;
		if (nic->tracing)
			nic_trace(nic, "- rule is=%u %s", id, words);
	}
	return more == 0;
}

void fault_text_end(struct backend *b)
{
	struct nic *nic = b->kind->control(b->world);
	const struct fault_text *loaded = &b->faults;
	uint64_t fired;

	for (uint32_t i = 0; nic->tracing && i < loaded->count; i++) {
		if (faults_fired(b, loaded->rules[i].id, &fired) == 0)
			nic_trace(nic, "- rule fired=%u line=%u times=%lu", loaded->rules[i].id,
				  loaded->rules[i].line, fired);
	}
	b->faults.count = 0;
}
