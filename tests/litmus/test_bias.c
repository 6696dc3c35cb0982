/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus test of the biased lock (host/bias.h): its owner in quick calls, and a thread of the
 * backend that shuts it out again and again, change two words that must stay equal.
 *
 * Under ThreadSanitizer it fails if bias_leave stores without release; so it would for the other
 * orders of `gate` and `inside`. A membarrier that is left out shows in some runs only: the
 * processors have to delay the owner's store.
 */
#include "host/bias.h"
#include "tests/litmus/litmus.h"

enum {
	CLOSURES = 3000,
	ENDS = 100,
};

static struct {
	struct bias bias;
	pthread_mutex_t lock;
	/* Changed in the owner's quick calls and with the lock: equal outside of them. */
	volatile unsigned int first, second;
	unsigned int torn;
	bool owned, end;
} t;

static void setup(void)
{
	memset(&t, 0, sizeof(t));
	ck_assert_int_eq(pthread_mutex_init(&t.lock, NULL), 0);
	bias_start(&t.bias);
}

static void change(void)
{
	t.torn += t.first != t.second;
	t.first = t.first + 1;
	t.second = t.second + 1;
}

static void call_locked(void)
{
	pthread_mutex_lock(&t.lock);
	bias_program_locked(&t.bias);
	change();
	pthread_mutex_unlock(&t.lock);
}

static void *own(void *arg)
{
	call_locked();
	litmus_set(&t.owned);
	while (!litmus_is_set(&t.end)) {
		if (bias_enter_own(&t.bias)) {
			change();
			bias_leave();
		} else {
			call_locked();
		}
	}
	return arg;
}

static void shut_out(void)
{
	pthread_mutex_lock(&t.lock);
	bias_backend_locked(&t.bias);
	change();
	bias_backend_unlocking(&t.bias);
	pthread_mutex_unlock(&t.lock);
}

START_TEST(the_owner_and_the_backend_exclude_each_other)
{
	pthread_t owner = litmus_start(own, NULL);

	while (!litmus_is_set(&t.owned))
		sched_yield();
	for (int i = 0; i < litmus_rounds(CLOSURES); i++)
		shut_out();
	litmus_set(&t.end);
	litmus_join(owner);
	ck_assert_uint_eq(t.torn, 0);
	ck_assert_uint_eq(t.first, t.second);
}
END_TEST

/* The second thread of the program ends the bias, while the owner is in quick calls. */
START_TEST(the_owner_and_a_second_thread_exclude_each_other)
{
	for (int i = 0; i < litmus_rounds(ENDS); i++) {
		pthread_t owner;

		setup();
		owner = litmus_start(own, NULL);
		while (!litmus_is_set(&t.owned))
			sched_yield();
		call_locked();
		call_locked();
		litmus_set(&t.end);
		litmus_join(owner);
		ck_assert_uint_eq(t.torn, 0);
		ck_assert_uint_eq(t.first, t.second);
	}
}
END_TEST

/* A child that was forked by another thread, while the owner was in a quick call */
START_TEST(a_forked_child_has_no_owner_inside)
{
	bias_first.inside = 1;
	bias_forget(&t.bias);
	ck_assert_int_eq(bias_first.inside, 0);
	ck_assert_ptr_null(t.bias.owner);
}
END_TEST

static bool ended;

static void *end_bias(void *arg)
{
	pthread_mutex_lock(&t.lock);
	bias_stop(&t.bias);
	pthread_mutex_unlock(&t.lock);
	litmus_set(&ended);
	return arg;
}

/* The end closes the gate, and then waits for the owner, which is still inside. */
START_TEST(the_end_of_the_bias_waits_for_its_owner)
{
	pthread_t thread;

	ended = false;
	call_locked();
	ck_assert(bias_enter_own(&t.bias));
	thread = litmus_start(end_bias, NULL);
	while (__atomic_load_n(&t.bias.gate, __ATOMIC_ACQUIRE))
		sched_yield();
	ck_assert(!litmus_is_set(&ended));
	ck_assert_ptr_eq(__atomic_load_n(&t.bias.owner, __ATOMIC_RELAXED), bias_cell);
	bias_leave();
	litmus_join(thread);
	ck_assert_ptr_null(t.bias.owner);
	ck_assert(!bias_enter_own(&t.bias));
}
END_TEST

static void fill(Suite *suite)
{
	TCase *tcase = tcase_create("bias");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, the_owner_and_the_backend_exclude_each_other);
	tcase_add_test(tcase, the_owner_and_a_second_thread_exclude_each_other);
	tcase_add_test(tcase, a_forked_child_has_no_owner_inside);
	tcase_add_test(tcase, the_end_of_the_bias_waits_for_its_owner);
	suite_add_tcase(suite, tcase);
}

UNIT_SUITE("memory order of the biased lock")
