/* SPDX-License-Identifier: BSD-3-Clause */
/* The help of a command, from the table of its options: synopsis, text, options, further text. */
#include "options.h"

#include <stdio.h>
#include <string.h>

#define WIDTH        98 /* columns */
#define OPTION_WIDTH 20 /* a longer name with its operand has a line of its own */

/* Where the next word goes. */
struct column {
	int at, indent;
};

static void column_newline(struct column *column)
{
	printf("\n%*s", column->indent, "");
	column->at = column->indent;
}

/* A word that stays whole, with a blank before it, or on the next line. */
static void column_word(struct column *column, const char *word, int length)
{
	if (column->at > column->indent && column->at + 1 + length > WIDTH)
		column_newline(column);
	if (column->at != column->indent) {
		putchar(' ');
		column->at++;
	}
	printf("%.*s", length, word);
	column->at += length;
}

static void print_wrapped(const char *s, int indent)
{
	struct column column = { indent, indent };
	int n;

	while (*s) {
		n = (int)strcspn(s, " \n");
		column_word(&column, s, n);
		s += n;
		/* Blanks after a newline are part of the text: an example is indented. */
		while (*s == '\n') {
			column_newline(&column);
			n = (int)strspn(++s, " ");
			printf("%.*s", n, s);
			s += n;
		}
		s += strspn(s, " ");
	}
	puts("");
}

static void add_option(struct text *text, const struct option *option)
{
	text_add(text, "%s%s%s", option->name, option->operand ? " " : "",
		 option->operand ? option->operand : "");
}

static void print_synopsis(const struct command *command)
{
	const struct option *option;
	struct column column = { .at = printf("datsim %s", command->name) };
	struct text text = { 0 };

	column.indent = column.at + 1;
	for (option = command->options; option && option->name; option++) {
		text.length = 0;
		text_add(&text, option->required ? "" : "[");
		add_option(&text, option);
		text_add(&text, option->required ? "" : option->repeats ? "]..." : "]");
		column_word(&column, text_of(&text), (int)text.length);
	}
	if (command->operands)
		column_word(&column, command->operands, (int)strlen(command->operands));
	puts("");
	text_free(&text);
}

static void print_option(const struct option *option)
{
	struct text text = { 0 };

	add_option(&text, option);
	if (text.length > OPTION_WIDTH)
		printf("  %s\n  %*s  ", text_of(&text), OPTION_WIDTH, "");
	else
		printf("  %-*s  ", OPTION_WIDTH, text_of(&text));
	print_wrapped(option->help, OPTION_WIDTH + 4);
	text_free(&text);
}

void help_print(const struct command *command)
{
	const struct option *option = command->options;

	print_synopsis(command);
	printf("\n%s", command->about);
	if (option)
		puts("");
	for (; option && option->name; option++)
		print_option(option);
	if (command->details)
		printf("\n%s", command->details);
}
