/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * story.h - what happened in a failed run: the end of its timeline, what each fault hit and where
 * each program was, from its trace and from what the programs said on standard error.
 *
 * A story borrows its texts. Each function adds a section, with its title, or nothing.
 */
#ifndef DATSIM_STORY_H
#define DATSIM_STORY_H

#include "tools/datsim/program/programs.h"

#define STORY_ROWS 15 /* of the timeline */

struct story {
	const char *name; /* of the trace, for messages */
	const struct text *trace;
	const char *said;               /* on standard error, for story_places */
	const struct programs *several; /* NULL: a single program, or a script */
	bool of_script;                 /* the trace is that of a script, which has no end mark */
};

/* The last rows of the timeline, as wide as the terminal of stdout. */
void story_end(const struct story *story, struct text *text);
/* Which packets, calls and objects each line of the script hit. */
void story_hits(const struct story *story, struct text *text);
/* What each program waits for, or did last. */
void story_places(const struct story *story, struct text *text);
/* Is it a line by which the library says that a wait is hopeless? story_places tells it. */
bool story_tells(const char *line);

/*
 * Write the trace beside a script, with the command that makes it again, and its diagram and its
 * packets. *text: the names of the files. Errors go to stderr.
 */
void story_save(const struct story *story, const char *script, const char *command,
		struct text *text);

#endif
