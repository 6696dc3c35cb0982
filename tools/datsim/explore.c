/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim explore: a script under many schedules, until one fails; that one is made short.
 *
 * Schedules are run in this process and untraced; only what fails is run again, both ways, as
 * `datsim test` does it.
 */
#include "explore.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

#define RUNS_USUAL       100000
#define RUNS_OF_PROGRAMS 1000

struct explorer {
	const char *path, *out;
	struct course course;
	struct text content;
	struct plan plan;
	struct schedule schedule;
};

/* ---- one schedule ---- */

static void run_schedule(struct explorer *explorer, uint64_t number, bool untraced,
			 struct verdict *verdict)
{
	struct options options = { .has_seed = true, .untraced = untraced };
	struct schedule *schedule = &explorer->schedule;

	schedule_make(schedule, &explorer->plan, explorer->course.seed, number);
	options.seed = schedule->seed;
	run_text(explorer->path, text_of(&schedule->text), schedule->text.length, &options,
		 verdict);
}

/* True: *verdict is that of a schedule that failed, which is the explorer's now. */
static bool find_failure(struct explorer *explorer, struct verdict *verdict)
{
	uint64_t number;

	while (course_next(&explorer->course, &number)) {
		run_schedule(explorer, number, true, verdict);
		if (verdict->code != EXIT_PASS)
			return true;
		verdict_free(verdict);
	}
	return false;
}

/* ---- what was found ---- */

/* FILE.dsim: FILE.shrunk.dsim */
static void out_name(const struct explorer *explorer, struct text *name)
{
	size_t n = strlen(explorer->path);

	if (explorer->out) {
		text_add(name, "%s", explorer->out);
		return;
	}
	if (n > 5 && !strcmp(explorer->path + n - 5, ".dsim"))
		n -= 5;
	text_append(name, explorer->path, n);
	text_add(name, ".shrunk.dsim");
}

static bool write_script(const char *path, const struct text *text)
{
	FILE *file = fopen(path, "we");
	bool good = file != NULL;

	if (file) {
		fputs(text_of(text), file);
		good = !ferror(file);
		good = !fclose(file) && good;
	}
	if (!good)
		usage_error("explore", "cannot write %s: %s", path, strerror(errno));
	return good;
}

static void report(const struct explorer *explorer, const struct lines *lines,
		   const struct verdict *verdict)
{
	size_t i;

	printf("%s: schedule %llu of seed %llu fails, after %llu that hold; shrunk to %zu lines:\n",
	       explorer->path, (unsigned long long)explorer->schedule.number,
	       (unsigned long long)explorer->course.seed,
	       (unsigned long long)explorer->course.done - 1, lines->count);
	puts("");
	for (i = 0; i < lines->count; i++)
		printf("  %s\n", lines->line[i].text);
	puts("");
	fputs(text_of(&verdict->report), stdout);
}

static int shrink_failure(struct explorer *explorer, const struct verdict *failure)
{
	struct text name = { 0 }, text = { 0 };
	uint64_t seed = explorer->schedule.seed;
	struct options options = { .has_seed = true };
	struct verdict verdict;
	struct lines lines;
	int code;

	out_name(explorer, &name);
	lines_split(&lines, &explorer->plan, &explorer->schedule);
	shrink(&lines, text_of(&name), failure, &seed);
	lines_join(&lines, true, &text);
	options.seed = seed;
	run_text(text_of(&name), text_of(&text), text.length, &options, &verdict);
	report(explorer, &lines, &verdict);
	code = (int)verdict.code;
	if (verdict.code == EXIT_PASS) {
		/* What differs from run to run is a fault of this tool, or of what is under it. */
		puts("the schedule does not fail when it is run again");
		code = EXIT_INTERNAL;
	} else if (!write_script(text_of(&name), &text)) {
		code = EXIT_INTERNAL;
	}
	verdict_free(&verdict);
	lines_free(&lines);
	text_free(&text);
	text_free(&name);
	return code;
}

/* ---- the script ---- */

/* It must be good, and hold while nothing is done to it. */
static int look_at_script(struct explorer *explorer)
{
	struct options options = { .has_seed = false };
	DAT_SIM_CONFIG config;
	struct script script;
	struct verdict verdict;
	int code;

	run_text(explorer->path, text_of(&explorer->content), explorer->content.length, &options,
		 &verdict);
	code = (int)verdict.code;
	if (code != EXIT_PASS)
		fputs(text_of(&verdict.report), stdout);
	if (code != EXIT_PASS && code != EXIT_USAGE && code != EXIT_UNSUPPORTED)
		puts("this is without any fault: nothing was explored");
	verdict_free(&verdict);
	if (code != EXIT_PASS || dat_sim_config_init(&config) != DAT_SUCCESS)
		return code != EXIT_PASS ? code : EXIT_USAGE;
	if (script_load(&script, explorer->path, text_of(&explorer->content),
			explorer->content.length, &config)) {
		plan_make(&explorer->plan, &script);
		if (script.must_fail)
			code = usage_error("explore", "%s is to fail: it says \"# Failure:\"",
					   explorer->path);
	}
	script_free(&script);
	return code;
}

static int explore(struct explorer *explorer)
{
	struct verdict verdict;
	int code = look_at_script(explorer);
	bool found;

	if (code != EXIT_PASS)
		return code;
	found = find_failure(explorer, &verdict);
	course_end(&explorer->course);
	if (!found) {
		printf("%s: %llu schedules of seed %llu hold\n", explorer->path,
		       (unsigned long long)explorer->course.done,
		       (unsigned long long)explorer->course.seed);
		return EXIT_PASS;
	}
	/* Only what a script can fail with; the rest is this tool's own fault. */
	code = EXIT_INTERNAL;
	if (verdict.code == EXIT_FAILED || verdict.code == EXIT_CHECKER ||
	    verdict.code == EXIT_NOT_QUIET)
		code = shrink_failure(explorer, &verdict);
	else
		fputs(text_of(&verdict.report), stdout);
	verdict_free(&verdict);
	return code;
}

/* ---- the command line ---- */

static bool parse_number(const char *s, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(s, &end, 10);
	return *s >= '0' && *s <= '9' && !*end && !errno;
}

/* 1/8 .. 8/8 */
static bool parse_shard(const char *s, struct explorer *explorer)
{
	const char *slash = strchr(s, '/');
	char part[21];

	if (!slash || (size_t)(slash - s) >= sizeof(part))
		return false;
	memcpy(part, s, (size_t)(slash - s));
	part[slash - s] = '\0';
	return parse_number(part, &explorer->course.shard) &&
	       parse_number(slash + 1, &explorer->course.shards) && explorer->course.shard >= 1 &&
	       explorer->course.shard <= explorer->course.shards;
}

static bool take_option(struct explorer *explorer, const char *option, const char *value)
{
	uint64_t number;

	if (!strcmp(option, "--out")) {
		explorer->out = value;
		return true;
	}
	if (!strcmp(option, "--shard"))
		return parse_shard(value, explorer);
	if (!parse_number(value, &number))
		return false;
	if (!strcmp(option, "--seed"))
		explorer->course.seed = number;
	else if (!strcmp(option, "--first"))
		explorer->course.first = number;
	else if (!strcmp(option, "--runs") && number)
		explorer->course.runs = number;
	else if (!strcmp(option, "--seconds") && number && number <= INT32_MAX)
		explorer->course.seconds = (unsigned long)number;
	else
		return false;
	return true;
}

int command_explore(int argc, char **argv)
{
	struct explorer explorer = { .course = { .seed = 1, .shard = 1, .shards = 1 } };
	struct text error = { 0 };
	int i, code = EXIT_USAGE;
	bool program;

	for (i = 1; i < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "--"))
			break;
		if (!strcmp(argv[i], "--help")) {
			fputs(help_explore, stdout);
			return EXIT_PASS;
		}
		if (i + 1 == argc || !take_option(&explorer, argv[i], argv[i + 1]))
			return usage_error("explore", "%s: no such option, or not with that value",
					   argv[i]);
	}
	program = i < argc && !strcmp(argv[i], "--");
	if (program ? i + 1 == argc || explorer.out : i + 1 != argc)
		return usage_error("explore", "expected one script, or -- PROGRAM ARGS...");
	if (!explorer.course.runs && !explorer.course.seconds)
		explorer.course.runs = program ? RUNS_OF_PROGRAMS : RUNS_USUAL;
	/* Memory of a fixture is large and hardly touched: always fresh pages, never cleared ones. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	explorer.course.progress = isatty(STDERR_FILENO);
	if (program)
		return explore_program(&explorer.course, argv + i + 1);
	explorer.path = argv[i];
	if (read_whole(explorer.path, SCRIPT_BYTES_MAX, &explorer.content, &error))
		code = explore(&explorer);
	fputs(text_of(&error), stderr);
	text_free(&error);
	text_free(&explorer.schedule.text);
	text_free(&explorer.content);
	return code;
}
