/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim: finds the command that argv[1] names, and runs it or prints its help. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "files.h"
#include "program/origin.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

static const struct command *const commands[] = {
	&command_test,    &command_show,    &command_run,   &command_sweep,       &command_replay,
	&command_explore, &command_merge,   &command_shell, &command_conformance, &command_fabric,
	&command_info,    &command_hwcheck, &command_env,
};

static void print_commands(void)
{
	size_t i;

	puts("datsim - drive, test and watch uDAPL on a simulated fabric\n");
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		printf("  datsim %-15s %s\n", commands[i]->name, commands[i]->summary);
	puts("  datsim help [COMMAND]  this list, or the help of a command; --help does the same\n"
	     "  datsim --version\n"
	     "\n"
	     "Exit status: 0 pass, 1 an expectation failed, 2 a bad script, command line or file,\n"
	     "3 a checker that is always on found a fault, 4 the fabric did not become quiet,\n"
	     "77 not supported by this backend, 99 internal error.");
}

static int unknown_command(const char *name)
{
	const char *names[ARRAY_SIZE(commands) + 4] = { "help" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		names[i + 1] = commands[i]->name;
	if (*name != '-')
		return usage_unknown(NULL, "command", name, names);
	names[++i] = "--help";
	names[++i] = "--version";
	return usage_unknown(NULL, "option", name, names);
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	}
	return NULL;
}

/* datsim help [COMMAND] */
static int datsim_help(char **argv)
{
	const char *name = argv[2];
	const struct command *command = name ? find_command(name) : NULL;

	if (name && argv[3])
		return usage_error(NULL, "help takes one command, got '%s' as well", argv[3]);
	if (name && !command && strcmp(name, "help") != 0)
		return unknown_command(name);
	if (command)
		help_print(command);
	else
		print_commands();
	return EXIT_PASS;
}

/* Scripts and schedules are judged by whole traces. */
static void keep_whole_traces(const struct command *command)
{
	static const struct command *const judges[] = {
		&command_test,  &command_sweep, &command_explore,
		&command_merge, &command_shell, &command_conformance,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(judges); i++) {
		if (command == judges[i])
			trace_last_leave_out(command->name, NULL);
	}
}

static int datsim_run(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2)
		return usage_error(NULL, "expected a command");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return datsim_help(argv);
	if (!strcmp(argv[1], "--version")) {
		puts("datsim " PACKAGE_VERSION);
		return EXIT_PASS;
	}
	if (usage_with_value(NULL, argv[1], "--help") ||
	    usage_with_value(NULL, argv[1], "--version"))
		return EXIT_USAGE;
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	keep_whole_traces(command);
	knob_names_check(command->name);
	return command->run(argv + 1);
}

int main(int argc, char **argv)
{
	int code;

	keep_standard_streams();
	code = datsim_run(argc, argv);
	return finish_stdout() || code ? code : EXIT_USAGE;
}
