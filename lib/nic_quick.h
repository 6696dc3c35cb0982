/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_quick.h - the quick ways of a backend that stands on libibverbs and whose lock is biased (bias.h).
 *
 * A part of the door, for quick_hw.c and that backend alone: there lib posts to verbs and polls verbs itself, for
 * a call between the two would cost a sixth of what a message may. Such a backend's QPs, CQs and SRQs begin with the
 * structs below, and it sees to it that a quick call finds what a quick call may use: while something special
 * concerns a QP or CQ, `verbs` is one that refuses whatever is asked of it, and what is refused is the backend's
 * to do. No decorator is asked: while there is one, lib makes none of these calls.
 */
#ifndef LIB_NIC_QUICK_H
#define LIB_NIC_QUICK_H

#include <infiniband/verbs.h>

#include "nic.h"

/* How much there is to look at when it succeeds. */
enum nic_slot_kind {
	NIC_SLOT_UNUSUAL,
	NIC_SLOT_REQUEST,
	NIC_SLOT_RECV,
	NIC_SLOT_SRQ, /* always, of an SRQ's */
};

/*
 * A work request from the post to its completion: what will be told of it if it succeeds, written when it is posted. Its
 * address is the wr_id that verbs sees.
 */
struct nic_slot {
	uint64_t label[3]; /* lib's own, the same for all of a queue: what its events begin with */
	uint64_t wr_id;    /* lib's, beside the label */
	struct nic_qp *qp; /* none if of an SRQ */
	uint32_t length;   /* of a request */
	union {
		struct {
			uint8_t opcode;  /* enum nic_opcode */
			uint8_t flags;   /* of the request, all of them */
			uint8_t kind;    /* enum nic_slot_kind */
			uint8_t num_sge; /* of a Receive that is not an SRQ's */
		};
		uint32_t all; /* so that it is one store */
	};
	void *own; /* the backend's */
	struct nic_slot *next;
};
_Static_assert(sizeof(struct nic_slot) == 64, "it is a cache line, and found by a shift");

/* The slots of a work queue, a ring. */
struct nic_slots {
	struct nic_slot *slot;
	uint32_t mask;
	uint32_t put, end; /* free-running; full when they are equal */
	/* the backend's */
	uint32_t width, most;
	uint32_t posted;     /* at the end of the connection: those before it are in verbs */
	struct ibv_sge *sge; /* receives only: `width` for each, to post them again */
};

struct nic_quick_qp {
	struct nic_qp qp;
	struct ibv_qp *verbs;
	uint32_t max_inline; /* bytes that a post may carry itself */
	struct nic_slots sq, rq;
	/* The usual requests, but for what is different each time. */
	struct ibv_sge send_sge, recv_sge;
	struct ibv_send_wr send_wr;
	struct ibv_recv_wr recv_wr;
	struct ibv_send_wr *bad_send; /* which it was is known */
	struct ibv_recv_wr *bad_recv;
	/* verbs refused the request above, of the slot that is next; what the general post returns. */
	int (*send_refused)(struct nic_qp *qp, int err);
	int (*recv_refused)(struct nic_qp *qp, int err);
};

struct nic_quick_cq {
	struct nic_cq cq;
	struct ibv_cq *verbs;
	/*
	 * cq_spin, of what was polled and is not usual, or NULL: verbs refused. What it points to is good until the
	 * next call; NULL: nothing there.
	 */
	const struct nic_wc *(*other)(struct nic_cq *cq, const struct ibv_wc *polled);
};

struct nic_quick_srq {
	struct nic_srq srq;
	/* srq_post of one segment that is not empty, where lib has seen that there is room. */
	int (*recv_one)(struct nic_srq *srq, uint32_t length, uint64_t addr, uint64_t wr_id,
			uint32_t lkey);
};

static inline struct nic_quick_qp *nic_quick_qp(struct nic_qp *qp)
{
	return nic_container_of(qp, struct nic_quick_qp, qp);
}

static inline struct nic_quick_cq *nic_quick_cq(struct nic_cq *cq)
{
	return nic_container_of(cq, struct nic_quick_cq, cq);
}

static inline struct nic_quick_srq *nic_quick_srq(struct nic_srq *srq)
{
	return nic_container_of(srq, struct nic_quick_srq, srq);
}

/* The slot that the next request gets. */
static inline struct nic_slot *nic_slots_next(const struct nic_slots *s)
{
	return &s->slot[s->put & s->mask];
}

static inline bool nic_slots_full(const struct nic_slots *s)
{
	return s->put == s->end;
}

static inline void nic_slot_fill(struct nic_slot *slot, uint64_t wr_id, enum nic_opcode opcode,
				 uint8_t flags, enum nic_slot_kind kind)
{
	struct nic_slot is = { .opcode = (uint8_t)opcode,
			       .flags = flags,
			       .kind = (uint8_t)kind,
			       .num_sge = 1 };

	slot->wr_id = wr_id;
	slot->all = is.all;
}

#endif /* LIB_NIC_QUICK_H */
