/* SPDX-License-Identifier: BSD-3-Clause */
/* model.h - what a test of the NIC model takes from behind the handles of support.h. */
#ifndef TESTS_SUPPORT_MODEL_H
#define TESTS_SUPPORT_MODEL_H

#include "emu/fabric/world.h"
#include "emu/nic_model.h"
#include "lib/ep/ep.h"
#include "lib/evd/evd.h"
#include "lib/memory/lmr.h"
#include "tests/support/support.h"

static inline struct obj *object_of(DAT_HANDLE handle)
{
	return (struct obj *)((struct handle_slot *)handle)->object;
}

static inline struct nic_qp *nic_qp_of(DAT_EP_HANDLE ep)
{
	return obj_as(struct ep, object_of(ep))->nic;
}

/* NULL: the EVD takes no completions. */
static inline struct nic_cq *nic_cq_of(DAT_EVD_HANDLE evd)
{
	return obj_as(struct evd, object_of(evd))->cq;
}

static inline struct emu_qp *qp_entry_of(DAT_EP_HANDLE ep)
{
	return emu_local_qp(nic_qp_of(ep))->entry;
}

static inline struct emu_world *model_world(void)
{
	return emu_local_qp(nic_qp_of(w.a.ep))->world;
}

/* The first bytes of a side's slot n */
static inline struct nic_sge nic_segment(struct side *side, int n, uint32_t length)
{
	return (struct nic_sge){ (uintptr_t)slot(side, n), length,
				 obj_as(struct lmr, object_of(side->lmr))->lkey };
}

#endif /* TESTS_SUPPORT_MODEL_H */
