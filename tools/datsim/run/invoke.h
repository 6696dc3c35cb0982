/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * invoke.h - one call in the making, between arguments.c (values into slots) and invoke.c (the call
 * and what came of it).
 */
#ifndef DATSIM_INVOKE_H
#define DATSIM_INVOKE_H

#include <dat/dat_registry.h>

#include "world.h"

/* What an output is filled with before a call, to see whether it was written. */
#define POISON   0xdb
#define DATA_MAX 4096

/* Room for whatever a parameter points to. */
union storage {
	unsigned char poison[1];
	DAT_SRQ_PARAM srq_param;
	DAT_EP_PARAM ep_param;
	DAT_IA_ATTR ia_attr;
	unsigned char provider_attr[sizeof(DAT_PROVIDER_ATTR)];
	DAT_LMR_PARAM lmr_param;
	DAT_EVENT event;
	DAT_HANDLE handle;
	DAT_UINT64 number;
	struct sockaddr_storage address;
	char name[DAT_NAME_MAX_LENGTH];
	DAT_PROVIDER_INFO provider_info;
	DAT_RMR_TRIPLET remote;
	const char *message;
};

struct invocation {
	bool excused; /* it returned something else, for which a fault beside the script is the reason */
	struct run *run;
	const struct statement *st;
	const struct call *call;
	union slot slots[CALL_PARAMS_MAX];
	union storage storage[CALL_PARAMS_MAX];
	DAT_LMR_TRIPLET segments[CALL_SEGMENTS_MAX];
	int segment_count;
	size_t dto; /* number of the ledger's entry, where the call posts */
	int queue;  /* and the symbol of the EP or SRQ */
	struct region *region;
	bool was_disconnected;    /* an EP that is reset */
	DAT_EP_HANDLE its_ep;     /* of a CR that the call answers, or an RSP that it frees */
	DAT_PROVIDER_INFO **list; /* of a PARAM_OUT_LIST; freed behind the call */
	char cookie[DAT_LMR_COOKIE_SIZE];
	unsigned char data[DATA_MAX];
};

/* Fill every slot from the script; opens the ledger's entry where the call posts. */
bool fill_slots(struct invocation *inv);
/* segments.c; set_segments and set_triplet open the ledger's entry. */
bool set_segments(struct invocation *inv, const struct value *value, union slot *slot);
bool set_span(struct invocation *inv, const struct value *value, union slot *slot);
bool set_triplet(struct invocation *inv, const struct value *value, union slot *slot);
bool set_remote(struct invocation *inv, int i, const struct value *value, union slot *slot);
/* effects.c: what the call changed in the tool's books. */
void before_call(struct invocation *inv);
void after_call(struct invocation *inv, DAT_RETURN ret);
/* check.c: the EPs that the call is about, then everything. */
bool checks_before(struct invocation *inv);
bool checks_after(struct invocation *inv, DAT_RETURN ret);
/* The tool's own provider, which no IA can be opened of; and those that a script left registered. */
DAT_PROVIDER *tool_provider(void);
/* Say what the call returned and gave. */
void echo_call(const struct invocation *inv, DAT_RETURN ret);

#endif
