/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * split.h - a long payload that both ends of a Send copy at the same time.
 *
 * Payload that goes through the arena is copied twice (inline.h). Where each process can access the
 * other's memory (peer.h), a long one is copied once: the sender, which holds the fabric's lock,
 * offers it in pieces, and a receiver that polls its CQ meanwhile takes some of them. Each end
 * claims the next piece, copies it from the memory of the sender to that of the receiver, and
 * claims another one, until none is left. If the receiver does not poll, the sender copies all.
 *
 *   sender, emu_split_place                     receiver, emu_split_help
 *   (with the fabric's lock)                    (with its library's lock, without the fabric's)
 *
 *   fill emu_fabric.shared.split
 *   mark inline CQE cq.put as being split  ---> polls inline CQE cq.get, and sees the mark
 *   claim and write pieces                      helps = true; claim and read pieces;
 *   wait until the receiver does not help  <--- helps = false
 *   publish the completion (direct.c)
 *
 * A receiver that waits for the fabric's lock, which the sender has, helps as well (lock.c). The
 * fabric has one offer at a time, since it has one lock. `claims` has the number of the offer in
 * its upper half, so a receiver that is late claims nothing of a later one.
 *
 * A receiver may be stopped between its claim and its copy, or be short of processors. The sender
 * waits for that piece for a while, and then puts it in a staging buffer, which it has set aside
 * before; the receiver copies it from there when it dequeues the completion. That follows the late
 * copy, which is made with the library's lock, as the dequeue is. So a sender whose Send is
 * complete may use its buffer again, though the receiver is still about to read it.
 *
 * No other payload may go straight to the buffer of a late copy before the dequeue. If the sender
 * then cannot write its own pieces, the payload goes through a staging buffer as a whole, or, if it
 * is too long for one, the connection breaks. If the sender is killed, recovery withdraws its offer
 * and gives the Receive back, as for each Send that was not published; but if the receiver is late,
 * the Receive completes with an error, and an SRQ does not hand it to another connection.
 *
 * A receiver that cannot read a piece says so, and the sender sends the payload another way; it
 * does not help that sender any longer, so a piece that it does not finish is always the last one
 * that it has claimed.
 *
 * The last bytes are written after all others, for a program that spins on its buffer.
 */
#ifndef EMU_PAYLOAD_SPLIT_H
#define EMU_PAYLOAD_SPLIT_H

#include "inline.h"

#define EMU_SPLIT_LEAST (128u << 10) /* a shorter payload goes through the arena */

/* Inline CQE `number` has this number while its payload is split: no completion has it. */
static inline uint32_t emu_split_mark(uint32_t number)
{
	return number ^ (1u << 31);
}

/* A piece is no shorter, unless it is the last one, and no longer. */
#define EMU_SPLIT_SHORTEST (32u << 10)
#define EMU_SPLIT_LONGEST  (512u << 10)
#define EMU_SPLIT_NONE     UINT32_MAX

/*
 * Length of the piece that begins there: half of what is left, within bounds. Large pieces need few
 * system calls, and small ones at the end let both ends finish at the same time.
 */
static inline uint32_t emu_split_piece(uint32_t length, uint32_t at)
{
	uint32_t left = length - at, piece = left / 2 & -(uint32_t)EMU_PAGE;

	if (piece > EMU_SPLIT_LONGEST)
		return EMU_SPLIT_LONGEST;
	if (piece < EMU_SPLIT_SHORTEST)
		piece = EMU_SPLIT_SHORTEST;
	return piece < left ? piece : left;
}

/*
 * Claim the next piece of an offer. Returns where it begins; EMU_SPLIT_NONE: there is none left, or
 * the offer is over.
 */
static inline uint32_t emu_split_claim(struct emu_split *s, uint32_t offer, uint32_t length)
{
	uint64_t claims = __atomic_load_n(&s->claims, __ATOMIC_ACQUIRE);

	do {
		if (claims >> 32 != offer || (uint32_t)claims >= length)
			return EMU_SPLIT_NONE;
	} while (!__atomic_compare_exchange_n(&s->claims, &claims,
					      claims + emu_split_piece(length, (uint32_t)claims),
					      false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return (uint32_t)claims;
}

/* Does the process copy a piece at this moment, or is it about to, perhaps late? */
static inline bool emu_split_helps(const struct emu_process *p)
{
	return __atomic_load_n(&p->helps, __ATOMIC_ACQUIRE);
}

/* A payload, and where it goes. */
struct emu_split_way {
	uint16_t to;      /* process */
	uint32_t to_lkey; /* of a region there */
	uint64_t to_addr, from_addr;
	uint32_t length;
};

enum emu_split_placed {
	/* It is there, but for a piece in a staging buffer, if `rest` of the inline CQE says so. */
	EMU_SPLIT_PLACED,
	EMU_SPLIT_NOT,  /* it has to go another way */
	EMU_SPLIT_LATE, /* likewise, but not straight: the receiver may yet write to the buffer */
};

/* Copy the payload of completion cq->put to its destination. */
enum emu_split_placed emu_split_place(struct emu_world *w, const struct emu_cq *cq,
				      const struct emu_split_way *way);
/* Looks at a receiver before it counts as late: if its piece can be staged, and if it cannot. */
#define EMU_SPLIT_LOOKS         10000
#define EMU_SPLIT_PATIENT_LOOKS 200000

/* Wait until the process copies no piece, for so many looks. False: it is late. */
bool emu_split_wait(const struct emu_process *receiver, int looks);
/* The process that offered something has died: nothing can be claimed any longer. */
void emu_split_withdraw(struct emu_world *w);
/* Take pieces of what is offered to this process, if anything is. */
bool emu_split_help(struct emu_world *w);

#endif /* EMU_PAYLOAD_SPLIT_H */
