/* SPDX-License-Identifier: BSD-3-Clause */
/* evd_queue.c - the queue of an EVD: evd_queue.h. */
#include <assert.h>
#include <stdlib.h>

#include "evd_queue.h"
#include "host/fault_door.h"
#include "lib/ep/ep.h"

bool evd_queue_init(struct evd_queue *queue, struct nic *nic, DAT_COUNT room)
{
	*queue = (struct evd_queue){ .room = (uint32_t)room };
	TAILQ_INIT(&queue->queued);
	TAILQ_INIT(&queue->free);
	queue->entries = nic_malloc(nic, queue->room * sizeof(*queue->entries), "evd_queue");
	return queue->entries;
}

void evd_queue_fini(struct evd_queue *queue)
{
	free(queue->entries);
}

/* Entries that were never used are not on the list of free ones: nothing was written to them. */
static struct evd_entry *queue_take_free(struct evd_queue *queue)
{
	struct evd_entry *entry = TAILQ_FIRST(&queue->free);

	if (!entry) {
		assert(queue->used < queue->room);
		return &queue->entries[queue->used++];
	}
	TAILQ_REMOVE(&queue->free, entry, in_evd);
	return entry;
}

static struct evd_entry *queue_fill(struct evd_queue *queue, const DAT_EVENT *event,
				    enum evd_origin origin, struct ep *ep)
{
	struct evd_entry *entry = queue_take_free(queue);

	entry->event = *event;
	entry->origin = (uint8_t)origin;
	entry->ep = ep;
	queue->count++;
	return entry;
}

void evd_queue_append(struct evd_queue *queue, const DAT_EVENT *event, enum evd_origin origin,
		      struct ep *ep)
{
	struct evd_entry *entry = queue_fill(queue, event, origin, ep);

	TAILQ_INSERT_TAIL(&queue->queued, entry, in_evd);
	if (ep)
		TAILQ_INSERT_TAIL(&ep->queued, entry, in_ep);
}

/* The entries of an Endpoint may be in several queues, in order in each of them. */
static struct evd_entry *queue_first_of(const struct evd_queue *queue, const struct ep *ep)
{
	struct evd_entry *entry;

	TAILQ_FOREACH(entry, &ep->queued, in_ep)
		if (entry >= queue->entries && entry < queue->entries + queue->room)
			break;
	return entry;
}

void evd_queue_insert(struct evd_queue *queue, const DAT_EVENT *event, const struct ep *ep)
{
	struct evd_entry *first = ep ? queue_first_of(queue, ep) : NULL;
	struct evd_entry *entry = queue_fill(queue, event, EVD_OTHER, NULL);

	if (first)
		TAILQ_INSERT_BEFORE(first, entry, in_evd);
	else
		TAILQ_INSERT_TAIL(&queue->queued, entry, in_evd);
}

void evd_queue_remove(struct evd_queue *queue, struct evd_entry *entry)
{
	TAILQ_REMOVE(&queue->queued, entry, in_evd);
	if (entry->ep)
		TAILQ_REMOVE(&entry->ep->queued, entry, in_ep);
	TAILQ_INSERT_HEAD(&queue->free, entry, in_evd);
	queue->count--;
}

void evd_queue_replace(struct evd_queue *queue, struct evd_queue *by)
{
	struct evd_entry *entry;

	while ((entry = TAILQ_FIRST(&queue->queued)) != NULL) {
		evd_queue_append(by, &entry->event, (enum evd_origin)entry->origin, entry->ep);
		evd_queue_remove(queue, entry);
	}
	evd_queue_fini(queue);
	*queue = *by;
	/* The first entries still point at the heads of `by`. */
	TAILQ_INIT(&queue->queued);
	TAILQ_INIT(&queue->free);
	TAILQ_CONCAT(&queue->queued, &by->queued, in_evd);
	TAILQ_CONCAT(&queue->free, &by->free, in_evd);
}
