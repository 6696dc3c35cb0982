/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a trace and counts packets, events, failed calls, objects left and fault rules. */
#include "account.h"

#include <stdlib.h>
#include <string.h>

#include "tools/datsim/show/show.h"
#include "tools/datsim/show/trace_fault.h"
#include "watch_table.h"

#define SHOWN_MOST 8 /* names listed in one line */

static const char full_note[] = "the trace is full (";
static const char stuck_note[] = "the trace is full (its file cannot grow)";
static const char own_note[] = "own fabric: ";

/* ---- tallies ---- */

/* The slot of a name, or the free one for it. A slot holds index + 1, or 0 if it is free. */
static uint32_t *tally_slot(const struct tallies *tallies, struct span what)
{
	size_t i;

	for (i = watch_hash(what);; i++) {
		uint32_t *slot = &tallies->slots[i & (tallies->slot_count - 1)];

		if (!*slot || watch_same(tallies->list[*slot - 1].what, what))
			return slot;
	}
}

static struct tally *tally_find(const struct tallies *tallies, struct span what)
{
	uint32_t at = tallies->count ? *tally_slot(tallies, what) : 0;

	return at && tallies->list[at - 1].times ? &tallies->list[at - 1] : NULL;
}

static void tallies_grow(struct tallies *tallies)
{
	size_t i;

	tallies->slot_count = tallies->slot_count ? 2 * tallies->slot_count : 16;
	free(tallies->slots);
	tallies->slots = mem_zero(tallies->slot_count, sizeof(*tallies->slots));
	tallies->list = mem_grow(tallies->list, tallies->slot_count * sizeof(*tallies->list));
	for (i = 0; i < tallies->count; i++)
		*tally_slot(tallies, tallies->list[i].what) = (uint32_t)i + 1;
}

static void tally_add(struct tallies *tallies, struct span what, uint64_t times)
{
	struct tally *tally = tally_find(tallies, what);

	if (!tally) {
		if (2 * tallies->count >= tallies->slot_count)
			tallies_grow(tallies);
		tally = &tallies->list[tallies->count++];
		*tally = (struct tally){ .what = what };
		*tally_slot(tallies, what) = (uint32_t)tallies->count;
	}
	tally->times += times;
}

/* Its entry stays, with 0 times, until tallies_settle takes it out. */
static void tally_remove(struct tallies *tallies, struct span what)
{
	struct tally *tally = tally_find(tallies, what);

	if (tally)
		tally->times = 0;
}

/* The remaining ones are in the order in which they were made. Nothing is looked up after that. */
static void tallies_settle(struct tallies *tallies)
{
	size_t i, kept = 0;

	for (i = 0; i < tallies->count; i++) {
		if (tallies->list[i].times)
			tallies->list[kept++] = tallies->list[i];
	}
	tallies->count = kept;
}

static void tallies_free(struct tallies *tallies)
{
	free(tallies->list);
	free(tallies->slots);
}

/* ---- rules of faults ---- */

static struct account_rule *find_rule(const struct account *account, uint64_t id)
{
	size_t i;

	for (i = 0; i < account->rule_count; i++) {
		if (account->rules[i].id == id && !account->rules[i].ended)
			return &account->rules[i];
	}
	return NULL;
}

static void add_rule(struct account *account, const struct trace_line *line)
{
	uint64_t is = trace_number(line, "is");
	struct account_rule *rule = find_rule(account, trace_number(line, "fired"));

	if (rule) {
		rule->times = trace_number(line, "times");
		rule->ended = true;
	} else if (is && !find_rule(account, is)) {
		account->rules = mem_grow(account->rules,
					  (account->rule_count + 1) * sizeof(*account->rules));
		account->rules[account->rule_count++] =
			(struct account_rule){ .id = is,
					       .line = trace_number(line, "line"),
					       .from = trace_value(line, "from"),
					       .to = trace_value(line, "to") };
	}
}

/* A line for each time that a rule acted, or one line with a count. */
static void count_rule(struct account *account, const struct trace_line *line)
{
	struct account_rule *rule = find_rule(account, trace_number(line, "rule"));

	if (rule && span_is(trace_value(line, "does"), "kill"))
		rule->kills++;
	else if (rule)
		rule->times++;
}

/* A line "note turn of line 7: ...": a line of the script acted, as a rule does. */
static void count_turn(struct account *account, const struct trace_line *line)
{
	static const char begins[] = "turn of line ";
	uint64_t number = 0;
	size_t i = sizeof(begins) - 1;

	if (!span_starts(line->rest, begins))
		return;
	for (; i < line->rest.length && line->rest.s[i] >= '0' && line->rest.s[i] <= '9'; i++)
		number = 10 * number + (uint64_t)(line->rest.s[i] - '0');
	account->rules =
		mem_grow(account->rules, (account->rule_count + 1) * sizeof(*account->rules));
	account->rules[account->rule_count++] =
		(struct account_rule){ .line = number, .times = 1, .ended = true };
}

/* ---- notes ---- */

static void read_note(struct account *account, const struct trace_line *line)
{
	struct span node = line->rest;
	size_t skip = sizeof(own_note) - 1, length = 0;

	account->full |= span_starts(node, full_note);
	account->stuck |= span_starts(node, stuck_note);
	if (trace_keeps_end(line)) {
		account->kept_end = true;
		account->kept_ns = line->ns;
	}
	count_turn(account, line);
	if (!span_starts(node, own_note))
		return;
	node = (struct span){ node.s + skip, node.length - skip };
	while (length < node.length && node.s[length] != ' ')
		length++;
	node.length = length;
	tally_add(&account->apart, node, 1);
}

/* ---- refusals ---- */

static const char maker[] = "ibv_create_";

/*
 * A program asks what an adapter can do by calls, which may be refused: what the adapter does not
 * have at all, and objects that are larger than it makes them, if the program makes others of the
 * kind on the same adapter and frees them at once, to find the largest size.
 */
static void add_refusal(struct account *account, const struct trace_line *line)
{
	struct span call = trace_value(line, "call"), error = trace_value(line, "error");
	struct span what = { line->object.s, 0 };

	if (span_is(error, "EOPNOTSUPP") || span_is(error, "ENOSYS")) {
		tally_add(&account->probes, call, 1);
	} else if (span_starts(call, maker)) {
		what.length = (size_t)(call.s + call.length - what.s);
		tally_add(&account->creations, what, 1);
	} else {
		tally_add(&account->refusals, call, 1);
	}
}

static void follow_trial(struct account *account, const struct trace_line *line)
{
	struct span kind = line->object;

	if (span_is(line->verb, "free") && span_equal(line->object, account->made)) {
		while (kind.length && kind.s[kind.length - 1] >= '0' &&
		       kind.s[kind.length - 1] <= '9')
			kind.length--;
		tally_add(&account->trials, kind, 1);
	}
	account->made = (struct span){ "", 0 };
	if (span_is(line->verb, "create"))
		account->made = line->object;
}

static void settle_creation(struct account *account, const struct tally *creation)
{
	const char *end = creation->what.s + creation->what.length;
	struct span call = { end, 0 }, kind;
	struct text trial = { 0 };

	while (call.s > creation->what.s && call.s[-1] != '=')
		call.s--;
	call.length = (size_t)(end - call.s);
	kind = strip_prefix(call, maker);
	if (kind.length > 3 && !memcmp(end - 3, "_ex", 3))
		kind.length -= 3;
	text_append(&trial, creation->what.s, strcspn(creation->what.s, " "));
	text_add(&trial, ".");
	text_span(&trial, kind);
	if (tally_find(&account->trials, (struct span){ text_of(&trial), trial.length }))
		tally_add(&account->probes, call, creation->times);
	else
		tally_add(&account->refusals, call, creation->times);
	text_free(&trial);
}

/* ---- lines ---- */

static bool is_loss(const struct trace_line *line)
{
	bool arrives;

	return is_fault(line, &arrives) && !arrives;
}

/* "server" of "server-emu0.ia1", an object on a shared fabric; empty on a private one. */
static struct span line_node(struct span object)
{
	struct span node = { object.s, 0 };
	size_t i;

	for (i = 0; i < object.length && object.s[i] != '>'; i++) {
		if (object.s[i] == '-')
			node.length = i;
		if (object.s[i] == '.')
			return node;
	}
	node.length = 0;
	return node;
}

static void add_line(struct account *account, const struct trace_line *line)
{
	struct span status = trace_value(line, "status"), node = line_node(line->object);

	account->ns = line->ns;
	follow_trial(account, line);
	if (node.length)
		tally_add(&account->nodes, node, 1);
	account->opened |= !span_is(line->verb, "rule") && !span_is(line->verb, "note") &&
			   !trace_only_asks(line);
	if (span_is(line->verb, "note"))
		read_note(account, line);
	if (span_is(line->verb, "rule"))
		add_rule(account, line);
	else if (trace_value(line, "rule").length)
		count_rule(account, line);
	if (span_is(line->verb, "packet")) {
		account->packets++;
		account->bytes += trace_number(line, "bytes");
	} else if (is_loss(line)) {
		account->lost++;
	} else if (span_is(line->verb, "dequeue")) {
		tally_add(&account->events, trace_value(line, "number"), 1);
	} else if (span_is(line->verb, "ibv_poll_cq")) {
		tally_add(&account->events, trace_value(line, "opcode"), 1);
		if (!span_is(status, "IBV_WC_SUCCESS"))
			tally_add(&account->statuses, status, 1);
	} else if (span_is(line->verb, "rdma_get_cm_event") ||
		   span_is(line->verb, "ibv_get_async_event")) {
		tally_add(&account->events, trace_value(line, "number"), 1);
	} else if (span_is(line->verb, "reap")) {
		tally_add(&account->events, trace_value(line, "op"), 1);
		if (!span_is(status, "SUCCESS"))
			tally_add(&account->statuses, status, 1);
	} else if (span_is(line->verb, "overflow")) {
		tally_add(&account->overflows, line->object, 1);
	} else if (span_is(line->verb, "refuse")) {
		add_refusal(account, line);
	} else if (span_is(line->verb, "create")) {
		tally_add(&account->left, line->object, 1);
	} else if (span_is(line->verb, "free")) {
		tally_remove(&account->left, line->object);
	}
}

bool account_read(struct account *account, const char *name, const char *text, size_t length,
		  struct text *error)
{
	struct trace_reader reader;
	struct trace_line line;
	size_t i;
	bool good;

	memset(account, 0, sizeof(*account));
	account->made = (struct span){ "", 0 };
	account->trace = (struct span){ text, length };
	good = trace_open(&reader, name, text, length);
	if (good) {
		while (trace_next(&reader, &line))
			add_line(account, &line);
		for (i = 0; i < account->creations.count; i++)
			settle_creation(account, &account->creations.list[i]);
		tallies_settle(&account->left);
		account->whole = reader.ended;
		account->torn = reader.torn;
		/* That of a shared fabric is written at its end, by a process that lives. */
		account->stuck |= account->torn && account->nodes.count;
		good = !reader.error.length;
	}
	text_append(error, text_of(&reader.error), reader.error.length);
	trace_close(&reader);
	if (good)
		watch_read(&account->watch, text, length);
	return good;
}

static void print_tallies(struct text *text, const char *indent, const char *title,
			  const struct tallies *tallies, const char *none)
{
	size_t i;

	text_add(text, "%s%-10s ", indent, title);
	for (i = 0; i < tallies->count && i < SHOWN_MOST; i++) {
		text_add(text, "%s", i ? ", " : "");
		if (tallies->list[i].times > 1)
			text_add(text, "%llu ", (unsigned long long)tallies->list[i].times);
		text_printable(text, tallies->list[i].what.s, tallies->list[i].what.length);
	}
	if (tallies->count > SHOWN_MOST)
		text_add(text, " and %zu more", tallies->count - SHOWN_MOST);
	text_add(text, "%s\n", tallies->count ? "" : none);
}

/* One line each QP. */
static void print_unfinished(const struct account *account, struct text *text, const char *indent)
{
	const char *line = text_of(&account->watch.left), *end;
	size_t n = 0;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		if (n++ < SHOWN_MOST)
			text_add(text, "%s%-10s %.*s\n", indent, "unfinished", (int)(end - line),
				 line);
	}
	if (n > SHOWN_MOST)
		text_add(text, "%s%-10s and %zu more queue pairs\n", indent, "unfinished",
			 n - SHOWN_MOST);
}

/* What the processes of a node left, or, if node is empty, all of them. */
static void print_left_by(const struct account *account, struct span node, struct text *text,
			  const char *indent)
{
	struct tallies some = { .count = 0 };
	size_t i;

	for (i = 0; i < account->left.count; i++) {
		struct span of = line_node(account->left.list[i].what);

		if (!node.length || (of.length == node.length && !memcmp(of.s, node.s, of.length)))
			tally_add(&some, account->left.list[i].what, 1);
	}
	if (some.count || !node.length)
		print_tallies(text, indent, "left", &some,
			      account->kept_end ? "nothing that was made since then" : "nothing");
	tallies_free(&some);
}

/* Of several programs, a line each that left anything. */
static void print_left(const struct account *account, struct text *text, const char *indent)
{
	const struct span all = { "", 0 };
	size_t i;

	print_unfinished(account, text, indent);
	if (account->nodes.count < 2 || !account->left.count)
		print_left_by(account, all, text, indent);
	else
		for (i = 0; i < account->nodes.count; i++)
			print_left_by(account, account->nodes.list[i].what, text, indent);
}

void account_print(const struct account *account, struct text *text, const char *indent)
{
	text_add(text, "%s%-10s %llu.%03u us of virtual time\n", indent, "simulated",
		 (unsigned long long)(account->ns / 1000), (unsigned int)(account->ns % 1000));
	if (account->kept_end)
		text_add(text,
			 "%s%-10s the trace keeps its end: what came before %llu.%03u us is not "
			 "counted (DATSIM_TRACE_LAST)\n",
			 indent, "cut", (unsigned long long)(account->kept_ns / 1000),
			 (unsigned int)(account->kept_ns % 1000));
	text_add(text, "%s%-10s %llu arrived, %llu bytes, %llu lost\n", indent, "packets",
		 (unsigned long long)account->packets, (unsigned long long)account->bytes,
		 (unsigned long long)account->lost);
	print_tallies(text, indent, "events", &account->events, "none");
	if (account->statuses.count)
		print_tallies(text, indent, "failed", &account->statuses, "");
	if (account->overflows.count)
		print_tallies(text, indent, "overflow", &account->overflows, "");
	if (account->refusals.count)
		print_tallies(text, indent, "refused", &account->refusals, "");
	if (account->probes.count)
		print_tallies(text, indent, "probed", &account->probes, "");
	print_left(account, text, indent);
	if (account->full)
		text_add(text, "%s%-10s the trace is full: what came later is not counted (%s)\n",
			 indent, "cut",
			 account->stuck ? "its file cannot grow" : "DATSIM_TRACE_BYTES");
	if (!account->whole)
		text_add(text, "%s%-10s %s\n", indent, "cut",
			 account->torn ? "the trace ends within a line: the disk was full, or the "
					 "program was killed; what came later is not counted"
				       : "the program ended without closing its adapters");
}

void account_free(struct account *account)
{
	tallies_free(&account->events);
	tallies_free(&account->statuses);
	tallies_free(&account->overflows);
	tallies_free(&account->refusals);
	tallies_free(&account->probes);
	tallies_free(&account->creations);
	tallies_free(&account->trials);
	tallies_free(&account->left);
	watch_free(&account->watch);
	tallies_free(&account->nodes);
	tallies_free(&account->apart);
	free(account->rules);
}
