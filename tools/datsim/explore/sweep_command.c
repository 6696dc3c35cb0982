/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim sweep: the 1st, 2nd, 3rd ... allocation, post or event of each script goes wrong.
 *
 * A script is swept in a process of its own, which says on a pipe what it is about to do: so one that
 * crashes or hangs is known with its point.
 */
#include "tools/datsim/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/datsim/scripts.h"
#include "sweep.h"

#define HANGS_AFTER 30 /* seconds in one point */

/* What a line on the pipe begins with. */
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
	_exit(good ? EXIT_PASS : EXIT_CHECKER);
}

/* ---- a script ---- */

struct outcome {
	unsigned long long ran, points, last;
	bool ended;
	struct text report;
};

static void hear(struct sweep *sweep, struct outcome *outcome, char *line)
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
		text_add(&outcome->report, "# %s\n", line + 1);
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
		hear(sweep, outcome, line);
	free(line);
	if (in)
		fclose(in);
	else
		close(fd);
}

static bool wait_for(pid_t pid, const char *path, struct outcome *outcome)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		text_add(&outcome->report, "# %s: point %llu %s (signal %d)\n", path, outcome->last,
			 WTERMSIG(status) == SIGALRM ? "hangs" : "crashes", WTERMSIG(status));
	return WIFEXITED(status) && !WEXITSTATUS(status) && outcome->ended;
}

static bool sweep_one(struct sweep *sweep, const char *path, struct outcome *outcome)
{
	int ends[2];
	pid_t pid;

	memset(outcome, 0, sizeof(*outcome));
	fflush(NULL);
	if (pipe(ends)) {
		text_add(&outcome->report, "# %s\n", strerror(errno));
		return false;
	}
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_child(sweep, path, ends[1]);
	}
	close(ends[1]);
	listen_to(sweep, outcome, ends[0]);
	return pid > 0 && wait_for(pid, path, outcome);
}

static int sweep_all(struct sweep *sweep, const struct scripts *scripts)
{
	unsigned long long ran = 0, points = 0;
	struct outcome outcome;
	int code = EXIT_PASS;
	size_t i;
	bool good;

	printf("1..%zu\n", scripts->count);
	for (i = 0; i < scripts->count; i++) {
		good = sweep_one(sweep, scripts->paths[i], &outcome);
		printf("%s %zu - %s: %llu of %llu points\n%s", good ? "ok" : "not ok", i + 1,
		       scripts->paths[i], outcome.ran, outcome.points, text_of(&outcome.report));
		ran += outcome.ran;
		points += outcome.points;
		if (!good)
			code = EXIT_CHECKER;
		text_free(&outcome.report);
	}
	printf("# %llu of %llu points, all %zu sites\n", ran, points, sweep->sites.count);
	return code;
}

/* ---- the command line ---- */

static bool parse_number(const char *s, uint64_t most, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(s, &end, 10);
	return *s >= '0' && *s <= '9' && !*end && !errno && *number <= most;
}

static bool take_option(struct sweep *sweep, bool *has_kind, const char *option, const char *value)
{
	static const char *const kinds[] = { "alloc", "post", "event" };
	uint64_t percent;
	size_t i;

	if (!strcmp(option, "--nth")) {
		for (i = 0; i < ARRAY_SIZE(kinds); i++) {
			if (!strcmp(kinds[i], value)) {
				sweep->kind = (enum sweep_kind)i;
				return *has_kind = true;
			}
		}
		return false;
	}
	if (!strcmp(option, "--share")) {
		if (!parse_number(value, 100, &percent))
			return false;
		sweep->percent = (uint32_t)percent;
		return true;
	}
	if (!strcmp(option, "--seed"))
		return parse_number(value, UINT64_MAX, &sweep->seed);
	return !strcmp(option, "--only") && parse_number(value, UINT64_MAX, &sweep->only) &&
	       sweep->only;
}

static int parse(int argc, char **argv, struct sweep *sweep, struct scripts *scripts)
{
	bool has_kind = false;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--persistent"))
			sweep->persistent = true;
		else if (i + 1 == argc || !take_option(sweep, &has_kind, argv[i], argv[i + 1]))
			return usage_error("sweep", "%s: no such option, or not with that value",
					   argv[i]);
		else
			i++;
	}
	if (!has_kind)
		return usage_error("sweep", "expected --nth alloc, --nth post or --nth event");
	if (i == argc)
		return usage_error("sweep", "expected a script, or a folder of them");
	for (; i < argc; i++) {
		if (!scripts_add(scripts, argv[i]))
			return usage_error("sweep", "%s: no script (*.dsim) in there", argv[i]);
	}
	return EXIT_PASS;
}

int command_sweep(int argc, char **argv)
{
	struct sweep sweep = { .seed = 1, .percent = 100 };
	struct scripts scripts = { 0 };
	int code;

	if (argc > 1 && !strcmp(argv[1], "--help")) {
		fputs(help_sweep, stdout);
		return EXIT_PASS;
	}
	code = parse(argc, argv, &sweep, &scripts);
	if (code == EXIT_PASS)
		code = sweep_all(&sweep, &scripts);
	sites_free(&sweep.sites);
	scripts_free(&scripts);
	return code;
}
