/* SPDX-License-Identifier: BSD-3-Clause */
/* land.c - see land.h. */
#include "land.h"

#include "emu/fabric/config.h"
#include "emu/fabric/clock.h"

#define PIECE       64u   /* a cache line */
#define PIECES_MOST 4096u /* of a message; those of a long one are longer */

void emu_land_later(struct emu_world *w, enum emu_event_kind kind, const struct emu_qp *qp,
		    uint32_t index, uint32_t packet)
{
	/* So short a time that no retry timer fires meanwhile. */
	uint64_t gap = w->config.poll_quantum_ns + 1, most = w->config.retry_timer_ns / 8;
	struct emu_event next = { .order = kind | EMU_EV_ARRIVED,
				  .qp = emu_qp_index(w, qp),
				  .epoch = qp->epoch,
				  .index = index,
				  .packet = packet };

	emu_reschedule(w, &next, w->fab->now + (gap < most || most == 0 ? gap : most));
}

/* The last piece, then the last half. */
static enum emu_copy land_tail(struct emu_world *w, uint32_t stage, uint64_t length,
			       emu_land_copy copy, void *ctx)
{
	uint64_t from = stage == 0 ? (length - 1) / PIECE * PIECE : length / 2;

	return copy(w, ctx, from, length);
}

static enum emu_copy land_random(struct emu_world *w, uint64_t length, emu_land_copy copy,
				 void *ctx)
{
	uint64_t piece = (length / PIECES_MOST + PIECE) / PIECE * PIECE, bits = 0, n = 0;
	enum emu_copy copied = EMU_COPY_OK;

	for (uint64_t at = 0; at < length && copied == EMU_COPY_OK; at += piece, n++) {
		if (n % 64 == 0)
			bits = emu_random(w);
		if (bits >> n % 64 & 1)
			copied = copy(w, ctx, at, at + piece < length ? at + piece : length);
	}
	return copied;
}

enum emu_copy emu_land_stage(struct emu_world *w, uint32_t stage, uint64_t length,
			     emu_land_copy copy, void *ctx)
{
	if (stage + 1 >= EMU_LAND_STAGES)
		return copy(w, ctx, 0, length);
	if (w->config.hostile & NIC_HOSTILE_TAIL)
		return land_tail(w, stage, length, copy, ctx);
	return land_random(w, length, copy, ctx);
}

/* ---- the response to a READ ---- */

struct landing {
	const struct emu_sgl *dst, *src;
};

static enum emu_copy copy_segments(struct emu_world *w, void *ctx, uint64_t from, uint64_t to)
{
	const struct landing *l = ctx;

	return emu_copy(w, l->dst, l->src, from, to);
}

enum emu_copy emu_land_segments(struct emu_world *w, uint32_t stage, uint64_t length,
				const struct emu_sgl *dst, const struct emu_sgl *src)
{
	struct landing l = { dst, src };

	return emu_land_stage(w, stage, length, copy_segments, &l);
}
