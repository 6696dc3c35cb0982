/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A libibverbs whose NIC lies (lies_nic.c), for a program that is started with it in LD_PRELOAD;
 * the lie is a number in the environment. With DATSIM_LIE_LATER=1 it is one of runs with faults
 * alone, which datsim explore may fork from one that had none.
 */
#include <stdlib.h>

#include "tests/checkers/lies.h"

void lie_forget(void)
{
}

enum lie lie_of_world(enum lie lie)
{
	return getenv("DATSIM_LIE_LATER") && !getenv("DATSIM_FAULTS") ? LIE_NONE : lie;
}

__attribute__((constructor)) static void choose_lie(void)
{
	const char *lie = getenv("DATSIM_LIE");

	lie_begin(lie ? (enum lie)atoi(lie) : LIE_NONE);
}
