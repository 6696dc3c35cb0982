/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ep.c - create, reset and free Endpoints; attach their streams to EVDs. connect.c connects, dto.c
 * posts, ep_query.c queries.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api.h"
#include "ep.h"
#include "host/fault_door.h"
#include "lib/memory/pz.h"
#include "lib/path/quick_hw.h"
#include "lib/slab.h"
#include "srq.h"

#define BAD_EP DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

static const struct nic_ops *ep_ops(const struct ep *ep)
{
	return ep->nic->nic->ops;
}

bool ep_can_change(const struct ep *ep, enum ep_cause cause)
{
	/* Another process of a shared fabric may report an event that is impossible here. */
	return ep_state_next(ep->state, cause) >= 0 || !obj_backend(&ep->obj)->shared;
}

void ep_change_state(struct ep *ep, enum ep_cause cause)
{
	int next = ep_state_next(ep->state, cause);

	assert(next >= 0);
	obj_trace(ep, "state from=%s to=%s by=%s", ep_state_name(ep->state),
		  ep_state_name((DAT_EP_STATE)next), ep_cause_name(cause));
	ep->state = (DAT_EP_STATE)next;
	ep_update_quick(ep);
	if (ep->state == DAT_EP_STATE_CONNECTED)
		quick_hw_calls(&ep->obj);
}

/*
 * The first Receive takes the general path, which sets recv_posted. A quick post has one segment,
 * which an EP made for none has to refuse.
 */
void ep_update_quick(struct ep *ep)
{
	ep->obj.quick = 0;
	if (ep_in(ep, EP_POST_STATES) && ep->attr.max_request_iov > 0)
		ep->obj.quick |= OBJ_QUICK_SEND;
	if (!ep->srq && ep->recv_posted && ep->attr.max_recv_iov > 0)
		ep->obj.quick |= OBJ_QUICK_RECV;
}

/* ---- streams ---- */

static void evd_update_solicited_only(struct evd *evd)
{
	bool before = evd->cq && evd->cq->solicited_only;

	if (!evd->cq)
		return;
	evd->cq->solicited_only = evd->solicited > 0 && evd->solicited == evd->refs;
	/* From now on the waiter is also woken by unsolicited completions. */
	if (before && !evd->cq->solicited_only && (evd->waiting || evd->cno))
		obj_nic(&evd->obj)->ops->cq_arm(evd->cq);
}

static void evd_count_stream(struct evd *evd, DAT_COMPLETION_FLAGS flags, int n)
{
	evd->refs += n;
	/* Ruling E1: not every completion of such a stream wakes a waiter. */
	if (flags & (DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		evd->selective += n;
	if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		evd->solicited += n;
	if (flags & DAT_COMPLETION_EVD_THRESHOLD_FLAG)
		evd->threshold += n;
	evd_update_solicited_only(evd);
}

void ep_attach(struct evd *evd, DAT_COMPLETION_FLAGS flags)
{
	if (!evd)
		return;
	evd_count_stream(evd, flags, 1);
}

void ep_detach(struct evd *evd, DAT_COMPLETION_FLAGS flags)
{
	if (!evd)
		return;
	evd_count_stream(evd, flags, -1);
}

/*
 * Ruling A2: SUPPRESS, SOLICITED_WAIT and BARRIER_FENCE have no meaning in an EP's request flags.
 */
DAT_COMPLETION_FLAGS ep_request_stream_flags(const DAT_EP_ATTR *attr)
{
	return (DAT_COMPLETION_FLAGS)(attr->request_completion_flags &
				      (DAT_COMPLETION_UNSIGNALLED_FLAG |
				       DAT_COMPLETION_EVD_THRESHOLD_FLAG));
}

bool ep_feeds(const struct ep *ep, const struct evd *evd)
{
	return ep->recv_evd == evd || ep->request_evd == evd || ep->connect_evd == evd;
}

void ep_break(struct ep *ep)
{
	if (!ep_in(ep, EP_CONNECTED_STATES) || ep->breaking)
		return;
	ep->breaking = true;
	ep_ops(ep)->qp_break(ep->nic);
}

static void ep_break_matching(struct dat_adapter *adapter, const struct evd *feeding)
{
	struct obj *obj;
	struct ia *ia;

	TAILQ_FOREACH(ia, &adapter->ias, link) {
		TAILQ_FOREACH(obj, &ia->objects, in_ia) {
			struct ep *ep = obj_as(struct ep, obj);

			if (obj->type == DAT_HANDLE_TYPE_EP &&
			    (!feeding || ep->recv_evd == feeding || ep->request_evd == feeding))
				ep_break(ep);
		}
	}
}

void ep_break_feeding(struct evd *evd)
{
	ep_break_matching(evd->obj.ia->adapter, evd);
}

void ep_break_all(struct dat_adapter *adapter)
{
	ep_break_matching(adapter, NULL);
}

/* ---- create ---- */

void ep_nic_init(const struct ep *ep, const DAT_EP_ATTR *attr, struct nic_qp_init *init)
{
	DAT_COUNT read_iov = attr->max_rdma_read_iov, write_iov = attr->max_rdma_write_iov;

	*init = (struct nic_qp_init){
		.pd = ep->pz ? ep->pz->nic : NULL,
		.send_cq = ep->request_evd ? ep->request_evd->cq : NULL,
		.recv_cq = ep->recv_evd ? ep->recv_evd->cq : NULL,
		.srq = ep->srq ? ep->srq->nic : NULL,
		.cap = {
			.max_send_wr = (uint32_t)attr->max_request_dtos,
			.max_recv_wr = ep->srq ? 0 : (uint32_t)attr->max_recv_dtos,
			.max_send_sge = (uint32_t)attr->max_request_iov,
			.max_recv_sge = ep->srq ? 0 : (uint32_t)attr->max_recv_iov,
			.max_rdma_sge = (uint32_t)(read_iov > write_iov ? read_iov : write_iov),
			.max_rd_in = (uint32_t)attr->max_rdma_read_in,
			.max_rd_out = (uint32_t)attr->max_rdma_read_out,
		},
		.name = ep->obj.id,
	};
}

/* The handles given for a new EP, in the order of the arguments. */
struct ep_handles {
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv, request, connect;
	DAT_SRQ_HANDLE srq;
	bool with_srq;
};

bool ep_find_evd(const struct ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream, struct evd **evd)
{
	struct evd *found;

	*evd = NULL;
	if (handle == DAT_HANDLE_NULL)
		return true;
	found = obj_as(struct evd,
		       obj_find(ia->adapter->base.backend, handle, DAT_HANDLE_TYPE_EVD));
	if (!found || found->obj.ia != ia || !(found->flags & stream))
		return false;
	*evd = found;
	return true;
}

static DAT_RETURN ep_find_handles(struct ia *ia, const struct ep_handles *h, struct ep *ep)
{
	struct backend *b = ia->adapter->base.backend;

	ep->pz = obj_as(struct pz, obj_find(b, h->pz, DAT_HANDLE_TYPE_PZ));
	if (!ep->pz || ep->pz->obj.ia != ia)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!ep_find_evd(ia, h->recv, DAT_EVD_DTO_FLAG, &ep->recv_evd))
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	if (!ep_find_evd(ia, h->request, DAT_EVD_DTO_FLAG, &ep->request_evd))
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!ep_find_evd(ia, h->connect, DAT_EVD_CONNECTION_FLAG, &ep->connect_evd))
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	if (!h->with_srq)
		return DAT_SUCCESS;
	ep->srq = obj_as(struct srq, obj_find(b, h->srq, DAT_HANDLE_TYPE_SRQ));
	if (!ep->srq || ep->srq->obj.ia != ia)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	return DAT_SUCCESS;
}

void ep_set_attr(struct ep *ep, const DAT_EP_ATTR *attr)
{
	ep->attr = *attr;
	ep->max_recv_dtos = attr->max_recv_dtos;
	ep_update_quick(ep);
}

static struct slab ep_slab = SLAB_OF(struct ep, "ep");

DAT_RETURN ep_make(struct ia *ia, const struct ep *wanted, struct ep **out)
{
	struct nic *nic = ia->adapter->base.nic;
	struct nic_qp_init init;
	struct ep *ep = slab_alloc(&ep_slab, nic);
	DAT_RETURN ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	int err;

	if (!ep)
		goto fail;
	*ep = *wanted;
	ep_set_attr(ep, &wanted->attr);
	TAILQ_INIT(&ep->queued);
	ep->outstanding = ep->srq ? &ep->srq->outstanding : &ep->recv_outstanding;
	ret = obj_init(&ep->obj, ia, DAT_HANDLE_TYPE_EP);
	if (ret != DAT_SUCCESS)
		goto free_ep;
	ep_nic_init(ep, &ep->attr, &init);
	err = nic->ops->qp_create(nic, &init, ep, &ep->nic);
	ret = nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	if (err)
		goto fini_obj;
	quick_hw_label(ep);
	if (ep->pz)
		ep->pz->users++;
	ep_attach(ep->recv_evd, ep->attr.recv_completion_flags);
	ep_attach(ep->request_evd, ep_request_stream_flags(&ep->attr));
	ep_attach(ep->connect_evd, DAT_COMPLETION_DEFAULT_FLAG);
	if (ep->srq)
		ep->srq->eps++;
	ep->soft = ep->attr.srq_soft_hw;
	if (ep->soft != DAT_WATERMARK_INFINITE)
		nic->ops->qp_taken_limit(ep->nic, ep->soft, NIC_LIMIT_NONE);
	obj_trace(ep, "create");
	*out = ep;
	return DAT_SUCCESS;

fini_obj:
	obj_fini(&ep->obj);
free_ep:
	slab_free(&ep_slab, ep);
fail:
	return ret;
}

static DAT_RETURN ep_create(DAT_IA_HANDLE ia_handle, const struct ep_handles *handles,
			    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *out, const char *call)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia_handle, DAT_HANDLE_TYPE_IA, &b);
	int attr_arg = handles->with_srq ? 7 : 6;
	struct ep wanted = { .state = DAT_EP_STATE_UNCONNECTED, .default_reads = !attr }, *ep;
	struct ia *ia = obj_as(struct ia, obj);
	DAT_RETURN ret;

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ret = ep_find_handles(ia, handles, &wanted);
	if (ret != DAT_SUCCESS)
		goto leave;
	if (attr)
		ret = ep_attr_check(ia->adapter, attr, handles->with_srq, attr_arg, &wanted.attr);
	else if (handles->with_srq)
		ret = BAD_ARG(7);
	else
		ep_attr_default(ia->adapter, &wanted.attr);
	if (ret != DAT_SUCCESS)
		goto leave;
	ret = out ? ep_make(ia, &wanted, &ep) : BAD_ARG_NUMBER(attr_arg + 1);
	if (ret == DAT_SUCCESS)
		*out = ep->obj.handle;
leave:
	return obj_leave(b, obj, call, ret);
}

DAT_RETURN dat__ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			  DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *ep)
{
	struct ep_handles handles = { .pz = pz,
				      .recv = recv,
				      .request = request,
				      .connect = connect };

	return ep_create(ia, &handles, attr, ep, "dat_ep_create");
}

DAT_RETURN dat__ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				   DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				   DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	struct ep_handles handles = { .pz = pz,
				      .recv = recv,
				      .request = request,
				      .connect = connect,
				      .srq = srq,
				      .with_srq = true };

	return ep_create(ia, &handles, attr, ep, "dat_ep_create_with_srq");
}

/* ---- reset and free ---- */

void ep_forget_peer(struct ep *ep)
{
	free(ep->remote);
	free(ep->private_data);
	ep->remote = NULL;
	ep->private_data = NULL;
}

DAT_SOCK_ADDR6 *ep_copy_address(struct nic *nic, const void *address)
{
	DAT_SOCK_ADDR6 *copy = nic_calloc(nic, 1, sizeof(*copy), "remote_address");

	if (copy)
		memcpy(copy, address, sizeof(*copy));
	return copy;
}

void ep_set_peer(struct ep *ep, DAT_SOCK_ADDR6 *remote, DAT_PORT_QUAL port)
{
	ep_forget_peer(ep);
	ep->remote = remote;
	ep->remote_port = port;
}

/* Return the QP to its initial state; its unreaped completions count as reaped (ruling Q4). */
static void ep_wipe(struct ep *ep)
{
	uint32_t lost = ep_ops(ep)->qp_reset(ep->nic);

	if (ep->srq)
		ep->srq->outstanding -= (DAT_COUNT)lost;
	evd_purge(ep->recv_evd, ep);
	if (ep->request_evd != ep->recv_evd)
		evd_purge(ep->request_evd, ep);
	*ep->nic->reaped =
		0; /* the completions discarded above belong to the time before the reset */
	ep->recv_outstanding = 0;
	ep->recv_posted = false;
	ep_update_quick(ep);
	lmr_range_close(&ep->send_range);
	lmr_range_close(&ep->recv_range);
	ep->breaking = false;
	ep_default_reads(ep);
	ep_forget_peer(ep);
}

void ep_destroy(struct ep *ep)
{
	ep_wipe(ep);
	assert(TAILQ_EMPTY(&ep->queued));
	obj_trace(ep, "free");
	async_drop(&ep->soft_note);
	ep_ops(ep)->qp_destroy(ep->nic);
	if (ep->pz)
		ep->pz->users--;
	ep_detach(ep->recv_evd, ep->attr.recv_completion_flags);
	ep_detach(ep->request_evd, ep_request_stream_flags(&ep->attr));
	ep_detach(ep->connect_evd, DAT_COMPLETION_DEFAULT_FLAG);
	if (ep->srq)
		ep->srq->eps--;
	obj_fini(&ep->obj);
	slab_free(&ep_slab, ep);
}

DAT_RETURN dat__ep_free(DAT_EP_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);
	struct ep *ep = obj_as(struct ep, obj);

	if (!obj)
		return BAD_EP;
	/* An RSP or a connection request still refers to an EP in these states. */
	if (ep_in(ep, EP_STATE_BIT(RESERVED) | EP_STATE_BIT(PASSIVE_CONNECTION_PENDING) |
			      EP_STATE_BIT(TENTATIVE_CONNECTION_PENDING)))
		return obj_leave(b, obj, "dat_ep_free", ep_state_error(ep->state));
	ep_destroy(ep);
	backend_leave(b);
	return DAT_SUCCESS;
}

static DAT_RETURN ep_reset_locked(struct ep *ep)
{
	if (ep->state == DAT_EP_STATE_UNCONNECTED)
		return DAT_SUCCESS;
	if (ep_state_next(ep->state, EP_RESET) < 0)
		return ep_state_error(ep->state);
	ep_wipe(ep);
	ep_change_state(ep, EP_RESET);
	return DAT_SUCCESS;
}

DAT_RETURN dat__ep_reset(DAT_EP_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);

	if (!obj)
		return BAD_EP;
	return obj_leave(b, obj, "dat_ep_reset", ep_reset_locked(obj_as(struct ep, obj)));
}
