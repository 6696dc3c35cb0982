/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api.c - the public calls. Each finds the provider of its first handle and calls through that
 * provider's table, whether it is libdat's or a third party's.
 */
#include "api.h"
#include "handle.h"
#include "object.h"
#include "lib/registry/registry.h"

/*
 * For the calls of every message. A handle outside libdat's first range takes a separate function,
 * so that the common path here is a few loads and a jump.
 */
#define DISPATCH_FAST(func, slow, handle, ...)                          \
	do {                                                            \
		DAT_PROVIDER *provider;                                 \
                                                                        \
		if (__builtin_expect(!handle_in_range(handle, 0), 0))   \
			return slow(handle, ##__VA_ARGS__);             \
		provider = handle_slot_provider(handle);                \
		if (__builtin_expect(!provider, 0))                     \
			return slow(handle, ##__VA_ARGS__);             \
		return api_call(provider->func)(handle, ##__VA_ARGS__); \
	} while (0)

/* A third party's table may lack calls. */
#define CALL_NOT_THERE DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)

#define DISPATCH(func, bad_handle, handle, ...)                          \
	do {                                                             \
		DAT_PROVIDER *provider = handle_provider(handle);        \
                                                                         \
		if (__builtin_expect(!provider, 0))                      \
			return DAT_FAIL(DAT_INVALID_HANDLE, bad_handle); \
		if (__builtin_expect(!api_call(provider->func), 0))      \
			return CALL_NOT_THERE;                           \
		return api_call(provider->func)(handle, ##__VA_ARGS__);  \
	} while (0)

DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask, DAT_PROVIDER_ATTR *provider_attr)
{
	DISPATCH(ia_query_func, DAT_INVALID_HANDLE_IA, ia_handle, async_evd_handle, ia_attr_mask,
		 ia_attr, provider_attr_mask, provider_attr);
}

/*
 * The registry counts the open IAs of third parties: it dereferences foreign handles only while
 * there are any.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags)
{
	DAT_PROVIDER *provider = handle_provider(ia_handle);
	DAT_RETURN ret;

	if (!provider)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!provider->ia_close_func)
		return CALL_NOT_THERE;
	ret = provider->ia_close_func(ia_handle, close_flags);
	if (ret == DAT_SUCCESS)
		registry_ia_closed(ia_handle);
	return ret;
}

DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context)
{
	DISPATCH(set_consumer_context_func, DAT_INVALID_HANDLE1, dat_handle, context);
}

DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context)
{
	DISPATCH(get_consumer_context_func, DAT_INVALID_HANDLE1, dat_handle, context);
}

DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type)
{
	DISPATCH(get_handle_type_func, DAT_INVALID_HANDLE1, dat_handle, handle_type);
}

DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	DISPATCH(pz_create_func, DAT_INVALID_HANDLE_IA, ia_handle, pz_handle);
}

DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param)
{
	DISPATCH(pz_query_func, DAT_INVALID_HANDLE_PZ, pz_handle, pz_param_mask, pz_param);
}

DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle)
{
	DISPATCH(pz_free_func, DAT_INVALID_HANDLE_PZ, pz_handle);
}

DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param)
{
	DISPATCH(lmr_query_func, DAT_INVALID_HANDLE_LMR, lmr_handle, lmr_param_mask, lmr_param);
}

DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	DISPATCH(lmr_free_func, DAT_INVALID_HANDLE_LMR, lmr_handle);
}

DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments)
{
	DISPATCH(lmr_sync_rdma_read_func, DAT_INVALID_HANDLE_IA, ia_handle, local_segments,
		 num_segments);
}

DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments)
{
	DISPATCH(lmr_sync_rdma_write_func, DAT_INVALID_HANDLE_IA, ia_handle, local_segments,
		 num_segments);
}

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	DISPATCH(rmr_create_func, DAT_INVALID_HANDLE_PZ, pz_handle, rmr_handle);
}

DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param)
{
	DISPATCH(rmr_query_func, DAT_INVALID_HANDLE_RMR, rmr_handle, rmr_param_mask, rmr_param);
}

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context)
{
	DISPATCH(rmr_bind_func, DAT_INVALID_HANDLE_RMR, rmr_handle, lmr_triplet, mem_priv,
		 ep_handle, user_cookie, completion_flags, rmr_context);
}

DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	DISPATCH(rmr_free_func, DAT_INVALID_HANDLE_RMR, rmr_handle);
}

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	DISPATCH(evd_resize_func, DAT_INVALID_HANDLE1, evd_handle, evd_min_qlen);
}

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	DISPATCH(evd_post_se_func, DAT_INVALID_HANDLE1, evd_handle, event);
}

static COLD DAT_RETURN slow_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	DISPATCH(evd_dequeue_func, DAT_INVALID_HANDLE1, evd_handle, event);
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	DISPATCH_FAST(evd_dequeue_func, slow_evd_dequeue, evd_handle, event);
}

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param)
{
	DISPATCH(evd_query_func, DAT_INVALID_HANDLE1, evd_handle, evd_param_mask, evd_param);
}

DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	DISPATCH(evd_free_func, DAT_INVALID_HANDLE1, evd_handle);
}

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle)
{
	DISPATCH(ep_create_func, DAT_INVALID_HANDLE_IA, ia_handle, pz_handle, recv_evd_handle,
		 request_evd_handle, connect_evd_handle, ep_attributes, ep_handle);
}

DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle)
{
	DISPATCH(ep_create_with_srq_func, DAT_INVALID_HANDLE_IA, ia_handle, pz_handle,
		 recv_evd_handle, request_evd_handle, connect_evd_handle, srq_handle, ep_attributes,
		 ep_handle);
}

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	DISPATCH(ep_query_func, DAT_INVALID_HANDLE_EP, ep_handle, ep_param_mask, ep_param);
}

DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param)
{
	DISPATCH(ep_modify_func, DAT_INVALID_HANDLE_EP, ep_handle, ep_param_mask, ep_param);
}

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data, DAT_QOS qos,
			  DAT_CONNECT_FLAGS connect_flags)
{
	DISPATCH(ep_connect_func, DAT_INVALID_HANDLE_EP, ep_handle, remote_ia_address,
		 remote_conn_qual, timeout, private_data_size, private_data, qos, connect_flags);
}

DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
			      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS qos)
{
	DISPATCH(ep_dup_connect_func, DAT_INVALID_HANDLE_EP, ep_handle, dup_ep_handle, timeout,
		 private_data_size, private_data, qos);
}

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags)
{
	DISPATCH(ep_disconnect_func, DAT_INVALID_HANDLE_EP, ep_handle, close_flags);
}

static COLD DAT_RETURN slow_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					 DAT_COMPLETION_FLAGS completion_flags)
{
	DISPATCH(ep_post_send_func, DAT_INVALID_HANDLE_EP, ep_handle, num_segments, local_iov,
		 user_cookie, completion_flags);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	DISPATCH_FAST(ep_post_send_func, slow_ep_post_send, ep_handle, num_segments, local_iov,
		      user_cookie, completion_flags);
}

static COLD DAT_RETURN slow_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					 DAT_COMPLETION_FLAGS completion_flags)
{
	DISPATCH(ep_post_recv_func, DAT_INVALID_HANDLE_EP, ep_handle, num_segments, local_iov,
		 user_cookie, completion_flags);
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags)
{
	DISPATCH_FAST(ep_post_recv_func, slow_ep_post_recv, ep_handle, num_segments, local_iov,
		      user_cookie, completion_flags);
}

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_buffer,
				 DAT_COMPLETION_FLAGS completion_flags)
{
	DISPATCH(ep_post_rdma_read_func, DAT_INVALID_HANDLE_EP, ep_handle, num_segments, local_iov,
		 user_cookie, remote_buffer, completion_flags);
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags)
{
	DISPATCH(ep_post_rdma_write_func, DAT_INVALID_HANDLE_EP, ep_handle, num_segments, local_iov,
		 user_cookie, remote_buffer, completion_flags);
}

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	DISPATCH(ep_get_status_func, DAT_INVALID_HANDLE_EP, ep_handle, ep_state, recv_idle,
		 request_idle);
}

DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	DISPATCH(ep_reset_func, DAT_INVALID_HANDLE_EP, ep_handle);
}

DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	DISPATCH(ep_free_func, DAT_INVALID_HANDLE_EP, ep_handle);
}

DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span)
{
	DISPATCH(ep_recv_query_func, DAT_INVALID_HANDLE_EP, ep_handle, nbufs_allocated,
		 bufs_alloc_span);
}

DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark)
{
	DISPATCH(ep_set_watermark_func, DAT_INVALID_HANDLE_EP, ep_handle, soft_high_watermark,
		 hard_high_watermark);
}

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
			  DAT_SRQ_HANDLE *srq_handle)
{
	DISPATCH(srq_create_func, DAT_INVALID_HANDLE_IA, ia_handle, pz_handle, srq_attr,
		 srq_handle);
}

DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	DISPATCH(srq_free_func, DAT_INVALID_HANDLE_SRQ, srq_handle);
}

static COLD DAT_RETURN slow_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
					  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	DISPATCH(srq_post_recv_func, DAT_INVALID_HANDLE_SRQ, srq_handle, num_segments, local_iov,
		 user_cookie);
}

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	DISPATCH_FAST(srq_post_recv_func, slow_srq_post_recv, srq_handle, num_segments, local_iov,
		      user_cookie);
}

DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param)
{
	DISPATCH(srq_query_func, DAT_INVALID_HANDLE_SRQ, srq_handle, srq_param_mask, srq_param);
}

DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	DISPATCH(srq_resize_func, DAT_INVALID_HANDLE_SRQ, srq_handle, srq_max_recv_dto);
}

DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	DISPATCH(srq_set_lw_func, DAT_INVALID_HANDLE_SRQ, srq_handle, low_watermark);
}

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle)
{
	DISPATCH(psp_create_func, DAT_INVALID_HANDLE_IA, ia_handle, conn_qual, evd_handle,
		 psp_flags, psp_handle);
}

DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle)
{
	DISPATCH(psp_create_any_func, DAT_INVALID_HANDLE_IA, ia_handle, conn_qual, evd_handle,
		 psp_flags, psp_handle);
}

DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param)
{
	DISPATCH(psp_query_func, DAT_INVALID_HANDLE_PSP, psp_handle, psp_param_mask, psp_param);
}

DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle)
{
	DISPATCH(psp_free_func, DAT_INVALID_HANDLE_PSP, psp_handle);
}

DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual, DAT_EP_HANDLE ep_handle,
			  DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_handle)
{
	DISPATCH(rsp_create_func, DAT_INVALID_HANDLE_IA, ia_handle, conn_qual, ep_handle,
		 evd_handle, rsp_handle);
}

DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param)
{
	DISPATCH(rsp_query_func, DAT_INVALID_HANDLE_RSP, rsp_handle, rsp_param_mask, rsp_param);
}

DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	DISPATCH(rsp_free_func, DAT_INVALID_HANDLE_RSP, rsp_handle);
}

DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param)
{
	DISPATCH(cr_query_func, DAT_INVALID_HANDLE_CR, cr_handle, cr_param_mask, cr_param);
}

DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size, const DAT_PVOID private_data)
{
	DISPATCH(cr_accept_func, DAT_INVALID_HANDLE_CR, cr_handle, ep_handle, private_data_size,
		 private_data);
}

DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle)
{
	DISPATCH(cr_reject_func, DAT_INVALID_HANDLE_CR, cr_handle);
}

DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff)
{
	DISPATCH(cr_handoff_func, DAT_INVALID_HANDLE_CR, cr_handle, handoff);
}

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			  DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS mem_privileges,
			  DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			  DAT_VADDR *registered_address)
{
	DISPATCH(lmr_create_func, DAT_INVALID_HANDLE_IA, ia_handle, mem_type, region_description,
		 length, pz_handle, mem_privileges, lmr_handle, lmr_context, rmr_context,
		 registered_length, registered_address);
}

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			  DAT_EVD_HANDLE *evd_handle)
{
	DISPATCH(evd_create_func, DAT_INVALID_HANDLE_IA, ia_handle, evd_min_qlen, cno_handle,
		 evd_flags, evd_handle);
}

DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle)
{
	DISPATCH(evd_modify_cno_func, DAT_INVALID_HANDLE1, evd_handle, cno_handle);
}

DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	DISPATCH(evd_enable_func, DAT_INVALID_HANDLE1, evd_handle);
}

DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	DISPATCH(evd_disable_func, DAT_INVALID_HANDLE1, evd_handle);
}

DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	DISPATCH(evd_set_unwaitable_func, DAT_INVALID_HANDLE1, evd_handle);
}

DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	DISPATCH(evd_clear_unwaitable_func, DAT_INVALID_HANDLE1, evd_handle);
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *nmore)
{
	DISPATCH(evd_wait_func, DAT_INVALID_HANDLE1, evd_handle, timeout, threshold, event, nmore);
}

DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle)
{
	DISPATCH(cno_create_func, DAT_INVALID_HANDLE_IA, ia_handle, agent, cno_handle);
}

DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	DISPATCH(cno_modify_agent_func, DAT_INVALID_HANDLE_CNO, cno_handle, agent);
}

DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param)
{
	DISPATCH(cno_query_func, DAT_INVALID_HANDLE_CNO, cno_handle, cno_param_mask, cno_param);
}

DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	DISPATCH(cno_free_func, DAT_INVALID_HANDLE_CNO, cno_handle);
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle)
{
	DISPATCH(cno_wait_func, DAT_INVALID_HANDLE_CNO, cno_handle, timeout, evd_handle);
}
