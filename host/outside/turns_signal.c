/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_signal.c - waiting for signals, and for files' locks, of a program in lockstep. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include "turns.h"

/* ---- signals ---- */

/* Take one of the set if it is pending, until the time is over. *real: block as usual. */
static int take_signal(const sigset_t *set, siginfo_t *info, uint64_t ns, bool *real)
{
	uint64_t end = ns == OUTSIDE_NEVER ? ns : turns_now() + turns_later(ns), t = 0;
	const struct timespec none = { 0 };
	bool waited = false;
	siginfo_t room;
	int sig;

	*real = false;
	if (!info)
		info = &room;
	while ((sig = REAL(sigtimedwait)(set, info, &none)) < 0 && errno == EAGAIN) {
		if (waited && turns_interrupted(false))
			return -1;
		t = end == OUTSIDE_NEVER ? 0 : turns_now();
		if (t >= end) {
			if (!waited)
				turns_found_nothing();
			errno = EAGAIN;
			return -1;
		}
		waited = true;
		pthread_testcancel();
		*real = !turns_wait_fd(turns_left(end, t));
		if (*real)
			return -1;
	}
	turns_siginfo_shown(info);
	return sig;
}

int turns_sigwaitinfo(const sigset_t *set, siginfo_t *info) __asm__("sigwaitinfo");
int turns_sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	bool real = !PROGRAM;
	int sig = real ? 0 : take_signal(set, info, OUTSIDE_NEVER, &real);

	return real ? REAL(sigwaitinfo)(set, info) : sig;
}

int turns_sigtimedwait(const sigset_t *set, siginfo_t *info,
		       const struct timespec *timeout) __asm__("sigtimedwait");
int turns_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	uint64_t ns = OUTSIDE_NEVER;
	bool real = !PROGRAM;
	int sig = 0;

	real |= timeout && !turns_is_valid(timeout);
	if (timeout)
		ns = turns_ns(timeout);
	if (!real)
		sig = take_signal(set, info, ns, &real);
	return real ? REAL(sigtimedwait)(set, info, timeout) : sig;
}

int turns_sigwait(const sigset_t *set, int *sig) __asm__("sigwait");
int turns_sigwait(const sigset_t *set, int *sig)
{
	bool real = !PROGRAM;
	int got = 0;

	if (!real)
		do
			got = take_signal(set, NULL, OUTSIDE_NEVER, &real);
		while (!real && got < 0 && errno == EINTR);
	if (real)
		return REAL(sigwait)(set, sig);
	if (got < 0)
		return errno;
	*sig = got;
	return 0;
}

static bool is_pending_without(const sigset_t *mask)
{
	sigset_t pending;

	if (sigpending(&pending))
		return true;
	for (int sig = 1; sig < _NSIG; sig++)
		if (sigismember(&pending, sig) == 1 && sigismember(mask, sig) == 0)
			return true;
	return false;
}

int turns_sigsuspend(const sigset_t *mask) __asm__("sigsuspend");
int turns_sigsuspend(const sigset_t *mask)
{
	bool ours = PROGRAM, ended = false;
	sigset_t before;

	if (!ours)
		return REAL(sigsuspend)(mask);
	pthread_sigmask(SIG_BLOCK, mask, &before);
	while (ours && !ended && !is_pending_without(mask)) {
		pthread_testcancel();
		ours = turns_wait_fd(OUTSIDE_NEVER);
		ended = ours && turns_interrupted(false);
	}
	if (!ended)
		REAL(sigsuspend)(mask);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = EINTR;
	return -1;
}

int turns_pause(void) __asm__("pause");
int turns_pause(void)
{
	bool ours = PROGRAM;

	while (ours) {
		pthread_testcancel();
		ours = turns_wait_fd(OUTSIDE_NEVER);
		if (ours && turns_interrupted(false))
			return -1;
	}
	return REAL(pause)();
}

/* The thread that gets the signal may be waiting for it. */
int turns_pthread_kill(pthread_t thread, int sig) __asm__("pthread_kill");
int turns_pthread_kill(pthread_t thread, int sig)
{
	int err = REAL(pthread_kill)(thread, sig);

	if (PROGRAM && !err)
		turns_tell(true);
	return err;
}

int turns_pthread_sigqueue(pthread_t thread, int sig,
			   const union sigval value) __asm__("pthread_sigqueue");
int turns_pthread_sigqueue(pthread_t thread, int sig, const union sigval value)
{
	int err = REAL(pthread_sigqueue)(thread, sig, value);

	if (PROGRAM && !err)
		turns_tell(true);
	return err;
}

/* ---- locks of files ---- */

int turns_flock(int fd, int operation) __asm__("flock");
int turns_flock(int fd, int operation)
{
	bool ours = PROGRAM, waited = false;
	int wanted = operation & ~LOCK_NB, result;

	if (!ours)
		return REAL(flock)(fd, operation);
	while ((result = REAL(flock)(fd, operation | LOCK_NB)) < 0 && errno == EWOULDBLOCK &&
	       wanted == operation) {
		if (waited && turns_interrupted(true))
			return -1;
		waited = true;
		if (!turns_wait_fd(OUTSIDE_NEVER))
			return REAL(flock)(fd, operation);
	}
	if (result < 0 && errno == EWOULDBLOCK)
		turns_found_nothing();
	/* An exclusive lock that has become shared lets others in. */
	if (result == 0 && wanted != LOCK_EX)
		turns_tell(true);
	return result;
}
