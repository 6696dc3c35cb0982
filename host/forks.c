/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forks.c - the process that forks a child for each run of `datsim explore`, and the messages about
 * each run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend.h"
#include "forks.h"
#include "nic_process.h"

#define SCHEDULE_BYTES 32768
#define SETTINGS       "DATSIM_" /* prefix of the settings that a schedule may change */

static struct {
	bool asked; /* DATSIM_FORKS was read */
	int fd;     /* the socket to datsim explore; 0: none */
} forks;

/* ---- messages ---- */

/* If the other end is closed, the next recv finds out. */
static void __attribute__((format(printf, 1, 2))) forks_send(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	while (send(forks.fd, line, strlen(line), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* A whole number followed by `behind`, which is skipped; -1: there is none. */
static long forks_number(const char **text, char behind)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(*text, &end, 10);
	if (**text < '0' || **text > '9' || *end != behind || errno || n > INT32_MAX)
		return -1;
	*text = end + (behind != '\0');
	return n;
}

/* The socket, if DATSIM_FORKS names this process and a socket; else -1. *once: do not fork. */
static int forks_socket(bool *once)
{
	const char *text = process_env("DATSIM_FORKS");
	int type = 0;
	socklen_t size = sizeof(type);
	long fd, pid;

	if (!text)
		return -1;
	*once = strlen(text) > 5 && strcmp(text + strlen(text) - 5, ":once") == 0;
	fd = forks_number(&text, ':');
	pid = fd > STDERR_FILENO ? forks_number(&text, *once ? ':' : '\0') : -1;
	if (pid != getpid() || getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &size) ||
	    type != SOCK_SEQPACKET)
		return -1;
	return (int)fd;
}

/* ---- one process for many ---- */

/* The program's SIGCHLD handler and timer, which the forking process replaces. */
struct saved_settings {
	struct sigaction child;
	struct itimerval alarm;
};

static void forks_save_settings(struct saved_settings *saved)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	const struct itimerval none = { .it_value = { 0 } };

	sigaction(SIGCHLD, &by_default, &saved->child);
	setitimer(ITIMER_REAL, &none, &saved->alarm);
}

static void forks_restore_settings(const struct saved_settings *saved)
{
	sigaction(SIGCHLD, &saved->child, NULL);
	setitimer(ITIMER_REAL, &saved->alarm, NULL);
}

/* Lines that are no settings are ignored. */
static void forks_set_schedule(char *text)
{
	char *line, *rest = text, *equals;

	while ((line = strsep(&rest, "\n"))) {
		equals = strchr(line, '=');
		if (!equals || strncmp(line, SETTINGS, strlen(SETTINGS)) != 0)
			continue;
		*equals = '\0';
		setenv(line, equals + 1, 1);
	}
}

static void forks_wait_for(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	forks_send("ended %d", status);
}

/* Fork a child for each message. Returns in the children only. */
static void forks_serve(void)
{
	char schedule[SCHEDULE_BYTES];
	struct saved_settings saved;
	ssize_t n;
	pid_t child;

	forks_save_settings(&saved);
	forks_send("ready");
	for (;;) {
		n = recv(forks.fd, schedule, sizeof(schedule) - 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		schedule[n] = '\0';
		child = fork();
		if (child == 0)
			break;
		if (child > 0)
			forks_wait_for(child);
		else
			forks_send("cannot fork: error %d", errno);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	forks_send("child %d", (int)getpid());
	forks_restore_settings(&saved);
	forks_set_schedule(schedule);
}

/* 1 if they cannot be counted. */
static int forks_count_threads(void)
{
	DIR *dir = process_opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return 1;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

void forks_stop(void)
{
	bool once;
	int fd, threads;

	if (forks.asked)
		return;
	forks.asked = true;
	fd = forks_socket(&once);
	if (fd < 0)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	forks.fd = fd;
	threads = forks_count_threads();
	if (once)
		return;
	if (threads == 1)
		forks_serve();
	else
		forks_send("threads %d", threads);
}

/* ---- reports about a run ---- */

static bool forks_abort(void)
{
	const char *wanted = process_env("DATSIM_STUCK");

	return wanted && strcmp(wanted, "abort") == 0;
}

void forks_stuck(const char *why)
{
	if (forks.fd) {
		forks_send("stuck %s", why);
		raise(SIGKILL);
	}
	if (forks_abort())
		abort();
}

bool forks_stay_alone(void)
{
	if (forks.fd)
		forks_send("alone");
	return forks.fd || forks_abort();
}

/* At exit, after the program's own exit handlers. */
static void __attribute__((destructor)) forks_send_left(void)
{
	char names[512] = "";
	struct backend *b;
	unsigned int n = 0;

	if (!forks.fd)
		return;
	for (b = backend_next(NULL); b; b = backend_next(b)) {
		/* A thread that is inside a call now never returns from it. */
		if (!__libc_single_threaded && pthread_mutex_trylock(&b->lock))
			continue;
		for (int i = 0; i < HOST_FRONTS; i++)
			if (b->fronts[i])
				n += b->fronts[i]->ops->objects_left(b->fronts[i], names,
								     sizeof(names));
		backend_unlock(b);
	}
	forks_send("left %u%s", n, names);
}
