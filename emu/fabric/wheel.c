/* SPDX-License-Identifier: BSD-3-Clause */
/* The wheel: where an event belongs, the blocks of a slot, and emptying the first slot. */
#include "wheel.h"

#include "arena.h"

#define DIGIT_BITS 6u

/* Events in a block: it fills 2 KiB of the pool. */
#define BLOCK_EVENTS 63u

struct block {
	struct emu_event event[BLOCK_EVENTS];
	emu_ref next;
};
_Static_assert(sizeof(struct block) <= 2048, "a block wastes no memory of its size class");
_Static_assert(EMU_WHEEL_SLOTS == 1u << DIGIT_BITS, "a digit numbers the slots of a level");
_Static_assert(EMU_WHEEL_LEVELS *DIGIT_BITS >= 64, "each time has a level");

/* ---- where a slot is ---- */

struct position {
	uint32_t level, digit;
};

static struct position position_of(const struct emu_wheel *wheel, uint64_t time)
{
	uint32_t highest = 63u - (uint32_t)__builtin_clzl((time ^ wheel->base) | 1);
	uint32_t level = highest / DIGIT_BITS;

	return (struct position){ level, time >> level * DIGIT_BITS & (EMU_WHEEL_SLOTS - 1) };
}

static struct emu_slot *slot_at(struct emu_wheel *wheel, struct position at)
{
	return &wheel->slot[at.level][at.digit];
}

static void mark_used(struct emu_wheel *wheel, struct position at)
{
	wheel->slots[at.level] |= 1ul << at.digit;
	wheel->levels |= 1u << at.level;
}

static void mark_empty(struct emu_wheel *wheel, struct position at)
{
	wheel->slots[at.level] &= ~(1ul << at.digit);
	if (!wheel->slots[at.level])
		wheel->levels &= ~(1u << at.level);
}

/* ---- the blocks of a slot ---- */

static struct block *first_block(struct emu_world *w, const struct emu_slot *slot)
{
	return emu_at(w, slot->block);
}

static bool add_block(struct emu_world *w, struct emu_slot *slot)
{
	emu_ref ref = emu_pool_alloc(w, sizeof(struct block));

	if (!ref)
		return false;
	((struct block *)emu_at(w, ref))->next = slot->block;
	*slot = (struct emu_slot){ .block = ref };
	return true;
}

static struct emu_event *last_event(struct emu_world *w, const struct emu_slot *slot)
{
	return &first_block(w, slot)->event[slot->used - 1];
}

/* The last event leaves the slot. */
static void drop_last(struct emu_world *w, struct emu_slot *slot)
{
	emu_ref ref = slot->block;

	w->wheel.events--;
	if (--slot->used > 0)
		return;
	slot->block = first_block(w, slot)->next;
	slot->used = slot->block ? BLOCK_EVENTS : 0;
	emu_pool_free(w->fab, ref, sizeof(struct block));
}

/* ---- events come and go ---- */

void emu_wheel_start(struct emu_wheel *wheel, uint64_t time)
{
	assert(!wheel->events && !wheel->levels);
	wheel->base = wheel->near = time;
}

struct emu_event *emu_wheel_place(struct emu_world *w, uint64_t time)
{
	struct emu_wheel *wheel = &w->wheel;
	struct position at = position_of(wheel, time);
	struct emu_slot *slot = slot_at(wheel, at);

	assert(time > wheel->near);
	if (wheel->events == EMU_WHEEL_EVENTS)
		return NULL;
	if ((!slot->block || slot->used == BLOCK_EVENTS) && !add_block(w, slot))
		return NULL;
	mark_used(wheel, at);
	wheel->events++;
	slot->used++;
	return last_event(w, slot);
}

struct emu_event *emu_wheel_remove(struct emu_world *w, struct emu_event *event)
{
	struct position at = position_of(&w->wheel, event->time);
	struct emu_slot *slot = slot_at(&w->wheel, at);
	struct emu_event *last = last_event(w, slot);

	*event = *last;
	drop_last(w, slot);
	if (!slot->block)
		mark_empty(&w->wheel, at);
	return event == last ? NULL : event;
}

void emu_wheel_advance(struct emu_world *w, struct emu_slot *slot)
{
	struct emu_wheel *wheel = &w->wheel;
	uint32_t level = (uint32_t)__builtin_ctz(wheel->levels), shift = level * DIGIT_BITS;
	struct position at = { level, (uint32_t)__builtin_ctzl(wheel->slots[level]) };
	const struct block *block;

	*slot = *slot_at(wheel, at);
	*slot_at(wheel, at) = (struct emu_slot){ 0 };
	mark_empty(wheel, at);
	block = first_block(w, slot);
	wheel->base = block->event[0].time >> shift << shift;
	/* At level 0 all events are due at `base`, so they all go to the heap. */
	wheel->near = wheel->base + (block->next ? 0 : (1ul << shift) - 1);
}

bool emu_wheel_take(struct emu_world *w, struct emu_slot *slot, struct emu_event *event)
{
	if (!slot->block)
		return false;
	*event = *last_event(w, slot);
	drop_last(w, slot);
	return true;
}
