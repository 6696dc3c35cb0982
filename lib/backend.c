/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent.h"
#include "api.h"
#include "backend.h"
#include "backend_hw.h"
#include "cr.h"
#include "ep.h"
#include "evd.h"
#include "helper.h"
#include "say.h"
#include "srq.h"
#include "turn.h"

#define IDLE_CALLS_MAX 1000u

/* One per kind, for the life of the process; see backend.h. */
static struct backend emu = BACKEND_INITIALIZER(emu);
static pthread_once_t emu_once = PTHREAD_ONCE_INIT;

/* A forked child has no handle of its parent's (handle.h), so it has none of its adapters either. */
static void forget(struct backend *b)
{
	if (!b->kind)
		return;
	b->world = b->shared = NULL;
	b->fault = NULL;
	b->sim = DAT_HANDLE_NULL;
	b->made_by_test = b->threaded = false;
	memset(b->live, 0, sizeof(b->live));
	LIST_INIT(&b->shares);
	TAILQ_INIT(&b->adapters);
	TAILQ_INIT(&b->calls_due);
	bias_forget(&b->bias);
	agents_expect(b, -b->agents);
	helper_forget(b);
	if (b->quick) {
		b->quick = b->quick_locked = false;
		agents_choose_calls(b);
	}
	pthread_mutex_init(&b->lock, NULL);
	backend_cond_init(&b->wake);
}

static void forget_in_child(void)
{
	forget(&emu);
	forget(&backend_hw);
	backend_hw_forget();
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
	b->provider = dat__provider;
	b->provider.device_name = kind->name;
	b->provider.extension = b;
	b->kind = kind;
}

static void init_emu(void)
{
	backend_init(&emu, &emu_backend);
	pthread_atfork(NULL, NULL, forget_in_child);
}

uint64_t backend_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ul + (uint64_t)ts.tv_nsec;
}

DAT_RETURN backend_chosen(struct backend **backend)
{
	const char *wanted = getenv("DAT_PROVIDER");

	pthread_once(&emu_once, init_emu);
	if (wanted && strcmp(wanted, "hw") == 0) {
		if (!backend_hw_start())
			return DAT_FAIL(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
		*backend = &backend_hw;
		return DAT_SUCCESS;
	}
	if (wanted && strcmp(wanted, "emu") != 0) {
		say("DAT_PROVIDER=%s: expected emu or hw", wanted);
		return DAT_FAIL(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	}
	*backend = &emu;
	return DAT_SUCCESS;
}

struct backend *backend_next(struct backend *after)
{
	pthread_once(&emu_once, init_emu);
	if (!after)
		return &emu;
	return after == &emu && backend_hw.kind ? &backend_hw : NULL;
}

void backend_set_threaded(const struct backend *b, struct nic *nic)
{
	nic->threaded = b->threaded && (nic->caps & NIC_CAP_SIM);
}

/* Told once to those there are, and to each that comes later: see nic.h. */
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
		agents_choose_calls(b);
	if (b->shared)
		turn_enter(b);
	if (!b->threaded)
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
	if (b->shared)
		helper_sleep_shared(b, false, NIC_TIME_NEVER);
	else
		pthread_cond_wait(&b->wake, &b->lock);
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

static void host_lock(void *nic_ctx)
{
	backend_enter(backend_of_nic(nic_ctx));
}

static void host_unlock(void *nic_ctx)
{
	backend_unlock(backend_of_nic(nic_ctx));
}

static uint64_t host_monotonic_ns(void *nic_ctx)
{
	(void)nic_ctx;
	return backend_monotonic_ns();
}

static enum nic_wait host_sleep(void *nic_ctx, uint64_t until)
{
	helper_sleep(backend_of_nic(nic_ctx), until);
	return NIC_WAIT_RAN;
}

static void host_wake(void *nic_ctx)
{
	if (!__libc_single_threaded)
		backend_wake(backend_of_nic(nic_ctx));
}

void backend_idle(struct nic *nic)
{
	uint64_t deadline;

	if (++nic->idle <= IDLE_CALLS_MAX)
		return;
	nic->idle = 0;
	deadline = nic->ops->now(nic) + nic->poll_quantum_ns;
	while (nic->ops->wait(nic, NULL, deadline) == NIC_WAIT_RAN)
		;
}

/* ---- the rest of the upcalls ---- */

static void adapter_failed(void *nic_ctx)
{
	struct adapter *adapter = nic_ctx;

	if (adapter->failed)
		return;
	adapter->failed = true;
	async_send_catastrophe(adapter);
	ep_break_all(adapter);
}

const struct nic_upcalls backend_upcalls = {
	.cq_notify = evd_on_notify,
	.cq_lost = evd_on_lost,
	.srq_limit = srq_on_limit,
	.qp_soft_limit = ep_on_soft_limit,
	.conn_request = cr_on_request,
	.established = ep_on_established,
	.conn_end = ep_on_conn_end,
	.adapter_failed = adapter_failed,
	.lock = host_lock,
	.unlock = host_unlock,
	.monotonic_ns = host_monotonic_ns,
	.sleep = host_sleep,
	.wake = host_wake,
};
