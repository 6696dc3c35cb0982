/* SPDX-License-Identifier: BSD-3-Clause */
/* ops_ep.c - the operations: watermarks and Receives of an Endpoint, time, links. */
#include <stddef.h>

#include "walk.h"

static bool has_receiver(struct walk *w, int p)
{
	return w->pair[p].b != NULL;
}

static int some_receiver(struct walk *w)
{
	int first = walk_pick(w, w->kind->pairs);

	for (int n = 0; n < w->kind->pairs; n++) {
		int p = (first + n) % w->kind->pairs;

		if (has_receiver(w, p))
			return p;
	}
	return -1;
}

/* ---- watermarks ---- */

/* Mostly near what is there now */
static int some_mark(struct walk *w, const struct model_conn *c)
{
	if (walk_chance(w, 30))
		return ORACLE_INFINITE;
	if (walk_chance(w, 5))
		return -2 - walk_pick(w, 3);
	if (walk_chance(w, 40))
		return oracle_recv_unreaped(&c->buf) + walk_pick(w, 3);
	return walk_pick(w, 12);
}

bool op_set_watermark(struct walk *w)
{
	int p = some_receiver(w), soft, hard;
	enum oracle_answer wanted;
	DAT_EP_PARAM param;

	if (p < 0)
		return false;
	soft = some_mark(w, &w->model.conn[p]);
	hard = some_mark(w, &w->model.conn[p]);
	walk_says(w, " %d soft=%d hard=%d", p, soft, hard);
	wanted = model_set_watermark(&w->model, p, soft, hard);
	walk_expect(w, "dat_ep_set_watermark", dat_ep_set_watermark(w->pair[p].b, soft, hard),
		    wanted);
	walk_ok(w, "dat_ep_query",
		dat_ep_query(w->pair[p].b, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param));
	if (param.ep_attr.srq_soft_hw != w->model.conn[p].buf.soft)
		walk_fails(w, "pair %d: srq_soft_hw is %d, expected %d (ruling H5)", p,
			   param.ep_attr.srq_soft_hw, w->model.conn[p].buf.soft);
	return true;
}

/* ---- Receives on an Endpoint's own queue ---- */

static bool post_to_ep(struct walk *w, int p)
{
	struct model_conn *c = &w->model.conn[p];
	DAT_LMR_TRIPLET iov[2];
	DAT_DTO_COOKIE cookie;
	enum oracle_answer wanted;
	DAT_RETURN ret;
	int b, segments;

	b = buffer_take(w, w->pair[p].plain ? p : -1, c->buf.posted, iov, &segments, &cookie);
	if (b < 0)
		return false;
	wanted = model_ep_post(&w->model, p);
	ret = dat_ep_post_recv(w->pair[p].b, segments, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	walk_expect(w, "dat_ep_post_recv", ret, wanted);
	if (wanted == ORACLE_EITHER && ret == DAT_SUCCESS) {
		c->buf.posted++;
		c->buf.completed += c->recv == MODEL_ENDED;
	}
	if (ret != DAT_SUCCESS)
		buffer_give_back(w, b);
	return ret == DAT_SUCCESS;
}

bool op_ep_post(struct walk *w)
{
	int p = some_receiver(w), count = 1 + walk_pick(w, walk_chance(w, 10) ? 30 : 6);

	if (p < 0)
		return false;
	walk_says(w, " %d: %d", p, count);
	while (count > 0 && post_to_ep(w, p))
		count--;
	return true;
}

/* ---- time ---- */

bool op_advance(struct walk *w)
{
	DAT_UINT64 ns = (DAT_UINT64)walk_pick(w, walk_chance(w, 50) ? 1500 : 15000);

	walk_says(w, " %u ns", (unsigned int)ns);
	world_advance(w, ns);
	return true;
}

bool op_steps(struct walk *w)
{
	int count = 1 + walk_pick(w, 20);

	walk_says(w, " %d", count);
	while (count-- > 0 && dat_sim_step(w->sim) == DAT_SUCCESS)
		;
	world_advance(w, 0);
	return true;
}

bool op_settle(struct walk *w)
{
	world_settle(w);
	return true;
}

/* ---- the wire ---- */

static bool hold(struct walk *w, enum model_link *link, const char *from, const char *to,
		 int packets)
{
	if (*link != MODEL_OPEN)
		return false;
	walk_says(w, " %d", packets);
	*link = packets ? MODEL_CLOSING : MODEL_CLOSED;
	walk_ok(w, "dat_sim_hold_link", dat_sim_hold_link(w->sim, from, to, packets));
	return true;
}

bool op_hold_forth(struct walk *w)
{
	return hold(w, &w->model.forth, "emu0", "emu1", 0);
}

bool op_hold_forth_later(struct walk *w)
{
	return hold(w, &w->model.forth, "emu0", "emu1", 1 + walk_pick(w, 20));
}

bool op_hold_back(struct walk *w)
{
	return hold(w, &w->model.back, "emu1", "emu0", walk_pick(w, 2) * walk_pick(w, 20));
}

bool op_release_links(struct walk *w)
{
	w->model.forth = w->model.back = MODEL_OPEN;
	walk_ok(w, "dat_sim_release_link", dat_sim_release_link(w->sim, "emu0", "emu1"));
	walk_ok(w, "dat_sim_release_link", dat_sim_release_link(w->sim, "emu1", "emu0"));
	w->time = MODEL_SOME;
	return true;
}

static int first_held(const struct model_conn *c)
{
	for (int n = 1; n <= c->sent; n++) {
		if (c->message[n % MODEL_MESSAGES].held != MODEL_NOT_HELD)
			return n;
	}
	return 0;
}

bool op_release_message(struct walk *w)
{
	int first = walk_pick(w, w->kind->pairs);

	for (int i = 0; i < w->kind->pairs; i++) {
		int p = (first + i) % w->kind->pairs, n = first_held(&w->model.conn[p]);

		if (n == 0 || !model_alive(w->model.conn[p].send))
			continue;
		walk_says(w, " %d: %d", p, n);
		model_release(&w->model, p, n);
		walk_ok(w, "dat_sim_release_message", dat_sim_release_message(w->pair[p].a, n));
		w->time = MODEL_SOME;
		return true;
	}
	return false;
}

bool op_set_link(struct walk *w)
{
	DAT_UINT64 latency = 100 + (DAT_UINT64)walk_pick(w, 4000);
	bool forth = walk_chance(w, 50);

	walk_says(w, " %s %u ns", forth ? "forth" : "back", (unsigned int)latency);
	/* On a link that became faster the news of an end may overtake acknowledgements. */
	if (!forth)
		world_settle(w);
	walk_ok(w, "dat_sim_set_link",
		dat_sim_set_link(w->sim, forth ? "emu0" : "emu1", forth ? "emu1" : "emu0", latency,
				 w->config.bandwidth_bps));
	return true;
}

/* Let asynchronous events pile up, so that their EVD overfills and they stay pending (ruling W2) */
bool op_lazy(struct walk *w)
{
	w->lazy = !w->lazy;
	return true;
}
