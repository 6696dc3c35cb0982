/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim sweep: makes the 1st, 2nd, 3rd ... allocation, post or event of each script fail.
 *
 * A script is swept in a child process, which reports on a pipe the point that it is about to run,
 * so that a point that crashes or hangs is known.
 */
#include "tools/datsim/colour.h"
#include "tools/datsim/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/datsim/run/device.h"
#include "tools/datsim/scripts.h"
#include "sweep.h"
#include "tools/datsim/tap.h"

#define HANGS_AFTER 30 /* seconds in one point */

/* The first character of a line on the pipe. */
enum {
	SAYS_RUNS = 'r',
	SAYS_SITE = 's',
	SAYS_END = 'e',
	SAYS_REPORT = 't'
};

static FILE *pipe_of_child;

static void says_runs(uint64_t point)
{
	fprintf(pipe_of_child, "%c%llu\n", SAYS_RUNS, (unsigned long long)point);
	fflush(pipe_of_child);
	alarm(HANGS_AFTER);
}

static void says_site(const char *site)
{
	fprintf(pipe_of_child, "%c%s\n", SAYS_SITE, site);
}

static void says_report(const char *p)
{
	const char *nl;

	for (; *p; p = nl + 1) {
		nl = strchr(p, '\n');
		fprintf(pipe_of_child, "%c%.*s\n", SAYS_REPORT, nl ? (int)(nl - p) : (int)strlen(p),
			p);
		if (!nl)
			break;
	}
}

static void __attribute__((noreturn)) be_child(struct sweep *sweep, const char *path, int fd)
{
	struct swept swept;
	bool good;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tap_bail_by_signals(false);
	pipe_of_child = fdopen(fd, "w");
	if (!pipe_of_child)
		_exit(EXIT_INTERNAL);
	sweep->runs = says_runs;
	sweep->covers = says_site;
	good = sweep_script(sweep, path, &swept);
	says_report(text_of(&swept.report));
	fprintf(pipe_of_child, "%c%llu %llu\n", SAYS_END, (unsigned long long)swept.ran,
		(unsigned long long)swept.points);
	fclose(pipe_of_child);
	_exit(good ? EXIT_PASS : swept.unfit ? EXIT_USAGE : EXIT_CHECKER);
}

/* ---- a script ---- */

struct outcome {
	unsigned long long ran, points, last;
	bool ended;
	struct text report;
};

static void read_report(struct sweep *sweep, struct outcome *outcome, char *line)
{
	size_t n = strcspn(line, "\n");

	line[n] = '\0';
	switch (line[0]) {
	case SAYS_RUNS:
		outcome->last = strtoull(line + 1, NULL, 10);
		break;
	case SAYS_SITE:
		sites_add(&sweep->sites, line + 1);
		break;
	case SAYS_REPORT:
		text_add(&outcome->report, "%s\n", line + 1);
		break;
	case SAYS_END:
		outcome->ended = sscanf(line + 1, "%llu %llu", &outcome->ran, &outcome->points) ==
				 2;
		break;
	default:
		break;
	}
}

static void listen_to(struct sweep *sweep, struct outcome *outcome, int fd)
{
	FILE *in = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	while (in && getline(&line, &room, in) > 0)
		read_report(sweep, outcome, line);
	free(line);
	if (in)
		fclose(in);
	else
		close(fd);
}

/* Returns the exit code for this script. */
static int wait_for(pid_t pid, const char *path, struct outcome *outcome)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		text_add(&outcome->report, "%s: point %llu %s (signal %d)\n", path, outcome->last,
			 WTERMSIG(status) == SIGALRM ? "hangs" : "crashes", WTERMSIG(status));
	if (!WIFEXITED(status) || !outcome->ended)
		return EXIT_CHECKER;
	return WEXITSTATUS(status);
}

static int sweep_one(struct sweep *sweep, const char *path, struct outcome *outcome)
{
	int ends[2];
	pid_t pid;

	memset(outcome, 0, sizeof(*outcome));
	fflush(NULL);
	if (pipe(ends)) {
		text_add(&outcome->report, "%s\n", strerror(errno));
		return EXIT_CHECKER;
	}
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_child(sweep, path, ends[1]);
	}
	close(ends[1]);
	listen_to(sweep, outcome, ends[0]);
	return pid > 0 ? wait_for(pid, path, outcome) : EXIT_CHECKER;
}

static int sweep_all(struct sweep *sweep, const struct scripts *scripts, bool colour)
{
	unsigned long long ran = 0, points = 0;
	struct outcome outcome;
	int code = EXIT_PASS, one;
	size_t i;

	printf("1..%zu\n", scripts->count);
	tap_bail_by_signals(true);
	for (i = 0; i < scripts->count; i++) {
		one = sweep_one(sweep, scripts->paths[i], &outcome);
		colour_result(stdout, colour, !one, one ? "not ok" : "ok");
		printf(" %zu - ", i + 1);
		tap_name(stdout, scripts->paths[i]);
		printf(": %llu of %llu points", outcome.ran, outcome.points);
		if (!one && sweep->only > outcome.points)
			printf(" # SKIP there is no point %llu", (unsigned long long)sweep->only);
		printf("\n");
		colour_report(stdout, colour, "# ", text_of(&outcome.report));
		fflush(stdout);
		ran += outcome.ran;
		points += outcome.points;
		/* A point that fails is what was looked for, whatever else is wrong. */
		if (code != EXIT_CHECKER && one)
			code = one;
		text_free(&outcome.report);
	}
	printf("# %llu of %llu points, all %zu sites\n", ran, points, sweep->sites.count);
	if (code == EXIT_PASS && points && !ran && sweep->only)
		code = usage_error("sweep",
				   "--only %llu: no script has so many points: nothing was swept",
				   (unsigned long long)sweep->only);
	else if (code == EXIT_PASS && !ran)
		code = usage_error("sweep", "no script has such an operation: nothing was swept");
	return code;
}

/* ---- the command line ---- */

static const char *const kinds[] = {
	[SWEEP_ALLOC] = "alloc",
	[SWEEP_POST] = "post",
	[SWEEP_EVENT] = "event",
	NULL,
};

struct sweep_options {
	struct sweep sweep;
	int kind, colour;
};

static const struct option options[] = {
	{ "--nth", "alloc|post|event", "the kind of operation that fails", OPTION_CHOICE,
	  .required = true, .choices = kinds, OPTION_SETS(struct sweep_options, kind) },
	{ "--persistent", NULL, "every later operation of this kind fails too", OPTION_FLAG,
	  OPTION_SETS(struct sweep_options, sweep.persistent) },
	{ "--share", "P",
	  "every site (the operation that fails, and the call that leads to it) "
	  "once, and P percent "
	  "of the other points (default: 100)",
	  OPTION_NUMBER, .most = 100, OPTION_SETS(struct sweep_options, sweep.percent) },
	{ "--seed", "N", "other points of that share", OPTION_NUMBER,
	  OPTION_SETS(struct sweep_options, sweep.seed) },
	{ "--only", "N", "only this point of the script", OPTION_NUMBER, .least = 1,
	  OPTION_SETS(struct sweep_options, sweep.only) },
	OPTION_COLOUR(struct sweep_options, colour),
	{ .name = NULL },
};

static int add_scripts(struct scripts *scripts, const struct operands *files)
{
	int i;

	if (!files->count)
		return usage_error("sweep", "expected a script, or a folder of scripts");
	for (i = 0; i < files->count; i++) {
		if (!scripts_add(scripts, files->word[i]))
			return usage_error("sweep", "no script (*.dsim) under %s", files->word[i]);
	}
	return EXIT_PASS;
}

static int run_command(char **argv)
{
	struct sweep_options sweep = { .sweep = { .seed = 1, .percent = 100 } };
	struct scripts scripts = { 0 };
	struct operands files;
	int code;

	if (!options_read(&command_sweep, argv, &sweep, &files))
		return files.code;
	if (!emu_is_chosen("sweep", "scripts are swept"))
		return EXIT_USAGE;
	sweep.sweep.kind = (enum sweep_kind)sweep.kind;
	code = add_scripts(&scripts, &files);
	if (code == EXIT_PASS)
		code = sweep_all(&sweep.sweep, &scripts, colour_wanted(sweep.colour, stdout));
	sites_free(&sweep.sweep.sites);
	scripts_free(&scripts);
	return code;
}

const struct command command_sweep = {
	.name = "sweep",
	.operands = "FILE-or-DIR...",
	.summary = "fail the 1st, 2nd, 3rd ... allocation, post or event of scripts",
	.about = about_sweep,
	.options = options,
	.run = run_command,
};
