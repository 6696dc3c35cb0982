/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libdat-turns.so alone: each call of libc that it covers, with a table (host/outside/outside.h) of
 * this test's in place of a library that is in lockstep. A log has what the table was asked for:
 * "wait 2000", "wait ever", the same with "fd" if descriptors count, "tell", "tell fd", "leave".
 *
 * The program starts itself again with the library loaded before it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/nic.h"
#include "host/outside/outside.h"
#include "tests/support/support.h"

#define NEVER OUTSIDE_NEVER

static char heard[1024];
static uint64_t clock_now;
static enum outside_wait answer;
static uint64_t takes;     /* each wait; 0: all its time */
static void (*hook)(void); /* at the wait with this number, from 1 */
static int hook_at;
static int wire[2]; /* what is written to 1 is read from 0 */

/* ---- the table ---- */

static void log_word(const char *word, bool descriptor)
{
	size_t length = strlen(heard);

	snprintf(heard + length, sizeof(heard) - length, "%s%s%s", length ? ", " : "", word,
		 descriptor ? " fd" : "");
}

static enum outside_wait fake_wait(uint64_t ns, bool descriptor)
{
	size_t length;

	log_word("wait", descriptor);
	length = strlen(heard);
	if (ns == NEVER)
		snprintf(heard + length, sizeof(heard) - length, " ever");
	else
		snprintf(heard + length, sizeof(heard) - length, " %llu", (unsigned long long)ns);
	if (ns != NEVER && answer == OUTSIDE_AGAIN)
		clock_now += takes && takes < ns ? takes : ns;
	if (--hook_at == 0)
		hook();
	errno = EXDEV; /* the caller's has to stay */
	return answer;
}

static void fake_tell(bool descriptor)
{
	log_word("tell", descriptor);
	errno = EXDEV;
}

static void fake_leave(void)
{
	log_word("leave", false);
}

static uint64_t fake_now(void)
{
	return clock_now;
}

static void fake_bear(void)
{
	log_word("bear", false);
}

static void fake_born(int pid)
{
	log_word(pid > 0 ? "born" : "not born", false);
}

static void fake_end(void)
{
	log_word("end", false);
}

static struct nic_book book;

static struct nic_book *fake_book(void)
{
	return &book;
}

static int announced; /* threads that are being created */
static bool in_fabric;

static bool fake_thread(void)
{
	announced += in_fabric;
	return in_fabric;
}

static void fake_no_thread(void)
{
	announced--;
}

static void (*meet)(const struct outside *table);
static struct outside table = { .size = sizeof(table),
				.tell = fake_tell,
				.leave = fake_leave,
				.now = fake_now,
				.bear = fake_bear,
				.born = fake_born,
				.end = fake_end,
				.book = fake_book,
				.look = fake_now,
				.thread = fake_thread,
				.no_thread = fake_no_thread };

/* The code that the table's first call is in counts as a library, so it is libc's at first. */
static void meet_table(struct outside *which)
{
	which->wait = (enum outside_wait(*)(uint64_t, bool))(void (*)(void))abort;
	meet(which);
	which->wait = fake_wait;
}

/* Nor has the program handlers, as Check has. */
static void begin(void)
{
	for (int sig = 1; sig < SIGRTMIN; sig++)
		if (sig != SIGSEGV && sig != SIGBUS && sig != SIGILL && sig != SIGFPE)
			signal(sig, SIG_DFL);
	clock_now = 5000000000u;
	answer = OUTSIDE_AGAIN;
	hook_at = 0;
	takes = 0;
	meet_table(&table);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, wire), 0);
	heard[0] = '\0';
}

static void expect(const char *words)
{
	ck_assert_str_eq(heard, words);
	heard[0] = '\0';
}

static void set_hook(int at, void (*function)(void))
{
	hook_at = at;
	hook = function;
}

/* Not by a call that the library covers. */
static void feed(void)
{
	ck_assert_int_eq(syscall(SYS_write, wire[1], "x", 1), 1);
}

static void empty(void)
{
	char buffer[4096];

	fcntl(wire[0], F_SETFL, O_NONBLOCK);
	while (syscall(SYS_read, wire[0], buffer, sizeof(buffer)) > 0)
		;
	fcntl(wire[0], F_SETFL, 0);
}

static void choke(void)
{
	static const char zeros[4096];

	fcntl(wire[1], F_SETFL, O_NONBLOCK);
	while (syscall(SYS_write, wire[1], zeros, sizeof(zeros)) > 0)
		;
	fcntl(wire[1], F_SETFL, 0);
}

/* ---- descriptors ---- */

static ssize_t take(int way, int flags)
{
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	switch (way) {
	case 0:
		n = read(wire[0], &byte, 1);
		break;
	case 1:
		n = readv(wire[0], &iov, 1);
		break;
	case 2:
		n = recv(wire[0], &byte, 1, flags);
		break;
	case 3:
		n = recvfrom(wire[0], &byte, 1, flags, NULL, NULL);
		break;
	default:
		n = recvmsg(wire[0], &message, flags);
		break;
	}
	ck_assert(n != 1 || byte == 'x');
	return n;
}

START_TEST(a_read_waits_until_there_is_something)
{
	begin();
	set_hook(3, feed);
	ck_assert_int_eq(take(_i, 0), 1);
	expect("wait fd ever, wait fd ever, wait fd ever");
	feed();
	ck_assert_int_eq(take(_i, 0), 1);
	expect("");
	/* Where no thread of the fabric can end the wait, it leaves the turn and blocks. */
	answer = OUTSIDE_HOPELESS;
	set_hook(1, feed);
	ck_assert_int_eq(take(_i, 0), 1);
	expect("wait fd ever, leave");
	answer = OUTSIDE_AGAIN;
	if (_i >= 2) {
		ck_assert_int_eq(take(_i, MSG_DONTWAIT), -1);
		ck_assert_int_eq(errno, EAGAIN);
		expect("");
	}
	fcntl(wire[0], F_SETFL, O_NONBLOCK);
	ck_assert_int_eq(take(_i, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
	expect("wait 2000");
}
END_TEST

static ssize_t give(int way, int flags)
{
	char byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

	switch (way) {
	case 0:
		return write(wire[1], &byte, 1);
	case 1:
		return writev(wire[1], &iov, 1);
	case 2:
		return send(wire[1], &byte, 1, flags);
	case 3:
		return sendto(wire[1], &byte, 1, flags, NULL, 0);
	default:
		return sendmsg(wire[1], &message, flags);
	}
}

/* As without the library: it waits until something comes, and takes none of it. */
START_TEST(no_bytes_are_received_whether_all_are_waited_for_or_not)
{
	char byte = 0;

	begin();
	set_hook(1, feed);
	ck_assert_int_eq(recv(wire[0], &byte, 0, _i ? MSG_WAITALL : 0), 0);
	expect("wait fd ever");
	ck_assert_int_eq(take(0, 0), 1);
}
END_TEST

/* As Linux has it. */
START_TEST(a_read_or_write_of_no_bytes_does_not_wait)
{
	static const char zeros[4096];
	int ends[2];
	char byte;

	begin();
	answer = OUTSIDE_NONE;
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	ck_assert_int_eq(read(ends[0], &byte, 0), 0);
	ck_assert_int_eq(read(wire[0], &byte, 0), 0);
	while (syscall(SYS_write, ends[1], zeros, sizeof(zeros)) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	ck_assert_int_eq(write(ends[1], zeros, 0), 0);
	expect("");
}
END_TEST

START_TEST(a_write_waits_for_room_and_tells)
{
	begin();
	ck_assert_int_eq(give(_i, 0), 1);
	expect("tell fd");
	choke();
	set_hook(2, empty);
	ck_assert_int_eq(give(_i, 0), 1);
	expect("wait fd ever, wait fd ever, tell fd");
	choke();
	if (_i >= 2) {
		ck_assert_int_eq(give(_i, MSG_DONTWAIT), -1);
		ck_assert_int_eq(errno, EAGAIN);
		expect("");
	}
	fcntl(wire[1], F_SETFL, O_NONBLOCK);
	ck_assert_int_eq(give(_i, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
	expect("wait 2000");
	ck_assert_int_eq(shutdown(wire[1], SHUT_RDWR), 0);
	expect("tell fd");
	ck_assert_int_eq(close(wire[1]), 0);
	expect("tell fd");
	ck_assert_int_eq(shutdown(wire[1], SHUT_RDWR), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(close(wire[1]), -1);
	ck_assert_int_eq(errno, EBADF);
	expect("");
}
END_TEST

START_TEST(what_is_printed_or_counted_is_told)
{
	eventfd_t count;
	int fd;

	begin();
	ck_assert_int_eq(dprintf(wire[1], "%d and %s", 7, "x"), 7);
	expect("tell fd");
	ck_assert_int_eq(dprintf(wire[1], "%s", ""), 0);
	expect("");
	fd = eventfd(0, EFD_NONBLOCK);
	ck_assert_int_eq(eventfd_write(fd, 3), 0);
	expect("tell fd");
	ck_assert_int_eq(eventfd_read(fd, &count), 0);
	ck_assert_uint_eq(count, 3);
	expect("");
	ck_assert_int_eq(eventfd_read(fd, &count), -1);
	ck_assert_int_eq(errno, EAGAIN);
	expect("wait 2000");
}
END_TEST

/* ---- a pipe with a name ---- */

static char fifo[] = "/tmp/turns-fifo-XXXXXX";
static int other_end;

static void make_fifo(void)
{
	int fd = mkstemp(fifo);

	syscall(SYS_close, fd);
	unlink(fifo);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	begin();
}

static void open_writer(void)
{
	other_end = (int)syscall(SYS_openat, AT_FDCWD, fifo, O_WRONLY | O_NONBLOCK);
}

static void open_reader(void)
{
	other_end = (int)syscall(SYS_openat, AT_FDCWD, fifo, O_RDONLY | O_NONBLOCK);
}

static void close_both(int fd)
{
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	syscall(SYS_close, fd);
	syscall(SYS_close, other_end);
}

/* Hopeless: it leaves the turn, and waits as usual. */
START_TEST(each_end_of_a_fifo_waits_for_the_other_one)
{
	make_fifo();
	set_hook(2, open_writer);
	close_both(open(fifo, O_RDONLY));
	expect("tell fd, wait fd ever, wait fd ever");
	set_hook(2, open_reader);
	close_both(open(fifo, O_WRONLY));
	expect("wait fd ever, wait fd ever, tell fd");
	answer = OUTSIDE_HOPELESS;
	set_hook(1, open_writer);
	close_both(open(fifo, O_RDONLY));
	expect("tell fd, wait fd ever, leave");
	set_hook(1, open_reader);
	close_both(open(fifo, O_WRONLY));
	expect("wait fd ever, leave");
	unlink(fifo);
}
END_TEST

/* And those that do wait are told of them. A reader leaves writers the time to open it. */
START_TEST(ends_of_a_fifo_that_need_not_wait_do_not)
{
	int fd;

	make_fifo();
	ck_assert_int_eq(open(fifo, O_WRONLY | O_NONBLOCK), -1);
	ck_assert_int_eq(errno, ENXIO);
	expect("");
	fd = open(fifo, O_RDONLY | O_NONBLOCK);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	expect("tell fd, wait 2000");
	other_end = open(fifo, O_WRONLY);
	ck_assert_int_ge(other_end, 0);
	expect("tell fd");
	ck_assert_int_ge(open(fifo, O_WRONLY | O_NONBLOCK), 0);
	expect("tell fd");
	ck_assert_int_ge(open(fifo, O_RDONLY), 0);
	expect("tell fd");
	ck_assert_int_ge(open(fifo, O_RDWR), 0);
	expect("tell fd");
	ck_assert_int_eq(open(fifo, O_WRONLY | O_CREAT | O_EXCL, 0600), -1);
	ck_assert_int_eq(errno, EEXIST);
	ck_assert_int_eq(unlink(fifo), 0);
	ck_assert_int_ge(open(fifo, O_WRONLY | O_CREAT | O_EXCL, 0600), 0);
	unlink(fifo);
	expect("");
}
END_TEST

static int client = -1, listener = -1;
static struct sockaddr_in addr = { .sin_family = AF_INET };
static struct sockaddr_in meant; /* addr with the port that the kernel knows */

static void ask(void)
{
	client = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(syscall(SYS_connect, client, &meant, sizeof(meant)), 0);
}

START_TEST(a_connect_takes_time_and_an_accept_waits)
{
	socklen_t size = sizeof(addr);
	int fd;

	begin();
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, size), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&addr, &size), 0);
	ck_assert_int_eq(ntohs(addr.sin_port), NIC_BOOK_PORT_FIRST);
	ck_assert_int_eq(syscall(SYS_getsockname, listener, &meant, &size), 0);
	ck_assert_int_ne(meant.sin_port, addr.sin_port);
	client = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&addr, size), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	expect("wait 100000");
	ck_assert_int_eq(listen(listener, 4), 0);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&addr, size), 0);
	expect("wait 100000, tell fd");
	fd = accept(listener, NULL, NULL);
	ck_assert_int_gt(fd, client);
	expect("");
	client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&addr, size), -1);
	ck_assert_int_eq(errno, EINPROGRESS);
	expect("wait 100000, tell fd");
	fd = accept4(listener, NULL, NULL, 0);
	ck_assert_int_gt(fd, client);
	heard[0] = '\0';
	set_hook(2, ask);
	fd = _i ? accept4(listener, NULL, NULL, SOCK_NONBLOCK) : accept(listener, NULL, NULL);
	ck_assert_int_gt(fd, 2);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_NONBLOCK, _i ? O_NONBLOCK : 0);
	expect("wait fd ever, wait fd ever");
}
END_TEST

/* ---- several descriptors ---- */

/* With this timeout; fds[1] alone is looked at for writing in ways that can. */
static int look(int way, int ms)
{
	struct pollfd fds[2] = { { .fd = wire[0], .events = POLLIN },
				 { .fd = wire[1], .events = POLLPRI } };
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct epoll_event event = { .events = EPOLLIN };
	fd_set set, other;
	int n, fd;

	switch (way) {
	case 0:
		n = poll(fds, 2, ms);
		ck_assert(n < 1 || (fds[0].revents == POLLIN && !fds[1].revents));
		return n;
	case 1:
		n = ppoll(fds, 2, ms < 0 ? NULL : &ts, NULL);
		ck_assert(n < 1 || (fds[0].revents == POLLIN && !fds[1].revents));
		return n;
	case 2:
		FD_ZERO(&set);
		FD_SET(wire[0], &set);
		other = set;
		n = select(wire[0] + 1, &set, NULL, &other, ms < 0 ? NULL : &tv);
		ck_assert(n < 0 || FD_ISSET(wire[0], &set) == (n > 0));
		ck_assert(n < 0 || !FD_ISSET(wire[0], &other));
		return n;
	default:
		fd = epoll_create1(0);
		ck_assert_int_eq(epoll_ctl(fd, EPOLL_CTL_ADD, wire[0], &event), 0);
		n = epoll_wait(fd, &event, 1, ms);
		syscall(SYS_close, fd);
		return n;
	}
}

START_TEST(a_poll_waits_for_its_time)
{
	begin();
	ck_assert_int_eq(look(_i, 0), 0);
	expect("wait 2000");
	ck_assert_int_eq(look(_i, 5), 0);
	expect("wait fd 5000000");
	ck_assert_int_eq(look(_i, 1003), 0);
	expect("wait fd 1003000000");
	ck_assert_uint_eq(clock_now, 5000000000u + 2000 + 5000000 + 1003000000);
	set_hook(2, feed);
	ck_assert_int_eq(look(_i, -1), 1);
	expect("wait fd ever, wait fd ever");
	ck_assert_int_eq(look(_i, -1), 1);
	ck_assert_int_eq(look(_i, 5), 1);
	ck_assert_int_eq(look(_i, 0), 1);
	expect("");
	empty();
	answer = OUTSIDE_HOPELESS;
	set_hook(1, feed);
	ck_assert_int_eq(look(_i, -1), 1);
	expect("wait fd ever, leave");
	empty();
	ck_assert_int_eq(look(_i, 1), 0);
	expect("wait fd 1000000, leave");
}
END_TEST

/* 300 ms after the wait began. */
static void feed_late(void)
{
	clock_now -= 2000500000u - 300000000u;
	feed();
}

/* As Linux has it. */
START_TEST(a_select_leaves_what_is_left_of_its_time)
{
	struct timeval timeout = { .tv_sec = 2, .tv_usec = 500 };
	fd_set set;

	begin();
	FD_ZERO(&set);
	ck_assert_int_eq(select(0, &set, NULL, NULL, &timeout), 0);
	ck_assert_int_eq(timeout.tv_sec, 0);
	ck_assert_int_eq(timeout.tv_usec, 0);
	timeout = (struct timeval){ .tv_sec = 2, .tv_usec = 500 };
	set_hook(1, feed_late);
	FD_SET(wire[0], &set);
	ck_assert_int_eq(select(wire[0] + 1, &set, NULL, NULL, &timeout), 1);
	ck_assert_int_eq(timeout.tv_sec, 1);
	ck_assert_int_eq(timeout.tv_usec, 700500);
	ck_assert_int_eq(select(wire[0] + 1, &set, NULL, NULL, &timeout), 1);
	ck_assert_int_eq(timeout.tv_usec, 700500);
}
END_TEST

START_TEST(a_bad_descriptor_is_refused_at_once)
{
	struct pollfd pfd = { .fd = 1000, .events = POLLIN };
	struct epoll_event event;

	begin();
	ck_assert_int_eq(poll(&pfd, 1, 5), 1);
	ck_assert_int_eq(pfd.revents, POLLNVAL);
	ck_assert_int_eq(epoll_wait(1000, &event, 1, 5), -1);
	ck_assert_int_eq(errno, EBADF);
	expect("");
}
END_TEST

/* ---- semaphores ---- */

static sem_t sem;

static void post(void)
{
	ck_assert_int_eq(sem_post(&sem), 0);
}

/* The clock is virtual, and goes on by 1 us with each reading. */
static struct timespec in_ns(long ns)
{
	struct timespec ts;

	ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	expect("");
	ts.tv_nsec += ns;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

START_TEST(a_semaphore_is_waited_for)
{
	struct timespec ts;

	begin();
	ck_assert_int_eq(sem_init(&sem, 0, 1), 0);
	ck_assert_int_eq(sem_wait(&sem), 0);
	expect("");
	set_hook(2, post);
	ck_assert_int_eq(sem_wait(&sem), 0);
	expect("wait ever, wait ever, tell");
	answer = OUTSIDE_HOPELESS;
	set_hook(1, post);
	ck_assert_int_eq(sem_wait(&sem), 0);
	expect("wait ever, tell, leave");
	answer = OUTSIDE_AGAIN;
	ts = in_ns(50000);
	ck_assert_int_eq(sem_clockwait(&sem, CLOCK_MONOTONIC, &ts), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	expect("wait 50000");
	ts = in_ns(50000);
	set_hook(1, post);
	ck_assert_int_eq(sem_clockwait(&sem, CLOCK_MONOTONIC, &ts), 0);
	expect("wait 50000, tell");
	ts = (struct timespec){ .tv_sec = 1 };
	ck_assert_int_eq(sem_timedwait(&sem, &ts), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	expect("");
	errno = ENOENT;
	post();
	ck_assert_int_eq(errno, ENOENT);
	expect("tell");
	ck_assert_int_eq(sem_timedwait(&sem, &ts), 0);
	expect("");
}
END_TEST

/* ---- locks ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void let_go(void)
{
	ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
}

START_TEST(a_mutex_is_waited_for)
{
	struct timespec ts;

	begin();
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	expect("");
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), EBUSY);
	expect("wait 1000");
	set_hook(2, let_go);
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	expect("wait ever, wait ever, tell");
	let_go();
	expect("");
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), 0);
	expect("");
	ts = in_ns(50000);
	ck_assert_int_eq(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	expect("wait 50000");
	ts = in_ns(50000);
	set_hook(1, let_go);
	ck_assert_int_eq(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &ts), 0);
	expect("wait 50000, tell");
	ts = (struct timespec){ .tv_sec = 1 };
	ck_assert_int_eq(pthread_mutex_timedlock(&mutex, &ts), ETIMEDOUT);
	ts.tv_nsec = 1000000000;
	ck_assert_int_eq(pthread_mutex_timedlock(&mutex, &ts), EINVAL);
	expect("");
	let_go();
	ck_assert_int_eq(pthread_mutex_timedlock(&mutex, &ts), 0);
	expect("");
	let_go();
	expect("");
}
END_TEST

static void let_write(void)
{
	ck_assert_int_eq(pthread_rwlock_unlock(&rwlock), 0);
}

START_TEST(a_thread_is_told_that_it_would_wait_for_itself)
{
	static const struct timespec never = { .tv_sec = 4000000000 };
	pthread_mutexattr_t attr;
	pthread_mutex_t own;

	begin();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	ck_assert_int_eq(pthread_mutex_init(&own, &attr), 0);
	ck_assert_int_eq(pthread_mutex_lock(&own), 0);
	ck_assert_int_eq(pthread_mutex_timedlock(&own, &never), EDEADLK);
	ck_assert_int_eq(pthread_mutex_lock(&own), EDEADLK);
	ck_assert_int_eq(pthread_join(pthread_self(), NULL), EDEADLK);
	expect("");
	ck_assert_int_eq(pthread_mutex_trylock(&own), EBUSY);
	ck_assert_int_eq(pthread_mutex_unlock(&own), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&own), EPERM);
}
END_TEST

START_TEST(a_lock_for_reading_and_writing_is_waited_for)
{
	begin();
	ck_assert_int_eq(pthread_rwlock_rdlock(&rwlock), 0);
	ck_assert_int_eq(pthread_rwlock_tryrdlock(&rwlock), 0);
	expect("");
	ck_assert_int_eq(pthread_rwlock_trywrlock(&rwlock), EBUSY);
	expect("wait 1000");
	let_write();
	expect("");
	set_hook(2, let_write);
	ck_assert_int_eq(pthread_rwlock_wrlock(&rwlock), 0);
	expect("wait ever, wait ever, tell");
	ck_assert_int_eq(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
	expect("wait 1000");
	set_hook(1, let_write);
	ck_assert_int_eq(pthread_rwlock_rdlock(&rwlock), 0);
	expect("wait ever, tell");
	let_write();
	ck_assert_int_eq(pthread_rwlock_trywrlock(&rwlock), 0);
	expect("");
}
END_TEST

typedef int timed_lock(pthread_rwlock_t *lock, const struct timespec *abs);

static int read_by_clock(pthread_rwlock_t *lock, const struct timespec *abs)
{
	return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, abs);
}

static int write_by_clock(pthread_rwlock_t *lock, const struct timespec *abs)
{
	return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, abs);
}

START_TEST(a_lock_for_reading_and_writing_is_waited_for_until_a_time)
{
	static timed_lock *const timed[] = { read_by_clock, write_by_clock,
					     pthread_rwlock_timedrdlock,
					     pthread_rwlock_timedwrlock };
	struct timespec ts;

	begin();
	ck_assert_int_eq(pthread_rwlock_wrlock(&rwlock), 0);
	if (_i < 2) {
		ts = in_ns(50000);
		ck_assert_int_eq(timed[_i](&rwlock, &ts), ETIMEDOUT);
		expect("wait 50000");
		ts = in_ns(50000);
		set_hook(1, let_write);
		ck_assert_int_eq(timed[_i](&rwlock, &ts), 0);
		expect("wait 50000, tell");
	} else {
		ts = (struct timespec){ .tv_sec = 1 };
		ck_assert_int_eq(timed[_i](&rwlock, &ts), ETIMEDOUT);
		expect("");
		let_write();
		ck_assert_int_eq(timed[_i](&rwlock, &ts), 0);
	}
	/* The one for reading leaves it to other readers, the one for writing does not. */
	ck_assert_int_eq(pthread_rwlock_tryrdlock(&rwlock), _i % 2 ? EBUSY : 0);
	ts.tv_nsec = 1000000000;
	if (_i % 2)
		ck_assert_int_eq(timed[_i](&rwlock, &ts), EINVAL);
}
END_TEST

static pthread_spinlock_t spin;

static void let_spin(void)
{
	ck_assert_int_eq(pthread_spin_unlock(&spin), 0);
}

START_TEST(a_spin_lock_is_waited_for)
{
	ck_assert_int_eq(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
	begin();
	ck_assert_int_eq(pthread_spin_lock(&spin), 0);
	expect("");
	ck_assert_int_eq(pthread_spin_trylock(&spin), EBUSY);
	expect("wait 1000");
	set_hook(2, let_spin);
	ck_assert_int_eq(pthread_spin_lock(&spin), 0);
	expect("wait ever, wait ever, tell");
	let_spin();
	expect("");
	ck_assert_int_eq(pthread_spin_trylock(&spin), 0);
	expect("");
}
END_TEST

/* ---- barriers ---- */

static pthread_barrier_t barrier;

/* As another thread, the last one to come. */
static void come_last(void)
{
	ck_assert_int_eq(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
}

static void come_third_and_last(void)
{
	set_hook(1, come_last);
	ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
}

static void make_barrier(unsigned int count)
{
	ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, count), 0);
}

START_TEST(threads_wait_at_a_barrier_for_the_last_one)
{
	make_barrier(2);
	begin();
	for (int i = 0; i < 3; i++) {
		set_hook(2, come_last);
		ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
		expect("wait ever, wait ever, tell");
	}
	ck_assert_int_eq(pthread_barrier_destroy(&barrier), 0);
	make_barrier(3);
	set_hook(1, come_third_and_last);
	ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
	expect("wait ever, wait ever, tell");
	ck_assert_int_eq(pthread_barrier_destroy(&barrier), 0);
	make_barrier(1);
	come_last();
	expect("tell");
	answer = OUTSIDE_HOPELESS;
	ck_assert_int_eq(pthread_barrier_destroy(&barrier), 0);
	make_barrier(2);
	set_hook(1, come_last);
	ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
	expect("wait ever, tell, leave");
}
END_TEST

START_TEST(a_barrier_of_several_processes_is_that_of_libc)
{
	pthread_barrierattr_t attr;

	make_barrier(2);
	begin();
	ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
	ck_assert_int_eq(pthread_barrierattr_init(&attr), 0);
	ck_assert_int_eq(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0);
	ck_assert_int_eq(pthread_barrier_init(&barrier, &attr, 1), 0);
	come_last();
	expect("");
}
END_TEST

/* ---- condition variables ---- */

static pthread_cond_t cond;

static void signal_one(void)
{
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), 0); /* the waiter does not hold it */
	ck_assert_int_eq(pthread_cond_signal(&cond), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
}

static void signal_all(void)
{
	ck_assert_int_eq(pthread_cond_broadcast(&cond), 0);
}

static void expect_held(void)
{
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), EBUSY);
	expect("wait 1000");
}

START_TEST(a_condition_is_waited_for)
{
	pthread_condattr_t attr;
	struct timespec ts;

	begin();
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	ck_assert_int_eq(pthread_cond_init(&cond, &attr), 0);
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	set_hook(2, _i ? signal_all : signal_one);
	ck_assert_int_eq(pthread_cond_wait(&cond, &mutex), 0);
	expect("wait ever, wait ever, tell");
	expect_held();
	ts = in_ns(50000);
	ck_assert_int_eq(pthread_cond_timedwait(&cond, &mutex, &ts), ETIMEDOUT);
	expect("wait 50000");
	expect_held();
	ts = in_ns(50000);
	set_hook(1, _i ? signal_all : signal_one);
	ck_assert_int_eq(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &ts), 0);
	expect("wait 50000, tell");
	expect_held();
	/* No thread waits. */
	signal_all();
	ck_assert_int_eq(pthread_cond_signal(&cond), 0);
	expect("");
	let_go();
	expect("");
	ck_assert_int_eq(pthread_cond_destroy(&cond), 0);
}
END_TEST

static pthread_mutex_t robust;

static void *die_with_it(void *arg)
{
	ck_assert_int_eq(pthread_mutex_trylock(&robust), 0);
	ck_assert_int_eq(pthread_cond_signal(&cond), 0);
	return arg;
}

/* It ends with the mutex. */
static void let_owner_die(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, die_with_it, NULL), 0);
	while (pthread_tryjoin_np(thread, NULL) == EBUSY)
		sched_yield();
}

START_TEST(a_wait_for_a_condition_has_the_errors_of_its_mutex)
{
	pthread_mutexattr_t attr;
	struct timespec ts;

	begin();
	ck_assert_int_eq(pthread_cond_init(&cond, NULL), 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	ck_assert_int_eq(pthread_mutex_init(&robust, &attr), 0);
	ts = (struct timespec){ .tv_sec = 4000000000 };
	ck_assert_int_eq(pthread_cond_timedwait(&cond, &robust, &ts), EPERM);
	expect("");
	ck_assert_int_eq(pthread_mutex_lock(&robust), 0);
	set_hook(1, let_owner_die);
	if (_i)
		ck_assert_int_eq(pthread_cond_timedwait(&cond, &robust, &ts), EOWNERDEAD);
	else
		ck_assert_int_eq(pthread_cond_wait(&cond, &robust), EOWNERDEAD);
	ck_assert_int_eq(pthread_mutex_consistent(&robust), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&robust), 0);
	ck_assert_int_eq(pthread_mutex_lock(&robust), 0);
}
END_TEST

static void give_up(void)
{
	pthread_exit(NULL);
}

/* The thread does not wait again. */
static void cancel_self(void)
{
	set_hook(1, give_up);
	ck_assert_int_eq(pthread_cancel(pthread_self()), 0);
}

static bool held; /* the mutex, in the handler of a cancelled thread */

static void unlock_held(void *arg)
{
	(void)arg;
	hook_at = 0;
	held = pthread_mutex_trylock(&mutex) == EBUSY;
	heard[0] = '\0';
	pthread_mutex_unlock(&mutex);
}

static void *wait_for_cond(void *arg)
{
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	pthread_cleanup_push(unlock_held, NULL);
	pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return arg;
}

static void *wait_for_signal(void *arg)
{
	pause();
	return arg;
}

static void expect_cancelled(void *(*run)(void *))
{
	pthread_t thread;
	void *value = NULL;

	set_hook(1, cancel_self);
	ck_assert_int_eq(pthread_create(&thread, NULL, run, NULL), 0);
	while (pthread_tryjoin_np(thread, &value) == EBUSY)
		sched_yield();
	ck_assert_ptr_eq(value, PTHREAD_CANCELED);
}

START_TEST(a_thread_that_waits_for_a_condition_is_cancelled_with_the_mutex_held)
{
	begin();
	ck_assert_int_eq(pthread_cond_init(&cond, NULL), 0);
	expect_cancelled(wait_for_cond);
	ck_assert(held);
	expect("");
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
	expect("");
}
END_TEST

START_TEST(a_thread_that_pauses_is_cancelled)
{
	begin();
	expect_cancelled(wait_for_signal);
	expect("wait fd ever, tell fd");
}
END_TEST

/* ---- sleep, and threads ---- */

static void *end_at_once(void *arg)
{
	return arg;
}

START_TEST(a_sleep_is_of_virtual_time)
{
	struct timespec ts = { .tv_sec = 2, .tv_nsec = 7 }, bad = { .tv_nsec = 1000000000 };

	begin();
	ck_assert_int_eq(nanosleep(&ts, NULL), 0);
	expect("wait 2000000007");
	ck_assert_int_eq(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL), 0);
	expect("wait 2000000007");
	ck_assert_int_eq(usleep(3), 0);
	expect("wait 3000");
	ck_assert_uint_eq(sleep(4), 0);
	expect("wait 4000000000");
	ts = in_ns(50000);
	ck_assert_int_eq(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL), 0);
	expect("wait 50000");
	ts = (struct timespec){ .tv_nsec = 0 };
	ck_assert_int_eq(nanosleep(&ts, NULL), 0);
	expect("");
	ck_assert_int_eq(nanosleep(&bad, NULL), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL), EINVAL);
	bad = (struct timespec){ .tv_sec = -1 };
	ck_assert_int_eq(nanosleep(&bad, NULL), -1);
	bad = (struct timespec){ .tv_nsec = -1 };
	ck_assert_int_eq(nanosleep(&bad, NULL), -1);
	expect("");
	answer = OUTSIDE_NONE;
	ts.tv_nsec = 1;
	ck_assert_int_eq(nanosleep(&ts, NULL), 0);
	expect("wait 1, leave");
	ck_assert_int_eq(usleep(1), 0);
	expect("wait 1000, leave");
}
END_TEST

/* ---- values ---- */

static size_t by_getrandom(void *to, size_t n)
{
	return (size_t)syscall(SYS_getrandom, to, n, 0);
}

/* Newer than the oldest libc, whose <stdlib.h> does not declare it */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
uint32_t arc4random(void) __attribute__((weak));
#pragma GCC diagnostic pop

static size_t by_arc4random(void *to, size_t n)
{
	uint32_t words[4];

	for (int i = 0; i < 4; i++)
		words[i] = arc4random();
	memcpy(to, words, sizeof(words));
	return n;
}

static size_t by_fread(void *to, size_t n)
{
	FILE *file = fopen("/dev/urandom", "r");

	return fread(to, 1, 8, file) + fread((char *)to + 8, n - 8, 1, file) * (n - 8);
}

/* The byte that was pushed back comes first. */
static size_t by_getc(void *to, size_t n)
{
	FILE *file = fopen("/dev/random", "r");
	size_t done = 0;

	ungetc('x', file);
	while (done < n)
		((unsigned char *)to)[done++] = (unsigned char)getc(file);
	return done;
}

/* In a child: each begins with the same ones, as processes with the same seed and id do. */
static void draw(size_t (*by)(void *, size_t), unsigned char to[16])
{
	siginfo_t info;

	book = (struct nic_book){ 0 }; /* the ids are the same in each child */
	if (fork() == 0) {
		unsigned char drawn[16] = { 0 };
		bool good = by(drawn, sizeof(drawn)) == sizeof(drawn) &&
			    syscall(SYS_write, wire[1], drawn, sizeof(drawn)) == sizeof(drawn);

		syscall(SYS_exit_group, !good);
	}
	ck_assert_int_eq(syscall(SYS_waitid, P_ALL, 0, &info, WEXITED, NULL), 0);
	ck_assert_int_eq(info.si_status, 0);
	ck_assert_int_eq(syscall(SYS_read, wire[0], to, 16), 16);
}

/* ---- waits by the program's own clock ---- */

static const struct timespec a_ms = { .tv_nsec = 1000000 };
static uint64_t asked; /* ns */

static void wait_by_usleep(void)
{
	ck_assert_int_eq(usleep(1000), 0);
}

static void wait_by_nanosleep(void)
{
	ck_assert_int_eq(nanosleep(&a_ms, NULL), 0);
}

static void wait_by_clock_nanosleep(void)
{
	ck_assert_int_eq(clock_nanosleep(CLOCK_REALTIME, 0, &a_ms, NULL), 0);
}

static void wait_by_poll(void)
{
	ck_assert_int_eq(poll(NULL, 0, 1), 0);
}

static void wait_by_select(void)
{
	struct timeval tv = { .tv_usec = 1000 };

	ck_assert_int_eq(select(0, NULL, NULL, NULL, &tv), 0);
}

static void wait_by_epoll(void)
{
	struct epoll_event event;
	int fd = epoll_create1(EPOLL_CLOEXEC);

	ck_assert_int_eq(epoll_wait(fd, &event, 1, 1), 0);
	close(fd);
}

static void wait_by_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ck_assert_int_eq(sigtimedwait(&set, NULL, &a_ms), -1);
	ck_assert_int_eq(errno, EAGAIN);
}

static void wait_by_socket(void)
{
	struct timeval tv = { .tv_usec = 1000 };
	socklen_t size = sizeof(tv);
	char c;

	ck_assert_int_eq(setsockopt(wire[0], SOL_SOCKET, SO_RCVTIMEO, &tv, size), 0);
	/* The kernel rounds it to its ticks. */
	ck_assert_int_eq(getsockopt(wire[0], SOL_SOCKET, SO_RCVTIMEO, &tv, &size), 0);
	asked = (uint64_t)tv.tv_usec * 1000;
	ck_assert_int_eq(recv(wire[0], &c, 1, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
}

static void wait_by_futex(void)
{
	uint32_t word = 0;

	ck_assert_int_eq(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &a_ms, NULL, 0), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
}

static void wait_by_timer(void)
{
	struct itimerspec value = { .it_value = a_ms }, left;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t times;

	ck_assert_int_eq(timerfd_settime(fd, 0, &value, NULL), 0);
	ck_assert_int_eq(timerfd_gettime(fd, &left), 0);
	ck_assert_int_eq(left.it_value.tv_sec, 0);
	ck_assert_int_eq(left.it_value.tv_nsec, a_ms.tv_nsec);
	ck_assert_int_eq(read(fd, &times, sizeof(times)), sizeof(times));
	ck_assert_uint_eq(times, 1);
	close(fd);
}

START_TEST(a_timer_from_the_past_has_expired_as_often_as_on_linux)
{
	struct itimerspec value = { .it_interval = { .tv_nsec = 100000000 } }, left;
	int fd = -1;
	uint64_t times = 0;

	begin();
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	clock_gettime(CLOCK_MONOTONIC, &value.it_value);
	value.it_value.tv_sec--;
	ck_assert_int_eq(timerfd_settime(fd, TFD_TIMER_ABSTIME, &value, NULL), 0);
	ck_assert_int_eq(read(fd, &times, sizeof(times)), sizeof(times));
	ck_assert_uint_eq(times, 11);
	ck_assert_int_eq(timerfd_gettime(fd, &left), 0);
	ck_assert_int_le(left.it_value.tv_nsec, 100000000);
	ck_assert_int_gt(left.it_value.tv_nsec, 99000000);
	close(fd);
}
END_TEST

static void (*const waits[])(void) = {
	wait_by_usleep, wait_by_nanosleep, wait_by_clock_nanosleep, wait_by_poll,  wait_by_select,
	wait_by_epoll,  wait_by_signal,    wait_by_socket,          wait_by_futex, wait_by_timer,
};

static uint64_t read_ns(void)
{
	struct timespec ts;

	ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Each reading of a clock moves it on, while virtual time stands still. */
START_TEST(no_wait_is_shorter_than_it_was_asked_for)
{
	uint64_t before = 0, took;

	begin();
	asked = 1000000;
	for (int i = 0; i < 50; i++)
		before = read_ns();
	waits[_i]();
	took = read_ns() - before;
	ck_assert_uint_ge(took, asked);
	ck_assert_uint_le(took, asked + 2000);
}
END_TEST

/* ---- endless waits that are given as a time ---- */

static const struct timespec longest = { .tv_sec = LONG_MAX, .tv_nsec = 999999999 };
static uint32_t futex_word;

static void change_word(void)
{
	futex_word = 1;
}

static jmp_buf way_out;

static void jump(void)
{
	longjmp(way_out, 1);
}

START_TEST(a_sleep_of_the_longest_time_does_not_end)
{
	begin();
	set_hook(2, jump);
	if (setjmp(way_out) == 0) {
		clock_nanosleep(CLOCK_MONOTONIC, _i ? TIMER_ABSTIME : 0, &longest, NULL);
		ck_abort_msg("it has ended");
	}
	expect("wait ever, wait ever");
}
END_TEST

START_TEST(a_wait_of_the_longest_time_for_descriptors_does_not_end)
{
	const struct timeval tv = { .tv_sec = LONG_MAX };
	const struct timeval years = { .tv_sec = 1000000000000 };
	struct pollfd pfd = { .events = POLLIN };
	struct timeval timeout = tv;
	char byte;
	fd_set set;

	begin();
	pfd.fd = wire[0];
	set_hook(2, feed);
	FD_ZERO(&set);
	FD_SET(wire[0], &set);
	switch (_i) {
	case 0:
		ck_assert_int_eq(ppoll(&pfd, 1, &longest, NULL), 1);
		break;
	case 1:
		ck_assert_int_eq(select(wire[0] + 1, &set, NULL, NULL, &timeout), 1);
		break;
	case 2:
		ck_assert_int_eq(pselect(wire[0] + 1, &set, NULL, NULL, &longest, NULL), 1);
		break;
	case 3:
		ck_assert_int_eq(
			setsockopt(wire[0], SOL_SOCKET, SO_RCVTIMEO, &years, sizeof(years)), 0);
		ck_assert_int_eq(recv(wire[0], &byte, 1, 0), 1);
		break;
	default:
		ck_assert_int_eq(syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, &longest, NULL, 0),
				 0);
		expect("wait fd ever");
		set_hook(1, change_word);
		ck_assert_int_eq(syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, &longest, NULL, 0),
				 0);
		expect("wait fd ever");
		return;
	}
	expect("wait fd ever, wait fd ever");
}
END_TEST

START_TEST(a_wait_for_a_lock_until_the_end_of_time_does_not_end)
{
	begin();
	ck_assert_int_eq(sem_init(&sem, 0, 0), 0);
	set_hook(1, post);
	ck_assert_int_eq(sem_timedwait(&sem, &longest), 0);
	expect("wait ever, tell");
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	set_hook(1, let_go);
	ck_assert_int_eq(pthread_mutex_timedlock(&mutex, &longest), 0);
	expect("wait ever, tell");
	ck_assert_int_eq(pthread_cond_init(&cond, NULL), 0);
	set_hook(1, signal_all);
	ck_assert_int_eq(pthread_cond_timedwait(&cond, &mutex, &longest), 0);
	expect("wait ever, tell");
}
END_TEST

START_TEST(a_timer_of_the_longest_time_does_not_expire)
{
	struct itimerspec value = { .it_value = longest, .it_interval = longest };
	struct pollfd pfd = { .events = POLLIN };

	begin();
	pfd.fd = timerfd_create(CLOCK_MONOTONIC, 0);
	ck_assert_int_eq(timerfd_settime(pfd.fd, _i ? TFD_TIMER_ABSTIME : 0, &value, NULL), 0);
	ck_assert_int_eq(poll(&pfd, 1, 5), 0);
	value.it_value = a_ms;
	ck_assert_int_eq(timerfd_settime(pfd.fd, 0, &value, NULL), 0);
	ck_assert_int_eq(poll(&pfd, 1, 5), 1);
	ck_assert_int_eq(syscall(SYS_read, pfd.fd, &value, sizeof(uint64_t)), sizeof(uint64_t));
	ck_assert_int_eq(poll(&pfd, 1, 5), 0);
}
END_TEST

/* By a call that is not covered. */
START_TEST(a_timer_whose_descriptor_is_another_file_now_writes_nothing_there)
{
	const struct itimerspec value = { .it_value = a_ms };
	char byte;
	int fd;

	begin();
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	ck_assert_int_eq(timerfd_settime(fd, 0, &value, NULL), 0);
	ck_assert_int_eq(dup2(wire[1], fd), fd);
	ck_assert_int_eq(poll(NULL, 0, 5), 0);
	ck_assert_int_eq(recv(wire[0], &byte, 1, MSG_DONTWAIT), -1);
	ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

/* Not waited for: libc says so. */
/* Each of the two sees its time come. */
START_TEST(a_timer_expires_once_for_a_process_and_its_child)
{
	const struct itimerspec value = { .it_value = a_ms };
	uint64_t times = 0;
	int fd, status;
	pid_t child;

	begin();
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	ck_assert_int_eq(timerfd_settime(fd, 0, &value, NULL), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		poll(NULL, 0, 5);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(poll(NULL, 0, 5), 0);
	ck_assert_int_eq(read(fd, &times, sizeof(times)), sizeof(times));
	ck_assert_uint_eq(times, 1);
}
END_TEST

START_TEST(a_time_that_is_none_is_refused)
{
	const struct timespec bad[] = { { .tv_nsec = -1 }, { .tv_nsec = 1000000000 } };
	struct timespec before = { .tv_sec = -1 };
	struct timeval tv = { .tv_sec = -1 };
	sigset_t set;

	begin();
	sigemptyset(&set);
	ck_assert_int_eq(sem_init(&sem, 0, 0), 0);
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	for (size_t i = 0; i < COUNT(bad); i++) {
		ck_assert_int_eq(sem_timedwait(&sem, &bad[i]), -1);
		ck_assert_int_eq(errno, EINVAL);
		ck_assert_int_eq(pthread_cond_timedwait(&cond, &mutex, &bad[i]), EINVAL);
		ck_assert_int_eq(ppoll(NULL, 0, &bad[i], NULL), -1);
		ck_assert_int_eq(errno, EINVAL);
		ck_assert_int_eq(sigtimedwait(&set, NULL, &bad[i]), -1);
		ck_assert_int_eq(errno, EINVAL);
		ck_assert_int_eq(syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, &bad[i], NULL, 0),
				 -1);
		ck_assert_int_eq(errno, EINVAL);
	}
	ck_assert_int_eq(pselect(0, NULL, NULL, NULL, &before, NULL), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(select(0, NULL, NULL, NULL, &tv), -1);
	ck_assert_int_eq(errno, EINVAL);
	expect("");
}
END_TEST

START_TEST(random_numbers_are_of_the_seed_however_they_are_read)
{
	unsigned char a[16], b[16];

	begin();
	ck_assert_int_eq(pipe(wire), 0);
	draw(by_getrandom, a);
	draw(by_fread, b);
	ck_assert_mem_eq(a, b, 16);
	if (arc4random) {
		draw(by_arc4random, b);
		ck_assert_mem_eq(a, b, 4);
		ck_assert_mem_eq(a + 8, b + 4, 4); /* each takes a number of 64 bits */
	}
	draw(by_getc, a);
	draw(by_getc, b);
	ck_assert_mem_eq(a, b, 16);
	ck_assert_int_eq(a[0], 'x');
}
END_TEST

/* ---- names of temporary files ---- */

static char folder[] = "/tmp/turns-names-XXXXXX";
static bool stays; /* the first file */

/* Six letters of a file, six of a folder, and the first random numbers after that. */
static size_t by_name(void *to, size_t n)
{
	char file[64], other[64];
	int fd;

	snprintf(file, sizeof(file), "%s/fXXXXXX.suffix", folder);
	snprintf(other, sizeof(other), "%s/dXXXXXX", folder);
	fd = mkostemps(file, 7, O_CLOEXEC);
	if (fd < 0 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC) ||
	    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return 0;
	if (!mkdtemp(other) || rmdir(other) || (!stays && unlink(file)))
		return 0;
	memcpy(to, file + strlen(folder) + 2, 6);
	memcpy((char *)to + 6, other + strlen(folder) + 2, 6);
	return 12 + by_getrandom((char *)to + 12, n - 12);
}

START_TEST(names_of_temporary_files_are_of_the_seed_and_pass_over_those_in_use)
{
	unsigned char a[16], b[16];
	char path[64];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	begin();
	ck_assert_int_eq(pipe(wire), 0);
	draw(by_name, a);
	stays = true;
	draw(by_name, b);
	ck_assert_mem_eq(a, b, 16);
	ck_assert_mem_ne(a, a + 6, 6);
	snprintf(path, sizeof(path), "%s/f%.6s.suffix", folder, (char *)a);
	stays = false;
	draw(by_name, b);
	ck_assert_mem_eq(a + 6, b, 6);       /* the second name */
	ck_assert_mem_eq(a + 12, b + 12, 4); /* and no other number for that */
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(what_is_no_template_stays_as_it_is)
{
	char shorter[] = "XXXXX", behind[] = "XXXXXXx", nowhere[] = "/nonesuch/XXXXXX";

	begin();
	ck_assert_int_eq(mkstemp(shorter), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(mkstemp(behind), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(mkstemps(behind, -1), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(mkdtemp(nowhere));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_str_eq(nowhere, "/nonesuch/XXXXXX");
}
END_TEST

/* ---- ids of threads ---- */

static void *tell_id(void *arg)
{
	pid_t *id = arg;
	cpu_set_t cpus;

	*id = gettid();
	ck_assert_int_eq(syscall(SYS_gettid), *id);
	ck_assert_int_eq(tgkill(getpid(), *id, 0), 0);
	ck_assert_int_eq(syscall(SYS_tgkill, getpid(), *id, 0), 0);
	ck_assert_int_eq(syscall(SYS_tkill, *id, 0), 0);
	ck_assert_int_eq(sched_getaffinity(*id, sizeof(cpus), &cpus), 0);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)*id), 0);
	ck_assert_int_eq(sched_getscheduler(*id), SCHED_OTHER);
	return NULL;
}

START_TEST(threads_have_numbers_in_the_order_in_which_they_ask)
{
	pthread_t asks;
	pid_t id = 0;

	begin();
	in_fabric = true;
	ck_assert_int_eq(gettid(), getpid());
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_create(&asks, NULL, tell_id, &id), 0);
		ck_assert_int_eq(pthread_join(asks, NULL), 0);
		ck_assert_int_eq(id, NIC_BOOK_TIDS_FIRST + i);
		ck_assert_int_eq(tgkill(getpid(), id, 0), -1);
		ck_assert_int_eq(errno, ESRCH);
	}
	ck_assert_int_eq(tgkill(getpid(), gettid(), 0), 0);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)getpid()), 0);
	ck_assert_int_eq(syscall(SYS_kill, getpid(), 0), 0);
}
END_TEST

static uint64_t ns_of(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;
}

/* Each reading takes a microsecond, so none is equal to the one before. */
START_TEST(a_clock_of_the_kernel_is_that_of_libc)
{
	struct timespec a, b;
	struct timeval tv;

	begin();
	ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &a), 0);
	ck_assert_int_eq(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &b), 0);
	ck_assert_uint_eq(ns_of(&b) - ns_of(&a), 1000);
	ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &a), 0);
	ck_assert_int_eq(syscall(SYS_gettimeofday, &tv, NULL), 0);
	ck_assert_int_eq((tv.tv_sec - a.tv_sec) * 1000000 + tv.tv_usec - a.tv_nsec / 1000, 1);
	ck_assert_int_eq(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, NULL), -1);
	ck_assert_int_eq(errno, EFAULT);
}
END_TEST

static pthread_t thread;
static int ended;

static void let_end(void)
{
	uint32_t one = 1;

	ck_assert_int_eq(syscall(SYS_write, wire[1], &one, 1), 1);
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void *end_when_told(void *arg)
{
	char byte;

	while (syscall(SYS_read, wire[0], &byte, 1) != 1)
		;
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	return arg;
}

static void *look_at_announced(void *arg)
{
	*(int *)arg = announced;
	return NULL;
}

START_TEST(a_thread_is_announced_before_it_is_created_and_not_if_that_fails)
{
	pthread_attr_t large;
	int seen = 0, err;

	begin();
	in_fabric = _i == 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, look_at_announced, &seen), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(seen, in_fabric);
	announced = 0;
	ck_assert_int_eq(pthread_attr_init(&large), 0);
	ck_assert_int_eq(pthread_attr_setstacksize(&large, 1ul << 50), 0);
	err = pthread_create(&thread, &large, look_at_announced, &seen);
	ck_assert(err == EAGAIN || err == EINVAL); /* as libc or valgrind has it */
	ck_assert_int_eq(announced, 0);
	pthread_attr_destroy(&large);
}
END_TEST

/* It may not have ended when it is looked at after it has said so. */
START_TEST(a_thread_is_joined)
{
	void *value = NULL;

	begin();
	ck_assert_int_eq(pthread_create(&thread, NULL, end_at_once, &ended), 0);
	answer = OUTSIDE_NONE;
	ck_assert_int_eq(pthread_join(thread, &value), 0);
	ck_assert_ptr_eq(value, &ended);
	ck_assert(heard[0] == '\0' || strcmp(heard, "wait 1000000, leave") == 0);
	heard[0] = '\0';
	answer = OUTSIDE_AGAIN;
	ck_assert_int_eq(pthread_create(&thread, NULL, end_when_told, NULL), 0);
	set_hook(3, let_end);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(strncmp(heard, "wait 1000000, wait 1000000, wait 1000000", 40), 0);
}
END_TEST

/* ---- a program that joins late ---- */

static int64_t ns_at(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000l + ts.tv_nsec;
}

/* The fabric has just begun, so that its own time makes up for nothing. */
/* By the program's clock, whose date may be long past. */
START_TEST(a_thread_is_joined_until_a_time)
{
	const clockid_t clock = _i ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	struct timespec ts;
	int err;

	begin();
	ck_assert_int_eq(pthread_create(&thread, NULL, end_when_told, NULL), 0);
	ck_assert_int_eq(clock_gettime(clock, &ts), 0);
	ts.tv_nsec += 1500000;
	heard[0] = '\0';
	err = _i ? pthread_clockjoin_np(thread, NULL, clock, &ts)
		 : pthread_timedjoin_np(thread, NULL, &ts);
	ck_assert_int_eq(err, ETIMEDOUT);
	expect("wait 1000000, wait 500000");
	ts.tv_sec++;
	set_hook(3, let_end);
	err = _i ? pthread_clockjoin_np(thread, NULL, clock, &ts)
		 : pthread_timedjoin_np(thread, NULL, &ts);
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq(strncmp(heard, "wait 1000000, wait 1000000, wait 1000000", 40), 0);
}
END_TEST

static void note_signal(int sig)
{
	(void)sig;
	ended++;
}

START_TEST(a_lock_of_a_file_that_is_let_go_or_shared_is_told)
{
	char path[] = "/tmp/turns-XXXXXX";
	int fd, other;

	begin();
	fd = mkstemp(path);
	other = open(path, O_RDWR);
	unlink(path);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(flock(other, LOCK_SH | LOCK_NB), -1);
	ck_assert_int_eq(errno, EWOULDBLOCK);
	expect("");
	ck_assert_int_eq(flock(fd, LOCK_SH), 0);
	expect("tell fd");
	ck_assert_int_eq(flock(other, LOCK_SH | LOCK_NB), 0);
	expect("tell fd");
	ck_assert_int_eq(flock(fd, LOCK_UN | LOCK_NB), 0);
	expect("tell fd");
}
END_TEST

/* Whether the parent has asked for its own id by then or not. */
START_TEST(a_child_knows_its_parent_by_the_id_that_the_parent_sees)
{
	int status;
	pid_t child;

	begin();
	child = fork();
	if (child == 0)
		_exit(getppid() == NIC_BOOK_PIDS_FIRST ? 0 : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(getpid(), NIC_BOOK_PIDS_FIRST);
}
END_TEST

START_TEST(ids_of_processes_that_are_gone_are_given_out_again)
{
	pid_t child, last = 0;

	begin();
	ck_assert_int_eq(getpid(), NIC_BOOK_PIDS_FIRST);
	for (int i = 1; i < 2 * NIC_BOOK_PIDS; i++) {
		child = fork();
		if (child == 0)
			_exit(0);
		ck_assert_int_gt(child, NIC_BOOK_PIDS_FIRST);
		ck_assert_int_lt(child, NIC_BOOK_TIDS_FIRST);
		ck_assert_int_ne(child, last);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		last = child;
		heard[0] = '\0';
	}
}
END_TEST

START_TEST(a_signal_for_a_thread_is_told)
{
	const union sigval value = { .sival_int = 1 };

	begin();
	ended = 0;
	ck_assert(signal(SIGUSR1, note_signal) != SIG_ERR);
	ck_assert_int_eq(pthread_kill(pthread_self(), SIGUSR1), 0);
	expect("tell fd");
	ck_assert_int_eq(pthread_sigqueue(pthread_self(), SIGUSR1, value), 0);
	expect("tell fd");
	ck_assert_int_eq(ended, 2);
	ck_assert_int_eq(pthread_kill(pthread_self(), -1), EINVAL);
	expect("");
}
END_TEST

static void wait_again(void)
{
	ck_abort_msg("the signal did not end it");
}

/* The first has no handler, and does nothing. */
static void send_signals(void)
{
	set_hook(1, wait_again);
	ck_assert_int_eq(raise(SIGURG), 0);
	ck_assert_int_eq(raise(SIGUSR1), 0);
}

START_TEST(a_pause_ends_when_a_handler_has_run)
{
	sigset_t before, after;

	begin();
	ended = 0;
	ck_assert(signal(SIGUSR1, note_signal) != SIG_ERR);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	set_hook(1, send_signals);
	ck_assert_int_eq(pause(), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(ended, 1);
	expect("wait fd ever");
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	ck_assert_mem_eq(&before, &after, sizeof(long));
}
END_TEST

/* ---- calls that a handler ends ---- */

static void handle(int flags)
{
	const struct sigaction action = { .sa_handler = note_signal, .sa_flags = flags };

	begin();
	ended = 0;
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	set_hook(1, send_signals);
}

static int lock_of_file(int operation)
{
	static int fd = -1, other = -1;
	char path[] = "/tmp/turns-XXXXXX";

	if (operation == LOCK_UN)
		return flock(other, LOCK_UN);
	fd = mkstemp(path);
	other = open(path, O_RDWR);
	unlink(path);
	syscall(SYS_flock, other, LOCK_EX);
	heard[0] = '\0';
	return flock(fd, operation);
}

static sem_t none_left;

static int call_that_ends(int way)
{
	struct timespec second = { .tv_sec = 1 }, later;
	struct pollfd pfd = { .fd = wire[0], .events = POLLIN };
	struct timeval limit = { .tv_sec = 1 };
	uint32_t word = 0;
	sigset_t set;
	fd_set fds;

	clock_gettime(CLOCK_REALTIME, &later);
	later.tv_sec++;
	FD_ZERO(&fds);
	FD_SET(wire[0], &fds);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	switch (way) {
	case 0:
		return poll(&pfd, 1, -1);
	case 1:
		return ppoll(&pfd, 1, &second, NULL);
	case 2:
		return select(wire[0] + 1, &fds, NULL, NULL, NULL);
	case 3:
		return pselect(wire[0] + 1, &fds, NULL, NULL, &second, NULL);
	case 4:
		return epoll_wait(epoll_create1(0), &(struct epoll_event){ 0 }, 1, 1000);
	case 5:
		return usleep(1000000);
	case 6:
		return sem_timedwait(&none_left, &later);
	case 7:
		return sigtimedwait(&set, NULL, &second);
	case 8:
		sigemptyset(&set);
		return sigsuspend(&set);
	case 9:
		setsockopt(wire[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		return (int)take(2, 0);
	default:
		return (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &second, NULL, 0);
	}
}

/* As on Linux: whether with SA_RESTART or not. */
START_TEST(a_call_with_a_limit_ends_when_a_handler_has_run)
{
	sigset_t before, after;

	handle(_i % 2 ? SA_RESTART : 0);
	takes = 1000;
	sem_init(&none_left, 0, 0);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	ck_assert_int_eq(call_that_ends(_i / 2), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(ended, 1);
	ck_assert(!strncmp(heard, "wait fd ", 8) && !strchr(heard, ','));
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	ck_assert_mem_eq(&before, &after, sizeof(long));
}
END_TEST

START_TEST(a_sleep_that_a_handler_ends_tells_what_is_left)
{
	struct timespec ts = { .tv_sec = 3 }, left;
	struct timeval limit = { .tv_sec = 3 };

	handle(SA_RESTART);
	takes = 1000000000;
	ck_assert_int_eq(nanosleep(&ts, &left), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert(left.tv_sec == 2 && left.tv_nsec == 0);
	set_hook(2, send_signals);
	ck_assert_int_eq(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &left), EINTR);
	ck_assert(left.tv_sec == 1 && left.tv_nsec == 0);
	set_hook(1, send_signals);
	ck_assert_uint_eq(sleep(3), 2);
	set_hook(1, send_signals);
	ck_assert_int_eq(select(0, NULL, NULL, NULL, &limit), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert(limit.tv_sec == 2 && limit.tv_usec == 0);
}
END_TEST

static void post_and_feed(void)
{
	set_hook(1, wait_again);
	feed();
	sem_post(&none_left);
	lock_of_file(LOCK_UN);
}

static void send_then_end(void)
{
	set_hook(1, post_and_feed);
	raise(SIGUSR1);
}

static int call_that_goes_on(int way)
{
	switch (way) {
	case 0:
		return take(0, 0) == 1 ? 0 : -1;
	case 1:
		return take(2, 0) == 1 ? 0 : -1;
	case 2:
		return sem_wait(&none_left);
	default:
		return lock_of_file(LOCK_EX);
	}
}

START_TEST(a_call_goes_on_after_a_handler_with_sa_restart)
{
	sem_init(&none_left, 0, 0);
	handle(0);
	ck_assert_int_eq(call_that_goes_on(_i), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(ended, 1);
	handle(SA_RESTART);
	set_hook(1, send_then_end);
	ck_assert_int_eq(call_that_goes_on(_i), 0);
	ck_assert_int_eq(ended, 1);
}
END_TEST

START_TEST(a_stream_has_an_error_when_a_handler_ends_its_read)
{
	char line[4];
	FILE *file;

	handle(0);
	file = fdopen(wire[0], "r");
	ck_assert_ptr_null(fgets(line, sizeof(line), file));
	ck_assert_int_eq(errno, EINTR);
	ck_assert(ferror(file) && !feof(file));
	feed();
	clearerr(file);
	ck_assert_int_eq(fgetc(file), 'x');
	fclose(file);
}
END_TEST

START_TEST(a_wait_for_a_child_ends_when_a_handler_has_run)
{
	pid_t child;

	handle(0);
	child = (pid_t)syscall(SYS_fork);
	if (child == 0) {
		syscall(SYS_pause);
		syscall(SYS_exit_group, 0);
	}
	ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
	ck_assert_int_eq(errno, EINTR);
	set_hook(1, send_signals);
	ck_assert_int_eq(waitid(P_ALL, 0, NULL, WEXITED), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(ended, 2);
	hook_at = 0;
	syscall(SYS_kill, child, SIGKILL);
	ck_assert_int_gt(waitpid(-1, NULL, 0), 0);
}
END_TEST

/* A handler for once is none afterwards, and a signal without one ends nothing. */
START_TEST(a_handler_that_has_run_ends_one_call)
{
	handle((int)SA_RESETHAND);
	ck_assert_int_eq(poll(NULL, 0, -1), -1);
	ck_assert_int_eq(ended, 1);
	expect("wait fd ever");
	hook_at = 0;
	ck_assert_int_eq(usleep(5), 0);
	expect("wait 5000");
}
END_TEST

static pthread_mutex_t guarded = PTHREAD_MUTEX_INITIALIZER;

static void unlock_guarded(void)
{
	ck_assert_int_eq(ended, 1);
	pthread_mutex_unlock(&guarded);
}

static void send_and_unlock(void)
{
	set_hook(1, unlock_guarded);
	raise(SIGUSR1);
}

START_TEST(a_handler_does_not_end_a_wait_for_a_lock)
{
	handle(0);
	pthread_mutex_lock(&guarded);
	set_hook(1, send_and_unlock);
	ck_assert_int_eq(pthread_mutex_lock(&guarded), 0);
	expect("wait ever, wait ever, tell");
}
END_TEST

static pthread_t handler_ran_in;

static void note_thread(int sig)
{
	(void)sig;
	handler_ran_in = pthread_self();
}

static int to_sender[2], to_first[2];

/* Not by calls that the library covers. */
static void hand_over(const int *out, const int *in)
{
	char byte = 0;

	syscall(SYS_write, out[1], &byte, 1);
	syscall(SYS_read, in[0], &byte, 1);
}

static void let_sender_go(void)
{
	hand_over(to_sender, to_first);
}

/* As it waits for the first thread, that one has the turn. */
static void let_first_go(void)
{
	hand_over(to_first, to_sender);
}

static void *send_to_process(void *unused)
{
	char byte;

	syscall(SYS_read, to_sender[0], &byte, 1);
	set_hook(1, let_first_go);
	kill(getpid(), SIGUSR1);
	syscall(SYS_write, to_first[1], &byte, 1); /* if it has not let it go */
	return unused;
}

/* The kernel prefers it, but here it can only keep the signal back. */
START_TEST(a_signal_for_the_process_is_its_first_threads)
{
	pthread_t sender;

	begin();
	ck_assert(signal(SIGUSR1, note_thread) != SIG_ERR);
	ck_assert_int_eq(pipe(to_sender) | pipe(to_first), 0);
	pthread_create(&sender, NULL, send_to_process, NULL);
	set_hook(1, let_sender_go);
	ck_assert_int_eq(poll(NULL, 0, -1), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert(pthread_equal(handler_ran_in, pthread_self()));
	syscall(SYS_write, to_sender[1], "", 1);
	pthread_join(sender, NULL);
}
END_TEST

START_TEST(monotonic_clocks_do_not_go_back_when_a_program_joins)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME };
	int64_t before, after;

	/* Late in a second, which is what the virtual clocks begin with. */
	do
		before = ns_at(CLOCK_BOOTTIME);
	while (before % 1000000000 < 500000000);
	begin();
	clock_now = 0;
	for (size_t i = 0; i < COUNT(clocks); i++) {
		after = ns_at(clocks[i]);
		ck_assert_int_ge(after, before);
		ck_assert_int_le(after, before + 2000000000);
	}
}
END_TEST

/* ---- the table itself ---- */

START_TEST(a_shorter_table_is_not_met_and_one_only_once)
{
	static struct outside older;

	begin();
	older = table;
	older.size = sizeof(older) - 1;
	meet(&older);
	meet(&table);
	older.wait = NULL;
	older.tell = NULL;
	ck_assert_int_eq(usleep(1), 0);
	expect("wait 1000");
	ck_assert_int_eq(give(0, 0), 1);
	expect("tell fd");
}
END_TEST

/* One for libdat, one for libibverbs; a third has no place. */
START_TEST(two_tables_are_met_and_no_more)
{
	static struct outside others[2];

	begin();
	for (int i = 0; i < 2; i++) {
		others[i] = table;
		meet_table(&others[i]);
	}
	ck_assert_int_eq(give(0, 0), 1);
	expect("tell fd, tell fd");
	answer = OUTSIDE_NONE;
	ck_assert_int_eq(usleep(1), 0);
	expect("wait 1000, wait 1000, leave, leave");
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_read_waits_until_there_is_something, 5, NULL);
	unit_add(suite, no_bytes_are_received_whether_all_are_waited_for_or_not, 2, NULL);
	unit_add(suite, a_read_or_write_of_no_bytes_does_not_wait, 1, NULL);
	unit_add(suite, a_write_waits_for_room_and_tells, 5, NULL);
	unit_add(suite, what_is_printed_or_counted_is_told, 1, NULL);
	unit_add(suite, each_end_of_a_fifo_waits_for_the_other_one, 1, NULL);
	unit_add(suite, ends_of_a_fifo_that_need_not_wait_do_not, 1, NULL);
	unit_add(suite, a_connect_takes_time_and_an_accept_waits, 2, NULL);
	unit_add(suite, a_poll_waits_for_its_time, 4, NULL);
	unit_add(suite, a_select_leaves_what_is_left_of_its_time, 1, NULL);
	unit_add(suite, a_bad_descriptor_is_refused_at_once, 1, NULL);
	unit_add(suite, a_semaphore_is_waited_for, 1, NULL);
	unit_add(suite, a_mutex_is_waited_for, 1, NULL);
	unit_add(suite, a_thread_is_told_that_it_would_wait_for_itself, 1, NULL);
	unit_add(suite, a_lock_for_reading_and_writing_is_waited_for, 1, NULL);
	unit_add(suite, a_lock_for_reading_and_writing_is_waited_for_until_a_time, 4, NULL);
	unit_add(suite, a_spin_lock_is_waited_for, 1, NULL);
	unit_add(suite, threads_wait_at_a_barrier_for_the_last_one, 1, NULL);
	unit_add(suite, a_barrier_of_several_processes_is_that_of_libc, 1, NULL);
	unit_add(suite, a_condition_is_waited_for, 2, NULL);
	unit_add(suite, a_wait_for_a_condition_has_the_errors_of_its_mutex, 2, NULL);
	unit_add(suite, a_thread_that_waits_for_a_condition_is_cancelled_with_the_mutex_held, 1,
		 NULL);
	unit_add(suite, a_thread_that_pauses_is_cancelled, 1, NULL);
	unit_add(suite, a_sleep_is_of_virtual_time, 1, NULL);
	unit_add(suite, no_wait_is_shorter_than_it_was_asked_for, (int)COUNT(waits), NULL);
	unit_add(suite, a_sleep_of_the_longest_time_does_not_end, 2, NULL);
	unit_add(suite, a_wait_of_the_longest_time_for_descriptors_does_not_end, 5, NULL);
	unit_add(suite, a_wait_for_a_lock_until_the_end_of_time_does_not_end, 1, NULL);
	unit_add(suite, a_timer_of_the_longest_time_does_not_expire, 2, NULL);
	unit_add(suite, a_timer_whose_descriptor_is_another_file_now_writes_nothing_there, 1, NULL);
	unit_add(suite, a_timer_expires_once_for_a_process_and_its_child, 1, NULL);
	unit_add(suite, a_time_that_is_none_is_refused, 1, NULL);
	unit_add(suite, random_numbers_are_of_the_seed_however_they_are_read, 1, NULL);
	unit_add(suite, names_of_temporary_files_are_of_the_seed_and_pass_over_those_in_use, 1,
		 NULL);
	unit_add(suite, what_is_no_template_stays_as_it_is, 1, NULL);
	unit_add(suite, threads_have_numbers_in_the_order_in_which_they_ask, 1, NULL);
	unit_add(suite, a_clock_of_the_kernel_is_that_of_libc, 1, NULL);
	unit_add(suite, a_thread_is_announced_before_it_is_created_and_not_if_that_fails, 2, NULL);
	unit_add(suite, a_thread_is_joined, 1, NULL);
	unit_add(suite, a_thread_is_joined_until_a_time, 2, NULL);
	unit_add(suite, a_lock_of_a_file_that_is_let_go_or_shared_is_told, 1, NULL);
	unit_add(suite, a_child_knows_its_parent_by_the_id_that_the_parent_sees, 1, NULL);
	unit_add(suite, ids_of_processes_that_are_gone_are_given_out_again, 1, NULL);
	unit_add(suite, a_signal_for_a_thread_is_told, 1, NULL);
	unit_add(suite, a_pause_ends_when_a_handler_has_run, 1, NULL);
	unit_add(suite, a_call_with_a_limit_ends_when_a_handler_has_run, 22, NULL);
	unit_add(suite, a_sleep_that_a_handler_ends_tells_what_is_left, 1, NULL);
	unit_add(suite, a_call_goes_on_after_a_handler_with_sa_restart, 4, NULL);
	unit_add(suite, a_stream_has_an_error_when_a_handler_ends_its_read, 1, NULL);
	unit_add(suite, a_wait_for_a_child_ends_when_a_handler_has_run, 1, NULL);
	unit_add(suite, a_handler_that_has_run_ends_one_call, 1, NULL);
	unit_add(suite, a_timer_from_the_past_has_expired_as_often_as_on_linux, 1, NULL);
	unit_add(suite, a_handler_does_not_end_a_wait_for_a_lock, 1, NULL);
	unit_add(suite, a_signal_for_the_process_is_its_first_threads, 1, NULL);
	unit_add(suite, monotonic_clocks_do_not_go_back_when_a_program_joins, 1, NULL);
	unit_add(suite, a_shorter_table_is_not_met_and_one_only_once, 1, NULL);
	unit_add(suite, two_tables_are_met_and_no_more, 1, NULL);
}

/* The library is loaded before the others, if there are any. */
static int start_again(char **argv)
{
	const char *top = getenv("top_builddir"), *others = getenv("LD_PRELOAD");
	const char *options = getenv("ASAN_OPTIONS");
	char path[4096], all[8192];

	snprintf(path, sizeof(path), "%s/verbs/.libs/libdat-turns.so", top ? top : ".");
	snprintf(all, sizeof(all), "%s %s", path, others ? others : "");
	if (access(path, R_OK)) {
		puts("1..0 # SKIP libdat-turns.so is not built");
		return 0;
	}
	setenv("LD_PRELOAD", all, 1);
	setenv("DATSIM_VERBS", "emu", 1);
	/* AddressSanitizer wants to be the first library otherwise. */
	snprintf(all, sizeof(all), "verify_asan_link_order=0:%s", options ? options : "");
	setenv("ASAN_OPTIONS", all, 1);
	execv(argv[0], argv);
	return 99;
}

int main(int argc, char **argv)
{
	(void)argc;
	meet = (void (*)(const struct outside *))dlsym(RTLD_DEFAULT, "libdat_outside_meet");
	return meet ? unit_run("turns_calls", fill, CK_FORK) : start_again(argv);
}
