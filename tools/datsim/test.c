/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim test: runs scripts and reports; the exit code is that of the first failure. */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "colour.h"
#include "tools/datsim/run/device.h"
#include "jobs.h"
#include "files.h"
#include "junit.h"
#include "tools/datsim/program/origin.h"
#include "scripts.h"
#include "tools/datsim/show/show.h"
#include "tap.h"

struct test_options {
	struct options run;
	const char *trace; /* file to write */
	const char *junit; /* another */
	const char *device;
	int provider; /* -1: as the environment says */
	int jobs;     /* at a time */
	int colour;   /* --color */
	bool show;
	bool all;
};

/* The header names the command that made the trace; the end mark shows that it is complete. */
static bool write_trace(const struct test_options *options, const char *script,
			const struct text *content)
{
	struct text trace = { 0 }, command = { 0 }, error = { 0 };
	const char *p;
	size_t events = 0;
	bool good;

	text_append(&trace, text_of(content), content->length);
	replay_line(script, &options->run, &command);
	origin_insert(&trace, text_of(&command), script);
	for (p = text_of(&trace); p; p = strchr(p, '\n')) {
		p += *p == '\n';
		events += *p >= '0' && *p <= '9';
	}
	text_add(&trace, "# end lines=%zu\n", events);
	good = write_whole(options->trace, text_of(&trace), trace.length, &error);
	fputs(text_of(&error), stderr);
	text_free(&trace);
	text_free(&command);
	text_free(&error);
	return good;
}

static bool show_run(const struct test_options *options, const char *path,
		     const struct verdict *verdict)
{
	struct terminal terminal = terminal_of(stdout);
	struct text error = { 0 };
	bool good;

	terminal.all = options->all;
	terminal.colour = colour_wanted(options->colour, stdout);
	good = show_trace(&terminal, path, text_of(&verdict->trace), verdict->trace.length, &error);
	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

/* Collects the verdicts, in the order of the scripts. */
struct results {
	const struct scripts *scripts;
	const struct test_options *options;
	struct junit junit;
	enum exit_code first; /* exit code of the first script that did not pass */
	size_t unsupported;
	bool progress, colour;
};

static void show_progress(const struct results *results, size_t done)
{
	if (results->progress)
		fprintf(stderr, "\r%zu of %zu scripts%s", done, results->scripts->count,
			done == results->scripts->count ? "\n" : "");
}

static void take_result(void *ctx, size_t i, const struct verdict *verdict)
{
	struct results *results = ctx;
	const struct test_options *options = results->options;
	const char *path = results->scripts->paths[i];

	if (verdict->code == EXIT_UNSUPPORTED)
		results->unsupported++;
	else if (results->first == EXIT_PASS)
		results->first = verdict->code;
	if (options->trace && verdict->trace.length && !write_trace(options, path, &verdict->trace))
		results->first = EXIT_USAGE;
	if (options->junit)
		junit_add(&results->junit, path, path, verdict);
	if (!options->show)
		tap_result(stdout, results->colour, i + 1, path, verdict);
	else if (verdict->trace.length && !show_run(options, path, verdict))
		results->first = EXIT_INTERNAL;
	if (options->show && verdict->code != EXIT_PASS)
		colour_report(stderr, colour_wanted(options->colour, stderr), "",
			      text_of(&verdict->report));
	fputs(text_of(&verdict->said), stderr);
	show_progress(results, i + 1);
}

static enum exit_code run_scripts(const struct scripts *scripts, const struct test_options *options)
{
	struct results results = { .scripts = scripts,
				   .options = options,
				   .colour = colour_wanted(options->colour, stdout),
				   .progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO) };
	const struct jobs_sink sink = { .result = take_result, .ctx = &results };
	struct text error = { 0 };

	if (!options->show)
		tap_plan(stdout, scripts->count);
	if (!options->show)
		tap_bail_by_signals(true);
	jobs_run(scripts->paths, scripts->count, &options->run, options->jobs, &sink);
	if (options->junit && !junit_write(&results.junit, options->junit, &error))
		results.first = EXIT_USAGE;
	fputs(text_of(&error), stderr);
	text_free(&error);
	if (results.first == EXIT_PASS && results.unsupported == scripts->count)
		return EXIT_UNSUPPORTED;
	return results.first;
}

static const char *const providers[] = { "emu", "hw", NULL };

static const struct option options[] = {
	{ "-j", "N",
	  "run N scripts at a time, each in a process of its own (0: one per processor); the order "
	  "of the results stays the same",
	  OPTION_NUMBER, .most = JOBS_MAX, OPTION_SETS(struct test_options, jobs) },
	{ "--junit", "FILE", "write the results as JUnit XML too", OPTION_OWN, .take = file_take,
	  .wants = "a file to write", OPTION_SETS(struct test_options, junit) },
	{ "--seed", "N", "seed of the fabric's generator", OPTION_NUMBER,
	  OPTION_SETS(struct test_options, run.seed) },
	{ "--trace", "FILE", "write the trace of the script (one script only)", OPTION_OWN,
	  .take = file_take, .wants = "a file to write", OPTION_SETS(struct test_options, trace) },
	{ "--show", NULL, "print the timeline instead of TAP", OPTION_FLAG,
	  OPTION_SETS(struct test_options, show) },
	OPTION_COLOUR(struct test_options, colour),
	{ "--all", NULL, "with --show: everything, as `datsim show --all` prints it", OPTION_FLAG,
	  OPTION_SETS(struct test_options, all) },
	{ "--provider", "emu|hw",
	  "hw: run the scripts on a verbs device, in real time; scripts that need a simulated "
	  "fabric are skipped",
	  OPTION_CHOICE, .choices = providers, OPTION_SETS(struct test_options, provider) },
	{ "--device", "NAME[,NAME]",
	  "with hw: the device that scripts call emu0 and emu1 (two names: one each); default: the "
	  "first one listed",
	  OPTION_TEXT, .wants = "one device or two", OPTION_SETS(struct test_options, device) },
	{ "--slow", "N", "with hw: wait N times as long for events", OPTION_NUMBER, .least = 1,
	  .most = DEVICE_SLOW_MAX, OPTION_SETS(struct test_options, run.slow) },
	{ .name = NULL },
};

static int run_command(char **argv)
{
	struct test_options test = { .jobs = 1, .provider = -1 };
	struct scripts scripts = { 0 };
	struct operands files;
	int i, code;

	if (!options_read(&command_test, argv, &test, &files))
		return files.code;
	test.run.has_seed = option_given(&command_test, &files, "--seed");
	if (test.provider >= 0)
		setenv("DAT_PROVIDER", providers[test.provider], 1);
	if (on_device() && (test.trace || test.show))
		return usage_error("test", "%s: a device has no trace: expected emu as provider",
				   test.trace ? "--trace" : "--show");
	if (!files.count)
		return usage_error("test", "expected a script or a folder of scripts");
	for (i = 0; i < files.count; i++) {
		if (!scripts_add(&scripts, files.word[i])) {
			code = usage_error("test", "no script (*.dsim) under %s", files.word[i]);
			goto out;
		}
	}
	if (test.trace && scripts.count > 1) {
		code = usage_error("test", "--trace takes one script, not %zu", scripts.count);
		goto out;
	}
	if (!scripts_stay(&scripts, "test", test.trace, test.junit) ||
	    !device_choose("test", test.device)) {
		code = EXIT_USAGE;
		goto out;
	}
	/* A child process does not send its trace, so run in this process. */
	if (test.trace || test.show)
		test.jobs = 1;
	code = run_scripts(&scripts, &test);
out:
	scripts_free(&scripts);
	return code;
}

const struct command command_test = {
	.name = "test",
	.operands = "FILE-or-DIR...",
	.summary = "run scripts as tests",
	.about = about_test,
	.options = options,
	.details = details_test,
	.run = run_command,
};
