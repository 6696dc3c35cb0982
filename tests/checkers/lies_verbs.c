/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libibverbs whose NIC lies (lies_nic.c), for a program that is started with it in LD_PRELOAD;
 * the lie is a number in the environment.
 */
#include <stdlib.h>

#include "tests/checkers/lies.h"

void lie_forget(void)
{
}

__attribute__((constructor)) static void choose_lie(void)
{
	const char *lie = getenv("DATSIM_LIE");

	lie_begin(lie ? (enum lie)atoi(lie) : LIE_NONE);
}
