/* SPDX-License-Identifier: BSD-3-Clause */
/* fault_call.h - faults of calls and events: DAT's words (<dat/sim.h>) put into the door's. */
#ifndef LIB_FAULT_CALL_H
#define LIB_FAULT_CALL_H

#include <dat/sim.h>

#include "nic.h"

/* What a call needs of the adapter; false: nothing, or there is no such call. */
bool fault_call_entries(const char *call, uint32_t *entries);
/* The errno with which the adapter makes this call return an error of this type; 0: it cannot. */
int fault_call_errno(const char *call, DAT_RETURN error);
/* The upcall that becomes this event; 0: none does. */
uint32_t fault_event_bits(DAT_EVENT_NUMBER event);
/*
 * All of a rule but where it acts, from fault, whose adapter and EP are not looked at. False: it makes no
 * sense.
 */
bool fault_call_rule(const DAT_SIM_CALL_FAULT *fault, struct nic_fault_rule *rule);

#endif /* LIB_FAULT_CALL_H */
