/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * commands.h - what datsim can be asked to do. Each takes its own arguments, argv[0] being the
 * command's name, and returns what the program exits with.
 */
#ifndef DATSIM_COMMANDS_H
#define DATSIM_COMMANDS_H

#include "util.h"

int command_test(int argc, char **argv);
int command_show(int argc, char **argv);
int command_info(int argc, char **argv);
int command_run(int argc, char **argv);
int command_replay(int argc, char **argv);
int command_explore(int argc, char **argv);
int command_shell(int argc, char **argv);
int command_conformance(int argc, char **argv);
int command_sweep(int argc, char **argv);
int command_fabric(int argc, char **argv);

/* help.c */
extern const char help_datsim[], help_test[], help_show[], help_info[], help_shell[], help_run[],
	help_replay[], help_explore[], help_conformance[], help_sweep[], help_fabric[];

/* Say on stderr what is wrong with the command line; always EXIT_USAGE. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
