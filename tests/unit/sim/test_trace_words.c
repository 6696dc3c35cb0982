/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of the trace, by doc/trace.md: posts, answers to requests, buffers that Sends take. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/conf.h"
#include "tests/support/support.h"

static void expect_line(const char *part)
{
	const char *text;
	size_t length;

	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_msg(strstr(text, part) != NULL, "the trace has no \"%s\"", part);
}

static void traced(void)
{
	must(dat_sim_trace(w.sim, DAT_TRUE));
}

START_TEST(each_post_has_its_word_and_its_bytes)
{
	DAT_RMR_HANDLE rmr;

	traced();
	rdma_pair(2, 2);
	rmr = make_rmr(&w.a);
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 1, 11);
	post_write(&w.a, w.a.ep, 2, remote(&w.b, 2, 12));
	post_read(&w.a, w.a.ep, 3, remote(&w.b, 3, 13));
	post_bind(rmr, &w.a, w.a.ep, 4, 14, DAT_MEM_PRIV_REMOTE_READ_FLAG);
	expect_line(" emu0.ep1 post_send bytes=11 segments=1 message=1\n");
	expect_line(" emu0.ep1 post_rdma_write bytes=12 segments=1 message=2\n");
	expect_line(" emu0.ep1 post_rdma_read bytes=13 segments=1 message=3\n");
	expect_line(" emu0.ep1 post_bind bytes=14 message=4\n");
	run_quiet();
	must(dat_rmr_free(rmr));
}
END_TEST

START_TEST(an_event_that_is_dequeued_names_its_object)
{
	DAT_CR_HANDLE cr;

	traced();
	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	expect_line(" dequeue number=CONNECTION_REQUEST object=emu1.cr1\n");
	must(dat_cr_reject(cr));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
}
END_TEST

static const struct setting {
	const char *variable, *value, *line;
} settings[] = {
	{ "DATSIM_LATENCY_NS", "77", "# latency_ns=77\n" },
	{ "DATSIM_BANDWIDTH_BPS", "8000000000", "# bandwidth_bps=8000000000\n" },
	{ "DATSIM_MTU", "512", "# mtu=512\n" },
	{ "DATSIM_RNR_RETRY", "3", "# rnr_retry=3\n" },
	{ "DATSIM_RNR_TIMER_NS", "5555", "# rnr_timer_ns=5555\n" },
	{ "DATSIM_RETRY_TIMER_NS", "4444", "# retry_timer_ns=4444\n" },
};

/* Of all settings, the trace has those that are not the default. */
START_TEST(a_trace_begins_with_the_settings_of_its_fabric)
{
	const struct setting *s = &settings[_i];
	const char *text;
	size_t length;

	setenv(s->variable, s->value, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv(s->variable);
	traced();
	must(dat_sim_trace_read(w.sim, &text, &length));
	ck_assert_ptr_nonnull(strstr(text, s->line));
	for (size_t i = 0; i < COUNT(settings); i++)
		if (i != (size_t)_i)
			ck_assert_ptr_null(strstr(text, settings[i].line));
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
}
END_TEST

/* The lowest free descriptor is the same again. */
START_TEST(a_trace_that_has_ended_keeps_no_descriptor)
{
	int free_before = dup(STDIN_FILENO), free_after;
	char file[64];

	ck_assert_int_ge(free_before, 0);
	close(free_before);
	snprintf(file, sizeof(file), "trace_words.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv("DATSIM_TRACE");
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	ck_assert_int_eq(unlink(file), 0);
	free_after = dup(STDIN_FILENO);
	close(free_after);
	ck_assert_int_eq(free_after, free_before);
}
END_TEST

static int lines_with(const char *part)
{
	const char *text;
	size_t length;
	int n = 0;

	must(dat_sim_trace_read(w.sim, &text, &length));
	while ((text = strstr(text, part)) != NULL) {
		text++;
		n++;
	}
	return n;
}

/* The short ways of posts and dequeues, which write no lines, are not taken from the beginning. */
START_TEST(a_fabric_that_begins_traced_has_a_line_for_each_post_and_each_completion)
{
	char file[64];

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	snprintf(file, sizeof(file), "trace_words.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	must(dat_sim_create(NULL, &w.sim));
	unsetenv("DATSIM_TRACE");
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	for (int i = 0; i < 3; i++)
		post_send(&w.a, w.a.ep, i, 8);
	run_quiet();
	for (int i = 0; i < 3; i++)
		expect_dto(w.b.recv, w.b.ep, i, DAT_DTO_SUCCESS);
	ck_assert_int_eq(lines_with(" emu1.ep1 post_recv "), 3);
	ck_assert_int_eq(lines_with(" emu0.ep1 post_send "), 3);
	ck_assert_int_eq(lines_with(" emu1.ep1 reap op=RECV "), 3);
	unlink(file);
}
END_TEST

START_TEST(a_call_that_is_refused_has_its_type_and_subtype)
{
	traced();
	w.a.ep = plain_ep(&w.a);
	must_fail(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE, ANY_SUBTYPE);
	expect_line(" emu0.ep1 refuse call=dat_ep_disconnect type=DAT_INVALID_STATE "
		    "subtype=DAT_INVALID_STATE_EP_UNCONNECTED\n");
}
END_TEST

START_TEST(a_Send_takes_a_buffer_of_the_queue_that_it_names)
{
	traced();
	srq_pair(8);
	post_srqs(&w.b, 0, 3);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_line(" emu1.ep1 take from=emu1.srq1 message=1 available=2 taken=");
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_line(" srq=emu1.srq1 available=2 outstanding=2\n");
}
END_TEST

START_TEST(a_Send_takes_a_buffer_of_its_Endpoint)
{
	traced();
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 3);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_line(" emu1.ep1 take from=rq message=1 available=2 taken=");
}
END_TEST

START_TEST(the_answer_to_a_request_says_what_it_is)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;

	traced();
	plain_pair();
	expect_line("op=CM_REP psn=");
	ep = plain_ep(&w.a);
	cr = request(ep, &w.b, QUAL);
	must(dat_cr_reject(cr));
	run_quiet();
	expect_line("op=CM_REJ reason=REJECTED");
	must(try_connect(w.a.ep = plain_ep(&w.a), &w.b, QUAL + 1, DAT_TIMEOUT_INFINITE));
	run_quiet();
	expect_line("op=CM_REJ reason=NO_LISTENER");
	must(dat_ep_free(w.a.ep));
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	side_close(&w.b);
	run_quiet();
	expect_line("op=CM_REJ reason=UNREACHABLE");
}
END_TEST

/* A rule about an Endpoint fits the answer to its request, too. */
START_TEST(an_answer_is_for_the_Endpoint_that_asked)
{
	DAT_COUNT to_asker, to_other;
	DAT_EP_HANDLE other = plain_ep(&w.a);

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	to_asker = fault((DAT_SIM_FAULT){ .to_ep = w.a.ep,
					  .packets = DAT_SIM_PACKET_CM,
					  .verdict = DAT_SIM_PASS });
	to_other = fault((DAT_SIM_FAULT){ .to_ep = other,
					  .packets = DAT_SIM_PACKET_CM,
					  .verdict = DAT_SIM_PASS });
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	ck_assert_uint_eq(fired(to_asker), 1);
	ck_assert_uint_eq(fired(to_other), 0);
}
END_TEST

/* ---- its end ---- */

/* Puts a descriptor that cannot be written in the place of the one of this file. */
static void spoil_descriptor(const char *path)
{
	DIR *folder = opendir("/proc/self/fd");
	char name[300], target[4096];
	struct dirent *entry;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_ptr_nonnull(folder);
	while ((entry = readdir(folder)) != NULL) {
		ssize_t n;

		snprintf(name, sizeof(name), "/proc/self/fd/%s", entry->d_name);
		n = readlink(name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (strcmp(target, path) == 0)
			ck_assert_int_ge(dup2(null, atoi(entry->d_name)), 0);
	}
	closedir(folder);
	close(null);
}

START_TEST(a_trace_that_cannot_be_ended_is_told)
{
	char path[] = "/tmp/libdat-trace-XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	setenv("DATSIM_TRACE", path, 1);
	side_open(&w.a, "emu0");
	unsetenv("DATSIM_TRACE");
	spoil_descriptor(path);
	said_start();
	side_close(&w.a);
	ck_assert_said(said_stop(), "cannot end the trace");
	unlink(path);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, each_post_has_its_word_and_its_bytes);
	unit_add(suite, a_trace_begins_with_the_settings_of_its_fabric, (int)COUNT(settings), NULL);
	unit_add(suite, a_trace_that_has_ended_keeps_no_descriptor, 1, NULL);
	unit_test(suite, an_event_that_is_dequeued_names_its_object);
	unit_test(suite, a_call_that_is_refused_has_its_type_and_subtype);
	unit_test(suite, a_Send_takes_a_buffer_of_the_queue_that_it_names);
	unit_test(suite, a_Send_takes_a_buffer_of_its_Endpoint);
	unit_test(suite, the_answer_to_a_request_says_what_it_is);
	unit_test(suite, an_answer_is_for_the_Endpoint_that_asked);
	unit_test_bare(suite,
		       a_fabric_that_begins_traced_has_a_line_for_each_post_and_each_completion);
	unit_test_bare(suite, a_trace_that_cannot_be_ended_is_told);
}

UNIT_SUITE("trace_words")
