/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_process.c - processes that a program in lockstep starts, and waits for. A child takes its
 * place among the others before its parent goes on, and so does a new program; turns_start.c says
 * how. A child of vfork is one of fork: it does not share its parent's memory.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "turns.h"
#include "host/nic_process.h"

#define ARGS_MOST 4096 /* of execl and its like */

/* ---- starting ---- */

/* Give the parent its id now: its child may ask for it before the parent does. */
static void bear_child(void)
{
	turns_pid_shown(REAL(getpid)());
	turns_bear();
}

static pid_t fork_in_turn(void)
{
	pid_t pid;

	bear_child();
	pid = REAL(fork)();
	if (pid == 0)
		turns_attend();
	else
		turns_born(pid);
	return pid > 0 ? turns_pid_shown(pid) : pid;
}

pid_t turns_fork(void) __asm__("fork");
pid_t turns_fork(void)
{
	return PROGRAM ? fork_in_turn() : REAL(fork)();
}

/* The real one cannot be called from a function that returns before the child is done. */
pid_t turns_vfork(void) __asm__("vfork");
pid_t turns_vfork(void)
{
	return PROGRAM ? fork_in_turn() : REAL(fork)();
}

typedef int spawn_function(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);

static int spawn_in_turn(spawn_function *spawn, pid_t *out, const char *path,
			 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
			 char *const argv[], char *const envp[])
{
	pid_t pid = 0;
	int err;

	bear_child();
	err = spawn(&pid, path, actions, attr, argv, envp);
	turns_born(err ? 0 : pid);
	if (!err && out)
		*out = turns_pid_shown(pid);
	return err;
}

spawn_function turns_posix_spawn __asm__("posix_spawn");
int turns_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	if (!PROGRAM)
		return REAL(posix_spawn)(pid, path, actions, attr, argv, envp);
	return spawn_in_turn(REAL(posix_spawn), pid, path, actions, attr, argv, envp);
}

spawn_function turns_posix_spawnp __asm__("posix_spawnp");
int turns_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	if (!PROGRAM)
		return REAL(posix_spawnp)(pid, file, actions, attr, argv, envp);
	return spawn_in_turn(REAL(posix_spawnp), pid, file, actions, attr, argv, envp);
}

int turns_spawn(const char *path, const posix_spawn_file_actions_t *actions, char *const argv[],
		pid_t *pid)
{
	return spawn_in_turn(REAL(posix_spawn), pid, path, actions, NULL, argv,
			     process_environment());
}

/* ---- another program in this process ---- */

enum exec_kind {
	EXEC_PATH,
	EXEC_FILE,
	EXEC_FD
};

/* It leaves the fabric in between. If it fails, the process joins again. */
static int exec_in_turn(bool ours, enum exec_kind kind, const char *path, int fd,
			char *const argv[], char *const envp[])
{
	int result, err;

	if (ours)
		turns_end();
	if (kind == EXEC_PATH)
		result = REAL(execve)(path, argv, envp);
	else if (kind == EXEC_FILE)
		result = REAL(execvpe)(path, argv, envp);
	else
		result = REAL(fexecve)(fd, argv, envp);
	err = errno;
	if (ours)
		turns_attend();
	errno = err;
	return result;
}

int turns_execve(const char *path, char *const argv[], char *const envp[]) __asm__("execve");
int turns_execve(const char *path, char *const argv[], char *const envp[])
{
	return exec_in_turn(PROGRAM, EXEC_PATH, path, -1, argv, envp);
}

int turns_execv(const char *path, char *const argv[]) __asm__("execv");
int turns_execv(const char *path, char *const argv[])
{
	return exec_in_turn(PROGRAM, EXEC_PATH, path, -1, argv, process_environment());
}

int turns_execvp(const char *file, char *const argv[]) __asm__("execvp");
int turns_execvp(const char *file, char *const argv[])
{
	return exec_in_turn(PROGRAM, EXEC_FILE, file, -1, argv, process_environment());
}

int turns_execvpe(const char *file, char *const argv[], char *const envp[]) __asm__("execvpe");
int turns_execvpe(const char *file, char *const argv[], char *const envp[])
{
	return exec_in_turn(PROGRAM, EXEC_FILE, file, -1, argv, envp);
}

int turns_fexecve(int fd, char *const argv[], char *const envp[]) __asm__("fexecve");
int turns_fexecve(int fd, char *const argv[], char *const envp[])
{
	return exec_in_turn(PROGRAM, EXEC_FD, NULL, fd, argv, envp);
}

/* The arguments as an array that ends with NULL. False: too many. */
static bool gather_args(char *argv[ARGS_MOST], const char *first, va_list args)
{
	int n = 0;

	argv[n++] = (char *)(uintptr_t)first;
	while (argv[n - 1] && n < ARGS_MOST)
		argv[n++] = va_arg(args, char *);
	return !argv[n - 1];
}

#define EXEC_LIST(kind, path, first, envp_of)                          \
	char *argv[ARGS_MOST];                                         \
	bool ours = PROGRAM, fits;                                     \
	char *const *envp;                                             \
	va_list args;                                                  \
                                                                       \
	va_start(args, first);                                         \
	fits = gather_args(argv, first, args);                         \
	envp = envp_of;                                                \
	va_end(args);                                                  \
	if (fits)                                                      \
		return exec_in_turn(ours, kind, path, -1, argv, envp); \
	errno = E2BIG;                                                 \
	return -1

int turns_execl(const char *path, const char *first, ...) __asm__("execl");
int turns_execl(const char *path, const char *first, ...)
{
	EXEC_LIST(EXEC_PATH, path, first, process_environment());
}

int turns_execlp(const char *file, const char *first, ...) __asm__("execlp");
int turns_execlp(const char *file, const char *first, ...)
{
	EXEC_LIST(EXEC_FILE, file, first, process_environment());
}

int turns_execle(const char *path, const char *first, ...) __asm__("execle");
int turns_execle(const char *path, const char *first, ...)
{
	EXEC_LIST(EXEC_PATH, path, first, fits ? va_arg(args, char *const *) : NULL);
}

/* ---- waiting ---- */

/*
 * Until waitid would not block: a child has changed its state, there is none, or it is an error.
 * False: a handler has run.
 */
static bool await_child(idtype_t type, id_t id, int options)
{
	bool waited = false;
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		pthread_testcancel();
		if (REAL(waitid)(type, id, &info, options | WNOHANG | WNOWAIT) || info.si_pid)
			return true;
		if (waited && turns_interrupted(true))
			return false;
		waited = true;
		if (!turns_wait_fd(OUTSIDE_NEVER))
			return true;
	}
}

static pid_t wait_in_turn(bool ours, pid_t pid, int *status, int options, struct rusage *usage)
{
	int wanted = WEXITED | (options & WUNTRACED ? WSTOPPED : 0) | (options & WCONTINUED);
	idtype_t type = pid > 0 ? P_PID : pid == -1 ? P_ALL : P_PGID;
	pid_t result, shown;
	int how = 0;

	if (!ours)
		return REAL(wait4)(pid, status, options, usage);
	pid = pid < -1 ? -turns_pid_meant(-pid) : pid > 0 ? turns_pid_meant(pid) : pid;
	if (!(options & WNOHANG) && !await_child(type,
						 (id_t)(pid > 0    ? pid
							: pid < -1 ? -pid
								   : 0),
						 wanted))
		return -1;
	result = REAL(wait4)(pid, &how, options, usage);
	if (result == 0)
		turns_yield(TURNS_TEST_NS);
	if (result <= 0)
		return result;
	if (status)
		*status = how;
	shown = turns_pid_known(result);
	if (WIFEXITED(how) || WIFSIGNALED(how))
		turns_pid_gone(result);
	return shown;
}

pid_t turns_await_child(pid_t pid, int *status)
{
	return wait_in_turn(true, pid, status, 0, NULL);
}

pid_t turns_wait(int *status) __asm__("wait");
pid_t turns_wait(int *status)
{
	return wait_in_turn(PROGRAM, -1, status, 0, NULL);
}

pid_t turns_waitpid(pid_t pid, int *status, int options) __asm__("waitpid");
pid_t turns_waitpid(pid_t pid, int *status, int options)
{
	return wait_in_turn(PROGRAM, pid, status, options, NULL);
}

pid_t turns_wait3(int *status, int options, struct rusage *usage) __asm__("wait3");
pid_t turns_wait3(int *status, int options, struct rusage *usage)
{
	return wait_in_turn(PROGRAM, -1, status, options, usage);
}

pid_t turns_wait4(pid_t pid, int *status, int options, struct rusage *usage) __asm__("wait4");
pid_t turns_wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return wait_in_turn(PROGRAM, pid, status, options, usage);
}

int turns_waitid(idtype_t type, id_t id, siginfo_t *info, int options) __asm__("waitid");
int turns_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	siginfo_t own = { 0 };
	int result;

	if (!PROGRAM)
		return REAL(waitid)(type, id, info, options);
	if (type == P_PID || type == P_PGID)
		id = (id_t)turns_pid_meant((pid_t)id);
	if (!(options & WNOHANG) && !await_child(type, id, options & ~WNOWAIT))
		return -1;
	info = info ? info : &own;
	result = REAL(waitid)(type, id, info, options);
	if (result == 0 && !info->si_pid)
		turns_yield(TURNS_TEST_NS);
	if (result == 0 && info->si_pid) {
		id = (id_t)info->si_pid;
		info->si_pid = turns_pid_known(info->si_pid);
		if (!(options & WNOWAIT) && info->si_code != CLD_STOPPED &&
		    info->si_code != CLD_CONTINUED && info->si_code != CLD_TRAPPED)
			turns_pid_gone((pid_t)id);
	}
	return result;
}

/* ---- system ---- */

static int run_shell(const char *line)
{
	char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t) "--", (char *)(uintptr_t)line, NULL };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t child, before, defaults;
	struct sigaction interrupt, quit;
	posix_spawnattr_t attr;
	int status = -1;
	pid_t pid;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	sigemptyset(&defaults);
	if (interrupt.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGINT);
	if (quit.sa_handler != SIG_IGN)
		sigaddset(&defaults, SIGQUIT);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &before);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (spawn_in_turn(REAL(posix_spawn), &pid, "/bin/sh", NULL, &attr, argv,
			  process_environment()))
		status = 127 << 8;
	else
		while (wait_in_turn(true, pid, &status, 0, NULL) < 0 && errno == EINTR)
			;
	posix_spawnattr_destroy(&attr);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

int turns_system(const char *line) __asm__("system");
int turns_system(const char *line)
{
	return PROGRAM && line ? run_shell(line) : REAL(system)(line);
}
