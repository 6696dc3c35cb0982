/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lmr_region.c - the memory that a DAT_REGION_DESCRIPTION names, for each memory type, and the
 * cookies under which shared memory is registered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "host/fault_door.h"
#include "host/nic_process.h"
#include "lmr.h"

/* The origin of shared memory: two mappings of the same memory have the same origin. */
struct backing {
	unsigned int dev_major, dev_minor;
	unsigned long inode, offset;
};

/* Shared memory registered under a cookie, by one LMR or several. */
struct lmr_share {
	LIST_ENTRY(lmr_share) link;
	char cookie[DAT_LMR_COOKIE_SIZE];
	struct backing backing;
	unsigned int users;
};

/* ---- shared memory ---- */

/* True if all of [addr, addr + length) is mapped shared. The kernel lists mappings by address. */
static bool is_shared(FILE *maps, unsigned long addr, unsigned long length, struct backing *backing)
{
	unsigned long at = addr, start, end, offset, inode;
	unsigned int dev_major, dev_minor;
	char *line = NULL, perms[5];
	size_t size = 0;

	while (at - addr < length && getline(&line, &size, maps) > 0) {
		if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu", &start, &end, perms, &offset,
			   &dev_major, &dev_minor, &inode) != 7 ||
		    end <= at)
			continue;
		if (start > at || perms[3] != 's')
			break;
		if (at == addr)
			*backing = (struct backing){ dev_major, dev_minor, inode,
						     offset + (addr - start) };
		at = end;
	}
	free(line);
	return at - addr >= length;
}

static DAT_RETURN find_backing(DAT_PVOID address, DAT_VLEN length, struct backing *backing)
{
	int cancel = process_cancel_hold();
	FILE *maps = process_fopen("/proc/self/maps");
	bool shared = maps && is_shared(maps, (uintptr_t)address, length, backing);

	if (maps)
		fclose(maps);
	process_cancel_release(cancel);
	if (!maps)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	return shared ? DAT_SUCCESS : DAT_FAIL(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
}

static bool same_backing(const struct backing *a, const struct backing *b)
{
	return a->dev_major == b->dev_major && a->dev_minor == b->dev_minor &&
	       a->inode == b->inode && a->offset == b->offset;
}

/* All sharers of a cookie must register the same memory. All bytes of the cookie are compared. */
static DAT_RETURN lmr_share_join(struct ia *ia, const DAT_SHARED_MEMORY *memory, DAT_VLEN length,
				 struct lmr_share **out)
{
	struct dat_front *front = adapter_front(ia->adapter);
	struct lmr_share *share;
	struct backing backing;
	DAT_RETURN ret = find_backing(memory->virtual_address, length, &backing);

	if (ret != DAT_SUCCESS)
		return ret;
	LIST_FOREACH(share, &front->shares, link)
	if (memcmp(share->cookie, *memory->shared_memory_id, sizeof(share->cookie)) == 0)
		break;
	if (share && !same_backing(&share->backing, &backing))
		return DAT_FAIL(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	if (!share) {
		share = nic_calloc(ia->adapter->base.nic, 1, sizeof(*share), "lmr_share");
		if (!share)
			return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		memcpy(share->cookie, *memory->shared_memory_id, sizeof(share->cookie));
		share->backing = backing;
		LIST_INSERT_HEAD(&front->shares, share, link);
	}
	share->users++;
	*out = share;
	return DAT_SUCCESS;
}

void lmr_share_leave(struct lmr_share *share)
{
	if (!share || --share->users > 0)
		return;
	LIST_REMOVE(share, link);
	free(share);
}

/* ---- regions ---- */

static DAT_RETURN region_check_range(const struct dat_adapter *adapter, DAT_PVOID address,
				     DAT_VLEN length)
{
	/* Ruling A4: an empty region is an error at any address. */
	if (length == 0)
		return DAT_FAIL(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (!address)
		return BAD_ARG(3);
	if (length > adapter->base.attr.max_mr_size || (uintptr_t)address + length < length)
		return BAD_ARG(4);
	return DAT_SUCCESS;
}

/* The memory of another LMR of this IA, which may be freed while the new LMR lives on. */
static DAT_RETURN region_of_lmr(struct ia *ia, struct lmr_region *region)
{
	struct obj *obj = obj_find(ia->adapter->base.backend, region->desc.for_lmr_handle,
				   DAT_HANDLE_TYPE_LMR);

	if (!obj || obj->ia != ia)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	region->address = obj_as(struct lmr, obj)->address;
	region->length = obj_as(struct lmr, obj)->length;
	return DAT_SUCCESS;
}

DAT_RETURN lmr_region_check(struct ia *ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
			    DAT_VLEN length, struct lmr_region *region)
{
	*region = (struct lmr_region){ .type = type, .desc = desc, .length = length };
	switch (type) {
	case DAT_MEM_TYPE_SO_VIRTUAL: /* ruling G10 */
		region->type = DAT_MEM_TYPE_VIRTUAL;
		/* fall through */
	case DAT_MEM_TYPE_VIRTUAL:
		region->address = desc.for_va;
		return region_check_range(ia->adapter, region->address, length);
	case DAT_MEM_TYPE_LMR:
		return region_of_lmr(ia, region);
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		region->address = desc.for_shared_memory.virtual_address;
		if (!desc.for_shared_memory.shared_memory_id)
			return BAD_ARG(3);
		return region_check_range(ia->adapter, region->address, length);
	}
	return BAD_ARG(2);
}

DAT_RETURN lmr_region_join(struct ia *ia, const struct lmr_region *region, struct lmr_share **share)
{
	*share = NULL;
	if (region->type != DAT_MEM_TYPE_SHARED_VIRTUAL)
		return DAT_SUCCESS;
	return lmr_share_join(ia, &region->desc.for_shared_memory, region->length, share);
}

DAT_REGION_DESCRIPTION lmr_region_desc(const struct lmr *lmr)
{
	DAT_REGION_DESCRIPTION desc = lmr->desc;

	/* The Consumer's copy of the cookie may no longer exist. */
	if (lmr->share)
		desc.for_shared_memory.shared_memory_id = &lmr->share->cookie;
	return desc;
}
