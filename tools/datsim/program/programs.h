/* SPDX-License-Identifier: BSD-3-Clause */
/* programs.h - several programs on one fabric: datsim run -- SERVER ARGS + CLIENT ARGS. */
#ifndef DATSIM_PROGRAMS_H
#define DATSIM_PROGRAMS_H

#include <signal.h>
#include <sys/types.h>

#include "tools/datsim/util.h"

struct programs {
	struct {
		char **argv;
		const char *node;
		pid_t pid; /* 0: not started, or ended */
		int code;
		bool stuck; /* it waited for ever, and was ended */
	} one[32];
	int count;
	int ready;            /* of those started, as far as they come by themselves */
	bool lockstep;        /* they take turns, in virtual time */
	sigset_t mask, child; /* the tool's signals before; that of a child's end */
	char fabric[32];
};

/* Split a command line at "+" (or "--and"). False: it makes no sense, which is said. */
bool programs_split(struct programs *programs, char **argv);
/* Run them to their ends; what to exit with: the first status that is not 0. */
int programs_run(struct programs *programs);
/* What became of each. */
void programs_report(const struct programs *programs, struct text *text);
/* What a shell would have as the exit status. */
int program_status(int status);
void program_report(const char *name, int code, struct text *text);

#endif
