/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one parser for the options of all commands, and the messages about wrong command lines: an
 * option that does not exist, with the nearest one that does, and a value that will not do, with
 * what the option wants.
 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/script/diag.h"

#define LIST_WIDTH 78

/* ---- messages ---- */

static void usage_begin(const char *command)
{
	fprintf(stderr, "datsim%s%s: ", command ? " " : "", command ? command : "");
}

static int usage_end(const char *command)
{
	fprintf(stderr, "\ntry `datsim%s%s --help`\n", command ? " " : "", command ? command : "");
	return EXIT_USAGE;
}

int usage_error(const char *command, const char *format, ...)
{
	va_list args;

	usage_begin(command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	return usage_end(command);
}

/* Dashes are no part of the comparison: a short option is not like every other short one. */
static size_t dashes_of(const char *name)
{
	return strspn(name, "-");
}

/* On lines of their own. */
static void list_names(const char *const *names)
{
	size_t column = LIST_WIDTH;

	for (; *names; names++) {
		if (column + strlen(*names) + 2 > LIST_WIDTH) {
			fputs(column == LIST_WIDTH ? "\nthere are" : "\n  ", stderr);
			column = strlen("there are");
		}
		fprintf(stderr, " %s%s", *names, names[1] ? "," : "");
		column += strlen(*names) + 2;
	}
}

int usage_unknown(const char *command, const char *what, const char *word, const char *const *names)
{
	const char *nearest = NULL, *bare = word + dashes_of(word);
	const char *const *all = names;
	struct suggest suggest;
	struct text text = { 0 };

	suggest_start(&suggest, bare, (int)strlen(bare));
	for (; *names; names++) {
		suggest_try(&suggest, *names + dashes_of(*names));
		if (!strcmp(suggest.best, *names + dashes_of(*names)))
			nearest = *names;
	}
	text_printable(&text, word, strlen(word));
	usage_begin(command);
	fprintf(stderr, "unknown %s %s", what, text_of(&text));
	if (suggest_is_near(&suggest))
		fprintf(stderr, "; did you mean %s?", nearest);
	else
		list_names(all);
	text_free(&text);
	return usage_end(command);
}

static int unknown_option(const struct command *command, const char *word)
{
	const char *names[OPTIONS_MAX + 2] = { "--help" };
	size_t count = 1, length = strcspn(word, "=");
	const struct option *option;
	struct text name = { 0 };
	int code;

	if (!strcmp(word, "--node") && command->operands && strstr(command->operands, "PROGRAM"))
		return usage_error(command->name,
				   "--node is for one program, behind -- or +: datsim %s -- --node "
				   "NAME PROGRAM ...",
				   command->name);
	for (option = command->options; option && option->name; option++)
		names[count++] = option->name;
	text_append(&name, word, length);
	code = usage_unknown(command->name, "option", text_of(&name), names);
	text_free(&name);
	return code;
}

static void add_choices(struct text *text, const char *const *choices)
{
	size_t i;

	for (i = 0; choices[i]; i++)
		text_add(text, "%s%s", i == 0 ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
}

static void add_wanted(struct text *text, const struct option *option)
{
	if (option->kind == OPTION_FLAG)
		text_add(text, "no value");
	else if (option->kind == OPTION_NUMBER)
		text_add(text, "a whole number from %llu to %llu",
			 (unsigned long long)option->least,
			 (unsigned long long)(option->most ? option->most : UINT64_MAX));
	else if (option->kind == OPTION_CHOICE)
		add_choices(text, option->choices);
	else
		text_add(text, "%s", option->wants);
}

/* value NULL: there is none */
static int bad_value(const char *command, const struct option *option, const char *value)
{
	struct text wanted = { 0 }, got = { 0 };
	int code;

	add_wanted(&wanted, option);
	if (value)
		text_printable(&got, value, strlen(value));
	code = usage_error(command, "%s wants %s, got %s%s%s", option->name, text_of(&wanted),
			   value ? "'" : "", value ? text_of(&got) : "nothing", value ? "'" : "");
	text_free(&wanted);
	text_free(&got);
	return code;
}

/* ---- values ---- */

static bool take_number(const struct option *option, void *member, const char *value)
{
	unsigned long long number;
	uint64_t whole;
	uint32_t half;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || errno || number < option->least ||
	    number > (option->most ? option->most : UINT64_MAX))
		return false;
	whole = number;
	half = (uint32_t)number;
	if (option->size == sizeof(half))
		memcpy(member, &half, sizeof(half));
	else
		memcpy(member, &whole, sizeof(whole));
	return true;
}

static bool take_choice(const struct option *option, int *member, const char *value)
{
	int i;

	for (i = 0; option->choices[i]; i++) {
		if (!strcmp(option->choices[i], value)) {
			*member = i;
			return true;
		}
	}
	return false;
}

/* value NULL: there is none */
static bool take_value(const struct option *option, void *member, const char *value)
{
	if (option->kind == OPTION_FLAG) {
		*(bool *)member = !value;
		return !value;
	}
	if (!value)
		return false;
	switch (option->kind) {
	case OPTION_NUMBER:
		return take_number(option, member, value);
	case OPTION_CHOICE:
		return take_choice(option, member, value);
	case OPTION_OWN:
		return option->take(member, value);
	default:
		*(const char **)member = value;
		return *value;
	}
}

bool file_take(void *member, const char *value)
{
	*(const char **)member = value;
	return *value && strcmp(value, "-") != 0;
}

/* ---- a command line ---- */

bool option_is(const char *word, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(word, name, n) != 0)
		return false;
	/* -j4 */
	return !word[n] || word[n] == '=' || n == 2;
}

bool usage_with_value(const char *command, const char *word, const char *name)
{
	const struct option flag = { .name = name, .kind = OPTION_FLAG };
	size_t n = strlen(name);

	if (strncmp(word, name, n) != 0 || word[n] != '=')
		return false;
	bad_value(command, &flag, word + n + 1);
	return true;
}

static const struct option *find_option(const struct command *command, const char *word)
{
	const struct option *option;

	for (option = command->options; option && option->name; option++) {
		if (option_is(word, option->name))
			return option;
	}
	return NULL;
}

/* The value in the same word as the name, as in --name=VALUE; NULL: there is none. */
static const char *value_within(const struct option *option, const char *word)
{
	word += strlen(option->name);
	return !*word ? NULL : option->name[1] == '-' ? word + 1 : word;
}

/* The words that it takes; 0: operands->code says why not. */
static int read_option(const struct command *command, char **word, char *into,
		       struct operands *operands)
{
	const struct option *option = find_option(command, *word);
	const char *value;
	bool next;

	if (!option) {
		operands->code = unknown_option(command, *word);
		return 0;
	}
	value = value_within(option, *word);
	next = !value && option->kind != OPTION_FLAG;
	if (next)
		value = word[1];
	if (!take_value(option, into + option->offset, value)) {
		operands->code = bad_value(command->name, option, value);
		return 0;
	}
	operands->given[option - command->options] = true;
	return next ? 2 : 1;
}

static bool have_required(const struct command *command, struct operands *operands)
{
	const struct option *option;
	struct text wanted = { 0 };

	for (option = command->options; option && option->name; option++) {
		if (!option->required || operands->given[option - command->options])
			continue;
		add_wanted(&wanted, option);
		operands->code = usage_error(command->name, "expected %s with %s", option->name,
					     text_of(&wanted));
		text_free(&wanted);
		return false;
	}
	return true;
}

/* Does a program follow operands of another kind, and only behind "--"? */
static bool has_program_last(const struct command *command)
{
	return command->operands && strstr(command->operands, "[-- PROGRAM") != NULL;
}

/* Options may stand behind files, but those behind a program are the program's. */
static bool may_follow(const struct command *command)
{
	return command->operands &&
	       (has_program_last(command) || !strstr(command->operands, "PROGRAM"));
}

/* Moves an option of n words in front of the operands before it, so that argv keeps its words. */
static void move_forward(char **word, int n, int operands)
{
	for (int i = 0; i < n; i++, word++) {
		char *moved = *word;

		memmove(word - operands + 1, word - operands, (size_t)operands * sizeof(*word));
		*(word - operands) = moved;
	}
}

bool options_read(const struct command *command, char **argv, void *into, struct operands *operands)
{
	char **word = argv + 1;
	int n;

	*operands = (struct operands){ .code = EXIT_USAGE };
	for (; *word; word += n) {
		n = 1;
		if (**word != '-' || !(*word)[1]) {
			if (!may_follow(command))
				break;
			operands->count++;
			continue;
		}
		if (!strcmp(*word, "--")) {
			if (operands->count && has_program_last(command))
				break;
			operands->after_dashes = !operands->count;
			move_forward(word++, 1, operands->count);
			break;
		}
		if (!strcmp(*word, "--help") || !strcmp(*word, "-h")) {
			help_print(command);
			operands->code = EXIT_PASS;
			return false;
		}
		if (usage_with_value(command->name, *word, "--help"))
			return false;
		n = read_option(command, word, into, operands);
		if (!n)
			return false;
		move_forward(word, n, operands->count);
	}
	operands->word = word - operands->count;
	for (; *word; word++)
		operands->count++;
	if (!command->operands && operands->count) {
		usage_error(command->name, "expected no arguments, got '%s'", operands->word[0]);
		return false;
	}
	return have_required(command, operands);
}

bool option_given(const struct command *command, const struct operands *operands, const char *name)
{
	size_t i;

	for (i = 0; command->options[i].name; i++) {
		if (!strcmp(command->options[i].name, name))
			return operands->given[i];
	}
	return false;
}
