/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hang.h - ends a test in which nothing goes on. The clock cannot tell: beside other work each step
 * may take as long as it likes. What hangs leaves processors idle; so the seconds count in which
 * they were. Where others keep them all busy, the limit of the whole test ends it.
 */
#ifndef TESTS_SUPPORT_HANG_H
#define TESTS_SUPPORT_HANG_H

#include <stdbool.h>

/*
 * From now on this process ends if nothing goes on, until the next call. `what` stays valid and
 * says what it was about.
 */
void hang_begin(const char *what);

struct idle {
	unsigned long ticks; /* of all processors, at the last look */
	int seconds;
};

/* The same for one who looks once a second. True: whatever it waits for hangs. */
bool hang_counts(struct idle *idle);

#endif
