/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that ask the tool to end while programs run: ended.h. */
#include "ended.h"

#include <stddef.h>

#include "tools/datsim/commands.h"

#define GRACE_S           2
#define LOOK_NS           20000000 /* between two looks */
#define EXIT_SIGNAL_ABOVE 128

/* As after nohup(1). */
static bool is_ignored(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) && now.sa_handler == SIG_IGN;
}

static void watch_signal(struct ended *ended, int sig)
{
	if (!is_ignored(sig))
		sigaddset(&ended->watched, sig);
}

static void begin_watch(struct ended *ended)
{
	sigemptyset(&ended->watched);
	sigaddset(&ended->watched, SIGCHLD);
	watch_signal(ended, SIGTERM);
	watch_signal(ended, SIGHUP);
	watch_signal(ended, SIGINT);
	if (ended->alone) {
		watch_signal(ended, SIGQUIT);
		watch_signal(ended, SIGPIPE);
	}
	sigprocmask(SIG_BLOCK, &ended->watched, &ended->before);
}

void ended_watch(struct ended *ended)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	*ended = (struct ended){ .by = 0 };
	sigaction(SIGQUIT, &ignore, &ended->of_quit);
	sigaction(SIGXFSZ, &ignore, &ended->of_size);
	begin_watch(ended);
}

void ended_watch_alone(struct ended *ended)
{
	*ended = (struct ended){ .alone = true };
	sigaction(SIGQUIT, NULL, &ended->of_quit);
	sigaction(SIGXFSZ, NULL, &ended->of_size);
	begin_watch(ended);
}

void ended_child(const struct ended *ended)
{
	sigaction(SIGQUIT, &ended->of_quit, NULL);
	sigaction(SIGXFSZ, &ended->of_size, NULL);
	sigprocmask(SIG_SETMASK, &ended->before, NULL);
}

static bool grace_is_over(const struct ended *ended)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > ended->until.tv_sec ||
	       (now.tv_sec == ended->until.tv_sec && now.tv_nsec >= ended->until.tv_nsec);
}

/*
 * True if the signal asks the tool to end: it is the first that does, and no SIGINT by which a
 * terminal has asked the programs, too.
 */
static bool note_signal(struct ended *ended, int sig, const siginfo_t *info)
{
	if (ended->by || sig <= 0 || sig == SIGCHLD ||
	    (!ended->alone && sig == SIGINT && info->si_code == SI_KERNEL))
		return false;
	ended->by = sig;
	clock_gettime(CLOCK_MONOTONIC, &ended->until);
	ended->until.tv_sec += GRACE_S;
	return true;
}

/* Sleep until a signal comes, at most `ns`. Returns it, or -1. */
static int sleep_and_look(struct ended *ended, long ns, siginfo_t *info)
{
	struct timespec pause = { .tv_nsec = ns };
	int sig;

	if (!ended->look)
		return sigtimedwait(&ended->watched, info, &pause);
	for (; ns > 0; ns -= pause.tv_nsec) {
		pause.tv_nsec = ns < LOOK_NS ? ns : LOOK_NS;
		sig = sigtimedwait(&ended->watched, info, &pause);
		ended->look(ended->look_arg);
		if (sig > 0)
			return sig;
	}
	return -1;
}

int ended_pause(struct ended *ended, long ns)
{
	siginfo_t info;
	int sig = sleep_and_look(ended, ns, &info);

	/* SIGPIPE tells of the tool's own output: its programs are only asked to end. */
	if (note_signal(ended, sig, &info))
		return sig == SIGPIPE ? SIGTERM : sig;
	if (ended->by && !ended->killed && grace_is_over(ended)) {
		ended->killed = true;
		return SIGKILL;
	}
	return 0;
}

bool ended_asked(struct ended *ended)
{
	const struct timespec now = { 0 };
	siginfo_t info;
	int sig;

	while ((sig = sigtimedwait(&ended->watched, &info, &now)) > 0)
		note_signal(ended, sig, &info);
	return ended->by != 0;
}

void ended_unwatch(struct ended *ended)
{
	ended_asked(ended); /* what has come by now ends the tool by its exit code */
	ended_child(ended);
}

int ended_code(const struct ended *ended, int code)
{
	return ended->by && code == EXIT_PASS ? EXIT_SIGNAL_ABOVE + ended->by : code;
}
