/* SPDX-License-Identifier: BSD-3-Clause */
/* bytes.h - the record of one posted buffer: its bytes as the NIC knows them. */
#ifndef EMU_HOSTILE_BYTES_H
#define EMU_HOSTILE_BYTES_H

#include <sys/queue.h>

#include "emu/fabric/fabric.h"

struct emu_posted {
	TAILQ_ENTRY(emu_posted) entry;
	SLIST_ENTRY(emu_posted) chain;
	uint32_t id;
	uint32_t qp, srq; /* where it was posted; of an SRQ: qp, once one has taken it */
	uint32_t message; /* of a request */
	uint8_t what;     /* enum nic_opcode */
	bool told;        /* that the program changed it */
	uint64_t wr_id;
	uint64_t length; /* of all segments */
	uint8_t *bytes;  /* as they have to be now; NULL: not watched, or no room */
	uint64_t *sums;  /* of each block, in place of that */
	uint8_t *kept;   /* complete=sent: what is sent, in place of the buffer; NULL: that is */
	uint8_t *before; /* poison=on: as they were before the post; NULL: not poisoned */
	uint32_t num_sge;
	struct nic_sge sge[EMU_MAX_SGE];
};

/* Read or write bytes of the buffer from offset `at` on. False: the memory is gone. */
bool emu_bytes_read(const struct emu_posted *p, uint64_t at, uint8_t *to, uint64_t length);
bool emu_bytes_write(const struct emu_posted *p, uint64_t at, const uint8_t *from, uint64_t length);
/* The sums of the buffer's blocks; NULL: no memory, or that of the buffer is gone. */
uint64_t *emu_bytes_sums(const struct emu_posted *p);
/* Are these bytes as they have to be? If not, tell it, once. */
void emu_bytes_compare(struct emu_world *w, struct emu_posted *p, uint64_t at, uint64_t length);
/*
 * The NIC has written to that memory, of which a part may belong to the buffer: a payload, or
 * garbage, which is not what was there before the post.
 */
void emu_bytes_refresh(struct emu_posted *p, uint64_t addr, uint64_t length, bool garbage);
/* Both have `before`, and `from` was posted earlier: what they share was as that one says. */
void emu_bytes_inherit(struct emu_posted *p, const struct emu_posted *from);

#endif /* EMU_HOSTILE_BYTES_H */
