/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * knob.h - read the DATSIM_* environment into a struct nic_config.
 *
 * An invalid value is an error and not a default (ruling E11): the functions then return false and
 * write nothing, and a line on stderr has the variable, its value and what was expected.
 */
#ifndef HOST_KNOB_H
#define HOST_KNOB_H

#include <stdbool.h>

#include "nic.h"

/*
 * The settings that a program may change before it makes a world: profile, seed, times, MTU,
 * counts, trace.
 */
bool knob_numbers(struct nic_config *config);
/* Check the range of those settings and fill in the rest: the trace file, the adapters' network. */
bool knob_complete(struct nic_config *config);
/* True if a link may have this latency and bandwidth. */
bool knob_in_range(uint64_t latency_ns, uint64_t bandwidth_bps);
/* All settings, for the world that the first open makes: private, or that of DATSIM_FABRIC. */
bool knob_config(struct nic_config *config);
/* All settings of a world that processes share, whose links cost no time unless configured. */
bool knob_fabric_config(struct nic_config *config, const char *fabric);

#endif /* HOST_KNOB_H */
