/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

enum kind {
	NUMBER, /* uint32_t or uint64_t */
	NAME,   /* of an adapter */
	WORD,   /* uint32_t: one of a list */
	BITS    /* uint32_t: some of a list */
};

static const struct field {
	const char *name;
	enum kind kind;
	size_t offset, size;
	uint64_t max;
	const struct word_list *list;
} fields[] = {
#define FIELD(name, kind, member, max, list)                                     \
	{                                                                        \
		name, kind, offsetof(struct fault_text_rule, member),            \
			sizeof(((struct fault_text_rule *)0)->member), max, list \
	}
	FIELD("line", NUMBER, line, UINT32_MAX, NULL),
	FIELD("from", NAME, packet.from, 0, NULL),
	FIELD("to", NAME, packet.to, 0, NULL),
	FIELD("from_ep", NUMBER, packet.from_qp, UINT32_MAX, NULL),
	FIELD("to_ep", NUMBER, packet.to_qp, UINT32_MAX, NULL),
	FIELD("packets", BITS, packet.packets, 0, &packets),
	FIELD("part", WORD, packet.part, 0, &parts),
	FIELD("since_ns", NUMBER, packet.since_ns, UINT64_MAX, NULL),
	FIELD("until_ns", NUMBER, packet.until_ns, UINT64_MAX, NULL),
	FIELD("after", NUMBER, packet.after, UINT64_MAX, NULL),
	FIELD("nth", NUMBER, packet.nth, UINT64_MAX, NULL),
	FIELD("every", NUMBER, packet.every, UINT64_MAX, NULL),
	FIELD("probability", NUMBER, packet.probability, NIC_PROBABILITY_1, NULL),
	FIELD("verdict", WORD, packet.fault, 0, &verdicts),
	FIELD("nak", WORD, packet.nak, 0, &naks),
	FIELD("delay_ns", NUMBER, packet.delay_ns, UINT64_MAX, NULL),
	FIELD("jitter_ns", NUMBER, packet.jitter_ns, UINT64_MAX, NULL),
	FIELD("times", NUMBER, packet.times, UINT64_MAX, NULL),
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
			complain(word, whole, "an adapter's name");
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

static bool has_verdict(uint64_t seen)
{
	for (size_t i = 0; i < COUNT(fields); i++)
		if (fields[i].list == &verdicts)
			return seen >> i & 1;
	return false;
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
	if (has_verdict(seen))
		return 1;
	complain(start, (size_t)(p - start), "a verdict in each rule");
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

bool fault_text_load(struct nic *nic, const char *text, struct fault_text *loaded)
{
	struct fault_text_rule rule;
	const char *start = text;
	char words[512];
	uint32_t id;
	int more;

	loaded->count = 0;
	for (; (more = fault_text_next(&text, &rule)) > 0; start = text) {
		words_of(start, text, words, sizeof(words));
		if (loaded->count == COUNT(loaded->rules) ||
		    nic->ops->packet_rule_add(nic, &rule.packet, &id)) {
			complain(
				words, strlen(words),
				"adapters that can be, at most 256 rules, RNR for SEND and NAK for requests only");
			return false;
		}
		loaded->rules[loaded->count].id = id;
		loaded->rules[loaded->count++].line = rule.line;
		if (nic->tracing)
			nic_trace(nic, "- rule is=%u %s", id, words);
	}
	return more == 0;
}

void fault_text_end(struct nic *nic, const struct fault_text *loaded)
{
	uint64_t fired;

	for (uint32_t i = 0; nic->tracing && i < loaded->count; i++) {
		if (nic->ops->packet_rule_fired(nic, loaded->rules[i].id, &fired) == 0)
			nic_trace(nic, "- rule fired=%u line=%u times=%lu", loaded->rules[i].id,
				  loaded->rules[i].line, fired);
	}
}
