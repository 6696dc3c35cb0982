/* SPDX-License-Identifier: BSD-3-Clause */
/* The constant tables of values.h, one a group in the order of the headers, and their lookup. */
#include "values.h"

#include <string.h>

/* Macro arguments of # are not expanded, so constants that are macros keep their own name. */
#define N(x)                      \
	{                         \
#x, (uint64_t)(x) \
	}
#define N_LAST          \
	{               \
		NULL, 0 \
	}

/* clang-format off */
static const struct named returns[] = {
	N(DAT_SUCCESS), N(DAT_ABORT), N(DAT_CONN_QUAL_IN_USE), N(DAT_INSUFFICIENT_RESOURCES),
	N(DAT_INTERNAL_ERROR), N(DAT_INVALID_HANDLE), N(DAT_INVALID_PARAMETER),
	N(DAT_INVALID_STATE), N(DAT_LENGTH_ERROR), N(DAT_MODEL_NOT_SUPPORTED),
	N(DAT_PROVIDER_NOT_FOUND), N(DAT_PRIVILEGES_VIOLATION), N(DAT_PROTECTION_VIOLATION),
	N(DAT_QUEUE_EMPTY), N(DAT_QUEUE_FULL), N(DAT_TIMEOUT_EXPIRED),
	N(DAT_PROVIDER_ALREADY_REGISTERED), N(DAT_PROVIDER_IN_USE), N(DAT_INVALID_ADDRESS),
	N(DAT_INTERRUPTED_CALL), N(DAT_CONN_QUAL_UNAVAILABLE), N(DAT_NOT_IMPLEMENTED), N_LAST
};
static const struct named subtypes[] = {
	N(DAT_NO_SUBTYPE), N(DAT_SUB_INTERRUPTED), N(DAT_RESOURCE_MEMORY),
	N(DAT_RESOURCE_DEVICE), N(DAT_RESOURCE_TEP), N(DAT_RESOURCE_TEVD),
	N(DAT_RESOURCE_PROTECTION_DOMAIN), N(DAT_RESOURCE_MEMORY_REGION),
	N(DAT_RESOURCE_ERROR_HANDLER), N(DAT_RESOURCE_CREDITS), N(DAT_RESOURCE_SRQ),
	N(DAT_INVALID_HANDLE_IA), N(DAT_INVALID_HANDLE_EP), N(DAT_INVALID_HANDLE_LMR),
	N(DAT_INVALID_HANDLE_RMR), N(DAT_INVALID_HANDLE_PZ), N(DAT_INVALID_HANDLE_PSP),
	N(DAT_INVALID_HANDLE_RSP), N(DAT_INVALID_HANDLE_CR), N(DAT_INVALID_HANDLE_CNO),
	N(DAT_INVALID_HANDLE_EVD_CR), N(DAT_INVALID_HANDLE_EVD_REQUEST),
	N(DAT_INVALID_HANDLE_EVD_RECV), N(DAT_INVALID_HANDLE_EVD_CONN),
	N(DAT_INVALID_HANDLE_EVD_ASYNC), N(DAT_INVALID_HANDLE_SRQ), N(DAT_INVALID_HANDLE1),
	N(DAT_INVALID_HANDLE2), N(DAT_INVALID_HANDLE3), N(DAT_INVALID_HANDLE4),
	N(DAT_INVALID_HANDLE5), N(DAT_INVALID_HANDLE6), N(DAT_INVALID_HANDLE7),
	N(DAT_INVALID_HANDLE8), N(DAT_INVALID_HANDLE9), N(DAT_INVALID_HANDLE10),
	N(DAT_INVALID_ARG1), N(DAT_INVALID_ARG2), N(DAT_INVALID_ARG3), N(DAT_INVALID_ARG4),
	N(DAT_INVALID_ARG5), N(DAT_INVALID_ARG6), N(DAT_INVALID_ARG7), N(DAT_INVALID_ARG8),
	N(DAT_INVALID_ARG9), N(DAT_INVALID_ARG10), N(DAT_INVALID_STATE_EP_UNCONNECTED),
	N(DAT_INVALID_STATE_EP_ACTCONNPENDING), N(DAT_INVALID_STATE_EP_PASSCONNPENDING),
	N(DAT_INVALID_STATE_EP_TENTCONNPENDING), N(DAT_INVALID_STATE_EP_CONNECTED),
	N(DAT_INVALID_STATE_EP_DISCONNECTED), N(DAT_INVALID_STATE_EP_RESERVED),
	N(DAT_INVALID_STATE_EP_COMPLPENDING), N(DAT_INVALID_STATE_EP_DISCPENDING),
	N(DAT_INVALID_STATE_EP_PROVIDERCONTROL), N(DAT_INVALID_STATE_EP_NOTREADY),
	N(DAT_INVALID_STATE_EP_RECV_WATERMARK), N(DAT_INVALID_STATE_EP_PZ),
	N(DAT_INVALID_STATE_EP_EVD_REQUEST), N(DAT_INVALID_STATE_EP_EVD_RECV),
	N(DAT_INVALID_STATE_EP_EVD_CONNECT), N(DAT_INVALID_STATE_EP_UNCONFIGURED),
	N(DAT_INVALID_STATE_EP_UNCONFRESERVED), N(DAT_INVALID_STATE_EP_UNCONFPASSIVE),
	N(DAT_INVALID_STATE_EP_UNCONFTENTATIVE), N(DAT_INVALID_STATE_CNO_IN_USE),
	N(DAT_INVALID_STATE_CNO_DEAD), N(DAT_INVALID_STATE_EVD_OPEN),
	N(DAT_INVALID_STATE_EVD_ENABLED), N(DAT_INVALID_STATE_EVD_DISABLED),
	N(DAT_INVALID_STATE_EVD_WAITABLE), N(DAT_INVALID_STATE_EVD_UNWAITABLE),
	N(DAT_INVALID_STATE_EVD_IN_USE), N(DAT_INVALID_STATE_EVD_CONFIG_NOTIFY),
	N(DAT_INVALID_STATE_EVD_CONFIG_SOLICITED), N(DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD),
	N(DAT_INVALID_STATE_EVD_WAITER), N(DAT_INVALID_STATE_EVD_ASYNC),
	N(DAT_INVALID_STATE_IA_IN_USE), N(DAT_INVALID_STATE_LMR_IN_USE),
	N(DAT_INVALID_STATE_LMR_FREE), N(DAT_INVALID_STATE_PZ_IN_USE),
	N(DAT_INVALID_STATE_PZ_FREE), N(DAT_INVALID_STATE_SRQ_OPERATIONAL),
	N(DAT_INVALID_STATE_SRQ_ERROR), N(DAT_INVALID_STATE_SRQ_IN_USE), N(DAT_PRIVILEGES_READ),
	N(DAT_PRIVILEGES_WRITE), N(DAT_PRIVILEGES_RDMA_READ), N(DAT_PRIVILEGES_RDMA_WRITE),
	N(DAT_PROTECTION_READ), N(DAT_PROTECTION_WRITE), N(DAT_PROTECTION_RDMA_READ),
	N(DAT_PROTECTION_RDMA_WRITE), N(DAT_INVALID_ADDRESS_UNSUPPORTED),
	N(DAT_INVALID_ADDRESS_UNREACHABLE), N(DAT_INVALID_ADDRESS_MALFORMED),
	N(DAT_NAME_NOT_REGISTERED), N(DAT_MAJOR_NOT_FOUND), N(DAT_MINOR_NOT_FOUND),
	N(DAT_THREAD_SAFETY_NOT_FOUND), N(DAT_INVALID_RO_COOKIE), N_LAST
};
static const struct named classes[] = {
	N(DAT_CLASS_ERROR), N(DAT_CLASS_WARNING), N(DAT_CLASS_SUCCESS), N_LAST
};
static const struct named events[] = {
	N(DAT_DTO_COMPLETION_EVENT), N(DAT_RMR_BIND_COMPLETION_EVENT),
	N(DAT_CONNECTION_REQUEST_EVENT), N(DAT_CONNECTION_EVENT_ESTABLISHED),
	N(DAT_CONNECTION_EVENT_PEER_REJECTED), N(DAT_CONNECTION_EVENT_NON_PEER_REJECTED),
	N(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR), N(DAT_CONNECTION_EVENT_DISCONNECTED),
	N(DAT_CONNECTION_EVENT_BROKEN), N(DAT_CONNECTION_EVENT_TIMED_OUT),
	N(DAT_CONNECTION_EVENT_UNREACHABLE), N(DAT_ASYNC_ERROR_EVD_OVERFLOW),
	N(DAT_ASYNC_ERROR_IA_CATASTROPHIC), N(DAT_ASYNC_ERROR_EP_BROKEN),
	N(DAT_ASYNC_ERROR_TIMED_OUT), N(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR),
	N(DAT_ASYNC_SRQ_LOW_WATERMARK), N(DAT_ASYNC_EP_SOFT_HIGH_WATERMARK),
	N(DAT_SOFTWARE_EVENT), N_LAST
};
static const struct named dto_statuses[] = {
	N(DAT_DTO_SUCCESS), N(DAT_DTO_ERR_FLUSHED), N(DAT_DTO_ERR_LOCAL_LENGTH),
	N(DAT_DTO_ERR_LOCAL_EP), N(DAT_DTO_ERR_LOCAL_PROTECTION), N(DAT_DTO_ERR_BAD_RESPONSE),
	N(DAT_DTO_ERR_REMOTE_ACCESS), N(DAT_DTO_ERR_REMOTE_RESPONDER), N(DAT_DTO_ERR_TRANSPORT),
	N(DAT_DTO_ERR_RECEIVER_NOT_READY), N(DAT_DTO_ERR_PARTIAL_PACKET),
	N(DAT_RMR_OPERATION_FAILED), N_LAST
};
static const struct named ep_states[] = {
	N(DAT_EP_STATE_UNCONNECTED), N(DAT_EP_STATE_UNCONFIGURED_UNCONNECTED),
	N(DAT_EP_STATE_RESERVED), N(DAT_EP_STATE_UNCONFIGURED_RESERVED),
	N(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING), N(DAT_EP_STATE_UNCONFIGURED_PASSIVE),
	N(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING), N(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING),
	N(DAT_EP_STATE_UNCONFIGURED_TENTATIVE), N(DAT_EP_STATE_CONNECTED),
	N(DAT_EP_STATE_DISCONNECT_PENDING), N(DAT_EP_STATE_DISCONNECTED),
	N(DAT_EP_STATE_COMPLETION_PENDING), N_LAST
};
static const struct named srq_states[] = {
	N(DAT_SRQ_STATE_OPERATIONAL), N(DAT_SRQ_STATE_ERROR), N_LAST
};
static const struct named handle_types[] = {
	N(DAT_HANDLE_TYPE_CR), N(DAT_HANDLE_TYPE_EP), N(DAT_HANDLE_TYPE_EVD),
	N(DAT_HANDLE_TYPE_IA), N(DAT_HANDLE_TYPE_LMR), N(DAT_HANDLE_TYPE_PSP),
	N(DAT_HANDLE_TYPE_PZ), N(DAT_HANDLE_TYPE_RMR), N(DAT_HANDLE_TYPE_RSP),
	N(DAT_HANDLE_TYPE_CNO), N(DAT_HANDLE_TYPE_SRQ), N_LAST
};
static const struct named booleans[] = {
	N(DAT_FALSE), N(DAT_TRUE), N_LAST
};
static const struct named completions[] = {
	N(DAT_COMPLETION_DEFAULT_FLAG), N(DAT_COMPLETION_SUPPRESS_FLAG),
	N(DAT_COMPLETION_SOLICITED_WAIT_FLAG), N(DAT_COMPLETION_UNSIGNALLED_FLAG),
	N(DAT_COMPLETION_BARRIER_FENCE_FLAG), N(DAT_COMPLETION_EVD_THRESHOLD_FLAG), N_LAST
};
static const struct named closes[] = {
	N(DAT_CLOSE_ABRUPT_FLAG), N(DAT_CLOSE_GRACEFUL_FLAG), N_LAST
};
static const struct named evd_flags[] = {
	N(DAT_EVD_SOFTWARE_FLAG), N(DAT_EVD_CR_FLAG), N(DAT_EVD_DTO_FLAG),
	N(DAT_EVD_CONNECTION_FLAG), N(DAT_EVD_RMR_BIND_FLAG), N(DAT_EVD_ASYNC_FLAG),
	N(DAT_EVD_DEFAULT_FLAG), N_LAST
};
static const struct named evd_states[] = {
	N(DAT_EVD_STATE_ENABLED), N(DAT_EVD_STATE_DISABLED), N(DAT_EVD_STATE_WAITABLE),
	N(DAT_EVD_STATE_UNWAITABLE), N(DAT_EVD_STATE_CONFIG_NOTIFY),
	N(DAT_EVD_STATE_CONFIG_SOLICITED), N(DAT_EVD_STATE_CONFIG_THRESHOLD), N_LAST
};
static const struct named psp_flags[] = {
	N(DAT_PSP_CONSUMER_FLAG), N(DAT_PSP_PROVIDER_FLAG), N_LAST
};
static const struct named mem_privs[] = {
	N(DAT_MEM_PRIV_NONE_FLAG), N(DAT_MEM_PRIV_LOCAL_READ_FLAG),
	N(DAT_MEM_PRIV_REMOTE_READ_FLAG), N(DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
	N(DAT_MEM_PRIV_REMOTE_WRITE_FLAG), N(DAT_MEM_PRIV_ALL_FLAG),
	N(DAT_MEM_PRIV_RO_DISABLE_FLAG), N(DAT_MEM_PRIV_READ_FLAG), N(DAT_MEM_PRIV_WRITE_FLAG),
	N_LAST
};
static const struct named mem_types[] = {
	N(DAT_MEM_TYPE_VIRTUAL), N(DAT_MEM_TYPE_LMR), N(DAT_MEM_TYPE_SHARED_VIRTUAL),
	N(DAT_MEM_TYPE_SO_VIRTUAL), N_LAST
};
static const struct named qoses[] = {
	N(DAT_QOS_BEST_EFFORT), N(DAT_QOS_HIGH_THROUGHPUT), N(DAT_QOS_LOW_LATENCY),
	N(DAT_QOS_ECONOMY), N(DAT_QOS_PREMIUM), N_LAST
};
static const struct named connects[] = {
	N(DAT_CONNECT_DEFAULT_FLAG), N(DAT_CONNECT_MULTIPATH_FLAG), N_LAST
};
static const struct named services[] = {
	N(DAT_SERVICE_TYPE_RC), N_LAST
};
static const struct named counts[] = {
	N(DAT_WATERMARK_INFINITE), N(DAT_HW_DEFAULT), N(DAT_VALUE_UNKNOWN),
	N(DAT_SRQ_LW_DEFAULT), N_LAST
};
static const struct named timeouts[] = {
	N(DAT_TIMEOUT_INFINITE), N_LAST
};
static const struct named pz_supports[] = {
	N(DAT_PZ_UNIQUE), N(DAT_PZ_SAME), N(DAT_PZ_SHAREABLE), N_LAST
};
static const struct named ep_creators[] = {
	N(DAT_PSP_CREATES_EP_NEVER), N(DAT_PSP_CREATES_EP_IFASKED), N(DAT_PSP_CREATES_EP_ALWAYS),
	N_LAST
};
static const struct named srq_masks[] = {
	N(DAT_SRQ_FIELD_IA_HANDLE), N(DAT_SRQ_FIELD_SRQ_STATE), N(DAT_SRQ_FIELD_PZ_HANDLE),
	N(DAT_SRQ_FIELD_MAX_RECV_DTO), N(DAT_SRQ_FIELD_MAX_RECV_IOV),
	N(DAT_SRQ_FIELD_LOW_WATERMARK), N(DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT),
	N(DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT), N(DAT_SRQ_FIELD_ALL), N_LAST
};
static const struct named ep_masks[] = {
	N(DAT_EP_FIELD_IA_HANDLE), N(DAT_EP_FIELD_EP_STATE),
	N(DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR), N(DAT_EP_FIELD_LOCAL_PORT_QUAL),
	N(DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR), N(DAT_EP_FIELD_REMOTE_PORT_QUAL),
	N(DAT_EP_FIELD_PZ_HANDLE), N(DAT_EP_FIELD_RECV_EVD_HANDLE),
	N(DAT_EP_FIELD_REQUEST_EVD_HANDLE), N(DAT_EP_FIELD_CONNECT_EVD_HANDLE),
	N(DAT_EP_FIELD_SRQ_HANDLE), N(DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE),
	N(DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE), N(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE),
	N(DAT_EP_FIELD_EP_ATTR_QOS), N(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS),
	N(DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS), N(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS),
	N(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS), N(DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV),
	N(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV), N(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN),
	N(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT), N(DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW),
	N(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV), N(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV),
	N(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR),
	N(DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR),
	N(DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR),
	N(DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR), N(DAT_EP_FIELD_EP_ATTR_ALL),
	N(DAT_EP_FIELD_ALL), N_LAST
};
static const struct named evd_masks[] = {
	N(DAT_EVD_FIELD_IA_HANDLE), N(DAT_EVD_FIELD_EVD_QLEN), N(DAT_EVD_FIELD_EVD_STATE),
	N(DAT_EVD_FIELD_CNO), N(DAT_EVD_FIELD_EVD_FLAGS), N(DAT_EVD_FIELD_ALL), N_LAST
};
static const struct named pz_masks[] = {
	N(DAT_PZ_FIELD_IA_HANDLE), N(DAT_PZ_FIELD_ALL), N_LAST
};
static const struct named psp_masks[] = {
	N(DAT_PSP_FIELD_IA_HANDLE), N(DAT_PSP_FIELD_CONN_QUAL), N(DAT_PSP_FIELD_EVD_HANDLE),
	N(DAT_PSP_FIELD_PSP_FLAGS), N(DAT_PSP_FIELD_ALL), N_LAST
};
static const struct named rsp_masks[] = {
	N(DAT_RSP_FIELD_IA_HANDLE), N(DAT_RSP_FIELD_CONN_QUAL), N(DAT_RSP_FIELD_EVD_HANDLE),
	N(DAT_RSP_FIELD_EP_HANDLE), N(DAT_RSP_FIELD_ALL), N_LAST
};
static const struct named cr_masks[] = {
	N(DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR), N(DAT_CR_FIELD_REMOTE_PORT_QUAL),
	N(DAT_CR_FIELD_PRIVATE_DATA_SIZE), N(DAT_CR_FIELD_PRIVATE_DATA),
	N(DAT_CR_FIELD_LOCAL_EP_HANDLE), N(DAT_CR_FIELD_ALL), N_LAST
};
static const struct named lmr_masks[] = {
	N(DAT_LMR_FIELD_IA_HANDLE), N(DAT_LMR_FIELD_MEM_TYPE), N(DAT_LMR_FIELD_REGION_DESC),
	N(DAT_LMR_FIELD_LENGTH), N(DAT_LMR_FIELD_PZ_HANDLE), N(DAT_LMR_FIELD_MEM_PRIV),
	N(DAT_LMR_FIELD_LMR_CONTEXT), N(DAT_LMR_FIELD_RMR_CONTEXT),
	N(DAT_LMR_FIELD_REGISTERED_SIZE), N(DAT_LMR_FIELD_REGISTERED_ADDRESS),
	N(DAT_LMR_FIELD_ALL), N_LAST
};
static const struct named rmr_masks[] = {
	N(DAT_RMR_FIELD_IA_HANDLE), N(DAT_RMR_FIELD_PZ_HANDLE), N(DAT_RMR_FIELD_LMR_TRIPLET),
	N(DAT_RMR_FIELD_MEM_PRIV), N(DAT_RMR_FIELD_RMR_CONTEXT), N(DAT_RMR_FIELD_ALL), N_LAST
};
static const struct named cno_masks[] = {
	N(DAT_CNO_FIELD_IA_HANDLE), N(DAT_CNO_FIELD_AGENT), N(DAT_CNO_FIELD_ALL), N_LAST
};
static const struct named ia_masks[] = {
	N(DAT_IA_FIELD_IA_ADAPTER_NAME), N(DAT_IA_FIELD_IA_VENDOR_NAME),
	N(DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION), N(DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION),
	N(DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION), N(DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION),
	N(DAT_IA_FIELD_IA_ADDRESS_PTR), N(DAT_IA_FIELD_IA_MAX_EPS),
	N(DAT_IA_FIELD_IA_MAX_DTO_PER_EP), N(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN),
	N(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT), N(DAT_IA_FIELD_IA_MAX_EVDS),
	N(DAT_IA_FIELD_IA_MAX_EVD_QLEN), N(DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO),
	N(DAT_IA_FIELD_IA_MAX_LMRS), N(DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE),
	N(DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS), N(DAT_IA_FIELD_IA_MAX_PZS),
	N(DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE), N(DAT_IA_FIELD_IA_MAX_RDMA_SIZE),
	N(DAT_IA_FIELD_IA_MAX_RMRS), N(DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS),
	N(DAT_IA_FIELD_IA_MAX_SRQS), N(DAT_IA_FIELD_IA_MAX_EP_PER_SRQ),
	N(DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ), N(DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ),
	N(DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE), N(DAT_IA_FIELD_IA_MAX_RDMA_READ_IN),
	N(DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT),
	N(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED),
	N(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED),
	N(DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR), N(DAT_IA_FIELD_IA_TRANSPORT_ATTR),
	N(DAT_IA_FIELD_IA_NUM_VENDOR_ATTR), N(DAT_IA_FIELD_IA_VENDOR_ATTR), N(DAT_IA_FIELD_ALL),
	N(DAT_IA_FIELD_NONE), N_LAST
};
static const struct named provider_masks[] = {
	N(DAT_PROVIDER_FIELD_PROVIDER_NAME), N(DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR),
	N(DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR), N(DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR),
	N(DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR), N(DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED),
	N(DAT_PROVIDER_FIELD_IOV_OWNERSHIP), N(DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED),
	N(DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED), N(DAT_PROVIDER_FIELD_IS_THREAD_SAFE),
	N(DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE), N(DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH),
	N(DAT_PROVIDER_FIELD_EP_CREATOR), N(DAT_PROVIDER_FIELD_PZ_SUPPORT),
	N(DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT),
	N(DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED), N(DAT_PROVIDER_FIELD_SRQ_SUPPORTED),
	N(DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED),
	N(DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED),
	N(DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED), N(DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED),
	N(DAT_PROVIDER_FIELD_LMR_SYNC_REQ), N(DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED),
	N(DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ),
	N(DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR),
	N(DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR), N(DAT_PROVIDER_FIELD_ALL),
	N(DAT_PROVIDER_FIELD_NONE), N_LAST
};
#define MASK_GROUP(prefix, table) \
	{ "a mask", { prefix, "DAT_" }, .bits = true, .names = table }

static const struct group groups[NUM_GROUPS] = {
	[GROUP_RETURN] = { "a return type", { "DAT_" }, .names = returns },
	[GROUP_SUBTYPE] = { "a return subtype", { "DAT_" }, .names = subtypes },
	[GROUP_EVENT] = { "an event",
			  { "DAT_CONNECTION_EVENT_", "DAT_ASYNC_ERROR_", "DAT_ASYNC_", "DAT_" },
			  "_EVENT", .brief = true, .names = events },
	[GROUP_DTO_STATUS] = { "a completion status", { "DAT_DTO_ERR_", "DAT_DTO_", "DAT_" },
			       .brief = true, .names = dto_statuses },
	[GROUP_EP_STATE] = { "an EP state", { "DAT_EP_STATE_" }, .brief = true,
		.names = ep_states },
	[GROUP_SRQ_STATE] = { "an SRQ state", { "DAT_SRQ_STATE_" }, .brief = true,
			      .names = srq_states },
	[GROUP_HANDLE_TYPE] = { "a handle type", { "DAT_HANDLE_TYPE_" }, .brief = true,
				.names = handle_types },
	[GROUP_BOOLEAN] = { "TRUE or FALSE", { "DAT_" }, .names = booleans },
	[GROUP_COMPLETION] = { "completion flags", { "DAT_COMPLETION_", "DAT_" }, "_FLAG",
		.bits = true,
			       .brief = true, .names = completions },
	[GROUP_CLOSE] = { "ABRUPT or GRACEFUL", { "DAT_CLOSE_", "DAT_" }, "_FLAG", .brief = true,
			  .names = closes },
	[GROUP_EVD_FLAGS] = { "EVD flags", { "DAT_EVD_", "DAT_" }, "_FLAG", .bits = true,
		.brief = true,
			      .names = evd_flags },
	[GROUP_EVD_STATE] = { "an EVD state", { "DAT_EVD_STATE_" }, .bits = true, .brief = true,
			      .names = evd_states },
	[GROUP_PSP_FLAGS] = { "CONSUMER or PROVIDER", { "DAT_PSP_", "DAT_" }, "_FLAG",
		.brief = true,
			      .names = psp_flags },
	[GROUP_MEM_PRIV] = { "memory privileges", { "DAT_MEM_PRIV_", "DAT_" }, "_FLAG",
		.bits = true,
			     .brief = true, .names = mem_privs },
	[GROUP_MEM_TYPE] = { "a memory type", { "DAT_MEM_TYPE_" }, .brief = true,
		.names = mem_types },
	[GROUP_QOS] = { "a quality of service", { "DAT_QOS_" }, .bits = true, .brief = true,
			.names = qoses },
	[GROUP_CONNECT] = { "connect flags", { "DAT_CONNECT_", "DAT_" }, "_FLAG", .bits = true,
			    .brief = true, .names = connects },
	[GROUP_SERVICE] = { "a service type", { "DAT_SERVICE_TYPE_" }, .brief = true,
			    .names = services },
	[GROUP_COUNT] = { "a number", { "DAT_WATERMARK_", "DAT_" }, .names = counts },
	[GROUP_TIMEOUT] = { "a time", { "DAT_TIMEOUT_", "DAT_" }, .names = timeouts },
	[GROUP_PZ_SUPPORT] = { "a PZ support", { "DAT_PZ_", "DAT_" }, .names = pz_supports },
	[GROUP_EP_CREATOR] = { "an EP creator", { "DAT_PSP_CREATES_EP_", "DAT_" },
			       .names = ep_creators },
	[GROUP_SRQ_MASK] = MASK_GROUP("DAT_SRQ_FIELD_", srq_masks),
	[GROUP_EP_MASK] = { "a mask", { "DAT_EP_FIELD_EP_ATTR_", "DAT_EP_FIELD_", "DAT_" },
			    .bits = true, .names = ep_masks },
	[GROUP_EVD_MASK] = MASK_GROUP("DAT_EVD_FIELD_", evd_masks),
	[GROUP_PZ_MASK] = MASK_GROUP("DAT_PZ_FIELD_", pz_masks),
	[GROUP_PSP_MASK] = MASK_GROUP("DAT_PSP_FIELD_", psp_masks),
	[GROUP_RSP_MASK] = MASK_GROUP("DAT_RSP_FIELD_", rsp_masks),
	[GROUP_CR_MASK] = MASK_GROUP("DAT_CR_FIELD_", cr_masks),
	[GROUP_LMR_MASK] = MASK_GROUP("DAT_LMR_FIELD_", lmr_masks),
	[GROUP_RMR_MASK] = MASK_GROUP("DAT_RMR_FIELD_", rmr_masks),
	[GROUP_CNO_MASK] = MASK_GROUP("DAT_CNO_FIELD_", cno_masks),
	[GROUP_IA_MASK] = { "a mask", { "DAT_IA_FIELD_IA_", "DAT_IA_FIELD_", "DAT_" }, .bits = true,
			    .names = ia_masks },
	[GROUP_PROVIDER_MASK] = MASK_GROUP("DAT_PROVIDER_FIELD_", provider_masks),
	[GROUP_RESULT] = { "a return class, type or subtype", { "DAT_" }, .bits = true,
			   .names = classes },
};
/* clang-format on */

const struct group *group_of(enum group_id id)
{
	return id == GROUP_NONE ? NULL : &groups[id];
}

/* Is `full` equal to prefix + name, or to prefix + name + suffix? */
static bool is_short_for(const char *full, const char *prefix, const char *suffix, const char *name,
			 size_t n)
{
	size_t p = strlen(prefix);

	if (strncmp(full, prefix, p) || strncmp(full + p, name, n))
		return false;
	full += p + n;
	return !*full || (suffix && !strcmp(full, suffix));
}

bool group_find(enum group_id id, const char *name, int length, uint64_t *value)
{
	const struct group *group = &groups[id];
	const struct named *named;
	size_t i;

	if (id == GROUP_NONE)
		return false;
	for (named = group->names; named->name; named++) {
		if (is_short_for(named->name, "", NULL, name, (size_t)length))
			goto found;
	}
	for (i = 0; i < ARRAY_SIZE(group->prefixes) && group->prefixes[i]; i++) {
		for (named = group->names; named->name; named++) {
			if (is_short_for(named->name, group->prefixes[i], group->suffix, name,
					 (size_t)length))
				goto found;
		}
	}
	/* A whole DAT_RETURN may combine a type with a subtype. */
	if (id == GROUP_RESULT)
		return group_find(GROUP_RETURN, name, length, value) ||
		       group_find(GROUP_SUBTYPE, name, length, value);
	return false;
found:
	*value = named->value;
	return true;
}

/* The name without the group's prefix and suffix, if the short form still means the same value. */
static const char *brief_name(enum group_id id, const struct named *named, int *length)
{
	const struct group *group = &groups[id];
	const char *s = named->name;
	uint64_t value;
	size_t i, n, m;

	*length = (int)strlen(s);
	if (!group->brief)
		return s;
	for (i = 0; i < ARRAY_SIZE(group->prefixes) && group->prefixes[i]; i++) {
		n = strlen(group->prefixes[i]);
		if (strncmp(named->name, group->prefixes[i], n))
			continue;
		s = named->name + n;
		*length = (int)strlen(s);
		m = group->suffix ? strlen(group->suffix) : 0;
		if (m && (size_t)*length > m && !strcmp(s + *length - m, group->suffix))
			*length -= (int)m;
		if (group_find(id, s, *length, &value) && value == named->value)
			return s;
	}
	*length = (int)strlen(named->name);
	return named->name;
}

void group_suggest(enum group_id id, struct suggest *suggest)
{
	const struct group *group = &groups[id];
	const struct named *named;
	size_t i, n, m, suffix = group->suffix ? strlen(group->suffix) : 0;

	if (id == GROUP_RESULT) {
		group_suggest(GROUP_RETURN, suggest);
		group_suggest(GROUP_SUBTYPE, suggest);
	}
	for (named = id == GROUP_NONE ? NULL : group->names; named && named->name; named++) {
		suggest_try(suggest, named->name);
		for (i = 0; i < ARRAY_SIZE(group->prefixes) && group->prefixes[i]; i++) {
			n = strlen(group->prefixes[i]);
			if (strncmp(named->name, group->prefixes[i], n))
				continue;
			m = strlen(named->name + n);
			suggest_try(suggest, named->name + n);
			if (m > suffix && suffix &&
			    !strcmp(named->name + n + m - suffix, group->suffix))
				suggest_try_part(suggest, named->name + n, m - suffix);
		}
	}
}

static bool print_exact(struct text *text, enum group_id id, uint64_t value)
{
	const struct named *named;
	const char *s;
	int length;

	for (named = groups[id].names; named->name; named++) {
		if (named->value != value)
			continue;
		s = brief_name(id, named, &length);
		text_append(text, s, (size_t)length);
		return true;
	}
	return false;
}

static void print_bits(struct text *text, enum group_id id, uint64_t value)
{
	const char *between = "";
	uint64_t bit;

	for (bit = 1; bit && value; bit <<= 1) {
		if (!(value & bit))
			continue;
		text_add(text, "%s", between);
		if (!print_exact(text, id, bit))
			text_add(text, "0x%llx", (unsigned long long)bit);
		value &= ~bit;
		between = "|";
	}
}

void group_print(struct text *text, enum group_id id, uint64_t value, bool is_signed, size_t size)
{
	if (id != GROUP_NONE && id != GROUP_COUNT && print_exact(text, id, value))
		return;
	if (id != GROUP_NONE && groups[id].bits && value && !is_signed)
		print_bits(text, id, value);
	else if (id == GROUP_RETURN || id == GROUP_SUBTYPE || id == GROUP_EVENT)
		text_add(text, "0x%llx", (unsigned long long)value);
	else if (is_signed && size <= sizeof(int))
		text_add(text, "%d", (int)value);
	else
		text_add(text, "%llu", (unsigned long long)value);
}
