/* SPDX-License-Identifier: BSD-3-Clause */
/* A world that one fabric hands on to the next is as empty as a new one. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/fabric/spare.h"
#include "tests/support/mapped.h"
#include "tests/support/support.h"

enum {
	PAGE = 4096,
	FABRICS = 3
};

/*
 * Counts the bytes of [base, base + size) that are not zero. Skips pages that were never touched.
 */
static size_t dirt(const void *base, size_t size)
{
	const unsigned char *bytes = base;
	size_t pages = (size + PAGE - 1) / PAGE, found = 0;
	unsigned char *there = calloc(pages, 1);

	ck_assert_ptr_nonnull(there);
	ck_assert_int_eq(mincore((void *)(uintptr_t)base, size, there), 0);
	for (size_t i = 0; i < pages; i++) {
		for (size_t at = i * PAGE; (there[i] & 1) && at < (i + 1) * PAGE && at < size; at++)
			found += bytes[at] != 0;
	}
	free(there);
	return found;
}

static void expect_empty(void)
{
	struct emu_world *world = emu_world_map();
	struct emu_fabric *fab;

	ck_assert_ptr_nonnull(world);
	fab = world->fab;
	ck_assert_uint_eq(fab->size, world->fab_size);
	ck_assert_uint_eq(fab->pool_next, 1);
	ck_assert_uint_gt(fab->pool_end, 1);
	fab->size = 0;
	fab->pool_next = fab->pool_end = 0;
	ck_assert_uint_eq(dirt(fab, world->fab_size), 0);
	world->fab = NULL;
	world->fab_size = 0;
	ck_assert_uint_eq(dirt(world, sizeof(*world)), 0);
	munmap(world, sizeof(*world));
}

/*
 * Uses a bit of everything that a fabric has: rules, holds, losses, RMRs, watermarks, unanswered
 * requests, a few lines of a trace.
 */
static void use_it(void)
{
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE alone;

	srq_pair(SLOTS);
	post_srqs(&w.b, 0, 8);
	must(dat_srq_set_lw(w.b.srq, 4));
	drop(DAT_SIM_PACKET_SEND, 2);
	fault((DAT_SIM_FAULT){ .verdict = DAT_SIM_DELAY, .delay_ns = 100, .every = 2 });
	post_send(&w.a, w.a.ep, 1, LONG);
	post_send(&w.a, w.a.ep, 2, SHORT);
	must(dat_sim_hold_message(w.a.ep, 3, 1));
	post_send(&w.a, w.a.ep, 3, LONG);
	rmr = make_rmr(&w.a);
	post_bind(rmr, &w.a, w.a.ep, 4, SHORT, DAT_MEM_PRIV_ALL_FLAG);
	advance_us(50);
	release_message(w.a.ep, 3);
	hold_link("emu1", "emu0");
	advance_us(5);
	release_link("emu1", "emu0");
	run_quiet();
	must(dat_rmr_free(rmr));
	disconnect_pair();
	alone = plain_ep(&w.a);
	must(try_connect(alone, &w.b, QUAL + 7, DAT_TIMEOUT_INFINITE));
	run_quiet();
	must(dat_ep_free(alone));
	must(dat_sim_trace(w.sim, DAT_TRUE));
	must(dat_sim_trace_note(w.sim, "a note"));
	must(dat_sim_trace(w.sim, DAT_FALSE));
}

START_TEST(a_world_is_handed_on_empty)
{
	for (int i = 0; i < FABRICS; i++) {
		if (i)
			setup_sides();
		use_it();
		must(dat_sim_fault_clear(w.sim));
		drop(DAT_SIM_PACKET_ACK, 1); /* a rule that is still there at the end */
		teardown();
	}
	expect_empty();
}
END_TEST

/* A program that makes one fabric after another keeps its size: the addresses are unmapped. */
START_TEST(a_world_that_ended_takes_no_addresses)
{
	const long world = (long)(sizeof(struct emu_fabric) / PAGE);
	long before = 0;

	teardown();
	for (int i = 0; i < 2 + FABRICS; i++) {
		setup_fabric();
		must(dat_sim_destroy(w.sim));
		w.sim = NO_HANDLE;
		if (i == 1) /* the first ones leave a spare */
			before = pages_mapped();
	}
	ck_assert_int_lt(pages_mapped() - before, world);
}
END_TEST

/* The mappings of which the program wants large pages */
static int large_mappings(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	char line[256];
	int count = 0;

	ck_assert_ptr_nonnull(smaps);
	while (fgets(line, sizeof(line), smaps))
		count += strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg");
	fclose(smaps);
	return count;
}

static int large_mappings_if_any(int wanted)
{
	bool any = access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) == 0;

	return any ? wanted : 0;
}

static void make_eps(int n)
{
	while (n-- > 0)
		plain_ep(&w.a);
}

/*
 * An Endpoint here has 6 KB of rings, and large pages begin with 128 KiB. The rings of 200 are more
 * than 1 MiB, so that the world is not handed on to the next test.
 */
START_TEST(the_rings_of_many_endpoints_are_in_large_pages)
{
	make_eps(10);
	ck_assert_int_eq(large_mappings(), 0);
	make_eps(190);
	ck_assert_int_eq(large_mappings(), large_mappings_if_any(1));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, a_world_is_handed_on_empty);
	unit_test(suite, a_world_that_ended_takes_no_addresses);
	unit_test(suite, the_rings_of_many_endpoints_are_in_large_pages);
}

UNIT_SUITE("spare world")
