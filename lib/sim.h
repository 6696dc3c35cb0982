/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.h - what the files behind <dat/sim.h> share. */
#ifndef LIB_SIM_H
#define LIB_SIM_H

#include <dat/sim.h>

#include "object.h"

#define BAD_SIM DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)

/*
 * The backend of a live world, locked, and the nic that answers for all of it; NULL: no such world, or
 * not for long.
 */
struct nic *sim_enter(DAT_SIM_HANDLE sim, struct backend **b);
/* What the door answered, as a DAT_RETURN. `name_arg`: the argument that most errors are about. */
DAT_RETURN sim_result(int err, unsigned int name_arg);

#endif /* LIB_SIM_H */
