/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tap.h - results in the Test Anything Protocol, which automake and most CI systems read.
 *
 * Results are printed to a stream one by one; nothing is kept.
 */
#ifndef DATSIM_TAP_H
#define DATSIM_TAP_H

#include <stdio.h>

#include "tools/datsim/run/run.h"

void tap_plan(FILE *out, size_t tests);

/* A '#' in a name would begin a directive, and a newline end the result. */
void tap_name(FILE *out, const char *name);

void tap_result(FILE *out, bool colour, size_t number, const char *name,
		const struct verdict *verdict);

/*
 * A signal that asks the tool to end prints a last line, and then ends it; false: as usual again,
 * in a child.
 */
void tap_bail_by_signals(bool on);

#endif
