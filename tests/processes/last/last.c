/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * last open|close|helped|alone|joined|timer|named - the first thread calls pthread_exit, so the
 * process ends with its last thread, by exit(0). The last thread has an adapter open, or has closed
 * it, or has one on which the library has a helper thread even on a private fabric; or the first
 * thread is the last, without such a helper (alone) or with one (joined). A timer that is never
 * deleted does not keep the process alive (timer), nor do helpers to which the program has given
 * another name (named), as a function that they call might do.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "last.h"

static pthread_key_t name;

/* The program has blocked no signals, whichever thread exits. */
static void say_exit(void)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	puts(sigismember(&set, SIGTERM) ? "signals are blocked" : "atexit");
}

/* say_exit runs after this destructor. */
static void say_end(void *of)
{
	printf("the %s thread ends\n", (const char *)of);
}

/* Its signal is ignored, and it does not end. */
static void start_timer(void)
{
	const struct itimerspec often = { { .tv_nsec = 1000000 }, { .tv_nsec = 1000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG };
	timer_t timer;

	must(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer");
	must(timer_settime(timer, 0, &often, NULL) == 0, "the timer is not set");
}

/* All threads get the name of the first one. */
static void name_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	char path[300];
	FILE *file;

	must(tasks != NULL, "no threads");
	while ((entry = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "w");
		if (file && (fputs("last", file) < 0 || fclose(file)))
			must(0, "no name");
	}
	closedir(tasks);
}

static void *run(void *mode)
{
	pthread_setspecific(name, "other");
	last_open(!strcmp(mode, "helped") || !strcmp(mode, "joined"));
	if (strcmp(mode, "close") == 0)
		last_close();
	if (strcmp(mode, "timer") == 0)
		start_timer();
	if (strcmp(mode, "named") == 0)
		name_threads();
	usleep(1000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	must(argc == 2, "usage: last open|close|helped|alone|joined|timer|named");
	setvbuf(stdout, NULL, _IOLBF, 0);
	atexit(say_exit);
	must(pthread_key_create(&name, say_end) == 0, "no key");
	pthread_setspecific(name, "first");
	must(pthread_create(&thread, NULL, run, argv[1]) == 0, "no thread");
	if (!strcmp(argv[1], "alone") || !strcmp(argv[1], "joined"))
		pthread_join(thread, NULL);
	else
		pthread_detach(thread);
	pthread_exit(NULL);
}
