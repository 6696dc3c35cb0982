/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs one script: executes its statements in order on a fabric, and turns the outcome into a
 * verdict.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "tools/datsim/files.h"
#include "tools/datsim/program/origin.h"
#include "tools/datsim/show/show.h"
#include "world.h"

/* ---- statements ---- */

/* Script time starts at the first statement after the set-up. */
static void run_begin(struct run *run)
{
	run->origin_ns = run_clock(run);
	run->begun = true;
	dat_sim_trace_note(run->sim, "script begins");
	packets_begin(run);
	run_observe(run);
}

/*
 * A note in the trace before each line, so that a packet can be traced back to the line that sent
 * it.
 */
static void note_line(struct run *run, const struct statement *st)
{
	struct text note = { 0 };

	if (!run->traced || (st->kind != STATEMENT_CALL && st->kind != STATEMENT_FAULT))
		return;
	text_add(&note, LINE_NOTE "%d", st->at.line);
	dat_sim_trace_note(run->sim, text_of(&note));
	text_free(&note);
}

static bool run_statement(struct run *run, const struct statement *st)
{
	switch (st->kind) {
	case STATEMENT_FABRIC:
		return true;
	case STATEMENT_USE:
		return run_fixture(run, &st->use);
	case STATEMENT_CALL:
		return run_call(run, st);
	case STATEMENT_EVENT:
		return run_event(run, st);
	case STATEMENT_AGENT:
		return run_agent(run, st);
	case STATEMENT_PACKET:
		return run_packet(run, st);
	case STATEMENT_HOLD:
	case STATEMENT_RELEASE:
	case STATEMENT_LINK:
		return run_wire(run, st);
	case STATEMENT_FAULT:
		return run_fault(run, st);
	case STATEMENT_TURN: /* in scripts for programs only */
		return true;
	case STATEMENT_HEAL:
		return run_heal(run);
	case STATEMENT_NOTE:
		dat_sim_trace_note(run->sim, st->note);
		return true;
	case STATEMENT_QUIET:
		return run_until_quiet(run);
	case STATEMENT_END:
		return !st->quiet || run_until_quiet(run);
	}
	return true;
}

static bool run_timed(struct run *run, const struct statement *st)
{
	uint64_t base;

	run->st = st;
	run->turn = 1;
	if (!run->begun && st->kind != STATEMENT_USE && st->kind != STATEMENT_FABRIC)
		run_begin(run);
	/* An event or packet line advances the clock itself. */
	if (st->when.kind == WHEN_AT && st->kind != STATEMENT_EVENT &&
	    st->kind != STATEMENT_PACKET) {
		base = st->when.relative ? run->previous_ns : 0;
		if (!run_until(run, base + st->when.from_ns))
			return false;
	}
	if (run->begun)
		note_line(run, st);
	if (!run_statement(run, st))
		return false;
	if (run->begun)
		run->previous_ns = run_now(run);
	return run->failure.code == EXIT_PASS;
}

static void run_statements(struct run *run)
{
	const struct statement *st;

	for (st = run->script->statements; st; st = st->next) {
		if (!run_timed(run, st))
			return;
	}
	run_check_faults(run);
}

/*
 * Run with a fault at a point (point.h): lines that it breaks are passed over, but a failed set-up
 * ends the run.
 */
static void run_statements_beside(struct run *run)
{
	const struct statement *st;
	bool held;

	if (!point_plant(run))
		return;
	for (st = run->script->statements; st; st = st->next) {
		held = run_timed(run, st);
		if (!held && !point_passes_over(run))
			return;
		if (!held && st->kind == STATEMENT_USE)
			break;
		point_line_over(run, st);
	}
	point_settle(run);
}

/* ---- verdicts ---- */

void replay_line(const char *path, const struct options *options, struct text *text)
{
	knobs_add(text);
	text_add(text, "datsim test ");
	if (options->has_seed)
		text_add(text, "--seed %llu ", (unsigned long long)options->seed);
	if (options->slow)
		text_add(text, "--slow %u ", options->slow);
	path_add(text, path);
}

/* Intervals can expand a short expression enormously, and a script means its braces literally. */
static bool has_interval(const char *regex)
{
	for (; *regex; regex++) {
		if (*regex == '\\' && regex[1])
			regex++;
		else if (*regex == '{')
			return true;
	}
	return false;
}

/* A script with "# Failure: REGEX" passes if its failure report matches. */
static void verdict_judge(const char *must_fail, struct verdict *verdict)
{
	regex_t regex;
	char why[128];
	int error;

	if (!must_fail)
		return;
	if (has_interval(must_fail)) {
		text_add(&verdict->report, "\"# Failure: %s\": write \\{ for a brace\n", must_fail);
		verdict->code = EXIT_USAGE;
		return;
	}
	error = regcomp(&regex, must_fail, REG_EXTENDED | REG_NOSUB | REG_NEWLINE);
	if (error) {
		regerror(error, &regex, why, sizeof(why));
		text_add(&verdict->report, "\"# Failure: %s\" is no regular expression: %s\n",
			 must_fail, why);
		verdict->code = EXIT_USAGE;
		return;
	}
	if (verdict->code == EXIT_PASS) {
		verdict->code = EXIT_FAILED;
		text_add(&verdict->report,
			 "the script passed, and should have failed\nexpected: %s\n", must_fail);
	} else if (regexec(&regex, text_of(&verdict->report), 0, NULL, 0)) {
		text_add(&verdict->report,
			 "\nthe script failed, but not as it says\nexpected: %s\n", must_fail);
	} else {
		verdict->code = EXIT_PASS;
		verdict->expected_failure = true;
	}
	regfree(&regex);
}

static int failed_kind(const struct run *run)
{
	const struct statement *st;

	for (st = run->script->statements; st; st = st->next) {
		if (st->at.line == run->failure.line)
			return (int)st->kind;
	}
	return -1;
}

/* False: no fabric could be made. */
static bool run_once(const char *path, const struct script *script, const struct options *options,
		     bool traced, struct verdict *verdict)
{
	struct text replay = { 0 };
	struct run run;
	bool up;

	up = world_begin(&run, script, traced);
	run.slow = options->slow ? options->slow : 1;
	run.echo = options->echo;
	run.point = options->point;
	run.pool = options->pool;
	if (up && run.point)
		run_statements_beside(&run);
	else if (up)
		run_statements(&run);
	verdict->faults_acted = up ? run_faults_acted(&run) : 0;
	world_clear(&run);
	verdict->code = run.failure.code;
	if (verdict->code != EXIT_PASS) {
		verdict->kind = failed_kind(&run);
		replay_line(path, options, &replay);
		failure_print(&run, text_of(&replay), &verdict->report);
	}
	world_end(&run, &verdict->trace);
	text_free(&replay);
	return up;
}

/*
 * A traced fabric takes every step singly; an untraced one may take shorter paths to the same
 * result. A script therefore runs both ways and has to hold each time. If both runs fail, the
 * report is that of the traced one. Packet lines read the trace, so a script with them runs only
 * traced.
 */
static void run_loaded(const char *path, const struct script *script, const struct options *options,
		       struct verdict *verdict)
{
	struct verdict untraced = { .code = EXIT_PASS };

	if (options->untraced || on_device() || script->watches_packets) {
		run_once(path, script, options, script->watches_packets, verdict);
		return;
	}
	if (options->once || run_once(path, script, options, false, &untraced))
		run_once(path, script, options, true, verdict);
	if (verdict->code == EXIT_PASS && untraced.code != EXIT_PASS) {
		verdict->code = untraced.code;
		verdict->kind = untraced.kind;
		text_append(&verdict->report, text_of(&untraced.report), untraced.report.length);
	}
	verdict_free(&untraced);
}

/* A script that only a simulated fabric can run is skipped elsewhere. */
static bool runs_here(const struct script *script, struct verdict *verdict)
{
	const char *needs = on_device() ? script_needs(script) : NULL;

	if (!needs)
		return true;
	text_add(&verdict->report, "%s: the emulator only\n", needs);
	verdict->code = EXIT_UNSUPPORTED;
	return false;
}

/* Does any line make a call, or prepare connections and adapters by calls? */
static bool script_calls(const struct script *script)
{
	const struct statement *st;

	for (st = script->statements; st; st = st->next) {
		if (st->kind == STATEMENT_CALL || st->kind == STATEMENT_EVENT)
			return true;
		if (st->kind == STATEMENT_USE && st->use.kind != USE_BARE)
			return true;
	}
	return false;
}

/* A script without a call proves nothing, whatever library is below it. */
static bool tests_something(const char *name, const struct script *script, struct verdict *verdict)
{
	if (script_calls(script))
		return true;
	text_add(&verdict->report,
		 "%s: no line makes a call, so nothing is tested: expected a call such as "
		 "\"a: dat_evd_create(ia, 8) -> evd\", or \"use connected\"\n",
		 name);
	verdict->code = EXIT_USAGE;
	return false;
}

bool run_load(struct script *script, const char *name, const char *text, size_t length,
	      struct verdict *verdict)
{
	DAT_COUNT adapters, skipped;
	DAT_SIM_CONFIG config;
	const char *conf;

	memset(script, 0, sizeof(*script));
	memset(verdict, 0, sizeof(*verdict));
	if (dat_sim_dat_conf(&conf, &adapters, &skipped) != DAT_SUCCESS) {
		text_add(&verdict->report, "DAT_OVERRIDE makes no sense, see stderr\n");
		verdict->code = EXIT_USAGE;
		return false;
	}
	if (dat_sim_config_init(&config) != DAT_SUCCESS) {
		text_add(&verdict->report, "a DATSIM_ variable makes no sense, see stderr\n");
		verdict->code = EXIT_USAGE;
		return false;
	}
	/* In a script only its own lines let time pass; polling an EVD must not. */
	config.poll_quantum_ns = 0;
	if (script_load(script, name, text, length, &config))
		return true;
	text_append(&verdict->report, text_of(&script->diag.text), script->diag.text.length);
	verdict->code = EXIT_USAGE;
	return false;
}

void run_script(struct script *script, const struct options *options, struct verdict *verdict)
{
	const char *name = script->source.name;

	memset(verdict, 0, sizeof(*verdict));
	if (!runs_here(script, verdict))
		return;
	if ((options->once && !options->point) || tests_something(name, script, verdict)) {
		if (options->has_seed)
			script->config.seed = options->seed;
		run_loaded(name, script, options, verdict);
	}
	if (!options->point)
		verdict_judge(script->must_fail, verdict);
}

void run_text(const char *name, const char *text, size_t length, const struct options *options,
	      struct verdict *verdict)
{
	struct script script;

	if (run_load(&script, name, text, length, verdict))
		run_script(&script, options, verdict);
	else if (!options->point)
		verdict_judge(script.must_fail, verdict);
	script_free(&script);
}

void run_file(const char *path, const struct options *options, struct verdict *verdict)
{
	struct text content = { 0 }, error = { 0 };

	if (read_script(path, &content, &error)) {
		run_text(path, text_of(&content), content.length, options, verdict);
		text_free(&error);
	} else {
		*verdict = (struct verdict){ .code = EXIT_USAGE, .report = error };
	}
	text_free(&content);
}

int verdict_reason(const struct verdict *verdict, const char **reason)
{
	const char *report = text_of(&verdict->report), *end = strchr(report, '\n');

	/* A report of several lines is that of a failure, not a reason. */
	*reason = "not supported by this backend";
	if (!end || end == report || end[1])
		return (int)strlen(*reason);
	*reason = report;
	return (int)(end - report);
}

int verdict_line(const struct verdict *verdict, const char *path)
{
	const char *report = text_of(&verdict->report);
	size_t n = strlen(path);

	return !strncmp(report, path, n) && report[n] == ':' ? atoi(report + n + 1) : 0;
}

void verdict_free(struct verdict *verdict)
{
	text_free(&verdict->report);
	text_free(&verdict->trace);
	text_free(&verdict->said);
}
