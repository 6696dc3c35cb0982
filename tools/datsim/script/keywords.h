/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keywords.h - the words and keys that lines of a script take, for bind, for messages that list
 * them, and for completion. All lists end with NULL.
 */
#ifndef DATSIM_KEYWORDS_H
#define DATSIM_KEYWORDS_H

#include "script.h"

extern const char *const use_kinds[]; /* in the order of enum use_kind */
extern const char *const use_keys_connected[];
extern const char *const use_keys_adapter[];
extern const char *const fabric_keys[];
extern const char *const link_keys[];
extern const char *const turn_keys[];

/* Kinds of packets: the names of a fault line, and those of the trace; fields of a packet line. */
extern const char *const packet_kinds[];
extern const char *const packet_keys[];

/* What a fault of anything but packets takes, by enum fault_kind. */
struct fault_takes {
	const char *words[6]; /* what happens */
	const char *list;     /* how a message lists them */
	const char *const *keys;
};
extern const struct fault_takes fault_takes[];
/* bind_fault_call.c: each call that a fault line can name, and "post" for all that post. */
void fault_callees_each(void (*each)(void *context, const char *name), void *context);
/* Can a fault line name this event? */
bool fault_takes_event(uint64_t event);

/* What happens to packets. */
enum operand {
	OPERAND_NONE,
	OPERAND_TIME,
	OPERAND_MAYBE_TIME,
	OPERAND_PERCENT,
	OPERAND_NAK
};
struct verdict_word {
	const char *word;
	enum operand operand;
	int verdict; /* -1: the word modifies another word's verdict */
};
extern const struct verdict_word verdict_words[];
extern const char *const fault_packet_keys[];
extern const char fault_nak_codes[]; /* as a message lists them */

#endif
