/* SPDX-License-Identifier: BSD-3-Clause */
/* last_dapl.c - last in uDAPL. */
#include <dat/udat.h>

#include "last.h"

static DAT_IA_HANDLE ia;

void last_open(int helped)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz;

	(void)helped;
	must(dat_ia_open((DAT_NAME_PTR) "emu0", 8, &async, &ia) == DAT_SUCCESS, "no IA");
	must(dat_pz_create(ia, &pz) == DAT_SUCCESS, "no PZ");
}

void last_close(void)
{
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS, "no end of the IA");
}
