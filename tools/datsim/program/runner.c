/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts programs, or tells stopped ones to fork, and learns how each run ended. */
#include "runner.h"
#include "group.h"
#include "orphans.h"
#include "verbs_path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/datsim/commands.h"
#include "program_script.h"

#define TOLD_FD           198 /* a number that the program hardly uses */
#define READY_SECONDS     60
#define END_MS            5000 /* for a group to end its programs */
#define EXIT_SIGNAL_ABOVE 128

static double seconds_of(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return 0;
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- starting ---- */

static void __attribute__((noreturn))
be_program(const struct runners *runners, const struct runner *runner, int fd, const char *settings)
{
	int errors = runners->errors >= 0 ? runners->errors : runner->words;
	const struct rlimit no_core = { 0, 0 };
	int nowhere = open("/dev/null", O_RDWR);
	char meant[48];

	/* A group ends its programs and removes its fabric, even if this process is killed. */
	prctl(PR_SET_PDEATHSIG, runners->several ? SIGTERM : SIGKILL);
	ended_child(runners->ended);
	setrlimit(RLIMIT_CORE, &no_core);
	setpgid(0, 0);
	if (settings)
		settings_set(settings);
	verbs_path_set(runners->several != NULL);
	/* By default UBSan only prints a report and goes on; here a report has to fail the run. */
	setenv("UBSAN_OPTIONS", "halt_on_error=1", 0);
	if (nowhere >= 0) {
		dup2(nowhere, STDIN_FILENO);
		dup2(nowhere, STDOUT_FILENO);
		dup2(errors >= 0 ? errors : nowhere, STDERR_FILENO);
	}
	if (runners->several && settings)
		group_run(runners->several, fd, runners->seconds);
	if (runners->several)
		group_serve(runners->several, fd, runners->seconds);
	snprintf(meant, sizeof(meant), "%d:%d%s", TOLD_FD, (int)getpid(), settings ? ":once" : "");
	setenv("DATSIM_FORKS", meant, 1);
	dup2(fd, TOLD_FD);
	program_exec(runners->argv);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool runner_start(const struct runners *runners, struct runner *runner, const char *settings)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		goto fail;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		be_program(runners, runner, ends[1], settings);
	if (pid < 0)
		goto close_ends;
	runner->process = (int)syscall(SYS_pidfd_open, pid, 0);
	if (runner->process < 0)
		goto kill_it;
	close(ends[1]);
	runner->fd = ends[0];
	runner->started = pid;
	runner->running = settings ? pid : 0;
	runner->ready = false;
	runner->forks = settings == NULL;
	runner->threads = 0;
	runner->anew[0] = '\0';
	return true;

kill_it:
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
close_ends:
	close(ends[0]);
	close(ends[1]);
fail:
	usage_error("explore", "cannot start another process: %s", strerror(errno));
	return false;
}

/* Let a group kill its programs and remove its fabric. */
static void end_group(const struct runner *runner)
{
	struct pollfd ends = { .fd = runner->process, .events = POLLIN };

	kill(runner->started, SIGTERM);
	poll(&ends, 1, END_MS);
}

/* Wait for a process that ended, or that is ended by closing its socket. Returns its status. */
static int runner_stop(const struct runners *runners, struct runner *runner, bool kill_it)
{
	bool group = runners->several != NULL;
	char fabric[FABRIC_NAME];
	int status = 0;

	close_fd(&runner->fd);
	if (runner->started > 0) {
		if (group)
			programs_name_fabric(runner->started, fabric);
		if (kill_it && group)
			end_group(runner);
		else if (kill_it && runner->busy && runner->running > 0)
			kill(-runner->running, SIGKILL);
		/* What it leaves in its process group ends with it. */
		if (!group)
			kill(-runner->started, SIGKILL);
		if (kill_it || group)
			kill(group ? -runner->started : runner->started, SIGKILL);
		while (waitpid(runner->started, &status, 0) < 0 && errno == EINTR)
			;
		if (group)
			orphans_leave_fabric(fabric);
	}
	close_fd(&runner->process);
	runner->started = 0;
	return status;
}

/* ---- a run ---- */

/* The program, and all that it forks, share the offset. */
static void runner_forget_said(const struct runner *runner)
{
	if (runner->words >= 0 && !ftruncate(runner->words, 0))
		lseek(runner->words, 0, SEEK_SET);
}

bool runner_begin(struct runners *runners, struct runner *runner, const char *settings)
{
	struct text text = { 0 };

	runner->began = seconds_of(CLOCK_MONOTONIC);
	runner->running = 0;
	runner->hung = runner->alone = runner->has_said = runner->outside = false;
	runner->left = 0;
	runner->said_left[0] = runner->said_stuck[0] = '\0';
	runner_forget_said(runner);
	if (runners->several)
		runner->running = runner->started;
	runner_add_trace(runners, runner, settings, &text);
	/* One whose process was killed, because its programs went on for too long, starts anew. */
	if (runners->starts_anew || runner->fd < 0)
		runner->busy = runner_start(runners, runner, text_of(&text));
	else
		runner->busy = send(runner->fd, text_of(&text), text.length, MSG_NOSIGNAL) >= 0;
	text_free(&text);
	return runner->busy;
}

static void runner_finish(const struct runners *runners, struct runner *runner, int status)
{
	struct outcome *outcome = &runner->outcome;

	runner->busy = false;
	*outcome = (struct outcome){ .how = ENDED_WELL, .alone = runner->alone };
	if (runner->has_said) {
		*outcome = runner->said;
	} else if (runner->said_stuck[0]) {
		outcome->how = ENDED_STUCK;
		strcpy(outcome->what, runner->said_stuck);
	} else if (runner->hung) {
		outcome->how = ENDED_HUNG;
	} else if (WIFSIGNALED(status)) {
		outcome->how = ENDED_SIGNAL;
		outcome->code = WTERMSIG(status);
	} else if (WEXITSTATUS(status)) {
		outcome->how = ENDED_CODE;
		outcome->code = WEXITSTATUS(status);
	} else if (runner->left && !runners->leaves) {
		outcome->how = ENDED_LEFT;
		outcome->code = (int)runner->left;
		strcpy(outcome->what, runner->said_left);
	}
	runner_check_trace(runners, runner);
}

static void runner_understand(const struct runners *runners, struct runner *runner,
			      const char *message)
{
	const char *rest = strchr(message, ' ');
	char *names;

	rest = rest ? rest + 1 : "";
	if (!strncmp(message, "ready", 5)) {
		runner->ready = true;
	} else if (!strncmp(message, "threads", 7)) {
		runner->threads = (unsigned int)strtoul(rest, NULL, 10);
	} else if (!strncmp(message, "anew", 4)) {
		snprintf(runner->anew, sizeof(runner->anew), "%s", rest);
	} else if (!strncmp(message, "child", 5)) {
		runner->running = (pid_t)strtol(rest, NULL, 10);
	} else if (!strncmp(message, "alone", 5)) {
		runner->alone = true;
	} else if (!strncmp(message, "stuck", 5)) {
		snprintf(runner->said_stuck, sizeof(runner->said_stuck), "%s", rest);
	} else if (!strncmp(message, "left", 4)) {
		runner->left = (unsigned int)strtoul(rest, &names, 10);
		snprintf(runner->said_left, sizeof(runner->said_left), "%s", names);
	} else if (!strncmp(message, "ended", 5) && runner->busy) {
		runner_finish(runners, runner, (int)strtol(rest, NULL, 10));
	}
}

/* A group reports by one message, of bytes: group.h. */
static bool runner_understand_group(struct runner *runner, const char *message, size_t length)
{
	struct group_end end;

	if (length != sizeof(end) || memcmp(message, GROUP_TAG, sizeof(GROUP_TAG)) != 0)
		return false;
	memcpy(&end, message, sizeof(end));
	runner->said = end.outcome;
	runner->has_said = true;
	runner->outside = end.outside;
	return true;
}

/* False: the other end is closed. */
static bool runner_hear(const struct runners *runners, struct runner *runner)
{
	char message[sizeof(struct group_end) + 200];
	ssize_t n;

	for (;;) {
		n = recv(runner->fd, message, sizeof(message) - 1, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		if (n < 0)
			return true;
		message[n] = '\0';
		if (runners->several && runner_understand_group(runner, message, (size_t)n)) {
			if (runner->forks && runner->busy)
				runner_finish(runners, runner, 0);
			continue;
		}
		runner_understand(runners, runner, message);
	}
}

static void end_if_too_long(const struct runners *runners, struct runner *runner)
{
	double wall = seconds_of(CLOCK_MONOTONIC) - runner->began;
	clockid_t clock;

	if (!runner->busy || runner->hung || wall < runners->seconds || runner->running <= 0)
		return;
	/* A group watches the time itself. */
	if (runners->several && wall < 10 * runners->seconds + END_MS / 1e3)
		return;
	if (wall < 10 * runners->seconds &&
	    (clock_getcpuclockid(runner->running, &clock) || seconds_of(clock) < runners->seconds))
		return;
	runner->hung = true;
	kill(-runner->running, SIGKILL);
	kill(runner->running, SIGKILL);
}

/*
 * The started process has ended: it was the run itself, or the parent of all runs of this runner.
 */
static void process_ended(const struct runners *runners, struct runner *runner)
{
	int status;

	if (runner->fd >= 0)
		runner_hear(runners, runner);
	status = runner_stop(runners, runner, false);
	/*
	 * A run that it had forked is lost with it: no process is left that could report its
	 * status.
	 */
	if (runner->busy)
		runner_finish(runners, runner, runners->starts_anew ? status : SIGKILL);
}

static void runners_look(struct runners *runners, short which, int timeout_ms)
{
	struct pollfd fds[2 * RUNNERS_MAX];
	int i;

	for (i = 0; i < runners->count; i++) {
		fds[2 * i] = (struct pollfd){ .fd = runners->list[i].fd, .events = which };
		fds[2 * i + 1] =
			(struct pollfd){ .fd = runners->list[i].process, .events = POLLIN };
	}
	if (poll(fds, 2 * (nfds_t)runners->count, timeout_ms) < 0)
		return;
	for (i = 0; i < runners->count; i++) {
		if (fds[2 * i].revents && !runner_hear(runners, &runners->list[i]))
			close_fd(&runners->list[i].fd);
		if (fds[2 * i + 1].revents)
			process_ended(runners, &runners->list[i]);
		end_if_too_long(runners, &runners->list[i]);
	}
}

void runners_wait(struct runners *runners)
{
	runners_look(runners, POLLIN, 100);
	if (runners->tick)
		runners->tick(runners->tick_ctx);
}

double runners_longest(const struct runners *runners)
{
	double now = seconds_of(CLOCK_MONOTONIC), longest = 0;

	for (int i = 0; i < runners->count; i++)
		if (runners->list[i].busy && now - runners->list[i].began > longest)
			longest = now - runners->list[i].began;
	return longest;
}

bool runner_run(struct runners *runners, const char *settings, struct outcome *outcome)
{
	struct runner *runner = &runners->list[0];

	if (ended_asked(runners->ended) || !runner_begin(runners, runner, settings))
		return false;
	while (runner->busy && !ended_asked(runners->ended))
		runners_wait(runners);
	if (runner->busy)
		return false;
	*outcome = runner->outcome;
	return true;
}

/* ---- all of them ---- */

/* Can all runners fork? 0: yes; N: no, the program has N threads; -1: no answer. */
static int wait_until_ready(struct runners *runners)
{
	double until = seconds_of(CLOCK_MONOTONIC) + READY_SECONDS;
	struct runner *runner;
	int i;

	for (i = 0; i < runners->count; i++) {
		runner = &runners->list[i];
		while (!runner->ready) {
			if (runner->threads)
				return (int)runner->threads;
			if (runner->anew[0])
				return -1;
			if (runner->fd < 0 || runner->started == 0 || ended_asked(runners->ended) ||
			    seconds_of(CLOCK_MONOTONIC) > until)
				return -1;
			runners_wait(runners);
		}
	}
	return 0;
}

/*
 * Two runs from the fork must end well; otherwise the state from before the fork does not allow a
 * second run.
 */
static bool forks_well(struct runners *runners)
{
	struct outcome outcome;
	int i;

	for (i = 0; i < 2; i++) {
		if (!runner_run(runners, "\n", &outcome) || outcome.how != ENDED_WELL)
			return false;
	}
	return true;
}

/* The first of several programs that cannot be forked; "": all can. */
static const char *cannot_fork(const struct runners *runners)
{
	for (int i = 0; i < runners->count; i++)
		if (runners->list[i].anew[0])
			return runners->list[i].anew;
	return "";
}

static void tell_anew(const struct runners *runners, int why)
{
	const char *program = runners->argv[0];

	if (runners->several && *cannot_fork(runners))
		fprintf(stderr, "%s: each program is started anew for each schedule\n",
			cannot_fork(runners));
	else if (runners->several)
		fprintf(stderr,
			"the programs cannot go on twice from where they open their fabric: each "
			"is started anew for each schedule\n");
	else if (why > 0)
		fprintf(stderr,
			"%s has %d threads when it opens its fabric: it is started anew for each "
			"schedule\n",
			program, why);
	else if (why == 0)
		fprintf(stderr,
			"%s cannot go on twice from where it opens its fabric: it is started anew "
			"for each schedule\n",
			program);
	else
		fprintf(stderr, "%s opens no fabric itself: it is started anew for each schedule\n",
			program);
}

void runners_start(struct runners *runners)
{
	int i, why = 0;

	for (i = 0; i < runners->count; i++) {
		runners->list[i] = (struct runner){ .fd = -1, .process = -1, .words = -1 };
		if (runners->quotes)
			runners->list[i].words = memfd_create("said", MFD_CLOEXEC);
		if (!runners->starts_anew && !runner_start(runners, &runners->list[i], NULL))
			runners->starts_anew = true;
	}
	if (runners->starts_anew)
		return;
	why = wait_until_ready(runners);
	if (why == 0 && forks_well(runners))
		return;
	runners_end(runners);
	runners->starts_anew = true;
	if (ended_asked(runners->ended))
		return;
	tell_anew(runners, why);
}

void runners_end(struct runners *runners)
{
	int i;

	for (i = 0; i < runners->count; i++) {
		runner_stop(runners, &runners->list[i], true);
		close_fd(&runners->list[i].words);
	}
}
