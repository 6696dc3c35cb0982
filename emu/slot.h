/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slot.h - where a payload waits until its receiver takes the completion, in a shared fabric.
 *
 * A CQ has slots beside its ring: a completion of a receive and a small payload, in place of an entry. A longer
 * payload waits on a stage, of which the fabric has a few for all its CQs, and the slot says on which. So both ends
 * copy, at the same time, and without the kernel: quicker than to have one of them reach into the other's memory.
 * Both are free again once the CQ's `get` has passed the completion. Who finds no stage copies as it can (reach.h).
 *
 * Lock: the fabric's fills; the CQ's owner takes without, as direct.h says.
 */
#ifndef EMU_SLOT_H
#define EMU_SLOT_H

#include <string.h>

#include "mem.h"

#define EMU_SLOT_BYTES 216u /* of payload: a slot is four cache lines */

struct emu_slot {
	uint64_t addr; /* where it goes */
	uint64_t wr_id;
	uint32_t length;
	uint32_t lkey;
	uint32_t qp;
	uint32_t turn; /* the completion it is, as cq->put counts, and one; 0: none */
	uint32_t flags;
	uint32_t stage; /* where the payload is, if it is longer than data */
	uint8_t data[EMU_SLOT_BYTES];
};

/* For a new CQ. */
int emu_slots_init(struct emu_world *w, struct emu_cq *cq);
void emu_slots_fini(struct emu_world *w, struct emu_cq *cq);
size_t emu_slots_bytes(void);

/* To where it goes, if a region of this process is there. Once more is as good as once. */
void emu_slot_place(struct emu_world *w, const struct emu_slot *slot);
/* The same with all that waits for this process: a region is about to go. */
void emu_slots_place_all(struct emu_world *w);
bool emu_stage_is_free(struct emu_world *w, const struct emu_stage *stage);
/* It never came. */
void emu_slot_drop(struct emu_world *w, const struct emu_cq *cq, uint32_t turn);

static inline struct emu_slot *emu_slot_at(struct emu_world *w, const struct emu_cq *cq,
					   uint32_t turn)
{
	return (struct emu_slot *)emu_at(w, cq->slots) + turn % EMU_SLOTS;
}

static inline bool emu_slot_is_of(const struct emu_slot *slot, uint32_t turn)
{
	return slot->turn == turn + 1;
}

/* The general case of emu_slot_load: onto a stage. */
bool emu_slot_load_long(struct emu_world *w, const struct emu_cq *cq, uint32_t turn, uint64_t from,
			uint32_t length);

/* This process's payload of that completion waits with it from now on. False: there is no room. */
static inline bool emu_slot_load(struct emu_world *w, const struct emu_cq *cq, uint32_t turn,
				 uint64_t from, uint32_t length)
{
	if (length > EMU_SLOT_BYTES)
		return emu_slot_load_long(w, cq, turn, from, length);
	memcpy(emu_slot_at(w, cq, turn)->data, emu_memory(from), length);
	return true;
}

#endif /* EMU_SLOT_H */
