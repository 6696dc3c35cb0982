/* SPDX-License-Identifier: BSD-3-Clause */
/* programs.h - several programs on one fabric: datsim run -- SERVER ARGS + CLIENT ARGS. */
#ifndef DATSIM_PROGRAMS_H
#define DATSIM_PROGRAMS_H

#include <sys/types.h>

#include "account.h"
#include "ended.h"
#include "hang.h"
#include "tools/datsim/util.h"

#define FABRIC_NAME  32 /* of a run */
#define PROGRAM_NAME 21 /* a node's name as emu/shared/join.c cuts it, and a NUL */

struct programs {
	struct {
		char **argv;
		const char *node;
		char name[PROGRAM_NAME]; /* of the node, unlike that of any other program */
		pid_t pid;               /* 0: not running */
		int code;                /* exit status, as a shell reports it */
		bool by_signal;          /* of its own: the code is 128 and the signal */
		bool stuck;              /* it waited forever, and was ended */
		bool killed;             /* by a fault: that is no failure of its own */
		bool cut;                /* it ended when the time of the run was over */
		bool outside;            /* of lockstep: it did not join in time */
		uint64_t back_ns;        /* it starts again, at this virtual time; 0: no */
		char *faults; /* what is left to it of FAULTS_VARIABLE; NULL: all of it */
	} one[32];
	int count;
	int ready;           /* programs that have started up */
	int children;        /* in lockstep: processes of theirs when the last one had settled */
	bool over_verbs;     /* they use the passthrough, on the fabric's verbs devices */
	bool lockstep;       /* threads run one at a time, in virtual time */
	struct ended *ended; /* the caller watches */
	int fork_fd[32];     /* sockets to programs that fork their runs; 0: start it */
	pid_t kept[32];      /* those programs, or children that no run has made */
	double limit;        /* seconds of processor time, and a tenth of the real time; 0: none */
	double began;
	bool late;              /* they have reached the limit, and are killed */
	bool patient;           /* a signal that asks the tool to end does not kill them at once */
	struct hang_look *look; /* NULL: programs that go round are not looked for */
	char fabric[FABRIC_NAME];
};

/* Does this word stand between two programs? */
bool programs_is_separator(const char *word);
/* Split the line of a command of datsim at "+" (or "--and"). False: wrong, and stderr says why. */
bool programs_split(struct programs *programs, const char *command, char **argv);
/* False: a single program that is not in lockstep has --node, and stderr says so. */
bool program_has_no_node(const char *command, char **argv);
/* The file of a program; NULL: one that is found by PATH. */
const char *program_file(char **argv);
/* Add them as they are written on a command line, quoted for a shell. */
void programs_add(struct text *text, const struct programs *programs);
/*
 * The name of the fabric of a run by that process, which has not been waited for. It tells when the
 * process began: one that was killed leaves its fabric, and another may get its id.
 */
void programs_name_fabric(pid_t pid, char name[FABRIC_NAME]);
/* Run all programs to their end. Returns the first exit status that is not 0. */
int programs_run(struct programs *programs);
/* How each program ended. */
void programs_report(const struct programs *programs, struct text *text);
/* Did each of them open an adapter? If not, `faults` says which did not. */
bool programs_opened(const struct programs *programs, const struct account *account,
		     struct text *faults);

/*
 * The tool was asked to end, and its programs have ended: end what they have left. fabric: as for
 * orphans_ask.
 */
void programs_end_left(const struct programs *programs, const char *fabric);

/* Start a program, again perhaps. */
bool programs_start(struct programs *programs, int i);
/* Within a run: wait until program i, just started, is ready for the next one. */
void programs_settle(struct programs *programs, int i);
/* In lockstep: is every program on the fabric there and waits, or is there none? */
bool programs_all_wait(struct programs *programs);
/* Does a fault kill the program that has not done so yet? */
bool programs_is_killed(const struct programs *programs, int i);
/* One has: that is over. When is the program back? 0: never. */
uint64_t programs_back_at(struct programs *programs, int i);
/* Start again those that are to be back. */
void programs_restart(struct programs *programs);
/*
 * Sleep until a program ends, at most `ns`; pass on a signal that asks the tool to end. With a
 * limit, that signal and the end of the time kill all programs.
 */
void programs_pause(struct programs *programs, long ns);
/*
 * True while some killed programs are not reaped. The order in which they end is random and must
 * not show.
 */
bool programs_are_ending(const struct programs *programs);
/* Reap a program if it has ended. */
bool programs_has_ended(struct programs *programs, pid_t pid);
/* Has the limit been reached? */
bool programs_are_late(struct programs *programs);

#define EXIT_CANNOT_RUN 126 /* the codes that shells use */
#define EXIT_NO_PROGRAM 127

/* Become the program; if that fails, say why and exit with the code that a shell uses. */
void program_exec(char **argv) __attribute__((noreturn));
/* The exit status as a shell reports it. */
int program_status(int status);
void program_report(const char *name, int code, struct text *text);
/*
 * No object was made. opened: its process wrote the trace of a fabric, so it opened a device.
 * apart: it made a fabric of its own. code: how it ended.
 */
void program_tested_nothing(bool opened, bool apart, int code, struct text *text);

#endif
