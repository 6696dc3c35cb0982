/* SPDX-License-Identifier: BSD-3-Clause */
/* outside.c - how a thread that blocks outside the library gives its turn to others. */
#include "host/outside/outside.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/backend.h"
#include "host/forks.h"
#include "host/nic_fault.h"
#include "host/nic_process.h"

#define BORN_NAP_NS      100000
#define DEPART_NAP_NS    100000
#define DEPART_NAPS_MOST 10000

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

/* The same, and the world is not about to end: there is an adapter, or it stays without one. */
static bool enter_world(struct backend **out)
{
	if (!enter_fabric(out))
		return false;
	if (!TAILQ_EMPTY(&(*out)->adapters) || ((*out)->kept && !(*out)->ending))
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

static uint64_t now_of(struct backend *b)
{
	struct nic *nic = b->kind->control(b->world);

	return nic->ops->now(nic);
}

static void unlock_backend(void *backend)
{
	backend_release(backend);
}

/* The caller uses the world, so it stays. */
static bool lock_backend(void *backend)
{
	backend_lock(backend);
	return true;
}

static uint64_t fault_due(const struct backend *b)
{
	return b->fault ? nic_fault_due(b->fault) : NIC_TIME_NEVER;
}

static enum outside_wait outside_wait(uint64_t ns, bool descriptor)
{
	enum nic_wait outcome;
	uint64_t now, until;
	struct backend *b;

	if (!enter_world(&b))
		return OUTSIDE_NONE;
	const struct nic_unlocked unlocked = { unlock_backend, lock_backend, b };

	now = now_of(b);
	set_attention(b, false);
	if (descriptor)
		b->kind->outside(b->shared, NIC_OUTSIDE_WAITS);
	/* The world does not end while a thread sleeps in it. */
	backend_use(b);
	until = ns < NIC_TIME_NEVER - now ? now + ns : NIC_TIME_NEVER;
	outcome = b->kind->pause(b->shared, fault_due(b) < until ? fault_due(b) : until, &unlocked);
	if (b->shared && fault_due(b) <= now_of(b))
		nic_fault_run(b->fault);
	backend_unuse(b);
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
	now = now_of(b);
	backend_leave(b);
	return now;
}

/* backend_leave would settle the call, which may give the turn up. */
static uint64_t outside_look(void)
{
	struct backend *b;
	uint64_t now;

	if (!enter_world(&b))
		return OUTSIDE_NEVER;
	now = now_of(b);
	backend_release(b);
	return now;
}

static void outside_bear(void)
{
	struct backend *b;

	if (!enter_fabric(&b))
		return;
	b->kind->outside(b->shared, NIC_OUTSIDE_BEARS);
	backend_leave(b);
}

static void outside_born(int pid)
{
	const struct timespec nap = { .tv_nsec = BORN_NAP_NS };
	bool expected = true;
	struct backend *b;

	while (expected && enter_fabric(&b)) {
		expected = b->kind->expects(b->shared, pid);
		backend_leave(b);
		if (expected)
			nanosleep(&nap, NULL);
	}
}

/*
 * A process that has adapters, or threads that wait, leaves when it is dead, as one that was
 * killed: others may be inside the library.
 */
static void outside_end(void)
{
	struct backend *b;

	if (!enter_world(&b))
		return;
	b->kind->outside(b->shared, NIC_OUTSIDE_ENDS);
	if (TAILQ_EMPTY(&b->adapters) && b->users == 0)
		backend_end_world(b);
	backend_leave(b);
}

static struct nic_book *outside_book(void)
{
	struct backend *b = lockstep_backend;
	struct nic_world *shared = b ? __atomic_load_n(&b->shared, __ATOMIC_RELAXED) : NULL;

	return shared ? b->kind->book(shared) : NULL;
}

static bool outside_thread(void)
{
	struct backend *b;

	if (!enter_world(&b))
		return false;
	b->kind->outside(b->shared, NIC_OUTSIDE_CALLS);
	backend_leave(b);
	return true;
}

static void outside_no_thread(void)
{
	struct backend *b;

	if (!enter_world(&b))
		return;
	b->kind->outside(b->shared, NIC_OUTSIDE_CALLS_NOT);
	backend_leave(b);
}

static const struct outside table = {
	.size = sizeof(table),
	.wait = outside_wait,
	.tell = outside_tell,
	.leave = outside_leave,
	.now = outside_now,
	.bear = outside_bear,
	.born = outside_born,
	.end = outside_end,
	.book = outside_book,
	.look = outside_look,
	.thread = outside_thread,
	.no_thread = outside_no_thread,
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

uint64_t outside_ahead(const struct backend *b, uint64_t now)
{
	return libdat_outside_ahead && b == lockstep_backend ? libdat_outside_ahead(now) : 0;
}

/* A runner of datsim explore sets the fabric in each process that it forks in forks_stop. */
bool outside_attend(const struct front_ops *ops)
{
	struct backend *b;
	bool joined;

	if (!process_env("DATSIM_LOCKSTEP"))
		return false;
	forks_stop();
	if (!process_env("DATSIM_FABRIC"))
		return false;
	backend_emulator(ops, &b);
	backend_enter(b);
	joined = backend_await_end(b) && !b->world && backend_make_world(b, NULL) == 0;
	b->kept |= joined;
	b->attends |= joined;
	backend_leave(b);
	return joined;
}

bool outside_attends(const struct backend *b)
{
	return b->attends && !b->ending && TAILQ_EMPTY(&b->adapters);
}

/* A directory has two links, and one more for each folder in it. 0: /proc cannot be read. */
static unsigned long count_threads(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 && st.st_nlink > 2 ? st.st_nlink - 2 : 0;
}

bool outside_alone(void)
{
	return count_threads() == 1;
}

void outside_depart(struct backend *b)
{
	const struct timespec nap = { .tv_nsec = DEPART_NAP_NS };
	unsigned long threads = count_threads();

	b->kind->outside(b->shared, NIC_OUTSIDE_DEPARTS);
	backend_end_world(b);
	/* The helper has been joined, and the kernel counts it for a little longer. */
	for (int i = 0; i < DEPART_NAPS_MOST && threads > 1 && count_threads() >= threads; i++)
		nanosleep(&nap, NULL);
	b->threaded = false;
	b->departed = true;
}
