/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of the order of a payload's bytes (emu_reach_place): a program polls the last word
 * of its buffer, without a call, and finds all others there when it has changed.
 *
 * It fails if the last bytes are not copied by themselves and last. The fence between the two
 * copies costs nothing on x86, which keeps stores in order, so no run here can miss it; nor can
 * ThreadSanitizer, which has no fences. It is for other processors, and for the compiler, for
 * which the copies are calls of an assembler function anyway.
 */
#include "emu/guard.h"
#include "emu/payload/reach.h"
#include "tests/litmus/litmus.h"

enum {
	ROUNDS = 1000,
	WORDS = 1024, /* most of a payload: more than the copy's longest case begins with */
	LOOKS = 1000, /* in a row: then the other thread may need the processor */
};

static struct {
	uint64_t from[WORDS];
	uint64_t buffer[WORDS]; /* the program's: plain memory, which it looks at without a call */
	unsigned int ready;     /* the program has seen so many rounds */
} t;

/* Of payloads of 2 to WORDS words */
static unsigned int length_of(unsigned int round)
{
	return 2 + round * 37 % (WORDS - 1);
}

static void *place_all(void *arg)
{
	for (unsigned int round = 1; round <= (unsigned int)litmus_rounds(ROUNDS); round++) {
		unsigned int n = length_of(round);

		for (unsigned int i = 0; i < n; i++)
			t.from[i] = round;
		while (__atomic_load_n(&t.ready, __ATOMIC_ACQUIRE) != round)
			sched_yield();
		ck_assert_int_eq(emu_reach_place((uintptr_t)t.buffer, t.from, n * sizeof(uint64_t)),
				 EMU_COPY_OK);
	}
	return arg;
}

/* The program's loop: what it does is a race by intention, as in examples/pair. */
__attribute__((no_sanitize("thread"))) static unsigned int look(unsigned int round)
{
	const volatile uint64_t *buffer = t.buffer;
	unsigned int n = length_of(round), old = 0;

	for (int looks = 1; buffer[n - 1] != round; looks++)
		if (looks % LOOKS == 0)
			sched_yield();
	for (unsigned int i = 0; i < n; i++)
		old += buffer[i] != round;
	return old;
}

START_TEST(the_last_word_comes_last)
{
	pthread_t thread;
	unsigned int old = 0;

	t.ready = 0;
	emu_guard_begin();
	thread = litmus_start(place_all, NULL);
	for (unsigned int round = 1; round <= (unsigned int)litmus_rounds(ROUNDS); round++) {
		__atomic_store_n(&t.ready, round, __ATOMIC_RELEASE);
		old += look(round);
	}
	litmus_join(thread);
	emu_guard_end();
	ck_assert_uint_eq(old, 0);
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("reach");

	tcase_add_test(tcase, the_last_word_comes_last);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("order of a payload's bytes")
