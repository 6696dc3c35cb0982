/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim explore: its command line. */
#include "explore.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/datsim/commands.h"
#include "tools/datsim/jobs.h"

#define RUNS_USUAL       100000
#define RUNS_OF_PROGRAMS 10000
#define HANG_SECONDS     2

static bool parse_number(const char *s, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(s, &end, 10);
	return *s >= '0' && *s <= '9' && !*end && !errno;
}

/* 0.2 */
static bool parse_seconds(const char *s, double *seconds)
{
	if (!*s || s[strspn(s, "0123456789.")])
		return false;
	*seconds = strtod(s, NULL);
	return *seconds >= 0.01 && *seconds <= 3600;
}

/* 1/8 .. 8/8 */
static bool parse_shard(const char *s, struct course *course)
{
	const char *slash = strchr(s, '/');
	char part[21];

	if (!slash || (size_t)(slash - s) >= sizeof(part))
		return false;
	memcpy(part, s, (size_t)(slash - s));
	part[slash - s] = '\0';
	return parse_number(part, &course->shard) && parse_number(slash + 1, &course->shards) &&
	       course->shard >= 1 && course->shard <= course->shards;
}

static bool take_option(struct course *course, const char *option, const char *value)
{
	uint64_t number;

	if (!strcmp(option, "--out")) {
		course->out = value;
		return true;
	}
	if (!strcmp(option, "--shard"))
		return parse_shard(value, course);
	if (!strcmp(option, "--hang"))
		return parse_seconds(value, &course->hang);
	if (!strcmp(option, "-j"))
		return jobs_parse(value, &course->jobs);
	if (!strcmp(option, "--faults")) {
		course->kinds = kinds_parse(value);
		return course->kinds != 0;
	}
	if (!parse_number(value, &number))
		return false;
	if (!strcmp(option, "--seed"))
		course->seed = number;
	else if (!strcmp(option, "--first"))
		course->first = number;
	else if (!strcmp(option, "--runs") && number)
		course->runs = number;
	else if (!strcmp(option, "--seconds") && number && number <= INT32_MAX)
		course->seconds = (unsigned long)number;
	else
		return false;
	return true;
}

int command_explore(int argc, char **argv)
{
	struct course course = { .seed = 1,
				 .shard = 1,
				 .shards = 1,
				 .jobs = 1,
				 .hang = HANG_SECONDS,
				 .kinds = kinds_usual() };
	bool program;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "--"))
			break;
		if (!strcmp(argv[i], "--help")) {
			fputs(help_explore, stdout);
			return EXIT_PASS;
		}
		if (i + 1 == argc || !take_option(&course, argv[i], argv[i + 1]))
			return usage_error("explore", "%s: no such option, or not with that value",
					   argv[i]);
	}
	program = i < argc && !strcmp(argv[i], "--");
	if (program ? i + 1 == argc : i + 1 != argc)
		return usage_error("explore", "expected one script, or -- PROGRAM ARGS...");
	if (!course.runs && !course.seconds)
		course.runs = program ? RUNS_OF_PROGRAMS : RUNS_USUAL;
	course.progress = isatty(STDERR_FILENO);
	return program ? explore_program(&course, argv + i + 1) : explore_script(&course, argv[i]);
}
