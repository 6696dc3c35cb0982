/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.c - what the states of Endpoints and the events about them must be, from the rulings and
 * the pages alone.
 */
#include <string.h>

#include "prog.h"

#define S(name) DAT_EP_STATE_##name
#define E(name) DAT_CONNECTION_EVENT_##name

struct life *life_of(struct prog *p, int e)
{
	return &p->ep[e].life[p->ep[e].lives - 1];
}

DAT_EP_STATE state_of(struct prog *p, int e)
{
	return life_of(p, e)->state;
}

struct conn *conn_of(struct prog *p, int e)
{
	struct life *life = life_of(p, e);

	return life->conn == NONE ? NULL : &p->conn[life->conn];
}

bool is_up(struct prog *p, int e)
{
	return state_of(p, e) == S(CONNECTED) || state_of(p, e) == S(DISCONNECT_PENDING);
}

/* ---- connections ---- */

int conn_new(struct prog *p)
{
	for (int n = 0; n < CONNS; n++) {
		if (p->conn[n].used)
			continue;
		memset(&p->conn[n], 0, sizeof(p->conn[n]));
		p->conn[n].used = true;
		p->conn[n].id = ++p->connections;
		p->conn[n].ep[0] = p->conn[n].ep[1] = NONE;
		return n;
	}
	return NONE;
}

bool conns_left(const struct prog *p)
{
	int unused = 0, waiting = 0, room = 0;

	for (int n = 0; n < CONNS; n++) {
		unused += !p->conn[n].used;
		waiting += p->conn[n].used && p->conn[n].answer == UNANSWERED;
	}
	for (int e = 0; e < EPS; e++)
		room += !p->ep[e].handle;
	return unused > 0 && waiting < REQUESTS - 2 && waiting < room - EPS_MADE;
}

/* Connections without an Endpoint or a request, at rest and with all events read, are reused. */
void conns_forget(struct prog *p)
{
	bool wanted[CONNS] = { false };

	for (int e = 0; e < EPS; e++)
		for (int n = 0; p->ep[e].handle && n < p->ep[e].lives; n++)
			if (p->ep[e].life[n].conn != NONE)
				wanted[p->ep[e].life[n].conn] = true;
	for (int r = 0; r < REQUESTS; r++)
		if (p->request[r].handle)
			wanted[p->request[r].conn] = true;
	for (int n = 0; n < CONNS; n++)
		p->conn[n].used = wanted[n];
}

/* ---- what calls do ---- */

static void begin(struct prog *p, int e, int conn, int end)
{
	struct life *life = life_of(p, e);

	life->conn = conn;
	life->end = end;
	life->told = end == 0 ? TOLD_CONNECTING : TOLD_ACCEPTING;
	life->state = end == 0 ? S(ACTIVE_CONNECTION_PENDING) : S(COMPLETION_PENDING);
	p->conn[conn].ep[end] = e;
	p->conn[conn].side[end] = p->ep[e].side;
	p->ep[e].holey = p->ep[e].failed = false;
	p->ep[e].last_recv = 0;
	p->ep[e].got_before = 0;
	if (p->lossy)
		p->conn[conn].causes |= LOSSY;
	/* iwarp does not retry: one refusal ends the connection. */
	if (p->lossy && p->config.profile == DAT_SIM_PROFILE_IWARP)
		p->conn[conn].causes |= STARVED;
	if (p->ep[e].count.hard_armed)
		p->conn[conn].causes |= HARD;
}

void model_connect(struct prog *p, int e, int conn)
{
	begin(p, e, conn, 0);
}

void model_accept(struct prog *p, int e, int conn)
{
	begin(p, e, conn, 1);
	p->conn[conn].answer = ACCEPTED;
}

/* This end gives up its connection, or the attempt to make one. */
static void ask(struct prog *p, int e)
{
	struct life *life = life_of(p, e);

	if (life->conn == NONE || life->state == S(DISCONNECTED))
		return;
	p->conn[life->conn].asked = true;
	if (life->state == S(ACTIVE_CONNECTION_PENDING) || life->state == S(COMPLETION_PENDING))
		p->conn[life->conn].gave_up[life->end] = true;
}

/* Graceful: PENDING until the requests are done, which may be at once. */
void model_disconnect(struct prog *p, int e, bool abrupt)
{
	struct life *life = life_of(p, e);

	if (life->state == S(DISCONNECTED))
		return;
	ask(p, e);
	if (life->state == S(CONNECTED) && !abrupt)
		life->state = S(DISCONNECT_PENDING);
	else if (life->state != S(DISCONNECT_PENDING) || abrupt)
		life->state = S(DISCONNECTED);
}

void model_reserve(struct prog *p, int e)
{
	life_of(p, e)->state = S(RESERVED);
}

void model_release(struct prog *p, int e)
{
	life_of(p, e)->state = S(UNCONNECTED);
}

static void leave(struct prog *p, int e)
{
	struct conn *c = conn_of(p, e);

	if (c)
		c->ep[life_of(p, e)->end] = NONE;
}

void model_reset(struct prog *p, int e)
{
	struct ep *ep = &p->ep[e];

	if (state_of(p, e) == S(UNCONNECTED))
		return;
	leave(p, e);
	ep->recv_ever = false;
	/* Connection events already queued stay (Q4), so what they will tell is kept. */
	if (life_of(p, e)->told != TOLD_OVER)
		ep->lives++;
	*life_of(p, e) = (struct life){ .conn = NONE, .state = S(UNCONNECTED) };
}

void model_free(struct prog *p, int e)
{
	ask(p, e);
	leave(p, e);
	p->ep[e].dead = true;
}

/* ---- what the network does ---- */

static bool may_end(const struct conn *c)
{
	return c->asked || c->causes;
}

static bool may_fail(const struct conn *c)
{
	return c->answer == REJECTED || c->may_be_refused || c->may_time_out || c->unreachable;
}

/* Can the network alone bring an end of c from one state to the other? */
static bool can_go(const struct conn *c, DAT_EP_STATE from, DAT_EP_STATE to)
{
	if (!c)
		return false;
	switch (from) {
	case S(ACTIVE_CONNECTION_PENDING):
		if (to == S(DISCONNECTED) && may_fail(c))
			return true;
		return c->answer == ACCEPTED &&
		       (to == S(CONNECTED) || (to == S(DISCONNECTED) && may_end(c)));
	case S(COMPLETION_PENDING):
		if (to == S(DISCONNECTED))
			return c->may_time_out || may_end(c);
		return to == S(CONNECTED);
	case S(CONNECTED):
	case S(DISCONNECT_PENDING):
		return to == S(DISCONNECTED) && may_end(c);
	default:
		return false;
	}
}

/* A reserved Endpoint gets its request. */
static bool may_be_asked(const struct prog *p, int e)
{
	for (int l = 0; l < PSPS; l++)
		for (int n = 0; n < CONNS; n++)
			if (p->psp[l].handle && p->psp[l].kind == PSP_RESERVED &&
			    p->psp[l].ep == e && p->conn[n].used &&
			    p->conn[n].qual == p->psp[l].qual && p->conn[n].answer == UNANSWERED &&
			    !p->conn[n].at_program)
				return true;
	return false;
}

void model_shows(struct prog *p, int e, DAT_EP_STATE state)
{
	struct life *life = life_of(p, e);
	bool can;

	if (state == life->state)
		return;
	if (life->state == S(RESERVED))
		can = state == S(PASSIVE_CONNECTION_PENDING) && may_be_asked(p, e);
	else
		can = can_go(conn_of(p, e), life->state, state);
	if (!can)
		fails(p, "ep %d went from %s to %s, which it cannot", e, state_name(life->state),
		      state_name(state));
	life->state = state;
}

/* ---- what events tell ---- */

static bool end_is_legal(const struct conn *c, enum told told, int number)
{
	switch (number) {
	case E(DISCONNECTED):
		return told == TOLD_UP ? c->asked : c->gave_up[0] || c->gave_up[1];
	case E(BROKEN):
		return told == TOLD_UP && c->causes;
	case E(ACCEPT_COMPLETION_ERROR):
		/* With reordered packets the disconnect may overtake the setup. */
		return told == TOLD_ACCEPTING &&
		       (c->gave_up[0] || c->may_time_out || c->causes & LOSSY);
	case E(PEER_REJECTED):
		return told == TOLD_CONNECTING && c->answer == REJECTED;
	case E(NON_PEER_REJECTED):
		return told == TOLD_CONNECTING && c->may_be_refused;
	case E(TIMED_OUT):
		return told == TOLD_CONNECTING && c->may_time_out;
	case E(UNREACHABLE):
		return told == TOLD_CONNECTING && c->unreachable;
	default:
		return false;
	}
}

void model_told(struct prog *p, int e, DAT_EVENT_NUMBER number)
{
	struct life *life = p->ep[e].life;
	const struct conn *c;

	while (life->told == TOLD_OVER && life < life_of(p, e))
		life++;
	c = life->conn == NONE ? NULL : &p->conn[life->conn];
	if (!c || life->told == TOLD_NOTHING || life->told == TOLD_OVER)
		fails(p, "ep %d: connection event %#x out of the blue", e, (unsigned int)number);
	if (number == E(ESTABLISHED)) {
		if (life->told == TOLD_UP || (life->end == 0 && c->answer != ACCEPTED))
			fails(p, "ep %d: ESTABLISHED, and it cannot be", e);
		life->told = TOLD_UP;
		p->count[N_CONNECTED]++;
		return;
	}
	if (!end_is_legal(c, life->told, (int)number))
		fails(p, "ep %d: event %#x cannot come for that connection now (told %d)", e,
		      (unsigned int)number, (int)life->told);
	p->count[number == E(BROKEN) ? N_BROKEN : N_ENDED]++;
	life->told = TOLD_OVER;
}

static enum told told_by(DAT_EP_STATE state)
{
	switch (state) {
	case S(ACTIVE_CONNECTION_PENDING):
		return TOLD_CONNECTING;
	case S(COMPLETION_PENDING):
		return TOLD_ACCEPTING;
	case S(CONNECTED):
	case S(DISCONNECT_PENDING):
		return TOLD_UP;
	case S(DISCONNECTED):
		return TOLD_OVER;
	default:
		return TOLD_NOTHING;
	}
}

void model_told_all(struct prog *p, int e)
{
	struct ep *ep = &p->ep[e];
	struct life *now = life_of(p, e);

	if (ep->connect == NONE || p->evd[ep->connect].overflowed)
		now->told = told_by(now->state);
	else
		for (struct life *life = ep->life; life < now; life++)
			if (life->told != TOLD_OVER)
				fails(p, "ep %d: an earlier connection's events are missing", e);
	if (now->told != told_by(now->state))
		fails(p, "ep %d is %s, but its events told otherwise (%d)", e,
		      state_name(now->state), (int)now->told);
	ep->life[0] = *now;
	ep->lives = 1;
}

bool request_is_held(const struct prog *p, int e)
{
	for (int r = 0; r < REQUESTS; r++)
		if (p->request[r].handle && p->request[r].ep == e)
			return true;
	return false;
}

void model_rests(struct prog *p, int e)
{
	const struct conn *c = conn_of(p, e);
	DAT_EP_STATE state = state_of(p, e);
	int peer;

	if (state == S(UNCONNECTED) || state == S(DISCONNECTED) || state == S(RESERVED))
		return;
	if ((state == S(PASSIVE_CONNECTION_PENDING) || state == S(TENTATIVE_CONNECTION_PENDING)) &&
	    request_is_held(p, e))
		return;
	if (state == S(ACTIVE_CONNECTION_PENDING) && c->at_program)
		return;
	if (state != S(CONNECTED))
		fails(p, "ep %d is still %s, and the network is at rest", e, state_name(state));
	peer = c->ep[1 - life_of(p, e)->end];
	if (c->asked || peer == NONE || state_of(p, peer) != S(CONNECTED))
		fails(p, "ep %d is still CONNECTED, and its peer is not", e);
}

/* ---- what may go wrong ---- */

/* Messages for e that were not reaped, and the longest of them */
static int under_way(struct prog *p, int e, int *longest)
{
	struct conn *c = conn_of(p, e);
	struct way *way;

	if (!c)
		return 0;
	way = &c->way[1 - life_of(p, e)->end];
	for (int n = way->got + 1; n <= way->sent; n++)
		if (way->length[n % (QUEUE * 2)] > *longest)
			*longest = way->length[n % (QUEUE * 2)];
	return way->sent - way->got;
}

static bool shares(const struct prog *p, int e, int other)
{
	return p->ep[other].handle && !p->ep[other].dead &&
	       (other == e || (p->ep[e].srq != NONE && p->ep[other].srq == p->ep[e].srq));
}

void model_starves(struct prog *p, int e)
{
	const struct ep *ep = &p->ep[e];
	int there = ep->srq == NONE ? ep->recv_count : p->srq[ep->srq].count.outstanding;
	int shortest = ep->srq == NONE ? ep->shortest : p->srq[ep->srq].shortest;
	int messages = 0, longest = 0;
	unsigned int causes = 0;

	for (int other = 0; other < EPS; other++)
		if (shares(p, e, other))
			messages += under_way(p, other, &longest);
	causes |= messages > there ? STARVED : 0;
	causes |= longest > shortest ? TOO_LONG : 0;
	for (int other = 0; causes && other < EPS; other++)
		if (shares(p, e, other) && conn_of(p, other))
			conn_of(p, other)->causes |= causes;
}
