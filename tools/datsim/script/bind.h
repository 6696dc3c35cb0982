/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bind.h - between the parts of bind: statements (bind.c), the arguments and outputs of calls
 * (bind_call.c), set-up lines (bind_use.c), single values (bind_value.c).
 *
 * Binding walks the script once, in order, and knows at each line which names exist: a name that
 * means nothing there is a bad script, found before anything runs. All functions return false after
 * they added a diagnostic.
 */
#ifndef DATSIM_BIND_H
#define DATSIM_BIND_H

#include "script.h"

struct binder {
	struct script *script;
	const struct statement *st; /* the one being bound */
	bool acted;                 /* something other than set-up was seen */
	bool ended;
};

/* ---- bind_value.c ---- */

/* Make a new name; `type` is a DAT_HANDLE_TYPE. -1 after a diagnostic. */
int bind_symbol(struct binder *binder, int actor, const char *name, struct place at, int type,
		int owner);
/* A name, NULL, garbage, stale(name) or a number, standing for a handle. */
bool bind_handle(struct binder *binder, struct value *value);
/* Only the name of something alive. */
bool bind_object(struct binder *binder, struct value *value);
/* And of this type; `what` is for the message. */
bool bind_of_type(struct binder *binder, struct value *value, int type, const char *what);
/* Is it the name that an earlier line gave to a number? */
bool is_variable(const struct binder *binder, const struct value *value);
/* A number of bytes, or the name of one. */
bool bind_bytes(struct binder *binder, struct value *value);
/* ?name: what comes back here is known by that name from now on. */
bool bind_new_name(struct binder *binder, struct value *value, int type);
/* The index of an actor, or -1 after a diagnostic. */
int bind_actor(struct binder *binder, const char *name, struct place at);
/* A number or constants of a group, made a VALUE_NUMBER. */
bool bind_number(struct binder *binder, struct value *value, enum group_id group);
/* What a member of a structure may hold. */
bool bind_member(struct binder *binder, struct setting *setting, const struct member *member);

bool value_ns(struct binder *binder, const struct value *value, uint64_t *ns);
bool value_bytes(struct binder *binder, const struct value *value, uint64_t *bytes);
bool value_rate(struct binder *binder, const struct value *value, uint64_t *bps);
bool value_between(struct binder *binder, const struct value *value, int64_t least, int64_t most,
		   int64_t *number);

/* ---- bind_segments.c ---- */

bool bind_segment(struct binder *binder, struct value *value);
bool bind_segments(struct binder *binder, struct value *value);
bool bind_remote(struct binder *binder, struct value *value);

/* ---- bind_call.c, bind_use.c ---- */

bool bind_call(struct binder *binder, struct statement *st);
/* bind_outcome.c: what a call returns, makes and frees; what an event line wants. */
bool bind_outcome(struct binder *binder, struct statement *st);
bool bind_event(struct binder *binder, struct statement *st);
bool bind_agent(struct binder *binder, struct statement *st);

bool bind_fabric(struct binder *binder, struct statement *st);
bool bind_use(struct binder *binder, struct statement *st);
bool bind_link(struct binder *binder, struct statement *st);
bool bind_fault(struct binder *binder, struct statement *st);
/* bind_fault_call.c: of anything but packets. */
bool bind_fault_call(struct binder *binder, struct statement *st);
/* bind_fault_which.c: what both kinds have. A percentage, in parts of a million. */
bool bind_percent(struct binder *binder, const struct value *value, DAT_UINT32 *parts);
/* nth, every, after, times, probability, from, until. False in *known: none of these. */
bool bind_fault_count(struct binder *binder, const struct setting *setting, DAT_SIM_FAULT *rule,
		      bool *known);
/* For a program: an adapter's name; an EP's, as emu0.ep2. */
bool bind_adapter(struct binder *binder, const char *name, struct place at);
bool bind_numbered_ep(struct binder *binder, const struct value *value, uint32_t *number);
/* The setting is none of these keys (a NULL ends them): say so. Always false. */
bool bind_unknown_key(struct binder *binder, const struct setting *setting,
		      const char *const *keys);

#endif
