/* SPDX-License-Identifier: BSD-3-Clause */
/* knob.h - the DATSIM_* environment: ruling E11, a bad value is an error and not a default. */
#ifndef LIB_KNOB_H
#define LIB_KNOB_H

#include <stdbool.h>

#include <dat/sim.h>

#include "nic.h"

/* Defaults, then the environment; false: a value makes no sense (said on stderr). */
bool knob_sim_config(DAT_SIM_CONFIG *config);
/* A test's configuration as the backend takes it; false: a value is out of range. */
bool knob_nic_config(const DAT_SIM_CONFIG *config, struct nic_config *nic);
/* What a link may be set to. */
bool knob_in_range(uint64_t latency_ns, uint64_t bandwidth_bps);
/* Both at once, for a world made by the first open. */
bool knob_config(struct nic_config *nic);

/* The same for a fabric that processes share: where time is real, less of it is made up. */
bool knob_fabric_config(struct nic_config *nic, const char *fabric);

#endif /* LIB_KNOB_H */
