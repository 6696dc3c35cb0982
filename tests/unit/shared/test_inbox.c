/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages to another process: payload that cannot be copied straight, the completion that such a
 * payload belongs to, packets that one of two processes has to run, which process is woken, and
 * lists that lead to garbage.
 */
#include <sys/mman.h>

#include "emu/fabric/arena.h"
#include "emu/fabric/queue.h"
#include "emu/guard.h"
#include "emu/number/atomic.h"
#include "emu/rdma.h"
#include "emu/shared/inbox.h"
#include "emu/payload/reach.h"
#include "emu/shared/recover.h"
#include "emu/shared/runner.h"
#include "emu/shared/stalled.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	QP = 1,
	PEER = 2,
	SEND_CQ = 3,
	RECV_CQ = 4,
	EPOCH = 7,
	LENGTH = 500,
	STEPS = 1000,
};

static struct emu_world *world;
static struct emu_fabric *fab;
static uint8_t payload[LENGTH];

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_begin(config);
	emu_guard_begin();
	fab = world->fab;
	fab->adapters[MINE].process = OWN;
	fab->adapters[THEIRS].process = OTHER;
	world->membership->peer[OTHER].tried = true; /* its memory cannot be reached */
	fab->qp[QP] = (struct emu_qp){ .head.live = 1,
				       .adapter = MINE,
				       .peer_adapter = THEIRS,
				       .peer = PEER,
				       .epoch = EPOCH,
				       .send_cq = SEND_CQ,
				       .recv_cq = RECV_CQ };
	fab->qp[PEER] = (struct emu_qp){ .head.live = 1,
					 .adapter = THEIRS,
					 .peer_adapter = MINE,
					 .peer = QP };
	ck_assert_int_eq(emu_wq_init(world, &fab->qp[PEER].sq, 4, sizeof(struct emu_swqe)), 0);
	for (int i = 0; i < LENGTH; i++)
		payload[i] = (uint8_t)(i * 3 + 1);
}

static void teardown_fabric(void)
{
	emu_guard_end();
	emu_process(world, OTHER)->inbox = 0;
	memset(fab->qp, 0, (PEER + 1) * sizeof(*fab->qp));
	fab->adapters[MINE].process = fab->adapters[THEIRS].process = 0;
	fab->events = 0;
	lone_end(world);
}

static const struct emu_message *first_message(void)
{
	emu_ref ref = emu_process(world, OTHER)->inbox;

	return ref ? emu_at(world, ref) : NULL;
}

static struct emu_swqe *request_at(uint32_t index)
{
	return emu_wqe(world, &fab->qp[PEER].sq, index);
}

/* ---- payload ---- */

static const struct emu_place target = { .addr = 0x1000, .process = OTHER };

START_TEST(a_payload_in_the_inbox_is_whole)
{
	const struct emu_message *message;

	ck_assert_int_eq(emu_inbox_copy(world, &target, (uintptr_t)payload, LENGTH), EMU_COPY_OK);
	message = first_message();
	ck_assert_ptr_nonnull(message);
	ck_assert_uint_eq(message->kind, EMU_MESSAGE_COPY);
	ck_assert_uint_eq(message->copy.addr, 0x1000);
	ck_assert_uint_eq(message->copy.length, LENGTH);
	ck_assert_mem_eq(emu_at(world, message->copy.data), payload, LENGTH);
	ck_assert_uint_eq(message->copy.lost.qp, 0);
	ck_assert(world->membership->to_wake & 1ul << (OTHER - 1));
}
END_TEST

START_TEST(a_payload_whose_memory_is_gone_is_no_message)
{
	void *gone = mmap(NULL, EMU_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	emu_ref next;

	ck_assert_int_eq(emu_inbox_copy(world, &target, (uintptr_t)gone, LENGTH),
			 EMU_COPY_BAD_SOURCE);
	ck_assert_ptr_null(first_message());
	ck_assert(!emu_reach_to_arena(payload, (uintptr_t)gone, LENGTH));
	/* The block that was to hold it is free again. */
	next = fab->pool_next;
	ck_assert_uint_ne(emu_pool_alloc(world, LENGTH), 0);
	ck_assert_uint_eq(fab->pool_next, next);
	munmap(gone, EMU_PAGE);
}
END_TEST

START_TEST(a_payload_that_finds_no_room_is_no_message)
{
	uint32_t end = fab->pool_end;

	fab->pool_end = fab->pool_next;
	ck_assert_int_eq(emu_inbox_copy(world, &target, (uintptr_t)payload, LENGTH),
			 EMU_COPY_BAD_TARGET);
	fab->pool_end = end;
	ck_assert_ptr_null(first_message());
}
END_TEST

/* There is a block for the payload, and none for the message that names it. */
START_TEST(a_payload_without_its_message_is_given_back)
{
	emu_ref block = emu_pool_alloc(world, LENGTH);
	uint32_t end = fab->pool_end;

	ck_assert_uint_ne(block, 0);
	emu_pool_free(fab, block, LENGTH);
	fab->pool_end = fab->pool_next;
	ck_assert_int_eq(emu_inbox_copy(world, &target, (uintptr_t)payload, LENGTH),
			 EMU_COPY_BAD_TARGET);
	ck_assert_ptr_null(first_message());
	ck_assert_uint_eq(emu_pool_alloc(world, LENGTH), block);
	fab->pool_end = end;
}
END_TEST

/* The completion that says that the payload came: of the Read, or of the Receive. */
START_TEST(a_payload_knows_its_completion)
{
	static const struct {
		enum emu_event_kind kind;
		uint8_t opcode;
		uint32_t number;
	} rows[] = {
		{ EMU_EV_RESPONSE, NIC_OP_READ, 33 },
		{ EMU_EV_RESPONSE_REST, NIC_OP_READ, 33 },
		{ EMU_EV_DATA, NIC_OP_SEND, 44 },
		{ EMU_EV_DATA_REST, NIC_OP_SEND, 44 },
	};
	struct emu_event event = { .order = rows[_i].kind, .qp = QP, .index = 2 };
	const struct emu_message *message;

	fab->cq[SEND_CQ].put = 33;
	fab->cq[RECV_CQ].put = 44;
	request_at(2)->opcode = NIC_OP_SEND;
	emu_section_event(world, &event);
	ck_assert_int_eq(emu_inbox_copy(world, &target, (uintptr_t)payload, LENGTH), EMU_COPY_OK);
	message = first_message();
	ck_assert_uint_eq(message->copy.lost.qp, QP);
	ck_assert_uint_eq(message->copy.lost.opcode, rows[_i].opcode);
	ck_assert_uint_eq(message->copy.lost.number, rows[_i].number);
	ck_assert_uint_eq(message->during, event.order);
	emu_section_event_done(world);
}
END_TEST

/* The payload is lost. Its completion was polled, and its place in the ring has a later one. */
START_TEST(a_completion_that_was_polled_leaves_later_ones_alone)
{
	struct emu_cq *cq = &fab->cq[RECV_CQ];
	const struct emu_lost lost = { .qp = QP, .opcode = NIC_OP_SEND, .number = 1 };
	struct emu_cqe *cqe;

	cq->ring = emu_pool_alloc(world, 4 * sizeof(*cqe));
	ck_assert_uint_ne(cq->ring, 0);
	cqe = emu_at(world, cq->ring);
	cqe[1] = (struct emu_cqe){ .qp = QP, .opcode = NIC_OP_RECV, .status = NIC_WC_SUCCESS };
	cq->mask = 3;
	cq->put = 6;
	cq->get = 2;
	emu_inbox_lose(world, &lost);
	ck_assert_int_eq(cqe[1].status, NIC_WC_SUCCESS);
	cq->put = 2;
	cq->get = 1;
	emu_inbox_lose(world, &lost);
	ck_assert_int_eq(cqe[1].status, NIC_WC_LOCAL_PROTECTION);
	emu_pool_free(fab, cq->ring, 4 * sizeof(*cqe));
	*cq = (struct emu_cq){ 0 };
}
END_TEST

/* ---- which process runs a packet ---- */

/*
 * An atomic is run where its target is, though its sender's memory is out of reach. But it follows
 * Sends before it that have gone on: after an RNR NAK it would be dropped if it came before them,
 * and nothing would bring it again.
 */
START_TEST(a_packet_that_was_left_here_goes_on_unless_it_is_the_atomic_expected_next)
{
	static const struct {
		uint32_t index, epoch, expected;
		enum nic_opcode opcode;
		bool goes_on;
	} rows[] = {
		{ 0, EPOCH, 0, NIC_OP_SEND, true },
		{ 1, EPOCH, 1, NIC_OP_ADD, false },
		{ 1, EPOCH, 0, NIC_OP_ADD, true },
		{ 2, EPOCH, 2, NIC_OP_ADD, true }, /* not posted yet: garbage */
		{ 1, EPOCH + 1, 1, NIC_OP_ADD, true },
	};
	struct emu_event event = { .order = EMU_EV_DATA,
				   .qp = QP,
				   .epoch = rows[_i].epoch,
				   .index = rows[_i].index };

	fab->qp[PEER].sq.put = 2;
	request_at(rows[_i].index)->opcode = (uint8_t)rows[_i].opcode;
	fab->qp[QP].rx_next = rows[_i].expected;
	fab->qp[QP].state = EMU_QP_ERROR; /* where it is dropped, if it is run */
	emu_run_left(world, &event);
	ck_assert_int_eq(first_message() != NULL, rows[_i].goes_on);
	ck_assert_int_eq(fab->qp[QP].left_there, rows[_i].goes_on);
}
END_TEST

/* An atomic is passed on to the process of its target, which alone can reach it. */
START_TEST(a_packet_goes_behind_the_atomic_before_it)
{
	struct emu_arrival atomic = { .qp = &fab->qp[PEER],
				      .sender = &fab->qp[QP],
				      .kind = EMU_EV_DATA };
	struct emu_event next = { .order = EMU_EV_DATA, .qp = PEER, .epoch = EPOCH + 1 };
	struct emu_process *other = emu_process(world, OTHER);
	emu_ref first;

	ck_assert(!emu_atomic_is_mine(world, &atomic));
	first = other->inbox;
	ck_assert_uint_ne(first, 0);
	ck_assert_uint_eq(other->inbox_tail, first);
	if (_i) {
		emu_run_left(world, &next); /* it was in this process's inbox */
	} else {
		emu_reschedule(world, &next, 0);
		emu_run_first(world);
	}
	ck_assert_uint_ne(other->inbox_tail, first);
	ck_assert_uint_eq(((struct emu_message *)emu_at(world, first))->next, other->inbox_tail);
	ck_assert_uint_eq(fab->events, 0);
	/* Once that inbox is empty, it is run here: it is stale. */
	other->inbox = 0;
	emu_run_left(world, &next);
	ck_assert_uint_eq(other->inbox, 0);
}
END_TEST

/* First an earlier one waits there, then none. The packet is stale, so that nothing comes of it. */
START_TEST(a_datagram_goes_behind_the_one_before_it)
{
	struct emu_process *own = emu_process(world, OWN);
	struct emu_qp *qp = &fab->qp[QP];
	emu_ref first;

	qp->kind = fab->qp[PEER].kind = NIC_QP_DATAGRAM;
	qp->left_here = true;
	emu_schedule(world, 0, EMU_EV_UNANSWERED, QP, EPOCH + 1, 0, PEER);
	ck_assert(emu_inbox_run(world, OWN, &fab->heap[0]));
	first = own->inbox_tail;
	emu_run_first(world);
	ck_assert_uint_ne(own->inbox_tail, first);
	ck_assert(qp->left_here);
	own->inbox = 0;
	emu_schedule(world, 0, EMU_EV_UNANSWERED, QP, EPOCH + 1, 0, PEER);
	emu_run_first(world);
	ck_assert_uint_eq(own->inbox, 0);
	ck_assert(!qp->left_here);
	ck_assert_uint_eq(fab->events, 0);
}
END_TEST

/* ---- who is woken ---- */

START_TEST(a_process_with_a_message_is_woken_and_no_other)
{
	uint32_t own = emu_process(world, OWN)->futex, other = emu_process(world, OTHER)->futex;

	world->membership->to_wake = 1ul << (OTHER - 1);
	emu_shared_release(world);
	ck_assert_uint_eq(emu_process(world, OWN)->futex, own);
	ck_assert_uint_eq(emu_process(world, OTHER)->futex, other + 1);
	ck_assert_uint_eq(world->membership->to_wake, 0);
	emu_shared_take(world);
	emu_shared_release_clean(world);
	ck_assert_uint_eq(emu_process(world, OTHER)->futex, other + 1);
	emu_shared_take(world);
}
END_TEST

/* ---- a list that leads to garbage ---- */

static unsigned int ends, failures;

static void count_end(void *ctx, enum nic_conn_end why)
{
	(void)ctx;
	(void)why;
	ends++;
}

static void count_failure(void *ctx)
{
	(void)ctx;
	failures++;
}

static const struct nic_upcalls counted = { .conn_end = count_end,
					    .adapter_failed = count_failure };
static struct nic nic = { .up = &counted };

/* The block that the head of the list, or its first message, leads to. */
enum bent {
	TO_OTHER_BLOCK,
	TO_FREE_BLOCK,
	TO_TAKEN_MESSAGE,
	TO_UNUSED_POOL,
	TO_FIRST_MESSAGE,
	BENT,
};

/* Leave a message that counts in `ends`. */
static emu_ref leave_end(uint16_t process)
{
	const struct emu_upcall up = { .kind = EMU_UPCALL_CONN_END, .qp = QP };

	emu_inbox_tell(world, process, &up);
	return emu_process(world, process)->inbox_tail;
}

static void begin_counting(void)
{
	ends = failures = 0;
	world->qp[QP].base.nic = &nic;
	world->nics[MINE].base.up = &counted;
	fab->adapters[MINE].open = true;
}

static void end_counting(void)
{
	world->qp[QP].base.nic = NULL;
	world->nics[MINE].base.up = NULL;
	fab->adapters[MINE].open = false;
}

/* A block whose first word leads to itself, as garbage that makes a walk endless. */
static emu_ref block_to(enum bent to)
{
	struct emu_message *block;
	emu_ref ref;

	if (to == TO_TAKEN_MESSAGE) {
		ref = leave_end(OWN);
		emu_inbox_empty(world);
	} else if (to == TO_UNUSED_POOL) {
		ref = fab->pool_next + STEPS;
	} else {
		ref = emu_pool_alloc(world, sizeof(*block));
	}
	block = emu_at(world, ref);
	if (to == TO_FREE_BLOCK)
		emu_pool_free(fab, ref, sizeof(*block));
	else if (to != TO_UNUSED_POOL)
		block->next = ref;
	block->kind = EMU_MESSAGE_UPCALL;
	block->up = (struct emu_upcall){ .kind = EMU_UPCALL_CONN_END, .qp = QP };
	return ref;
}

START_TEST(an_inbox_that_leads_to_garbage_ends_there)
{
	struct emu_process *own = emu_process(world, OWN);
	enum bent to = (enum bent)(_i % BENT);
	bool by_link = _i >= BENT;
	emu_ref bent, first;

	begin_counting();
	bent = to == TO_FIRST_MESSAGE ? 0 : block_to(to);
	ends = 0;
	first = leave_end(OWN);
	if (to == TO_FIRST_MESSAGE)
		bent = first;
	if (by_link)
		((struct emu_message *)emu_at(world, first))->next = bent;
	else
		own->inbox = bent;
	world->steps = STEPS;
	emu_inbox_empty(world);
	ck_assert_uint_eq(ends, by_link || bent == first);
	ck_assert_uint_eq(failures, by_link || bent != first);
	ck_assert_uint_eq(own->inbox, 0);
	/* It is over: the next message is run, and it alone. */
	ends = failures = 0;
	leave_end(OWN);
	emu_inbox_empty(world);
	ck_assert_uint_eq(ends, 1);
	ck_assert_uint_eq(failures, 0);
	end_counting();
}
END_TEST

START_TEST(a_message_behind_garbage_begins_a_new_list)
{
	struct emu_process *other = emu_process(world, OTHER);
	emu_ref garbage = emu_pool_alloc(world, LENGTH), last;
	uint8_t *block = emu_at(world, garbage);

	memset(block, 0x55, LENGTH);
	leave_end(OTHER);
	other->inbox_tail = garbage;
	last = leave_end(OTHER);
	for (int i = 0; i < LENGTH; i++)
		ck_assert_uint_eq(block[i], 0x55);
	ck_assert_uint_eq(other->inbox, last);
	ck_assert_uint_eq(other->inbox_tail, last);
	ck_assert(other->overrun);
}
END_TEST

START_TEST(recovery_takes_no_step_into_garbage)
{
	struct emu_process *other = emu_process(world, OTHER);
	emu_ref garbage = block_to(TO_OTHER_BLOCK), first = leave_end(OTHER);

	((struct emu_message *)emu_at(world, first))->next = garbage;
	world->steps = STEPS;
	emu_stalled_resume(world);
	ck_assert_uint_eq(world->steps, STEPS - 1);
	world->steps = STEPS;
	emu_recover(world); /* it looks at each message twice */
	ck_assert_uint_eq(world->steps, STEPS - 2);
	ck_assert(other->overrun);
	ck_assert_uint_eq(other->inbox, first);
	ck_assert_uint_eq(((struct emu_message *)emu_at(world, first))->next, 0);
	ck_assert_uint_eq(other->inbox_tail, first);
	world->steps = STEPS;
	emu_stalled_end(world);
	ck_assert_uint_eq(world->steps, STEPS - 1);
	fab->shared.processes = 1; /* recovery has counted OTHER, which cannot leave */
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("inbox");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, a_payload_in_the_inbox_is_whole);
	tcase_add_test(tcase, a_payload_whose_memory_is_gone_is_no_message);
	tcase_add_test(tcase, a_payload_that_finds_no_room_is_no_message);
	tcase_add_test(tcase, a_payload_without_its_message_is_given_back);
	tcase_add_loop_test(tcase, a_payload_knows_its_completion, 0, 4);
	tcase_add_test(tcase, a_completion_that_was_polled_leaves_later_ones_alone);
	tcase_add_loop_test(
		tcase, a_packet_that_was_left_here_goes_on_unless_it_is_the_atomic_expected_next, 0,
		5);
	tcase_add_loop_test(tcase, a_packet_goes_behind_the_atomic_before_it, 0, 2);
	tcase_add_test(tcase, a_datagram_goes_behind_the_one_before_it);
	tcase_add_test(tcase, a_process_with_a_message_is_woken_and_no_other);
	tcase_add_loop_test(tcase, an_inbox_that_leads_to_garbage_ends_there, 0, 2 * BENT);
	tcase_add_test(tcase, a_message_behind_garbage_begins_a_new_list);
	tcase_add_test(tcase, recovery_takes_no_step_into_garbage);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("inboxes")
