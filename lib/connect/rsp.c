/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsp.c - reserved service points: ruling E3.
 *
 * The Consumer's EP is RESERVED until the request arrives, then PASSIVE_CONNECTION_PENDING. If no
 * EP is given, one is made when the request arrives, as for a PSP with DAT_PSP_PROVIDER_FLAG
 * (cr.c). That EP is in TENTATIVE_CONNECTION_PENDING, the only state besides UNCONNECTED in which
 * it can be given a PZ.
 */
#include <string.h>

#include "lib/api.h"
#include "lib/ep/ep.h"
#include "sp.h"

#define BAD_RSP DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP)

static struct ep *rsp_find_ep(const struct ia *ia, DAT_EP_HANDLE handle)
{
	return obj_as(struct ep, obj_find(ia->adapter->base.backend, handle, DAT_HANDLE_TYPE_EP));
}

static DAT_RETURN rsp_create_locked(struct ia *ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
				    DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *out)
{
	struct sp wanted = { .qual = qual, .ep = ep_handle, .provides_ep = !ep_handle }, *rsp;
	struct ep *ep = rsp_find_ep(ia, ep_handle);
	DAT_RETURN ret;

	if (ep_handle && (!ep || ep->obj.ia != ia))
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	wanted.evd = sp_find_evd(ia, evd_handle);
	if (!wanted.evd)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (qual == 0)
		return BAD_ARG(2);
	if (!out)
		return BAD_ARG(5);
	if (ep && ep_state_next(ep->state, EP_RESERVE) < 0)
		return ep_state_error(ep->state);
	ret = sp_make(ia, DAT_HANDLE_TYPE_RSP, &wanted, &rsp);
	if (ret != DAT_SUCCESS)
		return ret;
	if (ep)
		ep_change_state(ep, EP_RESERVE);
	*out = rsp->obj.handle;
	return DAT_SUCCESS;
}

DAT_RETURN dat__rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
			   DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave(b, obj, "dat_rsp_create",
			 rsp_create_locked(obj_as(struct ia, obj), qual, ep, evd, rsp));
}

static DAT_RETURN rsp_query_locked(const struct sp *rsp, DAT_RSP_PARAM_MASK mask,
				   DAT_RSP_PARAM *param)
{
	const struct ep *ep = rsp_find_ep(rsp->obj.ia, rsp->ep);

	if (mask & ~DAT_RSP_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	memset(param, 0, sizeof(*param)); /* padding, too */
	param->ia_handle = rsp->obj.ia->obj.handle;
	param->conn_qual = rsp->qual;
	param->evd_handle = rsp->evd->obj.handle;
	param->ep_handle = ep ? rsp->ep : DAT_HANDLE_NULL;
	return DAT_SUCCESS;
}

DAT_RETURN dat__rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_RSP, &b);

	if (!obj)
		return BAD_RSP;
	return obj_leave_asked(b, obj, "dat_rsp_query",
			       rsp_query_locked(obj_as(struct sp, obj), mask, param));
}

void rsp_destroy(struct sp *rsp)
{
	struct ep *ep = rsp_find_ep(rsp->obj.ia, rsp->ep);

	/*
	 * Once the request has arrived, the EP belongs to the request or to the Consumer, in any
	 * state.
	 */
	if (ep && !rsp->spent)
		ep_change_state(ep, EP_RELEASE);
	sp_destroy(rsp);
}

DAT_RETURN dat__rsp_free(DAT_RSP_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_RSP, &b);

	if (!obj)
		return BAD_RSP;
	rsp_destroy(obj_as(struct sp, obj));
	backend_leave(b);
	return DAT_SUCCESS;
}
