/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of the direct path (emu/shared/direct.c): one process sends, with the fabric's lock,
 * to another one that posts Receives and polls without any. All messages come, once, in order and
 * whole, though the rings wrap many times and are full or empty most of the time.
 *
 * Under ThreadSanitizer it fails if one of these is not stored with release order: cq.put (the
 * receiver reads an inline CQE while it is written), cq.get (the sender overwrites one that is
 * read), rq.put (the sender reads a Receive that is written); or if emu_recv_take and the owner's
 * look at rq.get do not order the reuse of a Receive's entry.
 */
#include "emu/receive.h"
#include "emu/shared/direct.h"
#include "emu/shared/shared.h"
#include "tests/litmus/litmus.h"

enum {
	MESSAGES = 20000,
	DEPTH = 4, /* Receives at a time, so that the rings wrap */
	WORDS = 8, /* of a message: it fits into an inline CQE */
};

static struct end {
	struct nic_world *world;
	struct nic *nic;
	struct nic_cq *send_cq, *recv_cq;
	struct nic_qp *qp;
	struct nic_mr *mr;
	struct nic_pd *pd;
	bool established;
	uint64_t memory[DEPTH][WORDS];
} ends[2];

static struct litmus_worlds worlds;

/* ---- what the NIC calls ---- */

static void accept_request(void *listener_ctx, struct nic_conn *conn)
{
	const struct nic_conn_param none = { .rd_in = 0 };
	struct end *end = listener_ctx;

	ck_assert_int_eq(end->nic->ops->accept(conn, end->qp, &none), 0);
}

static void note_established(void *qp_ctx, const struct nic_conn_param *peer)
{
	struct end *end = qp_ctx;

	(void)peer;
	end->established = true;
}

static void ignore(void *ctx)
{
	(void)ctx;
}

static void ignore_end(void *qp_ctx, enum nic_conn_end why)
{
	(void)qp_ctx;
	(void)why;
}

static uint64_t monotonic_ns(void *ctx)
{
	struct timespec ts;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ul + (uint64_t)ts.tv_nsec;
}

static const struct nic_upcalls upcalls = {
	.cq_notify = ignore,
	.srq_limit = ignore,
	.qp_soft_limit = ignore,
	.conn_request = accept_request,
	.established = note_established,
	.conn_end = ignore_end,
	.adapter_failed = ignore,
	.lock = ignore,
	.unlock = ignore,
	.monotonic_ns = monotonic_ns,
	.wake = ignore,
};

/* ---- two ends and a connection ---- */

static void open_end(struct end *end)
{
	struct nic_qp_init init = { .cap = { DEPTH, DEPTH, 1, 1, 1, 0, 0 } };

	ck_assert_int_eq(emu_backend.open(end->world, "emu0", &upcalls, end, &end->nic), 0);
	ck_assert_int_eq(end->nic->ops->pd_alloc(end->nic, &end->pd), 0);
	ck_assert_int_eq(end->nic->ops->cq_create(end->nic, DEPTH, end, &end->send_cq), 0);
	ck_assert_int_eq(end->nic->ops->cq_create(end->nic, DEPTH, end, &end->recv_cq), 0);
	ck_assert_int_eq(end->nic->ops->mr_reg(end->pd, (uintptr_t)end->memory, sizeof(end->memory),
					       NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE,
					       &end->mr),
			 0);
	init.pd = end->pd;
	init.send_cq = end->send_cq;
	init.recv_cq = end->recv_cq;
	ck_assert_int_eq(end->nic->ops->qp_create(end->nic, &init, end, &end->qp), 0);
}

static void connect_ends(void)
{
	const struct nic_conn_param none = { .rd_in = 0 };
	struct nic_listener *listener;
	struct nic_attr attr;
	uint64_t port = 1;

	emu_backend.enter(ends[1].world, false);
	ends[1].nic->ops->query(ends[1].nic, &attr);
	ck_assert_int_eq(ends[1].nic->ops->listen(ends[1].nic, &port, &ends[1], &listener), 0);
	emu_backend.leave(ends[1].world);
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(ends[0].nic->ops->connect(ends[0].qp, (struct sockaddr *)&attr.addr, port,
						   NIC_TIME_NEVER, &none),
			 0);
	emu_backend.leave(ends[0].world);
	for (int i = 0; !ends[0].established || !ends[1].established; i ^= 1) {
		emu_backend.enter(ends[i].world, false);
		emu_backend.settle(ends[i].world);
		emu_backend.leave(ends[i].world);
	}
	emu_backend.enter(ends[1].world, false);
	ends[1].nic->ops->unlisten(listener);
	emu_backend.leave(ends[1].world);
}

static void setup(void)
{
	litmus_join_worlds(&worlds);
	memset(ends, 0, sizeof(ends));
	for (int i = 0; i < 2; i++) {
		ends[i].world = (struct nic_world *)worlds.world[i];
		emu_backend.enter(ends[i].world, false);
		open_end(&ends[i]);
		emu_backend.leave(ends[i].world);
	}
	connect_ends();
}

static void close_end(struct end *end)
{
	const struct nic_ops *ops = end->nic->ops;

	emu_backend.enter(end->world, false);
	ops->qp_reset(end->qp);
	ops->qp_destroy(end->qp);
	ops->cq_destroy(end->send_cq);
	ops->cq_destroy(end->recv_cq);
	ops->mr_dereg(end->mr);
	ops->pd_free(end->pd);
	ops->close(end->nic);
	emu_backend.leave(end->world);
}

static void teardown_worlds(void)
{
	close_end(&ends[0]);
	close_end(&ends[1]);
	litmus_leave_worlds(&worlds);
}

/* ---- the messages ---- */

static struct nic_sge segment_of(struct end *end, uint64_t message)
{
	return (struct nic_sge){ .addr = (uintptr_t)end->memory[message % DEPTH],
				 .length = sizeof(end->memory[0]),
				 .lkey = end->mr->lkey };
}

/* A Send that the direct path refuses has changed nothing: the receiver is not ready for it. */
static void *send_all(void *arg)
{
	struct end *end = arg;

	for (uint64_t n = 0; n < (uint64_t)litmus_rounds(MESSAGES); n++) {
		struct nic_sge sge = segment_of(end, n);
		struct nic_send_wr wr = { .wr_id = n,
					  .sge = &sge,
					  .length = sge.length,
					  .opcode = NIC_OP_SEND,
					  .num_sge = 1 };
		struct nic_wc wc;

		for (int i = 0; i < WORDS; i++)
			end->memory[n % DEPTH][i] = n * WORDS + (uint64_t)i;
		while (emu_direct_send(end->qp, &wr) != 0)
			sched_yield();
		ck_assert_int_eq(emu_direct_poll(end->send_cq, &wc, 1), 1);
		ck_assert_uint_eq(wc.wr_id, n);
	}
	return NULL;
}

static void post(struct end *end, uint64_t n)
{
	struct nic_sge sge = segment_of(end, n);
	const struct nic_recv_wr wr = { .wr_id = n, .sge = &sge, .num_sge = 1 };

	/* The ring looks full until the receiver sees that the sender took a Receive. */
	while (emu_direct_recv(end->qp, &wr) != 0)
		sched_yield();
}

static void receive_all(struct end *end)
{
	uint64_t torn = 0;
	struct nic_wc wc;

	for (uint64_t n = 0; n < DEPTH; n++)
		post(end, n);
	for (uint64_t n = 0; n < (uint64_t)litmus_rounds(MESSAGES); n++) {
		while (emu_direct_poll(end->recv_cq, &wc, 1) == 0)
			sched_yield();
		ck_assert_uint_eq(wc.wr_id, n);
		ck_assert_uint_eq(wc.status, NIC_WC_SUCCESS);
		for (int i = 0; i < WORDS; i++)
			torn += end->memory[n % DEPTH][i] != n * WORDS + (uint64_t)i;
		post(end, n + DEPTH);
	}
	ck_assert_uint_eq(torn, 0);
}

START_TEST(messages_come_whole_to_one_who_takes_no_lock)
{
	pthread_t sender = litmus_start(send_all, &ends[0]);

	receive_all(&ends[1]);
	litmus_join(sender);
}
END_TEST

/*
 * Another process has taken a Receive, as an event does, and still reads it, when the owner fills
 * its queue up.
 */
START_TEST(a_Receive_that_was_taken_is_not_overwritten_by_the_next_post)
{
	struct emu_world *sender = worlds.world[0];
	struct emu_qp *qp = emu_local_qp(ends[1].qp)->entry;
	const struct emu_rwqe *taken;

	for (uint64_t n = 0; n < DEPTH; n++)
		post(&ends[1], n);
	emu_shared_take(sender);
	taken = emu_wqe(sender, &qp->rq, qp->rq.get);
	emu_recv_take(qp, &qp->rq);
	post(&ends[1], DEPTH);
	ck_assert_uint_eq(taken->wr_id, 0);
	emu_shared_release(sender);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("direct path");

	tcase_add_checked_fixture(tcase, setup, teardown_worlds);
	tcase_add_test(tcase, messages_come_whole_to_one_who_takes_no_lock);
	tcase_add_test(tcase, a_Receive_that_was_taken_is_not_overwritten_by_the_next_post);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("memory order of the direct path")
