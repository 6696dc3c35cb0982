/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cause.h - the causes for which a request breaks its connection, as a table: how the request
 * completes, and how the receive it had taken completes. No other code makes up such a status.
 */
#ifndef EMU_WIRE_CAUSE_H
#define EMU_WIRE_CAUSE_H

#include "emu/fabric/fabric.h"

enum emu_cause {
	EMU_CAUSE_NONE,
	/* found by the responder */
	EMU_CAUSE_NO_BUFFER,      /* no receive, and no RNR in this profile */
	EMU_CAUSE_OVER_LIMIT,     /* more receives taken than the hard limit */
	EMU_CAUSE_SOURCE,         /* the request's own memory: its key is invalid */
	EMU_CAUSE_TARGET,         /* the receive's memory */
	EMU_CAUSE_TOO_LONG,       /* for the receive */
	EMU_CAUSE_NO_MEMORY,      /* to keep a message that arrived in part */
	EMU_CAUSE_REMOTE_KEY,     /* of a WRITE or READ */
	EMU_CAUSE_TOO_MANY_READS, /* at the same time */
	EMU_CAUSE_UNALIGNED,      /* the target of an atomic */
	EMU_CAUSE_MTU,            /* of the two ends differ */
	EMU_CAUSE_INVALIDATE_KEY, /* a Send was to invalidate it */
	/* injected by a rule */
	EMU_CAUSE_NAK_INVALID,
	EMU_CAUSE_NAK_ACCESS,
	EMU_CAUSE_NAK_OPERATION,
	EMU_CAUSE_NAK_RESERVED,
	/* found by the requester */
	EMU_CAUSE_RNR,         /* RNR retries exhausted */
	EMU_CAUSE_RETRY,       /* retries without an answer exhausted */
	EMU_CAUSE_READ_KEY,    /* the key became invalid between request and response */
	EMU_CAUSE_READ_TARGET, /* the READ's own memory */
	EMU_CAUSE_READ_MTU,    /* of the two ends differ */
	EMU_CAUSE_READ_LENGTH, /* the response is longer than the request */
	EMU_CAUSE_BIND,
	EMU_CAUSE_INVALIDATE, /* no such window, by a request of its own QP */
	EMU_CAUSES
};

struct emu_cause_row {
	const char *name;
	enum nic_wc_status request, receive; /* NIC_WC_FLUSHED also if no receive was taken */
	bool invalid; /* the request's form: NIC_WC_REMOTE_INVALID if connected by number */
};

extern const struct emu_cause_row emu_causes[EMU_CAUSES];

/* The status of a request of qp, or of its peer. */
static inline enum nic_wc_status emu_cause_request(const struct emu_qp *qp, enum emu_cause cause)
{
	const struct emu_cause_row *row = &emu_causes[cause];

	return qp->numbered && row->invalid ? NIC_WC_REMOTE_INVALID : row->request;
}

/* "emu1.ep2 fail cause=TOO_LONG message=3": the QP is the one that found it. */
void emu_trace_cause(struct emu_world *w, const struct emu_qp *qp, enum emu_cause cause,
		     uint32_t message);

#endif /* EMU_WIRE_CAUSE_H */
