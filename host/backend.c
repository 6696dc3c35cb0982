/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend.c - the backend instances of this process: select one, attach a front, take and release
 * the lock, sleep and wake.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend.h"
#include "backend_hw.h"
#include "helper.h"
#include "nic_process.h"
#include "outside/outside.h"
#include "say.h"
#include "turn.h"

#define IDLE_CALLS_MAX 1000u

/* One for each kind, as long as the process lives; see backend.h. */
static struct backend emu = BACKEND_INITIALIZER(emu);
static pthread_once_t emu_once = PTHREAD_ONCE_INIT;
/* Held while a front is attached; no other lock is taken with it. */
static pthread_mutex_t attaching = PTHREAD_MUTEX_INITIALIZER;

/*
 * A forked child has none of its parent's handles (handle.h), so it has none of the adapters
 * either.
 */
static void backend_forget(struct backend *b)
{
	struct adapter *adapter;

	if (!b->kind)
		return;
	/* Objects of the parent that the child asks about write no lines. */
	TAILQ_FOREACH(adapter, &b->adapters, link)
		adapter->nic->tracing = false;
	if (b->shared)
		b->kind->forked(b->shared);
	b->world = b->shared = NULL;
	b->fault = NULL;
	b->users = 0;
	b->ending = b->kept = b->attends = b->departed = b->threaded = false;
	TAILQ_INIT(&b->calls_due);
	bias_forget(&b->bias);
	helper_forget(b);
	b->quick = b->quick_locked = false;
	for (int i = 0; i < HOST_FRONTS; i++)
		if (b->fronts[i])
			b->fronts[i]->ops->forget(b->fronts[i]);
	TAILQ_INIT(&b->adapters);
	memset(b->named, 0, sizeof(b->named));
	path_forget(b);
	pthread_mutex_init(&b->lock, NULL);
	backend_cond_init(&b->wake);
}

/* ---- fork ---- */

static struct {
	pthread_mutex_t *mutex;
	pthread_mutex_t initial; /* a copy, from which the child's mutex is made */
} fork_locks[FORK_LOCKS];

void backend_fork_lock(enum fork_lock which, pthread_mutex_t *mutex)
{
	fork_locks[which].mutex = mutex;
	fork_locks[which].initial = *mutex;
}

pthread_mutex_t *backend_fork_mutex(enum fork_lock which)
{
	return fork_locks[which].mutex;
}

static void fork_prepare(void)
{
	for (int i = 0; i < FORK_LOCKS; i++)
		pthread_mutex_lock(fork_locks[i].mutex);
}

static void fork_parent(void)
{
	for (int i = FORK_LOCKS - 1; i >= 0; i--)
		pthread_mutex_unlock(fork_locks[i].mutex);
}

/* The owner of a recursive mutex is a thread of the parent, and an unlock by the child fails. */
static void fork_child(void)
{
	backend_forget(&emu);
	backend_forget(&backend_hw);
	helper_first_thread();
	fork_parent();
	for (int i = 0; i < FORK_LOCKS; i++)
		*fork_locks[i].mutex = fork_locks[i].initial;
}

static void __attribute__((constructor)) fork_begin(void)
{
	backend_fork_lock(FORK_LOCK_ATTACH, &attaching);
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

void backend_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

void backend_init(struct backend *b, const struct nic_backend *kind)
{
	backend_cond_init(&b->wake);
	b->kind = kind;
}

static void init_emu(void)
{
	backend_init(&emu, &emu_backend);
}

uint64_t backend_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ul + (uint64_t)ts.tv_nsec;
}

struct front *backend_front(const struct backend *b, const struct front_ops *ops)
{
	for (int i = 0; i < HOST_FRONTS; i++)
		if (b->fronts[i] && b->fronts[i]->ops == ops)
			return b->fronts[i];
	return NULL;
}

static void attach_front(struct backend *b, const struct front_ops *ops)
{
	int i = 0;

	pthread_mutex_lock(&attaching);
	if (!backend_front(b, ops)) {
		while (i < HOST_FRONTS && b->fronts[i])
			i++;
		assert(i < HOST_FRONTS);
		b->fronts[i] = ops->attach(b);
		ops->use_path(b->fronts[i], path_choose(b));
	}
	pthread_mutex_unlock(&attaching);
}

void backend_emulator(const struct front_ops *ops, struct backend **backend)
{
	pthread_once(&emu_once, init_emu);
	*backend = &emu;
	attach_front(*backend, ops);
}

int backend_chosen(const struct front_ops *ops, struct backend **backend)
{
	const char *wanted = process_env("DAT_PROVIDER");
	int err;

	if (!wanted || strcmp(wanted, "emu") == 0) {
		backend_emulator(ops, backend);
		return 0;
	}
	if (strcmp(wanted, "hw") != 0) {
		say("DAT_PROVIDER=%s: expected emu or hw", wanted);
		return -ENODEV;
	}
	pthread_once(&emu_once, init_emu);
	err = backend_hw_start(ops);
	if (err)
		return err;
	*backend = &backend_hw;
	attach_front(*backend, ops);
	return 0;
}

struct backend *backend_next(struct backend *after)
{
	pthread_once(&emu_once, init_emu);
	if (!after)
		return &emu;
	return after == &emu && backend_hw.kind ? &backend_hw : NULL;
}

/* After the program's own exit handlers. */
static void __attribute__((destructor)) process_exits(void)
{
	for (struct backend *b = backend_next(NULL); b; b = backend_next(b))
		if (b->shared)
			b->kind->process_exits(b->shared);
}

/*
 * With several threads time passes by itself. A poll that let a quantum of it pass would sleep, and
 * leave the lock to a thread that frees what is polled.
 */
void backend_set_threaded(const struct backend *b, struct nic *nic)
{
	nic->threaded = b->threaded && (nic->caps & NIC_CAP_SIM);
	if (nic->threaded)
		nic->poll_quantum_ns = 0;
}

/* Each nic is told once; see nic.h. */
void backend_tell_threaded(struct backend *b)
{
	struct adapter *adapter;

	b->threaded = true;
	if (b->world)
		backend_set_threaded(b, b->kind->control(b->world));
	TAILQ_FOREACH(adapter, &b->adapters, link)
		backend_set_threaded(b, adapter->nic);
}

void backend_lock(struct backend *b)
{
	pthread_mutex_lock(&b->lock);
	if (helper_is_this())
		bias_backend_locked(&b->bias);
	else if (bias_program_locked(&b->bias))
		path_update(b);
	if (b->shared)
		turn_enter(b);
	if (!b->threaded && !(b->departed && outside_alone()))
		backend_tell_threaded(b);
}

void backend_release(struct backend *b)
{
	if (b->shared)
		b->kind->leave(b->shared);
	bias_backend_unlocking(&b->bias);
	pthread_mutex_unlock(&b->lock);
}

void backend_sleep(struct backend *b)
{
	int cancel = process_cancel_hold();

	if (b->shared)
		helper_sleep_shared(b, false, NIC_TIME_NEVER);
	else
		pthread_cond_wait(&b->wake, &b->lock);
	process_cancel_release(cancel);
}

void backend_wake(struct backend *b)
{
	if (b->shared)
		b->kind->ring(b->shared, false);
	else
		pthread_cond_broadcast(&b->wake);
	if (b->world)
		b->ops.wake(b->kind->control(b->world));
}

/* ---- services of the host process, for the NIC behind the door ---- */

static struct backend *backend_of_nic(void *nic_ctx)
{
	return ((struct adapter *)nic_ctx)->backend;
}

uint64_t backend_serve_monotonic_ns(void *nic_ctx)
{
	(void)nic_ctx;
	return backend_monotonic_ns();
}

enum nic_wait backend_serve_sleep(void *nic_ctx, uint64_t until)
{
	helper_sleep(backend_of_nic(nic_ctx), until);
	return NIC_WAIT_RAN;
}

void backend_serve_wake(void *nic_ctx)
{
	if (!__libc_single_threaded)
		backend_wake(backend_of_nic(nic_ctx));
}

bool backend_idles(struct nic *nic)
{
	if (++nic->idle <= IDLE_CALLS_MAX)
		return false;
	nic->idle = 0;
	return true;
}

void backend_idle(struct nic *nic)
{
	uint64_t deadline;

	if (!backend_idles(nic))
		return;
	deadline = nic->ops->now(nic) + nic->poll_quantum_ns;
	while (nic->ops->wait(nic, NULL, deadline) == NIC_WAIT_RAN)
		;
}

void nic_trace(struct nic *nic, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	nic->ops->trace(nic, format, args);
	va_end(args);
}
