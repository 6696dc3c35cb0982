/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim conformance: the suite, clause by clause, as a table. */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clauses.h"
#include "colour.h"
#include "tools/datsim/run/device.h"
#include "files.h"
#include "jobs.h"
#include "junit.h"
#include "scripts.h"

#ifndef DATSIM_CONFORMANCE
#define DATSIM_CONFORMANCE "conformance"
#endif

#define CLAUSE_WIDTH 60 /* columns; longer clauses continue on the next line */

struct suite {
	const char *folder;
	struct scripts scripts;
	struct clauses clauses;
	struct verdict *verdicts; /* one per script, without traces */
	struct options run;
	struct junit junit;
	const char *junit_path;
	const char *device;
	int provider;         /* -1: as the environment says */
	int jobs;             /* scripts at a time */
	enum exit_code first; /* exit code of the first script that did not pass */
	size_t passed, failed, skipped;
	bool progress;
	int when;    /* --color */
	bool colour; /* of stdout */
};

static const char *script_name(const struct suite *suite, size_t i)
{
	const char *path = suite->scripts.paths[i];
	size_t n = strlen(suite->folder);

	if (strncmp(path, suite->folder, n))
		return path;
	path += n;
	return path + strspn(path, "/");
}

static const char *result_name(enum exit_code code)
{
	switch (code) {
	case EXIT_PASS:
		return "pass";
	case EXIT_UNSUPPORTED:
		return "skipped";
	default:
		return "FAIL";
	}
}

/* ---- the table ---- */

/* The number of bytes of `s` that fit in CLAUSE_WIDTH columns, broken between words. */
static size_t clause_wrap(const char *s)
{
	size_t n = strlen(s), at;

	if (n <= CLAUSE_WIDTH)
		return n;
	for (at = CLAUSE_WIDTH; at > 0 && s[at] != ' '; at--)
		;
	return at ? at : CLAUSE_WIDTH;
}

struct widths {
	int page, rulings, script;
};

static int max_width(int width, const char *s)
{
	int n = (int)strlen(s);

	return n > width ? n : width;
}

static void print_row(const struct suite *suite, const struct widths *w,
		      const struct clause *clause, bool same_page)
{
	const char *text = clause->text;
	size_t n = clause_wrap(text);
	enum exit_code code;

	printf("%-*s  %-*.*s  %-*s  %-*s  ", w->page, same_page ? "" : clause->page, CLAUSE_WIDTH,
	       (int)n, text, w->rulings, clause->rulings, w->script,
	       script_name(suite, clause->script));
	code = suite->verdicts[clause->script].code;
	colour_result(stdout, suite->colour && code != EXIT_UNSUPPORTED, code == EXIT_PASS,
		      result_name(code));
	printf("\n");
	while (text[n]) {
		text += n + (text[n] == ' ');
		n = clause_wrap(text);
		printf("%-*s  %.*s\n", w->page, "", (int)n, text);
	}
}

static void print_table(const struct suite *suite)
{
	struct widths w = { .page = 4, .rulings = 6, .script = 6 };
	const struct clause *clause;
	size_t i;

	for (i = 0; i < suite->clauses.count; i++) {
		clause = &suite->clauses.all[i];
		w.page = max_width(w.page, clause->page);
		w.rulings = max_width(w.rulings, clause->rulings);
		w.script = max_width(w.script, script_name(suite, clause->script));
	}
	printf("%-*s  %-*s  %-*s  %-*s  %s\n", w.page, "call", CLAUSE_WIDTH, "clause", w.rulings,
	       "ruling", w.script, "script", "result");
	for (i = 0; i < suite->clauses.count; i++) {
		clause = &suite->clauses.all[i];
		print_row(suite, &w, clause, i > 0 && !strcmp(clause->page, clause[-1].page));
	}
}

/* Why scripts failed or were skipped. A reason of one line follows the name of the script. */
static void print_reports(const struct suite *suite)
{
	const struct verdict *verdict;
	const char *reason;
	size_t i;
	int n;

	for (i = 0; i < suite->scripts.count; i++) {
		verdict = &suite->verdicts[i];
		if (verdict->code == EXIT_PASS)
			continue;
		printf("\n%s: %s", script_name(suite, i), result_name(verdict->code));
		n = verdict_reason(verdict, &reason);
		if (verdict->code == EXIT_UNSUPPORTED)
			printf(": %.*s\n", n, reason);
		else
			printf("\n");
		if (verdict->code == EXIT_UNSUPPORTED)
			continue;
		colour_report(stdout, suite->colour, "", text_of(&verdict->report));
		colour_report(stdout, false, "", text_of(&verdict->said));
	}
	printf("\n%zu clauses in %zu scripts: %zu passed, %zu failed, %zu skipped%s%s\n",
	       suite->clauses.count, suite->scripts.count, suite->passed, suite->failed,
	       suite->skipped, device_names() ? ", on " : "", device_names() ? device_names() : "");
}

/* ---- the run ---- */

static void take_result(void *ctx, size_t i, const struct verdict *verdict)
{
	struct suite *suite = ctx;
	struct verdict *kept = &suite->verdicts[i];

	kept->code = verdict->code;
	text_append(&kept->report, text_of(&verdict->report), verdict->report.length);
	text_append(&kept->said, text_of(&verdict->said), verdict->said.length);
	if (verdict->code == EXIT_PASS)
		suite->passed++;
	else if (verdict->code == EXIT_UNSUPPORTED)
		suite->skipped++;
	else
		suite->failed++;
	if (suite->first == EXIT_PASS && verdict->code != EXIT_UNSUPPORTED)
		suite->first = verdict->code;
	if (suite->junit_path)
		junit_add(&suite->junit, script_name(suite, i), suite->scripts.paths[i], verdict);
	if (suite->progress)
		fprintf(stderr, "\r%zu of %zu scripts%s", i + 1, suite->scripts.count,
			i + 1 == suite->scripts.count ? "\n" : "");
}

static bool read_clauses(struct suite *suite)
{
	struct text content = { 0 }, error = { 0 };
	bool good = true;
	size_t i;

	for (i = 0; good && i < suite->scripts.count; i++) {
		content.length = 0;
		good = read_script(suite->scripts.paths[i], &content, &error);
		if (good && !clauses_read(&suite->clauses, i, text_of(&content))) {
			text_add(&error,
				 "%s:1: expected \"# CALL: CLAUSE (RULINGS)\", the clause that "
				 "the script shows",
				 suite->scripts.paths[i]);
			good = false;
		}
	}
	if (!good) {
		/* read_script ends its message with a newline, usage_error adds its own. */
		while (error.length && error.s[error.length - 1] == '\n')
			error.s[--error.length] = '\0';
		usage_error("conformance", "%s", text_of(&error));
	}
	text_free(&content);
	text_free(&error);
	return good;
}

/* Is the backend part of this build? If not, one message is better than one for each script. */
static bool backend_there(void)
{
	DAT_SIM_CONFIG config;
	DAT_SIM_HANDLE sim;
	DAT_COUNT n = 0;
	DAT_RETURN ret = dat_sim_config_init(&config);

	if (ret == DAT_SUCCESS && on_device()) {
		(void)dat_registry_list_providers(0, &n, NULL);
		return n > 0;
	}
	if (ret == DAT_SUCCESS)
		ret = dat_sim_create(&config, &sim);
	if (ret == DAT_SUCCESS)
		dat_sim_destroy(sim);
	return ret == DAT_SUCCESS;
}

static int run_suite(struct suite *suite)
{
	const struct jobs_sink sink = { .result = take_result, .ctx = suite };
	struct text error = { 0 };
	size_t i;

	suite->verdicts = mem_zero(suite->scripts.count, sizeof(*suite->verdicts));
	suite->colour = colour_wanted(suite->when, stdout);
	suite->progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	jobs_run(suite->scripts.paths, suite->scripts.count, &suite->run, suite->jobs, &sink);
	clauses_sort(&suite->clauses);
	print_table(suite);
	print_reports(suite);
	if (suite->junit_path && !junit_write(&suite->junit, suite->junit_path, &error))
		suite->first = EXIT_USAGE;
	fputs(text_of(&error), stderr);
	text_free(&error);
	for (i = 0; i < suite->scripts.count; i++)
		verdict_free(&suite->verdicts[i]);
	free(suite->verdicts);
	if (suite->first == EXIT_PASS && suite->skipped == suite->scripts.count)
		return EXIT_UNSUPPORTED;
	return suite->first;
}

/* ---- the command line ---- */

static const char *const providers[] = { "emu", "hw", NULL };

static const struct option options[] = {
	{ "--provider", "emu|hw",
	  "the backend under test; on hw, scripts that need held messages, links, packet faults, "
	  "fabric settings or exact times are skipped, with the reason",
	  OPTION_CHOICE, .choices = providers, OPTION_SETS(struct suite, provider) },
	{ "--device", "NAME[,NAME]",
	  "with hw: the verbs device; two names: one for each adapter of the "
	  "scripts; the last line "
	  "says which device it was",
	  OPTION_TEXT, .wants = "one device or two", OPTION_SETS(struct suite, device) },
	{ "--slow", "N", "with hw: wait N times as long for events", OPTION_NUMBER, .least = 1,
	  .most = DEVICE_SLOW_MAX, OPTION_SETS(struct suite, run.slow) },
	{ "-j", "N", "run N scripts at a time (0: one per processor)", OPTION_NUMBER,
	  .most = JOBS_MAX, OPTION_SETS(struct suite, jobs) },
	{ "--junit", "FILE", "write the results as JUnit XML too", OPTION_OWN, .take = file_take,
	  .wants = "a file to write", OPTION_SETS(struct suite, junit_path) },
	OPTION_COLOUR(struct suite, when),
	{ .name = NULL },
};

static int run_command(char **argv)
{
	struct suite suite = { .folder = DATSIM_CONFORMANCE, .jobs = 1, .provider = -1 };
	struct operands folder;
	struct stat st;
	int code;

	if (!options_read(&command_conformance, argv, &suite, &folder))
		return folder.code;
	if (suite.provider >= 0)
		setenv("DAT_PROVIDER", providers[suite.provider], 1);
	if (folder.count > 1)
		return usage_error("conformance", "expected one folder of scripts");
	if (folder.count)
		suite.folder = folder.word[0];
	if (stat(suite.folder, &st) || !S_ISDIR(st.st_mode))
		return usage_error("conformance", "no folder %s: name the one with the suite",
				   suite.folder);
	if (!device_choose("conformance", suite.device))
		return EXIT_USAGE;
	if (!backend_there())
		code = usage_error("conformance", "no such backend");
	else if (!scripts_add(&suite.scripts, suite.folder))
		code = usage_error("conformance", "no script (*.dsim) under %s", suite.folder);
	else if (!scripts_stay(&suite.scripts, "conformance", NULL, suite.junit_path))
		code = EXIT_USAGE;
	else
		code = read_clauses(&suite) ? run_suite(&suite) : EXIT_USAGE;
	clauses_free(&suite.clauses);
	scripts_free(&suite.scripts);
	return code;
}

const struct command command_conformance = {
	.name = "conformance",
	.operands = "[DIR]",
	.summary = "run the conformance suite that is shipped, clause by clause",
	.about = about_conformance,
	.options = options,
	.details = details_conformance,
	.run = run_command,
};
