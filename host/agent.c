/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c - the queue of calls into the program, which are made outside every lock: agent.h. */
#include <assert.h>
#include <stdlib.h>

#include "agent.h"
#include "fault_door.h"
#include "nic_process.h"

/* A wait from which this thread runs agents; the innermost first. */
struct wait_below {
	const struct wait_below *next;
	const void *owner;
};

static __thread const struct wait_below *waits_below;
static __thread unsigned int running; /* agents_run_now calls on this thread's stack */

struct agent_call *agent_call_alloc(struct nic *nic)
{
	return nic_calloc(nic, 1, sizeof(struct agent_call), "agent_call");
}

void agent_call_drop(struct agent_call *call)
{
	call->orphan = true;
	if (!call->due)
		free(call);
}

void agent_call_queue(struct backend *b, struct agent_call *call, void (*func)(void *, void *),
		      void *arg1, void *arg2)
{
	struct adapter *adapter;

	assert(!call->due);
	call->func = func;
	call->arg1 = arg1;
	call->arg2 = arg2;
	call->due = true;
	TAILQ_INSERT_TAIL(&b->calls_due, call, link);
	/* If this thread is in a wait, on whatever adapter, the wait returns to make the call. */
	TAILQ_FOREACH(adapter, &b->adapters, link)
		adapter->nic->attention = true;
}

void agents_run_now(struct backend *b)
{
	int cancel = process_cancel_hold();
	struct agent_call *call;

	running++;
	while ((call = TAILQ_FIRST(&b->calls_due)) != NULL) {
		void (*func)(void *, void *) = call->func;
		void *arg1 = call->arg1, *arg2 = call->arg2;

		TAILQ_REMOVE(&b->calls_due, call, link);
		call->due = false;
		if (call->orphan)
			free(call);
		backend_unlock(b);
		func(arg1, arg2);
		backend_enter(b);
	}
	running--;
	process_cancel_release(cancel);
}

/*
 * Calls that are queued while an agent runs are made after it has returned: agents are not nested.
 */
void agents_run(struct backend *b)
{
	if (running == 0)
		agents_run_now(b);
}

void agents_run_waiting(struct backend *b, const void *owner)
{
	struct wait_below below = { .next = waits_below, .owner = owner };

	waits_below = &below;
	agents_run_now(b);
	waits_below = below.next;
}

bool agent_waits_below(const void *owner)
{
	for (const struct wait_below *below = waits_below; below; below = below->next)
		if (below->owner == owner)
			return true;
	return false;
}
