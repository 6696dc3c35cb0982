/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inbox.h - what other processes of a shared fabric leave to one: events that are its own to run, upcalls
 * about its objects, payload that only it can put where it belongs. In the order in which they came.
 */
#ifndef EMU_INBOX_H
#define EMU_INBOX_H

#include "fabric.h"

enum emu_message_kind {
	EMU_MESSAGE_RUN,
	EMU_MESSAGE_COPY,
	EMU_MESSAGE_CQ_NOTIFY,   /* index: CQ */
	EMU_MESSAGE_CQ_LOST,     /* index: CQ, qp, what: opcode */
	EMU_MESSAGE_SRQ_LIMIT,   /* index: SRQ */
	EMU_MESSAGE_SOFT_LIMIT,  /* qp */
	EMU_MESSAGE_ESTABLISHED, /* qp, of the passive side */
	EMU_MESSAGE_CONN_END,    /* qp, what: enum nic_conn_end */
};

/* A block of the pool. */
struct emu_message {
	emu_ref next;
	uint32_t kind;
	uint64_t during; /* order of the event that left it here; 0: none did */
	union {
		struct emu_event event;
		struct {
			uint32_t index, qp, what;
		} up;
		struct {
			uint64_t addr;
			uint64_t length;
			emu_ref data;
		} copy;
	};
};

/* All of these ring the process's bell. */
void emu_inbox_run(struct emu_world *w, uint16_t process, const struct emu_event *event);
void emu_inbox_tell(struct emu_world *w, uint16_t process, enum emu_message_kind kind,
		    uint32_t index, uint32_t qp, uint32_t what);
/* False: no room for the data. */
bool emu_inbox_copy(struct emu_world *w, uint16_t process, uint64_t addr, const void *from,
		    uint64_t length);

/* Is a request, or its answer, in any of them? */
bool emu_inbox_has_request(struct emu_world *w, uint32_t conn);

/* Do what is in this process's own. */
void emu_inbox_empty(struct emu_world *w);
/* Nobody will look into it any more: its events go back to where they came from. */
void emu_inbox_discard(struct emu_world *w, uint16_t process);

#endif /* EMU_INBOX_H */
