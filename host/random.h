/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * random.h - the seeded generator, SplitMix64, for every part that draws from a seed: backends,
 * the fault layer, the tool and the tests.
 *
 * A generator is its state, any 64-bit number; each owner keeps its own, so that drawing from one
 * never moves another. The sequence is part of the product: traces, schedules and failing seeds
 * replay only as long as it stays as it is.
 */
#ifndef HOST_RANDOM_H
#define HOST_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif
