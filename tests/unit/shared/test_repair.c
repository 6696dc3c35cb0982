/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery of an arena whose lock was taken from a dead process: objects that its last event
 * changed are as before; the event queue, tables and inboxes are whole.
 */
#include <stdlib.h>

#include "emu/cm.h"
#include "emu/fabric/queue.h"
#include "emu/shared/inbox.h"
#include "emu/payload/inline.h"
#include "emu/shared/recover.h"
#include "emu/shared/stalled.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	SENDER = 1,
	RECEIVER = 2,
	EPOCH = 7,
	BEFORE = 3, /* values of fields, before an event and during it */
	DURING = 5,
	ENTRIES = 4, /* of a table in use */
};

static struct emu_world *world;
static struct emu_fabric *fab;

/* ---- what the linker puts in front of libc's ---- */

static bool no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

/* ---- the fabric ---- */

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_begin_two(config);
	fab = world->fab;
}

static void teardown_fabric(void)
{
	lone_end_two(world);
}

/* Each QP has CQs and an SRQ of its own: 10, 11, 12 and 20, 21, 22. */
static void connect_qps(void)
{
	fab->qps.high = RECEIVER;
	for (uint32_t i = SENDER; i <= RECEIVER; i++)
		fab->qp[i] = (struct emu_qp){ .head.live = 1,
					      .adapter = MINE,
					      .state = EMU_QP_CONNECTED,
					      .epoch = EPOCH + i,
					      .peer = SENDER + RECEIVER - i,
					      .peer_epoch = EPOCH + SENDER + RECEIVER - i,
					      .send_cq = 10 * i,
					      .recv_cq = 10 * i + 1,
					      .srq = 10 * i + 2 };
}

static void begin_event(void)
{
	struct emu_event event = { .order = fab->sequence++ << 8 | EMU_EV_RNR_TIMER,
				   .qp = SENDER,
				   .epoch = EPOCH + SENDER };

	emu_section_event(world, &event);
}

/* ---- the rollback ---- */

static void set_fields(uint32_t value)
{
	for (uint32_t i = SENDER; i <= RECEIVER; i++) {
		struct emu_qp *qp = &fab->qp[i];

		qp->sq.get = qp->rq.get = qp->rq.put = qp->taken = qp->reaped = value;
		qp->psn_more = value;
		fab->cq[qp->send_cq].put = fab->cq[qp->recv_cq].put = value;
		fab->cq[qp->send_cq].get = fab->cq[qp->recv_cq].get = value;
		fab->srq[qp->srq].wq.get = fab->srq[qp->srq].wq.put = value;
		fab->srq[qp->srq].limit = value;
	}
}

static void expect_fields(uint32_t value)
{
	for (uint32_t i = SENDER; i <= RECEIVER; i++) {
		const struct emu_qp *qp = &fab->qp[i];

		ck_assert_uint_eq(qp->sq.get, value);
		ck_assert_uint_eq(qp->rq.get, value);
		ck_assert_uint_eq(qp->taken, value);
		ck_assert_uint_eq(qp->psn_more, value);
		ck_assert_uint_eq(fab->cq[qp->send_cq].put, value);
		ck_assert_uint_eq(fab->cq[qp->recv_cq].put, value);
		ck_assert_uint_eq(fab->srq[qp->srq].wq.get, value);
		ck_assert_uint_eq(fab->srq[qp->srq].limit, value);
		/* These are their owner's. */
		ck_assert_uint_eq(qp->rq.put, DURING);
		ck_assert_uint_eq(fab->srq[qp->srq].wq.put, DURING);
		ck_assert_uint_eq(qp->reaped, DURING);
		ck_assert_uint_eq(fab->cq[qp->send_cq].get, DURING);
		ck_assert_uint_eq(fab->cq[qp->recv_cq].get, DURING);
	}
}

static void expect_in_event(bool in_event)
{
	for (uint32_t i = SENDER; i <= RECEIVER; i++) {
		ck_assert_uint_eq(fab->cq[fab->qp[i].send_cq].in_event, in_event);
		ck_assert_uint_eq(fab->cq[fab->qp[i].recv_cq].in_event, in_event);
	}
}

START_TEST(both_ends_are_as_they_were_before_the_event)
{
	connect_qps();
	set_fields(BEFORE);
	begin_event();
	expect_in_event(true);
	fab->observed = 1;
	set_fields(DURING);
	emu_recover(world);
	expect_fields(BEFORE);
	expect_in_event(false);
	ck_assert_uint_eq(fab->observed, 0);
	ck_assert_uint_eq(fab->events, 1); /* it runs again */
	/* The next process changes them and dies, too, before it releases the lock. */
	set_fields(DURING);
	emu_recover(world);
	expect_fields(DURING);
	ck_assert_uint_eq(fab->events, 1);
}
END_TEST

START_TEST(an_event_that_has_run_is_not_rolled_back)
{
	connect_qps();
	set_fields(BEFORE);
	begin_event();
	set_fields(DURING);
	emu_section_event_done(world);
	expect_in_event(false);
	emu_recover(world);
	expect_fields(DURING);
	ck_assert_uint_eq(fab->events, 0);
}
END_TEST

/* The blocks of a list that the event changed may be free. */
START_TEST(a_list_that_the_event_changed_becomes_empty)
{
	struct emu_qp *qp = &fab->qp[SENDER], *other = &fab->qp[RECEIVER];

	connect_qps();
	qp->rx = qp->rx_count = qp->parked = qp->parked_tail = qp->held = qp->held_tail = BEFORE;
	qp->early = qp->early_tail = qp->rdma_sge = BEFORE;
	*other = *qp;
	other->peer = SENDER;
	begin_event();
	qp->rx = qp->parked = qp->held_tail = qp->early = qp->rdma_sge = DURING;
	emu_recover(world);
	ck_assert_uint_eq(qp->rx + qp->rx_count, 0);
	ck_assert_uint_eq(qp->parked + qp->parked_tail, 0);
	ck_assert_uint_eq(qp->held + qp->held_tail, 0);
	ck_assert_uint_eq(qp->early + qp->early_tail, 0);
	ck_assert_uint_eq(qp->rdma_sge, 0);
	ck_assert_uint_eq(other->rx, BEFORE);
	ck_assert_uint_eq(other->rx_count, BEFORE);
	ck_assert_uint_eq(other->parked_tail, BEFORE);
	ck_assert_uint_eq(other->held, BEFORE);
	ck_assert_uint_eq(other->early_tail, BEFORE);
	ck_assert_uint_eq(other->rdma_sge, BEFORE);
}
END_TEST

/*
 * The process died while it delivered a message straight into the receiver's queues (direct.h):
 * with the first store of these that count the completion, or the first two, or none. The odd rows
 * are of an SRQ.
 */
static const struct published {
	bool number, put, ring; /* ring: the completion is no inline CQE */
} published_by[] = {
	{ false, false, false },
	{ true, false, false },
	{ true, true, false },
	{ false, true, true },
};

START_TEST(a_delivery_that_was_not_published_is_undone)
{
	const struct emu_delivery kept = { .running = true,
					   .qp = SENDER,
					   .get = BEFORE,
					   .taken = BEFORE,
					   .rx_taken = BEFORE,
					   .rx_completed = BEFORE,
					   .rx_next = BEFORE,
					   .put = BEFORE,
					   .trace_length = BEFORE };
	const struct published *by = &published_by[_i / 2];
	bool published = by->number || by->put;
	struct emu_qp *qp = &fab->qp[SENDER];
	struct emu_inline_cqe *cqe;
	struct emu_wq *wq;
	struct emu_cq *cq;

	connect_qps();
	qp->srq = _i % 2 ? qp->srq : 0;
	wq = qp->srq ? &fab->srq[qp->srq].wq : &qp->rq;
	cq = &fab->cq[qp->recv_cq];
	ck_assert_int_eq(emu_inline_init(world, cq), 0);
	cqe = emu_inline_at(world, cq, BEFORE);
	if (by->number)
		emu_inline_publish(cqe, BEFORE);
	emu_process(world, OTHER)->delivery = kept;
	qp->taken = qp->rx_taken = qp->rx_completed = qp->rx_next = wq->get = DURING;
	cq->put = by->put ? BEFORE + 1 : BEFORE;
	cq->ring_end = BEFORE;
	fab->trace_length = DURING;
	emu_recover(world);
	ck_assert_uint_eq(fab->trace_length, published ? DURING : BEFORE);
	ck_assert_uint_eq(wq->get, published ? DURING : BEFORE);
	ck_assert_uint_eq(qp->taken, published ? DURING : BEFORE);
	ck_assert_uint_eq(qp->rx_taken, published ? DURING : BEFORE);
	ck_assert_uint_eq(qp->rx_completed, published ? DURING : BEFORE);
	ck_assert_uint_eq(qp->rx_next, published ? DURING : BEFORE);
	ck_assert_uint_eq(emu_inline_is_for(cqe, BEFORE), by->number);
	/* The owner finds it, and the next one will be behind it. */
	ck_assert_uint_eq(cq->put, published ? BEFORE + 1 : BEFORE);
	if (by->ring)
		ck_assert_uint_eq(cq->ring_end, BEFORE + 1);
	ck_assert(!emu_process(world, OTHER)->delivery.running);
	emu_inline_fini(world, cq);
}
END_TEST

/* ---- the event queue ---- */

/* ---- the event queue ---- */

static void schedule_at(uint64_t time, uint32_t index)
{
	emu_schedule(world, time, EMU_EV_ACK, SENDER, EPOCH + SENDER, index, 0);
}

START_TEST(events_since_the_mark_are_dropped_and_their_places_are_empty)
{
	schedule_at(3000, 1);
	emu_section_keep(world);
	schedule_at(2000, 2);
	schedule_at(1000, 3);
	emu_recover(world);
	ck_assert_uint_eq(fab->events, 1);
	ck_assert_uint_eq(fab->heap[0].index, 1);
	ck_assert_uint_eq(fab->heap[1].order, EMU_NO_EVENT);
	ck_assert_uint_eq(fab->heap[2].order, EMU_NO_EVENT);
	ck_assert_uint_eq(fab->shared.section.after.events, 1);
	ck_assert_uint_eq(fab->shared.section.running, 0);
}
END_TEST

/* The holder died while it moved events: one is there twice, and the order is none. */
START_TEST(the_queue_is_sorted_and_each_event_is_in_it_once)
{
	struct emu_event first;

	for (uint32_t i = 1; i <= 4; i++)
		schedule_at(1000 * i, i);
	emu_section_keep(world);
	first = fab->heap[0];
	fab->heap[0] = fab->heap[3];
	fab->heap[2] = first;
	fab->heap[4] = fab->heap[3];
	fab->heap[5] = (struct emu_event){ .order = EMU_NO_EVENT };
	fab->events = 6;
	fab->heap[5].order = 0; /* of no kind */
	emu_recover(world);
	ck_assert_uint_eq(fab->events, 3);
	ck_assert_uint_eq(fab->heap[0].index, 1);
	ck_assert_uint_eq(fab->heap[1].index, 2);
	ck_assert_uint_eq(fab->heap[2].index, 4);
	for (uint32_t i = 3; i < 6; i++)
		ck_assert_uint_eq(fab->heap[i].order, EMU_NO_EVENT);
}
END_TEST

START_TEST(without_memory_the_events_are_lost_and_the_adapters_fail)
{
	schedule_at(1000, 1);
	emu_section_keep(world);
	no_memory = true;
	emu_recover(world);
	no_memory = false;
	ck_assert_uint_eq(fab->events, 0);
	ck_assert(emu_process(world, OWN)->overrun);
}
END_TEST

START_TEST(a_timer_without_an_event_is_none)
{
	connect_qps();
	for (uint32_t i = SENDER; i <= RECEIVER; i++) {
		struct emu_qp *qp = &fab->qp[i];

		qp->timer = qp->rnr_wait = true;
		qp->retry_timer = true;
		if (i == (uint32_t)_i)
			emu_schedule(world, 1000, EMU_EV_RNR_TIMER, i, qp->epoch, 0, 0);
		else
			emu_schedule(world, 1000, EMU_EV_RNR_TIMER, i, qp->epoch - 1, 0, 0);
	}
	emu_section_keep(world);
	emu_recover(world);
	for (uint32_t i = SENDER; i <= RECEIVER; i++) {
		ck_assert_int_eq(fab->qp[i].timer, i == (uint32_t)_i);
		ck_assert_int_eq(fab->qp[i].retry_timer, i == (uint32_t)_i);
		ck_assert_int_eq(fab->qp[i].rnr_wait, i == (uint32_t)_i);
	}
}
END_TEST

/* ---- tables and inboxes ---- */

/* Entries 1 and 3 of four are live. */
#define FILL(table, entries)                                     \
	do {                                                     \
		fab->table.high = ENTRIES;                       \
		fab->table.live = fab->table.free = ENTRIES + 1; \
		for (uint32_t i = 1; i <= ENTRIES; i++)          \
			fab->entries[i].head.live = i % 2;       \
	} while (0)

#define EXPECT_TABLE(table, entries)                                              \
	do {                                                                      \
		ck_assert_uint_eq(fab->table.live, 2);                            \
		ck_assert_uint_eq(fab->table.free, 2);                            \
		ck_assert_uint_eq(fab->entries[2].head.next_free, 4);             \
		ck_assert_uint_eq(fab->entries[4].head.next_free, 0);             \
		memset(fab->entries, 0, (ENTRIES + 1) * sizeof(fab->entries[0])); \
		fab->table.high = fab->table.free = fab->table.live = 0;          \
	} while (0)

START_TEST(free_lists_and_counts_are_those_of_the_entries)
{
	FILL(pds, pd);
	FILL(mrs, mr);
	FILL(mws, mw);
	FILL(cqs, cq);
	FILL(srqs, srq);
	FILL(qps, qp);
	FILL(listeners, listener);
	FILL(conns, conn);
	fab->shared.processes = 9;
	emu_recover(world);
	EXPECT_TABLE(pds, pd);
	EXPECT_TABLE(mrs, mr);
	EXPECT_TABLE(mws, mw);
	EXPECT_TABLE(cqs, cq);
	EXPECT_TABLE(srqs, srq);
	EXPECT_TABLE(qps, qp);
	EXPECT_TABLE(listeners, listener);
	EXPECT_TABLE(conns, conn);
	ck_assert_uint_eq(fab->shared.processes, 2);
}
END_TEST

START_TEST(listeners_are_found_again)
{
	static const uint64_t ports[] = { 0, 100, 100 + EMU_LISTEN_BUCKETS, 100, 200 };

	fab->listeners.high = ENTRIES;
	for (uint32_t i = 1; i <= ENTRIES; i++)
		fab->listener[i] = (struct emu_listener){ .head.live = i != 3,
							  .port = ports[i],
							  .adapter = MINE,
							  .next = i };
	fab->listen_hash[0] = 7;
	emu_recover(world);
	ck_assert_uint_eq(fab->listen_hash[0], 0);
	for (uint32_t i = 1; i <= ENTRIES; i++)
		ck_assert_uint_eq(emu_cm_listener(world, MINE, ports[i]), i == 3 ? 1 : i);
	fab->listener[1].head.live = 0;
	emu_recover(world);
	ck_assert_uint_eq(emu_cm_listener(world, MINE, ports[1]), 0);
	memset(fab->listener, 0, (ENTRIES + 1) * sizeof(fab->listener[0]));
	fab->listeners.high = 0;
}
END_TEST

static emu_ref leave_event(uint32_t index)
{
	struct emu_event event = { .order = EMU_EV_ACK, .qp = SENDER, .index = index };

	ck_assert(emu_inbox_run(world, OTHER, &event));
	return emu_process(world, OTHER)->inbox_tail;
}

START_TEST(messages_of_the_event_leave_the_inbox_and_others_stay)
{
	struct emu_process *p = emu_process(world, OTHER);
	emu_ref first, second;

	connect_qps();
	first = leave_event(1);
	begin_event();
	leave_event(2);
	emu_section_event_done(world);
	second = p->inbox_tail;
	begin_event();
	leave_event(3);
	leave_event(4);
	world->membership->to_wake = 0;
	emu_recover(world);
	ck_assert_uint_eq(p->inbox, first);
	ck_assert_uint_eq(p->inbox_tail, second);
	ck_assert_uint_eq(((struct emu_message *)emu_at(world, first))->next, second);
	ck_assert_uint_eq(((struct emu_message *)emu_at(world, second))->next, 0);
	ck_assert(world->membership->to_wake & 1ul << (OTHER - 1));
	p->inbox = 0;
}
END_TEST

/* In lockstep the wait of a thread whose process has no message ends at its time, and no sooner. */
START_TEST(a_process_with_a_message_is_woken_and_in_lockstep_no_other)
{
	connect_qps();
	leave_event(1);
	world->lockstep = _i;
	world->membership->to_wake = 0;
	emu_recover(world);
	world->lockstep = false;
	ck_assert(world->membership->to_wake & 1ul << (OTHER - 1));
	ck_assert_int_eq(!(world->membership->to_wake & 1ul << (OWN - 1)), _i);
	emu_process(world, OTHER)->inbox = 0;
}
END_TEST

START_TEST(a_connection_whose_peer_is_gone_breaks)
{
	static const struct {
		uint8_t state;
		bool live, numbered, lost;
		uint32_t peer_epoch;
		bool breaks;
	} rows[] = {
		{ EMU_QP_CONNECTED, true, false, false, EPOCH, true },
		{ EMU_QP_DRAINING, true, false, false, EPOCH, true },
		{ EMU_QP_CONNECTING, true, false, false, EPOCH, true },
		{ EMU_QP_CONNECTED, true, false, true, EPOCH, false },
		{ EMU_QP_CONNECTED, true, false, false, EPOCH + SENDER, false },
		{ EMU_QP_CONNECTED, true, true, false, EPOCH, false },
		{ EMU_QP_CONNECTED, false, false, false, EPOCH, false },
		{ EMU_QP_IDLE, true, false, false, EPOCH, false },
		{ EMU_QP_ERROR, true, false, false, EPOCH, false },
	};
	struct emu_qp *qp = &fab->qp[RECEIVER];

	connect_qps();
	fab->qp[SENDER].state = EMU_QP_IDLE;
	qp->state = rows[_i].state;
	qp->head.live = rows[_i].live;
	qp->numbered = rows[_i].numbered;
	qp->half_open = rows[_i].lost;
	qp->peer_epoch = rows[_i].peer_epoch;
	emu_stalled_end(world);
	ck_assert_uint_eq(fab->events, rows[_i].breaks);
	if (!rows[_i].breaks)
		return;
	ck_assert_int_eq(emu_event_kind(&fab->heap[0]), EMU_EV_TERMINATE);
	ck_assert_uint_eq(fab->heap[0].qp, RECEIVER);
	ck_assert_uint_eq(fab->heap[0].epoch, EPOCH + RECEIVER);
}
END_TEST

/* The queue ends it when that is due; one of another connection, or another epoch, does not. */
START_TEST(a_connection_whose_end_is_queued_breaks_no_sooner)
{
	static const struct {
		enum emu_event_kind kind;
		uint32_t qp, epoch;
		bool ends;
	} rows[] = {
		{ EMU_EV_TERMINATE, RECEIVER, EPOCH + RECEIVER, true },
		{ EMU_EV_BREAK, RECEIVER, EPOCH + RECEIVER, true },
		{ EMU_EV_DISCONNECT, RECEIVER, EPOCH + RECEIVER, true },
		{ EMU_EV_ACK, RECEIVER, EPOCH + RECEIVER, false },
		{ EMU_EV_TERMINATE, RECEIVER, EPOCH + RECEIVER + 1, false },
		{ EMU_EV_TERMINATE, SENDER, EPOCH + SENDER, false },
	};

	connect_qps();
	fab->qp[SENDER].state = EMU_QP_IDLE;
	fab->qp[RECEIVER].peer_epoch = EPOCH;
	emu_schedule(world, fab->now + 5, rows[_i].kind, rows[_i].qp, rows[_i].epoch, 0, 0);
	emu_stalled_end(world);
	ck_assert_uint_eq(fab->events, rows[_i].ends ? 1 : 2);
	ck_assert_uint_eq(fab->heap[0].time, fab->now + (rows[_i].ends ? 5 : 0));
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("repair");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, both_ends_are_as_they_were_before_the_event);
	tcase_add_test(tcase, an_event_that_has_run_is_not_rolled_back);
	tcase_add_test(tcase, a_list_that_the_event_changed_becomes_empty);
	tcase_add_loop_test(tcase, a_delivery_that_was_not_published_is_undone, 0, 8);
	tcase_add_test(tcase, events_since_the_mark_are_dropped_and_their_places_are_empty);
	tcase_add_test(tcase, the_queue_is_sorted_and_each_event_is_in_it_once);
	tcase_add_test(tcase, without_memory_the_events_are_lost_and_the_adapters_fail);
	tcase_add_loop_test(tcase, a_timer_without_an_event_is_none, SENDER, RECEIVER + 1);
	tcase_add_test(tcase, free_lists_and_counts_are_those_of_the_entries);
	tcase_add_test(tcase, listeners_are_found_again);
	tcase_add_test(tcase, messages_of_the_event_leave_the_inbox_and_others_stay);
	tcase_add_loop_test(tcase, a_process_with_a_message_is_woken_and_in_lockstep_no_other, 0,
			    2);
	tcase_add_loop_test(tcase, a_connection_whose_peer_is_gone_breaks, 0, 9);
	tcase_add_loop_test(tcase, a_connection_whose_end_is_queued_breaks_no_sooner, 0, 6);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("repair of an arena")
