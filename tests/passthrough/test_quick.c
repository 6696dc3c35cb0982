/* SPDX-License-Identifier: BSD-3-Clause */
/* The per-message calls over the passthrough, on the device of tests/stubverbs. */

#include "tests/unit/dto/quick.h"

int main(void)
{
	return unit_run_on_stub("quick", quick_calls);
}
