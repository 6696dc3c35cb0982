/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * origin.h - the command that made a trace. It is written into the header of the trace, so that the
 * trace alone is enough to repeat the run, and datsim replay splits it again.
 *
 * The command is a shell command line: settings of knobs, "datsim", arguments, with quotes where
 * needed.
 */
#ifndef DATSIM_ORIGIN_H
#define DATSIM_ORIGIN_H

#include "tools/datsim/util.h"

/* Add a word, quoted for a shell: on one line, and each byte of it comes back. */
void word_add(struct text *text, const char *word);
/* The same for the name of a file, which is no option even if it begins with '-'. */
void path_add(struct text *text, const char *path);
/* "NAME=value " for each knob that the environment sets. */
void knobs_add(struct text *text);
bool is_knob(const char *name, size_t length);
/* Reset all knobs to their defaults. */
void knobs_unset(void);
/* A command, or its option (NULL: the command), that needs more than the end of a trace. */
void trace_last_leave_out(const char *command, const char *option);

/* Insert the command after the first line of a trace. script: NULL if there is none. */
void origin_insert(struct text *trace, const char *command, const char *script);
/*
 * The same in a file. A file that is missing or is not a trace is left alone. False: there is no
 * room for the command; stderr says so, and the file is as it was before, if possible.
 */
bool origin_insert_file(const char *path, const char *command);
/* Is this header line one of origin_insert, and not part of what happened? */
bool is_origin(const char *line, size_t length);

#define WORDS_MAX 1024

struct command_line {
	struct arena memory;
	char *word[WORDS_MAX + 1]; /* ends with NULL */
	size_t count;
};

/* Split such a command. False: the quoting is wrong, or there are too many words. */
bool command_line_split(struct command_line *cmd, const char *line, size_t length);
void command_line_free(struct command_line *cmd);

#endif
