/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dto.h - posting on an Endpoint: the checks that all work requests share, and the fast post of a
 * Send or Receive.
 */
#ifndef LIB_EP_DTO_H
#define LIB_EP_DTO_H

#include "ep.h"

/* Translate completion flags to enum nic_wr_flag. */
uint32_t dto_wr_flags(DAT_COMPLETION_FLAGS flags);
/* Ruling A2: only flags in `known`, and UNSIGNALLED only if the EP was created for it. */
bool dto_flags_ok(DAT_COMPLETION_FLAGS flags, uint32_t known, DAT_COMPLETION_FLAGS ep_flags);
/*
 * After a post: a thread that sleeps until the next event has to look again, because there is a new
 * one.
 */
static inline void dto_posted(const struct obj *obj)
{
	backend_busy(obj->nic);
	if (obj->nic->threaded)
		obj->nic->up->wake(obj->nic->ctx);
}
/* Upcalls. */
int dto_send_refused(struct nic_qp *qp, void *iov, uint64_t cookie);
int dto_recv_refused(struct nic_qp *qp, void *iov, uint64_t cookie);
int dto_recv_posted(struct nic_qp *qp, void *iov, uint64_t cookie);
/* The DAT error for a post that the NIC refused. */
DAT_RETURN dto_no_room(int err);

/*
 * The fast post covers the common work request: one segment in the range of the last one (lmr.h),
 * no flags, and room in the queue; a Send with flags that do not change how it is executed has a
 * fast post as well. Every other post takes the general path, which reports errors.
 *
 * dto_move_*_range: move the range to the segment, which the general path would accept.
 */
bool dto_move_send_range(struct ep *ep, const DAT_LMR_TRIPLET *iov);
bool dto_move_recv_range(struct ep *ep, const DAT_LMR_TRIPLET *iov);

static inline bool dto_is_simple(DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				 DAT_COMPLETION_FLAGS flags)
{
	return (((uint32_t)segments - 1) | (uint32_t)flags) == 0 && iov;
}

static inline bool dto_has_recv_room(const struct ep *ep)
{
	return ep->recv_outstanding < ep->max_recv_dtos;
}

static inline bool dto_send_is_simple(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				      DAT_COMPLETION_FLAGS flags)
{
	return dto_is_simple(segments, iov, flags) &&
	       (__builtin_expect(lmr_range_covers(&ep->send_range, iov), 1) ||
		dto_move_send_range(ep, iov));
}

static inline bool dto_recv_is_simple(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				      DAT_COMPLETION_FLAGS flags)
{
	return dto_is_simple(segments, iov, flags) && dto_has_recv_room(ep) &&
	       (__builtin_expect(lmr_range_covers(&ep->recv_range, iov), 1) ||
		dto_move_recv_range(ep, iov));
}

static inline void dto_fill_sge(struct nic_sge *sge, const DAT_LMR_TRIPLET *iov,
				const struct lmr_range *range)
{
	sge->addr = iov->virtual_address;
	sge->length = (uint32_t)iov->segment_length;
	/* Two stores: to put both fields into a vector first takes an instruction more. */
	__asm__("" : "+m"(sge->length));
	sge->lkey = range->lkey;
}

/*
 * The flags of RDMA and binds: they complete no Receive of the peer, so SOLICITED_WAIT has no
 * meaning.
 */
#define DTO_RDMA_FLAGS                                                               \
	((uint32_t)(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
		    DAT_COMPLETION_BARRIER_FENCE_FLAG))

#endif /* LIB_EP_DTO_H */
