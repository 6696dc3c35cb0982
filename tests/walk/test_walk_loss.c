/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_walk_loss.c - the walk of test_walk_srq.c where packets are lost, late, doubled and out of order,
 * beside the same model: counts, watermarks and completions do not know of it. Profile ib, for on iwarp
 * a message whose packet is late lets the next one take its buffer, and the model would have to be told.
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
	{ "lazy", 2, op_lazy },
	{ NULL, 0, NULL },
};
/* clang-format on */

static const struct walk_kind kind = {
	.program = "test_walk_loss",
	.ops = ops,
	.pairs = WALK_PAIRS,
	.plain = 0,
	.lossy = true,
	.seeds = { 2, 4, 6, 8, 10, 12, 14, 16 },
	.steps = 3000,
};

int main(void)
{
	return walk_main(&kind);
}
