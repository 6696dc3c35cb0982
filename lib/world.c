/* SPDX-License-Identifier: BSD-3-Clause */
/* The world of a backend: how it begins, alone or shared with other processes, and ends; and the adapters open in it. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "backend.h"
#include "fault_door.h"
#include "handle.h"
#include "helper.h"
#include "knob.h"
#include "object.h"
#include "say.h"
#include "turn.h"

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
		backend_tell_threaded(b);
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
	backend_set_threaded(b, b->kind->control(b->world));
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

/* ---- its adapters ---- */

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
	backend_set_threaded(b, adapter->nic);
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
