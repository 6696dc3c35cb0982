/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_call.h - translate faults of calls and events from <dat/sim.h> to the door's terms
 * (nic_fault.h).
 */
#ifndef LIB_SIM_FAULT_CALL_H
#define LIB_SIM_FAULT_CALL_H

#include <dat/sim.h>

#include "host/fault_text.h"
#include "host/nic.h"

/* The entries of the door that a call uses; false: it uses none, or it does not exist. */
bool fault_call_entries(const char *call, uint32_t *entries);
/* The errno that makes this call return an error of this type; 0: no errno does. */
int fault_call_errno(const char *call, DAT_RETURN error);
/* The upcall that becomes this event; 0: none. */
uint32_t fault_event_bits(DAT_EVENT_NUMBER event);
/*
 * Fill in a rule from `fault`, except the adapter and EP where it acts. False: the fault is
 * contradictory.
 */
bool fault_call_rule(const DAT_SIM_CALL_FAULT *fault, struct nic_fault_rule *rule);

/* The same of a rule given as text (host/fault_text.h). */
bool fault_call_text_rule(const struct fault_text_rule *text, struct nic_fault_rule *rule);

#endif /* LIB_SIM_FAULT_CALL_H */
