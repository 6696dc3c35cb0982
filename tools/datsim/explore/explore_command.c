/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim explore: its command line. */
#include "campaign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/datsim/commands.h"
#include "tools/datsim/files.h"
#include "tools/datsim/jobs.h"
#include "tools/datsim/program/hang.h"
#include "tools/datsim/program/programs.h"
#include "tools/datsim/run/device.h"

#define RUNS_USUAL       100000
#define RUNS_OF_PROGRAMS 10000
#define HANG_SECONDS     2

/* --shard 1/8 .. 8/8 */
static bool take_shard(void *member, const char *value)
{
	struct course *course = member;
	unsigned long long shard, shards;
	int end = 0;

	if (strspn(value, "0123456789/") != strlen(value) ||
	    sscanf(value, "%18llu/%18llu%n", &shard, &shards, &end) != 2 || value[end] ||
	    shard < 1 || shard > shards)
		return false;
	course->shard = shard;
	course->shards = shards;
	return true;
}

static bool take_faults(void *member, const char *value)
{
	uint32_t kinds = kinds_parse(value);

	*(uint32_t *)member = kinds;
	return kinds != 0;
}

/* --failures 3, or all */
static bool take_failures(void *member, const char *value)
{
	uint64_t *failures = member;
	size_t n = strspn(value, "0123456789");

	*failures = UINT64_MAX;
	if (!strcmp(value, "all"))
		return true;
	*failures = strtoull(value, NULL, 10);
	return n >= 1 && n <= 9 && !value[n] && *failures >= 1;
}

static const struct option options[] = {
	{ "--runs", "N",
	  "this many schedules (default: 100000, for a program 10000; no limit with --seconds)",
	  OPTION_NUMBER, .least = 1, OPTION_SETS(struct course, runs) },
	{ "--seconds", "S", "stop after this time", OPTION_NUMBER, .least = 1, .most = INT32_MAX,
	  OPTION_SETS(struct course, seconds) },
	{ "-j", "N",
	  "run N schedules at a time (0: one per processor); the failure found is the same",
	  OPTION_NUMBER, .most = JOBS_MAX, OPTION_SETS(struct course, jobs) },
	{ "--seed", "N",
	  "other schedules (default: 1); schedule K of seed N is the same on every machine",
	  OPTION_NUMBER, OPTION_SETS(struct course, seed) },
	{ "--first", "N", "begin with schedule N", OPTION_NUMBER,
	  OPTION_SETS(struct course, first) },
	{ "--shard", "I/N",
	  "every Nth schedule, from the Ith on, so that N machines share the work", OPTION_OWN,
	  .take = take_shard, .wants = "I/N, two numbers with I from 1 to N" },
	{ "--faults", "KIND,KIND",
	  "these kinds of faults only: drop, corrupt, loss, delay, reorder, "
	  "duplicate, rnr, latency; "
	  "all: those eight (default). break: also links that go down, hosts that die, peers that "
	  "refuse; for tests that expect connections to break. hostile: adapters as unkind as "
	  "devices may be (datsim run --hostile). with --lockstep: kill, which ends "
	  "one of several programs; restart, after which it starts again; turns, no fault "
	  "but other orders of turns",
	  OPTION_OWN, .take = take_faults,
	  .wants = "kinds with commas between them, of drop, corrupt, loss, delay, "
		   "reorder, duplicate, "
		   "rnr, latency, break, hostile, kill, restart, turns and all",
	  OPTION_SETS(struct course, kinds) },
	{ "--out", "FILE",
	  "where the shortened script goes (default: FILE.shrunk.dsim beside the script, "
	  "PROGRAM.shrunk.dsim in the working directory)",
	  OPTION_OWN, .take = file_take, .wants = "a file to write",
	  OPTION_SETS(struct course, out) },
	{ "--lockstep", NULL,
	  "for several programs with + between them, or one with several threads: they run one "
	  "at a time, as by `datsim run --lockstep`, and a schedule chooses whose turn it is, too",
	  OPTION_FLAG, OPTION_SETS(struct course, lockstep) },
	{ "--hang", "S",
	  "a program that takes S seconds of processor time, or 10 S of real "
	  "time, hangs (default: 2)",
	  OPTION_OWN, .take = hang_take, .wants = HANG_WANTS, OPTION_SETS(struct course, hang) },
	{ "--store", "DIR",
	  "a folder of failures, one file for each way in which it fails: those that are there are "
	  "tried first, and after a failure explore goes on",
	  OPTION_TEXT, .wants = "a folder", OPTION_SETS(struct course, store) },
	{ "--failures", "N|all",
	  "with a store: stop after N new ways in which it fails (default: all)", OPTION_OWN,
	  .take = take_failures, .wants = "a number from 1 to 999999999, or all",
	  OPTION_SETS(struct course, failures) },
	{ "--resume", NULL,
	  "with a store: go on where an earlier run of this shard, seed and faults was",
	  OPTION_FLAG, OPTION_SETS(struct course, resume) },
	{ "--no-shrink", NULL,
	  "with a store: keep failures as they are found, for `datsim merge` to shrink",
	  OPTION_FLAG, OPTION_SETS(struct course, as_found) },
	{ "--coverage", NULL,
	  "count which faults acted, why connections broke, which states were reached and which "
	  "calls failed, and print a table",
	  OPTION_FLAG, OPTION_SETS(struct course, coverage) },
	{ "--json", "FILE",
	  "write the result for programs; -: to standard output, and everything else to "
	  "standard error",
	  OPTION_TEXT, .wants = "a file to write, or -", OPTION_SETS(struct course, json) },
	{ .name = NULL },
};

/* Neither output destroys the script or the program. */
static bool outputs_differ(const struct course *course, const char *command, const char *what,
			   const char *input)
{
	const struct named_file files[] = {
		{ what, input, false },
		{ "--out", course->out, true },
		{ "--json", course->json, true },
		{ .what = NULL },
	};

	return files_differ(command, files);
}

/* A failure may take hours to find, so the folder for it is looked at before. */
static bool out_has_folder(const struct course *course)
{
	const char *slash = course->out ? strrchr(course->out, '/') : NULL;
	struct text folder = { 0 };
	struct stat st;
	bool good;

	text_append(&folder, course->out ? course->out : ".",
		    slash ? (size_t)(slash - course->out) + 1 : 0);
	text_add(&folder, ".");
	good = !course->out || faccessat(AT_FDCWD, text_of(&folder), W_OK | X_OK, AT_EACCESS) == 0;
	if (good && course->out && stat(course->out, &st) == 0 && S_ISDIR(st.st_mode)) {
		good = false;
		errno = EISDIR;
	}
	if (!good)
		usage_error("explore", "--out %s cannot be written: %s", course->out,
			    strerror(errno));
	text_free(&folder);
	return good;
}

/* Programs, of which the command line has any number. Several run in lockstep. */
int explore_named(struct course *course, const char *command, char **words)
{
	struct programs programs = { .lockstep = true };
	char **word = words;

	while (*word && !programs_is_separator(*word))
		word++;
	course->lockstep |= *word != NULL;
	if (!course->lockstep && kinds_need_lockstep(course->kinds))
		return usage_error(command,
				   "--faults turns and kill want several programs, or --lockstep");
	if (!course->lockstep)
		return program_has_no_node(command, words) &&
				       outputs_differ(course, command, "the program",
						      program_file(words))
			       ? explore_program(course, words)
			       : EXIT_USAGE;
	if (!programs_split(&programs, command, words))
		return EXIT_USAGE;
	for (int i = 0; i < programs.count; i++)
		if (!outputs_differ(course, command, "the program",
				    program_file(programs.one[i].argv)))
			return EXIT_USAGE;
	return explore_programs(course, &programs);
}

static int run_command(char **argv)
{
	struct course course = { .seed = 1,
				 .shard = 1,
				 .shards = 1,
				 .jobs = 1,
				 .hang = HANG_SECONDS,
				 .kinds = kinds_usual() };
	struct operands what;
	bool program;

	if (!options_read(&command_explore, argv, &course, &what))
		return what.code;
	program = what.after_dashes;
	if (!program && what.count > 1 && what.word[1][0] == '-')
		return usage_error("explore",
				   "found %s behind %s: expected options before a script, and -- "
				   "before a program",
				   what.word[1], what.word[0]);
	if (program ? !what.count : what.count != 1)
		return usage_error("explore", "expected one script, or -- PROGRAM ARGS...");
	if (!program && (course.lockstep || kinds_need_lockstep(course.kinds)))
		return usage_error("explore",
				   "--lockstep, turns and kill are for programs: -- PROGRAM");
	if (!course.store && (course.failures || course.resume || course.as_found))
		return usage_error("explore", "--failures, --resume and --no-shrink want --store");
	if (!program && (!emu_is_chosen("explore", "scripts are explored") ||
			 !outputs_differ(&course, "explore", "the script", what.word[0])))
		return EXIT_USAGE;
	if (!out_has_folder(&course))
		return EXIT_USAGE;
	if (!course.failures)
		course.failures = course.store ? UINT64_MAX : 1;
	json_prepare(course.json);
	if (!course.runs && !course.seconds)
		course.runs = program ? RUNS_OF_PROGRAMS : RUNS_USUAL;
	course.jobs = jobs_at_once(course.jobs);
	course.progress = stderr_overwrites();
	return program ? explore_named(&course, "explore", what.word)
		       : explore_script(&course, what.word[0]);
}

const struct command command_explore = {
	.name = "explore",
	.operands = "FILE | -- PROGRAM ARGS... [+ PROGRAM ARGS...]...",
	.summary = "run under many schedules of faults until one fails",
	.about = about_explore,
	.options = options,
	.run = run_command,
};
