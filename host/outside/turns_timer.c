/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_timer.c - timerfd of a program in lockstep, in virtual time. The descriptor is an eventfd,
 * to which the expirations are written when a thread of the process, which waits for descriptors,
 * has seen their time come. So it is read, and waited for, as usual.
 *
 * A forked child has the parent's timers, and each expires once for both: their times are in memory
 * that the two share. A timer has an entry for each of its descriptors, with the same times.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "turns.h"
#include "host/nic_process.h"

#define TIMERS 64

struct times {
	uint64_t at;    /* virtual time of the next expiration; OUTSIDE_NEVER: it is not armed */
	uint64_t every; /* 0: once */
};

struct timer {
	int fd; /* -1: the entry is free */
	dev_t dev;
	ino_t ino; /* of eventfds; no file, socket or pipe has it */
	clockid_t clock;
	struct times *times; /* a mapping of its own, which all entries of one timer share */
};

/* Only the thread that has the turn reads or writes it, and the times. */
static struct timer timers[TIMERS];
static int timers_high; /* those in use are below */

static struct timer *timer_of(int fd)
{
	for (int i = 0; i < timers_high; i++)
		if (timers[i].fd == fd)
			return &timers[i];
	return NULL;
}

uint64_t turns_timers_left(uint64_t ns)
{
	uint64_t now = timers_high ? turns_now() : 0;

	for (int i = 0; i < timers_high; i++) {
		uint64_t at = timers[i].fd >= 0 ? timers[i].times->at : OUTSIDE_NEVER;

		if (at != OUTSIDE_NEVER && (at <= now || at - now < ns))
			ns = at <= now ? 0 : at - now;
	}
	return ns;
}

/*
 * The program may have closed the descriptor by a call that is not covered, such as dup2 or
 * close_range, and have another file there: its bytes are not those of a timer.
 */
static bool is_eventfd(const struct timer *t)
{
	struct stat st;

	return fstat(t->fd, &st) == 0 && st.st_dev == t->dev && st.st_ino == t->ino;
}

static void free_timer(struct timer *t)
{
	bool last = true;

	t->fd = -1;
	for (int i = 0; i < timers_high; i++)
		last &= timers[i].fd < 0 || timers[i].times != t->times;
	if (last)
		munmap(t->times, sizeof(*t->times));
}

/* Its time was `late` ns ago. */
static void expire_timer(const struct timer *t, uint64_t now, uint64_t late)
{
	struct times *of = t->times;
	uint64_t times = of->every ? 1 + late / of->every : 1;

	of->at = of->every && of->every != OUTSIDE_NEVER ? now + of->every - late % of->every
							 : OUTSIDE_NEVER;
	if (REAL(write)(t->fd, &times, sizeof(times)) < 0)
		return; /* so many that they do not fit */
}

static void fire_timer(struct timer *t, uint64_t now)
{
	if (is_eventfd(t))
		expire_timer(t, now, now - t->times->at);
	else
		free_timer(t);
}

void turns_timers_fire(void)
{
	uint64_t now = timers_high ? turns_now() : 0;
	int before = errno;

	for (int i = 0; i < timers_high; i++)
		if (timers[i].fd >= 0 && timers[i].times->at <= now)
			fire_timer(&timers[i], now);
	errno = before;
}

void turns_timer_closed(int fd)
{
	struct timer *t = fd >= 0 ? timer_of(fd) : NULL;

	if (t)
		free_timer(t);
}

void turns_timers_closed(unsigned int first, unsigned int last)
{
	for (int i = 0; i < timers_high; i++)
		if (timers[i].fd >= 0 && (unsigned int)timers[i].fd >= first &&
		    (unsigned int)timers[i].fd <= last)
			free_timer(&timers[i]);
}

/* The first of the entries that is free, or TIMERS. */
static int free_entry(void)
{
	int i = 0;

	while (i < timers_high && timers[i].fd >= 0)
		i++;
	return i;
}

static void use_entry(int i, struct timer t)
{
	timers[i] = t;
	if (timers_high == i)
		timers_high++;
}

void turns_timer_copied(int fd, int copy)
{
	const struct timer *t = timer_of(fd);
	int i;

	turns_timer_closed(copy);
	if (!t || !is_eventfd(t))
		return;
	i = free_entry();
	if (i == TIMERS)
		return;
	use_entry(i, *t);
	timers[i].fd = copy;
}

/* ---- calls ---- */

static struct times *make_times(void)
{
	struct times *times = mmap(NULL, sizeof(*times), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (times == MAP_FAILED)
		return NULL;
	*times = (struct times){ .at = OUTSIDE_NEVER };
	return times;
}

static int make_timer(clockid_t clock, int flags)
{
	struct times *times = NULL;
	struct stat st = { 0 };
	int i = free_entry(), fd;

	if (i < TIMERS)
		times = make_times();
	if (!times)
		return REAL(timerfd_create)(clock, flags);
	_Static_assert((int)TFD_NONBLOCK == (int)EFD_NONBLOCK &&
			       (int)TFD_CLOEXEC == (int)EFD_CLOEXEC,
		       "the same bits");
	fd = process_fd(eventfd(0, flags));
	if (fd < 0) {
		munmap(times, sizeof(*times));
		return fd;
	}
	fstat(fd, &st);
	use_entry(i, (struct timer){ .fd = fd,
				     .dev = st.st_dev,
				     .ino = st.st_ino,
				     .clock = clock,
				     .times = times });
	return fd;
}

int turns_timerfd_create(clockid_t clock, int flags) __asm__("timerfd_create");
int turns_timerfd_create(clockid_t clock, int flags)
{
	bool known = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME;

	/* An eventfd has one flag more. */
	known &= !(flags & ~(TFD_NONBLOCK | TFD_CLOEXEC));
	return PROGRAM && known ? make_timer(clock, flags) : REAL(timerfd_create)(clock, flags);
}

static struct timespec ts_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / TURNS_NS),
				  .tv_nsec = (long)(ns % TURNS_NS) };
}

static void look_at(const struct timer *t, struct itimerspec *value)
{
	uint64_t now = turns_now() + turns_ahead();

	*value = (struct itimerspec){ .it_interval = ts_of(t->times->every) };
	if (t->times->at != OUTSIDE_NEVER)
		value->it_value = ts_of(t->times->at > now ? t->times->at - now : 1);
}

bool turns_is_timer(int fd)
{
	const struct timer *t = fd >= 0 ? timer_of(fd) : NULL;

	return t && is_eventfd(t);
}

static bool is_anonymous(int fd, const char *kind)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)],
		what[sizeof("anon_inode:[signalfd]")];
	int before = errno;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, what, sizeof(what) - 1);
	errno = before;
	if (n < 0)
		return false;
	what[n] = '\0';
	return !strcmp(what, kind);
}

bool turns_is_counter(int fd)
{
	return is_anonymous(fd, "anon_inode:[eventfd]");
}

/* ---- descriptors of signals ---- */

void turns_signals_shown(int fd, void *got, ssize_t n)
{
	struct signalfd_siginfo *info = got;

	/* The kernel is asked only about what begins as a signal does. */
	if (n < (ssize_t)sizeof(*info) || info->ssi_signo == 0 || info->ssi_signo >= _NSIG ||
	    !is_anonymous(fd, "anon_inode:[signalfd]"))
		return;
	for (; n >= (ssize_t)sizeof(*info); n -= (ssize_t)sizeof(*info), info++) {
		info->ssi_pid = (uint32_t)turns_pid_known((pid_t)info->ssi_pid);
		if (info->ssi_code == SI_TIMER)
			info->ssi_overrun = (uint32_t)turns_timer_taken((int)info->ssi_tid,
									(int)info->ssi_overrun);
	}
}

/* Expirations that were not read are forgotten. */
static void empty_fd(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint64_t times;

	if (REAL(poll)(&pfd, 1, 0) == 1 && REAL(read)(fd, &times, sizeof(times)) < 0)
		return;
}

static int set_timer(struct timer *t, int flags, const struct itimerspec *value,
		     struct itimerspec *old)
{
	if ((flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)) ||
	    !turns_is_valid(&value->it_value) || !turns_is_valid(&value->it_interval)) {
		errno = EINVAL;
		return -1;
	}
	turns_timers_fire();
	if (old)
		look_at(t, old);
	empty_fd(t->fd);
	t->times->every = turns_ns(&value->it_interval);
	if (turns_ns(&value->it_value) == 0)
		t->times->at = OUTSIDE_NEVER;
	else if ((flags & TFD_TIMER_ABSTIME) && turns_since(t->clock, &value->it_value))
		expire_timer(t, turns_now(), turns_since(t->clock, &value->it_value));
	else if (flags & TFD_TIMER_ABSTIME)
		t->times->at = turns_after(turns_now(), turns_until(t->clock, &value->it_value));
	else
		t->times->at = turns_after(turns_now(), turns_later(turns_ns(&value->it_value)));
	turns_timers_fire();
	turns_tell(true); /* threads that wait for it wait for another time */
	return 0;
}

int turns_timerfd_settime(int fd, int flags, const struct itimerspec *value,
			  struct itimerspec *old) __asm__("timerfd_settime");
int turns_timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old)
{
	struct timer *t = PROGRAM && fd >= 0 ? timer_of(fd) : NULL;

	return t ? set_timer(t, flags, value, old) : REAL(timerfd_settime)(fd, flags, value, old);
}

int turns_timerfd_gettime(int fd, struct itimerspec *value) __asm__("timerfd_gettime");
int turns_timerfd_gettime(int fd, struct itimerspec *value)
{
	struct timer *t = PROGRAM && fd >= 0 ? timer_of(fd) : NULL;

	if (!t)
		return REAL(timerfd_gettime)(fd, value);
	turns_timers_fire();
	look_at(t, value);
	return 0;
}
