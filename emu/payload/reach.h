/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reach.h - copies payload between the memories of processes.
 *
 * Where the kernel permits access to another process's memory (peer.h), the process that runs an
 * event copies directly. Where it does not (containers, Yama), the sender's process runs the event.
 * It copies a payload for another process into the arena and leaves a message in that process's
 * inbox; the receiver copies it into its buffer before it sees the completion, for it empties its
 * inbox first. In lockstep, a short payload may wait for the receiver's turn: handed.h.
 */
#ifndef EMU_PAYLOAD_REACH_H
#define EMU_PAYLOAD_REACH_H

#include "emu/fabric/sharing.h"

/*
 * Copy within this process. The last bytes are written last, for a program that polls them without
 * a call.
 */
enum emu_copy emu_reach_place(uint64_t to, const void *from, uint64_t length);
/* The same from the arena. False: the program's memory is gone. */
bool emu_reach_place_from_arena(uint64_t to, const void *from, uint64_t length);
/* Copy from this process into the arena. False: the program's memory is gone. */
bool emu_reach_to_arena(void *to, uint64_t from, uint64_t length);
/* The same for a block of the arena's pool, which the receiver reads next. */
bool emu_reach_to_arena_long(void *to, uint64_t from, uint64_t length);
/*
 * EMU_COPY_BAD_TARGET also if a process is gone, or if the arena has no room for the payload.
 */
enum emu_copy emu_reach_copy(struct emu_world *w, const struct emu_place *to,
			     const struct emu_place *from, uint64_t length);

/* Can this process access the memory of that one, which may be itself? */
bool emu_reach_has(struct emu_world *w, uint16_t process);
/* Copy between a variable of this library and a registered region of a process. */
bool emu_reach_load(struct emu_world *w, void *to, const struct emu_place *from, uint64_t length);
/* The same; what this process cannot access gets it through the inbox. */
bool emu_reach_store(struct emu_world *w, const struct emu_place *to, const void *from,
		     uint64_t length);

#endif /* EMU_PAYLOAD_REACH_H */
