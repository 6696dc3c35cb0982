/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens the adapters it is told, all at once, makes a PZ on each and frees all: 0 if that worked.
 */
#include <stdio.h>

#include <dat/udat.h>

#define ADAPTERS_MAX 8

static int check(const char *what, const char *name, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		printf("%s: %s: 0x%x\n", name, what, (unsigned int)ret);
	return ret == DAT_SUCCESS;
}

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async[ADAPTERS_MAX] = { 0 };
	DAT_IA_HANDLE ia[ADAPTERS_MAX];
	DAT_PZ_HANDLE pz[ADAPTERS_MAX];
	int i, good = argc > 1 && argc <= ADAPTERS_MAX;

	for (i = 1; good && i < argc; i++)
		good = check("open", argv[i], dat_ia_open(argv[i], 8, &async[i], &ia[i])) &&
		       check("PZ", argv[i], dat_pz_create(ia[i], &pz[i]));
	for (i = 1; good && i < argc; i++)
		good = check("free", argv[i], dat_pz_free(pz[i])) &&
		       check("close", argv[i], dat_ia_close(ia[i], DAT_CLOSE_GRACEFUL_FLAG));
	return good ? 0 : 1;
}
