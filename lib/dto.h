/* SPDX-License-Identifier: BSD-3-Clause */
/* dto.h - what all posts on an Endpoint have in common. */
#ifndef LIB_DTO_H
#define LIB_DTO_H

#include "ep.h"

/* enum nic_wr_flag of completion flags. */
uint32_t dto_wr_flags(DAT_COMPLETION_FLAGS flags);
/* Known flags only; UNSIGNALLED only where the EP was made for it: ruling A2. */
bool dto_flags_ok(DAT_COMPLETION_FLAGS flags, uint32_t known, DAT_COMPLETION_FLAGS ep_flags);
/* Something was posted: threads that sleep until the next event have to look again. */
static inline void dto_posted(const struct obj *obj)
{
	backend_busy(obj->nic);
	if (obj->nic->threaded)
		obj->nic->up->wake(obj->nic->ctx);
}
/* What the NIC's refusal of a post means. */
DAT_RETURN dto_no_room(int err);

/*
 * The usual post, of an Endpoint on which it is a quick one: one segment, in the memory of the last one, no flags, and
 * room for it. What is not so goes the general way, which finds out what it is.
 */
bool dto_move_send_window(struct ep *ep, const DAT_LMR_TRIPLET *iov);
bool dto_move_recv_window(struct ep *ep, const DAT_LMR_TRIPLET *iov);

static inline bool dto_is_usual(DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				DAT_COMPLETION_FLAGS flags)
{
	return (((uint32_t)segments ^ 1) | (uint32_t)flags) == 0 && iov;
}

static inline bool dto_has_recv_room(const struct ep *ep)
{
	return ep->recv_outstanding < ep->attr.max_recv_dtos;
}

static inline bool dto_send_is_usual(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				     DAT_COMPLETION_FLAGS flags)
{
	return dto_is_usual(segments, iov, flags) &&
	       (__builtin_expect(lmr_window_covers(&ep->send_window, iov), 1) ||
		dto_move_send_window(ep, iov));
}

static inline bool dto_recv_is_usual(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				     DAT_COMPLETION_FLAGS flags)
{
	return dto_is_usual(segments, iov, flags) && dto_has_recv_room(ep) &&
	       (__builtin_expect(lmr_window_covers(&ep->recv_window, iov), 1) ||
		dto_move_recv_window(ep, iov));
}

static inline void dto_fill_sge(struct nic_sge *sge, const DAT_LMR_TRIPLET *iov,
				const struct lmr_window *window)
{
	sge->addr = iov->virtual_address;
	sge->length = (uint32_t)iov->segment_length;
	sge->lkey = window->lkey;
}

/* RDMA and binds: no receive of the peer's is concerned, so none can be asked to be solicited. */
#define DTO_RDMA_FLAGS                                                               \
	((uint32_t)(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
		    DAT_COMPLETION_BARRIER_FENCE_FLAG))

#endif /* LIB_DTO_H */
