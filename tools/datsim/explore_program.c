/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * datsim explore -- PROGRAM: a program that is linked with -ldat, run again and again. A schedule is
 * what the environment tells the fabric: its seed, and how fast and in what pieces it carries. As in
 * scripts each of these is varied or not for the whole run.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "explore.h"
#include "origin.h"

#define HANGS_AFTER       60 /* seconds; the signal that ends it is SIGALRM */
#define EXIT_NO_PROGRAM   127
#define EXIT_SIGNAL_ABOVE 128

/* Each from `least`, doubled up to `doublings` times and then half as much again at most. */
static const struct knob {
	const char *name;
	uint64_t least;
	unsigned int doublings;
	bool exact; /* powers of two only */
} knobs[] = {
	{ "DATSIM_SEED", 1, 19, false },
	{ "DATSIM_LATENCY_NS", 100, 13, false },
	{ "DATSIM_BANDWIDTH_BPS", 100000000, 10, false },
	{ "DATSIM_MTU", 256, 4, true },
	{ "DATSIM_RNR_TIMER_NS", 1000, 10, false },
	{ "DATSIM_POLL_QUANTUM_NS", 100, 8, false },
};

/* 0: not set, so as the caller has it. */
struct setting_of_knobs {
	uint64_t value[ARRAY_SIZE(knobs)];
};

static void choose(struct setting_of_knobs *setting, uint64_t seed, uint64_t number)
{
	uint64_t state = seed, on, r;
	size_t i;

	state = schedule_random(&state) ^ number;
	state = schedule_random(&state);
	on = schedule_random(&state) | 1; /* the seed always */
	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		r = schedule_random(&state);
		setting->value[i] = knobs[i].least << (r % (knobs[i].doublings + 1));
		if (!knobs[i].exact)
			setting->value[i] += (r >> 32) % setting->value[i] / 2;
		/* What the caller set is no matter of chance. */
		if (!(on >> i & 1) || getenv(knobs[i].name))
			setting->value[i] = 0;
	}
}

static void __attribute__((noreturn))
be_program(char **argv, const struct setting_of_knobs *setting)
{
	char digits[24];
	int nowhere = open("/dev/null", O_RDWR);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)setting->value[i]);
		if (setting->value[i])
			setenv(knobs[i].name, digits, 1);
	}
	if (nowhere >= 0) {
		dup2(nowhere, STDIN_FILENO);
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
	}
	alarm(HANGS_AFTER);
	execvp(argv[0], argv);
	_exit(EXIT_NO_PROGRAM);
}

/* What it exits with, as a shell has it. */
static int run_with(char **argv, const struct setting_of_knobs *setting)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		be_program(argv, setting);
	if (pid < 0) {
		usage_error("explore", "cannot start another process: %s", strerror(errno));
		return EXIT_INTERNAL;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? EXIT_SIGNAL_ABOVE + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Leave out each value that the failure can do without. */
static void shorten(char **argv, struct setting_of_knobs *setting, int code)
{
	uint64_t value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		value = setting->value[i];
		setting->value[i] = 0;
		if (value && run_with(argv, setting) != code)
			setting->value[i] = value;
	}
}

static void report(const struct course *course, uint64_t number, char **argv,
		   const struct setting_of_knobs *setting, int code)
{
	struct text line = { 0 };
	size_t i;

	printf("%s: schedule %llu of seed %llu fails with %d, after %llu that hold\n", argv[0],
	       (unsigned long long)number, (unsigned long long)course->seed, code,
	       (unsigned long long)course->done - 1);
	if (run_with(argv, setting) != code)
		puts("it does not fail each time it is run so: does it use several threads?");
	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		if (setting->value[i])
			text_add(&line, "%s=%llu ", knobs[i].name,
				 (unsigned long long)setting->value[i]);
	}
	text_add(&line, "datsim run --");
	for (; *argv; argv++) {
		text_add(&line, " ");
		word_add(&line, *argv);
	}
	printf("replay:   %s\n", text_of(&line));
	text_free(&line);
}

int explore_program(struct course *course, char **argv)
{
	struct setting_of_knobs setting = { { 0 } };
	uint64_t number;
	int code = run_with(argv, &setting);

	if (code) {
		printf("%s exits with %d as it is: nothing was explored\n", argv[0], code);
		return code;
	}
	while (!code && course_next(course, &number)) {
		choose(&setting, course->seed, number);
		code = run_with(argv, &setting);
	}
	course_end(course);
	if (!code) {
		printf("%s: %llu schedules of seed %llu hold\n", argv[0],
		       (unsigned long long)course->done, (unsigned long long)course->seed);
		return EXIT_PASS;
	}
	shorten(argv, &setting, code);
	report(course, number, argv, &setting, code);
	return code;
}
