/* SPDX-License-Identifier: BSD-3-Clause */
/* Public service points. Requests that arrive at one become connection requests: cr.c. */
#include <errno.h>
#include <stdlib.h>

#include "api.h"
#include "sp.h"

static DAT_RETURN make(struct ia *ia, DAT_CONN_QUAL qual, struct evd *evd, DAT_PSP_FLAGS flags,
		       DAT_PSP_HANDLE *out)
{
	const struct nic_ops *ops = ia->adapter->nic->ops;
	DAT_RETURN ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	struct psp *psp = calloc(1, sizeof(*psp));
	int err;

	if (!psp)
		goto fail;
	psp->evd = evd;
	psp->qual = qual;
	psp->flags = flags;
	err = ops->listen(ia->adapter->nic, &psp->qual, psp, &psp->nic);
	if (err) {
		if (err == -EADDRINUSE)
			ret = DAT_FAIL(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
		goto free_psp;
	}
	ret = obj_init(&psp->obj, ia, DAT_HANDLE_TYPE_PSP);
	if (ret != DAT_SUCCESS)
		goto unlisten;
	evd->refs++;
	obj_trace(psp, "create qual=%lu", psp->qual);
	*out = psp->obj.handle;
	return DAT_SUCCESS;

unlisten:
	ops->unlisten(psp->nic);
free_psp:
	free(psp);
fail:
	return ret;
}

static DAT_RETURN create_locked(struct ia *ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd_handle,
				DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *out)
{
	struct evd *evd =
		obj_as(struct evd, obj_find(ia->adapter->backend, evd_handle, DAT_HANDLE_TYPE_EVD));

	if (!evd || evd->obj.ia != ia || !(evd->flags & DAT_EVD_CR_FLAG))
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	/* 0 is no qualifier: nobody could connect to it. */
	if (qual == 0)
		return BAD_ARG(2);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return BAD_ARG(4);
	if (!out)
		return BAD_ARG(5);
	if (flags == DAT_PSP_PROVIDER_FLAG)
		return DAT_FAIL(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE);
	return make(ia, qual, evd, flags, out);
}

DAT_RETURN dat__psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			   DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave(b, obj, "dat_psp_create",
			 create_locked(obj_as(struct ia, obj), qual, evd, flags, psp));
}

static DAT_RETURN query_locked(const struct psp *psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	if (mask & ~DAT_PSP_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	*param = (DAT_PSP_PARAM){ .ia_handle = psp->obj.ia->obj.handle,
				  .conn_qual = psp->qual,
				  .evd_handle = psp->evd->obj.handle,
				  .psp_flags = psp->flags };
	return DAT_SUCCESS;
}

DAT_RETURN dat__psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_PSP, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	return obj_leave(b, obj, "dat_psp_query",
			 query_locked(obj_as(struct psp, obj), mask, param));
}

void psp_destroy(struct psp *psp)
{
	obj_trace(psp, "free");
	obj_nic(&psp->obj)->ops->unlisten(psp->nic);
	psp->evd->refs--;
	obj_fini(&psp->obj);
	free(psp);
}

DAT_RETURN dat__psp_free(DAT_PSP_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_PSP, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	psp_destroy(obj_as(struct psp, obj));
	backend_leave(b);
	return DAT_SUCCESS;
}
