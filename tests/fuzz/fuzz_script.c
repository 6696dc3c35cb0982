/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as a script: it is read and, if it parses, run untraced and traced. A script may
 * fail in any way, but must not crash or hang the tool, nor leave an object behind.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct options options;
	char *text = malloc(size + 1);
	struct verdict verdict;
	DAT_COUNT left = -1;

	memcpy(text, data, size);
	text[size] = '\0';
	run_text("fuzz", text, size, &options, &verdict);
	verdict_free(&verdict);
	free(text);
	if (dat_sim_count_objects(DAT_SIM_ALL_HANDLE_TYPES, &left) != DAT_SUCCESS || left != 0)
		abort();
	return 0;
}
