/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checkers that read the trace of a program: each mistake of a model, as a trace shows it, is
 * noticed by one of them, and the trace without it is not.
 */
#include <string.h>

#include "tests/support/support.h"
#include "tools/datsim/program/watch.h"

/* One line each; a row below takes the place of some. */
static const char *const lines[] = {
	"libdat trace 1",
	"# profile=ib",
	"0 emu0.qp1 create type=RC qpn=17 send=cq1 recv=cq1",
	"0 emu0.qp1 state from=RTR to=RTS by=ibv_modify_qp",
	"0 emu0.qp1 ibv_post_recv bytes=64 segments=1 wr_id=8",
	"0 emu0.qp1 ibv_post_recv bytes=64 segments=1 wr_id=9",
	"0 emu0.qp1 post_send bytes=64 segments=1 message=1 wr_id=1",
	"0 emu0.qp1 post_rdma_read bytes=64 segments=1 message=2 rkey=1 wr_id=2",
	"0 emu0.qp1 post_send bytes=64 segments=1 message=3 unsignaled=1 wr_id=3",
	"1 emu0.qp1 packet to=emu1.qp1 op=SEND_ONLY message=1 packet=0 bytes=64 psn=16777215",
	"2 emu0.qp1 packet to=emu1.qp1 op=READ_REQUEST message=2 packet=0 bytes=0 psn=0",
	"3 emu0.qp1 packet to=emu1.qp1 op=SEND_ONLY message=3 packet=0 bytes=64 psn=1",
	"4 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=1",
	"5 emu0.qp1 complete op=RDMA_READ status=SUCCESS bytes=64 message=2",
	"6 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=3",
	"7 emu0.qp1 complete op=RECV status=SUCCESS bytes=64 message=1",
	"8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_SEND status=IBV_WC_SUCCESS bytes=64 wr_id=1",
	"8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RDMA_READ status=IBV_WC_SUCCESS wr_id=2",
	"8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RECV status=IBV_WC_SUCCESS bytes=64 wr_id=8",
	"9 emu0.qp1 event number=IBV_EVENT_QP_ACCESS_ERR",
	"9 emu0.qp1 ibv_get_async_event number=IBV_EVENT_QP_ACCESS_ERR",
};

static const struct row {
	const char *old, *new, *rule;
} rows[] = {
	{ "6 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=3",
	  "6 emu0.qp1 complete op=RDMA_READ status=SUCCESS bytes=64 message=2",
	  "each request completes once, after its post: emu0.qp1 completes one again" },
	{ "6 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=3",
	  "6 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=3\n"
	  "6 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=4",
	  "each request completes once, after its post: emu0.qp1 completes one that was not" },
	{ "4 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=1", "4 emu0.qp1 heard",
	  "requests complete in the order of the posts: emu0.qp1 has an older" },
	{ "5 emu0.qp1 complete op=RDMA_READ status=SUCCESS bytes=64 message=2",
	  "5 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=2",
	  "a request completes as what it was posted as" },
	{ "4 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=1",
	  "4 emu0.qp1 complete op=SEND status=REMOTE_ACCESS bytes=0 message=1",
	  "once one request has failed, the others are flushed: emu0.qp1 does otherwise" },
	{ "8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RDMA_READ status=IBV_WC_SUCCESS wr_id=2",
	  "8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RDMA_READ status=IBV_WC_SUCCESS wr_id=2\n"
	  "8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RDMA_READ status=IBV_WC_SUCCESS wr_id=2",
	  "the program gets each completion once" },
	{ "8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_SEND status=IBV_WC_SUCCESS bytes=64 wr_id=1",
	  "8 emu0.qp1 heard", "the program gets completions in order" },
	{ "8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RDMA_READ status=IBV_WC_SUCCESS wr_id=2",
	  "8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RDMA_READ status=IBV_WC_FATAL_ERR wr_id=2",
	  "the program gets completions in order" },
	{ "8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RECV status=IBV_WC_SUCCESS bytes=64 wr_id=8",
	  "8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RECV status=IBV_WC_SUCCESS bytes=64 wr_id=9",
	  "Receives complete in the order of the posts" },
	{ "3 emu0.qp1 packet to=emu1.qp1 op=SEND_ONLY message=3 packet=0 bytes=64 psn=1",
	  "3 emu0.qp1 packet to=emu1.qp1 op=SEND_ONLY message=3 packet=0 bytes=64 psn=0",
	  "packets are numbered in the order of the requests" },
	{ "3 emu0.qp1 packet to=emu1.qp1 op=SEND_ONLY message=3 packet=0 bytes=64 psn=1",
	  "3 emu0.qp1 packet to=emu1.qp1 op=READ_REQUEST message=2 packet=0 bytes=0 psn=1",
	  "packets are numbered in the order of the requests" },
	{ "9 emu0.qp1 event number=IBV_EVENT_QP_ACCESS_ERR", "9 emu0.qp1 heard",
	  "the program gets each event once: emu0.qp1 had no such event" },
};

/* RNR NAKs that a QP gets, whose message then fails, and which it may get: rnr_retry=1. */
#define REFUSED(naks)                                                       \
	"3 emu0.qp2 create type=RC qpn=18 send=cq1 recv=cq1\n" LIMIT        \
	"3 emu0.qp2 post_send bytes=64 segments=1 message=1 wr_id=1\n" naks \
	"3 emu0.qp2 complete op=SEND status=RECEIVER_NOT_READY bytes=0 message=1"
#define LIMIT    "3 emu0.qp2 path rnr_retry=1\n"
#define NO_LIMIT "3 emu0.qp2 path rnr_retry=7\n"
#define RESET    "3 emu0.qp2 state from=ERR to=RESET by=ibv_modify_qp\n"
#define NAK      "3 emu1.qp2 packet to=emu0.qp2 op=RNR_NAK message=1 psn=16777215\n"
#define ACK      "3 emu1.qp2 packet to=emu0.qp2 op=ACK message=1 psn=16777215\n"

static const struct row refusals[] = {
	{ NULL, REFUSED(NAK NAK), NULL },
	{ NULL, REFUSED(NAK), "a QP tries as often as it may after RNR NAKs: emu0.qp2 ends a" },
	{ NULL, REFUSED(NAK ACK NAK), "a QP tries as often as it may after RNR NAKs: emu0.qp2" },
	{ NULL, REFUSED(NAK NAK NAK), "a QP tries no more often than it may after RNR NAKs: emu1" },
	/* Both copies of a request are refused, the second while the requester waits. */
	{ NULL, REFUSED("3 emu0>emu1 duplicate rule=1 op=SEND_ONLY from=emu0.qp2\n" NAK NAK NAK),
	  NULL },
	{ NULL, REFUSED("3 emu0.qp2 retry try=1 message=1 packet=0\n" NAK NAK NAK), NULL },
	/* After a reset a QP may retry without an end, which has no line then. */
	{ NULL, REFUSED(NAK NAK) "\n" RESET NAK NAK NAK "4 emu0.qp2 heard", NULL },
	{ NULL,
	  REFUSED(NAK NAK) "\n" NO_LIMIT NAK NAK NAK NAK NAK NAK NAK NAK NAK "4 emu0.qp2 heard",
	  NULL },
	/* NAKs before a change of the limit, which is possible in SQD, do not count against it. */
	{ NULL, REFUSED(NAK NO_LIMIT NAK NAK NAK NAK LIMIT NAK), NULL },
	{ NULL, REFUSED(NO_LIMIT NAK NAK NAK LIMIT NAK NAK NAK),
	  "a QP tries no more often than it may after RNR NAKs: emu1" },
	{ NULL, REFUSED(NAK NAK) "\n" RESET LIMIT NAK NAK NAK "4 emu0.qp2 heard",
	  "a QP tries no more often than it may after RNR NAKs: emu1" },
};

static void read_lines(struct watch *watch, char text[8192], const struct row *row)
{
	size_t i, n = 0;
	bool found = !row;

	for (i = 0; i < COUNT(lines); i++) {
		bool here = row && strcmp(lines[i], row->old) == 0;

		found |= here;
		n += (size_t)snprintf(text + n, 8192 - n, "%s\n", here ? row->new : lines[i]);
	}
	ck_assert_msg(found, "%s", row ? row->old : "");
	watch_read(watch, text, n);
}

START_TEST(a_trace_as_it_should_be_has_no_violation)
{
	static char text[8192];
	struct watch watch;

	read_lines(&watch, text, NULL);
	ck_assert_str_eq(text_of(&watch.violations), "");
	ck_assert_str_eq(text_of(&watch.left), "");
	watch_free(&watch);
}
END_TEST

START_TEST(each_mistake_is_noticed_by_its_rule)
{
	static char text[8192];
	struct watch watch;

	read_lines(&watch, text, &rows[_i]);
	ck_assert_msg(strstr(text_of(&watch.violations), rows[_i].rule) != NULL, "%s: %s",
		      rows[_i].rule, text_of(&watch.violations));
	watch_free(&watch);
}
END_TEST

#define DATAGRAM(srq)                                                                          \
	"libdat trace 1\n# profile=ib\n0 emu0.qp1 create type=UD qpn=17 send=cq1 recv=cq1" srq \
	"\n1 emu0.qp1 complete op=RECV status=SUCCESS bytes=64 message=1\n"                    \
	"1 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RECV status=IBV_WC_SUCCESS wr_id=8\n"

/* No line says that a datagram takes one. */
START_TEST(a_receive_of_an_srq_is_no_post_of_its_qp)
{
	static const char own[] = DATAGRAM(""), shared[] = DATAGRAM(" srq=srq1");
	struct watch watch;

	watch_read(&watch, own, strlen(own));
	ck_assert_ptr_nonnull(strstr(text_of(&watch.violations), "has none that is posted"));
	watch_free(&watch);
	watch_read(&watch, shared, strlen(shared));
	ck_assert_str_eq(text_of(&watch.violations), "");
	watch_free(&watch);
}
END_TEST

#define KEPT_END                                                                       \
	"0 - note the trace keeps its end (DATSIM_TRACE_LAST): lines before this one " \
	"are missing"

/* Whether the QP that refuses was made before the trace begins or not. */
START_TEST(rnr_naks_are_counted_with_the_retries_of_their_qp)
{
	const struct row *row = &refusals[_i / 2];
	static char text[8192];
	struct watch watch;

	snprintf(text, sizeof(text), "libdat trace 1\n# profile=ib\n%s%s\n",
		 _i % 2 ? KEPT_END "\n" : "", row->new);
	watch_read(&watch, text, strlen(text));
	if (row->rule)
		ck_assert_msg(strstr(text_of(&watch.violations), row->rule) != NULL, "%s: %s",
			      row->rule, text_of(&watch.violations));
	else
		ck_assert_str_eq(text_of(&watch.violations), "");
	watch_free(&watch);
}
END_TEST

/* A rule of faults that changes completions, or a killed process, ends what can be known. */
START_TEST(what_faults_and_killed_processes_change_is_no_violation)
{
	static const struct row spoilt = {
		"4 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=1",
		"4 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=1\n"
		"4 emu0.qp1 fault rule=1001 does=lose at=wc_send\n"
		"4 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_SEND status=IBV_WC_SUCCESS wr_id=7",
		NULL
	};
	static const struct row killed = {
		"4 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=1",
		"4 - note process 77, server, is gone\n"
		"4 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=3",
		NULL
	};
	static char text[8192];
	struct watch watch;

	read_lines(&watch, text, &spoilt);
	ck_assert_str_eq(text_of(&watch.violations), "");
	watch_free(&watch);
	read_lines(&watch, text, &killed);
	ck_assert_str_eq(text_of(&watch.violations), "");
	watch_free(&watch);
}
END_TEST

#define POLLED \
	"8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RECV status=IBV_WC_SUCCESS bytes=64 wr_id=8"
#define PROTECTED \
	"8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RECV status=IBV_WC_LOC_PROT_ERR wr_id=8"
#define LOST "8 - note lost: a Receive of server completes with an error after all, for its ..."

/* One that completed, and whose payload had no place: the program gets an error, once. */
START_TEST(a_receive_may_fail_after_all_if_the_trace_says_so)
{
	static const struct row unsaid = { POLLED, PROTECTED, NULL };
	static const struct row said = { POLLED, LOST "\n" PROTECTED, NULL };
	static const struct row sent = {
		"8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RDMA_READ status=IBV_WC_SUCCESS "
		"wr_id=2",
		LOST "\n8 emu0.qp1 ibv_poll_cq cq=cq1 opcode=IBV_WC_RDMA_READ "
		     "status=IBV_WC_LOC_PROT_ERR wr_id=2",
		NULL
	};
	static char text[8192];
	struct watch watch;

	read_lines(&watch, text, &said);
	ck_assert_str_eq(text_of(&watch.violations), "");
	watch_free(&watch);
	read_lines(&watch, text, &unsaid);
	ck_assert_msg(strstr(text_of(&watch.violations), "completions in order") != NULL, "%s",
		      text_of(&watch.violations));
	watch_free(&watch);
	read_lines(&watch, text, &sent);
	ck_assert_msg(strstr(text_of(&watch.violations), "completions in order") != NULL, "%s",
		      text_of(&watch.violations));
	watch_free(&watch);
}
END_TEST

/* Of a QP that is older than the trace nothing is known, and of a new one all. */
START_TEST(what_was_made_before_a_trace_that_keeps_its_end_is_not_judged)
{
	static char text[8192], noted[8192];
	struct watch watch;
	char *create;

	read_lines(&watch, text, &rows[_i]);
	watch_free(&watch);
	create = strstr(text, "0 emu0.qp1 create");
	snprintf(noted, sizeof(noted), "%.*s" KEPT_END "\n%s", (int)(create - text), text,
		 strchr(create, '\n') + 1);
	watch_read(&watch, noted, strlen(noted));
	ck_assert_str_eq(text_of(&watch.violations), "");
	ck_assert_str_eq(text_of(&watch.left), "");
	watch_free(&watch);
	snprintf(noted, sizeof(noted), "%.*s" KEPT_END "\n%s", (int)(create - text), text, create);
	watch_read(&watch, noted, strlen(noted));
	/* An event may have been queued before. */
	if (strstr(rows[_i].rule, "each event once"))
		ck_assert_str_eq(text_of(&watch.violations), "");
	else
		ck_assert_ptr_nonnull(strstr(text_of(&watch.violations), rows[_i].rule));
	watch_free(&watch);
}
END_TEST

START_TEST(requests_that_never_complete_are_named)
{
	static const struct row lost = {
		"6 emu0.qp1 complete op=SEND status=SUCCESS bytes=64 message=3",
		"6 emu0.qp1 post_send bytes=8 segments=1 message=4", NULL
	};
	static char text[8192];
	struct watch watch;

	read_lines(&watch, text, &lost);
	ck_assert_str_eq(text_of(&watch.violations), "");
	ck_assert_str_eq(text_of(&watch.left),
			 "emu0.qp1 (number 17), 2 requests: SEND wr_id 3, SEND #4\n");
	watch_free(&watch);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("watch");

	tcase_add_test(tcase, a_trace_as_it_should_be_has_no_violation);
	tcase_add_loop_test(tcase, each_mistake_is_noticed_by_its_rule, 0, (int)COUNT(rows));
	tcase_add_test(tcase, a_receive_of_an_srq_is_no_post_of_its_qp);
	tcase_add_loop_test(tcase, rnr_naks_are_counted_with_the_retries_of_their_qp, 0,
			    2 * (int)COUNT(refusals));
	tcase_add_test(tcase, a_receive_may_fail_after_all_if_the_trace_says_so);
	tcase_add_test(tcase, what_faults_and_killed_processes_change_is_no_violation);
	tcase_add_loop_test(tcase, what_was_made_before_a_trace_that_keeps_its_end_is_not_judged, 0,
			    (int)COUNT(rows));
	tcase_add_test(tcase, requests_that_never_complete_are_named);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("watch")
