/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes to a trace that keeps its end: ring.h. */
#include "ring.h"

#include "sharing.h"

/* A trace never gets there; sums of positions do not wrap before it. */
#define POSITION_MOST (1ul << 62)

uint64_t emu_ring_size(uint64_t last)
{
	uint64_t size = EMU_RING_LEAST;

	/* A line of text may leave a quarter of the smallest segment unused. */
	while (size < 2 * last && size < EMU_RING_MOST)
		size *= 2;
	return size;
}

bool emu_ring_is_valid(uint64_t size)
{
	return size == 0 ||
	       (size >= EMU_RING_LEAST && size <= EMU_RING_MOST && (size & (size - 1)) == 0);
}

bool emu_ring_bounds(const struct emu_world *w, uint64_t *oldest, uint64_t *end)
{
	uint64_t ring = w->config.trace_ring;

	*oldest = w->fab->trace_oldest;
	*end = w->fab->trace_length;
	return *end <= POSITION_MOST && *oldest <= *end && *end - *oldest <= ring &&
	       *oldest % (ring / EMU_SEGMENTS) == 0;
}

/*
 * Memory of a shared fabric is allocated a segment at a time, as the first lap gets there. With the
 * last one comes a page behind it: another process may write a position from which a record crosses
 * the end of the ring.
 */
static bool back_segment(struct emu_world *w, uint64_t end)
{
	uint64_t room = w->fab->trace_room;

	if (end == w->config.trace_ring)
		end += EMU_PAGE;
	if (end > w->config.trace_ring + EMU_PAGE || end <= room)
		return true;
	if (!emu_back(w, w->fab->trace + room, end - room))
		return false;
	w->fab->trace_room = end;
	return true;
}

/*
 * Go on in the segment that begins at `next`. The oldest one is dropped before anything is written
 * to its memory, and the position follows last.
 */
static void enter_segment(struct emu_world *w, uint64_t next)
{
	struct emu_fabric *fab = w->fab;
	uint64_t ring = w->config.trace_ring, end = emu_segment_end(w, next);
	struct emu_record *last = (struct emu_record *)emu_trace_at(w, fab->trace_length);

	if (end > ring && fab->trace_oldest < end - ring)
		fab->trace_oldest = end - ring;
	__asm__ volatile("" ::: "memory");
	last->head = (struct emu_record_head){ .now = fab->now,
					       .kind = EMU_RECORD_END,
					       .words = emu_record_words(0) };
	__asm__ volatile("" ::: "memory");
	fab->trace_length = next;
	__asm__ volatile("" ::: "memory");
}

bool emu_ring_make_room(struct emu_world *w, size_t bytes)
{
	struct emu_fabric *fab = w->fab;
	uint64_t oldest, at, end;

	if (!emu_ring_bounds(w, &oldest, &at) || at % EMU_WORD ||
	    fab->trace_room > EMU_TRACE_BYTES) {
		fab->trace_on = false;
		return false;
	}
	end = emu_segment_end(w, at);
	if (!back_segment(w, end))
		return false;
	if (end - at < bytes + EMU_RING_ROOM) {
		if (!back_segment(w, emu_segment_end(w, end)))
			return false;
		enter_segment(w, end);
		end = emu_segment_end(w, end);
	}
	w->trace_limit = end - EMU_RING_ROOM - sizeof(struct emu_record);
	return true;
}
