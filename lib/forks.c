/* SPDX-License-Identifier: BSD-3-Clause */
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
#include "object.h"

#define SCHEDULE_BYTES 32768
#define LEFT_NAMES     5
#define SETTINGS       "DATSIM_" /* what a schedule may set begins so */

static struct {
	bool asked; /* the environment was looked at */
	int fd;     /* where a run is told of; 0: nowhere */
} forks;

/* ---- telling ---- */

/* Nobody listens any more: that is seen at the next reading. */
static void __attribute__((format(printf, 1, 2))) tell(const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	while (send(forks.fd, line, strlen(line), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* A whole number and what stands behind it; -1: there is none. */
static long number_in(const char **text, char behind)
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

/* The socket, if this process is meant and it is one; -1: not. *once: it is not to fork. */
static int socket_asked_for(bool *once)
{
	const char *text = getenv("DATSIM_FORKS");
	int type = 0;
	socklen_t size = sizeof(type);
	long fd, pid;

	if (!text)
		return -1;
	*once = strlen(text) > 5 && strcmp(text + strlen(text) - 5, ":once") == 0;
	fd = number_in(&text, ':');
	pid = fd > STDERR_FILENO ? number_in(&text, *once ? ':' : '\0') : -1;
	if (pid != getpid() || getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &size) ||
	    type != SOCK_SEQPACKET)
		return -1;
	return (int)fd;
}

/* ---- one process for many ---- */

/* As the program has them, and as forking needs them. */
struct manners {
	struct sigaction child;
	struct itimerval alarm;
};

static void keep_manners(struct manners *manners)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	const struct itimerval none = { .it_value = { 0 } };

	sigaction(SIGCHLD, &usual, &manners->child);
	setitimer(ITIMER_REAL, &none, &manners->alarm);
}

static void restore_manners(const struct manners *manners)
{
	sigaction(SIGCHLD, &manners->child, NULL);
	setitimer(ITIMER_REAL, &manners->alarm, NULL);
}

/* Settings that are none are passed over. */
static void take_schedule(char *text)
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

static void wait_for(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	tell("ended %d", status);
}

/* Returns in the children only. */
static void serve(void)
{
	char schedule[SCHEDULE_BYTES];
	struct manners manners;
	ssize_t n;
	pid_t child;

	keep_manners(&manners);
	tell("ready");
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
			wait_for(child);
		else
			tell("cannot fork: error %d", errno);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	tell("child %d", (int)getpid());
	restore_manners(&manners);
	take_schedule(schedule);
}

/* One where they cannot be counted. */
static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
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
	fd = socket_asked_for(&once);
	if (fd < 0)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	forks.fd = fd;
	threads = count_threads();
	if (once)
		return;
	if (threads == 1)
		serve();
	else
		tell("threads %d", threads);
}

/* ---- what a run is told of ---- */

void forks_stuck(const char *why)
{
	const char *wanted = getenv("DATSIM_STUCK");

	if (forks.fd) {
		tell("stuck %s", why);
		raise(SIGKILL);
	}
	if (wanted && strcmp(wanted, "abort") == 0)
		abort();
}

/* " emu0.ia1 emu0.pz1": the first few. */
static void name_objects(struct backend *b, char *names, size_t room)
{
	struct adapter *adapter;
	struct ia *ia;
	struct obj *obj;
	unsigned int n = 0;
	char name[64];

	TAILQ_FOREACH(adapter, &b->adapters, link) {
		TAILQ_FOREACH(ia, &adapter->ias, link) {
			for (obj = &ia->obj; obj && n < LEFT_NAMES; n++) {
				obj_name(obj, name, sizeof(name));
				snprintf(names + strlen(names), room - strlen(names), " %s", name);
				obj = obj == &ia->obj ? TAILQ_FIRST(&ia->objects)
						      : TAILQ_NEXT(obj, in_ia);
			}
		}
	}
}

/* The process exits, and all that the program itself wanted to do at that is done. */
static void __attribute__((destructor)) tell_what_is_left(void)
{
	char names[512] = "";
	struct backend *b;
	unsigned int n = 0;

	if (!forks.fd)
		return;
	for (b = backend_next(NULL); b; b = backend_next(b)) {
		/* A thread that is in a call now will not come out of it. */
		if (!__libc_single_threaded && pthread_mutex_trylock(&b->lock))
			continue;
		for (unsigned int i = 0; i < OBJ_TYPES; i++)
			n += b->live[i];
		name_objects(b, names, sizeof(names));
		backend_unlock(b);
	}
	tell("left %u%s", n, names);
}
