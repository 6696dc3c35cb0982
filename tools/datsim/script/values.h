/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * values.h - the constants of <dat/udat.h> by name, and the members of its structures by name.
 *
 * A group is the set of constants that fit one kind of value; a script may leave out the prefix
 * that the group shares ("CONNECTED" for DAT_EP_STATE_CONNECTED). All tables are const.
 */
#ifndef DATSIM_VALUES_H
#define DATSIM_VALUES_H

#include <dat/udat.h>

#include "diag.h"

enum group_id {
	GROUP_NONE,
	GROUP_RETURN,
	GROUP_SUBTYPE,
	GROUP_EVENT,
	GROUP_DTO_STATUS,
	GROUP_EP_STATE,
	GROUP_SRQ_STATE,
	GROUP_HANDLE_TYPE,
	GROUP_BOOLEAN,
	GROUP_COMPLETION,
	GROUP_CLOSE,
	GROUP_EVD_FLAGS,
	GROUP_EVD_STATE,
	GROUP_PSP_FLAGS,
	GROUP_MEM_PRIV,
	GROUP_MEM_TYPE,
	GROUP_QOS,
	GROUP_CONNECT,
	GROUP_SERVICE,
	GROUP_COUNT,
	GROUP_TIMEOUT,
	GROUP_PZ_SUPPORT,
	GROUP_EP_CREATOR,
	GROUP_SRQ_MASK,
	GROUP_EP_MASK,
	GROUP_EVD_MASK,
	GROUP_PZ_MASK,
	GROUP_PSP_MASK,
	GROUP_RSP_MASK,
	GROUP_CR_MASK,
	GROUP_LMR_MASK,
	GROUP_RMR_MASK,
	GROUP_CNO_MASK,
	GROUP_IA_MASK,
	GROUP_PROVIDER_MASK,
	GROUP_RESULT, /* a whole DAT_RETURN, combined with | */
	NUM_GROUPS
};

struct named {
	const char *name;
	uint64_t value;
};

struct group {
	const char *what; /* completes "expected ..." in a diagnostic: "an EP state" */
	const char *prefixes[4];
	const char *suffix;
	bool bits;  /* values are or-ed together */
	bool brief; /* printed without prefix and suffix */
	const struct named *names;
};

/* NULL for GROUP_NONE. */
const struct group *group_of(enum group_id id);

/* The value of a name in a group, full or shortened. False: the group has no such name. */
bool group_find(enum group_id id, const char *name, int length, uint64_t *value);

/* Call `each` with every constant's name as a script writes it, without prefix and suffix. */
void group_each(enum group_id id, void (*each)(void *context, const char *name), void *context);

/* Offer every name of the group as a suggestion. */
void group_suggest(enum group_id id, struct suggest *suggest);

/* Write a value as a script would: by name if it has one, else as a number. */
void group_print(struct text *text, enum group_id id, uint64_t value, bool is_signed, size_t size);

enum member_kind {
	MEMBER_NUMBER,
	MEMBER_HANDLE,
	MEMBER_ADDRESS, /* a DAT_IA_ADDRESS_PTR */
	MEMBER_TEXT,    /* a char array */
	MEMBER_DATA,    /* a pointer to private data, whose size is the member at `size_offset` */
	MEMBER_EVERY,   /* an array of DAT_BOOLEANs that all have the same value */
	MEMBER_AGENT    /* a DAT_OS_WAIT_PROXY_AGENT */
};

struct member {
	const char *name;
	enum member_kind kind;
	size_t offset;
	size_t size;
	bool is_signed;
	enum group_id group;
	uint64_t mask;      /* its bit in the structure's param mask; 0: the structure has none */
	size_t size_offset; /* MEMBER_DATA */
	bool silent; /* differs from run to run: can be matched, is printed only if asked for */
};

/* A structure; a NULL name ends the members. */
struct layout {
	const char *name;
	size_t size;
	const struct member *members;
};

extern const struct layout layout_srq_attr, layout_srq_param, layout_ep_attr, layout_ep_param,
	layout_evd_param, layout_pz_param, layout_psp_param, layout_rsp_param, layout_cr_param,
	layout_lmr_param, layout_rmr_param, layout_cno_param, layout_ia_attr, layout_provider_attr,
	layout_provider_info;

/*
 * The event number of a DAT_EVENT, and the layout of its data for an event number. Members have the
 * short names of event lines.
 */
extern const struct member event_number_member;
const struct layout *layout_of_event(uint64_t event_number);

const struct member *layout_find(const struct layout *layout, const char *name);
void layout_offer(const struct layout *layout, struct offer *offer);

/* The number in a member of the structure at `base`. */
uint64_t member_get(const struct member *member, const void *base);
void member_set(const struct member *member, void *base, uint64_t value);

#endif
