/* SPDX-License-Identifier: BSD-3-Clause */
/* trace_lines.h - what the trace of the test's fabric has. */
#ifndef TESTS_UNIT_SIM_TRACE_LINES_H
#define TESTS_UNIT_SIM_TRACE_LINES_H

#include "tests/support/support.h"

/* Switch it on. */
void traced(void);
/* A part of a line: somewhere, and how often. */
void expect_line(const char *part);
int lines_with(const char *part);

#endif /* TESTS_UNIT_SIM_TRACE_LINES_H */
