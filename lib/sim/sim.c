/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sim.c - <dat/sim.h>: create and destroy a simulated world, and control its time. Like the other
 * sim_*.c, each call checks its arguments and makes one call of the door.
 */
#include <errno.h>
#include <string.h>

#include "host/agent.h"
#include "lib/api.h"
#include "lib/evd/evd.h"
#include "host/forks.h"
#include "host/knob.h"
#include "host/outside/outside.h"
#include "lib/object.h"
#include "sim.h"

/* A world's handle is a handle like any other; it names an object of this type. */
#define SIM_TYPE 0xfe

/* ---- the handle of a world ---- */

static DAT_RETURN sim_handle(struct backend *b, DAT_SIM_HANDLE *sim)
{
	static struct obj world = { .type = SIM_TYPE };
	struct dat_front *front = dat_front_of(b);

	if (front->sim == DAT_HANDLE_NULL)
		front->sim = handle_issue(&front->provider, &world);
	if (front->sim == DAT_HANDLE_NULL)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	*sim = front->sim;
	return DAT_SUCCESS;
}

struct obj *sim_enter_object(DAT_HANDLE handle, DAT_HANDLE_TYPE type, struct backend **b)
{
	struct handle_slot *slot = handle_slot(handle);

	return slot ? obj_enter(handle, type, b) : NULL;
}

struct nic *sim_enter_any(DAT_SIM_HANDLE sim, struct backend **b)
{
	if (!sim_enter_object(sim, (DAT_HANDLE_TYPE)SIM_TYPE, b))
		return NULL;
	if ((*b)->ending) {
		backend_leave(*b);
		return NULL;
	}
	return (*b)->kind->control((*b)->world);
}

struct nic *sim_enter(DAT_SIM_HANDLE sim, struct backend **b)
{
	struct nic *nic = sim_enter_any(sim, b);

	if (!nic || (*b)->kind->simulated)
		return nic;
	backend_leave(*b);
	return NULL;
}

DAT_RETURN sim_refusal(DAT_SIM_HANDLE sim)
{
	struct backend *b;

	if (!sim_enter_any(sim, &b))
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	backend_leave(b);
	return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

DAT_RETURN sim_result(int err, unsigned int name_arg)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -EOPNOTSUPP:
		return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	case -ENOMEM:
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	default:
		return BAD_ARG_NUMBER(name_arg);
	}
}

/* ---- create and destroy a world ---- */

bool sim_config_read(const DAT_SIM_CONFIG *config, struct nic_config *nic)
{
	if (config->profile != DAT_SIM_PROFILE_IB && config->profile != DAT_SIM_PROFILE_IWARP)
		return false;
	if (config->trace != DAT_TRUE && config->trace != DAT_FALSE)
		return false;
	*nic = (struct nic_config){
		.profile = config->profile == DAT_SIM_PROFILE_IB ? "ib" : "iwarp",
		.seed = config->seed,
		.latency_ns = config->latency_ns,
		.bandwidth_bps = config->bandwidth_bps,
		.mtu = config->mtu,
		.rnr_retry = config->rnr_retry,
		.rnr_timer_ns = config->rnr_timer_ns,
		.retry = config->retry,
		.retry_timer_ns = config->retry_timer_ns,
		.poll_quantum_ns = config->poll_quantum_ns,
		.trace = config->trace == DAT_TRUE,
		.hostile = config->hostile,
	};
	return knob_complete(nic);
}

DAT_RETURN dat_sim_config_init(DAT_SIM_CONFIG *config)
{
	struct nic_config nic;

	forks_stop();
	if (!config || !knob_numbers(&nic))
		return BAD_ARG(1);
	*config = (DAT_SIM_CONFIG){
		.profile = strcmp(nic.profile, "iwarp") == 0 ? DAT_SIM_PROFILE_IWARP
							     : DAT_SIM_PROFILE_IB,
		.seed = nic.seed,
		.latency_ns = nic.latency_ns,
		.bandwidth_bps = nic.bandwidth_bps,
		.mtu = nic.mtu,
		.rnr_retry = nic.rnr_retry,
		.rnr_timer_ns = nic.rnr_timer_ns,
		.retry = nic.retry,
		.retry_timer_ns = nic.retry_timer_ns,
		.poll_quantum_ns = nic.poll_quantum_ns,
		.trace = nic.trace ? DAT_TRUE : DAT_FALSE,
		.hostile = nic.hostile,
	};
	return DAT_SUCCESS;
}

/*
 * A program in lockstep has been in the fabric of its environment from before its main. If it has
 * made nothing there, the fabric is as good as not made yet.
 */
static DAT_RETURN sim_make_world(struct backend *b, const struct nic_config *config)
{
	bool attends;

	if (!backend_await_end(b))
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	attends = b->world && outside_attends(b);
	if (attends && !config)
		return DAT_SUCCESS;
	if (attends)
		outside_depart(b);
	if (b->world)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	return dat_backend_refusal(backend_make_world(b, config));
}

DAT_RETURN dat_sim_create(const DAT_SIM_CONFIG *config, DAT_SIM_HANDLE *sim)
{
	struct nic_config nic;
	struct backend *b;
	DAT_RETURN ret;

	if (config && !sim_config_read(config, &nic))
		return BAD_ARG(1);
	if (!sim)
		return BAD_ARG(2);
	forks_stop();
	ret = dat_backend_chosen(&b);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!b->kind->simulated)
		return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	backend_enter(b);
	ret = sim_make_world(b, config ? &nic : NULL);
	if (ret == DAT_SUCCESS) {
		ret = sim_handle(b, sim);
		b->kept = true;
		b->attends = false;
		if (ret != DAT_SUCCESS)
			backend_end_world(b);
	}
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_destroy(DAT_SIM_HANDLE sim)
{
	struct backend *b;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!sim_enter(sim, &b))
		return BAD_SIM;
	if (!TAILQ_EMPTY(&b->adapters) || agent_waits_below(NULL))
		ret = DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	else
		backend_end_world(b);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_of(DAT_IA_HANDLE ia, DAT_SIM_HANDLE *sim)
{
	struct backend *b;
	struct obj *obj = sim_enter_object(ia, DAT_HANDLE_TYPE_IA, &b);
	DAT_RETURN ret;

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!sim)
		ret = BAD_ARG(2);
	else
		ret = sim_handle(b, sim);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_backend(DAT_IA_HANDLE ia, const char **name)
{
	struct backend *b;
	struct obj *obj = sim_enter_object(ia, DAT_HANDLE_TYPE_IA, &b);
	DAT_RETURN ret = DAT_SUCCESS;

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (name)
		*name = b->kind->name;
	else
		ret = BAD_ARG(2);
	backend_leave(b);
	return ret;
}

/* ---- time ---- */

DAT_RETURN dat_sim_now(DAT_SIM_HANDLE sim, DAT_UINT64 *now_ns)
{
	struct backend *b;
	struct nic *nic;
	DAT_RETURN ret = DAT_SUCCESS;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	if (now_ns)
		*now_ns = nic->ops->now(nic);
	else
		ret = BAD_ARG(2);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_pending(DAT_SIM_HANDLE sim, DAT_COUNT *events, DAT_UINT64 *next_ns)
{
	uint64_t next = NIC_TIME_NEVER;
	struct backend *b;
	struct nic *nic;
	uint32_t n;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	n = nic->ops->sim_pending(nic, &next);
	if (events)
		*events = (DAT_COUNT)n;
	if (next_ns)
		*next_ns = next;
	backend_leave(b);
	return DAT_SUCCESS;
}

DAT_RETURN dat_sim_violations(DAT_SIM_HANDLE sim, DAT_COUNT *count)
{
	struct backend *b;
	struct nic *nic = sim_enter(sim, &b);

	if (!nic)
		return BAD_SIM;
	if (count)
		*count = (DAT_COUNT)nic->ops->sim_violations(nic);
	backend_leave(b);
	return count ? DAT_SUCCESS : BAD_ARG(2);
}

#define CLOCK_END (1ul << 62) /* sums of times never wrap */

/* Let time pass until the deadline; run agents when they are due. */
static void sim_pass_until(struct backend *b, struct nic *nic, uint64_t deadline)
{
	while (!b->ending) {
		if (agent_calls_due(b))
			agents_run_waiting(b, NULL);
		else if (nic->ops->wait(nic, NULL, deadline) != NIC_WAIT_RAN)
			break;
	}
}

/*
 * Run the next event, which is due at `next`. In a fabric that processes share, none of them can
 * do that alone: its time passes by itself, and the call waits until it has come to `next`.
 */
static void sim_run_next(struct backend *b, struct nic *nic, uint64_t next)
{
	if (!nic->ops->sim_step(nic))
		sim_pass_until(b, nic, next);
}

DAT_RETURN dat_sim_step(DAT_SIM_HANDLE sim)
{
	struct backend *b;
	struct nic *nic;
	uint64_t next;
	bool any;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	any = nic->ops->sim_pending(nic, &next) > 0;
	if (any) {
		backend_use(b);
		sim_run_next(b, nic, next);
		backend_unuse(b);
	}
	backend_leave(b);
	return any ? DAT_SUCCESS : DAT_QUEUE_EMPTY;
}

DAT_RETURN dat_sim_advance(DAT_SIM_HANDLE sim, DAT_UINT64 ns)
{
	DAT_RETURN ret = DAT_SUCCESS;
	struct backend *b;
	struct nic *nic;
	uint64_t now;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	now = nic->ops->now(nic);
	if (now > CLOCK_END || ns > CLOCK_END - now) {
		backend_leave(b);
		return BAD_ARG(2);
	}
	backend_use(b);
	sim_pass_until(b, nic, now + ns);
	if (b->ending)
		ret = DAT_FAIL(DAT_ABORT, DAT_NO_SUBTYPE);
	backend_unuse(b);
	backend_leave(b);
	return ret;
}

DAT_RETURN dat_sim_run_until_quiet(DAT_SIM_HANDLE sim, DAT_UINT64 limit_ns)
{
	DAT_RETURN ret = DAT_SUCCESS;
	uint64_t deadline, next;
	struct backend *b;
	struct nic *nic;

	nic = sim_enter(sim, &b);
	if (!nic)
		return BAD_SIM;
	deadline = nic->ops->now(nic);
	deadline = limit_ns < CLOCK_END - deadline ? deadline + limit_ns : CLOCK_END;
	backend_use(b);
	while (!b->ending && nic->ops->sim_pending(nic, &next) > 0) {
		if (next > deadline) {
			ret = DAT_FAIL(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE);
			sim_pass_until(b, nic, deadline);
			break;
		}
		sim_run_next(b, nic, next);
		if (agent_calls_due(b))
			agents_run_waiting(b, NULL);
	}
	backend_unuse(b);
	backend_leave(b);
	return ret;
}
