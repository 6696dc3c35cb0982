/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ended.h - the tool is asked to end while it has processes and files that must not outlive it.
 *
 * SIGTERM, SIGHUP and SIGINT ask for it. They usually come to the tool alone (timeout, a CI system,
 * kill): it passes them on to its programs, and kills programs that do not end within a grace
 * period, so that neither a program nor a fabric outlives the tool. A SIGINT or SIGQUIT of a
 * terminal has come to the programs as well: the tool waits for them and reports.
 *
 * From ended_watch to ended_unwatch no such signal ends the tool by itself, so files that are made
 * and removed in between do not stay. Neither does SIGXFSZ: the write fails then.
 *
 *	ended_watch(&ended);
 *	pid = fork();			in the child: ended_child(&ended), then exec
 *	while (waitpid(pid, &status, WNOHANG) == 0) {
 *		sig = ended_pause(&ended, LOOK_NS);
 *		if (sig)
 *			kill(pid, sig);
 *	}
 *	ended_unwatch(&ended);
 */
#ifndef DATSIM_ENDED_H
#define DATSIM_ENDED_H

#include <signal.h>
#include <stdbool.h>
#include <time.h>

struct ended {
	int by;                /* the signal that asked the tool to end; 0: none did */
	bool killed;           /* the grace period is over */
	struct timespec until; /* the end of it */
	bool alone;            /* a terminal asks the tool, too, not its programs */
	sigset_t watched;      /* SIGCHLD and what asks to end: blocked, and waited for */
	sigset_t before;       /* signal mask before */
	struct sigaction of_quit, of_size; /* of SIGQUIT and SIGXFSZ before */
	void (*look)(void *arg);           /* called now and then while it sleeps; NULL: not */
	void *look_arg;
};

void ended_watch(struct ended *ended);
/*
 * The same for programs in process groups of their own, which a terminal does not reach. SIGPIPE
 * asks for it, too: the reader of the tool's output has gone.
 */
void ended_watch_alone(struct ended *ended);
void ended_unwatch(struct ended *ended);
/* In a forked child, before exec. */
void ended_child(const struct ended *ended);
/*
 * Sleep until a child ends or the tool is asked to end, at most `ns`. Returns the signal to send to
 * all programs now, 0 for none: first the one that came, SIGKILL after the grace period.
 */
int ended_pause(struct ended *ended, long ns);
/* Has the tool been asked to end by now? Does not sleep. */
bool ended_asked(struct ended *ended);
/* The exit code: that of the programs, unless the tool was asked to end and they report success. */
int ended_code(const struct ended *ended, int code);

#endif
