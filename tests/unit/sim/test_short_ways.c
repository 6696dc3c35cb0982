/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short ways of the model (emu/quick.c) beside the general ones: what a short post leaves
 * behind, when it stands back, and how far a poll goes. tests/random/test_ways compares the ways as
 * a program sees them.
 */
#include <errno.h>
#include <string.h>

#include "emu/fabric/queue.h"
#include "emu/fabric/world.h"
#include "emu/qp.h"
#include "emu/quick.h"
#include "lib/ep/ep.h"
#include "lib/evd/evd.h"
#include "lib/memory/lmr.h"
#include "tests/support/support.h"

#define BYTES 8u

static struct obj *object(DAT_HANDLE handle)
{
	return (struct obj *)((struct handle_slot *)handle)->object;
}

static struct nic_qp *nic_qp_of(DAT_EP_HANDLE handle)
{
	return obj_as(struct ep, object(handle))->nic;
}

static struct emu_world *world(void)
{
	return emu_local_qp(nic_qp_of(w.a.ep))->world;
}

static struct emu_qp *entry(DAT_EP_HANDLE ep)
{
	return emu_local_qp(nic_qp_of(ep))->entry;
}

/* The short posts are for a fabric that is not traced. */
static void untraced_pair(void)
{
	plain_pair();
	must(dat_sim_trace(w.sim, DAT_FALSE));
}

static struct nic_sge nic_segment(struct side *side, uint32_t length)
{
	return (struct nic_sge){ (uintptr_t)slot(side, 1), length,
				 obj_as(struct lmr, object(side->lmr))->lkey };
}

static int refused(struct nic_qp *qp, void *request, uint64_t wr_id)
{
	ck_assert_ptr_eq(request, &w);
	ck_assert_uint_eq(wr_id, 7);
	ck_assert_ptr_nonnull(qp);
	return -EAGAIN;
}

typedef int short_post(struct nic_qp *qp, uint64_t addr, void *request, uint64_t wr_id,
		       uint32_t length, uint32_t lkey);

/* The front's own upcall would make the post in full. */
static int post_short(short_post *post, struct nic_qp *qp, struct nic_sge sge)
{
	const struct nic_upcalls *up = qp->nic->up;
	struct nic_upcalls calls = *up;
	int ret;

	calls.send_refused = calls.recv_refused = refused;
	qp->nic->up = &calls;
	qp->nic->idle = 1;
	ret = post(qp, sge.addr, &w, 7, sge.length, sge.lkey);
	qp->nic->up = up;
	ck_assert_uint_eq(qp->nic->idle, ret == 0 ? 0 : 1);
	return ret;
}

static int send_short(uint32_t length)
{
	return post_short(emu_ops.send_one, nic_qp_of(w.a.ep), nic_segment(&w.a, length));
}

static int recv_short(void)
{
	return post_short(emu_ops.recv_one, nic_qp_of(w.b.ep), nic_segment(&w.b, BYTES));
}

/* The same requests in general. */
static int send_in_general(void)
{
	struct nic_sge sge = nic_segment(&w.a, BYTES);
	struct nic_send_wr wr = { .wr_id = 7, .sge = &sge, .num_sge = 1, .length = BYTES };

	return emu_ops.post_send(nic_qp_of(w.a.ep), &wr);
}

static int recv_in_general(void)
{
	struct nic_sge sge = nic_segment(&w.b, BYTES);
	struct nic_recv_wr wr = { .wr_id = 7, .sge = &sge, .num_sge = 1 };

	return emu_ops.post_recv(nic_qp_of(w.b.ep), &wr);
}

/* ---- what a post leaves ---- */

/* Fill the next two entries of a ring with what earlier requests might have left. */
static void spoil(struct emu_wq *wq)
{
	ck_assert_uint_gt(wq->max, 1);
	for (uint32_t i = 0; i < 2; i++)
		memset(emu_wqe(world(), wq, wq->put + i), 0xee, wq->words * EMU_WORD);
}

static void expect_same_segment(const struct nic_sge *a, const struct nic_sge *b)
{
	ck_assert_uint_eq(a->addr, b->addr);
	ck_assert_uint_eq(a->length, b->length);
	ck_assert_uint_eq(a->lkey, b->lkey);
}

START_TEST(a_short_send_leaves_the_request_and_the_event_of_the_general_one)
{
	const struct emu_event *end;
	const struct emu_swqe *a, *b;
	struct emu_wq *sq;
	struct emu_qp *qp;
	uint32_t put;

	untraced_pair();
	qp = entry(w.a.ep);
	qp->peer_epoch += 5; /* another number than its own */
	sq = &qp->sq;
	put = sq->put;
	spoil(sq);
	ck_assert_int_eq(send_in_general(), 0);
	ck_assert_int_eq(send_short(BYTES), 0);
	ck_assert_uint_eq(sq->put, put + 2);
	ck_assert_uint_eq(qp->sq_next, put + 2);
	a = emu_wqe(world(), sq, put);
	b = emu_wqe(world(), sq, put + 1);
	ck_assert_uint_eq(a->wr_id, b->wr_id);
	ck_assert_uint_eq(a->mem_epoch, b->mem_epoch);
	ck_assert_uint_eq(a->length, b->length);
	ck_assert_uint_eq(a->message + 1, b->message);
	ck_assert_uint_eq(a->opcode, b->opcode);
	ck_assert_uint_eq(a->flags, b->flags);
	ck_assert_uint_eq(a->num_sge, b->num_sge);
	expect_same_segment(a->sge, b->sge);
	end = world()->fifo.end;
	ck_assert_uint_eq(end[-2].time, end[-1].time);
	ck_assert_uint_eq(emu_event_kind(&end[-2]), emu_event_kind(&end[-1]));
	ck_assert_uint_eq(end[-2].qp, end[-1].qp);
	ck_assert_uint_eq(end[-2].epoch, end[-1].epoch);
	ck_assert_uint_eq(end[-2].index + 1, end[-1].index);
	ck_assert_uint_eq(end[-2].packet, end[-1].packet);
	qp->peer_epoch -= 5;
}
END_TEST

START_TEST(a_short_receive_leaves_what_the_general_one_leaves)
{
	const struct emu_rwqe *a, *b;
	struct emu_wq *rq;
	uint32_t put;

	untraced_pair();
	rq = &entry(w.b.ep)->rq;
	put = rq->put;
	spoil(rq);
	ck_assert_int_eq(recv_in_general(), 0);
	ck_assert_int_eq(recv_short(), 0);
	ck_assert_uint_eq(rq->put, put + 2);
	a = emu_wqe(world(), rq, put);
	b = emu_wqe(world(), rq, put + 1);
	ck_assert_uint_eq(a->wr_id, b->wr_id);
	ck_assert_uint_eq(a->mem_epoch, b->mem_epoch);
	ck_assert_uint_eq(a->flags, b->flags);
	ck_assert_uint_eq(a->num_sge, b->num_sge);
	expect_same_segment(a->sge, b->sge);
}
END_TEST

/* ---- when a post stands back ---- */

static void expect_no_send(uint32_t length)
{
	const struct emu_qp *qp = entry(w.a.ep);
	const struct emu_link *link = &world()->fab->link[qp->link];
	uint32_t put = qp->sq.put, next = qp->sq_next, events = emu_queue_length(world());
	uint64_t busy = link->busy_until;

	ck_assert_int_eq(send_short(length), -EAGAIN);
	ck_assert_uint_eq(qp->sq.put, put);
	ck_assert_uint_eq(qp->sq_next, next);
	ck_assert_uint_eq(emu_queue_length(world()), events);
	ck_assert_uint_eq(link->busy_until, busy);
}

START_TEST(a_short_send_stands_back_from_a_message_of_two_packets)
{
	untraced_pair();
	expect_no_send(MTU + 1);
	ck_assert_int_eq(send_short(MTU), 0);
}
END_TEST

/* The reserve is for acknowledgements. The wheel may hold as many as it can. */
START_TEST(a_short_send_stands_back_while_the_heap_is_full)
{
	const uint32_t full = EMU_EVENTS - EMU_EVENTS_RESERVE - EMU_WHEEL_EVENTS;

	untraced_pair();
	run_quiet();
	world()->fab->events = full;
	expect_no_send(BYTES);
	world()->fab->events = full - 1;
	ck_assert_int_eq(send_short(BYTES), 0);
	world()->fab->events = 0;
}
END_TEST

START_TEST(a_short_send_stands_back_behind_one_that_waits)
{
	untraced_pair();
	ck_assert_int_eq(send_short(BYTES), 0);
	must(dat_sim_step(w.sim));
	must(dat_sim_step(w.sim)); /* the RNR NAK */
	ck_assert(entry(w.a.ep)->rnr_wait);
	expect_no_send(BYTES);
}
END_TEST

START_TEST(a_short_send_stands_back_when_the_queue_is_full)
{
	untraced_pair();
	while (emu_wq_count(&entry(w.a.ep)->sq) < entry(w.a.ep)->sq.max)
		ck_assert_int_eq(send_short(BYTES), 0);
	expect_no_send(BYTES);
}
END_TEST

START_TEST(a_short_receive_stands_back_when_the_queue_is_full)
{
	struct emu_wq *rq;

	untraced_pair();
	rq = &entry(w.b.ep)->rq;
	while (emu_wq_count(rq) < rq->max)
		ck_assert_int_eq(recv_short(), 0);
	ck_assert_int_eq(recv_short(), -EAGAIN);
	ck_assert_uint_eq(emu_wq_count(rq), rq->max);
}
END_TEST

/* ---- packets that are not the one expected ---- */

static void expect_completions(uint32_t requests, uint32_t receives)
{
	ck_assert_int_eq(drain(w.a.request), (int)requests);
	ck_assert_int_eq(drain(w.b.recv), (int)receives);
}

/* A packet that arrives now, before all others. */
static void packet(enum emu_event_kind kind, DAT_EP_HANDLE to, uint32_t epoch, uint32_t index)
{
	emu_schedule(world(), now_ns(), kind, emu_qp_index(world(), entry(to)), epoch, index, 0);
	must(dat_sim_step(w.sim));
}

/* One Send has completed, and another is in flight. */
static void send_two(void)
{
	untraced_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	ck_assert_int_eq(send_short(BYTES), 0);
	run_quiet();
	expect_completions(1, 1);
	ck_assert_int_eq(send_short(BYTES), 0);
}

START_TEST(data_of_an_earlier_connection_is_dropped)
{
	const struct emu_qp *qp;

	send_two();
	qp = entry(w.b.ep);
	packet(EMU_EV_DATA, w.b.ep, qp->epoch - 1, qp->rx_next);
	expect_completions(0, 0);
	run_quiet();
	expect_completions(1, 1);
}
END_TEST

START_TEST(data_that_overtook_takes_no_receive_before_its_turn)
{
	struct emu_qp *qp;

	send_two();
	ck_assert_int_eq(send_short(BYTES), 0);
	qp = entry(w.b.ep);
	packet(EMU_EV_DATA, w.b.ep, qp->epoch, qp->rx_next + 1);
	expect_completions(0, 0);
	run_quiet();
	expect_completions(2, 2);
}
END_TEST

START_TEST(data_of_a_sender_that_has_ended_is_dropped)
{
	send_two();
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_ERR_FLUSHED);
}
END_TEST

START_TEST(an_ACK_of_an_earlier_connection_is_dropped)
{
	const struct emu_qp *qp;

	send_two();
	qp = entry(w.a.ep);
	packet(EMU_EV_ACK, w.a.ep, qp->epoch - 1, qp->sq.get);
	expect_completions(0, 0);
	run_quiet();
	expect_completions(1, 1);
}
END_TEST

START_TEST(an_ACK_completes_all_requests_up_to_its_own)
{
	const struct emu_qp *qp;

	send_two();
	ck_assert_int_eq(send_short(BYTES), 0);
	qp = entry(w.a.ep);
	packet(EMU_EV_ACK, w.a.ep, qp->epoch, qp->sq.get + 1);
	expect_completions(2, 0);
	ck_assert_uint_eq(emu_wq_count(&qp->sq), 0);
}
END_TEST

START_TEST(a_second_ACK_of_a_request_is_dropped)
{
	const struct emu_qp *qp;

	send_two();
	run_quiet();
	expect_completions(1, 1);
	qp = entry(w.a.ep);
	packet(EMU_EV_ACK, w.a.ep, qp->epoch, qp->sq.get - 1);
	packet(EMU_EV_ACK, w.a.ep, qp->epoch, qp->sq.get);
	expect_completions(0, 0);
	ck_assert_uint_eq(emu_wq_count(&qp->sq), 0);
}
END_TEST

START_TEST(RNR_retries_are_counted_for_each_message_anew)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);

	config.rnr_retry = 1;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	untraced_pair();
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(send_short(BYTES), 0);
		while (!entry(w.a.ep)->rnr_wait)
			must(dat_sim_step(w.sim));
		post_recv(&w.b, w.b.ep, i);
		run_quiet();
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
		ck_assert_int_eq(drain(w.a.request), 1);
	}
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
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

/* Both polls of the model */
static bool poll_in_way(int way, struct nic_cq *cq, struct nic_wc *wc)
{
	return way ? cq->nic->ops->spin_one(cq, wc) : cq->nic->ops->cq_spin(cq, wc);
}

START_TEST(a_poll_that_follows_the_clock_runs_what_is_due_by_it)
{
	static const struct nic_upcalls clock = { .monotonic_ns = read_clock,
						  .completed = tell_wr_id,
						  .no_completion = tell_nothing };
	struct nic *nic;
	const struct nic_upcalls *up;
	struct nic_cq *cq;
	struct nic_wc wc;

	send_two();
	cq = obj_as(struct evd, object(w.b.recv))->cq;
	nic = cq->nic;
	up = nic->up;
	nic->up = &clock;
	nic->threaded = true;
	ck_assert(!poll_in_way(_i, cq, &wc));
	clock_ns += LATENCY_NS - 1;
	ck_assert(!poll_in_way(_i, cq, &wc));
	clock_ns++;
	ck_assert(poll_in_way(_i, cq, &wc));
	ck_assert_uint_eq(wc.wr_id, 1);
	nic->up = up;
	nic->threaded = false;
	world()->following = false;
}
END_TEST

/* An event that is late, because time has followed the clock past it. */
START_TEST(a_late_event_does_not_take_time_back)
{
	uint64_t now;

	send_two();
	now = world()->fab->now += 10 * LATENCY_NS;
	world()->following = true;
	emu_run_event(world(), emu_queue_first(world()));
	ck_assert_uint_eq(world()->fab->now, now);
	world()->following = false;
	expect_completions(0, 1);
}
END_TEST

/* ---- the NIC is the last call of the front ---- */

/* Each post goes to the NIC, comes back and is made in full, once. */
START_TEST(a_post_that_the_NIC_does_not_take_is_made_in_full_once)
{
	const struct ep *ep;

	untraced_pair();
	ep = obj_as(struct ep, object(w.b.ep));
	post_recv(&w.b, w.b.ep, 0); /* the first one opens the range */
	entry(w.b.ep)->rq_fast = entry(w.a.ep)->tx_fast = false;
	for (int i = 1; i < 4; i++) {
		post_recv(&w.b, w.b.ep, i);
		ck_assert_int_eq(ep->recv_outstanding, i + 1);
		ck_assert_uint_eq(emu_wq_count(&entry(w.b.ep)->rq), i + 1);
	}
	for (int i = 0; i < 2; i++)
		post_send(&w.a, w.a.ep, i + 10, BYTES);
	run_quiet();
	for (int i = 0; i < 2; i++) {
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, i + 10, DAT_DTO_SUCCESS);
	}
	ck_assert_int_eq(ep->recv_outstanding, 2);
}
END_TEST

static struct nic_wc heard;

static int hear_completion(void *out, void *cq_ctx, struct nic_qp *qp, uint64_t wr_id,
			   uint32_t length, uint32_t what)
{
	ck_assert_ptr_eq(out, &heard);
	ck_assert_ptr_eq(cq_ctx, object(w.b.recv));
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
	cq = obj_as(struct evd, object(w.b.recv))->cq;
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

static void fill(Suite *suite)
{
	unit_test(suite, a_post_that_the_NIC_does_not_take_is_made_in_full_once);
	unit_test(suite, a_poll_gives_each_completion_to_the_front);
	unit_test(suite, a_short_send_leaves_the_request_and_the_event_of_the_general_one);
	unit_test(suite, a_short_receive_leaves_what_the_general_one_leaves);
	unit_test(suite, a_short_send_stands_back_from_a_message_of_two_packets);
	unit_test(suite, a_short_send_stands_back_while_the_heap_is_full);
	unit_test(suite, a_short_send_stands_back_behind_one_that_waits);
	unit_test(suite, a_short_send_stands_back_when_the_queue_is_full);
	unit_test(suite, a_short_receive_stands_back_when_the_queue_is_full);
	unit_test(suite, data_of_an_earlier_connection_is_dropped);
	unit_test(suite, data_that_overtook_takes_no_receive_before_its_turn);
	unit_test(suite, data_of_a_sender_that_has_ended_is_dropped);
	unit_test(suite, an_ACK_of_an_earlier_connection_is_dropped);
	unit_test(suite, an_ACK_completes_all_requests_up_to_its_own);
	unit_test(suite, a_second_ACK_of_a_request_is_dropped);
	unit_add(suite, RNR_retries_are_counted_for_each_message_anew, 1, NULL);
	unit_test_loop(suite, a_poll_that_follows_the_clock_runs_what_is_due_by_it, 2);
	unit_test(suite, a_late_event_does_not_take_time_back);
	unit_add(suite, a_poll_goes_as_far_as_its_quantum, 1, NULL);
	unit_add(suite, a_poll_runs_what_is_due_at_its_end, 1, NULL);
	unit_add(suite, a_poll_ends_at_the_time_of_the_completion, 1, NULL);
}

UNIT_SUITE("short ways")
