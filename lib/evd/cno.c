/* SPDX-License-Identifier: BSD-3-Clause */
/* cno.c - Consumer Notification Objects: triggers, the agent, and dat_cno_wait. */
#include <string.h>
#include <stdlib.h>

#include "host/agent.h"
#include "lib/api.h"
#include "cno.h"
#include "host/fault_door.h"

#define BAD_CNO  DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO)
#define CNOS_MAX 1024 /* per adapter: ruling G9 */

static const DAT_OS_WAIT_PROXY_AGENT no_agent;

/* ---- triggers ---- */

static void cno_latch(struct cno *cno, struct evd *evd)
{
	if (evd->latched)
		return;
	evd->latched = true;
	TAILQ_INSERT_TAIL(&cno->latched, evd, in_latched);
	if (cno->waiters > 0)
		obj_nic(&cno->obj)->up->wake(obj_nic(&cno->obj)->ctx);
}

static void cno_set_agent(struct cno *cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	int change = (agent.proxy_agent_func != NULL) - (cno->agent.proxy_agent_func != NULL);
	struct evd *evd;

	path_block(obj_backend(&cno->obj), PATH_BLOCK_AGENT, change);
	cno->agent = agent;
	if (change)
		TAILQ_FOREACH(evd, &cno->evds, in_cno)
			evd_update_path(evd);
}

/* Queue a call of the agent, which is removed by its call. */
static void cno_call_agent(struct cno *cno, DAT_EVD_HANDLE evd)
{
	if (!cno->agent.proxy_agent_func)
		return;
	agent_call_queue(obj_backend(&cno->obj), cno->call, cno->agent.proxy_agent_func,
			 cno->agent.instance_data, evd);
	cno_set_agent(cno, no_agent);
}

static void cno_trigger(struct cno *cno, struct evd *evd)
{
	char name[64];

	if (__builtin_expect(obj_nic(&cno->obj)->tracing, 0)) {
		obj_name(&evd->obj, name, sizeof(name));
		obj_trace_line(&cno->obj, "trigger evd=%s agent=%s", name,
			       cno->agent.proxy_agent_func ? "yes" : "no");
	}
	cno_latch(cno, evd);
	cno_call_agent(cno, evd->obj.handle);
}

void cno_notify(struct evd *evd)
{
	if (evd->cno && evd->enabled && !evd_has_waiter(evd))
		cno_trigger(evd->cno, evd);
}

void cno_unlatch(struct evd *evd)
{
	if (evd->latched)
		TAILQ_REMOVE(&evd->cno->latched, evd, in_latched);
	evd->latched = false;
}

void cno_attach(struct evd *evd, struct cno *cno)
{
	bool was_latched = evd->latched;

	if (evd->cno == cno)
		return;
	if (evd->cno) {
		cno_unlatch(evd);
		TAILQ_REMOVE(&evd->cno->evds, evd, in_cno);
	}
	evd->cno = cno;
	if (!cno)
		return;
	TAILQ_INSERT_TAIL(&cno->evds, evd, in_cno);
	if (was_latched)
		cno_trigger(cno, evd);
}

void cno_forget(struct evd *evd)
{
	struct cno *cno = evd->cno;

	cno_attach(evd, NULL);
	if (!cno || !TAILQ_EMPTY(&cno->evds))
		return;
	cno->evds_gone++;
	obj_nic(&cno->obj)->up->wake(obj_nic(&cno->obj)->ctx);
}

bool cno_find(const struct ia *ia, DAT_CNO_HANDLE handle, struct cno **cno)
{
	*cno = NULL;
	if (handle == DAT_HANDLE_NULL)
		return true;
	*cno = obj_as(struct cno, obj_find(ia->adapter->base.backend, handle, DAT_HANDLE_TYPE_CNO));
	return *cno && (*cno)->obj.ia == ia;
}

/* ---- create and free ---- */

static DAT_RETURN cno_create_locked(struct ia *ia, DAT_OS_WAIT_PROXY_AGENT agent,
				    DAT_CNO_HANDLE *out)
{
	DAT_RETURN ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	struct cno *cno;

	if (!out)
		return BAD_ARG(3);
	if (ia->adapter->cnos >= CNOS_MAX)
		goto fail;
	ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	cno = nic_calloc(ia->adapter->base.nic, 1, sizeof(*cno), "cno");
	if (!cno)
		goto fail;
	TAILQ_INIT(&cno->evds);
	TAILQ_INIT(&cno->latched);
	cno->call = agent_call_alloc(ia->adapter->base.nic);
	if (!cno->call)
		goto free_cno;
	ret = obj_init(&cno->obj, ia, DAT_HANDLE_TYPE_CNO);
	if (ret != DAT_SUCCESS)
		goto drop_call;
	ia->adapter->cnos++;
	cno_set_agent(cno, agent);
	obj_trace(cno, "create");
	*out = cno->obj.handle;
	return DAT_SUCCESS;

drop_call:
	agent_call_drop(cno->call);
free_cno:
	free(cno);
fail:
	return ret;
}

DAT_RETURN dat__cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave(b, obj, "dat_cno_create",
			 cno_create_locked(obj_as(struct ia, obj), agent, cno));
}

static void cno_free(struct cno *cno)
{
	cno_set_agent(cno, no_agent);
	agent_call_drop(cno->call);
	obj_trace(cno, "free");
	cno->obj.ia->adapter->cnos--;
	obj_fini(&cno->obj);
	free(cno);
}

void cno_destroy(struct cno *cno)
{
	cno_call_agent(cno, DAT_HANDLE_NULL);
	cno_free(cno);
}

DAT_RETURN dat__cno_free(DAT_CNO_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_CNO, &b);
	struct cno *cno = obj_as(struct cno, obj);

	if (!obj)
		return BAD_CNO;
	if (!TAILQ_EMPTY(&cno->evds) || cno->waiters > 0)
		return obj_leave(b, obj, "dat_cno_free",
				 DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE));
	cno_free(cno);
	backend_leave(b);
	return DAT_SUCCESS;
}

/* ---- the agent ---- */

DAT_RETURN dat__cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_CNO, &b);
	struct cno *cno = obj_as(struct cno, obj);

	if (!obj)
		return BAD_CNO;
	/*
	 * A call of the previous agent may be due in another thread. It goes first: a CNO has one
	 * call at a time.
	 */
	while (cno->call->due) {
		agents_run_now(b);
		obj = obj_find(b, handle, DAT_HANDLE_TYPE_CNO);
		if (!obj) {
			backend_leave(b);
			return BAD_CNO;
		}
	}
	cno_set_agent(cno, agent);
	obj_trace(cno, "modify_agent agent=%s", agent.proxy_agent_func ? "yes" : "no");
	backend_leave(b);
	return DAT_SUCCESS;
}

static DAT_RETURN cno_query_locked(struct cno *cno, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	if ((uint32_t)mask & ~(uint32_t)DAT_CNO_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	memset(param, 0, sizeof(*param)); /* padding, too */
	param->ia_handle = cno->obj.ia->obj.handle;
	param->agent = cno->agent;
	backend_idle(cno->obj.nic);
	return DAT_SUCCESS;
}

DAT_RETURN dat__cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_CNO, &b);

	if (!obj)
		return BAD_CNO;
	return obj_leave_asked(b, obj, "dat_cno_query",
			       cno_query_locked(obj_as(struct cno, obj), mask, param));
}

/* ---- waiting ---- */

/*
 * Take the oldest triggered EVD. A NULL handle ends the wait: the CNO is being destroyed, or its
 * last EVD was freed.
 */
static bool cno_take_latched(struct cno *cno, uint64_t evds_gone, DAT_EVD_HANDLE *out)
{
	struct evd *evd = TAILQ_FIRST(&cno->latched);
	char name[64];

	if (cno->dying || cno->evds_gone != evds_gone) {
		*out = DAT_HANDLE_NULL;
		return true;
	}
	if (!evd)
		return false;
	cno_unlatch(evd);
	*out = evd->obj.handle;
	if (obj_nic(&cno->obj)->tracing) {
		obj_name(&evd->obj, name, sizeof(name));
		obj_trace_return(&cno->obj, "dat_cno_wait", "evd=%s", name);
	}
	return true;
}

static enum nic_wait cno_wait_step(struct cno *cno, uint64_t deadline)
{
	struct nic *nic = obj_nic(&cno->obj);

	if (agent_calls_due(obj_backend(&cno->obj))) {
		agents_run_waiting(obj_backend(&cno->obj), cno->obj.ia);
		return NIC_WAIT_RAN;
	}
	return nic->ops->wait(nic, NULL, deadline);
}

static DAT_RETURN cno_wait_block(struct cno *cno, uint64_t deadline, DAT_EVD_HANDLE *evd)
{
	uint64_t evds_gone = cno->evds_gone;

	while (!cno_take_latched(cno, evds_gone, evd)) {
		enum nic_wait outcome = cno_wait_step(cno, deadline);

		if (outcome == NIC_WAIT_RAN)
			continue;
		if (outcome == NIC_WAIT_HOPELESS && !cno_hopeless(cno))
			continue;
		if (cno_take_latched(cno, evds_gone, evd))
			break;
		if (outcome != NIC_WAIT_DEADLINE)
			return DAT_FAIL(DAT_INTERRUPTED_CALL, DAT_SUB_INTERRUPTED);
		*evd = DAT_HANDLE_NULL; /* rulings G1, G2: bare, and the handle is written */
		return DAT_QUEUE_EMPTY;
	}
	return DAT_SUCCESS;
}

static DAT_RETURN cno_wait_locked(struct cno *cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	struct nic *nic = obj_nic(&cno->obj);
	uint64_t deadline;
	DAT_RETURN ret;

	if (!evd)
		return BAD_ARG(3);
	deadline = evd_wait_deadline(&cno->obj, timeout);
	cno->waiters++;
	ret = cno_wait_block(cno, deadline, evd);
	cno->waiters--;
	/* A thread that destroys the CNO waits until this one has left. */
	if (cno->dying)
		nic->up->wake(nic->ctx);
	return ret;
}

DAT_RETURN dat__cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_CNO, &b);
	DAT_RETURN ret;

	if (!obj)
		return BAD_CNO;
	ret = cno_wait_locked(obj_as(struct cno, obj), timeout, evd);
	/* After a NULL handle the destroying thread may own the CNO: do not touch it. */
	if (DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER)
		return obj_leave(b, obj, "dat_cno_wait", ret);
	backend_leave(b);
	return ret;
}
