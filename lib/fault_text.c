/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fault_call.h"
#include "fault_door.h"
#include "fault_text.h"
#include "object.h"
#include "say.h"

#define BLANKS   " \t\n"
#define WORD_MAX 120 /* characters of a field and its value */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct word_list {
	const char *words[12]; /* the i-th means i */
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
	"SEND, WRITE, READ_REQUEST, READ_RESPONSE, ACK, NAK, RNR_NAK, CM and DISCONNECT, with | between"
};

_Static_assert(NIC_FAULT_COUNT == 11, "a word for each verdict");
_Static_assert(NIC_NAK_COUNT == 5, "a word for each code of a NAK");
_Static_assert(NIC_PART_COUNT == 3, "a word for each part");
_Static_assert(NIC_PACKET_ALL == (1u << 9) - 1, "a word for each kind of packet");

static const struct word_list spoils = {
	{ "pass", "fail", "complete_as", "overflow", "lose", "delay", "fatal" },
	"pass, fail, complete_as, overflow, lose, delay or fatal"
};
_Static_assert(NIC_SPOIL_COUNT == 7, "a word for each way to spoil");

/* Which kind of rule a field belongs to. Bits. */
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
	FIELD("error", NUMBER, CALL, error, UINT32_MAX, NULL),
	FIELD("completions", NUMBER, CALL, completions, UINT32_MAX, NULL),
	FIELD("status", NUMBER, CALL, status, UINT32_MAX, NULL),
	FIELD("event", NUMBER, CALL, event, UINT32_MAX, NULL),
};

/* ---- values ---- */

static void complain(const char *word, size_t length, const char *expected)
{
	char shown[WORD_MAX + 1];
	size_t i;

	for (i = 0; i < length && i < WORD_MAX; i++)
		shown[i] = word[i] < ' ' || word[i] > '~' ? '?' : word[i];
	shown[i] = '\0';
	say("DATSIM_FAULTS: \"%s\": expected %s", shown, expected);
}

static bool read_number(const char *s, size_t length, uint64_t max, uint64_t *number)
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

static bool read_word(const char *s, size_t length, const struct word_list *list, uint64_t *number)
{
	for (size_t i = 0; i < COUNT(list->words) && list->words[i]; i++) {
		if (strlen(list->words[i]) == length && !memcmp(list->words[i], s, length)) {
			*number = i;
			return true;
		}
	}
	return false;
}

static bool read_bits(const char *s, size_t length, const struct word_list *list, uint64_t *bits)
{
	uint64_t bit;
	size_t n;

	*bits = 0;
	for (;; s += n + 1, length -= n + 1) {
		const char *bar = memchr(s, '|', length);

		n = bar ? (size_t)(bar - s) : length;
		if (!read_word(s, n, list, &bit))
			return false;
		*bits |= (uint64_t)1 << bit;
		if (!bar)
			return true;
	}
}

/* The value of a word begins at s. */
static bool read_value(const struct field *field, const char *word, size_t whole, const char *s,
		       void *to)
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
			memcpy(to, s, length); /* what is behind it is zero */
		else
			complain(word, whole, "a name of at most 31 characters");
		return good;
	case NUMBER:
		good = read_number(s, length, field->max, &number);
		break;
	case WORD:
		good = read_word(s, length, field->list, &number);
		break;
	case BITS:
		good = read_bits(s, length, field->list, &number);
		break;
	}
	if (!good)
		complain(word, whole, field->list ? field->list->all : expected);
	small = (uint32_t)number;
	if (field->size == sizeof(small))
		memcpy(to, &small, sizeof(small));
	else
		memcpy(to, &number, sizeof(number));
	return good;
}

/* ---- rules ---- */

/* One word field=value; the bit of the field is set in *seen. */
static bool read_field(const char *word, size_t length, struct fault_text_rule *rule,
		       uint64_t *seen)
{
	const char *equals = memchr(word, '=', length);
	size_t name = equals ? (size_t)(equals - word) : 0, i;

	for (i = 0; i < COUNT(fields); i++)
		if (strlen(fields[i].name) == name && !memcmp(fields[i].name, word, name))
			break;
	if (i == COUNT(fields)) {
		complain(word, length, "field=value, the field being one of DAT_SIM_FAULT");
		return false;
	}
	if (*seen >> i & 1) {
		complain(word, length, "each field once in a rule");
		return false;
	}
	*seen |= (uint64_t)1 << i;
	return read_value(&fields[i], word, length, equals + 1, (char *)rule + fields[i].offset);
}

/* One verdict, of one kind, and no field of the other kind. */
static bool is_whole(uint64_t seen, bool *is_call)
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
		if (!read_field(p, length, rule, &seen))
			return -EINVAL;
		p += length;
		p += strspn(p, BLANKS);
	}
	*text = p;
	if (is_whole(seen, &rule->is_call))
		return 1;
	complain(start, (size_t)(p - start),
		 "a verdict, or a spoil, in each rule, and fields that go with it");
	return -EINVAL;
}

/* ---- into a world and out of it ---- */

static const char *words_of(const char *start, const char *end, char *line, size_t size)
{
	size_t length = 0;

	/* As field=value words of a trace line: one blank between. */
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

static int add_call(struct backend *b, const struct fault_text_rule *text, uint32_t *id)
{
	const struct nic_packet_rule *p = &text->packet;
	DAT_SIM_CALL_FAULT fault = {
		.verdict = (DAT_SIM_CALL_VERDICT)text->spoil,
		.call = text->call[0] ? text->call : NULL,
		.error = (DAT_RETURN)text->error,
		.completions = text->completions,
		.status = (DAT_DTO_COMPLETION_STATUS)text->status,
		.event = (DAT_EVENT_NUMBER)text->event,
		.since_ns = p->since_ns,
		.until_ns = p->until_ns,
		.after = p->after,
		.nth = p->nth,
		.every = p->every,
		.probability = p->probability,
		.delay_ns = p->delay_ns,
		.times = p->times,
	};
	struct nic_fault_rule rule;
	struct nic_faults *faults;

	if (!fault_call_rule(&fault, &rule))
		return -EINVAL;
	memcpy(rule.adapter, text->adapter, sizeof(rule.adapter));
	rule.qp = text->ep;
	faults = fault_door(b);
	return faults ? nic_fault_add(faults, &rule, id) : -ENOMEM;
}

static int add(struct backend *b, const struct fault_text_rule *rule, uint32_t *id)
{
	struct nic *nic = b->kind->control(b->world);

	return rule->is_call ? add_call(b, rule, id)
			     : nic->ops->packet_rule_add(nic, &rule->packet, id);
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
		words_of(start, text, words, sizeof(words));
		if (loaded->count == COUNT(loaded->rules) || add(b, &rule, &id)) {
			complain(
				words, strlen(words),
				"at most 256 rules, each of which can be: adapters by their names, RNR of "
				"SEND and NAK of requests only, errors that the adapter can cause");
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
