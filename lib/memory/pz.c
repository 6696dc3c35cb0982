/* SPDX-License-Identifier: BSD-3-Clause */
/* pz.c - dat_pz_create, dat_pz_query and dat_pz_free: a protection zone is a PD of the NIC. */
#include <assert.h>
#include <stdlib.h>

#include "lib/api.h"
#include "host/fault_door.h"
#include "pz.h"

static DAT_RETURN pz_create_locked(struct ia *ia, DAT_PZ_HANDLE *out)
{
	struct nic *nic = ia->adapter->base.nic;
	struct pz *pz;
	DAT_RETURN ret;
	int err;

	if (!out)
		return BAD_ARG(2);
	ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	pz = nic_calloc(nic, 1, sizeof(*pz), "pz");
	if (!pz)
		goto fail;
	err = nic->ops->pd_alloc(nic, &pz->nic);
	ret = nic_refusal(err,
			  DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN));
	if (err)
		goto free_pz;
	ret = obj_init(&pz->obj, ia, DAT_HANDLE_TYPE_PZ);
	if (ret != DAT_SUCCESS)
		goto free_pd;
	*out = pz->obj.handle;
	return DAT_SUCCESS;

free_pd:
	nic->ops->pd_free(pz->nic);
free_pz:
	free(pz);
fail:
	return ret;
}

DAT_RETURN dat__pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave(b, obj, "dat_pz_create", pz_create_locked(obj_as(struct ia, obj), pz));
}

static DAT_RETURN pz_query_locked(struct pz *pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	if (mask & ~DAT_PZ_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	param->ia_handle = pz->obj.ia->obj.handle;
	return DAT_SUCCESS;
}

DAT_RETURN dat__pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_PZ, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	return obj_leave_asked(b, obj, "dat_pz_query",
			       pz_query_locked(obj_as(struct pz, obj), mask, param));
}

void pz_destroy(struct pz *pz)
{
	assert(pz->users == 0);
	obj_nic(&pz->obj)->ops->pd_free(pz->nic);
	obj_fini(&pz->obj);
	free(pz);
}

DAT_RETURN dat__pz_free(DAT_PZ_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_PZ, &b);
	struct pz *pz = obj_as(struct pz, obj);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (pz->users > 0)
		return obj_leave(b, obj, "dat_pz_free",
				 DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE));
	pz_destroy(pz);
	backend_leave(b);
	return DAT_SUCCESS;
}
