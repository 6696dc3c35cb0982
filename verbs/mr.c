/* SPDX-License-Identifier: BSD-3-Clause */
/* mr.c - protection domains, memory regions, and the check of keys at a post. */
#include <stdlib.h>

#include "gone.h"
#include "trace.h"
#include "vb.h"

/* Known, and without effect here: how the memory is mapped, and the order of writes. */
#define ACCESS_IGNORED                                                            \
	((unsigned int)IBV_ACCESS_MW_BIND | (unsigned int)IBV_ACCESS_ZERO_BASED | \
	 (unsigned int)IBV_ACCESS_HUGETLB | (unsigned int)IBV_ACCESS_OPTIONAL_RANGE)
#define ACCESS_REMOTE                                                                   \
	((unsigned int)IBV_ACCESS_REMOTE_WRITE | (unsigned int)IBV_ACCESS_REMOTE_READ | \
	 (unsigned int)IBV_ACCESS_REMOTE_ATOMIC)
#define ACCESS_CHANGING \
	((unsigned int)IBV_ACCESS_REMOTE_WRITE | (unsigned int)IBV_ACCESS_REMOTE_ATOMIC)

#define PAGE 4096u

/* ---- protection domains ---- */

VB_NEW(ibv_alloc_pd);
struct ibv_pd *ibv_alloc_pd(struct ibv_context *ibv)
{
	struct vb_context *context;
	struct vb_pd *pd;
	int err;

	if (vb_is_gone(ibv))
		return vb_failed(-EINVAL);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return vb_failed(-ENOMEM);
	context = vb_enter(ibv);
	err = vb_fault(context, NULL, VB_CALL_ALLOC_PD);
	if (!err)
		err = context->nic->ops->pd_alloc(context->nic, &pd->nic);
	if (!err) {
		vb_obj_add(context, &pd->obj, VB_PD);
		vb_obj_trace(&pd->obj, "create");
		pd->ibv = (struct ibv_pd){ .context = ibv, .handle = pd->obj.id };
	}
	vb_context_refuse(context, "ibv_alloc_pd", err);
	vb_leave(context);
	if (!err)
		return &pd->ibv;
	free(pd);
	return vb_failed(err);
}

void vb_pd_discard(struct vb_pd *pd)
{
	pd->obj.context->nic->ops->pd_free(pd->nic);
	vb_obj_remove(&pd->obj);
	vb_gone(pd, &pd->ibv.context);
}

VB_NEW(ibv_dealloc_pd);
int ibv_dealloc_pd(struct ibv_pd *ibv)
{
	struct vb_pd *pd = VB_OF(ibv, pd);
	struct vb_context *context;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	if (pd->obj.users > 0)
		return vb_result(context, vb_refuse(&pd->obj, "ibv_dealloc_pd", -EBUSY));
	vb_pd_discard(pd);
	return vb_result(context, 0);
}

/* ---- memory regions ---- */

uint32_t vb_access(unsigned int access)
{
	uint32_t nic = NIC_ACCESS_LOCAL_READ;

	if (access & IBV_ACCESS_LOCAL_WRITE)
		nic |= NIC_ACCESS_LOCAL_WRITE;
	if (access & IBV_ACCESS_REMOTE_READ)
		nic |= NIC_ACCESS_REMOTE_READ;
	if (access & IBV_ACCESS_REMOTE_WRITE)
		nic |= NIC_ACCESS_REMOTE_WRITE;
	if (access & IBV_ACCESS_REMOTE_ATOMIC)
		nic |= NIC_ACCESS_REMOTE_ATOMIC;
	return nic;
}

static int check_access(unsigned int access)
{
	if (access & ~((unsigned int)IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE | ACCESS_IGNORED))
		return -EOPNOTSUPP;
	/* The peer may not change what this side may not. */
	if ((access & ACCESS_CHANGING) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/* A region of the NIC, with the names that the program wants for its bytes. */
static int register_memory(struct vb_mr *mr, struct vb_pd *pd)
{
	const struct nic_ops *ops = pd->nic->nic->ops;
	int err = ops->mr_reg(pd->nic, (uintptr_t)mr->ibv.addr, mr->ibv.length,
			      vb_access(mr->access), &mr->nic);

	if (err)
		return err;
	if (mr->iova != (uintptr_t)mr->ibv.addr)
		ops->mr_base(mr->nic, mr->iova);
	mr->ibv.pd = &pd->ibv;
	mr->ibv.lkey = mr->nic->lkey;
	mr->ibv.rkey = mr->nic->rkey;
	pd->obj.users++;
	LIST_INSERT_HEAD(&pd->obj.context->adapter->keys[mr->ibv.lkey % VB_KEYS], mr, key_link);
	return 0;
}

static void deregister_memory(struct vb_mr *mr)
{
	vb_ranges_close(mr);
	mr->nic->nic->ops->mr_dereg(mr->nic);
	LIST_REMOVE(mr, key_link);
	VB_OF(mr->ibv.pd, pd)->obj.users--;
}

/*
 * The kernel maps whole pages, so a byte has the same place in its page by either name. A region of
 * length 0 at the beginning of a page has no page and is refused; elsewhere it has one, but the
 * drivers of RNICs refuse it there, too.
 */
static bool maps_pages(const void *addr, size_t length, uint64_t iova)
{
	uintptr_t place = (uintptr_t)addr & (PAGE - 1);

	if (length == 0 && (place == 0 || vb_setting_iwarp()))
		return false;
	return place == (iova & (PAGE - 1));
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *ibv, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	int err = vb_is_gone(ibv->context) || !maps_pages(addr, length, iova)
			  ? -EINVAL
			  : check_access(access);
	struct vb_context *context;
	struct vb_mr *mr;

	if (err)
		return vb_failed(vb_asked(ibv->context, "ibv_reg_mr", err));
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return vb_failed(-ENOMEM);
	mr->ibv = (struct ibv_mr){ .context = ibv->context, .addr = addr, .length = length };
	mr->access = access;
	mr->iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	context = vb_enter(ibv->context);
	err = vb_fault(context, NULL, VB_CALL_REG_MR);
	if (!err)
		err = register_memory(mr, VB_OF(ibv, pd));
	if (!err) {
		vb_obj_add(context, &mr->obj, VB_MR);
		vb_obj_trace(&mr->obj, "create bytes=%zu lkey=%u rkey=%u", length, mr->ibv.lkey,
			     mr->ibv.rkey);
		mr->ibv.handle = mr->obj.id;
	}
	vb_context_refuse(context, "ibv_reg_mr", err);
	vb_leave(context);
	if (!err)
		return &mr->ibv;
	free(mr);
	return vb_failed(err);
}

VB_NEW(ibv_reg_mr);
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

/* Another PD or access: the keys stay. */
static int change_region(struct vb_mr *mr, const struct vb_mr *next, struct vb_pd *pd)
{
	int err = mr->nic->nic->ops->mr_change(mr->nic, pd->nic, vb_access(next->access));

	if (err)
		return err;
	vb_ranges_close(mr); /* they were checked with the rights that it had */
	VB_OF(mr->ibv.pd, pd)->obj.users--;
	pd->obj.users++;
	mr->ibv.pd = &pd->ibv;
	mr->access = next->access;
	return 0;
}

/* For other memory, the region gets new keys. If that fails it stays as it is. */
static int register_again(struct vb_mr *mr, struct vb_mr *next, struct vb_pd *pd)
{
	int err;

	if (mr->nic->nic->ops->mr_windows(mr->nic) > 0)
		return -EBUSY;
	if (next->ibv.addr == mr->ibv.addr && next->ibv.length == mr->ibv.length &&
	    next->iova == mr->iova)
		return change_region(mr, next, pd);
	err = register_memory(next, pd);
	if (err)
		return err;
	deregister_memory(mr);
	LIST_REMOVE(next, key_link);
	mr->nic = next->nic;
	mr->access = next->access;
	mr->iova = next->iova;
	mr->ibv = next->ibv;
	LIST_INSERT_HEAD(&mr->obj.context->adapter->keys[mr->ibv.lkey % VB_KEYS], mr, key_link);
	return 0;
}

#define REREG_FLAGS \
	(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS)

int ibv_rereg_mr(struct ibv_mr *ibv, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access)
{
	struct vb_mr *mr = VB_OF(ibv, mr),
		     next = { .ibv = *ibv, .access = mr->access, .iova = mr->iova };
	struct vb_context *context;
	int err = 0;

	if (vb_is_gone(ibv->context) || !flags || (flags & ~REREG_FLAGS) ||
	    (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS)) ||
	    ((flags & IBV_REREG_MR_CHANGE_PD) && pd->context != ibv->context) ||
	    ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && (!addr || !length)))
		err = -EINVAL;
	if (!err && (flags & IBV_REREG_MR_CHANGE_ACCESS))
		err = check_access((unsigned int)access);
	if (err) {
		errno = -vb_obj_asked(ibv->context, &mr->obj, "ibv_rereg_mr", err);
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		next.access = (unsigned int)access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		next.ibv.addr = addr;
		next.ibv.length = length;
		next.iova = (uintptr_t)addr;
	}
	if (next.access & IBV_ACCESS_ZERO_BASED)
		next.iova = 0;
	context = vb_enter(ibv->context);
	err = vb_fault(context, NULL, VB_CALL_REREG_MR);
	if (!err)
		err = register_again(mr, &next,
				     VB_OF(flags & IBV_REREG_MR_CHANGE_PD ? pd : ibv->pd, pd));
	if (!vb_refuse(&mr->obj, "ibv_rereg_mr", err))
		vb_obj_trace(&mr->obj, "ibv_rereg_mr flags=%d bytes=%zu lkey=%u rkey=%u", flags,
			     ibv->length, ibv->lkey, ibv->rkey);
	vb_leave(context);
	if (!err)
		return 0;
	errno = -err;
	return IBV_REREG_MR_ERR_CMD;
}

void vb_mr_discard(struct vb_mr *mr)
{
	deregister_memory(mr);
	vb_obj_remove(&mr->obj);
	mr->ibv.pd = NULL;
	vb_gone(mr, &mr->ibv.context);
}

VB_NEW(ibv_dereg_mr);
int ibv_dereg_mr(struct ibv_mr *ibv)
{
	struct vb_mr *mr = VB_OF(ibv, mr);
	struct vb_context *context;

	if (vb_is_gone(ibv->context))
		return EINVAL;
	context = vb_enter(ibv->context);
	if (context->nic->ops->mr_windows(mr->nic) > 0)
		return vb_result(context, vb_refuse(&mr->obj, "ibv_dereg_mr", -EBUSY));
	vb_mr_discard(mr);
	return vb_result(context, 0);
}

/* ---- keys ---- */

static struct vb_mr *find_key(const struct vb_adapter *adapter, uint32_t lkey)
{
	struct vb_mr *mr;

	LIST_FOREACH(mr, &adapter->keys[lkey % VB_KEYS], key_link)
	if (mr->ibv.lkey == lkey)
		return mr;
	return NULL;
}

struct vb_mr *vb_region_of(struct vb_context *context, const struct vb_pd *pd,
			   const struct nic_sge *sge, bool write)
{
	struct vb_mr *mr = find_key(context->adapter, sge->lkey);

	if (!mr || mr->ibv.pd != &pd->ibv || (write && !(mr->access & IBV_ACCESS_LOCAL_WRITE)))
		return NULL;
	return sge->length <= mr->ibv.length && sge->addr - mr->iova <= mr->ibv.length - sge->length
		       ? mr
		       : NULL;
}

bool vb_keys_allow(struct vb_context *context, const struct vb_pd *pd, struct nic_sge *sge, int n,
		   bool write)
{
	for (int i = 0; i < n; i++) {
		const struct vb_mr *mr;

		if (sge[i].length == 0)
			continue;
		mr = vb_region_of(context, pd, &sge[i], write);
		if (!mr) {
			sge[i].lkey = 0; /* of no region */
			return false;
		}
		sge[i].addr += (uintptr_t)mr->ibv.addr - mr->iova;
	}
	return true;
}
