/* SPDX-License-Identifier: BSD-3-Clause */
/* last_both.c - last in uDAPL and in verbs: each of the two libraries has a helper thread. */
#include <dat/udat.h>
#include <infiniband/verbs.h>

#include "last.h"

static DAT_IA_HANDLE ia;
static struct ibv_context *context;

void last_open(int helped)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	(void)helped;
	must(dat_ia_open((DAT_NAME_PTR) "emu0", 8, &async, &ia) == DAT_SUCCESS, "no IA");
	must(list && list[0], "no device");
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	must(context && ibv_alloc_pd(context), "no PD");
}

void last_close(void)
{
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS, "no end of the IA");
}
