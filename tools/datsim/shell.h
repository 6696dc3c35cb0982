/* SPDX-License-Identifier: BSD-3-Clause */
/* shell.h - the interface of shell.c (what a line does) and shell_line.c (line editing). */
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
/* Add all words of the script language. */
void words_of_language(struct words *words);
/* Add the actors and objects of a script. */
void words_of_script(struct words *words, const struct script *script);

/* shell_help.c: print what a call does and takes. */
void shell_help_call(const char *name);

/* The next line without its newline, NULL at the end; the caller frees it. */
char *shell_read(const char *prompt, const struct words *words);

#endif
