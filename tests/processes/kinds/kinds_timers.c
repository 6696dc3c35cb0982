/* SPDX-License-Identifier: BSD-3-Clause */
/* kinds_timers.c - a kind of program that waits for timers of timer_create. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include "kinds.h"

#define GROUPS     5000
#define STACK_OWN  4096  /* of a handler's stack, beside what the kernel needs of it */
#define OFF_LIMITS 65536 /* below that stack */

static volatile sig_atomic_t expirations;
static sem_t to_notice, noticed;

static void count_expiration(int sig)
{
	expirations += sig == SIGRTMIN;
}

static void notice(union sigval value)
{
	/* On a busy machine it is called more often before the timer is deleted. */
	if (sem_trywait(&to_notice))
		return;
	printf("function of %d\n", value.sival_int);
	sem_post(&noticed);
}

static timer_t make_timer(clockid_t clock, int how, int value)
{
	struct sigevent event = { .sigev_notify = how, .sigev_value.sival_int = value };
	timer_t timer;

	if (how == SIGEV_THREAD)
		event.sigev_notify_function = notice;
	else
		event.sigev_signo = SIGRTMIN;
	must(timer_create(clock, &event, &timer) == 0, "no timer");
	return timer;
}

static void set_timer(timer_t timer, int ms, int every_ms)
{
	const struct itimerspec value = { .it_value.tv_nsec = ms * 1000000l,
					  .it_interval.tv_nsec = every_ms * 1000000l };

	must(timer_settime(timer, 0, &value, NULL) == 0, "the timer is not set");
}

static void wait_by_handler(void)
{
	timer_t timer = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, 1);
	struct timespec before, after;

	must(signal(SIGRTMIN, count_expiration) != SIG_ERR, "no handler");
	clock_gettime(CLOCK_MONOTONIC, &before);
	set_timer(timer, 300, 200);
	while (expirations < 3)
		pause();
	clock_gettime(CLOCK_MONOTONIC, &after);
	must(timer_delete(timer) == 0, "the timer is not deleted");
	after.tv_nsec += (after.tv_sec - before.tv_sec) * 1000000000;
	printf("after %s\n", after.tv_nsec - before.tv_nsec < 700000000 ? "less" : "700 ms");
}

static void wait_by_signal(void)
{
	struct itimerspec left, at = { .it_value.tv_sec = 0 };
	timer_t timer = make_timer(CLOCK_REALTIME, SIGEV_SIGNAL, 2);
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	set_timer(timer, 100, 0);
	must(timer_gettime(timer, &left) == 0 && left.it_value.tv_nsec > 0, "the timer is not set");
	must(sigwaitinfo(&set, &info) == SIGRTMIN, "another signal");
	printf("timer: %d, value %d\n", info.si_code == SI_TIMER, info.si_value.sival_int);
	/* A time that is over */
	at.it_value.tv_nsec = 1;
	must(timer_settime(timer, TIMER_ABSTIME, &at, NULL) == 0, "the timer is not set");
	must(sigwaitinfo(&set, &info) == SIGRTMIN, "another signal");
	set_timer(timer, 10, 0);
	set_timer(timer, 0, 0);
	at = (struct itimerspec){ .it_value.tv_nsec = 50000000 };
	must(sigtimedwait(&set, &info, &at.it_value) == -1 && errno == EAGAIN,
	     "the timer is still set");
	must(timer_delete(timer) == 0, "the timer is not deleted");
}

/* While its signal is blocked; one of another sender is pending, too. */
static void count_overruns(int sig)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig };
	int signals = 0, expired = 0;
	timer_t timer;
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
	must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer");
	must(sig == SIGUSR1 || sigqueue(getpid(), sig, event.sigev_value) == 0, "no signal");
	set_timer(timer, 100, 100);
	sleep_ms(550);
	while (expired < 5 && sigwaitinfo(&set, &info) == sig) {
		signals++;
		expired += info.si_code == SI_TIMER ? 1 + info.si_overrun : 0;
	}
	must(expired > 5 || timer_getoverrun(timer) == 4, "another number of overruns");
	printf("signals: %d\n", signals);
	must(timer_delete(timer) == 0, "the timer is not deleted");
}

/* Its signal is for this thread, which blocks it. */
static timer_t timer_of_thread(int sig, sigset_t *set)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig };
	timer_t timer;

	event._sigev_un._tid = gettid();
	sigemptyset(set);
	sigaddset(set, sig);
	pthread_sigmask(SIG_BLOCK, set, NULL);
	must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer");
	return timer;
}

/* Let it expire five times or more while its signal is pending. */
static void expire_often(timer_t timer)
{
	set_timer(timer, 100, 100);
	sleep_ms(550);
}

/* The first signal tells of all expirations until it is taken, and so does the count. */
static void show_overruns(const char *how, timer_t timer, int told)
{
	int count = timer_getoverrun(timer);

	printf("%s: %d\n", how, count >= 4 && told == count);
}

/* One of another sender is pending, too. */
static void *take_overruns(void *where)
{
	const union sigval none = { 0 };
	siginfo_t info;
	sigset_t set;
	timer_t timer = timer_of_thread(SIGRTMIN + 2, &set);

	must(pthread_sigqueue(pthread_self(), SIGRTMIN + 2, none) == 0, "no signal");
	expire_often(timer);
	must(sigwaitinfo(&set, &info) == SIGRTMIN + 2 && info.si_code == SI_QUEUE, "another");
	must(sigwaitinfo(&set, &info) == SIGRTMIN + 2 && info.si_code == SI_TIMER, "another");
	show_overruns(where, timer, info.si_overrun);
	must(timer_delete(timer) == 0, "the timer is not deleted");
	return NULL;
}

/* By a descriptor, and then by a call that tells nothing but the signal. */
static void read_overruns(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	timer_t timer = timer_of_thread(SIGRTMIN + 3, &set);
	int fd = signalfd(-1, &set, 0), sig;

	expire_often(timer);
	must(read(fd, &info, sizeof(info)) == sizeof(info), "no signal");
	show_overruns("by a descriptor", timer, (int)info.ssi_overrun);
	sleep_ms(550);
	must(sigwait(&set, &sig) == 0 && sig == SIGRTMIN + 3, "another signal");
	show_overruns("by sigwait", timer, timer_getoverrun(timer));
	must(timer_delete(timer) == 0, "the timer is not deleted");
	close(fd);
}

static timer_t noted_timer;
static int noted, noted_told; /* when the first handler ran */

static void note_overruns(int sig, siginfo_t *info, void *context)
{
	(void)context;
	must(sig == SIGUSR2, "another signal");
	if (expirations++ > 0)
		return;
	noted = timer_getoverrun(noted_timer);
	noted_told = info ? info->si_overrun : noted;
}

static void note_untold(int sig)
{
	note_overruns(sig, NULL, NULL);
}

/* By a handler; the count is that of the last signal that was taken. */
static void handle_overruns(bool told)
{
	struct sigaction action = { .sa_flags = told ? SA_SIGINFO : 0 };
	sigset_t set;

	if (told)
		action.sa_sigaction = note_overruns;
	else
		action.sa_handler = note_untold;
	must(sigaction(SIGUSR2, &action, NULL) == 0, "no handler");
	noted_timer = timer_of_thread(SIGUSR2, &set);
	expirations = 0;
	expire_often(noted_timer);
	printf("while it is pending: %d\n", timer_getoverrun(noted_timer));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	must(timer_delete(noted_timer) == 0, "the timer is not deleted");
	printf("by a handler: %d\n", noted >= 4 && noted == noted_told);
}

static void overrun_in_threads(void)
{
	static gid_t groups[GROUPS];
	pthread_t thread;

	take_overruns((void *)"first thread");
	must(pthread_create(&thread, NULL, take_overruns, (void *)"second thread") == 0,
	     "no thread");
	pthread_join(thread, NULL);
	read_overruns();
	handle_overruns(true);
	handle_overruns(false);
	/* The kernel tells of many groups, and of signals after them. */
	if (setgroups(GROUPS, groups) && errno != EPERM)
		must(false, "no groups");
	handle_overruns(true);
}

/*
 * A signal that is pending does not come any more when its timer is set or deleted, but those of
 * other senders do, to the thread or the process that they were for. Before Linux 6.13 it came.
 */
static void drop_pending(int how, bool deleted)
{
	const struct timespec no_time = { 0 };
	const int sig = SIGRTMIN + 5;
	struct sigevent event = { .sigev_notify = how, .sigev_signo = sig };
	int own = 0, expired = 0;
	timer_t timer;
	siginfo_t info;
	sigset_t set;

	event._sigev_un._tid = gettid();
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
	must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer");
	must(sigqueue(getpid(), sig, (union sigval){ .sival_int = 1 }) == 0, "no signal");
	must(pthread_sigqueue(pthread_self(), sig, (union sigval){ .sival_int = 2 }) == 0, "no");
	must(pthread_kill(pthread_self(), sig) == 0, "no signal of a thread");
	expire_often(timer);
	if (deleted)
		must(timer_delete(timer) == 0, "the timer is not deleted");
	else
		set_timer(timer, 0, 0);
	while (sigtimedwait(&set, &info, &no_time) == sig) {
		expired += info.si_code == SI_TIMER;
		own = 10 * own + (info.si_code == SI_QUEUE ? info.si_value.sival_int : 3);
	}
	must(!getenv("DATSIM_LOCKSTEP") || (expired == 0 && own == 231), "other signals");
	must(deleted || timer_getoverrun(timer) == 0, "overruns");
	must(deleted || timer_delete(timer) == 0, "the timer is not deleted");
}

static timer_t rearmed;

/* The signal of another sender, which is pending then, stays. */
static void set_again(int sig)
{
	if (++expirations == 1)
		raise(sig);
	if (expirations < 4)
		set_timer(rearmed, 10, 0);
}

/* The stack is as small as those of handlers are. */
static void set_in_a_handler(void)
{
	struct sigaction action = { .sa_handler = set_again, .sa_flags = SA_ONSTACK };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	size_t size = getauxval(AT_MINSIGSTKSZ) + STACK_OWN;
	char *memory = mmap(NULL, OFF_LIMITS + size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t stack = { .ss_sp = memory + OFF_LIMITS, .ss_size = size };
	const stack_t none = { .ss_flags = SS_DISABLE };

	must(memory != MAP_FAILED && mprotect(memory, OFF_LIMITS, PROT_NONE) == 0, "no memory");
	must(sigaltstack(&stack, NULL) == 0, "no stack");
	must(sigaction(SIGALRM, &action, NULL) == 0, "no handler");
	must(timer_create(CLOCK_MONOTONIC, &event, &rearmed) == 0, "no timer");
	expirations = 0;
	set_timer(rearmed, 10, 0);
	while (expirations < 4)
		sleep_ms(1);
	must(timer_delete(rearmed) == 0, "the timer is not deleted");
	must(sigaltstack(&none, NULL) == 0 && munmap(memory, OFF_LIMITS + size) == 0, "in use");
	puts("set in a handler");
}

static int64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/*
 * Its first time was two and a half intervals ago, which are long: it expires at once, has missed
 * two times, and the next one is half an interval from now, to the nanosecond.
 */
static void begin_in_the_past(int how)
{
	const int64_t every = INT64_C(20000000000000), first = real_ns() - 5 * every / 2;
	const struct itimerspec value = { .it_value = { first / 1000000000, first % 1000000000 },
					  .it_interval.tv_sec = every / 1000000000 };
	struct sigevent event = { .sigev_notify = how, .sigev_signo = SIGRTMIN + 4 };
	int64_t before, next;
	struct itimerspec left;
	timer_t timer;
	siginfo_t info;
	sigset_t set;

	event._sigev_un._tid = gettid();
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 4);
	sigprocmask(SIG_BLOCK, &set, NULL);
	must(timer_create(CLOCK_REALTIME, &event, &timer) == 0, "no timer");
	for (int i = 0; i < 2; i++) {
		must(timer_settime(timer, TIMER_ABSTIME, &value, NULL) == 0, "it is not set");
		if (how != SIGEV_NONE)
			must(sigwaitinfo(&set, &info) == SIGRTMIN + 4, "another signal");
		before = real_ns();
		must(timer_gettime(timer, &left) == 0, "no time");
		next = first + 3 * every - left.it_value.tv_sec * INT64_C(1000000000) -
		       left.it_value.tv_nsec;
		printf("from the past: %d, in time %d\n", timer_getoverrun(timer),
		       before <= next && next <= real_ns());
		must(how == SIGEV_NONE || info.si_overrun == 2, "another number of overruns");
	}
	must(timer_delete(timer) == 0, "the timer is not deleted");
}

static void show_refusal(int how, int sig, pid_t tid)
{
	struct sigevent event = { .sigev_notify = how, .sigev_signo = sig };
	timer_t timer;

	event._sigev_un._tid = tid;
	must(timer_create(CLOCK_MONOTONIC, &event, &timer) == -1, "a timer");
	printf("not made: %s\n", strerror(errno));
}

static void be_refused(void)
{
	const struct itimerspec off = { .it_interval.tv_sec = 1 };
	timer_t timer = make_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL, 4);
	struct itimerspec left;

	show_refusal(SIGEV_SIGNAL, 0, 0);
	show_refusal(SIGEV_SIGNAL, NSIG, 0);
	show_refusal(SIGEV_THREAD_ID, SIGRTMIN, 1);
	must(timer_settime(timer, 0, NULL, NULL) == -1, "the timer is set");
	printf("not set: %s\n", strerror(errno));
	must(timer_settime(timer, 0, &off, NULL) == 0 && timer_gettime(timer, &left) == 0, "no");
	printf("every %d s while it is off\n", (int)left.it_interval.tv_sec);
	must(timer_delete(timer) == 0, "the timer is not deleted");
}

/* The id of the first thread is that of the process. */
static void notify_first_thread(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 2 };
	timer_t timer;
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, event.sigev_signo);
	sigprocmask(SIG_BLOCK, &set, NULL);
	event._sigev_un._tid = gettid();
	must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer of the first thread");
	set_timer(timer, 10, 0);
	must(sigwaitinfo(&set, &info) == event.sigev_signo, "another signal");
	must(timer_delete(timer) == 0, "the timer is not deleted");
}

int run_timers(void)
{
	timer_t timer;
	pid_t child;

	must(sem_init(&noticed, 0, 0) == 0 && sem_init(&to_notice, 0, 3) == 0, "no semaphore");
	wait_by_handler();
	wait_by_signal();
	be_refused();
	notify_first_thread();
	count_overruns(SIGUSR1);
	count_overruns(SIGRTMIN + 1);
	overrun_in_threads();
	for (int i = 0; i < 4; i++)
		drop_pending(i & 1 ? SIGEV_SIGNAL : SIGEV_THREAD_ID, i & 2);
	set_in_a_handler();
	begin_in_the_past(SIGEV_SIGNAL);
	begin_in_the_past(SIGEV_THREAD_ID);
	begin_in_the_past(SIGEV_NONE);
	timer = make_timer(CLOCK_MONOTONIC, SIGEV_THREAD, 3);
	set_timer(timer, 30, 30);
	for (int i = 0; i < 3; i++)
		sem_wait(&noticed);
	child = fork();
	if (child == 0)
		_exit(timer_delete(timer) == 0);
	must(waitpid(child, NULL, 0) == child, "no child");
	must(timer_delete(timer) == 0, "the timer is not deleted");
	puts("done");
	return 0;
}
