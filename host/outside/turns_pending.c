/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_pending.c - finds which signals of a program in lockstep are pending, and takes those of
 * timers back (turns_expire.c). Signal handlers may call this code, on stacks of 8192 bytes, of
 * which the kernel's frame takes most where processors have large registers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "turns.h"
#include "host/nic_process.h"

#define PENDING_MOST 64
#define LINE         "\nSigPnd:" /* of /proc/self/task/TID/status: a set of signals follows */
#define LINE_MOST    32          /* bytes of that line, and the ends of its lines */

/* The supplementary groups, before that line, may be many thousands. */
static uint64_t read_pending(int fd)
{
	char text[512];
	const char *found;
	size_t held = 0;
	ssize_t n;

	while ((n = REAL(read)(fd, text + held, sizeof(text) - 1 - held)) > 0) {
		held += (size_t)n;
		text[held] = '\0';
		found = strstr(text, LINE);
		if (found && strchr(found + 1, '\n'))
			return strtoull(found + strlen(LINE), NULL, 16);
		if (held > LINE_MOST) {
			memmove(text, text + held - LINE_MOST, LINE_MOST);
			held = LINE_MOST;
		}
	}
	return 0;
}

/* Not by snprintf, which needs most of such a stack. */
static void write_path(char *to, pid_t tid)
{
	char digits[16];
	int n = 0;

	to = stpcpy(to, "/proc/self/task/");
	do
		digits[n++] = (char)('0' + tid % 10);
	while ((tid /= 10) > 0);
	while (n > 0)
		*to++ = digits[--n];
	strcpy(to, "/status");
}

bool turns_is_pending(pid_t tid, int sig)
{
	int cancel = process_cancel_hold(), before = errno, fd;
	uint64_t set = 0;
	char path[64];

	write_path(path, tid);
	/* open() may be that of libibverbs (verbs/files.c), which takes PATH_MAX bytes of stack. */
	fd = (int)REAL(syscall)(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		set = read_pending(fd);
		REAL(close)(fd);
	}
	errno = before;
	process_cancel_release(cancel);
	return set & 1ull << (sig - 1);
}

/* The kernel refuses to queue a signal of kill with its sender, so it is sent by kill. */
void turns_queue_signal(const siginfo_t *info)
{
	pid_t pid = REAL(getpid)();

	if (REAL(syscall)(SYS_rt_sigqueueinfo, pid, info->si_signo, info) && errno == EPERM)
		REAL(kill)(pid, info->si_signo);
}

static void queue_to_thread(const siginfo_t *info)
{
	pid_t pid = REAL(getpid)(), tid = REAL(gettid)();

	if (REAL(syscall)(SYS_rt_tgsigqueueinfo, pid, tid, info->si_signo, info) && errno == EPERM)
		REAL(syscall)(SYS_tgkill, pid, tid, info->si_signo);
}

/* The calling thread blocks it, as one that takes it does: otherwise it comes at once. */
static bool is_pending_here(int sig)
{
	sigset_t set;

	return sigpending(&set) == 0 && sigismember(&set, sig) == 1;
}

struct taken {
	siginfo_t info;
	bool of_thread;
};

/* How many were taken that are of other senders. */
static int take_pending(siginfo_t *info, struct taken *other)
{
	const struct timespec no_time = { 0 };
	int sig = info->si_signo, n = 0;
	siginfo_t *got;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	while (n < PENDING_MOST && is_pending_here(sig)) {
		got = &other[n].info;
		/* The kernel gives out those of the thread first. */
		other[n].of_thread = turns_is_pending(REAL(gettid)(), sig);
		if (REAL(sigtimedwait)(&set, got, &no_time) < 0)
			break;
		if (got->si_code != SI_TIMER || got->si_timerid != info->si_timerid)
			n++;
		else if (got->si_overrun < INT_MAX - info->si_overrun)
			info->si_overrun += got->si_overrun + 1;
	}
	return n;
}

void turns_take_back(siginfo_t *info)
{
	const size_t size = PENDING_MOST * sizeof(struct taken);
	struct taken *other;
	int before = errno, n;

	if (!is_pending_here(info->si_signo))
		return;
	other = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (other != MAP_FAILED) {
		n = take_pending(info, other);
		for (int i = 0; i < n; i++)
			if (other[i].of_thread)
				queue_to_thread(&other[i].info);
			else
				turns_queue_signal(&other[i].info);
		munmap(other, size);
	}
	errno = before;
}
