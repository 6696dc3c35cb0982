/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts.h - the scripts that a command line names: files, and all of a folder.
 *
 * Owns the paths; scripts_free frees them.
 */
#ifndef DATSIM_SCRIPTS_H
#define DATSIM_SCRIPTS_H

#include "util.h"

struct scripts {
	char **paths;
	size_t count, room;
};

/*
 * A script, or all scripts (*.dsim) under a folder in the order of their names, whatever the file
 * system's order is. False: a folder without any. A file that is none is left to who reads it.
 */
bool scripts_add(struct scripts *scripts, const char *path);
void scripts_free(struct scripts *scripts);

#endif
