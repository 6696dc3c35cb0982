/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.h - entry and results of the calls of <dat/sim.h>, for all files in this folder. */
#ifndef LIB_SIM_H
#define LIB_SIM_H

#include <dat/sim.h>

#include "lib/object.h"

/* The return of a call whose argument `sim` sim_enter refused. */
#define BAD_SIM sim_refusal(sim)

/*
 * Lock the backend of the world that `sim` names; the nic through which the whole world is
 * controlled. NULL: the handle is invalid, the world is ending, or (sim_enter only) it is not
 * simulated.
 */
struct nic *sim_enter(DAT_SIM_HANDLE sim, struct backend **b);
struct nic *sim_enter_any(DAT_SIM_HANDLE sim, struct backend **b);
/*
 * obj_enter for a value that may be any number: these calls do not pass through a provider table,
 * so the handle is checked here.
 */
struct obj *sim_enter_object(DAT_HANDLE handle, DAT_HANDLE_TYPE type, struct backend **b);
DAT_RETURN sim_refusal(DAT_SIM_HANDLE sim);
/*
 * Translate a configuration to the backend form, completed from the environment; false: a value is
 * out of range.
 */
bool sim_config_read(const DAT_SIM_CONFIG *config, struct nic_config *nic);
/*
 * Translate an errno of the door to a DAT_RETURN. `name_arg`: the argument that most errors
 * concern.
 */
DAT_RETURN sim_result(int err, unsigned int name_arg);

#define SIM_NOTE 512 /* bytes of a note at most, with its NUL */

/* The text of a note, cut, with blanks in place of control characters. */
void sim_note_line(const char *text, char line[SIM_NOTE]);

#endif /* LIB_SIM_H */
