/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops_conn.c - what a random program may do next: connections, their requests and service points.
 */
#include "prog.h"

static bool op_connect(struct prog *p)
{
	int e = any_ep(p, STATE(UNCONNECTED)), l = pick(p, PSPS);
	DAT_TIMEOUT timeout = chance(p, 80) ? DAT_TIMEOUT_INFINITE : (DAT_TIMEOUT)(1 + pick(p, 50));

	if (e == NONE || !conns_left(p))
		return false;
	if (p->psp[l].handle) {
		ep_connect_to(p, e, p->psp[l].side, p->psp[l].qual, timeout);
		return true;
	}
	if (chance(p, 90))
		return false;
	/* An address without a listener, or without an adapter */
	ep_connect_to(p, e, pick(p, SIDES), 1000000, timeout);
	return true;
}

static bool op_dup_connect(struct prog *p)
{
	int e = any_ep(p, STATE(UNCONNECTED)), like = any_ep(p, STATE(CONNECTED));

	if (e == NONE || like == NONE || !conns_left(p) || p->ep[e].side != p->ep[like].side ||
	    life_of(p, like)->end != 0 || conn_of(p, like)->handed_off)
		return false;
	ep_dup_connect_to(p, e, like);
	return true;
}

static int any_request(struct prog *p)
{
	int found[REQUESTS], n = 0;

	for (int r = 0; r < REQUESTS; r++)
		if (p->request[r].handle)
			found[n++] = r;
	return n ? found[pick(p, n)] : NONE;
}

static bool configure(struct prog *p, int e)
{
	int s = p->ep[e].side, recv, request, connect;

	recv = any_evd(p, s, DAT_EVD_DTO_FLAG);
	request = any_evd(p, s, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	connect = any_evd(p, s, DAT_EVD_CONNECTION_FLAG);
	if (recv == NONE || request == NONE || connect == NONE)
		return false;
	ep_configure(p, e, recv, request, connect);
	return true;
}

/* Rulings E7: request and Endpoint stay as they were. */
static void accept_wrongly(struct prog *p, int r, int e)
{
	bool other = p->request[r].ep != NONE && p->request[r].ep != e;

	says(p, "accept connection %d with ep %d, which is %s", p->request[r].conn, e,
	     state_name(state_of(p, e)));
	refused(p, "dat_cr_accept", dat_cr_accept(p->request[r].handle, p->ep[e].handle, 0, NULL),
		other ? DAT_INVALID_PARAMETER : DAT_INVALID_STATE);
}

static bool op_accept(struct prog *p)
{
	int r = any_request(p), e = any_ep(p, chance(p, 90) ? STATE(UNCONNECTED) : ANY_STATE);

	if (r == NONE)
		return false;
	if (p->request[r].ep != NONE && chance(p, 80))
		e = p->request[r].ep;
	if (e == NONE || p->ep[e].side != p->request[r].side)
		return false;
	if (p->request[r].ep != e &&
	    (p->request[r].ep != NONE || state_of(p, e) != DAT_EP_STATE_UNCONNECTED)) {
		accept_wrongly(p, r, e);
		return true;
	}
	if (p->ep[e].connect == NONE) {
		accept_wrongly(p, r, e);
		return configure(p, e);
	}
	request_accept(p, r, e);
	return true;
}

static bool op_reject(struct prog *p)
{
	int r = any_request(p);

	if (r == NONE)
		return false;
	request_reject(p, r);
	return true;
}

static bool op_hand_off(struct prog *p)
{
	int r = any_request(p), l = pick(p, PSPS);

	if (r == NONE)
		return false;
	if (chance(p, 10))
		request_hand_off(p, r, p->request[r].side, 1000000);
	else if (p->psp[l].handle && p->psp[l].side == p->request[r].side)
		request_hand_off(p, r, p->psp[l].side, p->psp[l].qual);
	else
		return false;
	return true;
}

/* ---- service points ---- */

static bool op_new_psp(struct prog *p)
{
	int s = pick(p, SIDES), v, l;

	if (!p->side[s].ia)
		return false;
	v = any_evd(p, s, DAT_EVD_CR_FLAG);
	l = v == NONE ? NONE : new_psp(p, s, v, chance(p, 30) ? PSP_PROVIDER : PSP_CONSUMER);
	says(p, "psp %d on side %d, evd %d", l, s, v);
	return l != NONE;
}

static bool op_new_rsp(struct prog *p)
{
	int e = any_ep(p, STATE(UNCONNECTED)), v, l;

	v = e == NONE ? NONE : any_evd(p, p->ep[e].side, DAT_EVD_CR_FLAG);
	l = v == NONE ? NONE : new_rsp(p, e, v);
	says(p, "rsp %d of ep %d, evd %d", l, e, v);
	return l != NONE;
}

static bool op_free_psp(struct prog *p)
{
	int l = pick(p, PSPS);

	if (!p->psp[l].handle || (p->psp[l].kind != PSP_RESERVED && chance(p, 80)))
		return false;
	says(p, "free psp %d", l);
	drop_psp(p, l);
	return true;
}

const struct op conn_ops[] = {
	{ "connect", 34, op_connect },
	{ "dup connect", 6, op_dup_connect },
	{ "accept", 40, op_accept },
	{ "reject", 3, op_reject },
	{ "hand off", 3, op_hand_off },
	{ "new psp", 16, op_new_psp },
	{ "new rsp", 8, op_new_rsp },
	{ "free psp", 6, op_free_psp },
	{ 0 },
};
