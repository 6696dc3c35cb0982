/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of the direct path (emu/shared/direct.c): one process sends, with the fabric's lock,
 * to another one that posts Receives and polls without any. All messages come, once, in order and
 * whole, though the rings wrap many times and are full or empty most of the time.
 *
 * Under ThreadSanitizer it fails if one of these is stored without release, or looked at without
 * acquire: the number of an inline CQE (the receiver reads it while it is written) and rq.put (the
 * sender reads a Receive that is written), in the first two tests; cq.get (the sender overwrites an
 * inline CQE or a staging buffer that is read), where all Receives are there before, so that
 * rq.put does not order the two as well; rq.get (the owner overwrites a Receive that is read),
 * where the owner does not poll.
 */
#include <errno.h>

#include "emu/fabric/trace.h"
#include "emu/receive.h"
#include "emu/tx.h"
#include "tests/litmus/ends.h"

enum {
	MESSAGES = 20000,
	BURSTS = 20,      /* of AHEAD messages */
	INLINE_WORDS = 8, /* of a message that fits into an inline CQE; others are staged */
};

static uint64_t words; /* of a message */
static bool traced;    /* each call of the receiver writes a line, with the lock */

/* ---- the messages ---- */

static uint64_t messages(void)
{
	return (uint64_t)litmus_rounds(traced                 ? MESSAGES / 20
				       : words > INLINE_WORDS ? MESSAGES / 4
							      : MESSAGES);
}

static struct nic_sge segment_of(struct end *end, uint64_t message)
{
	return (struct nic_sge){ .addr = (uintptr_t)end->memory[message % DEPTH],
				 .length = (uint32_t)(words * sizeof(uint64_t)),
				 .lkey = end->mr->lkey };
}

/* A Send that the direct path refuses has changed nothing: the receiver is not ready for it. */
static void send_one(struct end *end, uint64_t n)
{
	struct nic_sge sge = segment_of(end, n);
	struct nic_send_wr wr = { .wr_id = n,
				  .sge = &sge,
				  .length = sge.length,
				  .opcode = NIC_OP_SEND,
				  .num_sge = 1 };
	struct nic_wc wc;

	for (uint64_t i = 0; i < words; i++)
		end->memory[n % DEPTH][i] = n * words + i;
	while (emu_direct_send(end->qp, &wr) != 0)
		sched_yield();
	ck_assert_int_eq(emu_direct_poll(end->send_cq, &wc, 1), 1);
	ck_assert_uint_eq(wc.wr_id, n);
}

static void *send_all(void *arg)
{
	for (uint64_t n = 0; n < messages(); n++)
		send_one(arg, n);
	return NULL;
}

/* cq: NULL for a post. False: there is nothing to dequeue. */
static bool line_begin(struct end *end, struct nic_cq *cq)
{
	enum nic_line line = traced ? emu_backend.line_begin(end->world, cq) : NIC_LINE_READY;

	ck_assert_int_ne(line, NIC_LINE_DUE);
	return line == NIC_LINE_READY;
}

static void line_end(struct end *end, enum nic_trace_kind kind, uint64_t n)
{
	if (!traced)
		return;
	end->nic->ops->trace_event(end->nic, kind, 1, (uint32_t)n, 0, 0);
	emu_backend.line_end(end->world);
}

static bool post_now(struct end *end, const struct nic_recv_wr *wr)
{
	bool posted;

	ck_assert(line_begin(end, NULL));
	posted = (end->srq ? emu_direct_srq_post(end->srq, wr) : emu_direct_recv(end->qp, wr)) == 0;
	line_end(end, NIC_TRACE_EP_RECV, wr->wr_id);
	return posted;
}

static void post(struct end *end, uint64_t n)
{
	struct nic_sge sge = segment_of(end, n);
	const struct nic_recv_wr wr = { .wr_id = n, .sge = &sge, .num_sge = 1 };

	/* The ring looks full until the receiver sees that the sender took a Receive. */
	while (!post_now(end, &wr))
		sched_yield();
}

static bool poll_now(struct end *end, struct nic_wc *wc)
{
	bool got;

	if (!line_begin(end, end->recv_cq))
		return false;
	got = emu_direct_poll(end->recv_cq, wc, 1) == 1;
	line_end(end, NIC_TRACE_EP_REAP_RECV, got);
	ck_assert(got || !traced);
	return got;
}

static void receive_all(struct end *end)
{
	uint64_t torn = 0;
	struct nic_wc wc;

	for (uint64_t n = 0; n < DEPTH; n++)
		post(end, n);
	for (uint64_t n = 0; n < messages(); n++) {
		while (!poll_now(end, &wc))
			sched_yield();
		ck_assert_uint_eq(wc.wr_id, n);
		ck_assert_uint_eq(wc.status, NIC_WC_SUCCESS);
		for (uint64_t i = 0; i < words; i++)
			torn += end->memory[n % DEPTH][i] != n * words + i;
		post(end, n + DEPTH);
	}
	ck_assert_uint_eq(torn, 0);
}

static void send_messages_of(uint64_t length)
{
	pthread_t sender;

	words = length;
	sender = litmus_start(send_all, &ends[0]);
	receive_all(&ends[1]);
	litmus_join(sender);
}

START_TEST(messages_come_whole_to_one_who_takes_no_lock)
{
	send_messages_of(INLINE_WORDS);
}
END_TEST

START_TEST(long_messages_come_whole_to_one_who_takes_no_lock)
{
	send_messages_of(WORDS);
}
END_TEST

/* Its calls write lines, and so do the Sends. */
START_TEST(messages_come_whole_to_one_who_takes_the_lock_for_lines)
{
	const char *text;
	size_t length;

	ends_trace_on();
	traced = true;
	send_messages_of(INLINE_WORDS);
	traced = false;
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(emu_trace_text(ends_worlds.world[0], &text, &length), 0);
	ck_assert_ptr_null(strstr(text, "garbage"));
	emu_backend.leave(ends[0].world);
}
END_TEST

/* ---- the rings one by one ---- */

static void *send_burst(void *arg)
{
	struct end *end = arg;

	for (uint64_t n = 0; n < AHEAD; n++)
		send_one(end, n);
	return NULL;
}

static void receive_one(struct end *end)
{
	struct nic_wc wc;

	while (emu_direct_poll(end->recv_cq, &wc, 1) == 0)
		sched_yield();
	ck_assert_uint_eq(wc.status, NIC_WC_SUCCESS);
}

/* The sender learns from cq.get alone that there is room again. */
static void receive_bursts_of(uint64_t length)
{
	words = length;
	for (int i = 0; i < litmus_rounds(BURSTS); i++) {
		pthread_t sender;

		for (uint64_t n = 0; n < AHEAD; n++)
			post(&ends[1], n);
		sender = litmus_start(send_burst, &ends[0]);
		for (uint64_t n = 0; n < AHEAD; n++)
			receive_one(&ends[1]);
		litmus_join(sender);
	}
}

START_TEST(an_inline_CQE_is_read_before_it_is_filled_again)
{
	receive_bursts_of(INLINE_WORDS);
}
END_TEST

START_TEST(a_staging_buffer_is_read_before_it_is_filled_again)
{
	receive_bursts_of(WORDS);
}
END_TEST

/* The owner learns from rq.get alone that there is room again. */
START_TEST(a_Receive_is_read_before_its_entry_is_filled_again)
{
	words = INLINE_WORDS;
	for (int i = 0; i < litmus_rounds(BURSTS); i++) {
		pthread_t sender = litmus_start(send_burst, &ends[0]);

		for (uint64_t n = 0; n < AHEAD; n++)
			post(&ends[1], n);
		litmus_join(sender);
		for (uint64_t n = 0; n < AHEAD; n++)
			receive_one(&ends[1]);
	}
}
END_TEST

/*
 * Another process has taken a Receive, as an event does, and still reads it, when the owner fills
 * its queue up.
 */
START_TEST(a_Receive_that_was_taken_is_not_overwritten_by_the_next_post)
{
	struct emu_world *sender = ends_worlds.world[0];
	struct emu_qp *qp = emu_local_qp(ends[1].qp)->entry;
	const struct emu_rwqe *taken;

	words = INLINE_WORDS;
	for (uint64_t n = 0; n < DEPTH; n++)
		post(&ends[1], n);
	emu_shared_take(sender);
	taken = emu_wqe(sender, &qp->rq, qp->rq.get);
	emu_recv_take(qp, &qp->rq);
	post(&ends[1], DEPTH);
	ck_assert_uint_eq(taken->wr_id, 0);
	emu_shared_release(sender);
}
END_TEST

/* ---- the peer's Receives that were seen ---- */

static int send_at_once(struct end *end)
{
	struct nic_sge sge = segment_of(end, 0);
	struct nic_send_wr wr = { .sge = &sge,
				  .length = sge.length,
				  .opcode = NIC_OP_SEND,
				  .num_sge = 1 };

	return emu_direct_send(end->qp, &wr);
}

/*
 * The old peer has two more Receives, and its connection had the same epoch as that of the new one.
 */
START_TEST(Receives_seen_at_a_peer_are_not_those_of_the_next_one)
{
	struct nic_qp *old = ends[1].qp;
	uint32_t epoch = emu_local_qp(old)->entry->epoch;
	struct emu_qp *is;
	struct nic_wc wc;

	words = INLINE_WORDS;
	for (uint64_t n = 0; n < 3; n++)
		post(&ends[1], n);
	send_one(&ends[0], 0);
	receive_one(&ends[1]);
	ends_change_peer();
	is = emu_local_qp(ends[1].qp)->entry;
	ck_assert_ptr_ne(ends[1].qp, old);
	ck_assert_uint_eq(is->epoch, epoch);
	for (uint64_t n = 1; n < 3; n++) {
		ck_assert_int_eq(emu_direct_poll(ends[1].recv_cq, &wc, 1), 1);
		ck_assert_uint_eq(wc.status, NIC_WC_FLUSHED);
	}
	post(&ends[1], DEPTH);
	ck_assert_int_eq(send_at_once(&ends[0]), 0);
	ck_assert_int_eq(emu_direct_poll(ends[1].recv_cq, &wc, 1), 1);
	ck_assert_uint_eq(wc.wr_id, DEPTH);
	ck_assert_int_eq(send_at_once(&ends[0]), -EAGAIN);
	ck_assert_uint_eq(is->rq.get, is->rq.put);
	ends_destroy_peer(old);
}
END_TEST

/* The ring still has what was posted to it in the connection before. */
START_TEST(a_Receive_of_the_connection_before_is_not_taken)
{
	words = INLINE_WORDS;
	for (uint64_t n = 0; n < DEPTH; n++)
		post(&ends[1], n);
	send_one(&ends[0], 0);
	receive_one(&ends[1]);
	ends_connect_again();
	ck_assert_int_eq(send_at_once(&ends[0]), -EAGAIN);
	post(&ends[1], 0);
	ck_assert_int_eq(send_at_once(&ends[0]), 0);
	ck_assert_int_eq(send_at_once(&ends[0]), -EAGAIN);
}
END_TEST

/* The latency of the link, or of the ACK's link, was lowered while a packet was in flight. */
START_TEST(a_Send_at_once_does_not_overtake_the_packets_of_its_link)
{
	struct emu_fabric *fab = ends_worlds.world[0]->fab;
	uint32_t link = emu_local_qp(ends[_i].qp)->entry->link;

	words = INLINE_WORDS;
	for (uint64_t n = 0; n < DEPTH; n++)
		post(&ends[1], n);
	fab->link[link].not_before = UINT64_MAX / 2;
	ck_assert_int_eq(send_at_once(&ends[0]), -EAGAIN);
	fab->link[link].not_before = fab->now + 1;
	ck_assert_int_eq(send_at_once(&ends[0]), -EAGAIN);
	fab->link[link].not_before = fab->now;
	ck_assert_int_eq(send_at_once(&ends[0]), 0);
}
END_TEST

/* ---- the trace ---- */

enum {
	LINES = 6
}; /* of a message: post_send, packet, take, complete, packet, complete */

static const char *line_with(const char *text, const char *what)
{
	const char *found = strstr(text, what);

	ck_assert_ptr_nonnull(found);
	while (found > text && found[-1] != '\n')
		found--;
	return found;
}

static void post_by_event(struct end *end, const struct nic_send_wr *wr)
{
	emu_backend.enter(end->world, false);
	ck_assert_int_eq(emu_post_send(end->qp, wr), 0);
	emu_backend.leave(end->world);
}

/* What a message is called depends on the API that posts it, and on its request. */
static const struct way {
	enum nic_qp_noun noun;
	uint8_t flags;
	uint64_t wr_id;
} ways[] = {
	{ NIC_NOUN_EP, 0, 3 },
	{ NIC_NOUN_EP, NIC_WR_SUPPRESS, 3 },
	{ NIC_NOUN_EP, NIC_WR_SOLICITED, 3 },
	{ NIC_NOUN_EP, NIC_WR_FENCE, 3 },
	{ NIC_NOUN_QP, 0, 3 },
	{ NIC_NOUN_QP, NIC_WR_SUPPRESS, 3 },
	{ NIC_NOUN_QP, 0, 1ul << 32 },
};

static void send_in_way(struct end *end, const struct way *way, uint64_t n, bool by_event)
{
	struct nic_sge sge = segment_of(end, n);
	struct nic_send_wr wr = { .wr_id = way->wr_id + n,
				  .sge = &sge,
				  .length = sge.length,
				  .opcode = NIC_OP_SEND,
				  .flags = way->flags,
				  .num_sge = 1 };
	struct nic_wc wc;

	if (by_event)
		post_by_event(end, &wr);
	else
		ck_assert_int_eq(emu_direct_send(end->qp, &wr), 0);
	ends_run_all();
	ck_assert_int_eq(emu_direct_poll(end->send_cq, &wc, 1), !(way->flags & NIC_WR_SUPPRESS));
	receive_one(&ends[1]);
	emu_local_qp(ends[1].qp)->entry->reaped++;
}

START_TEST(the_direct_path_traces_the_lines_of_the_general_one)
{
	static char direct[2000], general[2000];
	const char *text, *second;
	size_t length;

	words = INLINE_WORDS;
	for (int i = 0; i < 2; i++)
		emu_local_qp(ends[i].qp)->entry->noun = ways[_i].noun & 3;
	ends_trace_on();
	for (uint64_t n = 0; n < 2; n++) {
		post(&ends[1], n);
		send_in_way(&ends[0], &ways[_i], n, n > 0);
	}
	emu_backend.enter(ends[0].world, false);
	ck_assert_int_eq(emu_trace_text(ends_worlds.world[0], &text, &length), 0);
	text = line_with(text, " post_send ");
	second = line_with(strchr(text, '\n') + 1, " post_send ");
	ends_copy_lines(text, LINES, direct, 0);
	ends_copy_lines(second, LINES, general, 1);
	ck_assert_str_eq(direct, general);
	emu_backend.leave(ends[0].world);
}
END_TEST

/* It is for the call that follows, which takes the general path; no lock is held. */
START_TEST(a_call_for_its_line_alone_leaves_what_is_due)
{
	struct nic_sge sge;
	struct nic_send_wr wr = { .sge = &sge, .opcode = NIC_OP_SEND, .num_sge = 1 };
	struct nic_wc wc;
	uint32_t due;

	words = INLINE_WORDS;
	sge = segment_of(&ends[0], 0);
	wr.length = sge.length;
	ends_trace_on();
	post(&ends[1], 0);
	post_by_event(&ends[0], &wr);
	due = ends_worlds.world[1]->fab->events;
	ck_assert_uint_gt(due, 0);
	ck_assert_int_eq(emu_backend.line_begin(ends[1].world, NULL), NIC_LINE_DUE);
	ck_assert_int_eq(emu_backend.line_begin(ends[1].world, ends[1].recv_cq), NIC_LINE_DUE);
	ck_assert(!ends_worlds.world[1]->membership->held);
	ck_assert_uint_eq(ends_worlds.world[1]->fab->events, due);
	for (int i = 0; emu_direct_poll(ends[0].send_cq, &wc, 1) == 0; i ^= 1)
		ends_run(&ends[i]);
	traced = true;
	ck_assert(poll_now(&ends[1], &wc));
	ck_assert(!poll_now(&ends[1], &wc));
	traced = false;
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("direct path");
	TCase *receives = tcase_create("Receives");
	TCase *completions = tcase_create("completions");
	TCase *srq = tcase_create("SRQ");

	tcase_add_checked_fixture(tcase, ends_setup, ends_teardown);
	tcase_add_test(tcase, messages_come_whole_to_one_who_takes_no_lock);
	tcase_add_test(tcase, long_messages_come_whole_to_one_who_takes_no_lock);
	tcase_add_test(tcase, a_Receive_that_was_taken_is_not_overwritten_by_the_next_post);
	tcase_add_test(tcase, Receives_seen_at_a_peer_are_not_those_of_the_next_one);
	tcase_add_test(tcase, a_Receive_of_the_connection_before_is_not_taken);
	tcase_add_loop_test(tcase, a_Send_at_once_does_not_overtake_the_packets_of_its_link, 0, 2);
	tcase_add_test(tcase, messages_come_whole_to_one_who_takes_the_lock_for_lines);
	tcase_add_loop_test(tcase, the_direct_path_traces_the_lines_of_the_general_one, 0,
			    sizeof(ways) / sizeof(ways[0]));
	tcase_add_test(tcase, a_call_for_its_line_alone_leaves_what_is_due);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(receives, ends_setup_many_receives, ends_teardown);
	tcase_add_test(receives, an_inline_CQE_is_read_before_it_is_filled_again);
	tcase_add_test(receives, a_staging_buffer_is_read_before_it_is_filled_again);
	suite_add_tcase(suite, receives);
	tcase_add_checked_fixture(completions, ends_setup_long_queue, ends_teardown);
	tcase_add_test(completions, a_Receive_is_read_before_its_entry_is_filled_again);
	suite_add_tcase(suite, completions);
	tcase_add_checked_fixture(srq, ends_setup_srq, ends_teardown);
	tcase_add_test(srq, messages_come_whole_to_one_who_takes_no_lock);
	tcase_add_test(srq, long_messages_come_whole_to_one_who_takes_no_lock);
	suite_add_tcase(suite, srq);
}

UNIT_SUITE("memory order of the direct path")
