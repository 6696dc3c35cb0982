/* SPDX-License-Identifier: BSD-3-Clause */
/* commands.h - the commands of datsim, each with its options, its help and what runs it. */
#ifndef DATSIM_COMMANDS_H
#define DATSIM_COMMANDS_H

#include "options.h"

extern const struct command command_test, command_show, command_run, command_sweep, command_replay,
	command_explore, command_shell, command_conformance, command_fabric, command_info,
	command_hwcheck, command_env, command_merge;

/* help.c: what the help says beside the options */
extern const char about_test[], details_test[], about_show[], details_show[], about_run[],
	details_run[], about_fabric[], about_replay[], about_explore[], about_shell[], about_info[],
	about_conformance[], details_conformance[], about_sweep[], about_hwcheck[], about_env[],
	details_hwcheck[], about_merge[];

/*
 * Say on stderr which variables of the environment libdat does not read, and which one was probably
 * meant: DATSIM_LATENCY for DATSIM_LATENCY_NS. A name that is near to none may be the user's own.
 */
void knob_names_check(const char *command);

#endif
