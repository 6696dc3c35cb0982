/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checkers of datsim that are always on, each with a lie that it must notice: without the lie
 * the script passes, with it datsim exits with 3 and prints these words.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/checkers/lies.h"
#include "tests/support/support.h"
#include "tools/datsim/commands.h"
#include "tools/datsim/run/run.h"

#define PAIR     "use connected a@emu0 b@emu1 srq=S max=10\n"
#define POSTED   "b: dat_srq_post_recv(S, 64) x4\n"
#define SENT     "a: dat_ep_post_send(ep, 64) x2\n"
#define RECEIVED "* b: event recv DTO_COMPLETION length=64 x2\n"
#define DONE     "* a: event request DTO_COMPLETION x2\nend quiet\n"
#define MESSAGES PAIR POSTED SENT RECEIVED DONE
#define CONNECTED                                                                  \
	"b: dat_psp_create(ia, 7, cr) -> psp\n"                                    \
	"a: dat_ep_create(ia, pz, recv, request, connect) -> ep\n"                 \
	"a: dat_ep_connect(ep, b, 7)\n* b: event cr CONNECTION_REQUEST psp -> c\n" \
	"b: dat_cr_accept(c, ep)\n* a: event connect ESTABLISHED ep\n"             \
	"* b: event connect ESTABLISHED ep\n"
/* Two EPs that the script connects: the checkers find out by themselves which is whose peer. */
#define MET_WITH(attributes)                                                  \
	"use adapter a@emu0 b@emu1\n"                                         \
	"b: dat_srq_create(ia, pz, {max_recv_dtos=4, max_recv_iov=1}) -> S\n" \
	"b: dat_ep_create_with_srq(ia, pz, recv, request, connect, S, "       \
	"{max_request_dtos=4, max_request_iov=1" attributes "}) -> ep\n" POSTED CONNECTED
#define MET_PLAIN                                                  \
	"use adapter a@emu0 b@emu1\n"                              \
	"b: dat_ep_create(ia, pz, recv, request, connect) -> ep\n" \
	"b: dat_ep_post_recv(ep, 64)\n" CONNECTED
#define MET MET_WITH("")
/* The EP that was connected to connects now, to the one of the SRQ. */
#define TURNED                                                                        \
	"use adapter a@emu0 b@emu1\n"                                                 \
	"a: dat_srq_create(ia, pz, {max_recv_dtos=4, max_recv_iov=1}) -> S\n"         \
	"a: dat_ep_create_with_srq(ia, pz, recv, request, connect, S, "               \
	"{max_request_dtos=4, max_request_iov=1}) -> ep\n"                            \
	"a: dat_psp_create(ia, 8, cr) -> psp\na: dat_srq_post_recv(S, 64) x4\n"       \
	"b: dat_ep_create(ia, pz, recv, request, connect) -> ep\n"                    \
	"b: dat_psp_create(ia, 7, cr) -> psp\na: dat_ep_connect(ep, b, 7)\n"          \
	"* b: event cr CONNECTION_REQUEST psp -> c\nb: dat_cr_accept(c, ep)\n"        \
	"* a: event connect ESTABLISHED ep\n* b: event connect ESTABLISHED ep\n"      \
	"a: dat_ep_disconnect(ep)\n* a: event connect DISCONNECTED\n"                 \
	"* b: event connect DISCONNECTED\na: dat_ep_reset(ep)\nb: dat_ep_reset(ep)\n" \
	"b: dat_ep_connect(ep, a, 8)\n* a: event cr CONNECTION_REQUEST psp -> d\n"    \
	"a: dat_cr_accept(d, ep)\n* b: event connect ESTABLISHED ep\n"                \
	"* a: event connect ESTABLISHED ep\n"
/* With both messages arrived, the EP that has taken two Receives goes. */
#define PURGED "* a: event request DTO_COMPLETION x2\nb: dat_ep_free(ep)\n"
#define MESSAGE_OF(size)                                  \
	PAIR POSTED "a: dat_ep_post_send(ep, " size ")\n" \
		    "* b: event recv DTO_COMPLETION\n* a: event request DTO_COMPLETION\n"
#define WRITE_OF(size, room)                                                          \
	PAIR "a: dat_ep_post_rdma_write(ep, " size ", {mem=b.mem length=" room "})\n" \
	     "* a: event request DTO_COMPLETION\n"
#define BIND                                                                         \
	PAIR "b: dat_rmr_create(pz) -> w\nb: dat_rmr_bind(w, 64, REMOTE_READ, ep)\n" \
	     "* b: event request RMR_BIND_COMPLETION\n"
#define WRITES(at) "a: dat_ep_post_rdma_write(ep, 64, {mem=b.mem offset=" at "})\n"
#define BESIDE_ALL "nothing written beside buffers and registered memory"

static const struct row {
	enum lie lie;
	const char *script, *expected, *actual;
} rows[] = {
	{ LIE_TWICE, MESSAGES, "each DTO completes once",
	  "Send 1 of a.ep completed for the second time" },
	{ LIE_LOST, PAIR POSTED SENT RECEIVED "* a: event request DTO_COMPLETION\nend quiet\n",
	  "completions in the order of the posts|each DTO completes once",
	  "Send 1 of a.ep never completes: nothing is pending any more" },
	{ LIE_LOST, MET "a: dat_ep_post_send(ep, 64)\n* b: event recv DTO_COMPLETION\nend quiet\n",
	  "each DTO completes once",
	  "Send 1 of a.ep never completes: nothing is pending any more" },
	{ LIE_SWAPPED, MESSAGES, "completions in the order of the posts",
	  "Send 1 of a.ep completed after one that was posted later" },
	{ LIE_COOKIE, MESSAGES, "a completion with a cookie that was posted",
	  "a completion with one that was not" },
	{ LIE_UNASKED,
	  PAIR POSTED "a: dat_ep_post_send(ep, 64, flags=SUPPRESS)\n"
		      "* b: event recv DTO_COMPLETION\n* a: no event request\nend quiet\n",
	  "no completion of a suppressed request that succeeded",
	  "Send 1 of a.ep completed nevertheless" },
	{ LIE_BESIDE, MESSAGES, "nothing written beside a buffer",
	  "Receive 1 of b.S completed, and" },
	{ LIE_BESIDE, PAIR "b: dat_srq_post_recv(S, 64)\nend\n", BESIDE_ALL, "overwritten" },
	{ LIE_OUTSIDE, MESSAGES, "nothing written beside a buffer", "overwritten" },
	{ LIE_OUTSIDE, "use adapter a@emu0\nend\n", BESIDE_ALL, "overwritten" },
	{ LIE_BYTES, MESSAGES, "a message with the bytes of one Send, all of them",
	  "one with others" },
	{ LIE_BYTES, MESSAGE_OF("4"), "a message with the bytes of one Send, all of them",
	  "one with others" },
	{ LIE_BYTES, MESSAGE_OF("3"), "a message with the bytes that were sent",
	  "one with others" },
	{ LIE_COPIED, MESSAGES, "each message once", "a message for the second time" },
	{ LIE_CROSSED, MESSAGES, "messages in the order of their Sends",
	  "one that was sent earlier" },
	{ LIE_LONG, MESSAGE_OF("64"), "at most as many bytes as the Receive has",
	  "a message of more" },
	{ LIE_READ,
	  PAIR "a: dat_ep_post_rdma_read(ep, 64, b.mem)\n* a: event request DTO_COMPLETION\n",
	  "the bytes of the peer, read", "other bytes" },
	{ LIE_READ,
	  PAIR "a: dat_ep_post_rdma_write(ep, 64, {mem=b.mem offset=0})\n"
	       "* a: event request DTO_COMPLETION\n"
	       "a: dat_ep_post_rdma_read(ep, 64, {mem=b.mem offset=0})\n"
	       "* a: event request DTO_COMPLETION\n",
	  "the bytes of the peer, read", "other bytes" },
	/* Behind what the peer has. */
	{ LIE_READ,
	  PAIR "a: dat_ep_post_rdma_read(ep, 64, {mem=b.mem length=4})\n"
	       "* a: event request DTO_COMPLETION\n",
	  "the bytes of the peer, read", "other bytes" },
	{ LIE_TAKEN, PAIR POSTED SENT "* b: event recv DTO_COMPLETION\n" DONE,
	  "each Receive that was taken completes", "b.S: 1 of those taken never completes" },
	{ LIE_TAKEN,
	  MET_PLAIN "a: dat_ep_post_send(ep, 64)\n* a: event request DTO_COMPLETION\n"
		    "a: dat_ep_disconnect(ep)\n* a: event connect DISCONNECTED\n"
		    "* b: event connect DISCONNECTED\nend\n",
	  "each DTO completes once",
	  "Receive 1 of b.ep never completes: nothing is pending any more" },
	{ LIE_AWAY,
	  PAIR "a: dat_ep_post_rdma_write(ep, 64, b.mem)\n* a: event request DTO_COMPLETION\n",
	  "nothing written beside a buffer", "RDMA Write 1 of a.ep completed, and" },
	{ LIE_AWAY, WRITE_OF("64", "128"), "the bytes of the RDMA Write at the peer",
	  "other bytes" },
	{ LIE_WRITE, WRITE_OF("64", "64"), "the bytes of the RDMA Write at the peer",
	  "other bytes" },
	/* The second one goes beside the first, which it does not change. */
	{ LIE_WRITE, PAIR WRITES("0") WRITES("64") "* a: event request DTO_COMPLETION\n",
	  "the bytes of the RDMA Write at the peer", "other bytes" },
	{ LIE_BEHIND, WRITE_OF("64", "64"), "nothing written beside a buffer",
	  "RDMA Write 1 of a.ep completed, and" },
	{ LIE_BEHIND, WRITE_OF("64", "128"), "the bytes of the RDMA Write at the peer",
	  "other bytes" },
	{ LIE_FAR, WRITE_OF("64", "64"), "nothing written beside a buffer",
	  "RDMA Write 1 of a.ep completed, and" },
	{ LIE_AVAILABLE, MESSAGES, "b.S: available_dto_count=1, as 1 were posted",
	  "b.S: available_dto_count=2" },
	/* One message has come, whose Receive was reaped, or whose Send was. */
	{ LIE_MOST,
	  PAIR POSTED "a: dat_ep_post_send(ep, 64)\n* b: event recv DTO_COMPLETION\n"
		      "b: dat_srq_query(S)\n",
	  "b.S: available_dto_count=3, as 4 were posted, 1 messages sent and 1 reaped",
	  "b.S: available_dto_count=4" },
	{ LIE_MOST,
	  PAIR POSTED "a: dat_ep_post_send(ep, 64)\n* a: event request DTO_COMPLETION\n"
		      "b: dat_srq_query(S)\n",
	  "b.S: available_dto_count=3, as 4 were posted, 1 messages sent and 0 reaped",
	  "b.S: available_dto_count=4" },
	{ LIE_CLOCK, MESSAGES, "the clock never goes back", "the clock at" },
	{ LIE_STATE,
	  PAIR "a: dat_ep_disconnect(ep)\n* a: event connect DISCONNECTED\n"
	       "* b: event connect DISCONNECTED\nend quiet\n",
	  "a change of state that the manual has", "from CONNECTED to RESERVED" },
	/* The checkers look at every EP, also at one that no call names. */
	{ LIE_STATE,
	  "use connected a@emu0 b@emu1 eps=2 srq=S max=10\n" POSTED
	  "a: dat_ep_post_send(ep2, 64)\na: dat_ep_disconnect(ep2, GRACEFUL)\nquiet\n",
	  "a change of state that the manual has", "ep2 from" },
	{ LIE_JUMP,
	  "use adapter a@emu0\na: dat_ep_create(ia, pz, recv, request, connect) -> ep\n"
	  "a: dat_ep_connect(ep, a, 7)\n",
	  "a change of state that the manual has",
	  "a.ep from UNCONNECTED to RESERVED by dat_ep_connect" },
	{ LIE_FAILED,
	  "use adapter a@emu0\na: dat_ep_create(ia, pz, recv, request, connect) -> ep\n"
	  "a: dat_ep_connect(ep, a, 7, 0us) = DAT_INVALID_PARAMETER\n",
	  "dat_ep_connect fails and changes nothing", "a.ep from UNCONNECTED to DISCONNECTED" },
	{ LIE_OUTSTANDING, MESSAGES, "b.S: outstanding_dto_count=1",
	  "b.S: outstanding_dto_count=2" },
	{ LIE_OUTSTANDING, "use connected a@emu0 b@emu1 srq=S max=10 qlen=8\n" POSTED,
	  "b.S: outstanding_dto_count=1", "b.S: outstanding_dto_count=2" },
	{ LIE_KEPT, PAIR POSTED SENT "quiet\n" PURGED, "b.S: outstanding_dto_count=2",
	  "b.S: outstanding_dto_count=3" },
	{ LIE_GONE, PAIR POSTED SENT "quiet\n" PURGED, "b.S: outstanding_dto_count=2",
	  "b.S: outstanding_dto_count=1" },
	{ LIE_KEPT, PAIR POSTED SENT "* b: event recv DTO_COMPLETION\nquiet\n" PURGED,
	  "b.S: outstanding_dto_count=2", "b.S: outstanding_dto_count=3" },
	{ LIE_GONE, PAIR POSTED SENT "* b: event recv DTO_COMPLETION\nquiet\n" PURGED,
	  "b.S: outstanding_dto_count=2", "b.S: outstanding_dto_count=1" },
	{ LIE_MAX, PAIR POSTED, "max_recv_dtos=10, low_watermark=0, as they were set",
	  "max_recv_dtos=11, low_watermark=0" },
	{ LIE_LOW, PAIR POSTED, "max_recv_dtos=10, low_watermark=0, as they were set",
	  "max_recv_dtos=10, low_watermark=1" },
	{ LIE_LACKING, TURNED "b: dat_ep_post_send(ep, 64) x2\nquiet\n",
	  "a.S: available_dto_count=2 to 4, as 4 were posted", "a.S: available_dto_count=1" },
	{ LIE_LACKING, MET SENT "quiet\n" RECEIVED DONE,
	  "b.S: available_dto_count=2 to 4, as 4 were posted", "b.S: available_dto_count=1" },
	{ LIE_MARK, PAIR "b: dat_srq_set_lw(S, 1)\nb: event async SRQ_LOW_WATERMARK S\nend quiet\n",
	  "one event for each setting of a low watermark (ruling L3)",
	  "SRQ_LOW_WATERMARK once more" },
	{ LIE_MARK,
	  PAIR POSTED "b: dat_ep_set_watermark(ep, 0, INFINITE)\na: dat_ep_post_send(ep, 64)\n"
		      "* b: event async EP_SOFT_HIGH_WATERMARK ep\nend quiet\n",
	  "one event for each setting of a soft high watermark (ruling H2)",
	  "EP_SOFT_HIGH_WATERMARK once more" },
	{ LIE_MARK,
	  MET_WITH(", srq_soft_hw=1") SENT
	  "* b: event async EP_SOFT_HIGH_WATERMARK ep\nend quiet\n",
	  "one event for each setting of a soft high watermark (ruling H2)",
	  "EP_SOFT_HIGH_WATERMARK once more" },
	{ LIE_REASON,
	  PAIR "b: dat_srq_set_lw(S, 1)\nb: event async SRQ_LOW_WATERMARK S\nend quiet\n",
	  "the reason that goes with the event (ruling W1)", "reason=1" },
	{ LIE_REASON,
	  PAIR POSTED "b: dat_ep_set_watermark(ep, 0, INFINITE)\na: dat_ep_post_send(ep, 64)\n"
		      "* b: event async EP_SOFT_HIGH_WATERMARK ep\nend quiet\n",
	  "the reason that goes with the event (ruling W1)", "reason=1" },
	{ LIE_LATE,
	  PAIR POSTED "a: dat_ep_post_send(ep, 64)\nquiet\na: no event request\n"
		      "a: dat_ep_free(ep)\nend quiet\n",
	  "completions of EPs that exist",
	  "Send 1 of a.ep completed for an EP that does not exist" },
	{ LIE_RMR, BIND, "a completion that names the RMR of the bind",
	  "bind 1 of b.ep completed with another RMR" },
	{ LIE_EP,
	  "use connected a@emu0 b@emu1 eps=2 srq=S max=10\n" POSTED
	  "a: dat_ep_post_send(ep, 64)\n* a: event request DTO_COMPLETION\n"
	  "a: dat_ep_post_send(ep2, 64)\n* a: event request DTO_COMPLETION\n",
	  "a completion for the EP it was posted to", "Send 1 of a.ep2 completed for another EP" },
	{ LIE_ELSEWHERE,
	  PAIR POSTED "a: dat_ep_post_send(ep, 64)\nquiet\na: no event request\n"
		      "* a: event recv DTO_COMPLETION\n",
	  "a completion on its own EVD", "Send 1 of a.ep completed on another EVD" },
	{ LIE_AS_BIND, MESSAGES, "DTO_COMPLETION for what is no bind",
	  "Receive 1 of b.S completed as a bind" },
	{ LIE_AS_DTO, BIND, "RMR_BIND_COMPLETION for a bind", "bind 1 of b.ep completed as a DTO" },
	{ LIE_EVD, MESSAGES, "evd_handle of the EVD it came from", "NULL" },
	{ LIE_CLASS, PAIR "b: dat_srq_resize(S, 0) = DAT_INVALID_PARAMETER\n",
	  "DAT_CLASS_ERROR | type | subtype", "dat_srq_resize returned 0x00060000" },
	{ LIE_OUTPUT, "use adapter a@emu0\na: dat_pz_create(garbage) = DAT_INVALID_HANDLE\n",
	  "dat_pz_create fails and writes no output", "it wrote pz_handle" },
	{ LIE_SILENT, "use adapter a@emu0\na: dat_get_handle_type(pz) -> {handle_type=PZ}\n",
	  "dat_get_handle_type succeeds and writes its outputs", "it did not write handle_type" },
	{ LIE_LEFT, "use adapter a@emu0\nend quiet\n", "no object left", "left" },
	{ LIE_STUCK, "use adapter a@emu0\nend quiet\n", "everything can be freed at the end",
	  "stale(a.pz) cannot: DAT_INVALID_STATE" },
};

/*
 * Does the first line of the report that begins with `line` contain one of `wanted`, divided by |?
 */
static bool says(const char *report, const char *line, const char *wanted)
{
	const char *at = strstr(report, line), *end, *next;
	char text[512], one[128];

	if (!at)
		return !*wanted;
	end = strchr(at, '\n');
	snprintf(text, sizeof(text), "%.*s", (int)(end - at), at);
	for (; wanted; wanted = next) {
		next = strchr(wanted, '|');
		if (next && strchr(wanted, ' ') && strstr(wanted, " | "))
			next = NULL; /* flags, not alternatives */
		snprintf(one, sizeof(one), "%.*s", next ? (int)(next - wanted) : 127, wanted);
		if (strstr(text, one))
			return true;
		next = next ? next + 1 : NULL;
	}
	return false;
}

static void run(enum lie lie, const char *script, struct verdict *verdict)
{
	static const struct options options;

	lie_begin(lie);
	run_text("lie.dsim", script, strlen(script), &options, verdict);
	lie_begin(LIE_NONE);
}

START_TEST(each_lie_is_noticed_and_nothing_else_is)
{
	const struct row *row = &rows[_i];
	struct verdict verdict;

	if (row->lie != LIE_LOST && row->lie != LIE_UNASKED && row->lie != LIE_LATE &&
	    row->lie != LIE_ELSEWHERE) {
		run(LIE_NONE, row->script, &verdict);
		ck_assert_msg(verdict.code == EXIT_PASS, "%s", text_of(&verdict.report));
		verdict_free(&verdict);
	}
	run(row->lie, row->script, &verdict);
	ck_assert_msg(verdict.code == EXIT_CHECKER, "lie %d: code %d\n%s", (int)row->lie,
		      (int)verdict.code, text_of(&verdict.report));
	ck_assert_msg(says(text_of(&verdict.report), "expected: ", row->expected) &&
			      says(text_of(&verdict.report), "actual: ", row->actual),
		      "lie %d:\n%s", (int)row->lie, text_of(&verdict.report));
	verdict_free(&verdict);
}
END_TEST

/* Another connection of the EP begins without the messages of the one before. */
#define AGAIN                                                                              \
	MET SENT "* a: event request DTO_COMPLETION x2\na: dat_ep_disconnect(ep)\n"        \
		 "* a: event connect DISCONNECTED\n* b: event connect DISCONNECTED\n"      \
		 "a: dat_ep_reset(ep)\nb: dat_ep_reset(ep)\na: dat_ep_connect(ep, b, 7)\n" \
		 "* b: event cr CONNECTION_REQUEST psp -> d\nb: dat_cr_accept(d, ep)\n"    \
		 "* a: event connect ESTABLISHED ep\n* b: event connect ESTABLISHED ep\n"  \
		 "a: dat_ep_post_send(ep, 64)\n* a: event request DTO_COMPLETION\n"        \
		 "b: dat_ep_free(ep)\nend quiet\n"
/* Each of two EPs has its own SRQ, and the one that connects first is not the first. */
#define BESIDE(n)                                                                  \
	"b: dat_srq_create(ia, pz, {max_recv_dtos=4, max_recv_iov=1}) -> S" n "\n" \
	"b: dat_ep_create_with_srq(ia, pz, recv, request, connect, S" n            \
	", {max_request_dtos=4, max_request_iov=1}) -> e" n "\n"                   \
	"b: dat_srq_post_recv(S" n ", 64) x4\n"                                    \
	"a: dat_ep_create(ia, pz, recv, request, connect) -> e" n "\n"
#define MEET(n)                                                                             \
	"a: dat_ep_connect(e" n ", b, 7)\n* b: event cr CONNECTION_REQUEST psp -> c" n "\n" \
	"b: dat_cr_accept(c" n ", e" n ")\n* a: event connect ESTABLISHED\n"                \
	"* b: event connect ESTABLISHED\n"
#define TWO_QUEUES                                                                                 \
	"use adapter a@emu0 b@emu1\nb: dat_psp_create(ia, 7, cr) -> psp\n" BESIDE("1") BESIDE("2") \
		MEET("2") MEET("1") "a: dat_ep_post_send(e1, 64)\nquiet\n"                         \
				    "a: dat_ep_post_send(e2, 64) x2\nquiet\nend quiet\n"

/* Memory for 15 buffers is enough for any number, of completed DTOs and refused ones. */
#define ROUND                                                          \
	"b: dat_srq_post_recv(S, 256)\na: dat_ep_post_send(ep, 256)\n" \
	"* b: event recv DTO_COMPLETION\n* a: event request DTO_COMPLETION\n"
#define FIVE ROUND ROUND ROUND ROUND ROUND
#define REUSED                                                                      \
	"use connected a@emu0 b@emu1 srq=S max=1 memory=4096\n" FIVE FIVE FIVE FIVE \
	"b: dat_srq_post_recv(S, 256)\nb: dat_srq_post_recv(S, 256) "               \
	"= DAT_INSUFFICIENT_RESOURCES x40\n"
/* The first is checked when the second has changed what it wrote. */
#define REWRITTEN PAIR WRITES("0") WRITES("0") "quiet\n* a: event request DTO_COMPLETION x2\n"

static const char *const truths[] = { AGAIN, TWO_QUEUES, REUSED, REWRITTEN };

START_TEST(what_is_right_is_no_fault)
{
	struct verdict verdict;

	run(LIE_NONE, truths[_i], &verdict);
	ck_assert_msg(verdict.code == EXIT_PASS, "%s", text_of(&verdict.report));
	verdict_free(&verdict);
}
END_TEST

/* Both Sends take the same bytes, which the tool writes before each post. */
START_TEST(a_program_that_changes_a_posted_buffer_is_noticed)
{
	static const char script[] =
		"fabric watch=posted\n" PAIR POSTED
		"a: dat_ep_post_send(ep, [{mem=mem offset=0 length=64}]) x2\nquiet\n";
	struct verdict verdict;

	run(LIE_NONE, script, &verdict);
	ck_assert_int_eq(verdict.code, EXIT_CHECKER);
	ck_assert_msg(strstr(text_of(&verdict.report), "no buffer changed by the program") != NULL,
		      "%s", text_of(&verdict.report));
	verdict_free(&verdict);
}
END_TEST

/* Its output must not mix with this test's TAP. */
static int command_in_silence(int (*command)(char **), char **argv)
{
	int out, null, code;

	fflush(stdout);
	out = dup(STDOUT_FILENO);
	null = open("/dev/null", O_WRONLY);
	ck_assert(out >= 0 && null >= 0 && dup2(null, STDOUT_FILENO) >= 0);
	code = command(argv);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	close(null);
	return code;
}

START_TEST(the_command_exits_with_3)
{
	char name[] = "lieXXXXXX", test[] = "test", *argv[] = { test, name, NULL };
	int file = mkstemp(name);

	ck_assert(file >= 0);
	ck_assert_int_eq(write(file, MESSAGES, strlen(MESSAGES)), (int)strlen(MESSAGES));
	close(file);
	lie_begin(LIE_NONE);
	ck_assert_int_eq(command_in_silence(command_test.run, argv), EXIT_PASS);
	lie_begin(LIE_TWICE);
	ck_assert_int_eq(command_in_silence(command_test.run, argv), 3);
	lie_begin(LIE_NONE);
	unlink(name);
}
END_TEST

/* Only a call that fails shows this lie, and each call of the script succeeds. */
START_TEST(a_sweep_makes_calls_fail_and_notices_the_lie)
{
	static const char script[] = "use adapter a@emu0\na: dat_pz_create(ia) -> pz2\n";
	char name[] = "sweep-XXXXXX.dsim", word[][8] = { "sweep", "--nth", "alloc" };
	char *argv[] = { word[0], word[1], word[2], name, NULL };
	int file = mkstemps(name, 5);

	ck_assert(file >= 0);
	ck_assert_int_eq(write(file, script, sizeof(script) - 1), (int)sizeof(script) - 1);
	close(file);
	lie_begin(LIE_NONE);
	ck_assert_int_eq(command_in_silence(command_sweep.run, argv), EXIT_PASS);
	lie_begin(LIE_OUTPUT);
	ck_assert_int_eq(command_in_silence(command_sweep.run, argv), EXIT_CHECKER);
	lie_begin(LIE_NONE);
	unlink(name);
}
END_TEST

START_TEST(there_is_a_script_for_every_lie)
{
	bool has[LIE_COUNT] = { [LIE_NONE] = true };
	size_t i;

	for (i = 0; i < COUNT(rows); i++)
		has[rows[i].lie] = true;
	for (i = 0; i < LIE_COUNT; i++)
		ck_assert_msg(has[i], "lie %zu is told nowhere", i);
}
END_TEST

/*
 * Without fixtures: a script creates its own fabric, and runs traced and untraced.
 */
static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("lies");

	tcase_add_loop_test(tcase, each_lie_is_noticed_and_nothing_else_is, 0, (int)COUNT(rows));
	tcase_add_loop_test(tcase, what_is_right_is_no_fault, 0, (int)COUNT(truths));
	tcase_add_test(tcase, a_program_that_changes_a_posted_buffer_is_noticed);
	tcase_add_test(tcase, the_command_exits_with_3);
	tcase_add_test(tcase, a_sweep_makes_calls_fail_and_notices_the_lie);
	tcase_add_test(tcase, there_is_a_script_for_every_lie);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("checkers")
