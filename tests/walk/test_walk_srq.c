/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_walk_srq.c - a random walk of many Endpoints on one Shared Receive Queue.
 *
 * Time goes by in pieces, so looks come while messages are half way.
 */
#include "walk.h"

static const struct walk_kind kind = {
	.program = "test_walk_srq",
	.ops = walk_srq_ops,
	.pairs = WALK_PAIRS,
	.plain = 0,
	.seeds = { 2, 3, 4, 5, 152, 7, 600, 9 },
	.steps = 4000,
};

int main(void)
{
	return walk_main(&kind);
}
