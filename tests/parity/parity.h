/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parity.h - one test program for every backend: each scenario makes public calls and prints the
 * outcomes as DAT names, one fact per line, without a verdict. parity.sh and the lab compare the
 * answers of several backends.
 *
 *	parity ADAPTER-A ADAPTER-B [SCENARIO...]
 */
#ifndef TESTS_PARITY_PARITY_H
#define TESTS_PARITY_PARITY_H

#include <stdbool.h>
#include <stddef.h>

#include <dat/udat.h>

enum {
	SLOTS = 32,
	SLOT_SIZE = 4096,
	WAIT_US = 60000000, /* for an expected event */
	QUIET_US = 200000,  /* to see that no event comes */
};

struct side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, recv, request, connect, cr;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_EP_HANDLE ep;
	DAT_SRQ_HANDLE srq;
	/* In pages of its own, because a forked child may not have them. */
	_Alignas(4096) unsigned char memory[SLOTS * SLOT_SIZE];
};

extern struct side a, b;   /* a is the active side */
extern DAT_CONN_QUAL qual; /* a new one for each connection */

/* Prints one fact: "scenario.name value". */
void fact(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The return code of a call, as a fact */
void fact_ret(const char *name, DAT_RETURN ret);
/* Ends the scenario if the call fails, because the rest would make no sense. */
void must_(DAT_RETURN ret, const char *call);
#define must(call) must_(call, #call)

/* The next event; false if none comes in that time. fact_event prints it as a fact. */
bool take(DAT_EVD_HANDLE evd, DAT_TIMEOUT us, DAT_EVENT *event);
void fact_event(const char *name, DAT_EVD_HANDLE evd, DAT_TIMEOUT us);
/* Waits for n completions and counts equal ones in a row: "SUCCESS x3, FLUSHED x2". */
void fact_completions(const char *name, DAT_EVD_HANDLE evd, int n);
const char *state_name(DAT_EP_HANDLE ep);

/* a.ep and b.ep; b.ep uses b.srq if there is one. */
void make_eps(const DAT_EP_ATTR *a_attr, const DAT_EP_ATTR *b_attr);
/* Listens, connects, and takes all events; prints no facts. */
void connect_eps(void);
/* make_eps and connect_eps with plain attributes. */
void plain_pair(void);
void srq_pair(DAT_COUNT size);
DAT_EP_ATTR attributes(void);
DAT_IA_ADDRESS_PTR address_of(struct side *side);

DAT_RETURN post_recv(struct side *side, int slot);
DAT_RETURN post_srq(int slot);
DAT_RETURN post_send(struct side *side, int slot, DAT_VLEN length, int flags);
DAT_LMR_TRIPLET segment(struct side *side, int slot, DAT_VLEN length);

struct scenario {
	const char *name;
	void (*run)(void);
};
extern const struct scenario connection_scenarios[], message_scenarios[], queue_scenarios[],
	event_scenarios[], named_scenarios[], wire_scenarios[], churn_scenarios[];

#endif /* TESTS_PARITY_PARITY_H */
