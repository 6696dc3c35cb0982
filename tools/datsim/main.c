/* SPDX-License-Identifier: BSD-3-Clause */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "tools/datsim/script/diag.h"
#include "files.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* NULL: not built yet */
} commands[] = {
	{ "test", command_test },
	{ "show", command_show },
	{ "info", command_info },
	{ "run", command_run },
	{ "explore", command_explore },
	{ "sweep", command_sweep },
	{ "replay", command_replay },
	{ "shell", command_shell },
	{ "conformance", command_conformance },
	{ "fabric", command_fabric },
};

int usage_error(const char *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "datsim%s%s: ", command ? " " : "", command ? command : "");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\ntry `datsim%s%s --help`\n", command ? " " : "", command ? command : "");
	return EXIT_USAGE;
}

static int unknown_command(const char *name)
{
	struct suggest suggest;
	struct text text = { 0 };
	struct diag diag = { 0 };
	size_t i;

	suggest_start(&suggest, name, (int)strlen(name));
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		suggest_try(&suggest, commands[i].name);
	diag_suggest(&diag, &suggest);
	text_printable(&text, name, strlen(name));
	fprintf(stderr, "datsim: unknown command \"%s\"\n%s", text_of(&text), text_of(&diag.text));
	text_free(&text);
	text_free(&diag.text);
	return usage_error(NULL, "expected a command");
}

static int run(int argc, char **argv)
{
	size_t i;

	if (argc < 2)
		return usage_error(NULL, "expected a command");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		fputs(help_datsim, stdout);
		return EXIT_PASS;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("datsim " PACKAGE_VERSION);
		return EXIT_PASS;
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		if (!commands[i].run)
			return usage_error(NULL, "\"%s\" is not built yet", argv[1]);
		return commands[i].run(argc - 1, argv + 1);
	}
	return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
	int code;

	keep_standard_streams();
	code = run(argc, argv);
	return finish_stdout() || code ? code : EXIT_USAGE;
}
