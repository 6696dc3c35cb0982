/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rules.h - packet faults: which packets a rule matches (struct nic_packet_rule in host/nic.h), and
 * what happens to them.
 */
#ifndef EMU_WIRE_RULES_H
#define EMU_WIRE_RULES_H

#include "wire.h"

int emu_rule_add(struct nic *nic, const struct nic_packet_rule *rule, uint32_t *id);
void emu_port_set(struct nic *nic, bool up);
int emu_rule_fired(struct nic *nic, uint32_t id, uint64_t *fired);
void emu_rules_clear(struct nic *nic);

/* A packet is about to arrive. True: a rule lost, delayed or answered it. False: it arrives. */
bool emu_rules_take(struct emu_world *w, struct emu_event *event, const struct emu_packet *p);

/*
 * A packet that a rule delayed is about to arrive. True: it is lost, for the link or the port of an
 * adapter went down meanwhile, or a host died.
 */
bool emu_rules_cut(struct emu_world *w, struct emu_event *event, const struct emu_packet *p);

/* Write to the trace how often each rule has fired. */
void emu_rules_trace(struct emu_world *w);

#endif /* EMU_WIRE_RULES_H */
