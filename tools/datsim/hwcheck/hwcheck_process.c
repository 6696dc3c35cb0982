/* SPDX-License-Identifier: BSD-3-Clause */
/* The process of a check: its start, its answer through a pipe, its end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hwcheck.h"

/* Of the process of a check: where its answer goes, and what that will be. */
static int answer_fd = -1;
static struct probe_answer own;

uint64_t probe_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- in the process of a check ---- */

static _Noreturn void answer_and_exit(enum probe_verdict verdict)
{
	own.verdict = verdict;
	/* This is the only writer, and the answer fits into the pipe. */
	if (write(answer_fd, &own, sizeof(own)) != (ssize_t)sizeof(own))
		_exit(1);
	_exit(0);
}

void probe_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(own.text, sizeof(own.text), format, args);
	va_end(args);
}

void probe_result(uint64_t result)
{
	own.result = result;
}

_Noreturn void probe_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(own.text, sizeof(own.text), format, args);
	va_end(args);
	answer_and_exit(PROBE_FAIL);
}

_Noreturn void probe_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(own.text, sizeof(own.text), format, args);
	va_end(args);
	answer_and_exit(PROBE_SKIP);
}

void probe_call(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	probe_fail("%.*s: %s%s%s", (int)strcspn(call, "("), call, major, *minor ? ", " : "", minor);
}

/* ---- in the command's ---- */

/* False: it has not answered in time. */
static bool await_answer(int fd, unsigned int seconds, struct probe_answer *answer)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = poll(&wait, 1, (int)seconds * 1000);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return false;
	if (read(fd, answer, sizeof(*answer)) != (ssize_t)sizeof(*answer))
		answer->verdict = 0;
	return true;
}

static void end_process(pid_t pid, bool answered, unsigned int seconds, struct probe_answer *answer)
{
	int status = 0;

	if (!answered)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (answered && answer->verdict)
		return;
	*answer = (struct probe_answer){ .verdict = PROBE_FAIL };
	if (!answered)
		snprintf(answer->text, sizeof(answer->text), "no answer after %u s", seconds);
	else if (WIFSIGNALED(status))
		snprintf(answer->text, sizeof(answer->text), "the process ended by signal %d",
			 WTERMSIG(status));
	else
		snprintf(answer->text, sizeof(answer->text), "the process ended with status %d",
			 WEXITSTATUS(status));
}

void probe_run(struct probe *c, void (*run)(struct probe *c), unsigned int seconds,
	       struct probe_answer *answer)
{
	int fds[2];
	pid_t pid;

	*answer = (struct probe_answer){ .verdict = PROBE_FAIL };
	if (pipe(fds)) {
		snprintf(answer->text, sizeof(answer->text), "no pipe: %s", strerror(errno));
		return;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		answer_fd = fds[1];
		run(c);
		answer_and_exit(PROBE_PASS);
	}
	close(fds[1]);
	if (pid > 0)
		end_process(pid, await_answer(fds[0], seconds, answer), seconds, answer);
	else
		snprintf(answer->text, sizeof(answer->text), "no process: %s", strerror(errno));
	close(fds[0]);
}
