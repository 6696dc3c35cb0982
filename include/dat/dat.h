/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat/dat.h - the types and calls that user DAT shares with kernel DAT.
 *
 * Programs include <dat/udat.h>. This file needs types defined there and includes it if it is
 * included first.
 */
#ifndef _UDAT_H_
#include <dat/udat.h>
#endif

#ifndef _DAT_H_
#define _DAT_H_

#include <dat/dat_error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- names, flags, scalars ---- */

#define DAT_NAME_MAX_LENGTH	256	/* bytes, the final NUL included */

typedef char			*DAT_NAME_PTR;

typedef enum dat_boolean {
	DAT_FALSE		= 0,
	DAT_TRUE		= 1
} DAT_BOOLEAN;

/* An attribute that one transport, vendor or provider defines. The strings are the provider's. */
typedef struct dat_named_attr {
	const char		*name;
	const char		*value;
} DAT_NAMED_ATTR;

/* A value of the Consumer that the library stores and returns without reading it */
typedef union dat_context {
	DAT_PVOID		as_ptr;
	DAT_UINT64		as_64;
	DAT_UVERYLONG		as_index;
} DAT_CONTEXT;

typedef DAT_CONTEXT		DAT_DTO_COOKIE;
typedef DAT_CONTEXT		DAT_RMR_COOKIE;

typedef DAT_UINT32		DAT_TIMEOUT;		/* microseconds */
#define DAT_TIMEOUT_INFINITE	((DAT_TIMEOUT)0xffffffff)

typedef DAT_UINT64		DAT_CONN_QUAL;		/* what a listener listens on */
typedef DAT_UINT64		DAT_PORT_QUAL;		/* the port of an Endpoint */
typedef DAT_SOCK_ADDR		*DAT_IA_ADDRESS_PTR;

/*
 * Handles are opaque and process-wide. A handle that was freed gives DAT_INVALID_HANDLE; its value
 * is not issued again before 2^30 others were, or 64 million for each GiB of addresses that the
 * process may have (ruling G3).
 */
typedef DAT_PVOID		DAT_HANDLE;
typedef DAT_HANDLE		DAT_IA_HANDLE;		/* Interface Adapter, one opening of it */
typedef DAT_HANDLE		DAT_PZ_HANDLE;		/* Protection Zone */
typedef DAT_HANDLE		DAT_LMR_HANDLE;		/* Local Memory Region */
typedef DAT_HANDLE		DAT_RMR_HANDLE;		/* Remote Memory Region, a memory window */
typedef DAT_HANDLE		DAT_EVD_HANDLE;		/* Event Dispatcher, a queue of events */
typedef DAT_HANDLE		DAT_EP_HANDLE;		/* Endpoint */
typedef DAT_HANDLE		DAT_SRQ_HANDLE;		/* Shared Receive Queue */
typedef DAT_HANDLE		DAT_PSP_HANDLE;		/* Public Service Point, a listener */
typedef DAT_HANDLE		DAT_RSP_HANDLE;		/* Reserved Service Point, for one EP */
typedef DAT_HANDLE		DAT_CR_HANDLE;		/* Connection Request */

#define DAT_HANDLE_NULL		((DAT_HANDLE)NULL)

typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT		= 0x00,
	DAT_QOS_HIGH_THROUGHPUT		= 0x01,
	DAT_QOS_LOW_LATENCY		= 0x02,
	DAT_QOS_ECONOMY			= 0x04,		/* neither of the two above */
	DAT_QOS_PREMIUM			= 0x08		/* both */
} DAT_QOS;

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG	= 0x00,
	DAT_CONNECT_MULTIPATH_FLAG	= 0x01
} DAT_CONNECT_FLAGS;

typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG		= 0x00,
	DAT_CLOSE_GRACEFUL_FLAG		= 0x01
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT		DAT_CLOSE_ABRUPT_FLAG

/* The side that creates the Endpoint for a request that arrives at a PSP */
typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG		= 0x00,
	DAT_PSP_PROVIDER_FLAG		= 0x01
} DAT_PSP_FLAGS;

/* The event streams an EVD takes; any of them may share one EVD (ruling G6). */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG		= 0x001,
	DAT_EVD_CR_FLAG			= 0x010,
	DAT_EVD_DTO_FLAG		= 0x020,
	DAT_EVD_CONNECTION_FLAG		= 0x040,
	DAT_EVD_RMR_BIND_FLAG		= 0x080,
	DAT_EVD_ASYNC_FLAG		= 0x100,
	DAT_EVD_DEFAULT_FLAG		= 0x1f0		/* all but software */
} DAT_EVD_FLAGS;

/*
 * A completion is an event. It may also be a notification: only notifications wake waiters and
 * trigger CNOs. SUPPRESS: no event if the request succeeds. SOLICITED_WAIT, on a Send: the
 * completion of the peer's Receive is a notification. UNSIGNALLED: an event, but no notification;
 * the EP's attributes must have the flag too. BARRIER_FENCE: start after all earlier RDMA Reads.
 * EVD_THRESHOLD: EP attribute only, the threshold of dat_evd_wait() decides. See rulings A2 and
 * A2a.
 */
typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG		= 0x00,	/* every completion notifies */
	DAT_COMPLETION_SUPPRESS_FLAG		= 0x01,
	DAT_COMPLETION_SOLICITED_WAIT_FLAG	= 0x02,
	DAT_COMPLETION_UNSIGNALLED_FLAG		= 0x04,
	DAT_COMPLETION_BARRIER_FENCE_FLAG	= 0x08,
	DAT_COMPLETION_EVD_THRESHOLD_FLAG	= 0x10
} DAT_COMPLETION_FLAGS;

/* ---- memory ---- */

typedef DAT_UINT32		DAT_LMR_CONTEXT;	/* names an LMR in a local segment */
typedef DAT_UINT32		DAT_RMR_CONTEXT;	/* names memory to the peer, host order */
typedef DAT_UINT64		DAT_VADDR;
typedef DAT_UINT64		DAT_VLEN;		/* bytes */

/* A local segment. If segment_length is 0, the other members are ignored. */
typedef struct dat_lmr_triplet {
	DAT_LMR_CONTEXT		lmr_context;
	DAT_UINT32		pad;
	DAT_VADDR		virtual_address;
	DAT_VLEN		segment_length;
} DAT_LMR_TRIPLET;

/* A range of the peer's memory */
typedef struct dat_rmr_triplet {
	DAT_RMR_CONTEXT		rmr_context;
	DAT_UINT32		pad;
	DAT_VADDR		target_address;
	DAT_VLEN		segment_length;
} DAT_RMR_TRIPLET;

/* LOCAL_WRITE implies local read (ruling A3). */
typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG		= 0x00,
	DAT_MEM_PRIV_LOCAL_READ_FLAG	= 0x01,
	DAT_MEM_PRIV_REMOTE_READ_FLAG	= 0x02,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG	= 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG	= 0x20,
	DAT_MEM_PRIV_ALL_FLAG		= 0x33,
	DAT_MEM_PRIV_RO_DISABLE_FLAG	= 0x100		/* no relaxed ordering; a hint */
} DAT_MEM_PRIV_FLAGS;

/* DAT 1.0 did not distinguish local and remote privileges. */
#define DAT_MEM_PRIV_READ_FLAG	\
	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG))
#define DAT_MEM_PRIV_WRITE_FLAG	\
	((DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))

/* udat.h defines the structures. */
typedef struct dat_lmr_param		DAT_LMR_PARAM;
typedef struct dat_evd_param		DAT_EVD_PARAM;
typedef struct dat_provider_attr	DAT_PROVIDER_ATTR;

typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE			= 0x001,
	DAT_LMR_FIELD_MEM_TYPE			= 0x002,
	DAT_LMR_FIELD_REGION_DESC		= 0x004,
	DAT_LMR_FIELD_LENGTH			= 0x008,
	DAT_LMR_FIELD_PZ_HANDLE			= 0x010,
	DAT_LMR_FIELD_MEM_PRIV			= 0x020,
	DAT_LMR_FIELD_LMR_CONTEXT		= 0x040,
	DAT_LMR_FIELD_RMR_CONTEXT		= 0x080,
	DAT_LMR_FIELD_REGISTERED_SIZE		= 0x100,
	DAT_LMR_FIELD_REGISTERED_ADDRESS	= 0x200,
	DAT_LMR_FIELD_ALL			= 0x3ff
} DAT_LMR_PARAM_MASK;

/* While the RMR is not bound, only the two handles are meaningful. */
typedef struct dat_rmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_PZ_HANDLE		pz_handle;
	DAT_LMR_TRIPLET		lmr_triplet;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_RMR_CONTEXT		rmr_context;
} DAT_RMR_PARAM;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE		= 0x01,
	DAT_RMR_FIELD_PZ_HANDLE		= 0x02,
	DAT_RMR_FIELD_LMR_TRIPLET	= 0x04,
	DAT_RMR_FIELD_MEM_PRIV		= 0x08,
	DAT_RMR_FIELD_RMR_CONTEXT	= 0x10,
	DAT_RMR_FIELD_ALL		= 0x1f
} DAT_RMR_PARAM_MASK;

typedef struct dat_pz_param {
	DAT_IA_HANDLE		ia_handle;
} DAT_PZ_PARAM;

typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE		= 0x01,
	DAT_PZ_FIELD_ALL		= 0x01
} DAT_PZ_PARAM_MASK;

/* ---- the adapter ---- */

/* Names of DAT 1.0 and 1.1 for members that were renamed */
#define max_mtu_size			max_message_size
#define max_rdma_read_per_ep		max_rdma_read_per_ep_in

/* Limits hold per adapter, over all its openings, and all of them are enforced (ruling G9). */
typedef struct dat_ia_attr {
	char			adapter_name[DAT_NAME_MAX_LENGTH];
	char			vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32		hardware_version_major;
	DAT_UINT32		hardware_version_minor;
	DAT_UINT32		firmware_version_major;
	DAT_UINT32		firmware_version_minor;
	DAT_IA_ADDRESS_PTR	ia_address_ptr;		/* the library's, valid until close */
	DAT_COUNT		max_eps;
	DAT_COUNT		max_dto_per_ep;		/* in each direction */
	DAT_COUNT		max_rdma_read_per_ep_in;
	DAT_COUNT		max_rdma_read_per_ep_out;
	DAT_COUNT		max_evds;
	DAT_COUNT		max_evd_qlen;		/* events */
	DAT_COUNT		max_iov_segments_per_dto;
	DAT_COUNT		max_lmrs;
	DAT_VLEN		max_lmr_block_size;	/* bytes */
	DAT_VADDR		max_lmr_virtual_address;
	DAT_COUNT		max_pzs;
	DAT_VLEN		max_message_size;	/* bytes */
	DAT_VLEN		max_rdma_size;		/* bytes */
	DAT_COUNT		max_rmrs;
	DAT_VADDR		max_rmr_target_address;
	DAT_COUNT		max_srqs;
	DAT_COUNT		max_ep_per_srq;
	DAT_COUNT		max_recv_per_srq;	/* Receives on one SRQ */
	DAT_COUNT		max_iov_segments_per_rdma_read;
	DAT_COUNT		max_iov_segments_per_rdma_write;
	DAT_COUNT		max_rdma_read_in;	/* the adapter's, over all EPs */
	DAT_COUNT		max_rdma_read_out;
	DAT_BOOLEAN		max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN		max_rdma_read_per_ep_out_guaranteed;
	DAT_COUNT		num_transport_attr;
	DAT_NAMED_ATTR		*transport_attr;	/* the library's */
	DAT_COUNT		num_vendor_attr;
	DAT_NAMED_ATTR		*vendor_attr;		/* the library's */
} DAT_IA_ATTR;

typedef DAT_UINT64		DAT_IA_ATTR_MASK;

#define DAT_IA_FIELD_IA_ADAPTER_NAME				UINT64_C(0x000000001)
#define DAT_IA_FIELD_IA_VENDOR_NAME				UINT64_C(0x000000002)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION			UINT64_C(0x000000004)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION			UINT64_C(0x000000008)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION			UINT64_C(0x000000010)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION			UINT64_C(0x000000020)
#define DAT_IA_FIELD_IA_ADDRESS_PTR				UINT64_C(0x000000040)
#define DAT_IA_FIELD_IA_MAX_EPS					UINT64_C(0x000000080)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP				UINT64_C(0x000000100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN			UINT64_C(0x000000200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT		UINT64_C(0x000000400)
#define DAT_IA_FIELD_IA_MAX_EVDS				UINT64_C(0x000000800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN				UINT64_C(0x000001000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO		UINT64_C(0x000002000)
#define DAT_IA_FIELD_IA_MAX_LMRS				UINT64_C(0x000004000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE			UINT64_C(0x000008000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS			UINT64_C(0x000010000)
#define DAT_IA_FIELD_IA_MAX_PZS					UINT64_C(0x000020000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE			UINT64_C(0x000040000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE				UINT64_C(0x000080000)
#define DAT_IA_FIELD_IA_MAX_RMRS				UINT64_C(0x000100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS			UINT64_C(0x000200000)
#define DAT_IA_FIELD_IA_MAX_SRQS				UINT64_C(0x000400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ				UINT64_C(0x000800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ			UINT64_C(0x001000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ		UINT64_C(0x002000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE		UINT64_C(0x004000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN			UINT64_C(0x008000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT			UINT64_C(0x010000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED	UINT64_C(0x020000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED	UINT64_C(0x040000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR			UINT64_C(0x080000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR				UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR				UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR				UINT64_C(0x400000000)
#define DAT_IA_FIELD_ALL					UINT64_C(0x7ffffffff)
#define DAT_IA_FIELD_NONE					UINT64_C(0x000000000)

/* Older names */
#define DAT_IA_ALL				DAT_IA_FIELD_ALL
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE		DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP		DAT_IA_FIELD_IA_MAX_DTO_PER_EP

/* One line of the registry */
typedef struct dat_provider_info {
	char			ia_name[DAT_NAME_MAX_LENGTH];	/* what dat_ia_open takes */
	DAT_UINT32		dapl_version_major;
	DAT_UINT32		dapl_version_minor;
	DAT_BOOLEAN		is_thread_safe;
} DAT_PROVIDER_INFO;

/* When the segments passed to a post belong to the Consumer again */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER		= 0x0,		/* when the post returns */
	DAT_IOV_PROVIDER_NOMOD		= 0x1,		/* at completion, unchanged */
	DAT_IOV_PROVIDER_MOD		= 0x2		/* at completion, contents undefined */
} DAT_IOV_OWNERSHIP;

typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER	= 0,
	DAT_PSP_CREATES_EP_IFASKED	= 1,
	DAT_PSP_CREATES_EP_ALWAYS	= 2
} DAT_EP_CREATOR_FOR_PSP;

/* ---- watermarks and counts ---- */

#define DAT_WATERMARK_INFINITE	((DAT_COUNT)-1)		/* a high watermark that never fires */
#define DAT_HW_DEFAULT		DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT	0			/* a low watermark that never fires */
#define DAT_VALUE_UNKNOWN	((DAT_COUNT)-2)		/* a count the provider cannot tell */

/* ---- Shared Receive Queues ---- */

typedef struct dat_srq_attr {
	DAT_COUNT		max_recv_dtos;		/* Receives outstanding at most, > 0 */
	DAT_COUNT		max_recv_iov;		/* segments of one Receive, > 0 */
	DAT_COUNT		low_watermark;		/* 0 .. max_recv_dtos (rulings L4, L6) */
} DAT_SRQ_ATTR;

typedef enum dat_srq_state {
	DAT_SRQ_STATE_OPERATIONAL	= 0,
	DAT_SRQ_STATE_ERROR		= 1
} DAT_SRQ_STATE;

typedef struct dat_srq_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_SRQ_STATE		srq_state;
	DAT_PZ_HANDLE		pz_handle;
	DAT_COUNT		max_recv_dtos;		/* the size in force (ruling Z3) */
	DAT_COUNT		max_recv_iov;
	DAT_COUNT		low_watermark;		/* kept after the event (ruling L5) */
	DAT_COUNT		available_dto_count;	/* posted and not taken (ruling Q1) */
	DAT_COUNT		outstanding_dto_count;	/* posted and not reaped */
} DAT_SRQ_PARAM;

typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE			= 0x01,
	DAT_SRQ_FIELD_SRQ_STATE			= 0x02,
	DAT_SRQ_FIELD_PZ_HANDLE			= 0x04,
	DAT_SRQ_FIELD_MAX_RECV_DTO		= 0x08,
	DAT_SRQ_FIELD_MAX_RECV_IOV		= 0x10,
	DAT_SRQ_FIELD_LOW_WATERMARK		= 0x20,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT	= 0x40,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT	= 0x80,
	DAT_SRQ_FIELD_ALL			= 0xff
} DAT_SRQ_PARAM_MASK;

/* ---- Endpoints ---- */

typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC	= 0			/* reliable, connected */
} DAT_SERVICE_TYPE;

/* Sizes are bytes, counts are per EP; ruling A1 tells what 0 means at creation. */
typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE	service_type;
	DAT_VLEN		max_message_size;
	DAT_VLEN		max_rdma_size;
	DAT_QOS			qos;
	DAT_COMPLETION_FLAGS	recv_completion_flags;
	DAT_COMPLETION_FLAGS	request_completion_flags;
	DAT_COUNT		max_recv_dtos;		/* Receives outstanding at once */
	DAT_COUNT		max_request_dtos;	/* Sends, RDMAs and binds together */
	DAT_COUNT		max_recv_iov;		/* segments of one Receive */
	DAT_COUNT		max_request_iov;	/* segments of one Send */
	DAT_COUNT		max_rdma_read_in;	/* RDMA Reads served at once */
	DAT_COUNT		max_rdma_read_out;	/* RDMA Reads in flight at once */
	DAT_COUNT		srq_soft_hw;		/* soft high watermark (ruling H5) */
	DAT_COUNT		max_rdma_read_iov;
	DAT_COUNT		max_rdma_write_iov;
	DAT_COUNT		ep_transport_specific_count;
	DAT_NAMED_ATTR		*ep_transport_specific;
	DAT_COUNT		ep_provider_specific_count;
	DAT_NAMED_ATTR		*ep_provider_specific;
} DAT_EP_ATTR;

typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED			= 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED		= 1,
	DAT_EP_STATE_RESERVED				= 2,	/* belongs to an RSP */
	DAT_EP_STATE_UNCONFIGURED_RESERVED		= 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING		= 4,	/* the RSP's request has arrived */
	DAT_EP_STATE_UNCONFIGURED_PASSIVE		= 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING		= 6,	/* connecting */
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING	= 7,	/* made by a PSP for a request */
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE		= 8,
	DAT_EP_STATE_CONNECTED				= 9,
	DAT_EP_STATE_DISCONNECT_PENDING			= 10,	/* requests drain */
	DAT_EP_STATE_DISCONNECTED			= 11,
	DAT_EP_STATE_COMPLETION_PENDING			= 12	/* accepted, not yet connected */
} DAT_EP_STATE;

#define DAT_EP_STATE_ERROR	DAT_EP_STATE_DISCONNECTED	/* DAT 1.0 */

typedef struct dat_ep_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_EP_STATE		ep_state;
	DAT_IA_ADDRESS_PTR	local_ia_address_ptr;	/* the library's */
	DAT_PORT_QUAL		local_port_qual;
	DAT_IA_ADDRESS_PTR	remote_ia_address_ptr;	/* the library's */
	DAT_PORT_QUAL		remote_port_qual;
	DAT_PZ_HANDLE		pz_handle;
	DAT_EVD_HANDLE		recv_evd_handle;
	DAT_EVD_HANDLE		request_evd_handle;
	DAT_EVD_HANDLE		connect_evd_handle;
	DAT_SRQ_HANDLE		srq_handle;		/* DAT_HANDLE_NULL on a plain EP */
	DAT_EP_ATTR		ep_attr;
} DAT_EP_PARAM;

typedef DAT_UINT64		DAT_EP_PARAM_MASK;

#define DAT_EP_FIELD_IA_HANDLE				UINT64_C(0x00000001)
#define DAT_EP_FIELD_EP_STATE				UINT64_C(0x00000002)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		UINT64_C(0x00000004)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			UINT64_C(0x00000008)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		UINT64_C(0x00000010)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			UINT64_C(0x00000020)
#define DAT_EP_FIELD_PZ_HANDLE				UINT64_C(0x00000040)
#define DAT_EP_FIELD_RECV_EVD_HANDLE			UINT64_C(0x00000080)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			UINT64_C(0x00000100)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			UINT64_C(0x00000200)
#define DAT_EP_FIELD_SRQ_HANDLE				UINT64_C(0x00000400)
/* 0x800 is not used. */
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE		UINT64_C(0x00001000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE		UINT64_C(0x00002000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE		UINT64_C(0x00004000)
#define DAT_EP_FIELD_EP_ATTR_QOS			UINT64_C(0x00008000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS	UINT64_C(0x00010000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS	UINT64_C(0x00020000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS		UINT64_C(0x00040000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS		UINT64_C(0x00080000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV		UINT64_C(0x00100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV		UINT64_C(0x00200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN		UINT64_C(0x00400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT		UINT64_C(0x00800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW		UINT64_C(0x01000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV		UINT64_C(0x02000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV		UINT64_C(0x04000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR		UINT64_C(0x08000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR	UINT64_C(0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR		UINT64_C(0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR	UINT64_C(0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL			UINT64_C(0x7ffff000)
#define DAT_EP_FIELD_ALL				UINT64_C(0x7ffff7ff)

/* ---- listeners and Connection Requests ---- */

typedef struct dat_psp_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_CONN_QUAL		conn_qual;
	DAT_EVD_HANDLE		evd_handle;
	DAT_PSP_FLAGS		psp_flags;
} DAT_PSP_PARAM;

typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE		= 0x01,
	DAT_PSP_FIELD_CONN_QUAL		= 0x02,
	DAT_PSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_PSP_FIELD_PSP_FLAGS		= 0x08,
	DAT_PSP_FIELD_ALL		= 0x0f
} DAT_PSP_PARAM_MASK;

typedef struct dat_rsp_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_CONN_QUAL		conn_qual;
	DAT_EVD_HANDLE		evd_handle;
	DAT_EP_HANDLE		ep_handle;
} DAT_RSP_PARAM;

typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE		= 0x01,
	DAT_RSP_FIELD_CONN_QUAL		= 0x02,
	DAT_RSP_FIELD_EVD_HANDLE	= 0x04,
	DAT_RSP_FIELD_EP_HANDLE		= 0x08,
	DAT_RSP_FIELD_ALL		= 0x0f
} DAT_RSP_PARAM_MASK;

/* Address and private data are the library's, valid until the CR is accepted, rejected or moved. */
typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR	remote_ia_address_ptr;
	DAT_PORT_QUAL		remote_port_qual;
	DAT_COUNT		private_data_size;	/* bytes */
	DAT_PVOID		private_data;
	DAT_EP_HANDLE		local_ep_handle;	/* the EP it is for, or DAT_HANDLE_NULL */
} DAT_CR_PARAM;

typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR	= 0x01,
	DAT_CR_FIELD_REMOTE_PORT_QUAL		= 0x02,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE		= 0x04,
	DAT_CR_FIELD_PRIVATE_DATA		= 0x08,
	DAT_CR_FIELD_LOCAL_EP_HANDLE		= 0x10,
	DAT_CR_FIELD_ALL			= 0x1f
} DAT_CR_PARAM_MASK;

/* ---- events ---- */

/* The bits above the low twelve are the number of the stream. */
typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT			= 0x00001,
	DAT_RMR_BIND_COMPLETION_EVENT			= 0x01001,
	DAT_CONNECTION_REQUEST_EVENT			= 0x02001,
	DAT_CONNECTION_EVENT_ESTABLISHED		= 0x04001,
	DAT_CONNECTION_EVENT_PEER_REJECTED		= 0x04002,
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED		= 0x04003,	/* no listener, ... */
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR	= 0x04004,	/* passive side only */
	DAT_CONNECTION_EVENT_DISCONNECTED		= 0x04005,
	DAT_CONNECTION_EVENT_BROKEN			= 0x04006,
	DAT_CONNECTION_EVENT_TIMED_OUT			= 0x04007,
	DAT_CONNECTION_EVENT_UNREACHABLE		= 0x04008,
	DAT_ASYNC_ERROR_EVD_OVERFLOW			= 0x08001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC			= 0x08002,
	DAT_ASYNC_ERROR_EP_BROKEN			= 0x08003,
	DAT_ASYNC_ERROR_TIMED_OUT			= 0x08004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR		= 0x08005,
	/* 0x08011, 0x08012: watermarks, see dat/udat_vendor_specific.h */
	DAT_SOFTWARE_EVENT				= 0x10001
} DAT_EVENT_NUMBER;

typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS			= 0,
	DAT_DTO_ERR_FLUSHED		= 1,	/* the connection ended first */
	DAT_DTO_ERR_LOCAL_LENGTH	= 2,	/* the message is longer than the Receive */
	DAT_DTO_ERR_LOCAL_EP		= 3,
	DAT_DTO_ERR_LOCAL_PROTECTION	= 4,	/* LMR freed, or its PZ or privileges */
	DAT_DTO_ERR_BAD_RESPONSE	= 5,
	DAT_DTO_ERR_REMOTE_ACCESS	= 6,	/* the peer's memory refused */
	DAT_DTO_ERR_REMOTE_RESPONDER	= 7,	/* an error at the peer, see ruling H2 */
	DAT_DTO_ERR_TRANSPORT		= 8,
	DAT_DTO_ERR_RECEIVER_NOT_READY	= 9,	/* the peer had no Receive posted */
	DAT_DTO_ERR_PARTIAL_PACKET	= 10,
	DAT_RMR_OPERATION_FAILED	= 11
} DAT_DTO_COMPLETION_STATUS;

typedef DAT_DTO_COMPLETION_STATUS	DAT_RMR_BIND_COMPLETION_STATUS;

/* Older names */
#define DAT_DTO_LENGTH_ERROR	DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE		DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_SUCCESS	DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE	DAT_DTO_ERR_FLUSHED

typedef struct dat_dto_completion_event_data {
	DAT_EP_HANDLE			ep_handle;
	DAT_DTO_COOKIE			user_cookie;
	DAT_DTO_COMPLETION_STATUS	status;
	DAT_VLEN			transfered_length;	/* bytes; on success only */
} DAT_DTO_COMPLETION_EVENT_DATA;

typedef struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE			rmr_handle;
	DAT_RMR_COOKIE			user_cookie;
	DAT_RMR_BIND_COMPLETION_STATUS	status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

typedef union dat_sp_handle {
	DAT_RSP_HANDLE			rsp_handle;
	DAT_PSP_HANDLE			psp_handle;
} DAT_SP_HANDLE;

typedef struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE			sp_handle;		/* an RSP's too (ruling E3) */
	DAT_IA_ADDRESS_PTR		local_ia_address_ptr;	/* the library's */
	DAT_CONN_QUAL			conn_qual;
	DAT_CR_HANDLE			cr_handle;		/* accept, reject or hand off */
} DAT_CR_ARRIVAL_EVENT_DATA;

/*
 * Only ESTABLISHED on the active side has private data; it is valid until the EP is freed or reset
 * to UNCONNECTED.
 */
typedef struct dat_connection_event_data {
	DAT_EP_HANDLE			ep_handle;
	DAT_COUNT			private_data_size;	/* bytes */
	DAT_PVOID			private_data;
} DAT_CONNECTION_EVENT_DATA;

typedef struct dat_asynch_error_event_data {
	DAT_HANDLE			dat_handle;	/* the object, or the IA */
	DAT_COUNT			reason;		/* one of the enums below */
} DAT_ASYNCH_ERROR_EVENT_DATA;

typedef struct dat_software_event_data {
	DAT_PVOID			pointer;	/* the poster's, passed on unread */
} DAT_SOFTWARE_EVENT_DATA;

typedef union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA		dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA	rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA		cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA		connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA		asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA			software_event_data;
} DAT_EVENT_DATA;

typedef struct dat_event {
	DAT_EVENT_NUMBER		event_number;
	DAT_EVD_HANDLE			evd_handle;	/* the EVD it came from */
	DAT_EVENT_DATA			event_data;
} DAT_EVENT;

/* The reason of an asynchronous event depends on the type of object: check dat_handle first. */
typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR		= 0,
	DAT_IA_OTHER_ERROR			= 1
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR			= 0,
	DAT_EVD_OTHER_ERROR			= 1
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR		= 0,
	DAT_EP_OTHER_ERROR			= 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT	= 2	/* of an EP, despite its name */
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR		= 0,
	DAT_SRQ_OTHER_ERROR			= 1,
	DAT_SRQ_LOW_WATERMARK_EVENT		= 2
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR			= 0
} DAT_LMR_ASYNC_ERROR_REASON;

typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR			= 0
} DAT_RMR_ASYNC_ERROR_REASON;

typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR			= 0
} DAT_PZ_ASYNC_ERROR_REASON;

/* ---- opening an adapter ---- */

/*
 * Opens the adapter ia_name and returns an instance of it; the same adapter may be opened again.
 * *async_evd_handle tells where asynchronous events go and is written on success:
 *	DAT_HANDLE_NULL		an EVD of at least async_evd_min_qlen events is made and returned;
 *				it is freed with the instance
 *	an EVD			made with DAT_EVD_ASYNC_FLAG on this adapter; it is used as it is,
 *				async_evd_min_qlen is ignored, and the Consumer still owns it
 *	DAT_EVD_ASYNC_EXISTS	another instance of the adapter has one already;
 *				DAT_EVD_OUT_OF_SCOPE is returned
 * dat_major has to match the provider's, dat_minor may not exceed the provider's, and both values
 * of thread_safety are served (ruling G7). ia_name is read during the call only; for names that are
 * not in the registry see ruling G10. Errors: DAT_INVALID_PARAMETER (NULL, a queue length < 1 where
 * it counts), DAT_INVALID_HANDLE (EVD), DAT_PROVIDER_NOT_FOUND (subtype: name, major, minor or
 * thread safety), DAT_INSUFFICIENT_RESOURCES. Rulings G6, G7, G9, G10.
 */
DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dat_major, DAT_UINT32 dat_minor, DAT_BOOLEAN thread_safety);

/* The same, with the version and thread safety of the headers that a program is compiled with */
#define dat_ia_open(name, qlen, async_evd, ia)					\
	dat_ia_openv((name), (qlen), (async_evd), (ia),				\
		     DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

/*
 * Returns limits and identity of the adapter, attributes of the provider, and the asynchronous EVD
 * (DAT_EVD_OUT_OF_SCOPE if the instance has none). With a zero mask its structure may be NULL.
 * Strings, lists and the address in the structures belong to the library and are valid until the
 * instance is closed. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown bit in a mask,
 * NULL). Rulings G4, G9, E10.
 */
DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd_handle,
			DAT_IA_ATTR_MASK ia_attr_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK provider_attr_mask,
			DAT_PROVIDER_ATTR *provider_attr);

/*
 * Closes an instance. DAT_CLOSE_ABRUPT_FLAG destroys everything made through it; threads waiting on
 * its EVDs return DAT_ABORT, those waiting on its CNOs return with a NULL EVD, and agents are
 * called with one. DAT_CLOSE_GRACEFUL_FLAG closes only if nothing but the asynchronous EVD is left.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (flag), DAT_INVALID_STATE (graceful, and
 * objects are left), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags);

/*
 * Lists the adapters that can be opened. provider_list is an array of max_to_return pointers to
 * structures of the caller; *entries_returned of them are filled. If the array is too small, the
 * call fails and *entries_returned is the number needed.
 * Errors: DAT_INVALID_PARAMETER (too small, NULL), DAT_INTERNAL_ERROR (no registry). Ruling G2.
 */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *(provider_list[]));

/* ---- any object ---- */

/*
 * Text for a return value: major_message for its type, minor_message for its subtype. The strings
 * are constants. DAT_SUCCESS has texts too.
 * Errors: DAT_INVALID_PARAMETER (no such type or subtype, NULL).
 */
DAT_RETURN dat_strerror(DAT_RETURN ret, const char **major_message, const char **minor_message);

/*
 * Attaches a value of the Consumer to an object of any of the eleven types, in place of the
 * previous one; a NULL context removes it. The library does not read the value. Errors:
 * DAT_INVALID_HANDLE. Ruling G8.
 */
DAT_RETURN dat_set_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT context);

/*
 * Reads the value that dat_set_consumer_context attached; that of a new object is NULL.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL). Ruling G8.
 */
DAT_RETURN dat_get_consumer_context(DAT_HANDLE dat_handle, DAT_CONTEXT *context);

/*
 * Returns the type of an object, CNOs and SRQs included.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL). Ruling G8.
 */
DAT_RETURN dat_get_handle_type(DAT_HANDLE dat_handle, DAT_HANDLE_TYPE *handle_type);

/* ---- Protection Zones ---- */

/*
 * Makes a Protection Zone: memory and Endpoints work together only if their zones are the same.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);

/*
 * Returns the IA of a zone.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown bit in the mask, NULL). Ruling G4.
 */
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK pz_param_mask,
			DAT_PZ_PARAM *pz_param);

/*
 * Frees a zone that no EP, SRQ, LMR or RMR uses any more.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE (in use).
 */
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle);

/* ---- Local Memory Regions; dat_lmr_create is in dat/udat.h ---- */

/*
 * Returns the memory and the privileges of a region, its contexts and its registered range.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown bit in the mask, NULL). Ruling G4.
 */
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			 DAT_LMR_PARAM *lmr_param);

/*
 * Ends a registration; the memory belongs to the Consumer alone again. A later use of the region
 * fails: a local DTO completes with DAT_DTO_ERR_LOCAL_PROTECTION, and an access by the peer breaks
 * the connection. Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE (an RMR is bound to it). Ruling A3.
 */
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/*
 * Makes the program's writes to the segments visible to later RDMA Reads by the peer. Needed only
 * if the provider's lmr_sync_req is true. num_segments counts array elements; segments may be of
 * different LMRs and zones. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (a segment outside
 * its LMR, an unknown LMR).
 */
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				  DAT_VLEN num_segments);

/*
 * Makes the peer's RDMA Writes to the segments visible to the program.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (a segment outside its LMR, an unknown LMR).
 */
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *local_segments,
				   DAT_VLEN num_segments);

/* ---- Remote Memory Regions ---- */

/*
 * Makes an RMR that is not bound yet.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/*
 * Returns the parameters of an RMR. Triplet, privileges and context are meaningful only while it is
 * bound.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown bit in the mask, NULL). Ruling G4.
 */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			 DAT_RMR_PARAM *rmr_param);

/*
 * Posts a bind on the request queue of a connected EP: it gives the peer access to the bytes of
 * *lmr_triplet with the remote privileges in mem_priv or, with segment_length 0, ends the peer's
 * access. The new context is written to *rmr_context (which may be NULL) at once, but is valid only
 * from the completion on, DAT_RMR_BIND_COMPLETION_EVENT on the request EVD; the old context is
 * invalid from then on. Requests posted later on that EP wait for the bind. Remote read needs local
 * read on the LMR, remote write needs local write. *lmr_triplet is read during the call only.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (range, flags), DAT_INVALID_STATE (neither
 * CONNECTED nor DISCONNECTED), DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED. Rulings A2, A3.
 */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_priv, DAT_EP_HANDLE ep_handle,
			DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context);

/*
 * Frees an RMR, bound or not; the peer's access ends first.
 * Errors: DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

/* ---- Event Dispatchers; creating and waiting are in dat/udat.h ---- */

/*
 * Changes the length of an EVD to at least evd_min_qlen events, 1 .. max_evd_qlen, up or down; no
 * event is lost. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (< 1), DAT_INVALID_STATE (more
 * events queued than that), DAT_INSUFFICIENT_RESOURCES (above max_evd_qlen, memory).
 */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

/*
 * Queues a software event. event_number has to be DAT_SOFTWARE_EVENT; the structure is copied, and
 * the pointer in it is passed on unread. Every EVD accepts software events (ruling A2a). A full EVD
 * makes the call fail, it is not an overflow. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER
 * (another number, NULL), DAT_QUEUE_FULL.
 */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/*
 * Takes the oldest event off the EVD, notification or not, without waiting. Memory that *event
 * points to (private data, addresses) belongs to the library, see the structures. Errors:
 * DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL), DAT_INVALID_STATE (a thread is in
 * dat_evd_wait), DAT_QUEUE_EMPTY (bare, ruling G1).
 */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/*
 * Returns length, state, flags and CNO of an EVD.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown bit in the mask, NULL). Ruling G4.
 */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			 DAT_EVD_PARAM *evd_param);

/*
 * Frees an EVD that no object uses any more; events on it are discarded and count as reaped.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE (an EP, a listener or the IA still uses it).
 */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle);

/* ---- Endpoints ---- */

/*
 * Makes an Endpoint in state UNCONNECTED. Completions of Receives go to recv_evd_handle, those of
 * Sends, RDMAs and binds to request_evd_handle, connection events to connect_evd_handle; each EVD
 * needs the flag of its stream and may be DAT_HANDLE_NULL if the Consumer does not want these
 * events. ep_attributes may be NULL for the defaults of ruling A1 and is read during the call only.
 * Errors: DAT_INVALID_HANDLE (an EVD without the flag too), DAT_INVALID_PARAMETER (NULL output, an
 * attribute out of range), DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED. Rulings G3a, A1,
 * A2, H5.
 */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			 DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			 DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			 DAT_EP_HANDLE *ep_handle);

/*
 * The same for an Endpoint that always takes its Receives from srq_handle.
 * ep_attributes may not be NULL; its max_recv_iov is ignored, srq_soft_hw sets the soft
 * high watermark (0 and DAT_HW_DEFAULT: none), max_recv_dtos sets no watermark.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL, an attribute out of range; zones of EP
 * and SRQ that differ, where srq_ep_pz_difference_supported is false), DAT_INSUFFICIENT_RESOURCES,
 * DAT_MODEL_NOT_SUPPORTED. Rulings G3a, A1, A2, H5, E6.
 */
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
				  DAT_EVD_HANDLE recv_evd_handle,
				  DAT_EVD_HANDLE request_evd_handle,
				  DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
				  const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle);

/*
 * Returns state, addresses, objects and attributes of an Endpoint, with its actual sizes. The
 * remote address and port are valid from the time the EP is connecting or has a request until it is
 * disconnected. Addresses belong to the library and are valid until the EP is freed. Errors:
 * DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown bit in the mask, NULL). Rulings G4, A1, H5.
 */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param);

/*
 * Changes the parameters whose bits are set, all of them or none (ruling M6). When they may change:
 *	never			IA, state, addresses, port qualifiers, SRQ, srq_soft_hw
 *	UNCONNECTED, TENTATIVE	the PZ
 *	UNCONNECTED, RESERVED,	EVDs, service type, sizes, QoS, completion flags, counts of DTOs, of
 *	PASSIVE, TENTATIVE	segments and of RDMA Reads; Receive flags before the first Receive
 *	UNCONNECTED		transport and provider attributes
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown or unchangeable bit, a value out of
 * range, a bad handle in the structure), DAT_INVALID_STATE (subtype: the state the EP is in; also
 * max_recv_dtos below what is posted), DAT_INSUFFICIENT_RESOURCES (the adapter cannot give longer
 * queues). Rulings G3a, M1 to M6, A1.
 */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			 const DAT_EP_PARAM *ep_param);

/*
 * Starts to connect an UNCONNECTED Endpoint to the listener at remote_ia_address and
 * remote_conn_qual; the outcome is an event on the connect EVD: ESTABLISHED, PEER_REJECTED,
 * NON_PEER_REJECTED, UNREACHABLE or TIMED_OUT (ruling E4). timeout is in microseconds, not 0;
 * DAT_TIMEOUT_INFINITE waits forever. Address and private data are copied; private_data_size is 0
 * .. max_private_data_size bytes and reaches the peer unchanged (ruling A5). Errors:
 * DAT_INVALID_HANDLE, DAT_INVALID_ADDRESS (an unknown family or form), DAT_INVALID_PARAMETER
 * (timeout 0, private data, flags), DAT_INVALID_STATE, DAT_MODEL_NOT_SUPPORTED (QoS, multipath),
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			  DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			  DAT_COUNT private_data_size, const DAT_PVOID private_data,
			  DAT_QOS qos, DAT_CONNECT_FLAGS connect_flags);

/*
 * Connects to the listener that dup_ep_handle, a CONNECTED Endpoint of this process, is connected
 * to, with the same connect flags. The other arguments are as for dat_ep_connect. Errors:
 * DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (timeout 0, private data), DAT_INVALID_STATE (of either
 * EP), DAT_MODEL_NOT_SUPPORTED (QoS), DAT_INSUFFICIENT_RESOURCES. Rulings E4, A5.
 */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
			      DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			      const DAT_PVOID private_data, DAT_QOS qos);

/*
 * Ends a connection: DAT_CLOSE_ABRUPT_FLAG at once, DAT_CLOSE_GRACEFUL_FLAG after the requests
 * already posted. The remaining DTOs are flushed, then DAT_CONNECTION_EVENT_DISCONNECTED follows at
 * both ends. A connection that is being set up is abandoned (ruling E5). The call has no effect on
 * a DISCONNECTED Endpoint, or if a graceful disconnect is repeated. Errors: DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER (flag), DAT_INVALID_STATE (UNCONNECTED, RESERVED, PASSIVE, TENTATIVE),
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags);

/*
 * Posts a Send: a message that fills one Receive of the peer. num_segments is 0 .. max_request_iov,
 * their lengths in bytes together at most max_message_size; no segments (local_iov NULL) make an
 * empty message. The segments' memory needs local read and may not change before the completion;
 * the array belongs to the caller again at return. On a DISCONNECTED Endpoint the Send is flushed
 * at once. completion_flags: SUPPRESS, SOLICITED_WAIT, UNSIGNALLED, BARRIER_FENCE. Errors:
 * DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (too many segments, a segment outside its LMR, too
 * long, a flag the EP is not configured for), DAT_INVALID_STATE (neither CONNECTED nor
 * DISCONNECTED), DAT_PROTECTION_VIOLATION (LMR and EP of different zones), DAT_PRIVILEGES_VIOLATION
 * (no such LMR, no local read), DAT_INSUFFICIENT_RESOURCES (max_request_dtos outstanding). Rulings
 * A2, A3, Q6.
 */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/*
 * Posts a buffer for one message, in any state; on a DISCONNECTED Endpoint it is flushed at once.
 * num_segments is 0 .. max_recv_iov; the array belongs to the caller again at return. Segments are
 * filled front to back and need local write; they belong to the library until the completion. A
 * longer message completes with DAT_DTO_ERR_LOCAL_LENGTH and breaks the connection.
 * completion_flags: UNSIGNALLED. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER,
 * DAT_INVALID_STATE (the EP has an SRQ), DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
 * DAT_INSUFFICIENT_RESOURCES (max_recv_dtos outstanding). Rulings A2, A3, Q5, Q6.
 */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			    DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			    DAT_COMPLETION_FLAGS completion_flags);

/*
 * Posts a read of the peer's memory *remote_buffer, at most max_rdma_size bytes, into the local
 * segments, at most max_rdma_read_iov of them, which need local write and room for segment_length
 * bytes of *remote_buffer. The peer's region needs remote read; otherwise the read completes with
 * DAT_DTO_ERR_REMOTE_ACCESS and the connection breaks. *remote_buffer is read during the call only.
 * completion_flags: SUPPRESS, UNSIGNALLED, BARRIER_FENCE.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL, too many segments, a segment outside its
 * LMR, longer than max_rdma_size, a flag), DAT_LENGTH_ERROR (the local segments are too short),
 * DAT_INVALID_STATE (neither CONNECTED nor DISCONNECTED), DAT_PROTECTION_VIOLATION,
 * DAT_PRIVILEGES_VIOLATION, DAT_INSUFFICIENT_RESOURCES (max_request_dtos outstanding). Rulings A1,
 * A2, A3.
 */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				 DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				 const DAT_RMR_TRIPLET *remote_buffer,
				 DAT_COMPLETION_FLAGS completion_flags);

/*
 * Posts a write of the local segments, at most max_rdma_write_iov of them and max_rdma_size bytes,
 * into the peer's memory *remote_buffer, which needs remote write and room for them; the peer gets
 * no event. completion_flags as for RDMA Read.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL, too many segments, a segment outside its
 * LMR, longer than max_rdma_size, a flag), DAT_LENGTH_ERROR (the remote buffer is too short),
 * DAT_INVALID_STATE (neither CONNECTED nor DISCONNECTED), DAT_PROTECTION_VIOLATION,
 * DAT_PRIVILEGES_VIOLATION, DAT_INSUFFICIENT_RESOURCES (max_request_dtos outstanding). Rulings A2,
 * A3.
 */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_buffer,
				  DAT_COMPLETION_FLAGS completion_flags);

/*
 * Returns the state, and whether no Receive and no request is outstanding. Each output may be NULL.
 * Errors: DAT_INVALID_HANDLE. Ruling G3.
 */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			     DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle);

/*
 * Brings a DISCONNECTED Endpoint back to UNCONNECTED. Its unreaped completions are discarded. The
 * EP keeps its SRQ and watermarks; the counts of the watermarks start from 0. The call has no
 * effect on an UNCONNECTED Endpoint, whose Receives stay posted. Errors: DAT_INVALID_HANDLE,
 * DAT_INVALID_STATE (any other state). Rulings Q4, H3.
 */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle);

/*
 * Frees an Endpoint; its connection, or a connection that is being set up, ends. None of its DTO
 * and bind completions is delivered afterwards; connection events already queued stay (ruling Q4).
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE (RESERVED, PASSIVE, TENTATIVE).
 */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle);

/*
 * Counts the Receive buffers of an Endpoint. *nbufs_allocated: buffers that are not completed,
 * counted from the post on, or on an EP with an SRQ from the time they are taken. *bufs_alloc_span:
 * the number of the latest message with a buffer minus the number of the latest completed message;
 * it exceeds *nbufs_allocated when messages arrive out of order. One of the two may be NULL.
 * DAT_VALUE_UNKNOWN: the provider does not know the count. Errors: DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER (both NULL), DAT_MODEL_NOT_SUPPORTED (it never can). Ruling V1.
 */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			     DAT_COUNT *bufs_alloc_span);

/*
 * Sets and arms both high watermarks, in any state. They are compared with the number of Receive
 * buffers of this Endpoint that are taken and not reaped (ruling H1).
 * soft: when exceeded, DAT_ASYNC_EP_SOFT_HIGH_WATERMARK on the IA's asynchronous EVD, once per
 * call.
 * hard: when exceeded, the connection breaks and the message that exceeded it is not delivered.
 * Either may happen inside the call. Values are 0 and up, soft may exceed hard;
 * DAT_WATERMARK_INFINITE, the default, turns a watermark off. Errors: DAT_INVALID_HANDLE,
 * DAT_INVALID_PARAMETER (another negative value), DAT_MODEL_NOT_SUPPORTED. Rulings H1 to H6, W1,
 * W2.
 */
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
				DAT_COUNT hard_high_watermark);

/* ---- Shared Receive Queues ---- */

/*
 * Makes a queue of Receives that several Endpoints share. A low watermark above 0 is armed at once
 * and fires at once, because the queue is empty (ruling L6); DAT_SRQ_LW_DEFAULT is the usual value.
 * *srq_attr is read during the call only. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL,
 * a size < 1 or above the adapter's limit, low_watermark outside 0 .. max_recv_dtos),
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED. Rulings Q2a, L6, G3a.
 */
DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *srq_attr,
			  DAT_SRQ_HANDLE *srq_handle);

/*
 * Frees a queue that no Endpoint uses any more; buffers still on it belong to the Consumer again.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE (subtype DAT_INVALID_STATE_SRQ_IN_USE). Ruling Q5.
 */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle);

/*
 * Posts a buffer for one message of any connection of the queue's Endpoints. num_segments is 0 ..
 * max_recv_iov. The segments' LMRs are of the SRQ's zone and need local write; the memory belongs
 * to the library until the completion, which goes to the recv EVD of the Endpoint that took the
 * buffer. A taken buffer never returns to the queue. The array belongs to the caller again at
 * return. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (num_segments above max_recv_iov, a
 * segment outside its LMR), DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
 * DAT_INSUFFICIENT_RESOURCES (subtype DAT_RESOURCE_SRQ: max_recv_dtos outstanding, unreaped
 * completions included). Rulings Q2, Q4, Q5, Q6, A3.
 */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie);

/*
 * Returns size, low watermark, state and the two counts of ruling Q1. DAT_VALUE_UNKNOWN: the
 * provider does not know the count (ruling Q3). Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER
 * (an unknown bit in the mask, NULL). Ruling G4.
 */
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			 DAT_SRQ_PARAM *srq_param);

/*
 * Sets how many Receives may be outstanding, up or down, with messages in flight; none is lost.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (< 1, above max_recv_per_srq),
 * DAT_INVALID_STATE (below the number outstanding or below the low watermark; equal is legal),
 * DAT_INSUFFICIENT_RESOURCES. A failure leaves the queue as it was. Rulings Z1 to Z3, L5.
 */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto);

/*
 * Sets and arms the low watermark, 0 .. max_recv_dtos; 0 (DAT_SRQ_LW_DEFAULT) disarms. The first
 * time that fewer buffers than that are available (strictly fewer; the call itself checks too), one
 * DAT_ASYNC_SRQ_LOW_WATERMARK goes to the IA's asynchronous EVD. Only another call arms it again.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (out of range), DAT_INSUFFICIENT_RESOURCES (the
 * device refuses), DAT_MODEL_NOT_SUPPORTED. A failure leaves the former mark armed. Rulings L1 to
 * L5, W1, W2.
 */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

/* ---- listening ---- */

/*
 * Listens on conn_qual, which is not 0, until freed. Each request is a DAT_CONNECTION_REQUEST_EVENT
 * on evd_handle, which needs DAT_EVD_CR_FLAG and whose length is the backlog.
 * DAT_PSP_CONSUMER_FLAG: the Consumer passes an Endpoint to dat_cr_accept. DAT_PSP_PROVIDER_FLAG:
 * the provider makes a TENTATIVE Endpoint for the request, without PZ and EVDs. Errors:
 * DAT_INVALID_HANDLE (an EVD without that flag too), DAT_INVALID_PARAMETER (NULL, psp_flags),
 * DAT_CONN_QUAL_IN_USE, DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED (a flag ep_creator
 * rules out).
 */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			  DAT_PSP_HANDLE *psp_handle);

/*
 * The same on a free qualifier, which is written to *conn_qual.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL, psp_flags), DAT_CONN_QUAL_UNAVAILABLE
 * (none is free), DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED.
 */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS psp_flags,
			      DAT_PSP_HANDLE *psp_handle);

/*
 * Returns the parameters with which a listener was made.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown bit in the mask, NULL). Ruling G4.
 */
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK psp_param_mask,
			 DAT_PSP_PARAM *psp_param);

/*
 * Stops listening. Requests that were delivered can still be answered.
 * Errors: DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle);

/*
 * Listens on conn_qual, not 0, for one request, which can be accepted by ep_handle only; the
 * Endpoint goes from UNCONNECTED to RESERVED and, when the request comes, to
 * PASSIVE_CONNECTION_PENDING. A second request is rejected as if there were no listener. The RSP
 * stays until it is freed (ruling E3). With DAT_HANDLE_NULL as ep_handle the provider makes an
 * Endpoint. Errors: DAT_INVALID_HANDLE (an EVD without DAT_EVD_CR_FLAG too), DAT_INVALID_PARAMETER
 * (NULL), DAT_INVALID_STATE (the EP is not UNCONNECTED), DAT_CONN_QUAL_IN_USE,
 * DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			  DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			  DAT_RSP_HANDLE *rsp_handle);

/*
 * Returns the parameters with which a listener was made.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown bit in the mask, NULL). Ruling G4.
 */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK rsp_param_mask,
			 DAT_RSP_PARAM *rsp_param);

/*
 * Stops listening. A RESERVED Endpoint is UNCONNECTED again; one whose request has come stays
 * PASSIVE_CONNECTION_PENDING until the request is answered (ruling E3).
 * Errors: DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/* ---- answering a Connection Request; each answer but a query ends the CR ---- */

/*
 * Returns where a request comes from, its private data and its Endpoint, if it came to an RSP or to
 * a PSP whose Endpoints the provider makes. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an
 * unknown bit in the mask, NULL). Ruling G4.
 */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle, DAT_CR_PARAM_MASK cr_param_mask,
			DAT_CR_PARAM *cr_param);

/*
 * Accepts a request with ep_handle, an UNCONNECTED Endpoint, or DAT_HANDLE_NULL for the request's
 * own Endpoint. The outcome is an event on that EP's connect EVD: ESTABLISHED, or
 * ACCEPT_COMPLETION_ERROR if the peer has gone. Private data is copied, 0 .. max_private_data_size
 * bytes, and reaches the peer with its ESTABLISHED event. A call that fails leaves the CR, the EP
 * and the peer untouched. Errors: DAT_INVALID_HANDLE (also DAT_HANDLE_NULL if the request has no
 * Endpoint of its own), DAT_INVALID_PARAMETER (private data, another EP than the request's, RDMA
 * Read counts that do not fit the peer's), DAT_INVALID_STATE (the EP's state),
 * DAT_INSUFFICIENT_RESOURCES. Rulings A5, E5, E7.
 */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle, DAT_EP_HANDLE ep_handle,
			 DAT_COUNT private_data_size, const DAT_PVOID private_data);

/*
 * Rejects a request; the peer gets DAT_CONNECTION_EVENT_PEER_REJECTED. An Endpoint of an RSP is
 * UNCONNECTED again; an Endpoint made by the provider returns to it.
 * Errors: DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle);

/*
 * Moves a request to the listener on another qualifier of the same adapter, where it arrives as a
 * new request. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (no listener there),
 * DAT_INSUFFICIENT_RESOURCES. A call that fails leaves the CR untouched. Ruling E4.
 */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL handoff);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_H_ */
