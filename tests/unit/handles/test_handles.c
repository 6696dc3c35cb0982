/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ruling G3 for the calls of <dat/sim.h>, as tests/sweep/test_calls.c tests it for uDAPL: each
 * handle argument refuses handles that were never issued, that have another type, and that were
 * destroyed. No output is written (G2).
 */
#include "tests/support/support.h"

/* Live objects of w.a, one of each kind, and destroyed ones, one of each kind */
struct kinds {
	DAT_HANDLE ia, pz, lmr, evd, ep, psp, cr, srq;
};
static struct kinds live, stale;

/* All outputs of the calls go here; nothing may change. */
static union {
	DAT_HANDLE handle;
	const char *text;
	DAT_UINT64 number;
	DAT_COUNT count;
	char name[64];
	unsigned char bytes[128];
} out;

static char emu0[] = "emu0", emu1[] = "emu1", note[] = "note";

/* One function for each handle argument */
#define PLACE(name, call)                    \
	static DAT_RETURN name(DAT_HANDLE h) \
	{                                    \
		return call;                 \
	}

/* clang-format off */
PLACE(sim_of, dat_sim_of(h, &out.handle))
PLACE(sim_backend, dat_sim_backend(h, &out.text))
PLACE(sim_now, dat_sim_now(h, &out.number))
PLACE(sim_violations, dat_sim_violations(h, &out.count))
PLACE(sim_pending, dat_sim_pending(h, &out.count, NULL))
PLACE(sim_advance, dat_sim_advance(h, 1))
PLACE(sim_quiet, dat_sim_run_until_quiet(h, 1))
PLACE(sim_set_link, dat_sim_set_link(h, emu0, emu1, 1, 1))
PLACE(sim_hold_link, dat_sim_hold_link(h, emu0, emu1, 0))
PLACE(sim_release_link, dat_sim_release_link(h, emu0, emu1))
PLACE(sim_hold_message, dat_sim_hold_message(h, 1, 0))
PLACE(sim_release_message, dat_sim_release_message(h, 1))
PLACE(sim_name, dat_sim_name(h, out.name, sizeof(out.name)))
PLACE(sim_trace, dat_sim_trace(h, DAT_TRUE))
PLACE(sim_trace_queries, dat_sim_trace_queries(h, DAT_TRUE))
PLACE(sim_trace_read, dat_sim_trace_read(h, &out.text, NULL))
PLACE(sim_trace_note, dat_sim_trace_note(h, note))

/* The kind that an argument expects; ANY accepts all kinds, SIM a fabric. */
enum kind { IA, PZ, LMR, EVD, EP, PSP, CR, SRQ, ANY, SIM };

static const struct place {
	const char *name;
	DAT_RETURN (*call)(DAT_HANDLE h);
	enum kind kind;
} places[] = {
#define AT(name, kind) { #name, name, kind }
	AT(sim_of, IA),
	AT(sim_backend, IA),
	AT(sim_now, SIM),
	AT(sim_violations, SIM),
	AT(sim_pending, SIM),
	AT(dat_sim_step, SIM),
	AT(sim_advance, SIM),
	AT(sim_quiet, SIM),
	AT(sim_set_link, SIM),
	AT(sim_hold_link, SIM),
	AT(sim_release_link, SIM),
	AT(dat_sim_destroy, SIM),
	AT(sim_hold_message, EP),
	AT(sim_release_message, EP),
	AT(sim_name, ANY),
	AT(sim_trace, SIM),
	AT(sim_trace_queries, SIM),
	AT(sim_trace_read, SIM),
	AT(sim_trace_note, SIM),
};
/* clang-format on */

static struct kinds make_kinds(void)
{
	struct kinds k;

	k.ia = w.a.ia;
	k.pz = w.a.pz;
	k.lmr = w.a.lmr;
	k.evd = w.a.recv;
	k.ep = plain_ep(&w.a);
	k.srq = make_srq(&w.a, 4, 0);
	k.cr = request(plain_ep(&w.b), &w.a, QUAL);
	k.psp = listen_at(&w.a, QUAL);
	return k;
}

/* w.b is closed and opened again, so only handles are left of its first instance. */
static void make_live_and_stale(void)
{
	struct side a = w.a;

	w.a = w.b;
	w.b = a;
	stale = make_kinds();
	a = w.a;
	w.a = w.b;
	w.b = a;
	side_close(&w.b);
	side_open(&w.b, "emu1");
	live = make_kinds();
}

static void refuse(const struct place *place, DAT_HANDLE h, const char *what)
{
	DAT_COUNT before = objects(DAT_SIM_ALL_HANDLE_TYPES);
	unsigned char poison[sizeof(out)];
	DAT_RETURN ret;

	memset(poison, 0xee, sizeof(poison));
	memset(&out, 0xee, sizeof(out));
	ret = place->call(h);
	ck_assert_msg(is_failure(ret, DAT_INVALID_HANDLE, ANY_SUBTYPE),
		      "%s(%s): expected DAT_INVALID_HANDLE, got %s", place->name, what,
		      ret_text(ret));
	ck_assert_msg(memcmp(&out, poison, sizeof(out)) == 0, "%s(%s) wrote an output", place->name,
		      what);
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), before);
}

static DAT_HANDLE of_kind(const struct kinds *k, enum kind kind)
{
	const DAT_HANDLE all[] = { k->ia, k->pz, k->lmr, k->evd, k->ep, k->psp, k->cr, k->srq };

	return kind < ANY ? all[kind] : k->ia;
}

START_TEST(G3_a_handle_that_was_never_issued_is_refused)
{
	const struct place *place = &places[_i];
	static const uintptr_t wild[] = { 1,
					  2,
					  3,
					  8,
					  16,
					  4096,
					  0xdeadbeef,
					  0xdeadbeefdead,
					  UINTPTR_MAX,
					  INTPTR_MAX,
					  1ull << 63,
					  UINTPTR_MAX - 15,
					  1ull << 47,
					  0x7fff00000,
					  0xffff800000,
					  0xee00 };
	static const uintptr_t offsets[] = { 1, 2, 4, 7, 8, 9, 12, 15, 1 << 20, 1 << 30 };
	uintptr_t near;
	size_t i;

	make_live_and_stale();
	refuse(place, NO_HANDLE, "NULL");
	for (i = 0; i < COUNT(wild); i++)
		refuse(place, (DAT_HANDLE)wild[i], "wild");
	near = (uintptr_t)of_kind(&live, place->kind);
	for (i = 0; i < COUNT(offsets); i++) {
		refuse(place, (DAT_HANDLE)(near + offsets[i]), "beside a handle");
		refuse(place, (DAT_HANDLE)(near - offsets[i]), "beside a handle");
	}
	refuse(place, &near, "on the stack");
	refuse(place, &w, "in the data");
	refuse(place, (DAT_HANDLE)(uintptr_t)&dat_evd_dequeue, "in the code");
}
END_TEST

START_TEST(G3_a_handle_of_another_type_is_refused)
{
	const struct place *place = &places[_i];
	enum kind kind;

	make_live_and_stale();
	for (kind = IA; kind < ANY && place->kind != ANY; kind++)
		if (kind != place->kind)
			refuse(place, of_kind(&live, kind), "another type");
	if (place->kind != SIM)
		refuse(place, w.sim, "a fabric");
}
END_TEST

START_TEST(G3_a_handle_of_a_destroyed_object_is_refused)
{
	const struct place *place = &places[_i];
	enum kind kind;

	make_live_and_stale();
	for (kind = IA; kind < ANY; kind++)
		refuse(place, of_kind(&stale, kind), "stale");
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, G3_a_handle_that_was_never_issued_is_refused, COUNT(places));
	unit_test_loop(suite, G3_a_handle_of_another_type_is_refused, COUNT(places));
	unit_test_loop(suite, G3_a_handle_of_a_destroyed_object_is_refused, COUNT(places));
}

UNIT_SUITE("handles")
