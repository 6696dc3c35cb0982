/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric of many adapters: names and addresses beyond 255, the last adapter and the one too many,
 * and links, which are made as they are used and go when no one uses them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/fabric/queue.h"
#include "emu/fabric/world.h"
#include "emu/wire/links.h"
#include "lib/ep/ep.h"
#include "tests/support/runtime.h"
#include "tests/support/support.h"

#define SOME 40 /* adapters: that many pairs do not fit in the first table of links */

static struct side far;

static struct emu_world *world(void)
{
	return emu_local_qp(obj_as(struct ep, ((struct handle_slot *)w.a.ep)->object)->nic)->world;
}

static void open_ia(int number, DAT_IA_HANDLE *ia)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[16];

	snprintf(name, sizeof(name), "emu%d", number);
	must(dat_ia_open(name, 1, &async, ia));
}

/* A message each way between the fixture's pair. */
static void exchange(int n)
{
	post_recv(&w.b, w.b.ep, n);
	post_recv(&w.a, w.a.ep, n);
	post_send(&w.a, w.a.ep, n, 8);
	post_send(&w.b, w.b.ep, n, 8);
	run_quiet();
	expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	expect_dto(w.b.request, w.b.ep, n, DAT_DTO_SUCCESS);
	expect_dto(w.a.recv, w.a.ep, n, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
}

/* ---- names and addresses ---- */

static const struct {
	char name[8], address[16];
} names[] = {
	{ "emu253", "198.18.0.254" }, { "emu254", "198.18.0.255" }, { "emu255", "198.18.1.0" },
	{ "emu256", "198.18.1.1" },   { "emu4095", "198.18.16.0" },
};

START_TEST(names_and_addresses_go_on_beyond_255)
{
	struct in_addr in;

	side_open(&far, names[_i].name);
	in = ((const struct sockaddr_in *)address(&far))->sin_addr;
	ck_assert_str_eq(inet_ntoa(in), names[_i].address);
	ck_assert_str_eq(ia_attr(&far).adapter_name, names[_i].name);
	w.a.ep = plain_ep(&w.a);
	far.ep = plain_ep(&far);
	connect_eps(&w.a, w.a.ep, &far, far.ep);
	post_recv(&far, far.ep, 0);
	deliver(&w.a, w.a.ep, 1);
	expect_dto(far.recv, far.ep, 0, DAT_DTO_SUCCESS);
	hold_link("emu0", names[_i].name);
	release_link("emu0", names[_i].name);
	side_close(&far);
}
END_TEST

static const char *const no_names[] = { "emu4096", "emu04095", "emu40950", "emu4095x", "emu-1" };

START_TEST(there_is_no_adapter_behind_the_last)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;
	char name[16];

	snprintf(name, sizeof(name), "%s", no_names[_i]);
	must_fail(dat_ia_open(name, 1, &async, &ia), DAT_PROVIDER_NOT_FOUND, ANY_SUBTYPE);
}
END_TEST

START_TEST(all_adapters_are_open_at_once)
{
	static DAT_IA_HANDLE ia[EMU_ADAPTERS];

	for (int i = 2; i < (int)EMU_ADAPTERS - 1; i++)
		open_ia(i, &ia[i]);
	side_open(&far, "emu4095");
	w.a.ep = plain_ep(&w.a);
	far.ep = plain_ep(&far);
	connect_eps(&far, far.ep, &w.a, w.a.ep);
	ck_assert_uint_eq(emu_adapter_high(world()->fab), EMU_ADAPTERS);
	post_recv(&w.a, w.a.ep, 0);
	deliver(&far, far.ep, 1);
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_SUCCESS);
	for (int i = 2; i < (int)EMU_ADAPTERS - 1; i++)
		must(dat_ia_close(ia[i], DAT_CLOSE_GRACEFUL_FLAG));
	side_close(&far);
}
END_TEST

/* A process opens as many as all processes of a shared fabric can have together. */
START_TEST(a_shared_fabric_has_1024_adapters)
{
	static DAT_IA_HANDLE ia[EMU_TOGETHER];
	char name[] = "emu4000";
	DAT_EVD_HANDLE async = NO_HANDLE, evd;
	DAT_IA_HANDLE more;
	DAT_IA_ATTR attr;
	struct in_addr in;

	must(dat_sim_destroy(w.sim));
	w.sim = NO_HANDLE;
	runtime_begin("many");
	setenv("DATSIM_FABRIC", "lab", 1);
	for (int i = 0; i < (int)EMU_TOGETHER; i++)
		open_ia(i * 3, &ia[i]);
	must_fail(dat_ia_open(name, 1, &async, &more), DAT_INSUFFICIENT_RESOURCES,
		  DAT_RESOURCE_DEVICE);
	must(dat_ia_query(ia[EMU_TOGETHER - 1], &evd, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	in = ((const struct sockaddr_in *)attr.ia_address_ptr)->sin_addr;
	ck_assert_str_eq(inet_ntoa(in), "198.18.4.0");
	ck_assert_int_eq(attr.max_eps, EMU_MAX_QP_SHARE);
	/* The lowest number that is free is given again. */
	must(dat_ia_close(ia[300], DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ia_open(name, 1, &async, &ia[300]));
	must(dat_ia_query(ia[300], &evd, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	in = ((const struct sockaddr_in *)attr.ia_address_ptr)->sin_addr;
	ck_assert_str_eq(inet_ntoa(in), "198.18.1.45");
	for (int i = 0; i < (int)EMU_TOGETHER; i++)
		must(dat_ia_close(ia[i], DAT_CLOSE_GRACEFUL_FLAG));
	runtime_end();
	unsetenv("DATSIM_FABRIC");
}
END_TEST

/* ---- links ---- */

static DAT_IA_HANDLE some[SOME + 2];

static void open_some(void)
{
	for (int i = 2; i < SOME + 2; i++)
		open_ia(i, &some[i]);
}

static void close_some(void)
{
	for (int i = 2; i < SOME + 2; i++)
		must(dat_ia_close(some[i], DAT_CLOSE_GRACEFUL_FLAG));
}

/* A link for each two of some adapters, both directions and to itself. */
static void link_some(void)
{
	for (uint16_t i = 3; i < SOME + 3; i++)
		for (uint16_t j = 3; j <= i; j++)
			ck_assert_uint_ne(emu_link_get(world(), i, j), 0);
}

START_TEST(a_link_is_found_again_and_leads_back)
{
	uint32_t there, back;

	plain_pair();
	open_some();
	ck_assert_uint_eq(emu_link_find(world(), 3, 4), 0);
	there = emu_link_get(world(), 3, 4);
	back = emu_link_find(world(), 4, 3);
	ck_assert_uint_ne(there, 0);
	ck_assert_uint_ne(back, there);
	ck_assert_uint_eq(emu_link_find(world(), 3, 4), there);
	ck_assert_uint_eq(emu_link_get(world(), 4, 3), back);
	ck_assert_uint_eq(emu_link_at(world(), there)->back, back);
	ck_assert_uint_eq(emu_link_at(world(), back)->back, there);
	there = emu_link_get(world(), 5, 5);
	ck_assert_uint_eq(emu_link_at(world(), there)->back, there);
	ck_assert_uint_eq(emu_link_find(world(), 5, 4), 0);
	close_some();
}
END_TEST

START_TEST(links_that_no_one_uses_go)
{
	const struct emu_fabric *fab;
	uint32_t own;

	plain_pair();
	fab = world()->fab;
	open_some();
	own = emu_local_qp(obj_as(struct ep, ((struct handle_slot *)w.a.ep)->object)->nic)
		      ->entry->link;
	for (int n = 0; n < 3; n++)
		link_some();
	/* SOME * SOME are asked for again and again; what is left fits in a small table. */
	ck_assert_uint_lt(fab->links.high, 64);
	ck_assert_uint_eq(emu_link_find(world(), 1, 2), own);
	exchange(0);
	close_some();
}
END_TEST

START_TEST(a_link_with_a_setting_stays)
{
	DAT_UINT64 begin;

	plain_pair();
	open_some();
	must(dat_sim_set_link(w.sim, "emu5", "emu6", 5000, 0));
	hold_link("emu7", "emu8");
	link_some();
	ck_assert_uint_eq(emu_link_at(world(), emu_link_find(world(), 6, 7))->latency_ns, 5000);
	ck_assert(emu_link_at(world(), emu_link_find(world(), 8, 9))->holding);
	release_link("emu7", "emu8");
	/* An adapter that is opened again has links as the configuration says. */
	must(dat_ia_close(some[6], DAT_CLOSE_GRACEFUL_FLAG));
	open_ia(6, &some[6]);
	ck_assert_uint_eq(emu_link_find(world(), 6, 7), 0);
	ck_assert_uint_eq(emu_link_at(world(), emu_link_get(world(), 6, 7))->latency_ns,
			  world()->config.latency_ns);
	begin = now_ns();
	exchange(0);
	ck_assert_uint_gt(now_ns(), begin);
	close_some();
}
END_TEST

START_TEST(a_link_that_is_down_stays_down)
{
	plain_pair();
	open_some();
	emu_link_at(world(), emu_link_get(world(), 6, 7))->down = true;
	link_some();
	ck_assert(emu_link_at(world(), emu_link_find(world(), 6, 7))->down);
	close_some();
}
END_TEST

/* None of them can go, so the table has to grow. */
START_TEST(links_that_are_all_in_use_have_room)
{
	plain_pair();
	open_some();
	for (uint16_t i = 1; i <= SOME; i++)
		for (uint16_t j = 1; j <= i; j++) {
			uint32_t link = emu_link_get(world(), i, j);

			ck_assert_uint_ne(link, 0);
			emu_link_at(world(), link)->latency_ns = 5000;
		}
	ck_assert_uint_eq(world()->fab->links.live, SOME * SOME);
	close_some();
}
END_TEST

/* The way back is as the configuration says, and is kept for the way there. */
START_TEST(both_ways_of_a_link_stay_where_one_has_a_setting)
{
	uint32_t there, back;

	plain_pair();
	open_some();
	must(dat_sim_set_link(w.sim, "emu5", "emu6", 5000, 0));
	link_some();
	there = emu_link_find(world(), 6, 7);
	back = emu_link_find(world(), 7, 6);
	ck_assert_uint_ne(back, 0);
	ck_assert_uint_eq(emu_link_at(world(), there)->back, back);
	ck_assert_uint_eq(emu_link_at(world(), back)->back, there);
	close_some();
}
END_TEST

START_TEST(a_fabric_grows_in_the_middle_of_traffic)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 4);
	for (int n = 0; n < 4; n++)
		post_send(&w.a, w.a.ep, n, 8);
	open_some();
	link_some();
	ck_assert_uint_gt(emu_queue_length(world()), 0);
	run_quiet();
	for (int n = 0; n < 4; n++) {
		expect_dto(w.b.recv, w.b.ep, n, DAT_DTO_SUCCESS);
		expect_dto(w.a.request, w.a.ep, n, DAT_DTO_SUCCESS);
	}
	exchange(5);
	close_some();
}
END_TEST

/* The one link too many is refused, and nothing changes. */
START_TEST(links_end)
{
	struct emu_world *own;

	plain_pair();
	own = world();
	exchange(0);
	own->fab->links.high = EMU_LINKS - 2;
	ck_assert_uint_ne(emu_link_get(own, 1, 1), 0);
	ck_assert_uint_eq(emu_link_get(own, 2, 3), 0); /* it takes two */
	ck_assert_uint_eq(emu_link_find(own, 2, 3), 0);
	ck_assert_uint_ne(emu_link_get(own, 2, 2), 0);
	ck_assert_uint_eq(emu_link_get(own, 3, 3), 0);
	must_fail(dat_sim_hold_link(w.sim, "emu1", "emu1x", 0), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	exchange(1);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, names_and_addresses_go_on_beyond_255,
		       (int)(sizeof(names) / sizeof(names[0])));
	unit_test_loop(suite, there_is_no_adapter_behind_the_last,
		       (int)(sizeof(no_names) / sizeof(no_names[0])));
	unit_test(suite, all_adapters_are_open_at_once);
	unit_test_bare(suite, a_shared_fabric_has_1024_adapters);
	unit_test(suite, a_link_is_found_again_and_leads_back);
	unit_test(suite, links_that_no_one_uses_go);
	unit_test(suite, a_link_with_a_setting_stays);
	unit_test(suite, a_link_that_is_down_stays_down);
	unit_test(suite, links_that_are_all_in_use_have_room);
	unit_test(suite, both_ways_of_a_link_stay_where_one_has_a_setting);
	unit_test(suite, a_fabric_grows_in_the_middle_of_traffic);
	unit_test(suite, links_end);
}

/* A shared fabric starts a thread, and the other tests need virtual time. */
UNIT_SUITE_OF_PROCESSES("many adapters")
