/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evd_wait.c - dat_evd_wait, and the upcall for completions.
 *
 * If enough events are queued when the call begins, it returns at once, whether or not they are
 * notifications. Once blocked, the caller is woken by notifications, by its deadline, or by the end
 * of the EVD (ruling A2a).
 */
#include "host/agent.h"
#include "host/outside/outside.h"
#include "lib/api.h"
#include "cno.h"
#include "evd.h"

void evd_wake(struct evd *evd)
{
	struct nic *nic = obj_nic(&evd->obj);

	if (evd->waiting)
		nic->up->wake(nic->ctx);
}

bool evd_poll(struct evd *evd, DAT_EVENT *event)
{
	struct nic *nic = evd->obj.nic;
	uint64_t deadline = nic->ops->now(nic) + nic->poll_quantum_ns;
	enum nic_wait outcome;

	do {
		nic->attention = false;
		outcome = nic->ops->wait(nic, evd->cq, deadline);
		if (evd_take(evd, event))
			return true;
	} while (outcome == NIC_WAIT_RAN);
	return false;
}

/* ---- upcall: a completion was added ---- */

/* Ruling C1: a completion that is no notification does not trigger the CNO. */
static void evd_notify_cno(struct evd *evd)
{
	obj_nic(&evd->obj)->ops->cq_arm(evd->cq);
	if (evd->selective && !evd->cq->picks) {
		evd->notified = false;
		evd_drain(evd);
		if (!evd->notified)
			return;
	}
	cno_notify(evd);
}

void evd_on_notify(void *cq_ctx)
{
	struct evd *evd = cq_ctx;

	/* If some completions are no notifications, the waiter drains the CQ and checks each. */
	if (!evd->selective || evd->cq->picks)
		evd->notified = true;
	backend_busy(evd->obj.nic);
	if (evd->cno && evd->enabled && !evd_has_waiter(evd))
		evd_notify_cno(evd);
	evd_wake(evd);
}

/* ---- the wait ---- */

static DAT_RETURN evd_wait_done(struct evd *evd, DAT_EVENT *event, DAT_COUNT *nmore)
{
	/* In a shared fabric, an entry that another process wrote may turn out to be invalid. */
	if (!evd_take(evd, event))
		return DAT_FAIL(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	if (nmore)
		*nmore = (DAT_COUNT)evd_count(evd);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_wait_failed(struct evd *evd, DAT_COUNT *nmore, DAT_RETURN ret)
{
	if (nmore)
		*nmore = (DAT_COUNT)evd_count(evd);
	return ret;
}

/*
 * Run the agents of CNOs that are due, which may do anything but destroy the EVD; if none is due,
 * wait in the NIC.
 */
static enum nic_wait evd_wait_step(struct evd *evd, uint64_t deadline)
{
	struct nic *nic = obj_nic(&evd->obj);

	if (agent_calls_due(obj_backend(&evd->obj))) {
		agents_run_waiting(obj_backend(&evd->obj), evd->obj.ia);
		return NIC_WAIT_RAN;
	}
	if (evd->cq)
		nic->ops->cq_arm(evd->cq);
	nic->attention = false;
	return nic->ops->wait(nic, evd->cq, deadline);
}

/* Block until there are `threshold` events and a notification came. evd->waiting is set. */
static DAT_RETURN evd_wait_block(struct evd *evd, uint64_t deadline, uint32_t threshold,
				 DAT_EVENT *event, DAT_COUNT *nmore)
{
	for (;;) {
		enum nic_wait outcome = evd_wait_step(evd, deadline);

		if (evd->dying)
			return DAT_FAIL(DAT_ABORT, DAT_NO_SUBTYPE);
		if (evd->made_unwaitable)
			return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
		if (evd->selective)
			evd_drain(evd);
		if ((evd->notified || outcome == NIC_WAIT_DEADLINE) && evd_count(evd) >= threshold)
			return evd_wait_done(evd, event, nmore);
		switch (outcome) {
		case NIC_WAIT_RAN:
			break;
		case NIC_WAIT_DEADLINE:
			return evd_wait_failed(evd, nmore,
					       DAT_FAIL(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE));
		case NIC_WAIT_HOPELESS:
			if (!evd_hopeless(evd))
				break;
			__attribute__((fallthrough)); /* a signal came */
		case NIC_WAIT_INTERRUPTED:
			return evd_wait_failed(evd, nmore,
					       DAT_FAIL(DAT_INTERRUPTED_CALL, DAT_SUB_INTERRUPTED));
		}
	}
}

static DAT_RETURN evd_wait_check(const struct evd *evd, DAT_COUNT threshold, const DAT_EVENT *event)
{
	if (threshold < 1 || threshold > evd->qlen)
		return BAD_ARG(3);
	if (!event)
		return BAD_ARG(4);
	if (!evd->waitable)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	if (evd->waiting)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	if (threshold != 1 && evd->selective)
		return DAT_FAIL(DAT_INVALID_STATE, evd->solicited
							   ? DAT_INVALID_STATE_EVD_CONFIG_SOLICITED
							   : DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
	return DAT_SUCCESS;
}

uint64_t evd_wait_deadline(const struct obj *obj, DAT_TIMEOUT timeout)
{
	struct nic *nic = obj_nic(obj);
	uint64_t now;

	if (timeout == DAT_TIMEOUT_INFINITE)
		return NIC_TIME_NEVER;
	now = nic->ops->now(nic);
	if (!timeout)
		return now + nic->poll_quantum_ns;
	return now + outside_ahead(obj_backend(obj), now) + timeout * NS_PER_US;
}

static DAT_RETURN evd_wait_locked(struct evd *evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
				  DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct nic *nic = obj_nic(&evd->obj);
	DAT_RETURN ret = evd_wait_check(evd, threshold, event);
	uint64_t deadline;

	if (ret != DAT_SUCCESS)
		return ret;
	/* Read the clock before counting: reading it may run events that are due. */
	deadline = evd_wait_deadline(&evd->obj, timeout);
	if (evd_count(evd) >= (uint32_t)threshold)
		return evd_wait_done(evd, event, nmore);
	evd_set_waiting(evd, true);
	evd->awaited = (uint32_t)threshold;
	evd->notified = evd->made_unwaitable = false;
	ret = evd_wait_block(evd, deadline, (uint32_t)threshold, event, nmore);
	evd_set_waiting(evd, false);
	/* A thread that destroys the EVD waits until this one has left. */
	nic->up->wake(nic->ctx);
	return ret;
}

DAT_RETURN dat__evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			 DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EVD, &b);
	DAT_RETURN ret;

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	ret = evd_wait_locked(obj_as(struct evd, obj), timeout, threshold, event, nmore);
	/* After DAT_ABORT the destroying thread owns the EVD: do not touch it. */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE || DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		return obj_leave(b, obj, "dat_evd_wait", ret);
	backend_leave(b);
	return ret;
}
