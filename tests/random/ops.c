/* SPDX-License-Identifier: BSD-3-Clause */
/* ops.c - what a random program may do next: Endpoints and messages. */
#include "prog.h"

/* ---- choosing ---- */

int any_ep(struct prog *p, unsigned int states)
{
	int found[EPS], n = 0;

	for (int e = 0; e < EPS; e++)
		if (p->ep[e].handle && !p->ep[e].dead && states & (1u << state_of(p, e)))
			found[n++] = e;
	return n ? found[pick(p, n)] : NONE;
}

static int any_srq(struct prog *p)
{
	int found[SRQS], n = 0;

	for (int q = 0; q < SRQS; q++)
		if (p->srq[q].handle)
			found[n++] = q;
	return n ? found[pick(p, n)] : NONE;
}

static int any_side(struct prog *p)
{
	int s = pick(p, SIDES);

	return p->side[s].ia ? s : NONE;
}

/* ---- Endpoints ---- */

/* States in which a service point or a request has a claim on the Endpoint */
#define CLAIMED \
	(STATE(RESERVED) | STATE(PASSIVE_CONNECTION_PENDING) | STATE(TENTATIVE_CONNECTION_PENDING))

static bool op_new_ep(struct prog *p)
{
	int s = any_side(p), q = any_srq(p), e, recv, request, connect;
	DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;

	if (s == NONE)
		return false;
	if (q != NONE && (p->srq[q].side != s || chance(p, 30)))
		q = NONE;
	recv = any_evd(p, s, DAT_EVD_DTO_FLAG);
	request = any_evd(p, s, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	connect = any_evd(p, s, DAT_EVD_CONNECTION_FLAG);
	if (recv == NONE || request == NONE || connect == NONE)
		return false;
	if (chance(p, 30))
		flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	e = new_ep(p, s, q, recv, request, connect, flags);
	says(p, "ep %d on side %d: srq %d, evds %d %d %d", e, s, q, recv, request, connect);
	return e != NONE;
}

static bool op_free_ep(struct prog *p)
{
	int e = any_ep(p, ~CLAIMED);

	if (e == NONE)
		return false;
	says(p, "free ep %d, %s", e, state_name(state_of(p, e)));
	drop_ep(p, e);
	return true;
}

/* Endpoints that came with requests would fill the table. */
static bool op_free_ended(struct prog *p)
{
	for (int e = EPS_MADE; e < EPS; e++)
		if (p->ep[e].handle && !p->ep[e].dead &&
		    state_of(p, e) == DAT_EP_STATE_DISCONNECTED) {
			says(p, "free ep %d, which has ended", e);
			drop_ep(p, e);
			return true;
		}
	return false;
}

static bool op_reset(struct prog *p)
{
	int e = any_ep(p, STATE(DISCONNECTED) | STATE(UNCONNECTED));

	if (e == NONE || p->ep[e].lives == LIVES)
		return false;
	says(p, "reset ep %d, %s", e, state_name(state_of(p, e)));
	ok(p, "dat_ep_reset", dat_ep_reset(p->ep[e].handle));
	if (state_of(p, e) == DAT_EP_STATE_DISCONNECTED) {
		wipe_ep(p, e);
		model_reset(p, e);
	}
	return true;
}

static bool op_disconnect(struct prog *p)
{
	int e = any_ep(p, ~(CLAIMED | STATE(UNCONNECTED)));
	bool abrupt = chance(p, 50);

	if (e == NONE)
		return false;
	says(p, "%s disconnect of ep %d, %s", abrupt ? "abrupt" : "graceful", e,
	     state_name(state_of(p, e)));
	ok(p, "dat_ep_disconnect",
	   dat_ep_disconnect(p->ep[e].handle,
			     abrupt ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG));
	model_disconnect(p, e, abrupt);
	return true;
}

/* Receive flags to what they are: rulings M3, M5 */
static bool op_modify(struct prog *p)
{
	DAT_EP_PARAM param = { .ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG };
	int e = any_ep(p, ANY_STATE);
	DAT_RETURN ret;

	if (e == NONE)
		return false;
	says(p, "modify ep %d, %s", e, state_name(state_of(p, e)));
	ret = dat_ep_modify(p->ep[e].handle, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param);
	if (p->ep[e].recv_ever || !((CLAIMED | STATE(UNCONNECTED)) & (1u << state_of(p, e))))
		refused(p, "dat_ep_modify", ret, DAT_INVALID_STATE);
	else
		ok(p, "dat_ep_modify", ret);
	return true;
}

static bool op_set_watermark(struct prog *p)
{
	int e = any_ep(p, ANY_STATE), soft = pick(p, 8) - 1,
	    hard = chance(p, 80) ? NONE : pick(p, 8);

	if (e == NONE)
		return false;
	says(p, "watermarks of ep %d: soft %d, hard %d", e, soft, hard);
	oracle_recv_set_watermark(&p->ep[e].count, soft, hard);
	if (conn_of(p, e) && hard != NONE)
		conn_of(p, e)->causes |= HARD;
	ok(p, "dat_ep_set_watermark", dat_ep_set_watermark(p->ep[e].handle, soft, hard));
	return true;
}

/* ---- messages ---- */

static int any_length(struct prog *p)
{
	switch (pick(p, 8)) {
	case 0: /* on iwarp messages overtake, and an empty one cannot be told apart */
		return p->config.profile == DAT_SIM_PROFILE_IB ? 0 : 8;
	case 1:
		return MTU;
	case 2:
	case 3:
		return MTU + 1 + pick(p, 2 * MTU);
	default:
		return 8 + pick(p, MTU - 8);
	}
}

bool can_request(struct prog *p, int e)
{
	const struct conn *c = conn_of(p, e);
	const struct way *way = c ? &c->way[life_of(p, e)->end] : NULL;

	return p->ep[e].send_count < p->ep[e].max - 2 && dtos_left(p) &&
	       (!way || way->sent - way->got < QUEUE * 2 - 2);
}

static DAT_COMPLETION_FLAGS any_flags(struct prog *p, int e)
{
	static const DAT_COMPLETION_FLAGS flags[] = {
		DAT_COMPLETION_DEFAULT_FLAG,        DAT_COMPLETION_DEFAULT_FLAG,
		DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_BARRIER_FENCE_FLAG,
		DAT_COMPLETION_SUPPRESS_FLAG,       DAT_COMPLETION_UNSIGNALLED_FLAG,
	};

	return flags[pick(p, p->ep[e].request_flags ? 6 : 5)];
}

/* Mostly a connected one; on a disconnected Endpoint every post is flushed at once. */
static unsigned int post_states(struct prog *p, unsigned int states)
{
	return chance(p, 5) ? states : states & ~STATE(DISCONNECTED);
}

static bool op_send(struct prog *p)
{
	int e = any_ep(p, post_states(p, STATE(CONNECTED) | STATE(DISCONNECTED))),
	    n = 1 + pick(p, 4);

	if (e == NONE || !can_request(p, e))
		return false;
	for (says(p, "send"); n > 0 && can_request(p, e); n--)
		post_send(p, e, any_length(p), any_flags(p, e));
	return true;
}

/* A message that may be longer than its Receive */
static bool op_send_long(struct prog *p)
{
	int e = any_ep(p, STATE(CONNECTED));

	if (e == NONE || !can_request(p, e) || !chance(p, 10))
		return false;
	says(p, "send a long one");
	post_send(p, e, SLOT - pick(p, MTU), DAT_COMPLETION_DEFAULT_FLAG);
	return true;
}

/* The message stops half way, and goes on at the next reckoning or before. */
static bool op_send_held(struct prog *p)
{
	int e = any_ep(p, STATE(CONNECTED)), message;
	struct hold *hold;

	if (e == NONE || !can_request(p, e) || p->holds == HOLDS)
		return false;
	hold = &p->hold[p->holds];
	message = conn_of(p, e)->way[life_of(p, e)->end].sent + 1;
	says(p, "hold message %d of ep %d", message, e);
	*hold = (struct hold){ p->ep[e].handle, message };
	p->holds++;
	ok(p, "dat_sim_hold_message", dat_sim_hold_message(hold->ep, message, pick(p, 3)));
	post_send(p, e, MTU * 2 + pick(p, MTU), any_flags(p, e));
	return true;
}

static int recv_length(struct prog *p)
{
	return chance(p, 97) ? SLOT : MTU + pick(p, SLOT - MTU);
}

static bool op_recv(struct prog *p)
{
	int e = any_ep(p, post_states(p, ~STATE(TENTATIVE_CONNECTION_PENDING))), n = 1 + pick(p, 8);

	if (e == NONE || p->ep[e].srq != NONE || p->ep[e].recv_count >= p->ep[e].max ||
	    !dtos_left(p))
		return false;
	for (says(p, "receive"); n > 0 && p->ep[e].recv_count < p->ep[e].max && dtos_left(p); n--)
		post_recv(p, e, recv_length(p));
	return true;
}

static bool op_srq_recv(struct prog *p)
{
	int q = any_srq(p), n = 1 + pick(p, 10);
	DAT_LMR_TRIPLET iov;

	if (q == NONE || !dtos_left(p))
		return false;
	for (says(p, "receive");
	     n > 0 && p->srq[q].count.outstanding < p->srq[q].count.max && dtos_left(p); n--)
		post_srq(p, q, recv_length(p));
	if (p->srq[q].count.outstanding == p->srq[q].count.max)
		refused(p, "dat_srq_post_recv",
			dat_srq_post_recv(p->srq[q].handle, 0, &iov, dto_cookie(p, 0)),
			DAT_INSUFFICIENT_RESOURCES);
	return true;
}

const struct op ep_ops[] = {
	{ "new ep", 10, op_new_ep },
	{ "free ep", 1, op_free_ep },
	{ "free ended", 10, op_free_ended },
	{ "reset", 20, op_reset },
	{ "disconnect", 2, op_disconnect },
	{ "modify", 2, op_modify },
	{ "watermarks", 2, op_set_watermark },
	{ "send", 30, op_send },
	{ "send long", 2, op_send_long },
	{ "send held", 4, op_send_held },
	{ "receive", 30, op_recv },
	{ "receive on SRQ", 24, op_srq_recv },
	{ 0 },
};
