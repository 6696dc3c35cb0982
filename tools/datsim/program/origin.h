/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * origin.h - what made a trace: a command line, written into its header so that the trace alone is
 * enough to run it again, and taken apart again by datsim replay.
 *
 * The line is one for a shell: settings of knobs, datsim, its arguments, quoted where they must be.
 */
#ifndef DATSIM_ORIGIN_H
#define DATSIM_ORIGIN_H

#include "tools/datsim/util.h"

/* A word as a shell takes it back. */
void word_add(struct text *text, const char *word);
/* "NAME=value " for each knob that the environment sets. */
void knobs_add(struct text *text);
bool is_knob(const char *name, size_t length);
/* Knobs are as they are by default. */
void knobs_unset(void);

/* Behind the first line of a trace: what made it. script: NULL where there is none. */
void origin_insert(struct text *trace, const char *command, const char *script);
/* The same, in a file. One that is not there or no trace is left alone. */
void origin_insert_file(const char *path, const char *command);
/* Put there by origin_insert; it says nothing of what happened. */
bool is_origin(const char *line, size_t length);

#define WORDS_MAX 1024

struct command {
	struct arena memory;
	char *word[WORDS_MAX + 1]; /* ends with NULL */
	size_t count;
};

/* Takes apart what word_add made. False: it is not so made. */
bool command_split(struct command *cmd, const char *line, size_t length);
void command_free(struct command *cmd);

#endif
