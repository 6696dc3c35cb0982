/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA on a wire that loses, duplicates, delays and reorders packets: each request completes once,
 * in the order of posting, with the right bytes. If the wire stays silent, it completes with an
 * error that names its cause.
 */
#include "tests/support/support.h"

enum {
	ROUNDS = 3,
	KINDS = 5, /* requests in a round */
	SENDS = 40
};

static DAT_RMR_HANDLE rmr;

/* Slots: a writes slot i to slot i of b, and reads from 20 + i of b; odd rounds have a fence. */
static void post_round(int round)
{
	int n = round * KINDS, fence = round % 2 ? DAT_COMPLETION_BARRIER_FENCE_FLAG : 0;

	fill_slot(&w.a, n, n + 1);
	fill_slot(&w.b, 20 + n, n + 2);
	post_write(&w.a, w.a.ep, n, remote(&w.b, n, LONG));
	post_read(&w.a, w.a.ep, n + 1, remote(&w.b, 20 + n, LONG));
	post_read(&w.a, w.a.ep, n + 2, remote(&w.b, 20 + n, SHORT));
	must(try_write(&w.a, w.a.ep, n + 3, remote(&w.b, n + 3, SHORT), fence));
	post_send(&w.a, w.a.ep, n, LONG);
}

static void expect_round(int round)
{
	DAT_EVENT event;
	int n = round * KINDS;

	expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, n + 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, n + 2, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, n + 3, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	/* Messages arrive in order, whichever buffers they took. */
	event = expect_event(w.b.recv, DAT_DTO_COMPLETION_EVENT);
	ck_assert_int_eq((int)event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	ck_assert(slot_holds(&w.b,
			     (int)event.event_data.dto_completion_event_data.user_cookie.as_64,
			     n + 1, LONG));
	ck_assert(slot_holds(&w.b, n, n + 1, LONG));
	ck_assert(slot_holds(&w.a, n + 1, n + 2, LONG));
	ck_assert(slot_holds(&w.a, n + 2, n + 2, SHORT));
}

static void run_rounds(void)
{
	int round;

	post_recvs(&w.b, w.b.ep, SENDS, ROUNDS);
	for (round = 0; round < ROUNDS; round++)
		post_round(round);
	post_bind(rmr, &w.a, w.a.ep, 60, SHORT, DAT_MEM_PRIV_ALL_FLAG);
	run_quiet();
	for (round = 0; round < ROUNDS; round++)
		expect_round(round);
	expect_bind(w.a.request, rmr, 60, DAT_DTO_SUCCESS);
	expect_no_event(w.a.request);
	expect_no_event(w.a.connect);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}

static const DAT_SIM_VERDICT verdicts[] = { DAT_SIM_DROP, DAT_SIM_CORRUPT, DAT_SIM_DELAY,
					    DAT_SIM_REORDER, DAT_SIM_DUPLICATE };
static const DAT_UINT32 packets[] = { DAT_SIM_PACKET_WRITE, DAT_SIM_PACKET_READ_REQUEST,
				      DAT_SIM_PACKET_READ_RESPONSE, DAT_SIM_PACKET_ACK };
enum {
	NTHS = 5,
	MISHAPS = COUNT(verdicts) * COUNT(packets) * NTHS
};

/* _i: the verdict, the kind of packet, and its count among packets of this kind */
START_TEST(one_mishap_is_survived)
{
	DAT_SIM_FAULT rule = { .verdict = verdicts[(size_t)_i % COUNT(verdicts)],
			       .packets = packets[(size_t)_i / COUNT(verdicts) % COUNT(packets)],
			       .nth = (DAT_UINT64)_i / COUNT(verdicts) / COUNT(packets) + 1 };
	DAT_COUNT id;

	if (rule.verdict == DAT_SIM_DELAY)
		rule.delay_ns = 3 * LATENCY_NS;
	rdma_pair(3, 3);
	rmr = make_rmr(&w.a);
	id = fault(rule);
	run_rounds();
	/* There may be fewer acknowledgements. */
	ck_assert(fired(id) == 1 || rule.packets == DAT_SIM_PACKET_ACK);
}
END_TEST

START_TEST(many_mishaps_are_survived)
{
	DAT_SIM_CONFIG config = fabric_config(_i % 2 ? DAT_SIM_PROFILE_IWARP : DAT_SIM_PROFILE_IB);
	size_t i;

	config.seed = (DAT_UINT64)_i + 1;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	rdma_pair(1 + _i % 3, 3);
	rmr = make_rmr(&w.a);
	for (i = 0; i < COUNT(verdicts); i++)
		fault((DAT_SIM_FAULT){ .verdict = verdicts[i],
				       .packets = 0x3f,
				       .delay_ns = verdicts[i] == DAT_SIM_DELAY ? 2500 : 0,
				       .probability = 20000 });
	run_rounds();
}
END_TEST

/* ---- a silent wire ---- */

/* _i: requests, answers */
START_TEST(a_Read_into_silence_ends_with_a_transport_error)
{
	rdma_pair(3, 3);
	fault((DAT_SIM_FAULT){ .verdict = DAT_SIM_DROP,
			       .packets = _i ? DAT_SIM_PACKET_READ_RESPONSE
					     : DAT_SIM_PACKET_READ_REQUEST });
	post_read(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	post_write(&w.a, w.a.ep, 2, remote(&w.b, 2, SHORT));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_TRANSPORT);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_ERR_FLUSHED);
	expect_pair_broken();
}
END_TEST

START_TEST(a_Write_into_silence_ends_with_a_transport_error)
{
	rdma_pair(3, 3);
	fault((DAT_SIM_FAULT){ .verdict = DAT_SIM_DROP, .packets = DAT_SIM_PACKET_WRITE });
	post_write(&w.a, w.a.ep, 1, remote(&w.b, 1, LONG));
	post_read(&w.a, w.a.ep, 2, remote(&w.b, 2, SHORT));
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_TRANSPORT);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_ERR_FLUSHED);
	expect_pair_broken();
	ck_assert_int_eq(slot(&w.b, 1)[1], 0);
}
END_TEST

/* A duplicate must not count as one more outstanding Read: the responder would refuse it. */
START_TEST(doubled_requests_do_not_use_up_what_the_peer_serves)
{
	int i, k;

	rdma_pair(2, 2);
	fault((DAT_SIM_FAULT){ .verdict = DAT_SIM_DUPLICATE,
			       .packets = DAT_SIM_PACKET_READ_REQUEST });
	for (k = 0; k < 5; k++) {
		for (i = 0; i < 4; i++) {
			fill_slot(&w.b, i, k + i);
			post_read(&w.a, w.a.ep, i, remote(&w.b, i, LONG));
		}
		run_quiet();
		for (i = 0; i < 4; i++) {
			expect_dto(w.a.request, w.a.ep, i, DAT_DTO_SUCCESS);
			ck_assert(slot_holds(&w.a, i, k + i, LONG));
		}
	}
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop_all(suite, one_mishap_is_survived, MISHAPS);
	unit_add(suite, many_mishaps_are_survived, 60, NULL);
	unit_test_loop_all(suite, a_Read_into_silence_ends_with_a_transport_error, 2);
	unit_test_all(suite, a_Write_into_silence_ends_with_a_transport_error);
	unit_test_all(suite, doubled_requests_do_not_use_up_what_the_peer_serves);
}

UNIT_SUITE("rdma_lost")
