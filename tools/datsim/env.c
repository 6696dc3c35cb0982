/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim env: the lines for a shell that make verbs programs run on the simulated fabric. */
#include <stdio.h>

#include "commands.h"
#include "program/verbs_path.h"
#include "util.h"

static int run_command(char **argv)
{
	struct operands none;
	int code = EXIT_PASS;

	if (!options_read(&command_env, argv, NULL, &none))
		return none.code;
	if (!verbs_path_print()) {
		fputs("datsim env: the library for verbs programs is not installed: configure "
		      "--enable-verbs\n",
		      stderr);
		code = EXIT_UNSUPPORTED;
	}
	return code;
}

const struct command command_env = {
	.name = "env",
	.summary = "print what lets verbs programs use the fabric",
	.about = about_env,
	.run = run_command,
};
