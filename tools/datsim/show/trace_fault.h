/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace_fault.h - the ends of a packet in a trace, and wording of the faults that hit packets,
 * calls, completions and events.
 */
#ifndef DATSIM_TRACE_FAULT_H
#define DATSIM_TRACE_FAULT_H

#include "trace.h"

/*
 * The sender and the receiver of a packet: EPs if its line names them, else adapters. The line may
 * also be a fault of a packet, whose object is a link.
 */
void packet_ends(const struct trace_line *line, struct span *from, struct span *to);
/*
 * Is the line about a fault that hit a packet? *arrives: the packet arrives nevertheless, and has a
 * line of its own later.
 */
bool is_fault(const struct trace_line *line, bool *arrives);
/* Word a fault that hit a packet: "dropped by fault 2". */
void fault_words(const struct trace_line *line, struct text *words);

/* Word a fault that hit anything else (verb "fault"): "post_send fails". */
void other_fault_words(const struct trace_line *line, struct text *words);

#endif
