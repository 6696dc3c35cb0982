/* SPDX-License-Identifier: BSD-3-Clause */
/* pair.c - a pair of Endpoints: a on emu0 sends, b on emu1 receives. */
#include <stddef.h>

#include "walk.h"
#include "tests/support/asserts.h"

#define PORT       4711
#define COOKIE_TAG UINT64_C(0x5e)

static DAT_EP_ATTR attributes(int recvs, int requests, int soft)
{
	return (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = recvs,
		.max_request_dtos = requests,
		.max_recv_iov = 2,
		.max_request_iov = 2,
		.srq_soft_hw = soft,
	};
}

static void create_a(struct walk *w, int p)
{
	DAT_EP_ATTR attr = attributes(1, WALK_REQUESTS, DAT_HW_DEFAULT);

	walk_ok(w, "dat_ep_create",
		dat_ep_create(w->a, w->pz_a, DAT_HANDLE_NULL, w->request_evd, w->conn_a, &attr,
			      &w->pair[p].a));
	model_send_create(&w->model, p);
}

static void create_b(struct walk *w, int p)
{
	struct pair *pair = &w->pair[p];
	int soft = w->kind->watermarks && walk_chance(w, 50) ? walk_pick(w, 6) : DAT_HW_DEFAULT;
	DAT_EP_ATTR attr = attributes(WALK_RECEIVES, 1, soft);

	if (pair->plain)
		walk_ok(w, "dat_ep_create",
			dat_ep_create(w->b, w->pz_b, pair->recv_evd, DAT_HANDLE_NULL, w->conn_b,
				      &attr, &pair->b));
	else
		walk_ok(w, "dat_ep_create_with_srq",
			dat_ep_create_with_srq(w->b, w->pz_b, pair->recv_evd, DAT_HANDLE_NULL,
					       w->conn_b, w->srq, &attr, &pair->b));
	model_recv_create(&w->model, p, pair->plain, WALK_RECEIVES, soft);
}

/* Whichever end is not there */
void pair_create(struct walk *w, int p)
{
	if (!w->pair[p].a)
		create_a(w, p);
	if (!w->pair[p].b)
		create_b(w, p);
}

static DAT_CR_HANDLE await_request(struct walk *w)
{
	DAT_EVENT event;
	DAT_RETURN ret;

	for (int tries = 0; tries < 1000; tries++) {
		world_advance(w, 5000);
		ret = dat_evd_dequeue(w->cr_evd, &event);
		if (ret != DAT_QUEUE_EMPTY) {
			walk_ok(w, "dat_evd_dequeue", ret);
			ck_assert_int_eq(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
			return event.event_data.cr_arrival_event_data.cr_handle;
		}
	}
	walk_fails(w, "no connection request came");
}

/* Both ways are open and both ends UNCONNECTED. Other connections go on meanwhile. */
void pair_connect(struct walk *w, int p)
{
	struct pair *pair = &w->pair[p];
	DAT_CR_HANDLE cr;

	walk_ok(w, "dat_ep_connect",
		dat_ep_connect(pair->a, w->address, PORT, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG));
	cr = await_request(w);
	walk_ok(w, "dat_cr_accept", dat_cr_accept(cr, pair->b, 0, NULL));
	pair->a_up = pair->b_up = false;
	for (int tries = 0; !(pair->a_up && pair->b_up); tries++) {
		if (tries == 1000)
			walk_fails(w, "pair %d is not established", p);
		world_advance(w, 5000);
		look_connections(w);
	}
	pair->id = ++w->connections;
	pair->ran_short = false;
	model_connected(&w->model, p);
	w->count[WALK_CONNECTED]++;
}

void pair_free_a(struct walk *w, int p)
{
	struct pair *pair = &w->pair[p];
	struct model_conn *c = &w->model.conn[p];

	walk_ok(w, "dat_ep_free", dat_ep_free(pair->a));
	pair->a = NULL;
	if (c->send != MODEL_UNCONNECTED) {
		for (int n = c->done + 1; n <= c->sent; n++)
			slot_spoil(w, p, n);
	}
	model_send_free(&w->model, p);
}

void pair_free_b(struct walk *w, int p)
{
	struct pair *pair = &w->pair[p];

	w->count[WALK_THROWN_AWAY] += (unsigned long)oracle_recv_unreaped(&w->model.conn[p].buf);
	look_async(w);
	walk_ok(w, "dat_ep_free", dat_ep_free(pair->b));
	pair->b = NULL;
	if (pair->plain)
		buffer_forget(w, p);
	model_recv_free(&w->model, p);
}

/* ---- sending ---- */

static DAT_DTO_COOKIE send_cookie(int p, bool late, int n)
{
	return (DAT_DTO_COOKIE){ .as_64 = COOKIE_TAG << 56 | (uint64_t)p << 40 |
					  (uint64_t)late << 32 | (unsigned int)n };
}

void pair_send(struct walk *w, int p, unsigned int length, int held, bool too_long)
{
	struct pair *pair = &w->pair[p];
	struct model_conn *c = &w->model.conn[p];
	bool late = c->send == MODEL_ENDED;
	int n = late ? c->late + 1 : c->sent + 1;
	DAT_LMR_TRIPLET iov[2];
	enum oracle_answer wanted;
	int segments;

	if (held != MODEL_NOT_HELD)
		walk_ok(w, "dat_sim_hold_message", dat_sim_hold_message(pair->a, n, held));
	slot_fill(w, p, n, length, iov, &segments);
	wanted = model_send(&w->model, p, (int)length, (int)world_packets(w, length), held,
			    too_long);
	walk_expect(w, "dat_ep_post_send",
		    dat_ep_post_send(pair->a, segments, segments ? iov : NULL,
				     send_cookie(p, late, n), DAT_COMPLETION_DEFAULT_FLAG),
		    wanted);
	w->count[WALK_SENT] += wanted == ORACLE_OK && !late;
	pair->ran_short |= pair->plain && n > c->buf.posted;
}

/* ---- reaping ---- */

static enum model_status status_of(DAT_DTO_COMPLETION_STATUS status)
{
	switch (status) {
	case DAT_DTO_SUCCESS:
		return MODEL_SUCCESS;
	case DAT_DTO_ERR_FLUSHED:
		return MODEL_FLUSHED;
	case DAT_DTO_ERR_LOCAL_LENGTH:
		return MODEL_TOO_LONG;
	case DAT_DTO_ERR_RECEIVER_NOT_READY:
		return MODEL_NOT_READY;
	case DAT_DTO_ERR_REMOTE_RESPONDER:
		return MODEL_RESPONDER;
	default:
		return MODEL_OTHER;
	}
}

/* Which message is in the buffer? The next one, or behind a gap that an end left a later one. */
static int identify(struct walk *w, int p, int b, DAT_VLEN length)
{
	struct model_conn *c = &w->model.conn[p];
	int n = c->good + 1;

	if (model_alive(c->recv) || w->model.in_order) {
		if ((DAT_VLEN)model_message(c, n)->length != length || !buffer_holds(w, b, p, n))
			walk_fails(w, "pair %d: buffer %d (%llu bytes) does not hold message %d", p,
				   b, (unsigned long long)length, n);
		return n;
	}
	for (n = 1; n <= c->sent; n++) {
		if (!model_message(c, n)->reaped &&
		    (DAT_VLEN)model_message(c, n)->length == length && buffer_holds(w, b, p, n))
			return n;
	}
	walk_fails(w, "pair %d: buffer %d (%llu bytes) holds no message that was sent", p, b,
		   (unsigned long long)length);
}

static void reap_event(struct walk *w, int p, DAT_EVENT *event)
{
	DAT_RETURN ret;
	DAT_COUNT more;

	if (walk_chance(w, 30))
		ret = dat_evd_wait(w->pair[p].recv_evd, 0, 1, event, &more);
	else
		ret = dat_evd_dequeue(w->pair[p].recv_evd, event);
	walk_ok(w, "reaping", ret);
	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		walk_fails(w, "pair %d: event %#x on its recv EVD", p, event->event_number);
	if (event->evd_handle != w->pair[p].recv_evd ||
	    event->event_data.dto_completion_event_data.ep_handle != w->pair[p].b)
		walk_fails(w, "pair %d: a completion of another EP or EVD", p);
}

/*
 * Plain Endpoints use their Receives in the order in which they were posted; where messages
 * overtake, each leaves those ahead of it theirs. Whatever was taken completes before what was not.
 */
static void check_order(struct walk *w, int p, int b, enum model_status status)
{
	const struct model_conn *c = &w->model.conn[p];
	const struct buffer *buffer = &w->buffer[b];
	bool plain = w->pair[p].plain;

	if (buffer->plain != (plain ? p : -1))
		walk_fails(w, "pair %d: buffer %d was not posted for it", p, b);
	if (!plain)
		return;
	if (w->model.in_order && buffer->order != c->buf.reaped)
		walk_fails(w, "pair %d: Receive %d completed, expected %d", p, buffer->order,
			   c->buf.reaped);
	if (status == MODEL_SUCCESS && c->buf.reaped >= c->buf.taken)
		walk_fails(
			w,
			"pair %d: Receive %d succeeded, the %dth to complete, only %d were taken",
			p, buffer->order, c->buf.reaped + 1, c->buf.taken);
}

/* Message n has the nth Receive, wherever that was there when the message was sent. */
static void check_own(struct walk *w, int p, int b, int n)
{
	if (w->pair[p].plain && !w->pair[p].ran_short && w->buffer[b].order != n - 1)
		walk_fails(w, "pair %d: message %d is in Receive %d", p, n, w->buffer[b].order);
}

void pair_reap(struct walk *w, int p)
{
	struct model_conn *c = &w->model.conn[p];
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	enum model_status status;
	DAT_EVENT event;
	bool taken;
	int b, n = 0;

	reap_event(w, p, &event);
	dto = &event.event_data.dto_completion_event_data;
	status = status_of(dto->status);
	b = buffer_of(w, dto->user_cookie);
	buffer_check_guard(w, b);
	check_order(w, p, b, status);
	taken = !w->pair[p].plain || c->buf.reaped < c->buf.taken;
	if (status == MODEL_SUCCESS) {
		n = identify(w, p, b, dto->transfered_length);
		check_own(w, p, b, n);
		w->count[WALK_RECEIVED]++;
		w->count[WALK_BYTES] += dto->transfered_length;
	}
	w->count[WALK_FLUSHED] += status == MODEL_FLUSHED;
	buffer_give_back(w, b);
	if (!model_reap(&w->model, p, status, taken, n))
		walk_fails(w, "%s", w->model.error);
}

/* A Send completion came. */
void pair_send_done(struct walk *w, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	uint64_t cookie = dto->user_cookie.as_64;
	int p = (int)(cookie >> 40 & 0xff), n = (int)(cookie & 0xffffffff);
	bool late = cookie >> 32 & 1;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT || cookie >> 56 != COOKIE_TAG ||
	    p >= w->kind->pairs)
		walk_fails(w, "event %#x, cookie %#llx on the request EVD", event->event_number,
			   (unsigned long long)cookie);
	if (dto->ep_handle != w->pair[p].a)
		walk_fails(w, "pair %d: a Send completed for an EP that is gone", p);
	if (!late)
		slot_spoil(w, p, n);
	if (!model_send_done(&w->model, p, late, n, status_of(dto->status)))
		walk_fails(w, "%s", w->model.error);
}
