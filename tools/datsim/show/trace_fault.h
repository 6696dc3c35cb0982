/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace_fault.h - what the trace says of packets and of the faults that hit them, in words for people.
 */
#ifndef DATSIM_TRACE_FAULT_H
#define DATSIM_TRACE_FAULT_H

#include "trace.h"

/*
 * From whom a packet is and to whom, as far as its line tells: EPs, or adapters. The line may be a
 * fault's, whose object is a link.
 */
void packet_ends(const struct trace_line *line, struct span *from, struct span *to);
/* The line is what a fault did to a packet; *arrives: it comes all the same, and has its own line then. */
bool is_fault(const struct trace_line *line, bool *arrives);
/* "dropped by fault 2" */
void fault_words(const struct trace_line *line, struct text *words);

/* The line is what a fault did to anything else (verb "fault"): "post_send fails by fault 1001" */
void spoil_words(const struct trace_line *line, struct text *words);

#endif
