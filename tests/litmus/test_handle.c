/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of the handle table (lib/handle.h): one thread issues and retires handles, others
 * look values up without a lock. Made with small limits, so that ranges are reserved and slots are
 * issued again meanwhile.
 *
 * Looked up is the provider alone, without any order: all that is promised is that the word is one
 * that was stored there. What a handle leads to is read with the backend's lock. So there is no
 * order to leave out; under ThreadSanitizer the test fails if base[] or a slot's provider is read
 * or stored without an atomic access.
 */
#include "lib/handle.h"
#include "tests/litmus/litmus.h"

#ifndef LIBDAT_SMALL_LIMITS
#error "made with small limits"
#endif

enum {
	HANDLES = 200000, /* two ranges have 131072 slots */
	LIVE = 700,       /* at a time: of several pages */
	SLOT_BITS = 17,   /* of a slot's number */
	READERS = 2,
};

static struct {
	DAT_PROVIDER provider[2];
	DAT_HANDLE newest; /* handed on in order; it may be retired by the time of its lookup */
	bool end;
} t;

/* A lookup does not read the object. */
static DAT_HANDLE issue(int n)
{
	return handle_issue(&t.provider[n % 2], (struct obj *)&t.provider[n % 2]);
}

static void *look_up(void *arg)
{
	unsigned int *wrong = arg, ranges = 0; /* of which it has seen a handle */
	uint32_t random = 1;

	while (!litmus_is_set(&t.end)) {
		DAT_HANDLE handle = __atomic_load_n(&t.newest, __ATOMIC_ACQUIRE);
		struct handle_slot *slot = handle_slot(handle);
		DAT_PROVIDER *provider = slot ? handle_slot_provider(slot) : &t.provider[0];

		*wrong += (handle && !slot) ||
			  (provider && provider != &t.provider[0] && provider != &t.provider[1]);
		if (handle && handle_number(handle) >> (SLOT_BITS - 1) >= ranges)
			ranges = (handle_number(handle) >> (SLOT_BITS - 1)) + 1;
		/* One that may be issued again just now */
		random = random * 1103515245u + 12345u;
		if (random >> 31 < ranges) {
			slot = handle_of_number(random >> (32 - SLOT_BITS));
			provider = handle_slot_provider(slot);
			*wrong += provider && provider != &t.provider[0] &&
				  provider != &t.provider[1];
		}
		/* Values that are no handles, next to those that are */
		*wrong += handle_slot((DAT_HANDLE)((uintptr_t)handle + 1)) != NULL;
		*wrong += handle_slot(&t) != NULL;
	}
	return NULL;
}

START_TEST(a_lookup_beside_new_ranges_and_slots_that_are_used_again)
{
	static DAT_HANDLE live[LIVE];
	unsigned int wrong[READERS] = { 0 };
	pthread_t reader[READERS];

	for (int i = 0; i < READERS; i++)
		reader[i] = litmus_start(look_up, &wrong[i]);
	for (int i = 0; i < litmus_rounds(HANDLES); i++) {
		if (live[i % LIVE])
			handle_retire(live[i % LIVE]);
		live[i % LIVE] = issue(i);
		ck_assert_ptr_nonnull(live[i % LIVE]);
		ck_assert_ptr_eq(handle_of_number(handle_number(live[i % LIVE])), live[i % LIVE]);
		__atomic_store_n(&t.newest, live[i % LIVE], __ATOMIC_RELEASE);
	}
	litmus_set(&t.end);
	for (int i = 0; i < READERS; i++) {
		litmus_join(reader[i]);
		ck_assert_uint_eq(wrong[i], 0);
	}
	ck_assert_uint_ne(handle_range_base(1), HANDLE_RANGE_NONE);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("handles");

	tcase_add_test(tcase, a_lookup_beside_new_ranges_and_slots_that_are_used_again);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("memory order of the handle table")
