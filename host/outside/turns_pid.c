/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_pid.c - the process ids that programs in lockstep see. Programs make seeds, names and port
 * numbers of them, so they are the same in each run: 5000000 is the first process that took part,
 * and so on. Calls that take an id take those, and ids of processes outside the fabric as they are.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "turns.h"

#define OF_NONE (NIC_BOOK_PIDS_FIRST - 1) /* a parent outside the fabric */
#define KILL_MS 1000

/* ---- the book ---- */

static uint32_t count_of(const struct nic_book *book)
{
	return book->pids < NIC_BOOK_PIDS ? book->pids : NIC_BOOK_PIDS;
}

/* As the program sees it; 0: it is in no entry. */
static pid_t pid_find(const struct nic_book *book, pid_t pid)
{
	for (uint32_t i = count_of(book); i > 0; i--)
		if (nic_book_pid(book->pid[i - 1]) == pid)
			return NIC_BOOK_PIDS_FIRST + (pid_t)i - 1;
	return 0;
}

pid_t turns_pid_shown(pid_t pid)
{
	struct nic_book *book = turns_book();
	pid_t shown = book && pid > 0 ? pid_find(book, pid) : pid;
	uint32_t i, n = 0;

	if (shown)
		return shown;
	/* The next number; in the end, those of processes that are gone, the oldest ones first. */
	while (n < NIC_BOOK_PIDS && book->pid[(book->pids + n) % NIC_BOOK_PIDS])
		n++;
	if (n == NIC_BOOK_PIDS)
		return pid;
	i = (book->pids + n) % NIC_BOOK_PIDS;
	book->pid[i] = nic_book_word(pid);
	book->pids += n + 1;
	return NIC_BOOK_PIDS_FIRST + (pid_t)i;
}

pid_t turns_pid_known(pid_t pid)
{
	const struct nic_book *book = turns_book();
	pid_t shown = book && pid > 0 ? pid_find(book, pid) : 0;

	return shown ? shown : pid;
}

pid_t turns_pid_meant(pid_t shown)
{
	const struct nic_book *book = turns_book();
	pid_t i = shown - NIC_BOOK_PIDS_FIRST, pid = 0;

	if (shown >= NIC_BOOK_TIDS_FIRST)
		return turns_tid_meant(shown);
	if (!book || i < OF_NONE - NIC_BOOK_PIDS_FIRST || (i >= 0 && (uint32_t)i >= count_of(book)))
		return shown;
	pid = nic_book_pid(i < 0 ? book->outside : book->pid[i]);
	return pid ? pid : shown;
}

void turns_pid_gone(pid_t pid)
{
	struct nic_book *book = turns_book();
	pid_t shown = book ? pid_find(book, pid) : 0;

	if (shown)
		book->pid[shown - NIC_BOOK_PIDS_FIRST] = 0;
}

/* ---- calls ---- */

pid_t turns_getpid(void) __asm__("getpid");
pid_t turns_getpid(void)
{
	pid_t pid = REAL(getpid)();

	return PROGRAM ? turns_pid_shown(pid) : pid;
}

pid_t turns_getppid(void) __asm__("getppid");
pid_t turns_getppid(void)
{
	struct nic_book *book = PROGRAM ? turns_book() : NULL;
	pid_t pid = REAL(getppid)(), shown;

	if (!book)
		return pid;
	shown = turns_pid_known(pid);
	if (shown != pid)
		return shown;
	book->outside = nic_book_word(pid);
	return OF_NONE;
}

pid_t turns_id_meant(pid_t shown)
{
	if (shown == INT_MIN)
		return shown;
	return shown < 0 ? -turns_pid_meant(-shown) : turns_pid_meant(shown);
}

static pid_t pid_meant(bool ours, pid_t pid)
{
	return ours ? turns_id_meant(pid) : pid;
}

typedef int send_function(pid_t to, int sig, union sigval value);

/*
 * SIGKILL ends a process a moment after the call. Until then the caller keeps the turn: virtual
 * time would go on to whatever others wait for, or not, as the kernel is quick. A process that the
 * kernel cannot end, because it waits for a disk, is given KILL_MS.
 */
static void await_killed(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	REAL(poll)(&pfd, 1, KILL_MS);
}

static int send_kill(pid_t to, int sig, union sigval value)
{
	(void)value;
	return REAL(kill)(to, sig);
}

static int send_killpg(pid_t to, int sig, union sigval value)
{
	(void)value;
	return REAL(killpg)(to, sig);
}

static int send_queued(pid_t to, int sig, union sigval value)
{
	return REAL(sigqueue)(to, sig, value);
}

/*
 * What a signal ends, or lets go on, may be what others wait for. One to the own process is its
 * first thread's (turns_handler.c).
 */
static int send_in_turn(bool ours, send_function *send, pid_t to, int sig, union sigval value)
{
	uint64_t before;
	int result, err, killed = -1;
	bool kept;

	if (!ours)
		return send(to, sig, value);
	to = pid_meant(true, to);
	if (sig == SIGKILL && to > 0)
		killed = (int)REAL(syscall)(SYS_pidfd_open, to, 0);
	kept = turns_keep_back(false, &before);
	result = send(to, sig, value);
	err = errno;
	if (kept)
		turns_let_in(before);
	if (killed >= 0) {
		if (result == 0)
			await_killed(killed);
		REAL(close)(killed);
	}
	if (result == 0)
		turns_tell(true);
	errno = err;
	return result;
}

int turns_kill(pid_t pid, int sig) __asm__("kill");
int turns_kill(pid_t pid, int sig)
{
	return send_in_turn(PROGRAM, send_kill, pid, sig, (union sigval){ 0 });
}

int turns_killpg(pid_t group, int sig) __asm__("killpg");
int turns_killpg(pid_t group, int sig)
{
	return send_in_turn(PROGRAM, send_killpg, group, sig, (union sigval){ 0 });
}

int turns_sigqueue(pid_t pid, int sig, const union sigval value) __asm__("sigqueue");
int turns_sigqueue(pid_t pid, int sig, const union sigval value)
{
	return send_in_turn(PROGRAM, send_queued, pid, sig, value);
}

/* A libc before glibc 2.36 has neither these functions nor their header. */
int turns_pidfd_open(pid_t pid, unsigned int flags) __asm__("pidfd_open");
int turns_pidfd_open(pid_t pid, unsigned int flags)
{
	return (int)REAL(syscall)(SYS_pidfd_open, pid_meant(PROGRAM, pid), flags);
}

int turns_pidfd_send_signal(int fd, int sig, siginfo_t *info,
			    unsigned int flags) __asm__("pidfd_send_signal");
int turns_pidfd_send_signal(int fd, int sig, siginfo_t *info, unsigned int flags)
{
	bool ours = PROGRAM;
	int result = (int)REAL(syscall)(SYS_pidfd_send_signal, fd, sig, info, flags);

	if (ours && result == 0 && sig == SIGKILL)
		await_killed(fd);
	if (ours && result == 0)
		turns_tell(true);
	return result;
}

pid_t turns_getpgid(pid_t pid) __asm__("getpgid");
pid_t turns_getpgid(pid_t pid)
{
	bool ours = PROGRAM;
	pid_t group = REAL(getpgid)(pid_meant(ours, pid));

	return ours ? turns_pid_known(group) : group;
}

pid_t turns_getpgrp(void) __asm__("getpgrp");
pid_t turns_getpgrp(void)
{
	return PROGRAM ? turns_pid_known(REAL(getpgrp)()) : REAL(getpgrp)();
}

int turns_setpgid(pid_t pid, pid_t group) __asm__("setpgid");
int turns_setpgid(pid_t pid, pid_t group)
{
	bool ours = PROGRAM;

	return REAL(setpgid)(pid_meant(ours, pid), pid_meant(ours, group));
}

pid_t turns_getsid(pid_t pid) __asm__("getsid");
pid_t turns_getsid(pid_t pid)
{
	bool ours = PROGRAM;
	pid_t session = REAL(getsid)(pid_meant(ours, pid));

	return ours ? turns_pid_known(session) : session;
}

pid_t turns_setsid(void) __asm__("setsid");
pid_t turns_setsid(void)
{
	pid_t session = REAL(setsid)();

	return PROGRAM ? turns_pid_known(session) : session;
}

pid_t turns_tcgetpgrp(int fd) __asm__("tcgetpgrp");
pid_t turns_tcgetpgrp(int fd)
{
	pid_t group = REAL(tcgetpgrp)(fd);

	return PROGRAM ? turns_pid_known(group) : group;
}

int turns_tcsetpgrp(int fd, pid_t group) __asm__("tcsetpgrp");
int turns_tcsetpgrp(int fd, pid_t group)
{
	return REAL(tcsetpgrp)(fd, pid_meant(PROGRAM, group));
}

ssize_t turns_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long tos,
			       const struct iovec *from, unsigned long froms,
			       unsigned long flags) __asm__("process_vm_readv");
ssize_t turns_process_vm_readv(pid_t pid, const struct iovec *to, unsigned long tos,
			       const struct iovec *from, unsigned long froms, unsigned long flags)
{
	return REAL(process_vm_readv)(pid_meant(PROGRAM, pid), to, tos, from, froms, flags);
}

ssize_t turns_process_vm_writev(pid_t pid, const struct iovec *from, unsigned long froms,
				const struct iovec *to, unsigned long tos,
				unsigned long flags) __asm__("process_vm_writev");
ssize_t turns_process_vm_writev(pid_t pid, const struct iovec *from, unsigned long froms,
				const struct iovec *to, unsigned long tos, unsigned long flags)
{
	return REAL(process_vm_writev)(pid_meant(PROGRAM, pid), from, froms, to, tos, flags);
}
