/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_path.h - the folder of the libibverbs on the simulated fabric. */
#ifndef DATSIM_PROGRAM_VERBS_PATH_H
#define DATSIM_PROGRAM_VERBS_PATH_H

#include <stdbool.h>

#include "tools/datsim/util.h"

/* False: it is not built or not installed. */
bool verbs_path_find(struct text *path);
/* Put it before the rest of LD_LIBRARY_PATH; without the folder, or with DAT_PROVIDER=hw, not. */
void verbs_path_set(void);

#endif
