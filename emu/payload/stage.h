/* SPDX-License-Identifier: BSD-3-Clause */
/* stage.h - what payload passes through on its way between processes, a part of layout.h. */
#ifndef EMU_PAYLOAD_STAGE_H
#define EMU_PAYLOAD_STAGE_H

#include <stdint.h>

#include "emu/fabric/entry.h"

/* A staging buffer, for a payload that is too long for an inline CQE: inline.h. */
struct emu_stage {
	emu_ref data;    /* 0: none yet */
	uint32_t bytes;  /* of it */
	uint32_t cq;     /* in use for this CQ; 0: free */
	uint32_t number; /* of the completion */
};

/* A payload that its sender offers to the receiver in pieces: split.h. */
struct emu_split {
	uint64_t claims; /* number of the offer << 32 | bytes that have been claimed */
	uint64_t from_addr, to_addr;
	uint32_t to_lkey;
	uint32_t length;
	uint32_t generation; /* of the sender's entry */
	uint16_t from, to;   /* processes */
};

/* The completion that is about to say that a payload arrived, which may turn out to be wrong. */
struct emu_lost {
	uint32_t qp;     /* 0: of no QP */
	uint32_t number; /* as the `put` of its CQ counts */
	uint8_t opcode;
};

#define EMU_HANDED_BYTES 256u

/* A payload that goes to its receiver together with the turn: handed.h. */
struct emu_handed {
	uint32_t length;  /* 0: there is none; stored last */
	uint16_t process; /* the receiver */
	uint64_t addr;
	struct emu_lost lost; /* if the destination turns out to be gone */
	uint8_t data[EMU_HANDED_BYTES];
};

#endif /* EMU_PAYLOAD_STAGE_H */
