/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiles a script of faults into settings of the environment, and reports how often faults acted.
 */
#include "program_script.h"
#include "tools/datsim/script/hostile.h"

#include <stdlib.h>
#include <string.h>

#include "tools/datsim/run/passed.h"

#define NODES_SHOWN 8
#define FAULTS_MOST 256 /* NIC_FAULT_RULES in host/nic_fault.h */

/* ---- words ---- */

static void add_number(struct text *words, const char *field, uint64_t number)
{
	if (number)
		text_add(words, " %s=%llu", field, (unsigned long long)number);
}

static void add_packets(struct text *words, DAT_UINT32 packets)
{
	static const char *const names[] = { "SEND",          "WRITE", "READ_REQUEST",
					     "READ_RESPONSE", "ACK",   "NAK",
					     "RNR_NAK",       "CM",    "DISCONNECT" };
	const char *between = " packets=";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (packets >> i & 1) {
			text_add(words, "%s%s", between, names[i]);
			between = "|";
		}
	}
}

static void add_counts(struct text *words, const DAT_SIM_FAULT *rule)
{
	add_number(words, "until_ns", rule->until_ns);
	add_number(words, "after", rule->after);
	add_number(words, "nth", rule->nth);
	add_number(words, "every", rule->every);
	add_number(words, "probability", rule->probability);
	add_number(words, "times", rule->times);
}

/* A node stands for the first adapter that its program opens. */
static void add_packet_rule(struct text *words, const struct fault *fault, const char *behind)
{
	static const char *const verdicts[] = { "pass",      "drop",      "corrupt",  "delay",
						"reorder",   "duplicate", "rnr",      "nak",
						"link_down", "link_up",   "host_dead" };
	static const char *const naks[] = { "sequence", "invalid_request", "remote_access",
					    "remote_operation", "reserved" };
	static const char *const parts[] = { "any", "first", "last" };
	const DAT_SIM_FAULT *rule = &fault->rule;
	const struct traffic *traffic = &fault->traffic;

	if (traffic->ep)
		text_add(words, " to=%s%s to_ep=%u", traffic->ep->actor, behind, fault->to_ep);
	else
		text_add(words, " from=%s%s to=%s%s", traffic->from, behind, traffic->to, behind);
	add_packets(words, rule->packets);
	if (rule->part)
		text_add(words, " part=%s", parts[rule->part]);
	text_add(words, " verdict=%s", verdicts[rule->verdict]);
	if (rule->verdict == DAT_SIM_NAK)
		text_add(words, " nak=%s", naks[rule->nak]);
	add_number(words, "since_ns", rule->since_ns);
	add_number(words, "delay_ns", rule->delay_ns);
	add_number(words, "jitter_ns", rule->jitter_ns);
	add_counts(words, rule);
}

/* DAT constants are written as numbers: only this tool knows their names. */
static void add_call_rule(struct text *words, const struct fault *fault, const char *behind)
{
	static const char *const spoils[] = { "pass",  "fail",  "complete_as", "overflow", "lose",
					      "delay", "fatal", "remove",      "down",     "kill" };
	const DAT_SIM_CALL_FAULT *call = &fault->call;

	text_add(words, " spoil=%s", spoils[call->verdict]);
	if (fault->ep)
		text_add(words, " adapter=%s%s ep=%u", fault->ep->actor, behind, fault->to_ep);
	else if (fault->actor || fault->kind == FAULT_ADAPTER || fault->kind == FAULT_KILL)
		text_add(words, " adapter=%s%s", fault->actor ? fault->actor : fault->subject->text,
			 behind);
	if (fault->verbs)
		text_add(words, " api=verbs");
	if (call->call)
		text_add(words, " call=%s", call->call);
	add_number(words, "error", (uint64_t)call->error);
	add_number(words, "completions", call->completions);
	add_number(words, "status", (uint64_t)call->status);
	add_number(words, "event", (uint64_t)call->event);
	add_number(words, "since_ns", call->since_ns);
	if (fault->kind == FAULT_ADAPTER || fault->kind == FAULT_KILL)
		add_number(words, "until_ns", call->until_ns);
	add_number(words, "delay_ns", call->delay_ns);
	add_counts(words, &fault->rule);
}

/* A node of a script stands for its first adapter. */
static const char *behind_of(const struct script *script)
{
	return script->for_nodes ? "-emu0" : "";
}

void program_fault_words(const struct script *script, const struct statement *st,
			 struct text *words)
{
	const char *behind = behind_of(script);

	text_add(words, "line=%d", st->at.line);
	if (st->fault.kind == FAULT_PACKET)
		add_packet_rule(words, &st->fault, behind);
	else
		add_call_rule(words, &st->fault, behind);
	text_add(words, "; ");
}

/* The words of a turn line, as emu/lockstep/turn_text.h reads them. */
static void add_turn(struct program_script *ps, const struct statement *st)
{
	const struct turn_line *turn = &st->turn;

	if (turn->order)
		return;
	text_add(&ps->turns, " %s/%llu@%llu", turn->node, (unsigned long long)turn->thread,
		 (unsigned long long)turn->call);
	if (turn->to)
		text_add(&ps->turns, ">%s/%llu", turn->to, (unsigned long long)turn->to_thread);
	else
		text_add(&ps->turns, "+%llu", (unsigned long long)turn->pause_ns);
	text_add(&ps->turns, "@%d", st->at.line);
}

/* ---- a whole script ---- */

/* libdat refuses more when the program opens its adapter. */
static bool has_room(struct program_script *ps, struct text *error)
{
	const struct statement *st;
	int rules = 0;

	for (st = ps->script.statements; st; st = st->next) {
		if (st->kind != STATEMENT_FAULT || ++rules <= FAULTS_MOST)
			continue;
		diag_add(&ps->script.diag, st->at, "expected at most %d faults, found one more",
			 FAULTS_MOST);
		text_add(error, "%s", text_of(&ps->script.diag.text));
		return false;
	}
	return true;
}

bool program_script_load(struct program_script *ps, const char *name, const char *text,
			 size_t length, bool several, struct text *error)
{
	const struct statement *st;

	memset(ps, 0, sizeof(*ps));
	if (dat_sim_config_init(&ps->usual) != DAT_SUCCESS) {
		text_add(error, "a setting in the environment is wrong, see above\n");
		return false;
	}
	if (!script_load_for_program(&ps->script, name, text, length, &ps->usual, several)) {
		text_add(error, "%s", text_of(&ps->script.diag.text));
		return false;
	}
	if (!has_room(ps, error))
		return false;
	if (ps->script.turns_in_order)
		text_add(&ps->turns, "order");
	for (st = ps->script.statements; st; st = st->next) {
		if (st->kind == STATEMENT_FAULT)
			program_fault_words(&ps->script, st, &ps->faults);
		else if (st->kind == STATEMENT_TURN)
			add_turn(ps, st);
	}
	return true;
}

void program_script_free(struct program_script *ps)
{
	script_free(&ps->script);
	text_free(&ps->faults);
	text_free(&ps->turns);
}

/* ---- telling ---- */

static void add_setting(struct text *lines, const char *name, uint64_t usual, uint64_t wanted)
{
	if (usual != wanted)
		text_add(lines, "%s=%llu\n", name, (unsigned long long)wanted);
}

void program_script_settings(const struct program_script *ps, struct text *lines)
{
	const DAT_SIM_CONFIG *usual = &ps->usual, *wanted = &ps->script.config;

	if (usual->profile != wanted->profile)
		text_add(lines, "DATSIM_PROFILE=%s\n",
			 wanted->profile == DAT_SIM_PROFILE_IWARP ? "iwarp" : "ib");
	add_setting(lines, "DATSIM_SEED", usual->seed, wanted->seed);
	add_setting(lines, "DATSIM_LATENCY_NS", usual->latency_ns, wanted->latency_ns);
	add_setting(lines, "DATSIM_BANDWIDTH_BPS", usual->bandwidth_bps, wanted->bandwidth_bps);
	add_setting(lines, "DATSIM_MTU", usual->mtu, wanted->mtu);
	add_setting(lines, "DATSIM_RNR_RETRY", usual->rnr_retry, wanted->rnr_retry);
	add_setting(lines, "DATSIM_RNR_TIMER_NS", usual->rnr_timer_ns, wanted->rnr_timer_ns);
	add_setting(lines, "DATSIM_POLL_QUANTUM_NS", usual->poll_quantum_ns,
		    wanted->poll_quantum_ns);
	if (usual->hostile != wanted->hostile) {
		text_add(lines, HOSTILE_VARIABLE "=");
		hostile_text(wanted->hostile, lines);
		text_add(lines, "\n");
	}
	if (ps->faults.length)
		text_add(lines, FAULTS_VARIABLE "=%s\n", text_of(&ps->faults));
	if (ps->turns.length)
		text_add(lines, TURNS_VARIABLE "=%s\n", text_of(&ps->turns));
}

void settings_set(const char *lines)
{
	struct text copy = { 0 };
	char *line, *rest, *equals;

	text_put(&copy, lines);
	rest = copy.s;
	while ((line = strsep(&rest, "\n"))) {
		equals = strchr(line, '=');
		if (!equals)
			continue;
		*equals = '\0';
		setenv(line, equals + 1, 1);
	}
	text_free(&copy);
}

const char *program_script_named(const char *option, struct text *name)
{
	const char *script = getenv("DATSIM_SCRIPT");

	if (script && !option) {
		text_add(name, "%s", script);
		option = text_of(name);
	}
	unsetenv("DATSIM_SCRIPT");
	return option;
}

void program_script_tell(const struct program_script *ps)
{
	struct text lines = { 0 };

	unsetenv(FAULTS_VARIABLE);
	unsetenv(TURNS_VARIABLE);
	program_script_settings(ps, &lines);
	settings_set(text_of(&lines));
	text_free(&lines);
}

/* ---- what happened ---- */

static uint64_t times_of(const struct account *account, uint64_t line)
{
	uint64_t times = 0;
	size_t i;

	for (i = 0; account && i < account->rule_count; i++) {
		if (account->rules[i].line == line)
			times += account->rules[i].times + account->rules[i].kills;
	}
	return times;
}

/* Whose calls, completions or events a rule is about: "server-emu0", "emu1.ep2"; empty: any. */
static struct span subject_of(const struct script *script, const struct fault *fault,
			      struct text *name)
{
	const char *actor = fault->ep ? fault->ep->actor : fault->actor;

	if (actor)
		text_add(name, "%s%s", actor, behind_of(script));
	if (fault->ep)
		text_add(name, ".%s", fault->ep->text);
	return (struct span){ text_of(name), name->length };
}

/* What passed the rule of a line that never acted. */
static void add_passed(const struct program_script *ps, const struct account *account,
		       const struct statement *st, struct text *text)
{
	uint64_t line = (uint64_t)st->at.line;
	struct text subject = { 0 };
	struct passed passed;
	size_t i;

	for (i = 0; i < account->rule_count && account->rules[i].line != line; i++)
		;
	if (i == account->rule_count || !passed_kind_of(st->fault.kind, &passed.kind))
		return;
	passed.rule = account->rules[i].id;
	passed.from = account->rules[i].from;
	passed.to = account->rules[i].to;
	if (passed.kind != PASSED_PACKETS)
		passed.from = subject_of(&ps->script, &st->fault, &subject);
	passed_read(&passed, account->trace.s, account->trace.length);
	text_add(text, "; passed: ");
	passed_print(&passed, text);
	if (passed.kind == PASSED_PACKETS)
		passed_print_links(&passed, behind_of(&ps->script), text);
	text_free(&subject);
}

/* The nodes that the line names, at most two; NULL in place of those that it does not name. */
static void nodes_of(const struct statement *st, const char *nodes[2])
{
	const struct fault *fault = &st->fault;

	nodes[0] = nodes[1] = NULL;
	if (st->kind == STATEMENT_TURN) {
		nodes[0] = st->turn.node;
		nodes[1] = st->turn.to;
	} else if (fault->kind != FAULT_PACKET) {
		nodes[0] = fault->ep ? fault->ep->actor : fault->actor;
		if (!nodes[0] && (fault->kind == FAULT_KILL || fault->kind == FAULT_ADAPTER))
			nodes[0] = fault->subject->text;
	}
}

/*
 * Add the nodes that used an adapter, if the node of a line that never acted is not among them. The
 * trace does not name other nodes, though they may take part in lockstep.
 */
static void add_node(const struct account *account, const char *node, struct text *text)
{
	const struct tallies *nodes = &account->nodes;
	struct suggest suggest;
	size_t i;

	suggest_start(&suggest, node, (int)strlen(node));
	for (i = 0; i < nodes->count; i++) {
		if (span_is(nodes->list[i].what, node))
			return;
		suggest_try_part(&suggest, nodes->list[i].what.s, nodes->list[i].what.length);
	}
	if (suggest_is_near(&suggest)) {
		text_add(text, "; did you mean ");
		text_printable(text, suggest.best, strlen(suggest.best));
		text_add(text, "?");
		return;
	}
	text_add(text, "; no node %s used an adapter%s", node, nodes->count ? ", only " : "");
	for (i = 0; i < nodes->count && i < NODES_SHOWN; i++) {
		text_add(text, "%s", i ? ", " : "");
		text_printable(text, nodes->list[i].what.s, nodes->list[i].what.length);
	}
	text_add(text, "%s", nodes->count > NODES_SHOWN ? " and more" : "");
}

/* Say of a line that never acted what passed it, or which name may be meant. */
static void add_never(const struct program_script *ps, const struct account *account,
		      const struct statement *st, struct text *text)
{
	const char *nodes[2];

	if (st->kind == STATEMENT_FAULT && !st->fault.optional)
		add_passed(ps, account, st, text);
	nodes_of(st, nodes);
	/* A trace without its beginning or end may lack the lines of a node. */
	if (!ps->script.for_nodes || account->full || account->kept_end || account->torn)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		if (nodes[i])
			add_node(account, nodes[i], text);
	}
}

bool program_script_report(const struct program_script *ps, const struct account *account,
			   struct text *text)
{
	const struct statement *st;
	const char *source;
	bool good = true, optional, known;
	uint64_t times;
	int length;

	if (!ps->script.statements)
		text_add(text, "%s: no line of it sets or fails anything\n",
			 ps->script.source.name);
	for (st = ps->script.statements; st; st = st->next) {
		if (st->kind != STATEMENT_FAULT && (st->kind != STATEMENT_TURN || st->turn.order))
			continue;
		optional = st->kind == STATEMENT_TURN || st->fault.optional;
		times = times_of(account, (uint64_t)st->at.line);
		known = times || !account || !account->kept_end;
		source = source_line(&ps->script.source, st->at.line, &length);
		text_add(text, "%s:%d: ", ps->script.source.name, st->at.line);
		text_printable(text, source + st->at.column - 1, (size_t)st->at.length);
		if (!known) {
			text_add(text, ": not known, the trace keeps its end\n");
			continue;
		}
		text_add(text, ": %llu time%s%s%s", (unsigned long long)times,
			 times == 1 ? "" : "s",
			 account && account->full ? " before the trace was full" : "",
			 times || optional ? "" : "; \"optional\" allows that");
		if (!times && account)
			add_never(ps, account, st, text);
		text_add(text, "\n");
		good = good && (times || optional);
	}
	return good;
}
