/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * passed.h - what a fault rule saw and left alone: packets by opcode, or calls, completions, events
 * by name.
 *
 * The rule is found in the trace by the number of its line "rule add=N" or "rule is=N"; what the
 * trace has before that line did not pass it. Borrows the text of the trace.
 */
#ifndef DATSIM_PASSED_H
#define DATSIM_PASSED_H

#include "tools/datsim/script/script.h"
#include "tools/datsim/show/trace.h"

#define PASSED_OPS   24
#define PASSED_LINKS 4

enum passed_kind {
	PASSED_PACKETS,
	PASSED_CALLS,
	PASSED_COMPLETIONS,
	PASSED_EVENTS
};

/* What passes a fault of this kind. False: a moment, which nothing passes. */
bool passed_kind_of(enum fault_kind fault, enum passed_kind *kind);

struct passed {
	enum passed_kind kind;
	struct span from, to; /* adapters or EPs; empty: any; of all but packets `from` alone */
	uint64_t rule;
	struct {
		struct span op, error; /* error: the status of a completion that failed */
		uint64_t times;
	} ops[PASSED_OPS];
	size_t count;
	/* Of packets: the first links that they passed, without those of the rule. */
	struct {
		struct span from, to;
		uint64_t times;
	} links[PASSED_LINKS];
	size_t link_count;
	bool more_links;
	bool from_seen, to_seen; /* the rule's adapters, at either end of a packet */
	uint64_t total;
	bool failed; /* an op has an error */
};

/* Fill counts, by the adapters and the rule that the caller has set. */
void passed_read(struct passed *passed, const char *text, size_t length);
/* "3 packets: 2 SEND_ONLY, 1 ACK", or "no packet"; "2 calls: 1 post_send, 1 create" */
void passed_print(const struct passed *passed, struct text *text);
/*
 * If no packet passed the rule: "; packets passed b>a (2), b>c (1)", or "; did you mean ...?" if an
 * adapter of the rule has no packets at all. behind: what a script leaves out at the end of a name.
 */
void passed_print_links(const struct passed *passed, const char *behind, struct text *text);

#endif
