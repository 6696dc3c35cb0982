/* SPDX-License-Identifier: BSD-3-Clause */
/* ops_world.c - what a random program may do next: queues, adapters, time and the wire. */
#include "prog.h"

#define STREAMS                                                                                 \
	(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG | \
	 DAT_EVD_SOFTWARE_FLAG)

/* ---- EVDs ---- */

static int any_made_evd(struct prog *p, int s, unsigned int streams)
{
	int found[EVDS], n = 0;

	for (int v = 0; v < EVDS; v++)
		if (p->evd[v].handle && (s == NONE || p->evd[v].side == s) &&
		    (p->evd[v].flags & streams) == streams)
			found[n++] = v;
	return n ? found[pick(p, n)] : NONE;
}

/*
 * An EVD with random streams. Only EVDs of completions are short: if a connection event were lost,
 * the program would not know the state of its EPs.
 */
static int some_evd(struct prog *p, int s, unsigned int streams)
{
	unsigned int flags = streams;
	int qlen = BIG;

	if (streams == DAT_EVD_CR_FLAG) {
		qlen = chance(p, 10) ? 1 + pick(p, 3) : BIG;
	} else if (chance(p, 25)) {
		flags |= STREAMS & ~(unsigned int)DAT_EVD_CR_FLAG;
	} else if (streams & DAT_EVD_DTO_FLAG && chance(p, 15)) {
		qlen = 4 + pick(p, 12);
		flags |= chance(p, 50) ? DAT_EVD_SOFTWARE_FLAG : 0u;
	}
	return new_evd(p, s, flags, qlen);
}

int any_evd(struct prog *p, int s, unsigned int streams)
{
	int v = any_made_evd(p, s, streams);

	if (v == NONE || chance(p, 25))
		v = some_evd(p, s, streams);
	return v;
}

static bool op_free_evd(struct prog *p)
{
	int v = any_made_evd(p, NONE, 0);

	if (v == NONE || p->evd[v].users > 0)
		return false;
	says(p, "free evd %d", v);
	drop_evd(p, v);
	return true;
}

static bool op_resize_evd(struct prog *p)
{
	int v = any_made_evd(p, NONE, 0), there, qlen;
	DAT_RETURN ret;

	if (v == NONE || p->evd[v].qlen == BIG)
		return false;
	there = queued(p, v);
	qlen = 1 + pick(p, 20);
	says(p, "resize evd %d to %d, %d there", v, qlen, there);
	ret = dat_evd_resize(p->evd[v].handle, qlen);
	if (qlen < there) {
		refused(p, "dat_evd_resize", ret, DAT_INVALID_STATE);
		return true;
	}
	ok(p, "dat_evd_resize", ret);
	p->evd[v].qlen = qlen;
	return true;
}

bool post_software_event(struct prog *p, int v)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	int there = queued(p, v);
	DAT_RETURN ret;

	event.event_data.software_event_data.pointer =
		(DAT_PVOID)(uintptr_t)(p->evd[v].se_posted + 1);
	ret = dat_evd_post_se(p->evd[v].handle, &event);
	if (there == p->evd[v].qlen) {
		refused(p, "dat_evd_post_se", ret, DAT_QUEUE_FULL);
		return false;
	}
	ok(p, "dat_evd_post_se", ret);
	p->evd[v].se_posted++;
	return true;
}

/* Until it is full, sometimes */
static bool op_post_se(struct prog *p)
{
	int v = any_made_evd(p, NONE, DAT_EVD_SOFTWARE_FLAG), n = 1 + pick(p, 3);

	if (v == NONE)
		return false;
	for (says(p, "%d software events on evd %d", n, v); n > 0; n--)
		post_software_event(p, v);
	return true;
}

static bool op_reap(struct prog *p)
{
	int v = any_made_evd(p, NONE, 0), n = 1 + pick(p, 4);

	if (v == NONE || queued(p, v) == 0)
		return false;
	for (says(p, "reap evd %d", v); n > 0 && reap(p, v); n--)
		;
	return true;
}

static bool op_reap_all(struct prog *p)
{
	int v = any_made_evd(p, NONE, 0);

	if (v == NONE || queued(p, v) == 0)
		return false;
	says(p, "reap all of evd %d", v);
	reap_all(p, v);
	return true;
}

static bool op_wait(struct prog *p)
{
	int v = any_made_evd(p, NONE, 0), most;

	if (v == NONE)
		return false;
	most = p->evd[v].qlen < 5 ? p->evd[v].qlen : 5;
	wait_for(p, v, 1 + pick(p, most), (DAT_TIMEOUT)pick(p, 20));
	return true;
}

/* ---- SRQs ---- */

static bool op_new_srq(struct prog *p)
{
	int s = pick(p, SIDES), q;

	if (!p->side[s].ia)
		return false;
	q = new_srq(p, s, 1 + pick(p, 31));
	says(p, "srq %d on side %d", q, s);
	return q != NONE;
}

static int any_srq(struct prog *p)
{
	int q = pick(p, SRQS);

	return p->srq[q].handle ? q : NONE;
}

static bool op_free_srq(struct prog *p)
{
	int q = any_srq(p);

	if (q == NONE || p->srq[q].users > 0)
		return false;
	says(p, "free srq %d", q);
	drop_srq(p, q);
	return true;
}

static bool op_resize_srq(struct prog *p)
{
	int q = any_srq(p), max = 1 + pick(p, 40);
	DAT_RETURN ret;

	if (q == NONE)
		return false;
	says(p, "resize srq %d to %d", q, max);
	ret = dat_srq_resize(p->srq[q].handle, max);
	if (oracle_srq_resize(&p->srq[q].count, max) == ORACLE_OK)
		ok(p, "dat_srq_resize", ret);
	else
		refused(p, "dat_srq_resize", ret, DAT_INVALID_STATE);
	return true;
}

static bool op_set_low(struct prog *p)
{
	int q = any_srq(p), low = pick(p, 8);
	DAT_RETURN ret;

	if (q == NONE)
		return false;
	says(p, "low watermark of srq %d: %d", q, low);
	ret = dat_srq_set_lw(p->srq[q].handle, low);
	if (oracle_srq_set_lw(&p->srq[q].count, low) == ORACLE_OK)
		ok(p, "dat_srq_set_lw", ret);
	else
		refused(p, "dat_srq_set_lw", ret, DAT_INVALID_PARAMETER);
	return true;
}

/* ---- time, the wire, adapters ---- */

static bool op_advance(struct prog *p)
{
	int ns = pick(p, 3000);

	says(p, "%d ns pass", ns);
	advance(p, (DAT_UINT64)ns);
	return true;
}

static bool op_step(struct prog *p)
{
	DAT_COUNT events = 0;

	ok(p, "dat_sim_pending", dat_sim_pending(p->sim, &events, NULL));
	if (events == 0)
		return false;
	says(p, "one event");
	ok(p, "dat_sim_step", dat_sim_step(p->sim));
	return true;
}

static bool op_settle(struct prog *p)
{
	says(p, "the network rests");
	settle(p);
	return true;
}

static bool op_hold_link(struct prog *p)
{
	int from = pick(p, SIDES), to = pick(p, SIDES), packets = pick(p, 6);

	if (!p->side[0].ia || !p->side[1].ia)
		return false;
	says(p, "hold the link from %d to %d after %d packets", from, to, packets);
	ok(p, "dat_sim_hold_link",
	   dat_sim_hold_link(p->sim, p->side[from].name, p->side[to].name, packets));
	return true;
}

static bool op_release(struct prog *p)
{
	says(p, "release all");
	release_all(p);
	return true;
}

static bool op_adapter(struct prog *p)
{
	int s = pick(p, SIDES);

	if (p->side[s].ia && !chance(p, 4))
		return false;
	if (p->side[s].ia) {
		says(p, "close side %d", s);
		release_all(p);
		side_close_abruptly(p, s);
	} else {
		says(p, "open side %d", s);
		side_open(p, s);
	}
	return true;
}

static bool op_refusals(struct prog *p)
{
	says(p, "refusals");
	refusals(p);
	return true;
}

static bool op_reckon(struct prog *p)
{
	says(p, "reckoning");
	reckon(p);
	return true;
}

const struct op world_ops[] = {
	{ "free evd", 1, op_free_evd },
	{ "resize evd", 3, op_resize_evd },
	{ "software event", 3, op_post_se },
	{ "reap", 20, op_reap },
	{ "reap all", 14, op_reap_all },
	{ "wait", 10, op_wait },
	{ "new srq", 3, op_new_srq },
	{ "free srq", 1, op_free_srq },
	{ "resize srq", 2, op_resize_srq },
	{ "low watermark", 3, op_set_low },
	{ "advance", 24, op_advance },
	{ "step", 8, op_step },
	{ "settle", 10, op_settle },
	{ "hold link", 2, op_hold_link },
	{ "release", 5, op_release },
	{ "adapter", 6, op_adapter },
	{ "refusals", 4, op_refusals },
	{ "reckoning", 3, op_reckon },
	{ 0 },
};
