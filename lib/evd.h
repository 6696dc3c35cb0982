/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evd.h - event dispatchers.
 *
 * An EVD is a queue of events plus, if it carries DTO or RMR streams, the NIC's completion queue. One
 * rule keeps the order: before a non-DTO event is put on the queue, the CQ is drained into it, so that
 * a DISCONNECTED never overtakes the completions before it. A completion goes to the caller straight
 * from the CQ only while the queue is empty and the EVD carries DTO/RMR streams alone. Length,
 * threshold, nmore, overflow and resize count queue + CQ.
 *
 * A receive completion is *reaped* when it is handed to the program or thrown away (EP reset or free,
 * EVD free); srq.h and ep.h keep the counts.
 */
#ifndef LIB_EVD_H
#define LIB_EVD_H

#include "object.h"

struct ep;

/* What an entry of the queue is to the counters. */
enum evd_origin {
	EVD_OTHER,
	EVD_RECV,
	EVD_REQUEST
};

struct evd_entry {
	DAT_EVENT event;
	uint8_t origin; /* enum evd_origin */
};

/*
 * An asynchronous event of an object (SRQ, EP, EVD). Ruling W2: one that finds the async EVD full waits
 * here and is queued as soon as there is room; a new setting or the object's end drops it.
 */
struct async_note {
	TAILQ_ENTRY(async_note) link;
	struct evd *waits_for; /* NULL: not waiting */
	DAT_EVENT event;
};

TAILQ_HEAD(async_note_list, async_note);

struct evd {
	struct obj obj;
	DAT_EVD_FLAGS flags;
	DAT_COUNT qlen;
	struct nic_cq *cq; /* NULL: carries no DTO or RMR stream */
	struct evd_entry *ring;
	uint32_t mask, put, get; /* free-running */
	int refs;                /* EPs per stream, PSPs, IAs */
	int selective; /* streams whose completions are not all notifications: ruling E1 */
	bool enabled, waitable;
	bool direct;   /* carries nothing but completions, and nobody waits */
	bool waiting;  /* a thread is in dat_evd_wait */
	bool notified; /* since that thread began to wait */
	bool dying;    /* the waiter must leave with DAT_ABORT */
	bool overflowed;
	struct async_note_list notes; /* waiting for room here */
	struct async_note overflow;
};

#define EVD_STREAM_CQ ((DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG))

/* An EVD for an IA; the caller has checked the arguments. */
DAT_RETURN evd_make(struct ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct evd **evd);
/* Whatever still refers to it: waiters leave, completions are thrown away. */
void evd_destroy(struct evd *evd);

/* Slots of the queue for a length, less one. */
uint32_t evd_ring_mask(DAT_COUNT qlen);
/* Events on it, queue + CQ. */
uint32_t evd_count(struct evd *evd);
/* Move everything from the CQ into the queue. */
void evd_drain(struct evd *evd);
/* Queue a non-DTO event (its evd_handle is filled in); false: no room, nothing changed. */
bool evd_post(struct evd *evd, DAT_EVENT *event);
/* A connection event: where there is no room the EVD overflows. */
void evd_post_or_overflow(struct evd *evd, DAT_EVENT *event);
/* There is room: asynchronous events that waited for it go first. */
void evd_queue_waiting_notes(struct evd *evd);
/* Take the next event, if there is one, and account for it. */
bool evd_take(struct evd *evd, DAT_EVENT *event);
/* Throw away all completions of ep; they count as reaped. */
void evd_purge(struct evd *evd, struct ep *ep);

/* Send an asynchronous event of `owner` (evd.h: async_note). */
void async_send(struct ia *ia, struct async_note *note, struct obj *owner, DAT_EVENT_NUMBER number,
		DAT_COUNT reason);
void async_drop(struct async_note *note);
void evd_post_catastrophe(struct ia *ia);

/* Upcalls. */
void evd_on_notify(void *cq_ctx);
void evd_on_lost(void *cq_ctx, void *qp_ctx, enum nic_opcode lost);

/* A thread begins or ends to wait. */
void evd_set_waiting(struct evd *evd, bool waiting);
/* evd_wait.c: wake the waiter so that it looks at what changed. */
void evd_wake(struct evd *evd);
/* Let a vain poll's worth of virtual time pass, or less: take the event that comes. */
bool evd_poll(struct evd *evd, DAT_EVENT *event);

const char *event_name(DAT_EVENT_NUMBER number);

#endif /* LIB_EVD_H */
