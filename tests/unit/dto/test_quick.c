/* SPDX-License-Identifier: BSD-3-Clause */
/* The per-message calls on their fast path: the tests are in quick.c. */
#include "tests/unit/dto/quick.h"

static void fill(Suite *suite)
{
	quick_calls(suite);
}

UNIT_SUITE_OF_PROCESSES("quick")
