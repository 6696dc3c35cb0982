/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_walk_ep.c - a random walk of high watermarks and dat_ep_recv_query, on Endpoints with and
 * without an SRQ.
 *
 * The network settles after each step, so every count has one right value. Messages half way are
 * ones that are held.
 */
#include "walk.h"

/* clang-format off */
static const struct walk_op ops[] = {
	{ "set watermark", 16, op_set_watermark },
	{ "post to EP", 16, op_ep_post },
	{ "srq post", 10, op_srq_post },
	{ "set lw", 1, op_set_lw },
	{ "resize", 1, op_resize },
	{ "renew", 1, op_new_srq },
	{ "send", 26, op_send },
	{ "send too long", 1, op_send_too_long },
	{ "send anywhere", 1, op_send_anywhere },
	{ "reap", 18, op_reap },
	{ "reap all", 1, op_reap_all },
	{ "create", 10, op_create },
	{ "connect", 14, op_connect },
	{ "disconnect", 3, op_disconnect },
	{ "reset", 8, op_reset },
	{ "free", 1, op_free },
	{ "hold forth", 1, op_hold_forth },
	{ "release links", 5, op_release_links },
	{ "release message", 8, op_release_message },
	{ "lazy", 2, op_lazy },
	{ NULL, 0, NULL },
};
/* clang-format on */

static const struct walk_kind kind = {
	.program = "test_walk_ep",
	.ops = ops,
	.pairs = 8,
	.plain = 4,
	.exact = true,
	.watermarks = true,
	.seeds = { 2, 3, 4, 5, 6, 7, 8, 9 },
	.steps = 3000,
};

int main(void)
{
	return walk_main(&kind);
}
