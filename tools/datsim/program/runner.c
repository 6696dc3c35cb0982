/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts programs, or tells stopped ones to fork, and learns how each run ended. */
#include "runner.h"
#include "verbs_path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/datsim/commands.h"
#include "program_script.h"
#include "tools/datsim/files.h"
#include "watch.h"

#define TOLD_FD           198 /* a number that the program hardly uses */
#define READY_SECONDS     60
#define EXIT_NO_PROGRAM   127
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
be_program(const struct runners *runners, int fd, const char *settings)
{
	const struct rlimit no_core = { 0, 0 };
	int nowhere = open("/dev/null", O_RDWR);
	char meant[48];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ended_child(runners->ended);
	setrlimit(RLIMIT_CORE, &no_core);
	if (settings) {
		setpgid(0, 0);
		settings_set(settings);
	}
	snprintf(meant, sizeof(meant), "%d:%d%s", TOLD_FD, (int)getpid(), settings ? ":once" : "");
	setenv("DATSIM_FORKS", meant, 1);
	verbs_path_set(false);
	/* By default UBSan only prints a report and goes on; here a report has to fail the run. */
	setenv("UBSAN_OPTIONS", "halt_on_error=1", 0);
	if (nowhere >= 0) {
		dup2(nowhere, STDIN_FILENO);
		dup2(nowhere, STDOUT_FILENO);
		dup2(runners->errors >= 0 ? runners->errors : nowhere, STDERR_FILENO);
	}
	dup2(fd, TOLD_FD);
	execvp(runners->argv[0], runners->argv);
	_exit(EXIT_NO_PROGRAM);
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
		be_program(runners, ends[1], settings);
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
	runner->threads = 0;
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

/* Wait for a process that ended, or that is ended by closing its socket. Returns its status. */
static int runner_stop(struct runner *runner, bool kill_it)
{
	int status = 0;

	close_fd(&runner->fd);
	if (runner->started > 0) {
		if (kill_it && runner->busy && runner->running > 0)
			kill(-runner->running, SIGKILL);
		if (kill_it)
			kill(runner->started, SIGKILL);
		while (waitpid(runner->started, &status, 0) < 0 && errno == EINTR)
			;
	}
	close_fd(&runner->process);
	runner->started = 0;
	return status;
}

/* ---- the trace of a run ---- */

void runner_trace(const struct runners *runners, int which, struct text *path)
{
	text_add(path, "%s/trace%d", runners->traces, which);
}

static int number_of(const struct runners *runners, const struct runner *runner)
{
	return (int)(runner - runners->list);
}

/* Settings of a run, and where its trace goes. */
static void add_trace(const struct runners *runners, const struct runner *runner,
		      const char *settings, struct text *text)
{
	struct text path = { 0 };

	text_add(text, "%s", settings);
	if (!runners->traces)
		return;
	runner_trace(runners, number_of(runners, runner), &path);
	unlink(text_of(&path));
	text_add(text, "DATSIM_TRACE=%s\n", text_of(&path));
	text_free(&path);
}

/* "RULE: OBJECT WHAT...": the first of the lines "checker: RULE: ...". */
static void tell_first(const struct watch *watch, struct outcome *outcome)
{
	const char *line = text_of(&watch->violations), *rule = strchr(line, ' ');

	line = rule ? rule + 1 : line;
	snprintf(outcome->what, sizeof(outcome->what), "%.*s", (int)strcspn(line, "\n"), line);
}

/* A program that failed need not have a whole trace. */
static void check_trace(const struct runners *runners, const struct runner *runner,
			struct outcome *outcome)
{
	struct text path = { 0 }, content = { 0 }, error = { 0 };
	struct watch watch;

	if (!runners->traces || (outcome->how != ENDED_WELL && outcome->how != ENDED_LEFT))
		return;
	runner_trace(runners, number_of(runners, runner), &path);
	if (read_whole(text_of(&path), TRACE_BYTES_MAX, &content, &error)) {
		watch_read(&watch, text_of(&content), content.length);
		if (watch.violation_count > 0) {
			outcome->how = ENDED_WRONG;
			tell_first(&watch, outcome);
		}
		watch_free(&watch);
	}
	text_free(&error);
	text_free(&content);
	text_free(&path);
}

/* ---- a run ---- */

bool runner_begin(struct runners *runners, struct runner *runner, const char *settings)
{
	struct text text = { 0 };

	runner->began = seconds_of(CLOCK_MONOTONIC);
	runner->running = 0;
	runner->hung = runner->alone = false;
	runner->left = 0;
	runner->said_left[0] = runner->said_stuck[0] = '\0';
	add_trace(runners, runner, settings, &text);
	if (runners->starts_anew)
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
	if (runner->said_stuck[0]) {
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
	check_trace(runners, runner, outcome);
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

/* False: the other end is closed. */
static bool runner_hear(const struct runners *runners, struct runner *runner)
{
	char message[1200];
	ssize_t n;

	for (;;) {
		n = recv(runner->fd, message, sizeof(message) - 1, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		if (n < 0)
			return true;
		message[n] = '\0';
		runner_understand(runners, runner, message);
	}
}

static void end_if_too_long(const struct runners *runners, struct runner *runner)
{
	double wall = seconds_of(CLOCK_MONOTONIC) - runner->began;
	clockid_t clock;

	if (!runner->busy || runner->hung || wall < runners->seconds || runner->running <= 0)
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
	status = runner_stop(runner, false);
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

void runners_start(struct runners *runners)
{
	int i, why = 0;

	for (i = 0; i < runners->count; i++) {
		runners->list[i] = (struct runner){ .fd = -1, .process = -1 };
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
	if (why > 0)
		fprintf(stderr,
			"%s has %d threads when it opens its fabric: it is started anew for each "
			"schedule\n",
			runners->argv[0], why);
	else if (why == 0)
		fprintf(stderr,
			"%s cannot go on twice from where it opens its fabric: it is started anew "
			"for each schedule\n",
			runners->argv[0]);
	else
		fprintf(stderr, "%s opens no fabric itself: it is started anew for each schedule\n",
			runners->argv[0]);
}

void runners_end(struct runners *runners)
{
	int i;

	for (i = 0; i < runners->count; i++)
		runner_stop(&runners->list[i], true);
}

/* ---- outcomes ---- */

bool same_outcome(const struct outcome *a, const struct outcome *b)
{
	size_t rule = strcspn(a->what, ":");

	if (a->how == ENDED_WRONG && b->how == ENDED_WRONG)
		return !strncmp(a->what, b->what, rule) && b->what[rule] == a->what[rule];
	return a->how == b->how && (a->how == ENDED_LEFT || a->code == b->code);
}

void outcome_add(struct text *text, const struct outcome *outcome)
{
	switch (outcome->how) {
	case ENDED_WELL:
		text_add(text, "ends well");
		break;
	case ENDED_CODE:
		text_add(text, "exits with %d", outcome->code);
		break;
	case ENDED_SIGNAL:
		text_add(text, "is ended by signal %d (%s)", outcome->code,
			 strsignal(outcome->code));
		break;
	case ENDED_STUCK:
		text_add(text, "is stuck (%s)", outcome->what);
		break;
	case ENDED_HUNG:
		text_add(text, "hangs (it was ended after a while)");
		break;
	case ENDED_LEFT:
		text_add(text, "leaves %d objects (%s)", outcome->code,
			 outcome->what + strspn(outcome->what, " "));
		break;
	case ENDED_WRONG:
		text_add(text, "breaks a rule of the checkers (%s)", outcome->what);
		break;
	}
}

int outcome_code(const struct outcome *outcome)
{
	switch (outcome->how) {
	case ENDED_WELL:
		break;
	case ENDED_CODE:
		return outcome->code;
	case ENDED_SIGNAL:
		return EXIT_SIGNAL_ABOVE + outcome->code;
	case ENDED_STUCK:
	case ENDED_HUNG:
		return EXIT_NOT_QUIET;
	case ENDED_LEFT:
	case ENDED_WRONG:
		return EXIT_CHECKER;
	}
	return EXIT_PASS;
}
