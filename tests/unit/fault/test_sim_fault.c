/* SPDX-License-Identifier: BSD-3-Clause */
/* Fault rules of <dat/sim.h>: which packets they match, in which order, and which are refused. */
#include "tests/support/support.h"

#define SEND (DAT_SIM_PACKET_SEND)

static DAT_COUNT count(DAT_SIM_FAULT rule)
{
	rule.verdict = DAT_SIM_PASS;
	return fault(rule);
}

/* Two messages, one of four packets and one of one packet */
static void two_messages(void)
{
	post_recvs(&w.b, w.b.ep, 20, 2);
	post_send(&w.a, w.a.ep, 0, LONG);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	ck_assert_int_eq(drain(w.b.recv), 2);
	ck_assert_int_eq(drain(w.a.request), 2);
}

START_TEST(fault_each_match_by_itself)
{
	static const struct {
		DAT_SIM_FAULT rule;
		DAT_UINT64 fits;
	} cases[] = {
		{ { .packets = SEND }, 5 },
		{ { .from = "emu0", .packets = SEND }, 5 },
		{ { .from = "emu1", .packets = SEND }, 0 },
		{ { .to = "emu1", .packets = SEND }, 5 },
		{ { .to = "emu0", .packets = SEND }, 0 },
		{ { .from = "emu7" }, 0 },
		{ { .packets = SEND, .part = DAT_SIM_PART_FIRST }, 2 },
		{ { .packets = SEND, .part = DAT_SIM_PART_LAST }, 2 },
		{ { .packets = SEND, .nth = 3 }, 1 },
		{ { .packets = SEND, .nth = 6 }, 0 },
		{ { .packets = SEND, .every = 2 }, 2 },
		{ { .packets = SEND, .after = 2 }, 3 },
		{ { .packets = SEND, .after = 2, .nth = 1 }, 1 },
		{ { .packets = SEND, .after = 1, .every = 2 }, 2 },
		{ { .packets = SEND, .times = 2 }, 2 },
		{ { .packets = SEND, .until_ns = 1 }, 0 },
		{ { .packets = SEND, .since_ns = UINT64_C(1) << 40 }, 0 },
		{ { .packets = SEND, .since_ns = 1, .until_ns = UINT64_C(1) << 40 }, 5 },
		{ { .packets = SEND, .probability = 1000000 }, 5 },
		{ { .packets = DAT_SIM_PACKET_CM }, 0 },
		{ { .packets = SEND | DAT_SIM_PACKET_WRITE }, 5 },
	};
	DAT_COUNT id;

	plain_pair();
	id = count(cases[_i].rule);
	two_messages();
	ck_assert_msg(fired(id) == cases[_i].fits, "case %d: %lu", _i, (unsigned long)fired(id));
}
END_TEST

/* A NAK answers a request: neither the packets of connections nor acknowledgements count. */
START_TEST(fault_a_NAK_is_an_answer_to_a_request)
{
	const DAT_SIM_FAULT rule = { .verdict = DAT_SIM_NAK,
				     .nak = DAT_SIM_NAK_REMOTE_OPERATION,
				     .nth = 2 };
	DAT_COUNT id;

	must(dat_sim_fault_add(w.sim, &rule, &id));
	plain_pair();
	post_recvs(&w.b, w.b.ep, 20, 2);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_uint_eq(fired(id), 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, 1, DAT_DTO_ERR_REMOTE_RESPONDER);
	ck_assert_uint_eq(fired(id), 1);
}
END_TEST

START_TEST(fault_by_the_Endpoint_at_either_end)
{
	DAT_EP_HANDLE other_a = plain_ep(&w.a), other_b = plain_ep(&w.b);
	DAT_COUNT from, to, others, wrong;

	plain_pair();
	connect_eps(&w.a, other_a, &w.b, other_b);
	from = count((DAT_SIM_FAULT){ .from_ep = w.a.ep, .packets = SEND });
	to = count((DAT_SIM_FAULT){ .to_ep = w.b.ep, .packets = SEND });
	others = count((DAT_SIM_FAULT){ .from_ep = other_a });
	wrong = count((DAT_SIM_FAULT){ .from_ep = w.a.ep, .to_ep = other_b });
	two_messages();
	ck_assert_uint_eq(fired(from), 5);
	ck_assert_uint_eq(fired(to), 5);
	ck_assert_uint_eq(fired(others), 0);
	ck_assert_uint_eq(fired(wrong), 0);
}
END_TEST

START_TEST(fault_the_first_that_is_not_PASS_wins)
{
	DAT_COUNT seen, first, second;

	plain_pair();
	seen = count((DAT_SIM_FAULT){ .packets = SEND });
	first = fault((DAT_SIM_FAULT){ .packets = SEND, .nth = 1, .verdict = DAT_SIM_DUPLICATE });
	second = fault((DAT_SIM_FAULT){ .packets = SEND, .nth = 1, .verdict = DAT_SIM_CORRUPT });
	two_messages();
	ck_assert_uint_eq(fired(first), 1);
	ck_assert_uint_eq(fired(second), 1); /* it never saw the packet that `first` matched */
	ck_assert_uint_gt(fired(seen), 5);
}
END_TEST

START_TEST(fault_one_percent_is_about_one_percent_and_the_same_each_time)
{
	DAT_UINT64 lost[3] = { 0 };
	int round, n;

	must(dat_sim_destroy(w.sim));
	for (round = 0; round < 3; round++) {
		DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
		DAT_COUNT id;

		config.seed = round == 2 ? 77 : 5;
		fabric_create(&config);
		side_open(&w.a, "emu0");
		side_open(&w.b, "emu1");
		plain_pair();
		id = fault((DAT_SIM_FAULT){ .packets = SEND,
					    .probability = 10000,
					    .verdict = DAT_SIM_DROP });
		for (n = 0; n < 400; n++)
			two_messages();
		lost[round] = fired(id);
		teardown();
	}
	ck_assert_uint_eq(lost[0], lost[1]);
	ck_assert_uint_ge(lost[0], 5);
	ck_assert_uint_le(lost[0], 50);
	ck_assert_uint_ge(lost[2], 5);
	ck_assert_uint_le(lost[2], 50);
}
END_TEST

START_TEST(fault_what_makes_no_sense_is_an_invalid_parameter)
{
	static const DAT_SIM_FAULT bad[] = {
		{ .from = "eth0" },
		{ .to = "emu" },
		{ .from = "an adapter with a name so long that none can have it" },
		{ .packets = 0x200 },
		{ .part = (DAT_SIM_PART)3 },
		{ .part = (DAT_SIM_PART)-1 },
		{ .verdict = (DAT_SIM_VERDICT)11 },
		{ .verdict = (DAT_SIM_VERDICT)-1 },
		{ .verdict = DAT_SIM_NAK, .nak = (DAT_SIM_NAK_CODE)5 },
		{ .verdict = DAT_SIM_NAK, .packets = DAT_SIM_PACKET_ACK },
		{ .verdict = DAT_SIM_RNR, .packets = DAT_SIM_PACKET_WRITE },
		{ .probability = 1000001 },
		{ .delay_ns = UINT64_C(1) << 51, .verdict = DAT_SIM_DELAY },
		{ .jitter_ns = UINT64_MAX, .verdict = DAT_SIM_DELAY },
	};
	DAT_COUNT id = -77;

	must_fail(dat_sim_fault_add(w.sim, &bad[_i], &id), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ck_assert_int_eq(id, -77);
}
END_TEST

START_TEST(fault_bad_handles_and_outputs)
{
	DAT_SIM_FAULT rule = { .verdict = DAT_SIM_DROP };
	DAT_UINT64 n = 77;
	DAT_COUNT id = -77;

	w.a.ep = plain_ep(&w.a);
	must_fail(dat_sim_fault_add(w.a.ia, &rule, &id), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	must_fail(dat_sim_fault_add(NO_HANDLE, &rule, &id), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	must_fail(dat_sim_fault_add(w.sim, NULL, &id), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_fault_add(w.sim, &rule, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	rule.from_ep = w.a.recv;
	must_fail(dat_sim_fault_add(w.sim, &rule, &id), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	rule.from_ep = (DAT_EP_HANDLE)&rule;
	must_fail(dat_sim_fault_add(w.sim, &rule, &id), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	rule.from_ep = w.a.ep;
	rule.from = "emu1"; /* the rule belongs to emu0 */
	must_fail(dat_sim_fault_add(w.sim, &rule, &id), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must(dat_ep_free(w.a.ep));
	rule.from = NULL;
	must_fail(dat_sim_fault_add(w.sim, &rule, &id), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_fault_fired(w.sim, 1, &n), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_fault_fired(w.sim, 0, &n), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_fault_fired(w.sim, -1, &n), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	must_fail(dat_sim_fault_clear(w.a.ia), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	ck_assert_int_eq(id, -77);
	ck_assert_uint_eq(n, 77);
	must(dat_sim_fault_clear(w.sim)); /* no effect without rules */
}
END_TEST

START_TEST(fault_there_are_at_most_256_rules)
{
	DAT_SIM_FAULT rule = { .verdict = DAT_SIM_DROP };
	DAT_COUNT id = -77;
	int n;

	for (n = 0; n < 256; n++)
		ck_assert_int_eq(fault(rule), n + 1);
	must_fail(dat_sim_fault_add(w.sim, &rule, &id), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must(dat_sim_fault_clear(w.sim));
	ck_assert_int_eq(fault(rule), 1);
	must(dat_sim_fault_clear(w.sim));
	plain_pair();
	two_messages();
}
END_TEST

/* Adding or removing a rule does not change messages that are partly delivered. */
START_TEST(fault_rules_come_and_go_with_messages_under_way)
{
	int n, step;

	plain_pair();
	must(dat_sim_set_link(w.sim, "emu0", "emu1", 5000, UINT64_C(8000000000)));
	for (step = 0; step < 12; step++) {
		post_recvs(&w.b, w.b.ep, 20, 4);
		for (n = 0; n < 4; n++) {
			fill_slot(&w.a, n, n + step);
			post_send(&w.a, w.a.ep, n, LONG);
		}
		must(dat_sim_advance(w.sim, 5000 + 200 * (DAT_UINT64)step));
		count((DAT_SIM_FAULT){ .packets = SEND });
		must(dat_sim_advance(w.sim, 311));
		drop(SEND, 1);
		must(dat_sim_advance(w.sim, 350));
		must(dat_sim_fault_clear(w.sim));
		run_quiet();
		for (n = 0; n < 4; n++) {
			expect_dto(w.b.recv, w.b.ep, 20 + n, DAT_DTO_SUCCESS);
			expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
			ck_assert(slot_holds(&w.b, 20 + n, n + step, LONG));
		}
	}
}
END_TEST

/* ---- the trace ---- */

static const char *traced_losses(void)
{
	const char *text = NULL;
	size_t length;

	must(dat_sim_trace(w.sim, DAT_TRUE));
	plain_pair();
	fault((DAT_SIM_FAULT){ .probability = 200000, .verdict = DAT_SIM_DROP });
	fault((DAT_SIM_FAULT){ .probability = 100000,
			       .delay_ns = 9000,
			       .jitter_ns = 8000,
			       .verdict = DAT_SIM_DELAY });
	fault((DAT_SIM_FAULT){ .probability = 50000, .verdict = DAT_SIM_CORRUPT });
	for (int n = 0; n < 20; n++)
		two_messages();
	must(dat_sim_trace_read(w.sim, &text, &length));
	return text;
}

START_TEST(fault_the_same_seed_leaves_the_same_trace)
{
	static char first[1 << 18];
	const char *text;

	must(dat_sim_destroy(w.sim));
	for (int round = 0; round < 2; round++) {
		DAT_SIM_CONFIG config =
			fabric_config(_i ? DAT_SIM_PROFILE_IWARP : DAT_SIM_PROFILE_IB);

		config.trace = DAT_TRUE;
		fabric_create(&config);
		side_open(&w.a, "emu0");
		side_open(&w.b, "emu1");
		text = traced_losses();
		ck_assert_uint_lt(strlen(text), sizeof(first));
		if (round == 0)
			strcpy(first, text);
		ck_assert_str_eq(first, text);
		ck_assert_ptr_nonnull(strstr(text, "emu0>emu1 drop rule=1 op=SEND_"));
		ck_assert_ptr_nonnull(strstr(text, " corrupt rule=3 "));
		teardown();
	}
}
END_TEST

/* Sequence numbers have 24 bits and wrap; a retransmitted packet keeps its number. */
START_TEST(fault_sequence_numbers_count_packets_and_wrap)
{
	static const char key[] = "to=emu1.ep1 op=SEND_";
	unsigned long expected = 0, psn;
	const char *text = NULL, *line;
	size_t length;
	int packets = 0, wraps = 0;

	must(dat_sim_trace(w.sim, DAT_TRUE));
	plain_pair();
	two_messages();                            /* unobserved, but counted */
	count((DAT_SIM_FAULT){ .packets = SEND }); /* from here on, each packet has its own event */
	for (int n = 0; n < 40; n++)
		two_messages();
	must(dat_sim_trace_read(w.sim, &text, &length));
	line = strstr(text, "rule add=");
	while ((line = strstr(line, key)) != NULL) {
		ck_assert_int_eq(sscanf(strstr(line, " psn="), " psn=%lu", &psn), 1);
		ck_assert_uint_le(psn, 0xffffff);
		if (packets++ > 0)
			ck_assert_uint_eq(psn, expected);
		wraps += psn == 0;
		expected = (psn + 1) & 0xffffff;
		line += sizeof(key);
	}
	ck_assert_int_eq(packets, 200);
	ck_assert_int_eq(wraps, 1);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, fault_each_match_by_itself, 21, setup_sides);
	unit_add(suite, fault_each_match_by_itself, 21, setup_sides_iwarp);
	unit_test(suite, fault_a_NAK_is_an_answer_to_a_request);
	unit_test_all(suite, fault_by_the_Endpoint_at_either_end);
	unit_test(suite, fault_the_first_that_is_not_PASS_wins);
	unit_test_bare(suite, fault_one_percent_is_about_one_percent_and_the_same_each_time);
	unit_test_loop(suite, fault_what_makes_no_sense_is_an_invalid_parameter, 14);
	unit_test(suite, fault_bad_handles_and_outputs);
	unit_test(suite, fault_there_are_at_most_256_rules);
	unit_test(suite, fault_rules_come_and_go_with_messages_under_way);
	unit_add(suite, fault_the_same_seed_leaves_the_same_trace, 2, setup_fabric);
	unit_test(suite, fault_sequence_numbers_count_packets_and_wrap);
}

UNIT_SUITE("sim_fault")
