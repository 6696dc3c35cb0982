/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seeded generator produces the published sequence of SplitMix64: with another sequence, no
 * trace, schedule or failing seed of an earlier version could be replayed.
 */
#include "host/random.h"
#include "tests/support/support.h"

START_TEST(random_gives_the_published_sequence)
{
	static const uint64_t wanted[] = { UINT64_C(6457827717110365317),
					   UINT64_C(3203168211198807973),
					   UINT64_C(9817491932198370423),
					   UINT64_C(4593380528125082431),
					   UINT64_C(16408922859458223821) };
	uint64_t state = 1234567;

	for (size_t i = 0; i < COUNT(wanted); i++)
		ck_assert_uint_eq(random_next(&state), wanted[i]);
}
END_TEST

START_TEST(random_begins_anywhere)
{
	uint64_t state = 0, last = UINT64_MAX;

	ck_assert_uint_eq(random_next(&state), UINT64_C(0xe220a8397b1dcdaf));
	ck_assert_uint_eq(state, UINT64_C(0x9e3779b97f4a7c15));
	random_next(&last);
	ck_assert_uint_eq(last, UINT64_C(0x9e3779b97f4a7c14));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, random_gives_the_published_sequence);
	unit_test_bare(suite, random_begins_anywhere);
}

UNIT_SUITE("random")
