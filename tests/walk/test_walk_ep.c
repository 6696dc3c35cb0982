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
	{ "set watermark", 16, op_set_watermark, false },
	{ "post to EP", 16, op_ep_post, false },
	{ "srq post", 10, op_srq_post, false },
	{ "set lw", 1, op_set_lw, false },
	{ "resize", 1, op_resize, false },
	{ "renew", 1, op_new_srq, false },
	{ "send", 26, op_send, false },
	{ "send too long", 1, op_send_too_long, false },
	{ "send anywhere", 1, op_send_anywhere, false },
	{ "reap", 18, op_reap, false },
	{ "reap all", 1, op_reap_all, false },
	{ "create", 10, op_create, false },
	{ "connect", 14, op_connect, false },
	{ "disconnect", 3, op_disconnect, false },
	{ "reset", 8, op_reset, false },
	{ "free", 1, op_free, false },
	{ "hold forth", 1, op_hold_forth, true },
	{ "release links", 5, op_release_links, true },
	{ "release message", 8, op_release_message, true },
	{ "lazy", 2, op_lazy, false },
	{ NULL, 0, NULL, false },
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
