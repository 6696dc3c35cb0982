/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_walk_loss.c - the walk of test_walk_srq.c where packets are lost, late, doubled and out of
 * order, beside the same model: counts, watermarks and completions do not know of it. Profile ib,
 * for on iwarp a message whose packet is late lets the next one take its buffer, and the model
 * would have to be told.
 */
#include "walk.h"

static const struct walk_kind kind = {
	.program = "test_walk_loss",
	.ops = walk_srq_ops,
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
