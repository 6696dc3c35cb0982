/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet lines: the next packet of a link, as the trace tells it, and when it arrived. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define PSN_MASK 0xffffff

/* A packet: the line of the trace that tells of its arrival, copied as the trace moves. */
struct arrival {
	char line[1024];
	size_t length;
	uint64_t first_psn;
	uint64_t script_ns;
};

/* Is the object that begins here, emu0 or emu0.ep1, this adapter or of it? */
static bool of_adapter(const struct run *run, const char *object, size_t n, int actor)
{
	const char *adapter = run->script->actors[actor].adapter;
	size_t length = strlen(adapter);

	return n >= length && !memcmp(object, adapter, length) &&
	       (n == length || object[length] == '.');
}

/* The object of a line: its second word. */
static const char *object_in(const char *line, size_t length, size_t *n)
{
	const char *object = memchr(line, ' ', length), *end;

	object = object ? object + 1 : line + length;
	end = memchr(object, ' ', length - (size_t)(object - line));
	*n = (size_t)((end ? end : line + length) - object);
	return object;
}

/* The first packet of this link that no line has spoken of; false: there is none. */
static bool next_packet(struct run *run, const struct packet_line *wanted, struct arrival *found)
{
	const char *text = packets_read(run), *line, *from, *to;
	struct packet_log *log = &run->packets;
	const struct packet_seen *seen;
	size_t *next = &log->next[wanted->from_actor][wanted->to_actor];
	size_t from_n, to_n = 0;

	for (; text && *next < log->count; ++*next) {
		seen = &log->seen[*next];
		line = text + seen->at;
		from = object_in(line, seen->length, &from_n);
		to = trace_key(line, seen->length, "to", &to_n);
		if (!to || !of_adapter(run, from, from_n, wanted->from_actor) ||
		    !of_adapter(run, to, to_n, wanted->to_actor))
			continue;
		found->length = seen->length < sizeof(found->line) ? seen->length
								   : sizeof(found->line) - 1;
		memcpy(found->line, line, found->length);
		found->line[found->length] = '\0';
		found->first_psn = seen->first_psn;
		found->script_ns = strtoull(line, NULL, 10) - run->origin_ns;
		return true;
	}
	return false;
}

/* ---- what it is ---- */

/* A field as a script counts it: sequence numbers from the connection's first one on. */
static bool packet_field(const struct arrival *packet, const char *key, uint64_t *number)
{
	size_t n = 0;
	const char *s = trace_key(packet->line, packet->length, key, &n);

	if (!s)
		return false;
	*number = strtoull(s, NULL, 10);
	if (strcmp(key, "psn"))
		return true;
	*number = (*number - packet->first_psn) & PSN_MASK;
	return packet->first_psn != UINT64_MAX;
}

static bool opcode_fits(const struct packet_line *wanted, const struct arrival *packet)
{
	size_t n = 0, length = strlen(wanted->opcode);
	const char *op = trace_key(packet->line, packet->length, "op", &n);
	bool ends = op && ((n == 9 && !memcmp(op, "TERMINATE", 9)) ||
			   (n == 7 && !memcmp(op, "CM_DREQ", 7)));

	if (!op || !strcmp(wanted->opcode, "any"))
		return op != NULL;
	if (ends)
		return !strcmp(wanted->opcode, "DISCONNECT");
	return n >= length && !memcmp(op, wanted->opcode, length) &&
	       (n == length || op[length] == '_');
}

static bool sender_fits(const struct run *run, const struct setting *setting,
			const struct arrival *packet)
{
	char name[64];
	size_t n;
	const char *object = object_in(packet->line, packet->length, &n);

	return dat_sim_name(value_handle(run, setting->value), name, sizeof(name)) == DAT_SUCCESS &&
	       n == strlen(name) && !memcmp(object, name, n);
}

static bool field_fits(const struct run *run, const struct setting *setting,
		       const struct arrival *packet)
{
	uint64_t number;
	bool equal;

	if (!strcmp(setting->key, "ep"))
		equal = sender_fits(run, setting, packet);
	else
		equal = packet_field(packet, setting->key, &number) &&
			number == value_number(run, setting->value);
	return equal != setting->unequal;
}

/* ---- failures ---- */

static void text_link(const struct run *run, struct text *text)
{
	text_add(text, "%s>%s", run->st->packet.from, run->st->packet.to);
}

/* The sender, if the line asks for it and the script has a name for it. */
static void text_sender(const struct run *run, struct text *text, const struct arrival *packet)
{
	const struct setting *setting = run->st->packet.wanted;
	struct setting each = { .value = NULL };
	struct value value = { .kind = VALUE_NAME };
	int i;

	while (setting && strcmp(setting->key, "ep"))
		setting = setting->next;
	each.value = &value;
	for (i = 0; setting && i < run->script->symbol_count; i++) {
		value.symbol = i;
		if (run->script->symbols[i].type == DAT_HANDLE_TYPE_EP && run->objects[i].alive &&
		    sender_fits(run, &each, packet)) {
			text_add(text, " ep=");
			text_handle(run, text, -1, run->objects[i].handle);
			return;
		}
	}
}

/* The packet as a script would write it. */
static void text_packet(const struct run *run, struct text *text, const struct arrival *packet)
{
	static const char *const keys[] = { "psn", "message", "packet", "bytes" };
	size_t i, n = 0;
	const char *op = trace_key(packet->line, packet->length, "op", &n);
	uint64_t number;

	text_link(run, text);
	text_add(text, " %.*s", (int)n, op);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		if (packet_field(packet, keys[i], &number))
			text_add(text, " %s=%s%llu", keys[i], i ? "" : "+",
				 (unsigned long long)number);
	}
	text_sender(run, text, packet);
}

static bool packet_failed(struct run *run, const struct arrival *packet, bool timed,
			  const char *title)
{
	struct text actual = { 0 };

	if (timed) {
		text_time(&actual, packet->script_ns);
		text_add(&actual, " ");
	}
	text_packet(run, &actual, packet);
	return run_fail(run, EXIT_FAILED, NULL, &actual, "%s", title);
}

static bool no_packet_came(struct run *run)
{
	struct text actual = { 0 };

	text_add(&actual, "no packet ");
	text_link(run, &actual);
	text_add(&actual, " until ");
	text_time(&actual, run_now(run));
	return run_fail(run, EXIT_FAILED, NULL, &actual, "the packet did not come");
}

/* ---- waiting for it ---- */

/* Let time pass until the packet is there, at most until then. */
static bool step_until_packet(struct run *run, uint64_t limit_ns, struct arrival *packet, bool *got)
{
	bool stepped = true;
	int i;

	*got = next_packet(run, &run->st->packet, packet);
	for (i = 0; i < BUSY_LIMIT_STEPS && stepped && !*got; i++) {
		if (!run_step(run, limit_ns, &stepped))
			return false;
		*got = next_packet(run, &run->st->packet, packet);
	}
	return true;
}

/* False: the run ends, after a failure. */
static bool await_packet(struct run *run, const struct when *when, struct arrival *packet)
{
	uint64_t base = when->relative ? run->previous_ns : 0;
	uint64_t from = base + when->from_ns, to = base + when->to_ns;
	bool got;

	switch (when->kind) {
	case WHEN_DEFAULT:
		got = next_packet(run, &run->st->packet, packet);
		break;
	case WHEN_ANY:
		if (!step_until_packet(run, run_limit(run), packet, &got))
			return false;
		break;
	default:
		if (!run_until(run, from) || !step_until_packet(run, to, packet, &got))
			return false;
		if (!got && !run_until(run, to))
			return false;
		if (got && (packet->script_ns < from || packet->script_ns > to))
			return packet_failed(run, packet, true, "the packet came at another time");
	}
	return got || no_packet_came(run);
}

static bool check_packet(struct run *run, const struct arrival *packet)
{
	const struct packet_line *wanted = &run->st->packet;
	const struct setting *setting;
	bool same = opcode_fits(wanted, packet);

	for (setting = wanted->wanted; setting; setting = setting->next)
		same = same && field_fits(run, setting, packet);
	if (!same)
		return packet_failed(run, packet, false, "another packet came");
	run->packets.next[wanted->from_actor][wanted->to_actor]++;
	return true;
}

static bool run_no_packet(struct run *run, const struct statement *st)
{
	uint64_t base = st->when.relative ? run->previous_ns : 0;
	struct arrival packet;

	if (st->when.kind == WHEN_AT && !run_until(run, base + st->when.from_ns))
		return false;
	if (st->when.kind == WHEN_ANY && !run_until_quiet(run))
		return false;
	return !next_packet(run, &st->packet, &packet) ||
	       packet_failed(run, &packet, true, "a packet came");
}

bool run_packet(struct run *run, const struct statement *st)
{
	struct arrival packet;

	if (st->packet.absent)
		return run_no_packet(run, st);
	for (run->turn = 1; run->turn <= st->repeat; run->turn++) {
		if (!await_packet(run, &st->when, &packet) || !check_packet(run, &packet))
			return false;
	}
	return true;
}
