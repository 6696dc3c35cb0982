/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * program_script.h - a script of faults for a program that `datsim run` starts.
 *
 * It has "fabric", "fault" and "turn" lines only. They name adapters instead of actors, and
 * Endpoints by the numbers that the trace shows:
 *
 *	fabric latency=5us
 *	fault link emu0>emu1 drop opcode=SEND nth=3
 *	fault qp emu1.ep2 rnr times=2
 *
 * For several programs in lockstep it names nodes: fault link server>client drop.
 *
 * The script is compiled into settings that libdat reads from the environment when it makes a
 * fabric (DATSIM_FAULTS; host/fault_text.h explains its words). A caller that starts many programs
 * compiles once:
 *
 *	struct program_script ps;
 *	if (program_script_load(&ps, name, text, length, false, &error))
 *		program_script_tell(&ps);	... then fork and exec
 *	program_script_free(&ps);
 *
 * A runner (runner.h) sends the same settings to the children that it forks from a running program.
 */
#ifndef DATSIM_PROGRAM_SCRIPT_H
#define DATSIM_PROGRAM_SCRIPT_H

#include "account.h"
#include "tools/datsim/script/script.h"

#define FAULTS_VARIABLE "DATSIM_FAULTS"
#define TURNS_VARIABLE  "DATSIM_TURNS"

struct program_script {
	struct script script;
	DAT_SIM_CONFIG usual; /* settings of the environment without the script */
	struct text faults;   /* value of FAULTS_VARIABLE; empty: no faults */
	struct text turns;    /* value of TURNS_VARIABLE; empty: the seed alone chooses */
};

/*
 * Read and compile. `name` and `text` stay the caller's and must outlive it. False: the script or
 * the environment is wrong, and *error says why; free it nevertheless.
 */
bool program_script_load(struct program_script *ps, const char *name, const char *text,
			 size_t length, bool several, struct text *error);
void program_script_free(struct program_script *ps);

/*
 * Ruling E11: the script of --script or, if that is NULL, of DATSIM_SCRIPT, in `name`. The variable
 * is removed from the environment, because the library of a program reads no script.
 */
const char *program_script_named(const char *option, struct text *name);

/* Put the faults and changed fabric settings into the environment of this process. */
void program_script_tell(const struct program_script *ps);

/*
 * The same as lines NAME=value, to send to another process; settings_set puts them into its
 * environment.
 */
void program_script_settings(const struct program_script *ps, struct text *lines);
void settings_set(const char *lines);

/* The words of one bound fault line of a script for a program, followed by "; ". */
void program_fault_words(const struct script *script, const struct statement *st,
			 struct text *words);

/*
 * One line for each fault: how often it acted by the account of the trace (NULL: no trace). False:
 * a fault that is not optional never acted.
 */
bool program_script_report(const struct program_script *ps, const struct account *account,
			   struct text *text);

#endif
