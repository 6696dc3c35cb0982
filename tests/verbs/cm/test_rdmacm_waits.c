/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of programs of libibverbs, librdmacm and rsockets that are cancelled, or get signals. A
 * call that waits may end its thread, as programs expect, and no other does; none leaves a lock
 * behind. A wait is interrupted as a system call is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/runtime.h"
#include "tests/support/support.h"

#define THERE "198.18.0.2"
#define PORT  7471

static void setup_folder(void)
{
	runtime_begin("verbs-cancel");
}

static struct sockaddr_in in_address(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	ck_assert_int_eq(inet_pton(AF_INET, THERE, &addr.sin_addr), 1);
	return addr;
}

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);

	ibv_free_device_list(list);
	return context;
}

/* ---- a cancellation that is pending ---- */

/* A CQ, and an event of it. Those that use it return the number of the call that failed. */
static int use_events(struct ibv_comp_channel *channel, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1, .max_recv_wr = 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_cq *of;
	void *context;

	if (!qp || ibv_req_notify_cq(cq, 0))
		return 3;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return 4;
	attr.qp_state = IBV_QPS_ERR;
	if (ibv_post_recv(qp, &wr, &bad) || ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return 5;
	if (ibv_get_cq_event(channel, &of, &context))
		return 6;
	ibv_ack_cq_events(of, 1);
	return ibv_destroy_qp(qp) ? 7 : 0;
}

static int use_verbs(void)
{
	struct ibv_context *context = open_first();
	struct ibv_comp_channel *channel = context ? ibv_create_comp_channel(context) : NULL;
	struct ibv_pd *pd = channel ? ibv_alloc_pd(context) : NULL;
	struct ibv_cq *cq = pd ? ibv_create_cq(context, 4, NULL, channel, 0) : NULL;
	static char memory[4096];
	struct ibv_mr *mr;
	int failed;

	if (!cq)
		return 1;
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		return 2;
	failed = use_events(channel, pd, cq);
	if (failed)
		return failed;
	if (ibv_dereg_mr(mr) || ibv_destroy_cq(cq) || ibv_destroy_comp_channel(channel))
		return 8;
	return ibv_dealloc_pd(pd) || ibv_close_device(context) ? 9 : 0;
}

static int use_ids(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in addr = in_address();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return 1;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 100) ||
	    rdma_get_cm_event(channel, &event) || rdma_ack_cm_event(event))
		return 2;
	if (rdma_destroy_id(id))
		return 3;
	rdma_destroy_event_channel(channel);
	return 0;
}

static int use_rsockets(void)
{
	int one = rsocket(AF_INET, SOCK_STREAM, 0), other = rsocket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr = in_address();

	if (one < 0 || rbind(one, (struct sockaddr *)&addr, sizeof(addr)))
		return 1;
	if (rlisten(one, 1) || rbind(other, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return 2;
	if (rfcntl(one, F_SETFL, O_NONBLOCK) || raccept(one, NULL, NULL) >= 0)
		return 3;
	return rclose(other) || rclose(one) ? 4 : 0;
}

static int (*const uses[])(void) = { use_verbs, use_ids, use_rsockets };
#define USES 3

static struct {
	int (*use)(void);
	int failed;
	bool returned;
} cancelled;

/* Cancelled from the beginning on; its first cancellation point is the last line. */
static void *run_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	cancelled.failed = cancelled.use();
	cancelled.returned = true;
	pthread_testcancel();
	return arg;
}

START_TEST(no_call_that_does_not_wait_is_a_cancellation_point)
{
	pthread_t thread;
	void *end;

	runtime_choose(_i / USES);
	cancelled.use = uses[_i % USES];
	ck_assert_int_eq(pthread_create(&thread, NULL, run_cancelled, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, &end), 0);
	ck_assert_msg(cancelled.returned, "%s, %d: a call ended its thread",
		      runtime_name(_i / USES), _i % USES);
	ck_assert_int_eq(cancelled.failed, 0);
	ck_assert_ptr_eq(end, PTHREAD_CANCELED);
	ck_assert_int_eq(cancelled.use(), 0);
	runtime_remove();
}
END_TEST

/* ---- a thread that is cancelled while it waits ---- */

static struct {
	struct ibv_context *context;
	struct ibv_comp_channel *completions;
	struct rdma_event_channel *events;
	int listener, client, server;
	bool waits;
} there;

static void make_all(void)
{
	struct sockaddr_in addr = in_address();

	there.context = open_first();
	there.completions = ibv_create_comp_channel(there.context);
	there.events = rdma_create_event_channel();
	there.listener = rsocket(AF_INET, SOCK_STREAM, 0);
	there.client = rsocket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(rbind(there.listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(rlisten(there.listener, 1), 0);
	ck_assert_int_eq(rconnect(there.client, (struct sockaddr *)&addr, sizeof(addr)), 0);
	there.server = raccept(there.listener, NULL, NULL);
	ck_assert_int_ge(there.server, 0);
}

/* All of it works yet. */
static void end_all(void)
{
	char got = 0;

	ck_assert_int_eq(rsend(there.client, "x", 1, 0), 1);
	ck_assert_int_eq(rrecv(there.server, &got, 1, 0), 1);
	ck_assert_int_eq(got, 'x');
	ck_assert_int_eq(rclose(there.server), 0);
	ck_assert_int_eq(rclose(there.client), 0);
	ck_assert_int_eq(rclose(there.listener), 0);
	rdma_destroy_event_channel(there.events);
	ck_assert_int_eq(ibv_destroy_comp_channel(there.completions), 0);
	ck_assert_int_eq(ibv_close_device(there.context), 0);
}

static int wait_for_completion(void)
{
	struct ibv_cq *cq;
	void *context;

	return ibv_get_cq_event(there.completions, &cq, &context);
}

static int wait_for_device(void)
{
	struct ibv_async_event event;

	return ibv_get_async_event(there.context, &event);
}

static int wait_for_id(void)
{
	struct rdma_cm_event *event;

	return rdma_get_cm_event(there.events, &event) ? -1 : rdma_ack_cm_event(event);
}

static int wait_for_connection(void)
{
	return raccept(there.listener, NULL, NULL);
}

static int wait_for_data(void)
{
	char got;

	return (int)rrecv(there.server, &got, 1, 0);
}

static int wait_for_any(void)
{
	struct pollfd pfd[2] = { { .fd = there.server, .events = POLLIN },
				 { .fd = there.listener, .events = POLLIN } };

	return rpoll(pfd, 2, -1);
}

static int (*const waits[])(void) = { wait_for_completion, wait_for_device, wait_for_id,
				      wait_for_connection, wait_for_data,   wait_for_any };
#define WAITS 6

static void *run_waiter(void *arg)
{
	int (*const *wait)(void) = arg;

	__atomic_store_n(&there.waits, true, __ATOMIC_RELEASE);
	(*wait)();
	return NULL;
}

/* Under `datsim run --lockstep`, pthread_cancel wakes it; here an event does. */
static void wake_all(void)
{
	ck_assert_int_eq(use_ids(), 0);
}

START_TEST(a_thread_that_is_cancelled_while_it_waits_ends_without_a_lock)
{
	static const int of[] = { 0, 2, 3 };
	int world = of[_i / WAITS];
	pthread_t thread;
	void *end;

	runtime_choose(world);
	make_all();
	ck_assert_int_eq(pthread_create(&thread, NULL, run_waiter, (void *)&waits[_i % WAITS]), 0);
	while (!__atomic_load_n(&there.waits, __ATOMIC_ACQUIRE))
		sched_yield();
	usleep(20000);
	ck_assert_int_eq(pthread_cancel(thread), 0);
	wake_all();
	ck_assert_int_eq(pthread_join(thread, &end), 0);
	ck_assert_ptr_eq(end, PTHREAD_CANCELED);
	end_all();
	runtime_remove();
}
END_TEST

/* ---- a thread that gets signals while it waits ---- */

static struct {
	int (*wait)(void);
	int signals, err; /* of the wait */
	bool ended;
} interrupted;

static void on_signal(int sig)
{
	(void)sig;
	__atomic_add_fetch(&interrupted.signals, 1, __ATOMIC_RELEASE);
}

static void *run_interrupted(void *arg)
{
	interrupted.err = interrupted.wait() < 0 ? errno : 0;
	__atomic_store_n(&interrupted.ended, true, __ATOMIC_RELEASE);
	return arg;
}

static bool has_ended(void)
{
	return __atomic_load_n(&interrupted.ended, __ATOMIC_ACQUIRE);
}

/* So many, unless the wait ends before. */
static void send_signals(pthread_t thread, int most)
{
	for (int n = 0; n < most && !has_ended(); n++) {
		pthread_kill(thread, SIGUSR1);
		usleep(5000);
	}
}

static void bring_all(void)
{
	struct rdma_cm_id *id;
	int client = rsocket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr = in_address();

	ck_assert_int_eq(rdma_create_id(there.events, &id, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 100), 0);
	ck_assert_int_eq(rconnect(client, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(rsend(there.client, "x", 1, 0), 1);
}

static const struct {
	int (*wait)(void);
	bool polls;
} interruptible[] = {
	{ wait_for_id, false },
	{ wait_for_connection, false },
	{ wait_for_data, false },
	{ wait_for_any, true },
};
#define INTERRUPTIBLE 4

/* The test library has handlers without SA_RESTART for these. */
static void reset_handlers(void)
{
	signal(SIGALRM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
}

/* As read(2) and accept(2) do; poll(2) does not. */
START_TEST(a_wait_goes_on_after_a_handler_with_SA_RESTART)
{
	bool restarts = _i >= INTERRUPTIBLE, polls = interruptible[_i % INTERRUPTIBLE].polls;
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;

	reset_handlers();
	action.sa_flags = restarts ? SA_RESTART : 0;
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	make_all();
	interrupted.wait = interruptible[_i % INTERRUPTIBLE].wait;
	ck_assert_int_eq(pthread_create(&thread, NULL, run_interrupted, NULL), 0);
	send_signals(thread, restarts && !polls ? 5 : INT_MAX);
	if (restarts && !polls) {
		ck_assert_int_ge(__atomic_load_n(&interrupted.signals, __ATOMIC_ACQUIRE), 1);
		ck_assert_msg(!has_ended(), "%d: the wait failed by %d", _i, interrupted.err);
		bring_all();
	}
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(interrupted.err, restarts && !polls ? 0 : EINTR);
	runtime_remove();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, no_call_that_does_not_wait_is_a_cancellation_point, RUNTIME_KINDS * USES,
		 setup_folder);
	unit_add(suite, a_thread_that_is_cancelled_while_it_waits_ends_without_a_lock, 3 * WAITS,
		 setup_folder);
	unit_add(suite, a_wait_goes_on_after_a_handler_with_SA_RESTART, 2 * INTERRUPTIBLE,
		 setup_folder);
}

UNIT_SUITE_OF_PROCESSES("verbs-waits")
