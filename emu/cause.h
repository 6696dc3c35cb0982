/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cause.h - everything that breaks a connection by the fault of a request, each by its name: how that request
 * ends, and the receive it had taken. Nothing else makes up such an end.
 */
#ifndef EMU_CAUSE_H
#define EMU_CAUSE_H

#include "fabric.h"

enum emu_cause {
	EMU_CAUSE_NONE,
	/* found by the responder */
	EMU_CAUSE_NO_BUFFER,      /* no receive, and no RNR in this profile */
	EMU_CAUSE_OVER_LIMIT,     /* more receives taken than the hard limit */
	EMU_CAUSE_SOURCE,         /* memory that the request names: its key is no good */
	EMU_CAUSE_TARGET,         /* memory that the receive names */
	EMU_CAUSE_TOO_LONG,       /* for the receive */
	EMU_CAUSE_NO_MEMORY,      /* to remember a message that came in part */
	EMU_CAUSE_REMOTE_KEY,     /* of a WRITE or READ */
	EMU_CAUSE_TOO_MANY_READS, /* at a time */
	/* by a rule in the responder's name */
	EMU_CAUSE_NAK_INVALID,
	EMU_CAUSE_NAK_ACCESS,
	EMU_CAUSE_NAK_OPERATION,
	EMU_CAUSE_NAK_RESERVED,
	/* found by the requester */
	EMU_CAUSE_RNR,         /* not ready, so often */
	EMU_CAUSE_RETRY,       /* no answer, so often */
	EMU_CAUSE_READ_KEY,    /* the key was good when asked, not when answered */
	EMU_CAUSE_READ_TARGET, /* memory that the READ names */
	EMU_CAUSE_READ_LENGTH, /* the answer is longer */
	EMU_CAUSE_BIND,
	EMU_CAUSES
};

struct emu_cause_row {
	const char *name;
	enum nic_wc_status request,
		receive; /* receive: NIC_WC_FLUSHED where it had taken none, too */
};

extern const struct emu_cause_row emu_causes[EMU_CAUSES];

/* "emu1.ep2 fail cause=TOO_LONG message=3": by whom it was found. */
void emu_trace_cause(struct emu_world *w, const struct emu_qp *qp, enum emu_cause cause,
		     uint32_t message);

#endif /* EMU_CAUSE_H */
