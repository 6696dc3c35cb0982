/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of datsim that reports are made of, one by one: the account of a trace, line by line, and
 * the outcome of a program, each kind.
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/support.h"
#include "tools/datsim/program/account.h"
#include "tools/datsim/program/runner.h"

#define HEAD "libdat trace 1\n# profile=ib\n"

static struct account account;
static struct text said;

static bool read_lines(const char *lines)
{
	static char text[8192];
	struct text error = { 0 };
	bool good;

	snprintf(text, sizeof(text), HEAD "%s", lines);
	good = account_read(&account, "trace", text, strlen(text), &error);
	ck_assert(good == (error.length == 0));
	text_free(&error);
	return good;
}

static void expect_print(const char *lines)
{
	account_print(&account, &said, "| ");
	ck_assert_str_eq(text_of(&said), lines);
	text_free(&said);
	said = (struct text){ 0 };
	account_free(&account);
}

/* ---- accounts ---- */

START_TEST(each_line_is_counted_once)
{
	ck_assert(read_lines("0 emu0.qp1 create type=RC qpn=17 send=cq1 recv=cq1\n"
			     "5 emu0.qp1 packet to=emu1.qp1 op=SEND_ONLY message=1 packet=0 "
			     "bytes=64 psn=1\n"
			     "7 emu0.qp1 packet to=emu1.qp1 op=SEND_ONLY message=2 packet=0 "
			     "bytes=36 psn=2\n"
			     "9 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_SEND "
			     "status=IBV_WC_SUCCESS bytes=64\n"
			     "9 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_SEND "
			     "status=IBV_WC_WR_FLUSH_ERR bytes=0\n"
			     "11 emu0 ibv_get_async_event number=IBV_EVENT_PORT_ERR\n"
			     "11 emu0.id1 rdma_get_cm_event number=RDMA_CM_EVENT_ESTABLISHED "
			     "status=0\n"
			     "12 emu0.qp1 refuse call=ibv_post_send error=ENOMEM\n"
			     "12 emu0.qp1 refuse call=ibv_post_send error=ENOMEM\n"
			     "1234567 emu0.qp1 free\n"));
	ck_assert(account.opened && !account.full && !account.torn);
	ck_assert_uint_eq(account.ns, 1234567);
	ck_assert_uint_eq(account.packets, 2);
	ck_assert_uint_eq(account.bytes, 100);
	ck_assert_uint_eq(account.lost, 0);
	account.whole = true;
	expect_print("| simulated  1234.567 us of virtual time\n"
		     "| packets    2 arrived, 100 bytes, 0 lost\n"
		     "| events     2 IBV_WC_SEND, IBV_EVENT_PORT_ERR, "
		     "RDMA_CM_EVENT_ESTABLISHED\n"
		     "| failed     IBV_WC_WR_FLUSH_ERR\n"
		     "| refused    2 ibv_post_send\n"
		     "| left       nothing\n");
}
END_TEST

/* A search for the largest size is no failure; a single refusal, and one on another device, is. */
START_TEST(calls_that_ask_what_there_is_are_probes)
{
	ck_assert(read_lines("0 emu0.qp1 create type=RC qpn=17 send=cq1 recv=cq1\n"
			     "0 emu0.qp1 free\n"
			     "0 emu0 refuse call=ibv_create_qp error=EINVAL\n"
			     "0 emu0 refuse call=ibv_create_qp error=EINVAL\n"
			     "0 emu0 refuse call=ibv_create_qp_ex error=EINVAL\n"
			     "0 emu0 refuse call=ibv_create_srq error=EINVAL\n"
			     "0 emu1.qp1 create type=RC qpn=18 send=cq1 recv=cq1\n"
			     "0 emu1.qp1 ibv_query_qp state=RESET\n"
			     "0 emu1.qp1 free\n"
			     "0 emu1 refuse call=ibv_create_qp error=EINVAL\n"
			     "0 emu0.qp2 refuse call=ibv_query_ece error=EOPNOTSUPP\n"
			     "0 emu0.qp2 refuse call=ibv_modify_qp error=EINVAL\n"
			     "0 emu0.qp2 refuse call=ibv_create_=x error=EINVAL\n"
			     "0 emu0.qp2 refuse error=ENOMEM\n"));
	account.whole = true;
	expect_print("| simulated  0.000 us of virtual time\n"
		     "| packets    0 arrived, 0 bytes, 0 lost\n"
		     "| events     none\n"
		     "| refused    ibv_modify_qp, , ibv_create_srq, ibv_create_qp, x\n"
		     "| probed     ibv_query_ece, 2 ibv_create_qp, ibv_create_qp_ex\n"
		     "| left       nothing\n");
}
END_TEST

/* So many objects of one device, each with a letter. */
static void make_left(char *lines, size_t size, int n, const char *at)
{
	for (int i = 0; i < n; i++)
		snprintf(lines + strlen(lines), size - strlen(lines), "1 %s.pd%d create\n", at,
			 i + 1);
}

START_TEST(eight_names_stand_in_a_line)
{
	char lines[2048] = "";

	make_left(lines, sizeof(lines), 7 + _i, "emu0");
	ck_assert(read_lines(lines));
	ck_assert_uint_eq(account.left.count, 7 + (size_t)_i);
	account.whole = true;
	expect_print(_i == 0   ? "| simulated  0.001 us of virtual time\n"
				 "| packets    0 arrived, 0 bytes, 0 lost\n"
				 "| events     none\n"
				 "| left       emu0.pd1, emu0.pd2, emu0.pd3, emu0.pd4, emu0.pd5, "
				 "emu0.pd6, emu0.pd7\n"
		     : _i == 1 ? "| simulated  0.001 us of virtual time\n"
				 "| packets    0 arrived, 0 bytes, 0 lost\n"
				 "| events     none\n"
				 "| left       emu0.pd1, emu0.pd2, emu0.pd3, emu0.pd4, emu0.pd5, "
				 "emu0.pd6, emu0.pd7, emu0.pd8\n"
			       : "| simulated  0.001 us of virtual time\n"
				 "| packets    0 arrived, 0 bytes, 0 lost\n"
				 "| events     none\n"
				 "| left       emu0.pd1, emu0.pd2, emu0.pd3, emu0.pd4, emu0.pd5, "
				 "emu0.pd6, emu0.pd7, emu0.pd8 and 1 more\n");
}
END_TEST

START_TEST(each_node_has_a_line_of_what_it_left)
{
	char lines[2048] = "";

	make_left(lines, sizeof(lines), 2, "one-emu0");
	make_left(lines, sizeof(lines), 1, "two-emu0");
	strcat(lines, "2 one-emu0.pd1 free\n2 three-emu0.pd1 create\n3 three-emu0.pd1 free\n");
	ck_assert(read_lines(lines));
	ck_assert_uint_eq(account.nodes.count, 3);
	account.whole = true;
	expect_print("| simulated  0.003 us of virtual time\n"
		     "| packets    0 arrived, 0 bytes, 0 lost\n"
		     "| events     none\n"
		     "| left       one-emu0.pd2\n"
		     "| left       two-emu0.pd1\n");
}
END_TEST

/* 200000 live objects: if each were looked for in a list, this would take a minute. */
START_TEST(many_objects_are_found_as_fast_as_few)
{
	struct text text = { 0 }, error = { 0 };
	const unsigned int n = 200000;
	clock_t began = clock();

	text_put(&text, HEAD);
	for (unsigned int i = 1; i <= n; i++)
		text_add(&text, "1 emu0.ah%u create\n", i);
	for (unsigned int i = 1; i <= n; i++)
		if (i % 50000)
			text_add(&text, "2 emu0.ah%u free\n", i);
	text_put(&text, "3 emu0.ah1 create\n3 emu0.ah100000 free\n");
	ck_assert(account_read(&account, "trace", text_of(&text), text.length, &error));
	ck_assert_int_lt(clock() - began, 15 * CLOCKS_PER_SEC);
	account.whole = true;
	expect_print("| simulated  0.003 us of virtual time\n"
		     "| packets    0 arrived, 0 bytes, 0 lost\n"
		     "| events     none\n"
		     "| left       emu0.ah50000, emu0.ah150000, emu0.ah200000, emu0.ah1\n");
	text_free(&text);
	text_free(&error);
}
END_TEST

START_TEST(a_trace_that_is_cut_says_so)
{
	ck_assert(read_lines("0 emu0.pd1 create\n0 emu0.pd1 free\n"));
	account.whole = false;
	account.full = true;
	expect_print("| simulated  0.000 us of virtual time\n"
		     "| packets    0 arrived, 0 bytes, 0 lost\n"
		     "| events     none\n"
		     "| left       nothing\n"
		     "| cut        the trace is full: what came later is not counted "
		     "(DATSIM_TRACE_BYTES)\n"
		     "| cut        the program ended without closing its adapters\n");
	ck_assert(read_lines("0 - note the trace is full (DATSIM_TRACE_BYTES): later\n"));
	ck_assert(account.full && !account.stuck);
	account_free(&account);
	ck_assert(read_lines("0 - note the trace is full (its file cannot grow): later\n"));
	account.whole = true;
	expect_print("| simulated  0.000 us of virtual time\n"
		     "| packets    0 arrived, 0 bytes, 0 lost\n"
		     "| events     none\n"
		     "| left       nothing\n"
		     "| cut        the trace is full: what came later is not counted "
		     "(its file cannot grow)\n");
	ck_assert(read_lines("0 emu0.pd1 create\n0 emu0.pd1 fr"));
	ck_assert(account.torn && !account.whole && !account.stuck);
	expect_print("| simulated  0.000 us of virtual time\n"
		     "| packets    0 arrived, 0 bytes, 0 lost\n"
		     "| events     none\n"
		     "| left       emu0.pd1\n"
		     "| cut        the trace ends within a line: the disk was full, or the "
		     "program was killed; what came later is not counted\n");
}
END_TEST

START_TEST(a_shared_trace_that_is_torn_had_no_room)
{
	ck_assert(read_lines("0 a-emu0.pd1 create\n0 a-emu0.pd1 fr"));
	ck_assert(account.torn && account.stuck);
	account_free(&account);
	ck_assert(read_lines("0 a-emu0.pd1 create\n0 a-emu0.pd1 free\n"));
	ck_assert(!account.torn && !account.stuck);
	account_free(&account);
}
END_TEST

/* A program that ends its world and makes another one has the same rules there. */
START_TEST(a_rule_is_counted_in_each_world)
{
	ck_assert(read_lines("0 - rule is=1 line=3 from=emu0 to=emu1 drop\n"
			     "1 emu0.ep1 lost rule=1 op=SEND_ONLY\n"
			     "2 - rule fired=1 line=3 times=1\n"
			     "3 - rule is=1 line=3 from=emu0 to=emu1 drop\n"
			     "4 - rule fired=1 line=3 times=0\n"));
	ck_assert_uint_eq(account.rule_count, 2);
	ck_assert_uint_eq(account.rules[0].times, 1);
	ck_assert_uint_eq(account.rules[1].times, 0);
	ck_assert(account.rules[0].ended && account.rules[1].ended);
	account_free(&account);
}
END_TEST

START_TEST(a_trace_that_keeps_its_end_says_so)
{
	ck_assert(read_lines("1500 - note the trace keeps its end (DATSIM_TRACE_LAST): lines "
			     "before this one are missing\n"
			     "1500 emu0.qp1 complete op=SEND status=SUCCESS bytes=8 message=7\n"
			     "1600 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_SEND "
			     "status=IBV_WC_SUCCESS bytes=8\n"
			     "1700 emu0.pd1 free\n"));
	ck_assert(account.kept_end);
	ck_assert_uint_eq(account.watch.violation_count, 0);
	account.whole = true;
	expect_print("| simulated  1.700 us of virtual time\n"
		     "| cut        the trace keeps its end: what came before 1.500 us is not "
		     "counted (DATSIM_TRACE_LAST)\n"
		     "| packets    0 arrived, 0 bytes, 0 lost\n"
		     "| events     IBV_WC_SEND\n"
		     "| left       nothing that was made since then\n");
}
END_TEST

/* ---- outcomes ---- */

static const struct {
	struct outcome outcome;
	const char *words;
	int code;
} outcomes[] = {
	{ { ENDED_WELL, 0, false, "", "" }, "ends well", 0 },
	{ { ENDED_CODE, 3, false, "", "" }, "exits with 3", 3 },
	{ { ENDED_SIGNAL, SIGSEGV, false, "", "" },
	  "is ended by signal 11 (Segmentation fault)",
	  128 + SIGSEGV },
	{ { ENDED_STUCK, 0, false, "", "x waits" }, "is stuck (x waits)", 4 },
	{ { ENDED_CODE, 3, false, "server", "" }, "server exits with 3", 3 },
	{ { ENDED_HUNG, 0, false, "", "" }, "hangs (it was ended after a while)", 4 },
	{ { ENDED_LEFT, 2, false, "", "  emu0.ia1 emu0.evd1" },
	  "leaves 2 objects (emu0.ia1 emu0.evd1)",
	  3 },
	{ { ENDED_WRONG, 0, false, "", "rule: line 1" },
	  "breaks a rule of the checkers (rule: line 1)",
	  3 },
};

START_TEST(each_outcome_has_its_words_and_its_exit_status)
{
	for (size_t i = 0; i < COUNT(outcomes); i++) {
		outcome_add(&said, &outcomes[i].outcome);
		ck_assert_str_eq(text_of(&said), outcomes[i].words);
		text_free(&said);
		said = (struct text){ 0 };
		ck_assert_int_eq(outcome_code(&outcomes[i].outcome), outcomes[i].code);
		for (size_t j = 0; j < COUNT(outcomes); j++)
			ck_assert_int_eq(same_outcome(&outcomes[i].outcome, &outcomes[j].outcome),
					 i == j);
	}
}
END_TEST

START_TEST(outcomes_are_the_same_by_what_counts)
{
	struct outcome a = { ENDED_CODE, 3, false, "", "x" }, b = { ENDED_CODE, 4, true, "", "x" };

	ck_assert(!same_outcome(&a, &b));
	a.how = b.how = ENDED_LEFT;
	ck_assert(same_outcome(&a, &b));
	a = (struct outcome){ ENDED_WRONG, 1, false, "", "order: line 1" };
	b = (struct outcome){ ENDED_WRONG, 2, false, "", "order: line 22" };
	ck_assert(same_outcome(&a, &b));
	strcpy(b.what, "orders: line 1");
	ck_assert(!same_outcome(&a, &b));
	strcpy(b.what, "credit: line 1");
	ck_assert(!same_outcome(&a, &b));
	strcpy(b.what, "order");
	ck_assert(!same_outcome(&a, &b) && !same_outcome(&b, &a));
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, each_line_is_counted_once, 1, NULL);
	unit_add(suite, calls_that_ask_what_there_is_are_probes, 1, NULL);
	unit_add(suite, eight_names_stand_in_a_line, 3, NULL);
	unit_add(suite, many_objects_are_found_as_fast_as_few, 1, NULL);
	unit_add(suite, each_node_has_a_line_of_what_it_left, 1, NULL);
	unit_add(suite, a_trace_that_is_cut_says_so, 1, NULL);
	unit_add(suite, a_shared_trace_that_is_torn_had_no_room, 1, NULL);
	unit_add(suite, a_rule_is_counted_in_each_world, 1, NULL);
	unit_add(suite, a_trace_that_keeps_its_end_says_so, 1, NULL);
	unit_add(suite, each_outcome_has_its_words_and_its_exit_status, 1, NULL);
	unit_add(suite, outcomes_are_the_same_by_what_counts, 1, NULL);
}

UNIT_SUITE("account")
