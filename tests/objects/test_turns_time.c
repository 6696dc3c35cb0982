/* SPDX-License-Identifier: BSD-3-Clause */
/* libdat-turns.so alone: sleeps, limits and clocks. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include "turns_table.h"

/* ---- sleep, and threads ---- */

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
	expect("wait 2000");
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

/* The program was away when it expired: what comes next is counted from then on. */
START_TEST(a_timer_that_was_looked_at_late_keeps_to_its_times)
{
	const struct itimerspec value = { .it_value = { .tv_nsec = 10000000 },
					  .it_interval = { .tv_nsec = 10000000 } };
	struct itimerspec left;
	uint64_t times = 0;
	int fd;

	begin();
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	ck_assert_int_eq(timerfd_settime(fd, 0, &value, NULL), 0);
	ck_assert_int_eq(usleep(25000), 0);
	ck_assert_int_eq(read(fd, &times, sizeof(times)), sizeof(times));
	ck_assert_uint_eq(times, 2);
	ck_assert_int_eq(timerfd_gettime(fd, &left), 0);
	ck_assert_int_eq(left.it_value.tv_nsec, 5000000);
	close(fd);
}
END_TEST

static void note_alarm(int sig)
{
	ended += sig == SIGALRM;
}

START_TEST(an_alarm_ends_a_sleep_in_virtual_time)
{
	const struct sigaction action = { .sa_handler = note_alarm };
	struct itimerval left;

	begin();
	ended = 0;
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_uint_eq(alarm(1), 0);
	ck_assert_uint_eq(sleep(3), 2);
	ck_assert_int_eq(ended, 1);
	expect("tell, wait fd 1000000000");
	ck_assert_uint_eq(sleep(3), 0);
	ck_assert_uint_eq(alarm(100), 0);
	ck_assert_int_eq(getitimer(ITIMER_REAL, &left), 0);
	ck_assert_int_eq(left.it_value.tv_sec, 100);
	ck_assert_int_eq(usleep(1000000), 0);
	ck_assert_uint_eq(alarm(0), 99);
	ck_assert_uint_eq(sleep(200), 0);
	ck_assert_int_eq(ended, 1);
}
END_TEST

/* As when the program has computed all the while. */
START_TEST(an_alarm_that_the_kernel_has_sent_does_not_come_again)
{
	const struct sigaction action = { .sa_handler = note_alarm };
	const struct itimerval value = { .it_value = { .tv_usec = 1000 } };

	begin();
	ended = 0;
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &value, NULL), 0);
	while (!__atomic_load_n(&ended, __ATOMIC_SEQ_CST))
		;
	ck_assert_uint_eq(sleep(1), 0);
	ck_assert_int_eq(ended, 1);
}
END_TEST

/* As Linux rounds it, which never says that there is no alarm. */
START_TEST(an_alarm_has_whole_seconds_left)
{
	struct itimerval value = { .it_value = { 1, 500000 } };

	begin();
	ck_assert_int_eq(setitimer(ITIMER_REAL, &value, NULL), 0);
	ck_assert_uint_eq(alarm(0), 2);
	value.it_value.tv_usec--;
	ck_assert_int_eq(setitimer(ITIMER_REAL, &value, NULL), 0);
	ck_assert_uint_eq(alarm(0), 1);
	value.it_value.tv_sec = 0;
	ck_assert_int_eq(setitimer(ITIMER_REAL, &value, NULL), 0);
	ck_assert_uint_eq(alarm(0), 1);
}
END_TEST

START_TEST(a_child_has_no_alarm_of_its_parent)
{
	const struct sigaction action = { .sa_handler = note_alarm };
	siginfo_t info;
	pid_t child;

	begin();
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_uint_eq(alarm(100), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(sleep(300) != 0);
	ck_assert_int_eq(syscall(SYS_waitid, P_ALL, 0, &info, WEXITED, NULL), 0);
	ck_assert_int_eq(info.si_status, 0);
	ck_assert_uint_eq(alarm(0), 100);
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

START_TEST(a_timer_refuses_what_linux_refuses)
{
	const struct itimerspec past = { .it_value = { .tv_nsec = 1 } };
	uint64_t times = 0;
	char part[4];
	int fd;

	begin();
	ck_assert_int_eq(timerfd_create(CLOCK_MONOTONIC, EFD_SEMAPHORE), -1);
	ck_assert_int_eq(errno, EINVAL);
	fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
	ck_assert_int_eq(timerfd_settime(fd, 0x100, &past, NULL), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(read(fd, part, sizeof(part)), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(write(fd, &past, sizeof(times)), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(read(eventfd(0, 0), part, sizeof(part)), -1);
	ck_assert_int_eq(errno, EINVAL);
	expect("");
	ck_assert_int_eq(
		timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &past, NULL), 0);
	ck_assert_int_eq(read(fd, &times, sizeof(times)), sizeof(times));
	ck_assert_uint_eq(times, 1);
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	ck_assert_int_eq(read(fd, &times, sizeof(times)), -1);
	ck_assert_int_eq(errno, EAGAIN);
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
static void close_by_list(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
	closefrom(fd);
}

/* An eventfd cannot be told from a timer's by the file alone. */
START_TEST(a_timer_that_is_closed_in_any_way_is_one_no_more)
{
	int fd, again = 600;
	struct itimerspec left;

	begin();
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	ck_assert_int_eq(fcntl(fd, F_DUPFD, again), again);
	ck_assert_int_eq(timerfd_gettime(again, &left), 0);
	if (_i == 0)
		ck_assert_int_eq(close(again), 0);
	else if (_i == 1)
		ck_assert_int_eq(close_range(600, 600, 0), 0);
	else if (_i == 2)
		closefrom(again);
	else
		close_by_list(again);
	fd = (int)syscall(SYS_eventfd2, 0, 0);
	ck_assert_int_eq((int)syscall(SYS_dup3, fd, again, 0), again);
	ck_assert_int_eq(timerfd_gettime(again, &left), -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

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

/* The program's clock is ahead of virtual time, and no time would say that the timer is off. */
START_TEST(a_timer_that_is_about_to_expire_has_some_time_left)
{
	const struct itimerspec value = { .it_value = { .tv_nsec = 1 } };
	int fd = -1, many = 20;
	struct itimerspec left;

	begin();
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	ck_assert_int_eq(timerfd_settime(fd, 0, &value, NULL), 0);
	while (many-- > 0)
		read_ns();
	ck_assert_int_eq(timerfd_gettime(fd, &left), 0);
	ck_assert_int_eq(left.it_value.tv_sec, 0);
	ck_assert_int_eq(left.it_value.tv_nsec, 1);
	close(fd);
}
END_TEST

static int count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "/dev/zero") != NULL;
	fclose(maps);
	return n;
}

START_TEST(a_timer_without_a_descriptor_leaves_no_memory)
{
	struct rlimit before, none;
	int mappings;

	begin();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	mappings = count_mappings();
	none = before;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(timerfd_create(CLOCK_MONOTONIC, 0), -1);
	ck_assert_int_eq(errno, EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(count_mappings(), mappings);
}
END_TEST

/* ---- calls that do not wait, which programs make in a loop until they find something ---- */

static const struct timespec no_time, long_ago = { .tv_sec = 1 };

static int look_for_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &no_time);
}

static int look_for_child(void)
{
	pid_t child = (pid_t)syscall(SYS_fork);
	siginfo_t info = { 0 };
	int result;

	if (child == 0) {
		syscall(SYS_pause);
		syscall(SYS_exit_group, 0);
	}
	result = waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG);
	syscall(SYS_kill, child, SIGKILL);
	syscall(SYS_waitid, P_PID, child, NULL, WEXITED, NULL);
	return result == 0 && info.si_pid == 0 ? -1 : 0;
}

static int look_at_semaphores(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600), result, err;
	struct sembuf down = { .sem_op = -1 };

	result = semtimedop(id, &down, 1, &no_time);
	err = errno;
	semctl(id, 0, IPC_RMID);
	errno = err;
	return result;
}

static int find_nothing(int way)
{
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct mmsghdr messages = { .msg_hdr = message };
	uint32_t word = 0;

	switch (way) {
	case 0:
		return nanosleep(&no_time, NULL) ? 0 : -1;
	case 1:
		return usleep(0) ? 0 : -1;
	case 2:
		return sleep(0) ? 0 : -1;
	case 3:
		return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &long_ago, NULL) ? 0 : -1;
	case 4:
		return sem_timedwait(&sem, &long_ago);
	case 5:
		return -(pthread_mutex_timedlock(&mutex, &long_ago) == ETIMEDOUT);
	case 6:
		return -(pthread_rwlock_timedwrlock(&rwlock, &long_ago) == ETIMEDOUT);
	case 7:
		return look_for_signal();
	case 8:
		return look_for_child();
	case 9:
		return look_at_semaphores();
	case 10:
		return (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &no_time, NULL, 0);
	case 11:
		return (int)recvfrom(wire[0], &byte, 1, MSG_DONTWAIT, NULL, NULL);
	case 12:
		return (int)recvmsg(wire[0], &message, MSG_DONTWAIT);
	case 13:
		return recvmmsg(wire[0], &messages, 1, MSG_DONTWAIT, NULL);
	default:
		return sendmmsg(wire[1], &messages, 1, MSG_DONTWAIT);
	}
}

/* Once, so that virtual time goes on and others have their turns. */
START_TEST(a_call_that_finds_nothing_takes_some_time)
{
	begin();
	ck_assert_int_eq(sem_init(&sem, 0, 0), 0);
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	ck_assert_int_eq(pthread_rwlock_rdlock(&rwlock), 0);
	if (_i == 14)
		choke();
	heard[0] = '\0';
	ck_assert_int_eq(find_nothing(_i), -1);
	ck_assert_ptr_nonnull(strstr(heard, "wait 2000"));
	ck_assert_ptr_null(strstr(strstr(heard, "wait 2000") + 1, "wait"));
}
END_TEST

/* The mutex is free meanwhile: the thread that signals needs it. */
START_TEST(a_wait_for_a_condition_whose_time_is_over_takes_some_time)
{
	begin();
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	ck_assert_int_eq(pthread_cond_init(&cond, NULL), 0);
	ck_assert_int_eq(pthread_cond_timedwait(&cond, &mutex, &long_ago), ETIMEDOUT);
	expect("wait 2000");
	set_hook(1, signal_all);
	ck_assert_int_eq(pthread_cond_timedwait(&cond, &mutex, &long_ago), 0);
	expect("wait 2000, tell");
}
END_TEST

/* As Linux and libc refuse them: the turn stays, and no time passes. */
START_TEST(a_clock_that_a_call_cannot_wait_by_is_refused)
{
	static const clockid_t clocks[] = { 99, CLOCK_PROCESS_CPUTIME_ID, CLOCK_BOOTTIME };
	const clockid_t clock = clocks[_i];

	begin();
	ck_assert_int_eq(sem_init(&sem, 0, 1), 0);
	ck_assert_int_eq(sem_clockwait(&sem, clock, &long_ago), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(pthread_mutex_clocklock(&mutex, clock, &long_ago), EINVAL);
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	ck_assert_int_eq(pthread_cond_clockwait(&cond, &mutex, clock, &long_ago), EINVAL);
	ck_assert_int_eq(pthread_rwlock_clockrdlock(&rwlock, clock, &long_ago), EINVAL);
	ck_assert_int_eq(clock_nanosleep(99, 0, &a_ms, NULL), EINVAL);
	ck_assert_int_eq(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &a_ms, NULL), EINVAL);
	ck_assert_int_eq(clock_nanosleep(CLOCK_MONOTONIC_RAW, 0, &a_ms, NULL), ENOTSUP);
	ck_assert_int_eq(clock_nanosleep(CLOCK_REALTIME_COARSE, 0, &a_ms, NULL), ENOTSUP);
	expect("");
	ck_assert_int_eq(clock_nanosleep(CLOCK_TAI, 0, &a_ms, NULL), 0);
	expect("wait 1000000");
}
END_TEST

START_TEST(an_alarm_of_a_second_or_more_in_microseconds_is_refused)
{
	begin();
	ck_assert_uint_eq(ualarm(1000000, 0), (useconds_t)-1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_uint_eq(ualarm(999999, 1000000), (useconds_t)-1);
	ck_assert_int_eq(errno, EINVAL);
	expect("");
	ck_assert_uint_eq(ualarm(999999, 0), 0);
	ck_assert_uint_eq(ualarm(0, 0), 999999);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_sleep_is_of_virtual_time, 1, NULL);
	unit_add(suite, no_wait_is_shorter_than_it_was_asked_for, (int)COUNT(waits), NULL);
	unit_add(suite, a_sleep_of_the_longest_time_does_not_end, 2, NULL);
	unit_add(suite, a_wait_of_the_longest_time_for_descriptors_does_not_end, 5, NULL);
	unit_add(suite, a_wait_for_a_lock_until_the_end_of_time_does_not_end, 1, NULL);
	unit_add(suite, a_timer_refuses_what_linux_refuses, 1, NULL);
	unit_add(suite, a_timer_of_the_longest_time_does_not_expire, 2, NULL);
	unit_add(suite, a_timer_whose_descriptor_is_another_file_now_writes_nothing_there, 1, NULL);
	unit_add(suite, a_timer_that_is_closed_in_any_way_is_one_no_more, 4, NULL);
	unit_add(suite, a_timer_expires_once_for_a_process_and_its_child, 1, NULL);
	unit_add(suite, a_time_that_is_none_is_refused, 1, NULL);
	unit_add(suite, an_alarm_ends_a_sleep_in_virtual_time, 1, NULL);
	unit_add(suite, an_alarm_that_the_kernel_has_sent_does_not_come_again, 1, NULL);
	unit_add(suite, a_timer_from_the_past_has_expired_as_often_as_on_linux, 1, NULL);
	unit_add(suite, a_call_that_finds_nothing_takes_some_time, 15, NULL);
	unit_add(suite, a_wait_for_a_condition_whose_time_is_over_takes_some_time, 1, NULL);
	unit_add(suite, a_clock_that_a_call_cannot_wait_by_is_refused, 3, NULL);
	unit_add(suite, an_alarm_of_a_second_or_more_in_microseconds_is_refused, 1, NULL);
	unit_add(suite, a_timer_that_is_about_to_expire_has_some_time_left, 1, NULL);
	unit_add(suite, a_timer_without_a_descriptor_leaves_no_memory, 1, NULL);
	unit_add(suite, an_alarm_has_whole_seconds_left, 1, NULL);
	unit_add(suite, a_child_has_no_alarm_of_its_parent, 1, NULL);
	unit_add(suite, a_timer_that_was_looked_at_late_keeps_to_its_times, 1, NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	return turns_main(argv, "turns_time", fill);
}
