/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choice.h - where a program under test gets its choices from: chance, or an odometer.
 *
 * A generator asks pick(n) wherever it could go several ways. With a seed it goes one of them by
 * chance, the same ones every time. On an odometer each question is a wheel: the generator is run
 * again and again, choice_next turns the last wheel on that can still turn, and when none can,
 * every way through the generator was gone exactly once.
 */
#ifndef RANDOM_CHOICE_H
#define RANDOM_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#define CHOICE_WHEELS 64

struct choice {
	bool odometer;
	uint64_t state; /* of the generator */
	int asked;      /* questions in this run */
	int wheels;
	struct {
		int at, of;
	} wheel[CHOICE_WHEELS];
};

void choice_by_seed(struct choice *c, uint64_t seed);
void choice_by_odometer(struct choice *c);
/* 0 .. n-1; n > 0 */
int choice_pick(struct choice *c, int n);
/* The odometer turns on; false: all ways were gone. */
bool choice_next(struct choice *c);

#endif /* RANDOM_CHOICE_H */
