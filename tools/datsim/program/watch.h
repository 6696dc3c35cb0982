/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch.h - checkers that read the trace of a program, of either front: each request completes
 * once, after it was posted, in order, and flushed once one has failed; each completion that the
 * program got is the oldest that it has not got; packets are numbered in order; an event that the
 * program got was there; a request of a verbs QP is refused by RNR NAKs as often as the QP permits,
 * and then fails. And the requests of verbs that never complete.
 *
 * Faults of completions and events, overflows and killed processes make some of it wrong for good
 * reason: from such a line on these checkers are silent. Of a trace that keeps its end
 * (DATSIM_TRACE_LAST) they judge what was made since. Borrows the trace's text.
 */
#ifndef DATSIM_WATCH_H
#define DATSIM_WATCH_H

#include "tools/datsim/show/trace.h"

/* A list whose first entries have left. */
struct watch_list {
	struct watch_entry *entries;
	size_t first, count;
};

struct watch_entry {
	struct span op, status;
	uint64_t message, wr_id;
	bool has_id, unsignaled;
};

/* An EP or a QP. */
struct watched {
	struct span object;
	bool verbs, reliable;
	bool made;                  /* the trace has the line that it was made by */
	uint64_t number;            /* of a QP */
	struct watch_list posted;   /* requests that have not completed */
	struct watch_list sent;     /* their completions, which the program has not got */
	struct watch_list receives; /* posted to its own queue, and not got back */
	struct watch_list received;
	uint64_t last;   /* message that completed last */
	bool failed;     /* so everything is flushed */
	bool shared;     /* it takes Receives from an SRQ */
	bool has_packet; /* below: the newest packet that arrived */
	uint64_t message, packet;
	uint32_t psn;
	bool limited;       /* below: rnr_retry is known, and finite */
	bool again;         /* its retry timer has sent packets again */
	uint64_t rnr_retry; /* as the program set it */
	uint64_t refusals;  /* RNR NAKs since the last ACK */
	uint64_t in_a_row;  /* RNR NAKs since the last ACK, successful request or new limit */
};

/* Events of one kind that the program has not got yet. */
struct watch_event {
	struct span object, number;
	uint64_t waiting;
};

struct watch {
	struct watched *list;
	size_t count;
	uint32_t *slots; /* a hash table of the list */
	size_t slot_count;
	struct watch_event *events;
	size_t event_count;
	struct text left;       /* requests that never complete: a line each QP */
	struct text violations; /* a line each */
	size_t violation_count;
	bool late;    /* the trace keeps its end: objects may have been used before it begins */
	bool blind;   /* a process was killed: the trace may repeat itself */
	bool spoiled; /* completions or events are lost or changed on purpose */
	unsigned int lost; /* payloads that could not be placed, of completions not yet told */
	bool twisted;      /* packets are duplicated or late on purpose */
};

/* Read a whole trace. */
void watch_read(struct watch *watch, const char *text, size_t length);
void watch_free(struct watch *watch);

#endif
