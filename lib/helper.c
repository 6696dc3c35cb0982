/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdlib.h>

#include "agent.h"
#include "helper.h"

#define WATCH_NS 40000000ul /* so often a shared world is looked after, at least */

struct helper {
	struct backend *backend;
	pthread_t thread;
	pthread_cond_t wake;
	uint64_t until; /* virtual time it sleeps until at most; 0: it is awake */
	bool idle;      /* it waits for what comes, not for what an agent waits for */
	bool stop;
	uint64_t watched; /* monotonic time of the last look after a shared world */
	bool orphan;      /* nobody joins it: it ended its own world, from within an agent */
};

static __thread struct helper *self; /* in the helper's thread */

/* Virtual time of the next event; NIC_TIME_NEVER: none is pending. */
static uint64_t next_event(struct backend *b)
{
	struct nic *nic = b->kind->control(b->world);
	uint64_t next = NIC_TIME_NEVER;

	return nic->ops->sim_pending(nic, &next) > 0 ? next : NIC_TIME_NEVER;
}

bool helper_is_this(void)
{
	return self != NULL;
}

/* Threads take turns: those of the program run what is pending, all of it. */
static bool in_lockstep(struct backend *b)
{
	return b->shared && b->kind->lockstep(b->shared);
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

static void unlock(void *backend)
{
	backend_release(backend);
}

static void lock(void *backend)
{
	backend_lock(backend);
}

void helper_sleep_shared(struct backend *b, bool idle, uint64_t until)
{
	const struct nic_unlocked unlocked = { unlock, lock, b };
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	b->kind->sleep(b->shared, idle, until, &unlocked);
	pthread_setcancelstate(cancel, &cancel);
}

/* The helper, while it has nothing to do. */
static void doze(struct helper *h, uint64_t until)
{
	uint64_t watch;

	if (h->backend->shared) {
		watch = backend_monotonic_ns() + WATCH_NS;
		helper_sleep_shared(h->backend, true, until < watch ? until : watch);
	} else {
		sleep_on(&h->wake, &h->backend->lock, until);
	}
	h->until = 0;
}

/* On hardware it sleeps in the backend. */
static void rouse(struct helper *h)
{
	struct backend *b = h->backend;

	if (b->shared)
		b->kind->ring(b->shared, true);
	else
		pthread_cond_signal(&h->wake);
	if (b->world && !b->kind->simulated)
		b->ops.wake(b->kind->control(b->world));
}

void helper_sleep(struct backend *b, uint64_t until)
{
	if (self && self->idle) {
		self->until = next_event(b);
		doze(self, until);
		return;
	}
	b->sleepers++;
	b->sleepers_until = next_event(b);
	if (b->shared)
		helper_sleep_shared(b, false, until);
	else
		sleep_on(&b->wake, &b->lock, until);
	b->sleepers--;
	/* Until when the others sleep is not known. */
	b->sleepers_until = NIC_TIME_NEVER;
}

/* ---- the thread ---- */

/* Other processes may have died. */
static void watch(struct helper *h)
{
	struct backend *b = h->backend;
	uint64_t now = backend_monotonic_ns();

	if (now - h->watched < WATCH_NS)
		return;
	h->watched = now;
	b->kind->watch(b->shared, now);
}

static void go_on(struct helper *h)
{
	struct backend *b = h->backend;
	struct nic *nic;

	if (b->shared)
		watch(h);
	if (agent_calls_due(b)) {
		agents_run_now(b);
		return;
	}
	/* Without an adapter nothing is due to anybody. */
	if (in_lockstep(b) || TAILQ_EMPTY(&b->adapters)) {
		h->until = NIC_TIME_NEVER;
		doze(h, NIC_TIME_NEVER);
		return;
	}
	nic = b->kind->control(b->world);
	h->idle = true;
	if (!b->kind->simulated)
		h->until = next_event(b);
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
	backend_release(b);
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

bool helper_start(struct backend *b)
{
	struct helper *h = calloc(1, sizeof(*h));

	if (!h)
		return false;
	h->backend = b;
	backend_cond_init(&h->wake);
	if (start_thread(h)) {
		pthread_cond_destroy(&h->wake);
		free(h);
		return false;
	}
	b->helper = h;
	return true;
}

void helper_end(struct backend *b, struct nic_world *shared)
{
	struct helper *h = b->helper;

	b->shared = NULL;
	if (!h)
		return;
	b->helper = NULL;
	h->stop = true;
	if (h == self) {
		h->orphan = true;
		pthread_detach(h->thread);
		return;
	}
	if (shared)
		b->kind->ring(shared, true);
	else
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

	if (!b->world || TAILQ_EMPTY(&b->adapters) || in_lockstep(b))
		return;
	next = next_event(b);
	if (next == NIC_TIME_NEVER)
		return;
	if (b->sleepers > 0) {
		if (next >= b->sleepers_until)
			return;
		b->sleepers_until = next;
		backend_wake(b);
	} else if (!b->helper) {
		/* Where there is no thread to be had, events run when somebody calls. */
		helper_start(b);
	} else if (next < b->helper->until) {
		b->helper->until = next;
		rouse(b->helper);
	}
}
