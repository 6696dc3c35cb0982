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

struct lmr_share;
struct pz;

struct lmr {
	struct obj obj;
	struct pz *pz;
	struct nic_mr *nic;
	uint32_t lkey; /* nic's, a load nearer */
	DAT_MEM_TYPE mem_type;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_PVOID address;
	DAT_VLEN length;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context; /* 0: no remote privileges */
	DAT_REGION_DESCRIPTION desc; /* as it was given; see lmr_region_desc */
	struct lmr_share *share;     /* memory type SHARED_VIRTUAL */
	LIST_HEAD(, lmr_window) windows;
};

/* The memory that a description means. */
struct lmr_region {
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION desc;
	DAT_PVOID address;
	DAT_VLEN length;
};

#define LMR_SEGMENTS_MAX 64 /* above any adapter's limit */

/* What a post demands of its local segments. */
struct lmr_need {
	const struct pz *pz;
	uint32_t privileges; /* any of these suffices: LMR_NEED_xxx */
	int first_arg; /* position of num_segments, for DAT_INVALID_ARGn; the iov comes next */
};

/* Local write implies local read: ruling A3. */
#define LMR_NEED_WRITE ((uint32_t)DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define LMR_NEED_READ  ((uint32_t)(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_LOCAL_READ_FLAG))

#define LMR_CONTEXT_GEN_BITS 8
#define LMR_FREE_BIT         1u /* table entries that hold no LMR are odd; see lmr.c */

void lmr_destroy(struct lmr *lmr);

/* lmr_region.c: handles and parameters 2, 3 and 4 of dat_lmr_create. */
DAT_RETURN lmr_region_check(struct ia *ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
			    DAT_VLEN length, struct lmr_region *region);
/*
 * Become a sharer of the region's cookie; *share is NULL for other memory types. DAT_INVALID_STATE: the
 * memory is not mapped shared, or is another piece than the one registered under the cookie.
 */
DAT_RETURN lmr_region_join(struct ia *ia, const struct lmr_region *region,
			   struct lmr_share **share);
void lmr_share_leave(struct lmr_share *share);
/* What a query shows; a cookie in it lives as long as the LMR. */
DAT_REGION_DESCRIPTION lmr_region_desc(const struct lmr *lmr);

/* The LMR a context names on this adapter, or NULL. */
static inline struct lmr *lmr_find(const struct adapter *adapter, DAT_LMR_CONTEXT context)
{
	uint32_t index = context >> LMR_CONTEXT_GEN_BITS;
	struct lmr *lmr;

	if (index >= adapter->lmr_slots)
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
 * The piece of an LMR that an Endpoint or SRQ posted from, or into, last: checked once, so that the next post from it is
 * checked by its bounds. It closes when the LMR goes, and when what it was checked for changes.
 */
struct lmr_window {
	LIST_ENTRY(lmr_window) link; /* in the LMR's, if it is open */
	uint64_t end, size;          /* size 0: closed */
	DAT_LMR_CONTEXT context;
	uint32_t lkey;
};

void lmr_window_close(struct lmr_window *window);
/*
 * Move it to where the segment is, of the LMRs of `need` and at most max bytes long. False: the segment is not as
 * it should be, and lmr_translate tells how; or it is empty.
 */
bool lmr_window_move(struct lmr_window *window, const struct adapter *adapter,
		     const struct lmr_need *need, DAT_VLEN max, const DAT_LMR_TRIPLET *t);

/* The usual segment: where the last one was, and not empty. */
static inline bool lmr_window_covers(const struct lmr_window *window, const DAT_LMR_TRIPLET *t)
{
	uint64_t left = window->end - t->virtual_address;

	/* Before the window, and behind it, that is more than all of it; and a length of 0 wraps. */
	return t->lmr_context == window->context && left <= window->size &&
	       t->segment_length - 1 < left;
}

/*
 * Check `segments` triplets and turn them into what the NIC takes; *total is their sum. `segments` is
 * within the caller's limit and LMR_SEGMENTS_MAX.
 */
DAT_RETURN lmr_translate(struct adapter *adapter, struct lmr_need need, DAT_COUNT segments,
			 const DAT_LMR_TRIPLET *iov, struct nic_sge *sge, DAT_VLEN *total);

#endif /* LIB_LMR_H */
