/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ruling G3: every call, in every place where it takes a handle, refuses what is none: never issued,
 * of another type, destroyed. The subtype says what was wanted, and no output is written (G1, G2).
 */
#include "tests/support/support.h"

/* Objects of w.a, one of a kind, and what is left of one of a kind. */
struct kinds {
	DAT_HANDLE ia, pz, lmr, evd, ep, psp, cr, srq;
};
static struct kinds live, stale;

/* Whatever a call could write goes here; nothing may change. */
static union {
	DAT_HANDLE handle;
	DAT_IA_ATTR ia;
	DAT_PROVIDER_ATTR provider;
	DAT_PZ_PARAM pz;
	DAT_LMR_PARAM lmr;
	DAT_EVD_PARAM evd;
	DAT_EP_PARAM ep;
	DAT_PSP_PARAM psp;
	DAT_CR_PARAM cr;
	DAT_SRQ_PARAM srq;
	DAT_EVENT event;
	DAT_CONTEXT context;
	DAT_HANDLE_TYPE type;
	DAT_UINT64 number;
	char text[64];
	struct {
		DAT_LMR_CONTEXT lmr;
		DAT_RMR_CONTEXT rmr;
		DAT_VLEN length;
		DAT_VADDR address;
		DAT_COUNT counts[4];
		DAT_EP_STATE state;
		DAT_BOOLEAN idle[2];
	} more;
	unsigned char bytes[1024];
} out;

static DAT_EP_ATTR attr;
static DAT_SRQ_ATTR srq_attr = { 4, 4, 0 };
static DAT_REGION_DESCRIPTION memory;
static DAT_EVENT software;
static char emu0[] = "emu0", emu1[] = "emu1", note[] = "note";

static DAT_RETURN new_ep(DAT_HANDLE ia, DAT_HANDLE pz, DAT_HANDLE recv, DAT_HANDLE req,
			 DAT_HANDLE conn)
{
	return dat_ep_create(ia, pz, recv, req, conn, &attr, &out.handle);
}

static DAT_RETURN new_srq_ep(DAT_HANDLE ia, DAT_HANDLE pz, DAT_HANDLE recv, DAT_HANDLE req,
			     DAT_HANDLE conn, DAT_HANDLE srq)
{
	return dat_ep_create_with_srq(ia, pz, recv, req, conn, srq, &attr, &out.handle);
}

static DAT_RETURN new_lmr(DAT_HANDLE ia, DAT_HANDLE pz)
{
	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, memory, 64, pz, DAT_MEM_PRIV_ALL_FLAG,
			      &out.handle, &out.more.lmr, &out.more.rmr, &out.more.length,
			      &out.more.address);
}

#define C DAT_COMPLETION_DEFAULT_FLAG

/* One function for each place of a handle. */
#define PLACE(name, call)                    \
	static DAT_RETURN name(DAT_HANDLE h) \
	{                                    \
		return call;                 \
	}

/* clang-format off */
PLACE(ia_query, dat_ia_query(h, &out.handle, DAT_IA_FIELD_ALL, &out.ia, 0, NULL))
PLACE(ia_query2, dat_ia_query(h, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &out.provider))
PLACE(ia_abrupt, dat_ia_close(h, DAT_CLOSE_ABRUPT_FLAG))
PLACE(ia_graceful, dat_ia_close(h, DAT_CLOSE_GRACEFUL_FLAG))
PLACE(pz_create, dat_pz_create(h, &out.handle))
PLACE(pz_query, dat_pz_query(h, DAT_PZ_FIELD_ALL, &out.pz))
PLACE(lmr_create_ia, new_lmr(h, w.a.pz))
PLACE(lmr_create_pz, new_lmr(w.a.ia, h))
PLACE(lmr_query, dat_lmr_query(h, DAT_LMR_FIELD_ALL, &out.lmr))
PLACE(evd_create_ia, dat_evd_create(h, 4, NO_HANDLE, DAT_EVD_DTO_FLAG, &out.handle))
PLACE(evd_create_cno, dat_evd_create(w.a.ia, 4, h, DAT_EVD_DTO_FLAG, &out.handle))
PLACE(evd_wait, dat_evd_wait(h, 10, 1, &out.event, NULL))
PLACE(evd_dequeue, dat_evd_dequeue(h, &out.event))
PLACE(evd_query, dat_evd_query(h, DAT_EVD_FIELD_ALL, &out.evd))
PLACE(evd_resize, dat_evd_resize(h, 8))
PLACE(evd_post_se, dat_evd_post_se(h, &software))
PLACE(ep_create_ia, new_ep(h, w.a.pz, w.a.recv, w.a.request, w.a.connect))
PLACE(ep_create_pz, new_ep(w.a.ia, h, w.a.recv, w.a.request, w.a.connect))
PLACE(ep_create_recv, new_ep(w.a.ia, w.a.pz, h, w.a.request, w.a.connect))
PLACE(ep_create_request, new_ep(w.a.ia, w.a.pz, w.a.recv, h, w.a.connect))
PLACE(ep_create_connect, new_ep(w.a.ia, w.a.pz, w.a.recv, w.a.request, h))
PLACE(srq_ep_ia, new_srq_ep(h, w.a.pz, w.a.recv, w.a.request, w.a.connect, live.srq))
PLACE(srq_ep_pz, new_srq_ep(w.a.ia, h, w.a.recv, w.a.request, w.a.connect, live.srq))
PLACE(srq_ep_recv, new_srq_ep(w.a.ia, w.a.pz, h, w.a.request, w.a.connect, live.srq))
PLACE(srq_ep_request, new_srq_ep(w.a.ia, w.a.pz, w.a.recv, h, w.a.connect, live.srq))
PLACE(srq_ep_connect, new_srq_ep(w.a.ia, w.a.pz, w.a.recv, w.a.request, h, live.srq))
PLACE(srq_ep_srq, new_srq_ep(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect, h))
PLACE(ep_query, dat_ep_query(h, DAT_EP_FIELD_ALL, &out.ep))
PLACE(ep_modify, dat_ep_modify(h, 0, NULL))
PLACE(ep_get_status, dat_ep_get_status(h, &out.more.state, &out.more.idle[0], &out.more.idle[1]))
PLACE(ep_connect, dat_ep_connect(h, address(&w.b), QUAL, 10, 0, NULL, DAT_QOS_BEST_EFFORT, 0))
PLACE(ep_disconnect, dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG))
PLACE(ep_post_send, dat_ep_post_send(h, 0, NULL, cookie(0), C))
PLACE(ep_post_recv, dat_ep_post_recv(h, 0, NULL, cookie(0), C))
PLACE(ep_recv_query, dat_ep_recv_query(h, &out.more.counts[0], &out.more.counts[1]))
PLACE(ep_set_watermark, dat_ep_set_watermark(h, 1, 1))
PLACE(psp_create_ia, dat_psp_create(h, 77, w.a.cr, DAT_PSP_CONSUMER_FLAG, &out.handle))
PLACE(psp_create_evd, dat_psp_create(w.a.ia, 77, h, DAT_PSP_CONSUMER_FLAG, &out.handle))
PLACE(psp_query, dat_psp_query(h, DAT_PSP_FIELD_ALL, &out.psp))
PLACE(cr_query, dat_cr_query(h, DAT_CR_FIELD_ALL, &out.cr))
PLACE(cr_accept_cr, dat_cr_accept(h, live.ep, 0, NULL))
PLACE(cr_accept_ep, dat_cr_accept(live.cr, h, 0, NULL))
PLACE(srq_create_ia, dat_srq_create(h, w.a.pz, &srq_attr, &out.handle))
PLACE(srq_create_pz, dat_srq_create(w.a.ia, h, &srq_attr, &out.handle))
PLACE(srq_post_recv, dat_srq_post_recv(h, 0, NULL, cookie(0)))
PLACE(srq_query, dat_srq_query(h, DAT_SRQ_FIELD_ALL, &out.srq))
PLACE(srq_resize, dat_srq_resize(h, 8))
PLACE(srq_set_lw, dat_srq_set_lw(h, 1))
PLACE(set_context, dat_set_consumer_context(h, cookie(1)))
PLACE(get_context, dat_get_consumer_context(h, &out.context))
PLACE(get_type, dat_get_handle_type(h, &out.type))
PLACE(sim_of, dat_sim_of(h, &out.handle))
PLACE(sim_backend, dat_sim_backend(h, (const char **)&out.handle))
PLACE(sim_now, dat_sim_now(h, &out.number))
PLACE(sim_pending, dat_sim_pending(h, &out.more.counts[0], NULL))
PLACE(sim_advance, dat_sim_advance(h, 1))
PLACE(sim_quiet, dat_sim_run_until_quiet(h, 1))
PLACE(sim_set_link, dat_sim_set_link(h, emu0, emu1, 1, 1))
PLACE(sim_hold_link, dat_sim_hold_link(h, emu0, emu1, 0))
PLACE(sim_release_link, dat_sim_release_link(h, emu0, emu1))
PLACE(sim_hold_message, dat_sim_hold_message(h, 1, 0))
PLACE(sim_release_message, dat_sim_release_message(h, 1))
PLACE(sim_name, dat_sim_name(h, out.text, sizeof(out.text)))
PLACE(sim_trace, dat_sim_trace(h, DAT_TRUE))
PLACE(sim_trace_read, dat_sim_trace_read(h, (const char **)&out.handle, NULL))
PLACE(sim_trace_note, dat_sim_trace_note(h, note))

/* The kind a place wants; ANY takes all kinds, SIM a fabric, CNO what no call makes yet. */
enum kind { IA, PZ, LMR, EVD, EP, PSP, CR, SRQ, ANY, SIM, CNO };

static const struct place {
	const char *name;
	DAT_RETURN (*call)(DAT_HANDLE h);
	enum kind kind;
	DAT_UINT32 subtype;
	bool null_is_legal;
} places[] = {
#define AT(name, kind, subtype) { #name, name, kind, subtype, false }
#define OPTIONAL(name, kind, subtype) { #name, name, kind, subtype, true }
	AT(ia_query, IA, DAT_INVALID_HANDLE_IA),
	AT(ia_query2, IA, DAT_INVALID_HANDLE_IA),
	AT(ia_abrupt, IA, DAT_INVALID_HANDLE_IA),
	AT(ia_graceful, IA, DAT_INVALID_HANDLE_IA),
	AT(pz_create, IA, DAT_INVALID_HANDLE_IA),
	AT(pz_query, PZ, DAT_INVALID_HANDLE_PZ),
	AT(dat_pz_free, PZ, DAT_INVALID_HANDLE_PZ),
	AT(lmr_create_ia, IA, DAT_INVALID_HANDLE_IA),
	AT(lmr_create_pz, PZ, DAT_INVALID_HANDLE_PZ),
	AT(lmr_query, LMR, DAT_INVALID_HANDLE_LMR),
	AT(dat_lmr_free, LMR, DAT_INVALID_HANDLE_LMR),
	AT(evd_create_ia, IA, DAT_INVALID_HANDLE_IA),
	OPTIONAL(evd_create_cno, CNO, DAT_INVALID_HANDLE_CNO),
	AT(evd_wait, EVD, DAT_INVALID_HANDLE1),
	AT(evd_dequeue, EVD, DAT_INVALID_HANDLE1),
	AT(evd_query, EVD, DAT_INVALID_HANDLE1),
	AT(evd_resize, EVD, DAT_INVALID_HANDLE1),
	AT(evd_post_se, EVD, DAT_INVALID_HANDLE1),
	AT(dat_evd_free, EVD, DAT_INVALID_HANDLE1),
	AT(ep_create_ia, IA, DAT_INVALID_HANDLE_IA),
	AT(ep_create_pz, PZ, DAT_INVALID_HANDLE_PZ),
	OPTIONAL(ep_create_recv, EVD, DAT_INVALID_HANDLE_EVD_RECV),
	OPTIONAL(ep_create_request, EVD, DAT_INVALID_HANDLE_EVD_REQUEST),
	OPTIONAL(ep_create_connect, EVD, DAT_INVALID_HANDLE_EVD_CONN),
	AT(srq_ep_ia, IA, DAT_INVALID_HANDLE_IA),
	AT(srq_ep_pz, PZ, DAT_INVALID_HANDLE_PZ),
	OPTIONAL(srq_ep_recv, EVD, DAT_INVALID_HANDLE_EVD_RECV),
	OPTIONAL(srq_ep_request, EVD, DAT_INVALID_HANDLE_EVD_REQUEST),
	OPTIONAL(srq_ep_connect, EVD, DAT_INVALID_HANDLE_EVD_CONN),
	AT(srq_ep_srq, SRQ, DAT_INVALID_HANDLE_SRQ),
	AT(ep_query, EP, DAT_INVALID_HANDLE_EP),
	AT(ep_modify, EP, DAT_INVALID_HANDLE_EP),
	AT(ep_get_status, EP, DAT_INVALID_HANDLE_EP),
	AT(ep_connect, EP, DAT_INVALID_HANDLE_EP),
	AT(ep_disconnect, EP, DAT_INVALID_HANDLE_EP),
	AT(ep_post_send, EP, DAT_INVALID_HANDLE_EP),
	AT(ep_post_recv, EP, DAT_INVALID_HANDLE_EP),
	AT(ep_recv_query, EP, DAT_INVALID_HANDLE_EP),
	AT(ep_set_watermark, EP, DAT_INVALID_HANDLE_EP),
	AT(dat_ep_reset, EP, DAT_INVALID_HANDLE_EP),
	AT(dat_ep_free, EP, DAT_INVALID_HANDLE_EP),
	AT(psp_create_ia, IA, DAT_INVALID_HANDLE_IA),
	AT(psp_create_evd, EVD, DAT_INVALID_HANDLE_EVD_CR),
	AT(psp_query, PSP, DAT_INVALID_HANDLE_PSP),
	AT(dat_psp_free, PSP, DAT_INVALID_HANDLE_PSP),
	AT(cr_query, CR, DAT_INVALID_HANDLE_CR),
	AT(cr_accept_cr, CR, DAT_INVALID_HANDLE_CR),
	OPTIONAL(cr_accept_ep, EP, DAT_INVALID_HANDLE_EP),
	AT(dat_cr_reject, CR, DAT_INVALID_HANDLE_CR),
	AT(srq_create_ia, IA, DAT_INVALID_HANDLE_IA),
	AT(srq_create_pz, PZ, DAT_INVALID_HANDLE_PZ),
	AT(srq_post_recv, SRQ, DAT_INVALID_HANDLE_SRQ),
	AT(srq_query, SRQ, DAT_INVALID_HANDLE_SRQ),
	AT(srq_resize, SRQ, DAT_INVALID_HANDLE_SRQ),
	AT(srq_set_lw, SRQ, DAT_INVALID_HANDLE_SRQ),
	AT(dat_srq_free, SRQ, DAT_INVALID_HANDLE_SRQ),
	AT(set_context, ANY, DAT_INVALID_HANDLE1),
	AT(get_context, ANY, DAT_INVALID_HANDLE1),
	AT(get_type, ANY, DAT_INVALID_HANDLE1),
	AT(sim_of, IA, ANY_SUBTYPE),
	AT(sim_backend, IA, ANY_SUBTYPE),
	AT(sim_now, SIM, ANY_SUBTYPE),
	AT(sim_pending, SIM, ANY_SUBTYPE),
	AT(dat_sim_step, SIM, ANY_SUBTYPE),
	AT(sim_advance, SIM, ANY_SUBTYPE),
	AT(sim_quiet, SIM, ANY_SUBTYPE),
	AT(sim_set_link, SIM, ANY_SUBTYPE),
	AT(sim_hold_link, SIM, ANY_SUBTYPE),
	AT(sim_release_link, SIM, ANY_SUBTYPE),
	AT(dat_sim_destroy, SIM, ANY_SUBTYPE),
	AT(sim_hold_message, EP, ANY_SUBTYPE),
	AT(sim_release_message, EP, ANY_SUBTYPE),
	AT(sim_name, ANY, ANY_SUBTYPE),
	AT(sim_trace, SIM, ANY_SUBTYPE),
	AT(sim_trace_read, SIM, ANY_SUBTYPE),
	AT(sim_trace_note, SIM, ANY_SUBTYPE),
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

/* w.b is closed and opened again, so that of its first instance only handles are left. */
static void make_live_and_stale(void)
{
	struct side a = w.a;

	attr = ep_attr();
	memory.for_va = slot(&w.a, 0);
	software.event_number = DAT_SOFTWARE_EVENT;
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
	ck_assert_msg(is_failure(ret, DAT_INVALID_HANDLE, place->subtype),
		      "%s(%s): expected DAT_INVALID_HANDLE, subtype %#x, got %s", place->name, what,
		      place->subtype, ret_text(ret));
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
	if (!place->null_is_legal)
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
