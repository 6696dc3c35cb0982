/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inbox.h - messages from other processes of a shared fabric to one of them.
 *
 * Some work can be done only by the process that owns an object: run an event that ends in an
 * upcall, make an upcall, copy a payload into its memory where other processes cannot write. A
 * process that holds the fabric's lock and finds such work appends a message to the owner's inbox,
 * a list in the arena, and wakes the owner. The owner empties its inbox, in order, each time it
 * takes the lock.
 *
 * Another process may have written garbage to the head of the list or to a link. Each message
 * therefore bears a mark, made of its own place, which is removed when it is taken. A list that
 * leads to a block without its mark ends there, the rest is dropped, and the adapters of its owner
 * fail. So a list that was bent into a ring is run once, and no block that holds something else is
 * taken for a message.
 */
#ifndef EMU_SHARED_INBOX_H
#define EMU_SHARED_INBOX_H

#include "emu/fabric/sharing.h"

enum emu_message_kind {
	EMU_MESSAGE_RUN,
	EMU_MESSAGE_COPY,
	EMU_MESSAGE_UPCALL,
};

/* A block of the pool. */
struct emu_message {
	emu_ref next;
	uint32_t kind;
	uint64_t during; /* `order` of the event that sent it; 0: none did */
	union {
		struct emu_event event;
		struct emu_upcall up;
		struct {
			uint64_t addr;
			uint64_t length;
			emu_ref data;
			uint32_t posted;      /* as emu_place.posted */
			struct emu_lost lost; /* if its destination is gone */
		} copy;
	};
	uint32_t mark; /* EMU_MESSAGE_MARK + its own ref; 0: it was taken */
};

#define EMU_MESSAGE_MARK 0x67736d00u

/* The message at this place of a list; NULL: the list ends here, or what follows is garbage. */
static inline struct emu_message *emu_inbox_at(struct emu_world *w, emu_ref ref)
{
	struct emu_message *message = emu_at(w, ref);

	return ref && message->mark == EMU_MESSAGE_MARK + ref ? message : NULL;
}

/*
 * Each of these wakes the process when the lock is released. False: no memory; the event is not
 * left.
 */
bool emu_inbox_run(struct emu_world *w, uint16_t process, const struct emu_event *event);
void emu_inbox_tell(struct emu_world *w, uint16_t process, const struct emu_upcall *up);
/* The payload of the running event. EMU_COPY_BAD_TARGET: no room for the data. */
enum emu_copy emu_inbox_copy(struct emu_world *w, const struct emu_place *to, uint64_t from,
			     uint64_t length);
/* The payload of an earlier event. The message stays if the running event is rolled back. */
enum emu_copy emu_inbox_copy_late(struct emu_world *w, const struct emu_place *to, uint64_t from,
				  uint64_t length, const struct emu_lost *lost);
/*
 * The completion of the message whose packet the running event copies, if this is its last packet.
 * `qp` is 0 if there is none, or if the event names no QP of the receiver.
 */
struct emu_lost emu_inbox_completion(struct emu_world *w);
/*
 * A payload could not be placed: its completion, if it has one, says so, and the connection ends.
 */
void emu_inbox_lose(struct emu_world *w, const struct emu_lost *lost);
/* Trace that a Receive of this process, which had completed in the trace, fails after all. */
void emu_inbox_note_lost(struct emu_world *w);

/* Take and run all messages of this process. */
void emu_inbox_empty(struct emu_world *w);
/* The process will not empty its inbox again: put its events back on the event queue. */
void emu_inbox_discard(struct emu_world *w, uint16_t process);
/* `link`, the head of its list or a link in it, leads to garbage: the list ends there. */
void emu_inbox_cut(struct emu_world *w, uint16_t process, emu_ref *link);

#endif /* EMU_SHARED_INBOX_H */
