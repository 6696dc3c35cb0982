/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>

#include "agent.h"
#include "api.h"
#include "fault_door.h"
#include "quick_hw.h"

/* What this thread waits for while it runs agents, innermost first. */
struct wait_below {
	const struct wait_below *next;
	const struct ia *ia;
};

static __thread const struct wait_below *waits_below;
static __thread unsigned int running;

struct agent_call *agent_call_make(struct nic *nic)
{
	return nic_calloc(nic, 1, sizeof(struct agent_call), "agent_call");
}

void agent_call_drop(struct agent_call *call)
{
	call->orphan = true;
	if (!call->due)
		free(call);
}

void agent_call_due(struct backend *b, struct agent_call *call, DAT_OS_WAIT_PROXY_AGENT agent,
		    DAT_EVD_HANDLE evd)
{
	struct adapter *adapter;

	assert(!call->due);
	call->agent = agent;
	call->evd = evd;
	call->due = true;
	TAILQ_INSERT_TAIL(&b->calls_due, call, link);
	/* Who waits in this thread, on whatever adapter, stops to make the call. */
	TAILQ_FOREACH(adapter, &b->adapters, link)
		adapter->nic->attention = true;
}

void agents_run_now(struct backend *b)
{
	struct agent_call *call;

	running++;
	while ((call = TAILQ_FIRST(&b->calls_due)) != NULL) {
		DAT_OS_WAIT_PROXY_AGENT agent = call->agent;
		DAT_EVD_HANDLE evd = call->evd;

		TAILQ_REMOVE(&b->calls_due, call, link);
		call->due = false;
		if (call->orphan)
			free(call);
		backend_unlock(b);
		agent.proxy_agent_func(agent.instance_data, evd);
		backend_enter(b);
	}
	running--;
}

/* An agent whose calls make further ones due does not nest: they follow when it has returned. */
void agents_run(struct backend *b)
{
	if (running == 0)
		agents_run_now(b);
}

void agents_run_waiting(struct backend *b, const struct ia *ia)
{
	struct wait_below below = { .next = waits_below, .ia = ia };

	waits_below = &below;
	agents_run_now(b);
	waits_below = below.next;
}

bool agent_waits_below(const struct ia *ia)
{
	for (const struct wait_below *below = waits_below; below; below = below->next)
		if (below->ia == ia)
			return true;
	return false;
}

/*
 * In a process of a single thread the calls of every message go around the lock, and so around
 * backend_leave. The provider's table is the backend's own: while an agent waits for its call, those
 * entries are the functions that do not. With several threads nothing goes around, whatever is there, but
 * the owner of a biased lock.
 */
void agents_choose_calls(struct backend *b)
{
	bool careful = b->agents > 0;

	if (b->module) {
		quick_hw_choose(b, careful || b->bias.ended);
		return;
	}
	if (b->quick) {
		b->provider.evd_dequeue_func = careful ? dat__evd_dequeue_careful
						       : dat__evd_dequeue_biased;
		b->provider.ep_post_send_func = careful ? dat__ep_post_send_careful
							: dat__ep_post_send_biased;
		b->provider.ep_post_recv_func = careful ? dat__ep_post_recv_careful
							: dat__ep_post_recv_biased;
		return;
	}
	b->provider.evd_dequeue_func = careful ? dat__evd_dequeue_careful : dat__evd_dequeue;
	b->provider.ep_post_send_func = careful ? dat__ep_post_send_careful : dat__ep_post_send;
	b->provider.ep_post_recv_func = careful ? dat__ep_post_recv_careful : dat__ep_post_recv;
}

void agents_expect(struct backend *b, int more)
{
	b->agents += more;
	assert(b->agents >= 0);
	if (b->module || b->quick || __libc_single_threaded)
		agents_choose_calls(b);
}
