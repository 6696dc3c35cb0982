/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "cr.h"
#include "ep.h"
#include "sp.h"

#define BAD_CR DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR)

/* ---- arrival ---- */

static void announce(struct psp *psp, const struct cr *cr)
{
	DAT_EVENT event = { .event_number = DAT_CONNECTION_REQUEST_EVENT };
	DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

	data->sp_handle.psp_handle = psp->obj.handle;
	data->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&psp->obj.ia->adapter->attr.addr;
	data->conn_qual = psp->qual;
	data->cr_handle = cr->obj.handle;
	evd_post(psp->evd, &event);
}

void cr_on_request(void *listener_ctx, struct nic_conn *conn)
{
	struct psp *psp = listener_ctx;
	struct cr *cr = NULL;

	/* The EVD's length is the backlog: a full one turns requests away. */
	if (evd_count(psp->evd) < (uint32_t)psp->evd->qlen)
		cr = calloc(1, sizeof(*cr));
	if (cr && obj_init(&cr->obj, psp->obj.ia, DAT_HANDLE_TYPE_CR) != DAT_SUCCESS) {
		free(cr);
		cr = NULL;
	}
	if (!cr) {
		obj_nic(&psp->obj)->ops->reject(conn, false);
		return;
	}
	cr->nic = conn;
	conn->ctx = cr;
	announce(psp, cr);
}

/* ---- calls ---- */

static DAT_RETURN query_locked(const struct cr *cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	if (mask & ~DAT_CR_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	*param = (DAT_CR_PARAM){
		.remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->nic->remote,
		.remote_port_qual = cr->nic->remote_port,
		.private_data_size = (DAT_COUNT)cr->nic->private_data_size,
		.private_data = cr->nic->private_data_size
					? (DAT_PVOID)(uintptr_t)cr->nic->private_data
					: NULL,
		.local_ep_handle = DAT_HANDLE_NULL,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dat__cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_CR, &b);

	if (!obj)
		return BAD_CR;
	return obj_leave(b, obj, "dat_cr_query", query_locked(obj_as(struct cr, obj), mask, param));
}

static void forget(struct cr *cr)
{
	obj_fini(&cr->obj);
	free(cr);
}

static DAT_RETURN accept_locked(struct cr *cr, struct ep *ep, const struct nic_conn_param *param)
{
	struct nic *nic = obj_nic(&cr->obj);
	struct sockaddr_storage *remote;
	uint64_t port;
	int err;

	if (ep_state_next(ep->state, EP_ACCEPT) < 0)
		return ep_state_error(ep->state);
	remote = malloc(sizeof(*remote));
	if (!remote)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	*remote = cr->nic->remote;
	port = cr->nic->remote_port;
	err = nic->ops->accept(cr->nic, ep->nic, param);
	if (err) {
		free(remote);
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	ep_forget_peer(ep);
	ep->remote = remote;
	ep->remote_port = port;
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
	/* No request carries an EP of its own yet (RSP, provider-made EPs), so NULL names none. */
	ep = obj_as(struct ep, obj_find(b, ep_handle, DAT_HANDLE_TYPE_EP));
	if (!ep || ep->obj.ia != obj->ia)
		ret = DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	else if (size < 0 || (uint32_t)size > obj->ia->adapter->attr.max_private_data)
		ret = BAD_ARG(3);
	else if (size > 0 && !data)
		ret = BAD_ARG(4);
	else
		ret = accept_locked(cr, ep, &param);
	if (ret != DAT_SUCCESS)
		return obj_leave(b, obj, "dat_cr_accept", ret);
	forget(cr);
	backend_leave(b);
	return DAT_SUCCESS;
}

void cr_destroy(struct cr *cr, bool by_program)
{
	obj_trace(cr, "reject");
	obj_nic(&cr->obj)->ops->reject(cr->nic, by_program);
	forget(cr);
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
