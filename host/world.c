/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.c - the world of a backend: make one, private or shared with other processes, and end it;
 * open and close the adapters in it.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "backend.h"
#include "fault_door.h"
#include "helper.h"
#include "knob.h"
#include "nic_process.h"
#include "outside/outside.h"
#include "say.h"
#include "turn.h"

/* Lay the backend's table over nic_unsupported, so that no entry is NULL. */
static void backend_complete_ops(struct nic_ops *ops, const struct nic_ops *backend)
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
		assert(to[i]); /* fails if nic_unsupported lacks an entry of nic.h */
}

/* Each capability bit requires its entry in the table. */
static void backend_assert_caps(const struct nic_ops *ops, uint64_t caps)
{
	const struct nic_ops *none = &nic_unsupported;

	assert(!(caps & NIC_CAP_SRQ) || ops->srq_create != none->srq_create);
	assert(!(caps & NIC_CAP_SRQ_RESIZE) || ops->srq_resize != none->srq_resize);
	assert(!(caps & NIC_CAP_CQ_RESIZE) || ops->cq_resize != none->cq_resize);
	assert(!(caps & NIC_CAP_MW) || ops->mw_alloc != none->mw_alloc);
	assert(!(caps & NIC_CAP_HANDOFF) || ops->handoff != none->handoff);
	assert(!(caps & NIC_CAP_NUMBERS) || ops->qp_to != none->qp_to);
	assert(!(caps & NIC_CAP_SIM) || ops->sim_step != none->sim_step);
	assert(!(caps & NIC_CAP_PACKET_RULES) || ops->packet_rule_add != none->packet_rule_add);
}

/* The rules of DATSIM_FAULTS (fault_text.h) apply from the first event on. */
static bool backend_load_faults(struct backend *b, bool packets)
{
	const char *text = process_env("DATSIM_FAULTS");

	b->faults.count = 0;
	/* If the hardware is the fabric, its libibverbs reads the same rules and applies them. */
	if (b->module && process_env("DATSIM_VERBS"))
		return true;
	return !text || fault_text_load(b, text, packets);
}

/*
 * Rules of packets belong to the fabric: the first process to join adds them, and its trace reports
 * their counts. The other rules belong to each process, and so do their counts; the trace has a
 * line each time one acts.
 */
static bool backend_share_faults(struct backend *b)
{
	struct nic *nic = b->kind->control(b->world);
	uint64_t fired;
	bool first, good;

	if (!process_env("DATSIM_FAULTS"))
		return true;
	if (!b->kind->lockstep(b->shared)) {
		say("DATSIM_FAULTS: this fabric is shared by processes in real time, where faults "
		    "cannot be reproduced; unset it, or run the processes in lockstep");
		return false;
	}
	first = nic->ops->packet_rule_fired(nic, 1, &fired) != 0;
	good = backend_load_faults(b, first);
	b->faults.count = 0;
	if (!good)
		fault_door_end(fault_door_take(b));
	return good;
}

/* Threads may wait to make the next one. */
static void backend_has_ended(struct backend *b)
{
	b->ending = false;
	backend_wake(b);
}

/*
 * A shared world has a lock, and a helper thread that watches over it while this process is busy
 * elsewhere. The helper ends the time in which the process has one thread and takes no lock.
 */
static int backend_share_locked(struct backend *b)
{
	bool alone = __libc_single_threaded;

	if (alone)
		pthread_mutex_lock(&b->lock);
	b->shared = b->world;
	b->faults.count = 0;
	/* Before turn_enter: a process that died may have the turn, and the helper notices that. */
	if (!helper_start(b)) {
		b->shared = NULL;
		if (alone)
			pthread_mutex_unlock(&b->lock);
		return -EAGAIN;
	}
	turn_enter(b);
	if (!b->shared)
		return -EINVAL;
	if (!backend_share_faults(b)) {
		b->ending = true;
		b->kind->leave(b->shared);
		helper_end(b, b->shared);
		return -EINVAL;
	}
	if (!b->threaded)
		backend_tell_threaded(b);
	backend_make_quick(b, b->kind->quick(b->shared));
	outside_begin(b);
	return 0;
}

static int backend_share_world(struct backend *b)
{
	int err = backend_share_locked(b);

	if (!err || !b->world)
		return err;
	b->kind->world_destroy(b->world);
	b->world = NULL;
	backend_has_ended(b);
	return err;
}

static int backend_make_world_held(struct backend *b, const struct nic_config *config)
{
	struct nic_config env;
	int err;

	assert(!b->world && !b->ending);
	if (!config) {
		if (!knob_config(&env))
			return -EINVAL;
		config = &env;
	}
	outside_prepare(b);
	err = b->kind->world_create(config, &b->world);
	if (err == -ENOMEM || err == -ENODEV)
		return err;
	/*
	 * Ruling E11: a setting of the environment that cannot be met is an error, not a default.
	 */
	if (err)
		return -EINVAL;
	backend_complete_ops(&b->ops, b->kind->control(b->world)->ops);
	b->door = &b->ops;
	b->seed = config->seed;
	b->kind->control(b->world)->ops = b->door;
	backend_set_threaded(b, b->kind->control(b->world));
	if (b->kind->shared && b->kind->shared(b->world))
		return backend_share_world(b);
	if (!backend_load_faults(b, true)) {
		fault_door_end(fault_door_take(b));
		b->kind->world_destroy(b->world);
		b->world = NULL;
		return -EINVAL;
	}
	path_changed(b); /* it may be traced */
	return 0;
}

int backend_make_world(struct backend *b, const struct nic_config *config)
{
	int cancel = process_cancel_hold();
	int err = backend_make_world_held(b, config);

	process_cancel_release(cancel);
	return err;
}

void backend_end_world(struct backend *b)
{
	struct nic_world *world = b->world;
	int cancel = process_cancel_hold();
	struct nic_faults *fault;

	assert(world && TAILQ_EMPTY(&b->adapters));
	fault_text_end(b);
	b->ending = true;
	while (b->users > 0) {
		backend_wake(b);
		backend_sleep(b);
	}
	b->world = NULL;
	fault = fault_door_take(b);
	b->kept = b->attends = b->silent = false;
	for (int i = 0; i < HOST_FRONTS; i++)
		if (b->fronts[i])
			b->fronts[i]->ops->world_ended(b->fronts[i]);
	backend_wake(b);
	b->ops.wake(b->kind->control(world));
	if (b->shared) {
		backend_make_quick(b, false);
		b->kind->leave(b->shared);
	}
	helper_end(b, b->shared);
	fault_door_end(fault);
	b->kind->world_destroy(world);
	backend_has_ended(b);
	process_cancel_release(cancel);
}

/*
 * Not in the shared world itself, which is unmapped while this thread sleeps. In lockstep a thread
 * has to sleep there, to give up its turn.
 */
static void sleep_while_ending(struct backend *b)
{
	int cancel = process_cancel_hold();

	if (b->shared && b->kind->lockstep(b->shared)) {
		backend_sleep(b);
	} else {
		if (b->shared)
			b->kind->leave(b->shared);
		pthread_cond_wait(&b->wake, &b->lock);
		if (b->shared)
			turn_enter(b);
	}
	process_cancel_release(cancel);
}

bool backend_await_end(struct backend *b)
{
	while (b->ending) {
		if (agent_waits_below(NULL) || helper_is_this())
			return false;
		sleep_while_ending(b);
	}
	return true;
}

/* ---- its adapters ---- */

static void say_no_adapter(struct backend *b, const char *name)
{
	char list[256] = "", one[ADAPTER_NAME_MAX];
	size_t length = 0;

	for (unsigned int i = 0;
	     length < sizeof(list) && b->kind->adapter_name(i, one, sizeof(one)); i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
					   i ? ", " : "", one);
	say("there is no adapter \"%.64s\"; backend %s has %s", name, b->kind->name,
	    list[0] ? list : "none");
}

static struct adapter_bucket *adapter_bucket(struct backend *b, const char *name)
{
	uint32_t hash = 0;

	while (*name)
		hash = hash * 31 + (uint8_t)*name++;
	return &b->named[hash % ADAPTER_BUCKETS];
}

static int backend_open_new(struct front *front, const char *name, struct adapter **out)
{
	struct adapter *adapter = front->ops->adapter_alloc();
	struct backend *b = front->backend;
	int err;

	if (!adapter)
		return -ENOMEM;
	adapter->backend = b;
	adapter->front = front;
	snprintf(adapter->name, sizeof(adapter->name), "%s", name);
	err = b->kind->open(b->world, name, fault_door_upcalls(front), adapter, &adapter->nic);
	if (err) {
		if (err == -ENODEV)
			say_no_adapter(b, name);
		front->ops->adapter_free(adapter);
		/* -ENOMEM means this process's memory; the adapter's lack of room is -ENOSPC. */
		return err == -ENODEV ? err : -ENOSPC;
	}
	adapter->nic->ops = b->door;
	if (!adapter->nic->label[0])
		snprintf(adapter->nic->label, sizeof(adapter->nic->label), "%.31s", name);
	backend_set_threaded(b, adapter->nic);
	backend_assert_caps(&b->ops, adapter->nic->caps);
	b->ops.query(adapter->nic, &adapter->attr);
	TAILQ_INSERT_TAIL(&b->adapters, adapter, link);
	LIST_INSERT_HEAD(adapter_bucket(b, name), adapter, in_bucket);
	if (b->fault)
		nic_fault_opened(b->fault, adapter->nic);
	*out = adapter;
	return 0;
}

int backend_open_adapter(struct front *front, const char *name, struct adapter **out)
{
	struct backend *b = front->backend;
	char canonical[ADAPTER_NAME_MAX];
	struct adapter *adapter;
	int err;

	if (b->kind->canonical) {
		b->kind->canonical(b->world, name, canonical, sizeof(canonical));
		name = canonical;
	}
	LIST_FOREACH(adapter, adapter_bucket(b, name), in_bucket)
	if (adapter->front == front && strcmp(adapter->name, name) == 0)
		break;
	if (!adapter) {
		err = backend_open_new(front, name, &adapter);
		if (err)
			return err;
	}
	adapter->opens++;
	*out = adapter;
	return 0;
}

void backend_close_adapter(struct adapter *adapter)
{
	struct backend *b = adapter->backend;

	if (--adapter->opens > 0)
		return;
	TAILQ_REMOVE(&b->adapters, adapter, link);
	LIST_REMOVE(adapter, in_bucket);
	b->door->close(adapter->nic);
	adapter->front->ops->adapter_free(adapter);
}
