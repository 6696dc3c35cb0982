/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cno.h - Consumer Notification Objects: waiting for many EVDs at once.
 *
 * A notification of an enabled EVD on which no thread waits triggers its CNO: the EVD is latched, once,
 * and comes out of dat_cno_wait in the order of the triggers; emptying it takes the latch off (ruling
 * C1). Every trigger also goes to the agent, which is called once and then taken off (E2).
 *
 * Completions reach here because the CQ of an enabled EVD with a CNO is always armed.
 */
#ifndef LIB_CNO_H
#define LIB_CNO_H

#include "evd.h"

struct agent_call;

struct cno {
	struct obj obj;
	DAT_OS_WAIT_PROXY_AGENT agent; /* none: its function is NULL */
	struct agent_call *call;
	struct evd_list evds;    /* that hang on it */
	struct evd_list latched; /* triggered, not handed out and not emptied; oldest first */
	unsigned int waiters;    /* threads in dat_cno_wait */
	uint64_t bereft;         /* how often the last of its EVDs was freed */
	bool dying;              /* the waiters must leave */
	bool told;               /* "nothing can wake you" was said */
};

/* A notification of evd came. */
void cno_notify(struct evd *evd);
/* evd was emptied: what it latched is old. */
void cno_unlatch(struct evd *evd);
/* evd hangs on cno from now on (NULL: on none); a latch goes with it. */
void cno_attach(struct evd *evd, struct cno *cno);
/* evd is destroyed. */
void cno_forget(struct evd *evd);
/* The CNO a handle of ia names; NULL is one, too: none. False: a bad handle. */
bool cno_find(const struct ia *ia, DAT_CNO_HANDLE handle, struct cno **cno);
/* hopeless.c: it waits for ever and nothing can come: say so, and wait for a signal. False: no signal ends it. */
bool cno_hopeless(struct cno *cno);
/* With its agent told that nothing comes any more. No EVD hangs on it, no thread waits. */
void cno_destroy(struct cno *cno);

#endif /* LIB_CNO_H */
