/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * land.h - placement=tail and placement=random: the bytes of a message are not placed in order.
 *
 * Devices may place the packets of a message in any order, and the cache lines of a packet as the
 * bus has them. Only the completion says that all are there. Here a message is placed when its last
 * packet has come, in EMU_LAND_STAGES steps with some time between them: parts of it first, its
 * last line at once with `tail`, or lines that the seed chooses with `random`; in the last step all
 * of it. Then it completes. Meanwhile it is a message that has come in part (struct emu_rx, its
 * field `landing`), and packets behind it are parked. A READ's response lands in the same way; its
 * `step` counts (EMU_READ_LANDING).
 *
 * Packets of QPs of type UC arrive in order; the cache lines of each are placed in stages
 * (emu/number/unreliable_land.h). A datagram is placed at once, in the moment of its completion.
 */
#ifndef EMU_HOSTILE_LAND_H
#define EMU_HOSTILE_LAND_H

#include "emu/mem.h"
#include "emu/respond.h"

#define EMU_LAND_STAGES 3u /* the last of them places everything */

static inline bool emu_lands(const struct emu_world *w)
{
	return __builtin_expect(w->config.hostile & NIC_HOSTILE_PLACEMENT, 0);
}

/*
 * The next stage: event LAND or LAND_RESPONSE of request `index`, whose last packet is `packet`. It
 * is later than the next poll, so that the program has a look in between.
 */
void emu_land_later(struct emu_world *w, enum emu_event_kind kind, const struct emu_qp *qp,
		    uint32_t index, uint32_t packet);

/* Copy what this stage (from 0 on) places of bytes [0, length), by calls of `copy`. */
typedef enum emu_copy (*emu_land_copy)(struct emu_world *w, void *ctx, uint64_t from, uint64_t to);
enum emu_copy emu_land_stage(struct emu_world *w, uint32_t stage, uint64_t length,
			     emu_land_copy copy, void *ctx);

/* The same by emu_copy. */
enum emu_copy emu_land_segments(struct emu_world *w, uint32_t stage, uint64_t length,
				const struct emu_sgl *dst, const struct emu_sgl *src);

/* May the packet be placed as if there was no such mode? Its message has landed, or is empty. */
static inline bool emu_land_is_over(const struct emu_arrival *a)
{
	return a->swqe->length == 0 || (a->rx && a->rx->landing >= EMU_LAND_STAGES);
}

#endif /* EMU_HOSTILE_LAND_H */
