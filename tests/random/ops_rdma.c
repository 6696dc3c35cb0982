/* SPDX-License-Identifier: BSD-3-Clause */
/* ops_rdma.c - what a random program may do next: RDMA and RMRs. */
#include "prog.h"

static DAT_COMPLETION_FLAGS any_flags(struct prog *p, int e)
{
	static const DAT_COMPLETION_FLAGS flags[] = {
		DAT_COMPLETION_DEFAULT_FLAG,
		DAT_COMPLETION_BARRIER_FENCE_FLAG,
		DAT_COMPLETION_SUPPRESS_FLAG,
		DAT_COMPLETION_UNSIGNALLED_FLAG,
	};

	return flags[pick(p, p->ep[e].request_flags ? 4 : 3)];
}

static int any_length(struct prog *p)
{
	switch (pick(p, 6)) {
	case 0:
		return 0;
	case 1:
		return SLOT;
	case 2:
		return MTU * (1 + pick(p, 4));
	default:
		return 1 + pick(p, SLOT - 1);
	}
}

static int any_connected(struct prog *p)
{
	unsigned int states = STATE(CONNECTED) | (chance(p, 5) ? STATE(DISCONNECTED) : 0);
	int e = any_ep(p, states);

	return e == NONE || !can_request(p, e) ? NONE : e;
}

static bool op_write(struct prog *p)
{
	int e = any_connected(p), n = 1 + pick(p, 3);

	if (e == NONE)
		return false;
	for (says(p, "write"); n > 0 && can_request(p, e); n--)
		post_write(p, e, any_length(p), any_flags(p, e), true);
	return true;
}

static bool op_read(struct prog *p)
{
	int e = any_connected(p), n = 1 + pick(p, 3);

	if (e == NONE)
		return false;
	for (says(p, "read"); n > 0 && can_request(p, e); n--)
		post_read(p, e, any_length(p), any_flags(p, e), true);
	return true;
}

static bool op_bad_rdma(struct prog *p)
{
	int e = any_connected(p);

	if (e == NONE || !chance(p, 20))
		return false;
	says(p, "RDMA to where it may not go");
	if (chance(p, 50))
		post_write(p, e, 1 + pick(p, SLOT), any_flags(p, e), false);
	else
		post_read(p, e, 1 + pick(p, SLOT), any_flags(p, e), false);
	return true;
}

static int any_rmr(struct prog *p)
{
	int m = pick(p, RMRS);

	return p->rmr[m].handle && p->rmr[m].users == 0 ? m : NONE;
}

static bool op_bind(struct prog *p)
{
	int e = any_connected(p), m = any_rmr(p);

	if (e == NONE || m == NONE || p->rmr[m].side != p->ep[e].side)
		return false;
	says(p, "bind");
	post_bind(p, e, m, any_flags(p, e));
	return true;
}

static bool op_new_rmr(struct prog *p)
{
	int s = pick(p, SIDES), m;

	if (!p->side[s].ia)
		return false;
	m = new_rmr(p, s);
	says(p, "rmr %d on side %d", m, s);
	return m != NONE;
}

static bool op_free_rmr(struct prog *p)
{
	int m = any_rmr(p);

	if (m == NONE)
		return false;
	says(p, "free rmr %d", m);
	drop_rmr(p, m);
	return true;
}

const struct op rdma_ops[] = {
	{ "write", 14, op_write },
	{ "read", 14, op_read },
	{ "bad RDMA", 2, op_bad_rdma },
	{ "bind", 8, op_bind },
	{ "new rmr", 4, op_new_rmr },
	{ "free rmr", 1, op_free_rmr },
	{ 0 },
};
