/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dat/udat_vendor_specific.h - names that uDAPL 1.2 leaves out. <dat/udat.h> includes this file.
 */
#ifndef _UDAT_VENDOR_SPECIFIC_H_
#define _UDAT_VENDOR_SPECIFIC_H_

#include <dat/dat_vendor_specific.h>

/* Sources that are also built with other DAT headers can test #ifdef DAT_LIBDAT. */
#define DAT_LIBDAT			1

/*
 * Watermark events (ruling W1). The specification gives a reason for each but no event number.
 * They arrive on the asynchronous EVD of the IA; their data is asynch_error_event_data:
 *
 *	event number				dat_handle	reason
 *	DAT_ASYNC_SRQ_LOW_WATERMARK		the SRQ		DAT_SRQ_LOW_WATERMARK_EVENT
 *	DAT_ASYNC_EP_SOFT_HIGH_WATERMARK	the EP		DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT
 *
 * Neither is an error: the object keeps working. They are not members of the enum, so that a switch
 * over all members stays complete; for a case label with one of them, -Wswitch requires
 * "switch ((int)event.event_number)".
 */
#define DAT_ASYNC_SRQ_LOW_WATERMARK		((DAT_EVENT_NUMBER)0x08011)
#define DAT_ASYNC_EP_SOFT_HIGH_WATERMARK	((DAT_EVENT_NUMBER)0x08012)

/* Bits of DAT_PROVIDER_ATTR.srq_watermarks_supported (ruling E10) */
#define DAT_SRQ_WATERMARK_LOW			0x001	/* dat_srq_set_lw */
#define DAT_SRQ_WATERMARK_SOFT_HIGH		0x010	/* dat_ep_set_watermark, soft */
#define DAT_SRQ_WATERMARK_HARD_HIGH		0x100	/* dat_ep_set_watermark, hard */

/* Bits of DAT_PROVIDER_ATTR.srq_info_supported: counts that dat_srq_query knows */
#define DAT_SRQ_INFO_AVAILABLE_DTO_COUNT	0x01
#define DAT_SRQ_INFO_OUTSTANDING_DTO_COUNT	0x10

/* Bits of DAT_PROVIDER_ATTR.ep_recv_info_supported: counts that dat_ep_recv_query knows */
#define DAT_EP_RECV_INFO_NBUFS_ALLOCATED	0x01
#define DAT_EP_RECV_INFO_BUFS_ALLOC_SPAN	0x10

/* Row and column numbers of DAT_PROVIDER_ATTR.evd_stream_merging_supported */
#define DAT_EVD_STREAM_SOFTWARE			0
#define DAT_EVD_STREAM_CR			1
#define DAT_EVD_STREAM_DTO			2
#define DAT_EVD_STREAM_CONNECTION		3
#define DAT_EVD_STREAM_RMR_BIND			4
#define DAT_EVD_STREAM_ASYNC			5
#define DAT_EVD_STREAM_COUNT			6

#endif /* _UDAT_VENDOR_SPECIFIC_H_ */
