/* SPDX-License-Identifier: BSD-3-Clause */
/* What the sample provider tells its tests: the variable sample_log of the module. */
#ifndef TESTS_PROVIDER_SAMPLE_H
#define TESTS_PROVIDER_SAMPLE_H

#include <dat/udat.h>

struct sample_log {
	int inits, finis, opens, closes;
	char *data; /* what the last init was given */
	DAT_PROVIDER_INFO info;
	DAT_PROVIDER_INFO fini_info;
	int inner; /* DAT_RETURN of what the last init or fini called on the side */
};

#endif /* TESTS_PROVIDER_SAMPLE_H */
