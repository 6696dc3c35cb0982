/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evd_queue.h - the events that an EVD has queued, in order.
 *
 * An entry is on the list of its EVD and, if it is a completion, on the list of its Endpoint, too.
 * So an Endpoint that is reset or freed finds its own completions, however many of others are
 * queued. The entries are one array; those in use have no order in it.
 *
 * The EVD owns the queue. Lock: the backend's.
 */
#ifndef LIB_EVD_QUEUE_H
#define LIB_EVD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <dat/udat.h>

struct ep;
struct nic;

/* The kind of an entry in the queue, for the counters of Receives. */
enum evd_origin {
	EVD_OTHER,
	EVD_RECV,
	EVD_REQUEST,
	EVD_BIND /* queued in the form of a DTO completion, see evd_event.h */
};

struct evd_entry {
	TAILQ_ENTRY(evd_entry) in_evd; /* or on the list of free entries */
	TAILQ_ENTRY(evd_entry) in_ep;  /* unless the origin is EVD_OTHER */
	struct ep *ep;                 /* NULL if the origin is EVD_OTHER */
	DAT_EVENT event;
	uint8_t origin; /* enum evd_origin */
};

TAILQ_HEAD(evd_entry_list, evd_entry);

struct evd_queue {
	struct evd_entry *entries;
	uint32_t room, used; /* entries; those that were used ever */
	uint32_t count;      /* entries that are queued */
	struct evd_entry_list queued, free;
};

/* False: no memory. */
bool evd_queue_init(struct evd_queue *queue, struct nic *nic, DAT_COUNT room);
void evd_queue_fini(struct evd_queue *queue);
/* Move all events to a new queue with room for them, and put that in the old one's place. */
void evd_queue_replace(struct evd_queue *queue, struct evd_queue *by);
/* Append an event; ep: of a completion. There must be room. */
void evd_queue_append(struct evd_queue *queue, const DAT_EVENT *event, enum evd_origin origin,
		      struct ep *ep);
/* Insert an event that is no completion before all completions of ep; NULL: append it. */
void evd_queue_insert(struct evd_queue *queue, const DAT_EVENT *event, const struct ep *ep);
/* Remove an entry; its fields are readable until the next one is appended. */
void evd_queue_remove(struct evd_queue *queue, struct evd_entry *entry);

#endif /* LIB_EVD_QUEUE_H */
