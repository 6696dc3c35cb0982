/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lmr.h - local memory regions (LMRs), and the check of a post's segments against them.
 *
 * An lmr_context is libdat's own: index << 8 | generation in the adapter's table. A post therefore
 * finds its region in one load, whatever keys the NIC issues. An error that is visible at the post
 * is refused there; if the LMR is freed or the PZ modified later, the NIC finds the error when the
 * request runs (ruling A3).
 *
 * The adapter owns the table, an LMR its MR of the NIC. Lock: the backend's.
 */
#ifndef LIB_MEMORY_LMR_H
#define LIB_MEMORY_LMR_H

#include "lib/object.h"

struct lmr_share;
struct pz;

struct lmr {
	struct obj obj;
	struct pz *pz;
	struct nic_mr *nic;
	uint32_t lkey; /* nic->lkey, copied here to save a load */
	DAT_MEM_TYPE mem_type;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_PVOID address;
	DAT_VLEN length;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context; /* 0: no remote privileges */
	DAT_REGION_DESCRIPTION desc; /* as the Consumer gave it; see lmr_region_desc */
	struct lmr_share *share;     /* NULL unless the memory type is SHARED_VIRTUAL */
	LIST_HEAD(, lmr_range) ranges;
};

/* The memory that a region description names. */
struct lmr_region {
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	DAT_PVOID address;
	DAT_VLEN length;
};

#define LMR_SEGMENTS_MAX 64 /* above any adapter's limit */

/* What a post requires of its local segments. */
struct lmr_need {
	const struct pz *pz;
	uint32_t privileges; /* one of these bits is enough: LMR_NEED_xxx */
	int first_arg; /* position of num_segments, for DAT_INVALID_ARGn; the iov comes next */
};

/* Ruling A3: local write implies local read. */
#define LMR_NEED_WRITE ((uint32_t)DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define LMR_NEED_READ  ((uint32_t)(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_LOCAL_READ_FLAG))

#define LMR_CONTEXT_GEN_BITS 8
#define LMR_FREE_BIT         1u /* set in a table entry that holds no LMR; see lmr.c */

void lmr_destroy(struct lmr *lmr);

/* lmr_region.c. Check parameters 2, 3 and 4 of dat_lmr_create, and find the memory they name. */
DAT_RETURN lmr_region_check(struct ia *ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
			    DAT_VLEN length, struct lmr_region *region);
/*
 * Join the sharers of the region's cookie; *share is NULL for other memory types.
 * DAT_INVALID_STATE: the memory is not mapped shared, or it is not the memory already registered
 * under that cookie.
 */
DAT_RETURN lmr_region_join(struct ia *ia, const struct lmr_region *region,
			   struct lmr_share **share);
void lmr_share_leave(struct lmr_share *share);
/* The description that a query returns. A cookie in it lives as long as the LMR. */
DAT_REGION_DESCRIPTION lmr_region_desc(const struct lmr *lmr);

/* The LMR that a context names on this adapter, or NULL. */
static inline struct lmr *lmr_find(const struct dat_adapter *adapter, DAT_LMR_CONTEXT context)
{
	uint32_t index = context >> LMR_CONTEXT_GEN_BITS;
	struct lmr *lmr;

	if (index >= adapter->lmr_entries)
		return NULL;
	lmr = adapter->lmrs[index];
	return !((uintptr_t)lmr & LMR_FREE_BIT) && lmr->context == context ? lmr : NULL;
}

static inline bool lmr_covers(const struct lmr *lmr, const DAT_LMR_TRIPLET *t)
{
	return t->segment_length <= lmr->length &&
	       t->virtual_address - (uintptr_t)lmr->address <= lmr->length - t->segment_length;
}

/*
 * The range of an LMR that an Endpoint or SRQ last posted from, or into. The LMR's PZ and
 * privileges were checked once; the next post in that range needs a check of its bounds only. A
 * range is closed when its LMR is freed and when the Endpoint's PZ changes.
 */
struct lmr_range {
	uint64_t end, size; /* size 0: closed */
	DAT_LMR_CONTEXT context;
	uint32_t lkey;
	LIST_ENTRY(lmr_range) link; /* in the LMR's list while open */
};

void lmr_range_close(struct lmr_range *range);
/*
 * Move the range to the LMR of segment `t`, which has to meet `need` and be at most max bytes long.
 * False: the segment is empty or invalid; lmr_translate returns the exact error.
 */
bool lmr_range_move(struct lmr_range *range, const struct dat_adapter *adapter,
		    const struct lmr_need *need, DAT_VLEN max, const DAT_LMR_TRIPLET *t);

/* The fast check of a segment: it is not empty, and it lies in the range of the last post. */
static inline bool lmr_range_covers(const struct lmr_range *range, const DAT_LMR_TRIPLET *t)
{
	uint64_t left;

	if (t->lmr_context != range->context)
		return false;
	left = range->end - t->virtual_address;
	/* Outside the range the difference exceeds its size; an empty length wraps. */
	return left <= range->size && t->segment_length - 1 < left;
}

/*
 * Check `segments` triplets and translate them to the NIC's form; *total is the sum of their
 * lengths. The caller has checked `segments` against its own limit and LMR_SEGMENTS_MAX.
 */
DAT_RETURN lmr_translate(struct dat_adapter *adapter, struct lmr_need need, DAT_COUNT segments,
			 const DAT_LMR_TRIPLET *iov, struct nic_sge *sge, DAT_VLEN *total);

#endif /* LIB_MEMORY_LMR_H */
