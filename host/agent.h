/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.h - call functions of the program, such as the agents of CNOs, outside every lock (ruling
 * E2).
 *
 * The event that triggers such a call happens deep inside the NIC, under the lock. The call is
 * queued on the backend until the lock is released: at the end of the API call in which the event
 * happened (backend_leave), or, if that API call is a wait, before it goes on waiting. The function
 * may use the whole API. A thread that is inside a wait and runs an agent from there cannot, in the
 * agent, end the object that it waits on, nor the world.
 */
#ifndef HOST_AGENT_H
#define HOST_AGENT_H

#include "backend.h"

/* A call that may be queued. Its owner queues it again only after it was made. */
struct agent_call {
	TAILQ_ENTRY(agent_call) link;
	void (*func)(void *, void *);
	void *arg1, *arg2;
	bool due;
	bool orphan; /* its owner is gone: freed when the call is made */
};

/* All with the lock held. */
struct agent_call *agent_call_alloc(struct nic *nic);
/* The owner goes away; a call that is queued is still made. */
void agent_call_drop(struct agent_call *call);
/* Queue the call func(arg1, arg2). */
void agent_call_queue(struct backend *b, struct agent_call *call, void (*func)(void *, void *),
		      void *arg1, void *arg2);
static inline bool agent_calls_due(const struct backend *b)
{
	return !TAILQ_EMPTY(&b->calls_due);
}
/* Make all queued calls now; the lock is released meanwhile. */
void agents_run_now(struct backend *b);
/*
 * The same from within a wait on an object of `owner` (an opening of an adapter) or, if NULL, a
 * wait for the world to go on. The agents cannot end that object or the world; see
 * agent_waits_below.
 */
void agents_run_waiting(struct backend *b, const void *owner);
/* Does this thread, further down its stack, wait on an object of owner, or (NULL) for the world? */
bool agent_waits_below(const void *owner);

#endif /* HOST_AGENT_H */
