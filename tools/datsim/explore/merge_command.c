/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim merge: unites the stores of shards, and shrinks what they kept as it was found. Programs
 * are run only if the command line names them: a store does not say what to execute.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merge.h"
#include "tools/datsim/commands.h"

static const struct option options[] = {
	{ "--out", "DIR", "the folder that takes all failures (default: the first one)",
	  OPTION_TEXT, .wants = "a folder", OPTION_SETS(struct merge, course.store) },
	{ "--lockstep", NULL, "the programs behind -- run in lockstep, as they did in explore",
	  OPTION_FLAG, OPTION_SETS(struct merge, course.lockstep) },
	{ "--coverage", NULL, "print the table of what all shards covered", OPTION_FLAG,
	  OPTION_SETS(struct merge, course.coverage) },
	{ "--json", "FILE",
	  "write the result for programs; -: to standard output, and everything else to "
	  "standard error",
	  OPTION_TEXT, .wants = "a file to write, or -", OPTION_SETS(struct merge, course.json) },
	{ .name = NULL },
};

/* ---- uniting ---- */

static bool unite_position(struct store *from, const char *name, void *ctx)
{
	struct store *to = ctx;
	struct text content = { 0 }, other = { 0 }, path = { 0 }, error = { 0 };
	struct position position = { .done = 0 }, known = { .done = 0 };
	bool good;

	text_add(&path, "%s/%s", from->dir, name);
	good = store_read(from, name, &content, &error) &&
	       position_parse(&position, text_of(&path), &content, &error);
	/* Of two positions of a shard the one that is further on has the other's counts, too. */
	if (good && store_read(to, name, &other, &error) &&
	    position_parse(&known, name, &other, &error) && known.done >= position.done)
		;
	else if (good && !error.length)
		good = store_write(to, name, &content);
	fputs(text_of(&error), stderr);
	good = good && !error.length;
	position_free(&position);
	position_free(&known);
	text_free(&error);
	text_free(&path);
	text_free(&other);
	text_free(&content);
	return good;
}

static bool is_same(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool unite_folder(struct merge *merge, struct store *to, const char *dir)
{
	struct store from;
	bool fresh, good;

	if (is_same(dir, to->dir))
		return true;
	good = store_open(&from, dir, false);
	for (size_t i = 0; good && i < from.count; i++) {
		store_put(to, &from.list[i], &fresh);
		good = !to->unwritten;
		from.list[i] = (struct entry){ .count = 0 };
		merge->fresh += good && fresh;
	}
	good = good && store_each(&from, ".position", unite_position, to);
	store_close(&from);
	return good;
}

static bool unite_all(struct merge *merge)
{
	struct store to;
	bool good = store_open(&to, merge->course.store, merge->course.store != merge->folders[0]);

	for (size_t i = 0; good && i < to.count; i++)
		text_add(&merge->known, "\n%s\n", text_of(&to.list[i].name));
	for (size_t i = 0; good && i < merge->count; i++)
		good = unite_folder(merge, &to, merge->folders[i]);
	good = good && merge_scripts(&to);
	store_close(&to);
	return good;
}

/* ---- the command line ---- */

/* The programs behind "--": what is known of them is shrunk. */
static int shrink_programs(struct merge *merge, char **words)
{
	struct course course = merge->course;
	char **word = words;

	course.merges = true;
	course.json = NULL;
	course.coverage = false;
	while (*word && !programs_is_separator(*word))
		word++;
	course.lockstep |= *word != NULL;
	return explore_named(&course, "merge", words);
}

static int merge_all(struct merge *merge, char **programs)
{
	int code = EXIT_PASS;

	if (!unite_all(merge))
		return EXIT_USAGE;
	if (programs)
		code = shrink_programs(merge, programs);
	return code ? code : merge_tell(merge);
}

static int run_command(char **argv)
{
	struct merge merge = { .course = { .seed = 1,
					   .shard = 1,
					   .shards = 1,
					   .jobs = 1,
					   .hang = 2,
					   .kinds = kinds_usual(),
					   .failures = UINT64_MAX } };
	struct operands what;
	char **programs = NULL;
	int i, code;

	if (!options_read(&command_merge, argv, &merge, &what))
		return what.code;
	for (i = 0; i < what.count && strcmp(what.word[i], "--") != 0; i++)
		;
	if (i < what.count)
		programs = what.word + i + 1;
	if (!i || what.after_dashes || (programs && !*programs))
		return usage_error("merge", "expected folders, and maybe -- PROGRAM ARGS...");
	merge.folders = (const char **)what.word;
	merge.count = (size_t)i;
	if (!merge.course.store)
		merge.course.store = merge.folders[0];
	json_prepare(merge.course.json);
	code = merge_all(&merge, programs);
	text_free(&merge.known);
	return code;
}

const struct command command_merge = {
	.name = "merge",
	.operands = "DIR... [-- PROGRAM ARGS... [+ PROGRAM ARGS...]...]",
	.summary = "unite the failures that shards of explore have stored",
	.about = about_merge,
	.options = options,
	.run = run_command,
};
