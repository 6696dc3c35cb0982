/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts.h - the scripts that a command line names: files, and all scripts of a folder.
 *
 * The list owns the paths; scripts_free frees them.
 */
#ifndef DATSIM_SCRIPTS_H
#define DATSIM_SCRIPTS_H

#include "util.h"

struct scripts {
	char **paths;
	size_t count, room;
};

/*
 * Add a script, or all scripts (*.dsim) under a folder, sorted by name. False: a folder without
 * any. A file that does not exist is added too; reading it reports the error.
 */
bool scripts_add(struct scripts *scripts, const char *path);
/* Is each file that is written (NULL: none) no script, and unlike the other? False: stderr says. */
bool scripts_stay(const struct scripts *scripts, const char *command, const char *trace,
		  const char *junit);
void scripts_free(struct scripts *scripts);

#endif
