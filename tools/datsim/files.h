/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * files.h - files that users name, for reading and writing, and temporary folders. Errors are added
 * to a text, as one line for stderr.
 */
#ifndef DATSIM_FILES_H
#define DATSIM_FILES_H

#include <stdio.h>

#include "util.h"

/* The content of a regular file of at most `limit` bytes. */
bool read_whole(const char *path, size_t limit, struct text *content, struct text *error);
/* The content of a script, without the byte order mark that some editors write in front. */
bool read_script(const char *path, struct text *content, struct text *error);

/* NULL: it cannot be written, and *error says why. */
FILE *create_file(const char *path, struct text *error);
/* The same, but "-" is the standard output, which finish_file leaves open. */
FILE *create_output(const char *path, struct text *error);
/* Is this path "-", and the standard output a terminal, which packets would confuse? */
bool output_is_terminal(const char *path);
/* Closes the file. False: not everything could be written. */
bool finish_file(FILE *file, const char *path, struct text *error);
bool write_whole(const char *path, const char *bytes, size_t length, struct text *error);
/* The same, but errors go to stderr. */
bool write_whole_or_say(const char *path, const struct text *text);
/* Check that another process can write this file, and remove what an earlier run left there. */
bool clear_file(const char *path, struct text *error);

/* A file that a command line names. */
struct named_file {
	const char *what; /* for messages: "the script", "--trace" */
	const char *path; /* NULL: none */
	bool written;
};

/*
 * Is each file that is written another one than those before it in the list, which ends with a row
 * of zeros? False: it would destroy one of them, and stderr says which.
 */
bool files_differ(const char *command, const struct named_file *files);

/* A new folder, in $TMPDIR or /tmp. */
bool scratch_folder(struct text *folder, struct text *error);
/*
 * A new folder in memory (/dev/shm). False: there is no room for so many bytes, or TMPDIR names
 * another place.
 */
bool memory_folder(struct text *folder, uint64_t bytes);

/* Make sure that descriptors 0 to 2 are open, so that no file gets one of these numbers. */
void keep_standard_streams(void);
/* Standard output leads to stderr from now on; returns what it was, for output_restore. */
int output_divert(void);
void output_restore(int out);
/* Flush stdout at the end. False: some output was lost, and stderr says so. */
bool finish_stdout(void);

/* Is standard error a terminal on which a line of progress can replace the one before? */
bool stderr_overwrites(void);
/* Print such a line, as much of it as the terminal is wide; of "" none is left. */
void stderr_overwrite(const char *line);

#endif
