/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cno.h - Consumer Notification Objects (CNOs): one wait for many EVDs.
 *
 * A notification on an enabled EVD without a waiter triggers its CNO. The EVD is latched: it is on
 * the CNO's list of triggered EVDs, once, and dat_cno_wait returns them in the order of their
 * triggers. Emptying an EVD takes it off that list (ruling C1). Every trigger also calls the agent,
 * which is removed by its call (E2).
 *
 * Completions trigger a CNO because the CQ of an enabled EVD with a CNO is always armed.
 */
#ifndef LIB_EVD_CNO_H
#define LIB_EVD_CNO_H

#include "evd.h"

struct agent_call;

struct cno {
	struct obj obj;
	DAT_OS_WAIT_PROXY_AGENT agent; /* a NULL function: no agent */
	struct agent_call *call;
	struct evd_list evds;    /* its EVDs */
	struct evd_list latched; /* triggered, not handed out and not emptied since; oldest first */
	unsigned int waiters;    /* threads in dat_cno_wait */
	uint64_t evds_gone;      /* how many times its last EVD was freed */
	bool dying;              /* the waiters must leave */
	bool warned;             /* the warning of hopeless.c was printed */
};

/* A notification arrived on evd. */
void cno_notify(struct evd *evd);
/* evd was emptied: its trigger is obsolete. */
void cno_unlatch(struct evd *evd);
/* Attach evd to cno (NULL: to none); a latched EVD stays latched. */
void cno_attach(struct evd *evd, struct cno *cno);
/* evd is being destroyed. */
void cno_forget(struct evd *evd);
/*
 * Look up the CNO that a handle of ia names. A NULL handle gives a NULL CNO. False: a bad handle.
 */
bool cno_find(const struct ia *ia, DAT_CNO_HANDLE handle, struct cno **cno);
/* See evd_hopeless. */
bool cno_hopeless(struct cno *cno);
/* Destroy a CNO without EVDs and waiters; its agent is called with a NULL EVD, the last call. */
void cno_destroy(struct cno *cno);

#endif /* LIB_EVD_CNO_H */
