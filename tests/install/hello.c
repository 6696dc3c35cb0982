/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest uDAPL program: does an installed libdat compile, link and run? */
#include <stdio.h>
#include <dat/udat.h>

int main(void)
{
	const char *major = NULL;
	const char *minor = NULL;

	if (dat_strerror(DAT_SUCCESS, &major, &minor) != DAT_SUCCESS)
		return 1;
	printf("%s\n", major);
	return 0;
}
