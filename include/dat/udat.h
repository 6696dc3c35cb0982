/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat/udat.h - the one header that a uDAPL 1.2 program includes.
 *
 * Every call returns a DAT_RETURN, see dat/dat_error.h, and follows its page in section 3DAT of the
 * manual; if a page is silent or contradicts itself, a ruling decides, and the comment names it
 * ("ruling L1"). "Errors" lists the types that a call returns besides DAT_SUCCESS; any call may
 * also return DAT_INTERNAL_ERROR. Checks come in a fixed order: handle, parameters from left to
 * right, state, resources. A call that fails changes nothing and writes no output, unless its
 * comment says otherwise (ruling G2). A query fills the members that its mask selects; with a zero
 * mask it fills none, and the structure may be NULL (ruling G4).
 *
 * The Consumer frees the handles that calls write. Memory behind a pointer argument is read or
 * written during the call only; memory behind pointers in outputs and events belongs to the
 * library. Comments name the exceptions. The pages in section 3 of the manual tell more about each
 * call.
 *
 * Words used throughout: a Receive buffer is "taken" when an arriving message claims it,
 * "completed" when its completion is on an EVD, "reaped" when that completion was dequeued or
 * discarded, and "outstanding" from the post until it is reaped.
 */
#ifndef _UDAT_H_
#define _UDAT_H_

#include <dat/udat_config.h>
#include <dat/dat_platform_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL		= 0x00,		/* address and length */
	DAT_MEM_TYPE_LMR		= 0x01,		/* the pages of another LMR */
	DAT_MEM_TYPE_SHARED_VIRTUAL	= 0x02,		/* shared with other processes */
	DAT_MEM_TYPE_SO_VIRTUAL		= 0x03		/* taken as VIRTUAL (ruling G10) */
} DAT_MEM_TYPE;

typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR		= 0,
	DAT_HANDLE_TYPE_EP		= 1,
	DAT_HANDLE_TYPE_EVD		= 2,
	DAT_HANDLE_TYPE_IA		= 3,
	DAT_HANDLE_TYPE_LMR		= 4,
	DAT_HANDLE_TYPE_PSP		= 5,
	DAT_HANDLE_TYPE_PZ		= 6,
	DAT_HANDLE_TYPE_RMR		= 7,
	DAT_HANDLE_TYPE_RSP		= 8,
	DAT_HANDLE_TYPE_CNO		= 9,
	DAT_HANDLE_TYPE_SRQ		= 10
} DAT_HANDLE_TYPE;

/* One of ENABLED and DISABLED, one of WAITABLE and UNWAITABLE, at most one CONFIG value (0x30) */
typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED		= 0x01,		/* triggers its CNO */
	DAT_EVD_STATE_DISABLED		= 0x02,
	DAT_EVD_STATE_WAITABLE		= 0x04,		/* dat_evd_wait may be called */
	DAT_EVD_STATE_UNWAITABLE	= 0x08,
	DAT_EVD_STATE_CONFIG_NOTIFY	= 0x10,
	DAT_EVD_STATE_CONFIG_SOLICITED	= 0x20,
	DAT_EVD_STATE_CONFIG_THRESHOLD	= 0x30
} DAT_EVD_STATE;

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE		= 0x01,
	DAT_EVD_FIELD_EVD_QLEN		= 0x02,
	DAT_EVD_FIELD_EVD_STATE		= 0x04,
	DAT_EVD_FIELD_CNO		= 0x08,
	DAT_EVD_FIELD_EVD_FLAGS		= 0x10,
	DAT_EVD_FIELD_ALL		= 0x1f
} DAT_EVD_PARAM_MASK;

typedef DAT_UINT64		DAT_PROVIDER_ATTR_MASK;

#ifdef __cplusplus
}
#endif

#include <dat/dat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- waiting ---- */

typedef DAT_HANDLE		DAT_CNO_HANDLE;		/* Consumer Notification Object */

/*
 * A function that a CNO calls once when one of its EVDs notifies; evd_handle is that EVD. It runs
 * at the end of the call during which the EVD notified, or inside that call if it waits; in a
 * process of several threads it may run on a thread of the library. The library holds no lock
 * meanwhile (ruling E2).
 */
typedef void (*DAT_AGENT_FUNC)(DAT_PVOID instance_data, DAT_EVD_HANDLE evd_handle);

typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID		instance_data;		/* passed on unread */
	DAT_AGENT_FUNC		proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL	(DAT_OS_WAIT_PROXY_AGENT())
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL	\
	(DAT_OS_WAIT_PROXY_AGENT){ (DAT_PVOID)NULL, (DAT_AGENT_FUNC)NULL }
#endif

typedef struct dat_cno_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_OS_WAIT_PROXY_AGENT	agent;
} DAT_CNO_PARAM;

typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE		= 0x1,
	DAT_CNO_FIELD_AGENT		= 0x2,
	DAT_CNO_FIELD_ALL		= 0x3
} DAT_CNO_PARAM_MASK;

struct dat_evd_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_COUNT		evd_qlen;		/* events */
	DAT_EVD_STATE		evd_state;
	DAT_CNO_HANDLE		cno_handle;		/* DAT_HANDLE_NULL: none */
	DAT_EVD_FLAGS		evd_flags;
};

/* For dat_ia_open: this instance goes without an asynchronous EVD, another instance has one. */
#define DAT_EVD_ASYNC_EXISTS	((DAT_EVD_HANDLE)0x1)

/* Returned to an instance without an asynchronous EVD */
#define DAT_EVD_OUT_OF_SCOPE	((DAT_EVD_HANDLE)0x2)

/* ---- memory ---- */

/* The processes that share memory agree on this cookie; all of its bytes are compared. */
#define DAT_LMR_COOKIE_SIZE	40

typedef char			(*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef struct dat_shared_memory {
	DAT_PVOID		virtual_address;
	DAT_LMR_COOKIE		shared_memory_id;
} DAT_SHARED_MEMORY;

/* The DAT_MEM_TYPE beside it tells which member is valid. */
typedef union dat_region_description {
	DAT_PVOID		for_va;			/* VIRTUAL, SO_VIRTUAL */
	DAT_LMR_HANDLE		for_lmr_handle;		/* LMR */
	DAT_SHARED_MEMORY	for_shared_memory;	/* SHARED_VIRTUAL */
} DAT_REGION_DESCRIPTION;

struct dat_lmr_param {
	DAT_IA_HANDLE		ia_handle;
	DAT_MEM_TYPE		mem_type;
	DAT_REGION_DESCRIPTION	region_desc;
	DAT_VLEN		length;			/* bytes asked for */
	DAT_PZ_HANDLE		pz_handle;
	DAT_MEM_PRIV_FLAGS	mem_priv;
	DAT_LMR_CONTEXT		lmr_context;
	DAT_RMR_CONTEXT		rmr_context;		/* 0 without a remote privilege */
	DAT_VLEN		registered_size;	/* bytes got */
	DAT_VADDR		registered_address;
};

/* ---- the provider ---- */

/* May one PZ serve several EPs? (ruling G5) */
typedef enum dat_pz_support {
	DAT_PZ_UNIQUE		= 0,
	DAT_PZ_SAME		= 1,
	DAT_PZ_SHAREABLE	= 2
} DAT_PZ_SUPPORT;

#include <dat/udat_vendor_specific.h>

/*
 * evd_stream_merging_supported[a][b] is DAT_TRUE if streams a and b may feed one EVD; rows and
 * columns are numbered as DAT_EVD_STREAM_xxx. In C++ it is not const, because a class with a const
 * member could not be declared without an initialiser.
 */
struct dat_provider_attr {
	char			provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32		provider_version_major;
	DAT_UINT32		provider_version_minor;
	DAT_UINT32		dapl_version_major;
	DAT_UINT32		dapl_version_minor;
	DAT_MEM_TYPE		lmr_mem_types_supported;	/* the supported ones or-ed */
	DAT_IOV_OWNERSHIP	iov_ownership_on_return;
	DAT_QOS			dat_qos_supported;		/* the supported ones or-ed */
	DAT_COMPLETION_FLAGS	completion_flags_supported;	/* the supported ones or-ed */
	DAT_BOOLEAN		is_thread_safe;
	DAT_COUNT		max_private_data_size;		/* bytes (ruling A5) */
	DAT_BOOLEAN		supports_multipath;
	DAT_EP_CREATOR_FOR_PSP	ep_creator;
	DAT_PZ_SUPPORT		pz_support;
	DAT_UINT32		optimal_buffer_alignment;	/* bytes */
#ifdef __cplusplus
	DAT_BOOLEAN		evd_stream_merging_supported[6][6];
#else
	const DAT_BOOLEAN	evd_stream_merging_supported[6][6];
#endif
	DAT_BOOLEAN		srq_supported;
	DAT_COUNT		srq_watermarks_supported;	/* DAT_SRQ_WATERMARK_xxx bits */
	DAT_BOOLEAN		srq_ep_pz_difference_supported;
	DAT_COUNT		srq_info_supported;		/* DAT_SRQ_INFO_xxx bits */
	DAT_COUNT		ep_recv_info_supported;		/* DAT_EP_RECV_INFO_xxx bits */
	DAT_BOOLEAN		lmr_sync_req;			/* dat_lmr_sync_xxx needed */
	DAT_BOOLEAN		dto_async_return_guaranteed;	/* posts never block */
	DAT_BOOLEAN		rdma_write_for_rdma_read_req;	/* reads need remote write */
	DAT_COUNT		num_provider_specific_attr;
	DAT_NAMED_ATTR		*provider_specific_attr;	/* the library's */
};

#define DAT_PROVIDER_FIELD_PROVIDER_NAME			UINT64_C(0x0000001)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR		UINT64_C(0x0000002)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR		UINT64_C(0x0000004)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR			UINT64_C(0x0000008)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR			UINT64_C(0x0000010)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED		UINT64_C(0x0000020)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP			UINT64_C(0x0000040)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED			UINT64_C(0x0000080)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED		UINT64_C(0x0000100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE			UINT64_C(0x0000200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE		UINT64_C(0x0000400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH			UINT64_C(0x0000800)
#define DAT_PROVIDER_FIELD_EP_CREATOR				UINT64_C(0x0001000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT				UINT64_C(0x0002000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT		UINT64_C(0x0004000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED		UINT64_C(0x0008000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED			UINT64_C(0x0010000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED		UINT64_C(0x0020000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	UINT64_C(0x0040000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED			UINT64_C(0x0080000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED		UINT64_C(0x0100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ				UINT64_C(0x0200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED		UINT64_C(0x0400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ		UINT64_C(0x0800000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR		UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR		UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_ALL					UINT64_C(0x3ffffff)
#define DAT_PROVIDER_FIELD_NONE					UINT64_C(0x0000000)

/* ---- registering memory ---- */

/*
 * Registers memory and returns the region. region_description, passed by value, and length, 1 ..
 * max_lmr_block_size bytes, describe the memory: VIRTUAL is an address of this process; LMR is a
 * region of the same IA, whose pages are registered again with their own zone and privileges
 * (length is ignored, and either region may be freed first); SHARED_VIRTUAL is memory mapped
 * shared, of which all processes register the same part with the same 40-byte cookie. *lmr_context
 * is for local segments, *rmr_context for the peer; without a remote privilege it is 0. The range
 * registered may be larger than requested and is returned in the last two outputs. The four outputs
 * after the handle may be NULL. The memory has to stay mapped until dat_lmr_free. Errors:
 * DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (type, privileges, NULL, a range no memory can have),
 * DAT_LENGTH_ERROR (length 0), DAT_INVALID_STATE (memory not mapped shared, or another piece than
 * the cookie's), DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED. Rulings G3, G10, A3, A4.
 */
DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			  DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			  DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS mem_privileges,
			  DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			  DAT_VADDR *registered_address);

/* ---- Event Dispatchers ---- */

/*
 * Makes an EVD for at least evd_min_qlen events, 1 .. max_evd_qlen, of the streams in evd_flags
 * (any mixture, not 0), enabled and waitable. cno_handle, or DAT_HANDLE_NULL, is the CNO it
 * triggers. An EVD that its streams overfill reports DAT_ASYNC_ERROR_EVD_OVERFLOW and breaks the
 * EPs that feed it (ruling E9).
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (evd_min_qlen < 1, flags, NULL),
 * DAT_INSUFFICIENT_RESOURCES (subtype DAT_RESOURCE_TEVD: above max_evd_qlen, or too many EVDs). No
 * page describes this call: rulings E8, G6, A2a.
 */
DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			  DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			  DAT_EVD_HANDLE *evd_handle);

/*
 * Attaches an EVD to another CNO of its IA, or with DAT_HANDLE_NULL to none. A notification in
 * flight may still reach the old CNO; disable the EVD around the call if that matters. Errors:
 * DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle);

/*
 * From now on notifications trigger the CNO. An enabled EVD stays as it is.
 * Errors: DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle);

/*
 * From now on notifications do not trigger the CNO; those that come while the EVD is disabled do
 * not trigger it later either. Events arrive, and dat_evd_wait and dat_evd_dequeue work as before.
 * Errors: DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle);

/*
 * Wakes a thread in dat_evd_wait with DAT_INVALID_STATE and refuses later ones. Events arrive, the
 * CNO is triggered, and dat_evd_dequeue works as before.
 * Errors: DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle);

/*
 * Allows dat_evd_wait again.
 * Errors: DAT_INVALID_HANDLE.
 */
DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle);

/*
 * Waits until threshold events are queued, and returns the oldest and in *nmore (which may be NULL)
 * the number of events left. timeout is in microseconds; 0 polls once, DAT_TIMEOUT_INFINITE waits
 * forever. An event already there is returned at once; a thread that had to block is woken by
 * notifications (ruling A2a). While a thread waits, no other thread may wait on the EVD or dequeue
 * from it, and the CNO is not triggered.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (threshold < 1 or above the queue length, event
 * NULL), DAT_INVALID_STATE (another thread waits, unwaitable, threshold above 1 where UNSIGNALLED
 * or SOLICITED_WAIT streams feed the EVD), DAT_TIMEOUT_EXPIRED (*nmore is written, no event taken),
 * DAT_ABORT (IA closed, EVD gone), DAT_INTERRUPTED_CALL (*nmore is written). Rulings G2, E1, A2a.
 */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *nmore);

/* ---- Consumer Notification Objects: waiting for many EVDs at once ---- */

/*
 * Makes a CNO. agent is a function to call at the first trigger, or DAT_OS_WAIT_PROXY_AGENT_NULL;
 * it is called once and then removed (ruling E2). instance_data has to be valid until then. Errors:
 * DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (NULL), DAT_INSUFFICIENT_RESOURCES.
 */
DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			  DAT_CNO_HANDLE *cno_handle);

/*
 * Replaces the agent, with DAT_OS_WAIT_PROXY_AGENT_NULL by none.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER. Ruling E2.
 */
DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent);

/*
 * Tells the IA and the agent, a null one if none is set.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER (an unknown bit in the mask, NULL). Ruling G4.
 */
DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
			 DAT_CNO_PARAM *cno_param);

/*
 * Frees a CNO that no EVD is attached to and no thread waits on.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE (it is in use).
 */
DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle);

/*
 * Waits until one of the CNO's EVDs notifies and returns that EVD. EVDs that notified earlier are
 * returned first, each once (ruling C1). The EVD is a hint: others may have events too. timeout is
 * in microseconds, 0 polls once. If the IA is closed or the last EVD is freed meanwhile, the call
 * succeeds with *evd_handle DAT_HANDLE_NULL. Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER
 * (NULL), DAT_QUEUE_EMPTY (timeout; bare, and *evd_handle is DAT_HANDLE_NULL: rulings G1, G2),
 * DAT_INTERRUPTED_CALL.
 */
DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			DAT_EVD_HANDLE *evd_handle);

#ifdef __cplusplus
}
#endif

#endif /* _UDAT_H_ */
