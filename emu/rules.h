/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules.h - packet faults: which packets (struct nic_packet_rule in lib/nic.h), and what becomes of them.
 */
#ifndef EMU_RULES_H
#define EMU_RULES_H

#include "wire.h"

int emu_rule_add(struct nic *nic, const struct nic_packet_rule *rule, uint32_t *id);
int emu_rule_fired(struct nic *nic, uint32_t id, uint64_t *fired);
void emu_rules_clear(struct nic *nic);

/* A packet is about to arrive: does it? False: yes, now. */
bool emu_rules_take(struct emu_world *w, struct emu_event *event, const struct emu_packet *p);

/* Into the trace: how often each has acted. */
void emu_rules_trace(struct emu_world *w);

#endif /* EMU_RULES_H */
