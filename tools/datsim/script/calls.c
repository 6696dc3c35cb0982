/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The call table of calls.h: for each uDAPL call, a function that calls it and a row that describes
 * its parameters.
 */
#include "calls.h"

#include <string.h>

#include <dat/dat_registry.h>

/*
 * One function a call, which passes args[] on. args[n] holds the value of parameter n, or a pointer
 * if the parameter is an output. Numbers are cast to the type that the prototype wants.
 */
#define H(n) (args[n].handle)
#define P(n) (args[n].pointer)
#define C(n) (args[n].count)
#define N(n) (args[n].number)
#define MAKE(call, ...)                                       \
	static DAT_RETURN make_##call(union call_value *args) \
	{                                                     \
		return call(__VA_ARGS__);                     \
	}

/* clang-format off */
MAKE(dat_ia_openv, P(0), C(1), P(2), P(3), (DAT_UINT32)N(4), (DAT_UINT32)N(5), (DAT_BOOLEAN)N(6))
MAKE(dat_ia_query, H(0), P(1), N(2), P(3), N(4), P(5))
MAKE(dat_ia_close, H(0), (DAT_CLOSE_FLAGS)N(1))
MAKE(dat_set_consumer_context, H(0), args[1].context)
MAKE(dat_get_consumer_context, H(0), P(1))
MAKE(dat_get_handle_type, H(0), P(1))
MAKE(dat_pz_create, H(0), P(1))
MAKE(dat_pz_query, H(0), (DAT_PZ_PARAM_MASK)N(1), P(2))
MAKE(dat_pz_free, H(0))
MAKE(dat_lmr_create, H(0), (DAT_MEM_TYPE)N(1), args[2].region, N(3), H(4), (DAT_MEM_PRIV_FLAGS)N(5),
     P(6), P(7), P(8), P(9), P(10))
MAKE(dat_lmr_query, H(0), (DAT_LMR_PARAM_MASK)N(1), P(2))
MAKE(dat_lmr_free, H(0))
MAKE(dat_lmr_sync_rdma_read, H(0), P(1), N(2))
MAKE(dat_lmr_sync_rdma_write, H(0), P(1), N(2))
MAKE(dat_rmr_create, H(0), P(1))
MAKE(dat_rmr_query, H(0), (DAT_RMR_PARAM_MASK)N(1), P(2))
MAKE(dat_rmr_bind, H(0), P(1), (DAT_MEM_PRIV_FLAGS)N(2), H(3), args[4].context,
     (DAT_COMPLETION_FLAGS)N(5), P(6))
MAKE(dat_rmr_free, H(0))
MAKE(dat_evd_create, H(0), C(1), H(2), (DAT_EVD_FLAGS)N(3), P(4))
MAKE(dat_evd_query, H(0), (DAT_EVD_PARAM_MASK)N(1), P(2))
MAKE(dat_evd_modify_cno, H(0), H(1))
MAKE(dat_evd_enable, H(0))
MAKE(dat_evd_disable, H(0))
MAKE(dat_evd_set_unwaitable, H(0))
MAKE(dat_evd_clear_unwaitable, H(0))
MAKE(dat_evd_wait, H(0), (DAT_TIMEOUT)N(1), C(2), P(3), P(4))
MAKE(dat_evd_dequeue, H(0), P(1))
MAKE(dat_evd_resize, H(0), C(1))
MAKE(dat_evd_post_se, H(0), P(1))
MAKE(dat_evd_free, H(0))
MAKE(dat_cno_create, H(0), args[1].agent, P(2))
MAKE(dat_cno_modify_agent, H(0), args[1].agent)
MAKE(dat_cno_query, H(0), (DAT_CNO_PARAM_MASK)N(1), P(2))
MAKE(dat_cno_wait, H(0), (DAT_TIMEOUT)N(1), P(2))
MAKE(dat_cno_free, H(0))
MAKE(dat_ep_create, H(0), H(1), H(2), H(3), H(4), P(5), P(6))
MAKE(dat_ep_create_with_srq, H(0), H(1), H(2), H(3), H(4), H(5), P(6), P(7))
MAKE(dat_ep_query, H(0), N(1), P(2))
MAKE(dat_ep_modify, H(0), N(1), P(2))
MAKE(dat_ep_connect, H(0), P(1), N(2), (DAT_TIMEOUT)N(3), C(4), P(5), (DAT_QOS)N(6),
     (DAT_CONNECT_FLAGS)N(7))
MAKE(dat_ep_dup_connect, H(0), H(1), (DAT_TIMEOUT)N(2), C(3), P(4), (DAT_QOS)N(5))
MAKE(dat_ep_disconnect, H(0), (DAT_CLOSE_FLAGS)N(1))
MAKE(dat_ep_post_send, H(0), C(1), P(2), args[3].context, (DAT_COMPLETION_FLAGS)N(4))
MAKE(dat_ep_post_recv, H(0), C(1), P(2), args[3].context, (DAT_COMPLETION_FLAGS)N(4))
MAKE(dat_ep_post_rdma_read, H(0), C(1), P(2), args[3].context, P(4), (DAT_COMPLETION_FLAGS)N(5))
MAKE(dat_ep_post_rdma_write, H(0), C(1), P(2), args[3].context, P(4), (DAT_COMPLETION_FLAGS)N(5))
MAKE(dat_ep_get_status, H(0), P(1), P(2), P(3))
MAKE(dat_ep_reset, H(0))
MAKE(dat_ep_free, H(0))
MAKE(dat_ep_recv_query, H(0), P(1), P(2))
MAKE(dat_ep_set_watermark, H(0), C(1), C(2))
MAKE(dat_srq_create, H(0), H(1), P(2), P(3))
MAKE(dat_srq_free, H(0))
MAKE(dat_srq_post_recv, H(0), C(1), P(2), args[3].context)
MAKE(dat_srq_query, H(0), (DAT_SRQ_PARAM_MASK)N(1), P(2))
MAKE(dat_srq_resize, H(0), C(1))
MAKE(dat_srq_set_lw, H(0), C(1))
MAKE(dat_psp_create, H(0), N(1), H(2), (DAT_PSP_FLAGS)N(3), P(4))
MAKE(dat_psp_create_any, H(0), P(1), H(2), (DAT_PSP_FLAGS)N(3), P(4))
MAKE(dat_psp_query, H(0), (DAT_PSP_PARAM_MASK)N(1), P(2))
MAKE(dat_psp_free, H(0))
MAKE(dat_rsp_create, H(0), N(1), H(2), H(3), P(4))
MAKE(dat_rsp_query, H(0), (DAT_RSP_PARAM_MASK)N(1), P(2))
MAKE(dat_rsp_free, H(0))
MAKE(dat_cr_query, H(0), (DAT_CR_PARAM_MASK)N(1), P(2))
MAKE(dat_cr_accept, H(0), H(1), C(2), P(3))
MAKE(dat_cr_reject, H(0))
MAKE(dat_cr_handoff, H(0), N(1))
MAKE(dat_strerror, (DAT_RETURN)N(0), P(1), P(2))
MAKE(dat_registry_list_providers, C(0), P(1), P(2))
MAKE(dat_registry_add_provider, P(0), P(1))
MAKE(dat_registry_remove_provider, P(0), P(1))

#define OBJECT(n, t) { .name = #n, .kind = PARAM_HANDLE, .type = DAT_HANDLE_TYPE_##t }
#define OBJECT_OR_NONE(n, t) \
	{ .name = #n, .kind = PARAM_HANDLE, .type = DAT_HANDLE_TYPE_##t, .optional = true }
#define ANY_OBJECT(n) { .name = #n, .kind = PARAM_HANDLE, .type = -1 }
#define COUNT(n) { .name = #n, .kind = PARAM_NUMBER, .group = GROUP_COUNT, .is_signed = true }
#define COUNT_OR(n, d) \
	{ .name = #n, .kind = PARAM_NUMBER, .group = GROUP_COUNT, .is_signed = true, \
	  .optional = true, .standard = d }
#define WIDE(n) { .name = #n, .kind = PARAM_NUMBER }
#define WIDE_OR(n, d) \
	{ .name = #n, .kind = PARAM_NUMBER, .optional = true, .named_only = true, .standard = d }
#define FLAGS(n, g) { .name = #n, .kind = PARAM_NUMBER, .group = g }
#define FLAGS_OR(n, g, d) \
	{ .name = #n, .kind = PARAM_NUMBER, .group = g, .optional = true, .standard = d }
#define MASK(n, g, d) FLAGS_OR(n, g, d)
#define WAIT(n) { .name = #n, .kind = PARAM_TIMEOUT, .group = GROUP_TIMEOUT, .finite = true }
#define TIMEOUT_OR(n, d) \
	{ .name = #n, .kind = PARAM_TIMEOUT, .group = GROUP_TIMEOUT, .optional = true, \
	  .standard = d }
#define TAKES(n, l) { .name = #n, .kind = PARAM_STRUCT, .layout = &layout_##l }
#define TAKES_OR_NONE(n, l) \
	{ .name = #n, .kind = PARAM_STRUCT, .layout = &layout_##l, .optional = true }
#define SEGMENTS \
	{ .name = "num_segments", .kind = PARAM_SEGMENT_COUNT, .group = GROUP_COUNT, \
	  .optional = true }, \
	{ .name = "local_iov", .kind = PARAM_SEGMENTS }
#define POST SEGMENTS, \
	{ .name = "user_cookie", .kind = PARAM_COOKIE, .optional = true }
#define SIZE { .name = "private_data_size", .kind = PARAM_DATA_SIZE, .group = GROUP_COUNT, \
	       .optional = true, .named_only = true }
#define DATA { .name = "private_data", .kind = PARAM_DATA, .optional = true }
#define NEW(n, t) \
	{ .name = #n, .kind = PARAM_OUT_HANDLE, .type = DAT_HANDLE_TYPE_##t, .optional = true }
#define OLD(n, t) \
	{ .name = #n, .kind = PARAM_OUT_HANDLE, .type = DAT_HANDLE_TYPE_##t, .optional = true, \
	  .borrowed = true }
#define GIVES_STRUCT(n, l) \
	{ .name = #n, .kind = PARAM_OUT_STRUCT, .layout = &layout_##l, .optional = true }
#define GIVES(n, t, g) \
	{ .name = #n, .kind = PARAM_OUT_NUMBER, .size = sizeof(t), .group = g, .optional = true }
#define GIVES_COUNT(n) \
	{ .name = #n, .kind = PARAM_OUT_NUMBER, .size = sizeof(DAT_COUNT), .is_signed = true, \
	  .group = GROUP_COUNT, .optional = true }
#define GIVES_EVENT(n) { .name = #n, .kind = PARAM_OUT_EVENT, .optional = true }
#define ROW(n, ...) { .name = #n, .make = make_##n, .params = { __VA_ARGS__ } }
#define ROW_OF(n, e, ...) \
	{ .name = #n, .make = make_##n, .effect = CALL_##e, .params = { __VA_ARGS__ } }
#define ROW_FREES(n, ...) ROW_OF(n, FREES, __VA_ARGS__)
#define ROW_CLOSES(n, ...) ROW_OF(n, CLOSES, __VA_ARGS__)
#define ROW_SENDS(n, ...) ROW_OF(n, SENDS, __VA_ARGS__)
#define ROW_RECEIVES(n, ...) ROW_OF(n, RECEIVES, __VA_ARGS__)
#define ROW_RESETS(n, ...) ROW_OF(n, RESETS, __VA_ARGS__)
#define ROW_WRITES(n, ...) ROW_OF(n, WRITES, __VA_ARGS__)
#define ROW_READS(n, ...) ROW_OF(n, READS, __VA_ARGS__)
#define ROW_BINDS(n, ...) ROW_OF(n, BINDS, __VA_ARGS__)
#define ROW_ANSWERS(n, ...) ROW_OF(n, ANSWERS, __VA_ARGS__)
#define ROW_ADDS(n, ...) ROW_OF(n, ADDS, __VA_ARGS__)
#define ROW_REMOVES(n, ...) ROW_OF(n, REMOVES, __VA_ARGS__)
#define GIVES_TEXT(n) { .name = #n, .kind = PARAM_OUT_TEXT, .optional = true }
#define POSTED { .name = "user_cookie", .kind = PARAM_COOKIE, .optional = true }, \
	FLAGS_OR(completion_flags, GROUP_COMPLETION, 0)
#define POSTED_AT(n) \
	{ .name = "user_cookie", .kind = PARAM_COOKIE, .optional = true, .named_only = true }, \
	{ .name = #n, .kind = PARAM_REMOTE }, FLAGS_OR(completion_flags, GROUP_COMPLETION, 0)
#define SYNC OBJECT(ia_handle, IA), { .name = "local_segments", .kind = PARAM_SPAN }, \
	{ .name = "num_segments", .kind = PARAM_LENGTH, .optional = true }
#define OPEN \
	{ .name = "ia_name", .kind = PARAM_NAME }, COUNT_OR(async_evd_min_qlen, 8), \
	{ .name = "async_evd_handle", .kind = PARAM_INOUT_HANDLE, .type = DAT_HANDLE_TYPE_EVD, \
	  .optional = true, .named_only = true, .borrowed = true }, NEW(ia_handle, IA), \
	WIDE_OR(dat_major, DAT_VERSION_MAJOR), WIDE_OR(dat_minor, DAT_VERSION_MINOR), \
	{ .name = "thread_safety", .kind = PARAM_NUMBER, .group = GROUP_BOOLEAN, \
	  .optional = true, .named_only = true, .standard = DAT_THREADSAFE }
#define PROVIDER { .name = "provider", .kind = PARAM_PROVIDER, .optional = true, \
		   .named_only = true }
#define AGENT(o) { .name = "agent", .kind = PARAM_AGENT, .optional = o, .named_only = o }

/* In the order of the manual: adapter, memory, events, Endpoints, shared queues, listeners. */
static const struct call_row rows[] = {
	/* Programs write dat_ia_open, a macro that calls dat_ia_openv. */
	{ .name = "dat_ia_open", .make = make_dat_ia_openv, .params = { OPEN } },
	ROW(dat_ia_openv, OPEN),
	ROW(dat_ia_query,
	    OBJECT(ia_handle, IA), OLD(async_evd_handle, EVD),
	    MASK(ia_attr_mask, GROUP_IA_MASK, DAT_IA_FIELD_ALL), GIVES_STRUCT(ia_attr, ia_attr),
	    MASK(provider_attr_mask, GROUP_PROVIDER_MASK, DAT_PROVIDER_FIELD_ALL),
	    GIVES_STRUCT(provider_attr, provider_attr)),
	ROW_CLOSES(dat_ia_close,
	    OBJECT(ia_handle, IA), FLAGS_OR(close_flags, GROUP_CLOSE, DAT_CLOSE_DEFAULT)),
	ROW(dat_set_consumer_context,
	    ANY_OBJECT(dat_handle), { .name = "context", .kind = PARAM_CONTEXT }),
	ROW(dat_get_consumer_context,
	    ANY_OBJECT(dat_handle), GIVES(context, DAT_UINT64, GROUP_NONE)),
	ROW(dat_get_handle_type,
	    ANY_OBJECT(dat_handle), GIVES(handle_type, DAT_HANDLE_TYPE, GROUP_HANDLE_TYPE)),

	ROW(dat_pz_create, OBJECT(ia_handle, IA), NEW(pz_handle, PZ)),
	ROW(dat_pz_query,
	    OBJECT(pz_handle, PZ), MASK(pz_param_mask, GROUP_PZ_MASK, DAT_PZ_FIELD_ALL),
	    GIVES_STRUCT(pz_param, pz_param)),
	ROW_FREES(dat_pz_free, OBJECT(pz_handle, PZ)),
	ROW(dat_lmr_create,
	    OBJECT(ia_handle, IA),
	    { .name = "mem_type", .kind = PARAM_NUMBER, .group = GROUP_MEM_TYPE, .optional = true,
	      .named_only = true, .standard = DAT_MEM_TYPE_VIRTUAL },
	    { .name = "region_description", .kind = PARAM_REGION, .optional = true,
	      .named_only = true }, WIDE(length), OBJECT(pz_handle, PZ),
	    FLAGS_OR(mem_privileges, GROUP_MEM_PRIV,
	      DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG), NEW(lmr_handle, LMR),
	    GIVES(lmr_context, DAT_LMR_CONTEXT, GROUP_NONE),
	    GIVES(rmr_context, DAT_RMR_CONTEXT, GROUP_NONE),
	    GIVES(registered_length, DAT_VLEN, GROUP_NONE),
	    GIVES(registered_address, DAT_VADDR, GROUP_NONE)),
	ROW(dat_lmr_query,
	    OBJECT(lmr_handle, LMR), MASK(lmr_param_mask, GROUP_LMR_MASK, DAT_LMR_FIELD_ALL),
	    GIVES_STRUCT(lmr_param, lmr_param)),
	ROW_FREES(dat_lmr_free, OBJECT(lmr_handle, LMR)),
	ROW(dat_lmr_sync_rdma_read, SYNC),
	ROW(dat_lmr_sync_rdma_write, SYNC),
	ROW(dat_rmr_create, OBJECT(pz_handle, PZ), NEW(rmr_handle, RMR)),
	ROW(dat_rmr_query,
	    OBJECT(rmr_handle, RMR), MASK(rmr_param_mask, GROUP_RMR_MASK, DAT_RMR_FIELD_ALL),
	    GIVES_STRUCT(rmr_param, rmr_param)),
	ROW_BINDS(dat_rmr_bind,
	    OBJECT(rmr_handle, RMR), { .name = "lmr_triplet", .kind = PARAM_TRIPLET },
	    FLAGS(mem_privileges, GROUP_MEM_PRIV), OBJECT(ep_handle, EP), POSTED,
	    GIVES(rmr_context, DAT_RMR_CONTEXT, GROUP_NONE)),
	ROW_FREES(dat_rmr_free, OBJECT(rmr_handle, RMR)),

	ROW(dat_evd_create,
	    OBJECT(ia_handle, IA), COUNT(evd_min_qlen), OBJECT_OR_NONE(cno_handle, CNO),
	    FLAGS(evd_flags, GROUP_EVD_FLAGS), NEW(evd_handle, EVD)),
	ROW(dat_evd_query,
	    OBJECT(evd_handle, EVD), MASK(evd_param_mask, GROUP_EVD_MASK, DAT_EVD_FIELD_ALL),
	    GIVES_STRUCT(evd_param, evd_param)),
	ROW(dat_evd_modify_cno, OBJECT(evd_handle, EVD), OBJECT_OR_NONE(cno_handle, CNO)),
	ROW(dat_evd_enable, OBJECT(evd_handle, EVD)),
	ROW(dat_evd_disable, OBJECT(evd_handle, EVD)),
	ROW(dat_evd_set_unwaitable, OBJECT(evd_handle, EVD)),
	ROW(dat_evd_clear_unwaitable, OBJECT(evd_handle, EVD)),
	ROW(dat_evd_wait,
	    OBJECT(evd_handle, EVD), WAIT(timeout), COUNT_OR(threshold, 1), GIVES_EVENT(event),
	    { .name = "nmore", .kind = PARAM_OUT_NUMBER, .size = sizeof(DAT_COUNT),
	      .is_signed = true, .optional = true, .written_on_failure = true }),
	ROW(dat_evd_dequeue, OBJECT(evd_handle, EVD), GIVES_EVENT(event)),
	ROW(dat_evd_resize, OBJECT(evd_handle, EVD), COUNT(evd_min_qlen)),
	ROW(dat_evd_post_se, OBJECT(evd_handle, EVD), { .name = "event", .kind = PARAM_EVENT }),
	ROW_FREES(dat_evd_free, OBJECT(evd_handle, EVD)),
	ROW(dat_cno_create,
	    OBJECT(ia_handle, IA),
	    AGENT(true),
	    NEW(cno_handle, CNO)),
	ROW(dat_cno_modify_agent, OBJECT(cno_handle, CNO), AGENT(false)),
	ROW(dat_cno_query,
	    OBJECT(cno_handle, CNO), MASK(cno_param_mask, GROUP_CNO_MASK, DAT_CNO_FIELD_ALL),
	    GIVES_STRUCT(cno_param, cno_param)),
	ROW(dat_cno_wait,
	    OBJECT(cno_handle, CNO), WAIT(timeout),
	    { .name = "evd_handle", .kind = PARAM_OUT_HANDLE, .type = DAT_HANDLE_TYPE_EVD,
	      .optional = true, .borrowed = true, .written_on_failure = true }),
	ROW_FREES(dat_cno_free, OBJECT(cno_handle, CNO)),

	ROW(dat_ep_create,
	    OBJECT(ia_handle, IA), OBJECT(pz_handle, PZ), OBJECT(recv_evd_handle, EVD),
	    OBJECT(request_evd_handle, EVD), OBJECT(connect_evd_handle, EVD),
	    TAKES_OR_NONE(ep_attributes, ep_attr), NEW(ep_handle, EP)),
	ROW(dat_ep_create_with_srq,
	    OBJECT(ia_handle, IA), OBJECT(pz_handle, PZ), OBJECT(recv_evd_handle, EVD),
	    OBJECT(request_evd_handle, EVD), OBJECT(connect_evd_handle, EVD),
	    OBJECT(srq_handle, SRQ), TAKES(ep_attributes, ep_attr), NEW(ep_handle, EP)),
	ROW(dat_ep_query,
	    OBJECT(ep_handle, EP), MASK(ep_param_mask, GROUP_EP_MASK, DAT_EP_FIELD_ALL),
	    GIVES_STRUCT(ep_param, ep_param)),
	ROW(dat_ep_modify,
	    OBJECT(ep_handle, EP),
	    { .name = "ep_param_mask", .kind = PARAM_MASK_OF_STRUCT, .group = GROUP_EP_MASK,
	      .optional = true }, TAKES(ep_param, ep_param)),
	ROW(dat_ep_connect,
	    OBJECT(ep_handle, EP), { .name = "remote_ia_address", .kind = PARAM_ADDRESS },
	    WIDE(remote_conn_qual), TIMEOUT_OR(timeout, DAT_TIMEOUT_INFINITE), SIZE, DATA,
	    FLAGS_OR(qos, GROUP_QOS, DAT_QOS_BEST_EFFORT),
	    FLAGS_OR(connect_flags, GROUP_CONNECT, DAT_CONNECT_DEFAULT_FLAG)),
	ROW(dat_ep_dup_connect,
	    OBJECT(ep_handle, EP), OBJECT(dup_ep_handle, EP),
	    TIMEOUT_OR(timeout, DAT_TIMEOUT_INFINITE), SIZE, DATA,
	    FLAGS_OR(qos, GROUP_QOS, DAT_QOS_BEST_EFFORT)),
	ROW(dat_ep_disconnect,
	    OBJECT(ep_handle, EP), FLAGS_OR(close_flags, GROUP_CLOSE, DAT_CLOSE_DEFAULT)),
	ROW_SENDS(dat_ep_post_send,
	    OBJECT(ep_handle, EP), POST, FLAGS_OR(completion_flags, GROUP_COMPLETION, 0)),
	ROW_RECEIVES(dat_ep_post_recv,
	    OBJECT(ep_handle, EP), POST, FLAGS_OR(completion_flags, GROUP_COMPLETION, 0)),
	ROW_READS(dat_ep_post_rdma_read,
	    OBJECT(ep_handle, EP), SEGMENTS, POSTED_AT(remote_buffer)),
	ROW_WRITES(dat_ep_post_rdma_write,
	    OBJECT(ep_handle, EP), SEGMENTS, POSTED_AT(remote_buffer)),
	ROW(dat_ep_get_status,
	    OBJECT(ep_handle, EP), GIVES(ep_state, DAT_EP_STATE, GROUP_EP_STATE),
	    GIVES(recv_idle, DAT_BOOLEAN, GROUP_BOOLEAN),
	    GIVES(request_idle, DAT_BOOLEAN, GROUP_BOOLEAN)),
	ROW_RESETS(dat_ep_reset, OBJECT(ep_handle, EP)),
	ROW_FREES(dat_ep_free, OBJECT(ep_handle, EP)),
	ROW(dat_ep_recv_query,
	    OBJECT(ep_handle, EP), GIVES_COUNT(nbufs_allocated), GIVES_COUNT(bufs_alloc_span)),
	ROW(dat_ep_set_watermark,
	    OBJECT(ep_handle, EP), COUNT(soft_high_watermark), COUNT(hard_high_watermark)),

	ROW(dat_srq_create,
	    OBJECT(ia_handle, IA), OBJECT(pz_handle, PZ), TAKES(srq_attr, srq_attr),
	    NEW(srq_handle, SRQ)),
	ROW_FREES(dat_srq_free, OBJECT(srq_handle, SRQ)),
	ROW_RECEIVES(dat_srq_post_recv, OBJECT(srq_handle, SRQ), POST),
	ROW(dat_srq_query,
	    OBJECT(srq_handle, SRQ), MASK(srq_param_mask, GROUP_SRQ_MASK, DAT_SRQ_FIELD_ALL),
	    GIVES_STRUCT(srq_param, srq_param)),
	ROW(dat_srq_resize, OBJECT(srq_handle, SRQ), COUNT(srq_max_recv_dto)),
	ROW(dat_srq_set_lw, OBJECT(srq_handle, SRQ), COUNT(low_watermark)),

	ROW(dat_psp_create,
	    OBJECT(ia_handle, IA), WIDE(conn_qual), OBJECT(evd_handle, EVD),
	    FLAGS_OR(psp_flags, GROUP_PSP_FLAGS, DAT_PSP_CONSUMER_FLAG), NEW(psp_handle, PSP)),
	ROW(dat_psp_create_any,
	    OBJECT(ia_handle, IA), GIVES(conn_qual, DAT_CONN_QUAL, GROUP_NONE),
	    OBJECT(evd_handle, EVD), FLAGS_OR(psp_flags, GROUP_PSP_FLAGS, DAT_PSP_CONSUMER_FLAG),
	    NEW(psp_handle, PSP)),
	ROW(dat_psp_query,
	    OBJECT(psp_handle, PSP), MASK(psp_param_mask, GROUP_PSP_MASK, DAT_PSP_FIELD_ALL),
	    GIVES_STRUCT(psp_param, psp_param)),
	ROW_FREES(dat_psp_free, OBJECT(psp_handle, PSP)),
	ROW(dat_rsp_create,
	    OBJECT(ia_handle, IA), WIDE(conn_qual), OBJECT_OR_NONE(ep_handle, EP),
	    OBJECT(evd_handle, EVD), NEW(rsp_handle, RSP)),
	ROW(dat_rsp_query,
	    OBJECT(rsp_handle, RSP), MASK(rsp_param_mask, GROUP_RSP_MASK, DAT_RSP_FIELD_ALL),
	    GIVES_STRUCT(rsp_param, rsp_param)),
	ROW_FREES(dat_rsp_free, OBJECT(rsp_handle, RSP)),
	ROW(dat_cr_query,
	    OBJECT(cr_handle, CR), MASK(cr_param_mask, GROUP_CR_MASK, DAT_CR_FIELD_ALL),
	    GIVES_STRUCT(cr_param, cr_param)),
	ROW_ANSWERS(dat_cr_accept, OBJECT(cr_handle, CR), OBJECT(ep_handle, EP), SIZE, DATA),
	ROW_ANSWERS(dat_cr_reject, OBJECT(cr_handle, CR)),
	ROW_ANSWERS(dat_cr_handoff, OBJECT(cr_handle, CR), WIDE(handoff)),

	ROW(dat_strerror,
	    FLAGS(ret, GROUP_RESULT), GIVES_TEXT(major_message), GIVES_TEXT(minor_message)),
	ROW(dat_registry_list_providers,
	    COUNT_OR(max_to_return, CALL_LIST_MAX),
	    { .name = "entries_returned", .kind = PARAM_OUT_NUMBER, .size = sizeof(DAT_COUNT),
	      .is_signed = true, .optional = true, .written_on_failure = true },
	    { .name = "list", .kind = PARAM_OUT_LIST,
	      .layout = &layout_provider_info, .optional = true }),
	ROW_ADDS(dat_registry_add_provider, PROVIDER, TAKES(info, provider_info)),
	ROW_REMOVES(dat_registry_remove_provider, PROVIDER, TAKES(info, provider_info)),
	{ .name = NULL }
};
/* clang-format on */

const struct call_row *call_rows(void)
{
	return rows;
}

const struct call_row *call_find(const char *name)
{
	const struct call_row *row;

	for (row = rows; row->name; row++) {
		if (!strcmp(row->name, name))
			return row;
	}
	return NULL;
}

void call_suggest(struct suggest *suggest)
{
	const struct call_row *row;

	for (row = rows; row->name; row++)
		suggest_try(suggest, row->name);
}

bool param_is_output(const struct param *param)
{
	return param->kind >= PARAM_OUT_HANDLE;
}

/* What each call does, in the words of its manual page's first line; shell.sh compares them. */
static const struct {
	const char *call, *line;
} lines[] = {
	{ "dat_ia_open", "open an adapter" },
	{ "dat_ia_openv", "open an adapter" },
	{ "dat_ia_query", "tell limits of an adapter and abilities of its provider" },
	{ "dat_ia_close", "close an adapter" },
	{ "dat_set_consumer_context", "hang a value on an object, and read it" },
	{ "dat_get_consumer_context", "hang a value on an object, and read it" },
	{ "dat_get_handle_type", "tell which type of object a handle is" },
	{ "dat_pz_create", "make a Protection Zone" },
	{ "dat_pz_query", "tell the IA of a Protection Zone" },
	{ "dat_pz_free", "free a Protection Zone" },
	{ "dat_lmr_create", "register memory" },
	{ "dat_lmr_query", "tell what a Local Memory Region was registered with and what it got" },
	{ "dat_lmr_free", "end the registration of memory" },
	{ "dat_lmr_sync_rdma_read", "make memory consistent with RDMA of peers" },
	{ "dat_lmr_sync_rdma_write", "make memory consistent with RDMA of peers" },
	{ "dat_rmr_create", "make a Remote Memory Region" },
	{ "dat_rmr_query", "tell what a Remote Memory Region is bound to" },
	{ "dat_rmr_bind", "open a part of a memory region to a peer" },
	{ "dat_rmr_free", "free a Remote Memory Region" },
	{ "dat_evd_create", "make an Event Dispatcher, a queue of events" },
	{ "dat_evd_query", "tell length, state, flags and CNO of an Event Dispatcher" },
	{ "dat_evd_modify_cno", "hang an Event Dispatcher on another CNO" },
	{ "dat_evd_enable", "let an Event Dispatcher trigger its CNO, or keep it from it" },
	{ "dat_evd_disable", "let an Event Dispatcher trigger its CNO, or keep it from it" },
	{ "dat_evd_set_unwaitable", "forbid or allow waiting on an Event Dispatcher" },
	{ "dat_evd_clear_unwaitable", "forbid or allow waiting on an Event Dispatcher" },
	{ "dat_evd_wait", "wait for events on an Event Dispatcher" },
	{ "dat_evd_dequeue", "take the oldest event off an Event Dispatcher" },
	{ "dat_evd_resize", "change how many events an Event Dispatcher holds" },
	{ "dat_evd_post_se", "queue a software event" },
	{ "dat_evd_free", "free an Event Dispatcher" },
	{ "dat_cno_create", "make a Consumer Notification Object" },
	{ "dat_cno_modify_agent", "give a Consumer Notification Object another agent" },
	{ "dat_cno_query", "tell IA and agent of a Consumer Notification Object" },
	{ "dat_cno_wait", "wait until one of many Event Dispatchers notifies" },
	{ "dat_cno_free", "free a Consumer Notification Object" },
	{ "dat_ep_create", "make an Endpoint with Receives of its own" },
	{ "dat_ep_create_with_srq",
	  "make an Endpoint that draws its Receives from a Shared Receive Queue" },
	{ "dat_ep_query", "tell state, addresses, objects and attributes of an Endpoint" },
	{ "dat_ep_modify", "change parameters of an Endpoint" },
	{ "dat_ep_connect", "connect an Endpoint to a listener" },
	{ "dat_ep_dup_connect", "connect an Endpoint to where another one is connected" },
	{ "dat_ep_disconnect", "end the connection of an Endpoint" },
	{ "dat_ep_post_send", "post a message to be sent" },
	{ "dat_ep_post_recv", "post a Receive buffer on an Endpoint" },
	{ "dat_ep_post_rdma_read", "post a read of the peer's memory" },
	{ "dat_ep_post_rdma_write", "post a write into the peer's memory" },
	{ "dat_ep_get_status", "tell the state of an Endpoint and whether it is idle" },
	{ "dat_ep_reset", "bring a disconnected Endpoint back to its beginning" },
	{ "dat_ep_free", "free an Endpoint" },
	{ "dat_ep_recv_query", "count the Receive buffers at an Endpoint" },
	{ "dat_ep_set_watermark", "set and arm the high watermarks of an Endpoint" },
	{ "dat_srq_create", "make a Shared Receive Queue" },
	{ "dat_srq_free", "free a Shared Receive Queue" },
	{ "dat_srq_post_recv", "post a Receive buffer to a Shared Receive Queue" },
	{ "dat_srq_query", "tell size, low watermark and counts of a Shared Receive Queue" },
	{ "dat_srq_resize", "change how many Receives a Shared Receive Queue may hold" },
	{ "dat_srq_set_lw", "set and arm the low watermark of a Shared Receive Queue" },
	{ "dat_psp_create", "listen for connection requests" },
	{ "dat_psp_create_any", "listen for connection requests" },
	{ "dat_psp_query", "tell what a Public Service Point was made with" },
	{ "dat_psp_free", "stop listening" },
	{ "dat_rsp_create", "listen for one connection request on behalf of one Endpoint" },
	{ "dat_rsp_query", "tell what a Reserved Service Point was made with" },
	{ "dat_rsp_free", "stop listening on behalf of an Endpoint" },
	{ "dat_cr_query", "tell where a connection request comes from and what it carries" },
	{ "dat_cr_accept", "accept a connection request" },
	{ "dat_cr_reject", "reject a connection request" },
	{ "dat_cr_handoff", "move a connection request to another listener" },
	{ "dat_strerror", "text for a return value" },
	{ "dat_registry_list_providers", "list the adapters that can be opened" },
	{ "dat_registry_add_provider",
	  "register an adapter of another provider, and take it away" },
	{ "dat_registry_remove_provider",
	  "register an adapter of another provider, and take it away" },
};

const char *call_line(const struct call_row *row)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!strcmp(lines[i].call, row->name))
			return lines[i].line;
	}
	return "";
}
