/* SPDX-License-Identifier: BSD-3-Clause */
/* outside.c - how a thread that blocks outside the library gives its turn to others. */
#include "host/outside/outside.h"

#include <unistd.h>

#include "host/backend.h"

static struct backend *lockstep_backend;

/*
 * False: the lock is not taken. A signal handler may have interrupted this thread inside a call,
 * with the lock.
 */
static bool enter_fabric(struct backend **out)
{
	struct backend *b = lockstep_backend;

	if (!b || !__atomic_load_n(&b->shared, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&b->lock.__data.__owner, __ATOMIC_RELAXED) == gettid())
		return false;
	backend_enter(b);
	if (b->shared) {
		*out = b;
		return true;
	}
	backend_leave(b);
	return false;
}

/* The same, and there is an adapter: the world is not about to end. */
static bool enter_world(struct backend **out)
{
	if (!enter_fabric(out))
		return false;
	if (!TAILQ_EMPTY(&(*out)->adapters))
		return true;
	backend_leave(*out);
	return false;
}

static void set_attention(struct backend *b, bool on)
{
	struct adapter *adapter;

	TAILQ_FOREACH(adapter, &b->adapters, link)
		adapter->nic->attention = on;
}

static enum outside_wait outside_wait(uint64_t ns, bool descriptor)
{
	enum nic_wait outcome;
	struct backend *b;
	struct nic *nic;
	uint64_t now;

	if (!enter_world(&b))
		return OUTSIDE_NONE;
	nic = TAILQ_FIRST(&b->adapters)->nic;
	now = nic->ops->now(nic);
	set_attention(b, false);
	if (descriptor)
		b->kind->outside(b->shared, NIC_OUTSIDE_WAITS);
	/* The world does not end while a thread sleeps in it. */
	b->users++;
	outcome = nic->ops->wait(nic, NULL, ns < NIC_TIME_NEVER - now ? now + ns : NIC_TIME_NEVER);
	if (--b->users == 0 && b->ending)
		backend_wake(b);
	backend_leave(b);
	return outcome == NIC_WAIT_HOPELESS ? OUTSIDE_HOPELESS : OUTSIDE_AGAIN;
}

static void outside_tell(bool descriptor)
{
	struct backend *b;

	if (!enter_world(&b))
		return;
	set_attention(b, true);
	backend_wake(b);
	if (descriptor)
		b->kind->outside(b->shared, NIC_OUTSIDE_TELLS);
	backend_leave(b);
}

static void outside_leave(void)
{
	struct backend *b;

	if (!enter_fabric(&b))
		return;
	b->kind->outside(b->shared, NIC_OUTSIDE_LEAVES);
	backend_leave(b);
}

static uint64_t outside_now(void)
{
	struct backend *b;
	uint64_t now;

	if (!enter_world(&b))
		return OUTSIDE_NEVER;
	now = TAILQ_FIRST(&b->adapters)->nic->ops->now(TAILQ_FIRST(&b->adapters)->nic);
	backend_leave(b);
	return now;
}

static const struct outside table = {
	.size = sizeof(table),
	.wait = outside_wait,
	.tell = outside_tell,
	.leave = outside_leave,
	.now = outside_now,
};

void outside_prepare(const struct backend *b)
{
	if (libdat_outside_own && !b->module)
		libdat_outside_own((const void *)(uintptr_t)outside_wait);
}

void outside_begin(const struct backend *b)
{
	if (!libdat_outside_meet || !b->shared || !b->kind->lockstep(b->shared))
		return;
	lockstep_backend = (struct backend *)b;
	libdat_outside_meet(&table);
}
