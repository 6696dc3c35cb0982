/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account.h - the summary of a trace: what a program did on its fabric, in a few lines.
 *
 * Borrows the text of the trace; account_free frees the rest.
 */
#ifndef DATSIM_ACCOUNT_H
#define DATSIM_ACCOUNT_H

#include "tools/datsim/show/trace.h"
#include "watch.h"

struct tally {
	struct span what;
	uint64_t times;
};

struct tallies {
	struct tally *list;
	size_t count;
	uint32_t *slots; /* a hash table of the list: index + 1, or 0 */
	size_t slot_count;
};

/* A fault rule from the environment (DATSIM_FAULTS). */
struct account_rule {
	uint64_t id, line;    /* line: its line in the script; 0: unknown */
	struct span from, to; /* the adapters of a rule of packets; empty: any */
	uint64_t times;       /* how often it acted */
	uint64_t kills;       /* processes that it ended, which did not live to report a count */
	bool ended;           /* the fabric reported the final count */
};

struct account {
	uint64_t ns; /* of virtual time */
	uint64_t packets, bytes, lost;
	struct tallies events;    /* delivered events, by event number */
	struct tallies statuses;  /* statuses of failed work requests */
	struct tallies overflows; /* EVDs that lost an event for want of room */
	struct tallies refusals;  /* calls that failed */
	struct tallies probes;    /* of those, what only asked what an adapter can do */
	struct tallies creations; /* "emu0 refuse call=ibv_create_qp": either, until all is read */
	struct tallies trials;    /* "emu0.qp": objects that were freed as soon as they were made */
	struct span made;         /* the object of the line before, if that made it */
	struct tallies left;      /* objects that were made and never freed */
	struct watch watch;       /* requests that never complete, and violations */
	struct tallies nodes; /* nodes of a shared fabric, by the objects that lines are about */
	struct tallies apart; /* nodes that left it, because they made a fabric of their own */
	struct account_rule *rules;
	size_t rule_count;
	struct span trace; /* all of it */
	bool opened;       /* a program used the fabric, or tried to */
	bool full;         /* the trace is full: later lines are missing */
	bool stuck;        /* its file had no room for all of it */
	bool kept_end;     /* earlier lines are missing (DATSIM_TRACE_LAST), before: */
	uint64_t kept_ns;  /* that time */
	bool whole;        /* the trace has its end: the program closed its adapters */
	bool torn;         /* the trace ends within a line */
};

/* False: not a trace, or a damaged one. */
bool account_read(struct account *account, const char *name, const char *text, size_t length,
		  struct text *error);
/* Print one line for each total, with `indent` in front. */
void account_print(const struct account *account, struct text *text, const char *indent);
void account_free(struct account *account);

#endif
