/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several programs that fork for each schedule of datsim explore: group.h.
 *
 * Each program is started once and stops where it opens its fabric. For a run it forks a child,
 * which becomes one of this process, a subreaper: from then on the run is as if this process had
 * started the programs itself (programs.c).
 */
#include "group.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "orphans.h"
#include "program_script.h"

#define TOLD_FD        198 /* a number that the program hardly uses */
#define READY_MS       20000
#define PREEMPT_MS     "50"
#define SETTINGS_BYTES 32768
#define SETTINGS_MOST  64

extern char **environ;

/* ---- the environment of a run ---- */

struct setting_before {
	char *name, *value; /* NULL: it was not set */
};

static size_t set_settings(char *lines, struct setting_before *before)
{
	char *line, *equals;
	const char *old;
	size_t n = 0;

	while ((line = strsep(&lines, "\n"))) {
		equals = strchr(line, '=');
		if (!equals || n == SETTINGS_MOST)
			continue;
		*equals = '\0';
		old = getenv(line);
		before[n].name = strdup(line);
		before[n++].value = old ? strdup(old) : NULL;
		setenv(line, equals + 1, 1);
	}
	return n;
}

static void restore_settings(struct setting_before *before, size_t n)
{
	while (n-- > 0) {
		if (before[n].value)
			setenv(before[n].name, before[n].value, 1);
		else
			unsetenv(before[n].name);
		free(before[n].name);
		free(before[n].value);
	}
}

/* ---- a program that forks ---- */

static void __attribute__((noreturn))
be_stopped_program(const struct programs *programs, int i, int fd)
{
	char meant[48];
	int now = personality(0xffffffff);

	ended_child(programs->ended);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (now >= 0)
		personality((unsigned long)now | ADDR_NO_RANDOMIZE);
	snprintf(meant, sizeof(meant), "%d:%d:several", TOLD_FD, (int)getpid());
	setenv("DATSIM_FORKS", meant, 1);
	setenv("DATSIM_NODE", programs->one[i].name, 1);
	dup2(fd, TOLD_FD);
	program_exec(programs->one[i].argv);
}

/* The next message of a program; false: it has ended, or says nothing. */
static bool hear_program(int fd, int ms, char *text, size_t size)
{
	struct pollfd said = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (poll(&said, 1, ms) != 1)
		return false;
	n = recv(fd, text, size - 1, MSG_DONTWAIT);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Start a program, and wait until it stops. False: *why it does not. */
static bool stop_program(struct programs *programs, int i, struct text *why)
{
	char said[256];
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	pid = fork();
	if (pid == 0)
		be_stopped_program(programs, i, ends[1]);
	close(ends[1]);
	programs->fork_fd[i] = ends[0];
	programs->kept[i] = pid;
	if (pid > 0 && hear_program(ends[0], READY_MS, said, sizeof(said))) {
		if (!strcmp(said, "ready"))
			return true;
		if (!strncmp(said, "holds ", 6))
			text_add(why, "%s has %s when it opens its fabric", programs->one[i].name,
				 said + 6);
		else
			text_add(why, "%s has several threads when it opens its fabric",
				 programs->one[i].name);
	} else {
		text_add(why, "%s does not come to where it opens its fabric",
			 programs->one[i].name);
	}
	return false;
}

/* What the run's environment has for libdat. */
static void add_environment(struct text *lines)
{
	for (char **at = environ; *at; at++)
		if (!strncmp(*at, "DATSIM_", 7) && strncmp(*at, "DATSIM_FORKS=", 13) != 0)
			text_add(lines, "%s\n", *at);
}

pid_t group_fork(const struct programs *programs, int i)
{
	struct text lines = { 0 };
	char said[256];
	pid_t pid = -1;
	int fd = programs->fork_fd[i];

	add_environment(&lines);
	text_add(&lines, "DATSIM_NODE=%s\n", programs->one[i].name);
	if (programs->one[i].back_ns)
		text_add(&lines, "DATSIM_BACK_NS=%llu\n" FAULTS_VARIABLE "=%s\n",
			 (unsigned long long)programs->one[i].back_ns, programs->one[i].faults);
	if (send(fd, text_of(&lines), lines.length, MSG_NOSIGNAL) >= 0 &&
	    hear_program(fd, READY_MS, said, sizeof(said)) && !strncmp(said, "child ", 6))
		pid = (pid_t)strtol(said + 6, NULL, 10);
	text_free(&lines);
	errno = EAGAIN;
	return pid > 0 ? pid : -1;
}

/* ---- all runs ---- */

static void send_message(int fd, const void *message, size_t length)
{
	while (send(fd, message, length, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* One run. The programs themselves are left as they were for the next one. */
static void serve_one(const struct programs *programs, int fd, char *settings)
{
	struct setting_before before[SETTINGS_MOST];
	struct group_end end = { .tag = GROUP_TAG };
	struct programs run = *programs;
	size_t n = set_settings(settings, before);
	int code = programs_run(&run);

	group_outcome(&run, &end.outcome);
	/* No program is to blame: there is no fabric, or no process. stderr says why. */
	if (code != 0 && end.outcome.how == ENDED_WELL)
		_exit(code);
	restore_settings(before, n);
	send_message(fd, &end, sizeof(end));
}

static void stop_all(struct programs *programs, int fd)
{
	struct text why = { 0 };

	/* None can have this name: a program that does not stop ends with an error. */
	setenv("DATSIM_FABRIC", "of/a/run", 1);
	setenv("DATSIM_LOCKSTEP", PREEMPT_MS, 0);
	text_add(&why, "anew ");
	for (int i = 0; i < programs->count; i++) {
		if (stop_program(programs, i, &why))
			continue;
		send_message(fd, text_of(&why), why.length);
		_exit(EXIT_PASS);
	}
	text_free(&why);
	send_message(fd, "ready", 5);
}

/* Above all the other end of the socket: its end ends this process, too. */
static void close_others(int fd)
{
	if (fd > STDERR_FILENO + 1)
		syscall(SYS_close_range, STDERR_FILENO + 1, fd - 1, 0);
	syscall(SYS_close_range, fd + 1, ~0u, 0);
}

void group_serve(const struct programs *programs, int fd, double seconds)
{
	static char settings[SETTINGS_BYTES];
	struct programs mine = *programs;
	struct ended ended;
	ssize_t n;

	ended_watch(&ended);
	mine.ended = &ended;
	mine.limit = seconds;
	close_others(fd);
	orphans_adopt(NULL, 0);
	stop_all(&mine, fd);
	while (!ended.by) {
		n = recv(fd, settings, sizeof(settings) - 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		settings[n] = '\0';
		serve_one(&mine, fd, settings);
	}
	_exit(EXIT_PASS);
}
