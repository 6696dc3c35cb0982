/* SPDX-License-Identifier: BSD-3-Clause */
/* last_verbs.c - last in verbs. */
#include <infiniband/verbs.h>

#include "last.h"

static struct ibv_context *context;
static struct ibv_pd *pd;

void last_open(int helped)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	must(list && list[0], "no device");
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	must(context != NULL, "no context");
	pd = ibv_alloc_pd(context);
	must(pd != NULL, "no PD");
	must(!helped || ibv_create_comp_channel(context), "no channel");
}

void last_close(void)
{
	must(ibv_dealloc_pd(pd) == 0, "no end of the PD");
	must(ibv_close_device(context) == 0, "no end of the context");
}
