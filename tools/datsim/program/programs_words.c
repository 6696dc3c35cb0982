/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of several programs: SERVER ARGS + --node NAME CLIENT ARGS. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "origin.h"
#include "programs.h"
#include "tools/datsim/commands.h"

static const char node_option[] = "--node";

bool programs_is_separator(const char *word)
{
	return !strcmp(word, "+") || !strcmp(word, "--and");
}

/* By default a node has the name of its program. */
static const char *node_of(const char *program)
{
	const char *slash = strrchr(program, '/');

	return slash ? slash + 1 : program;
}

/* As scripts can write it: "my-server" is "my_server". */
static void copy_plain(char name[PROGRAM_NAME], const char *node)
{
	snprintf(name, PROGRAM_NAME, "%s", node);
	for (; *name; name++)
		if (!isalnum((unsigned char)*name))
			*name = '_';
}

/* Has one of the programs before it that name, as scripts write it? */
static bool is_taken(const struct programs *programs, int i)
{
	char name[PROGRAM_NAME], other[PROGRAM_NAME];

	copy_plain(name, programs->one[i].name);
	while (i-- > 0) {
		copy_plain(other, programs->one[i].name);
		if (!strcmp(other, name))
			return true;
	}
	return false;
}

/* The second of the node "client" is "client2"; one of the node "client2" is "client22" then. */
static void name_program(struct programs *programs, int i)
{
	char node[PROGRAM_NAME];

	copy_plain(node, programs->one[i].node);
	snprintf(programs->one[i].name, PROGRAM_NAME, "%s", node);
	for (unsigned int rank = 2; is_taken(programs, i); rank++)
		snprintf(programs->one[i].name, PROGRAM_NAME, "%.18s%u", node, rank);
}

/* Read [--node NAME] PROGRAM ARGS up to the separator or the end; NULL: wrong, stderr says why. */
static char **take_one(struct programs *programs, const char *command, char **argv)
{
	int i = programs->count;

	if (i == (int)ARRAY_SIZE(programs->one)) {
		usage_error(command, "expected at most %d programs", i);
		return NULL;
	}
	if (argv[0] && !strcmp(argv[0], node_option)) {
		if (!argv[1] || !*argv[1] || programs_is_separator(argv[1]) || !argv[2] ||
		    programs_is_separator(argv[2]) || !strcmp(argv[2], node_option)) {
			usage_error(command, "expected --node NAME PROGRAM: a name for the "
					     "fabric, and the program that has it");
			return NULL;
		}
		programs->one[i].node = argv[1];
		argv += 2;
	}
	if (!argv[0] || programs_is_separator(argv[0])) {
		usage_error(command, "expected a program before and after each +");
		return NULL;
	}
	programs->one[i].argv = argv;
	if (!programs->one[i].node)
		programs->one[i].node = node_of(argv[0]);
	name_program(programs, i);
	programs->count++;
	while (*argv && !programs_is_separator(*argv))
		argv++;
	return argv;
}

bool programs_split(struct programs *programs, const char *command, char **argv)
{
	programs->count = 0;
	for (;;) {
		argv = take_one(programs, command, argv);
		if (!argv)
			return false;
		if (!*argv)
			return true;
		*argv++ = NULL;
	}
}

bool program_has_no_node(const char *command, char **argv)
{
	if (strcmp(argv[0], node_option) != 0)
		return true;
	usage_error(command, "--node is for several programs, or for one with --lockstep");
	return false;
}

const char *program_file(char **argv)
{
	return strchr(argv[0], '/') ? argv[0] : NULL;
}

void programs_add(struct text *text, const struct programs *programs)
{
	char **word;

	for (int i = 0; i < programs->count; i++) {
		word = programs->one[i].argv;
		text_add(text, i ? " + " : "");
		if (strcmp(programs->one[i].node, node_of(*word)) != 0) {
			text_add(text, "--node ");
			word_add(text, programs->one[i].node);
			text_add(text, " ");
		}
		word_add(text, *word);
		while (*++word) {
			text_add(text, " ");
			word_add(text, *word);
		}
	}
}
