/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of what libdat-turns.so covers (host/outside/turns_calls.h): the library defines each
 * name, and each call that may wait is made where it would block. It has to ask the table for a
 * turn before it comes back; what it waits for happens in that moment, and no sooner.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "host/nic.h"
#include "host/outside/outside.h"
#include "host/outside/turns_calls.h"
#include "tests/support/support.h"
#include "turns_main.h"

/* ---- the table ---- */

#define EARLY_MOST 4

static int waits, nows;
static void (*happen)(void); /* what the call waits for; at its first wait */
static int early;            /* or as it asks for the time so many times; 0: no */
static uint64_t clock_now = 5000000000u;
static struct nic_book book;

static enum outside_wait fake_wait(uint64_t ns, bool descriptor)
{
	(void)descriptor;
	if (ns != OUTSIDE_NEVER)
		clock_now += ns;
	if (waits++ == 0 && happen && !(early && nows >= early))
		happen();
	return happen || ns != OUTSIDE_NEVER ? OUTSIDE_AGAIN : OUTSIDE_HOPELESS;
}

static void fake_tell(bool descriptor)
{
	(void)descriptor;
}

static void fake_nothing(void)
{
}

static void fake_born(int pid)
{
	(void)pid;
}

/* The turn may pass at its end, as at that of any call but `look`. */
static uint64_t fake_now(void)
{
	if (++nows == early && happen)
		happen();
	return clock_now;
}

static uint64_t fake_look(void)
{
	return clock_now;
}

static struct nic_book *fake_book(void)
{
	return &book;
}

static bool fake_thread(void)
{
	return true;
}

static struct outside table = { .size = sizeof(table),
				.tell = fake_tell,
				.leave = fake_nothing,
				.now = fake_now,
				.bear = fake_nothing,
				.born = fake_born,
				.end = fake_nothing,
				.book = fake_book,
				.look = fake_look,
				.thread = fake_thread,
				.no_thread = fake_nothing };

/* The code that the table's first call is in counts as a library, so it is libc's at first. */
static void begin(void)
{
	clock_now = 0;
	table.wait = (enum outside_wait(*)(uint64_t, bool))(void (*)(void))abort;
	meet(&table);
	table.wait = fake_wait;
}

/* ---- what calls wait for ---- */

static int wire[2];
static char bytes[70000];
static FILE *stream;
static int listener, epoll;
static int event_fd;
static char fifo[] = "/tmp/turns-fifo-XXXXXX";
static struct sockaddr_in meant = { .sin_family = AF_INET };
static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static pid_t process_id, thread_id, child; /* as the kernel has them */
static int files[2];
static uint32_t word;
static sigset_t set;

static void feed(void)
{
	ck_assert_int_eq(syscall(SYS_write, wire[1], "7\n", 2), 2);
}

static void make_room(void)
{
	fcntl(wire[0], F_SETFL, O_NONBLOCK);
	while (syscall(SYS_read, wire[0], bytes, sizeof(bytes)) > 0)
		;
}

static int conduit[4]; /* two pipes */

static void fill_conduit(void)
{
	ck_assert_int_eq(syscall(SYS_write, conduit[1], "7\n", 2), 2);
}

static void count_one(void)
{
	const uint64_t one = 1;

	ck_assert_int_eq(syscall(SYS_write, event_fd, &one, sizeof(one)), sizeof(one));
}

static void count_none(void)
{
	uint64_t count;

	ck_assert_int_eq(syscall(SYS_read, event_fd, &count, sizeof(count)), sizeof(count));
}

static void open_to_write(void)
{
	syscall(SYS_openat, AT_FDCWD, fifo, O_WRONLY | O_NONBLOCK);
}

/* The reader is told no more than that the pipe has had a writer. */
static void write_and_leave(void)
{
	syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, fifo, O_WRONLY | O_NONBLOCK));
}

static void open_to_read(void)
{
	syscall(SYS_openat, AT_FDCWD, fifo, O_RDONLY | O_NONBLOCK);
}

static void ask(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(syscall(SYS_connect, fd, &meant, sizeof(meant)), 0);
}

static void post(void)
{
	sem_post(&sem);
}

static void unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

/* Another thread has what a call waits for, until it is told. */
static int other[2];
static int held;

static void hold(void)
{
	char byte;

	__atomic_store_n(&held, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_read, other[0], &byte, 1);
}

static void *hold_lock(void *arg)
{
	pthread_rwlock_wrlock(&rwlock);
	hold();
	pthread_rwlock_unlock(&rwlock);
	__atomic_store_n(&held, 0, __ATOMIC_SEQ_CST);
	return arg;
}

static void *hold_once(void *arg)
{
	pthread_once(&once, hold);
	__atomic_store_n(&held, 0, __ATOMIC_SEQ_CST);
	return arg;
}

static void await_other(int number)
{
	while (__atomic_load_n(&held, __ATOMIC_SEQ_CST) != number)
		syscall(SYS_sched_yield);
}

static void let_other(void)
{
	ck_assert_int_eq(syscall(SYS_write, other[1], "x", 1), 1);
	await_other(0);
}

static void begin_other(void *(*run)(void *))
{
	pthread_t holder;

	ck_assert_int_eq(pipe(other), 0);
	ck_assert_int_eq(pthread_create(&holder, NULL, run, NULL), 0);
	ck_assert_int_eq(pthread_detach(holder), 0);
	await_other(1);
}

static void let_spin(void)
{
	pthread_spin_unlock(&spin);
}

static void come_last(void)
{
	pthread_barrier_wait(&barrier);
}

static void signal_cond(void)
{
	pthread_cond_signal(&cond);
}

/* It has ended when this returns: in a fabric, too, the turn passes on no sooner. */
static void end_other(void)
{
	pid_t tid = __atomic_load_n(&thread_id, __ATOMIC_SEQ_CST);
	siginfo_t info;

	ck_assert_int_eq(syscall(SYS_write, wire[1], "x", 1), 1);
	if (child)
		syscall(SYS_waitid, P_PID, child, &info, WEXITED | WNOWAIT, NULL);
	while (tid && syscall(SYS_tgkill, process_id, tid, 0) == 0)
		syscall(SYS_sched_yield);
}

static void *end_when_told(void *arg)
{
	char byte;

	__atomic_store_n(&thread_id, gettid(), __ATOMIC_SEQ_CST);
	syscall(SYS_read, wire[0], &byte, 1);
	return arg;
}

/* The shell of popen reads a line, which ends it. */
static void feed_shell(void)
{
	siginfo_t info;

	feed();
	syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOWAIT, NULL);
}

static void raise_one(void)
{
	raise(SIGUSR1);
}

static void unlock_file(void)
{
	syscall(SYS_flock, files[0], LOCK_UN);
}

/* Of the open file, not the process: the two descriptors are in each other's way. */
static struct flock record = { .l_type = F_WRLCK };

static void unlock_record(void)
{
	struct flock none = { .l_type = F_UNLCK };

	syscall(SYS_fcntl, files[0], F_OFD_SETLK, &none);
}

/* Another process has the lock. */
static void lock_by_child(void)
{
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		syscall(SYS_fcntl, files[0], F_SETLK, &record);
		syscall(SYS_write, ready[1], "x", 1);
		syscall(SYS_pause);
	}
	ck_assert_int_eq(syscall(SYS_read, ready[0], &byte, 1), 1);
}

static void end_child(void)
{
	syscall(SYS_kill, child, SIGKILL);
	syscall(SYS_wait4, child, NULL, 0, NULL);
}

static struct {
	long type;
	char text[4096];
} note = { .type = 1 };
static int notes = -1, semaphores = -1;
static mqd_t queue;

static void put_message(void)
{
	syscall(SYS_msgsnd, notes, &note, 8, IPC_NOWAIT);
}

static void get_message(void)
{
	syscall(SYS_msgrcv, notes, &note, sizeof(note.text), 0, IPC_NOWAIT);
}

static void raise_semaphore(void)
{
	syscall(SYS_semctl, semaphores, 0, SETVAL, 1);
}

static void put_in_queue(void)
{
	syscall(SYS_mq_timedsend, queue, "x", 1, 0, NULL);
}

static void get_from_queue(void)
{
	syscall(SYS_mq_timedreceive, queue, note.text, 8, NULL, NULL);
}

/* Queues are empty for calls that receive, and full for those that send. */
static void make_queues(const char *name)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char path[32];

	if (!strncmp(name, "msg", 3))
		notes = msgget(IPC_PRIVATE, 0600);
	while (!strcmp(name, "msgsnd") &&
	       syscall(SYS_msgsnd, notes, &note, sizeof(note.text), IPC_NOWAIT) == 0)
		;
	if (!strncmp(name, "semo", 4) || !strncmp(name, "semt", 4))
		semaphores = semget(IPC_PRIVATE, 1, 0600);
	if (strncmp(name, "mq_", 3))
		return;
	snprintf(path, sizeof(path), "/turns-%d", (int)getpid());
	queue = mq_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	ck_assert_int_ge(queue, 0);
	mq_unlink(path);
	if (strstr(name, "send"))
		put_in_queue();
}

/* They would be there after the process. */
static void remove_queues(void)
{
	if (notes >= 0)
		syscall(SYS_msgctl, notes, IPC_RMID, NULL);
	if (semaphores >= 0)
		syscall(SYS_semctl, semaphores, 0, IPC_RMID, 0);
}

static void wake(void)
{
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Again and again, for the first may come before the call waits. */
static void interrupt_every(suseconds_t us)
{
	const struct itimerval times = { .it_interval = { .tv_usec = us },
					 .it_value = { .tv_usec = us } };

	setitimer(ITIMER_REAL, &times, NULL);
}

/* ---- calls ---- */

static struct timespec in_a_minute(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_sec += 60;
	return ts;
}

/* Opened, to wait as the program asked for. */
static bool is_open(int fd)
{
	return fd >= 0 && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static int print(int fd, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vdprintf(fd, format, args);
	va_end(args);
	return n;
}

static int print_checked(int fd, const char *format, ...)
{
	extern int print_list(int, int, const char *, va_list) __asm__("__vdprintf_chk");
	va_list args;
	int n;

	va_start(args, format);
	n = print_list(fd, 1, format, args);
	va_end(args);
	return n;
}

static int scan(const char *format, ...)
{
	extern int scan_list(FILE *, const char *, va_list) __asm__("__isoc99_vfscanf");
	va_list args;
	int n;

	va_start(args, format);
	n = scan_list(stream, format, args);
	va_end(args);
	return n;
}

/* As fortified programs call them; not all headers declare them. */
ssize_t read_checked(int fd, void *to, size_t n, size_t room) __asm__("__read_chk");
ssize_t recv_checked(int fd, void *to, size_t n, size_t room, int flags) __asm__("__recv_chk");
ssize_t recvfrom_checked(int fd, void *to, size_t n, size_t room, int flags, struct sockaddr *addr,
			 socklen_t *size) __asm__("__recvfrom_chk");
int poll_checked(struct pollfd *fds, nfds_t n, int ms, size_t size) __asm__("__poll_chk");
int ppoll_checked(struct pollfd *fds, nfds_t n, const struct timespec *ts, const sigset_t *mask,
		  size_t size) __asm__("__ppoll_chk");
char *fgets_checked(char *to, size_t room, int n, FILE *file) __asm__("__fgets_chk");
ssize_t getdelim_inline(char **line, size_t *room, int end, FILE *file) __asm__("__getdelim");
int open_fortified(const char *path, int flags) __asm__("__open_2");
int open64_fortified(const char *path, int flags) __asm__("__open64_2");
int openat_fortified(int dir, const char *path, int flags) __asm__("__openat_2");
int openat64_fortified(int dir, const char *path, int flags) __asm__("__openat64_2");
int dprintf_checked(int fd, int flag, const char *format, ...) __asm__("__dprintf_chk");
int fscanf_c99(FILE *file, const char *format, ...) __asm__("__isoc99_fscanf");

static bool make_call(const char *name)
{
	struct iovec iov = { bytes, 2 }, long_iov = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct msghdr long_message = { .msg_iov = &long_iov, .msg_iovlen = 1 };
	struct mmsghdr messages[1] = { { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } } };
	struct pollfd pfd = { .fd = wire[0], .events = POLLIN };
	struct timespec minute = { .tv_sec = 60 }, ns = { .tv_nsec = 1 };
	struct timespec real = in_a_minute(CLOCK_REALTIME), mono = in_a_minute(CLOCK_MONOTONIC);
	struct timeval also_minute = { .tv_sec = 60 };
	struct sembuf down = { .sem_op = -1 };
	struct epoll_event event;
	int n = 0, status = 0;
	static char *line; /* of getdelim; static, so that what it points to is not leaked */
	static size_t room;
	struct rusage usage;
	uint64_t count = 0;
	siginfo_t info;
	sigset_t none;
	fd_set fds;

	sigemptyset(&none);
	FD_ZERO(&fds);
	FD_SET(wire[0], &fds);
	waits = nows = 0;
#define WAY(call, what, good)                    \
	if (!strcmp(name, #call)) {              \
		happen = what;                   \
		ck_assert_msg(good, "%s", name); \
		return true;                     \
	}
	WAY(read, feed, read(wire[0], bytes, 2) == 2)
	WAY(readv, feed, readv(wire[0], &iov, 1) == 2)
	WAY(recv, feed, recv(wire[0], bytes, 2, MSG_WAITALL) == 2)
	WAY(recvfrom, feed, recvfrom(wire[0], bytes, 2, 0, NULL, NULL) == 2)
	WAY(recvmsg, feed, recvmsg(wire[0], &message, 0) == 2)
	WAY(recvmmsg, feed, recvmmsg(wire[0], messages, 1, 0, NULL) == 1)
	WAY(__read_chk, feed, read_checked(wire[0], bytes, 2, 2) == 2)
	WAY(__recv_chk, feed, recv_checked(wire[0], bytes, 2, 2, 0) == 2)
	WAY(__recvfrom_chk, feed, recvfrom_checked(wire[0], bytes, 2, 2, 0, NULL, NULL) == 2)
	WAY(sendfile, make_room, sendfile(wire[1], files[0], NULL, 4096) == 4096)
	WAY(sendfile64, make_room, sendfile64(wire[1], files[0], NULL, 4096) == 4096)
	WAY(splice, feed, splice(wire[0], NULL, conduit[1], NULL, 2, 0) == 2)
	WAY(tee, fill_conduit, tee(conduit[0], conduit[3], 2, 0) == 2)
	WAY(vmsplice, fill_conduit, vmsplice(conduit[0], &iov, 1, 0) == 2)
	WAY(preadv2, feed, preadv2(wire[0], &iov, 1, -1, 0) == 2)
	WAY(preadv64v2, feed, preadv64v2(wire[0], &iov, 1, -1, 0) == 2)
	WAY(pwritev2, make_room, pwritev2(wire[1], &long_iov, 1, -1, 0) == sizeof(bytes))
	WAY(pwritev64v2, make_room, pwritev64v2(wire[1], &long_iov, 1, -1, 0) == sizeof(bytes))
	WAY(eventfd_read, count_one, eventfd_read(event_fd, &count) == 0 && count == 1)
	WAY(eventfd_write, count_none,
	    eventfd_write(event_fd, UINT64_MAX - 1) == 0 && eventfd_write(event_fd, 1) == 0)
	WAY(open, open_to_write, is_open(open(fifo, O_RDONLY)))
	WAY(open64, open_to_read, is_open(open64(fifo, O_WRONLY)))
	WAY(openat, write_and_leave, is_open(openat(AT_FDCWD, fifo, O_RDONLY)))
	WAY(openat64, open_to_read, is_open(openat64(AT_FDCWD, fifo, O_WRONLY | O_CREAT, 0600)))
	WAY(__open_2, open_to_write, is_open(open_fortified(fifo, O_RDONLY)))
	WAY(__open64_2, open_to_read, is_open(open64_fortified(fifo, O_WRONLY)))
	WAY(__openat_2, write_and_leave, is_open(openat_fortified(AT_FDCWD, fifo, O_RDONLY)))
	WAY(__openat64_2, open_to_read, is_open(openat64_fortified(AT_FDCWD, fifo, O_WRONLY)))
	WAY(creat, open_to_read, is_open(creat(fifo, 0600)))
	WAY(creat64, open_to_read, is_open(creat64(fifo, 0600)))
	WAY(freopen, write_and_leave,
	    (stream = freopen(fifo, "r", fopen("/dev/null", "r"))) && is_open(fileno(stream)))
	WAY(freopen64, open_to_read,
	    (stream = freopen64(fifo, "w", fopen("/dev/null", "r"))) && is_open(fileno(stream)))
	WAY(fopen, open_to_write, (stream = fopen(fifo, "r")) && is_open(fileno(stream)))
	WAY(fopen64, open_to_read, (stream = fopen64(fifo, "we")) && is_open(fileno(stream)))
	WAY(dprintf, make_room, dprintf(wire[1], "%70000d", 7) == 70000)
	WAY(vdprintf, make_room, print(wire[1], "%d", 7) == 1)
	WAY(__dprintf_chk, make_room, dprintf_checked(wire[1], 1, "%70000d", 7) == 70000)
	WAY(__vdprintf_chk, make_room, print_checked(wire[1], "%d", 7) == 1)
	WAY(accept, ask, accept(listener, NULL, NULL) >= 0)
	WAY(accept4, ask, accept4(listener, NULL, NULL, SOCK_CLOEXEC) >= 0)
	WAY(connect, fake_nothing,
	    connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&meant, sizeof(meant)) == 0)
	WAY(write, make_room, write(wire[1], bytes, sizeof(bytes)) == sizeof(bytes))
	WAY(writev, make_room, writev(wire[1], &long_iov, 1) == sizeof(bytes))
	WAY(send, make_room, send(wire[1], bytes, sizeof(bytes), 0) == sizeof(bytes))
	WAY(sendto, make_room, sendto(wire[1], bytes, 1, 0, NULL, 0) == 1)
	WAY(sendmsg, make_room, sendmsg(wire[1], &long_message, 0) == sizeof(bytes))
	WAY(sendmmsg, make_room, sendmmsg(wire[1], messages, 1, 0) == 1)
	WAY(poll, feed, poll(&pfd, 1, -1) == 1)
	WAY(ppoll, feed, ppoll(&pfd, 1, &minute, NULL) == 1)
	WAY(__poll_chk, feed, poll_checked(&pfd, 1, -1, sizeof(pfd)) == 1)
	WAY(__ppoll_chk, feed, ppoll_checked(&pfd, 1, NULL, NULL, sizeof(pfd)) == 1)
	WAY(select, feed, select(wire[0] + 1, &fds, NULL, NULL, &also_minute) == 1)
	WAY(pselect, feed, pselect(wire[0] + 1, &fds, NULL, NULL, &minute, NULL) == 1)
	WAY(epoll_wait, feed, epoll_wait(epoll, &event, 1, -1) == 1)
	WAY(epoll_pwait, feed, epoll_pwait(epoll, &event, 1, -1, NULL) == 1)
	WAY(epoll_pwait2, feed, epoll_pwait2(epoll, &event, 1, &minute, NULL) == 1)
	WAY(fgetc, feed, fgetc(stream) == '7')
	WAY(getc, feed, (getc)(stream) == '7')
	WAY(getchar, feed, (stdin = stream, (getchar)() == '7'))
	WAY(fgets, feed, fgets(bytes, 9, stream) && !strcmp(bytes, "7\n"))
	WAY(__fgets_chk, feed, fgets_checked(bytes, 9, 9, stream) && !strcmp(bytes, "7\n"))
	WAY(getdelim, feed, getdelim(&line, &room, '\n', stream) == 2)
	WAY(__getdelim, feed, getdelim_inline(&line, &room, '\n', stream) == 2)
	WAY(getline, feed, (getline)(&line, &room, stream) == 2)
	WAY(fread, feed, fread(bytes, 1, 2, stream) == 2)
	WAY(__isoc99_fscanf, feed, fscanf_c99(stream, "%d", &n) == 1 && n == 7)
	WAY(__isoc99_vfscanf, feed, scan("%d", &n) == 1 && n == 7)
	WAY(sem_trywait, fake_nothing, sem_trywait(&sem) == -1 && errno == EAGAIN)
	WAY(sem_wait, post, sem_wait(&sem) == 0)
	WAY(sem_timedwait, post, sem_timedwait(&sem, &real) == 0)
	WAY(sem_clockwait, post, sem_clockwait(&sem, CLOCK_MONOTONIC, &mono) == 0)
	WAY(pthread_mutex_lock, unlock, pthread_mutex_lock(&mutex) == 0)
	WAY(pthread_mutex_timedlock, unlock, pthread_mutex_timedlock(&mutex, &real) == 0)
	WAY(pthread_mutex_clocklock, unlock,
	    pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &mono) == 0)
	WAY(pthread_mutex_trylock, unlock, pthread_mutex_trylock(&mutex) == EBUSY)
	WAY(pthread_rwlock_rdlock, let_other, pthread_rwlock_rdlock(&rwlock) == 0)
	WAY(pthread_rwlock_wrlock, let_other, pthread_rwlock_wrlock(&rwlock) == 0)
	WAY(pthread_rwlock_timedrdlock, let_other, pthread_rwlock_timedrdlock(&rwlock, &real) == 0)
	WAY(pthread_rwlock_timedwrlock, let_other, pthread_rwlock_timedwrlock(&rwlock, &real) == 0)
	WAY(pthread_rwlock_clockrdlock, let_other,
	    pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &mono) == 0)
	WAY(pthread_rwlock_clockwrlock, let_other,
	    pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &mono) == 0)
	WAY(pthread_rwlock_tryrdlock, fake_nothing, pthread_rwlock_tryrdlock(&rwlock) == EBUSY)
	WAY(pthread_rwlock_trywrlock, fake_nothing, pthread_rwlock_trywrlock(&rwlock) == EBUSY)
	WAY(pthread_spin_lock, let_spin, pthread_spin_lock(&spin) == 0)
	WAY(pthread_spin_trylock, fake_nothing, pthread_spin_trylock(&spin) == EBUSY)
	WAY(pthread_barrier_wait, come_last, pthread_barrier_wait(&barrier) == 0)
	WAY(pthread_cond_wait, signal_cond, pthread_cond_wait(&cond, &mutex) == 0)
	WAY(pthread_cond_timedwait, signal_cond, pthread_cond_timedwait(&cond, &mutex, &real) == 0)
	WAY(pthread_cond_clockwait, signal_cond,
	    pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &mono) == 0)
	WAY(pthread_join, end_other, pthread_join(thread, NULL) == 0)
	WAY(pthread_tryjoin_np, fake_nothing, pthread_tryjoin_np(thread, NULL) == EBUSY)
	WAY(pthread_timedjoin_np, end_other, pthread_timedjoin_np(thread, NULL, &real) == 0)
	WAY(pthread_clockjoin_np, end_other,
	    pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &mono) == 0)
	WAY(thrd_join, end_other, thrd_join(thread, NULL) == thrd_success)
	WAY(thrd_sleep, fake_nothing, thrd_sleep(&ns, NULL) == 0)
	WAY(thrd_yield, fake_nothing, (thrd_yield(), true))
	WAY(sched_yield, fake_nothing, sched_yield() == 0)
	WAY(mtx_lock, unlock, mtx_lock((mtx_t *)&mutex) == thrd_success)
	WAY(mtx_timedlock, unlock, mtx_timedlock((mtx_t *)&mutex, &real) == thrd_success)
	WAY(mtx_trylock, fake_nothing, mtx_trylock((mtx_t *)&mutex) == thrd_busy)
	WAY(cnd_wait, signal_cond, cnd_wait((cnd_t *)&cond, (mtx_t *)&mutex) == thrd_success)
	WAY(cnd_timedwait, signal_cond,
	    cnd_timedwait((cnd_t *)&cond, (mtx_t *)&mutex, &real) == thrd_success)
	WAY(pthread_once, let_other, pthread_once(&once, fake_nothing) == 0)
	WAY(call_once, let_other, (call_once((once_flag *)&once, fake_nothing), true))
	WAY(nanosleep, fake_nothing, nanosleep(&ns, NULL) == 0)
	WAY(clock_nanosleep, fake_nothing, clock_nanosleep(CLOCK_MONOTONIC, 0, &ns, NULL) == 0)
	WAY(usleep, fake_nothing, usleep(1) == 0)
	WAY(sleep, fake_nothing, sleep(1) == 0)
	WAY(wait, end_other, wait(&status) > 0)
	WAY(waitpid, end_other, waitpid(-1, NULL, 0) > 0)
	WAY(wait3, end_other, wait3(&status, 0, &usage) > 0)
	WAY(wait4, end_other, wait4(child, &status, 0, &usage) > 0)
	if (!strcmp(name, "pclose")) {
		snprintf(bytes, sizeof(bytes), "read line <&%d", wire[0]);
		stream = popen(bytes, "r");
		waits = nows = 0;
	}
	WAY(pclose, feed_shell, pclose(stream) == 0)
	WAY(waitid, end_other, waitid(P_ALL, 0, &info, WEXITED) == 0)
	WAY(sigwait, raise_one, sigwait(&set, &n) == 0 && n == SIGUSR1)
	WAY(sigwaitinfo, raise_one, sigwaitinfo(&set, &info) == SIGUSR1)
	WAY(sigtimedwait, raise_one, sigtimedwait(&set, &info, &minute) == SIGUSR1)
	WAY(sigsuspend, raise_one, sigsuspend(&none) == -1 && errno == EINTR)
	WAY(flock, unlock_file, flock(files[1], LOCK_EX) == 0)
	WAY(fcntl, unlock_record, fcntl(files[1], F_OFD_SETLKW, &record) == 0)
	WAY(fcntl64, unlock_record, fcntl64(files[1], F_OFD_SETLKW, &record) == 0)
	WAY(lockf, end_child, lockf(files[1], F_LOCK, 0) == 0)
	WAY(lockf64, end_child, lockf64(files[1], F_LOCK, 0) == 0)
	WAY(syscall, wake, syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) == 0)
	WAY(msgrcv, put_message, msgrcv(notes, &note, 8, 0, 0) == 8)
	WAY(msgsnd, get_message, msgsnd(notes, &note, 4096, 0) == 0)
	WAY(semop, raise_semaphore, semop(semaphores, &down, 1) == 0)
	WAY(semtimedop, raise_semaphore, semtimedop(semaphores, &down, 1, &minute) == 0)
	WAY(mq_receive, put_in_queue, mq_receive(queue, note.text, 8, NULL) == 1)
	WAY(mq_timedreceive, put_in_queue, mq_timedreceive(queue, note.text, 8, NULL, &real) == 1)
	WAY(mq_send, get_from_queue, mq_send(queue, "x", 1, 0) == 0)
	WAY(mq_timedsend, get_from_queue, mq_timedsend(queue, "x", 1, 0, &real) == 0)
	happen = NULL;
	if (!strcmp(name, "pause")) {
		interrupt_every(20000); /* no thread can end it, so it is libc's in the end */
		n = pause();
		status = errno;
		interrupt_every(0);
		return n == -1 && status == EINTR;
	}
	return false;
}

static const char *const names[] = {
#define NAME(name) #name,
	TURNS_WAITS(NAME)
};

static bool is_one_of(const char *name, const char *list)
{
	return strstr(list, name) != NULL;
}

static void make_wire(const char *name)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, wire), 0);
	if (is_one_of(name,
		      "write writev send sendto sendmsg sendmmsg dprintf vdprintf "
		      "sendfile sendfile64 pwritev2 pwritev64v2 __dprintf_chk __vdprintf_chk")) {
		fcntl(wire[1], F_SETFL, O_NONBLOCK);
		while (syscall(SYS_write, wire[1], bytes, 4096) > 0)
			;
		fcntl(wire[1], F_SETFL, 0);
	}
	epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, wire[0], &(struct epoll_event){ .events = EPOLLIN });
	stream = fdopen(wire[0], "r");
}

/* Each lock is held, by this thread or another one: only the hook lets it go. */
static void set_up(const char *name)
{
	socklen_t size = sizeof(meant);
	char path[] = "/tmp/turns-XXXXXX";

	process_id = getpid();
	make_wire(name);
	make_queues(name);
	meant.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&meant, size), 0);
	ck_assert_int_eq(listen(listener, 4), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&meant, &size), 0);
	sem_init(&sem, 0, 0);
	pthread_mutex_lock(&mutex);
	if (strstr(name, "rwlock"))
		begin_other(hold_lock);
	if (strstr(name, "once"))
		begin_other(hold_once);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_lock(&spin);
	pthread_barrier_init(&barrier, NULL, 2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	signal(SIGUSR1, on_signal);
	signal(SIGALRM, on_signal);
	sigprocmask(SIG_BLOCK, &set, NULL);
	event_fd = eventfd(0, 0);
	files[0] = mkstemp(fifo);
	close(files[0]);
	unlink(fifo);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	files[0] = mkstemp(path);
	files[1] = open(path, O_RDWR);
	ck_assert_int_eq(ftruncate(files[0], 4096), 0);
	ck_assert_int_eq(pipe(conduit), 0);
	ck_assert_int_eq(pipe(conduit + 2), 0);
	unlink(path);
	flock(files[0], LOCK_EX);
	if (is_one_of(name, "fcntl fcntl64"))
		fcntl(files[0], F_OFD_SETLK, &record);
	if (is_one_of(name, "lockf lockf64"))
		lock_by_child();
	if (!strncmp(name, "wait", 4))
		child = fork();
	if (!strncmp(name, "wait", 4) && child == 0) {
		end_when_told(NULL);
		syscall(SYS_exit_group, 0);
	}
	if (!strstr(name, "join"))
		return;
	pthread_create(&thread, NULL, end_when_told, NULL);
	while (!__atomic_load_n(&thread_id, __ATOMIC_SEQ_CST))
		sched_yield();
}

START_TEST(a_call_that_would_block_asks_for_a_turn)
{
	bool made;

	set_up(names[_i]);
	begin();
	made = make_call(names[_i]);
	remove_queues();
	unlink(fifo);
	ck_assert_msg(made, "%s is not tried by this test", names[_i]);
	ck_assert_msg(waits > 0, "%s gave no turn up", names[_i]);
}
END_TEST

/* With a timer, whose time a wait for a descriptor has to respect. */
START_TEST(nothing_comes_between_its_test_and_its_wait)
{
	const char *name = names[_i / EARLY_MOST];

	early = _i % EARLY_MOST + 1;
	if (!strcmp(name, "pthread_barrier_wait"))
		return; /* the last thread does not come before this one */
	set_up(name);
	begin();
	ck_assert_int_ge(timerfd_create(CLOCK_MONOTONIC, 0), 0);
	make_call(name);
	remove_queues();
	unlink(fifo);
	ck_assert_msg(nows < early || !waits || happen == fake_nothing,
		      "%s waited for what had happened before", name);
}
END_TEST

START_TEST(each_call_of_the_list_is_the_librarys)
{
	static const char *const all[] = { TURNS_WAITS(NAME) TURNS_TELLS(NAME) TURNS_STARTS(NAME)
						   TURNS_NOTES(NAME) TURNS_SHOWS(NAME) };
	Dl_info own, info;

	ck_assert_int_ne(dladdr((void *)(uintptr_t)meet, &own), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		void *at = dlsym(RTLD_DEFAULT, all[i]);

		ck_assert_msg(at && dladdr(at, &info) && info.dli_fbase == own.dli_fbase, "%s",
			      all[i]);
	}
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_call_that_would_block_asks_for_a_turn,
		 (int)(sizeof(names) / sizeof(names[0])), NULL);
	unit_add(suite, nothing_comes_between_its_test_and_its_wait,
		 EARLY_MOST * (int)(sizeof(names) / sizeof(names[0])), NULL);
	unit_add(suite, each_call_of_the_list_is_the_librarys, 1, NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	return turns_main(argv, "turns_list", fill);
}
