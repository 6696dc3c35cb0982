/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim test: run scripts, report, exit as the first failure says. */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	int jobs; /* at a time */
	bool show;
	bool all;
};

/* The header says what made it, and the end mark that it is whole. */
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
	good = show_trace(&terminal, path, text_of(&verdict->trace), verdict->trace.length, &error);
	fputs(text_of(&error), stderr);
	text_free(&error);
	return good;
}

/* What every verdict goes through, in the order of the scripts. */
struct results {
	const struct scripts *scripts;
	const struct test_options *options;
	struct junit junit;
	enum exit_code first; /* that is no pass */
	size_t unsupported;
	bool progress;
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
		junit_add(&results->junit, path, verdict);
	if (!options->show)
		tap_result(stdout, i + 1, path, verdict);
	else if (verdict->trace.length && !show_run(options, path, verdict))
		results->first = EXIT_INTERNAL;
	if (options->show && verdict->code != EXIT_PASS)
		fputs(text_of(&verdict->report), stderr);
	show_progress(results, i + 1);
}

static enum exit_code run_scripts(const struct scripts *scripts, const struct test_options *options)
{
	struct results results = { .scripts = scripts,
				   .options = options,
				   .progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO) };
	const struct jobs_sink sink = { .result = take_result, .ctx = &results };
	struct text error = { 0 };

	if (!options->show)
		tap_plan(stdout, scripts->count);
	jobs_run(scripts->paths, scripts->count, &options->run, options->jobs, &sink);
	if (options->junit && !junit_write(&results.junit, options->junit, &error))
		results.first = EXIT_USAGE;
	fputs(text_of(&error), stderr);
	text_free(&error);
	if (results.first == EXIT_PASS && results.unsupported == scripts->count)
		return EXIT_UNSUPPORTED;
	return results.first;
}

static bool parse_seed(const char *s, uint64_t *seed)
{
	char *end;

	errno = 0;
	*seed = strtoull(s, &end, 10);
	return *s >= '0' && *s <= '9' && !*end && !errno;
}

/* Reads options up to the first path; *i is left there. False: *code is what to exit with. */
static bool parse_options(int argc, char **argv, int *i, struct test_options *options, int *code)
{
	*code = EXIT_USAGE;
	for (*i = 1; *i < argc && argv[*i][0] == '-'; (*i)++) {
		const char *option = argv[*i], *next = *i + 1 < argc ? argv[*i + 1] : NULL;

		if (!strcmp(option, "--help")) {
			fputs(help_test, stdout);
			*code = EXIT_PASS;
			return false;
		} else if (!strcmp(option, "--show")) {
			options->show = true;
		} else if (!strcmp(option, "--all")) {
			options->all = true;
		} else if (!strcmp(option, "--seed")) {
			if (!next || !parse_seed(next, &options->run.seed))
				return usage_error("test", "--seed takes a number"), false;
			options->run.has_seed = true;
			(*i)++;
		} else if (!strcmp(option, "--trace")) {
			if (!next)
				return usage_error("test", "--trace takes a file"), false;
			options->trace = next;
			(*i)++;
		} else if (!strcmp(option, "--junit")) {
			if (!next)
				return usage_error("test", "--junit takes a file"), false;
			options->junit = next;
			(*i)++;
		} else if (!strcmp(option, "--provider")) {
			if (!next || (strcmp(next, "emu") && strcmp(next, "hw")))
				return usage_error("test", "--provider takes emu or hw"), false;
			setenv("DAT_PROVIDER", next, 1);
			(*i)++;
		} else if (!strcmp(option, "--device")) {
			if (!next)
				return usage_error("test", "--device takes a name"), false;
			options->device = next;
			(*i)++;
		} else if (!strcmp(option, "--slow")) {
			if (!next || !device_slow(next, &options->run.slow))
				return usage_error("test", "--slow takes a number, 1 to %d",
						   DEVICE_SLOW_MAX),
				       false;
			(*i)++;
		} else if (!strcmp(option, "-j")) {
			if (!next || !jobs_parse(next, &options->jobs))
				return usage_error("test", "-j takes a number, 0 to %d", JOBS_MAX),
				       false;
			(*i)++;
		} else {
			return usage_error("test", "unknown option %s", option), false;
		}
	}
	return true;
}

int command_test(int argc, char **argv)
{
	struct test_options options = { .jobs = 1 };
	struct scripts scripts = { 0 };
	int i, code;

	if (!parse_options(argc, argv, &i, &options, &code))
		return code;
	if (i == argc)
		return usage_error("test", "expected a script or a folder of scripts");
	for (; i < argc; i++) {
		if (!scripts_add(&scripts, argv[i])) {
			code = usage_error("test", "no script (*.dsim) under %s", argv[i]);
			goto out;
		}
	}
	if (options.trace && scripts.count > 1) {
		code = usage_error("test", "--trace takes one script, not %zu", scripts.count);
		goto out;
	}
	if (!device_choose("test", options.device)) {
		code = EXIT_USAGE;
		goto out;
	}
	/* Traces stay in the process that made them. */
	if (options.trace || options.show)
		options.jobs = 1;
	code = run_scripts(&scripts, &options);
out:
	scripts_free(&scripts);
	return code;
}
