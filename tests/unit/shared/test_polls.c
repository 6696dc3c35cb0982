/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The poll of a CQ in a shared fabric without the lock: where the next completion is, in the ring
 * or inline, and when it is there (emu/shared/direct.h).
 */
#include "emu/cq.h"
#include "emu/fabric/arena.h"
#include "emu/shared/direct.h"
#include "emu/payload/inline.h"
#include "emu/shared/inbox.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	QP = 1,
	CQ = 2,
	LKEY = 1 << 8,
	POLLED = 4, /* entries of the ring */
};

static struct emu_world *world;
static struct emu_fabric *fab;
static uint64_t from, to;
static struct nic nic;

static void setup(void)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;

	world = lone_begin(config);
	fab = world->fab;
	fab->adapters[MINE].process = OWN;
	world->range[1] = (struct emu_range){ (uintptr_t)&to, sizeof(to), LKEY };
	world->range_high = 1;
}

static void teardown_fabric(void)
{
	fab->adapters[MINE].process = 0;
	lone_end(world);
}

static struct emu_cq *make_polled(uint32_t first)
{
	struct emu_cq *cq = &fab->cq[CQ];

	*cq = (struct emu_cq){ .head.live = 1, .adapter = MINE };
	ck_assert_int_eq(emu_inline_init(world, cq), 0);
	cq->ring = emu_pool_alloc(world, emu_cq_bytes(POLLED - 1));
	ck_assert(cq->ring);
	cq->mask = POLLED - 1;
	cq->depth = cq->limit = POLLED;
	cq->put = cq->get = cq->cached_get = cq->ring_end = first;
	world->cq[CQ] = (struct emu_local_cq){ .base = { .nic = &nic },
					       .entry = cq,
					       .world = world,
					       .ring = emu_at(world, cq->ring) };
	world->qp[QP].base.nic = &nic;
	world->membership->held = false;
	return cq;
}

static void end_polled(struct emu_cq *cq)
{
	world->membership->held = true;
	world->qp[QP].base.nic = NULL;
	emu_pool_free(fab, cq->ring, emu_cq_bytes(POLLED - 1));
	emu_inline_fini(world, cq);
}

/* As a direct delivery does it up to the store that publishes: put is stored after that. */
static void publish(struct emu_cq *cq, uint32_t number)
{
	struct emu_inline_cqe *cqe = emu_inline_at(world, cq, number);

	ck_assert(emu_inline_load(world, cq, number, (uintptr_t)&from, sizeof(from)));
	cqe->addr = (uintptr_t)&to;
	cqe->lkey = LKEY;
	cqe->length = sizeof(from);
	cqe->wr_id = number;
	cqe->qp = QP;
	cqe->flags = 0;
	emu_inline_publish(cqe, number);
}

static void expect_poll(uint32_t number)
{
	struct nic_wc wc;

	ck_assert_int_eq(emu_direct_poll(&world->cq[CQ].base, &wc, 1), 1);
	ck_assert_uint_eq(wc.wr_id, number);
}

static void expect_empty(void)
{
	struct nic_wc wc;

	ck_assert_int_eq(emu_direct_poll(&world->cq[CQ].base, &wc, 1), 0);
}

static void push(uint32_t number)
{
	emu_cq_push(world, CQ, QP, number, 8, NIC_OP_SEND, NIC_WC_SUCCESS, 0);
}

START_TEST(an_inline_cqe_is_there_before_put_says_so)
{
	struct emu_cq *cq = make_polled(EMU_FIRST);

	expect_empty();
	publish(cq, EMU_FIRST);
	expect_poll(EMU_FIRST);
	expect_empty();
	cq->put = EMU_FIRST + 1;
	expect_empty();
	end_polled(cq);
}
END_TEST

START_TEST(completions_of_the_ring_and_inline_ones_come_in_order)
{
	struct emu_cq *cq = make_polled(EMU_FIRST);

	push(EMU_FIRST);
	publish(cq, EMU_FIRST + 1);
	cq->put = EMU_FIRST + 2;
	push(EMU_FIRST + 2);
	for (uint32_t n = 0; n < 3; n++)
		expect_poll(EMU_FIRST + n);
	expect_empty();
	end_polled(cq);
}
END_TEST

/* An RDMA Write that went through the inbox comes before a Send that was posted behind it. */
START_TEST(no_completion_overtakes_the_payload_in_the_inbox)
{
	struct emu_cq *cq = make_polled(EMU_FIRST);
	struct emu_place place = { OWN, (uintptr_t)&to, 0 };
	uint64_t written = 7;

	ck_assert_int_eq(emu_inbox_copy(world, &place, (uintptr_t)&written, sizeof(written)),
			 EMU_COPY_OK);
	if (_i)
		push(EMU_FIRST);
	else
		publish(cq, EMU_FIRST);
	cq->put = EMU_FIRST + 1;
	expect_empty();
	emu_inbox_empty(world);
	ck_assert_uint_eq(to, 7);
	expect_poll(EMU_FIRST);
	end_polled(cq);
}
END_TEST

/* Its event may be rolled back. */
START_TEST(a_completion_of_an_event_waits_for_its_end)
{
	struct emu_cq *cq = make_polled(EMU_FIRST);

	emu_cq_event_begin(cq);
	push(EMU_FIRST);
	expect_empty();
	emu_cq_event_end(cq);
	expect_poll(EMU_FIRST);
	end_polled(cq);
}
END_TEST

/* Of completion n, then 2^32 others, none of them inline: n comes again, and is not there yet. */
START_TEST(an_old_inline_cqe_is_not_taken_for_a_new_one)
{
	struct emu_cq *cq = make_polled(EMU_FIRST);
	const struct emu_inline_cqe *cqe = emu_inline_at(world, cq, EMU_FIRST);
	uint32_t later = EMU_FIRST + (1u << 31);

	publish(cq, EMU_FIRST);
	cq->put++;
	expect_poll(EMU_FIRST);
	cq->put = cq->get = cq->cached_get = cq->ring_end = later;
	push(later);
	expect_poll(later);
	ck_assert(!emu_inline_is_for(cqe, EMU_FIRST));
	end_polled(cq);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("polls");

	tcase_add_checked_fixture(tcase, setup, teardown_fabric);
	tcase_add_test(tcase, an_inline_cqe_is_there_before_put_says_so);
	tcase_add_test(tcase, completions_of_the_ring_and_inline_ones_come_in_order);
	tcase_add_loop_test(tcase, no_completion_overtakes_the_payload_in_the_inbox, 0, 2);
	tcase_add_test(tcase, a_completion_of_an_event_waits_for_its_end);
	tcase_add_test(tcase, an_old_inline_cqe_is_not_taken_for_a_new_one);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE_OF_PROCESSES("polls without the lock")
