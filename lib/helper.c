/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdlib.h>

#include "agent.h"
#include "helper.h"

struct helper {
	struct backend *backend;
	pthread_t thread;
	pthread_cond_t wake;
	uint64_t until; /* virtual time it sleeps until at most; 0: it is awake */
	bool idle;      /* it waits for what comes, not for what an agent waits for */
	bool stop;
	bool orphan; /* nobody joins it: it ended its own world, from within an agent */
};

static __thread struct helper *self; /* in the helper's thread */

/* Virtual time of the next event; NIC_TIME_NEVER: none is pending. */
static uint64_t next_event(struct backend *b)
{
	struct nic *nic = b->kind->control(b->world);
	uint64_t next = NIC_TIME_NEVER;

	return nic->ops->sim_pending(nic, &next) > 0 ? next : NIC_TIME_NEVER;
}

/* ---- sleeping ---- */

static void sleep_on(pthread_cond_t *wake, pthread_mutex_t *lock, uint64_t until)
{
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000ul),
			       .tv_nsec = (long)(until % 1000000000ul) };
	int cancel;

	/* A thread cancelled in here would keep the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (until == NIC_TIME_NEVER)
		pthread_cond_wait(wake, lock);
	else
		pthread_cond_timedwait(wake, lock, &ts);
	pthread_setcancelstate(cancel, &cancel);
}

void helper_sleep(struct backend *b, uint64_t until)
{
	if (self && self->idle) {
		self->until = next_event(b);
		sleep_on(&self->wake, &b->lock, until);
		self->until = 0;
		return;
	}
	b->sleepers++;
	b->sleepers_until = next_event(b);
	sleep_on(&b->wake, &b->lock, until);
	b->sleepers--;
	/* Until when the others sleep is not known. */
	b->sleepers_until = NIC_TIME_NEVER;
}

/* ---- the thread ---- */

static void go_on(struct helper *h)
{
	struct backend *b = h->backend;
	struct nic *nic;

	if (agent_calls_due(b)) {
		agents_run_now(b);
		return;
	}
	/* Without an adapter nothing is due to anybody. */
	if (TAILQ_EMPTY(&b->adapters)) {
		h->until = NIC_TIME_NEVER;
		sleep_on(&h->wake, &b->lock, NIC_TIME_NEVER);
		h->until = 0;
		return;
	}
	nic = b->kind->control(b->world);
	h->idle = true;
	nic->ops->wait(nic, NULL, NIC_TIME_NEVER);
	h->idle = false;
}

static void *help(void *arg)
{
	struct helper *h = arg;
	struct backend *b = h->backend;

	self = h;
	backend_lock(b);
	while (!h->stop)
		go_on(h);
	pthread_mutex_unlock(&b->lock);
	if (h->orphan) {
		pthread_cond_destroy(&h->wake);
		free(h);
	}
	return NULL;
}

/* The program's signals are for the program's threads. */
static int start_thread(struct helper *h)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&h->thread, NULL, help, h);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

/* Where there is no thread to be had, events run when somebody calls. */
static void start(struct backend *b)
{
	struct helper *h = calloc(1, sizeof(*h));

	if (!h)
		return;
	h->backend = b;
	backend_cond_init(&h->wake);
	if (start_thread(h)) {
		pthread_cond_destroy(&h->wake);
		free(h);
		return;
	}
	b->helper = h;
}

void helper_end(struct backend *b)
{
	struct helper *h = b->helper;

	if (!h)
		return;
	b->helper = NULL;
	h->stop = true;
	if (h == self) {
		h->orphan = true;
		pthread_detach(h->thread);
		return;
	}
	pthread_cond_signal(&h->wake);
	backend_unlock(b);
	pthread_join(h->thread, NULL);
	backend_enter(b);
	pthread_cond_destroy(&h->wake);
	free(h);
}

void helper_forget(struct backend *b)
{
	b->helper = self = NULL;
	b->sleepers = 0;
}

/*
 * A call ends, in a process of several threads: who sleeps until the next event looks again if there is
 * an earlier one now, and if nobody sleeps the helper has to.
 */
void helper_look(struct backend *b)
{
	uint64_t next;

	if (!b->world || TAILQ_EMPTY(&b->adapters))
		return;
	next = next_event(b);
	if (next == NIC_TIME_NEVER)
		return;
	if (b->sleepers > 0) {
		if (next >= b->sleepers_until)
			return;
		b->sleepers_until = next;
		pthread_cond_broadcast(&b->wake);
	} else if (!b->helper) {
		start(b);
	} else if (next < b->helper->until) {
		b->helper->until = next;
		pthread_cond_signal(&b->helper->wake);
	}
}
