/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lies.h - an adapter and a library that misbehave on purpose, to show that the checkers of datsim
 * notice. One lie is active at a time; with LIE_NONE nothing is changed.
 */
#ifndef TESTS_CHECKERS_LIES_H
#define TESTS_CHECKERS_LIES_H

enum lie {
	LIE_NONE,
	/* lies of the adapter, in lies_nic.c */
	LIE_TWICE,     /* a Send completes twice */
	LIE_LOST,      /* a Send never completes */
	LIE_SWAPPED,   /* the next Send completes first */
	LIE_COOKIE,    /* a completion has the cookie of another one */
	LIE_UNASKED,   /* a suppressed completion comes */
	LIE_BESIDE,    /* a byte behind a Receive's buffer is written */
	LIE_OUTSIDE,   /* a byte behind a registered region is written */
	LIE_BYTES,     /* a byte of a message is changed */
	LIE_READ,      /* a byte of a Read is changed */
	LIE_TAKEN,     /* a Receive that was taken never completes */
	LIE_AWAY,      /* an RDMA Write goes to the next address */
	LIE_AVAILABLE, /* an SRQ reports one more available buffer */
	LIE_CLOCK,     /* time goes back */
	LIE_COPIED,    /* a Send has the payload of the one before it */
	LIE_CROSSED,   /* two Sends have each other's payload */
	LIE_WRITE,     /* a byte of an RDMA Write is changed */
	LIE_BEHIND,    /* the byte behind an RDMA Write is written */
	LIE_FAR,       /* a byte behind the region that an RDMA Write goes to is written */
	/* lies of the library, in lies_dat.c */
	LIE_STATE,       /* a connected EP becomes unconnected again */
	LIE_FAILED,      /* a failing call changes the state of its EP */
	LIE_OUTSTANDING, /* an SRQ reports one more outstanding buffer */
	LIE_LACKING,     /* messages came, and an SRQ reports one available buffer less */
	LIE_MARK,        /* a watermark event comes twice */
	LIE_REASON,      /* a watermark event comes twice, with another reason */
	LIE_LATE,        /* a completion comes after its EP is freed */
	LIE_RMR,         /* a bind completes for another RMR */
	LIE_EVD,         /* an event names another EVD */
	LIE_CLASS,       /* an error is returned without its class */
	LIE_OUTPUT,      /* a failing call writes its output */
	LIE_SILENT,      /* a successful call writes no output */
	LIE_LEFT,        /* a closed IA still exists */
	LIE_STUCK,       /* a PZ cannot be freed */
	LIE_JUMP,        /* an EP that connects becomes reserved */
	LIE_MAX,         /* an SRQ reports another size */
	LIE_LOW,         /* an SRQ reports another low watermark */
	LIE_MOST,        /* an SRQ reports the most available buffers that it had */
	LIE_KEPT,        /* an EP is freed, and an SRQ reports one outstanding buffer more */
	LIE_GONE,        /* an EP is freed, and an SRQ reports one outstanding buffer less */
	LIE_LONG,        /* a completion tells of more bytes than there are */
	LIE_EP,          /* a completion names another EP */
	LIE_ELSEWHERE,   /* a completion comes from another EVD */
	LIE_AS_BIND,     /* a DTO completes as a bind */
	LIE_AS_DTO,      /* a bind completes as a DTO */
	LIE_COUNT
};

/* Makes this lie the active one; the state of the last lie is forgotten. */
void lie_begin(enum lie lie);
enum lie lie_now(void);
/* The lie of a fabric that is about to be made. */
enum lie lie_of_world(enum lie lie);
/* Forgets the state of lies_dat.c. */
void lie_forget(void);

#endif /* TESTS_CHECKERS_LIES_H */
