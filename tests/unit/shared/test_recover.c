/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process finds in the arena after another has died or written garbage: connection requests
 * whose event is gone are refused, other requests without one are sent again, a queue of events
 * that cannot be is dropped for all, and an upcall about no operation is not made.
 */

#include "emu/cm.h"
#include "emu/cq.h"
#include "emu/fabric/arena.h"
#include "emu/fabric/queue.h"
#include "emu/fabric/spare.h"
#include "emu/payload/split.h"
#include "emu/shared/inbox.h"
#include "emu/shared/recover.h"
#include "emu/shared/runner.h"
#include "emu/shared/stalled.h"
#include "emu/upcall.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	ADAPTER = 1,
	QP = 1,
};

static struct emu_world *world;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_join(config);
}

static void teardown_fabric(void)
{
	world->fab->events = 0;
	emu_process(world, OWN)->overrun = false;
	lone_leave(world);
}

/* ---- connection requests ---- */

enum {
	IN_QUEUE = 1, /* its event is in the queue, */
	IN_INBOX,     /* in a process's inbox, */
	AS_UPCALL,    /* nowhere: the inbox has another message that bears its number */
	ARRIVED,      /* its listener has it and has not answered, */
	ANSWERED,     /* or has, and the reply is gone */
	REQUESTS,
};

static void leave_request(uint32_t conn)
{
	struct emu_event event = { .order = EMU_EV_CM_REQUEST, .index = conn };

	ck_assert(emu_inbox_run(world, OTHER, &event));
}

/* An upcall whose `index` lies where an event has its kind and the number of its connection. */
static void leave_upcall(uint32_t conn)
{
	struct emu_event event = { .order = EMU_EV_CM_REQUEST, .index = conn };
	struct emu_upcall up;
	struct emu_message *message;

	memset(&up, 0, sizeof(up));
	emu_inbox_tell(world, OTHER, &up);
	message = emu_at(world, emu_process(world, OTHER)->inbox_tail);
	message->event = event;
}

static bool is_refused(uint32_t conn)
{
	for (uint32_t i = 0; i < world->fab->events; i++)
		if (emu_event_kind(&world->fab->heap[i]) == EMU_EV_CM_REPLY &&
		    world->fab->heap[i].index == conn)
			return true;
	return false;
}

START_TEST(requests_whose_event_is_gone_are_refused_and_no_others)
{
	struct emu_fabric *fab = world->fab;

	emu_process(world, OTHER)->used = true;
	fab->adapters[ADAPTER].process = OWN;
	fab->conns.high = REQUESTS;
	for (uint32_t i = 1; i < REQUESTS; i++)
		fab->conn[i] = (struct emu_conn){ .head.live = 1, .from = ADAPTER, .to = ADAPTER };
	fab->conn[ARRIVED].arrived = fab->conn[ANSWERED].arrived = true;
	emu_cm_reply(world, ANSWERED, 0);
	fab->events = 0;
	emu_schedule(world, fab->now, EMU_EV_CM_REQUEST, 0, 0, IN_QUEUE, 0);
	leave_request(IN_INBOX);
	leave_upcall(AS_UPCALL);
	emu_stalled_end(world);
	ck_assert(!is_refused(IN_QUEUE));
	ck_assert(!is_refused(IN_INBOX));
	ck_assert(is_refused(AS_UPCALL));
	ck_assert(!is_refused(ARRIVED));
	ck_assert(is_refused(ANSWERED));
	memset(fab->conn, 0, (REQUESTS + 1) * sizeof(*fab->conn));
	fab->conns.high = 0;
	emu_process(world, OTHER)->inbox = 0;
	emu_process(world, OTHER)->used = false;
}
END_TEST

/* ---- requests ---- */

enum {
	SENDER = 1,
	RECEIVER = 2,
};

#define EPOCH 7

static void connect_qps(void)
{
	struct emu_fabric *fab = world->fab;

	for (uint32_t i = SENDER; i <= RECEIVER; i++) {
		struct emu_qp *qp = &fab->qp[i];

		*qp = (struct emu_qp){ .head.live = 1,
				       .state = EMU_QP_CONNECTED,
				       .epoch = EPOCH + i,
				       .peer = SENDER + RECEIVER - i,
				       .peer_epoch = EPOCH + SENDER + RECEIVER - i };
		ck_assert_int_eq(emu_wq_init(world, &qp->sq, 1, sizeof(struct emu_swqe)), 0);
	}
	fab->qps.high = RECEIVER;
	fab->qp[SENDER].sq.put = fab->qp[SENDER].sq_next = 1;
}

static void forget_qps(void)
{
	struct emu_fabric *fab = world->fab;

	for (uint32_t i = SENDER; i <= RECEIVER; i++) {
		emu_wq_fini(world, &fab->qp[i].sq);
		fab->qp[i] = (struct emu_qp){ 0 };
	}
	fab->qps.high = 0;
	fab->events = fab->observed = 0;
}

static const struct {
	enum emu_event_kind kind;
	uint32_t qp, epoch;
	bool stalled;
} in_flight[] = {
	{ EMU_EV_DATA, RECEIVER, EPOCH + RECEIVER, false },
	{ EMU_EV_DATA_REST, RECEIVER, EPOCH + RECEIVER, false },
	{ EMU_EV_ACK_DUE, RECEIVER, EPOCH + RECEIVER, false },
	{ EMU_EV_ACK, SENDER, EPOCH + SENDER, false },
	{ EMU_EV_RNR, SENDER, EPOCH + SENDER, false },
	{ EMU_EV_RESPONSE, SENDER, EPOCH + SENDER, false },
	{ EMU_EV_TERMINATE, SENDER, EPOCH + SENDER, false },
	{ EMU_EV_DATA, RECEIVER, EPOCH, true },
	{ EMU_EV_DATA, SENDER, EPOCH + SENDER, true },
	{ EMU_EV_ACK, RECEIVER, EPOCH + RECEIVER, true },
};

static void expect_resumed(bool stalled)
{
	const struct emu_qp *sender = &world->fab->qp[SENDER];

	ck_assert_uint_eq(emu_stalled_resume(world), stalled);
	ck_assert_int_eq(sender->timer && sender->retry_timer, stalled);
	ck_assert(!world->fab->qp[RECEIVER].timer);
	ck_assert_uint_eq(emu_stalled_resume(world), 0);
}

START_TEST(Q6_a_request_without_a_packet_in_flight_gets_a_timer)
{
	struct emu_event event = { .order = in_flight[_i].kind,
				   .qp = in_flight[_i].qp,
				   .epoch = in_flight[_i].epoch };

	connect_qps();
	emu_reschedule(world, &event, world->fab->now);
	expect_resumed(in_flight[_i].stalled);
	forget_qps();
	connect_qps();
	emu_process(world, OTHER)->used = true;
	ck_assert(emu_inbox_run(world, OTHER, &event));
	expect_resumed(in_flight[_i].stalled);
	emu_inbox_discard(world, OTHER);
	emu_process(world, OTHER)->used = false;
	forget_qps();
}
END_TEST

/* Its packet goes on when the hold ends, or when it is the next one of its train. */
START_TEST(Q6_a_request_whose_packet_is_kept_gets_no_timer)
{
	struct emu_fabric *fab = world->fab;
	emu_ref *const lists[] = { &fab->link[1].held, &fab->qp[SENDER].held,
				   &fab->qp[SENDER].early };
	emu_ref ref = emu_pool_alloc(world, sizeof(struct emu_held));

	ck_assert_uint_ne(ref, 0);
	connect_qps();
	*(struct emu_held *)emu_at(world, ref) = (struct emu_held){
		.event = { .order = EMU_EV_DATA, .qp = RECEIVER, .epoch = EPOCH + RECEIVER },
	};
	fab->links.high = 1;
	*lists[_i] = ref;
	expect_resumed(false);
	*lists[_i] = 0;
	expect_resumed(true);
	fab->links.high = 0;
	emu_pool_free(fab, ref, sizeof(struct emu_held));
	forget_qps();
}
END_TEST

START_TEST(Q6_a_request_whose_timer_was_lost_gets_another)
{
	struct emu_qp *sender = &world->fab->qp[SENDER];

	connect_qps();
	emu_timer_start(world, sender, world->fab->now + 1, EMU_EV_RNR_TIMER);
	sender->rnr_wait = true;
	ck_assert_uint_eq(emu_stalled_resume(world), 0);
	world->fab->events = 0;
	world->fab->heap[0].order = EMU_NO_EVENT;
	emu_recover(world);
	expect_resumed(true);
	forget_qps();
}
END_TEST

START_TEST(Q6_no_timer_runs_without_a_request_or_without_a_peer)
{
	struct emu_qp *sender = &world->fab->qp[SENDER];

	connect_qps();
	sender->sq.get = 1;
	expect_resumed(false);
	sender->sq.get = 0;
	sender->peer_epoch++;
	expect_resumed(false);
	forget_qps();
}
END_TEST

/* The end of a connection comes when the link lets it go, and another one would come sooner. */
START_TEST(a_connection_whose_end_a_link_holds_gets_no_other)
{
	struct emu_fabric *fab = world->fab;
	emu_ref ref = emu_pool_alloc(world, sizeof(struct emu_held));

	ck_assert_uint_ne(ref, 0);
	connect_qps();
	fab->qp[SENDER].state = EMU_QP_IDLE;
	fab->qp[RECEIVER].peer_epoch = EPOCH;
	*(struct emu_held *)emu_at(world, ref) = (struct emu_held){
		.event = { .order = EMU_EV_DISCONNECT, .qp = RECEIVER, .epoch = EPOCH + RECEIVER },
	};
	fab->links.high = 1;
	fab->link[1].held = _i ? ref : 0;
	emu_stalled_end(world);
	ck_assert_uint_eq(fab->events, !_i);
	fab->link[1].held = 0;
	fab->links.high = 0;
	emu_pool_free(fab, ref, sizeof(struct emu_held));
	forget_qps();
}
END_TEST

static bool is_queued(uint32_t index)
{
	for (uint32_t i = 0; i < world->fab->events; i++)
		if (world->fab->heap[i].index == index)
			return true;
	return false;
}

static void begin_event(uint32_t index)
{
	struct emu_event event = { .order = world->fab->sequence++ << 8 | EMU_EV_RNR_TIMER,
				   .qp = SENDER,
				   .epoch = EPOCH,
				   .index = index };

	emu_section_event(world, &event);
}

/* Events are told apart by `index`. The death comes after one, or inside the next. */
START_TEST(Q6_packets_of_an_event_stay_when_the_process_dies_later_in_the_section)
{
	connect_qps();
	begin_event(1);
	emu_schedule(world, world->fab->now, EMU_EV_DATA, RECEIVER, EPOCH + RECEIVER, 2, 0);
	emu_section_event_done(world);
	if (_i > 0) {
		begin_event(3);
		emu_schedule(world, world->fab->now, EMU_EV_DATA, RECEIVER, EPOCH + RECEIVER, 4, 0);
	}
	emu_recover(world);
	ck_assert(!is_queued(1));
	ck_assert(is_queued(2));
	ck_assert_int_eq(is_queued(3), _i > 0);
	ck_assert(!is_queued(4));
	forget_qps();
}
END_TEST

/* CQs 1 and 2 are of the sender's requests and Receives, 3 and 4 of the receiver's. */
enum {
	CQS = 4,
};

static uint8_t armed_as(uint32_t cq)
{
	return cq % 2 ? EMU_ARMED_ANY : EMU_ARMED_NOT;
}

static void attach_cqs(void)
{
	struct emu_fabric *fab = world->fab;

	for (uint32_t i = 1; i <= CQS; i++)
		fab->cq[i] = (struct emu_cq){ .put = 10 * i, .armed = armed_as(i) };
	fab->cqs.high = CQS;
	for (uint32_t i = SENDER; i <= RECEIVER; i++) {
		fab->qp[i].send_cq = 2 * i - 1;
		fab->qp[i].recv_cq = 2 * i;
	}
}

START_TEST(Q6_completions_of_an_event_in_which_a_process_dies_are_taken_back)
{
	struct emu_fabric *fab = world->fab;

	connect_qps();
	attach_cqs();
	begin_event(1);
	for (uint32_t i = 1; i <= CQS; i++) {
		ck_assert_uint_ne(fab->cq[i].in_event, 0);
		fab->cq[i].put += i;
		fab->cq[i].armed = armed_as(i + 1);
	}
	emu_recover(world);
	for (uint32_t i = 1; i <= CQS; i++) {
		ck_assert_uint_eq(fab->cq[i].put, 10 * i);
		ck_assert_uint_eq(fab->cq[i].armed, armed_as(i));
		ck_assert_uint_eq(fab->cq[i].in_event, 0);
		fab->cq[i] = (struct emu_cq){ 0 };
	}
	fab->cqs.high = 0;
	forget_qps();
}
END_TEST

/* ---- garbage ---- */

static const uint16_t places[] = { OTHER, EMU_PROCESSES - 1, EMU_PROCESSES };

/* The last place of the table is one as any other. */
START_TEST(a_queue_that_cannot_be_fails_the_adapters_of_every_process)
{
	uint16_t other = places[_i];

	emu_process(world, other)->used = true;
	world->fab->events = EMU_EVENTS + 1;
	world->membership->to_wake = 0;
	emu_run_first(world);
	ck_assert_uint_eq(world->fab->events, 0);
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		ck_assert_int_eq(emu_process(world, i)->overrun, i == OWN || i == other);
	ck_assert_uint_eq(world->membership->to_wake, 1ul << (OWN - 1) | 1ul << (other - 1));
	emu_process(world, other)->overrun = false;
	emu_process(world, other)->used = false;
	world->membership->to_wake = 0;
}
END_TEST

START_TEST(pieces_that_a_dead_process_offers_are_not_claimed)
{
	struct emu_split *split = &world->fab->shared.split;

	split->claims = (uint64_t)7 << 32;
	emu_recover(world);
	ck_assert_uint_eq(emu_split_claim(split, 7, 1u << 20), EMU_SPLIT_NONE);
	ck_assert_uint_eq(split->claims >> 32, 7);
}
END_TEST

static unsigned int losses;

static void count_loss(void *cq, void *qp, enum nic_opcode opcode)
{
	(void)cq;
	(void)qp;
	(void)opcode;
	losses++;
}

static const struct {
	unsigned int opcode;
	unsigned int calls;
} operations[] = {
	{ NIC_OP_SEND, 1 },
	{ NIC_OP_COUNT - 1, 1 },
	{ NIC_OP_COUNT, 0 },
	{ 255, 0 },
};

START_TEST(an_upcall_about_no_operation_is_not_made)
{
	static const struct nic_upcalls calls = { .cq_lost = count_loss };
	struct nic nic = { .up = &calls };

	world->fab->adapters[ADAPTER].process = OWN;
	world->fab->qp[QP].adapter = ADAPTER;
	world->qp[QP].base.nic = &nic;
	losses = 0;
	emu_up_cq_lost(world, 0, QP, (enum nic_opcode)operations[_i].opcode);
	ck_assert_uint_eq(losses, operations[_i].calls);
	world->qp[QP].base.nic = NULL;
	world->fab->qp[QP].adapter = 0;
	world->fab->adapters[ADAPTER].process = 0;
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("recover");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, requests_whose_event_is_gone_are_refused_and_no_others);
	tcase_add_loop_test(tcase, Q6_a_request_without_a_packet_in_flight_gets_a_timer, 0,
			    COUNT(in_flight));
	tcase_add_loop_test(tcase,
			    Q6_packets_of_an_event_stay_when_the_process_dies_later_in_the_section,
			    0, 2);
	tcase_add_test(tcase, Q6_completions_of_an_event_in_which_a_process_dies_are_taken_back);
	tcase_add_loop_test(tcase, Q6_a_request_whose_packet_is_kept_gets_no_timer, 0, 3);
	tcase_add_test(tcase, Q6_a_request_whose_timer_was_lost_gets_another);
	tcase_add_loop_test(tcase, a_connection_whose_end_a_link_holds_gets_no_other, 0, 2);
	tcase_add_test(tcase, Q6_no_timer_runs_without_a_request_or_without_a_peer);
	tcase_add_loop_test(tcase, a_queue_that_cannot_be_fails_the_adapters_of_every_process, 0,
			    COUNT(places));
	tcase_add_test(tcase, pieces_that_a_dead_process_offers_are_not_claimed);
	tcase_add_loop_test(tcase, an_upcall_about_no_operation_is_not_made, 0, COUNT(operations));
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("recovery of an arena")
