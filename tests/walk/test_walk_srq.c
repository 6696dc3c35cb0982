/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_walk_srq.c - a random walk of many Endpoints on one Shared Receive Queue.
 *
 * Time goes by in pieces, so looks come while messages are half way.
 */
#include "walk.h"

/* clang-format off */
static const struct walk_op ops[] = {
	{ "srq post", 14, op_srq_post },
	{ "set lw", 8, op_set_lw },
	{ "resize", 6, op_resize },
	{ "srq free", 1, op_srq_free_busy },
	{ "renew", 1, op_new_srq },
	{ "send", 24, op_send },
	{ "send too long", 1, op_send_too_long },
	{ "send anywhere", 1, op_send_anywhere },
	{ "reap", 18, op_reap },
	{ "reap all", 2, op_reap_all },
	{ "create", 10, op_create },
	{ "connect", 12, op_connect },
	{ "disconnect", 4, op_disconnect },
	{ "reset", 5, op_reset },
	{ "free", 1, op_free },
	{ "set watermark", 1, op_set_watermark },
	{ "post to EP", 1, op_ep_post },
	{ "advance", 12, op_advance },
	{ "steps", 6, op_steps },
	{ "settle", 12, op_settle },
	{ "hold forth", 1, op_hold_forth },
	{ "hold forth later", 1, op_hold_forth_later },
	{ "hold back", 1, op_hold_back },
	{ "release links", 4, op_release_links },
	{ "release message", 6, op_release_message },
	{ "set link", 1, op_set_link },
	{ "lazy", 2, op_lazy },
	{ NULL, 0, NULL },
};
/* clang-format on */

static const struct walk_kind kind = {
	.program = "test_walk_srq",
	.ops = ops,
	.pairs = WALK_PAIRS,
	.plain = 0,
	.seeds = { 2, 3, 4, 5, 152, 7, 600, 9 },
	.steps = 4000,
};

int main(void)
{
	return walk_main(&kind);
}
