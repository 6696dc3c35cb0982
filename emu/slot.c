/* SPDX-License-Identifier: BSD-3-Clause */
#include "slot.h"

#include <errno.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "arena.h"

#define OF_ONE       4u /* stages that one CQ may have: the others are for others */
#define STREAM_BYTES (256u << 10)

size_t emu_slots_bytes(void)
{
	return EMU_SLOTS * sizeof(struct emu_slot);
}

static uint32_t index_of(struct emu_world *w, const struct emu_cq *cq)
{
	return (uint32_t)(cq - w->fab->cq);
}

static void forget_stages(struct emu_world *w, const struct emu_cq *cq)
{
	for (uint32_t i = 0; i < EMU_STAGES; i++)
		if (w->fab->shared.stage[i].cq == index_of(w, cq))
			w->fab->shared.stage[i].cq = 0;
}

int emu_slots_init(struct emu_world *w, struct emu_cq *cq)
{
	cq->slots = emu_pool_alloc(w, emu_slots_bytes());
	if (!cq->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < EMU_SLOTS; i++)
		emu_slot_at(w, cq, i)->turn = 0;
	cq->unsettled = false;
	forget_stages(w, cq);
	return 0;
}

void emu_slots_fini(struct emu_world *w, struct emu_cq *cq)
{
	emu_ref slots = cq->slots;

	cq->slots = 0;
	forget_stages(w, cq);
	emu_pool_free(w->fab, slots, emu_slots_bytes());
}

/* ---- stages ---- */

bool emu_stage_is_free(struct emu_world *w, const struct emu_stage *stage)
{
	const struct emu_cq *cq = &w->fab->cq[stage->cq];

	/* Its owner is done with it before it counts. */
	return !stage->cq || !cq->head.live ||
	       (int32_t)(__atomic_load_n(&cq->get, __ATOMIC_ACQUIRE) - stage->turn) > 0;
}

/* It grows, and never shrinks. */
static bool make_room(struct emu_world *w, struct emu_stage *stage, uint32_t length)
{
	emu_ref old = stage->data;

	if (old && stage->bytes >= length)
		return true;
	stage->data = 0;
	emu_pool_free(w->fab, old, stage->bytes);
	stage->bytes = (length + EMU_PAGE - 1) / EMU_PAGE * EMU_PAGE;
	stage->data = emu_pool_alloc(w, stage->bytes);
	return stage->data;
}

/* NULL: none is free, or no memory for one. */
static struct emu_stage *find_stage(struct emu_world *w, const struct emu_cq *cq, uint32_t length)
{
	struct emu_stage *all = w->fab->shared.stage, *found = NULL;
	uint32_t own = 0;

	for (uint32_t i = EMU_STAGES; i > 0; i--) {
		if (emu_stage_is_free(w, &all[i - 1]))
			found = &all[i - 1];
		else
			own += all[i - 1].cq == index_of(w, cq);
	}
	if (!found || own >= OF_ONE || length > EMU_STAGE_BYTES || !make_room(w, found, length))
		return NULL;
	return found;
}

/*
 * Past the caches: the receiver's core is quicker to have it out of memory than out of this one's cache, and this one
 * need not take back what that one has read.
 */
static void stream(uint8_t *to, const uint8_t *from, uint32_t length)
{
	uint32_t i = 0;

#ifdef __SSE2__
	for (; length - i >= sizeof(__m128i); i += sizeof(__m128i))
		_mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
	_mm_sfence();
#endif
	memcpy(to + i, from + i, length - i);
}

bool emu_slot_load_long(struct emu_world *w, const struct emu_cq *cq, uint32_t turn, uint64_t from,
			uint32_t length)
{
	struct emu_stage *stage = find_stage(w, cq, length);

	if (!stage)
		return false;
	stage->turn = turn;
	stage->cq = index_of(w, cq);
	emu_slot_at(w, cq, turn)->stage = (uint32_t)(stage - w->fab->shared.stage);
	if (length >= STREAM_BYTES)
		stream(emu_at(w, stage->data), emu_memory(from), length);
	else
		memcpy(emu_at(w, stage->data), emu_memory(from), length);
	return true;
}

/* ---- at the receiver ---- */

/* The arena is others', too: what they say of this process's memory has to be so. */
void emu_slot_place(struct emu_world *w, const struct emu_slot *slot)
{
	uint64_t addr = slot->addr;
	uint32_t length = slot->length, stage = slot->stage;
	const void *from = slot->data;

	if (length > EMU_SLOT_BYTES) {
		if (length > EMU_STAGE_BYTES || stage >= EMU_STAGES)
			return;
		from = emu_at(w, w->fab->shared.stage[stage].data);
	}
	if (emu_mr_covers(w, slot->lkey, addr, length))
		memcpy(emu_memory(addr), from, length);
}

void emu_slots_place_all(struct emu_world *w)
{
	for (uint32_t i = 1; w->process && i <= EMU_HIGH(w->fab, cqs, cq); i++) {
		struct emu_cq *cq = &w->fab->cq[i];

		if (!cq->head.live || !emu_mine(w, cq->adapter))
			continue;
		for (uint32_t turn = cq->get, n = 0; turn != cq->put && n <= EMU_MAX_CQE;
		     turn++, n++)
			if (emu_slot_is_of(emu_slot_at(w, cq, turn), turn))
				emu_slot_place(w, emu_slot_at(w, cq, turn));
	}
}

/* ---- death ---- */

void emu_slot_drop(struct emu_world *w, const struct emu_cq *cq, uint32_t turn)
{
	struct emu_stage *stage = w->fab->shared.stage;

	emu_slot_at(w, cq, turn)->turn = 0;
	for (uint32_t i = 0; i < EMU_STAGES; i++)
		if (stage[i].cq == index_of(w, cq) && stage[i].turn == turn)
			stage[i].cq = 0;
}
