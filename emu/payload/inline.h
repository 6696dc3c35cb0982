/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inline.h - receive completions that carry their payload, in a shared fabric.
 *
 * Each CQ has a ring of inline CQEs beside its ordinary ring. Completion number n (emu_cq.put
 * counts them) is either in entry n of the ordinary ring or in inline CQE n, modulo their sizes;
 * inline_cqe.number tells. It is stored last, and with it the completion is there: the owner polls
 * it instead of put. An inline CQE has room for a small payload, as with a NIC that scatters
 * to the CQE. A longer payload is in a staging buffer, and the inline CQE says in which one; the
 * fabric has a few of these for all its CQs.
 *
 * So the sender copies the payload into the arena, and the receiver from there into its buffer,
 * each in its own process and without a system call. That is faster than process_vm_writev. The
 * receiver does so when it dequeues the completion; if it does not, its helper thread does, when it
 * looks after the fabric the next time (emu_shared_watch). Inline CQE and staging buffer are free
 * again when emu_cq.get has passed the completion. A sender that finds no free staging buffer
 * copies as reach.h describes, and a long payload is copied once where the kernel permits that:
 * split.h.
 *
 * Lock: the fabric's to fill one; the CQ's owner reads it without (direct.h).
 */
#ifndef EMU_PAYLOAD_INLINE_H
#define EMU_PAYLOAD_INLINE_H

#include <string.h>

#include "emu/mem.h"
#include "reach.h"

#define EMU_INLINE_LOST \
	(1u << 8) /* among flags: its memory is gone; with length 0: its sender died */
#define EMU_INLINE_SPLIT (1u << 9) /* likewise: all but `rest` has been placed */
#define EMU_INLINE_OLD   (1u << 30)
#define EMU_SPLIT_LAST   8u   /* bytes of a split payload that are placed behind all others */
#define EMU_INLINE_BYTES 216u /* of payload; an inline CQE is four cache lines */

struct emu_inline_cqe {
	uint64_t addr; /* destination of the payload */
	uint64_t wr_id;
	uint32_t length;
	uint32_t lkey; /* 0: the payload has been placed */
	uint32_t qp;
	uint32_t number; /* of its completion, as cq->put counts; that of another entry: none */
	uint32_t flags;
	union {
		uint32_t stage; /* staging buffer of a payload longer than `data` */
		uint32_t imm;   /* of a shorter one with NIC_WR_IMM */
	};
	union {
		uint8_t data[EMU_INLINE_BYTES];
		struct {
			uint32_t at, length;
		} rest; /* the piece of a split payload that is in the staging buffer; 0: none */
	};
};

/* The inline CQEs of a new CQ. */
int emu_inline_init(struct emu_world *w, struct emu_cq *cq);
void emu_inline_fini(struct emu_world *w, struct emu_cq *cq);
size_t emu_inline_bytes(void);

/*
 * Copy the payload to its destination, if it is not there yet and a region of this process covers
 * that. False: the memory is gone.
 */
bool emu_inline_place(struct emu_world *w, const struct emu_inline_cqe *cqe);
/*
 * Do so for all completions of this process that are not dequeued yet: a region is about to be
 * deregistered, or the program may be looking at its memory instead of its EVDs. With lib's lock.
 */
void emu_inline_place_all(struct emu_world *w);

bool emu_stage_is_free(struct emu_world *w, const struct emu_stage *stage);
/* One with room for that much. NULL: none is free for this CQ, or there is no memory. */
struct emu_stage *emu_stage_find(struct emu_world *w, const struct emu_cq *cq, uint32_t length);
/* Copy the payload of completion `number` there. False: the program's memory is gone. */
bool emu_stage_load(struct emu_world *w, struct emu_stage *stage, const struct emu_cq *cq,
		    uint32_t number, uint64_t from, uint32_t length);

/* Withdraw an inline CQE whose completion was not published. */
void emu_inline_drop(struct emu_world *w, const struct emu_cq *cq, uint32_t number);

static EMU_HOT struct emu_inline_cqe *emu_inline_at(struct emu_world *w, const struct emu_cq *cq,
						    uint32_t number)
{
	return (struct emu_inline_cqe *)emu_at(w, cq->inline_ring) + number % EMU_INLINE_CQES;
}

static inline uint32_t emu_inline_look(const struct emu_inline_cqe *cqe)
{
	return __atomic_load_n(&cqe->number, __ATOMIC_ACQUIRE);
}

static inline bool emu_inline_is_for(const struct emu_inline_cqe *cqe, uint32_t number)
{
	return emu_inline_look(cqe) == number;
}

/* It is complete: publish it. */
static inline void emu_inline_publish(struct emu_inline_cqe *cqe, uint32_t number)
{
	__atomic_store_n(&cqe->number, number, __ATOMIC_RELEASE);
}

/*
 * Its owner has taken completion `number` from the ring. If the inline CQE was not used for very
 * long, its number would come again when the count has wrapped.
 */
static inline void emu_inline_pass(struct emu_inline_cqe *cqe, uint32_t number)
{
	uint32_t was = __atomic_load_n(&cqe->number, __ATOMIC_RELAXED);

	if (__builtin_expect(number - was > EMU_INLINE_OLD, 0))
		__atomic_store_n(&cqe->number, number + 1, __ATOMIC_RELAXED);
}

/* The part of emu_inline_load for a long payload: copy it to a staging buffer. */
bool emu_inline_load_long(struct emu_world *w, const struct emu_cq *cq, uint32_t number,
			  uint64_t from, uint32_t length);
/* The same for a payload of several segments, `length` bytes in all. */
bool emu_inline_gather(struct emu_world *w, const struct emu_cq *cq, uint32_t number,
		       const struct emu_sgl *from, uint32_t length);

/*
 * Copy a payload of this process into the inline CQE of completion `number`. False: no room, or the
 * payload's memory is gone.
 */
static inline bool emu_inline_load(struct emu_world *w, const struct emu_cq *cq, uint32_t number,
				   uint64_t from, uint32_t length)
{
	if (length > EMU_INLINE_BYTES)
		return emu_inline_load_long(w, cq, number, from, length);
	return emu_reach_to_arena(emu_inline_at(w, cq, number)->data, from, length);
}

#endif /* EMU_PAYLOAD_INLINE_H */
