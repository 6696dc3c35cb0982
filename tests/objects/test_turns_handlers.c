/* SPDX-License-Identifier: BSD-3-Clause */
/* libdat-turns.so alone: calls that the handler of a signal ends. */
#include "turns_table.h"

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

static void read_clock_and_send(void)
{
	ns_at(CLOCK_MONOTONIC);
	ns_at(CLOCK_MONOTONIC);
	send_signals();
}

static int call_with_mask(int way, const sigset_t *mask)
{
	struct timespec second = { .tv_sec = 1 };
	struct pollfd pfd = { .fd = wire[0], .events = POLLIN };
	struct epoll_event event;

	switch (way) {
	case 0:
		return ppoll(&pfd, 1, &second, mask);
	case 1:
		return pselect(0, NULL, NULL, NULL, &second, mask);
	case 2:
		return epoll_pwait(epoll_create1(0), &event, 1, 1000, mask);
	case 3:
		return epoll_pwait2(epoll_create1(0), &event, 1, &second, mask);
	default:
		return sigsuspend(mask);
	}
}

/* The program keeps it back at all other times. */
START_TEST(a_signal_that_the_mask_of_a_call_lets_in_ends_it)
{
	sigset_t one, none;

	handle(_i % 2 ? SA_RESTART : 0);
	sigemptyset(&none);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	takes = 1000;
	ck_assert_int_eq(call_with_mask(_i / 2, &none), -1);
	ck_assert_int_eq(errno, EINTR);
	ck_assert_int_eq(ended, 1);
	ck_assert(!strncmp(heard, "wait fd ", 8) && !strchr(heard, ','));
	raise(SIGUSR1);
	heard[0] = '\0';
	ck_assert_int_eq(call_with_mask(_i / 2, &none), -1); /* it was there before */
	ck_assert_int_eq(ended, 2);
	expect("");
	pthread_sigmask(SIG_BLOCK, NULL, &none);
	ck_assert_int_eq(sigismember(&none, SIGUSR1), 1);
}
END_TEST

/* As by Linux. */
START_TEST(an_epoll_pwait_without_time_lets_no_signal_in)
{
	const struct timespec no_time = { 0 };
	struct epoll_event event;
	sigset_t one, none;
	int fd = epoll_create1(0);

	handle(0);
	set_hook(0, NULL);
	sigemptyset(&none);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	raise(SIGUSR1);
	ck_assert_int_eq(epoll_pwait(fd, &event, 1, 0, &none), 0);
	ck_assert_int_eq(epoll_pwait2(fd, &event, 1, &no_time, &none), 0);
	ck_assert_int_eq(ended, 0);
	ck_assert_int_eq(epoll_pwait(fd, &event, 1, 1, &none), -1);
	ck_assert_int_eq(ended, 1);
}
END_TEST

START_TEST(a_signal_that_the_mask_of_a_call_keeps_back_comes_after_it)
{
	sigset_t one;

	handle(0);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	takes = 1000000000;
	ck_assert_int_eq(call_with_mask(_i, &one), 0);
	ck_assert_int_eq(ended, 1);
	expect("wait fd 1000000000");
}
END_TEST

START_TEST(a_signal_is_kept_back_again_only_if_it_was_before)
{
	sigset_t mask;

	handle(0);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	ck_assert_int_eq(sigsuspend(&mask), -1);
	ck_assert_int_eq(ended, 1);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	ck_assert_int_eq(sigismember(&mask, SIGUSR1), 0);
	ck_assert_int_eq(sigismember(&mask, SIGUSR2), 0);
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
	/* By the program's clock, which the second reading moves on by 1 us. */
	set_hook(1, read_clock_and_send);
	ck_assert_int_eq(nanosleep(&ts, &left), -1);
	ck_assert(left.tv_sec == 1 && left.tv_nsec == 999999000);
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

static void send_both(void)
{
	raise(SIGUSR2);
	raise(SIGUSR1);
	set_hook(1, feed);
}

/* As on Linux, where SIGUSR1 is the smaller number. _i: that one lets calls go on. */
START_TEST(of_several_signals_the_first_to_run_decides)
{
	struct sigaction action = { .sa_handler = note_signal };

	handle(_i ? SA_RESTART : 0);
	action.sa_flags = _i ? 0 : SA_RESTART;
	ck_assert_int_eq(sigaction(SIGUSR2, &action, NULL), 0);
	set_hook(1, send_both);
	errno = 0;
	ck_assert_int_eq(take(0, 0), _i ? 1 : -1);
	ck_assert_int_eq(errno, _i ? 0 : EINTR);
	ck_assert_int_eq(ended, 2);
}
END_TEST

static void write_wire(int sig)
{
	(void)sig;
	syscall(SYS_write, wire[1], "", 1);
}

static void send_usr1(void)
{
	raise(SIGUSR1);
}

/* An event that is told once is not lost when a handler makes it. */
START_TEST(a_wait_tells_what_a_handler_made_ready)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u32 = 7 };
	const struct sigaction action = { .sa_handler = write_wire };
	int fd;

	begin();
	fd = epoll_create1(EPOLL_CLOEXEC);
	ck_assert_int_eq(epoll_ctl(fd, EPOLL_CTL_ADD, wire[0], &event), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	set_hook(1, send_usr1);
	event.data.u32 = 0;
	ck_assert_int_eq(epoll_wait(fd, &event, 1, -1), 1);
	ck_assert_uint_eq(event.data.u32, 7);
	close(fd);
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

static void fill(Suite *suite)
{
	unit_add(suite, a_call_with_a_limit_ends_when_a_handler_has_run, 22, NULL);
	unit_add(suite, a_signal_that_the_mask_of_a_call_lets_in_ends_it, 10, NULL);
	unit_add(suite, an_epoll_pwait_without_time_lets_no_signal_in, 1, NULL);
	unit_add(suite, a_signal_that_the_mask_of_a_call_keeps_back_comes_after_it, 4, NULL);
	unit_add(suite, a_signal_is_kept_back_again_only_if_it_was_before, 1, NULL);
	unit_add(suite, a_sleep_that_a_handler_ends_tells_what_is_left, 1, NULL);
	unit_add(suite, a_call_goes_on_after_a_handler_with_sa_restart, 4, NULL);
	unit_add(suite, a_stream_has_an_error_when_a_handler_ends_its_read, 1, NULL);
	unit_add(suite, a_wait_for_a_child_ends_when_a_handler_has_run, 1, NULL);
	unit_add(suite, of_several_signals_the_first_to_run_decides, 2, NULL);
	unit_add(suite, a_wait_tells_what_a_handler_made_ready, 1, NULL);
	unit_add(suite, a_handler_that_has_run_ends_one_call, 1, NULL);
	unit_add(suite, a_handler_does_not_end_a_wait_for_a_lock, 1, NULL);
	unit_add(suite, a_signal_for_the_process_is_its_first_threads, 1, NULL);
	unit_add(suite, monotonic_clocks_do_not_go_back_when_a_program_joins, 1, NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	return turns_main(argv, "turns_handlers", fill);
}
