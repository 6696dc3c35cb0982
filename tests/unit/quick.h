/* SPDX-License-Identifier: BSD-3-Clause */
/* quick.h - tests of the calls of every message, for a fabric (test_quick.c) and a device (tests/passthrough). */
#ifndef TESTS_UNIT_QUICK_H
#define TESTS_UNIT_QUICK_H

#include "tests/support/support.h"

void quick_calls(Suite *suite);

#endif /* TESTS_UNIT_QUICK_H */
