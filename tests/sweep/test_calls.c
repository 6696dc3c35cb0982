/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call with valid handles, and with every kind of bad one as each argument: NULL, garbage,
 * inside our range but never issued, beside a handle, of another type, of another adapter's
 * instance, of a destroyed object. Ruling G3: DAT_INVALID_HANDLE, and the subtype names the
 * expected object; G2: nothing changed.
 */
#include <assert.h>
#include <pthread.h>
#include <time.h>

#include "tests/sweep/calls.h"

static struct kit stale, foreign;

/* The kind of each member of a kit */
/* clang-format off */
#define MEMBER(name, kind) { offsetof(struct kit, name), kind }
static const struct {
	size_t offset;
	enum kind kind;
} members[] = {
	MEMBER(ia, IA), MEMBER(pz, PZ), MEMBER(lmr, LMR), MEMBER(recv, EVD), MEMBER(ep, EP),
	MEMBER(srq, SRQ), MEMBER(cr, CR), MEMBER(psp, PSP), MEMBER(rsp, RSP), MEMBER(rmr, RMR),
	MEMBER(cno, CNO),
};
/* clang-format on */

/* ---- kits ---- */

static void swap_sides(void)
{
	static struct side side;

	side = w.a;
	w.a = w.b;
	w.b = side;
}

/* One kit on w.a, one of which only the handles are left, and one on w.b */
static void make_kits(void)
{
	swap_sides();
	kit_make(&stale, "emu1");
	must(dat_ia_close(stale.empty_ia, DAT_CLOSE_GRACEFUL_FLAG));
	side_close(&w.a);
	run_quiet();
	drain(w.b.connect);
	side_open(&w.a, "emu1");
	kit_make(&foreign, "emu1");
	swap_sides();
	kit_make(&kit, "emu0");
	run_quiet();
}

static void drop_kits(void)
{
	must(dat_ia_close(foreign.empty_ia, DAT_CLOSE_GRACEFUL_FLAG));
	if (kit.empty_ia)
		must(dat_ia_close(kit.empty_ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* ---- tests ---- */

START_TEST(succeeds)
{
	const struct call *call = &calls[_i];
	DAT_HANDLE h[MAX_HANDLES];
	DAT_RETURN ret;

	make_kits();
	kit_handles(call, h);
	ret = call->make(h);
	ck_assert_msg(ret == DAT_SUCCESS, "%s: %s", call->name, ret_text(ret));
	if (h[0] == kit.empty_ia)
		kit.empty_ia = NO_HANDLE;
	drop_kits();
}
END_TEST

static void *look(void *ia)
{
	DAT_IA_ATTR attr;

	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL));
	return NULL;
}

/* In a process of several threads a call takes the lock, and another thread can take it then. */
START_TEST(leaves_the_lock)
{
	const struct call *call = &calls[_i];
	DAT_HANDLE h[MAX_HANDLES];
	struct timespec patience;
	pthread_t thread;

	make_kits();
	kit_handles(call, h);
	ck_assert_int_eq(pthread_create(&thread, NULL, look, w.b.ia), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	(void)call->make(h);
	ck_assert_int_eq(pthread_create(&thread, NULL, look, w.b.ia), 0);
	clock_gettime(CLOCK_REALTIME, &patience);
	patience.tv_sec += 20;
	ck_assert_msg(pthread_timedjoin_np(thread, NULL, &patience) == 0,
		      "%s has returned with the lock", call->name);
	if (h[0] == kit.empty_ia)
		kit.empty_ia = NO_HANDLE;
	drop_kits();
}
END_TEST

static const struct call *spoilt_call;
static size_t spoilt;

/* One handle is bad, the others are valid. */
static void refuse(DAT_HANDLE bad, const char *what)
{
	const struct handle_arg *arg = &spoilt_call->args[spoilt];
	DAT_HANDLE h[MAX_HANDLES];
	DAT_RETURN ret;

	kit_handles(spoilt_call, h);
	h[spoilt] = bad;
	drain(kit.evd);
	sweep_before();
	ret = sweep_after(spoilt_call->name, spoilt_call->make(h));
	ck_assert_msg(is_failure(ret, DAT_INVALID_HANDLE, arg->subtype),
		      "%s: argument %d is %s: expected DAT_INVALID_HANDLE, subtype %#x, got %s",
		      spoilt_call->name, arg->number, what, arg->subtype, ret_text(ret));
}

static void refuse_what_was_never_issued(void)
{
	static const uintptr_t wild[] = { 1,           2,
					  3,           8,
					  16,          4096,
					  0xdeadbeef,  0xdeadbeefdead,
					  UINTPTR_MAX, UINTPTR_MAX - 15,
					  INTPTR_MAX,  1ull << 63,
					  1ull << 47,  0x7fff00000,
					  0xee00,      0xffff800000 };
	static const uintptr_t offsets[] = { 1, 2, 4, 7, 8, 9, 12, 15, 1 << 20, 1 << 28, 1 << 30 };
	uintptr_t near = (uintptr_t)kit_member(&kit, spoilt_call->args[spoilt].member);
	size_t i;

	if (!spoilt_call->args[spoilt].may_be_null)
		refuse(NO_HANDLE, "NULL");
	for (i = 0; i < COUNT(wild); i++)
		refuse((DAT_HANDLE)wild[i], "garbage");
	for (i = 0; i < COUNT(offsets); i++) {
		refuse((DAT_HANDLE)(near + offsets[i]), "beyond a handle");
		refuse((DAT_HANDLE)(near - offsets[i]), "before a handle");
	}
	refuse(&near, "on the stack");
	refuse(&w, "in the data");
	refuse((DAT_HANDLE)(uintptr_t)&dat_evd_dequeue, "in the code");
}

START_TEST(refuses_bad_handles)
{
	const struct handle_arg *arg;
	size_t i;

	spoilt_call = &calls[_i / MAX_HANDLES];
	spoilt = (size_t)_i % MAX_HANDLES;
	arg = &spoilt_call->args[spoilt];
	make_kits();
	refuse_what_was_never_issued();
	refuse(w.sim, "a fabric");
	for (i = 0; i < COUNT(members); i++) {
		refuse(kit_member(&stale, members[i].offset), "stale");
		if (arg->kind != ANY && arg->kind != members[i].kind)
			refuse(kit_member(&kit, members[i].offset), "of another type");
		if (spoilt > 0 && arg->kind == members[i].kind)
			refuse(kit_member(&foreign, members[i].offset), "of another instance");
	}
	drop_kits();
}
END_TEST

/* The calls that succeed above are implemented; no call returns this code. */
START_TEST(G5_the_value_that_no_call_answers_fits_its_mask)
{
	ck_assert_uint_eq(DAT_NOT_IMPLEMENTED, 0x0fff0000);
	ck_assert_uint_eq(DAT_GET_TYPE(DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED), DAT_NOT_IMPLEMENTED);
	ck_assert_uint_eq(call_count, 67); /* beside the five calls without a handle */
}
END_TEST

/* ---- suite ---- */

/* Check keeps the names of its cases by reference. */
static char names[2048][64];

static const char *case_name(const char *call, const char *rest, int n)
{
	static size_t used;
	char *name = names[used++];

	assert(used <= COUNT(names));
	snprintf(name, sizeof(names[0]), "%s/%s%.0d", call, rest, n);
	return name;
}

static void fill(Suite *suite)
{
	size_t c, a;

	unit_test(suite, G5_the_value_that_no_call_answers_fits_its_mask);
	for (c = 0; c < call_count; c++) {
		int first = (int)(c * MAX_HANDLES);

		unit_add_case(suite, case_name(calls[c].name, "DAT_SUCCESS/sound_handles", 0),
			      succeeds, (int)c, (int)c + 1, setup_sides);
		unit_add_case(suite, case_name(calls[c].name, "DAT_SUCCESS/lock", 0),
			      leaves_the_lock, (int)c, (int)c + 1, setup_sides);
		for (a = 0; calls[c].args[a].number; a++)
			unit_add_case(suite,
				      case_name(calls[c].name, "DAT_INVALID_HANDLE/argument_",
						calls[c].args[a].number),
				      refuses_bad_handles, first + (int)a, first + (int)a + 1,
				      setup_sides);
	}
}

UNIT_SUITE("calls")
