/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_expire.c - timers of timer_create, of a program in lockstep, in virtual time. A thread of
 * the process, which exists while there are timers, waits for the next expiration, and sends the
 * timer's signal or starts its function in a new thread. A forked child inherits no timer.
 *
 * Only the thread that has the turn uses the table.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "turns.h"
#include "host/nic_process.h"

#define TIMERS       64
#define ID_FIRST     0x10000     /* signals of the kernel's own timers carry lower ids */
#define OF_FUNCTIONS "functions" /* the name of the thread that keeps its process alive */

/* Of the signal that a timer of SIGEV_THREAD_ID has sent, in place of a number of overruns. */
enum {
	QUEUED_NONE = -2,  /* its thread has taken it, or there was none */
	QUEUED_FORMER = -1 /* it is pending, but the timer has been set anew */
};

static struct timer {
	bool used;
	clockid_t clock;
	struct sigevent event;
	pthread_attr_t attr; /* of the thread that runs the timer's function */
	uint64_t at;         /* virtual time of the next expiration; OUTSIDE_NEVER: none */
	uint64_t past;       /* so long before `at` its time was, which was over when it was set */
	uint64_t every;      /* 0: once */
	int missed;          /* the overrun count of the last expiration */
	int queued;          /* expirations since the signal that is pending, see above */
} timers[TIMERS];
static bool watched;      /* the thread that waits for expirations exists */
static pthread_t watcher; /* that thread */
static bool functions;    /* there has been a timer with a function */

static void forget_timers(void)
{
	memset(timers, 0, sizeof(timers));
	watched = functions = false;
}

static void __attribute__((constructor)) expire_begin(void)
{
	pthread_atfork(NULL, NULL, forget_timers);
}

/* NULL: the timer is one of libc. */
static struct timer *timer_of(timer_t id)
{
	for (int i = 0; i < TIMERS; i++)
		if (id == (timer_t)&timers[i] && timers[i].used)
			return &timers[i];
	return NULL;
}

/* ---- expirations ---- */

static int add_missed(int to, int missed)
{
	return to < INT_MAX - missed ? to + missed : INT_MAX;
}

/*
 * The signal's thread has taken it. It may run its handler before it has the turn. False: there
 * was none.
 */
static bool take_queued(struct timer *t)
{
	int queued = __atomic_exchange_n(&t->queued, QUEUED_NONE, __ATOMIC_RELAXED);

	if (queued == QUEUED_NONE)
		return false;
	t->missed = queued == QUEUED_FORMER ? 0 : queued;
	return true;
}

/* Is its signal pending? It may have been taken by a handler that is told of no siginfo. */
static bool is_queued(struct timer *t)
{
	if (__atomic_load_n(&t->queued, __ATOMIC_RELAXED) == QUEUED_NONE)
		return false;
	if (turns_is_pending(turns_pid_meant(t->event._sigev_un._tid), t->event.sigev_signo))
		return true;
	take_queued(t);
	return false;
}

int turns_timer_taken(int id, int overrun)
{
	struct timer *t;

	if (id < ID_FIRST || id >= ID_FIRST + TIMERS)
		return overrun;
	t = &timers[id - ID_FIRST];
	return take_queued(t) ? t->missed : overrun;
}

/*
 * No thread can take back a signal that is pending for another one. So one is sent if none is
 * pending, and the count is put in when it is taken: turns_timer_taken.
 */
static void send_to_thread(struct timer *t, siginfo_t *info)
{
	int queued = info->si_overrun;

	if (is_queued(t)) {
		queued = add_missed(__atomic_load_n(&t->queued, __ATOMIC_RELAXED), 1);
		__atomic_store_n(&t->queued, add_missed(queued, info->si_overrun),
				 __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(&t->queued, queued, __ATOMIC_RELAXED);
	if (REAL(syscall)(SYS_rt_tgsigqueueinfo, REAL(getpid)(),
			  turns_pid_meant(t->event._sigev_un._tid), info->si_signo, info))
		__atomic_store_n(&t->queued, QUEUED_NONE, __ATOMIC_RELAXED);
}

static siginfo_t info_of(const struct timer *t)
{
	siginfo_t info = { .si_signo = t->event.sigev_signo, .si_code = SI_TIMER };

	info.si_timerid = ID_FIRST + (int)(t - timers);
	info.si_value = t->event.sigev_value;
	return info;
}

/* As of Linux 6.13: one that is pending does not come any more when its timer is set or deleted. */
static void drop_signal(struct timer *t)
{
	siginfo_t info = info_of(t);

	if (t->event.sigev_notify == SIGEV_SIGNAL || t->event.sigev_notify == SIGEV_THREAD_ID)
		turns_take_back(&info);
	if (is_queued(t))
		__atomic_store_n(&t->queued, QUEUED_FORMER, __ATOMIC_RELAXED);
}

static void send_signal(struct timer *t, int missed)
{
	siginfo_t info = info_of(t);

	info.si_overrun = missed;
	if (t->event.sigev_notify == SIGEV_THREAD_ID) {
		send_to_thread(t, &info);
	} else {
		turns_take_back(&info);
		t->missed = info.si_overrun;
		turns_queue_signal(&info);
	}
	turns_tell(true);
}

/* By the pthread_create that the program finds: a sanitizer's runtime has to know the thread. */
static int create_as_program(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			     void *arg)
{
	void *first = dlsym(RTLD_DEFAULT, "pthread_create"), *own;
	__typeof__(&pthread_create) create = (__typeof__(&pthread_create))first;
	Dl_info info;
	int err;

	own = dladdr(first, &info) ? info.dli_fbase : NULL;
	if (own && dladdr((void *)(uintptr_t)create_as_program, &info) && info.dli_fbase == own)
		return turns_create(thread, attr, run, arg, &err) ? err : EAGAIN;
	return create(thread, attr, run, arg);
}

static int create_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			 void *arg)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = create_as_program(thread, attr, run, arg);
	if (!err)
		pthread_detach(*thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

/* A copy for the new thread: the timer may be deleted before the thread runs. */
struct notice {
	void (*function)(union sigval value);
	union sigval value;
};

static void *give_notice(void *arg)
{
	struct notice notice = *(struct notice *)arg;
	sigset_t none;

	free(arg);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	notice.function(notice.value);
	return NULL;
}

static void start_function(struct timer *t)
{
	struct notice *notice = malloc(sizeof(*notice));
	pthread_t thread;

	if (!notice)
		return;
	*notice = (struct notice){ t->event.sigev_notify_function, t->event.sigev_value };
	if (create_thread(&thread, &t->attr, give_notice, notice))
		free(notice);
}

static void expire_timer(struct timer *t, uint64_t now)
{
	uint64_t late = now - t->at + t->past, times = t->every ? late / t->every : 0;
	int missed = times < INT_MAX ? (int)times : INT_MAX;

	t->past = 0;
	t->at = t->every ? now + t->every - late % t->every : OUTSIDE_NEVER;
	if (t->event.sigev_notify == SIGEV_THREAD) {
		t->missed = missed;
		start_function(t);
	} else if (t->event.sigev_notify != SIGEV_NONE) {
		send_signal(t, missed);
	}
}

/* Expire all timers that are due. *left: the time to the next; false: there are no timers. */
static bool expire_all(uint64_t *left)
{
	uint64_t now = turns_now();
	bool any = false;

	*left = OUTSIDE_NEVER;
	for (int i = 0; i < TIMERS; i++) {
		struct timer *t = &timers[i];

		any |= t->used;
		if (t->used && t->at <= now)
			expire_timer(t, now);
		if (t->used && t->at != OUTSIDE_NEVER && t->at - now < *left)
			*left = t->at - now;
	}
	return any;
}

/*
 * A process whose first thread has called pthread_exit ends in spite of its timers, unless they run
 * functions: for these glibc has a thread that never ends, and that keeps the process alive.
 */
static void *watch_timers(void *unused)
{
	uint64_t left;

	do
		if (functions)
			prctl(PR_SET_NAME, OF_FUNCTIONS);
		else
			process_name_thread(PROCESS_TIMERS);
	while ((expire_all(&left) || functions) && turns_let_others(left, false));
	watched = false;
	return unused;
}

/* ---- calls ---- */

/* Is this the id of a thread of this process? */
static bool is_thread(pid_t tid)
{
	return REAL(syscall)(SYS_tgkill, REAL(getpid)(), turns_pid_meant(tid), 0) == 0;
}

/* False: libc has to make the timer, or refuses it. */
static bool is_known(clockid_t clock, const struct sigevent *event)
{
	int how = event ? event->sigev_notify : SIGEV_SIGNAL;
	bool has_signal = !event || (event->sigev_signo > 0 && event->sigev_signo < NSIG);

	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return false;
	return how == SIGEV_NONE || how == SIGEV_THREAD || (how == SIGEV_SIGNAL && has_signal) ||
	       (how == SIGEV_THREAD_ID && has_signal && is_thread(event->_sigev_un._tid));
}

/* The program may destroy its attributes after the call. */
static bool copy_attr(pthread_attr_t *to, const pthread_attr_t *from)
{
	size_t size = 0;

	if (pthread_attr_init(to))
		return false;
	if (from && (pthread_attr_getstacksize(from, &size) || pthread_attr_setstacksize(to, size)))
		return false;
	return true;
}

static bool begin_watch(void)
{
	if (!watched)
		watched = create_thread(&watcher, NULL, watch_timers, NULL) == 0;
	return watched;
}

/* False: libc has to make the timer. */
static bool make_timer(clockid_t clock, const struct sigevent *event, timer_t *id)
{
	struct timer *t = timers;

	while (t < timers + TIMERS && t->used)
		t++;
	if (t == timers + TIMERS)
		return false;
	*t = (struct timer){ .clock = clock, .at = OUTSIDE_NEVER, .queued = QUEUED_NONE };
	if (event)
		t->event = *event;
	else
		t->event = (struct sigevent){ .sigev_signo = SIGALRM, .sigev_value.sival_ptr = t };
	if (t->event.sigev_notify == SIGEV_THREAD &&
	    !copy_attr(&t->attr, t->event.sigev_notify_attributes))
		return false;
	t->used = true;
	if (!begin_watch()) {
		if (t->event.sigev_notify == SIGEV_THREAD)
			pthread_attr_destroy(&t->attr);
		t->used = false;
		return false;
	}
	if (t->event.sigev_notify == SIGEV_THREAD) {
		functions = true;
		/* The process may be about to end, before the thread has a turn. */
		pthread_setname_np(watcher, OF_FUNCTIONS);
	}
	*id = (timer_t)t;
	return true;
}

int turns_timer_create(clockid_t clock, struct sigevent *event,
		       timer_t *id) __asm__("timer_create");
int turns_timer_create(clockid_t clock, struct sigevent *event, timer_t *id)
{
	uint64_t now;

	if (PROGRAM && is_known(clock, event) && turns_time(&now) && make_timer(clock, event, id))
		return 0;
	return REAL(timer_create)(clock, event, id);
}

static struct timespec ts_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / TURNS_NS),
				  .tv_nsec = (long)(ns % TURNS_NS) };
}

static void look_at(const struct timer *t, struct itimerspec *value)
{
	uint64_t now = turns_now() + turns_ahead();

	*value = (struct itimerspec){ .it_interval = ts_of(t->every) };
	if (t->at == OUTSIDE_NEVER)
		return;
	if (t->at > now)
		value->it_value = ts_of(t->at - now);
	else if (t->every)
		value->it_value = ts_of(t->every - (now - t->at + t->past) % t->every);
	else
		value->it_value.tv_nsec = 1;
}

static int set_timer(struct timer *t, int flags, const struct itimerspec *value,
		     struct itimerspec *old)
{
	uint64_t now = turns_now(), first;

	if (!value || !turns_is_valid(&value->it_value) || !turns_is_valid(&value->it_interval)) {
		errno = EINVAL;
		return -1;
	}
	if (old)
		look_at(t, old);
	first = turns_ns(&value->it_value);
	drop_signal(t);
	t->missed = 0;
	t->past = 0;
	t->every = first ? turns_ns(&value->it_interval) : 0;
	if (t->every == OUTSIDE_NEVER)
		t->every = 0;
	if (first == 0)
		t->at = OUTSIDE_NEVER;
	else if (!(flags & TIMER_ABSTIME))
		t->at = turns_after(now, turns_later(first));
	else if ((t->past = turns_since(t->clock, &value->it_value)))
		t->at = now;
	else
		t->at = turns_after(now, turns_until(t->clock, &value->it_value));
	turns_tell(false); /* the thread waits for another time */
	return 0;
}

int turns_timer_settime(timer_t id, int flags, const struct itimerspec *value,
			struct itimerspec *old) __asm__("timer_settime");
int turns_timer_settime(timer_t id, int flags, const struct itimerspec *value,
			struct itimerspec *old)
{
	struct timer *t = timer_of(id);

	return t ? set_timer(t, flags, value, old) : REAL(timer_settime)(id, flags, value, old);
}

int turns_timer_gettime(timer_t id, struct itimerspec *value) __asm__("timer_gettime");
int turns_timer_gettime(timer_t id, struct itimerspec *value)
{
	const struct timer *t = timer_of(id);

	if (!t)
		return REAL(timer_gettime)(id, value);
	look_at(t, value);
	return 0;
}

int turns_timer_getoverrun(timer_t id) __asm__("timer_getoverrun");
int turns_timer_getoverrun(timer_t id)
{
	struct timer *t = timer_of(id);

	if (!t)
		return REAL(timer_getoverrun)(id);
	is_queued(t);
	return t->missed;
}

int turns_timer_delete(timer_t id) __asm__("timer_delete");
int turns_timer_delete(timer_t id)
{
	struct timer *t = timer_of(id);

	if (!t)
		return REAL(timer_delete)(id);
	if (t->event.sigev_notify == SIGEV_THREAD)
		pthread_attr_destroy(&t->attr);
	drop_signal(t);
	t->used = false;
	turns_tell(false); /* the thread ends with the last one */
	return 0;
}
