/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim test: run scripts, report, exit as the first failure says. */
#include "commands.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "show.h"
#include "tap.h"

#define DEPTH_MAX 32

struct scripts {
	char **paths;
	size_t count, room;
};

struct test_options {
	struct options run;
	const char *trace; /* file to write */
	bool show;
	bool all;
};

static void add_script(struct scripts *scripts, const char *path)
{
	size_t n = strlen(path) + 1;

	if (scripts->count == scripts->room) {
		scripts->room = scripts->room ? 2 * scripts->room : 32;
		scripts->paths = mem_grow(scripts->paths, scripts->room * sizeof(*scripts->paths));
	}
	scripts->paths[scripts->count] = mem_zero(1, n);
	memcpy(scripts->paths[scripts->count++], path, n);
}

static void free_scripts(struct scripts *scripts)
{
	while (scripts->count)
		free(scripts->paths[--scripts->count]);
	free(scripts->paths);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_script(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, ".dsim");
}

/* All scripts under a folder, in the order of their names whatever the file system's order is. */
static void find_scripts(struct scripts *scripts, const char *folder, int depth)
{
	struct dirent *entry;
	struct text path = { 0 };
	struct stat st;
	DIR *dir = depth < DEPTH_MAX ? opendir(folder) : NULL;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		path.length = 0;
		text_add(&path, "%s/%s", folder, entry->d_name);
		if (stat(path.s, &st))
			continue;
		if (S_ISDIR(st.st_mode))
			find_scripts(scripts, path.s, depth + 1);
		else if (is_script(entry->d_name))
			add_script(scripts, path.s);
	}
	if (dir)
		closedir(dir);
	text_free(&path);
}

static bool add_path(struct scripts *scripts, const char *path)
{
	size_t first = scripts->count;
	struct stat st;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_script(scripts, path); /* what is wrong with it, run_file says */
		return true;
	}
	find_scripts(scripts, path, 0);
	if (scripts->count == first)
		return false;
	qsort(scripts->paths + first, scripts->count - first, sizeof(*scripts->paths), by_name);
	return true;
}

/* The end mark says that the file is whole. */
static bool write_trace(const char *path, const struct text *trace)
{
	const char *p;
	size_t events = 0;
	FILE *file = fopen(path, "we");

	if (!file) {
		usage_error("test", "cannot write %s: %s", path, strerror(errno));
		return false;
	}
	for (p = text_of(trace); p; p = strchr(p, '\n')) {
		p += *p == '\n';
		events += *p >= '0' && *p <= '9';
	}
	fprintf(file, "%s# end lines=%zu\n", text_of(trace), events);
	if (!fclose(file))
		return true;
	usage_error("test", "cannot write %s: %s", path, strerror(errno));
	return false;
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

static enum exit_code run_scripts(const struct scripts *scripts, const struct test_options *options)
{
	enum exit_code first = EXIT_PASS;
	struct verdict verdict;
	size_t i;

	if (!options->show)
		tap_plan(stdout, scripts->count);
	for (i = 0; i < scripts->count; i++) {
		run_file(scripts->paths[i], &options->run, &verdict);
		if (first == EXIT_PASS)
			first = verdict.code;
		if (options->trace && verdict.trace.length &&
		    !write_trace(options->trace, &verdict.trace))
			first = EXIT_INTERNAL;
		if (!options->show)
			tap_result(stdout, i + 1, scripts->paths[i], &verdict);
		else if (verdict.trace.length && !show_run(options, scripts->paths[i], &verdict))
			first = EXIT_INTERNAL;
		if (options->show && verdict.code != EXIT_PASS)
			fputs(text_of(&verdict.report), stderr);
		verdict_free(&verdict);
	}
	return first;
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
		} else if (!strcmp(option, "--junit") || !strcmp(option, "-j")) {
			return usage_error("test", "%s is not built yet", option), false;
		} else {
			return usage_error("test", "unknown option %s", option), false;
		}
	}
	return true;
}

int command_test(int argc, char **argv)
{
	struct test_options options = { 0 };
	struct scripts scripts = { 0 };
	int i, code;

	if (!parse_options(argc, argv, &i, &options, &code))
		return code;
	if (i == argc)
		return usage_error("test", "expected a script or a folder of scripts");
	for (; i < argc; i++) {
		if (!add_path(&scripts, argv[i])) {
			code = usage_error("test", "no script (*.dsim) under %s", argv[i]);
			goto out;
		}
	}
	if (options.trace && scripts.count > 1) {
		code = usage_error("test", "--trace takes one script, not %zu", scripts.count);
		goto out;
	}
	code = run_scripts(&scripts, &options);
out:
	free_scripts(&scripts);
	return code;
}
