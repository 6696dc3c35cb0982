/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.h - calling the agents of CNOs, outside every lock (ruling E2).
 *
 * A trigger happens deep inside the NIC, under the lock. The call it causes waits in a list of the
 * backend until the lock is released: at the end of the call that let the trigger happen
 * (backend_leave), or, if that call is a wait, before it waits on. The agent may use the whole API. Two
 * things it cannot do in a thread that waits further down its stack: end what that thread waits on, and
 * end the world.
 */
#ifndef LIB_AGENT_H
#define LIB_AGENT_H

#include "backend.h"

/* One to come; its owner has one at a time. */
struct agent_call {
	TAILQ_ENTRY(agent_call) link;
	DAT_OS_WAIT_PROXY_AGENT agent;
	DAT_EVD_HANDLE evd;
	bool due;
	bool orphan; /* the owner has gone: freed with the call */
};

/* All with the lock held. */
struct agent_call *agent_call_make(struct nic *nic);
/* The owner goes; a call that is due still comes. */
void agent_call_drop(struct agent_call *call);
void agent_call_due(struct backend *b, struct agent_call *call, DAT_OS_WAIT_PROXY_AGENT agent,
		    DAT_EVD_HANDLE evd);
static inline bool agent_calls_due(const struct backend *b)
{
	return !TAILQ_EMPTY(&b->calls_due);
}
/* Call those that are due, now; the lock is released meanwhile. */
void agents_run_now(struct backend *b);
/*
 * The same from within a wait on an object of ia; NULL: for the world to go on. These stay, whatever
 * the agents do.
 */
void agents_run_waiting(struct backend *b, const struct ia *ia);
/* Does this thread wait, further down, for something of ia, or (NULL) for the world to go on? */
bool agent_waits_below(const struct ia *ia);
/* So many more CNOs have an agent: then no call may take a way around backend_leave. */
/* After a change of what the three quickest calls may do without the lock. */
void agents_choose_calls(struct backend *b);
void agents_expect(struct backend *b, int more);

#endif /* LIB_AGENT_H */
