/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lmr_sync.c - dat_lmr_sync_rdma_read and dat_lmr_sync_rdma_write. Adapters of this library are
 * coherent with the program's memory (lmr_sync_req is DAT_FALSE), so the calls only check their
 * arguments. Between threads, the lock that each call takes orders the accesses.
 */
#include "lib/api.h"
#include "lmr.h"

/* Every segment, even an empty one, has to name an LMR of the IA; its PZ does not matter. */
static DAT_RETURN check_segments(const struct ia *ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
	if (n > 0 && !segments)
		return BAD_ARG(2);
	for (DAT_VLEN i = 0; i < n; i++) {
		const struct lmr *lmr = lmr_find(ia->adapter, segments[i].lmr_context);

		if (!lmr || lmr->obj.ia != ia || !lmr_covers(lmr, &segments[i]))
			return BAD_ARG(2);
	}
	return DAT_SUCCESS;
}

static DAT_RETURN sync_memory(DAT_IA_HANDLE handle, const DAT_LMR_TRIPLET *segments, DAT_VLEN n,
			      const char *call)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave_asked(b, obj, call, check_segments(obj->ia, segments, n));
}

DAT_RETURN dat__lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
	return sync_memory(ia, segments, n, "dat_lmr_sync_rdma_read");
}

DAT_RETURN dat__lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN n)
{
	return sync_memory(ia, segments, n, "dat_lmr_sync_rdma_write");
}
