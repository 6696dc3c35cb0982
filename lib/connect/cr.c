/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cr.c - connection requests: their arrival at a service point (sp.c), and dat_cr_accept,
 * dat_cr_reject and dat_cr_handoff.
 */
#include <string.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/api.h"
#include "cr.h"
#include "lib/ep/ep.h"
#include "host/fault_door.h"
#include "sp.h"

#define BAD_CR DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR)

/* ---- arrival ---- */

/* sp_has_room has said that there is room for the event. */
static void cr_post_arrival(struct sp *sp, const struct cr *cr)
{
	DAT_EVENT event = { .event_number = DAT_CONNECTION_REQUEST_EVENT };
	DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

	data->sp_handle.psp_handle = sp->obj.handle; /* a union of the two kinds */
	data->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&sp->obj.ia->adapter->base.attr.addr;
	data->conn_qual = sp->qual;
	data->cr_handle = cr->obj.handle;
	evd_put(sp->evd, &event, NULL);
}

/*
 * Find the EP that comes with a request at sp, if any; false: one should come, and it cannot be
 * made.
 */
static bool cr_get_ep(const struct sp *sp, struct ep **ep)
{
	struct ep wanted = { .state = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
			     .default_reads = true };

	*ep = NULL;
	if (sp->provides_ep) {
		ep_attr_default(sp->obj.ia->adapter, &wanted.attr);
		return ep_make(sp->obj.ia, &wanted, ep) == DAT_SUCCESS;
	}
	if (sp->obj.type == DAT_HANDLE_TYPE_RSP)
		*ep = obj_as(struct ep,
			     obj_find(obj_backend(&sp->obj), sp->ep, DAT_HANDLE_TYPE_EP));
	return true;
}

/*
 * RDMA Read limits are the only attributes of the active side that a network transmits. An EP made
 * for the request takes them.
 */
static void cr_match_reads(struct ep *ep, const struct nic_conn *conn)
{
	struct nic_conn_param param;

	if (ep_agree_on_reads(ep, conn, &param))
		ep_set_reads(ep, param.rd_in, param.rd_out);
}

/* Make the CR object, with its EP if one comes with it; NULL: no resources. */
static struct cr *cr_make(const struct sp *sp, struct nic_conn *conn)
{
	struct nic *nic = obj_nic(&sp->obj);
	struct cr *cr = nic_calloc(nic, 1, sizeof(*cr), "cr");
	DAT_SOCK_ADDR6 *remote = ep_copy_address(nic, &conn->remote);

	if (!cr || !remote)
		goto free_memory;
	/*
	 * Before the CR, so that it comes first in the IA's list: when ia.c walks the list and
	 * destroys this CR, its EP goes too and must not be the next entry of the walk.
	 */
	if (!cr_get_ep(sp, &cr->ep))
		goto free_memory;
	if (obj_init(&cr->obj, sp->obj.ia, DAT_HANDLE_TYPE_CR) != DAT_SUCCESS)
		goto free_ep;
	cr->nic = conn;
	conn->ctx = cr;
	if (!cr->ep) {
		free(remote);
		return cr;
	}
	ep_set_peer(cr->ep, remote, conn->remote_port);
	if (sp->provides_ep)
		cr_match_reads(cr->ep, conn);
	else
		ep_change_state(cr->ep, EP_REQUEST);
	return cr;

free_ep:
	if (sp->provides_ep)
		ep_destroy(cr->ep);
free_memory:
	free(remote);
	free(cr);
	return NULL;
}

void cr_on_request(void *listener_ctx, struct nic_conn *conn)
{
	struct sp *sp = listener_ctx;
	struct cr *cr = sp_has_room(sp) ? cr_make(sp, conn) : NULL;

	if (!cr) {
		obj_nic(&sp->obj)->ops->reject(conn, false);
		return;
	}
	if (sp->obj.type == DAT_HANDLE_TYPE_RSP) {
		sp->spent = true;
		sp->ep = cr->ep->obj.handle;
	}
	cr_post_arrival(sp, cr);
}

/* ---- calls ---- */

static DAT_RETURN cr_query_locked(const struct cr *cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	if (mask & ~DAT_CR_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	memset(param, 0, sizeof(*param)); /* padding, too */
	param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->nic->remote;
	param->remote_port_qual = cr->nic->remote_port;
	param->private_data_size = (DAT_COUNT)cr->nic->private_data_size;
	param->private_data =
		cr->nic->private_data_size ? (DAT_PVOID)(uintptr_t)cr->nic->private_data : NULL;
	param->local_ep_handle = cr->ep ? cr->ep->obj.handle : DAT_HANDLE_NULL;
	return DAT_SUCCESS;
}

DAT_RETURN dat__cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_CR, &b);

	if (!obj)
		return BAD_CR;
	return obj_leave_asked(b, obj, "dat_cr_query",
			       cr_query_locked(obj_as(struct cr, obj), mask, param));
}

static void cr_free(struct cr *cr)
{
	obj_fini(&cr->obj);
	free(cr);
}

/*
 * The request leads to no connection here: an EP made for it is destroyed, the Consumer's is
 * released.
 */
static void cr_return_ep(struct cr *cr)
{
	if (!cr->ep)
		return;
	if (cr->ep->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING) {
		ep_destroy(cr->ep);
		return;
	}
	ep_forget_peer(cr->ep);
	ep_change_state(cr->ep, EP_REJECT);
}

/* ---- accept ---- */

/*
 * Find the EP to accept on. A NULL handle names the EP of the request; if the request has one, no
 * other EP is valid.
 */
static DAT_RETURN cr_choose_ep(const struct cr *cr, DAT_EP_HANDLE handle, struct ep **ep)
{
	struct obj *obj = obj_find(obj_backend(&cr->obj), handle, DAT_HANDLE_TYPE_EP);

	*ep = cr->ep;
	if (cr->ep && handle == DAT_HANDLE_NULL)
		return DAT_SUCCESS;
	if (!obj || obj->ia != cr->obj.ia)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (cr->ep && obj != &cr->ep->obj)
		return BAD_ARG(2);
	*ep = obj_as(struct ep, obj);
	return DAT_SUCCESS;
}

/*
 * Check the EP's state. An EP that was made for the request needs the PZ and EVDs that the Consumer
 * had to add.
 */
static DAT_RETURN cr_check_ep(const struct cr *cr, const struct ep *ep)
{
	/*
	 * An EP pending for another request is not free, although the table allows EP_ACCEPT in
	 * that state.
	 */
	if (ep != cr->ep && ep->state != DAT_EP_STATE_UNCONNECTED)
		return ep_state_error(ep->state);
	assert(ep_state_next(ep->state, EP_ACCEPT) >= 0);
	if (ep->state != DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
		return DAT_SUCCESS;
	if (!ep->pz)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
	if (!ep->recv_evd)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_RECV);
	if (!ep->request_evd)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_REQUEST);
	if (!ep->connect_evd)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_CONNECT);
	return DAT_SUCCESS;
}

static DAT_RETURN cr_accept_locked(struct cr *cr, struct ep *ep, struct nic_conn_param *param)
{
	struct nic *nic = obj_nic(&cr->obj);
	DAT_SOCK_ADDR6 *remote;
	uint64_t port = cr->nic->remote_port;
	DAT_RETURN ret = cr_check_ep(cr, ep);
	int err;

	if (ret != DAT_SUCCESS)
		return ret;
	if (!ep_agree_on_reads(ep, cr->nic, param))
		return BAD_ARG(2);
	remote = ep_copy_address(nic, &cr->nic->remote);
	if (!remote)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	err = nic->ops->accept(cr->nic, ep->nic, param);
	if (err) {
		free(remote);
		return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	}
	ep_set_reads(ep, param->rd_in, param->rd_out);
	ep_set_peer(ep, remote, port);
	ep_change_state(ep, EP_ACCEPT);
	backend_busy(ep->obj.nic);
	return DAT_SUCCESS;
}

DAT_RETURN dat__cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep_handle, DAT_COUNT size,
			  const DAT_PVOID data)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_CR, &b);
	struct cr *cr = obj_as(struct cr, obj);
	struct nic_conn_param param = { .private_data = data, .private_data_size = (uint32_t)size };
	struct ep *ep;
	DAT_RETURN ret;

	if (!obj)
		return BAD_CR;
	ret = cr_choose_ep(cr, ep_handle, &ep);
	if (ret != DAT_SUCCESS)
		return obj_leave(b, obj, "dat_cr_accept", ret);
	if (size < 0 || (uint32_t)size > obj->ia->adapter->base.attr.max_private_data)
		ret = BAD_ARG(3);
	else if (size > 0 && !data)
		ret = BAD_ARG(4);
	else
		ret = cr_accept_locked(cr, ep, &param);
	if (ret != DAT_SUCCESS)
		return obj_leave(b, obj, "dat_cr_accept", ret);
	cr_free(cr);
	backend_leave(b);
	return DAT_SUCCESS;
}

/* ---- reject and handoff ---- */

void cr_destroy(struct cr *cr, bool by_program)
{
	obj_trace(cr, "reject");
	obj_nic(&cr->obj)->ops->reject(cr->nic, by_program);
	cr_return_ep(cr);
	cr_free(cr);
}

DAT_RETURN dat__cr_reject(DAT_CR_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_CR, &b);

	if (!obj)
		return BAD_CR;
	backend_busy(obj->nic);
	cr_destroy(obj_as(struct cr, obj), true);
	backend_leave(b);
	return DAT_SUCCESS;
}

static DAT_RETURN cr_handoff_locked(struct cr *cr, DAT_CONN_QUAL qual)
{
	const struct sp *sp = sp_find(cr->obj.ia->adapter, qual);
	int err;

	/* Ruling E4: a service point that would reject the request counts as none. */
	if (sp && !sp_has_room(sp))
		return BAD_ARG(2);
	obj_trace(cr, "handoff qual=%lu", qual);
	err = obj_nic(&cr->obj)->ops->handoff(cr->nic, qual);
	if (err == -ENOENT)
		return BAD_ARG(2);
	if (err)
		return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	backend_busy(obj_nic(&cr->obj));
	cr_return_ep(cr);
	return DAT_SUCCESS;
}

DAT_RETURN dat__cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_CR, &b);
	DAT_RETURN ret;

	if (!obj)
		return BAD_CR;
	ret = cr_handoff_locked(obj_as(struct cr, obj), qual);
	if (ret != DAT_SUCCESS)
		return obj_leave(b, obj, "dat_cr_handoff", ret);
	cr_free(obj_as(struct cr, obj));
	backend_leave(b);
	return DAT_SUCCESS;
}
