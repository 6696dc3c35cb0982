/* SPDX-License-Identifier: BSD-3-Clause */
#include <check.h>

#include "choice.h"

/* splitmix64 */
static uint64_t next_random(struct choice *c)
{
	uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Seeds that follow each other must not give the same numbers, one place on. */
void choice_by_seed(struct choice *c, uint64_t seed)
{
	*c = (struct choice){ .state = seed };
	c->state = next_random(c);
}

void choice_by_odometer(struct choice *c)
{
	*c = (struct choice){ .odometer = true };
}

static int turn(struct choice *c, int n)
{
	int wheel = c->asked++;

	ck_assert_int_lt(wheel, CHOICE_WHEELS);
	if (wheel == c->wheels) {
		c->wheels++;
		c->wheel[wheel].at = 0;
		c->wheel[wheel].of = n;
	}
	/* The same way through the generator asks the same questions. */
	ck_assert_int_eq(c->wheel[wheel].of, n);
	return c->wheel[wheel].at;
}

int choice_pick(struct choice *c, int n)
{
	ck_assert_int_gt(n, 0);
	return c->odometer ? turn(c, n) : (int)(next_random(c) % (uint64_t)n);
}

bool choice_next(struct choice *c)
{
	ck_assert_int_eq(c->asked, c->wheels);
	c->asked = 0;
	while (c->wheels > 0) {
		if (++c->wheel[c->wheels - 1].at < c->wheel[c->wheels - 1].of)
			return true;
		c->wheels--;
	}
	return false;
}
