/* SPDX-License-Identifier: BSD-3-Clause */
/* ia_attr.c - the attributes of an adapter and of its provider: rulings E10, G5, G6, G9. */
#include <stdio.h>
#include <string.h>

#include "ia.h"

#define OPTIMAL_ALIGNMENT 64 /* a cache line; divides DAT_OPTIMAL_ALIGNMENT */

void ia_fill_attr(struct dat_adapter *adapter, DAT_IA_ATTR *attr)
{
	const struct nic_attr *nic = &adapter->base.attr;

	memset(attr, 0, sizeof(*attr));
	snprintf(attr->adapter_name, sizeof(attr->adapter_name), "%s", adapter->base.name);
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "%s", nic->vendor);
	attr->hardware_version_major = nic->hw_major;
	attr->hardware_version_minor = nic->hw_minor;
	attr->firmware_version_major = nic->fw_major;
	attr->firmware_version_minor = nic->fw_minor;
	attr->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&adapter->base.attr.addr;
	attr->max_eps = nic->max_qp;
	attr->max_dto_per_ep = nic->max_qp_wr;
	attr->max_rdma_read_per_ep_in = nic->max_rd_atomic_in;
	attr->max_rdma_read_per_ep_out = nic->max_rd_atomic_out;
	attr->max_evds = nic->max_cq;
	attr->max_evd_qlen = nic->max_cqe;
	attr->max_iov_segments_per_dto = nic->max_sge;
	attr->max_lmrs = nic->max_mr;
	attr->max_lmr_block_size = nic->max_mr_size;
	attr->max_lmr_virtual_address = UINT64_MAX;
	attr->max_pzs = nic->max_pd;
	attr->max_message_size = nic->max_msg_size;
	attr->max_rdma_size = nic->max_msg_size;
	attr->max_rmrs = nic->max_mw;
	attr->max_rmr_target_address = UINT64_MAX;
	attr->max_srqs = nic->max_srq;
	attr->max_ep_per_srq = nic->max_qp_per_srq;
	attr->max_recv_per_srq = nic->max_srq_wr;
	attr->max_iov_segments_per_rdma_read = nic->max_sge_rd;
	attr->max_iov_segments_per_rdma_write = nic->max_sge;
	attr->max_rdma_read_in = nic->max_rd_atomic_in * nic->max_qp;
	attr->max_rdma_read_out = nic->max_rd_atomic_out * nic->max_qp;
	attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
	attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
}

static DAT_COUNT srq_watermarks(const struct nic *nic)
{
	DAT_COUNT bits = DAT_SRQ_WATERMARK_SOFT_HIGH | DAT_SRQ_WATERMARK_HARD_HIGH;

	if (nic->caps & NIC_CAP_SRQ_LIMIT)
		bits |= DAT_SRQ_WATERMARK_LOW;
	return bits;
}

/*
 * Ruling G6: the whole matrix is true, any streams may share an EVD. The field is const, so it is
 * copied in.
 */
static void fill_merge_matrix(DAT_PROVIDER_ATTR *attr)
{
	DAT_BOOLEAN all[DAT_EVD_STREAM_COUNT][DAT_EVD_STREAM_COUNT];

	for (int i = 0; i < DAT_EVD_STREAM_COUNT; i++)
		for (int j = 0; j < DAT_EVD_STREAM_COUNT; j++)
			all[i][j] = DAT_TRUE;
	memcpy((char *)attr + offsetof(DAT_PROVIDER_ATTR, evd_stream_merging_supported), all,
	       sizeof(all));
}

void ia_fill_provider_attr(struct dat_adapter *adapter, DAT_PROVIDER_ATTR *attr)
{
	const struct nic *nic = adapter->base.nic;

	memset((void *)attr, 0, sizeof(*attr));
	snprintf(attr->provider_name, sizeof(attr->provider_name), "libdat %s",
		 adapter->base.backend->kind->name);
	attr->provider_version_major = 1;
	attr->provider_version_minor = 0;
	attr->dapl_version_major = DAT_VERSION_MAJOR;
	attr->dapl_version_minor = DAT_VERSION_MINOR;
	attr->lmr_mem_types_supported = (DAT_MEM_TYPE)(DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR |
						       DAT_MEM_TYPE_SHARED_VIRTUAL);
	attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
	attr->dat_qos_supported = DAT_QOS_BEST_EFFORT;
	attr->completion_flags_supported =
		(DAT_COMPLETION_FLAGS)(DAT_COMPLETION_SUPPRESS_FLAG |
				       DAT_COMPLETION_SOLICITED_WAIT_FLAG |
				       DAT_COMPLETION_UNSIGNALLED_FLAG |
				       DAT_COMPLETION_BARRIER_FENCE_FLAG |
				       DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	attr->is_thread_safe = DAT_TRUE;
	attr->max_private_data_size = (DAT_COUNT)adapter->base.attr.max_private_data;
	attr->supports_multipath = DAT_FALSE;
	attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	attr->pz_support = DAT_PZ_SHAREABLE;
	attr->optimal_buffer_alignment = OPTIMAL_ALIGNMENT;
	fill_merge_matrix(attr);
	attr->srq_supported = nic->caps & NIC_CAP_SRQ ? DAT_TRUE : DAT_FALSE;
	attr->srq_watermarks_supported = srq_watermarks(nic);
	attr->srq_ep_pz_difference_supported = nic->caps & NIC_CAP_SRQ_ANY_PD ? DAT_TRUE
									      : DAT_FALSE;
	attr->srq_info_supported = DAT_SRQ_INFO_AVAILABLE_DTO_COUNT |
				   DAT_SRQ_INFO_OUTSTANDING_DTO_COUNT;
	attr->ep_recv_info_supported = DAT_EP_RECV_INFO_NBUFS_ALLOCATED |
				       DAT_EP_RECV_INFO_BUFS_ALLOC_SPAN;
	attr->lmr_sync_req = DAT_FALSE;
	attr->dto_async_return_guaranteed = DAT_TRUE;
	attr->rdma_write_for_rdma_read_req = nic->caps & NIC_CAP_READ_BY_WRITE ? DAT_TRUE
									       : DAT_FALSE;
}
