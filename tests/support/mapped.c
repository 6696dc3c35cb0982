/* SPDX-License-Identifier: BSD-3-Clause */
/* mapped.c - see mapped.h. */
#include "mapped.h"

#include <stdio.h>

#include "asserts.h"

long pages_mapped(void)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	long pages = 0;

	ck_assert_ptr_nonnull(statm);
	ck_assert_int_eq(fscanf(statm, "%ld", &pages), 1);
	fclose(statm);
	return pages;
}
