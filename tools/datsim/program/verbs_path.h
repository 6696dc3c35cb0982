/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_path.h - the folder of the libibverbs on the simulated fabric. */
#ifndef DATSIM_PROGRAM_VERBS_PATH_H
#define DATSIM_PROGRAM_VERBS_PATH_H

#include <stdbool.h>

/*
 * Put it before the rest of LD_LIBRARY_PATH, and the library with the device files before that of
 * LD_PRELOAD; without the folder, or with DAT_PROVIDER=hw, not.
 */
void verbs_path_set(bool lockstep);
/*
 * The same for uDAPL programs that are to reach the fabric by the passthrough and that library.
 * False: the folder is not built or not installed. Each child, before exec, chooses the
 * passthrough; the tool itself stays with the emulator.
 */
bool verbs_path_over(bool lockstep);
void verbs_path_over_child(void);
/* The same for a shell, on stdout. False: the folder is not built or not installed. */
bool verbs_path_print(void);

#endif
