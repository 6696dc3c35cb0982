/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains, memory regions, windows */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "stub.h"

/* verbs.h has a macro of this name, which hides the function defined here. */
#undef ibv_reg_mr

static struct stub_mr *mrs[STUB_MR];

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = stub_refuses("ibv_alloc_pd") ? NULL : calloc(1, sizeof(*pd));

	if (pd) {
		pd->context = context;
		stub_count(1);
	}
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	if (stub_is_used(NULL, NULL, pd))
		return EBUSY;
	free(pd);
	stub_count(-1);
	return 0;
}

static struct stub_mr *new_mr(void)
{
	struct stub_mr *mr = calloc(1, sizeof(*mr));
	uint32_t i;

	stub_lock();
	for (i = 1; i < STUB_MR && mrs[i]; i++)
		;
	if (i < STUB_MR && mr) {
		mrs[i] = mr;
		mr->v.lkey = mr->v.rkey = i;
		stub_count(1);
	}
	stub_unlock();
	return mr;
}

static void drop_mr(struct stub_mr *mr)
{
	stub_lock();
	mrs[mr->v.rkey % STUB_MR] = NULL;
	stub_count(-1);
	stub_unlock();
	free(mr);
}

struct stub_mr *stub_mr_by_key(uint32_t key)
{
	struct stub_mr *mr = mrs[key % STUB_MR];

	return mr && mr->v.rkey == key ? mr : NULL;
}

/* The first page decides. */
static bool is_read_only(const void *addr)
{
	uintptr_t at = (uintptr_t)addr, from, to;
	FILE *maps = fopen("/proc/self/maps", "r");
	bool read_only = false;
	char line[512], mode[8];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, mode) == 3 &&
		    from <= at && at < to)
			read_only = mode[1] != 'w';
	if (maps)
		fclose(maps);
	return read_only;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	const unsigned int writes = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_MW_BIND;
	struct stub_mr *mr = stub_refuses("ibv_reg_mr") ? NULL : new_mr();

	(void)iova;
	if (mr && (access & writes) && is_read_only(addr)) {
		drop_mr(mr);
		errno = EFAULT;
		return NULL;
	}
	if (!mr)
		return NULL;
	mr->v.context = pd->context;
	mr->v.pd = pd;
	mr->v.addr = addr;
	mr->v.length = length;
	mr->access = (int)access;
	return &mr->v;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (((struct stub_mr *)mr)->windows > 0)
		return EBUSY;
	drop_mr((struct stub_mr *)mr);
	return 0;
}

void stub_window_to(struct stub_mr *window, struct stub_mr *region)
{
	if (window->bound)
		window->bound->windows--;
	window->bound = region;
	if (region)
		region->windows++;
}

/* A window is an entry of the table like a region: its key is that of its last bind. */
struct ibv_mw *stub_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = stub_refuses("ibv_alloc_mw") ? NULL : calloc(1, sizeof(*mw));
	struct stub_mr *mr = mw ? new_mr() : NULL;

	if (!mr)
		return NULL;
	mr->v.pd = pd;
	*mw = (struct ibv_mw){ .context = pd->context, .pd = pd, .rkey = mr->v.rkey, .type = type };
	return mw;
}

int stub_dealloc_mw(struct ibv_mw *mw)
{
	stub_window_to(mrs[mw->rkey % STUB_MR], NULL);
	drop_mr(mrs[mw->rkey % STUB_MR]);
	free(mw);
	return 0;
}
