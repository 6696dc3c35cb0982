/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forgets ADAPTER close|forget|die - a program for datsim run: opens the adapter, makes a few
 * objects, and closes the adapter, exits without closing it, or kills itself.
 */
#include <signal.h>
#include <string.h>

#include <dat/udat.h>

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	if (argc != 3)
		return 2;
	if (dat_ia_open(argv[1], 8, &async, &ia) != DAT_SUCCESS)
		return 3;
	if (dat_pz_create(ia, &pz) != DAT_SUCCESS ||
	    dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd) != DAT_SUCCESS)
		return 4;
	dat_evd_resize(evd, 0);
	if (!strcmp(argv[2], "die"))
		raise(SIGKILL);
	if (!strcmp(argv[2], "close"))
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return 5;
}
