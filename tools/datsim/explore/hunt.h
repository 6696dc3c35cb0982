/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hunt.h - the search for a schedule under which a program, or several in lockstep, fail.
 *
 * explore_program.c runs schedules until one fails, hunt_study.c looks at a run without faults
 * before that, hunt_report.c makes the schedule that failed short and prints it.
 */
#ifndef DATSIM_HUNT_H
#define DATSIM_HUNT_H

#include "explore.h"
#include "tools/datsim/program/runner.h"

struct hunt {
	struct course *course;
	char **argv;                    /* of the only program */
	const struct programs *several; /* NULL: there is only one */
	struct text title;              /* "server + client" */
	struct plan plan;
	struct runners runners;
	struct schedule schedule;
	struct ended ended;
	bool planted;       /* some schedule had a fault, or an order of turns */
	double usual;       /* seconds that a run without faults takes */
	uint64_t preempted; /* runs in which a thread lost its turn */
	bool found;
	uint64_t number; /* number of the failing schedule */
	struct outcome failure;
};

/* False: the lines are not a valid script, which happens while one is shortened. */
bool hunt_compile(const struct hunt *hunt, const char *lines, size_t length, struct text *settings);

/*
 * Run once without faults, and make the plan: the links in use, the time it takes. Returns the exit
 * code of the tool; not EXIT_PASS: there is nothing to explore, and why was printed.
 */
int hunt_study(struct hunt *hunt);

/* Make the schedule that failed short, print it and write it. Returns the exit code of the tool. */
int hunt_report(struct hunt *hunt);
/* Print the end of what programs said on standard error. */
void hunt_show_errors(int fd);

#endif
