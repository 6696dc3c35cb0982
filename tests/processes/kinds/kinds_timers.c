/* SPDX-License-Identifier: BSD-3-Clause */
/* kinds_timers.c - a kind of program that waits for timers of timer_create. */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "kinds.h"

static volatile sig_atomic_t expirations;
static sem_t noticed;

static void count_expiration(int sig)
{
	expirations += sig == SIGRTMIN;
}

static void notice(union sigval value)
{
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

	must(sem_init(&noticed, 0, 0) == 0, "no semaphore");
	wait_by_handler();
	wait_by_signal();
	be_refused();
	notify_first_thread();
	count_overruns(SIGUSR1);
	count_overruns(SIGRTMIN + 1);
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
