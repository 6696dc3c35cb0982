/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.c - the operations: queues, messages, Endpoints. Each tells the model, and what it expects.
 */
#include <stddef.h>

#include "walk.h"

/* A pair at random for which yes() holds; -1: there is none */
static int some_pair(struct walk *w, bool (*yes)(struct walk *w, int p))
{
	int first = walk_pick(w, w->kind->pairs);

	for (int n = 0; n < w->kind->pairs; n++) {
		int p = (first + n) % w->kind->pairs;

		if (yes(w, p))
			return p;
	}
	return -1;
}

/* ---- the SRQ ---- */

static bool post_to_srq(struct walk *w)
{
	DAT_LMR_TRIPLET iov[2];
	DAT_DTO_COOKIE cookie;
	enum oracle_answer wanted;
	int b, segments;

	b = buffer_take(w, -1, 0, iov, &segments, &cookie);
	if (b < 0)
		return false;
	wanted = model_srq_post(&w->model);
	walk_expect(w, "dat_srq_post_recv", dat_srq_post_recv(w->srq, segments, iov, cookie),
		    wanted);
	if (wanted != ORACLE_OK)
		buffer_give_back(w, b);
	return wanted == ORACLE_OK;
}

bool op_srq_post(struct walk *w)
{
	int count = 1 + walk_pick(w, walk_chance(w, 10) ? 60 : 8);

	walk_says(w, " %d", count);
	while (count > 0 && post_to_srq(w))
		count--;
	return true;
}

bool op_set_lw(struct walk *w)
{
	const struct model *m = &w->model;
	int lw = walk_chance(w, 10) ? walk_pick(w, m->srq.max + 6) - 3
				    : walk_pick(w, m->srq.max / 2 + 2);
	enum oracle_answer wanted;

	if (walk_chance(w, 10))
		lw = m->srq.available + walk_pick(w, 2); /* on the edge */
	walk_says(w, " %d", lw);
	wanted = model_set_lw(&w->model, lw);
	walk_expect(w, "dat_srq_set_lw", dat_srq_set_lw(w->srq, lw), wanted);
	return true;
}

bool op_resize(struct walk *w)
{
	const struct model *m = &w->model;
	int edges[] = {
		m->srq.outstanding, m->srq.outstanding - 1, m->srq.lw, m->srq.lw - 1, -1, 0
	};
	int max = 4 + walk_pick(w, 60);
	enum oracle_answer wanted;

	if (walk_chance(w, 40))
		max = edges[walk_pick(w, sizeof(edges) / sizeof(edges[0]))];
	else if (walk_chance(w, 5) && m->srq.limit < INT32_MAX)
		max = m->srq.limit + 1;
	walk_says(w, " %d", max);
	wanted = model_resize(&w->model, max);
	walk_expect(w, "dat_srq_resize", dat_srq_resize(w->srq, max), wanted);
	w->count[WALK_RESIZED] += wanted == ORACLE_OK;
	return true;
}

static bool uses_srq(struct walk *w, int p)
{
	return w->pair[p].b && !w->pair[p].plain;
}

bool op_srq_free_busy(struct walk *w)
{
	DAT_RETURN ret;

	if (some_pair(w, uses_srq) < 0)
		return false;
	ret = dat_srq_free(w->srq);
	walk_expect(w, "dat_srq_free", ret, ORACLE_BAD_STATE);
	if (DAT_GET_SUBTYPE(ret) != DAT_INVALID_STATE_SRQ_IN_USE)
		walk_fails(w, "dat_srq_free: subtype %#x", DAT_GET_SUBTYPE(ret));
	return true;
}

/*
 * Free all that uses the SRQ, then it, and make another; now it is known which buffers were lost.
 */
bool op_new_srq(struct walk *w)
{
	int max = 4 + walk_pick(w, 40), lw = walk_chance(w, 50) ? walk_pick(w, max + 1) : 0, out;

	walk_says(w, " new SRQ max=%d lw=%d", max, lw);
	for (int p = 0; p < w->kind->pairs; p++) {
		if (w->pair[p].b)
			pair_free_b(w, p);
		if (w->pair[p].a)
			pair_free_a(w, p);
	}
	look(w);
	look_async(w);
	out = w->model.srq.available + w->model.srq.lost;
	if (buffer_forget(w, -1) != out)
		walk_fails(w, "other than %d buffers of the SRQ never completed", out);
	walk_expect(w, "dat_srq_free", dat_srq_free(w->srq), model_srq_free(&w->model));
	world_new_srq(w, max, lw);
	return true;
}

/* ---- messages ---- */

static bool can_send(struct walk *w, int p)
{
	const struct model_conn *c = &w->model.conn[p];

	return w->pair[p].a && c->send == MODEL_CONNECTED && c->sent - c->done < WALK_REQUESTS &&
	       c->sent - c->buf.reaped < MODEL_MESSAGES / 2;
}

static int held_messages(const struct model_conn *c)
{
	int held = 0;

	for (int n = 1; n <= c->sent; n++)
		held += c->message[n % MODEL_MESSAGES].held != MODEL_NOT_HELD;
	return held;
}

bool op_send(struct walk *w)
{
	int p = some_pair(w, can_send), count = 1 + walk_pick(w, 4);

	if (p < 0)
		return false;
	walk_says(w, " %d:", p);
	while (count-- > 0 && can_send(w, p)) {
		unsigned int length = (unsigned int)walk_pick(w, (int)w->buffer_size + 1);
		int held = MODEL_NOT_HELD;

		if (walk_chance(w, 40))
			length = (unsigned int)walk_pick(w, 100);
		if (!w->kind->lossy && walk_chance(w, 8) && held_messages(&w->model.conn[p]) < 4)
			held = walk_pick(w, (int)world_packets(w, length));
		walk_says(w, held == MODEL_NOT_HELD ? " %u" : " %u/%d", length, held);
		pair_send(w, p, length, held, false);
	}
	return true;
}

bool op_send_too_long(struct walk *w)
{
	int p = some_pair(w, can_send);

	/* Later messages may overtake it; with a link held it is unknown how many. */
	if (p < 0 || (w->kind->exact && w->model.forth != MODEL_OPEN))
		return false;
	walk_says(w, " %d", p);
	pair_send(w, p, w->buffer_size + 1, MODEL_NOT_HELD, true);
	return true;
}

static bool has_sender(struct walk *w, int p)
{
	return w->pair[p].a && w->model.conn[p].send != MODEL_CONNECTED;
}

/* On an Endpoint that is not connected: refused, or flushed at once */
bool op_send_anywhere(struct walk *w)
{
	int p = some_pair(w, has_sender);

	if (p < 0)
		return false;
	walk_says(w, " %d", p);
	pair_send(w, p, 10, MODEL_NOT_HELD, false);
	return true;
}

static bool has_completions(struct walk *w, int p)
{
	return w->model.conn[p].buf.completed > w->model.conn[p].buf.reaped;
}

bool op_reap(struct walk *w)
{
	int p = some_pair(w, has_completions), count = 1 + walk_pick(w, 4);

	if (p < 0)
		return false;
	walk_says(w, " %d: %d", p, count);
	while (count-- > 0 && has_completions(w, p))
		pair_reap(w, p);
	return true;
}

bool op_reap_all(struct walk *w)
{
	for (int p = 0; p < w->kind->pairs; p++) {
		while (has_completions(w, p))
			pair_reap(w, p);
	}
	return true;
}

/* ---- Endpoints ---- */

/*
 * A sender that goes away abruptly may take along what it sent, or not. A walk that wants to know
 * exactly spares it while messages are held on the link.
 */
static bool spare_sender(const struct walk *w)
{
	return w->kind->exact && w->model.forth != MODEL_OPEN;
}

static bool is_incomplete(struct walk *w, int p)
{
	return !w->pair[p].a || !w->pair[p].b;
}

bool op_create(struct walk *w)
{
	int p = some_pair(w, is_incomplete);

	if (p < 0)
		return false;
	walk_says(w, " %d", p);
	pair_create(w, p);
	return true;
}

static bool can_connect(struct walk *w, int p)
{
	const struct model_conn *c = &w->model.conn[p];

	return c->send == MODEL_UNCONNECTED && c->recv == MODEL_UNCONNECTED;
}

bool op_connect(struct walk *w)
{
	int p = some_pair(w, can_connect);

	if (p < 0 || w->model.forth != MODEL_OPEN || w->model.back != MODEL_OPEN)
		return false;
	walk_says(w, " %d", p);
	pair_connect(w, p);
	return true;
}

static bool is_complete(struct walk *w, int p)
{
	return !is_incomplete(w, p);
}

bool op_disconnect(struct walk *w)
{
	int p = some_pair(w, is_complete);
	bool sender = walk_chance(w, 50) && !spare_sender(w), abrupt = walk_chance(w, 60);
	DAT_CLOSE_FLAGS flag = abrupt ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG;
	enum oracle_answer wanted;

	if (p < 0)
		return false;
	walk_says(w, " %d %c %s", p, sender ? 'a' : 'b', abrupt ? "abrupt" : "graceful");
	wanted = model_disconnect(&w->model, p, sender, abrupt);
	walk_expect(w, "dat_ep_disconnect",
		    dat_ep_disconnect(sender ? w->pair[p].a : w->pair[p].b, flag), wanted);
	return true;
}

static void reset_receiver(struct walk *w, int p)
{
	struct model_conn *c = &w->model.conn[p];
	bool ended = c->recv == MODEL_ENDED;
	int unreaped = oracle_recv_unreaped(&c->buf);
	enum oracle_answer wanted = model_recv_reset(&w->model, p);

	walk_expect(w, "dat_ep_reset", dat_ep_reset(w->pair[p].b), wanted);
	if (wanted != ORACLE_OK || !ended)
		return;
	w->count[WALK_THROWN_AWAY] += (unsigned long)unreaped;
	if (w->pair[p].plain)
		buffer_forget(w, p);
}

bool op_reset(struct walk *w)
{
	int p = some_pair(w, is_complete), which = walk_pick(w, 3);

	if (p < 0)
		return false;
	walk_says(w, " %d %d", p, which);
	if (which != 1)
		reset_receiver(w, p);
	if (which != 0)
		walk_expect(w, "dat_ep_reset", dat_ep_reset(w->pair[p].a),
			    model_send_reset(&w->model, p));
	return true;
}

static bool has_any(struct walk *w, int p)
{
	return w->pair[p].a || w->pair[p].b;
}

bool op_free(struct walk *w)
{
	int p = some_pair(w, has_any), which = walk_pick(w, 3);

	if (p < 0)
		return false;
	walk_says(w, " %d %d", p, which);
	if (spare_sender(w))
		which = 0;
	if (which != 1 && w->pair[p].b)
		pair_free_b(w, p);
	if (which != 0 && w->pair[p].a)
		pair_free_a(w, p);
	return true;
}
