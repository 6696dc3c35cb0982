/* SPDX-License-Identifier: BSD-3-Clause */
/* dto.h - what all posts on an Endpoint have in common. */
#ifndef LIB_DTO_H
#define LIB_DTO_H

#include "object.h"

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

/* RDMA and binds: no receive of the peer's is concerned, so none can be asked to be solicited. */
#define DTO_RDMA_FLAGS                                                               \
	((uint32_t)(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
		    DAT_COMPLETION_BARRIER_FENCE_FLAG))

#endif /* LIB_DTO_H */
