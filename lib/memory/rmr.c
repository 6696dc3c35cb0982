/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rmr.c - dat_rmr_create, dat_rmr_bind, dat_rmr_query and dat_rmr_free. A bind is a work request on
 * an Endpoint's request queue; the checks that a post can make are made here, the rest by the NIC.
 */
#include <string.h>
#include <stdlib.h>

#include "lib/api.h"
#include "lib/ep/dto.h"
#include "lib/ep/ep.h"
#include "host/fault_door.h"
#include "lmr.h"
#include "pz.h"
#include "rmr.h"

#define BAD_RMR DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR)

/* ---- create, query, free ---- */

static DAT_RETURN rmr_create_locked(struct pz *pz, DAT_RMR_HANDLE *out)
{
	struct nic *nic = obj_nic(&pz->obj);
	struct rmr *rmr;
	DAT_RETURN ret;
	int err;

	if (!out)
		return BAD_ARG(2);
	if (!(nic->caps & NIC_CAP_MW))
		return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	rmr = nic_calloc(nic, 1, sizeof(*rmr), "rmr");
	if (!rmr)
		goto fail;
	rmr->pz = pz;
	err = nic->ops->mw_alloc(pz->nic, &rmr->nic);
	ret = nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION));
	if (err)
		goto free_rmr;
	ret = obj_init(&rmr->obj, pz->obj.ia, DAT_HANDLE_TYPE_RMR);
	if (ret != DAT_SUCCESS)
		goto free_mw;
	pz->users++;
	*out = rmr->obj.handle;
	return DAT_SUCCESS;

free_mw:
	nic->ops->mw_free(rmr->nic);
free_rmr:
	free(rmr);
fail:
	return ret;
}

DAT_RETURN dat__rmr_create(DAT_PZ_HANDLE handle, DAT_RMR_HANDLE *rmr)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_PZ, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	return obj_leave(b, obj, "dat_rmr_create", rmr_create_locked(obj_as(struct pz, obj), rmr));
}

static DAT_RETURN rmr_query_locked(const struct rmr *rmr, DAT_RMR_PARAM_MASK mask,
				   DAT_RMR_PARAM *param)
{
	const struct lmr *lmr;
	struct nic_mw_state s;
	uint32_t priv = 0;

	if (mask & ~DAT_RMR_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	backend_idle(obj_nic(&rmr->obj));
	rmr->nic->nic->ops->mw_query(rmr->nic, &s);
	if (s.access & NIC_ACCESS_REMOTE_READ)
		priv |= DAT_MEM_PRIV_REMOTE_READ_FLAG;
	if (s.access & NIC_ACCESS_REMOTE_WRITE)
		priv |= DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	lmr = s.mr ? s.mr->ctx : NULL;
	memset(param, 0, sizeof(*param)); /* padding, too */
	param->ia_handle = rmr->obj.ia->obj.handle;
	param->pz_handle = rmr->pz->obj.handle;
	param->lmr_triplet.lmr_context = lmr ? lmr->context : 0;
	param->lmr_triplet.virtual_address = s.addr;
	param->lmr_triplet.segment_length = s.length;
	param->mem_priv = (DAT_MEM_PRIV_FLAGS)priv;
	param->rmr_context = s.rkey;
	return DAT_SUCCESS;
}

DAT_RETURN dat__rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_RMR, &b);

	if (!obj)
		return BAD_RMR;
	return obj_leave_asked(b, obj, "dat_rmr_query",
			       rmr_query_locked(obj_as(struct rmr, obj), mask, param));
}

void rmr_destroy(struct rmr *rmr)
{
	obj_nic(&rmr->obj)->ops->mw_free(rmr->nic);
	rmr->pz->users--;
	obj_fini(&rmr->obj);
	free(rmr);
}

DAT_RETURN dat__rmr_free(DAT_RMR_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_RMR, &b);

	if (!obj)
		return BAD_RMR;
	rmr_destroy(obj_as(struct rmr, obj));
	backend_leave(b);
	return DAT_SUCCESS;
}

/* ---- bind ---- */

#define PRIV_ALL ((uint32_t)DAT_MEM_PRIV_ALL_FLAG | (uint32_t)DAT_MEM_PRIV_RO_DISABLE_FLAG)

struct bind {
	struct rmr *rmr;
	struct ep *ep;
	const DAT_LMR_TRIPLET *triplet;
	const struct lmr *lmr; /* NULL: unbind */
	uint32_t priv;
	DAT_COMPLETION_FLAGS flags;
};

/* The subtype names the access that the peer was to get. */
static DAT_RETURN bind_violation(const struct bind *bind, DAT_RETURN_TYPE type, uint32_t read,
				 uint32_t write)
{
	return DAT_FAIL(type, bind->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? write : read);
}

static DAT_RETURN bind_check_region(struct bind *bind)
{
	const DAT_LMR_TRIPLET *t = bind->triplet;

	if (!t)
		return BAD_ARG(2);
	if (t->segment_length == 0)
		return DAT_SUCCESS;
	bind->lmr = lmr_find(bind->rmr->obj.ia->adapter, t->lmr_context);
	if (!bind->lmr)
		return DAT_FAIL(DAT_PRIVILEGES_VIOLATION, DAT_NO_SUBTYPE);
	return lmr_covers(bind->lmr, t) ? DAT_SUCCESS : BAD_ARG(2);
}

/*
 * RMR, Endpoint and LMR must be in one PZ, and an RMR grants the peer no access that the LMR lacks.
 */
static DAT_RETURN bind_check_rights(const struct bind *bind)
{
	const struct pz *pz = bind->rmr->pz;
	uint32_t local;

	if (bind->ep->pz != pz || (bind->lmr && bind->lmr->pz != pz))
		return bind_violation(bind, DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_READ,
				      DAT_PROTECTION_RDMA_WRITE);
	if (!bind->lmr)
		return DAT_SUCCESS;
	local = (uint32_t)bind->lmr->privileges;
	if ((bind->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG) && !(local & LMR_NEED_WRITE))
		return DAT_FAIL(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE);
	if ((bind->priv & DAT_MEM_PRIV_REMOTE_READ_FLAG) && !(local & LMR_NEED_READ))
		return DAT_FAIL(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_READ);
	return DAT_SUCCESS;
}

static DAT_RETURN bind_check(struct bind *bind)
{
	DAT_RETURN ret = bind_check_region(bind);

	if (ret != DAT_SUCCESS)
		return ret;
	if (bind->priv & ~PRIV_ALL)
		return BAD_ARG(3);
	ret = bind_check_rights(bind);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!dto_flags_ok(bind->flags, DTO_RDMA_FLAGS, bind->ep->attr.request_completion_flags))
		return BAD_ARG(6);
	if (!ep_in(bind->ep, EP_POST_STATES))
		return ep_state_error(bind->ep->state);
	return DAT_SUCCESS;
}

static DAT_RETURN bind_locked(struct bind *bind, DAT_RMR_COOKIE cookie, DAT_RMR_CONTEXT *context)
{
	struct nic_send_wr wr = { .wr_id = cookie.as_64, .opcode = NIC_OP_BIND };
	DAT_RETURN ret = bind_check(bind);
	int err;

	if (ret != DAT_SUCCESS)
		return ret;
	wr.length = handle_number(bind->rmr->obj.handle);
	wr.flags = (uint8_t)dto_wr_flags(bind->flags);
	wr.mw = bind->rmr->nic;
	if (bind->lmr) {
		wr.mr = bind->lmr->nic;
		wr.bind_addr = bind->triplet->virtual_address;
		wr.bind_length = bind->triplet->segment_length;
	}
	if (bind->priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		wr.bind_access |= NIC_ACCESS_REMOTE_READ;
	if (bind->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		wr.bind_access |= NIC_ACCESS_REMOTE_WRITE;
	err = obj_nic(&bind->ep->obj)->ops->post_send(bind->ep->nic, &wr);
	if (err)
		return dto_no_room(err);
	dto_posted(&bind->ep->obj);
	if (context)
		*context = bind->rmr->nic->rkey;
	return DAT_SUCCESS;
}

DAT_RETURN dat__rmr_bind(DAT_RMR_HANDLE handle, const DAT_LMR_TRIPLET *triplet,
			 DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie,
			 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_RMR, &b), *ep;
	struct bind bind = { .rmr = obj_as(struct rmr, obj),
			     .triplet = triplet,
			     .priv = (uint32_t)priv,
			     .flags = flags };

	if (!obj)
		return BAD_RMR;
	ep = obj_find(b, ep_handle, DAT_HANDLE_TYPE_EP);
	if (!ep || ep->ia != obj->ia)
		return obj_leave(b, obj, "dat_rmr_bind",
				 DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
	bind.ep = obj_as(struct ep, ep);
	return obj_leave(b, obj, "dat_rmr_bind", bind_locked(&bind, cookie, context));
}
