/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_text.h - rules of faults as text: how they reach a program, in DATSIM_FAULTS.
 *
 *	line=3 from=emu0 to=emu1 packets=SEND|WRITE nth=2 verdict=drop; line=4 to=emu1 to_ep=1 verdict=rnr
 *
 * One rule after another, ";" between them; a rule is words field=value with blanks between, in any
 * order, none twice. Fields are named as those of DAT_SIM_FAULT, or of DAT_SIM_CALL_FAULT, and mean the
 * same, and one that is left out is 0; a rule has a `verdict` or, where it is of the second kind, a
 * `spoil`. What differs, since no program runs yet that could hand over a pointer or a handle:
 *
 *	from, to          names of adapters
 *	from_ep, to_ep    numbers of Endpoints, as the trace has them: 2 is emu0.ep2
 *	packets           SEND WRITE READ_REQUEST READ_RESPONSE ACK NAK RNR_NAK CM DISCONNECT, with | between
 *	part              first last
 *	verdict           pass drop corrupt delay reorder duplicate rnr nak link_down link_up host_dead
 *	nak               sequence invalid_request remote_access remote_operation reserved
 *	spoil             pass fail complete_as overflow lose delay fatal
 *	adapter, call     names
 *	ep                the number of an Endpoint
 *	error, completions, status, event
 *	                  numbers, as DAT has them
 *	line              where the rule was written down; only handed on to the trace
 *
 * The trace says of each rule what it is ("- rule is=1 line=3 ...") and, when the world ends, how often
 * it acted ("- rule fired=1 line=3 times=2").
 */
#ifndef LIB_FAULT_TEXT_H
#define LIB_FAULT_TEXT_H

#include "nic.h"

struct fault_text_rule {
	struct nic_packet_rule packet; /* what both kinds have is here */
	bool is_call;
	uint32_t spoil, ep, error, completions, status, event;
	char adapter[NIC_ADAPTER_NAME], call[NIC_ADAPTER_NAME];
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
	} rules[NIC_FAULT_RULES];
};

struct backend;

/*
 * Add every rule of `text` to b's world, or those of calls alone; false: one of them cannot be, and stderr
 * was told why. The caller then ends the world, so rules already added need not go.
 */
bool fault_text_load(struct backend *b, const char *text, bool with_packets);
/* Into the trace, where there is one: how often each of b's world acted; they are gone. */
void fault_text_end(struct backend *b);

#endif /* LIB_FAULT_TEXT_H */
