/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * invoke.h - one call: arguments.c fills its arguments, invoke.c makes it and checks the outcome.
 */
#ifndef DATSIM_INVOKE_H
#define DATSIM_INVOKE_H

#include <dat/dat_registry.h>

#include "world.h"

/* The byte that fills an output before a call, to detect whether the call wrote it. */
#define POISON   0xdb
#define DATA_MAX 4096

/* Storage for any structure that a parameter points to. */
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
	bool excused; /* it returned another value, and the fault of the sweep explains it */
	struct run *run;
	const struct statement *st;
	const struct call *call;
	union call_value args[CALL_PARAMS_MAX];
	DAT_LMR_TRIPLET segments[CALL_SEGMENTS_MAX];
	int segment_count;
	size_t dto; /* number of its ledger entry, if the call posts */
	int queue;  /* symbol of the EP or SRQ it posts to */
	struct region *region;
	bool was_disconnected; /* dat_ep_reset: the EP was disconnected before */
	DAT_EP_HANDLE
	its_ep; /* the EP of the CR that the call answers, or of the RSP that it frees */
	DAT_PROVIDER_INFO **list; /* for PARAM_OUT_LIST; freed after the call */
	char cookie[DAT_LMR_COOKIE_SIZE];
	/* From here on nothing is cleared: a parameter that uses it fills it. */
	union storage storage[CALL_PARAMS_MAX];
	unsigned char data[DATA_MAX];
};

/* Fill every argument from the script; open a ledger entry if the call posts. */
bool fill_slots(struct invocation *inv);
/* segments.c; set_segments and set_triplet open the ledger entry. */
bool set_segments(struct invocation *inv, const struct value *value, union call_value *arg);
bool set_span(struct invocation *inv, const struct value *value, union call_value *arg);
bool set_triplet(struct invocation *inv, const struct value *value, union call_value *arg);
bool set_remote(struct invocation *inv, int i, const struct value *value, union call_value *arg);
/* effects.c: record what the call changed. */
void before_call(struct invocation *inv);
void after_call(struct invocation *inv, DAT_RETURN ret);
/* check.c: check the EPs that the call names, then everything. */
bool checks_before(struct invocation *inv);
bool checks_after(struct invocation *inv, DAT_RETURN ret);
/*
 * The tool's own provider, on which no IA can be opened; unregister the providers that a script
 * left.
 */
DAT_PROVIDER *tool_provider(void);
/* echo.c: print what the call returned and its outputs. */
void echo_call(const struct invocation *inv, DAT_RETURN ret);

#endif
