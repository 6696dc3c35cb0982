/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_text.h - fault rules as text, the form in which DATSIM_FAULTS passes them to a program.
 *
 *   line=3 from=emu0 to=emu1 packets=SEND|WRITE nth=2 verdict=drop;
 *   line=4 to=emu1 to_ep=1 verdict=rnr
 *
 * Rules are separated by ";". A rule is a list of field=value, separated by blanks, in any order,
 * each field once. Fields have the names and meanings of those of DAT_SIM_FAULT or
 * DAT_SIM_CALL_FAULT; a missing one is 0. A rule has a `verdict` or, if it is of the second kind, a
 * `spoil`. Some fields differ, because no program runs yet that could pass a pointer or a handle:
 *
 *   from, to          names of adapters
 *   from_ep, to_ep    numbers of Endpoints as in traces: 2 is emu0.ep2
 *   packets           SEND WRITE READ_REQUEST READ_RESPONSE ACK NAK RNR_NAK CM DISCONNECT,
 *                     with | between
 *   part              first last
 *   verdict           pass drop corrupt delay reorder duplicate rnr nak link_down link_up host_dead
 *   nak               sequence invalid_request remote_access remote_operation reserved
 *   spoil             pass fail complete_as overflow lose delay fatal remove down kill
 *   adapter, call     names
 *   ep                the number of an Endpoint
 *   api               dat verbs: whose names the numbers below stand for; without it, dat
 *   error, completions, status, event
 *                     numbers, as in DAT; of verbs: an errno, as in DAT (atomics: 32 and 64), an
 *                     ibv_wc_status, an ibv_event_type or FAULT_TEXT_CM_EVENT + rdma_cm_event_type
 *   line              the line where the rule was written; only copied to the trace
 *
 * The trace has a line for each rule ("- rule is=1 line=3 ...") and, when the world ends, a line
 * with the number of times it acted ("- rule fired=1 line=3 times=2").
 */
#ifndef HOST_FAULT_TEXT_H
#define HOST_FAULT_TEXT_H

#include "nic.h"

/* Values of `api`. */
enum fault_text_api {
	FAULT_TEXT_DAT,
	FAULT_TEXT_VERBS,
	FAULT_TEXT_APIS
};

/* Values of `event` that every API has. */
#define FAULT_TEXT_NOTIFICATION 0x20001u
#define FAULT_TEXT_ANY_EVENT    0x20002u
/* Of verbs: this much more than an rdma_cm_event_type. */
#define FAULT_TEXT_CM_EVENT 0x100u

struct fault_text_rule {
	struct nic_packet_rule packet; /* fields of both kinds are here */
	bool is_call;
	uint32_t spoil, ep, error, completions, status, event;
	uint32_t api; /* enum fault_text_api */
	char adapter[NIC_ADAPTER_NAME], call[NIC_ADAPTER_NAME];
	uint32_t line;
};

/*
 * Read the rule at the beginning of *text and move *text past it. 0: there is no further rule;
 * -EINVAL: the rule is invalid, and the reason is on stderr. Any text is safe.
 */
int fault_text_next(const char **text, struct fault_text_rule *rule);

/* The rules added to a world, to report at its end how many times each acted. */
struct fault_text {
	uint32_t count;
	struct {
		uint32_t id, line;
	} rules[NIC_FAULT_RULES];
};

struct backend;

/*
 * Add the rules of `text` to b's world, or only those of calls. False: one of them is invalid, and
 * the reason is on stderr; the caller then ends the world, so rules already added are not removed.
 */
bool fault_text_load(struct backend *b, const char *text, bool with_packets);
/* Trace how many times each rule of b's world acted, and forget the rules. */
void fault_text_end(struct backend *b);

#endif /* HOST_FAULT_TEXT_H */
