/* SPDX-License-Identifier: BSD-3-Clause */
/* colour.h - when output is coloured, and the colours of a failure's report. */
#ifndef DATSIM_COLOUR_H
#define DATSIM_COLOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum colour {
	COLOUR_AUTO,
	COLOUR_ALWAYS,
	COLOUR_NEVER
};

/* "auto", "always", "never": the choices of --color. */
extern const char *const colours[];

/* A row of a table of options, whose struct has the choice as an int. */
#define OPTION_COLOUR(what, member)                                               \
	{                                                                         \
		"--color", "auto|always|never", "(default: auto)", OPTION_CHOICE, \
			.choices = colours, OPTION_SETS(what, member)             \
	}

/* Auto: on a terminal that has colours, unless NO_COLOR is set. */
bool colour_wanted(int when, FILE *out);
/*
 * Print the lines of a report, each behind a prefix: what was expected in green, what came in red,
 * titles and replay lines bold.
 */
void colour_report(FILE *out, bool colour, const char *prefix, const char *report);
/* The word of a result: red if it is bad, green if not. */
void colour_result(FILE *out, bool colour, bool good, const char *word);

#endif
