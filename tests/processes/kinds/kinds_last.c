/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kinds_last.c - the first thread calls pthread_exit, and the others go on, but not a timer, unless
 * it runs a function.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "kinds.h"

#define STEPS 3

static pthread_key_t name;

static void say_end(void *of)
{
	printf("%s ends\n", (const char *)of);
}

static void say_exit(void)
{
	sleep_ms(1);
	puts("exit");
}

static void *run_thread(void *of)
{
	pthread_setspecific(name, of);
	for (int i = 0; i < STEPS; i++) {
		printf("%s %d\n", (const char *)of, i);
		sleep_ms(10);
	}
	return NULL;
}

static void begin_thread(const char *of)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, run_thread, (void *)of) == 0, "no thread");
	must(pthread_detach(thread) == 0, "no detached thread");
}

/* The timer is never deleted. */
static void begin_timer(void)
{
	const struct itimerspec value = { .it_value.tv_nsec = 5000000,
					  .it_interval.tv_nsec = 5000000 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	timer_t timer;

	must(signal(SIGRTMIN, SIG_IGN) != SIG_ERR, "the signal is not ignored");
	must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer");
	must(timer_settime(timer, 0, &value, NULL) == 0, "the timer is not set");
}

/* The parent sees how its child exits. */
int run_last(void)
{
	pid_t child = fork();
	int status;

	if (child > 0) {
		must(waitpid(child, &status, 0) == child, "no child");
		printf("status %d\n", status);
	}
	atexit(say_exit);
	must(pthread_key_create(&name, say_end) == 0, "no key");
	pthread_setspecific(name, "first");
	begin_timer();
	begin_thread("second");
	begin_thread("third");
	pthread_exit(NULL);
}

static void end_process(union sigval value)
{
	puts(value.sival_ptr);
	exit(0);
}

/* The thread that waits for the timers waits for the first one when the second one is made. */
int run_kept(void)
{
	const struct itimerspec value = { .it_value.tv_nsec = 30000000 };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD,
				  .sigev_notify_function = end_process,
				  .sigev_value.sival_ptr = (void *)"function" };
	timer_t timer;

	begin_timer();
	sleep_ms(1);
	must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer with a function");
	must(timer_settime(timer, 0, &value, NULL) == 0, "it is not set");
	pthread_exit(NULL);
}

static unsigned long count_threads(void)
{
	struct stat st;

	must(stat("/proc/self/task", &st) == 0, "no threads");
	return st.st_nlink - 2;
}

/* Some versions of glibc let the thread end with its timer, so it counts in lockstep only. */
int run_stays(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD,
				  .sigev_notify_function = end_process };
	unsigned long threads;
	timer_t timer;

	must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer with a function");
	threads = count_threads();
	must(timer_delete(timer) == 0, "the timer is not deleted");
	sleep_ms(50);
	must(!getenv("DATSIM_LOCKSTEP") || count_threads() == threads, "the thread has ended");
	puts("done");
	return 0;
}
