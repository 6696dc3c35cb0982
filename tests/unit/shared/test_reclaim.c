/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a dead process leaves behind: blocks that nothing refers to are free again, blocks in use
 * stay, and the objects that it owned are gone.
 */
#include <stdlib.h>

#include "emu/cq.h"
#include "emu/fabric/arena.h"
#include "emu/partial.h"
#include "emu/rdma.h"
#include "emu/shared/inbox.h"
#include "emu/payload/inline.h"
#include "emu/shared/reclaim.h"
#include "emu/wire/links.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	SENDER = 1,
	RECEIVER = 2,
};

static struct emu_world *world;
static struct emu_fabric *fab;

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

/* ---- blocks of the pool ---- */

#define BLOCK EMU_POOL_UNIT

static void reclaim(void)
{
	struct emu_reclaim kept;

	emu_reclaim_begin(world, &kept);
	for (uint32_t i = 0; i < EMU_POOL_CLASSES; i++)
		ck_assert_uint_eq(fab->pool_free[i], 0);
	emu_reclaim_end(world, &kept);
}

/* A ring at the end of the pool, so that the blocks before it are not just given back. */
static void fence(void)
{
	fab->qps.high = RECEIVER;
	fab->qp[RECEIVER].head.live = 1;
	ck_assert_int_eq(emu_wq_init(world, &fab->qp[RECEIVER].sq, 8, 1024), 0);
}

START_TEST(free_blocks_keep_their_size)
{
	emu_ref first = emu_pool_alloc(world, BLOCK), second = emu_pool_alloc(world, BLOCK), one;

	fence();
	emu_pool_free(fab, first, BLOCK);
	emu_pool_free(fab, second, BLOCK);
	reclaim();
	one = emu_pool_alloc(world, BLOCK);
	ck_assert(one == first || one == second);
	ck_assert_uint_eq(emu_pool_alloc(world, BLOCK), first + second - one);
}
END_TEST

START_TEST(what_lies_behind_the_last_block_in_use_is_new)
{
	emu_ref end;

	fence();
	end = fab->pool_next;
	emu_pool_alloc(world, 100 * BLOCK);
	reclaim();
	ck_assert_uint_eq(fab->pool_next, end);
}
END_TEST

/* A free list whose blocks are in use was torn: none is handed out twice. */
START_TEST(a_block_in_use_is_on_no_free_list)
{
	emu_ref ring;

	fence();
	ring = fab->qp[RECEIVER].sq.ring;
	emu_pool_free(fab, ring, emu_wq_bytes(&fab->qp[RECEIVER].sq));
	fence();
	fab->qp[RECEIVER].sq.ring = ring;
	reclaim();
	for (uint32_t i = 0; i < EMU_POOL_CLASSES; i++)
		ck_assert_uint_ne(fab->pool_free[i], ring);
}
END_TEST

/* Every place that refers to a block. Each row makes `ref` one of the bytes returned. */
enum holder {
	SEND_RING,
	RECEIVE_RING,
	SEGMENTS,
	HOLD_RULES,
	PARTIAL,
	PARKED,
	HELD,
	EARLY,
	SRQ_RING,
	CQ_RING,
	INLINE_RING,
	LINK,
	STAGE,
	MESSAGE,
	COPY,
	HOLDERS
};

static size_t bytes_of(enum holder holder)
{
	switch (holder) {
	case SEND_RING:
	case RECEIVE_RING:
	case SRQ_RING:
		return 8 * BLOCK;
	case SEGMENTS:
		return 4 * 3 * sizeof(struct nic_sge);
	case HOLD_RULES:
		return sizeof(struct emu_hold_rule) * EMU_HOLDS;
	case PARTIAL:
		return sizeof(struct emu_rx) + 2 * sizeof(struct nic_sge);
	case CQ_RING:
		return emu_cq_bytes(15);
	case INLINE_RING:
		return emu_inline_bytes();
	case STAGE:
		return 3 * EMU_PAGE;
	case MESSAGE:
		return sizeof(struct emu_message);
	case COPY:
		return 1000;
	default:
		return sizeof(struct emu_held);
	}
}

static void hold_in_qp(enum holder holder, emu_ref ref)
{
	const struct emu_wq ring = { .ring = ref, .mask = 7, .words = BLOCK / EMU_WORD };
	struct emu_qp *qp = &fab->qp[SENDER];

	qp->head.live = 1;
	if (holder == SEND_RING)
		qp->sq = ring;
	if (holder == RECEIVE_RING)
		qp->rq = ring;
	if (holder == SEGMENTS) {
		qp->sq.mask = 3;
		qp->max_rdma_sge = 3;
		qp->rdma_sge = ref;
	}
	if (holder == HOLD_RULES)
		qp->holds = ref;
	if (holder == PARTIAL) {
		qp->rx = ref;
		((struct emu_rx *)emu_at(world, ref))->wqe.num_sge = 2;
	}
	if (holder == PARKED)
		qp->parked = ref;
	if (holder == HELD)
		qp->held = ref;
	if (holder == EARLY)
		qp->early = ref;
}

static void hold_elsewhere(enum holder holder, emu_ref ref)
{
	struct emu_message *message = emu_at(world, ref);

	fab->srq[1].head.live = holder == SRQ_RING;
	fab->cq[1].head.live = holder == CQ_RING || holder == INLINE_RING;
	fab->srqs.high = fab->cqs.high = 1;
	if (holder == SRQ_RING)
		fab->srq[1].wq =
			(struct emu_wq){ .ring = ref, .mask = 7, .words = BLOCK / EMU_WORD };
	if (holder == CQ_RING)
		fab->cq[1] = (struct emu_cq){ .head.live = 1, .ring = ref, .mask = 15 };
	if (holder == INLINE_RING)
		fab->cq[1].inline_ring = ref;
	if (holder == LINK)
		fab->link[fab->links.high = 1].held = ref;
	if (holder == STAGE)
		fab->shared.stage[EMU_STAGES - 1] =
			(struct emu_stage){ .data = ref, .bytes = 3 * EMU_PAGE };
	if (holder == MESSAGE || holder == COPY)
		emu_process(world, OTHER)->inbox = ref;
	if (holder == MESSAGE)
		*message = (struct emu_message){ .kind = EMU_MESSAGE_RUN,
						 .mark = EMU_MESSAGE_MARK + ref };
}

/* A message with the block as its payload; the message comes before both blocks. */
static void hold_as_copy(emu_ref message_ref, emu_ref ref)
{
	struct emu_message *message = emu_at(world, message_ref);

	*message = (struct emu_message){ .kind = EMU_MESSAGE_COPY,
					 .copy = { .data = ref, .length = bytes_of(COPY) },
					 .mark = EMU_MESSAGE_MARK + message_ref };
	emu_process(world, OTHER)->inbox = message_ref;
}

START_TEST(a_block_that_something_refers_to_stays_and_any_other_is_free)
{
	enum holder holder = (enum holder)_i;
	size_t bytes = bytes_of(holder);
	emu_ref message = holder == COPY ? emu_pool_alloc(world, sizeof(struct emu_message)) : 0;
	emu_ref used = emu_pool_alloc(world, bytes), lost = emu_pool_alloc(world, bytes);

	memset(emu_at(world, used), 0, bytes);
	fence();
	if (holder == COPY)
		hold_as_copy(message, used);
	else
		hold_elsewhere(holder, used);
	hold_in_qp(holder, used);
	reclaim();
	ck_assert_uint_eq(emu_pool_alloc(world, bytes), lost);
	ck_assert_uint_gt(emu_pool_alloc(world, bytes), lost);
	emu_process(world, OTHER)->inbox = 0;
}
END_TEST

/* Of more blocks than the pool can hold nothing is known. */
START_TEST(a_list_that_leads_back_into_itself_frees_nothing)
{
	emu_ref ref = emu_pool_alloc(world, sizeof(struct emu_message));
	struct emu_message *message = emu_at(world, ref);
	uint32_t next;

	*message = (struct emu_message){ .next = ref,
					 .kind = EMU_MESSAGE_RUN,
					 .mark = EMU_MESSAGE_MARK + ref };
	emu_process(world, OTHER)->inbox = ref;
	emu_pool_alloc(world, BLOCK);
	next = fab->pool_next;
	reclaim();
	ck_assert_uint_eq(fab->pool_next, next);
	for (uint32_t i = 0; i < EMU_POOL_CLASSES; i++)
		ck_assert_uint_eq(fab->pool_free[i], 0);
	emu_process(world, OTHER)->inbox = 0;
}
END_TEST

/* ---- what the dead process owned ---- */

/* Of each kind, entry 1 is of this process and entry 2 of the dead one. */
#define OWN_ENTRIES(table, entries)                    \
	do {                                           \
		fab->table.high = fab->table.live = 2; \
		fab->entries[1].head.live = 1;         \
		fab->entries[2].head.live = 1;         \
	} while (0)

#define EXPECT_FREED(table, entries)                             \
	do {                                                     \
		ck_assert_uint_eq(fab->entries[1].head.live, 1); \
		ck_assert_uint_eq(fab->entries[2].head.live, 0); \
		ck_assert_uint_eq(fab->table.live, 1);           \
		fab->entries[1].head.live = 0;                   \
	} while (0)

static void own_objects(void)
{
	OWN_ENTRIES(pds, pd);
	OWN_ENTRIES(mrs, mr);
	OWN_ENTRIES(mws, mw);
	OWN_ENTRIES(cqs, cq);
	OWN_ENTRIES(srqs, srq);
	OWN_ENTRIES(qps, qp);
	for (uint32_t i = 1; i <= 2; i++) {
		uint16_t adapter = i == 1 ? MINE : THEIRS;

		fab->pd[i].adapter = adapter;
		fab->mr[i].tag = fab->mw[i].tag = (uint64_t)i << 32 | i << 8;
		fab->mw[i].pd = i;
		fab->mw[i].mr = i;
		fab->cq[i].adapter = fab->srq[i].adapter = fab->qp[i].adapter = adapter;
	}
	/* The process died in the middle of its deregistration. */
	fab->mr[3] = (struct emu_mr){ .head.live = 1 };
	fab->mrs.high = fab->mrs.live = 3;
}

static emu_ref leave_event(uint32_t index)
{
	struct emu_event event = { .order = EMU_EV_ACK, .qp = SENDER, .index = index };

	ck_assert(emu_inbox_run(world, OTHER, &event));
	return emu_process(world, OTHER)->inbox_tail;
}

START_TEST(the_dead_process_leaves_nothing_behind)
{
	struct emu_message *message;
	uint32_t epoch, link;
	emu_ref ref;

	own_objects();
	epoch = fab->mem_epoch;
	ref = leave_event(1); /* it goes back to the event queue */
	message = emu_at(world, ref);
	message->event.qp = 1;
	fab->adapters[3] = (struct emu_adapter){ .process = OTHER }; /* not open yet */
	link = emu_link_get(world, THEIRS, MINE);
	fab->link[link].holding = true;
	fab->observed = 1;
	emu_shared_clean_up(world, OTHER);
	EXPECT_FREED(pds, pd);
	EXPECT_FREED(mws, mw);
	EXPECT_FREED(cqs, cq);
	EXPECT_FREED(srqs, srq);
	EXPECT_FREED(qps, qp);
	EXPECT_FREED(mrs, mr);
	ck_assert_uint_eq(fab->mr[3].head.live, 0);
	ck_assert_uint_eq(fab->mr[2].tag + fab->mw[2].tag + fab->mw[2].mr, 0);
	ck_assert_uint_eq(fab->mem_epoch, epoch + 1);
	ck_assert_uint_eq(fab->events, 1);
	ck_assert(fab->adapters[MINE].open);
	ck_assert(!fab->adapters[THEIRS].open);
	ck_assert_uint_eq(fab->adapters[THEIRS].process, 0);
	ck_assert_uint_eq(fab->adapters[3].process, 0);
	ck_assert(!fab->link[link].holding);
	ck_assert_uint_eq(fab->observed, 0);
	ck_assert(!emu_process(world, OTHER)->used);
	ck_assert_uint_eq(emu_process(world, OTHER)->inbox, 0);
	ck_assert_uint_eq(fab->shared.processes, 1);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("reclaim");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, free_blocks_keep_their_size);
	tcase_add_test(tcase, what_lies_behind_the_last_block_in_use_is_new);
	tcase_add_test(tcase, a_block_in_use_is_on_no_free_list);
	tcase_add_loop_test(tcase, a_block_that_something_refers_to_stays_and_any_other_is_free, 0,
			    HOLDERS);
	tcase_add_test(tcase, a_list_that_leads_back_into_itself_frees_nothing);
	tcase_add_test(tcase, the_dead_process_leaves_nothing_behind);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("what a dead process leaves behind")
