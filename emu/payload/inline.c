/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inline CQEs and staging buffers: where a payload waits between the sender's copy into the arena
 * and the receiver's copy out of it.
 */
#include "inline.h"

#include <errno.h>

#include "emu/fabric/arena.h"

#define OF_ONE 4u /* most staging buffers for one CQ */

size_t emu_inline_bytes(void)
{
	return EMU_INLINE_CQES * sizeof(struct emu_inline_cqe);
}

static uint32_t cq_index_of(struct emu_world *w, const struct emu_cq *cq)
{
	return (uint32_t)(cq - w->fab->cq);
}

static void forget_stages(struct emu_world *w, const struct emu_cq *cq)
{
	for (uint32_t i = 0; i < EMU_STAGES; i++)
		if (w->fab->shared.stage[i].cq == cq_index_of(w, cq))
			w->fab->shared.stage[i].cq = 0;
}

int emu_inline_init(struct emu_world *w, struct emu_cq *cq)
{
	cq->inline_ring = emu_pool_alloc(w, emu_inline_bytes());
	if (!cq->inline_ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < EMU_INLINE_CQES; i++)
		emu_inline_at(w, cq, i)->number = i + 1;
	cq->in_event = 0;
	forget_stages(w, cq);
	return 0;
}

void emu_inline_fini(struct emu_world *w, struct emu_cq *cq)
{
	emu_ref ring = cq->inline_ring;

	cq->inline_ring = 0;
	forget_stages(w, cq);
	emu_pool_free(w->fab, ring, emu_inline_bytes());
}

/* ---- staging buffers ---- */

bool emu_stage_is_free(struct emu_world *w, const struct emu_stage *stage)
{
	const struct emu_cq *cq;

	if (!stage->cq)
		return true;
	cq = &EMU_AT(w->fab->cq, stage->cq);
	/* The owner advances `get` only after it has copied the payload out. */
	return !cq->head.live ||
	       (int32_t)(__atomic_load_n(&cq->get, __ATOMIC_ACQUIRE) - stage->number) > 0;
}

/* A staging buffer grows to the longest payload it has had, and never shrinks. */
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

struct emu_stage *emu_stage_find(struct emu_world *w, const struct emu_cq *cq, uint32_t length)
{
	struct emu_stage *all = w->fab->shared.stage, *found = NULL;
	uint32_t own = 0;

	for (uint32_t i = EMU_STAGES; i > 0; i--) {
		if (emu_stage_is_free(w, &all[i - 1]))
			found = &all[i - 1];
		else
			own += all[i - 1].cq == cq_index_of(w, cq);
	}
	if (!found || own >= OF_ONE || length > EMU_STAGE_BYTES || !make_room(w, found, length))
		return NULL;
	return found;
}

/* The staging buffer has the payload of that completion. */
static void give_stage(struct emu_world *w, struct emu_stage *stage, const struct emu_cq *cq,
		       uint32_t number)
{
	stage->number = number;
	stage->cq = cq_index_of(w, cq);
	emu_inline_at(w, cq, number)->stage = (uint32_t)(stage - w->fab->shared.stage);
}

bool emu_stage_load(struct emu_world *w, struct emu_stage *stage, const struct emu_cq *cq,
		    uint32_t number, uint64_t from, uint32_t length)
{
	if (!emu_reach_to_arena_long(emu_at(w, stage->data), from, length))
		return false;
	give_stage(w, stage, cq, number);
	return true;
}

bool emu_inline_load_long(struct emu_world *w, const struct emu_cq *cq, uint32_t number,
			  uint64_t from, uint32_t length)
{
	struct emu_stage *stage = emu_stage_find(w, cq, length);

	return stage && emu_stage_load(w, stage, cq, number, from, length);
}

/* False: a key does not allow it, its memory is gone, or `to` has no room for all. */
static bool gather_segments(struct emu_world *w, uint8_t *to, const struct emu_sgl *from,
			    uint32_t room)
{
	for (uint32_t i = 0; i < from->num_sge; i++) {
		const struct nic_sge *sge = &from->sge[i];

		if (sge->length == 0)
			continue;
		if (sge->length > room || !emu_key_allows(w, from, sge) ||
		    !emu_reach_to_arena(to, sge->addr, sge->length))
			return false;
		to += sge->length;
		room -= sge->length;
	}
	return room == 0;
}

bool emu_inline_gather(struct emu_world *w, const struct emu_cq *cq, uint32_t number,
		       const struct emu_sgl *from, uint32_t length)
{
	struct emu_stage *stage;

	if (length <= EMU_INLINE_BYTES)
		return gather_segments(w, emu_inline_at(w, cq, number)->data, from, length);
	stage = emu_stage_find(w, cq, length);
	if (!stage || !gather_segments(w, emu_at(w, stage->data), from, length))
		return false;
	give_stage(w, stage, cq, number);
	return true;
}

/* ---- at the receiver ---- */

/* The piece, and behind it in the staging buffer the last bytes of the payload. */
static __attribute__((noinline)) bool place_rest(struct emu_world *w,
						 const struct emu_inline_cqe *cqe)
{
	uint64_t addr = cqe->addr;
	uint32_t length = cqe->length, stage = cqe->stage;
	uint32_t at = cqe->rest.at, piece = cqe->rest.length;
	const uint8_t *from;

	if (!piece || piece > EMU_STAGE_BYTES - EMU_SPLIT_LAST || stage >= EMU_STAGES ||
	    !emu_mr_covers(w, cqe->lkey, addr, length) || at > length || piece > length - at)
		return true;
	from = emu_at(w, w->fab->shared.stage[stage].data);
	return emu_reach_place_from_arena(addr + at, from, piece) &&
	       emu_reach_place_from_arena(addr + length - EMU_SPLIT_LAST, from + piece,
					  EMU_SPLIT_LAST);
}

/*
 * Another process may have written garbage: addresses are checked against this process's regions.
 */
bool emu_inline_place(struct emu_world *w, const struct emu_inline_cqe *cqe)
{
	uint64_t addr = cqe->addr;
	uint32_t length = cqe->length, stage = cqe->stage;
	const void *from = cqe->data;

	if (length > EMU_INLINE_BYTES) {
		if (cqe->flags & EMU_INLINE_SPLIT)
			return place_rest(w, cqe);
		if (length > EMU_STAGE_BYTES || stage >= EMU_STAGES)
			return true;
		from = emu_at(w, w->fab->shared.stage[stage].data);
	}
	return !emu_mr_covers(w, cqe->lkey, addr, length) ||
	       emu_reach_place_from_arena(addr, from, length);
}

/* The program may use its buffer from now on, so the payload is not placed there again. */
static void place_once(struct emu_world *w, struct emu_inline_cqe *cqe)
{
	if (!emu_inline_place(w, cqe))
		cqe->flags |= EMU_INLINE_LOST;
	cqe->lkey = 0;
}

void emu_inline_place_all(struct emu_world *w)
{
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, cqs, cq) && emu_go_on(w); i++) {
		struct emu_cq *cq = &w->fab->cq[i];

		if (!cq->head.live || !emu_mine(w, cq->adapter))
			continue;
		/* No inline CQE is filled further than its ring is long behind `get`. */
		for (uint32_t number = cq->get, n = 0; number != cq->put && n < EMU_INLINE_CQES;
		     number++, n++) {
			struct emu_inline_cqe *cqe = emu_inline_at(w, cq, number);

			if (emu_inline_is_for(cqe, number))
				place_once(w, cqe);
		}
	}
}

/* ---- rollback ---- */

void emu_inline_drop(struct emu_world *w, const struct emu_cq *cq, uint32_t number)
{
	struct emu_stage *stage = w->fab->shared.stage;

	emu_inline_publish(emu_inline_at(w, cq, number), number + 1);
	for (uint32_t i = 0; i < EMU_STAGES; i++)
		if (stage[i].cq == cq_index_of(w, cq) && stage[i].number == number)
			stage[i].cq = 0;
}
