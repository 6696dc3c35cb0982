/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of every message, when messages went well before: quick.c. */
#include "tests/unit/quick.h"

static void fill(Suite *suite)
{
	quick_calls(suite);
}

UNIT_SUITE_OF_PROCESSES("quick")
