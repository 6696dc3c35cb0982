/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * again.h - a call that may fail once, for want of something that the test takes away.
 *
 * The test that includes this defines what it expects of the failure:
 *
 *   static void expect_refusal(const char *call, DAT_RETURN ret);
 */
#ifndef TESTS_AGAIN_H
#define TESTS_AGAIN_H

#include "tests/support/support.h"

/* A call that fails changes nothing and, made again, succeeds. */
#define again(call)                                                                         \
	do {                                                                                \
		DAT_COUNT again_objects = objects(DAT_SIM_ALL_HANDLE_TYPES);                \
		DAT_RETURN again_ret = (call);                                              \
		if (again_ret != DAT_SUCCESS) {                                             \
			expect_refusal(#call, again_ret);                                   \
			ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), again_objects); \
			again_ret = (call);                                                 \
		}                                                                           \
		must(again_ret);                                                            \
	} while (0)

#endif
