/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lies.h - an adapter and a library that misbehave on purpose, so that the checkers of datsim can be seen to
 * notice. One lie at a time; with LIE_NONE everything is as it is.
 */
#ifndef TESTS_CHECKERS_LIES_H
#define TESTS_CHECKERS_LIES_H

enum lie {
	LIE_NONE,
	/* the adapter's, in lies_nic.c */
	LIE_TWICE,     /* the completion of a Send comes twice */
	LIE_LOST,      /* it never comes */
	LIE_SWAPPED,   /* that of the next Send comes before it */
	LIE_COOKIE,    /* it has another's cookie */
	LIE_UNASKED,   /* it comes though it was suppressed */
	LIE_BESIDE,    /* a byte behind a Receive's buffer is written */
	LIE_OUTSIDE,   /* a byte behind a registered region is */
	LIE_BYTES,     /* a byte of a message is another one */
	LIE_READ,      /* a byte that was read is */
	LIE_TAKEN,     /* a Receive that was taken never completes */
	LIE_AWAY,      /* an RDMA Write goes one byte further */
	LIE_AVAILABLE, /* an SRQ has one buffer more */
	LIE_CLOCK,     /* time goes back */
	/* the library's, in lies_dat.c */
	LIE_STATE,       /* an EP that is connected is unconnected again */
	LIE_FAILED,      /* a call that fails changes the state of its EP */
	LIE_OUTSTANDING, /* an SRQ has one outstanding buffer more */
	LIE_MARK,        /* the event of a watermark comes twice */
	LIE_REASON,      /* and has another reason */
	LIE_LATE,        /* a completion comes when its EP is freed */
	LIE_RMR,         /* a bind completes for another RMR */
	LIE_EVD,         /* an event names another EVD */
	LIE_CLASS,       /* an error comes without its class */
	LIE_OUTPUT,      /* a call that fails writes its output */
	LIE_SILENT,      /* one that succeeds does not */
	LIE_LEFT,        /* an IA that is closed is still there */
	LIE_STUCK,       /* a PZ cannot be freed */
	LIE_COUNT
};

/* From here on; what the last one remembered is forgotten. */
void lie_begin(enum lie lie);
enum lie lie_now(void);
/* lies_dat.c's part of that. */
void lie_forget(void);

#endif /* TESTS_CHECKERS_LIES_H */
