/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.h - what the files behind <dat/sim.h> share. */
#ifndef LIB_SIM_H
#define LIB_SIM_H

#include <dat/sim.h>

#include "object.h"

/* What sim_enter's NULL means for the call whose argument `sim` is. */
#define BAD_SIM sim_refusal(sim)

/*
 * The backend of a live world, locked, and the nic that answers for all of it; NULL: no such world, not for
 * long, or no simulated one, which sim_enter_any takes, too.
 */
struct nic *sim_enter(DAT_SIM_HANDLE sim, struct backend **b);
struct nic *sim_enter_any(DAT_SIM_HANDLE sim, struct backend **b);
/*
 * obj_enter of what any program hands in: these calls go through no provider table, so whether the value names
 * a slot is seen here.
 */
struct obj *sim_enter_object(DAT_HANDLE handle, DAT_HANDLE_TYPE type, struct backend **b);
DAT_RETURN sim_refusal(DAT_SIM_HANDLE sim);
/* What the door answered, as a DAT_RETURN. `name_arg`: the argument that most errors are about. */
DAT_RETURN sim_result(int err, unsigned int name_arg);

#endif /* LIB_SIM_H */
