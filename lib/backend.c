/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent.h"
#include "api.h"
#include "backend.h"
#include "backend_hw.h"
#include "cr.h"
#include "ep.h"
#include "fault_door.h"
#include "evd.h"
#include "helper.h"
#include "knob.h"
#include "object.h"
#include "say.h"
#include "srq.h"
#include "turn.h"

#define IDLE_CALLS_MAX 1000u

/* One per kind, for the life of the process; see backend.h. */
static struct backend emu = BACKEND_INITIALIZER(emu);
static pthread_once_t emu_once = PTHREAD_ONCE_INIT;

/* Every entry a backend leaves out answers for itself: no NULL behind the door. */
static void complete_ops(struct nic_ops *ops, const struct nic_ops *backend)
{
	void (*const *from)(void) = (void (*const *)(void))((const char *)backend + sizeof(size_t));
	void (**to)(void) = (void (**)(void))((char *)ops + sizeof(size_t));
	size_t entries = (backend->size - sizeof(size_t)) / sizeof(*to);

	assert(backend->size <= sizeof(*ops));
	*ops = nic_unsupported;
	for (size_t i = 0; i < entries; i++)
		if (from[i])
			to[i] = from[i];
	for (size_t i = 0; i < (sizeof(*ops) - sizeof(size_t)) / sizeof(*to); i++)
		assert(to[i]); /* else nic_unsupported misses an entry of nic.h */
}

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

static void set_threaded(const struct backend *b, struct nic *nic)
{
	nic->threaded = b->threaded && (nic->caps & NIC_CAP_SIM);
}

/* Told once to those there are, and to each that comes later: see nic.h. */
static void tell_threaded(struct backend *b)
{
	struct adapter *adapter;

	b->threaded = true;
	if (b->world)
		set_threaded(b, b->kind->control(b->world));
	TAILQ_FOREACH(adapter, &b->adapters, link)
		set_threaded(b, adapter->nic);
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
		tell_threaded(b);
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

/* ---- the world and its adapters ---- */

/* A capability bit is a promise that the table has to keep. */
static void assert_caps(const struct nic_ops *ops, uint64_t caps)
{
	const struct nic_ops *none = &nic_unsupported;

	assert(!(caps & NIC_CAP_SRQ) || ops->srq_create != none->srq_create);
	assert(!(caps & NIC_CAP_SRQ_RESIZE) || ops->srq_resize != none->srq_resize);
	assert(!(caps & NIC_CAP_CQ_RESIZE) || ops->cq_resize != none->cq_resize);
	assert(!(caps & NIC_CAP_MW) || ops->mw_alloc != none->mw_alloc);
	assert(!(caps & NIC_CAP_HANDOFF) || ops->handoff != none->handoff);
	assert(!(caps & NIC_CAP_SIM) || ops->sim_step != none->sim_step);
	assert(!(caps & NIC_CAP_PACKET_RULES) || ops->packet_rule_add != none->packet_rule_add);
}

/* Rules from outside (fault_text.h) are there before anything happens. */
static bool load_faults(struct backend *b, bool packets)
{
	const char *text = getenv("DATSIM_FAULTS");

	b->faults.count = 0;
	return !text || fault_text_load(b, text, packets);
}

/*
 * Rules of packets are the fabric's: who joins first hands them in, and its trace says what they did. The others are
 * each process's own, and so are their counts; the trace has a line of each time.
 */
static bool share_faults(struct backend *b)
{
	struct nic *nic = b->kind->control(b->world);
	uint64_t fired;
	bool first, good;

	if (!getenv("DATSIM_FAULTS"))
		return true;
	if (!b->kind->lockstep(b->shared)) {
		say("DATSIM_FAULTS is not for a fabric that processes share in real time");
		return false;
	}
	first = nic->ops->packet_rule_fired(nic, 1, &fired) != 0;
	good = load_faults(b, first);
	b->faults.count = 0;
	if (!good)
		fault_door_end(fault_door_take(b));
	return good;
}

/*
 * A world that other processes share has a lock, and wants somebody who looks after it while this process
 * is busy elsewhere: the helper, which makes an end of the time in which there is one thread and no lock.
 */
static DAT_RETURN share_locked(struct backend *b)
{
	DAT_RETURN ret = DAT_FAIL(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	bool alone = __libc_single_threaded;

	if (alone)
		pthread_mutex_lock(&b->lock);
	b->shared = b->world;
	b->faults.count = 0;
	/* Before the turn, which somebody may have who is gone: the helper sees to that. */
	if (!helper_start(b)) {
		b->shared = NULL;
		if (alone)
			pthread_mutex_unlock(&b->lock);
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	}
	turn_enter(b);
	if (!b->shared)
		return ret;
	if (!share_faults(b)) {
		b->kind->leave(b->shared);
		helper_end(b, b->shared);
		return ret;
	}
	if (!b->threaded)
		tell_threaded(b);
	backend_make_quick(b, b->kind->quick(b->shared));
	return DAT_SUCCESS;
}

static DAT_RETURN share_world(struct backend *b)
{
	DAT_RETURN ret = share_locked(b);

	if (ret == DAT_SUCCESS || !b->world)
		return ret;
	b->kind->world_destroy(b->world);
	b->world = NULL;
	return ret;
}

DAT_RETURN backend_make_world(struct backend *b, const struct nic_config *config)
{
	struct nic_config env;
	int err;

	assert(!b->world);
	if (!config) {
		if (!knob_config(&env))
			return DAT_FAIL(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
		config = &env;
	}
	err = b->kind->world_create(config, &b->world);
	if (err == -ENOMEM)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (err == -ENODEV)
		return DAT_FAIL(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	/* What the environment asks for and cannot be is an error, not a default (ruling E11). */
	if (err)
		return DAT_FAIL(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	complete_ops(&b->ops, b->kind->control(b->world)->ops);
	b->door = &b->ops;
	b->seed = config->seed;
	b->kind->control(b->world)->ops = b->door;
	set_threaded(b, b->kind->control(b->world));
	if (b->kind->shared && b->kind->shared(b->world))
		return share_world(b);
	if (!load_faults(b, true)) {
		fault_door_end(fault_door_take(b));
		b->kind->world_destroy(b->world);
		b->world = NULL;
		return DAT_FAIL(DAT_INVALID_PARAMETER, DAT_NO_SUBTYPE);
	}
	return DAT_SUCCESS;
}

void backend_end_world(struct backend *b)
{
	struct nic_world *world = b->world;
	struct nic_faults *fault;

	assert(world && TAILQ_EMPTY(&b->adapters));
	fault_text_end(b);
	b->ending = true;
	while (b->sim_users > 0) {
		backend_wake(b);
		backend_sleep(b);
	}
	b->ending = false;
	/* From here on there is none: another may be made while the helper is seen off. */
	b->world = NULL;
	fault = fault_door_take(b);
	b->made_by_test = false;
	if (b->sim != DAT_HANDLE_NULL)
		handle_retire(b->sim);
	b->sim = DAT_HANDLE_NULL;
	backend_wake(b);
	b->ops.wake(b->kind->control(world));
	if (b->shared) {
		backend_make_quick(b, false);
		b->kind->leave(b->shared);
	}
	helper_end(b, b->shared);
	fault_door_end(fault);
	b->kind->world_destroy(world);
}

static void say_no_adapter(struct backend *b, const char *name)
{
	char list[256] = "", one[DAT_NAME_MAX_LENGTH];
	size_t length = 0;

	for (unsigned int i = 0;
	     length < sizeof(list) && b->kind->adapter_name(b->world, i, one, sizeof(one)); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
					   i ? ", " : "", one);
	say("there is no adapter \"%.64s\"; backend %s has %s", name, b->kind->name,
	    list[0] ? list : "none");
}

static DAT_RETURN open_fresh(struct backend *b, const char *name, struct adapter **out)
{
	struct adapter *adapter = calloc(1, sizeof(*adapter));
	DAT_RETURN ret;
	int err;

	if (!adapter)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	adapter->backend = b;
	TAILQ_INIT(&adapter->ias);
	snprintf(adapter->name, sizeof(adapter->name), "%s", name);
	err = b->kind->open(b->world, name, b->fault ? &b->up : &backend_upcalls, adapter,
			    &adapter->nic);
	if (err) {
		ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
		if (err == -ENODEV) {
			say_no_adapter(b, name);
			ret = DAT_FAIL(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
		}
		free(adapter);
		return ret;
	}
	adapter->nic->ops = b->door;
	if (!adapter->nic->label[0])
		snprintf(adapter->nic->label, sizeof(adapter->nic->label), "%.31s", name);
	set_threaded(b, adapter->nic);
	assert_caps(&b->ops, adapter->nic->caps);
	b->ops.query(adapter->nic, &adapter->attr);
	TAILQ_INSERT_TAIL(&b->adapters, adapter, link);
	*out = adapter;
	return DAT_SUCCESS;
}

DAT_RETURN backend_open_adapter(struct backend *b, const char *name, struct adapter **out)
{
	char canonical[DAT_NAME_MAX_LENGTH];
	struct adapter *adapter;
	DAT_RETURN ret;

	if (b->kind->canonical) {
		b->kind->canonical(b->world, name, canonical, sizeof(canonical));
		name = canonical;
	}
	TAILQ_FOREACH(adapter, &b->adapters, link)
		if (strcmp(adapter->name, name) == 0)
			break;
	if (!adapter) {
		ret = open_fresh(b, name, &adapter);
		if (ret != DAT_SUCCESS)
			return ret;
	}
	adapter->opens++;
	*out = adapter;
	return DAT_SUCCESS;
}

void backend_close_adapter(struct adapter *adapter)
{
	struct backend *b = adapter->backend;

	if (--adapter->opens > 0)
		return;
	TAILQ_REMOVE(&b->adapters, adapter, link);
	b->door->close(adapter->nic);
	free(adapter->lmrs);
	free(adapter);
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
