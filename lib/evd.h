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
	EVD_REQUEST,
	EVD_BIND /* queued in the form of a DTO, see evd.c */
};

struct evd_entry {
	DAT_EVENT event;
	uint8_t origin; /* enum evd_origin */
};

TAILQ_HEAD(async_note_list, async_note);

TAILQ_HEAD(evd_list, evd);

struct evd {
	struct obj obj;
	DAT_EVD_FLAGS flags;
	DAT_COUNT qlen;
	struct nic_cq *cq; /* NULL: carries no DTO or RMR stream */
	struct nic_cq *
		quick_cq; /* of quick_hw.c: what a dequeue polls; one that refuses, where it is no quick call */
	struct evd_entry *ring;
	uint32_t mask, put, get; /* free-running */
	int refs;                /* EPs per stream, PSPs, IAs */
	int selective; /* streams whose completions are not all notifications: ruling E1 */
	struct cno *cno;
	TAILQ_ENTRY(evd) in_cno, in_latched;
	bool latched;  /* its CNO was triggered, see cno.h */
	int solicited; /* those of them with SOLICITED_WAIT */
	int threshold; /* streams with EVD_THRESHOLD */
	bool enabled, waitable;
	bool turned_away; /* it was set unwaitable under the waiter, who must leave */
	bool direct;      /* carries nothing but completions, nobody waits, it has no CNO */
	bool waiting;     /* a thread is in dat_evd_wait */
	bool notified;    /* since that thread began to wait */
	bool dying;       /* the waiter must leave with DAT_ABORT */
	bool told;        /* "nothing can wake you" was said */
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
/* The CQ may hold what the queue leaves free: say so to the NIC. */
void evd_update_limit(struct evd *evd);
/* Move everything from the CQ into the queue. */
void evd_drain(struct evd *evd);
/* Queue a non-DTO event (its evd_handle is filled in); false: no room, nothing changed. */
bool evd_post(struct evd *evd, DAT_EVENT *event);
/* A connection event: where there is no room the EVD overflows. */
void evd_post_or_overflow(struct evd *evd, DAT_EVENT *event);
/* There is room: asynchronous events that waited for it go first. */
void evd_queue_waiting_notes(struct evd *evd);
/* The EVD goes: what waited for room on it goes where its owners' events go now, if that is elsewhere. */
void evd_pass_on_notes(struct evd *evd);
/* Take the next event, if there is one, and account for it. */
bool evd_take(struct evd *evd, DAT_EVENT *event);
/* Throw away all completions of ep; they count as reaped. */
void evd_purge(struct evd *evd, struct ep *ep);

/* Send an asynchronous event of `owner` (evd.h: async_note). */
void async_send(struct ia *ia, struct async_note *note, struct obj *owner, DAT_EVENT_NUMBER number,
		DAT_COUNT reason);
void async_drop(struct async_note *note);
void async_send_catastrophe(struct adapter *adapter);

/* Upcalls. */
void evd_on_notify(void *cq_ctx);
void evd_on_lost(void *cq_ctx, void *qp_ctx, enum nic_opcode lost);

/* A thread begins or ends to wait. */
void evd_set_waiting(struct evd *evd, bool waiting);
/* After a change of what decides whether a dequeue is a quick one. */
void evd_update_quick(struct evd *evd);
/* After a change of what decides how completions get out of it: its waiter, its CNO. */
void evd_update_path(struct evd *evd);

/* A thread is in dat_evd_wait, and not on its way out: notifications are its own. */
static inline bool evd_has_waiter(const struct evd *evd)
{
	return evd->waiting && !evd->turned_away && !evd->dying;
}

/* evd_wait.c: wake the waiter so that it looks at what changed. */
void evd_wake(struct evd *evd);
/* The end of a wait that begins now; a timeout of 0 polls as a vain dequeue does. */
uint64_t evd_wait_deadline(struct nic *nic, DAT_TIMEOUT timeout);
/* hopeless.c: it waits for ever and nothing can come: say so, and wait for a signal. False: no signal ends it. */
bool evd_hopeless(struct evd *evd);
/* Let a vain poll's worth of virtual time pass, or less: take the event that comes. */
bool evd_poll(struct evd *evd, DAT_EVENT *event);

const char *event_name(DAT_EVENT_NUMBER number);

#endif /* LIB_EVD_H */
