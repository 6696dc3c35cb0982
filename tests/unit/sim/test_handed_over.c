/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A completion that is handed to the poll which ran its event, and never queued (emu/quick.c,
 * emu/quick_trace.c): by each poll of the model, what it says, at which time it comes, and when it
 * is queued instead.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/cq.h"
#include "emu/fabric/queue.h"
#include "emu/qp.h"
#include "tests/support/model.h"

#define BYTES   24u
#define QUANTUM (10u * LATENCY_NS)

/* emu_spin_one and emu_cq_spin, and emu_spin_one_traced and emu_cq_spin while it is traced */
enum {
	BY_UPCALL,
	PLAIN,
	TRACED_BY_UPCALL,
	TRACED,
	POLLS
};

static const char *const poll_names[POLLS] = { "upcall", "plain", "traced, upcall", "traced" };

static void open_pair(int poll)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);

	config.poll_quantum_ns = QUANTUM;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	run_quiet();
	must(dat_sim_trace(w.sim, poll >= TRACED_BY_UPCALL ? DAT_TRUE : DAT_FALSE));
}

static void post_receive(int n, uint8_t flags)
{
	struct nic_sge sge = nic_segment(&w.b, n, BYTES);
	struct nic_recv_wr wr = { .wr_id = (uint64_t)n, .sge = &sge, .num_sge = 1, .flags = flags };

	ck_assert_int_eq(emu_ops.post_recv(nic_qp_of(w.b.ep), &wr), 0);
}

static void send_message(int n, uint8_t flags)
{
	struct nic_sge sge = nic_segment(&w.a, n, BYTES);
	struct nic_send_wr wr = { .wr_id = (uint64_t)n,
				  .sge = &sge,
				  .num_sge = 1,
				  .length = BYTES,
				  .opcode = NIC_OP_SEND,
				  .flags = flags };

	ck_assert_int_eq(emu_ops.post_send(nic_qp_of(w.a.ep), &wr), 0);
}

/* ---- polls ---- */

static struct nic_wc heard;
static unsigned int notified;

static int hear_completion(void *out, void *cq_ctx, struct nic_qp *qp, uint64_t wr_id,
			   uint32_t length, uint32_t what)
{
	ck_assert_ptr_eq(out, &heard);
	ck_assert_ptr_nonnull(cq_ctx);
	heard.wr_id = wr_id;
	heard.qp = qp;
	heard.length = length;
	heard.opcode = nic_what_opcode(what);
	heard.status = nic_what_status(what);
	return true;
}

static int hear_nothing(void *out)
{
	ck_assert_ptr_eq(out, &heard);
	return false;
}

static void hear_notification(void *cq_ctx)
{
	ck_assert_ptr_nonnull(cq_ctx);
	notified++;
}

static bool poll_in_way(int poll, struct nic_cq *cq)
{
	if (poll == BY_UPCALL)
		return emu_ops.spin_one(cq, &heard);
	if (poll == TRACED_BY_UPCALL)
		return emu_ops.spin_one_traced(cq, &heard);
	return emu_ops.cq_spin(cq, &heard);
}

/* One call. False: there is no completion. */
static bool poll_once(int poll, DAT_EVD_HANDLE evd)
{
	struct nic_cq *cq = nic_cq_of(evd);
	const struct nic_upcalls *up = cq->nic->up;
	struct nic_upcalls calls = *up;
	bool found;

	calls.completed = poll == BY_UPCALL ? hear_completion : NULL;
	calls.completed_traced = poll == TRACED_BY_UPCALL ? hear_completion : NULL;
	calls.no_completion = hear_nothing;
	calls.cq_notify = hear_notification;
	memset(&heard, 0xee, sizeof(heard));
	cq->nic->up = &calls;
	found = poll_in_way(poll, cq);
	cq->nic->up = up;
	return found;
}

static void expect_completion(int poll, DAT_EVD_HANDLE evd, int n, enum nic_opcode opcode)
{
	bool receive = opcode == NIC_OP_RECV;

	ck_assert_msg(poll_once(poll, evd), "%s: nothing, in place of %d", poll_names[poll], n);
	ck_assert_uint_eq(heard.wr_id, n);
	ck_assert_ptr_eq(heard.qp, nic_qp_of(receive ? w.b.ep : w.a.ep));
	ck_assert_uint_eq(heard.length, BYTES);
	ck_assert_uint_eq(heard.opcode, opcode);
	ck_assert_uint_eq(heard.status, NIC_WC_SUCCESS);
}

static uint32_t queued(DAT_EVD_HANDLE evd)
{
	return emu_ops.cq_count(nic_cq_of(evd));
}

/* Completions that were ever added to the CQ. */
static uint32_t added(DAT_EVD_HANDLE evd)
{
	return emu_local_cq(nic_cq_of(evd))->entry->put;
}

/* ---- what is handed over ---- */

START_TEST(a_completion_goes_to_the_poll_that_ran_its_event)
{
	uint32_t received, sent;
	DAT_UINT64 begin;

	open_pair(_i);
	begin = now_ns();
	received = added(w.b.recv);
	sent = added(w.a.request);
	post_receive(1, 0);
	send_message(2, 0);
	expect_completion(_i, w.b.recv, 1, NIC_OP_RECV);
	ck_assert_uint_eq(now_ns(), begin + LATENCY_NS);
	ck_assert_uint_eq(emu_queue_length(model_world()), 1); /* the acknowledgement */
	expect_completion(_i, w.a.request, 2, NIC_OP_SEND);
	ck_assert_uint_eq(now_ns(), begin + 2 * LATENCY_NS);
	ck_assert_uint_eq(emu_queue_length(model_world()), 0);
	ck_assert_uint_eq(added(w.b.recv), received);
	ck_assert_uint_eq(added(w.a.request), sent);
	ck_assert(!poll_once(_i, w.b.recv));
	ck_assert(!poll_once(_i, w.a.request));
	ck_assert_uint_eq(now_ns(), begin + 2 * LATENCY_NS + 2 * QUANTUM);
}
END_TEST

/* A Receive has NIC_WR_QUIET if it was posted so, and NIC_WR_SOLICITED of its message. */
START_TEST(its_flags_are_those_of_a_queued_one)
{
	int poll = _i ? TRACED : PLAIN;
	uint8_t received, sent;

	open_pair(poll);
	for (int i = 0; i < 2; i++) {
		post_receive(1, NIC_WR_QUIET);
		send_message(2, NIC_WR_SOLICITED | NIC_WR_QUIET);
		if (i == 0)
			run_quiet(); /* which queues both */
		expect_completion(poll, w.b.recv, 1, NIC_OP_RECV);
		received = heard.flags;
		expect_completion(poll, w.a.request, 2, NIC_OP_SEND);
		sent = heard.flags;
		ck_assert_uint_eq(received, NIC_WR_QUIET | NIC_WR_SOLICITED);
		ck_assert_uint_eq(sent, NIC_WR_QUIET);
	}
}
END_TEST

START_TEST(a_poll_of_another_queue_leaves_each_completion_to_its_own)
{
	DAT_UINT64 begin;

	open_pair(_i);
	begin = now_ns();
	post_receive(1, 0);
	send_message(2, 0);
	ck_assert(!poll_once(_i, w.a.recv));
	ck_assert_uint_eq(now_ns(), begin + QUANTUM);
	ck_assert_uint_eq(queued(w.b.recv), 1);
	ck_assert_uint_eq(queued(w.a.request), 1);
	expect_completion(_i, w.b.recv, 1, NIC_OP_RECV);
	expect_completion(_i, w.a.request, 2, NIC_OP_SEND);
}
END_TEST

START_TEST(a_poll_for_the_end_of_a_Send_queues_the_Receive_on_the_way)
{
	open_pair(_i);
	post_receive(1, 0);
	send_message(2, 0);
	expect_completion(_i, w.a.request, 2, NIC_OP_SEND);
	ck_assert_uint_eq(queued(w.b.recv), 1);
	expect_completion(_i, w.b.recv, 1, NIC_OP_RECV);
}
END_TEST

START_TEST(what_was_queued_comes_before_what_is_handed_over)
{
	uint32_t received;

	open_pair(_i);
	for (int i = 1; i <= 2; i++) {
		post_receive(i, 0);
		send_message(i + 10, 0);
	}
	must(dat_sim_step(w.sim));
	received = added(w.b.recv);
	ck_assert_uint_eq(queued(w.b.recv), 1);
	expect_completion(_i, w.b.recv, 1, NIC_OP_RECV);
	expect_completion(_i, w.b.recv, 2, NIC_OP_RECV);
	ck_assert_uint_eq(added(w.b.recv), received);
	expect_completion(_i, w.a.request, 11, NIC_OP_SEND);
	expect_completion(_i, w.a.request, 12, NIC_OP_SEND);
}
END_TEST

/*
 * The text of the trace from there on: times since `begin`, and each other digit a '#', because the
 * messages have different numbers.
 */
static void lines_from(size_t length, DAT_UINT64 begin, char *lines, size_t size)
{
	const char *text;
	size_t end, n = 0;
	char *rest;

	must(dat_sim_trace_read(w.sim, &text, &end));
	ck_assert_uint_gt(end, length);
	for (text += length; *text; text = rest) {
		n += (size_t)snprintf(lines + n, size - n, "%llu",
				      strtoull(text, &rest, 10) - (unsigned long long)begin);
		for (; *rest != '\n'; rest++, n++) {
			ck_assert_uint_lt(n + 2, size);
			lines[n] = *rest >= '0' && *rest <= '9' ? '#' : *rest;
		}
		lines[n++] = *rest++;
		lines[n] = '\0';
	}
}

static size_t trace_length(void)
{
	const char *text;
	size_t length;

	must(dat_sim_trace_read(w.sim, &text, &length));
	return length;
}

START_TEST(its_lines_in_the_trace_are_those_of_a_queued_one)
{
	static char lines[2][4096];
	DAT_UINT64 begin;
	size_t before;

	open_pair(TRACED_BY_UPCALL + _i);
	for (int i = 0; i < 2; i++) {
		post_receive(1, 0);
		send_message(2, 0);
		begin = now_ns();
		before = trace_length();
		if (i == 0)
			run_quiet();
		expect_completion(TRACED_BY_UPCALL + _i, w.b.recv, 1, NIC_OP_RECV);
		expect_completion(TRACED_BY_UPCALL + _i, w.a.request, 2, NIC_OP_SEND);
		lines_from(before, begin, lines[i], sizeof(lines[i]));
	}
	ck_assert_str_eq(lines[0], lines[1]);
	ck_assert_ptr_nonnull(strstr(lines[1], " complete "));
}
END_TEST

/* Until the front hears that the trace has ended, it still polls by spin_one_traced. */
START_TEST(a_trace_that_has_ended_gets_no_line)
{
	size_t before;

	open_pair(TRACED_BY_UPCALL);
	before = trace_length();
	model_world()->fab->trace_on = false;
	post_receive(1, 0);
	send_message(2, 0);
	expect_completion(TRACED_BY_UPCALL, w.b.recv, 1, NIC_OP_RECV);
	expect_completion(TRACED_BY_UPCALL, w.a.request, 2, NIC_OP_SEND);
	ck_assert_uint_eq(trace_length(), before);
}
END_TEST

/* ---- what is not ---- */

/* A rule that watches packets sees this one. */
START_TEST(a_packet_that_a_rule_drops_completes_nothing_before_it_is_sent_again)
{
	DAT_UINT64 begin;

	open_pair(_i);
	begin = now_ns();
	drop(DAT_SIM_PACKET_SEND, 1);
	post_receive(1, 0);
	send_message(2, 0);
	while (!poll_once(_i, w.b.recv))
		ck_assert_uint_lt(now_ns(), begin + 10 * RETRY_NS);
	ck_assert_uint_eq(heard.wr_id, 1);
	ck_assert_uint_ge(now_ns(), begin + RETRY_NS);
}
END_TEST

START_TEST(a_completion_of_an_armed_queue_notifies_and_is_polled)
{
	DAT_EVD_HANDLE evds[2];

	open_pair(_i);
	evds[0] = w.b.recv;
	evds[1] = w.a.request;
	post_receive(1, 0);
	send_message(2, 0);
	for (int i = 0; i < 2; i++) {
		notified = 0;
		emu_ops.cq_arm(nic_cq_of(evds[i]));
		expect_completion(_i, evds[i], i + 1, i ? NIC_OP_SEND : NIC_OP_RECV);
		ck_assert_uint_eq(notified, 1);
		ck_assert_uint_eq(emu_local_cq(nic_cq_of(evds[i]))->entry->armed, EMU_ARMED_NOT);
	}
}
END_TEST

/* One that is armed for solicited completions alone */
START_TEST(a_queue_armed_for_solicited_completions_is_notified_of_those)
{
	open_pair(_i);
	notified = 0;
	emu_ops.cq_arm_solicited(nic_cq_of(w.b.recv));
	for (unsigned int i = 0; i < 2; i++) {
		post_receive(1, 0);
		send_message(2, i ? NIC_WR_SOLICITED : 0);
		expect_completion(_i, w.b.recv, 1, NIC_OP_RECV);
		expect_completion(_i, w.a.request, 2, NIC_OP_SEND);
		ck_assert_uint_eq(notified, i);
	}
}
END_TEST

/* Its acknowledgement is the first event that the poll runs. */
START_TEST(a_suppressed_Send_has_no_completion)
{
	open_pair(_i);
	post_receive(1, 0);
	post_receive(2, 0);
	send_message(11, NIC_WR_SUPPRESS);
	send_message(12, 0);
	expect_completion(_i, w.b.recv, 1, NIC_OP_RECV);
	expect_completion(_i, w.b.recv, 2, NIC_OP_RECV);
	ck_assert_uint_eq(emu_queue_length(model_world()), 2);
	expect_completion(_i, w.a.request, 12, NIC_OP_SEND);
	ck_assert(!poll_once(_i, w.a.request));
}
END_TEST

/* The program has unmapped the Receive's buffer: the copy fails, and no completion says success. */
START_TEST(a_message_for_memory_that_is_gone_ends_the_connection)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	DAT_REGION_DESCRIPTION region = { .for_va = at };
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr;
	struct nic_sge sge;
	struct nic_recv_wr wr = { .wr_id = 1, .sge = &sge, .num_sge = 1 };

	ck_assert_ptr_ne(at, MAP_FAILED);
	open_pair(_i);
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, region, page, w.b.pz,
			    DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL));
	sge = (struct nic_sge){ (uintptr_t)at, BYTES, obj_as(struct lmr, object_of(lmr))->lkey };
	ck_assert_int_eq(emu_ops.post_recv(nic_qp_of(w.b.ep), &wr), 0);
	ck_assert_int_eq(munmap(at, page), 0);
	send_message(2, 0);
	ck_assert(poll_once(_i, w.b.recv));
	ck_assert_uint_eq(heard.wr_id, 1);
	ck_assert_uint_ne(heard.status, NIC_WC_SUCCESS);
	ck_assert(poll_once(_i, w.a.request));
	ck_assert_uint_eq(heard.wr_id, 2);
	ck_assert_uint_ne(heard.status, NIC_WC_SUCCESS);
}
END_TEST

/* Its packet is in flight when it ends. */
START_TEST(a_message_of_a_sender_that_has_ended_is_dropped)
{
	unsigned char before[BYTES];

	open_pair(_i);
	fill_slot(&w.b, 1, 3);
	memcpy(before, slot(&w.b, 1), BYTES);
	post_receive(1, 0);
	send_message(2, 0);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ck_assert(poll_once(_i, w.b.recv));
	ck_assert_uint_eq(heard.wr_id, 1);
	ck_assert_uint_eq(heard.status, NIC_WC_FLUSHED);
	ck_assert_mem_eq(slot(&w.b, 1), before, BYTES);
}
END_TEST

/* ---- an overflow while a message arrives ---- */

#define OFFSETS 16

/* Let the next event be in another place of the FIFO. */
static void pass_events(int n)
{
	struct emu_qp *qp = qp_entry_of(w.b.ep);

	for (; n > 0; n--) {
		emu_schedule(model_world(), now_ns(), EMU_EV_DATA, emu_qp_index(model_world(), qp),
			     qp->epoch - 1, 0, 0);
		must(dat_sim_step(w.sim));
	}
}

/*
 * The CQ is full, and all Endpoints that feed its EVD are broken, by an event each. Those may take
 * the place of the message's own event, whose acknowledgement is sent behind them. With small
 * limits (LIBDAT_SMALL_LIMITS) one of the offsets makes it happen.
 */
START_TEST(a_message_whose_completion_overflows_is_acknowledged)
{
	DAT_EP_HANDLE a, b;

	open_pair(PLAIN);
	for (int i = 0; i < 3; i++) {
		a = plain_ep(&w.a);
		b = plain_ep(&w.b);
		connect_eps(&w.a, a, &w.b, b);
	}
	run_quiet();
	post_receive(1, 0);
	post_receive(2, 0);
	send_message(11, 0);
	expect_completion(PLAIN, w.a.request, 11, NIC_OP_SEND);
	emu_ops.cq_limit(nic_cq_of(w.b.recv), 1);
	pass_events(_i);
	send_message(12, 0);
	expect_completion(PLAIN, w.a.request, 12, NIC_OP_SEND);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_completion_goes_to_the_poll_that_ran_its_event, POLLS, NULL);
	/* An upcall has no flags. */
	unit_add(suite, its_flags_are_those_of_a_queued_one, 2, NULL);
	unit_add(suite, a_poll_of_another_queue_leaves_each_completion_to_its_own, POLLS, NULL);
	unit_add(suite, a_poll_for_the_end_of_a_Send_queues_the_Receive_on_the_way, POLLS, NULL);
	unit_add(suite, what_was_queued_comes_before_what_is_handed_over, POLLS, NULL);
	unit_add(suite, its_lines_in_the_trace_are_those_of_a_queued_one, POLLS - TRACED_BY_UPCALL,
		 NULL);
	unit_add(suite, a_trace_that_has_ended_gets_no_line, 1, NULL);
	unit_add(suite, a_packet_that_a_rule_drops_completes_nothing_before_it_is_sent_again, POLLS,
		 NULL);
	unit_add(suite, a_completion_of_an_armed_queue_notifies_and_is_polled, POLLS, NULL);
	unit_add(suite, a_queue_armed_for_solicited_completions_is_notified_of_those, POLLS, NULL);
	unit_add(suite, a_suppressed_Send_has_no_completion, POLLS, NULL);
	unit_add(suite, a_message_for_memory_that_is_gone_ends_the_connection, POLLS, NULL);
	unit_add(suite, a_message_whose_completion_overflows_is_acknowledged, OFFSETS, NULL);
	unit_add(suite, a_message_of_a_sender_that_has_ended_is_dropped, POLLS, NULL);
}

UNIT_SUITE("handed over")
