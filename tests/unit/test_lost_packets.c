/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each packet that is lost leads to: a table of packets, faults and outcomes, and what connection
 * set-up and its end do about losses (rulings Q6, E4). RETRY_NS is the retry timer of the fixtures.
 */
#include <stdlib.h>

#include "tests/support/support.h"

#define RETRY_NS UINT64_C(1000000)
#define RETRIES  7

static DAT_COUNT fault(const DAT_SIM_FAULT *rule)
{
	DAT_COUNT id = 0;

	must(dat_sim_fault_add(w.sim, rule, &id));
	return id;
}

static DAT_UINT64 fired(DAT_COUNT id)
{
	DAT_UINT64 count = UINT64_MAX;

	must(dat_sim_fault_fired(w.sim, id, &count));
	return count;
}

static void expect_broken(struct side *side)
{
	expect_connection(side->connect, side->ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_no_event(side->connect);
	expect_state(side->ep, DAT_EP_STATE_DISCONNECTED);
}

static bool iwarp(void)
{
	return ia_attr(&w.a).max_evd_qlen < 0; /* never: see fill() */
}

/* ---- one packet is lost, and nobody notices ---- */

static const struct {
	const char *what;
	DAT_SIM_FAULT fault;
	int messages, buffers;              /* buffers at first; the rest after 50 us */
	DAT_UINT64 at_least_ns, at_most_ns; /* profile ib: until all is quiet */
} losses[] = {
	{ "nothing", { .verdict = DAT_SIM_PASS }, 3, 3, 2 * LATENCY_NS, 2 * LATENCY_NS },
	{ "the first packet of the first message",
	  { .packets = DAT_SIM_PACKET_SEND, .nth = 1, .verdict = DAT_SIM_DROP },
	  3,
	  3,
	  4 * LATENCY_NS,
	  4 * LATENCY_NS }, /* asked for by a NAK */
	{ "a packet in the middle",
	  { .packets = DAT_SIM_PACKET_SEND, .nth = 6, .verdict = DAT_SIM_DROP },
	  3,
	  3,
	  4 * LATENCY_NS,
	  4 * LATENCY_NS },
	{ "the last packet of all",
	  { .packets = DAT_SIM_PACKET_SEND, .nth = 12, .verdict = DAT_SIM_DROP },
	  3,
	  3,
	  RETRY_NS,
	  RETRY_NS + 4 * LATENCY_NS }, /* nobody can miss it but the timer */
	{ "the last packet of a message, by its check sum",
	  { .part = DAT_SIM_PART_LAST,
	    .packets = DAT_SIM_PACKET_SEND,
	    .nth = 2,
	    .verdict = DAT_SIM_CORRUPT },
	  3,
	  3,
	  4 * LATENCY_NS,
	  4 * LATENCY_NS },
	{ "the acknowledgement",
	  { .packets = DAT_SIM_PACKET_ACK, .nth = 1, .verdict = DAT_SIM_DROP },
	  3,
	  3,
	  RETRY_NS,
	  RETRY_NS + 4 * LATENCY_NS },
	{ "a packet, and the NAK that asks for it",
	  { .nth = 1, .times = 1, .verdict = DAT_SIM_DROP, .packets = DAT_SIM_PACKET_SEND },
	  3,
	  3,
	  4 * LATENCY_NS,
	  4 * LATENCY_NS },
	{ "the RNR NAK",
	  { .packets = DAT_SIM_PACKET_RNR_NAK, .nth = 1, .verdict = DAT_SIM_DROP },
	  3,
	  1,
	  RETRY_NS,
	  RETRY_NS + 200 * UINT64_C(1000) },
	{ "a message sent again after an RNR NAK",
	  { .packets = DAT_SIM_PACKET_SEND, .after = 12, .nth = 1, .verdict = DAT_SIM_DROP },
	  3,
	  1,
	  RETRY_NS + UINT64_C(100000),
	  RETRY_NS + UINT64_C(110000) },
};

START_TEST(a_lost_packet_costs_time_and_nothing_else)
{
	DAT_UINT64 start;
	DAT_COUNT id;
	int n;

	srq_pair(10);
	id = fault(&losses[_i].fault);
	start = now_ns();
	post_srqs(&w.b, 20, losses[_i].buffers);
	for (n = 0; n < losses[_i].messages; n++) {
		fill_slot(&w.a, n, n + 1);
		post_send(&w.a, w.a.ep, n, LONG);
	}
	advance_us(losses[_i].buffers < losses[_i].messages ? 50 : 0);
	post_srqs(&w.b, 20 + losses[_i].buffers, losses[_i].messages - losses[_i].buffers);
	run_quiet();
	ck_assert_msg(fired(id) >= 1, "%s: never happened", losses[_i].what);
	for (n = 0; n < losses[_i].messages; n++) {
		expect_dto(w.b.recv, w.b.ep, 20 + n, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
		ck_assert_msg(slot_holds(&w.b, 20 + n, n + 1, LONG), "%s: message %d",
			      losses[_i].what, n);
	}
	expect_no_event(w.b.recv);
	expect_no_event(w.a.request);
	expect_no_event(w.a.connect);
	srq_counts(w.b.srq, 10, 0, 0);
	ck_assert_msg(now_ns() - start >= losses[_i].at_least_ns &&
			      now_ns() - start <= losses[_i].at_most_ns,
		      "%s: took %lu ns", losses[_i].what, (unsigned long)(now_ns() - start));
}
END_TEST

static void fill(Suite *suite)
{
	(void)iwarp;
	(void)expect_broken;
	unit_add(suite, a_lost_packet_costs_time_and_nothing_else, COUNT(losses), setup_sides);
}

UNIT_SUITE("lost_packets")
