/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forks.c - the process that forks a child for each run of `datsim explore`, and the messages about
 * each run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend.h"
#include "forks.h"
#include "nic_process.h"
#include "outside/outside.h"

#define SCHEDULE_BYTES 32768
#define SETTINGS       "DATSIM_" /* prefix of the settings that a schedule may change */

enum forks_how {
	FORKS_ALONE,
	FORKS_SEVERAL,
	FORKS_ONCE /* it does not fork */
};

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

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && strcmp(text + n - m, end) == 0;
}

/* The socket, if DATSIM_FORKS names this process and a socket; else -1. *how: the rest of it. */
static int forks_socket(enum forks_how *how)
{
	const char *text = process_env("DATSIM_FORKS");
	int type = 0;
	socklen_t size = sizeof(type);
	long fd, pid;

	if (!text)
		return -1;
	*how = ends_with(text, ":once")      ? FORKS_ONCE
	       : ends_with(text, ":several") ? FORKS_SEVERAL
					     : FORKS_ALONE;
	fd = forks_number(&text, ':');
	pid = fd > STDERR_FILENO ? forks_number(&text, *how == FORKS_ALONE ? '\0' : ':') : -1;
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
	siginfo_t info;
	int status = 0;

	/* What the run leaves in its process group ends with it. The number is not reused before
	 * it is reaped. */
	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	kill(-child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	forks_send("ended %d", status);
}

/*
 * Fork a child whose parent is this process's own parent, a subreaper: a process in between forks
 * it and ends at once. Returns true in the child, once it has been adopted.
 */
static bool forks_for_parent(pid_t *made)
{
	pid_t between = fork(), child;

	if (between == 0) {
		between = getpid();
		child = fork();
		if (child) {
			*made = child;
			_exit(0);
		}
		while (getppid() == between)
			sched_yield();
		return true;
	}
	if (between < 0)
		*made = -1;
	while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
		;
	forks_send("child %d", (int)*made);
	return false;
}

/* The same for a child of its own, and waits for it. */
static bool forks_for_itself(void)
{
	pid_t child = fork();

	if (child == 0)
		return true;
	if (child > 0)
		forks_wait_for(child);
	else
		forks_send("cannot fork: error %d", errno);
	return false;
}

/* Fork a child for each message. Returns in the children only. */
static void forks_serve(pid_t *made)
{
	char schedule[SCHEDULE_BYTES];
	struct saved_settings saved;
	ssize_t n;

	forks_save_settings(&saved);
	forks_send("ready");
	for (;;) {
		n = recv(forks.fd, schedule, sizeof(schedule) - 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		schedule[n] = '\0';
		if (made ? forks_for_parent(made) : forks_for_itself())
			break;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (made) {
		close(forks.fd);
		forks.fd = 0;
	} else {
		setpgid(0, 0);
		forks_send("child %d", (int)getpid());
	}
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

static bool is_shared(const char *what)
{
	static const char *const kinds[] = { "socket:", "pipe:", "anon_inode:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(what, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

/*
 * Is there a descriptor that all children would share, and each would need for itself? The first
 * eventfd is that of libdat-turns.so, which only threads look at that wait before the fabric.
 */
static bool forks_holds(char *what, size_t size)
{
	DIR *dir = process_opendir("/proc/self/fd");
	bool found = false, own = libdat_outside_meet != NULL;
	struct dirent *entry;
	ssize_t n;

	while (dir && !found && (entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, what, size - 1);
		if (n <= 0 || atoi(entry->d_name) <= STDERR_FILENO ||
		    atoi(entry->d_name) == forks.fd)
			continue;
		what[n] = '\0';
		found = is_shared(what);
		if (found && own && strcmp(what, "anon_inode:[eventfd]") == 0)
			found = own = false;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* One of several programs. The page tells it the id of a child that another process has made. */
static void forks_stop_several(int threads)
{
	char what[64];
	pid_t *made = MAP_FAILED;

	if (threads != 1)
		forks_send("threads %d", threads);
	else if (forks_holds(what, sizeof(what)))
		forks_send("holds %s", what);
	else
		made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	if (made != MAP_FAILED) {
		forks_serve(made);
		munmap(made, sizeof(*made));
		return;
	}
	close(forks.fd);
	forks.fd = 0;
}

void forks_stop(void)
{
	enum forks_how how;
	int fd, threads;

	/* The first calls of two threads may come at once. */
	if (__atomic_exchange_n(&forks.asked, true, __ATOMIC_RELAXED))
		return;
	fd = forks_socket(&how);
	if (fd < 0)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	forks.fd = fd;
	threads = forks_count_threads();
	if (how == FORKS_ONCE)
		return;
	if (how == FORKS_SEVERAL)
		forks_stop_several(threads);
	else if (threads == 1)
		forks_serve(NULL);
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
