/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lmr.h - local memory regions, and checking the segments of a post against them.
 *
 * An lmr_context is libdat's own: index << 8 | generation into the adapter's table, so that a post
 * finds the region in one load whatever keys the NIC deals out. What can be checked at the post is
 * refused there; what changes later (LMR freed, PZ modified) the NIC finds (ruling A3).
 */
#ifndef LIB_LMR_H
#define LIB_LMR_H

#include "object.h"

struct pz;

struct lmr {
	struct obj obj;
	struct pz *pz;
	struct nic_mr *nic;
	DAT_MEM_TYPE mem_type;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_PVOID address;
	DAT_VLEN length;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context; /* 0: no remote privileges */
};

#define LMR_SEGMENTS_MAX 64 /* above any adapter's limit */

enum lmr_access {
	LMR_NEED_READ,
	LMR_NEED_WRITE
};

/* What a post demands of its local segments. */
struct lmr_need {
	const struct pz *pz;
	enum lmr_access access;
	int first_arg; /* position of num_segments, for DAT_INVALID_ARGn; the iov comes next */
};

void lmr_destroy(struct lmr *lmr);
/*
 * Check `segments` triplets and turn them into what the NIC takes; *total (may be NULL) is their sum.
 * `segments` is within the caller's limit and LMR_SEGMENTS_MAX.
 */
DAT_RETURN lmr_translate(struct adapter *adapter, const struct lmr_need *need, DAT_COUNT segments,
			 const DAT_LMR_TRIPLET *iov, struct nic_sge *sge, DAT_VLEN *total);

#endif /* LIB_LMR_H */
