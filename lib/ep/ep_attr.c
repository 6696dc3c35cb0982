/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ep_attr.c - check and default the attributes of an Endpoint: rulings A1, A2, H5, M5; agree with
 * the peer on RDMA Reads.
 */
#include "ep.h"

#define DEFAULT_DTOS      16
#define DEFAULT_IOV       4
#define DEFAULT_RD_ATOMIC 8

/* The flags that say which completions wake a waiter: at most one of them. */
#define NOTIFY_FLAGS                                                                       \
	((uint32_t)(DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG | \
		    DAT_COMPLETION_EVD_THRESHOLD_FLAG))
/* Flags that every request supports; an EP attribute that names them changes nothing. */
#define ALWAYS_FLAGS                                                                    \
	((uint32_t)(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG | \
		    DAT_COMPLETION_BARRIER_FENCE_FLAG))

static bool flags_at_most_one(uint32_t flags, uint32_t choices)
{
	return !(flags & ~choices) && (flags & (flags - 1)) == 0;
}

bool ep_recv_flags_ok(DAT_COMPLETION_FLAGS flags)
{
	return flags_at_most_one((uint32_t)flags, NOTIFY_FLAGS);
}

bool ep_request_flags_ok(DAT_COMPLETION_FLAGS flags)
{
	return flags_at_most_one((uint32_t)flags & ~ALWAYS_FLAGS,
				 (uint32_t)(DAT_COMPLETION_UNSIGNALLED_FLAG |
					    DAT_COMPLETION_EVD_THRESHOLD_FLAG));
}

void ep_attr_default(const struct dat_adapter *adapter, DAT_EP_ATTR *attr)
{
	*attr = (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = adapter->base.attr.max_msg_size,
		.max_rdma_size = adapter->base.attr.max_msg_size,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = DEFAULT_DTOS,
		.max_request_dtos = DEFAULT_DTOS,
		.max_recv_iov = DEFAULT_IOV,
		.max_request_iov = DEFAULT_IOV,
		.max_rdma_read_in = DEFAULT_RD_ATOMIC,
		.max_rdma_read_out = DEFAULT_RD_ATOMIC,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = adapter->base.attr.max_sge_rd,
		.max_rdma_write_iov = adapter->base.attr.max_sge,
	};
}

static bool count_within(DAT_COUNT value, int limit)
{
	return value >= 0 && value <= limit;
}

static bool ep_attr_counts_ok(const struct nic_attr *limit, const DAT_EP_ATTR *attr, bool with_srq)
{
	/*
	 * With an SRQ the EP has no receive queue: max_recv_dtos may be DAT_HW_DEFAULT and
	 * max_recv_iov is ignored.
	 */
	if (!(with_srq && attr->max_recv_dtos == DAT_HW_DEFAULT) &&
	    !count_within(attr->max_recv_dtos, limit->max_qp_wr))
		return false;
	if (!with_srq && !count_within(attr->max_recv_iov, limit->max_sge))
		return false;
	return count_within(attr->max_request_dtos, limit->max_qp_wr) &&
	       count_within(attr->max_request_iov, limit->max_sge) &&
	       count_within(attr->max_rdma_read_in, limit->max_rd_atomic_in) &&
	       count_within(attr->max_rdma_read_out, limit->max_rd_atomic_out) &&
	       count_within(attr->max_rdma_read_iov, limit->max_sge_rd) &&
	       count_within(attr->max_rdma_write_iov, limit->max_sge);
}

DAT_RETURN ep_attr_check(const struct dat_adapter *adapter, const DAT_EP_ATTR *attr, bool with_srq,
			 int arg, DAT_EP_ATTR *fixed)
{
	const struct nic_attr *limit = &adapter->base.attr;
	DAT_RETURN bad = BAD_ARG_NUMBER(arg);
	DAT_EP_ATTR a = *attr;

	if (a.service_type != DAT_SERVICE_TYPE_RC)
		return bad;
	if (a.qos & ~(uint32_t)(DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY |
				DAT_QOS_PREMIUM))
		return bad;
	if (a.max_message_size > limit->max_msg_size || a.max_rdma_size > limit->max_msg_size)
		return bad;
	if (!ep_recv_flags_ok(a.recv_completion_flags) ||
	    !ep_request_flags_ok(a.request_completion_flags))
		return bad;
	if (!ep_attr_counts_ok(limit, &a, with_srq))
		return bad;
	if (a.srq_soft_hw < 0 && a.srq_soft_hw != DAT_HW_DEFAULT)
		return bad;
	if (a.ep_transport_specific_count != 0 || a.ep_provider_specific_count != 0)
		return bad;
	if (a.qos != DAT_QOS_BEST_EFFORT)
		return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (a.max_message_size == 0)
		a.max_message_size = limit->max_msg_size;
	if (a.max_rdma_size == 0)
		a.max_rdma_size = limit->max_msg_size;
	if (a.max_rdma_read_iov == 0)
		a.max_rdma_read_iov = limit->max_sge_rd;
	if (a.max_rdma_write_iov == 0)
		a.max_rdma_write_iov = limit->max_sge;
	if (a.srq_soft_hw == 0)
		a.srq_soft_hw = DAT_HW_DEFAULT;
	a.ep_transport_specific = NULL;
	a.ep_provider_specific = NULL;
	*fixed = a;
	return DAT_SUCCESS;
}

/* ---- RDMA Reads ---- */

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Default limits request 0 Reads and offer the adapter's maximum, so that any peer's limits fit. */
void ep_ask_for_reads(const struct ep *ep, struct nic_conn_param *param)
{
	param->rd_in = (uint32_t)ep->attr.max_rdma_read_in;
	param->rd_out = (uint32_t)ep->attr.max_rdma_read_out;
	if (ep->default_reads) {
		param->rd_in = (uint32_t)ep->obj.ia->adapter->base.attr.max_rd_atomic_in;
		param->rd_out = 0;
	}
}

bool ep_agree_on_reads(const struct ep *ep, const struct nic_conn *conn,
		       struct nic_conn_param *param)
{
	param->rd_in = (uint32_t)ep->attr.max_rdma_read_in;
	param->rd_out = (uint32_t)ep->attr.max_rdma_read_out;
	if (ep->default_reads) {
		param->rd_in = min_u32(max_u32(param->rd_in, conn->rd_out),
				       (uint32_t)ep->obj.ia->adapter->base.attr.max_rd_atomic_in);
		param->rd_out = min_u32(param->rd_out, conn->rd_in);
	}
	return param->rd_in >= conn->rd_out && param->rd_out <= conn->rd_in;
}

void ep_set_reads(struct ep *ep, uint32_t in, uint32_t out)
{
	ep->attr.max_rdma_read_in = (DAT_COUNT)in;
	ep->attr.max_rdma_read_out = (DAT_COUNT)out;
}

void ep_default_reads(struct ep *ep)
{
	if (ep->default_reads)
		ep_set_reads(ep, DEFAULT_RD_ATOMIC, DEFAULT_RD_ATOMIC);
}
