/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind.h - shared by the files of bind: statements (bind.c), the arguments and outputs of calls
 * (bind_call.c, bind_outcome.c), set-up lines (bind_use.c), fault lines (bind_fault*.c), single
 * values (bind_value.c).
 *
 * bind takes each statement as it is parsed, and knows at each line which names exist: an unknown
 * name is reported before anything runs. A function that returns false has added a diagnostic.
 */
#ifndef DATSIM_BIND_H
#define DATSIM_BIND_H

#include "script.h"

struct binder {
	struct script *script;
	const struct statement *st; /* the statement being bound */
	bool acted;                 /* a line other than set-up was seen */
	bool ended;                 /* the end line was seen */
	bool stopped;               /* the lines from here on cannot be judged */
	bool unsure;                /* a bad line made names that are not known */
	bool missing;               /* the statement has a name that is not known */
	int bad_line;               /* the latest line with a mistake; 0: none */
	uint64_t steps;             /* of the statements so far, repeats counted */
	void *lost;                 /* names that bad lines would have made: a tree of tsearch */
};

/* bind.c: takes the statements from script_parse, in order; the context is the binder. */
void bind_take(void *context, struct statement *st);
/* Is the last message shown? Not if there are too many, or if it follows from an earlier one. */
bool bind_shows(const struct binder *binder);

/* ---- bind_lost.c: the names of bad lines ---- */

/* Note the names that the statement, which is bad, would have made or freed. */
void bind_lose_names(struct binder *binder, const struct statement *st);
/* Does the line of the statement have such a name of an earlier line? */
bool bind_needs_lost(const struct binder *binder, const struct statement *st);
void bind_forget_lost(struct binder *binder);

/* ---- bind_value.c ---- */

/* Make a new name; `type` is a DAT_HANDLE_TYPE. -1 after a diagnostic. */
int bind_symbol(struct binder *binder, int actor, const char *name, struct place at, int type,
		int owner);
/* A value that stands for a handle: a name, NULL, garbage, stale(name) or a number. */
bool bind_handle(struct binder *binder, struct value *value);
/* A value that must be the name of an object that is not freed. */
bool bind_object(struct binder *binder, struct value *value);
/* The same, for an object of this type; `what` completes "expected ..." in the diagnostic. */
bool bind_of_type(struct binder *binder, struct value *value, int type, const char *what);
/* Is the value a name that an earlier line gave to a number? */
bool is_variable(const struct binder *binder, const struct value *value);
/* A number of bytes, or the name of a number. */
bool bind_bytes(struct binder *binder, struct value *value);
/* ?name: make the name for the value that the call or event returns here. */
bool bind_new_name(struct binder *binder, struct value *value, int type);
/* The index of an actor, or -1 after a diagnostic. */
int bind_actor(struct binder *binder, const char *name, struct place at);
/* Add to the last message the name of a group that is near, or all of its names. */
void bind_offer_names(struct binder *binder, enum group_id group, const char *name);
/*
 * Report that the value is none of these words, as "posted or off", with the one that is near.
 * Always returns false.
 */
bool bind_expected_word(struct binder *binder, const struct value *value, const char *words);
/* A number, or constants of a group; the value becomes a VALUE_NUMBER. */
bool bind_number(struct binder *binder, struct value *value, enum group_id group);
/* A value that is written to a member of a structure, or compared with it. */
bool bind_member(struct binder *binder, struct setting *setting, const struct member *member);

bool value_ns(struct binder *binder, const struct value *value, uint64_t *ns);
bool value_bytes(struct binder *binder, const struct value *value, uint64_t *bytes);
bool value_rate(struct binder *binder, const struct value *value, uint64_t *bps);
bool value_between(struct binder *binder, const struct value *value, int64_t least, int64_t most,
		   int64_t *number);

/* ---- bind_member.c ---- */

bool bind_segment(struct binder *binder, struct value *value);
bool bind_segments(struct binder *binder, struct value *value);
bool bind_remote(struct binder *binder, struct value *value);

/* ---- bind_call.c, bind_use.c ---- */

bool bind_call(struct binder *binder, struct statement *st);
/* bind_outcome.c: what a call returns, makes and frees; what event and agent lines expect. */
bool bind_outcome(struct binder *binder, struct statement *st);
bool bind_event(struct binder *binder, struct statement *st);
bool bind_agent(struct binder *binder, struct statement *st);

/* bind_packet.c: a line that expects a packet. */
bool bind_packet(struct binder *binder, struct statement *st);

bool bind_fabric(struct binder *binder, struct statement *st);
bool bind_use(struct binder *binder, struct statement *st);
/* The names of a use line that is bad, as far as they are known. False: there may be others. */
bool bind_recover_use(struct binder *binder, struct statement *st);
bool bind_link(struct binder *binder, struct statement *st);
bool bind_fault(struct binder *binder, struct statement *st);
/* bind_fault_call.c: faults of anything but packets. */
bool bind_fault_call(struct binder *binder, struct statement *st);
/* bind_fault_verbs.c: the names of libibverbs and librdmacm. Does this look like one? */
bool bind_is_verbs(const struct value *value);
bool bind_verbs_call(struct binder *binder, struct fault *fault);
bool bind_verbs_event(struct binder *binder, struct fault *fault);
bool bind_verbs_error(struct binder *binder, struct fault *fault, const struct value *value);
bool bind_verbs_status(struct binder *binder, struct fault *fault, const struct value *value);
bool bind_verbs_atomic(struct binder *binder, struct fault *fault, const struct value *value);
/* bind_fault_which.c, for both kinds of faults. A percentage, in parts per million. */
bool bind_percent(struct binder *binder, const struct value *value, DAT_UINT32 *parts);
/* nth, every, after, times, probability, from, until. *known is false for any other key. */
bool bind_fault_count(struct binder *binder, const struct setting *setting, DAT_SIM_FAULT *rule,
		      bool *known);
/* Is each key, and each word with a value, there only once? A second one would hide the first. */
bool bind_fault_once(struct binder *binder, const struct fault *fault);
/* In a script for a program: the name of an adapter (emu0), of an EP (emu0.ep2). */
bool bind_adapter(struct binder *binder, const char *name, struct place at);
bool bind_numbered_ep(struct binder *binder, const struct value *value, uint32_t *number);
/* The subject of a fault of an adapter; of one that kills a program. */
bool bind_failing_adapter(struct binder *binder, struct fault *fault);
bool bind_turn(struct binder *binder, struct statement *st);
bool bind_killed_node(struct binder *binder, struct fault *fault);
/* "restart after" was read as the time when the program is back; it is the time until then. */
bool bind_restart(struct binder *binder, const struct statement *st);
/* Report that it is there twice, where the second one would hide the first. Returns false. */
bool bind_twice(struct binder *binder, const char *what, struct place at, const char *instead);
/* Is no key there twice? `instead` ends the message. */
bool bind_once(struct binder *binder, const struct setting *settings, const char *instead);
/* Report that the setting is none of these keys (NULL-terminated). Always returns false. */
bool bind_unknown_key(struct binder *binder, const struct setting *setting,
		      const char *const *keys);

#endif
