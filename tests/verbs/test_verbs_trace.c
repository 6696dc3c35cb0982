/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the trace of a fabric says of the work of verbs programs: the kind of each request, packet
 * and completion, and the two ends of each packet, in the order in which they come.
 */
#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/asleep.h"
#include "tests/support/support.h"
#include "verbs_pair.h"

static struct verbs_end a, b;
static char file[64];

/* A packet for each line: a rule that never acts observes single packets. */
static const char no_fault[] = "packets=SEND  nth=1000000 verdict=drop ; ";

static void begin_traced(enum ibv_qp_type type, const char *faults)
{
	snprintf(file, sizeof(file), "verbs_trace.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	setenv("DATSIM_FAULTS", faults, 1);
	verbs_begin_of(&a, &b, type);
}

/* With small internal limits connections begin with another PSN, as long as the usual one. */
static void make_psn_usual(char *line)
{
#ifdef LIBDAT_SMALL_LIMITS
	char *at = strstr(line, " psn="), digits[16];

	if (!at)
		return;
	snprintf(digits, sizeof(digits), "%8ld", strtol(at + 5, NULL, 10) + 16);
	memcpy(at + 5, digits, 8);
#else
	(void)line;
#endif
}

/* Ends the fabric; then the trace of what the queue pairs did is this. */
static void expect_trace(const char *expected)
{
	static const char *const words[] = { " rule is=",      ".qp1 post_",     ".qp1 packet ",
					     ".qp1 complete ", ".qp1 ignore ",   ".qp1 retry ",
					     " drop rule=",    ".srq1 ibv_post_" };
	char line[1024], done[4096] = "";
	FILE *trace;

	verbs_end_all(&a, &b);
	unsetenv("DATSIM_FAULTS");
	unsetenv("DATSIM_TRACE");
	trace = fopen(file, "r");
	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace)) {
		make_psn_usual(line);
		for (size_t i = 0; i < COUNT(words); i++)
			if (strstr(line, words[i]))
				strncat(done, line, sizeof(done) - strlen(done) - 1);
	}
	fclose(trace);
	unlink(file);
	ck_assert_str_eq(done, expected);
}

static int post_atomic(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 8, a.mr->lkey };
	struct ibv_send_wr wr = verbs_wr(&b, opcode, &sge), *bad;

	wr.wr.atomic.remote_addr = (uintptr_t)b.buffer;
	wr.wr.atomic.rkey = b.mr->rkey;
	wr.wr.atomic.compare_add = 1;
	return ibv_post_send(a.qp, &wr, &bad);
}

static void await(struct verbs_end *end)
{
	struct ibv_wc wc;

	ck_assert(verbs_poll(end, &wc));
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
}

START_TEST(requests_that_are_answered)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_READ };

	begin_traced(IBV_QPT_RC, no_fault);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	for (size_t i = 0; i < COUNT(opcodes); i++) {
		ck_assert_int_eq(verbs_send(&a, &b, opcodes[i], 8, 0), 0);
		await(&a);
	}
	ck_assert_int_eq(post_atomic(IBV_WR_ATOMIC_CMP_AND_SWP), 0);
	await(&a);
	ck_assert_int_eq(post_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD), 0);
	await(&a);
	expect_trace("0 - rule is=1 packets=SEND nth=1000000 verdict=drop\n"
		     "0 emu0.qp1 post_send bytes=8 segments=1 message=1 wr_id=1\n"
		     "1000 emu0.qp1 packet to=emu1.qp1 op=SEND_ONLY message=1 packet=0 bytes=8 "
		     "psn=16777200\n"
		     "1000 emu1.qp1 complete op=RECV status=SUCCESS bytes=8 message=1\n"
		     "2000 emu1.qp1 packet to=emu0.qp1 op=ACK message=1 psn=16777200\n"
		     "2000 emu0.qp1 complete op=SEND status=SUCCESS bytes=8 message=1\n"
		     "2000 emu0.qp1 post_rdma_write bytes=8 segments=1 message=2 rkey=513 wr_id=1\n"
		     "3000 emu0.qp1 packet to=emu1.qp1 op=WRITE_ONLY message=2 packet=0 bytes=8 "
		     "psn=16777201\n"
		     "4000 emu1.qp1 packet to=emu0.qp1 op=ACK message=2 psn=16777201\n"
		     "4000 emu0.qp1 complete op=RDMA_WRITE status=SUCCESS bytes=8 message=2\n"
		     "4000 emu0.qp1 post_rdma_read bytes=8 segments=1 message=3 rkey=513 wr_id=1\n"
		     "5000 emu0.qp1 packet to=emu1.qp1 op=READ_REQUEST message=3 packet=0 bytes=0 "
		     "psn=16777202\n"
		     "6000 emu1.qp1 packet to=emu0.qp1 op=READ_RESPONSE_ONLY message=3 packet=0 "
		     "bytes=8 psn=16777202\n"
		     "6000 emu0.qp1 complete op=RDMA_READ status=SUCCESS bytes=8 message=3\n"
		     "6000 emu0.qp1 post_compare_swap bytes=8 segments=1 message=4 rkey=513 "
		     "compare=1 swap=0 wr_id=1\n"
		     "7000 emu0.qp1 packet to=emu1.qp1 op=COMPARE_SWAP message=4 packet=0 bytes=0 "
		     "psn=16777203\n"
		     "8000 emu1.qp1 packet to=emu0.qp1 op=ATOMIC_RESPONSE message=4 packet=0 "
		     "bytes=8 psn=16777203\n"
		     "8000 emu0.qp1 complete op=COMPARE_SWAP status=SUCCESS bytes=8 message=4\n"
		     "8000 emu0.qp1 post_fetch_add bytes=8 segments=1 message=5 rkey=513 add=1 "
		     "wr_id=1\n"
		     "9000 emu0.qp1 packet to=emu1.qp1 op=FETCH_ADD message=5 packet=0 bytes=0 "
		     "psn=16777204\n"
		     "10000 emu1.qp1 packet to=emu0.qp1 op=ATOMIC_RESPONSE message=5 packet=0 "
		     "bytes=8 psn=16777204\n"
		     "10000 emu0.qp1 complete op=FETCH_ADD status=SUCCESS bytes=8 message=5\n");
}
END_TEST

/* Lines of the file with these words, one after the other, without their times. */
static void expect_lines(const char *words, const char *expected)
{
	char line[1024], done[4096] = "";
	FILE *trace = fopen(file, "r");

	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace))
		if (strstr(line, words))
			strncat(done, strchr(line, ' '), sizeof(done) - strlen(done) - 1);
	fclose(trace);
	ck_assert_str_eq(done, expected);
}

/* The short posts have the region of the post before; the others take another way. */
START_TEST(each_post_has_its_line_whatever_region_it_is_of)
{
	struct ibv_mr *ours, *mine, *regions[2];

	snprintf(file, sizeof(file), "verbs_trace.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	verbs_begin(&a, &b);
	unsetenv("DATSIM_TRACE");
	mine = a.mr;
	regions[0] = b.mr;
	ours = ibv_reg_mr(b.pd, b.buffer, BUFFER, IBV_ACCESS_LOCAL_WRITE);
	regions[1] = ours;
	ck_assert_ptr_nonnull(ours);
	for (uint32_t i = 0; i < 6; i++) {
		b.mr = regions[i / 2 % 2];
		ck_assert_int_eq(verbs_recv(&b, i, 0, 64 + i), 0);
	}
	b.mr = regions[0];
	ck_assert_int_eq(ibv_dereg_mr(ours), 0);
	ours = ibv_reg_mr(a.pd, a.buffer, BUFFER, 0);
	ck_assert_ptr_nonnull(ours);
	for (uint32_t i = 0; i < 4; i++) {
		a.mr = i / 2 % 2 ? ours : mine;
		ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND, 8 + i, 0), 0);
	}
	a.mr = mine;
	ck_assert_int_eq(ibv_dereg_mr(ours), 0);
	verbs_end_all(&a, &b);
	expect_lines(" ibv_post_recv ", " emu1.qp1 ibv_post_recv bytes=64 segments=1 wr_id=0\n"
					" emu1.qp1 ibv_post_recv bytes=65 segments=1 wr_id=1\n"
					" emu1.qp1 ibv_post_recv bytes=66 segments=1 wr_id=2\n"
					" emu1.qp1 ibv_post_recv bytes=67 segments=1 wr_id=3\n"
					" emu1.qp1 ibv_post_recv bytes=68 segments=1 wr_id=4\n"
					" emu1.qp1 ibv_post_recv bytes=69 segments=1 wr_id=5\n");
	expect_lines(" post_send ", " emu0.qp1 post_send bytes=8 segments=1 message=1 wr_id=1\n"
				    " emu0.qp1 post_send bytes=9 segments=1 message=2 wr_id=1\n"
				    " emu0.qp1 post_send bytes=10 segments=1 message=3 wr_id=1\n"
				    " emu0.qp1 post_send bytes=11 segments=1 message=4 wr_id=1\n");
	unlink(file);
}
END_TEST

START_TEST(an_atomic_that_is_lost_and_sent_again)
{
	begin_traced(IBV_QPT_RC, "packets=READ_REQUEST nth=1 verdict=drop");
	ck_assert_int_eq(post_atomic(IBV_WR_ATOMIC_CMP_AND_SWP), 0);
	await(&a);
	ck_assert_int_eq(post_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD), 0);
	await(&a);
	expect_trace("0 - rule is=1 packets=READ_REQUEST nth=1 verdict=drop\n"
		     "0 emu0.qp1 post_compare_swap bytes=8 segments=1 message=1 rkey=513 compare=1 "
		     "swap=0 wr_id=1\n"
		     "1000 emu0>emu1 drop rule=1 op=COMPARE_SWAP from=emu0.qp1 to=emu1.qp1 "
		     "message=1 packet=0 psn=16777200\n"
		     "9192 emu0.qp1 retry try=1 message=1 packet=0\n"
		     "10192 emu0.qp1 packet to=emu1.qp1 op=COMPARE_SWAP message=1 packet=0 bytes=0 "
		     "psn=16777200\n"
		     "11192 emu1.qp1 packet to=emu0.qp1 op=ATOMIC_RESPONSE message=1 packet=0 "
		     "bytes=8 psn=16777200\n"
		     "11192 emu0.qp1 complete op=COMPARE_SWAP status=SUCCESS bytes=8 message=1\n"
		     "11192 emu0.qp1 post_fetch_add bytes=8 segments=1 message=2 rkey=513 add=1 "
		     "wr_id=1\n"
		     "12192 emu0.qp1 packet to=emu1.qp1 op=FETCH_ADD message=2 packet=0 bytes=0 "
		     "psn=16777201\n"
		     "13192 emu1.qp1 packet to=emu0.qp1 op=ATOMIC_RESPONSE message=2 packet=0 "
		     "bytes=8 psn=16777201\n"
		     "13192 emu0.qp1 complete op=FETCH_ADD status=SUCCESS bytes=8 message=2\n");
}
END_TEST

/* The second message finds no Receive. */
START_TEST(requests_that_are_not_answered)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_SEND, IBV_WR_RDMA_WRITE };

	begin_traced(IBV_QPT_UC, no_fault);
	ck_assert_int_eq(verbs_recv(&b, 1, 0, 64), 0);
	for (size_t i = 0; i < COUNT(opcodes); i++) {
		ck_assert_int_eq(verbs_send(&a, &b, opcodes[i], 8, 0), 0);
		await(&a);
	}
	await(&b);
	expect_trace("0 - rule is=1 packets=SEND nth=1000000 verdict=drop\n"
		     "0 emu0.qp1 post_send bytes=8 segments=1 message=1 wr_id=1\n"
		     "1000 emu0.qp1 packet to=emu1.qp1 op=UC_SEND_ONLY message=1 packet=0 bytes=8 "
		     "psn=16777200\n"
		     "1000 emu1.qp1 complete op=RECV status=SUCCESS bytes=8 message=1\n"
		     "1000 emu0.qp1 complete op=SEND status=SUCCESS bytes=8 message=1\n"
		     "1000 emu0.qp1 post_send bytes=8 segments=1 message=2 wr_id=1\n"
		     "2000 emu0.qp1 packet to=emu1.qp1 op=UC_SEND_ONLY message=2 packet=0 bytes=8 "
		     "psn=16777201\n"
		     "2000 emu1.qp1 ignore at=NO_RECEIVE message=2 packet=0 psn=16777201\n"
		     "2000 emu0.qp1 complete op=SEND status=SUCCESS bytes=8 message=2\n"
		     "2000 emu0.qp1 post_rdma_write bytes=8 segments=1 message=3 rkey=513 wr_id=1\n"
		     "3000 emu0.qp1 packet to=emu1.qp1 op=UC_WRITE_ONLY message=3 packet=0 bytes=8 "
		     "psn=16777202\n"
		     "3000 emu0.qp1 complete op=RDMA_WRITE status=SUCCESS bytes=8 message=3\n");
}
END_TEST

static int post_to_srq(uint64_t wr_id, int segments)
{
	struct ibv_sge sge[] = { { (uintptr_t)b.buffer, 64, b.mr->lkey },
				 { (uintptr_t)b.buffer + 64, 36, b.mr->lkey } };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = segments }, *bad;

	return ibv_post_srq_recv(b.srq, &wr, &bad);
}

/* A number that needs more than 32 bits is probably an address, and is left out. */
START_TEST(Receives_that_an_SRQ_gets)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 2 } };

	begin_traced(IBV_QPT_RC, no_fault);
	b.srq = ibv_create_srq(b.pd, &attr);
	ck_assert_ptr_nonnull(b.srq);
	ck_assert_int_eq(post_to_srq(7, 1), 0);
	ck_assert_int_eq(post_to_srq(9, 2), 0);
	ck_assert_int_eq(post_to_srq(UINT32_MAX, 1), 0);
	ck_assert_int_eq(post_to_srq(1ull << 32, 1), 0);
	ck_assert_int_eq(post_to_srq(11, 0), 0);
	expect_trace("0 - rule is=1 packets=SEND nth=1000000 verdict=drop\n"
		     "0 emu1.srq1 ibv_post_srq_recv bytes=64 segments=1 available=1 wr_id=7\n"
		     "0 emu1.srq1 ibv_post_srq_recv bytes=100 segments=2 available=2 wr_id=9\n"
		     "0 emu1.srq1 ibv_post_srq_recv bytes=64 segments=1 available=3 "
		     "wr_id=4294967295\n"
		     "0 emu1.srq1 ibv_post_srq_recv bytes=64 segments=1 available=4\n"
		     "0 emu1.srq1 ibv_post_srq_recv bytes=0 segments=0 available=5 wr_id=11\n");
}
END_TEST

/* More text than what a trace begins with. */
static void ask_often(struct ibv_context *context)
{
	struct ibv_device_attr attr;

	for (int i = 0; i < 4000; i++)
		ck_assert_int_eq(ibv_query_device(context, &attr), 0);
}

static pid_t use_device_in_child(void)
{
	struct ibv_device **list;
	struct ibv_context *own;
	pid_t child = fork();

	if (child)
		return child;
	list = ibv_get_device_list(NULL);
	own = list && list[0] ? ibv_open_device(list[0]) : NULL;
	_exit(own && ibv_close_device(own) == 0 ? 0 : 1);
}

START_TEST(a_forked_child_leaves_the_trace_to_its_parent)
{
	char line[1024], first[1024] = "", last[1024] = "";
	int status, n = 0;
	FILE *trace;
	pid_t child;

	begin_traced(IBV_QPT_RC, no_fault);
	ask_often(a.context);
	child = use_device_in_child();
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ask_often(a.context);
	verbs_end_all(&a, &b);
	trace = fopen(file, "r");
	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace)) {
		n += strstr(line, " ibv_query_device\n") != NULL;
		memcpy(*first ? last : first, line, sizeof(line));
	}
	fclose(trace);
	unlink(file);
	ck_assert_str_eq(first, "libdat trace 1\n");
	ck_assert_int_eq(n, 8000);
	ck_assert_int_eq(strncmp(last, "# end lines=", 12), 0);
}
END_TEST

/* Bind b's window to its buffer; its key. */
static uint32_t bind_window(struct ibv_mw *mw, struct ibv_mr *mr)
{
	struct ibv_send_wr wr = { .wr_id = 4, .opcode = IBV_WR_BIND_MW }, *bad;

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){ .mr = mr,
					   .addr = (uintptr_t)b.buffer,
					   .length = 64,
					   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	ck_assert_int_eq(ibv_post_send(b.qp, &wr, &bad), 0);
	return wr.bind_mw.rkey;
}

START_TEST(a_completion_has_what_came_with_its_message)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV }, *bad;
	char line[1024], done[1024] = "", expected[512];
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	FILE *trace;

	begin_traced(IBV_QPT_RC, no_fault);
	mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_2);
	mr = ibv_reg_mr(b.pd, b.buffer, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	for (uint64_t id = 2; id <= 3; id++)
		ck_assert_int_eq(verbs_recv(&b, id, 1024, 64), 0);
	wr.invalidate_rkey = bind_window(mw, mr);
	ck_assert_int_eq(verbs_send(&a, &b, IBV_WR_SEND_WITH_IMM, 8, 0), 0);
	ck_assert_int_eq(ibv_post_send(a.qp, &wr, &bad), 0);
	for (int i = 0; i < 2; i++)
		ck_assert(verbs_poll(&b, &wc));
	ck_assert_int_eq(ibv_dealloc_mw(mw), 0);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	verbs_end_all(&a, &b);
	trace = fopen(file, "r");
	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace))
		if (strstr(line, "emu1.qp1 ibv_poll_cq"))
			strncat(done, strstr(line, " status="), sizeof(done) - strlen(done) - 1);
	fclose(trace);
	unlink(file);
	snprintf(expected, sizeof(expected),
		 " status=IBV_WC_SUCCESS bytes=8 imm=%u wr_id=2\n"
		 " status=IBV_WC_SUCCESS bytes=0 invalidate=%u wr_id=3\n",
		 be32toh(0x12345678), wr.invalidate_rkey);
	ck_assert_str_eq(done, expected);
}
END_TEST

struct waiter {
	struct ibv_comp_channel *channel;
	pid_t tid;
};

static void *await_notification(void *arg)
{
	struct waiter *waiter = arg;
	struct ibv_cq *cq;
	void *context;

	__atomic_store_n(&waiter->tid, gettid(), __ATOMIC_RELEASE);
	EXPECT_MINUS(EIO, ibv_get_cq_event(waiter->channel, &cq, &context));
	return NULL;
}

/* Its waiter keeps it until the device is closed. */
START_TEST(a_channel_that_is_waited_for_is_freed_once)
{
	struct waiter waiter = { .tid = 0 };
	char line[1024];
	pthread_t thread;
	FILE *trace;
	int n = 0;

	begin_traced(IBV_QPT_RC, no_fault);
	waiter.channel = ibv_create_comp_channel(a.context);
	ck_assert_int_eq(pthread_create(&thread, NULL, await_notification, &waiter), 0);
	until_thread_asleep(&waiter.tid);
	ck_assert_int_eq(ibv_destroy_comp_channel(waiter.channel), 0);
	verbs_end_all(&a, &b);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	trace = fopen(file, "r");
	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace))
		n += strstr(line, " emu0.channel1 free\n") != NULL;
	fclose(trace);
	unlink(file);
	ck_assert_int_eq(n, 1);
}
END_TEST

static void set_retries(uint8_t retries)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .rnr_retry = retries };

	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_RNR_RETRY), 0);
	attr.qp_state = IBV_QPS_RTS;
	ck_assert_int_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
}

/* The checker of datsim run would judge by the last limit that is told. */
START_TEST(retries_without_an_end_are_told_after_others)
{
	char line[1024], done[1024] = "";
	FILE *trace;

	begin_traced(IBV_QPT_RC, no_fault);
	set_retries(2); /* it was 3 */
	set_retries(7);
	set_retries(7);
	set_retries(3);
	verbs_end_all(&a, &b);
	trace = fopen(file, "r");
	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace)) {
		if (strstr(line, "emu0.qp1 path rnr_retry="))
			strncat(done, strchr(line, '='), sizeof(done) - strlen(done) - 1);
	}
	fclose(trace);
	unlink(file);
	ck_assert_str_eq(done, "=3\n=2\n=7\n=3\n");
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, Receives_that_an_SRQ_gets, 1, NULL);
	unit_add(suite, requests_that_are_answered, 1, NULL);
	unit_add(suite, each_post_has_its_line_whatever_region_it_is_of, 1, NULL);
	unit_add(suite, an_atomic_that_is_lost_and_sent_again, 1, NULL);
	unit_add(suite, requests_that_are_not_answered, 1, NULL);
	unit_add(suite, retries_without_an_end_are_told_after_others, 1, NULL);
	unit_add(suite, a_completion_has_what_came_with_its_message, 1, NULL);
	unit_add(suite, a_channel_that_is_waited_for_is_freed_once, 1, NULL);
	unit_add(suite, a_forked_child_leaves_the_trace_to_its_parent, 1, NULL);
}

UNIT_SUITE("verbs_trace")
