/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that are not built yet. They say so, and the status table of the README lists them; the file
 * goes when the list is empty.
 */
#include "api.h"
#include "object.h"

#define NOT_YET DAT_FAIL(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE)

DAT_RETURN dat__rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	(void)pz_handle;
	(void)rmr_handle;
	return NOT_YET;
}

DAT_RETURN dat__rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			  DAT_RMR_PARAM *rmr_param)
{
	(void)rmr_handle;
	(void)rmr_param_mask;
	(void)rmr_param;
	return NOT_YET;
}

DAT_RETURN dat__rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
			 DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			 DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			 DAT_RMR_CONTEXT *rmr_context)
{
	(void)rmr_handle;
	(void)lmr_triplet;
	(void)mem_priv;
	(void)ep_handle;
	(void)user_cookie;
	(void)completion_flags;
	(void)rmr_context;
	return NOT_YET;
}

DAT_RETURN dat__rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	(void)rmr_handle;
	return NOT_YET;
}

DAT_RETURN dat__ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	(void)ep_handle;
	(void)num_segments;
	(void)local_iov;
	(void)user_cookie;
	(void)remote_buffer;
	(void)completion_flags;
	return NOT_YET;
}

DAT_RETURN dat__ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_buffer,
				   DAT_COMPLETION_FLAGS completion_flags)
{
	(void)ep_handle;
	(void)num_segments;
	(void)local_iov;
	(void)user_cookie;
	(void)remote_buffer;
	(void)completion_flags;
	return NOT_YET;
}
