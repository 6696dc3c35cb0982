/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of a payload between two processes that is not straight: inline CQEs, staging buffers,
 * inboxes; and which of the two processes runs its packets.
 */
#include <stdlib.h>
#include <unistd.h>

#include "emu/cq.h"
#include "emu/fabric/arena.h"
#include "emu/fabric/queue.h"
#include "emu/shared/apart.h"
#include "emu/shared/inbox.h"
#include "emu/payload/inline.h"
#include "emu/shared/runner.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	QP = 1,
	CQ = 2,
	LKEY = 1 << 8,
	STAGES_OF_ONE = 4, /* most for one CQ */
	ROOM = 512 << 10,
	STREAM = 256 << 10, /* from this length on payload is stored past the cache */
	STAGED = 3 * EMU_PAGE,
};

static struct emu_world *world;
static struct emu_fabric *fab;
static uint8_t from[ROOM];
static _Alignas(EMU_LINE) uint8_t to[ROOM];

/* ---- the program above the door ---- */

static unsigned int ends, losses;

static void count_end(void *ctx, enum nic_conn_end why)
{
	(void)ctx;
	(void)why;
	ends++;
}

static void count_loss(void *cq, void *qp, enum nic_opcode opcode)
{
	(void)cq;
	(void)qp;
	ck_assert_int_eq(opcode, NIC_OP_RECV);
	losses++;
}

static const struct nic_upcalls calls = { .conn_end = count_end, .cq_lost = count_loss };
static struct nic nic = { .up = &calls };

/* ---- the fabric ---- */

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_begin(config);
	fab = world->fab;
	fab->adapters[MINE].process = OWN;
	fab->adapters[THEIRS].process = OTHER;
	for (size_t i = 0; i < ROOM; i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	memset(to, 0, ROOM);
	world->range[1] = (struct emu_range){ (uintptr_t)to, ROOM, LKEY };
	world->range_high = 1;
}

static void teardown_fabric(void)
{
	emu_process(world, OTHER)->inbox = 0;
	fab->adapters[MINE].process = 0;
	lone_end(world);
}

/* ---- copies into the arena and out of it ---- */

START_TEST(a_payload_of_any_length_reaches_the_arena)
{
	static const uint64_t lengths[] = { 1, STREAM - 1, STREAM, STREAM + 100, ROOM - 64 };
	uint64_t length = lengths[_i];

	ck_assert(emu_reach_to_arena_long(to, (uintptr_t)from, length));
	ck_assert_mem_eq(to, from, length);
	ck_assert_uint_eq(to[length], 0);
}
END_TEST

static struct emu_cq *make_cq(uint32_t index, uint16_t adapter)
{
	struct emu_cq *cq = &fab->cq[index];

	*cq = (struct emu_cq){ .head.live = 1, .adapter = adapter };
	ck_assert_int_eq(emu_inline_init(world, cq), 0);
	if (fab->cqs.high < index)
		fab->cqs.high = index;
	return cq;
}

static bool load(const struct emu_cq *cq, uint32_t number, uint32_t length)
{
	struct emu_inline_cqe *cqe = emu_inline_at(world, cq, number);

	if (!emu_inline_load(world, cq, number, (uintptr_t)from, length))
		return false;
	cqe->addr = (uintptr_t)to + (uint64_t)number * STAGED;
	cqe->lkey = LKEY;
	cqe->length = length;
	cqe->number = number;
	return true;
}

START_TEST(a_long_payload_waits_in_a_staging_buffer)
{
	struct emu_cq *cq = make_cq(CQ, MINE);
	const struct emu_stage *stage;
	uint32_t number;

	for (number = 0; number < STAGES_OF_ONE; number++) {
		ck_assert(load(cq, number, STAGED - number));
		stage = &fab->shared.stage[emu_inline_at(world, cq, number)->stage];
		ck_assert_uint_eq(stage->cq, CQ);
		ck_assert_uint_eq(stage->number, number);
		ck_assert_uint_eq(stage->bytes, STAGED);
		ck_assert(!emu_stage_is_free(world, stage));
		ck_assert_mem_eq(emu_at(world, stage->data), from, STAGED - number);
	}
	ck_assert_msg(!load(cq, number, STAGED), "a CQ has more than its share");
	cq->get = 1; /* the first completion has been dequeued */
	ck_assert(load(cq, number, STAGED));
	ck_assert_uint_eq(emu_inline_at(world, cq, number)->stage,
			  emu_inline_at(world, cq, 0)->stage);
	ck_assert(!load(cq, number + 1, EMU_STAGE_BYTES + 1));
	/* The others are withdrawn, one by one and with the CQ. */
	emu_inline_drop(world, cq, 1);
	stage = &fab->shared.stage[emu_inline_at(world, cq, 1)->stage];
	ck_assert(emu_stage_is_free(world, stage));
	ck_assert(!emu_inline_is_for(emu_inline_at(world, cq, 1), 1));
	stage = &fab->shared.stage[emu_inline_at(world, cq, 2)->stage];
	ck_assert(!emu_stage_is_free(world, stage));
	emu_inline_fini(world, cq);
	ck_assert_uint_eq(stage->cq, 0);
	ck_assert_uint_eq(cq->inline_ring, 0);
}
END_TEST

START_TEST(a_staging_buffer_grows)
{
	struct emu_cq *cq = make_cq(CQ, MINE);
	uint32_t stage;

	ck_assert(load(cq, 0, EMU_INLINE_BYTES + 1));
	stage = emu_inline_at(world, cq, 0)->stage;
	ck_assert_uint_eq(fab->shared.stage[stage].bytes, EMU_PAGE);
	cq->get = 1;
	ck_assert(load(cq, 1, EMU_PAGE + 1));
	ck_assert_uint_eq(emu_inline_at(world, cq, 1)->stage, stage);
	ck_assert_uint_eq(fab->shared.stage[stage].bytes, 2 * EMU_PAGE);
	ck_assert_mem_eq(emu_at(world, fab->shared.stage[stage].data), from, EMU_PAGE + 1);
	emu_inline_fini(world, cq);
}
END_TEST

/* The first CQ of the table is free, the second another process's. */
START_TEST(all_payloads_of_this_process_are_placed_once)
{
	struct emu_cq *theirs = make_cq(CQ, THEIRS), *cq = make_cq(CQ + 1, MINE);
	uint8_t *short_one = to, *long_one = to + STAGED, *third = to + 2 * STAGED;

	ck_assert(load(theirs, 2, 10));
	theirs->put = 3;
	ck_assert(load(cq, 0, 10) && load(cq, 1, STAGED));
	cq->put = 2; /* the third is not published yet */
	ck_assert(load(cq, 2, 10));
	emu_inline_place_all(world);
	ck_assert_mem_eq(short_one, from, 10);
	ck_assert_mem_eq(long_one, from, STAGED);
	ck_assert_uint_eq(third[0] | third[1], 0);
	ck_assert_uint_eq(emu_inline_at(world, cq, 0)->flags & EMU_INLINE_LOST, 0);
	ck_assert_uint_eq(emu_inline_at(world, cq, 0)->lkey, 0);
	memset(to, 0, 2 * STAGED);
	emu_inline_place_all(world);
	ck_assert_uint_eq(short_one[1] | long_one[1], 0);
	emu_inline_fini(world, cq);
	emu_inline_fini(world, theirs);
}
END_TEST

START_TEST(a_payload_goes_to_a_region_of_this_process_only)
{
	struct emu_cq *cq = make_cq(CQ, MINE);
	struct emu_inline_cqe *cqe = emu_inline_at(world, cq, 0);
	uint8_t outside[16] = { 0 };

	ck_assert(load(cq, 0, 10));
	cqe->addr = (uintptr_t)outside;
	ck_assert(emu_inline_place(world, cqe));
	ck_assert_uint_eq(outside[1], 0);
	cqe->addr = (uintptr_t)to;
	cqe->length = EMU_STAGE_BYTES + 1;
	ck_assert(emu_inline_place(world, cqe));
	cqe->length = STAGED;
	cqe->stage = EMU_STAGES;
	ck_assert(emu_inline_place(world, cqe));
	ck_assert_uint_eq(to[1], 0);
	emu_inline_fini(world, cq);
}
END_TEST

/* ---- inboxes ---- */

/* While another process ended the connection, this one posted a Receive without the lock. */
START_TEST(a_receive_that_came_too_late_is_flushed)
{
	const struct emu_upcall up = { .kind = EMU_UPCALL_CONN_END, .qp = QP };
	struct emu_qp *qp = &fab->qp[QP];

	*qp = (struct emu_qp){ .head.live = 1, .adapter = MINE, .state = (uint8_t)_i };
	ck_assert_int_eq(emu_wq_init(world, &qp->rq, 4, sizeof(struct emu_rwqe)), 0);
	memset(emu_wqe(world, &qp->rq, 0), 0, sizeof(struct emu_rwqe));
	qp->rq.put = qp->rq.get + 1;
	world->qp[QP].base.nic = &nic;
	ends = losses = 0;
	emu_inbox_tell(world, OWN, &up);
	emu_inbox_empty(world);
	ck_assert_uint_eq(ends, 1);
	ck_assert_uint_eq(losses, _i == EMU_QP_ERROR);
	ck_assert_uint_eq(emu_wq_count(&qp->rq), _i != EMU_QP_ERROR);
	world->qp[QP].base.nic = NULL;
	emu_wq_fini(world, &qp->rq);
	*qp = (struct emu_qp){ .head.live = 0 };
}
END_TEST

static unsigned int messages_of(uint16_t process)
{
	emu_ref ref = emu_process(world, process)->inbox;
	unsigned int n = 0;

	for (; ref; n++)
		ref = ((const struct emu_message *)emu_at(world, ref))->next;
	return n;
}

/*
 * This process could not read the peer's memory and left a packet to the peer. Then it can; the
 * next packet still goes behind the first.
 */
START_TEST(a_packet_with_payload_follows_the_one_before_into_the_inbox)
{
	struct emu_qp *qp = &fab->qp[QP];

	*qp = (struct emu_qp){ .adapter = MINE, .peer_adapter = THEIRS };
	world->membership->peer[OTHER].tried = true;
	emu_schedule(world, fab->now, EMU_EV_DATA, QP, 1, 0, 0);
	emu_run_first(world);
	ck_assert_uint_eq(messages_of(OTHER), 1);
	world->membership->peer[OTHER].memory = 1000000; /* a descriptor that is not used */
	emu_schedule(world, fab->now, EMU_EV_DATA, QP, 1, 1, 0);
	emu_run_first(world);
	ck_assert_uint_eq(messages_of(OTHER), 2);
	/* Without payload, and when the inbox is empty, it is run here: it is stale. */
	emu_schedule(world, fab->now, EMU_EV_ACK, QP, 1, 2, 0);
	emu_run_first(world);
	ck_assert_uint_eq(messages_of(OTHER), 2);
	emu_process(world, OTHER)->inbox = 0;
	emu_schedule(world, fab->now, EMU_EV_DATA, QP, 1, 3, 0);
	emu_run_first(world);
	ck_assert_uint_eq(messages_of(OTHER), 0);
	world->membership->peer[OTHER] = (struct emu_peer){ 0 };
	*qp = (struct emu_qp){ .adapter = 0 };
}
END_TEST

/* ---- a process that leaves the fabric with a copy ---- */

START_TEST(a_process_apart_has_all_that_the_arena_had)
{
	emu_ref first = emu_pool_alloc(world, EMU_PAGE);

	memcpy(emu_at(world, first), from, EMU_PAGE);
	fab->qp[EMU_QPS].epoch = 7;
	ck_assert(emu_apart(world, fab->lock.word));
	ck_assert_ptr_eq(world->fab, fab);
	ck_assert(world->membership->apart);
	ck_assert_int_eq(world->membership->fd, -1);
	ck_assert_mem_eq(emu_at(world, first), from, EMU_PAGE);
	ck_assert_uint_eq(fab->qp[EMU_QPS].epoch, 7);
	ck_assert(fab->shared.stays);
	ck_assert_int_eq(unlink(world->membership->path), 0);
}
END_TEST

/* Of another process it has no part any more, and it must not write to one. */
START_TEST(a_process_apart_keeps_only_a_payload_of_its_own)
{
	struct emu_handed *handed = &fab->shared.lockstep.handed;

	handed->process = _i == 0 ? OWN : OTHER;
	handed->length = 4;
	ck_assert(emu_apart(world, fab->lock.word));
	ck_assert_uint_eq(handed->length, _i == 0 ? 4 : 0);
	ck_assert_int_eq(unlink(world->membership->path), 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("payload");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_loop_test(tcase, a_payload_of_any_length_reaches_the_arena, 0, 5);
	tcase_add_test(tcase, a_long_payload_waits_in_a_staging_buffer);
	tcase_add_test(tcase, a_staging_buffer_grows);
	tcase_add_test(tcase, all_payloads_of_this_process_are_placed_once);
	tcase_add_test(tcase, a_payload_goes_to_a_region_of_this_process_only);
	tcase_add_loop_test(tcase, a_receive_that_came_too_late_is_flushed, EMU_QP_CONNECTED,
			    EMU_QP_UNANSWERED);
	tcase_add_test(tcase, a_packet_with_payload_follows_the_one_before_into_the_inbox);
	tcase_add_test(tcase, a_process_apart_has_all_that_the_arena_had);
	tcase_add_loop_test(tcase, a_process_apart_keeps_only_a_payload_of_its_own, 0, 2);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("payload between processes")
