/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The members of the DAT structures, by name, type and offset, and of DAT_EVENT for each kind of
 * event (the layouts of values.h).
 */
#include "values.h"

#include <string.h>

#define MEMBER(type, field, k, g, m)                                        \
	{                                                                   \
		.name = #field, .kind = k, .offset = offsetof(type, field), \
		.size = sizeof(((type *)0)->field), .group = g, .mask = m   \
	}
#define HANDLE(type, field, m)    MEMBER(type, field, MEMBER_HANDLE, GROUP_NONE, m)
#define ADDRESS(type, field, m)   MEMBER(type, field, MEMBER_ADDRESS, GROUP_NONE, m)
#define NUMBER(type, field, g, m) MEMBER(type, field, MEMBER_NUMBER, g, m)
#define COUNT(type, field, m)                                                                 \
	{                                                                                     \
		.name = #field, .kind = MEMBER_NUMBER, .offset = offsetof(type, field),       \
		.size = sizeof(DAT_COUNT), .is_signed = true, .group = GROUP_COUNT, .mask = m \
	}
#define SILENT(label, type, field, k, m)                                      \
	{                                                                     \
		.name = label, .kind = k, .offset = offsetof(type, field),    \
		.size = sizeof(((type *)0)->field), .mask = m, .silent = true \
	}
#define LAST                 \
	{                    \
		.name = NULL \
	}

/* clang-format off */

static const struct member srq_attr[] = {
	COUNT(DAT_SRQ_ATTR, max_recv_dtos, 0),
	COUNT(DAT_SRQ_ATTR, max_recv_iov, 0),
	COUNT(DAT_SRQ_ATTR, low_watermark, 0),
	LAST
};

static const struct member srq_param[] = {
	HANDLE(DAT_SRQ_PARAM, ia_handle, DAT_SRQ_FIELD_IA_HANDLE),
	NUMBER(DAT_SRQ_PARAM, srq_state, GROUP_SRQ_STATE, DAT_SRQ_FIELD_SRQ_STATE),
	HANDLE(DAT_SRQ_PARAM, pz_handle, DAT_SRQ_FIELD_PZ_HANDLE),
	COUNT(DAT_SRQ_PARAM, max_recv_dtos, DAT_SRQ_FIELD_MAX_RECV_DTO),
	COUNT(DAT_SRQ_PARAM, max_recv_iov, DAT_SRQ_FIELD_MAX_RECV_IOV),
	COUNT(DAT_SRQ_PARAM, low_watermark, DAT_SRQ_FIELD_LOW_WATERMARK),
	COUNT(DAT_SRQ_PARAM, available_dto_count, DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT),
	COUNT(DAT_SRQ_PARAM, outstanding_dto_count, DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT),
	LAST
};

/* DAT_EP_ATTR is a structure of its own (base 0) and a member of DAT_EP_PARAM (at `base`). */
#define EP_ATTR_MEMBER(base, field, signedness, g, m) \
	{ .name = #field, .kind = MEMBER_NUMBER, .offset = (base) + offsetof(DAT_EP_ATTR, field), \
	  .size = sizeof(((DAT_EP_ATTR *)0)->field), .is_signed = signedness, .group = g, \
	  .mask = DAT_EP_FIELD_EP_ATTR_##m }
#define EP_ATTR_MEMBERS(base) \
	EP_ATTR_MEMBER(base, service_type, false, GROUP_SERVICE, SERVICE_TYPE), \
	EP_ATTR_MEMBER(base, max_message_size, false, GROUP_NONE, MAX_MESSAGE_SIZE), \
	EP_ATTR_MEMBER(base, max_rdma_size, false, GROUP_NONE, MAX_RDMA_SIZE), \
	EP_ATTR_MEMBER(base, qos, false, GROUP_QOS, QOS), \
	EP_ATTR_MEMBER(base, recv_completion_flags, false, GROUP_COMPLETION, \
		       RECV_COMPLETION_FLAGS), \
	EP_ATTR_MEMBER(base, request_completion_flags, false, GROUP_COMPLETION, \
		       REQUEST_COMPLETION_FLAGS), \
	EP_ATTR_MEMBER(base, max_recv_dtos, true, GROUP_COUNT, MAX_RECV_DTOS), \
	EP_ATTR_MEMBER(base, max_request_dtos, true, GROUP_COUNT, MAX_REQUEST_DTOS), \
	EP_ATTR_MEMBER(base, max_recv_iov, true, GROUP_COUNT, MAX_RECV_IOV), \
	EP_ATTR_MEMBER(base, max_request_iov, true, GROUP_COUNT, MAX_REQUEST_IOV), \
	EP_ATTR_MEMBER(base, max_rdma_read_in, true, GROUP_COUNT, MAX_RDMA_READ_IN), \
	EP_ATTR_MEMBER(base, max_rdma_read_out, true, GROUP_COUNT, MAX_RDMA_READ_OUT), \
	EP_ATTR_MEMBER(base, srq_soft_hw, true, GROUP_COUNT, SRQ_SOFT_HW), \
	EP_ATTR_MEMBER(base, max_rdma_read_iov, true, GROUP_COUNT, MAX_RDMA_READ_IOV), \
	EP_ATTR_MEMBER(base, max_rdma_write_iov, true, GROUP_COUNT, MAX_RDMA_WRITE_IOV), \
	EP_ATTR_MEMBER(base, ep_transport_specific_count, true, GROUP_COUNT, NUM_TRANSPORT_ATTR), \
	EP_ATTR_MEMBER(base, ep_transport_specific, false, GROUP_NONE, TRANSPORT_SPECIFIC_ATTR), \
	EP_ATTR_MEMBER(base, ep_provider_specific_count, true, GROUP_COUNT, NUM_PROVIDER_ATTR), \
	EP_ATTR_MEMBER(base, ep_provider_specific, false, GROUP_NONE, PROVIDER_SPECIFIC_ATTR)

static const struct member ep_attr[] = { EP_ATTR_MEMBERS(0), LAST };

static const struct member ep_param[] = {
	HANDLE(DAT_EP_PARAM, ia_handle, DAT_EP_FIELD_IA_HANDLE),
	NUMBER(DAT_EP_PARAM, ep_state, GROUP_EP_STATE, DAT_EP_FIELD_EP_STATE),
	ADDRESS(DAT_EP_PARAM, local_ia_address_ptr, DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR),
	NUMBER(DAT_EP_PARAM, local_port_qual, GROUP_NONE, DAT_EP_FIELD_LOCAL_PORT_QUAL),
	ADDRESS(DAT_EP_PARAM, remote_ia_address_ptr, DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR),
	NUMBER(DAT_EP_PARAM, remote_port_qual, GROUP_NONE, DAT_EP_FIELD_REMOTE_PORT_QUAL),
	HANDLE(DAT_EP_PARAM, pz_handle, DAT_EP_FIELD_PZ_HANDLE),
	HANDLE(DAT_EP_PARAM, recv_evd_handle, DAT_EP_FIELD_RECV_EVD_HANDLE),
	HANDLE(DAT_EP_PARAM, request_evd_handle, DAT_EP_FIELD_REQUEST_EVD_HANDLE),
	HANDLE(DAT_EP_PARAM, connect_evd_handle, DAT_EP_FIELD_CONNECT_EVD_HANDLE),
	HANDLE(DAT_EP_PARAM, srq_handle, DAT_EP_FIELD_SRQ_HANDLE),
	EP_ATTR_MEMBERS(offsetof(DAT_EP_PARAM, ep_attr)),
	LAST
};

static const struct member evd_param[] = {
	HANDLE(DAT_EVD_PARAM, ia_handle, DAT_EVD_FIELD_IA_HANDLE),
	COUNT(DAT_EVD_PARAM, evd_qlen, DAT_EVD_FIELD_EVD_QLEN),
	NUMBER(DAT_EVD_PARAM, evd_state, GROUP_EVD_STATE, DAT_EVD_FIELD_EVD_STATE),
	HANDLE(DAT_EVD_PARAM, cno_handle, DAT_EVD_FIELD_CNO),
	NUMBER(DAT_EVD_PARAM, evd_flags, GROUP_EVD_FLAGS, DAT_EVD_FIELD_EVD_FLAGS),
	LAST
};

static const struct member pz_param[] = {
	HANDLE(DAT_PZ_PARAM, ia_handle, DAT_PZ_FIELD_IA_HANDLE),
	LAST
};

static const struct member psp_param[] = {
	HANDLE(DAT_PSP_PARAM, ia_handle, DAT_PSP_FIELD_IA_HANDLE),
	NUMBER(DAT_PSP_PARAM, conn_qual, GROUP_NONE, DAT_PSP_FIELD_CONN_QUAL),
	HANDLE(DAT_PSP_PARAM, evd_handle, DAT_PSP_FIELD_EVD_HANDLE),
	NUMBER(DAT_PSP_PARAM, psp_flags, GROUP_PSP_FLAGS, DAT_PSP_FIELD_PSP_FLAGS),
	LAST
};

static const struct member rsp_param[] = {
	HANDLE(DAT_RSP_PARAM, ia_handle, DAT_RSP_FIELD_IA_HANDLE),
	NUMBER(DAT_RSP_PARAM, conn_qual, GROUP_NONE, DAT_RSP_FIELD_CONN_QUAL),
	HANDLE(DAT_RSP_PARAM, evd_handle, DAT_RSP_FIELD_EVD_HANDLE),
	HANDLE(DAT_RSP_PARAM, ep_handle, DAT_RSP_FIELD_EP_HANDLE),
	LAST
};

static const struct member cr_param[] = {
	ADDRESS(DAT_CR_PARAM, remote_ia_address_ptr, DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR),
	NUMBER(DAT_CR_PARAM, remote_port_qual, GROUP_NONE, DAT_CR_FIELD_REMOTE_PORT_QUAL),
	COUNT(DAT_CR_PARAM, private_data_size, DAT_CR_FIELD_PRIVATE_DATA_SIZE),
	{ .name = "private_data", .kind = MEMBER_DATA,
	  .offset = offsetof(DAT_CR_PARAM, private_data), .size = sizeof(DAT_PVOID),
	  .mask = DAT_CR_FIELD_PRIVATE_DATA,
	  .size_offset = offsetof(DAT_CR_PARAM, private_data_size) },
	HANDLE(DAT_CR_PARAM, local_ep_handle, DAT_CR_FIELD_LOCAL_EP_HANDLE),
	LAST
};

static const struct member lmr_param[] = {
	HANDLE(DAT_LMR_PARAM, ia_handle, DAT_LMR_FIELD_IA_HANDLE),
	NUMBER(DAT_LMR_PARAM, mem_type, GROUP_MEM_TYPE, DAT_LMR_FIELD_MEM_TYPE),
	NUMBER(DAT_LMR_PARAM, length, GROUP_NONE, DAT_LMR_FIELD_LENGTH),
	HANDLE(DAT_LMR_PARAM, pz_handle, DAT_LMR_FIELD_PZ_HANDLE),
	NUMBER(DAT_LMR_PARAM, mem_priv, GROUP_MEM_PRIV, DAT_LMR_FIELD_MEM_PRIV),
	NUMBER(DAT_LMR_PARAM, lmr_context, GROUP_NONE, DAT_LMR_FIELD_LMR_CONTEXT),
	NUMBER(DAT_LMR_PARAM, rmr_context, GROUP_NONE, DAT_LMR_FIELD_RMR_CONTEXT),
	NUMBER(DAT_LMR_PARAM, registered_size, GROUP_NONE, DAT_LMR_FIELD_REGISTERED_SIZE),
	SILENT("registered_address", DAT_LMR_PARAM, registered_address, MEMBER_NUMBER,
	       DAT_LMR_FIELD_REGISTERED_ADDRESS),
	SILENT("for_va", DAT_LMR_PARAM, region_desc.for_va, MEMBER_NUMBER,
	       DAT_LMR_FIELD_REGION_DESC),
	SILENT("for_lmr_handle", DAT_LMR_PARAM, region_desc.for_lmr_handle, MEMBER_HANDLE,
	       DAT_LMR_FIELD_REGION_DESC),
	LAST
};

#define TRIPLET(field) \
	SILENT(#field, DAT_RMR_PARAM, lmr_triplet.field, MEMBER_NUMBER, DAT_RMR_FIELD_LMR_TRIPLET)

static const struct member rmr_param[] = {
	HANDLE(DAT_RMR_PARAM, ia_handle, DAT_RMR_FIELD_IA_HANDLE),
	HANDLE(DAT_RMR_PARAM, pz_handle, DAT_RMR_FIELD_PZ_HANDLE),
	TRIPLET(lmr_context),
	TRIPLET(virtual_address),
	TRIPLET(segment_length),
	NUMBER(DAT_RMR_PARAM, mem_priv, GROUP_MEM_PRIV, DAT_RMR_FIELD_MEM_PRIV),
	NUMBER(DAT_RMR_PARAM, rmr_context, GROUP_NONE, DAT_RMR_FIELD_RMR_CONTEXT),
	LAST
};

static const struct member cno_param[] = {
	HANDLE(DAT_CNO_PARAM, ia_handle, DAT_CNO_FIELD_IA_HANDLE),
	MEMBER(DAT_CNO_PARAM, agent, MEMBER_AGENT, GROUP_NONE, DAT_CNO_FIELD_AGENT),
	LAST
};

#define IA(field, m) COUNT(DAT_IA_ATTR, field, DAT_IA_FIELD_IA_##m)
#define IA_WIDE(field, m) NUMBER(DAT_IA_ATTR, field, GROUP_NONE, DAT_IA_FIELD_IA_##m)

static const struct member ia_attr[] = {
	MEMBER(DAT_IA_ATTR, adapter_name, MEMBER_TEXT, GROUP_NONE, DAT_IA_FIELD_IA_ADAPTER_NAME),
	MEMBER(DAT_IA_ATTR, vendor_name, MEMBER_TEXT, GROUP_NONE, DAT_IA_FIELD_IA_VENDOR_NAME),
	IA_WIDE(hardware_version_major, HARDWARE_MAJOR_VERSION),
	IA_WIDE(hardware_version_minor, HARDWARE_MINOR_VERSION),
	IA_WIDE(firmware_version_major, FIRMWARE_MAJOR_VERSION),
	IA_WIDE(firmware_version_minor, FIRMWARE_MINOR_VERSION),
	ADDRESS(DAT_IA_ATTR, ia_address_ptr, DAT_IA_FIELD_IA_ADDRESS_PTR),
	IA(max_eps, MAX_EPS),
	IA(max_dto_per_ep, MAX_DTO_PER_EP),
	IA(max_rdma_read_per_ep_in, MAX_RDMA_READ_PER_EP_IN),
	IA(max_rdma_read_per_ep_out, MAX_RDMA_READ_PER_EP_OUT),
	IA(max_evds, MAX_EVDS),
	IA(max_evd_qlen, MAX_EVD_QLEN),
	IA(max_iov_segments_per_dto, MAX_IOV_SEGMENTS_PER_DTO),
	IA(max_lmrs, MAX_LMRS),
	IA_WIDE(max_lmr_block_size, MAX_LMR_BLOCK_SIZE),
	IA_WIDE(max_lmr_virtual_address, MAX_LMR_VIRTUAL_ADDRESS),
	IA(max_pzs, MAX_PZS),
	IA_WIDE(max_message_size, MAX_MESSAGE_SIZE),
	IA_WIDE(max_rdma_size, MAX_RDMA_SIZE),
	IA(max_rmrs, MAX_RMRS),
	IA_WIDE(max_rmr_target_address, MAX_RMR_TARGET_ADDRESS),
	IA(max_srqs, MAX_SRQS),
	IA(max_ep_per_srq, MAX_EP_PER_SRQ),
	IA(max_recv_per_srq, MAX_RECV_PER_SRQ),
	IA(max_iov_segments_per_rdma_read, MAX_IOV_SEGMENTS_PER_RDMA_READ),
	IA(max_iov_segments_per_rdma_write, MAX_IOV_SEGMENTS_PER_RDMA_WRITE),
	IA(max_rdma_read_in, MAX_RDMA_READ_IN),
	IA(max_rdma_read_out, MAX_RDMA_READ_OUT),
	NUMBER(DAT_IA_ATTR, max_rdma_read_per_ep_in_guaranteed, GROUP_BOOLEAN,
	       DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED),
	NUMBER(DAT_IA_ATTR, max_rdma_read_per_ep_out_guaranteed, GROUP_BOOLEAN,
	       DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED),
	IA(num_transport_attr, NUM_TRANSPORT_ATTR),
	SILENT("transport_attr", DAT_IA_ATTR, transport_attr, MEMBER_NUMBER,
	       DAT_IA_FIELD_IA_TRANSPORT_ATTR),
	IA(num_vendor_attr, NUM_VENDOR_ATTR),
	SILENT("vendor_attr", DAT_IA_ATTR, vendor_attr, MEMBER_NUMBER,
	       DAT_IA_FIELD_IA_VENDOR_ATTR),
	LAST
};

#define PROVIDER(field, g, m) NUMBER(DAT_PROVIDER_ATTR, field, g, DAT_PROVIDER_FIELD_##m)

static const struct member provider_attr[] = {
	MEMBER(DAT_PROVIDER_ATTR, provider_name, MEMBER_TEXT, GROUP_NONE,
	       DAT_PROVIDER_FIELD_PROVIDER_NAME),
	PROVIDER(provider_version_major, GROUP_NONE, PROVIDER_VERSION_MAJOR),
	PROVIDER(provider_version_minor, GROUP_NONE, PROVIDER_VERSION_MINOR),
	PROVIDER(dapl_version_major, GROUP_NONE, DAPL_VERSION_MAJOR),
	PROVIDER(dapl_version_minor, GROUP_NONE, DAPL_VERSION_MINOR),
	PROVIDER(lmr_mem_types_supported, GROUP_NONE, LMR_MEM_TYPE_SUPPORTED),
	PROVIDER(iov_ownership_on_return, GROUP_NONE, IOV_OWNERSHIP),
	PROVIDER(dat_qos_supported, GROUP_QOS, DAT_QOS_SUPPORTED),
	PROVIDER(completion_flags_supported, GROUP_COMPLETION, COMPLETION_FLAGS_SUPPORTED),
	PROVIDER(is_thread_safe, GROUP_BOOLEAN, IS_THREAD_SAFE),
	COUNT(DAT_PROVIDER_ATTR, max_private_data_size, DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE),
	PROVIDER(supports_multipath, GROUP_BOOLEAN, SUPPORTS_MULTIPATH),
	PROVIDER(ep_creator, GROUP_EP_CREATOR, EP_CREATOR),
	PROVIDER(pz_support, GROUP_PZ_SUPPORT, PZ_SUPPORT),
	PROVIDER(optimal_buffer_alignment, GROUP_NONE, OPTIMAL_BUFFER_ALIGNMENT),
	MEMBER(DAT_PROVIDER_ATTR, evd_stream_merging_supported, MEMBER_EVERY, GROUP_BOOLEAN,
	       DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED),
	PROVIDER(srq_supported, GROUP_BOOLEAN, SRQ_SUPPORTED),
	PROVIDER(srq_watermarks_supported, GROUP_NONE, SRQ_WATERMARKS_SUPPORTED),
	PROVIDER(srq_ep_pz_difference_supported, GROUP_BOOLEAN, SRQ_EP_PZ_DIFFERENCE_SUPPORTED),
	PROVIDER(srq_info_supported, GROUP_NONE, SRQ_INFO_SUPPORTED),
	PROVIDER(ep_recv_info_supported, GROUP_NONE, EP_RECV_INFO_SUPPORTED),
	PROVIDER(lmr_sync_req, GROUP_BOOLEAN, LMR_SYNC_REQ),
	PROVIDER(dto_async_return_guaranteed, GROUP_BOOLEAN, DTO_ASYNC_RETURN_GUARANTEED),
	PROVIDER(rdma_write_for_rdma_read_req, GROUP_BOOLEAN, RDMA_WRITE_FOR_RDMA_READ_REQ),
	COUNT(DAT_PROVIDER_ATTR, num_provider_specific_attr,
	      DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR),
	SILENT("provider_specific_attr", DAT_PROVIDER_ATTR, provider_specific_attr, MEMBER_NUMBER,
	       DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR),
	LAST
};

static const struct member provider_info[] = {
	MEMBER(DAT_PROVIDER_INFO, ia_name, MEMBER_TEXT, GROUP_NONE, 0),
	NUMBER(DAT_PROVIDER_INFO, dapl_version_major, GROUP_NONE, 0),
	NUMBER(DAT_PROVIDER_INFO, dapl_version_minor, GROUP_NONE, 0),
	NUMBER(DAT_PROVIDER_INFO, is_thread_safe, GROUP_BOOLEAN, 0),
	LAST
};

#define EVENT(label, view, field, k, sign, g) \
	{ .name = label, .kind = k, .offset = offsetof(DAT_EVENT, event_data.view.field), \
	  .size = sizeof(((DAT_EVENT *)0)->event_data.view.field), .is_signed = sign, .group = g }

const struct member event_number_member = {
	.name = "event", .kind = MEMBER_NUMBER, .offset = offsetof(DAT_EVENT, event_number),
	.size = sizeof(DAT_EVENT_NUMBER), .group = GROUP_EVENT
};

static const struct member dto_event[] = {
	EVENT("ep", dto_completion_event_data, ep_handle, MEMBER_HANDLE, false, GROUP_NONE),
	EVENT("cookie", dto_completion_event_data, user_cookie.as_64, MEMBER_NUMBER,
	      false, GROUP_NONE),
	EVENT("status", dto_completion_event_data, status, MEMBER_NUMBER, false, GROUP_DTO_STATUS),
	EVENT("length", dto_completion_event_data, transfered_length, MEMBER_NUMBER,
	      false, GROUP_NONE),
	LAST
};

static const struct member bind_event[] = {
	EVENT("rmr", rmr_completion_event_data, rmr_handle, MEMBER_HANDLE, false, GROUP_NONE),
	EVENT("cookie", rmr_completion_event_data, user_cookie.as_64, MEMBER_NUMBER,
	      false, GROUP_NONE),
	EVENT("status", rmr_completion_event_data, status, MEMBER_NUMBER, false, GROUP_DTO_STATUS),
	LAST
};

static const struct member cr_event[] = {
	EVENT("sp", cr_arrival_event_data, sp_handle.psp_handle, MEMBER_HANDLE, false, GROUP_NONE),
	EVENT("address", cr_arrival_event_data, local_ia_address_ptr, MEMBER_ADDRESS,
	      false, GROUP_NONE),
	EVENT("qual", cr_arrival_event_data, conn_qual, MEMBER_NUMBER, false, GROUP_NONE),
	EVENT("cr", cr_arrival_event_data, cr_handle, MEMBER_HANDLE, false, GROUP_NONE),
	LAST
};

static const struct member connect_event[] = {
	EVENT("ep", connect_event_data, ep_handle, MEMBER_HANDLE, false, GROUP_NONE),
	EVENT("private", connect_event_data, private_data_size, MEMBER_NUMBER, true, GROUP_NONE),
	{ .name = "data", .kind = MEMBER_DATA, .size = sizeof(DAT_PVOID),
	  .offset = offsetof(DAT_EVENT, event_data.connect_event_data.private_data),
	  .size_offset = offsetof(DAT_EVENT, event_data.connect_event_data.private_data_size) },
	LAST
};

static const struct member async_event[] = {
	EVENT("object", asynch_error_event_data, dat_handle, MEMBER_HANDLE, false, GROUP_NONE),
	EVENT("reason", asynch_error_event_data, reason, MEMBER_NUMBER, true, GROUP_NONE),
	LAST
};

static const struct member software_event[] = {
	EVENT("pointer", software_event_data, pointer, MEMBER_NUMBER, false, GROUP_NONE),
	LAST
};

#define LAYOUT(var, type, table) \
	const struct layout layout_##var = { #type, sizeof(type), table }

LAYOUT(srq_attr, DAT_SRQ_ATTR, srq_attr);
LAYOUT(srq_param, DAT_SRQ_PARAM, srq_param);
LAYOUT(ep_attr, DAT_EP_ATTR, ep_attr);
LAYOUT(ep_param, DAT_EP_PARAM, ep_param);
LAYOUT(evd_param, DAT_EVD_PARAM, evd_param);
LAYOUT(pz_param, DAT_PZ_PARAM, pz_param);
LAYOUT(psp_param, DAT_PSP_PARAM, psp_param);
LAYOUT(rsp_param, DAT_RSP_PARAM, rsp_param);
LAYOUT(cr_param, DAT_CR_PARAM, cr_param);
LAYOUT(lmr_param, DAT_LMR_PARAM, lmr_param);
LAYOUT(rmr_param, DAT_RMR_PARAM, rmr_param);
LAYOUT(cno_param, DAT_CNO_PARAM, cno_param);
LAYOUT(ia_attr, DAT_IA_ATTR, ia_attr);
LAYOUT(provider_attr, DAT_PROVIDER_ATTR, provider_attr);
LAYOUT(provider_info, DAT_PROVIDER_INFO, provider_info);

static const struct layout event_layouts[] = {
	{ "DTO completion", sizeof(DAT_EVENT), dto_event },
	{ "bind completion", sizeof(DAT_EVENT), bind_event },
	{ "connection request", sizeof(DAT_EVENT), cr_event },
	{ "connection event", sizeof(DAT_EVENT), connect_event },
	{ "asynchronous event", sizeof(DAT_EVENT), async_event },
	{ "software event", sizeof(DAT_EVENT), software_event },
};
/* clang-format on */

const struct layout *layout_of_event(uint64_t event_number)
{
	/* The hexadecimal digits above the last three tell the event stream. */
	switch (event_number >> 12) {
	case 0x0:
		return &event_layouts[0];
	case 0x1:
		return &event_layouts[1];
	case 0x2:
		return &event_layouts[2];
	case 0x4:
		return &event_layouts[3];
	case 0x8:
		return &event_layouts[4];
	default:
		return &event_layouts[5];
	}
}

const struct member *layout_find(const struct layout *layout, const char *name)
{
	const struct member *member;

	for (member = layout->members; member->name; member++) {
		if (!strcmp(member->name, name))
			return member;
	}
	return NULL;
}

void layout_offer(const struct layout *layout, struct offer *offer)
{
	const struct member *member;

	for (member = layout->members; member->name; member++)
		offer_add(offer, member->name);
}

uint64_t member_get(const struct member *member, const void *base)
{
	const char *at = (const char *)base + member->offset;
	uint64_t wide = 0;
	uint32_t narrow;

	if (member->size == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return member->is_signed ? (uint64_t)(int64_t)(int32_t)narrow : narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

void member_set(const struct member *member, void *base, uint64_t value)
{
	char *at = (char *)base + member->offset;
	uint32_t narrow = (uint32_t)value;

	if (member->size == sizeof(narrow))
		memcpy(at, &narrow, sizeof(narrow));
	else
		memcpy(at, &value, sizeof(value));
}
