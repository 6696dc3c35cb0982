/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wq.h - work queues and their entries. A QP owns its two work queues, an SRQ its entries in a free
 * list. All functions are called with the lock held.
 */
#ifndef PASSTHROUGH_WQ_H
#define PASSTHROUGH_WQ_H

#include <infiniband/verbs.h>

#include "host/nic.h"
#include "host/nic_quick.h"

/* How much accounting a poll has to do for the success of a request. */
enum hw_wqe_kind {
	HW_WQE_GENERAL, /* all of it: hw_complete */
	HW_WQE_REQUEST,
	HW_WQE_RECV,
	HW_WQE_SRQ /* every Receive of an SRQ */
};

/*
 * A work queue entry: it keeps a work request from the post to the completion. Its address is the
 * wr_id that verbs sees. It begins as the event of its success does (struct nic_quick_event).
 */
struct hw_wqe {
	uint64_t label[3];
	uint64_t wr_id;    /* the front's */
	struct nic_qp *qp; /* NULL: a Receive of an SRQ */
	uint32_t length;   /* of a request */
	union {
		struct {
			uint8_t opcode;  /* enum nic_opcode */
			uint8_t flags;   /* enum nic_wr_flag */
			uint8_t kind;    /* enum hw_wqe_kind */
			uint8_t num_sge; /* of a Receive that is not an SRQ's */
		};
		uint32_t all; /* so that it is one store */
	};
	void *own;           /* of a bind: struct hw_bind; of a Receive of an SRQ: struct hw_srq */
	struct hw_wqe *next; /* in an SRQ's free list */
};
_Static_assert(sizeof(struct hw_wqe) == 64, "it is a cache line, and found by a shift");
_Static_assert(offsetof(struct hw_wqe, label) == offsetof(struct nic_quick_event, label) &&
		       offsetof(struct hw_wqe, wr_id) == offsetof(struct nic_quick_event, wr_id) &&
		       offsetof(struct nic_quick_event, status) ==
			       offsetof(struct nic_quick_event, wr_id) + sizeof(uint64_t),
	       "the label and the wr_id are copied in one");

/*
 * A work queue: a ring of entries. Positions are free-running and count bytes, so that an entry is
 * found without a shift.
 */
struct hw_wq {
	struct hw_wqe *wqe;
	uint32_t mask;       /* of a position, to find its place in the ring */
	uint32_t put, end;   /* of the next request; the queue is full when they are equal */
	uint32_t most;       /* bytes of the entries that may be in use */
	uint32_t posted;     /* at the end of the connection: the requests before it are in verbs */
	uint32_t width;      /* segments of an entry in sge */
	struct ibv_sge *sge; /* receives only: to post them again */
};
#define HW_WQ_STEP ((uint32_t)sizeof(struct hw_wqe))

static inline struct hw_wqe *hw_wq_at(const struct hw_wq *s, uint32_t position)
{
	return (struct hw_wqe *)((char *)s->wqe + (position & s->mask));
}

/* The segments of a Receive. */
static inline struct ibv_sge *hw_wq_sge(const struct hw_wq *s, uint32_t position)
{
	return &s->sge[(size_t)((position & s->mask) / HW_WQ_STEP) * s->width];
}

static inline uint32_t hw_wq_entries(const struct hw_wq *s)
{
	return s->mask / HW_WQ_STEP + 1;
}

/* The entry that the next request gets. */
static inline struct hw_wqe *hw_wq_next(const struct hw_wq *s)
{
	return hw_wq_at(s, s->put);
}

static inline bool hw_wq_full(const struct hw_wq *s)
{
	return s->put == s->end;
}

static inline void hw_wqe_fill(struct hw_wqe *wqe, uint64_t wr_id, enum nic_opcode opcode,
			       uint8_t flags, enum hw_wqe_kind kind)
{
	struct hw_wqe is = { .opcode = (uint8_t)opcode,
			     .flags = flags,
			     .kind = (uint8_t)kind,
			     .num_sge = 1 };

	wqe->wr_id = wr_id;
	wqe->all = is.all;
}

/* The position of the oldest request that is not completed. */
static inline uint32_t hw_wq_get(const struct hw_wq *s)
{
	return s->end - s->most;
}

static inline uint32_t hw_wq_used(const struct hw_wq *s)
{
	return (s->put - hw_wq_get(s)) / HW_WQ_STEP;
}

/* Take the oldest request off the queue; NULL: there is none. */
static inline struct hw_wqe *hw_wq_take(struct hw_wq *s)
{
	struct hw_wqe *wqe = hw_wq_at(s, hw_wq_get(s));

	if (hw_wq_used(s) == 0)
		return NULL;
	s->end += HW_WQ_STEP;
	return wqe;
}

/* ---- wq.c ---- */
/* The two queues of a QP; with an SRQ, rq has no entries. */
int hw_wq_init_both(struct nic_qp *qp, const struct nic_qp_cap *cap, bool with_srq,
		    struct hw_wq *sq, struct hw_wq *rq);
void hw_wq_fini(struct hw_wq *s);
/* The most segments that a posted Receive has. */
uint32_t hw_wq_widest(const struct hw_wq *s);
/* Move the Receives to a ring of another size. */
void hw_wq_move(struct hw_wq *to, const struct hw_wq *from);
/* All entries of a queue have the same label. */
void hw_wq_keep_label(struct hw_wq *to, const struct hw_wq *from);

#endif /* PASSTHROUGH_WQ_H */
