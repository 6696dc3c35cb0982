/* SPDX-License-Identifier: BSD-3-Clause */
/* look.c - query every count, state and event, and compare them with the model. */
#include <stddef.h>

#include "walk.h"

/* ---- events ---- */

static void look_sends(struct walk *w)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	while ((ret = dat_evd_dequeue(w->request_evd, &event)) == DAT_SUCCESS)
		pair_send_done(w, &event);
	if (ret != DAT_QUEUE_EMPTY)
		walk_ok(w, "dat_evd_dequeue", ret);
}

static int pair_of(struct walk *w, DAT_EP_HANDLE ep, bool *sender)
{
	for (int p = 0; p < w->kind->pairs; p++) {
		*sender = ep == w->pair[p].a;
		if (*sender || ep == w->pair[p].b)
			return p;
	}
	return -1;
}

static void connection_event(struct walk *w, const DAT_EVENT *event)
{
	bool sender, broken = event->event_number == DAT_CONNECTION_EVENT_BROKEN;
	int p = pair_of(w, event->event_data.connect_event_data.ep_handle, &sender);
	struct pair *pair = &w->pair[p];

	if (p < 0)
		walk_fails(w, "connection event %#x of an EP that is gone", event->event_number);
	if (event->event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		*(sender ? &pair->a_up : &pair->b_up) = true;
		return;
	}
	if (!broken && event->event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
		walk_fails(w, "pair %d: connection event %#x", p, event->event_number);
	if (sender ? pair->seen.send_ended : pair->seen.recv_ended)
		walk_fails(w, "pair %d: the %s ended twice", p, sender ? "sender" : "receiver");
	if (sender) {
		pair->seen.send_ended = true;
		pair->seen.send_broken = broken;
	} else {
		pair->seen.recv_ended = true;
		pair->seen.recv_broken = broken;
	}
}

void look_connections(struct walk *w)
{
	DAT_EVD_HANDLE evds[] = { w->conn_a, w->conn_b };
	DAT_EVENT event;
	DAT_RETURN ret;

	for (int n = 0; n < 2; n++) {
		while ((ret = dat_evd_dequeue(evds[n], &event)) == DAT_SUCCESS)
			connection_event(w, &event);
		if (ret != DAT_QUEUE_EMPTY)
			walk_ok(w, "dat_evd_dequeue", ret);
	}
}

/* Rulings W1, W2: number, object and reason */
static void async_event(struct walk *w, const DAT_EVENT *event, int *low, int *soft)
{
	const DAT_ASYNCH_ERROR_EVENT_DATA *data = &event->event_data.asynch_error_event_data;
	bool sender;
	int p;

	switch ((int)event->event_number) {
	case DAT_ASYNC_SRQ_LOW_WATERMARK:
		if (data->dat_handle != w->srq || data->reason != DAT_SRQ_LOW_WATERMARK_EVENT)
			walk_fails(w, "low watermark event of another object, or reason");
		(*low)++;
		break;
	case DAT_ASYNC_EP_SOFT_HIGH_WATERMARK:
		p = pair_of(w, data->dat_handle, &sender);
		if (p < 0 || sender || data->reason != DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT)
			walk_fails(w, "soft high watermark event of another object, or reason");
		soft[p]++;
		break;
	default:
		walk_fails(w, "asynchronous event %#x", event->event_number);
	}
}

void look_async(struct walk *w)
{
	int low = 0, soft[MODEL_CONNS] = { 0 };
	DAT_EVENT event;
	DAT_RETURN ret;

	while ((ret = dat_evd_dequeue(w->async_b, &event)) == DAT_SUCCESS)
		async_event(w, &event, &low, soft);
	if (ret != DAT_QUEUE_EMPTY)
		walk_ok(w, "dat_evd_dequeue", ret);
	if (!model_async_emptied(&w->model, low, soft))
		walk_fails(w, "%s", w->model.error);
	w->count[WALK_LOW_EVENTS] += (unsigned long)low;
	for (int p = 0; p < w->kind->pairs; p++)
		w->count[WALK_SOFT_EVENTS] += (unsigned long)soft[p];
}

static void expect_empty(struct walk *w, DAT_EVD_HANDLE evd, const char *name)
{
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_dequeue(evd, &event);

	if (ret != DAT_QUEUE_EMPTY)
		walk_fails(w, "the %s EVD is not empty (%#x, event %#x)", name, ret,
			   ret == DAT_SUCCESS ? event.event_number : 0);
}

/* ---- counts ---- */

/* The number of queued events: a wait for more than can be there times out and reaps none. */
static int queued(struct walk *w, DAT_EVD_HANDLE evd)
{
	DAT_COUNT count = -1;
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_wait(evd, 0, w->recv_qlen, &event, &count);

	if (DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
		walk_fails(w, "dat_evd_wait returned %#x, expected TIMEOUT_EXPIRED", ret);
	return count;
}

static void look_pair(struct walk *w, int p)
{
	struct pair *pair = &w->pair[p];
	struct model_seen *seen = &pair->seen;
	DAT_COUNT *nbufs = &seen->nbufs, *span = &seen->span;

	seen->nbufs = seen->span = 0;
	if (pair->b)
		walk_ok(w, "dat_ep_recv_query", dat_ep_recv_query(pair->b, nbufs, span));
	seen->queued = queued(w, pair->recv_evd);
	w->count[WALK_HALF_WAY] += !pair->plain && seen->nbufs > 0;
	w->count[WALK_OVERTAKEN] += seen->span > seen->nbufs;
}

static void count_ends(struct walk *w, int p)
{
	const struct model_seen *seen = &w->pair[p].seen;
	unsigned int causes = w->model.conn[p].causes;

	w->count[WALK_ENDED] += seen->recv_ended;
	if (!seen->recv_ended || !seen->recv_broken)
		return;
	w->count[WALK_HARD_BREAKS] += causes == MODEL_HARD;
	w->count[WALK_STARVED_BREAKS] += causes == MODEL_STARVED;
	w->count[WALK_LONG_BREAKS] += causes == MODEL_LONG;
}

static void look_srq(struct walk *w)
{
	const struct model *m = &w->model;
	DAT_SRQ_PARAM is;

	walk_ok(w, "dat_srq_query", dat_srq_query(w->srq, DAT_SRQ_FIELD_ALL, &is));
	if (is.max_recv_dtos != m->srq.max || is.available_dto_count != m->srq.available ||
	    is.outstanding_dto_count != m->srq.outstanding || is.low_watermark != m->srq.lw)
		walk_fails(w,
			   "SRQ is {max=%d, available=%d, outstanding=%d, low_watermark=%d}, "
			   "expected {%d, %d, %d, %d}",
			   is.max_recv_dtos, is.available_dto_count, is.outstanding_dto_count,
			   is.low_watermark, m->srq.max, m->srq.available, m->srq.outstanding,
			   m->srq.lw);
	if (is.srq_state != DAT_SRQ_STATE_OPERATIONAL || is.ia_handle != w->b ||
	    is.pz_handle != w->pz_b || is.max_recv_iov != 2)
		walk_fails(w, "SRQ state, IA, PZ or max_recv_iov changed");
	if (buffer_count(w, -1) != m->srq.outstanding + m->srq.lost)
		walk_fails(w,
			   "%d SRQ buffers did not complete, expected %d outstanding and %d lost",
			   buffer_count(w, -1), m->srq.outstanding, m->srq.lost);
}

static void look_state(struct walk *w, DAT_EP_HANDLE ep, enum model_state wanted, const char *what)
{
	static const DAT_EP_STATE states[] = {
		[MODEL_UNCONNECTED] = DAT_EP_STATE_UNCONNECTED,
		[MODEL_CONNECTED] = DAT_EP_STATE_CONNECTED,
		[MODEL_PENDING] = DAT_EP_STATE_DISCONNECT_PENDING,
		[MODEL_ENDED] = DAT_EP_STATE_DISCONNECTED,
	};
	DAT_EP_STATE state;

	if (!ep)
		return;
	walk_ok(w, "dat_ep_get_status", dat_ep_get_status(ep, &state, NULL, NULL));
	if (state != states[wanted])
		walk_fails(w, "the %s is in state %d, expected %d", what, state, states[wanted]);
}

static void look_states(struct walk *w)
{
	for (int p = 0; p < w->kind->pairs; p++) {
		struct model_conn *c = &w->model.conn[p];

		look_state(w, w->pair[p].a, c->send, "sender");
		look_state(w, w->pair[p].b, c->recv, "receiver");
		if (w->pair[p].plain && buffer_count(w, p) != c->buf.posted - c->buf.reaped)
			walk_fails(w, "pair %d: %d Receives did not complete, expected %d", p,
				   buffer_count(w, p), c->buf.posted - c->buf.reaped);
	}
}

void look(struct walk *w)
{
	struct model_seen seen[MODEL_CONNS] = { 0 };

	look_sends(w);
	look_connections(w);
	for (int p = 0; p < w->kind->pairs; p++) {
		look_pair(w, p);
		seen[p] = w->pair[p].seen;
	}
	if (!model_look(&w->model, seen, w->time))
		walk_fails(w, "%s", w->model.error);
	if (w->time == MODEL_SETTLED && w->model.forth == MODEL_OPEN &&
	    w->model.back == MODEL_OPEN && w->busy != model_retries(&w->model))
		walk_fails(w, "the network is %s",
			   w->busy ? "busy without a reason" : "quiet too soon");
	for (int p = 0; p < w->kind->pairs; p++) {
		count_ends(w, p);
		w->pair[p].seen = (struct model_seen){ 0 };
	}
	w->time = MODEL_STILL;
	if (!w->lazy || walk_chance(w, 4))
		look_async(w);
	expect_empty(w, w->async_a, "sender's asynchronous");
	expect_empty(w, w->cr_evd, "connection request");
	look_srq(w);
	look_states(w);
}
