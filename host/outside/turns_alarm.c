/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_alarm.c - alarm and ITIMER_REAL of a program in lockstep. The signal comes in virtual time,
 * to a thread that waits in libc. So a sleep of three seconds ends with an alarm after one.
 *
 * The kernel's timer runs as well: a program that computes, or polls a CQ until its handler has
 * run, makes no call here by which virtual time could end that. The signal of the timer that is
 * first counts, and that of the other one does not come. Programs that read the processor's cycle
 * counter see real time in their clocks, but their sleeps are of virtual time, and so are their
 * alarms.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "turns.h"

/* Only the thread that has the turn uses it. */
static struct {
	uint64_t at;    /* virtual time of the next signal; OUTSIDE_NEVER: there is none */
	uint64_t every; /* 0: once */
} alarm_of = { .at = OUTSIDE_NEVER };

static const struct itimerval none;

/* A forked child has none. */
static void forget_alarm(void)
{
	alarm_of.at = OUTSIDE_NEVER;
}

static void __attribute__((constructor)) alarm_begin(void)
{
	pthread_atfork(NULL, NULL, forget_alarm);
}

static struct timeval tv_of(uint64_t ns)
{
	return (struct timeval){ .tv_sec = (time_t)(ns / TURNS_NS),
				 .tv_usec = (suseconds_t)(ns % TURNS_NS / 1000) };
}

static uint64_t ns_of(const struct timeval *tv)
{
	return turns_ns(&(struct timespec){ .tv_sec = tv->tv_sec, .tv_nsec = tv->tv_usec * 1000 });
}

static bool is_valid(const struct timeval *tv)
{
	return tv->tv_sec >= 0 && tv->tv_usec >= 0 && tv->tv_usec < 1000000;
}

/* The kernel's timer, which had this time left, has sent the only signal. */
static bool is_spent(const struct itimerval *left)
{
	return alarm_of.every == 0 && left->it_value.tv_sec == 0 && left->it_value.tv_usec == 0;
}

static bool kernel_was_first(void)
{
	struct itimerval left;

	return REAL(getitimer)(ITIMER_REAL, &left) == 0 && is_spent(&left);
}

uint64_t turns_alarm_left(uint64_t ns)
{
	uint64_t now;

	if (alarm_of.at == OUTSIDE_NEVER)
		return ns;
	if (kernel_was_first()) {
		alarm_of.at = OUTSIDE_NEVER;
		return ns;
	}
	now = turns_now();
	if (alarm_of.at <= now)
		return 0;
	return alarm_of.at - now < ns ? alarm_of.at - now : ns;
}

/* The kernel's timer begins its interval anew. */
static void send_alarm(uint64_t now)
{
	const struct timeval every = tv_of(alarm_of.every);
	const struct itimerval next = { .it_interval = every, .it_value = every };
	uint64_t late = now - alarm_of.at;
	struct itimerval left = none;

	REAL(setitimer)(ITIMER_REAL, &next, &left);
	alarm_of.at = alarm_of.every ? now + alarm_of.every - late % alarm_of.every : OUTSIDE_NEVER;
	if (!is_spent(&left))
		REAL(kill)(REAL(getpid)(), SIGALRM);
}

void turns_alarm_fire(void)
{
	uint64_t now;

	if (alarm_of.at == OUTSIDE_NEVER)
		return;
	now = turns_now();
	if (alarm_of.at <= now)
		send_alarm(now);
}

/* ---- calls ---- */

static void look_at(struct itimerval *value)
{
	uint64_t now = turns_now() + turns_ahead();

	*value = none;
	if (alarm_of.at == OUTSIDE_NEVER || kernel_was_first())
		return;
	value->it_interval = tv_of(alarm_of.every);
	value->it_value = tv_of(alarm_of.at > now ? alarm_of.at - now : 0);
	if (value->it_value.tv_sec == 0 && value->it_value.tv_usec == 0)
		value->it_value.tv_usec = 1;
}

static int set_alarm(const struct itimerval *value, struct itimerval *old)
{
	struct itimerval before;
	uint64_t ns;

	if (!value)
		value = &none;
	look_at(&before);
	if (REAL(setitimer)(ITIMER_REAL, value, NULL))
		return -1;
	if (old)
		*old = before;
	ns = ns_of(&value->it_value);
	alarm_of.every = ns_of(&value->it_interval);
	alarm_of.at = ns ? turns_after(turns_now(), turns_later(ns)) : OUTSIDE_NEVER;
	if (alarm_of.every == OUTSIDE_NEVER)
		alarm_of.every = 0;
	turns_tell(false); /* threads that wait in libc wait for another time */
	return 0;
}

int turns_setitimer(__itimer_which_t which, const struct itimerval *value,
		    struct itimerval *old) __asm__("setitimer");
int turns_setitimer(__itimer_which_t which, const struct itimerval *value, struct itimerval *old)
{
	bool ours = PROGRAM && which == ITIMER_REAL;

	if (!ours || (value && (!is_valid(&value->it_value) || !is_valid(&value->it_interval))))
		return REAL(setitimer)(which, value, old);
	return set_alarm(value, old);
}

int turns_getitimer(__itimer_which_t which, struct itimerval *value) __asm__("getitimer");
int turns_getitimer(__itimer_which_t which, struct itimerval *value)
{
	if (!PROGRAM || which != ITIMER_REAL)
		return REAL(getitimer)(which, value);
	look_at(value);
	return 0;
}

/* As Linux rounds what is left: never to 0. */
unsigned int turns_alarm(unsigned int s) __asm__("alarm");
unsigned int turns_alarm(unsigned int s)
{
	const struct itimerval value = { .it_value = { .tv_sec = s } };
	struct itimerval old;
	unsigned int left;

	if (!PROGRAM)
		return REAL(alarm)(s);
	if (set_alarm(&value, &old))
		return 0;
	left = (unsigned int)old.it_value.tv_sec;
	if (old.it_value.tv_usec >= 500000 || (left == 0 && old.it_value.tv_usec > 0))
		left++;
	return left;
}

useconds_t turns_ualarm(useconds_t us, useconds_t every) __asm__("ualarm");
useconds_t turns_ualarm(useconds_t us, useconds_t every)
{
	const struct itimerval value = {
		.it_value.tv_usec = us,
		.it_interval.tv_usec = every,
	};
	struct itimerval old;

	if (!PROGRAM || us >= 1000000 || every >= 1000000)
		return REAL(ualarm)(us, every);
	if (set_alarm(&value, &old))
		return (useconds_t)-1;
	return (useconds_t)(old.it_value.tv_sec * 1000000 + old.it_value.tv_usec);
}
