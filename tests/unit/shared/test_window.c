/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A remote invalidation that acts late: a Send is looked at when it arrives, and acts when those
 * before it have arrived. The window may be bound by another key meanwhile.
 */
#include "emu/fabric/arena.h"
#include "emu/mw.h"
#include "lone.h"
#include "tests/support/support.h"

enum {
	PD = 3,
	WINDOW = 2,
	REGION = 1,
};

START_TEST(an_invalidation_spares_a_window_that_has_another_key_by_now)
{
	struct nic_config config = NIC_CONFIG_DEFAULT;
	struct emu_world *world = lone_begin(config);
	struct emu_mw *window = &world->fab->mw[WINDOW];
	uint32_t key = (EMU_MRS + WINDOW) << 8;

	world->fab->mr[REGION].windows = 1;
	*window = (struct emu_mw){ .head.live = 1,
				   .mr = REGION,
				   .tag = (uint64_t)PD << 32 | (key + 1) };
	emu_mw_invalidate(world, key);
	ck_assert_uint_eq(window->tag, (uint64_t)PD << 32 | (key + 1));
	ck_assert_uint_eq(world->fab->mr[REGION].windows, 1);
	emu_mw_invalidate(world, key + 1);
	ck_assert_uint_eq(window->tag, 0);
	ck_assert_uint_eq(world->fab->mr[REGION].windows, 0);
	*window = (struct emu_mw){ .mr = 0 };
	lone_end(world);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, an_invalidation_spares_a_window_that_has_another_key_by_now);
}

UNIT_SUITE("window")
