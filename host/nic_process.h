/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_process.h - what libdat takes from the process around it, for every room and for modules.
 *
 * Only this file reads the environment (tests/house/includes.sh). The caller of a program chooses
 * its environment and its name. A program with more rights than its caller (setuid, setgid, file
 * capabilities: AT_SECURE of getauxval) therefore ignores both: a variable could load code into it,
 * or truncate a file that only the program may write.
 *
 * A program may have closed its standard streams, and their descriptors are those that the kernel
 * gives out first. What anyone prints would then go into an arena or a trace. So every descriptor
 * that stays open is passed through process_fd; another library opens its own between
 * process_fds_hold and process_fds_release.
 *
 * No call of libdat is a cancellation point: a thread that ended inside kept its locks. System
 * calls at which glibc would end it are made between process_cancel_hold and
 * process_cancel_release; those of every message are made by syscall(2), which is none. The calls
 * of verbs/ that wait are cancellation points, as programs expect: they wait without a lock.
 */
#ifndef HOST_NIC_PROCESS_H
#define HOST_NIC_PROCESS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The value of the environment's variable; NULL: it is not set, or may not be believed. */
static inline const char *process_env(const char *name)
{
	return secure_getenv(name);
}

/* All of it, for a program that is to have the same. */
static inline char **process_environment(void)
{
	extern char **environ;

	return environ;
}

/* False: the caller of the program chose its name and has fewer rights than the program. */
static inline bool process_believes_caller(void)
{
	return getauxval(AT_SECURE) == 0;
}

/* The calling thread cannot be cancelled until the release, which gets what this returns. */
static inline int process_cancel_hold(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void process_cancel_release(int before)
{
	pthread_setcancelstate(before, &before);
}

/* Interrupts a system call; signals of faults, for which many programs have handlers, do not. */
static inline bool process_handler_interrupts(int sig)
{
	struct sigaction action;

	if (sig == SIGILL || sig == SIGTRAP || sig == SIGABRT || sig == SIGBUS || sig == SIGFPE ||
	    sig == SIGSEGV || sig == SIGSYS || sigaction(sig, NULL, &action))
		return false;
	return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN &&
	       !(action.sa_flags & SA_RESTART);
}

/*
 * poll(2) was interrupted by a handler: would read(2) have been? Not by one with SA_RESTART. Which
 * one ran is not known: if any of the program's has no SA_RESTART, it may have been that.
 */
static inline bool process_interrupted(void)
{
	for (int sig = 1; sig <= SIGRTMAX; sig++)
		if (process_handler_interrupts(sig))
			return true;
	return false;
}

static inline void process_close(int fd)
{
	int cancel = process_cancel_hold();

	close(fd);
	process_cancel_release(cancel);
}

/*
 * A new descriptor, moved if it is one of the standard streams'; -1: there was none or no room for
 * its copy, errno says why, and nothing is open.
 */
static inline int process_fd(int fd)
{
	int moved, err;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	err = errno;
	process_close(fd);
	errno = err;
	return moved;
}

/*
 * Names of threads that libraries of this project create. They do not keep a process alive whose
 * first thread has called pthread_exit (helper.h). A thread that may run functions of the program
 * has its id behind its name, which the threads that these create inherit.
 */
#define PROCESS_NAME   16 /* bytes, as the kernel has it */
#define PROCESS_HELPER "libdat"
#define PROCESS_TIMERS "turns"
#define PROCESS_HW     "libdat-hw"
#define PROCESS_HW_END "libdat-hw-end"

static inline bool process_is_named(const char *name, const char *what, pid_t tid)
{
	char own[2 * PROCESS_NAME];

	snprintf(own, sizeof(own), "%s %d", what, (int)tid);
	return strcmp(name, own) == 0;
}

/* Name the calling thread, with its id. */
static inline void process_name_thread(const char *what)
{
	char name[2 * PROCESS_NAME];

	snprintf(name, sizeof(name), "%s %d", what, (int)gettid());
	prctl(PR_SET_NAME, name);
}

/*
 * In libdat-turns.so: keep *fd open when the program closes all its descriptors, as before an exec.
 * If the descriptor can be copied to a number that programs do not choose, *fd becomes the copy.
 */
void libdat_outside_keep(int *fd) __attribute__((weak));
/* In libdat-turns.so: the kept descriptor fd is about to be closed. */
void libdat_outside_drop(int fd) __attribute__((weak));

static inline int process_open(const char *path, int flags, mode_t mode)
{
	int cancel = process_cancel_hold(), fd = process_fd(open(path, flags | O_CLOEXEC, mode));

	process_cancel_release(cancel);
	return fd;
}

static inline FILE *process_fopen(const char *path)
{
	int fd = process_open(path, O_RDONLY, 0);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		process_close(fd);
	return file;
}

static inline DIR *process_opendir(const char *path)
{
	int fd = process_open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		process_close(fd);
	return dir;
}

/* True if a system call failed with `err` because the process or the machine lacks a resource. */
static inline bool process_shortage(int err)
{
	return err == ENOMEM || err == EMFILE || err == ENFILE || err == ENOSPC || err == EDQUOT;
}

/*
 * Take the descriptors of closed standard streams. A write to one of them fails as before, because
 * O_PATH permits none. Returns a mask of those taken.
 */
static inline unsigned int process_fds_hold(void)
{
	unsigned int held = 0;
	int fd;

	while ((fd = open("/", O_PATH | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
		held |= 1u << fd;
	if (fd >= 0)
		close(fd);
	return held;
}

/* errno stays. The program may have opened a stream of its own in place of one. */
static inline void process_fds_release(unsigned int held)
{
	int err = errno;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if ((held & 1u << fd) && (fcntl(fd, F_GETFL) & O_PATH))
			close(fd);
	errno = err;
}

#endif /* HOST_NIC_PROCESS_H */
