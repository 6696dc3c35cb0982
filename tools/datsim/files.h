/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.h - files that users name, to read and to write, and folders for what is thrown away. What goes
 * wrong is said in a text, as one line for stderr.
 */
#ifndef DATSIM_FILES_H
#define DATSIM_FILES_H

#include <stdio.h>

#include "util.h"

/* The content of a regular file of at most `limit` bytes. */
bool read_whole(const char *path, size_t limit, struct text *content, struct text *error);

/* NULL: it cannot be written. */
FILE *create_file(const char *path, struct text *error);
/* Closes it. False: not all that was printed is there. */
bool finish_file(FILE *file, const char *path, struct text *error);
bool write_whole(const char *path, const char *bytes, size_t length, struct text *error);
/* The same; what is wrong is said on standard error. */
bool write_whole_or_say(const char *path, const struct text *text);
/* It will be written by somebody else: can it be? What an earlier run left there is gone then. */
bool clear_file(const char *path, struct text *error);

/* A new folder, in $TMPDIR or /tmp. */
bool scratch_folder(struct text *folder, struct text *error);

/* Streams 0 to 2 are open from here on, so that no file of ours becomes one of them. */
void keep_standard_streams(void);
/* Nothing more is printed. False: it did not all get there, and stderr says so. */
bool finish_stdout(void);

#endif
