/* SPDX-License-Identifier: BSD-3-Clause */
/* look.c - reading events, and comparing what shows with the model. */
#include <string.h>

#include "prog.h"

static const DAT_EVD_HANDLE none = DAT_HANDLE_NULL;

/* ---- events ---- */

/* The oldest Endpoint with that handle; a freed one keeps it until its events are read. */
static int ep_of_event(struct prog *p, DAT_EP_HANDLE handle)
{
	for (int e = 0; e < EPS; e++)
		if (handle && p->ep[e].handle == handle)
			return e;
	fails(p, "a connection event names an Endpoint that is not there");
}

static void on_connection(struct prog *p, int v, const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;
	int e = ep_of_event(p, data->ep_handle);
	const struct life *life = p->ep[e].life;
	uint32_t id;

	says(p, "    evd %d: connection event %#x of ep %d", v, (unsigned int)event->event_number,
	     e);
	if (p->ep[e].connect != v)
		fails(p, "ep %d: a connection event on evd %d", e, v);
	while (life->told == TOLD_OVER && life < life_of(p, e))
		life++;
	model_told(p, e, event->event_number);
	if (event->event_number != DAT_CONNECTION_EVENT_ESTABLISHED || life->end == 1) {
		if (data->private_data_size != 0)
			fails(p, "ep %d: private data from nowhere", e);
		return;
	}
	/* The pointer is good until the Endpoint is freed or UNCONNECTED again. */
	if (data->private_data_size != (DAT_COUNT)sizeof(id))
		fails(p, "ep %d: private data of %d bytes", e, data->private_data_size);
	if (p->ep[e].dead || life < life_of(p, e))
		return;
	memcpy(&id, data->private_data, sizeof(id));
	if (id != ~p->conn[life->conn].id)
		fails(p, "ep %d: another connection's private data", e);
}

static int conn_named(struct prog *p, uint32_t id)
{
	for (int n = 0; n < CONNS; n++)
		if (p->conn[n].used && p->conn[n].id == id)
			return n;
	fails(p, "a request of no connection");
}

/* The Endpoint that came with a request: of an RSP, or made for it. */
static int ep_of_request(struct prog *p, DAT_EP_HANDLE handle, int l)
{
	enum psp_kind kind = l == NONE ? PSP_CONSUMER : p->psp[l].kind;
	DAT_EP_STATE state;

	if (!handle || handle == none)
		return NONE;
	ok(p, "dat_ep_get_status", dat_ep_get_status(handle, &state, NULL, NULL));
	for (int e = 0; e < EPS; e++)
		if (p->ep[e].handle == handle) {
			if (state != DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
				fails(p, "ep %d got its request and is %s", e, state_name(state));
			model_shows(p, e, state);
			return e;
		}
	if (kind == PSP_RESERVED || state != DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
		fails(p, "a request brought an Endpoint that is %s", state_name(state));
	return ep_adopt(p, handle);
}

static int psp_named(const struct prog *p, DAT_HANDLE handle)
{
	for (int l = 0; l < PSPS; l++)
		if (handle && p->psp[l].handle == handle)
			return l;
	return NONE; /* freed since */
}

static void on_request(struct prog *p, int v, const DAT_CR_ARRIVAL_EVENT_DATA *data)
{
	struct request *request = NULL;
	DAT_CR_PARAM param;
	struct conn *c;
	uint32_t id;

	for (int r = 0; r < REQUESTS && !request; r++)
		if (!p->request[r].handle)
			request = &p->request[r];
	if (!request)
		fails(p, "the program lets too many requests wait");
	ok(p, "dat_cr_query", dat_cr_query(data->cr_handle, DAT_CR_FIELD_ALL, &param));
	if (param.private_data_size != (DAT_COUNT)sizeof(id))
		fails(p, "a request with %d bytes of private data", param.private_data_size);
	memcpy(&id, param.private_data, sizeof(id));
	request->handle = data->cr_handle;
	request->conn = conn_named(p, id);
	c = &p->conn[request->conn];
	request->side = c->to;
	request->ep =
		ep_of_request(p, param.local_ep_handle, psp_named(p, data->sp_handle.psp_handle));
	if (request->ep != NONE)
		p->ep[request->ep].side = c->to;
	if (data->conn_qual != c->qual || c->at_program || c->answer != UNANSWERED ||
	    p->evd[v].side != c->to)
		fails(p, "the request of connection %u came wrong", id);
	c->at_program = true;
	says(p, "    evd %d: request of connection %d", v, request->conn);
}

static void on_software(struct prog *p, int v, const DAT_EVENT *event)
{
	int n = (int)(uintptr_t)event->event_data.software_event_data.pointer;

	if (n != p->evd[v].se_seen + 1 || n > p->evd[v].se_posted)
		fails(p, "evd %d: software event %d after %d", v, n, p->evd[v].se_seen);
	p->evd[v].se_seen = n;
}

static void on_bind(struct prog *p, int v, const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto = { .user_cookie.as_64 = data->user_cookie.as_64,
					      .status = data->status };
	uint32_t d = (uint32_t)data->user_cookie.as_64;

	if (d >= DTOS || p->dto[d].rmr == NONE || p->rmr[p->dto[d].rmr].handle != data->rmr_handle)
		fails(p, "evd %d: a bind of another RMR completed", v);
	dto_done(p, v, &dto);
}

static void on_event(struct prog *p, int v, const DAT_EVENT *event)
{
	if (event->evd_handle != p->evd[v].handle)
		fails(p, "evd %d: an event names another", v);
	switch ((int)event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		dto_done(p, v, &event->event_data.dto_completion_event_data);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT:
		on_bind(p, v, &event->event_data.rmr_completion_event_data);
		break;
	case DAT_CONNECTION_REQUEST_EVENT:
		on_request(p, v, &event->event_data.cr_arrival_event_data);
		break;
	case DAT_SOFTWARE_EVENT:
		on_software(p, v, event);
		break;
	default:
		on_connection(p, v, event);
	}
}

bool reap(struct prog *p, int v)
{
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_dequeue(p->evd[v].handle, &event);

	if (ret == DAT_QUEUE_EMPTY)
		return false;
	ok(p, "dat_evd_dequeue", ret);
	on_event(p, v, &event);
	return true;
}

int queued(struct prog *p, int v)
{
	/* With unsignalled completions no other threshold is allowed (E1). */
	int threshold = p->evd[v].selective ? 1 : p->evd[v].qlen;
	DAT_COUNT more = NONE;
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_wait(p->evd[v].handle, 0, threshold, &event, &more);

	if (ret == DAT_SUCCESS) {
		on_event(p, v, &event);
		if (more < threshold - 1 || more > p->evd[v].qlen - 1)
			fails(p, "evd %d has %d events more", v, more);
	} else if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED || more < 0 || more >= threshold) {
		fails(p, "evd %d: %#x, and %d events are there", v, ret, more);
	}
	return more;
}

void reap_all(struct prog *p, int v)
{
	int there = queued(p, v), n = 0;

	while (reap(p, v))
		n++;
	if (n != there)
		fails(p, "evd %d had %d events, and %d came off it", v, there, n);
	p->evd[v].overflowed = false;
	for (int e = 0; e < EPS; e++) {
		if (!p->ep[e].handle || p->ep[e].connect != v)
			continue;
		model_told_all(p, e);
		if (p->ep[e].dead)
			p->ep[e].handle = none;
	}
}

static void on_overflow(struct prog *p, DAT_EVD_HANDLE handle)
{
	for (int v = 0; v < EVDS; v++) {
		if (!p->evd[v].handle || p->evd[v].handle != handle)
			continue;
		says(p, "    evd %d overflowed", v);
		if (p->evd[v].qlen == BIG)
			fails(p, "evd %d overflowed, which is long enough", v);
		p->count[N_OVERFLOWS]++;
		p->evd[v].overflowed = true;
	}
}

static void on_low(struct prog *p, DAT_SRQ_HANDLE handle)
{
	for (int q = 0; q < SRQS; q++) {
		if (!handle || p->srq[q].handle != handle)
			continue;
		if (!p->srq[q].count.lw_armed || p->srq[q].low_event)
			fails(p, "srq %d: low watermark event, and none is armed", q);
		p->srq[q].low_event = true;
	}
}

static void on_soft(struct prog *p, DAT_EP_HANDLE handle)
{
	for (int e = 0; e < EPS; e++) {
		if (!handle || p->ep[e].handle != handle || p->ep[e].dead)
			continue;
		if (!p->ep[e].count.soft_armed || p->ep[e].soft_event)
			fails(p, "ep %d: soft watermark event, and none is armed", e);
		p->ep[e].soft_event = true;
	}
}

static void on_async(struct prog *p, const DAT_EVENT *event)
{
	const DAT_ASYNCH_ERROR_EVENT_DATA *data = &event->event_data.asynch_error_event_data;

	p->count[N_WATERMARKS] += event->event_number != DAT_ASYNC_ERROR_EVD_OVERFLOW;
	switch ((int)event->event_number) {
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
		on_overflow(p, data->dat_handle);
		break;
	case DAT_ASYNC_SRQ_LOW_WATERMARK:
		on_low(p, data->dat_handle);
		break;
	case DAT_ASYNC_EP_SOFT_HIGH_WATERMARK:
		on_soft(p, data->dat_handle);
		break;
	default:
		fails(p, "an asynchronous event %#x", (unsigned int)event->event_number);
	}
}

static void read_async(struct prog *p)
{
	DAT_EVENT event;

	for (int s = 0; s < SIDES; s++)
		while (p->side[s].ia && dat_evd_dequeue(p->side[s].async, &event) == DAT_SUCCESS)
			on_async(p, &event);
}

/* While an EVD overflows, each EP that feeds it may break and miss completions (E9). */
static void spread_overflow(struct prog *p)
{
	for (int e = 0; e < EPS; e++) {
		struct ep *ep = &p->ep[e];

		if (!ep->handle || ep->dead || ep->recv == NONE ||
		    (!p->evd[ep->recv].overflowed && !p->evd[ep->request].overflowed))
			continue;
		ep->holey = true;
		if (conn_of(p, e))
			conn_of(p, e)->causes |= OVERFLOW;
	}
}

void wait_for(struct prog *p, int v, int threshold, DAT_TIMEOUT timeout)
{
	DAT_COUNT more = NONE;
	DAT_EVENT event;
	DAT_RETURN ret;

	says(p, "wait for %d on evd %d, %u us", threshold, v, timeout);
	ret = dat_evd_wait(p->evd[v].handle, timeout, threshold, &event, &more);
	if (threshold > 1 && p->evd[v].selective > 0) {
		refused(p, "dat_evd_wait", ret, DAT_INVALID_STATE);
		return;
	}
	read_async(p);
	spread_overflow(p);
	p->count[N_WAITS]++;
	if (ret == DAT_SUCCESS) {
		on_event(p, v, &event);
		if (more < threshold - 1)
			fails(p, "evd %d: %d are left of %d", v, more, threshold);
	} else if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED || more >= threshold) {
		fails(p, "evd %d: %#x with %d events, waiting for %d", v, ret, more, threshold);
	}
	/* What comes at this very moment may be more. */
	if (!p->evd[v].selective && queued(p, v) < more)
		fails(p, "evd %d does not have the %d events it told of", v, more);
}

/* ---- what shows ---- */

static DAT_EVD_HANDLE evd_handle(const struct prog *p, int v)
{
	return v == NONE ? none : p->evd[v].handle;
}

/* What it says of itself is what it was made of. */
static void ask_ep(struct prog *p, int e)
{
	const struct ep *ep = &p->ep[e];
	bool bare = state_of(p, e) == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
	DAT_EP_PARAM param;

	ok(p, "dat_ep_query", dat_ep_query(ep->handle, DAT_EP_FIELD_ALL, &param));
	if (param.ep_state != state_of(p, e) || param.ia_handle != p->side[ep->side].ia ||
	    param.recv_evd_handle != evd_handle(p, ep->recv) ||
	    param.request_evd_handle != evd_handle(p, ep->request) ||
	    param.connect_evd_handle != evd_handle(p, ep->connect) ||
	    param.srq_handle != (ep->srq == NONE ? none : p->srq[ep->srq].handle) ||
	    (!bare && param.pz_handle != p->side[ep->side].pz) ||
	    param.ep_attr.max_recv_dtos != ep->max || param.ep_attr.max_request_dtos != ep->max)
		fails(p, "ep %d says of itself what is not so", e);
	if (!param.remote_ia_address_ptr != (state_of(p, e) == DAT_EP_STATE_UNCONNECTED ||
					     state_of(p, e) == DAT_EP_STATE_RESERVED ||
					     state_of(p, e) == DAT_EP_STATE_DISCONNECTED))
		fails(p, "ep %d has a peer's address, or lacks it", e);
}

/* Messages sent to e and not reaped at the last look: an upper bound of the buffers it holds. */
static int most_unreaped(struct prog *p, int e)
{
	const struct conn *c = conn_of(p, e);

	return c ? c->way[1 - life_of(p, e)->end].sent - p->ep[e].got_before : 0;
}

/*
 * The soft high watermark is compared with the buffers taken and not reaped. No query shows their
 * number, but it has bounds: nbufs at least (on an SRQ), the messages sent to the Endpoint at most.
 */
static void judge_soft(struct prog *p, int e, int nbufs)
{
	struct ep *ep = &p->ep[e];
	struct conn *c = conn_of(p, e);

	ep->count.taken = ep->srq == NONE ? 0 : nbufs;
	if (ep->soft_event) {
		struct oracle_recv most = ep->count;

		most.taken = most_unreaped(p, e);
		if (c && !oracle_recv_soft_fires(&most))
			fails(p, "ep %d: soft watermark event at %d, of %d messages at most", e,
			      most.soft, most.taken);
		ep->count.soft_armed = false;
	} else if (oracle_recv_soft_fires(&ep->count)) {
		fails(p, "ep %d: %d buffers are above its soft watermark %d, and no event came", e,
		      nbufs, ep->count.soft);
	}
	ep->soft_event = false;
	ep->got_before = c ? c->way[1 - life_of(p, e)->end].got : 0;
}

static void look_at_ep(struct prog *p, int e)
{
	struct ep *ep = &p->ep[e];
	DAT_EP_STATE state;
	DAT_COUNT nbufs, span;

	ok(p, "dat_ep_get_status", dat_ep_get_status(ep->handle, &state, NULL, NULL));
	model_shows(p, e, state);
	ok(p, "dat_ep_recv_query", dat_ep_recv_query(ep->handle, &nbufs, &span));
	ask_ep(p, e);
	if (nbufs < 0 || span < nbufs || (ep->srq == NONE && nbufs > ep->recv_count))
		fails(p, "ep %d owns %d buffers over %d messages, %d are posted", e, nbufs, span,
		      ep->recv_count);
	judge_soft(p, e, nbufs);
}

static bool any_holey(const struct prog *p, int q)
{
	for (int e = 0; e < EPS; e++)
		if (p->ep[e].handle && p->ep[e].srq == q && p->ep[e].holey)
			return true;
	return false;
}

/*
 * The low watermark. Between two looks messages take buffers and the program posts others. The
 * count was lowest if all posts came last.
 */
static void judge_low(struct prog *p, int q)
{
	struct srq *srq = &p->srq[q];
	struct oracle_srq least = srq->count;

	least.available -= srq->fresh;
	if (srq->low_event) {
		if (!oracle_srq_fires(&least))
			fails(p, "srq %d: low watermark event at %d, and %d are available", q,
			      srq->count.lw, srq->count.available);
		srq->count.lw_armed = false;
	} else if (oracle_srq_fires(&srq->count)) {
		fails(p, "srq %d: %d available are below its low watermark %d, and no event came",
		      q, srq->count.available, srq->count.lw);
	}
	srq->low_event = false;
	srq->fresh = 0;
}

static void look_at_srq(struct prog *p, int q)
{
	struct srq *srq = &p->srq[q];
	struct oracle_srq *count = &srq->count;
	DAT_SRQ_PARAM param;

	ok(p, "dat_srq_query", dat_srq_query(srq->handle, DAT_SRQ_FIELD_ALL, &param));
	if (param.outstanding_dto_count < count->outstanding && any_holey(p, q))
		oracle_srq_throw_away(count, count->outstanding - param.outstanding_dto_count);
	/* Q4: a buffer that was taken never comes back. */
	if (param.max_recv_dtos != count->max ||
	    param.outstanding_dto_count != count->outstanding || param.available_dto_count < 0 ||
	    param.available_dto_count > count->available ||
	    param.available_dto_count > count->outstanding || param.low_watermark != count->lw)
		fails(p,
		      "srq %d: max %d, available %d, outstanding %d, low watermark %d; "
		      "expected %d, at most %d, %d, %d",
		      q, param.max_recv_dtos, param.available_dto_count,
		      param.outstanding_dto_count, param.low_watermark, count->max,
		      count->available, count->outstanding, count->lw);
	oracle_srq_take(count, count->available - param.available_dto_count);
	judge_low(p, q);
}

void look(struct prog *p)
{
	read_async(p);
	spread_overflow(p);
	for (int e = 0; e < EPS; e++)
		if (p->ep[e].handle && !p->ep[e].dead)
			look_at_ep(p, e);
	for (int q = 0; q < SRQS; q++)
		if (p->srq[q].handle)
			look_at_srq(p, q);
}

/* ---- the reckoning ---- */

static void rests_ep(struct prog *p, int e)
{
	struct ep *ep = &p->ep[e];
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_COUNT nbufs, span;
	int own = 0;

	model_rests(p, e);
	dto_all_done(p, e);
	own = ep->srq == NONE ? ep->recv_count : 0;
	ok(p, "dat_ep_recv_query", dat_ep_recv_query(ep->handle, &nbufs, &span));
	ok(p, "dat_ep_get_status", dat_ep_get_status(ep->handle, NULL, &recv_idle, &request_idle));
	if (nbufs != own || span != own)
		fails(p, "ep %d rests with %d buffers over %d messages, expected %d", e, nbufs,
		      span, own);
	if (!recv_idle != (own > 0) || !request_idle)
		fails(p, "ep %d rests, and says it is not idle, or is where it is not", e);
}

static void rests_srq(struct prog *p, int q)
{
	const struct oracle_srq *count = &p->srq[q].count;

	if (count->available != count->outstanding)
		fails(p, "srq %d rests with %d available, expected %d", q, count->available,
		      count->outstanding);
}

void reckon(struct prog *p)
{
	release_all(p);
	settle(p);
	look(p);
	for (int v = 0; v < EVDS; v++)
		if (p->evd[v].handle)
			reap_all(p, v);
	settle(p);
	look(p);
	for (int e = 0; e < EPS; e++)
		if (p->ep[e].handle && !p->ep[e].dead)
			rests_ep(p, e);
	for (int q = 0; q < SRQS; q++)
		if (p->srq[q].handle)
			rests_srq(p, q);
	for (int v = 0; v < EVDS; v++)
		if (p->evd[v].handle && p->evd[v].se_seen != p->evd[v].se_posted)
			fails(p, "evd %d: software events are missing", v);
	conns_forget(p);
	p->count[N_RECKONINGS]++;
}
