/* SPDX-License-Identifier: BSD-3-Clause */
/* ep_query.c - dat_ep_query, dat_ep_get_status, dat_ep_recv_query and dat_ep_set_watermark. */
#include <string.h>

#include "lib/api.h"
#include "ep.h"
#include "lib/memory/pz.h"
#include "srq.h"

#define BAD_EP DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

/* The states in which the remote address and port are valid. */
#define REMOTE_STATES                                                                           \
	(EP_CONNECTED_STATES | EP_STATE_BIT(PASSIVE_CONNECTION_PENDING) |                       \
	 EP_STATE_BIT(ACTIVE_CONNECTION_PENDING) | EP_STATE_BIT(TENTATIVE_CONNECTION_PENDING) | \
	 EP_STATE_BIT(COMPLETION_PENDING))

static DAT_HANDLE obj_handle_or_null(const struct obj *obj)
{
	return obj ? obj->handle : DAT_HANDLE_NULL;
}

static void ep_fill_param(struct ep *ep, DAT_EP_PARAM *param)
{
	bool remote = ep->remote && ep_in(ep, REMOTE_STATES);

	memset(param, 0, sizeof(*param)); /* padding, too */
	param->ia_handle = ep->obj.ia->obj.handle;
	param->ep_state = ep->state;
	param->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->obj.ia->adapter->base.attr.addr;
	param->local_port_qual = ep->obj.id;
	param->remote_ia_address_ptr = remote ? (DAT_IA_ADDRESS_PTR)ep->remote : NULL;
	param->remote_port_qual = remote ? ep->remote_port : 0;
	param->pz_handle = obj_handle_or_null(ep->pz ? &ep->pz->obj : NULL);
	param->recv_evd_handle = obj_handle_or_null(ep->recv_evd ? &ep->recv_evd->obj : NULL);
	param->request_evd_handle =
		obj_handle_or_null(ep->request_evd ? &ep->request_evd->obj : NULL);
	param->connect_evd_handle =
		obj_handle_or_null(ep->connect_evd ? &ep->connect_evd->obj : NULL);
	param->srq_handle = obj_handle_or_null(ep->srq ? &ep->srq->obj : NULL);
	param->ep_attr = ep->attr;
	param->ep_attr.srq_soft_hw = ep->soft;
}

static DAT_RETURN ep_query_locked(struct ep *ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	if ((uint64_t)mask & ~(uint64_t)DAT_EP_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	backend_idle(ep->obj.nic);
	ep_fill_param(ep, param);
	return DAT_SUCCESS;
}

DAT_RETURN dat__ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);
	struct ep *ep = obj_as(struct ep, obj);
	DAT_RETURN ret;

	if (!obj)
		return BAD_EP;
	ret = ep_query_locked(ep, mask, param);
	if (ret == DAT_SUCCESS)
		obj_returns(obj, "dat_ep_query", "state=%s", ep_state_name(ep->state));
	return obj_leave(b, obj, "dat_ep_query", ret);
}

static struct nic_qp_counts ep_counts(struct ep *ep)
{
	struct nic_qp_counts counts;

	/* Hardware reports taken Receives by completions only: poll them first. */
	if (ep->recv_evd && !(ep->nic->nic->caps & NIC_CAP_TAKEN_LIMIT))
		evd_drain(ep->recv_evd);
	ep->nic->nic->ops->qp_query(ep->nic, &counts);
	return counts;
}

DAT_RETURN dat__ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			      DAT_BOOLEAN *request_idle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);
	struct ep *ep = obj_as(struct ep, obj);
	struct nic_qp_counts counts;

	if (!obj)
		return BAD_EP;
	backend_idle(obj->nic);
	counts = ep_counts(ep);
	if (state)
		*state = ep->state;
	if (recv_idle)
		*recv_idle = counts.recv_posted + counts.recv_taken == 0;
	if (request_idle)
		*request_idle = counts.send_posted == 0;
	obj_returns(obj, "dat_ep_get_status", "state=%s receives=%u requests=%u",
		    ep_state_name(ep->state), counts.recv_posted + counts.recv_taken,
		    counts.send_posted);
	return obj_leave(b, obj, "dat_ep_get_status", DAT_SUCCESS);
}

/*
 * Ruling V1. Without an SRQ, an EP owns its buffers from the post on; they are meant for the
 * messages right after the latest completed one. With an SRQ it owns the buffers that its messages
 * took.
 */
static void ep_recv_counts(struct ep *ep, DAT_COUNT *allocated, DAT_COUNT *span)
{
	struct nic_qp_counts counts = ep_counts(ep);
	uint64_t n = counts.recv_taken, reach = counts.last_taken - counts.last_completed;

	if (!ep->srq)
		n += counts.recv_posted;
	if (counts.last_taken < counts.last_completed || counts.recv_taken == 0)
		reach = 0;
	*allocated = (DAT_COUNT)n;
	*span = (DAT_COUNT)(reach > n ? reach : n);
}

DAT_RETURN dat__ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *nbufs_allocated,
			      DAT_COUNT *bufs_alloc_span)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);
	DAT_COUNT allocated, span;

	if (!obj)
		return BAD_EP;
	if (!nbufs_allocated && !bufs_alloc_span)
		return obj_leave(b, obj, "dat_ep_recv_query", BAD_ARG(2));
	backend_idle(obj->nic);
	ep_recv_counts(obj_as(struct ep, obj), &allocated, &span);
	if (nbufs_allocated)
		*nbufs_allocated = allocated;
	if (bufs_alloc_span)
		*bufs_alloc_span = span;
	obj_returns(obj, "dat_ep_recv_query", "allocated=%d span=%d", allocated, span);
	return obj_leave(b, obj, "dat_ep_recv_query", DAT_SUCCESS);
}

/* ---- high watermarks: rulings H1-H6 ---- */

void ep_on_soft_limit(void *qp_ctx)
{
	struct ep *ep = qp_ctx;

	async_send(ep->obj.ia, &ep->soft_note, &ep->obj, DAT_ASYNC_EP_SOFT_HIGH_WATERMARK,
		   DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

static bool is_watermark(DAT_COUNT mark)
{
	return mark >= 0 || mark == DAT_WATERMARK_INFINITE;
}

static DAT_RETURN ep_set_watermark_locked(struct ep *ep, DAT_COUNT soft, DAT_COUNT hard)
{
	if (!is_watermark(soft))
		return BAD_ARG(2);
	if (!is_watermark(hard))
		return BAD_ARG(3);
	obj_trace(ep, "set_watermark soft=%d hard=%d", soft, hard);
	async_drop(&ep->soft_note);
	ep->soft = soft;
	if (ep->recv_evd && !(ep->nic->nic->caps & NIC_CAP_TAKEN_LIMIT))
		evd_drain(ep->recv_evd);
	/* DAT_WATERMARK_INFINITE and NIC_LIMIT_NONE are both -1. */
	ep->nic->nic->ops->qp_taken_limit(ep->nic, soft, hard);
	return DAT_SUCCESS;
}

DAT_RETURN dat__ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);

	if (!obj)
		return BAD_EP;
	return obj_leave(b, obj, "dat_ep_set_watermark",
			 ep_set_watermark_locked(obj_as(struct ep, obj), soft, hard));
}
