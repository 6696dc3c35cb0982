/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Eight threads use libibverbs on two devices, of a private fabric, a shared one, and one in
 * lockstep. Each makes, connects, uses and destroys queue pairs of its own beside the others; then
 * all of them use one queue pair at once. Every message comes once and whole. Or they only open and
 * close a device.
 *
 * TORTURE_TIMES in the environment multiplies the rounds.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/runtime.h"
#include "tests/support/support.h"
#include "verbs_pair.h"

enum {
	THREADS = 8,
	ROUNDS = 8,
	MESSAGES = 12, /* of a round */
	LENGTH = 64,
	TOGETHER = 24, /* messages of a thread on the QP of all, for each of ROUNDS */
	AHEAD = 8      /* Receives that are posted on it */
};

struct runner {
	int number, rounds;
	struct verbs_end a, b; /* on emu0 and emu1 */
	struct ibv_comp_channel *channel;
	pthread_t thread;
};

static struct verbs_end devices[2];
static struct runner runners[THREADS];

/* ---- the worlds ---- */

static void setup_private(void)
{
	runtime_begin("verbs-torture");
}

static void setup_shared(void)
{
	setup_private();
	setenv("DATSIM_FABRIC", "torture", 1);
}

static void setup_lockstep(void)
{
	setup_shared();
	setenv("DATSIM_LOCKSTEP", "1000", 1);
}

static int rounds(void)
{
	const char *times = getenv("TORTURE_TIMES");

	return ROUNDS * (times && *times ? atoi(times) : 1);
}

/* ---- queue pairs ---- */

/* To RTS; no request gives up while other threads have the processor. */
static void connect_end(struct verbs_end *end, const struct verbs_end *peer)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	for (int i = 0; i < 3; i++) {
		struct ibv_qp_attr attr = verbs_attr(end, peer);

		attr.qp_state = states[i];
		attr.timeout = 20;
		attr.retry_cnt = attr.rnr_retry = 7;
		ck_assert_int_eq(ibv_modify_qp(end->qp, &attr, verbs_mask(states[i])), 0);
	}
}

/* All threads use the devices that the test has opened. */
static void make_end(struct runner *r, struct verbs_end *end, int number)
{
	end->context = devices[number].context;
	end->port = devices[number].port;
	end->pd = ibv_alloc_pd(end->context);
	ck_assert_ptr_nonnull(end->pd);
	end->mr = ibv_reg_mr(end->pd, end->buffer, BUFFER,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	ck_assert_ptr_nonnull(end->mr);
	end->cq = ibv_create_cq(end->context, 2 * MESSAGES, NULL, number ? r->channel : NULL, 0);
	ck_assert_ptr_nonnull(end->cq);
	verbs_make_qp(end);
}

static void free_end(struct verbs_end *end)
{
	ck_assert_int_eq(ibv_destroy_qp(end->qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(end->cq), 0);
	ck_assert_int_eq(ibv_dereg_mr(end->mr), 0);
	ck_assert_int_eq(ibv_dealloc_pd(end->pd), 0);
}

/* ---- a thread with queue pairs of its own ---- */

static struct ibv_wc take_by_poll(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int got;

	while ((got = ibv_poll_cq(cq, 1, &wc)) == 0)
		sched_yield();
	ck_assert_int_eq(got, 1);
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	return wc;
}

/* Look again after the CQ has been armed: a completion before that makes no event. */
static struct ibv_wc take_by_event(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	struct ibv_cq *told;
	struct ibv_wc wc;
	void *context;

	for (;;) {
		ck_assert_int_eq(ibv_req_notify_cq(cq, 0), 0);
		if (ibv_poll_cq(cq, 1, &wc) == 1)
			break;
		ck_assert_int_eq(ibv_get_cq_event(channel, &told, &context), 0);
		ck_assert_ptr_eq(told, cq);
		ibv_ack_cq_events(told, 1);
	}
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	return wc;
}

static void expect_at(const struct runner *r, int offset, int seed)
{
	for (int i = 0; i < LENGTH; i++)
		ck_assert_msg(r->b.buffer[offset + i] == (char)(seed + i),
			      "thread %d: byte %d of message %d is not what was sent", r->number, i,
			      seed);
}

/* The Receive of message N is at LENGTH * (N + 1), what is written goes to the beginning. */
static void send_and_check(struct runner *r, int n, int seed)
{
	struct verbs_end *a = &r->a, *b = &r->b;
	int at = LENGTH * (n + 1);
	struct ibv_wc wc;

	for (int i = 0; i < LENGTH; i++)
		a->buffer[i] = (char)(seed + i);
	ck_assert_int_eq(verbs_recv(b, (uint64_t)n, (uint32_t)at, LENGTH), 0);
	ck_assert_int_eq(verbs_send(a, b, IBV_WR_RDMA_WRITE, LENGTH, 0), 0);
	ck_assert_int_eq(verbs_send(a, b, IBV_WR_SEND, LENGTH, n % 2 ? IBV_SEND_INLINE : 0), 0);
	wc = r->channel ? take_by_event(r->channel, b->cq) : take_by_poll(b->cq);
	ck_assert_uint_eq(wc.wr_id, (uint64_t)n);
	ck_assert_uint_eq(wc.byte_len, LENGTH);
	expect_at(r, 0, seed);
	expect_at(r, at, seed);
	ck_assert_int_eq((int)take_by_poll(a->cq).opcode, (int)IBV_WC_RDMA_WRITE);
	ck_assert_int_eq((int)take_by_poll(a->cq).opcode, (int)IBV_WC_SEND);
}

/* Odd threads wait for events. */
static void *churn(void *arg)
{
	struct runner *r = arg;

	for (int round = 0; round < r->rounds; round++) {
		if (r->number % 2) {
			r->channel = ibv_create_comp_channel(devices[1].context);
			ck_assert_ptr_nonnull(r->channel);
		}
		make_end(r, &r->a, 0);
		make_end(r, &r->b, 1);
		connect_end(&r->a, &r->b);
		connect_end(&r->b, &r->a);
		for (int n = 0; n < MESSAGES; n++)
			send_and_check(r, n, r->number + THREADS * (round + n));
		free_end(&r->a);
		free_end(&r->b);
		if (r->channel)
			ck_assert_int_eq(ibv_destroy_comp_channel(r->channel), 0);
	}
	return NULL;
}

/* ---- a queue pair of all threads ---- */

static int sent, received;  /* completions taken */
static int times[THREADS];  /* messages of each thread that have come */
static int posted[THREADS]; /* and those it has sent */

static bool someone_sends(int total)
{
	return __atomic_load_n(&sent, __ATOMIC_RELAXED) < total ||
	       __atomic_load_n(&received, __ATOMIC_RELAXED) < total;
}

/* The immediate data says which thread sent it; the Receive is posted again. */
static void take_message(const struct ibv_wc *wc)
{
	uint32_t from = wc->imm_data;

	ck_assert_int_eq((int)wc->status, (int)IBV_WC_SUCCESS);
	ck_assert_uint_lt(from, THREADS);
	for (int i = 0; i < LENGTH; i++)
		ck_assert_int_eq(devices[1].buffer[wc->wr_id * LENGTH + (uint64_t)i], (int)from);
	__atomic_add_fetch(&times[from], 1, __ATOMIC_RELAXED);
	ck_assert_int_eq(verbs_recv(&devices[1], wc->wr_id, (uint32_t)wc->wr_id * LENGTH, LENGTH),
			 0);
	__atomic_add_fetch(&received, 1, __ATOMIC_RELAXED);
}

static void take_any(void)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(devices[0].cq, 1, &wc) == 1) {
		ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
		__atomic_add_fetch(&sent, 1, __ATOMIC_RELAXED);
	}
	if (ibv_poll_cq(devices[1].cq, 1, &wc) == 1)
		take_message(&wc);
	sched_yield();
}

static bool post_one(const struct runner *r)
{
	char *from = devices[0].buffer + LENGTH * r->number;
	struct ibv_sge sge = { (uintptr_t)from, LENGTH, devices[0].mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	int got;

	wr.imm_data = (uint32_t)r->number;
	got = ibv_post_send(devices[0].qp, &wr, &bad);
	ck_assert(got == 0 || got == ENOMEM);
	return got == 0;
}

/* The send queue is full now and then. */
static void *share(void *arg)
{
	struct runner *r = arg;
	int mine = r->rounds * TOGETHER;

	while (posted[r->number] < mine) {
		if (post_one(r))
			posted[r->number]++;
		take_any();
	}
	while (someone_sends(mine * THREADS))
		take_any();
	return NULL;
}

static void begin_together(void)
{
	sent = received = 0;
	memset(times, 0, sizeof(times));
	memset(posted, 0, sizeof(posted));
	verbs_make_qp(&devices[0]);
	verbs_make_qp(&devices[1]);
	connect_end(&devices[0], &devices[1]);
	connect_end(&devices[1], &devices[0]);
	for (int i = 0; i < THREADS; i++)
		memset(devices[0].buffer + LENGTH * i, i, LENGTH);
	for (uint32_t i = 0; i < AHEAD; i++)
		ck_assert_int_eq(verbs_recv(&devices[1], i, i * LENGTH, LENGTH), 0);
}

/* ---- all of them ---- */

static void run_all(void *(*run)(void *))
{
	for (int i = 0; i < THREADS; i++) {
		struct runner *r = &runners[i];

		r->number = i;
		r->rounds = rounds();
		ck_assert_int_eq(pthread_create(&r->thread, NULL, run, r), 0);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(runners[i].thread, NULL), 0);
}

START_TEST(threads_with_queue_pairs_of_their_own_get_their_messages_whole)
{
	verbs_open(&devices[0], 0);
	verbs_open(&devices[1], 1);
	run_all(churn);
	verbs_end_all(&devices[0], &devices[1]);
	runtime_end_any();
}
END_TEST

START_TEST(threads_with_one_queue_pair_lose_and_repeat_no_message)
{
	verbs_open(&devices[0], 0);
	verbs_open(&devices[1], 1);
	begin_together();
	run_all(share);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(times[i], rounds() * TOGETHER);
	verbs_end_all(&devices[0], &devices[1]);
	runtime_end_any();
}
END_TEST

/* Nothing keeps the world: it ends with the last close, while others open the device. */
static void *open_and_close(void *arg)
{
	const struct runner *r = arg;
	struct verbs_end end;

	for (int i = 0; i < r->rounds * MESSAGES; i++) {
		verbs_open(&end, 0);
		ck_assert_int_eq(ibv_close_device(end.context), 0);
	}
	return NULL;
}

START_TEST(threads_open_and_close_the_only_device)
{
	run_all(open_and_close);
	runtime_end_any();
}
END_TEST

static void fill_world(Suite *suite, const char *name, void (*setup)(void))
{
	unit_add_case(suite, name, threads_with_queue_pairs_of_their_own_get_their_messages_whole,
		      0, 1, setup);
	unit_add_case(suite, name, threads_with_one_queue_pair_lose_and_repeat_no_message, 0, 1,
		      setup);
	unit_add_case(suite, name, threads_open_and_close_the_only_device, 0, 1, setup);
}

static void fill(Suite *suite)
{
	fill_world(suite, "private", setup_private);
	fill_world(suite, "shared", setup_shared);
	fill_world(suite, "lockstep", setup_lockstep);
}

UNIT_SUITE_OF_PROCESSES("verbs_torture")
