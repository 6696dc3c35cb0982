/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * junit.h - results as JUnit XML, for CI systems.
 *
 * Test cases are collected and written at the end, because the file begins with their count. Times
 * are seconds of real time; but for these, equal runs give equal files.
 */
#ifndef DATSIM_JUNIT_H
#define DATSIM_JUNIT_H

#include "tools/datsim/run/run.h"

struct junit {
	struct text cases;
	size_t tests, failures, errors, skipped;
	double seconds;
};

void junit_add(struct junit *junit, const char *name, const char *path,
	       const struct verdict *verdict);
/* Write the file and free the collected cases. False: *error says why. */
bool junit_write(struct junit *junit, const char *path, struct text *error);

#endif
