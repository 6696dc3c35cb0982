/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tests/sweep/calls.h - every call that takes a handle, with a table of its handle arguments.
 *
 * A kit has one live object for each argument, so every call succeeds with the handles of a kit. If
 * one handle is replaced by a bad one, the call must be refused.
 */
#ifndef TESTS_SWEEP_CALLS_H
#define TESTS_SWEEP_CALLS_H

#include "tests/sweep/sweep.h"

/* The kinds of handles; ANY accepts all of them. */
enum kind {
	IA,
	PZ,
	LMR,
	EVD,
	EP,
	SRQ,
	CR,
	PSP,
	RSP,
	RMR,
	CNO,
	ANY
};

struct kit {
	DAT_HANDLE ia, empty_ia;
	DAT_HANDLE pz, unused_pz;
	DAT_HANDLE lmr;
	DAT_HANDLE recv, request, connect, cr_evd, evd; /* the last one accepts all streams */
	DAT_HANDLE ep, connected;
	DAT_HANDLE srq;
	DAT_HANDLE cr;
	DAT_HANDLE psp;
	DAT_HANDLE rsp;
	DAT_HANDLE rmr;
	DAT_HANDLE cno, unused_cno; /* evd notifies the first one */
};
extern struct kit kit;
extern DAT_LMR_TRIPLET in_region; /* in the kit's LMR */
extern DAT_IA_ADDRESS_PTR peer;   /* the address of w.b */

/* Makes a kit on w.a, which has `adapter` open; w.b is the peer. */
void kit_make(struct kit *k, const char *adapter);
DAT_HANDLE kit_member(const struct kit *from, size_t offset);

enum {
	MAX_HANDLES = 6
};

struct handle_arg {
	int number; /* index of the argument, from 1; 0 ends the list */
	enum kind kind;
	size_t member; /* offset in the kit */
	DAT_UINT32 subtype;
	bool may_be_null;
};

struct call {
	const char *name;
	DAT_RETURN (*make)(const DAT_HANDLE *h);
	struct handle_arg args[MAX_HANDLES + 1];
};

/* The value for an argument, from the kit */
void kit_handles(const struct call *call, DAT_HANDLE *h);

extern const struct call calls[];
extern const size_t call_count;

#endif /* TESTS_SWEEP_CALLS_H */
