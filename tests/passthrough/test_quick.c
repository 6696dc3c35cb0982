/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of every message over the passthrough, on the device of tests/stubverbs. */
#include <stdlib.h>

#include "tests/unit/quick.h"

int main(void)
{
	char module[4096];
	const char *build = getenv("top_builddir");

	snprintf(module, sizeof(module), "%s/passthrough/.libs/passthrough.so",
		 build ? build : ".");
	setenv("DAT_HW_MODULE", module, 0);
	setenv("UNIT_DEVICE", "stub0", 1);
	return unit_run("quick", quick_calls, CK_FORK);
}
