/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shell.h - the interface of shell.c (what a line does), shell_line.c (line editing),
 * shell_complete.c, shell_statement.c and shell_help.c.
 */
#ifndef DATSIM_SHELL_H
#define DATSIM_SHELL_H

#include "tools/datsim/script/script.h"

/* Words that may be completed: calls, keywords, names and fields. */
struct words {
	char **words;
	size_t count, room;
};

void words_add(struct words *words, const char *word);
void words_free(struct words *words);
/* shell_complete.c: add what can follow on a line that begins with `before`, after this script. */
void words_that_follow(struct words *words, const struct script *script, const char *before,
		       int length);

/* Finds the words that can follow on a line, `length` bytes from its beginning. */
struct completer {
	void (*complete)(void *context, const char *line, int length, struct words *words);
	void *context;
};

/* shell_help.c: print what a call does and takes. */
void shell_help_call(const char *name);

/* The next line without its newline, NULL at the end; the caller frees it. */
char *shell_read(const char *prompt, const struct completer *wanted);

#endif
