/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checkers that read the trace of a program, rule by rule: a few lines that keep the rule or
 * break it.
 */
#include <string.h>

#include "tests/support/support.h"
#include "tools/datsim/program/watch.h"

#define MADE(n) "5 emu0.qp" n " create type=RC qpn=17 send=cq1 recv=cq1\n"
#define QP      MADE("1")
#define UD      "5 emu0.qp1 create type=UD qpn=17 send=cq1 recv=cq1\n"
#define EP      "5 emu0.ep1 create\n"
#define LIMITED QP "5 emu0.qp1 path rnr_retry=1\n"

#define POST(n)         "5 emu0.qp1 post_send bytes=8 segments=1 message=" n " wr_id=" n "\n"
#define SILENT(n)       "5 emu0.qp1 post_send bytes=8 message=" n " unsignaled=1 wr_id=" n "\n"
#define ENDS(n, status) "5 emu0.qp1 complete op=SEND status=" status " bytes=8 message=" n "\n"
#define GOOD(n)         ENDS(n, "SUCCESS")
#define SENT(n)         POST(n) GOOD(n) GOT(n)
#define GOT(n)          GOT_AS(n, "SUCCESS")
#define GOT_AS(n, status) \
	"5 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_SEND status=IBV_WC_" status " wr_id=" n "\n"
#define PACKET(n, packet, psn) PACKET_OF("SEND_ONLY", n, packet, psn)
#define PACKET_OF(op, n, packet, psn) \
	"5 emu0.qp1 packet to=emu1.qp1 op=" op " message=" n " packet=" packet " psn=" psn "\n"
#define REFUSES "5 emu1.qp1 packet to=emu0.qp1 op=RNR_NAK message=1 psn=1\n"
#define ACKS    "5 emu1.qp1 packet to=emu0.qp1 op=ACK message=1 psn=1\n"
#define RETRY   "5 emu0.qp1 retry try=1 message=1 packet=0\n"
#define RESETS  "5 emu0.qp1 state from=ERR to=RESET by=ibv_modify_qp\n"

#define RECEIVE(n)      "5 emu0.qp1 ibv_post_recv bytes=64 segments=1 wr_id=" n "\n"
#define CAME_AS(status) "5 emu0.qp1 complete op=RECV status=" status " bytes=64 message=1\n"
#define CAME            CAME_AS("SUCCESS")
#define GOT_RECEIVE(n) \
	"5 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RECV status=IBV_WC_SUCCESS wr_id=" n "\n"
#define BAD_RECEIVE(n) \
	"5 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RECV status=IBV_WC_LOC_PROT_ERR wr_id=" n "\n"
#define PLACELESS "5 - note lost: a Receive of server completes with an error after all\n"

#define EVENT     "5 emu0.qp1 event number=IBV_EVENT_COMM_EST\n"
#define GOT_EVENT "5 emu0.qp1 ibv_get_async_event number=IBV_EVENT_COMM_EST\n"

#define EP_POST(n)      "5 emu0.ep1 post_send bytes=8 message=" n "\n"
#define EP_ENDS(status) "5 emu0.ep1 complete op=SEND status=" status " message=1\n"
#define EP_NEXT(status) "5 emu0.ep1 complete op=SEND status=" status " message=2\n"
#define EP_GOT(status)  "5 emu0.ep1 reap op=SEND status=" status "\n"

#define ONCE      "each request completes once, after its post: "
#define FLUSHED   "once one request has failed, the others are flushed: "
#define ORDER     "the program gets completions in order: "
#define ASKED     "Receives complete in the order of the posts: "
#define NUMBERS   "packets are numbered in the order of the requests: "
#define TOO_OFTEN "a QP tries no more often than it may after RNR NAKs: "

/* NULL: no violation */
static const struct {
	const char *lines, *rule;
} singles[] = {
	/* What cannot be known any more, and what still can. */
	{ QP "5 - note a process died with the lock\n" GOOD("1"), NULL },
	{ QP "5 - note the trace is full\n" GOOD("1"), NULL },
	{ QP "5 - note something else\n" GOOD("1"), ONCE },
	{ QP POST("1") GOOD("1") "5 emu0.cq1 overflow\n" GOT("7"), NULL },
	{ QP POST("1")
		  GOOD("1") "5 emu0.cq1 ibv_get_async_event number=IBV_EVENT_CQ_ERR\n" GOT("7"),
	  NULL },
	{ QP POST("1") GOOD("1") "5 emu0.qp1 fault rule=1 does=pass at=wc_send\n" GOT("7"), ORDER },
	{ QP "5 emu0.cq1 overflow\n" GOT_EVENT, NULL },
	{ LIMITED POST("1") "5 emu0>emu1 delay rule=1\n" REFUSES REFUSES REFUSES, NULL },
	{ LIMITED POST("1") "5 emu0>emu1 reorder rule=1\n" REFUSES REFUSES REFUSES, NULL },
	{ LIMITED POST("1") "5 emu0>emu1 hold rule=1\n" REFUSES REFUSES REFUSES, NULL },
	{ LIMITED POST("1") "5 emu0>emu1 drop rule=1\n" REFUSES REFUSES REFUSES, TOO_OFTEN },
	/* Retries: an ACK, a success and a reset begin anew. */
	{ LIMITED POST("1") RETRY ACKS REFUSES REFUSES REFUSES, TOO_OFTEN },
	{ LIMITED POST("1") REFUSES REFUSES ACKS REFUSES REFUSES, NULL },
	{ LIMITED POST("1") REFUSES REFUSES GOOD("1") POST("2") REFUSES REFUSES, NULL },
	{ LIMITED POST("1") RETRY RESETS LIMITED REFUSES REFUSES REFUSES, TOO_OFTEN },
	/* A new connection, whose messages and packets count from 1, and a reset. */
	{ QP POST("1") PACKET("1", "0", "9") GOOD("1") POST("1") PACKET("1", "0", "500"), NULL },
	{ QP SENT("1") POST("2") PACKET("2", "0", "9") GOOD("2") POST("1") PACKET("1", "0", "500"),
	  NULL },
	{ QP POST("1") ENDS("1", "RETRY_EXCEEDED") RESETS POST("1") GOOD("1"), NULL },
	{ QP POST("1") GOOD("1") RESETS POST("2") GOOD("2") GOT("2"), NULL },
	{ QP POST("1") GOOD("1") "5 emu0.qp1 free\n" POST("2") GOOD("2") GOT("2"), NULL },
	{ QP SENT("1") RESETS GOOD("1"), ONCE "emu0.qp1 completes one that was not posted" },
	{ QP RECEIVE("8") CAME_AS("FLUSHED") RESETS RECEIVE("9") CAME GOT_RECEIVE("9"), NULL },
	{ QP RECEIVE("8") RESETS RECEIVE("9") CAME GOT_RECEIVE("9"), NULL },
	/* Requests. */
	{ UD POST("1") ENDS("1", "LENGTH") POST("2") GOOD("2"), NULL },
	{ QP POST("1") POST("2") ENDS("1", "LENGTH") GOOD("2"), FLUSHED },
	{ QP POST("1")
		  ENDS("1", "LENGTH") "5 emu0.qp1 state from=INIT to=RTS by=ibv_modify_qp\n" POST(
			  "2") GOOD("2"),
	  NULL },
	{ EP EP_POST("1") EP_POST("2") EP_ENDS("TRANSPORT") EP_NEXT("SUCCESS"), FLUSHED },
	{ EP EP_POST("1")
		  EP_ENDS("TRANSPORT") "5 emu0.ep1 state from=X to=CONNECTED by=x\n" EP_POST("2")
			  EP_NEXT("SUCCESS"),
	  NULL },
	{ QP "5 emu0.qp1 complete op=SEND status=FLUSHED bytes=0 wr_id=1\n" GOT_AS("1",
										   "WR_FLUSH_ERR"),
	  NULL },
	{ QP SILENT("1") ENDS("1", "LENGTH") GOT_AS("1", "LOC_LEN_ERR"), NULL },
	{ QP SILENT("1") GOOD("1") GOT("1"), "the program gets each completion once" },
	{ QP "5 emu0.qp1 post_bind message=1 wr_id=1\n"
	     "5 emu0.qp1 complete op=BIND status=SUCCESS message=1\n"
	     "5 emu0.qp1 post_fetch_add message=2 wr_id=2\n"
	     "5 emu0.qp1 complete op=FETCH_ADD status=SUCCESS message=2\n",
	  NULL },
	/* uDAPL does not say which successes are told. */
	{ EP EP_POST("1") EP_POST("2") EP_ENDS("SUCCESS") EP_NEXT("FLUSHED") EP_GOT("FLUSHED"),
	  NULL },
	{ EP EP_POST("1") EP_ENDS("FLUSHED") EP_GOT("SUCCESS"), ORDER },
	{ EP "5 emu0.ep1 complete op=RECV status=SUCCESS message=1\n"
	     "5 emu0.ep1 reap op=RECV status=SUCCESS\n",
	  NULL },
	/* One note excuses one Receive. */
	{ QP RECEIVE("8") RECEIVE("9") CAME CAME PLACELESS BAD_RECEIVE("8") GOT_RECEIVE("9"),
	  NULL },
	{ QP RECEIVE("8") RECEIVE("9") CAME CAME PLACELESS BAD_RECEIVE("8") BAD_RECEIVE("9"),
	  ORDER },
	/* Receives of an SRQ, and of the QP's own queue. */
	{ QP RECEIVE("8") RECEIVE("9") "5 emu0.qp1 take from=srq1\n" CAME GOT_RECEIVE("9"), NULL },
	{ QP RECEIVE("8") RECEIVE("9") "5 emu0.qp1 take from=rq\n" CAME GOT_RECEIVE("9"), ASKED },
	/* Packets: a later one, an earlier one, and one that comes again. */
	{ QP PACKET("1", "0", "16777215") PACKET("1", "1", "0") PACKET("1", "0", "16777215"),
	  NULL },
	{ QP PACKET("1", "0", "5") PACKET("2", "0", "6") PACKET("1", "0", "5"), NULL },
	{ QP PACKET("1", "0", "5") PACKET("1", "1", "5"), NUMBERS },
	{ QP PACKET("1", "1", "5") PACKET("1", "0", "5"), NUMBERS },
	{ QP PACKET("2", "0", "5") PACKET("1", "0", "5"), NUMBERS },
	{ QP PACKET("1", "0", "5") PACKET("1", "0", "6"), NUMBERS },
	{ QP PACKET("1", "0", "5") PACKET("2", "0", "6") PACKET("1", "0", "5")
		  PACKET("2", "0", "7"),
	  NUMBERS },
	{ QP PACKET_OF("UC_SEND_ONLY", "1", "0", "5") PACKET_OF("UC_SEND_ONLY", "2", "0", "5"),
	  NUMBERS },
	{ UD PACKET_OF("UD_SEND_ONLY", "1", "0", "5") PACKET_OF("UD_SEND_ONLY", "2", "0", "5"),
	  NUMBERS },
	{ QP PACKET_OF("COMPARE_SWAP", "1", "0", "5") PACKET_OF("FETCH_ADD", "2", "0", "5"),
	  NUMBERS },
	/* Events. */
	{ QP EVENT EVENT GOT_EVENT GOT_EVENT, NULL },
	{ QP EVENT GOT_EVENT GOT_EVENT, "the program gets each event once: " },
	{ "5 emu0.evd1 dequeue number=CONNECTION_REQUEST\n", "the program gets each event once: " },
	{ QP "5 emu0.qp1 violation rule=watch work=SEND message=1 wr_id=3\n",
	  "a buffer is the adapter's from post to completion: emu0.qp1 has one that the program "
	  "changed (SEND #1, wr_id 3)" },
	{ QP "5 emu0.qp1 violation rule=other work=SEND message=1 wr_id=3\n", NULL },
};

static void watch_lines(struct watch *watch, const char *trace)
{
	static char text[8192];

	snprintf(text, sizeof(text), "libdat trace 1\n# profile=ib\n%s", trace);
	watch_read(watch, text, strlen(text));
}

START_TEST(each_rule_is_kept_or_broken_by_few_lines)
{
	const char *rule = singles[_i].rule;
	struct watch watch;

	watch_lines(&watch, singles[_i].lines);
	if (rule)
		ck_assert_msg(strstr(text_of(&watch.violations), rule) != NULL, "%s: %s", rule,
			      text_of(&watch.violations));
	else
		ck_assert_str_eq(text_of(&watch.violations), "");
	watch_free(&watch);
}
END_TEST

START_TEST(requests_that_were_left_out_are_told_once)
{
	struct watch watch;

	watch_lines(&watch, QP POST("1") POST("2") POST("3") POST("4") GOOD("3") GOOD("4"));
	ck_assert_uint_eq(watch.violation_count, 1);
	watch_free(&watch);
}
END_TEST

#define EIGHT GOOD("1") GOOD("2") GOOD("3") GOOD("4") GOOD("5") GOOD("6") GOOD("7") GOOD("8")

START_TEST(eight_violations_are_shown_and_the_others_counted)
{
	struct watch watch;

	watch_lines(&watch, QP EIGHT);
	ck_assert_uint_eq(watch.violation_count, 8);
	ck_assert_ptr_nonnull(strstr(text_of(&watch.violations), "message=8"));
	ck_assert_ptr_null(strstr(text_of(&watch.violations), " more\n"));
	watch_free(&watch);
	watch_lines(&watch, QP EIGHT GOOD("9") GOOD("10"));
	ck_assert_ptr_null(strstr(text_of(&watch.violations), "message=9"));
	ck_assert_ptr_nonnull(strstr(text_of(&watch.violations), "checker: and 2 more\n"));
	watch_free(&watch);
}
END_TEST

static void left_is(const char *trace, const char *left)
{
	struct watch watch;

	watch_lines(&watch, trace);
	ck_assert_str_eq(text_of(&watch.left), left);
	watch_free(&watch);
}

#define FOUR "SEND wr_id 1, SEND wr_id 2, SEND wr_id 3, SEND wr_id 4"

START_TEST(four_requests_that_never_complete_are_named_and_the_others_counted)
{
	left_is(QP POST("1") POST("2") POST("3") POST("4"),
		"emu0.qp1 (number 17), 4 requests: " FOUR "\n");
	left_is(QP POST("1") POST("2") POST("3") POST("4") POST("5"),
		"emu0.qp1 (number 17), 5 requests: " FOUR " and 1 more\n");
	/* From an earlier connection; at an EP; before a process was killed. */
	left_is(QP POST("1") POST("2") POST("1"),
		"emu0.qp1 (number 17), 2 requests: SEND wr_id 1, SEND wr_id 2\n"
		"emu0.qp1 (number 17), 1 request: SEND wr_id 1\n");
	left_is(QP POST("1") RESETS, "emu0.qp1 (number 17), 1 request: SEND wr_id 1\n");
	left_is(EP EP_POST("1"), "");
	left_is(QP POST("1") "5 - note process 77, server, is gone\n", "");
}
END_TEST

/* Their table grows, and each keeps what is known of it. */
START_TEST(a_trace_may_have_many_objects)
{
	struct text text = { 0 };
	struct watch watch;

	text_add(&text, "libdat trace 1\n# profile=ib\n");
	for (int i = 0; i < 300; i++)
		text_add(&text, "5 emu0.qp%d create type=RC qpn=%d send=cq1 recv=cq1\n", i, i);
	for (int i = 0; i < 300; i++)
		text_add(&text, "5 emu0.qp%d post_send bytes=8 message=1 wr_id=1\n", i);
	for (int i = 0; i < 300; i++)
		text_add(&text, "5 emu0.qp%d complete op=SEND status=SUCCESS message=1\n", i);
	text_add(&text, "5 emu0.qp299 post_send bytes=8 message=2 wr_id=7\n");
	watch_read(&watch, text_of(&text), text.length);
	ck_assert_str_eq(text_of(&watch.violations), "");
	ck_assert_str_eq(text_of(&watch.left),
			 "emu0.qp299 (number 299), 1 request: SEND wr_id 7\n");
	ck_assert_uint_eq(watch.count, 300);
	watch_free(&watch);
	text_free(&text);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("watch");

	tcase_add_loop_test(tcase, each_rule_is_kept_or_broken_by_few_lines, 0,
			    (int)COUNT(singles));
	tcase_add_test(tcase, requests_that_were_left_out_are_told_once);
	tcase_add_test(tcase, eight_violations_are_shown_and_the_others_counted);
	tcase_add_test(tcase, four_requests_that_never_complete_are_named_and_the_others_counted);
	tcase_add_test(tcase, a_trace_may_have_many_objects);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("rules of watch")
