/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.h - a trace that keeps its end (DATSIM_TRACE_LAST): its memory is used again and again.
 *
 * The memory is divided into EMU_SEGMENTS segments, and no record crosses the end of one. What does
 * not fit into a segment any more goes to the next one, and the oldest segment is dropped for it;
 * a record of kind END says so to readers. emu_fabric.trace_length is a position that counts all
 * segments since the trace began, and so is emu_fabric.trace_oldest; the low bits of a position are
 * its place in memory. A trace that keeps its beginning has one segment, which is used once.
 *
 * A process that is killed while it enters a segment leaves the old position, from which the next
 * writer enters it again, and at most the oldest segment is lost. Positions grow, so the limit that
 * another process keeps in emu_world.trace_limit is too low then, never too high.
 *
 * Lock: the fabric's, as for all of the trace.
 */
#ifndef EMU_FABRIC_RING_H
#define EMU_FABRIC_RING_H

#include "fabric.h"
#include "record.h"

#define EMU_SEGMENTS   8u
#define EMU_RING_LEAST (256ul << 10) /* a segment has room for four of the longest lines */
#define EMU_RING_MOST  (32ul << 20)
#define EMU_RING_ROOM  128u /* at the end of a segment: for END, or the note of a full trace */

/* In place of the lines that were dropped. */
#define EMU_RING_DROPPED \
	"the trace keeps its end (DATSIM_TRACE_LAST): lines before this one are missing"

_Static_assert(EMU_RING_MOST <= EMU_TRACE_BYTES, "there is memory for it");
_Static_assert(EMU_RING_LEAST / EMU_SEGMENTS >= 2ul * EMU_TRACE_LINE, "a line fits");

/* The memory that keeps at least so many bytes of records. */
uint64_t emu_ring_size(uint64_t last);
/* Is that a size of a ring, or 0? */
bool emu_ring_is_valid(uint64_t size);
/*
 * Make room for a record of that many bytes. False: there is no memory for it, or there is garbage,
 * and the trace is off.
 */
bool emu_ring_make_room(struct emu_world *w, size_t bytes);

static inline uint64_t emu_trace_mask(const struct emu_world *w)
{
	return w->config.trace_ring - 1;
}

/* Where that position is in memory. */
static inline char *emu_trace_at(const struct emu_world *w, uint64_t at)
{
	return w->fab->trace + (at & emu_trace_mask(w));
}

/* Where the segment of that position ends; of a trace that keeps its beginning, nowhere. */
static inline uint64_t emu_segment_end(const struct emu_world *w, uint64_t at)
{
	uint64_t segment = w->config.trace_ring / EMU_SEGMENTS;

	return segment ? at - at % segment + segment : UINT64_MAX;
}

/* What a reader needs; false: another process wrote garbage to these fields. */
bool emu_ring_bounds(const struct emu_world *w, uint64_t *oldest, uint64_t *end);

#endif /* EMU_FABRIC_RING_H */
