/* SPDX-License-Identifier: BSD-3-Clause */
/* Lockstep: what the kernel tells of a thread: its state, how long it ran, and where it blocks. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lockstep.h"
#include "host/nic_process.h"

#define LOOK_MOST_NS 40000000ul /* most that one look counts: the watchdog may have been delayed */

/*
 * A thread that computes has so many times the bound: it makes a call in the end, as a rule, and
 * one that blocks in the kernel may wait for another thread, which needs the turn for that. So has
 * one that sleeps while another thread of its process is busy: that may hold a lock that the
 * sleeper wants, such as one of libc or of this library, and have no processor.
 */
#define COMPUTES_TIMES 10u

/* The n-th word of a file of /proc, counted from the end of the command name in parentheses. */
static bool proc_word(int pid, int tid, const char *file, int n, char *word, size_t size)
{
	char path[64], text[512], *at = text;
	ssize_t length;
	int fd, cancel;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, file);
	cancel = process_cancel_hold();
	fd = process_open(path, O_RDONLY, 0);
	if (fd < 0) {
		process_cancel_release(cancel);
		return false;
	}
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	process_cancel_release(cancel);
	if (length <= 0)
		return false;
	text[length] = '\0';
	if (strrchr(text, ')'))
		at = strrchr(text, ')');
	for (; n > 0 && at; n--) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	if (!at)
		return false;
	snprintf(word, size, "%.*s", (int)strcspn(at, " \n"), at);
	return true;
}

char emu_lockstep_task_state(int pid, int32_t tid)
{
	char word[32];

	/* Word 0 is the end of the command name. */
	return proc_word(pid, tid, "stat", 1, word, sizeof(word)) ? word[0] : '\0';
}

#define WORD_FLAGS 7     /* of /proc/PID/stat, counted from the end of the command name */
#define PF_EXITING 0x4ul /* the thread is in do_exit */

bool emu_lockstep_task_exits(int32_t pid)
{
	char state = emu_lockstep_task_state(pid, pid), word[32];

	if (!state || state == 'Z' || state == 'X')
		return false;
	return proc_word(pid, pid, "stat", WORD_FLAGS, word, sizeof(word)) &&
	       (strtoul(word, NULL, 10) & PF_EXITING);
}

/* The leader of several threads is a zombie before the others have ended. */
bool emu_lockstep_task_gone(int32_t pid)
{
	char state = emu_lockstep_task_state(pid, pid), path[64];
	struct stat st;

	if (state && state != 'Z' && state != 'X')
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return !state || stat(path, &st) || st.st_nlink <= 3;
}

bool emu_lockstep_thread_busy(int32_t pid, int32_t tid)
{
	char state = emu_lockstep_task_state(pid, tid);

	return state == 'R' || state == 'D';
}

/* Is a thread of the process busy, other than this one? */
static bool another_busy(int32_t pid, int32_t tid)
{
	const struct dirent *entry;
	bool busy = false;
	char path[64];
	int cancel;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	cancel = process_cancel_hold();
	dir = process_opendir(path);
	while (dir && !busy && (entry = readdir(dir)) != NULL) {
		int one = atoi(entry->d_name);

		busy = one > 0 && one != tid && emu_lockstep_thread_busy(pid, one);
	}
	if (dir)
		closedir(dir);
	process_cancel_release(cancel);
	return busy;
}

/* Its first thread may wait for one that has work to do and no processor. */
bool emu_lockstep_task_busy(int32_t pid)
{
	return emu_lockstep_thread_busy(pid, pid) || another_busy(pid, pid);
}

/* Time of a thread in ns: 0, on a processor; 1, waiting for one. False: the kernel hides it. */
static bool task_time(int pid, int32_t tid, int n, uint64_t *ns)
{
	char word[32];

	if (!proc_word(pid, tid, "schedstat", n, word, sizeof(word)))
		return false;
	*ns = strtoul(word, NULL, 10);
	return true;
}

uint64_t emu_lockstep_outside_ns(struct emu_watch *watch, int pid, int32_t tid, uint64_t elapsed)
{
	uint64_t ran = watch->ran, queued = watch->queued;
	char state = 'R';

	if (elapsed > LOOK_MOST_NS)
		elapsed = LOOK_MOST_NS;
	if (!task_time(pid, tid, 0, &watch->ran) || !task_time(pid, tid, 1, &watch->queued))
		return elapsed;
	ran = watch->ran - ran;
	queued = watch->queued - queued;
	if (ran < elapsed)
		state = emu_lockstep_task_state(pid, tid);
	if (state == 'R' || state == 'D')
		return (ran < elapsed ? ran : elapsed) / COMPUTES_TIMES;
	elapsed = queued < elapsed ? elapsed - queued : 0;
	/* The watchdog, which may be a thread of that process, is always busy here. */
	return another_busy(pid, (int32_t)syscall(SYS_gettid)) ? elapsed / COMPUTES_TIMES : elapsed;
}

/* ---- where it blocks ---- */

struct call {
	long number;
	const char *name;
};

#define CALL(name)                \
	{                         \
		SYS_##name, #name \
	}

/* A program waits in one of these, as a rule. */
/* clang-format off */
static const struct call calls[] = {
	CALL(accept4), CALL(clock_nanosleep), CALL(clone), CALL(close), CALL(connect),
	CALL(copy_file_range), CALL(epoll_pwait), CALL(execve), CALL(fallocate), CALL(fcntl),
	CALL(fdatasync), CALL(flock), CALL(fsync), CALL(ftruncate), CALL(futex),
	CALL(getdents64), CALL(io_getevents), CALL(io_uring_enter), CALL(ioctl), CALL(madvise),
	CALL(mmap), CALL(mq_timedreceive), CALL(mq_timedsend), CALL(msgrcv), CALL(msgsnd),
	CALL(msync), CALL(munmap), CALL(nanosleep), CALL(openat), CALL(ppoll), CALL(pread64),
	CALL(preadv), CALL(preadv2), CALL(pselect6), CALL(ptrace), CALL(pwrite64),
	CALL(pwritev), CALL(pwritev2), CALL(read), CALL(readv), CALL(recvfrom), CALL(recvmmsg),
	CALL(recvmsg), CALL(rt_sigsuspend), CALL(rt_sigtimedwait), CALL(semop),
	CALL(semtimedop), CALL(sendfile), CALL(sendmmsg), CALL(sendmsg), CALL(sendto),
	CALL(splice), CALL(sync), CALL(syncfs), CALL(tee), CALL(vmsplice), CALL(wait4),
	CALL(waitid), CALL(write), CALL(writev),
/* Newer machines have only the calls that do the same and more. */
#ifdef SYS_poll
	CALL(accept), CALL(epoll_wait), CALL(fork), CALL(open), CALL(pause), CALL(poll),
	CALL(select), CALL(vfork),
#endif
/* Newer than the oldest kernel headers. */
#ifdef SYS_epoll_pwait2
	CALL(epoll_pwait2),
#endif
#ifdef SYS_futex_waitv
	CALL(futex_waitv),
#endif
};
/* clang-format on */

const char *emu_lockstep_place(int pid, int32_t tid, char *place, size_t size)
{
	char word[32], *end;
	long number;

	*place = '\0';
	if (!proc_word(pid, tid, "syscall", 0, word, sizeof(word)))
		return place;
	number = strtol(word, &end, 10);
	if (*end || end == word || number < 0) {
		snprintf(place, size, " in its own code");
		return place;
	}
	snprintf(place, size, " in call %ld", number);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			snprintf(place, size, " in %s", calls[i].name);
	return place;
}
