/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for events: the one place where a call lets time pass.
 *
 * A caller is handed at once what is queued already, notification or not; once it has had to block, it
 * is woken by notifications, by its deadline, or by the EVD's end (ruling A2a).
 */
#include "agent.h"
#include "api.h"
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

/* ---- a completion came: an upcall ---- */

/* A completion for an EVD with a CNO: ruling C1, "completions that are no notifications never latch". */
static void notify_cno(struct evd *evd)
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

	/* Where some completions are no notifications, the waiter drains and sees for itself. */
	if (!evd->selective || evd->cq->picks)
		evd->notified = true;
	backend_busy(evd->obj.nic);
	if (evd->cno && evd->enabled && !evd_has_waiter(evd))
		notify_cno(evd);
	evd_wake(evd);
}

/* ---- the wait ---- */

static DAT_RETURN ready(struct evd *evd, DAT_EVENT *event, DAT_COUNT *nmore)
{
	/* What another process wrote into a shared fabric may turn out to be no completion. */
	if (!evd_take(evd, event))
		return DAT_FAIL(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	if (nmore)
		*nmore = (DAT_COUNT)evd_count(evd);
	return DAT_SUCCESS;
}

static DAT_RETURN give_up(struct evd *evd, DAT_COUNT *nmore, DAT_RETURN ret)
{
	if (nmore)
		*nmore = (DAT_COUNT)evd_count(evd);
	return ret;
}

/* Let the world go on, or the agents of CNOs, which may do anything but end the EVD. */
static enum nic_wait step(struct evd *evd, uint64_t deadline)
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

/* Block until `threshold` events are there and a notification came. evd->waiting is set. */
static DAT_RETURN block(struct evd *evd, uint64_t deadline, uint32_t threshold, DAT_EVENT *event,
			DAT_COUNT *nmore)
{
	for (;;) {
		enum nic_wait outcome = step(evd, deadline);

		if (evd->dying)
			return DAT_FAIL(DAT_ABORT, DAT_NO_SUBTYPE);
		if (evd->turned_away)
			return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
		if (evd->selective)
			evd_drain(evd);
		if ((evd->notified || outcome == NIC_WAIT_DEADLINE) && evd_count(evd) >= threshold)
			return ready(evd, event, nmore);
		switch (outcome) {
		case NIC_WAIT_RAN:
			break;
		case NIC_WAIT_DEADLINE:
			return give_up(evd, nmore, DAT_FAIL(DAT_TIMEOUT_EXPIRED, DAT_NO_SUBTYPE));
		case NIC_WAIT_HOPELESS:
			if (!evd_hopeless(evd))
				break;
			__attribute__((fallthrough)); /* a signal came */
		case NIC_WAIT_INTERRUPTED:
			return give_up(evd, nmore,
				       DAT_FAIL(DAT_INTERRUPTED_CALL, DAT_SUB_INTERRUPTED));
		}
	}
}

static DAT_RETURN check_wait(const struct evd *evd, DAT_COUNT threshold, const DAT_EVENT *event)
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

uint64_t evd_wait_deadline(struct nic *nic, DAT_TIMEOUT timeout)
{
	if (timeout == DAT_TIMEOUT_INFINITE)
		return NIC_TIME_NEVER;
	return nic->ops->now(nic) + (timeout ? timeout * NS_PER_US : nic->poll_quantum_ns);
}

static DAT_RETURN wait_locked(struct evd *evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			      DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct nic *nic = obj_nic(&evd->obj);
	DAT_RETURN ret = check_wait(evd, threshold, event);
	uint64_t deadline;

	if (ret != DAT_SUCCESS)
		return ret;
	/* First, for reading the clock may run what is due. */
	deadline = evd_wait_deadline(nic, timeout);
	if (evd_count(evd) >= (uint32_t)threshold)
		return ready(evd, event, nmore);
	evd_set_waiting(evd, true);
	evd->notified = evd->turned_away = false;
	ret = block(evd, deadline, (uint32_t)threshold, event, nmore);
	evd_set_waiting(evd, false);
	/* Who destroys the EVD waits for us to be out of it. */
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
	ret = wait_locked(obj_as(struct evd, obj), timeout, threshold, event, nmore);
	/* After DAT_ABORT the EVD belongs to whoever destroys it. */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE || DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		return obj_leave(b, obj, "dat_evd_wait", ret);
	backend_leave(b);
	return ret;
}
