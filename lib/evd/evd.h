/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evd.h - event dispatchers (EVDs).
 *
 * An EVD is a queue of events plus, if it carries DTO or RMR streams, a completion queue (CQ) of
 * the NIC. One rule keeps events in order: before a non-DTO event is queued, the CQ is drained into
 * the queue, so a DISCONNECTED never overtakes the completions before it. Only ESTABLISHED goes
 * before the completions of its EP, which another process may have delivered before this one hears
 * of the connection. A completion goes to the caller straight from the CQ only while the queue is
 * empty and the EVD carries DTO/RMR streams alone. Length, threshold, nmore, overflow and resize
 * count queue + CQ.
 *
 * A receive completion is *reaped* when it is handed to the Consumer or discarded (EP reset or
 * free, EVD free); srq.h and ep.h keep the counts.
 */
#ifndef LIB_EVD_H
#define LIB_EVD_H

#include "evd_queue.h"
#include "host/nic_quick.h"
#include "lib/object.h"

struct ep;

TAILQ_HEAD(async_note_list, async_note);

TAILQ_HEAD(evd_list, evd);

struct evd {
	struct obj obj;
	struct nic_cq *cq; /* NULL: the EVD carries no DTO or RMR stream; beside obj.handle */
	DAT_EVD_FLAGS flags;
	DAT_COUNT qlen;
	/*
	 * What a fast dequeue polls (quick_hw.c): the CQ, or careful_cq while the fast dequeue is
	 * not allowed.
	 */
	struct nic_quick_cq *quick_cq;
	struct nic_quick_cq careful_cq;
	struct evd_queue queue;
	int refs;      /* EPs per stream, PSPs, IAs */
	int selective; /* streams of which some completions are no notifications: ruling E1 */
	struct cno *cno;
	TAILQ_ENTRY(evd) in_cno, in_latched;
	bool latched;  /* it is on its CNO's list of triggered EVDs, see cno.h */
	int solicited; /* the selective streams with SOLICITED_WAIT */
	int threshold; /* streams with EVD_THRESHOLD */
	bool enabled, waitable;
	bool made_unwaitable; /* set unwaitable during a wait: the waiter must leave */
	bool direct;          /* it carries completions only, has no CNO, and no thread waits */
	bool waiting;         /* a thread is in dat_evd_wait */
	uint32_t awaited;     /* by that thread: its threshold */
	bool notified;        /* a notification came since that thread began to wait */
	bool dying;           /* the waiter must leave with DAT_ABORT */
	bool warned;          /* the warning of hopeless.c was printed */
	bool overflowed;
	struct async_note_list notes; /* asynchronous events that wait for room in this EVD */
	struct async_note overflow;
};

#define EVD_STREAM_CQ ((DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG))

/* Make an EVD for an IA; the caller has checked the arguments. */
DAT_RETURN evd_make(struct ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct evd **evd);
/* Destroy an EVD on which no thread waits; its completions are discarded. */
void evd_destroy(struct evd *evd);

/* The number of events, queue + CQ. */
uint32_t evd_count(struct evd *evd);
/* Limit the CQ to the room that the queue leaves. */
void evd_update_limit(struct evd *evd);
/* Move everything from the CQ into the queue. */
void evd_drain(struct evd *evd);
/* Move everything from the CQ into the queue; true if there is room for one more event. */
bool evd_has_room(struct evd *evd);
/*
 * Queue a non-DTO event (its evd_handle is filled in), before all completions of ep unless that is
 * NULL. There is room: evd_has_room has said so, and nothing has looked at the CQ since.
 */
void evd_put(struct evd *evd, DAT_EVENT *event, const struct ep *ep);
/* As evd_put, if there is room; false: there is none, and the event is not queued. */
bool evd_post(struct evd *evd, DAT_EVENT *event);
/* The same, before all completions of an EP. */
bool evd_post_before(struct evd *evd, DAT_EVENT *event, const struct ep *ep);
/*
 * Queue a connection event, before the completions of `established` unless that is NULL; without
 * room, the EVD overflows. Another process may deliver the first messages of a connection before
 * this one hears that it is established, and so may a device.
 */
void evd_post_connection(struct evd *evd, DAT_EVENT *event, const struct ep *established);
/* There is room: queue the asynchronous events that waited for it. */
void evd_queue_waiting_notes(struct evd *evd);
/*
 * The EVD is being destroyed: asynchronous events that waited for room go to the EVD that now gets
 * their owners' events, if that is another one.
 */
void evd_pass_on_notes(struct evd *evd);
/* Dequeue the next event, if any, and count it as reaped. */
bool evd_take(struct evd *evd, DAT_EVENT *event);
/* Discard all completions of ep; they count as reaped. */
void evd_purge(struct evd *evd, struct ep *ep);

/* Send an asynchronous event of `owner` (object.h: async_note). */
void async_send(struct ia *ia, struct async_note *note, struct obj *owner, DAT_EVENT_NUMBER number,
		DAT_COUNT reason);
void async_drop(struct async_note *note);
void async_send_catastrophe(struct dat_adapter *adapter);

/* Upcalls. */
int evd_on_completed(void *event, void *cq_ctx, struct nic_qp *qp, uint64_t cookie, uint32_t length,
		     uint32_t what);
int evd_on_completed_traced(void *event, void *cq_ctx, struct nic_qp *qp, uint64_t cookie,
			    uint32_t length, uint32_t what);
int evd_on_no_completion(void *event);
void evd_on_notify(void *cq_ctx);
void evd_on_lost(void *cq_ctx, void *qp_ctx, enum nic_opcode lost);

/* A thread begins or ends a wait. */
void evd_set_waiting(struct evd *evd, bool waiting);
/* Update obj.quick and quick_cq, after a change of the queue or of `overflowed`. */
void evd_update_quick(struct evd *evd);
/* Update `direct`, and arm the CQ for a CNO, after a change of the waiter or the CNO. */
void evd_update_path(struct evd *evd);

/* True if a thread is in dat_evd_wait and stays there: notifications wake it, not the CNO. */
static inline bool evd_has_waiter(const struct evd *evd)
{
	return evd->waiting && !evd->made_unwaitable && !evd->dying;
}

/* evd_wait.c: wake the waiter, which checks the EVD's state again. */
void evd_wake(struct evd *evd);
/*
 * The deadline of a wait that begins now. A timeout of 0 polls like a dequeue that finds nothing.
 */
uint64_t evd_wait_deadline(const struct obj *obj, DAT_TIMEOUT timeout);
/*
 * hopeless.c: a wait without timeout that no event can end. Print a warning once, and sleep until a
 * signal. False: do not sleep, another process may still end the wait.
 */
bool evd_hopeless(struct evd *evd);
/* Let up to one poll quantum of virtual time pass; stop at the first event and dequeue it. */
bool evd_poll(struct evd *evd, DAT_EVENT *event);

const char *event_name(DAT_EVENT_NUMBER number);

/* evd_trace.c: the lines of completions and events; call them only while tracing. */
void evd_trace_reap(const struct evd *evd, const struct ep *ep, enum evd_origin origin,
		    const DAT_EVENT *event);
void evd_trace_event(const struct evd *evd, const char *verb, const DAT_EVENT *event);

#endif /* LIB_EVD_H */
