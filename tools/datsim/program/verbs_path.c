/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the folder of the libibverbs on the simulated fabric, and makes programs find it. It is not
 * among the system's libraries, so that only a program that datsim starts, or that is told of it by
 * hand, uses that library in place of the system's.
 */
#include "verbs_path.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/datsim/util.h"

#ifndef MODULE_LIBDIR
#define MODULE_LIBDIR "/usr/lib"
#endif

static bool is_there(const char *folder)
{
	char file[PATH_MAX];

	return (size_t)snprintf(file, sizeof(file), "%s/libibverbs.so.1", folder) < sizeof(file) &&
	       access(file, R_OK) == 0;
}

static bool verbs_path_find(struct text *path)
{
	char exe[PATH_MAX], built[PATH_MAX + 32], real[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n > 0) {
		exe[n] = '\0';
		snprintf(built, sizeof(built), "%s/../../verbs/.libs", dirname(exe));
		if (is_there(built) && realpath(built, real)) {
			text_add(path, "%s", real);
			return true;
		}
	}
	if (!is_there(MODULE_LIBDIR "/libdat/verbs"))
		return false;
	text_add(path, "%s", MODULE_LIBDIR "/libdat/verbs");
	return true;
}

static bool has_library(const struct text *path, const char *name, char file[PATH_MAX])
{
	return (size_t)snprintf(file, PATH_MAX, "%s/%s", text_of(path), name) < PATH_MAX &&
	       access(file, R_OK) == 0;
}

static bool has_files(const struct text *path, char file[PATH_MAX])
{
	return has_library(path, "libdat-files.so", file);
}

static void put_first(const char *variable, const char *what, char between)
{
	const char *before = getenv(variable);
	struct text all = { 0 };

	text_add(&all, "%s", what);
	if (before && *before)
		text_add(&all, "%c%s", between, before);
	setenv(variable, text_of(&all), 1);
	text_free(&all);
}

/* AddressSanitizer wants to be the first library of a program, unless it is told otherwise. */
#define ASAN_BEHIND "verify_asan_link_order=0"

void verbs_path_set(bool lockstep)
{
	const char *provider = getenv("DAT_PROVIDER");
	struct text path = { 0 };
	char file[PATH_MAX];

	if ((!provider || strcmp(provider, "hw") != 0) && verbs_path_find(&path)) {
		put_first("LD_LIBRARY_PATH", text_of(&path), ':');
		if (has_files(&path, file)) {
			put_first("LD_PRELOAD", file, ':');
			put_first("ASAN_OPTIONS", ASAN_BEHIND, ':');
		}
		if (lockstep && has_library(&path, "libdat-turns.so", file))
			put_first("LD_PRELOAD", file, ':');
	}
	text_free(&path);
}

bool verbs_path_over(bool lockstep)
{
	struct text path = { 0 };
	bool found = verbs_path_find(&path);

	text_free(&path);
	if (!found)
		return false;
	unsetenv("DAT_PROVIDER");
	setenv("DATSIM_VERBS", "emu", 1);
	verbs_path_set(lockstep);
	return true;
}

void verbs_path_over_child(void)
{
	setenv("DAT_PROVIDER", "hw", 1);
}

static void print_first(const char *variable, const char *what)
{
	printf("export %s='%s'\"${%s:+:$%s}\"\n", variable, what, variable, variable);
}

bool verbs_path_print(void)
{
	struct text path = { 0 };
	bool found = verbs_path_find(&path);
	char file[PATH_MAX];

	if (found)
		print_first("LD_LIBRARY_PATH", text_of(&path));
	if (found && has_files(&path, file)) {
		print_first("LD_PRELOAD", file);
		print_first("ASAN_OPTIONS", ASAN_BEHIND);
	}
	text_free(&path);
	return found;
}
