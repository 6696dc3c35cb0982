/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that ask the tool to end while programs run: ended.h. */
#include "ended.h"

#include <stddef.h>

#include "tools/datsim/commands.h"

#define GRACE_S           2
#define EXIT_SIGNAL_ABOVE 128

/* As after nohup(1). */
static bool is_ignored(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) && now.sa_handler == SIG_IGN;
}

void ended_watch(struct ended *ended)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	*ended = (struct ended){ .by = 0 };
	sigaction(SIGINT, &ignore, &ended->of_int);
	sigaction(SIGQUIT, &ignore, &ended->of_quit);
	sigemptyset(&ended->watched);
	sigaddset(&ended->watched, SIGCHLD);
	if (!is_ignored(SIGTERM))
		sigaddset(&ended->watched, SIGTERM);
	if (!is_ignored(SIGHUP))
		sigaddset(&ended->watched, SIGHUP);
	sigprocmask(SIG_BLOCK, &ended->watched, &ended->before);
}

void ended_unwatch(const struct ended *ended)
{
	const struct timespec now = { 0 };

	/* One that was passed on, and came again, has nothing left to end. */
	while (ended->by && sigtimedwait(&ended->watched, NULL, &now) > 0)
		;
	ended_child(ended);
}

void ended_child(const struct ended *ended)
{
	sigaction(SIGINT, &ended->of_int, NULL);
	sigaction(SIGQUIT, &ended->of_quit, NULL);
	sigprocmask(SIG_SETMASK, &ended->before, NULL);
}

static bool grace_is_over(const struct ended *ended)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > ended->until.tv_sec ||
	       (now.tv_sec == ended->until.tv_sec && now.tv_nsec >= ended->until.tv_nsec);
}

int ended_pause(struct ended *ended, long ns)
{
	const struct timespec pause = { .tv_nsec = ns };
	int sig = sigtimedwait(&ended->watched, NULL, &pause);

	if (!ended->by && (sig == SIGTERM || sig == SIGHUP)) {
		ended->by = sig;
		clock_gettime(CLOCK_MONOTONIC, &ended->until);
		ended->until.tv_sec += GRACE_S;
		return sig;
	}
	if (ended->by && !ended->killed && grace_is_over(ended)) {
		ended->killed = true;
		return SIGKILL;
	}
	return 0;
}

int ended_code(const struct ended *ended, int code)
{
	return ended->by && code == EXIT_PASS ? EXIT_SIGNAL_ABOVE + ended->by : code;
}
