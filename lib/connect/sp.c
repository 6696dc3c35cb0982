/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sp.c - service points, and the calls on public ones; rsp.c has those on reserved ones. A request
 * that arrives at either kind becomes a connection request: cr.c.
 */
#include <string.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/api.h"
#include "host/fault_door.h"
#include "sp.h"

static DAT_RETURN listen_error(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return DAT_FAIL(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	case -EADDRNOTAVAIL:
		return DAT_FAIL(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	default:
		return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE));
	}
}

DAT_RETURN sp_make(struct ia *ia, DAT_HANDLE_TYPE type, const struct sp *wanted, struct sp **out)
{
	const struct nic_ops *ops = ia->adapter->base.nic->ops;
	DAT_RETURN ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	struct sp *sp = nic_calloc(ia->adapter->base.nic, 1, sizeof(*sp), "sp");
	int err;

	if (!sp)
		goto fail;
	*sp = *wanted;
	err = ops->listen(ia->adapter->base.nic, &sp->qual, sp, &sp->nic);
	if (err) {
		ret = listen_error(err);
		goto free_sp;
	}
	ret = obj_init(&sp->obj, ia, type);
	if (ret != DAT_SUCCESS)
		goto unlisten;
	sp->evd->refs++;
	obj_trace(sp, "create qual=%lu", sp->qual);
	*out = sp;
	return DAT_SUCCESS;

unlisten:
	ops->unlisten(sp->nic);
free_sp:
	free(sp);
fail:
	return ret;
}

void sp_destroy(struct sp *sp)
{
	obj_trace(sp, "free");
	obj_nic(&sp->obj)->ops->unlisten(sp->nic);
	sp->evd->refs--;
	obj_fini(&sp->obj);
	free(sp);
}

bool sp_has_room(const struct sp *sp)
{
	return !sp->spent && evd_has_room(sp->evd);
}

const struct sp *sp_find(const struct dat_adapter *adapter, DAT_CONN_QUAL qual)
{
	const struct obj *obj;
	const struct ia *ia;

	TAILQ_FOREACH(ia, &adapter->ias, link) {
		TAILQ_FOREACH(obj, &ia->objects, in_ia) {
			const struct sp *sp = (const struct sp *)obj;

			if ((obj->type == DAT_HANDLE_TYPE_PSP ||
			     obj->type == DAT_HANDLE_TYPE_RSP) &&
			    sp->qual == qual)
				return sp;
		}
	}
	return NULL;
}

struct evd *sp_find_evd(struct ia *ia, DAT_EVD_HANDLE handle)
{
	struct evd *evd = obj_as(struct evd,
				 obj_find(ia->adapter->base.backend, handle, DAT_HANDLE_TYPE_EVD));

	return evd && evd->obj.ia == ia && (evd->flags & DAT_EVD_CR_FLAG) ? evd : NULL;
}

/* ---- public service points ---- */

/*
 * If `given`, the Consumer chose *qual, which must not be 0; otherwise *qual is set to a free one.
 */
static DAT_RETURN psp_create_locked(struct ia *ia, DAT_CONN_QUAL *qual, bool given,
				    DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
				    DAT_PSP_HANDLE *out)
{
	struct evd *evd = sp_find_evd(ia, evd_handle);
	struct sp wanted = { .evd = evd, .provides_ep = flags == DAT_PSP_PROVIDER_FLAG }, *psp;
	DAT_RETURN ret;

	if (!evd)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	/* 0 is not a valid qualifier: no peer could connect to it. */
	if (!qual || (given && *qual == 0))
		return BAD_ARG(2);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return BAD_ARG(4);
	if (!out)
		return BAD_ARG(5);
	if (given)
		wanted.qual = *qual;
	ret = sp_make(ia, DAT_HANDLE_TYPE_PSP, &wanted, &psp);
	if (ret != DAT_SUCCESS)
		return ret;
	*qual = psp->qual;
	*out = psp->obj.handle;
	return DAT_SUCCESS;
}

DAT_RETURN dat__psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			   DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave(b, obj, "dat_psp_create",
			 psp_create_locked(obj_as(struct ia, obj), &qual, true, evd, flags, psp));
}

DAT_RETURN dat__psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
			       DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave(b, obj, "dat_psp_create_any",
			 psp_create_locked(obj_as(struct ia, obj), qual, false, evd, flags, psp));
}

static DAT_RETURN psp_query_locked(const struct sp *psp, DAT_PSP_PARAM_MASK mask,
				   DAT_PSP_PARAM *param)
{
	if (mask & ~DAT_PSP_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	memset(param, 0, sizeof(*param)); /* padding, too */
	param->ia_handle = psp->obj.ia->obj.handle;
	param->conn_qual = psp->qual;
	param->evd_handle = psp->evd->obj.handle;
	param->psp_flags = psp->provides_ep ? DAT_PSP_PROVIDER_FLAG : DAT_PSP_CONSUMER_FLAG;
	return DAT_SUCCESS;
}

DAT_RETURN dat__psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_PSP, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	return obj_leave_asked(b, obj, "dat_psp_query",
			       psp_query_locked(obj_as(struct sp, obj), mask, param));
}

DAT_RETURN dat__psp_free(DAT_PSP_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_PSP, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	sp_destroy(obj_as(struct sp, obj));
	backend_leave(b);
	return DAT_SUCCESS;
}
