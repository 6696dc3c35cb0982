/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs scripts in child processes, several at a time, and delivers their verdicts in order. */
#include "jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "tools/datsim/run/device.h"
#include "said.h"

/*
 * The header of what a child sends; the report and libdat's lines follow. Both processes run on one
 * machine.
 */
struct message {
	int32_t code;
	int32_t expected_failure;
	uint64_t report_bytes, said_bytes;
	double seconds;
};

struct job {
	size_t index; /* of its script */
	pid_t pid;
	int fd; /* -1: free */
	struct text said;
};

struct pool {
	char *const *paths;
	size_t count;
	const struct options *options;
	const struct jobs_sink *sink;
	struct job *jobs;
	int at_once;
	struct verdict *verdicts; /* of all scripts */
	bool *done;
	size_t next, told; /* next script to start; next verdict to deliver */
};

static double clock_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run_one(const char *path, const struct options *options, struct verdict *verdict)
{
	double began = clock_seconds();
	struct text said = { 0 };

	said_begin();
	run_file(path, options, verdict);
	said_end(&said);
	verdict->said = said;
	verdict->seconds = clock_seconds() - began;
}

/* ---- in the child ---- */

static bool write_all(int fd, const void *data, size_t length)
{
	const char *p = data;
	ssize_t n;

	while (length) {
		n = write(fd, p, length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		length -= (size_t)n;
	}
	return true;
}

static void __attribute__((noreturn)) be_child(const struct pool *pool, size_t index, int fd)
{
	struct verdict verdict;
	struct message message;
	bool told;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tap_bail_by_signals(false);
	run_one(pool->paths[index], pool->options, &verdict);
	message = (struct message){ .code = (int32_t)verdict.code,
				    .expected_failure = verdict.expected_failure,
				    .report_bytes = verdict.report.length,
				    .said_bytes = verdict.said.length,
				    .seconds = verdict.seconds };
	told = write_all(fd, &message, sizeof(message)) &&
	       write_all(fd, text_of(&verdict.report), verdict.report.length) &&
	       write_all(fd, text_of(&verdict.said), verdict.said.length);
	verdict_free(&verdict);
	_exit(told ? 0 : EXIT_INTERNAL);
}

/* ---- in the parent ---- */

static void verdict_internal(struct verdict *verdict, const char *what, int number)
{
	verdict->code = EXIT_INTERNAL;
	text_add(&verdict->report, "%s %d\n", what, number);
}

static bool job_start(struct pool *pool, struct job *job)
{
	size_t index = pool->next++;
	int pipes[2];

	/* Flush, or the child would write the buffered output a second time. */
	fflush(NULL);
	if (pipe(pipes))
		goto cannot;
	job->pid = fork();
	if (job->pid < 0) {
		close(pipes[0]);
		close(pipes[1]);
		goto cannot;
	}
	if (job->pid == 0) {
		close(pipes[0]);
		be_child(pool, index, pipes[1]);
	}
	close(pipes[1]);
	job->fd = pipes[0];
	job->index = index;
	return true;
cannot:
	verdict_internal(&pool->verdicts[index], "cannot start another process: error", errno);
	pool->done[index] = true;
	return false;
}

static void job_understand(const struct job *job, int status, struct verdict *verdict)
{
	struct message message;

	if (WIFSIGNALED(status)) {
		verdict_internal(verdict,
				 "datsim itself was ended while it ran this script: signal",
				 WTERMSIG(status));
		return;
	}
	if (job->said.length >= sizeof(message))
		memcpy(&message, job->said.s, sizeof(message));
	if (job->said.length < sizeof(message) ||
	    job->said.length != sizeof(message) + message.report_bytes + message.said_bytes) {
		verdict_internal(verdict, "datsim itself ended while it ran this script: exit code",
				 WEXITSTATUS(status));
		return;
	}
	verdict->code = (enum exit_code)message.code;
	verdict->expected_failure = message.expected_failure != 0;
	verdict->seconds = message.seconds;
	text_append(&verdict->report, job->said.s + sizeof(message), message.report_bytes);
	text_append(&verdict->said, job->said.s + sizeof(message) + message.report_bytes,
		    message.said_bytes);
}

static void job_finish(struct pool *pool, struct job *job)
{
	int status = 0;

	while (waitpid(job->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(job->fd);
	job->fd = -1;
	job_understand(job, status, &pool->verdicts[job->index]);
	pool->done[job->index] = true;
	text_free(&job->said);
	memset(&job->said, 0, sizeof(job->said));
}

static void job_listen(struct pool *pool, struct job *job)
{
	char block[4096];
	ssize_t n = read(job->fd, block, sizeof(block));

	if (n > 0)
		text_append(&job->said, block, (size_t)n);
	else if (n == 0 || errno != EINTR)
		job_finish(pool, job);
}

static void pool_wait(struct pool *pool)
{
	struct pollfd fds[JOBS_MAX];
	int i;

	for (i = 0; i < pool->at_once; i++)
		fds[i] = (struct pollfd){ .fd = pool->jobs[i].fd, .events = POLLIN };
	if (poll(fds, (nfds_t)pool->at_once, -1) < 0)
		return;
	for (i = 0; i < pool->at_once; i++) {
		if (fds[i].revents)
			job_listen(pool, &pool->jobs[i]);
	}
}

static void pool_deliver(struct pool *pool)
{
	while (pool->told < pool->count && pool->done[pool->told]) {
		pool->sink->result(pool->sink->ctx, pool->told, &pool->verdicts[pool->told]);
		verdict_free(&pool->verdicts[pool->told++]);
	}
}

static void run_pool(struct pool *pool)
{
	int i, busy;

	for (;;) {
		busy = 0;
		for (i = 0; i < pool->at_once; i++) {
			while (pool->jobs[i].fd < 0 && pool->next < pool->count &&
			       !job_start(pool, &pool->jobs[i]))
				;
			busy += pool->jobs[i].fd >= 0;
		}
		pool_deliver(pool);
		if (!busy)
			return;
		pool_wait(pool);
	}
}

static void run_here(char *const *paths, size_t count, const struct options *options,
		     const struct jobs_sink *sink)
{
	struct verdict verdict;
	size_t i;

	for (i = 0; i < count; i++) {
		run_one(paths[i], options, &verdict);
		sink->result(sink->ctx, i, &verdict);
		verdict_free(&verdict);
	}
}

void jobs_run(char *const *paths, size_t count, const struct options *options, int at_once,
	      const struct jobs_sink *sink)
{
	struct pool pool = { .paths = paths, .count = count, .options = options, .sink = sink };
	int i;

	at_once = jobs_at_once(at_once);
	/* All scripts share one device: whatever one script leaves behind would disturb another. */
	if (at_once == 1 && !on_device()) {
		run_here(paths, count, options, sink);
		return;
	}
	pool.at_once = on_device() ? 1 : at_once;
	pool.jobs = mem_zero((size_t)pool.at_once, sizeof(*pool.jobs));
	pool.verdicts = mem_zero(count, sizeof(*pool.verdicts));
	pool.done = mem_zero(count, sizeof(*pool.done));
	for (i = 0; i < pool.at_once; i++)
		pool.jobs[i].fd = -1;
	run_pool(&pool);
	free(pool.jobs);
	free(pool.verdicts);
	free(pool.done);
}

int jobs_at_once(int wanted)
{
	long n = wanted ? wanted : sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > JOBS_MAX ? JOBS_MAX : (int)n;
}
