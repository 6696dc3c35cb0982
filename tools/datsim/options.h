/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.h - the options of datsim's commands.
 *
 * A command describes its options in a table. options_read parses a command line by that table into
 * the command's own struct, and help_print prints the table as help, so the two cannot differ. An
 * option is written --name VALUE or --name=VALUE, a short one -j N or -jN; options end at the first
 * operand, or at "--". A table and its texts are constants; values point into argv.
 */
#ifndef DATSIM_OPTIONS_H
#define DATSIM_OPTIONS_H

#include "util.h"

enum option_kind {
	OPTION_FLAG,   /* sets a bool; takes no value */
	OPTION_TEXT,   /* sets a const char *; not to "" */
	OPTION_NUMBER, /* sets an integer of four or eight bytes, from `least` to `most` */
	OPTION_CHOICE, /* sets an int: the index of the value in `choices` */
	OPTION_OWN     /* whatever `take` makes of the value */
};

struct option {
	const char *name;    /* as the user writes it: "--seed", "-j" */
	const char *operand; /* what the help calls its value: "N" */
	const char *help;    /* wrapped when printed; a newline stays one */
	enum option_kind kind;
	bool required;
	bool repeats;        /* for the help only: it may be given several times */
	size_t offset, size; /* of the member it sets, see OPTION_SETS */

	uint64_t least, most;       /* most 0: UINT64_MAX */
	const char *const *choices; /* ends with NULL */
	const char *wants;          /* OPTION_TEXT, OPTION_OWN: what a value is, "a file" */
	bool (*take)(void *member, const char *value); /* false: the value is bad */
};

/* A file to write. "-" is refused: it would be a file's name, not standard output. */
bool file_take(void *member, const char *value);

#define OPTION_SETS(type, member) \
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

#define OPTIONS_MAX 32

struct command {
	const char *name;
	const char *operands;         /* for the help: "FILE.trace"; NULL: it takes none */
	const char *summary;          /* its line in `datsim --help` */
	const char *about;            /* help in front of the options */
	const char *details;          /* help after them, or NULL */
	const struct option *options; /* ends with a row without a name; NULL: there are none */
	int (*run)(char **argv);      /* argv[0] is its name; returns the exit code */
};

/* What follows the options. */
struct operands {
	char **word; /* ends with NULL */
	int count;
	bool after_dashes;       /* "--" stands in front of them */
	bool given[OPTIONS_MAX]; /* by row of the table */
	int code;                /* to exit with, where options_read returns false */
};

/*
 * Read the options from argv[1] on into the struct at `into`, which holds the defaults. False: the
 * help was requested and printed, or the command line is wrong and stderr says why. Options behind
 * files move in front of them, so that argv still has all words and can be read again.
 */
bool options_read(const struct command *command, char **argv, void *into,
		  struct operands *operands);
bool option_given(const struct command *command, const struct operands *operands, const char *name);
/* Is this word of a command line that option, with or without "=VALUE"? */
bool option_is(const char *word, const char *name);

/* The command's help, on stdout. */
void help_print(const struct command *command);

/* Say on stderr what is wrong with the command line; returns EXIT_USAGE. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a word that is none of `names` (ends with NULL), with the nearest one suggested. */
int usage_unknown(const char *command, const char *what, const char *word,
		  const char *const *names);
/* Is this word NAME=VALUE of an option that takes no value? Then stderr says that it takes none. */
bool usage_with_value(const char *command, const char *word, const char *name);

#endif
