/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists in the arena that lead in a circle, and queues with millions of entries: each is looked
 * through in bounded time, and the process's adapters fail. Without the bounds these tests take
 * hours. Then values that no process writes, or that one left which died in the midst: nothing
 * comes of them.
 */
#include <errno.h>
#include <sys/stat.h>

#include "emu/cq.h"
#include "emu/fabric/arena.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/group.h"
#include "emu/fabric/queue.h"
#include "emu/fabric/spare.h"
#include "emu/fabric/trace.h"
#include "emu/fabric/world.h"
#include "emu/number/number.h"
#include "emu/partial.h"
#include "emu/quick.h"
#include "emu/payload/inline.h"
#include "emu/shared/recover.h"
#include "emu/tx.h"
#include "emu/wire/link.h"
#include "emu/wire/wire.h"
#include "lone.h"
#include "tests/support/runtime.h"
#include "tests/support/support.h"

enum {
	QP = 1,
	PEER = 2,
	ADAPTER = 1,
	EVENTS = 300000,
	COPIES = 1000,
};

static struct emu_world *world;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_join(config);
}

static void teardown_fabric(void)
{
	lone_leave(world);
}

static void expect_damage(bool damaged)
{
	ck_assert_int_eq(emu_process(world, OWN)->overrun, damaged);
	ck_assert_int_eq(world->steps_most == EMU_STEPS_DAMAGED, damaged);
}

/* Two partial messages, each the other's next; neither knows its own place. */
static struct emu_qp *make_circle(void)
{
	struct emu_qp *qp = emu_qp_at(world, QP);
	emu_ref one = emu_pool_alloc(world, sizeof(struct emu_rx));
	emu_ref two = emu_pool_alloc(world, sizeof(struct emu_rx));

	*(struct emu_rx *)emu_at(world, one) = (struct emu_rx){ .next = two, .self = UINT32_MAX };
	*(struct emu_rx *)emu_at(world, two) = (struct emu_rx){ .next = one, .self = UINT32_MAX };
	qp->rx = one;
	return qp;
}

START_TEST(a_circle_of_partial_messages_is_dropped)
{
	struct emu_qp *qp = make_circle();

	emu_rx_forget(world, qp);
	ck_assert_uint_eq(qp->rx, 0);
	expect_damage(true);
}
END_TEST

START_TEST(a_circle_of_partial_messages_is_flushed)
{
	struct emu_qp *qp = make_circle();

	emu_partial_flush(world, qp, UINT32_MAX);
	ck_assert_uint_eq(qp->rx, 0);
}
END_TEST

/* Each walk is short enough by itself; there are 2^18 Endpoints to walk for. */
START_TEST(all_loops_of_an_event_share_one_bound)
{
	struct emu_fabric *fab = world->fab;

	fab->qps.high = EMU_QPS;
	for (uint32_t i = 1; i <= EMU_QPS; i++)
		fab->qp[i] = (struct emu_qp){ .head.live = 1,
					      .state = EMU_QP_CONNECTED,
					      .peer = QP,
					      .sq.put = EMU_MAX_QP_WR };
	make_circle();
	fab->qp[QP].parked = fab->qp[QP].rx;
	emu_observe(world, 1);
	expect_damage(true);
	memset(fab->qp, 0, sizeof(fab->qp));
	fab->qps.high = 0;
}
END_TEST

START_TEST(a_sequence_number_is_counted_in_bounded_time)
{
	struct emu_qp *qp = emu_qp_at(world, QP);

	qp->psn_counted = INT32_MAX;
	emu_wire_psn(world, qp, 0, 0);
	expect_damage(true);
}
END_TEST

static uint64_t order_of(uint32_t i)
{
	return (uint64_t)i << 8 | EMU_EV_ACK;
}

/* In an order that makes an insertion move all events before it. */
static void fill_queue(void)
{
	struct emu_fabric *fab = world->fab;

	for (uint32_t i = 0; i < EVENTS; i++)
		fab->heap[i] = (struct emu_event){ .time = EVENTS - i, .order = order_of(i) };
	for (uint32_t i = 0; i < COPIES; i++)
		fab->heap[EVENTS + i] = fab->heap[i];
	fab->events = EVENTS + COPIES;
	fab->sequence = EVENTS + 1;
	fab->shared.section.before =
		(struct emu_mark){ .sequence = fab->sequence, .events = fab->events };
}

START_TEST(recovery_sorts_a_long_queue_and_drops_copies)
{
	struct emu_section *section = &world->fab->shared.section;
	struct emu_event *heap = world->fab->heap;

	fill_queue();
	section->event = (struct emu_event){ .time = 1, .order = order_of(EVENTS) };
	section->running = true;
	emu_recover(world);
	ck_assert_uint_eq(world->fab->events, EVENTS + 1);
	ck_assert_uint_eq(heap[1].order, order_of(EVENTS));
	for (uint32_t i = 1; i < world->fab->events; i++)
		ck_assert(heap[i - 1].time < heap[i].time ||
			  (heap[i - 1].time == heap[i].time && heap[i - 1].order < heap[i].order));
	expect_damage(false);
	world->fab->events = 0;
}
END_TEST

/* ---- a queue pair ---- */

static struct emu_qp *make_requester(void)
{
	struct emu_qp *qp = emu_qp_at(world, QP);

	*qp = (struct emu_qp){ .head.live = 1,
			       .state = EMU_QP_CONNECTED,
			       .epoch = 7,
			       .peer = PEER,
			       .peer_epoch = 8,
			       .tx_fast = true };
	ck_assert_int_eq(emu_wq_init(world, &qp->sq, 2, sizeof(struct emu_swqe)), 0);
	return qp;
}

static void forget_requester(struct emu_qp *qp)
{
	emu_wq_fini(world, &qp->sq);
	memset(qp, 0, sizeof(*qp));
	world->fab->events = world->fab->observed = 0;
}

START_TEST(an_ACK_of_a_request_that_was_never_posted_completes_none)
{
	struct emu_qp *qp = make_requester();

	qp->sq.put = qp->sq.get = 1;
	((struct emu_swqe *)emu_wqe(world, &qp->sq, 1))->flags = NIC_WR_SUPPRESS;
	emu_tx_ack(world, QP, qp->epoch, 1);
	ck_assert_uint_eq(qp->sq.get, 1);
	forget_requester(qp);
}
END_TEST

/* Its process died after the last packet of the response, and before the request was retired. */
START_TEST(a_READ_that_is_done_is_not_sent_again_but_what_follows_it_is)
{
	struct emu_qp *qp = make_requester();
	struct emu_swqe *read = emu_wqe(world, &qp->sq, 0), *send = emu_wqe(world, &qp->sq, 1);

	read->opcode = NIC_OP_READ;
	read->step = EMU_READ_DONE;
	send->opcode = NIC_OP_SEND;
	qp->sq.put = 2;
	emu_tx_send_again(world, qp, 0, 0);
	ck_assert_uint_eq(world->fab->events, 1);
	ck_assert_int_eq((int)emu_event_kind(&world->fab->heap[0]), EMU_EV_DATA);
	ck_assert_uint_eq(world->fab->heap[0].index, 1);
	forget_requester(qp);
}
END_TEST

/* ---- packets that are held ---- */

/* One that was delayed counts as a reason to observe packets, held or not. */
START_TEST(a_delayed_packet_that_was_held_and_is_dropped_is_observed_no_longer)
{
	struct emu_event delayed = { .order = EMU_EV_DATA | EMU_EV_JUDGED };
	struct emu_event plain = { .order = EMU_EV_DATA };
	emu_ref head = 0, tail = 0;

	emu_observe(world, 2);
	ck_assert(emu_held_append(world, &head, &tail, 0, &delayed));
	ck_assert(emu_held_append(world, &head, &tail, 0, &plain));
	emu_held_drain(world, &head, &tail, false);
	ck_assert_uint_eq(world->fab->observed, 1);
	ck_assert_uint_eq(world->fab->events, 0);
	emu_observe(world, -1);
}
END_TEST

/* ---- polling ---- */

static uint64_t clock_ns;

static uint64_t read_clock(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

/* An ACK of an earlier connection: nothing comes of it but that it is gone. */
START_TEST(a_poll_runs_what_is_due_by_the_clock)
{
	static const struct nic_upcalls up = { .monotonic_ns = read_clock };
	struct nic *nic = emu_nic_at(world, ADAPTER);
	struct nic_cq *cq;
	struct nic_wc wc;

	emu_nic_init(world, ADAPTER, &up, NULL);
	nic->threaded = true;
	clock_ns = world->mono_base + world->fab->now;
	ck_assert_int_eq(emu_cq_create(nic, 1, NULL, &cq), 0);
	emu_schedule(world, world->fab->now + 50, EMU_EV_ACK, QP, 99, 0, 0);
	ck_assert(!emu_cq_spin(cq, &wc));
	ck_assert_uint_eq(world->fab->events, 1);
	clock_ns += 100;
	ck_assert(!emu_cq_spin(cq, &wc));
	ck_assert_uint_eq(world->fab->events, 0);
	emu_cq_destroy(cq);
}
END_TEST

/* The wait after an RNR NAK begins when the NAK came, not at the first look at it. */
START_TEST(what_an_event_begins_counts_from_when_it_was_due)
{
	static const struct nic_upcalls up = { .monotonic_ns = read_clock };
	struct nic *nic = emu_nic_at(world, ADAPTER);
	struct emu_qp *qp = make_requester();
	uint64_t due = world->fab->now + 50;

	emu_nic_init(world, ADAPTER, &up, NULL);
	qp->sq.put = 1;
	clock_ns = world->mono_base + due + 50;
	emu_schedule(world, due, EMU_EV_RNR, QP, qp->epoch, 0, 0);
	emu_follow(world, nic);
	ck_assert_uint_eq(world->fab->now, due + 50);
	ck_assert_uint_eq(world->fab->events, 1);
	ck_assert_uint_eq(world->fab->heap[0].time, due + emu_number_rnr_pause(world, qp));
	forget_requester(qp);
}
END_TEST

/* ---- tables and lengths ---- */

START_TEST(a_CQ_without_memory_for_its_payloads_gives_its_entry_back)
{
	struct nic *nic = emu_nic_at(world, ADAPTER);
	uint32_t end = world->fab->pool_end;
	emu_ref ring = emu_pool_alloc(world, emu_cq_bytes(0));
	struct nic_cq *cq;

	emu_nic_init(world, ADAPTER, NULL, NULL);
	emu_pool_free(world->fab, ring, emu_cq_bytes(0));
	world->fab->pool_end = world->fab->pool_next;
	ck_assert_int_eq(emu_cq_create(nic, 1, NULL, &cq), -ENOMEM);
	world->fab->pool_end = end;
	ck_assert_int_eq(emu_cq_create(nic, 1, NULL, &cq), 0);
	ck_assert_uint_eq(emu_cq_index(world, cq), 1);
	emu_cq_destroy(cq);
}
END_TEST

START_TEST(who_is_behind_the_last_member_is_in_no_group)
{
	static const uint8_t gid[NIC_GID] = { 0xff, 0x12 };
	struct emu_member *member = world->fab->member;
	uint32_t place = 0;

	member[0].qp = QP;
	member[1].qp = PEER;
	memcpy(member[0].gid, gid, sizeof(gid));
	memcpy(member[1].gid, gid, sizeof(gid));
	world->fab->members = 1;
	ck_assert_uint_eq(emu_group_next(world, gid, &place), QP);
	ck_assert_uint_eq(emu_group_next(world, gid, &place), 0);
	world->fab->members = 0;
	member[0].qp = member[1].qp = 0;
}
END_TEST

/* The text of what is in the trace now, from its beginning. */
static const char *trace_text(void)
{
	const char *text;
	size_t length;

	emu_trace_forget(world);
	ck_assert_int_eq(emu_trace_text(world, &text, &length), 0);
	ck_assert_uint_eq(length, strlen(text));
	return text;
}

/* Its lines behind the header. */
static const char *trace_events(void)
{
	const char *line = strstr(trace_text(), "\n# seed=");

	return strchr(line + 1, '\n') + 1;
}

static void begin_trace(void)
{
	world->fab->trace_room = EMU_TRACE_FIRST;
	world->fab->trace_length = 0;
	world->fab->trace_on = true;
	world->fab->now = 7;
	emu_trace_line(world, "- note first");
}

static void end_trace(void)
{
	emu_trace_forget(world);
	world->fab->trace_on = false;
	world->fab->trace_length = 0;
}

START_TEST(a_trace_that_is_longer_than_its_room_is_not_read_beyond_it)
{
	begin_trace();
	world->fab->trace_length = UINT64_MAX / 2;
	ck_assert_str_eq(trace_events(),
			 "7 - note first\n"
			 "0 - note garbage in the trace: later lines are missing\n");
	world->fab->trace_room = UINT64_MAX;
	emu_trace_line(world, "- note second");
	ck_assert(!world->fab->trace_on);
	end_trace();
}
END_TEST

/* Each of these in place of the second record. */
START_TEST(a_record_of_a_trace_that_makes_no_sense_ends_its_text)
{
	static const struct {
		uint8_t kind;
		uint16_t words;
	} wrong[] = {
		{ EMU_RECORD_NONE, 4 },          { EMU_RECORD_KINDS, 4 },
		{ EMU_RECORD_TEXT, 0 },          { EMU_RECORD_TEXT, 2 },
		{ EMU_RECORD_TEXT, UINT16_MAX }, { EMU_RECORD_ADAPTER, 5 },
		{ EMU_RECORD_TAKE, 3 },          { EMU_RECORD_TAKE, 8 },
		{ EMU_RECORD_ARRIVE_SRQ, 6 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct emu_record *second;

		begin_trace();
		second = (struct emu_record *)(world->fab->trace + world->fab->trace_length);
		emu_trace_line(world, "- note a line that is long enough for all");
		second->head.kind = wrong[i].kind;
		second->head.words = wrong[i].words;
		emu_trace_line(world, "- note third");
		ck_assert_str_eq(trace_events(),
				 "7 - note first\n"
				 "7 - note garbage in the trace: later lines are missing\n");
		end_trace();
	}
}
END_TEST

/* Names, words and numbers that no table has. */
START_TEST(a_record_of_a_trace_with_wild_numbers_is_a_line)
{
	struct emu_record wild = { .head = { .now = 8,
					     .kind = EMU_RECORD_COMPLETE,
					     .nouns = 0xff,
					     .words = emu_record_words(5 * sizeof(uint32_t)),
					     .adapter = UINT16_MAX },
				   .value = { UINT32_MAX, UINT32_MAX, UINT32_MAX, 1, 2 } };
	struct emu_record name = { .head = { .now = 8,
					     .kind = EMU_RECORD_ADAPTER,
					     .words = emu_record_words(EMU_NAME),
					     .adapter = UINT16_MAX } };

	begin_trace();
	memset(name.value, 'x', EMU_NAME);
	emu_record_elsewhere(world, &name);
	emu_record_elsewhere(world, &wild);
	ck_assert_str_eq(trace_events(), "7 - note first\n"
					 "8 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.?4294967295 complete "
					 "op=? status=? bytes=1 message=2\n");
	end_trace();
}
END_TEST

/* The note is in place of the first line without room; nothing follows it. */
START_TEST(a_trace_that_is_full_says_so_once)
{
	const char *text, *note;

	begin_trace();
	world->config.trace_bytes = EMU_TRACE_FIRST;
	for (int i = 0; i < 5000; i++)
		emu_trace_line(world, "- note %d", i);
	text = trace_text();
	ck_assert_uint_le(strlen(text), EMU_TRACE_FIRST);
	note = strstr(text, "7 - note " EMU_TRACE_FULL "\n");
	ck_assert_ptr_nonnull(note);
	ck_assert_str_eq(note, "7 - note " EMU_TRACE_FULL "\n");
	ck_assert(!world->fab->trace_on);
	world->fab->trace_full = false;
	end_trace();
}
END_TEST

/* Without an adapter the fabric would count as a private one, whose events this thread runs. */
START_TEST(a_process_knows_its_adapters_without_the_arena)
{
	static const struct nic_upcalls calls;

	world->nics[ADAPTER].base.up = &calls;
	world->nic_high = ADAPTER;
	world->fab->adapter_high = 0;
	ck_assert_ptr_eq(emu_clock_host(world, &world->nics[0].base), &world->nics[ADAPTER].base);
	world->nics[ADAPTER].base.up = NULL;
	ck_assert_ptr_null(emu_clock_host(world, &world->nics[0].base));
}
END_TEST

static blkcnt_t blocks_of(const char *name)
{
	char path[100];
	struct stat st;

	snprintf(path, sizeof(path), "%s/datsim/%s", runtime_folder(), name);
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_blocks;
}

/* Nothing is taken behind the blocks that the file has, and the file does not grow up to there. */
START_TEST(a_wild_end_of_the_pool_does_not_fill_the_disk)
{
	struct emu_fabric *fab = world->fab;
	uint32_t next, backed;
	blkcnt_t blocks;

	ck_assert_uint_ne(emu_pool_alloc(world, 5 * EMU_POOL_UNIT), 0);
	next = fab->pool_next;
	backed = fab->shared.backed;
	blocks = blocks_of("lab");
	if (_i == 0)
		fab->pool_next = fab->pool_end / 2;
	else
		fab->shared.backed = next / 2 - 1;
	ck_assert_uint_eq(emu_pool_alloc(world, 7 * EMU_POOL_UNIT), 0);
	ck_assert_int_eq(blocks_of("lab"), blocks);
	fab->pool_next = next;
	fab->shared.backed = backed;
	ck_assert_uint_ne(emu_pool_alloc(world, 7 * EMU_POOL_UNIT), 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("damage");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_loop_test(tcase, a_wild_end_of_the_pool_does_not_fill_the_disk, 0, 2);
	tcase_add_test(tcase, a_process_knows_its_adapters_without_the_arena);
	tcase_add_test(tcase, a_circle_of_partial_messages_is_dropped);
	tcase_add_test(tcase, a_circle_of_partial_messages_is_flushed);
	tcase_add_test(tcase, all_loops_of_an_event_share_one_bound);
	tcase_add_test(tcase, a_sequence_number_is_counted_in_bounded_time);
	tcase_add_test(tcase, recovery_sorts_a_long_queue_and_drops_copies);
	tcase_add_test(tcase, an_ACK_of_a_request_that_was_never_posted_completes_none);
	tcase_add_test(tcase, a_READ_that_is_done_is_not_sent_again_but_what_follows_it_is);
	tcase_add_test(tcase, a_delayed_packet_that_was_held_and_is_dropped_is_observed_no_longer);
	tcase_add_test(tcase, a_poll_runs_what_is_due_by_the_clock);
	tcase_add_test(tcase, what_an_event_begins_counts_from_when_it_was_due);
	tcase_add_test(tcase, a_CQ_without_memory_for_its_payloads_gives_its_entry_back);
	tcase_add_test(tcase, who_is_behind_the_last_member_is_in_no_group);
	tcase_add_test(tcase, a_trace_that_is_longer_than_its_room_is_not_read_beyond_it);
	tcase_add_test(tcase, a_record_of_a_trace_that_makes_no_sense_ends_its_text);
	tcase_add_test(tcase, a_record_of_a_trace_with_wild_numbers_is_a_line);
	tcase_add_test(tcase, a_trace_that_is_full_says_so_once);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("damage to an arena")
