/* SPDX-License-Identifier: BSD-3-Clause */
/* turns_table.c - the table of the tests of libdat-turns.so, and what several of them wait for. */
#include "turns_table.h"

char heard[1024];
uint64_t clock_now;
enum outside_wait answer;
uint64_t takes;     /* each wait; 0: all its time */
void (*hook)(void); /* at the wait with this number, from 1 */
int hook_at;
int wire[2]; /* what is written to 1 is read from 0 */

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

struct nic_book book;

static struct nic_book *fake_book(void)
{
	return &book;
}

int announced; /* threads that are being created */
bool in_fabric;

static bool fake_thread(void)
{
	announced += in_fabric;
	return in_fabric;
}

static void fake_no_thread(void)
{
	announced--;
}

struct outside table = { .size = sizeof(table),
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
void meet_table(struct outside *which)
{
	which->wait = (enum outside_wait(*)(uint64_t, bool))(void (*)(void))abort;
	meet(which);
	which->wait = fake_wait;
}

/* Nor has the program handlers, as Check has. */
void begin(void)
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

void expect(const char *words)
{
	ck_assert_str_eq(heard, words);
	heard[0] = '\0';
}

void set_hook(int at, void (*function)(void))
{
	hook_at = at;
	hook = function;
}

/* Not by a call that the library covers. */
void feed(void)
{
	ck_assert_int_eq(syscall(SYS_write, wire[1], "x", 1), 1);
}

void empty(void)
{
	char buffer[4096];

	fcntl(wire[0], F_SETFL, O_NONBLOCK);
	while (syscall(SYS_read, wire[0], buffer, sizeof(buffer)) > 0)
		;
	fcntl(wire[0], F_SETFL, 0);
}

void choke(void)
{
	static const char zeros[4096];

	fcntl(wire[1], F_SETFL, O_NONBLOCK);
	while (syscall(SYS_write, wire[1], zeros, sizeof(zeros)) > 0)
		;
	fcntl(wire[1], F_SETFL, 0);
}

ssize_t take(int way, int flags)
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

ssize_t give(int way, int flags)
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

/* With this timeout; fds[1] alone is looked at for writing in ways that can. */
int look(int way, int ms)
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

sem_t sem;

void post(void)
{
	ck_assert_int_eq(sem_post(&sem), 0);
}

/* The clock is virtual, and goes on by 1 us with each reading. */
struct timespec in_ns(long ns)
{
	struct timespec ts;

	ck_assert_int_eq(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
	expect("");
	ts.tv_nsec += ns;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

void let_go(void)
{
	ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
}

pthread_cond_t cond;

void signal_all(void)
{
	ck_assert_int_eq(pthread_cond_broadcast(&cond), 0);
}

void *end_at_once(void *arg)
{
	return arg;
}

int ended;

int64_t ns_at(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000l + ts.tv_nsec;
}

void note_signal(int sig)
{
	(void)sig;
	ended++;
}

void wait_again(void)
{
	ck_abort_msg("the signal did not end it");
}

/* The first has no handler, and does nothing. */
void send_signals(void)
{
	set_hook(1, wait_again);
	ck_assert_int_eq(raise(SIGURG), 0);
	ck_assert_int_eq(raise(SIGUSR1), 0);
}
