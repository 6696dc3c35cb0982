/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wheel.h - the events of a private fabric that are due late, while very many are queued: a timer
 * wheel of several levels. queue.h says which events are here.
 *
 * A heap of a million events is not in a core's cache, and to take one off it touches ten places.
 * The wheel has slots for stretches of time. An event is written to the end of its slot, whatever
 * else is there. Only when the slot is nearly due do its events go to the heap, which puts them in
 * order and stays small.
 *
 * A slot of level 0 is one ns long, a slot of level 1 64 ns, one of level 2 4096 ns, and so on up
 * to the end of time. Of each time, six bits (a digit) are the number of its slot in a level. An
 * event is in the level of the highest digit in which its time differs from `base`. No event is
 * earlier than `base`, so the first slot in use of the lowest level in use has the earliest events.
 *
 * That slot is emptied next. If it has one block of events, they go to the heap. If it has more,
 * `base` moves to the slot's first ns, from which they differ in lower digits only, and they go to
 * slots of lower levels: two or three times in practice, and at most once for each level.
 *
 * The events of a slot are in no order, in blocks of the pool. Only the first block has room; a new
 * block becomes the first.
 */
#ifndef EMU_FABRIC_WHEEL_H
#define EMU_FABRIC_WHEEL_H

#include "fabric.h"

/* The wheel is empty, and takes events later than `time` from now on. */
void emu_wheel_start(struct emu_wheel *wheel, uint64_t time);
/* A place for an event of that time, which is later than `near`; NULL: the wheel is full. */
struct emu_event *emu_wheel_place(struct emu_world *w, uint64_t time);
/* Remove an event. Returns the event that has its place now; NULL: none has. */
struct emu_event *emu_wheel_remove(struct emu_world *w, struct emu_event *event);

/*
 * Empty the slot of the earliest events; there are events. `near` says where they belong now. They
 * are in *slot, and the caller takes them out one by one until there is none (false).
 */
void emu_wheel_advance(struct emu_world *w, struct emu_slot *slot);
bool emu_wheel_take(struct emu_world *w, struct emu_slot *slot, struct emu_event *event);

#endif /* EMU_FABRIC_WHEEL_H */
