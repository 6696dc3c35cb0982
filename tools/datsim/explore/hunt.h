/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hunt.h - the search for a schedule under which a program, or several in lockstep, fail.
 *
 * explore_program.c runs schedules until one fails, hunt_study.c looks at a run without faults
 * before that, hunt_report.c makes the schedule that failed short and prints it.
 */
#ifndef DATSIM_HUNT_H
#define DATSIM_HUNT_H

#include "campaign.h"
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
	bool broken;        /* a schedule could not be run, and why was printed */
	bool found;
	bool told;       /* the failure was made short and printed */
	uint64_t number; /* number of the failing schedule */
	uint64_t open;   /* of the first that has not ended, once the runs are over */
	struct outcome failure;
	size_t lines_before;   /* lines of the failing schedule, before it was shortened */
	struct text explained; /* what of it matters */

	struct campaign *campaign; /* NULL: it ends with the first failure */
	struct text ending;        /* of the failure (signature.h); empty without a campaign */
	struct text says;          /* the same for a person, with its last words */
	struct entry *entry;       /* to be put into the store when the report writes the script */
	bool repeats;              /* the failure, in each of the last runs */
	struct hunt_failure {
		uint64_t number;
		struct outcome outcome;
		struct text ending, says;
	} pending[RUNNERS_MAX]; /* failures that are not known */
	int pending_count;
};

/*
 * False: the lines are not a valid script, which happens while one is shortened; *error, if it is
 * not NULL, says what is wrong.
 */
bool hunt_compile(const struct hunt *hunt, const char *lines, size_t length, struct text *settings,
		  struct text *error);

/*
 * Run once without faults, and make the plan: the links in use, the time it takes. Returns the exit
 * code of the tool; not EXIT_PASS: there is nothing to explore, and why was printed.
 */
int hunt_study(struct hunt *hunt);

/* Make the schedule that failed short, print it and write it. Returns the exit code of the tool. */
int hunt_report(struct hunt *hunt);
/* Its parts: the lines of the failing schedule, shortened; the rest. */
void hunt_shorten(struct hunt *hunt, struct lines *lines);
int hunt_report_lines(struct hunt *hunt, const struct lines *lines);
/* hunt_explain.c: say what of the short schedule matters, in hunt->explained. */
void hunt_explain(struct hunt *hunt, struct lines *lines);
/* The time that a program which hangs gets when its failure is repeated. */
double hunt_shorter_hang(const struct hunt *hunt);
/* Does it fail as hunt->failure does, by these lines alone? */
bool hunt_fails_so(const struct lines *lines, void *ctx);
/* Add the command that replays the failure. */
void hunt_replay(const struct hunt *hunt, const char *path, struct text *line);
/* Print the end of what programs said on standard error. */
void hunt_show_errors(int fd);

/* ---- hunt_campaign.c ---- */

/* A run has ended: count it, or set it aside as a failure that is not known (hunt->found). */
void hunt_take(struct hunt *hunt, const struct runner *runner);
/* No run goes on: shorten and store the failures that were set aside. */
void hunt_settle(struct hunt *hunt);
/* Replay what the store has of these programs. */
void hunt_try_known(struct hunt *hunt);
/* Shorten what the store has of these programs as it was found, for merge. */
void hunt_shrink_store(struct hunt *hunt);
/* Write down how far it has come. */
void hunt_save(struct hunt *hunt, bool end);
/* The file of the failure: of the store, if there is a campaign with one. False: say why. */
bool hunt_write(struct hunt *hunt, const char *path, const struct text *lines);

#endif
