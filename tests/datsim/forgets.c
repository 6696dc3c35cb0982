/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forgets ADAPTER close|forget|linger|die - a program for datsim run: opens the adapter, makes a
 * few objects, and closes the adapter; or exits without closing it, at once or at the end of its
 * standard input; or kills itself.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <dat/udat.h>

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	char byte;

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
	while (!strcmp(argv[2], "linger") && read(STDIN_FILENO, &byte, 1) > 0)
		;
	if (!strcmp(argv[2], "close"))
		dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return 5;
}
