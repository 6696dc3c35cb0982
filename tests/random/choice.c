/* SPDX-License-Identifier: BSD-3-Clause */

#include "choice.h"
#include "host/random.h"
#include "tests/support/asserts.h"

/* Consecutive seeds must not give the same sequence shifted by one. */
void choice_by_seed(struct choice *c, uint64_t seed)
{
	*c = (struct choice){ .state = seed };
	c->state = random_next(&c->state);
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
	/* The same choices must lead to the same questions. */
	ck_assert_int_eq(c->wheel[wheel].of, n);
	return c->wheel[wheel].at;
}

int choice_pick(struct choice *c, int n)
{
	ck_assert_int_gt(n, 0);
	return c->odometer ? turn(c, n) : (int)(random_next(&c->state) % (uint64_t)n);
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
