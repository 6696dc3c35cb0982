/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs with a planted bug share: two ends in one process, each with an adapter of its own.
 * Nothing in here is wrong. With -DFIXED a program is what it should have been.
 */
#ifndef PLANTED_PAIR_H
#define PLANTED_PAIR_H

#include <stddef.h>

#include <dat/udat.h>

#ifdef FIXED
#define BUG 0
#else
#define BUG 1
#endif

struct end {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, recv, request, connect, cr;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr;
	char *memory;
};

/* End the program with exit status 1 if a call failed, or for any other reason. */
void check(DAT_RETURN ret, const char *call);
void fail(const char *what) __attribute__((noreturn));

void end_open(struct end *end, const char *adapter, size_t bytes);
void end_close(struct end *end);
DAT_EP_HANDLE end_ep(struct end *end, int recvs, int requests);
/* Connect two EPs, and wait until both are. */
void connect_pair(struct end *from, DAT_EP_HANDLE from_ep, struct end *to, DAT_EP_HANDLE to_ep);

/* Of end's memory; the cookie is what comes back. */
void post_recv(struct end *end, DAT_EP_HANDLE ep, size_t offset, size_t length, DAT_UINT64 cookie);
void post_send(struct end *end, DAT_EP_HANDLE ep, size_t offset, size_t length, DAT_UINT64 cookie);

/* The next event, if there is one. */
int next_event(DAT_EVD_HANDLE evd, DAT_EVENT *event);
/* The next event, however long it takes; it must have that number. */
void wait_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event);
/* A DTO completion; its status must be success. */
DAT_UINT64 wait_dto(DAT_EVD_HANDLE evd);
/* Nothing was to be done in this turn: let some time pass, but not without end. */
void idle(DAT_EVD_HANDLE evd, int progress);

#endif
