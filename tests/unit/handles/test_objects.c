/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handle types, consumer contexts, handles that are never issued twice, memory that is given back:
 * rulings G3, G8. Also the calls that are not implemented.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/support.h"

struct object {
	DAT_HANDLE handle;
	DAT_HANDLE_TYPE type;
};

enum {
	TYPES = 8
};

static void one_of_each(struct object *o)
{
	w.a.ep = plain_ep(&w.a);
	w.a.srq = make_srq(&w.a, 4, 0);
	o[0] = (struct object){ request(plain_ep(&w.b), &w.a, QUAL), DAT_HANDLE_TYPE_CR };
	o[1] = (struct object){ w.a.ep, DAT_HANDLE_TYPE_EP };
	o[2] = (struct object){ w.a.recv, DAT_HANDLE_TYPE_EVD };
	o[3] = (struct object){ w.a.ia, DAT_HANDLE_TYPE_IA };
	o[4] = (struct object){ w.a.lmr, DAT_HANDLE_TYPE_LMR };
	o[5] = (struct object){ listen_at(&w.a, QUAL), DAT_HANDLE_TYPE_PSP };
	o[6] = (struct object){ w.a.pz, DAT_HANDLE_TYPE_PZ };
	o[7] = (struct object){ w.a.srq, DAT_HANDLE_TYPE_SRQ };
}

/* ---- G8 ---- */

START_TEST(G8_every_handle_tells_its_type)
{
	struct object o[TYPES];
	DAT_HANDLE_TYPE type = (DAT_HANDLE_TYPE)-1;

	one_of_each(o);
	must(dat_get_handle_type(o[_i].handle, &type));
	ck_assert_int_eq(type, o[_i].type);
}
END_TEST

START_TEST(G8_every_object_carries_a_context)
{
	struct object o[TYPES];
	DAT_CONTEXT context = { .as_64 = 77 }, mine = { .as_ptr = &w }, other = { .as_64 = 3 };

	one_of_each(o);
	must(dat_get_consumer_context(o[_i].handle, &context));
	ck_assert_ptr_null(context.as_ptr);
	must(dat_set_consumer_context(o[_i].handle, mine));
	must(dat_get_consumer_context(o[_i].handle, &context));
	ck_assert_ptr_eq(context.as_ptr, &w);
	must(dat_set_consumer_context(o[_i].handle, other));
	must(dat_get_consumer_context(o[_i].handle, &context));
	ck_assert_uint_eq(context.as_64, 3);
	mine.as_ptr = NULL;
	must(dat_set_consumer_context(o[_i].handle, mine));
	must(dat_get_consumer_context(o[_i].handle, &context));
	ck_assert_ptr_null(context.as_ptr);
}
END_TEST

START_TEST(G8_contexts_of_different_objects_do_not_touch)
{
	struct object o[TYPES];
	DAT_CONTEXT context;
	int i;

	one_of_each(o);
	for (i = 0; i < TYPES; i++)
		must(dat_set_consumer_context(o[i].handle, cookie(i + 1)));
	for (i = 0; i < TYPES; i++) {
		must(dat_get_consumer_context(o[i].handle, &context));
		ck_assert_uint_eq(context.as_64, (DAT_UINT64)i + 1);
	}
}
END_TEST

START_TEST(G8_the_objects_are_counted_by_type)
{
	struct object o[TYPES];
	DAT_COUNT before[TYPES], sum = 0;
	int i;

	one_of_each(o);
	for (i = 0; i < TYPES; i++) {
		before[i] = objects(o[i].type);
		ck_assert_int_ge(before[i], 1);
		sum += before[i];
	}
	ck_assert_int_eq(sum, objects(DAT_SIM_ALL_HANDLE_TYPES));
	must(dat_srq_free(w.a.srq));
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_SRQ), before[7] - 1);
}
END_TEST

/* ---- G3: a million objects ---- */

enum {
	MILLION = 1000000,
	BATCH = 1000
};

static DAT_HANDLE *seen;
static size_t seen_count;

static int by_value(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return (x > y) - (x < y);
}

/* Resident pages of this process */
static long resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size, pages = -1;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%ld %ld", &size, &pages), 2);
	fclose(file);
	return pages;
}

/* Sanitizers and valgrind delay the reuse of freed memory. */
static bool memory_is_honest(void)
{
	const char *preload = getenv("LD_PRELOAD");

#ifdef __SANITIZE_ADDRESS__
	return false;
#endif
	return !preload || !strstr(preload, "vgpreload");
}

/* Creates one of five kinds, in turn; some objects live long while others come and go. */
static DAT_HANDLE create(int kind)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_HANDLE handle = NO_HANDLE;

	switch (kind) {
	case 0:
		must(dat_pz_create(w.a.ia, &handle));
		break;
	case 1:
		must(dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, 8, w.a.pz,
				    DAT_MEM_PRIV_ALL_FLAG, &handle, NULL, NULL, NULL, NULL));
		break;
	case 2:
		handle = make_evd(&w.a, 1, DAT_EVD_SOFTWARE_FLAG);
		break;
	case 3:
		handle = make_srq(&w.a, 1, 0);
		break;
	default:
		handle = plain_ep_with(&w.a, NULL);
		break;
	}
	seen[seen_count++] = handle;
	return handle;
}

static DAT_RETURN destroy(int kind, DAT_HANDLE handle)
{
	switch (kind) {
	case 0:
		return dat_pz_free(handle);
	case 1:
		return dat_lmr_free(handle);
	case 2:
		return dat_evd_free(handle);
	case 3:
		return dat_srq_free(handle);
	default:
		return dat_ep_free(handle);
	}
}

static void churn(size_t total)
{
	DAT_HANDLE batch[5];
	int kind;

	while (seen_count + 5 <= total) {
		for (kind = 0; kind < 5; kind++)
			batch[kind] = create(kind);
		for (kind = 0; kind < 5; kind++)
			must(destroy(kind, batch[kind]));
	}
}

/* With --enable-small-limits there are 131,072 handles until the first one comes again. */
#ifdef LIBDAT_SMALL_LIMITS
#define FEW_HANDLES true
#else
#define FEW_HANDLES false
#endif

START_TEST(G3_a_million_objects_leave_no_memory_and_no_handle_behind)
{
	DAT_COUNT alive = objects(DAT_SIM_ALL_HANDLE_TYPES);
	size_t total = memory_is_honest() && !FEW_HANDLES ? MILLION : MILLION / 10, i;
	long before, after;

	must(dat_sim_trace(w.sim, DAT_FALSE)); /* a trace would grow */
	seen_count = 0;
	seen = malloc(total * sizeof(*seen));
	ck_assert_ptr_nonnull(seen);
	memset(seen, 0xee, total * sizeof(*seen));
	churn(total / 50);
	before = resident();
	churn(total);
	after = resident();
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), alive);
	if (memory_is_honest())
		ck_assert_msg((after - before) * sysconf(_SC_PAGESIZE) < 1 << 20,
			      "memory grew from %ld to %ld pages", before, after);
	qsort(seen, seen_count, sizeof(*seen), by_value);
	for (i = 1; i < seen_count; i++)
		ck_assert_ptr_ne(seen[i - 1], seen[i]);
	for (i = 0; i < seen_count; i += BATCH)
		must_fail(dat_pz_free(seen[i]), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	free(seen);
}
END_TEST

/* A range has four million handles; under a tool that slows the test down, use a fifth of them. */
START_TEST(G3_handles_go_on_being_issued_and_found_when_a_range_is_used_up)
{
	const size_t more = memory_is_honest() ? 9 * MILLION : MILLION;
	DAT_PZ_HANDLE first, pz;
	DAT_PZ_PARAM param;
	size_t i;

	must(dat_sim_trace(w.sim, DAT_FALSE));
	must(dat_pz_create(w.a.ia, &first));
	must(dat_pz_free(first));
	for (i = 0; i < more; i++) {
		if (dat_pz_create(w.a.ia, &pz) != DAT_SUCCESS || dat_pz_free(pz) != DAT_SUCCESS)
			ck_abort_msg("after %zu objects there is no other", i);
	}
	must_fail(dat_pz_query(first, DAT_PZ_FIELD_ALL, &param), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	must_fail(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	must(dat_pz_create(w.a.ia, &pz));
	must(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, w.a.ia);
	must(dat_pz_free(pz));
}
END_TEST

START_TEST(G3_a_handle_is_not_issued_again_in_a_later_fabric)
{
	DAT_HANDLE old[] = { w.a.ia, w.a.pz, w.a.recv, w.a.lmr, w.sim };
	DAT_HANDLE_TYPE type;
	DAT_UINT64 ns;
	size_t i;

	side_close(&w.a);
	side_close(&w.b);
	must(dat_sim_destroy(w.sim));
	setup_sides();
	for (i = 0; i < COUNT(old); i++)
		must_fail(dat_get_handle_type(old[i], &type), DAT_INVALID_HANDLE, ANY_SUBTYPE);
	must_fail(dat_sim_now(old[4], &ns), DAT_INVALID_HANDLE, ANY_SUBTYPE);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, G8_every_handle_tells_its_type, TYPES);
	unit_test_loop(suite, G8_every_object_carries_a_context, TYPES);
	unit_test(suite, G8_contexts_of_different_objects_do_not_touch);
	unit_test(suite, G8_the_objects_are_counted_by_type);
	unit_test(suite, G3_a_million_objects_leave_no_memory_and_no_handle_behind);
	unit_test(suite, G3_handles_go_on_being_issued_and_found_when_a_range_is_used_up);
	unit_test(suite, G3_a_handle_is_not_issued_again_in_a_later_fabric);
}

UNIT_SUITE("objects")
