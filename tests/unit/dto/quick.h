/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quick.h - tests of the per-message calls, for a fabric (test_quick.c) and a device
 * (tests/passthrough).
 *
 * These calls take a fast path if messages went well before. Here each test has sent some; the next
 * call must then be refused, or take the general path, as if it was the first.
 */
#ifndef TESTS_UNIT_QUICK_H
#define TESTS_UNIT_QUICK_H

#include "tests/support/support.h"

/* Posts on w.a.ep and w.b.ep. */
DAT_RETURN send_iov(DAT_COUNT n, DAT_LMR_TRIPLET *iov, int flags);
DAT_RETURN recv_iov(DAT_COUNT n, DAT_LMR_TRIPLET *iov, int flags);
/* A region of the side's slots first .. first + n - 1. */
DAT_LMR_HANDLE region(struct side *side, int first, int n, DAT_PZ_HANDLE pz, DAT_LMR_TRIPLET *iov);
/* Transfers one message from and to these segments and reaps all of it. */
void message(DAT_LMR_TRIPLET *from, DAT_LMR_TRIPLET *to);
/* A pair that has already exchanged messages, enough for every call to take the fast path. */
void used_pair(DAT_LMR_TRIPLET *from, DAT_LMR_TRIPLET *to);

void quick_memory(Suite *suite);
/* All of them. */
void quick_calls(Suite *suite);

#endif /* TESTS_UNIT_QUICK_H */
