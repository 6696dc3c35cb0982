/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ended.h - the tool is asked to end while programs run that it has started.
 *
 * SIGINT and SIGQUIT come from a terminal, which sends them to the programs as well: the tool
 * ignores them, waits for the programs and reports. SIGTERM and SIGHUP come to the tool alone
 * (timeout, a CI system): it passes them on, and kills programs that do not end within a grace
 * period, so that neither a program nor a fabric outlives the tool.
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
	sigset_t watched;      /* SIGCHLD, SIGTERM, SIGHUP: blocked, and waited for */
	sigset_t before;       /* signal mask before */
	struct sigaction of_int, of_quit;
};

void ended_watch(struct ended *ended);
void ended_unwatch(const struct ended *ended);
/* In a forked child, before exec. */
void ended_child(const struct ended *ended);
/*
 * Sleep until a child ends or the tool is asked to end, at most `ns`. Returns the signal to send to
 * all programs now, 0 for none: first the one that came, SIGKILL after the grace period.
 */
int ended_pause(struct ended *ended, long ns);
/* The exit code: that of the programs, unless the tool was asked to end and they report success. */
int ended_code(const struct ended *ended, int code);

#endif
