/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * program_script.h - a script of faults for a program that runs by itself.
 *
 * Such a script has "fabric" and "fault" lines only; in place of actors it has adapters, and Endpoints
 * by the numbers that the trace shows:
 *
 *	fabric latency=5us
 *	fault link emu0>emu1 drop opcode=SEND nth=3
 *	fault qp emu1.ep2 rnr times=2
 *
 * It is compiled into words that libdat reads from the environment when the fabric begins (DATSIM_FAULTS;
 * what a word means is in lib/fault_text.h), so a program needs nothing but the environment, and whoever
 * starts many of them compiles once:
 *
 *	struct program_script ps;
 *	if (program_script_load(&ps, name, text, length, false, &error))
 *		program_script_tell(&ps);	... then fork and exec
 *	program_script_free(&ps);
 *
 * For several programs, in lockstep, there are nodes in place of adapters: fault link server>client drop.
 *
 * Who forks a program that was started already hands the same settings to the child (runner.h).
 */
#ifndef DATSIM_PROGRAM_SCRIPT_H
#define DATSIM_PROGRAM_SCRIPT_H

#include "account.h"
#include "tools/datsim/script/script.h"

#define FAULTS_VARIABLE "DATSIM_FAULTS"

struct program_script {
	struct script script;
	DAT_SIM_CONFIG usual; /* as the environment is without the script */
	struct text faults;   /* for FAULTS_VARIABLE; empty: the script has none */
};

/*
 * Read and compile. `name` and `text` stay the caller's and must outlive it. False: the script (or the
 * environment) is bad, and *error says why; free it all the same.
 */
bool program_script_load(struct program_script *ps, const char *name, const char *text,
			 size_t length, bool several, struct text *error);
void program_script_free(struct program_script *ps);

/* Into this process's environment: the rules, and what its fabric lines change. */
void program_script_tell(const struct program_script *ps);

/* The same as lines NAME=value, for the environment of another process, and how they get into it. */
void program_script_settings(const struct program_script *ps, struct text *lines);
void settings_set(const char *lines);

/* The words of one bound fault line of a script for a program, "; " behind. */
void program_fault_words(const struct script *script, const struct statement *st,
			 struct text *words);

/*
 * One line of each fault: how often it happened, as the account of the trace has it (NULL: there was no
 * trace). False: one that is not optional never did.
 */
bool program_script_report(const struct program_script *ps, const struct account *account,
			   struct text *text);

#endif
