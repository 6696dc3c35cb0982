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
	{ LIE_OUTSIDE, MESSAGES, "nothing written beside", "overwritten" },
	{ LIE_BYTES, MESSAGES, "a message with the bytes of one Send, all of them",
	  "one with others" },
	{ LIE_READ,
	  PAIR "a: dat_ep_post_rdma_read(ep, 64, b.mem)\n* a: event request DTO_COMPLETION\n",
	  "the bytes of the peer, read", "other bytes" },
	{ LIE_READ,
	  PAIR "a: dat_ep_post_rdma_write(ep, 64, {mem=b.mem offset=0})\n"
	       "* a: event request DTO_COMPLETION\n"
	       "a: dat_ep_post_rdma_read(ep, 64, {mem=b.mem offset=0})\n"
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
	  "the bytes of the RDMA Write at the peer|nothing written beside a buffer", "" },
	{ LIE_AVAILABLE, MESSAGES, "b.S: available_dto_count=1, as 1 were posted",
	  "b.S: available_dto_count=2" },
	{ LIE_CLOCK, MESSAGES, "the clock never goes back", "the clock at" },
	{ LIE_STATE,
	  PAIR "a: dat_ep_disconnect(ep)\n* a: event connect DISCONNECTED\n"
	       "* b: event connect DISCONNECTED\nend quiet\n",
	  "a change of state that the manual has", "from CONNECTED to RESERVED" },
	{ LIE_FAILED,
	  "use adapter a@emu0\na: dat_ep_create(ia, pz, recv, request, connect) -> ep\n"
	  "a: dat_ep_connect(ep, a, 7, 0us) = DAT_INVALID_PARAMETER\n",
	  "dat_ep_connect fails and changes nothing", "a.ep from UNCONNECTED to DISCONNECTED" },
	{ LIE_OUTSTANDING, MESSAGES, "b.S: outstanding_dto_count=1",
	  "b.S: outstanding_dto_count=2" },
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
	{ LIE_LATE,
	  PAIR POSTED "a: dat_ep_post_send(ep, 64)\nquiet\na: no event request\n"
		      "a: dat_ep_free(ep)\nend quiet\n",
	  "completions of EPs that exist",
	  "Send 1 of a.ep completed for an EP that does not exist" },
	{ LIE_RMR,
	  PAIR "b: dat_rmr_create(pz) -> w\nb: dat_rmr_bind(w, 64, REMOTE_READ, ep)\n"
	       "* b: event request RMR_BIND_COMPLETION\n",
	  "a completion that names the RMR of the bind",
	  "bind 1 of b.ep completed with another RMR" },
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

	if (row->lie != LIE_LOST && row->lie != LIE_UNASKED && row->lie != LIE_LATE) {
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
	tcase_add_test(tcase, the_command_exits_with_3);
	tcase_add_test(tcase, a_sweep_makes_calls_fail_and_notices_the_lie);
	tcase_add_test(tcase, there_is_a_script_for_every_lie);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("checkers")
