/* SPDX-License-Identifier: BSD-3-Clause */
/* libdat-turns.so alone: descriptors, and pipes with a name. */
#include <sys/mman.h>

#include "turns_table.h"

/* ---- descriptors ---- */

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
		expect("wait 2000");
	}
	fcntl(wire[0], F_SETFL, O_NONBLOCK);
	ck_assert_int_eq(take(_i, 0), -1);
	ck_assert_int_eq(errno, EAGAIN);
	expect("wait 2000");
}
END_TEST

/* Nor are they found because there is something else. */
START_TEST(errors_of_a_socket_are_not_waited_for)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t size = sizeof(addr);

	begin();
	close(wire[0]);
	wire[0] = socket(AF_INET, SOCK_DGRAM, 0);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(wire[0], (struct sockaddr *)&addr, size), 0);
	ck_assert_int_eq(syscall(SYS_getsockname, wire[0], &addr, &size), 0);
	for (int sent = 0; sent < 2; sent++) {
		heard[0] = '\0';
		ck_assert_int_eq(take(2 + _i, MSG_ERRQUEUE), -1);
		ck_assert_int_eq(errno, EAGAIN);
		expect("wait 2000");
		ck_assert_int_eq(syscall(SYS_sendto, wire[0], "x", 1, 0, &addr, size), 1);
	}
	ck_assert_int_eq(take(2 + _i, 0), 1);
	expect("");
}
END_TEST

/* As Linux has it. It is no data, so a wait for data would never end. */
START_TEST(an_urgent_byte_is_not_waited_for)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0), sender = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(addr);

	begin();
	close(wire[0]);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, size), 0);
	ck_assert_int_eq(syscall(SYS_getsockname, listener, &addr, &size), 0);
	ck_assert_int_eq(syscall(SYS_listen, listener, 1), 0);
	ck_assert_int_eq(syscall(SYS_connect, sender, &addr, size), 0);
	wire[0] = (int)syscall(SYS_accept, listener, NULL, NULL);
	heard[0] = '\0';
	ck_assert_int_eq(take(2 + _i, MSG_OOB | MSG_WAITALL), -1);
	ck_assert_int_eq(errno, EINVAL);
	expect("wait 2000");
	ck_assert_int_eq(syscall(SYS_sendto, sender, "x", 1, MSG_OOB, NULL, 0), 1);
	ck_assert_int_eq(take(2 + _i, MSG_OOB), 1);
	expect("");
	close(listener);
	close(sender);
}
END_TEST

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
		expect("wait 2000");
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

/* ---- what may end another thread's wait ---- */

/* A copy takes the place of another one, which may have been the last of a pipe. */
START_TEST(a_descriptor_that_is_closed_or_replaced_is_told)
{
	int fd;

	begin();
	fd = dup(wire[0]);
	expect("tell fd");
	ck_assert_int_eq(dup2(wire[1], fd), fd);
	expect("tell fd");
	ck_assert_int_eq(dup3(wire[0], fd, O_CLOEXEC), fd);
	expect("tell fd");
	ck_assert_int_eq(dup2(fd, fd), fd);
	ck_assert_int_eq(dup2(999, fd), -1);
	expect("");
	ck_assert_int_eq(close(fd), 0);
	expect("tell fd");
	ck_assert_int_eq(close(fd), -1);
	expect("");
	fd = fcntl(wire[0], F_DUPFD, 500);
	ck_assert_int_eq(fd, 500);
	expect("tell fd");
	ck_assert_int_eq(fcntl(wire[0], F_DUPFD_CLOEXEC, 500), 501);
	expect("tell fd");
	ck_assert_int_eq(close_range(500, 501, 0), 0);
	expect("tell fd");
	ck_assert_int_eq(close_range(501, 500, 0), -1);
	expect("");
	ck_assert_int_eq(fcntl(wire[0], F_DUPFD, 900), 900);
	expect("tell fd");
	closefrom(900);
	expect("tell fd");
	ck_assert_int_eq(fcntl(900, F_GETFD), -1);
}
END_TEST

static int change_record(int fd, int way, short type)
{
	struct flock lock = { .l_type = type };
	static const int commands[] = { F_SETLK, F_OFD_SETLK, F_SETLKW, F_OFD_SETLKW };

	if (way < 4)
		return fcntl(fd, commands[way], &lock);
	return lockf(fd, type == F_UNLCK ? F_ULOCK : way == 4 ? F_TLOCK : F_LOCK, 0);
}

/* One for writing may have been one for all the file, or become one for reading. */
START_TEST(a_lock_of_a_record_that_changes_is_told)
{
	int fd = memfd_create("turns", 0), other;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDWR);
	ck_assert(fd >= 0 && other >= 0);
	begin();
	ck_assert_int_eq(change_record(fd, _i, F_WRLCK), 0);
	expect("tell fd");
	if (_i < 4) {
		ck_assert_int_eq(change_record(fd, _i, F_RDLCK), 0);
		expect("tell fd");
	}
	if (_i == 1) {
		ck_assert_int_eq(change_record(other, _i, F_WRLCK), -1);
		expect("wait 2000");
	}
	ck_assert_int_eq(change_record(fd, _i, F_UNLCK), 0);
	expect("tell fd");
}
END_TEST

START_TEST(bytes_that_the_kernel_moves_are_told)
{
	int pipe_ends[2], aside[2];
	char byte = 'x';
	const struct iovec iov = { &byte, 1 };

	ck_assert(pipe(pipe_ends) == 0 && pipe(aside) == 0);
	begin();
	ck_assert_int_eq(vmsplice(pipe_ends[1], &iov, 1, 0), 1);
	expect("tell fd");
	ck_assert_int_eq(tee(pipe_ends[0], aside[1], 1, 0), 1);
	expect("tell fd");
	ck_assert_int_eq(splice(pipe_ends[0], NULL, aside[1], NULL, 1, 0), 1);
	expect("tell fd");
	ck_assert_int_eq(splice(pipe_ends[0], NULL, aside[1], NULL, 1, SPLICE_F_NONBLOCK), -1);
	ck_assert_int_eq(errno, EAGAIN);
	expect("wait 2000");
}
END_TEST

static int conduit[2]; /* a pipe that does not block */

static void fill_conduit(void)
{
	char zeros[4096] = { 0 };

	while (syscall(SYS_write, conduit[1], zeros, sizeof(zeros)) > 0)
		;
}

static void empty_conduit(void)
{
	char buffer[4096];

	while (syscall(SYS_read, conduit[0], buffer, sizeof(buffer)) > 0)
		;
}

/* By calls that the library does not cover: until a signal comes, whenever that is. */
static void see_linux_wait(const struct iovec *iov, int fd)
{
	struct itimerval often = { { .tv_usec = 10000 }, { .tv_usec = 10000 } };
	const struct sigaction noted = { .sa_handler = note_signal };

	ck_assert_int_eq(sigaction(SIGALRM, &noted, NULL), 0);
	ck_assert_int_eq(syscall(SYS_setitimer, ITIMER_REAL, &often, NULL), 0);
	ck_assert_int_eq(syscall(SYS_vmsplice, fd, iov, 1, 0), -1);
	ck_assert_int_eq(errno, EINTR);
	often = (struct itimerval){ 0 };
	ck_assert_int_eq(syscall(SYS_setitimer, ITIMER_REAL, &often, NULL), 0);
	signal(SIGALRM, SIG_DFL);
}

/* It is empty, and read; or full, and written to. */
START_TEST(a_vmsplice_waits_though_its_pipe_does_not_block)
{
	bool writes = _i == 1;
	char byte = 'x';
	const struct iovec iov = { &byte, 1 };

	ck_assert_int_eq(pipe2(conduit, O_NONBLOCK), 0);
	begin();
	if (writes)
		fill_conduit();
	see_linux_wait(&iov, conduit[writes]);
	set_hook(1, writes ? empty_conduit : fill_conduit);
	ck_assert_int_eq(vmsplice(conduit[writes], &iov, 1, 0), 1);
	expect("wait fd ever, tell fd");
	(writes ? fill_conduit : empty_conduit)();
	ck_assert_int_eq(vmsplice(conduit[writes], &iov, 1, SPLICE_F_NONBLOCK), -1);
	ck_assert_int_eq(errno, EAGAIN);
	expect("wait 2000");
}
END_TEST

/* Between others, and at each end of the range; the library's own call closes it. */
START_TEST(a_kept_descriptor_alone_stays_open_in_a_range)
{
	void (*keep)(int *) = (void (*)(int *))dlsym(RTLD_DEFAULT, "libdat_outside_keep");
	void (*give_up)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "libdat_outside_drop");
	int fd = open("/dev/null", O_RDONLY);
	unsigned int at;

	begin();
	ck_assert(keep && give_up && fd >= 0);
	keep(&fd);
	at = (unsigned int)fd;
	ck_assert_int_eq(dup2(wire[0], fd - 1), fd - 1);
	ck_assert_int_eq(dup2(wire[0], fd + 1), fd + 1);
	ck_assert_int_eq(close_range(at - 1, at + 1, 0), 0);
	ck_assert_int_eq(fcntl(fd - 1, F_GETFD), -1);
	ck_assert_int_eq(fcntl(fd + 1, F_GETFD), -1);
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	ck_assert_int_eq(close_range(at, at, 0), 0);
	ck_assert_int_eq(close_range(at - 1, at, 0), 0);
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	give_up(fd);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_kept_descriptor_alone_stays_open_in_a_range, 1, NULL);
	unit_add(suite, a_read_waits_until_there_is_something, 5, NULL);
	unit_add(suite, errors_of_a_socket_are_not_waited_for, 3, NULL);
	unit_add(suite, an_urgent_byte_is_not_waited_for, 3, NULL);
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
	unit_add(suite, a_descriptor_that_is_closed_or_replaced_is_told, 1, NULL);
	unit_add(suite, a_lock_of_a_record_that_changes_is_told, 6, NULL);
	unit_add(suite, bytes_that_the_kernel_moves_are_told, 1, NULL);
	unit_add(suite, a_vmsplice_waits_though_its_pipe_does_not_block, 2, NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	return turns_main(argv, "turns_files", fill);
}
