/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_thread.c - threads of a program in lockstep, and their sleep. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "turns.h"

#define RETEST_NS 1000000u /* a thread may end without telling the others */

/* ---- threads ---- */

/* Join it by that time in ns. False: libc has to do it, which blocks, or refuses to join itself. */
static bool join_until(pthread_t thread, void **value, uint64_t end, int *err)
{
	uint64_t left = OUTSIDE_NEVER;
	bool waited = false;

	while (!pthread_equal(thread, pthread_self())) {
		pthread_testcancel();
		*err = REAL(pthread_tryjoin_np)(thread, value);
		if (*err != EBUSY)
			return true;
		if (end != OUTSIDE_NEVER) {
			uint64_t t = turns_now();

			left = t < end ? end - t : 0;
		}
		*err = ETIMEDOUT;
		if (!left) {
			if (!waited)
				turns_found_nothing();
			return true;
		}
		waited = true;
		if (!turns_let_others(left < RETEST_NS ? left : RETEST_NS, false))
			break;
	}
	return false;
}

int turns_join(pthread_t thread, void **value)
{
	int err;

	if (join_until(thread, value, OUTSIDE_NEVER, &err))
		return err;
	return REAL(pthread_join)(thread, value);
}

int turns_pthread_join(pthread_t thread, void **value) __asm__("pthread_join");
int turns_pthread_join(pthread_t thread, void **value)
{
	return PROGRAM ? turns_join(thread, value) : REAL(pthread_join)(thread, value);
}

int turns_pthread_tryjoin(pthread_t thread, void **value) __asm__("pthread_tryjoin_np");
int turns_pthread_tryjoin(pthread_t thread, void **value)
{
	bool ours = PROGRAM;
	int err = REAL(pthread_tryjoin_np)(thread, value);

	return ours ? turns_after_try(err) : err;
}

static bool join_by_time(pthread_t thread, void **value, clockid_t clock,
			 const struct timespec *abs, int *err)
{
	uint64_t end = turns_after(turns_now(), turns_until(clock, abs));

	return (uint64_t)abs->tv_nsec < TURNS_NS && join_until(thread, value, end, err);
}

int turns_pthread_timedjoin(pthread_t thread, void **value,
			    const struct timespec *abs) __asm__("pthread_timedjoin_np");
int turns_pthread_timedjoin(pthread_t thread, void **value, const struct timespec *abs)
{
	bool ours = PROGRAM && abs;
	struct timespec room;
	int err;

	if (ours && join_by_time(thread, value, CLOCK_REALTIME, abs, &err))
		return err;
	abs = turns_real_time(ours, CLOCK_REALTIME, abs, &room);
	return REAL(pthread_timedjoin_np)(thread, value, abs);
}

int turns_pthread_clockjoin(pthread_t thread, void **value, clockid_t clock,
			    const struct timespec *abs) __asm__("pthread_clockjoin_np");
int turns_pthread_clockjoin(pthread_t thread, void **value, clockid_t clock,
			    const struct timespec *abs)
{
	bool ours = PROGRAM && abs && turns_is_lock_clock(clock);
	struct timespec room;
	int err;

	if (ours && join_by_time(thread, value, clock, abs, &err))
		return err;
	abs = turns_real_time(ours, clock, abs, &room);
	return REAL(pthread_clockjoin_np)(thread, value, clock, abs);
}

int turns_pthread_cancel(pthread_t thread) __asm__("pthread_cancel");
int turns_pthread_cancel(pthread_t thread)
{
	int err = REAL(pthread_cancel)(thread);

	if (PROGRAM)
		turns_tell(true);
	return err;
}

struct start {
	void *(*run)(void *);
	void *arg;
};

/* A new thread takes its place among the others before it does anything. */
static void *start_thread(void *arg)
{
	struct start start = *(struct start *)arg;
	void *value;
	uint64_t now;

	free(arg);
	turns_time(&now);
	pthread_cleanup_push(turns_tid_gone, NULL);
	value = start.run(start.arg);
	pthread_cleanup_pop(1);
	return value;
}

bool turns_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg,
		  int *err)
{
	int library = turns_thread();
	struct start *start;

	/* In no fabric. It must not join one that the process joins meanwhile, before it calls. */
	if (library < 0)
		return false;
	start = malloc(sizeof(*start));
	if (!start) {
		turns_no_thread(library);
		*err = EAGAIN;
		return true;
	}
	*start = (struct start){ run, arg };
	*err = REAL(pthread_create)(thread, attr, start_thread, start);
	if (*err) {
		turns_no_thread(library);
		free(start);
	}
	return true;
}

int turns_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			 void *arg) __asm__("pthread_create");
int turns_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			 void *arg)
{
	int err;

	if (PROGRAM && turns_create(thread, attr, run, arg, &err))
		return err;
	return REAL(pthread_create)(thread, attr, run, arg);
}

/* ---- sleeping ---- */

bool turns_sleep_ns(uint64_t ns)
{
	uint64_t t = turns_now(), end = turns_after(t, ns);

	for (; t < end; t = turns_now()) {
		pthread_testcancel();
		if (!turns_let_others(turns_left(end, t), false))
			return false;
	}
	return true;
}

enum slept {
	SLEPT,
	SLEPT_LESS, /* a handler has run */
	SLEPT_NOT   /* the caller has to sleep as usual */
};

/* As the program asked for. *left: of the time, by its clock. */
static enum slept sleep_once(uint64_t ns, uint64_t *left)
{
	uint64_t t = turns_now(), end = turns_after(t, ns);

	if (ns == 0) {
		pthread_testcancel();
		turns_found_nothing();
	}
	while (t < end) {
		pthread_testcancel();
		if (!turns_wait_own(turns_left(end, t)))
			return SLEPT_NOT;
		t = turns_now();
		if (t >= end || !turns_interrupted(false))
			continue;
		t += turns_ahead();
		*left = t < end ? turns_left(end, t) : 0;
		errno = EINTR;
		return SLEPT_LESS;
	}
	return SLEPT;
}

/* For a time from now on. */
static enum slept sleep_for(const struct timespec *ts, struct timespec *left)
{
	uint64_t ns;
	enum slept slept = sleep_once(turns_later(turns_ns(ts)), &ns);

	if (slept != SLEPT_LESS || !left)
		return slept;
	if (ns == OUTSIDE_NEVER)
		*left = *ts;
	else
		*left = (struct timespec){ .tv_sec = (time_t)(ns / TURNS_NS),
					   .tv_nsec = (long)(ns % TURNS_NS) };
	return slept;
}

/* Linux sleeps by these, by clocks of the processor's time, and by no other. */
static bool is_sleep_clock(clockid_t clock)
{
	return turns_is_lock_clock(clock) || clock == CLOCK_BOOTTIME || clock == CLOCK_TAI;
}

int turns_clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
			  struct timespec *left) __asm__("clock_nanosleep");
int turns_clock_nanosleep(clockid_t clock, int flags, const struct timespec *ts,
			  struct timespec *left)
{
	bool absolute = flags & TIMER_ABSTIME;
	bool ours = PROGRAM && is_sleep_clock(clock) && turns_is_valid(ts);
	enum slept slept = SLEPT_NOT;
	struct timespec room;
	uint64_t unused;

	if (ours)
		slept = absolute ? sleep_once(turns_until(clock, ts), &unused)
				 : sleep_for(ts, left);
	if (slept != SLEPT_NOT)
		return slept == SLEPT ? 0 : EINTR;
	if (absolute)
		ts = turns_real_time(ours, clock, ts, &room);
	return REAL(clock_nanosleep)(clock, flags, ts, left);
}

int turns_sleep_for(const struct timespec *ts, struct timespec *left)
{
	enum slept slept = turns_is_valid(ts) ? sleep_for(ts, left) : SLEPT_NOT;

	if (slept == SLEPT_NOT)
		return REAL(nanosleep)(ts, left);
	return slept == SLEPT ? 0 : -1;
}

int turns_nanosleep(const struct timespec *ts, struct timespec *left) __asm__("nanosleep");
int turns_nanosleep(const struct timespec *ts, struct timespec *left)
{
	return PROGRAM ? turns_sleep_for(ts, left) : REAL(nanosleep)(ts, left);
}

int turns_usleep(useconds_t us) __asm__("usleep");
int turns_usleep(useconds_t us)
{
	const struct timespec ts = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	return PROGRAM ? turns_sleep_for(&ts, NULL) : REAL(usleep)(us);
}

unsigned int turns_sleep(unsigned int s) __asm__("sleep");
unsigned int turns_sleep(unsigned int s)
{
	struct timespec ts = { .tv_sec = s };

	if (!PROGRAM)
		return REAL(sleep)(s);
	return turns_sleep_for(&ts, &ts) ? (unsigned int)ts.tv_sec : 0;
}

void __lsan_disable(void) __attribute__((weak)); /* of LeakSanitizer, if the process has it */

/*
 * LeakSanitizer waits for its own thread by sched_yield, with the locks of malloc held: a thread
 * that got the turn would wait for these. If the sanitizer is linked into the program, its calls
 * look like the program's, and no call of sched_yield gives the turn up. A shell may have it by a
 * library that it loads, and does not see its names then.
 */
static bool is_leak_check(const void *caller)
{
	static const char *const names[] = { "libclang_rt.", "libasan.so", "liblsan.so" };
	Dl_info sanitizer, from;

	if (!dladdr(caller, &from))
		return false;
	if (__lsan_disable && dladdr((const void *)__lsan_disable, &sanitizer) &&
	    sanitizer.dli_fbase == from.dli_fbase)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (from.dli_fname && strstr(from.dli_fname, names[i]))
			return true;
	return false;
}

/* A loop that waits for another thread in this way ends. */
int turns_sched_yield(void) __asm__("sched_yield");
int turns_sched_yield(void)
{
	if (PROGRAM && !is_leak_check(__builtin_return_address(0)))
		turns_yield_briefly();
	return REAL(sched_yield)();
}
