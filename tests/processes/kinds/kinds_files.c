/* SPDX-License-Identifier: BSD-3-Clause */
/* kinds_files.c - kinds of programs that wait for descriptors, and files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "kinds.h"

/* ---- a child that closes all descriptors, as Python's does, and goes on for a while ---- */

#define ASK  3 /* descriptors of the child */
#define TELL 4

/* close_range fails as on an older Linux, and in some containers. */
static void do_without_close_range(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void close_all(int how)
{
	if (how == 3)
		do_without_close_range();
	if (how == 0 || how == 3)
		closefrom(TELL + 1);
	else if (how == 1)
		syscall(SYS_close_range, TELL + 1, UINT_MAX, 0);
	else
		for (int fd = TELL + 1; fd < 1024; fd++)
			close(fd);
}

static void close_and_wait(int how, int ask, int tell)
{
	char byte;

	dup2(ask, ASK);
	dup2(tell, TELL);
	close_all(how);
	must(write(TELL, "", 1) == 1 && read(ASK, &byte, 1) == 1, "no parent");
	execlp("sleep", "sleep", "0.1", (char *)NULL);
	_exit(1);
}

/* A process that joins finds out which processes are dead. */
static void begin_another(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	must(waitpid(pid, NULL, 0) == pid, "no other child");
}

int run_closes(void)
{
	int ask[2], tell[2], status;
	pid_t child;
	char byte;

	for (int how = 0; how < 4; how++) {
		must(pipe(ask) == 0 && pipe(tell) == 0, "no pipe");
		/* Keep clear of the numbers that the child gives its copies. */
		for (int i = 0; i < 2; i++) {
			ask[i] = fcntl(ask[i], F_DUPFD, TELL + 1);
			tell[i] = fcntl(tell[i], F_DUPFD, TELL + 1);
		}
		child = fork();
		if (child == 0)
			close_and_wait(how, ask[0], tell[1]);
		must(read(tell[0], &byte, 1) == 1, "no word of the child");
		begin_another();
		must(write(ask[1], "", 1) == 1, "no child that reads");
		must(waitpid(child, &status, 0) == child, "no child");
		printf("%d ended with %d\n", how, status);
	}
	return 0;
}

/* ---- a timer with several descriptors ---- */

static void expire(int set, int wait)
{
	const struct itimerspec soon = { .it_value = { .tv_nsec = 20000000 } };
	uint64_t times;

	must(timerfd_settime(set, 0, &soon, NULL) == 0, "not a timer");
	must(read(wait, &times, sizeof(times)) == sizeof(times), "no expiration");
	printf("expired %d\n", (int)times);
}

int run_copies(void)
{
	int first = timerfd_create(CLOCK_MONOTONIC, 0), second = dup(first), third;
	struct itimerspec left;
	pid_t child;

	expire(second, first);
	close(first);
	expire(second, second);
	must(close_range((unsigned int)second, (unsigned int)second, INT_MIN) == -1, "closed");
	third = dup2(second, 77);
	expire(third, second);
	close_range((unsigned int)second, (unsigned int)second, 0);
	first = fcntl(third, F_DUPFD, 5);
	close(third);
	child = fork();
	if (child == 0) {
		expire(first, first);
		_exit(0);
	}
	must(waitpid(child, NULL, 0) == child, "no child");
	must(dup2(STDIN_FILENO, first) == first, "no copy");
	must(timerfd_gettime(first, &left) == -1, "the descriptor is still a timer");
	return 0;
}

/* ---- locks of records of a file ---- */

static void lock_and_say(int fd, int way)
{
	struct flock lock = { .l_type = F_WRLCK };

	if (way == 0)
		must(lockf(fd, F_LOCK, 0) == 0, "no lock");
	else
		must(fcntl(fd, way == 1 ? F_SETLKW : F_OFD_SETLKW, &lock) == 0, "no lock");
	printf("child locks %d\n", way);
	_exit(0);
}

int run_records(void)
{
	char path[] = "/tmp/kinds-XXXXXX";
	struct flock lock = { .l_type = F_WRLCK };
	int fd = mkstemp(path), again = open(path, O_RDWR);
	pid_t child;

	must(fd >= 0 && again >= 0, "no file");
	for (int way = 0; way < 3; way++) {
		must(fcntl(fd, way == 2 ? F_OFD_SETLK : F_SETLK, &lock) == 0, "no lock");
		child = fork();
		if (child == 0)
			lock_and_say(again, way);
		sleep_ms(20);
		printf("parent lets %d go\n", way);
		lock.l_type = F_UNLCK;
		must(fcntl(fd, way == 2 ? F_OFD_SETLK : F_SETLK, &lock) == 0, "no unlock");
		lock.l_type = F_WRLCK;
		must(waitpid(child, NULL, 0) == child, "no child");
	}
	unlink(path);
	return 0;
}

/* ---- owners of descriptors and of locks ---- */

/* A process, a group or a thread gets the signals of a descriptor. */
static void own_descriptor(int ask, int tell)
{
	struct f_owner_ex owner = { F_OWNER_TID, gettid() };
	struct timespec limit = { .tv_sec = 1 };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigprocmask(SIG_BLOCK, &set, NULL);
	must(fcntl(ask, F_SETOWN, getpid()) == 0, "no owner");
	must(fcntl(ask, F_GETOWN) == getpid(), "another owner");
	must(fcntl(ask, F_SETFL, O_ASYNC) == 0 && write(tell, "", 1) == 1, "no byte");
	must(sigtimedwait(&set, &info, &limit) == SIGIO, "no signal");
	must(fcntl(ask, F_SETOWN, -getpgrp()) == 0, "no owner of a group");
	must(fcntl(ask, F_GETOWN) == -getpgrp(), "another group");
	must(fcntl(ask, F_SETOWN_EX, &owner) == 0, "no owner by its kind");
	owner.pid = 0;
	must(fcntl(ask, F_GETOWN_EX, &owner) == 0 && owner.type == F_OWNER_TID, "another kind");
	must(owner.pid == gettid(), "another thread");
	must(fcntl(ask, F_SETOWN_EX, (void *)1) == -1 && errno == EFAULT, "no bad address");
	must(fcntl(ask, F_SETOWN_EX, NULL) == -1 && errno == EFAULT, "no missing address");
	must(fcntl(ask, F_GETOWN_EX, (void *)1) == -1 && errno == EFAULT, "none for the answer");
	owner.pid = 4999998;
	must(fcntl(ask, F_SETOWN_EX, &owner) == -1 && errno == ESRCH, "an owner that is none");
	must(fcntl(ask, F_SETOWN, 0) == 0 && fcntl(ask, F_GETOWN) == 0, "an owner");
}

/* The same by ioctl. */
static void own_by_ioctl(int ask)
{
	static const unsigned long set[] = { FIOSETOWN, SIOCSPGRP };
	static const unsigned long get[] = { FIOGETOWN, SIOCGPGRP };

	for (int i = 0; i < 2; i++) {
		int id = getpid(), back = 0;

		must(ioctl(ask, set[i], &id) == 0 && fcntl(ask, F_GETOWN) == id, "another owner");
		must(ioctl(ask, get[i], &back) == 0 && back == id, "another answer");
		id = -getpgrp();
		must(ioctl(ask, set[i], &id) == 0 && fcntl(ask, F_GETOWN) == id, "another group");
		must(ioctl(ask, get[i], &back) == 0 && back == id, "another group is told");
		id = 4999998;
		must(ioctl(ask, set[i], &id) == -1 && errno == ESRCH, "an owner that is none");
		must(ioctl(ask, set[i], (void *)1) == -1 && errno == EFAULT, "no bad address");
		must(ioctl(ask, get[i], (void *)1) == -1 && errno == EFAULT, "none to answer");
		id = 0;
		must(ioctl(ask, set[i], &id) == 0 && fcntl(ask, F_GETOWN) == 0, "an owner");
	}
}

int run_owners(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	FILE *file = tmpfile();
	int ends[2];
	pid_t child;

	must(file && fcntl(fileno(file), F_SETLK, &lock) == 0, "no lock");
	child = fork();
	must(child >= 0, "no child");
	if (child == 0) {
		must(fcntl(fileno(file), F_GETLK, &lock) == 0, "no answer");
		must(lock.l_type == F_WRLCK && lock.l_pid == getppid(), "another owner of it");
		lock.l_pid = 0;
		must(fcntl(fileno(file), F_OFD_GETLK, &lock) == 0, "no answer to a description");
		must(lock.l_type == F_WRLCK && lock.l_pid == getppid(), "another one for that");
		exit(0);
	}
	must(waitpid(child, NULL, 0) == child, "no end of the child");
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
	own_descriptor(ends[0], ends[1]);
	own_by_ioctl(ends[0]);
	puts("done");
	return 0;
}

/* ---- bytes that the kernel moves ---- */

#define MUCH 1000000

static void *feed_twice(void *arg)
{
	const int *fd = arg;

	for (int i = 0; i < 2; i++) {
		sleep_ms(5);
		must(write(*fd, "word", 4) == 4, "no reader");
	}
	sleep_ms(5);
	close(*fd);
	return NULL;
}

static void *drain_all(void *arg)
{
	const int *fd = arg;
	char bytes[4096];
	long all = 0;
	ssize_t n;

	while ((n = read(*fd, bytes, sizeof(bytes))) > 0)
		all += n;
	printf("drained %ld\n", all);
	return NULL;
}

/* A pipe or socket pair; the other thread has the other end. */
static int begin_thread(pthread_t *thread, void *(*run)(void *), int ends[2])
{
	int theirs = run == feed_twice;

	must(pthread_create(thread, NULL, run, &ends[theirs]) == 0, "no thread");
	return ends[!theirs];
}

static void take_by(const char *how)
{
	char bytes[16];
	const struct iovec iov = { bytes, sizeof(bytes) };
	int ends[2], aside[2], from;
	pthread_t thread;
	ssize_t n;

	must(pipe(ends) == 0 && pipe(aside) == 0, "no pipe");
	from = begin_thread(&thread, feed_twice, ends);
	do {
		if (!strcmp(how, "splice"))
			n = splice(from, NULL, aside[1], NULL, 4, 0);
		else if (!strcmp(how, "vmsplice"))
			n = vmsplice(from, &iov, 1, 0);
		else if (!strcmp(how, "preadv2"))
			n = preadv2(from, &iov, 1, -1, 0);
		else
			n = tee(from, aside[1], 4, 0);
		printf("%s %d\n", how, (int)n);
		if (!strcmp(how, "tee"))
			must(read(from, bytes, 4) == n, "another number");
	} while (n > 0);
	pthread_join(thread, NULL);
}

static void give_by(const char *how)
{
	int ends[2], to, file = memfd_create("kinds", 0);
	void *much = calloc(1, MUCH);
	struct iovec iov = { much, MUCH };
	pthread_t thread;
	ssize_t n = 0;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no socket");
	if (strcmp(how, "sendfile"))
		must(pipe(ends) == 0, "no pipe");
	must(ftruncate(file, MUCH) == 0 && much, "no memory");
	to = begin_thread(&thread, drain_all, ends);
	for (long left = MUCH; left > 0; left -= n) {
		iov.iov_len = (size_t)left;
		if (!strcmp(how, "sendfile"))
			n = sendfile(to, file, NULL, (size_t)left);
		else if (!strcmp(how, "splice"))
			n = splice(file, NULL, to, NULL, (size_t)left, 0);
		else if (!strcmp(how, "vmsplice"))
			n = vmsplice(to, &iov, 1, 0);
		else
			n = pwritev2(to, &iov, 1, -1, 0);
		must(n > 0, "nothing is moved");
	}
	close(to);
	pthread_join(thread, NULL);
	free(much);
}

static void show_refusal(const char *call, ssize_t result)
{
	printf("%s: %s\n", call, result < 0 ? strerror(errno) : "not refused");
}

/* There is nothing to wait for: neither descriptor will ever be ready. */
static void be_refused(void)
{
	int one[2], two[2];
	char byte = 0;
	const struct iovec iov = { &byte, 1 };

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, one) == 0, "no socket");
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0, "no socket");
	show_refusal("splice", splice(one[0], NULL, two[0], NULL, 1, 0));
	show_refusal("sendfile", sendfile(two[0], one[0], NULL, 1));
	show_refusal("tee", tee(one[0], two[0], 1, 0));
	show_refusal("preadv2", preadv2(one[0], &iov, 1, -1, INT_MIN));
	show_refusal("pwritev2", pwritev2(one[0], &iov, 1, -1, INT_MIN));
	/* One of the two pipes is nonblocking. */
	must(pipe2(two, O_NONBLOCK) == 0 && pipe(one) == 0, "no pipe");
	show_refusal("splice from it", splice(two[0], NULL, one[1], NULL, 1, 0));
	show_refusal("splice to it", splice(one[0], NULL, two[1], NULL, 1, 0));
	show_refusal("tee to it", tee(one[0], two[1], 1, 0));
}

/* By TCP: streams of AF_UNIX do not wait with SPLICE_F_NONBLOCK. */
static void connect_pair(int ends[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	must(bind(listener, (struct sockaddr *)&addr, size) == 0, "no address");
	must(listen(listener, 1) == 0, "no listener");
	must(getsockname(listener, (struct sockaddr *)&addr, &size) == 0, "no port");
	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(ends[1], (struct sockaddr *)&addr, size) == 0, "no connection");
	ends[0] = accept(listener, NULL, NULL);
	must(ends[0] >= 0, "no other end");
	close(listener);
}

/* SPLICE_F_NONBLOCK is for pipes: the calls wait for the sockets. */
static void wait_for_sockets(void)
{
	static char bytes[4096];
	int ends[2], aside[2];
	pthread_t thread;
	ssize_t n;

	must(pipe(aside) == 0, "no pipe");
	connect_pair(ends);
	begin_thread(&thread, feed_twice, ends);
	do {
		n = splice(ends[0], NULL, aside[1], NULL, 4, SPLICE_F_NONBLOCK);
		printf("splice from a socket %d\n", (int)n);
	} while (n > 0);
	pthread_join(thread, NULL);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
	while (send(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	begin_thread(&thread, drain_all, ends);
	n = splice(aside[0], NULL, ends[1], NULL, 8, SPLICE_F_NONBLOCK);
	printf("splice to a socket %d\n", (int)n);
	show_refusal("splice from an empty pipe",
		     splice(aside[0], NULL, ends[1], NULL, 8, SPLICE_F_NONBLOCK));
	close(ends[1]);
	pthread_join(thread, NULL);
}

int run_moves(void)
{
	static const char *const take[] = { "splice", "tee", "vmsplice", "preadv2" };
	static const char *const give[] = { "sendfile", "splice", "vmsplice", "pwritev2" };

	for (int i = 0; i < 4; i++) {
		take_by(take[i]);
		give_by(give[i]);
	}
	be_refused();
	wait_for_sockets();
	return 0;
}

/* ---- streams of shells ---- */

static void show_lines(FILE *file)
{
	char line[64];

	while (fgets(line, sizeof(line), file))
		printf("shell: %s", line);
}

/* Called in a thread that is cancelled meanwhile; returns its argument. */
static void *hear_shell(void *status)
{
	FILE *file;

	pthread_cancel(pthread_self());
	file = popen("exec sleep 0.1", "r");
	*(int *)status = file ? pclose(file) : -1;
	return status;
}

int run_popen(void)
{
	FILE *file = popen("echo one; sleep 0.2; echo two", "r"), *other;
	int status = -1;
	pthread_t thread;
	int (*volatile end)(FILE *) = fclose; /* for pclose, as some programs have it */

	must(file != NULL, "no shell");
	show_lines(file);
	printf("status %d\n", pclose(file));
	file = popen("cat; exit 3", "we");
	must(file && fputs("to cat\n", file) >= 0, "no shell");
	/* Another child must not have the stream: cat would not end. */
	other = popen("sleep 0.1; echo three", "r");
	must(other != NULL, "no other shell");
	printf("status %d\n", pclose(file));
	show_lines(other);
	must(end(other) == 0, "no child");
	must(popen("true", "rw") == NULL, "a mode that is none");
	must(pthread_create(&thread, NULL, hear_shell, &status) == 0, "no thread");
	must(pthread_join(thread, NULL) == 0, "no thread to join");
	printf("status %d, other children: %d\n", status, (int)waitpid(-1, NULL, 0));
	return 0;
}
