/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code shared by the programs with a planted bug: two ends in one process, each with its own
 * adapter. This file has no bug. With -DFIXED a program is its correct version.
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

/* End the program with exit status 1: if a call failed, or for another reason. */
void check(DAT_RETURN ret, const char *call);
void fail(const char *what) __attribute__((noreturn));

void end_open(struct end *end, const char *adapter, size_t bytes);
void end_close(struct end *end);
DAT_EP_HANDLE end_ep(struct end *end, int recvs, int requests);
/* Connects two EPs and waits for both ESTABLISHED events. */
void connect_pair(struct end *from, DAT_EP_HANDLE from_ep, struct end *to, DAT_EP_HANDLE to_ep);

/* Post from the end's memory; the completion returns the cookie. */
void post_recv(struct end *end, DAT_EP_HANDLE ep, size_t offset, size_t length, DAT_UINT64 cookie);
void post_send(struct end *end, DAT_EP_HANDLE ep, size_t offset, size_t length, DAT_UINT64 cookie);

/* Takes the next event, if there is one. */
int next_event(DAT_EVD_HANDLE evd, DAT_EVENT *event);
/* Waits for the next event without a limit; it must have that number. */
void wait_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event);
/* Waits for a DTO completion with status success and returns its cookie. */
DAT_UINT64 wait_dto(DAT_EVD_HANDLE evd);
/* Lets some time pass if this iteration made no progress; ends the program after too many. */
void idle(DAT_EVD_HANDLE evd, int progress);

#endif
