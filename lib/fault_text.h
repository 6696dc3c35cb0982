/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_text.h - rules of faults as text: how they reach a program, in DATSIM_FAULTS.
 *
 *	line=3 from=emu0 to=emu1 packets=SEND|WRITE nth=2 verdict=drop; line=4 to=emu1 to_ep=1 verdict=rnr
 *
 * One rule after another, ";" between them; a rule is words field=value with blanks between, in any
 * order, none twice. Fields are named as those of DAT_SIM_FAULT and mean the same, and one that is
 * left out is 0; `verdict` is needed. What differs, since no program runs yet that could hand over a
 * pointer or a handle:
 *
 *	from, to          names of adapters
 *	from_ep, to_ep    numbers of Endpoints, as the trace has them: 2 is emu0.ep2
 *	packets           SEND WRITE READ_REQUEST READ_RESPONSE ACK NAK RNR_NAK CM DISCONNECT, with | between
 *	part              first last
 *	verdict           pass drop corrupt delay reorder duplicate rnr nak link_down link_up host_dead
 *	nak               sequence invalid_request remote_access remote_operation reserved
 *	line              where the rule was written down; only handed on to the trace
 *
 * The trace says of each rule what it is ("- rule is=1 line=3 ...") and, when the world ends, how often
 * it acted ("- rule fired=1 line=3 times=2").
 */
#ifndef LIB_FAULT_TEXT_H
#define LIB_FAULT_TEXT_H

#include "nic.h"

struct fault_text_rule {
	struct nic_packet_rule packet;
	uint32_t line;
};

/*
 * Read the rule that *text begins with and move *text behind it. 0: there is none any more; -EINVAL: it
 * makes no sense, and stderr was told why. Any text is safe.
 */
int fault_text_next(const char **text, struct fault_text_rule *rule);

/* The rules of a text, as they were added to a world: to say in the end what they did. */
struct fault_text {
	uint32_t count;
	struct {
		uint32_t id, line;
	} rules[256];
};

/*
 * Add every rule of `text` to the world that nic answers for; false: one of them cannot be, and stderr
 * was told why. The caller then ends the world, so rules already added need not go.
 */
bool fault_text_load(struct nic *nic, const char *text, struct fault_text *loaded);
/* Into the trace, where there is one: how often each acted. */
void fault_text_end(struct nic *nic, const struct fault_text *loaded);

#endif /* LIB_FAULT_TEXT_H */
