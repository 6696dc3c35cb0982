/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short ways of the model (emu/quick_post.c, emu/quick.c) beside the general ones: what a short
 * post leaves behind, when it stands back, and what becomes of packets that are not expected.
 * test_short_polls has the polls; tests/random/test_ways compares the ways as a program sees them.
 */
#include <errno.h>
#include <string.h>

#include "emu/fabric/queue.h"
#include "emu/qp.h"
#include "emu/quick.h"
#include "tests/support/model.h"

#define BYTES 8u

/* The short posts are for a fabric that is not traced. */
static void untraced_pair(void)
{
	plain_pair();
	must(dat_sim_trace(w.sim, DAT_FALSE));
}

static int refused(struct nic_qp *qp, void *request, uint64_t wr_id)
{
	ck_assert_ptr_eq(request, &w);
	ck_assert_uint_eq(wr_id, 7);
	ck_assert_ptr_nonnull(qp);
	return -EAGAIN;
}

static int noted;

static int note_receive(struct nic_qp *qp, void *request, uint64_t wr_id)
{
	ck_assert_ptr_eq(qp, nic_qp_of(w.b.ep));
	ck_assert_ptr_eq(request, &w);
	ck_assert_uint_eq(wr_id, 7);
	noted++;
	return 0;
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
	calls.recv_posted = note_receive;
	qp->nic->up = &calls;
	qp->nic->idle = 1;
	ret = post(qp, sge.addr, &w, 7, sge.length, sge.lkey);
	qp->nic->up = up;
	ck_assert_uint_eq(qp->nic->idle, ret == 0 ? 0 : 1);
	return ret;
}

static int send_short(uint32_t length)
{
	return post_short(emu_ops.send_one, nic_qp_of(w.a.ep), nic_segment(&w.a, 1, length));
}

static int recv_short(void)
{
	return post_short(emu_ops.recv_one, nic_qp_of(w.b.ep), nic_segment(&w.b, 1, BYTES));
}

/* The same requests in general. */
static int send_in_general(void)
{
	struct nic_sge sge = nic_segment(&w.a, 1, BYTES);
	struct nic_send_wr wr = { .wr_id = 7, .sge = &sge, .num_sge = 1, .length = BYTES };

	return emu_ops.post_send(nic_qp_of(w.a.ep), &wr);
}

static int recv_in_general(void)
{
	struct nic_sge sge = nic_segment(&w.b, 1, BYTES);
	struct nic_recv_wr wr = { .wr_id = 7, .sge = &sge, .num_sge = 1 };

	return emu_ops.post_recv(nic_qp_of(w.b.ep), &wr);
}

/* ---- what a post leaves ---- */

/* Fill the next two entries of a ring with what earlier requests might have left. */
static void spoil(struct emu_wq *wq)
{
	ck_assert_uint_gt(wq->max, 1);
	for (uint32_t i = 0; i < 2; i++)
		memset(emu_wqe(model_world(), wq, wq->put + i), 0xee, wq->words * EMU_WORD);
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
	qp = qp_entry_of(w.a.ep);
	qp->peer_epoch += 5; /* another number than its own */
	sq = &qp->sq;
	put = sq->put;
	spoil(sq);
	ck_assert_int_eq(send_in_general(), 0);
	ck_assert_int_eq(send_short(BYTES), 0);
	ck_assert_uint_eq(sq->put, put + 2);
	ck_assert_uint_eq(qp->sq_next, put + 2);
	a = emu_wqe(model_world(), sq, put);
	b = emu_wqe(model_world(), sq, put + 1);
	ck_assert_uint_eq(a->wr_id, b->wr_id);
	ck_assert_uint_eq(a->mem_epoch, b->mem_epoch);
	ck_assert_uint_eq(a->length, b->length);
	ck_assert_uint_eq(a->message + 1, b->message);
	ck_assert_uint_eq(a->opcode, b->opcode);
	ck_assert_uint_eq(a->flags, b->flags);
	ck_assert_uint_eq(a->num_sge, b->num_sge);
	expect_same_segment(a->sge, b->sge);
	end = model_world()->fifo.end;
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
	rq = &qp_entry_of(w.b.ep)->rq;
	put = rq->put;
	spoil(rq);
	ck_assert_int_eq(recv_in_general(), 0);
	ck_assert_int_eq(recv_short(), 0);
	ck_assert_uint_eq(rq->put, put + 2);
	a = emu_wqe(model_world(), rq, put);
	b = emu_wqe(model_world(), rq, put + 1);
	ck_assert_uint_eq(a->wr_id, b->wr_id);
	ck_assert_uint_eq(a->mem_epoch, b->mem_epoch);
	ck_assert_uint_eq(a->flags, b->flags);
	ck_assert_uint_eq(a->num_sge, b->num_sge);
	expect_same_segment(a->sge, b->sge);
}
END_TEST

/* The NIC writes the line of a Send, and asks the front for that of a Receive. */
START_TEST(a_short_post_that_is_traced_has_its_line)
{
	const char *text, *line;
	size_t length;

	untraced_pair();
	noted = 0;
	ck_assert_int_eq(recv_short(), 0);
	ck_assert_int_eq(send_short(BYTES), 0);
	ck_assert_int_eq(noted, 0);
	must(dat_sim_trace(w.sim, DAT_TRUE));
	ck_assert_int_eq(send_in_general(), 0);
	ck_assert_int_eq(send_short(BYTES + 1), 0);
	ck_assert_int_eq(recv_in_general(), 0);
	ck_assert_int_eq(noted, 0);
	ck_assert_int_eq(recv_short(), 0);
	ck_assert_int_eq(noted, 1);
	must(dat_sim_trace_read(w.sim, &text, &length));
	line = strstr(text, " post_send ");
	ck_assert_ptr_nonnull(line);
	ck_assert_ptr_nonnull(strstr(line, "emu0.ep1 post_send bytes=9 segments=1 message=3\n"));
	ck_assert_ptr_null(strstr(strchr(strchr(line, '\n') + 1, '\n'), " post_send "));
	ck_assert_ptr_null(strstr(text, " post_recv "));
}
END_TEST

/* ---- when a post stands back ---- */

static void expect_no_send(uint32_t length)
{
	const struct emu_qp *qp = qp_entry_of(w.a.ep);
	const struct emu_link *link = &model_world()->fab->link[qp->link];
	uint32_t put = qp->sq.put, next = qp->sq_next, events = emu_queue_length(model_world());
	uint64_t busy = link->busy_until;

	ck_assert_int_eq(send_short(length), -EAGAIN);
	ck_assert_uint_eq(qp->sq.put, put);
	ck_assert_uint_eq(qp->sq_next, next);
	ck_assert_uint_eq(emu_queue_length(model_world()), events);
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
	model_world()->fab->events = full;
	expect_no_send(BYTES);
	model_world()->fab->events = full - 1;
	ck_assert_int_eq(send_short(BYTES), 0);
	model_world()->fab->events = 0;
}
END_TEST

START_TEST(a_short_send_stands_back_behind_one_that_waits)
{
	untraced_pair();
	ck_assert_int_eq(send_short(BYTES), 0);
	must(dat_sim_step(w.sim));
	must(dat_sim_step(w.sim)); /* the RNR NAK */
	ck_assert(qp_entry_of(w.a.ep)->rnr_wait);
	expect_no_send(BYTES);
}
END_TEST

START_TEST(a_short_send_stands_back_when_the_queue_is_full)
{
	untraced_pair();
	while (emu_wq_count(&qp_entry_of(w.a.ep)->sq) < qp_entry_of(w.a.ep)->sq.max)
		ck_assert_int_eq(send_short(BYTES), 0);
	expect_no_send(BYTES);
}
END_TEST

START_TEST(a_short_receive_stands_back_when_the_queue_is_full)
{
	struct emu_wq *rq;

	untraced_pair();
	rq = &qp_entry_of(w.b.ep)->rq;
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
	emu_schedule(model_world(), now_ns(), kind, emu_qp_index(model_world(), qp_entry_of(to)),
		     epoch, index, 0);
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
	qp = qp_entry_of(w.b.ep);
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
	qp = qp_entry_of(w.b.ep);
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
	qp = qp_entry_of(w.a.ep);
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
	qp = qp_entry_of(w.a.ep);
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
	qp = qp_entry_of(w.a.ep);
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
		while (!qp_entry_of(w.a.ep)->rnr_wait)
			must(dat_sim_step(w.sim));
		post_recv(&w.b, w.b.ep, i);
		run_quiet();
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
		ck_assert_int_eq(drain(w.a.request), 1);
	}
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

/* ---- the NIC is the last call of the front ---- */

/* Each post goes to the NIC, comes back and is made in full, once. */
START_TEST(a_post_that_the_NIC_does_not_take_is_made_in_full_once)
{
	const struct ep *ep;

	untraced_pair();
	ep = obj_as(struct ep, object_of(w.b.ep));
	post_recv(&w.b, w.b.ep, 0); /* the first one opens the range */
	qp_entry_of(w.b.ep)->rq_fast = qp_entry_of(w.a.ep)->tx_fast = false;
	for (int i = 1; i < 4; i++) {
		post_recv(&w.b, w.b.ep, i);
		ck_assert_int_eq(ep->recv_outstanding, i + 1);
		ck_assert_uint_eq(emu_wq_count(&qp_entry_of(w.b.ep)->rq), i + 1);
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

static void fill(Suite *suite)
{
	unit_test(suite, a_post_that_the_NIC_does_not_take_is_made_in_full_once);
	unit_test(suite, a_short_send_leaves_the_request_and_the_event_of_the_general_one);
	unit_test(suite, a_short_receive_leaves_what_the_general_one_leaves);
	unit_test(suite, a_short_post_that_is_traced_has_its_line);
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
}

UNIT_SUITE("short ways")
