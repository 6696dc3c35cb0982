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

#ifndef MODULE_LIBDIR
#define MODULE_LIBDIR "/usr/lib"
#endif

#define VARIABLE "LD_LIBRARY_PATH"

static bool is_there(const char *folder)
{
	char file[PATH_MAX];

	return (size_t)snprintf(file, sizeof(file), "%s/libibverbs.so.1", folder) < sizeof(file) &&
	       access(file, R_OK) == 0;
}

bool verbs_path_find(struct text *path)
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

void verbs_path_set(void)
{
	const char *provider = getenv("DAT_PROVIDER"), *before = getenv(VARIABLE);
	struct text path = { 0 };

	if ((!provider || strcmp(provider, "hw") != 0) && verbs_path_find(&path)) {
		if (before && *before)
			text_add(&path, ":%s", before);
		setenv(VARIABLE, text_of(&path), 1);
	}
	text_free(&path);
}
