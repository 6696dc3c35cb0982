/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of Endpoints and EVDs once there are many. The module is compiled into this program, with
 * three objects that are few.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/fault_door.h"
#include "tests/support/support.h"

static int asked;
static bool refused, no_addresses;

static bool may_have_memory(struct nic *nic, const char *where)
{
	ck_assert_ptr_null(nic);
	ck_assert_str_eq(where, "thing");
	__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	return !refused;
}

static void *map_unless_full(void *at, size_t bytes, int access, int flags, int fd, off_t offset)
{
	return no_addresses ? MAP_FAILED : mmap(at, bytes, access, flags, fd, offset);
}

/* The library's own table has that place. */
#define backend_fork_lock(which, mutex) ((void)0)
#define nic_has_memory                  may_have_memory
#define mmap                            map_unless_full
#define slab_alloc                      thing_alloc
#define slab_free                       thing_free
#define SLAB_FEW                        3u
#include "lib/slab.c"

#define MANY 40000u /* some large pages of them */

struct thing {
	uint32_t number, rest[24];
};

static struct slab slab;
static struct thing *things[MANY];

static void set_up(void)
{
	slab = (struct slab)SLAB_OF(struct thing, "thing");
	asked = 0;
	refused = no_addresses = false;
}

/* All of its bytes are zero; none is from now on. */
static struct thing *make(uint32_t number)
{
	struct thing *thing = thing_alloc(&slab, NULL);

	ck_assert_ptr_nonnull(thing);
	for (size_t i = 0; i < sizeof(*thing); i++)
		ck_assert_int_eq(((uint8_t *)thing)[i], 0);
	memset(thing, 0xee, sizeof(*thing));
	thing->number = number;
	return thing;
}

static void make_all(void)
{
	for (uint32_t i = 0; i < MANY; i++)
		things[i] = make(i);
}

static void free_all(void)
{
	for (uint32_t i = 0; i < MANY; i++) {
		ck_assert_uint_eq(things[i]->number, i);
		thing_free(&slab, things[i]);
	}
}

/* Pages of the range that have memory. */
static size_t resident_pages(void)
{
	static unsigned char pages[SLAB_RANGE_BYTES >> 12];
	size_t n = 0;

	ck_assert_int_eq(mincore(slab.base, SLAB_RANGE_BYTES, pages), 0);
	for (size_t i = 0; i < sizeof(pages); i++)
		n += pages[i] & 1;
	return n;
}

START_TEST(objects_beyond_a_few_begin_a_line_each_and_lie_side_by_side)
{
	make_all();
	for (uint32_t i = 0; i < MANY; i++)
		ck_assert_int_eq(range_has(&slab, things[i]), i >= SLAB_FEW);
	ck_assert_uint_eq((uintptr_t)things[SLAB_FEW] % LARGE_PAGE, 0);
	for (uint32_t i = SLAB_FEW + 1; i < MANY; i++)
		ck_assert_int_eq((uint8_t *)things[i] - (uint8_t *)things[i - 1], 2 * SLAB_LINE);
	free_all();
}
END_TEST

START_TEST(a_few_objects_reserve_no_addresses)
{
	struct thing *few[SLAB_FEW];

	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < SLAB_FEW; i++)
			few[i] = make(i);
		for (uint32_t i = 0; i < SLAB_FEW; i++)
			thing_free(&slab, few[i]);
	}
	thing_free(&slab, NULL);
	ck_assert_ptr_null(slab.base);
}
END_TEST

START_TEST(memory_of_a_freed_object_is_used_again_and_is_zero_at_first)
{
	struct thing *last;

	make_all();
	last = things[MANY - 1];
	for (uint32_t i = SLAB_FEW; i < MANY; i += 2)
		thing_free(&slab, things[i]);
	for (uint32_t i = SLAB_FEW; i < MANY; i += 2) {
		things[i] = make(i);
		ck_assert(range_has(&slab, things[i]));
		ck_assert_uint_le((uintptr_t)things[i], (uintptr_t)last);
	}
	free_all();
}
END_TEST

START_TEST(the_last_object_gives_all_memory_back_but_a_large_page)
{
	for (int round = 0; round < 2; round++) {
		make_all();
		ck_assert_uint_ge(resident_pages(), (MANY - SLAB_FEW) * 2 * SLAB_LINE >> 12);
		ck_assert_ptr_eq(things[SLAB_FEW], slab.base);
		free_all();
		ck_assert_uint_le(resident_pages(), LARGE_PAGE >> 12);
	}
}
END_TEST

/* So that one object more and one less does not cost a large page each time. */
START_TEST(the_first_large_page_stays)
{
	struct thing *few[SLAB_FEW], *one;

	for (uint32_t i = 0; i < SLAB_FEW; i++)
		few[i] = make(i);
	for (uint32_t round = 0; round < 3; round++) {
		one = make(round);
		ck_assert_ptr_eq(one, slab.base);
		thing_free(&slab, one);
		ck_assert_uint_gt(resident_pages(), 0);
	}
	for (uint32_t i = 0; i < SLAB_FEW; i++)
		thing_free(&slab, few[i]);
}
END_TEST

/* The kernel takes none back of what the program has locked, but some of what is around it. */
START_TEST(memory_that_is_locked_is_used_again_whole)
{
	static const size_t places[] = { 0, LARGE_PAGE, 2 * LARGE_PAGE };
	uint8_t *end;

	for (size_t i = 0; i < COUNT(places); i++) {
		make_all();
		end = slab.fresh;
		if (mlock(slab.base + places[i], 4096))
			printf("# memory cannot be locked here\n");
		free_all();
		make_all();
		ck_assert_ptr_eq(slab.fresh, end);
		free_all();
	}
}
END_TEST

START_TEST(objects_are_apart_where_no_addresses_are_left)
{
	no_addresses = true;
	for (uint32_t i = 0; i < 2 * SLAB_FEW; i++)
		things[i] = make(i);
	ck_assert_uint_eq(slab.apart, 2 * SLAB_FEW);
	ck_assert_ptr_null(slab.base);
	for (uint32_t i = 0; i < 2 * SLAB_FEW; i++)
		thing_free(&slab, things[i]);
}
END_TEST

/* Each makes and frees its own, and no other thread writes to them. */
static void *make_and_free(void *arg)
{
	struct thing *own[16];
	uint32_t number = *(uint32_t *)arg;

	for (int round = 0; round < 200; round++) {
		for (uint32_t i = 0; i < 16; i++)
			own[i] = make(number);
		for (uint32_t i = 0; i < 16; i++) {
			ck_assert_uint_eq(own[i]->number, number);
			thing_free(&slab, own[i]);
		}
	}
	return NULL;
}

START_TEST(threads_do_not_share_an_object)
{
	pthread_t threads[4];
	uint32_t numbers[4];

	for (uint32_t i = 0; i < 4; i++) {
		numbers[i] = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, make_and_free, &numbers[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(slab.apart, 0);
	ck_assert_uint_eq(slab.together, 0);
}
END_TEST

/* Four of these fill the range. */
START_TEST(objects_beyond_the_range_are_apart)
{
	void *all[SLAB_FEW + 6];

	slab.bytes = slab.stride = SLAB_RANGE_BYTES / 4;
	for (uint32_t i = 0; i < SLAB_FEW + 6; i++) {
		all[i] = thing_alloc(&slab, NULL);
		ck_assert_ptr_nonnull(all[i]);
		ck_assert_int_eq(range_has(&slab, all[i]), i >= SLAB_FEW && i < SLAB_FEW + 4);
	}
	for (uint32_t i = 0; i < SLAB_FEW + 6; i++)
		thing_free(&slab, all[i]);
	ck_assert_uint_eq(slab.apart, 0);
	ck_assert_uint_eq(slab.together, 0);
}
END_TEST

START_TEST(a_rule_about_memory_is_asked_for_each_object)
{
	for (uint32_t i = 0; i < 2 * SLAB_FEW; i++)
		things[i] = make(i);
	ck_assert_int_eq(asked, 2 * SLAB_FEW);
	refused = true;
	ck_assert_ptr_null(thing_alloc(&slab, NULL));
	refused = false;
	ck_assert_uint_eq(slab.apart, SLAB_FEW);
	ck_assert_uint_eq(slab.together, SLAB_FEW);
	for (uint32_t i = 0; i < 2 * SLAB_FEW; i++)
		thing_free(&slab, things[i]);
}
END_TEST

START_TEST(a_forked_child_goes_on_with_copies_of_its_own)
{
	int status;
	pid_t pid;

	make_all();
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		free_all();
		make_all();
		free_all();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	free_all();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, objects_beyond_a_few_begin_a_line_each_and_lie_side_by_side, 1, set_up);
	unit_add(suite, a_few_objects_reserve_no_addresses, 1, set_up);
	unit_add(suite, memory_of_a_freed_object_is_used_again_and_is_zero_at_first, 1, set_up);
	unit_add(suite, the_last_object_gives_all_memory_back_but_a_large_page, 1, set_up);
	unit_add(suite, the_first_large_page_stays, 1, set_up);
	unit_add(suite, memory_that_is_locked_is_used_again_whole, 1, set_up);
	unit_add(suite, objects_are_apart_where_no_addresses_are_left, 1, set_up);
	unit_add(suite, threads_do_not_share_an_object, 1, set_up);
	unit_add(suite, objects_beyond_the_range_are_apart, 1, set_up);
	unit_add(suite, a_rule_about_memory_is_asked_for_each_object, 1, set_up);
	unit_add(suite, a_forked_child_goes_on_with_copies_of_its_own, 1, set_up);
}

UNIT_SUITE_OF_PROCESSES("slab")
