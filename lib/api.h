/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api.h - libdat's implementation of every call, as listed in its provider table.
 *
 * The public dat_xxx (api.c) finds the provider of its handle and calls through that provider's
 * table; for libdat's own handles this leads to dat__xxx, which returns DAT_INVALID_HANDLE for any
 * other handle.
 */
#ifndef LIB_API_H
#define LIB_API_H

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#include "host/bias.h"

extern const DAT_PROVIDER dat__provider;

/*
 * An entry of a provider table may change while other threads call through it (lib/path/path.h):
 * they get the old function or the new one, and either is good for them. The processor loads a
 * pointer whole in any case; as a plain load it is part of the jump, and costs no instruction.
 * ThreadSanitizer has to be told.
 */
#define api_set_call(entry, func) __atomic_store_n(entry, func, __ATOMIC_RELAXED)
#ifdef BIAS_SANITIZED
#define api_call(entry) __atomic_load_n(&(entry), __ATOMIC_RELAXED)
#else
#define api_call(entry) (entry)
#endif

DAT_RETURN dat__ia_open(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle);
DAT_RETURN dat__ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			 DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			 DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			 DAT_PROVIDER_ATTR *provider_attr);
DAT_RETURN dat__ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags);
DAT_RETURN dat__set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context);
DAT_RETURN dat__get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context);
DAT_RETURN dat__get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type);
DAT_RETURN dat__pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);
DAT_RETURN dat__pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			 DAT_PZ_PARAM *pz_param);
DAT_RETURN dat__pz_free(DAT_PZ_HANDLE pz_handle);
DAT_RETURN dat__lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			  DAT_LMR_PARAM *lmr_param);
DAT_RETURN dat__lmr_free(DAT_LMR_HANDLE lmr_handle);
DAT_RETURN dat__lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments);
DAT_RETURN dat__lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				    DAT_VLEN num_segments);
DAT_RETURN dat__rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);
DAT_RETURN dat__rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			  DAT_RMR_PARAM *rmr_param);
DAT_RETURN dat__rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
			 DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			 DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			 DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN dat__rmr_free(DAT_RMR_HANDLE rmr_handle);
DAT_RETURN dat__evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);
DAT_RETURN dat__evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);
DAT_RETURN dat__evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);
DAT_RETURN dat__evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			  DAT_EVD_PARAM *evd_param);
DAT_RETURN dat__evd_free(DAT_EVD_HANDLE evd_handle);
DAT_RETURN dat__ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			  DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			  DAT_EP_HANDLE *ep_handle);
DAT_RETURN dat__ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				   DAT_EVD_HANDLE recv_evd_handle,
				   DAT_EVD_HANDLE request_evd_handle,
				   DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
				   const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle);
DAT_RETURN dat__ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 DAT_EP_PARAM *ep_param);
DAT_RETURN dat__ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			  const DAT_EP_PARAM *ep_param);
DAT_RETURN dat__ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			   DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			   DAT_COUNT private_data_size, const DAT_PVOID private_data, DAT_QOS qos,
			   DAT_CONNECT_FLAGS connect_flags);
DAT_RETURN dat__ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
			       DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			       const DAT_PVOID private_data, DAT_QOS qos);
DAT_RETURN dat__ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags);
DAT_RETURN dat__ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat__ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat__ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat__ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_buffer,
				   DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat__ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			      DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);
DAT_RETURN dat__ep_reset(DAT_EP_HANDLE ep_handle);
DAT_RETURN dat__ep_free(DAT_EP_HANDLE ep_handle);
DAT_RETURN dat__ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			      DAT_COUNT *bufs_alloc_span);
DAT_RETURN dat__ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				 DAT_COUNT hard_high_watermark);
DAT_RETURN dat__srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
			   DAT_SRQ_HANDLE *srq_handle);
DAT_RETURN dat__srq_free(DAT_SRQ_HANDLE srq_handle);
DAT_RETURN dat__srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			      DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie);
DAT_RETURN dat__srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			  DAT_SRQ_PARAM *srq_param);
DAT_RETURN dat__srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto);
DAT_RETURN dat__srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);
DAT_RETURN dat__psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			   DAT_PSP_HANDLE *psp_handle);
DAT_RETURN dat__psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			       DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			       DAT_PSP_HANDLE *psp_handle);
DAT_RETURN dat__psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			  DAT_PSP_PARAM *psp_param);
DAT_RETURN dat__psp_free(DAT_PSP_HANDLE psp_handle);
DAT_RETURN dat__rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			   DAT_RSP_HANDLE *rsp_handle);
DAT_RETURN dat__rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			  DAT_RSP_PARAM *rsp_param);
DAT_RETURN dat__rsp_free(DAT_RSP_HANDLE rsp_handle);
DAT_RETURN dat__cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			 DAT_CR_PARAM *cr_param);
DAT_RETURN dat__cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data);
DAT_RETURN dat__cr_reject(DAT_CR_HANDLE cr_handle);
DAT_RETURN dat__cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);
DAT_RETURN dat__lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			   DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS mem_privileges,
			   DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address);
DAT_RETURN dat__evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			   DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			   DAT_EVD_HANDLE *evd_handle);
DAT_RETURN dat__evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle);
DAT_RETURN dat__evd_enable(DAT_EVD_HANDLE evd_handle);
DAT_RETURN dat__evd_disable(DAT_EVD_HANDLE evd_handle);
DAT_RETURN dat__evd_set_unwaitable(DAT_EVD_HANDLE evd_handle);
DAT_RETURN dat__evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle);
DAT_RETURN dat__evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			 DAT_EVENT *event, DAT_COUNT *nmore);
DAT_RETURN dat__cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			   DAT_CNO_HANDLE *cno_handle);
DAT_RETURN dat__cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent);
DAT_RETURN dat__cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
			  DAT_CNO_PARAM *cno_param);
DAT_RETURN dat__cno_free(DAT_CNO_HANDLE cno_handle);
DAT_RETURN dat__cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			 DAT_EVD_HANDLE *evd_handle);

/* dat_evd_dequeue in a private world that is traced: host/path.h. */
DAT_RETURN dat__evd_dequeue_traced(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);
/* The calls of every message in a shared fabric: host/quick.c. */
DAT_RETURN dat__evd_dequeue_biased(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);
DAT_RETURN dat__ep_post_send_biased(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				    DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat__ep_post_recv_biased(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				    DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat__srq_post_recv_biased(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
				     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie);
/* The same on hardware: lib/path/quick_hw.c. */
DAT_RETURN dat__evd_dequeue_hw(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);
DAT_RETURN dat__ep_post_send_hw(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat__ep_post_recv_hw(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat__srq_post_recv_hw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie);
/* The same where every call has to take the lock: host/path.h. */
DAT_RETURN dat__evd_dequeue_careful(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);
DAT_RETURN dat__ep_post_send_careful(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				     DAT_COMPLETION_FLAGS completion_flags);
DAT_RETURN dat__ep_post_recv_careful(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				     DAT_COMPLETION_FLAGS completion_flags);

#endif /* LIB_API_H */
