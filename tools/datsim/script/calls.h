/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * calls.h - the table of every public uDAPL call: its name, its parameters, a function that calls
 * it.
 *
 * calls.c has one row a call. To add a call, add its row and its MAKE() line; parsing, defaults,
 * poisoning of outputs, binding of new handles and matching follow from the row.
 */
#ifndef DATSIM_CALLS_H
#define DATSIM_CALLS_H

#include "values.h"

#define CALL_PARAMS_MAX   11
#define CALL_SEGMENTS_MAX 64
#define CALL_LIST_MAX     64

enum param_kind {
	PARAM_END, /* after the last one */
	PARAM_HANDLE,
	PARAM_NUMBER,
	PARAM_TIMEOUT, /* microseconds, or a time with its unit */
	PARAM_STRUCT,
	PARAM_MASK_OF_STRUCT, /* a mask; default: the members set in the next parameter's struct */
	PARAM_SEGMENT_COUNT,  /* default: the number of segments in the next parameter */
	PARAM_SEGMENTS,       /* 64, [64 0 32], [{mem=m offset=0 length=64}] */
	PARAM_SPAN,           /* segments of a call that posts no work request */
	PARAM_LENGTH,         /* default: the number of segments in the PARAM_SPAN before it */
	PARAM_TRIPLET,        /* one segment, to bind an RMR to */
	PARAM_REMOTE, /* b.mem, {mem=b.mem offset=0}, {rmr=b.w}: the peer's end of an RDMA */
	PARAM_COOKIE,
	PARAM_CONTEXT,
	PARAM_NAME,      /* an adapter's name */
	PARAM_ADDRESS,   /* of an actor's adapter */
	PARAM_DATA_SIZE, /* default: the length of the PARAM_DATA after it */
	PARAM_DATA,      /* private data */
	PARAM_REGION,    /* memory for an LMR: the tool's own, an existing LMR's, or shared */
	PARAM_AGENT,     /* a CNO agent: none, or the tool's agent with this number */
	PARAM_EVENT,     /* a software event */
	PARAM_PROVIDER,  /* a provider's table: always the tool's own */
	PARAM_INOUT_HANDLE,
	PARAM_OUT_HANDLE,
	PARAM_OUT_NUMBER,
	PARAM_OUT_STRUCT,
	PARAM_OUT_TEXT,
	PARAM_OUT_LIST, /* of structures; the script sees the first */
	PARAM_OUT_EVENT
};

struct param {
	const char *name; /* as in the header */
	enum param_kind kind;
	bool optional;
	bool named_only;         /* never by position */
	bool borrowed;           /* an output handle of an object that existed before the call */
	bool finite;             /* a timeout for which DAT_TIMEOUT_INFINITE is refused */
	bool written_on_failure; /* ruling G2 lets a failing call write it */
	enum group_id group;
	size_t size; /* of an output number */
	bool is_signed;
	int type;          /* of a handle: a DAT_HANDLE_TYPE, -1 for any */
	uint64_t standard; /* the default of an optional number */
	const struct layout *layout;
};

/* The value of one argument, as it is passed to the call. */
union call_value {
	DAT_HANDLE handle;
	DAT_COUNT count;
	uint64_t number;
	void *pointer;
	DAT_CONTEXT context;
	DAT_REGION_DESCRIPTION region;
	DAT_OS_WAIT_PROXY_AGENT agent;
};

enum call_effect {
	CALL_NO_EFFECT,
	CALL_FREES,    /* frees the object of its first handle */
	CALL_CLOSES,   /* frees an IA and every object of it */
	CALL_SENDS,    /* posts a Send on its EP */
	CALL_RECEIVES, /* posts a Receive on its EP or SRQ */
	CALL_WRITES,   /* posts an RDMA Write on its EP */
	CALL_READS,    /* posts an RDMA Read on its EP */
	CALL_BINDS,    /* posts a bind of its RMR on its EP */
	CALL_RESETS,   /* discards the EP's completions */
	CALL_ANSWERS,  /* consumes a CR; the CR's own EP is freed or passes to the program */
	CALL_ADDS,     /* adds a provider to the registry */
	CALL_REMOVES   /* removes a provider from the registry */
};

struct call_row {
	const char *name;
	DAT_RETURN (*make)(union call_value *args);
	enum call_effect effect;
	struct param params[CALL_PARAMS_MAX + 1];
};

static inline bool call_posts(const struct call_row *row)
{
	return row->effect >= CALL_SENDS && row->effect <= CALL_BINDS;
}

const struct call_row *call_find(const char *name);
void call_suggest(struct suggest *suggest);
/* What the call does, in one line. */
const char *call_line(const struct call_row *row);
/* The rows in order, for listings; ends with a NULL name. */
const struct call_row *call_rows(void);

bool param_is_output(const struct param *param);

#endif
