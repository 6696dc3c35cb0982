/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call with sound handles, and with every kind of bad one in every place: NULL, garbage, inside
 * our range but never issued, beside a handle, of another type, of another adapter's instance, of a
 * destroyed object. Ruling G3: DAT_INVALID_HANDLE, the subtype says what was wanted; G2: nothing changed.
 */
#include <assert.h>

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
	MEMBER(srq, SRQ), MEMBER(cr, CR), MEMBER(psp, PSP), MEMBER(rsp, RSP), MEMBER(cno, CNO),
};
/* clang-format on */

static DAT_HANDLE member(const struct kit *from, size_t offset)
{
	DAT_HANDLE handle;

	memcpy(&handle, (const char *)from + offset, sizeof(handle));
	return handle;
}

/* ---- kits ---- */

/* Of w.a; w.b is the peer. */
static void make_kit(struct kit *k, const char *adapter)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[8];

	snprintf(name, sizeof(name), "%s", adapter);
	k->ia = w.a.ia;
	must(dat_ia_open(name, 4, &async, &k->empty_ia));
	k->pz = w.a.pz;
	must(dat_pz_create(w.a.ia, &k->unused_pz));
	k->lmr = w.a.lmr;
	k->recv = w.a.recv;
	k->request = w.a.request;
	k->connect = w.a.connect;
	k->cr_evd = w.a.cr;
	k->evd = make_evd(&w.a, 8, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG);
	k->connected = plain_ep(&w.a);
	connect_eps(&w.a, k->connected, &w.b, plain_ep(&w.b));
	k->ep = w.a.ep = plain_ep(&w.a);
	k->srq = w.a.srq = make_srq(&w.a, 4, 0);
	k->cr = request(plain_ep(&w.b), &w.a, QUAL);
	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &k->cno));
	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &k->unused_cno));
	must(dat_evd_modify_cno(k->evd, k->cno));
	k->rsp = reserve(&w.a, QUAL + 4, plain_ep(&w.a));
	k->psp = listen_at(&w.a, QUAL + 3);
}

static void swap_sides(void)
{
	static struct side side;

	side = w.a;
	w.a = w.b;
	w.b = side;
}

/* One of w.a, one of which only the handles are left, and one of w.b. */
static void make_kits(void)
{
	swap_sides();
	make_kit(&stale, "emu1");
	must(dat_ia_close(stale.empty_ia, DAT_CLOSE_GRACEFUL_FLAG));
	side_close(&w.a);
	run_quiet();
	drain(w.b.connect);
	side_open(&w.a, "emu1");
	make_kit(&foreign, "emu1");
	swap_sides();
	make_kit(&kit, "emu0");
	in_region = segment(&w.a, 0, 8);
	run_quiet();
}

static void drop_kits(void)
{
	must(dat_ia_close(foreign.empty_ia, DAT_CLOSE_GRACEFUL_FLAG));
	if (kit.empty_ia)
		must(dat_ia_close(kit.empty_ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void sound_handles(const struct call *call, DAT_HANDLE *h)
{
	size_t i;

	for (i = 0; call->args[i].number; i++)
		h[i] = member(&kit, call->args[i].member);
}

/* ---- tests ---- */

START_TEST(succeeds)
{
	const struct call *call = &calls[_i];
	DAT_HANDLE h[MAX_HANDLES];
	DAT_RETURN ret;

	make_kits();
	sound_handles(call, h);
	ret = call->make(h);
	ck_assert_msg(ret == DAT_SUCCESS, "%s: %s", call->name, ret_text(ret));
	if (h[0] == kit.empty_ia)
		kit.empty_ia = NO_HANDLE;
	drop_kits();
}
END_TEST

static const struct call *spoilt_call;
static size_t spoilt;

/* One handle is bad, the others are sound. */
static void refuse(DAT_HANDLE bad, const char *what)
{
	const struct handle_arg *arg = &spoilt_call->args[spoilt];
	DAT_HANDLE h[MAX_HANDLES];
	DAT_RETURN ret;

	sound_handles(spoilt_call, h);
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
					  1ull << 47,  0x7fff00000 };
	static const uintptr_t offsets[] = { 1, 2, 4, 7, 8, 9, 12, 15, 1 << 20, 1 << 28, 1 << 30 };
	uintptr_t near = (uintptr_t)member(&kit, spoilt_call->args[spoilt].member);
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
		refuse(member(&stale, members[i].offset), "stale");
		if (arg->kind != ANY && arg->kind != members[i].kind)
			refuse(member(&kit, members[i].offset), "of another type");
		if (spoilt > 0 && arg->kind == members[i].kind)
			refuse(member(&foreign, members[i].offset), "of another instance");
	}
	drop_kits();
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

	for (c = 0; c < call_count; c++) {
		int first = (int)(c * MAX_HANDLES);

		unit_add_case(suite, case_name(calls[c].name, "DAT_SUCCESS/sound_handles", 0),
			      succeeds, (int)c, (int)c + 1, setup_sides);
		for (a = 0; calls[c].args[a].number; a++)
			unit_add_case(suite,
				      case_name(calls[c].name, "DAT_INVALID_HANDLE/argument_",
						calls[c].args[a].number),
				      refuses_bad_handles, first + (int)a, first + (int)a + 1,
				      setup_sides);
	}
}

UNIT_SUITE("calls")
