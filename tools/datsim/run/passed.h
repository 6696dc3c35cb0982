/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * passed.h - the packets that a fault rule saw and left alone, by opcode.
 *
 * The rule is found in the trace by the number of its line "rule add=N" or "rule is=N"; what the
 * trace has before that line did not pass it. Borrows the text of the trace.
 */
#ifndef DATSIM_PASSED_H
#define DATSIM_PASSED_H

#include "tools/datsim/show/trace.h"

#define PASSED_OPS 24

struct passed {
	struct span from, to; /* adapters; empty: any */
	uint64_t rule;
	struct {
		struct span op;
		uint64_t times;
	} ops[PASSED_OPS];
	size_t count;
	uint64_t packets;
};

/* Fill counts, by the adapters and the rule that the caller has set. */
void passed_read(struct passed *passed, const char *text, size_t length);
/* "3 packets: 2 SEND_ONLY, 1 ACK", or "no packet" */
void passed_print(const struct passed *passed, struct text *text);

#endif
