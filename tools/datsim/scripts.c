/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the scripts under the files and folders of a command line. */
#include "scripts.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"

#define DEPTH_MAX 32

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

void scripts_free(struct scripts *scripts)
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

/* A folder that is searched, and the one that it was found in. */
struct searched {
	const struct searched *in;
	dev_t dev;
	ino_t ino;
	int depth;
};

/* A symbolic link may lead back to a folder that is being searched. */
static bool is_searched(const struct searched *at, const struct stat *st)
{
	while (at && (at->dev != st->st_dev || at->ino != st->st_ino))
		at = at->in;
	return at != NULL;
}

static void find_scripts(struct scripts *scripts, const char *folder, const struct stat *which,
			 const struct searched *in)
{
	const struct searched here = { in, which->st_dev, which->st_ino, in ? in->depth + 1 : 0 };
	struct dirent *entry;
	struct text path = { 0 };
	struct stat st;
	DIR *dir = here.depth < DEPTH_MAX ? opendir(folder) : NULL;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		path.length = 0;
		text_add(&path, "%s/%s", folder, entry->d_name);
		/* What cannot be read is not left out, but fails as a script does. */
		if (stat(path.s, &st)) {
			if (is_script(entry->d_name))
				add_script(scripts, path.s);
			continue;
		}
		if (S_ISDIR(st.st_mode) && !is_searched(&here, &st))
			find_scripts(scripts, path.s, &st, &here);
		else if (!S_ISDIR(st.st_mode) && is_script(entry->d_name))
			add_script(scripts, path.s);
	}
	if (dir)
		closedir(dir);
	else
		add_script(scripts, folder);
	text_free(&path);
}

bool scripts_add(struct scripts *scripts, const char *path)
{
	size_t first = scripts->count;
	struct stat st;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_script(scripts, path);
		return true;
	}
	find_scripts(scripts, path, &st, NULL);
	if (scripts->count == first)
		return false;
	qsort(scripts->paths + first, scripts->count - first, sizeof(*scripts->paths), by_name);
	return true;
}

bool scripts_stay(const struct scripts *scripts, const char *command, const char *trace,
		  const char *junit)
{
	for (size_t i = 0; i < scripts->count; i++) {
		const struct named_file files[] = {
			{ "the script", scripts->paths[i], false },
			{ "--trace", trace, true },
			{ "--junit", junit, true },
			{ .what = NULL },
		};

		if (!files_differ(command, files))
			return false;
	}
	return true;
}
