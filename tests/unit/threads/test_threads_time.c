/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time in a program of several threads: it follows the monotonic clock, and posted work proceeds
 * whether or not any thread calls the library again. In a program of one thread it does not: ruling
 * G7 and <dat/sim.h>.
 */
#include <stdlib.h>
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/asleep.h"
#include "tests/support/support.h"

/* A second thread, which never calls the library */
static pthread_t bystander;
static sem_t go_home, called;
static DAT_RETURN result;
static pid_t teller; /* the thread that called the agent */

static void *stand_by(void *arg)
{
	while (sem_wait(&go_home) != 0)
		;
	return arg;
}

static void begin_threads(void)
{
	ck_assert_int_eq(sem_init(&go_home, 0, 0), 0);
	ck_assert_int_eq(sem_init(&called, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&bystander, NULL, stand_by, NULL), 0);
}

static void end_threads(void)
{
	ck_assert_int_eq(sem_post(&go_home), 0);
	ck_assert_int_eq(pthread_join(bystander, NULL), 0);
}

static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = -2; /* do not count "." and ".." */

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A thread that was joined is listed for a moment longer. */
static void until_threads(int expected)
{
	while (threads() > expected)
		sched_yield();
	ck_assert_int_eq(threads(), expected);
}

/* The process has or had a second thread: of a tool, or of an earlier test. */
static bool is_threaded(void)
{
	return !__libc_single_threaded;
}

static DAT_UINT64 monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (DAT_UINT64)ts.tv_sec * 1000000000 + (DAT_UINT64)ts.tv_nsec;
}

/*
 * Polls memory until the byte has this value. Nothing orders this read against the write, as in
 * programs that rely on the behaviour of their NIC; a race detector must ignore it.
 */
__attribute__((no_sanitize("thread"), noinline)) static void
spin_until(const volatile unsigned char *byte, unsigned char value)
{
	while (*byte != value)
		sched_yield();
}

static void no_setup(void)
{
}

/* ---- progress ---- */

START_TEST(G7_a_message_comes_though_nobody_calls)
{
	plain_pair();
	begin_threads();
	for (int n = 0; n < 20; n++) {
		post_recv(&w.b, w.b.ep, n);
		memset(slot(&w.a, n), n + 1, SHORT);
		post_send(&w.a, w.a.ep, n, SHORT);
		spin_until(slot(&w.b, n) + SHORT - 1, (unsigned char)(n + 1));
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
	}
	end_threads();
}
END_TEST

/* No event tells the target of an RDMA Write, and its completion may come later than the bytes. */
START_TEST(G7_an_RDMA_Write_is_seen_by_who_looks_at_memory)
{
	DAT_RMR_TRIPLET remote = { 0 };
	DAT_LMR_TRIPLET local;
	DAT_LMR_PARAM param;

	plain_pair();
	must(dat_lmr_query(w.b.lmr, DAT_LMR_FIELD_ALL, &param));
	remote.rmr_context = param.rmr_context;
	remote.segment_length = LONG;
	begin_threads();
	for (int n = 0; n < 20; n++) {
		local = segment(&w.a, n, LONG);
		memset(slot(&w.a, n), n + 1, LONG);
		remote.target_address = (uintptr_t)slot(&w.b, n);
		must(dat_ep_post_rdma_write(w.a.ep, 1, &local, cookie(n), &remote,
					    DAT_COMPLETION_SUPPRESS_FLAG));
		spin_until(slot(&w.b, n) + LONG - 1, (unsigned char)(n + 1));
	}
	expect_no_event(w.b.recv);
	end_threads();
}
END_TEST

/* Runs on a thread of the library, which may outlive the test. */
static void tell(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)evd;
	teller = gettid();
	if (data)
		result = dat_ia_close(*(DAT_IA_HANDLE *)data, DAT_CLOSE_ABRUPT_FLAG);
	if (sem_post(&called) != 0)
		abort();
}

static void wait_for_the_call(void)
{
	while (sem_wait(&called) != 0)
		;
}

/* No thread joins one that ended its own world, and a search for leaks must not precede its end. */
static void until_teller_is_gone(void)
{
	char path[64];

	if (teller == getpid())
		return;
	snprintf(path, sizeof(path), "/proc/self/task/%d", (int)teller);
	while (access(path, F_OK) == 0)
		sched_yield();
}

START_TEST(E2_an_agent_is_called_though_nobody_calls)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { NULL, tell };
	DAT_CNO_HANDLE cno;

	plain_pair();
	must(dat_cno_create(w.b.ia, agent, &cno));
	must(dat_evd_modify_cno(w.b.recv, cno));
	begin_threads();
	post_recvs(&w.b, w.b.ep, 0, 2);
	for (int n = 0; n < 2; n++) {
		post_send(&w.a, w.a.ep, n, SHORT);
		wait_for_the_call();
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
		must(dat_cno_modify_agent(cno, agent));
	}
	must(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	end_threads();
}
END_TEST

/* The agent runs on a thread of the library, which ends the world that this thread belongs to. */
START_TEST(E2_an_agent_may_close_the_last_IA)
{
	char name[] = "emu0", other[] = "emu1";
	DAT_OS_WAIT_PROXY_AGENT agent = { &w.b.ia, tell };
	DAT_CNO_HANDLE cno;

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	side_open(&w.a, name);
	side_open(&w.b, other);
	must(dat_sim_of(w.a.ia, &w.sim));
	plain_pair();
	must(dat_cno_create(w.b.ia, agent, &cno));
	must(dat_evd_modify_cno(w.b.connect, cno));
	begin_threads();
	/* The agent closes w.b, so both adapters may be closed by the end of this call. */
	side_close(&w.a);
	wait_for_the_call();
	must(result);
	w.sim = w.b.ia = NO_HANDLE;
	until_teller_is_gone();
	end_threads();
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
}
END_TEST

START_TEST(G7_a_connection_times_out_though_nobody_calls)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { NULL, tell };
	DAT_UINT64 start;
	DAT_CNO_HANDLE cno;

	must(dat_cno_create(w.a.ia, agent, &cno));
	must(dat_evd_modify_cno(w.a.connect, cno));
	hold_link("emu0", "emu1");
	begin_threads();
	w.a.ep = plain_ep(&w.a);
	start = monotonic_ns();
	must(try_connect(w.a.ep, &w.b, QUAL, 5000));
	wait_for_the_call();
	ck_assert_uint_ge(monotonic_ns() - start, 5000000);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	end_threads();
}
END_TEST

/* ---- time ---- */

START_TEST(sim_timeouts_pass_no_faster_than_the_clock)
{
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	DAT_UINT64 start;
	DAT_EVENT event;

	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	begin_threads();
	start = monotonic_ns();
	must_fail(dat_evd_wait(w.a.recv, 3000, 1, &event, NULL), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	ck_assert_uint_ge(monotonic_ns() - start, 3000000);
	start = monotonic_ns();
	ck_assert_uint_eq(dat_cno_wait(cno, 3000, &evd), DAT_QUEUE_EMPTY);
	ck_assert_uint_ge(monotonic_ns() - start, 3000000);
	end_threads();
}
END_TEST

/* ---- the helper ---- */

START_TEST(G7_a_program_of_one_thread_stays_one)
{
	if (is_threaded())
		return;
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	deliver(&w.a, w.a.ep, 1);
	ck_assert_int_eq(threads(), 1);
}
END_TEST

START_TEST(G7_what_helps_ends_with_the_world)
{
	if (is_threaded())
		return;
	plain_pair();
	begin_threads();
	ck_assert_int_eq(threads(), 2); /* no event is pending */
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	ck_assert_int_eq(threads(), 3);
	side_close(&w.a);
	side_close(&w.b);
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	until_threads(2);
	end_threads();
	until_threads(1);
}
END_TEST

/* The signals that a task of this process blocks; 0: it is called "bystander". */
static uint64_t blocked_by(const char *task)
{
	char path[300], line[128];
	uint64_t blocked = 0;
	bool other = true;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		other = other && strcmp(line, "Name:\tbystander\n") != 0;
		sscanf(line, "SigBlk: %" SCNx64, &blocked);
	}
	if (file)
		fclose(file);
	return other ? blocked : 0;
}

/* Of the other threads the helper alone blocks SIGTERM. */
static uint64_t blocked_by_helper(void)
{
	DIR *tasks = opendir("/proc/self/task");
	uint64_t blocked = 0, mask;
	struct dirent *task;

	ck_assert_ptr_nonnull(tasks);
	while ((task = readdir(tasks))) {
		mask = blocked_by(task->d_name);
		if (mask & UINT64_C(1) << (SIGTERM - 1))
			blocked = mask;
	}
	closedir(tasks);
	return blocked;
}

/* It copies memory of the program: a fault that is blocked kills, whatever handles it. */
START_TEST(what_helps_takes_no_signals_but_faults)
{
	uint64_t faults = UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1);
	uint64_t blocked;

	if (is_threaded())
		return;
	plain_pair();
	begin_threads();
	pthread_setname_np(bystander, "bystander");
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	/* A thread that begins blocks all signals for a moment. */
	while (((blocked = blocked_by_helper()) & faults) == faults)
		sched_yield();
	ck_assert_uint_ne(blocked, 0);
	ck_assert_uint_eq(blocked & faults, 0);
	for (int number = 1; number < SIGRTMIN - 2; number++)
		if (number != SIGKILL && number != SIGSTOP && number != SIGSEGV && number != SIGBUS)
			ck_assert_uint_ne(blocked & UINT64_C(1) << (number - 1), 0);
	end_threads();
}
END_TEST

static void live_in_a_child(void)
{
	w.sim = w.a.ia = w.b.ia = NO_HANDLE;
	setup_sides();
	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	teardown();
}

START_TEST(G3_a_forked_child_lives_without_its_parents_helper)
{
	int status = -1;
	pid_t child;

	if (is_threaded())
		return;
	plain_pair();
	begin_threads();
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		live_in_a_child();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	spin_until(slot(&w.b, 0), slot(&w.a, 0)[0]);
	end_threads();
}
END_TEST

static void *sleep_in_a_wait(void *tid)
{
	DAT_EVENT event;
	DAT_COUNT more;

	__atomic_store_n((pid_t *)tid, gettid(), __ATOMIC_RELEASE);
	must(dat_evd_wait(w.a.recv, DAT_TIMEOUT_INFINITE, 1, &event, &more));
	ck_assert_int_eq(event.event_number, DAT_SOFTWARE_EVENT);
	return NULL;
}

static void be_helped_in_a_child(void)
{
	w.sim = w.a.ia = w.b.ia = NO_HANDLE;
	setup_sides();
	plain_pair();
	begin_threads();
	post_recv(&w.b, w.b.ep, 0);
	memset(slot(&w.a, 0), 7, SHORT);
	post_send(&w.a, w.a.ep, 0, SHORT);
	spin_until(slot(&w.b, 0) + SHORT - 1, 7);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	end_threads();
	teardown();
}

/* Events come in the child, though a thread that it does not have sleeps until the next one. */
START_TEST(G3_a_child_of_a_process_with_a_thread_in_a_wait_has_a_helper)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	static pid_t tid;
	int status = -1;
	pthread_t waiter;
	pid_t child;

	if (is_threaded())
		return;
	w.a.recv = make_evd(&w.a, 4, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	plain_pair();
	ck_assert_int_eq(pthread_create(&waiter, NULL, sleep_in_a_wait, &tid), 0);
	until_thread_asleep(&tid);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		be_helped_in_a_child();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	must(dat_evd_post_se(w.a.recv, &event));
	ck_assert_int_eq(pthread_join(waiter, NULL), 0);
}
END_TEST

/*
 * A Send is answered "not ready" indefinitely and without delay: an event is always due, so the
 * thread that runs the events never sleeps.
 */
START_TEST(G7_threads_get_their_turn_while_events_never_end)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);

	config.latency_ns = 0;
	config.rnr_retry = 7;
	config.rnr_timer_ns = 1;
	config.trace = DAT_FALSE; /* the trace would be endless, too */
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	begin_threads();
	post_send(&w.a, w.a.ep, 0, SHORT);
	for (int n = 0; n < 300; n++)
		expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	post_recv(&w.b, w.b.ep, 0);
	spin_until(slot(&w.b, 0) + SHORT - 1, slot(&w.a, 0)[SHORT - 1]);
	end_threads();
}
END_TEST

static void fill(Suite *suite)
{
	/* valgrind runs one thread at a time, schedules them itself, and blocks their signals. */
	if (!getenv("UNIT_SHARE")) {
		unit_add(suite, G7_threads_get_their_turn_while_events_never_end, 1, no_setup);
		unit_test(suite, what_helps_takes_no_signals_but_faults);
	}
	unit_test(suite, G7_a_message_comes_though_nobody_calls);
	unit_test(suite, G7_an_RDMA_Write_is_seen_by_who_looks_at_memory);
	unit_test(suite, E2_an_agent_is_called_though_nobody_calls);
	unit_test_bare(suite, E2_an_agent_may_close_the_last_IA);
	unit_test(suite, G7_a_connection_times_out_though_nobody_calls);
	unit_test(suite, sim_timeouts_pass_no_faster_than_the_clock);
	unit_test(suite, G7_a_program_of_one_thread_stays_one);
	unit_test(suite, G7_what_helps_ends_with_the_world);
	unit_test(suite, G3_a_forked_child_lives_without_its_parents_helper);
	unit_test(suite, G3_a_child_of_a_process_with_a_thread_in_a_wait_has_a_helper);
}

UNIT_SUITE("threads_time")
