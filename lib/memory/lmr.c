/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lmr.c - dat_lmr_create, dat_lmr_query and dat_lmr_free: the adapter's table of contexts, and the
 * check of a post's segments against the regions they name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api.h"
#include "host/fault_door.h"
#include "lmr.h"
#include "pz.h"

#define TABLE_FIRST 64u

/* ---- the table of contexts ---- */

/*
 * An entry is a pointer to a live LMR (never odd), or it is free: then it is odd and holds the
 * index of the next free entry and the generation of its next context. Index 0 is never used, so no
 * context is 0.
 */
static uintptr_t lmr_free_entry(uint32_t next, uint32_t gen)
{
	return (uintptr_t)next << (LMR_CONTEXT_GEN_BITS + 1) | (uintptr_t)(gen & 0xff) << 1 |
	       LMR_FREE_BIT;
}

static bool lmr_table_grow(struct dat_adapter *adapter)
{
	uint32_t old = adapter->lmr_entries, entries = old ? old * 2 : TABLE_FIRST;
	struct lmr **table = nic_realloc(adapter->base.nic, adapter->lmrs, entries * sizeof(*table),
					 "lmr_table");

	if (!table)
		return false;
	for (uint32_t i = entries - 1; i >= (old ? old : 1); i--) {
		table[i] = (struct lmr *)lmr_free_entry(adapter->lmr_free, 0);
		adapter->lmr_free = i;
	}
	if (!old)
		table[0] = (struct lmr *)lmr_free_entry(0, 0);
	adapter->lmrs = table;
	adapter->lmr_entries = entries;
	return true;
}

static bool lmr_context_take(struct dat_adapter *adapter, struct lmr *lmr)
{
	uint32_t index, gen;
	uintptr_t entry;

	if (!adapter->lmr_free && !lmr_table_grow(adapter))
		return false;
	index = adapter->lmr_free;
	entry = (uintptr_t)adapter->lmrs[index];
	gen = (uint32_t)(entry >> 1) & 0xff;
	adapter->lmr_free = (uint32_t)(entry >> (LMR_CONTEXT_GEN_BITS + 1));
	adapter->lmrs[index] = lmr;
	lmr->context = index << LMR_CONTEXT_GEN_BITS | gen;
	return true;
}

static void lmr_context_drop(struct dat_adapter *adapter, const struct lmr *lmr)
{
	uint32_t index = lmr->context >> LMR_CONTEXT_GEN_BITS;

	adapter->lmrs[index] = (struct lmr *)lmr_free_entry(adapter->lmr_free, lmr->context + 1);
	adapter->lmr_free = index;
}

/* ---- the segments of a post ---- */

static DAT_RETURN lmr_check_segment(const struct lmr *lmr, struct lmr_need need,
				    const DAT_LMR_TRIPLET *t)
{
	bool write = need.privileges == LMR_NEED_WRITE;

	if (!lmr)
		return DAT_FAIL(DAT_PRIVILEGES_VIOLATION,
				write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	if (!lmr_covers(lmr, t))
		return BAD_ARG_NUMBER(need.first_arg + 1);
	if (lmr->pz != need.pz)
		return DAT_FAIL(DAT_PROTECTION_VIOLATION,
				write ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
	if (!((uint32_t)lmr->privileges & need.privileges))
		return DAT_FAIL(DAT_PRIVILEGES_VIOLATION,
				write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	return DAT_SUCCESS;
}

DAT_RETURN lmr_translate(struct dat_adapter *adapter, struct lmr_need need, DAT_COUNT segments,
			 const DAT_LMR_TRIPLET *iov, struct nic_sge *sge, DAT_VLEN *total)
{
	DAT_VLEN sum = 0;

	if (segments > 0 && !iov)
		return BAD_ARG_NUMBER(need.first_arg + 1);
	for (DAT_COUNT i = 0; i < segments; i++) {
		const DAT_LMR_TRIPLET *t = &iov[i];
		const struct lmr *lmr = NULL;

		/* An empty segment touches no memory, so its other fields are ignored. */
		if (t->segment_length > 0) {
			DAT_RETURN ret;

			lmr = lmr_find(adapter, t->lmr_context);
			ret = lmr_check_segment(lmr, need, t);
			if (ret != DAT_SUCCESS)
				return ret;
			if (t->segment_length > adapter->base.attr.max_msg_size - sum)
				return BAD_ARG_NUMBER(need.first_arg + 1);
		}
		sge[i].addr = t->virtual_address;
		sge[i].length = (uint32_t)t->segment_length;
		sge[i].lkey = lmr ? lmr->lkey : 0;
		sum += t->segment_length;
	}
	*total = sum;
	return DAT_SUCCESS;
}

/* ---- ranges ---- */

void lmr_range_close(struct lmr_range *range)
{
	if (range->size > 0)
		LIST_REMOVE(range, link);
	range->end = range->size = 0;
}

COLD bool lmr_range_move(struct lmr_range *range, const struct dat_adapter *adapter,
			 const struct lmr_need *need, DAT_VLEN max, const DAT_LMR_TRIPLET *t)
{
	struct lmr *lmr = lmr_find(adapter, t->lmr_context);
	uint64_t addr, end;

	if (t->segment_length == 0 || t->segment_length > max ||
	    lmr_check_segment(lmr, *need, t) != DAT_SUCCESS)
		return false;
	lmr_range_close(range);
	range->context = lmr->context;
	range->lkey = lmr->lkey;
	addr = (uintptr_t)lmr->address;
	end = addr + lmr->length;
	/* No segment within the range may exceed max: of a larger LMR, the range is a part. */
	if (lmr->length > max) {
		addr = t->virtual_address;
		end = end - addr < max ? end : addr + max;
	}
	range->end = end;
	range->size = end - addr;
	LIST_INSERT_HEAD(&lmr->ranges, range, link);
	return true;
}

/* ---- calls ---- */

#define PRIV_ALL ((uint32_t)DAT_MEM_PRIV_ALL_FLAG | (uint32_t)DAT_MEM_PRIV_RO_DISABLE_FLAG)

static uint32_t nic_access(DAT_MEM_PRIV_FLAGS privileges)
{
	uint32_t access = 0;

	if (privileges & DAT_MEM_PRIV_LOCAL_READ_FLAG)
		access |= NIC_ACCESS_LOCAL_READ;
	if (privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		access |= NIC_ACCESS_LOCAL_WRITE;
	if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= NIC_ACCESS_REMOTE_READ;
	if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= NIC_ACCESS_REMOTE_WRITE;
	return access;
}

/* -EFAULT: the memory is not mapped, or not with the access that the privileges ask for. */
static DAT_RETURN lmr_refusal(int err)
{
	if (err == -EFAULT)
		return BAD_ARG(3);
	return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION));
}

static DAT_RETURN lmr_make(struct ia *ia, struct pz *pz, const struct lmr_region *region,
			   DAT_MEM_PRIV_FLAGS privileges, struct lmr **out)
{
	struct dat_adapter *adapter = ia->adapter;
	const struct nic_ops *ops = adapter->base.nic->ops;
	DAT_RETURN ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	struct lmr *lmr = nic_calloc(adapter->base.nic, 1, sizeof(*lmr), "lmr");
	int err;

	if (!lmr)
		goto fail;
	lmr->pz = pz;
	lmr->mem_type = region->type;
	lmr->privileges = privileges;
	lmr->address = region->address;
	lmr->length = region->length;
	lmr->desc = region->desc;
	ret = lmr_region_join(ia, region, &lmr->share);
	if (ret != DAT_SUCCESS)
		goto free_lmr;
	ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (!lmr_context_take(adapter, lmr))
		goto leave_share;
	err = ops->mr_reg(pz->nic, (uintptr_t)lmr->address, lmr->length, nic_access(privileges),
			  &lmr->nic);
	ret = lmr_refusal(err);
	if (err)
		goto drop_context;
	lmr->nic->ctx = lmr;
	lmr->lkey = lmr->nic->lkey;
	if (privileges & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		lmr->rmr_context = lmr->nic->rkey;
	ret = obj_init(&lmr->obj, ia, DAT_HANDLE_TYPE_LMR);
	if (ret != DAT_SUCCESS)
		goto dereg;
	pz->users++;
	*out = lmr;
	return DAT_SUCCESS;

dereg:
	ops->mr_dereg(lmr->nic);
drop_context:
	lmr_context_drop(adapter, lmr);
leave_share:
	lmr_share_leave(lmr->share);
free_lmr:
	free(lmr);
fail:
	return ret;
}

DAT_RETURN dat__lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
			   DAT_VLEN length, DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_LMR_HANDLE *handle, DAT_LMR_CONTEXT *context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia, DAT_HANDLE_TYPE_IA, &b);
	struct lmr_region region;
	struct lmr *lmr = NULL;
	struct pz *pz;
	DAT_RETURN ret;

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	pz = obj_as(struct pz, obj_find(b, pz_handle, DAT_HANDLE_TYPE_PZ));
	if (!pz || pz->obj.ia != obj->ia) {
		ret = DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
		goto leave;
	}
	ret = lmr_region_check(obj->ia, type, desc, length, &region);
	if (ret == DAT_SUCCESS && ((uint32_t)privileges & ~PRIV_ALL))
		ret = BAD_ARG(6);
	if (ret == DAT_SUCCESS && !handle)
		ret = BAD_ARG(7);
	if (ret == DAT_SUCCESS)
		ret = lmr_make(obj->ia, pz, &region, privileges, &lmr);
	if (ret != DAT_SUCCESS)
		goto leave;
	*handle = lmr->obj.handle;
	if (context)
		*context = lmr->context;
	if (rmr_context)
		*rmr_context = lmr->rmr_context;
	if (registered_length)
		*registered_length = lmr->length;
	if (registered_address)
		*registered_address = (uintptr_t)lmr->address;
leave:
	return obj_leave(b, obj, "dat_lmr_create", ret);
}

static DAT_RETURN lmr_query_locked(const struct lmr *lmr, DAT_LMR_PARAM_MASK mask,
				   DAT_LMR_PARAM *param)
{
	if (mask & ~DAT_LMR_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	memset(param, 0, sizeof(*param)); /* padding, too */
	param->ia_handle = lmr->obj.ia->obj.handle;
	param->mem_type = lmr->mem_type;
	param->region_desc = lmr_region_desc(lmr);
	param->length = lmr->length;
	param->pz_handle = lmr->pz->obj.handle;
	param->mem_priv = lmr->privileges;
	param->lmr_context = lmr->context;
	param->rmr_context = lmr->rmr_context;
	param->registered_size = lmr->length;
	param->registered_address = (uintptr_t)lmr->address;
	return DAT_SUCCESS;
}

DAT_RETURN dat__lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_LMR, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	return obj_leave_asked(b, obj, "dat_lmr_query",
			       lmr_query_locked(obj_as(struct lmr, obj), mask, param));
}

void lmr_destroy(struct lmr *lmr)
{
	struct dat_adapter *adapter = lmr->obj.ia->adapter;
	struct lmr_range *range;

	while ((range = LIST_FIRST(&lmr->ranges)) != NULL)
		lmr_range_close(range);
	adapter->base.nic->ops->mr_dereg(lmr->nic);
	lmr_context_drop(adapter, lmr);
	lmr_share_leave(lmr->share);
	lmr->pz->users--;
	obj_fini(&lmr->obj);
	free(lmr);
}

DAT_RETURN dat__lmr_free(DAT_LMR_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_LMR, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (obj_nic(obj)->ops->mr_windows(obj_as(struct lmr, obj)->nic) > 0)
		return obj_leave(b, obj, "dat_lmr_free",
				 DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE));
	lmr_destroy(obj_as(struct lmr, obj));
	backend_leave(b);
	return DAT_SUCCESS;
}
