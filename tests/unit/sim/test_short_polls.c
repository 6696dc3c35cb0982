/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The polls of the model (emu/quick.c, emu/quick_trace.c): what the front gets of a completion, how
 * far a poll goes in virtual time, and what it does while time follows the clock. Then a thread may
 * sleep by the clock, and the steps of a connection wake it. test_handed_over has completions that
 * are never queued.
 */
#include "emu/fabric/queue.h"
#include "emu/quick.h"
#include "tests/support/model.h"

#define BYTES 8u

/* One Send has completed, and another is in flight. Untraced, so that dequeues use emu_spin_one. */
static void send_two(void)
{
	plain_pair();
	must(dat_sim_trace(w.sim, DAT_FALSE));
	post_recvs(&w.b, w.b.ep, 0, 3);
	post_send(&w.a, w.a.ep, 7, BYTES);
	run_quiet();
	ck_assert_int_eq(drain(w.a.request), 1);
	ck_assert_int_eq(drain(w.b.recv), 1);
	post_send(&w.a, w.a.ep, 7, BYTES);
}

/* ---- the front ---- */

static struct nic_wc heard;

static int hear_completion(void *out, void *cq_ctx, struct nic_qp *qp, uint64_t wr_id,
			   uint32_t length, uint32_t what)
{
	ck_assert_ptr_eq(out, &heard);
	ck_assert_ptr_eq(cq_ctx, object_of(w.b.recv));
	heard = (struct nic_wc){ .wr_id = wr_id,
				 .qp = qp,
				 .length = length,
				 .opcode = nic_what_opcode(what),
				 .status = nic_what_status(what) };
	return 41;
}

static int hear_nothing(void *out)
{
	ck_assert_ptr_eq(out, &heard);
	return 42;
}

/* One that succeeded, and after the end of the connection one that did not. */
START_TEST(a_poll_gives_each_completion_to_the_front)
{
	static const struct nic_upcalls calls = { .completed = hear_completion,
						  .no_completion = hear_nothing };
	const struct nic_upcalls *up;
	struct nic_cq *cq;

	send_two();
	run_quiet();
	cq = nic_cq_of(w.b.recv);
	up = cq->nic->up;
	cq->nic->up = &calls;
	ck_assert_int_eq(emu_ops.spin_one(cq, &heard), 41);
	ck_assert_uint_eq(heard.wr_id, 1);
	ck_assert_ptr_eq(heard.qp, nic_qp_of(w.b.ep));
	ck_assert_uint_eq(heard.length, BYTES);
	ck_assert_uint_eq(heard.opcode, NIC_OP_RECV);
	ck_assert_uint_eq(heard.status, NIC_WC_SUCCESS);
	ck_assert_int_eq(emu_ops.spin_one(cq, &heard), 42);
	cq->nic->up = up;
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	cq->nic->up = &calls;
	ck_assert_int_eq(emu_ops.spin_one(cq, &heard), 41);
	ck_assert_uint_eq(heard.wr_id, 2);
	ck_assert_uint_eq(heard.status, NIC_WC_FLUSHED);
	cq->nic->up = up;
}
END_TEST

/* ---- how far a poll goes ---- */

static void polling_pair(DAT_UINT64 quantum_ns)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);

	config.poll_quantum_ns = quantum_ns;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 2);
}

static void expect_nothing_until(DAT_UINT64 time)
{
	DAT_EVENT event;

	ck_assert_uint_eq(dat_evd_dequeue(w.b.recv, &event), DAT_QUEUE_EMPTY); /* bare */
	ck_assert_uint_eq(now_ns(), time);
}

static void expect_receive_at(int n, DAT_UINT64 time)
{
	DAT_EVENT event;

	must(dat_evd_dequeue(w.b.recv, &event));
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, n);
	ck_assert_uint_eq(now_ns(), time);
}

START_TEST(a_poll_goes_as_far_as_its_quantum)
{
	DAT_UINT64 begin;

	polling_pair(LATENCY_NS - 1);
	begin = now_ns();
	post_send(&w.a, w.a.ep, 0, BYTES);
	expect_nothing_until(begin + LATENCY_NS - 1);
	expect_receive_at(0, begin + LATENCY_NS);
}
END_TEST

START_TEST(a_poll_runs_what_is_due_at_its_end)
{
	DAT_UINT64 begin;

	polling_pair(LATENCY_NS);
	begin = now_ns();
	post_send(&w.a, w.a.ep, 0, BYTES);
	expect_receive_at(0, begin + LATENCY_NS);
}
END_TEST

START_TEST(a_poll_ends_at_the_time_of_the_completion)
{
	DAT_UINT64 begin;

	polling_pair(100 * LATENCY_NS);
	begin = now_ns();
	post_send(&w.a, w.a.ep, 0, BYTES);
	advance_us(LATENCY_NS / 2 / 1000 + 1);
	begin = now_ns();
	post_send(&w.a, w.a.ep, 1, BYTES);
	expect_receive_at(0, begin);
	expect_receive_at(1, begin + LATENCY_NS);
}
END_TEST

/* ---- while time follows the clock ---- */

static uint64_t clock_ns;

static uint64_t read_clock(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

static int tell_wr_id(void *out, void *cq_ctx, struct nic_qp *qp, uint64_t wr_id, uint32_t length,
		      uint32_t what)
{
	ck_assert_ptr_nonnull(cq_ctx);
	ck_assert_ptr_eq(qp, nic_qp_of(w.b.ep));
	ck_assert_uint_eq(length, BYTES);
	ck_assert_uint_eq(nic_what_status(what), NIC_WC_SUCCESS);
	((struct nic_wc *)out)->wr_id = wr_id;
	return true;
}

static int tell_nothing(void *out)
{
	ck_assert_ptr_nonnull(out);
	return false;
}

/* The polls of the model */
enum {
	WAYS = 3
};

static bool poll_in_way(int way, struct nic_cq *cq, struct nic_wc *wc)
{
	if (way == 2)
		return cq->nic->ops->spin_one_traced(cq, wc);
	return way ? cq->nic->ops->spin_one(cq, wc) : cq->nic->ops->cq_spin(cq, wc);
}

START_TEST(a_poll_that_follows_the_clock_runs_what_is_due_by_it)
{
	static const struct nic_upcalls clock = { .monotonic_ns = read_clock,
						  .completed = tell_wr_id,
						  .completed_traced = tell_wr_id,
						  .no_completion = tell_nothing };
	struct nic *nic;
	const struct nic_upcalls *up;
	struct nic_cq *cq;
	struct nic_wc wc;

	send_two();
	if (_i == 2)
		must(dat_sim_trace(w.sim, DAT_TRUE));
	cq = nic_cq_of(w.b.recv);
	nic = cq->nic;
	up = nic->up;
	nic->up = &clock;
	nic->threaded = true;
	nic->poll_quantum_ns = 2 * LATENCY_NS; /* until time follows the clock */
	ck_assert(!poll_in_way(_i, cq, &wc));
	clock_ns += LATENCY_NS - 1;
	ck_assert(!poll_in_way(_i, cq, &wc));
	clock_ns++;
	ck_assert(poll_in_way(_i, cq, &wc));
	ck_assert_uint_eq(wc.wr_id, 1);
	nic->up = up;
	nic->threaded = false;
	model_world()->following = false;
}
END_TEST

/* An event that is late, because time has followed the clock past it. */
START_TEST(a_late_event_does_not_take_time_back)
{
	uint64_t now;

	send_two();
	now = model_world()->fab->now += 10 * LATENCY_NS;
	model_world()->following = true;
	emu_run_event(model_world(), emu_queue_first(model_world()));
	ck_assert_uint_eq(model_world()->fab->now, now);
	model_world()->following = false;
	ck_assert_int_eq(drain(w.a.request), 0);
	ck_assert_int_eq(drain(w.b.recv), 1);
}
END_TEST

/* The poll of either adapter ends the quanta of both. */
START_TEST(no_adapter_has_a_poll_quantum_while_time_follows_the_clock)
{
	static const struct nic_upcalls clock = { .monotonic_ns = read_clock };
	struct nic *nics[2];
	const struct nic_upcalls *up;
	struct nic_wc wc;

	polling_pair(LATENCY_NS);
	nics[0] = nic_qp_of(w.a.ep)->nic;
	nics[1] = nic_qp_of(w.b.ep)->nic;
	up = nics[_i]->up;
	nics[_i]->up = &clock;
	nics[_i]->threaded = true;
	ck_assert(!emu_ops.cq_spin(nic_cq_of(_i ? w.b.recv : w.a.recv), &wc));
	ck_assert(model_world()->following);
	for (int i = 0; i < 2; i++)
		ck_assert_uint_eq(nics[i]->poll_quantum_ns, 0);
	nics[_i]->up = up;
	nics[_i]->threaded = false;
	model_world()->following = false;
}
END_TEST

static unsigned int woken;

static void count_wakes(void *nic_ctx)
{
	ck_assert_ptr_nonnull(nic_ctx);
	woken++;
}

enum {
	END,
	END_OF_A_REQUEST,
	CONNECT,
	ACCEPT,
	REJECT,
	ACTIONS
};

static DAT_CR_HANDLE prepare(int action)
{
	if (action == END) {
		plain_pair();
		return DAT_HANDLE_NULL;
	}
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	if (action == ACCEPT || action == REJECT)
		return request(w.a.ep, &w.b, QUAL);
	listen_at(&w.b, QUAL);
	if (action == END_OF_A_REQUEST)
		must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	return DAT_HANDLE_NULL;
}

static void act(int action, DAT_CR_HANDLE cr)
{
	if (action == CONNECT)
		must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	else if (action == ACCEPT)
		must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	else if (action == REJECT)
		must(dat_cr_reject(cr));
	else
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
}

/* The thread sleeps until the time of the next event, and the step adds an event. */
START_TEST(each_step_of_a_connection_wakes_a_thread_that_sleeps_by_the_clock)
{
	DAT_CR_HANDLE cr = prepare(_i);
	struct nic *nic = nic_qp_of(_i == ACCEPT || _i == REJECT ? w.b.ep : w.a.ep)->nic;
	const struct nic_upcalls *up = nic->up;
	struct nic_upcalls calls = *up;

	calls.wake = count_wakes;
	nic->up = &calls;
	woken = 0;
	model_world()->following = true;
	act(_i, cr);
	ck_assert_uint_gt(woken, 0);
	model_world()->following = false;
	nic->up = up;
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, a_poll_gives_each_completion_to_the_front);
	unit_test_loop(suite, a_poll_that_follows_the_clock_runs_what_is_due_by_it, WAYS);
	unit_test(suite, a_late_event_does_not_take_time_back);
	unit_test_loop(suite, each_step_of_a_connection_wakes_a_thread_that_sleeps_by_the_clock,
		       ACTIONS);
	unit_add(suite, a_poll_goes_as_far_as_its_quantum, 1, NULL);
	unit_add(suite, a_poll_runs_what_is_due_at_its_end, 1, NULL);
	unit_add(suite, a_poll_ends_at_the_time_of_the_completion, 1, NULL);
	unit_add(suite, no_adapter_has_a_poll_quantum_while_time_follows_the_clock, 2, NULL);
}

UNIT_SUITE("short polls")
