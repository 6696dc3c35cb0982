/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_clock.c - clock_gettime of a uDAPL program in lockstep whose hardware is the fabric
 * (DATSIM_VERBS): CLOCK_MONOTONIC and its kind are virtual time, so that the timeouts of the
 * passthrough and of the program, which they compute from it, are the same in each run.
 *
 * The clock never goes back. As the process joins a fabric it goes on to the next whole second, so
 * that computations with fractions of seconds in floating point are the same in each run; while it
 * is in none the clock is the real one, and by a constant ahead of it.
 */
#define _GNU_SOURCE
#include "turns.h"

#include "host/nic_process.h"

#define READ_NS 1000u /* pass with each reading, so that a loop that looks at the clock ends */

static struct {
	pthread_mutex_t lock;
	uint64_t last;  /* what was read */
	uint64_t base;  /* in a fabric: virtual time since then */
	uint64_t now;   /* virtual time at the last reading */
	uint64_t ahead; /* outside one */
	bool inside;
} clock_of = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool wanted;

static void read_wanted(void)
{
	wanted = process_env("DATSIM_VERBS") != NULL;
}

static bool is_virtual(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_wanted);
	return wanted;
}

static bool is_monotonic(clockid_t clock)
{
	return clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
	       clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
}

static uint64_t real_now(void)
{
	struct timespec ts;

	REAL(clock_gettime)(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * TURNS_NS + (uint64_t)ts.tv_nsec;
}

static uint64_t read_inside(uint64_t now)
{
	uint64_t before = real_now() + clock_of.ahead;

	/* A fabric, or another one than at the last reading. */
	if (!clock_of.inside || now < clock_of.now) {
		if (clock_of.inside || before < clock_of.last)
			before = clock_of.last;
		clock_of.base = (before / TURNS_NS + 1) * TURNS_NS;
	}
	clock_of.inside = true;
	clock_of.now = now;
	return clock_of.base + now;
}

static uint64_t read_outside(void)
{
	uint64_t real = real_now();

	if (clock_of.inside)
		clock_of.ahead = clock_of.last > real ? clock_of.last - real : 0;
	clock_of.inside = false;
	return real + clock_of.ahead;
}

static uint64_t read_clock(void)
{
	uint64_t now, read;
	bool inside;

	turns_let_others(READ_NS, false);
	inside = turns_time(&now);
	pthread_mutex_lock(&clock_of.lock);
	read = inside ? read_inside(now) : read_outside();
	if (read > clock_of.last)
		clock_of.last = read;
	read = clock_of.last;
	pthread_mutex_unlock(&clock_of.lock);
	return read;
}

int turns_gettime(clockid_t clock, struct timespec *ts)
{
	uint64_t ns;

	if (!is_monotonic(clock) || !is_virtual())
		return REAL(clock_gettime)(clock, ts);
	ns = read_clock();
	*ts = (struct timespec){ .tv_sec = (time_t)(ns / TURNS_NS),
				 .tv_nsec = (long)(ns % TURNS_NS) };
	return 0;
}

int turns_clock_gettime(clockid_t clock, struct timespec *ts) __asm__("clock_gettime");
int turns_clock_gettime(clockid_t clock, struct timespec *ts)
{
	return PROGRAM ? turns_gettime(clock, ts) : REAL(clock_gettime)(clock, ts);
}
