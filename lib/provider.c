/* SPDX-License-Identifier: BSD-3-Clause */
/* provider.c - the provider table of libdat's handles, and the backend behind it. */
#include <errno.h>

#include "api.h"
#include "front.h"
#include "object.h"

const DAT_PROVIDER dat__provider = {
	.ia_open_func = dat__ia_open,
	.ia_query_func = dat__ia_query,
	.ia_close_func = dat__ia_close,
	.set_consumer_context_func = dat__set_consumer_context,
	.get_consumer_context_func = dat__get_consumer_context,
	.get_handle_type_func = dat__get_handle_type,
	.pz_create_func = dat__pz_create,
	.pz_query_func = dat__pz_query,
	.pz_free_func = dat__pz_free,
	.lmr_query_func = dat__lmr_query,
	.lmr_free_func = dat__lmr_free,
	.lmr_sync_rdma_read_func = dat__lmr_sync_rdma_read,
	.lmr_sync_rdma_write_func = dat__lmr_sync_rdma_write,
	.rmr_create_func = dat__rmr_create,
	.rmr_query_func = dat__rmr_query,
	.rmr_bind_func = dat__rmr_bind,
	.rmr_free_func = dat__rmr_free,
	.evd_resize_func = dat__evd_resize,
	.evd_post_se_func = dat__evd_post_se,
	.evd_dequeue_func = dat__evd_dequeue,
	.evd_query_func = dat__evd_query,
	.evd_free_func = dat__evd_free,
	.ep_create_func = dat__ep_create,
	.ep_create_with_srq_func = dat__ep_create_with_srq,
	.ep_query_func = dat__ep_query,
	.ep_modify_func = dat__ep_modify,
	.ep_connect_func = dat__ep_connect,
	.ep_dup_connect_func = dat__ep_dup_connect,
	.ep_disconnect_func = dat__ep_disconnect,
	.ep_post_send_func = dat__ep_post_send,
	.ep_post_recv_func = dat__ep_post_recv,
	.ep_post_rdma_read_func = dat__ep_post_rdma_read,
	.ep_post_rdma_write_func = dat__ep_post_rdma_write,
	.ep_get_status_func = dat__ep_get_status,
	.ep_reset_func = dat__ep_reset,
	.ep_free_func = dat__ep_free,
	.ep_recv_query_func = dat__ep_recv_query,
	.ep_set_watermark_func = dat__ep_set_watermark,
	.srq_create_func = dat__srq_create,
	.srq_free_func = dat__srq_free,
	.srq_post_recv_func = dat__srq_post_recv,
	.srq_query_func = dat__srq_query,
	.srq_resize_func = dat__srq_resize,
	.srq_set_lw_func = dat__srq_set_lw,
	.psp_create_func = dat__psp_create,
	.psp_create_any_func = dat__psp_create_any,
	.psp_query_func = dat__psp_query,
	.psp_free_func = dat__psp_free,
	.rsp_create_func = dat__rsp_create,
	.rsp_query_func = dat__rsp_query,
	.rsp_free_func = dat__rsp_free,
	.cr_query_func = dat__cr_query,
	.cr_accept_func = dat__cr_accept,
	.cr_reject_func = dat__cr_reject,
	.cr_handoff_func = dat__cr_handoff,
	.lmr_create_func = dat__lmr_create,
	.evd_create_func = dat__evd_create,
	.evd_modify_cno_func = dat__evd_modify_cno,
	.evd_enable_func = dat__evd_enable,
	.evd_disable_func = dat__evd_disable,
	.evd_set_unwaitable_func = dat__evd_set_unwaitable,
	.evd_clear_unwaitable_func = dat__evd_clear_unwaitable,
	.evd_wait_func = dat__evd_wait,
	.cno_create_func = dat__cno_create,
	.cno_modify_agent_func = dat__cno_modify_agent,
	.cno_query_func = dat__cno_query,
	.cno_free_func = dat__cno_free,
	.cno_wait_func = dat__cno_wait,
};

DAT_RETURN dat_backend_chosen(struct backend **backend)
{
	return dat_backend_refusal(backend_chosen(&dat_front_ops, backend));
}

DAT_RETURN dat_backend_refusal(int err)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -ENOMEM:
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	case -ENODEV:
		return DAT_FAIL(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	case -EAGAIN:
	case -ENOSPC:
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	default:
		return DAT_FAIL(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	}
}
