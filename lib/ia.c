/* SPDX-License-Identifier: BSD-3-Clause */
/* ia.c - dat_ia_open (of libdat's own adapters), dat_ia_query and dat_ia_close. */
#include <stdlib.h>
#include <string.h>

#include "host/agent.h"
#include "api.h"
#include "lib/evd/cno.h"
#include "lib/connect/cr.h"
#include "lib/ep/ep.h"
#include "host/fault_door.h"
#include "ia.h"
#include "lib/memory/lmr.h"
#include "lib/memory/pz.h"
#include "lib/memory/rmr.h"
#include "lib/connect/sp.h"
#include "lib/ep/srq.h"

#define IA_OPENS_MAX 64 /* per adapter: ruling G9 */

/* ---- open ---- */

/*
 * Find the async EVD of a new IA. *evd is NULL if it is to be made here, or if another IA's gets
 * the events.
 */
static DAT_RETURN ia_choose_async(struct ia *ia, DAT_EVD_HANDLE wanted, DAT_COUNT qlen,
				  struct evd **evd)
{
	struct obj *obj;

	*evd = NULL;
	if (wanted == DAT_HANDLE_NULL)
		return qlen < 1 ? BAD_ARG(2) : DAT_SUCCESS;
	if (wanted == DAT_EVD_ASYNC_EXISTS)
		return ia_async_evd(ia)
			       ? DAT_SUCCESS
			       : DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	obj = obj_find(ia->adapter->base.backend, wanted, DAT_HANDLE_TYPE_EVD);
	if (!obj || obj->ia->adapter != ia->adapter ||
	    !(obj_as(struct evd, obj)->flags & DAT_EVD_ASYNC_FLAG))
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	*evd = obj_as(struct evd, obj);
	return DAT_SUCCESS;
}

static DAT_RETURN ia_make_async(struct ia *ia, DAT_COUNT qlen)
{
	DAT_RETURN ret;

	if (qlen > ia->adapter->base.attr.max_cqe)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	ret = evd_make(ia, qlen, DAT_EVD_ASYNC_FLAG, &ia->own_async);
	if (ret != DAT_SUCCESS)
		return ret;
	ia->async = ia->own_async;
	ia->async->refs++;
	return DAT_SUCCESS;
}

/* Open an IA on an adapter that is open and counted. A failure leaves it so. */
static DAT_RETURN ia_open_on(struct dat_adapter *adapter, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			     DAT_IA_HANDLE *out)
{
	DAT_RETURN ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	struct ia *ia = nic_calloc(adapter->base.nic, 1, sizeof(*ia), "ia");
	struct evd *given;

	if (!ia)
		goto fail;
	ia->adapter = adapter;
	TAILQ_INIT(&ia->objects);
	ret = ia_choose_async(ia, *async, qlen, &given);
	if (ret != DAT_SUCCESS)
		goto free_ia;
	ret = DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	if (adapter->base.opens > IA_OPENS_MAX)
		goto free_ia;
	ret = obj_init(&ia->obj, ia, DAT_HANDLE_TYPE_IA);
	if (ret != DAT_SUCCESS)
		goto free_ia;
	if (given) {
		ia->async = given;
		given->refs++;
	} else if (*async == DAT_HANDLE_NULL) {
		ret = ia_make_async(ia, qlen);
		if (ret != DAT_SUCCESS)
			goto fini_obj;
	}
	*async = ia->async ? ia->async->obj.handle : DAT_EVD_OUT_OF_SCOPE;
	TAILQ_INSERT_TAIL(&adapter->ias, ia, link);
	*out = ia->obj.handle;
	return DAT_SUCCESS;

fini_obj:
	obj_fini(&ia->obj);
free_ia:
	free(ia);
fail:
	return ret;
}

static DAT_RETURN ia_open_locked(struct backend *b, const char *name, DAT_COUNT qlen,
				 DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)
{
	struct dat_adapter *adapter;
	struct adapter *base;
	bool made_world;
	DAT_RETURN ret;

	/* An agent that keeps a world from ending gets an error. */
	if (!backend_await_end(b))
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	made_world = !b->world;
	if (made_world) {
		ret = dat_backend_refusal(backend_make_world(b, NULL));
		if (ret != DAT_SUCCESS)
			return ret;
	}
	ret = dat_backend_refusal(backend_open_adapter(&dat_front_of(b)->front, name, &base));
	if (ret != DAT_SUCCESS)
		goto end_world;
	adapter = (struct dat_adapter *)base;
	ret = ia_open_on(adapter, qlen, async, ia);
	if (ret != DAT_SUCCESS)
		goto close_adapter;
	return DAT_SUCCESS;

close_adapter:
	backend_close_adapter(&adapter->base);
end_world:
	if (made_world)
		backend_end_world(b);
	return ret;
}

DAT_RETURN dat__ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			DAT_IA_HANDLE *ia)
{
	struct backend *b;
	DAT_RETURN ret;

	if (!name)
		return BAD_ARG(1);
	if (!async)
		return BAD_ARG(3);
	if (!ia)
		return BAD_ARG(4);
	ret = dat_backend_chosen(&b);
	if (ret != DAT_SUCCESS)
		return ret;
	backend_enter(b);
	ret = ia_open_locked(b, name, qlen, async, ia);
	backend_leave(b);
	return ret;
}

/* ---- query ---- */

static DAT_RETURN ia_query_locked(struct ia *ia, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask,
				  DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
				  DAT_PROVIDER_ATTR *provider_attr)
{
	if ((uint64_t)ia_mask & ~(uint64_t)DAT_IA_FIELD_ALL)
		return BAD_ARG(3);
	if (ia_mask && !ia_attr)
		return BAD_ARG(4);
	if ((uint64_t)provider_mask & ~(uint64_t)DAT_PROVIDER_FIELD_ALL)
		return BAD_ARG(5);
	if (provider_mask && !provider_attr)
		return BAD_ARG(6);
	if (async)
		*async = ia->async ? ia->async->obj.handle : DAT_EVD_OUT_OF_SCOPE;
	if (ia_mask)
		ia_fill_attr(ia->adapter, ia_attr);
	if (provider_mask)
		ia_fill_provider_attr(ia->adapter, provider_attr);
	return DAT_SUCCESS;
}

DAT_RETURN dat__ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask,
			 DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
			 DAT_PROVIDER_ATTR *provider_attr)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave_asked(b, obj, "dat_ia_query",
			       ia_query_locked(obj_as(struct ia, obj), async, ia_mask, ia_attr,
					       provider_mask, provider_attr));
}

/* ---- close ---- */

static void ia_destroy_object(struct obj *obj)
{
	switch ((DAT_HANDLE_TYPE)obj->type) {
	case DAT_HANDLE_TYPE_CR:
		cr_destroy(obj_as(struct cr, obj), false);
		break;
	case DAT_HANDLE_TYPE_PSP:
		sp_destroy(obj_as(struct sp, obj));
		break;
	case DAT_HANDLE_TYPE_RSP:
		rsp_destroy(obj_as(struct sp, obj));
		break;
	case DAT_HANDLE_TYPE_EP:
		ep_destroy(obj_as(struct ep, obj));
		break;
	case DAT_HANDLE_TYPE_RMR:
		rmr_destroy(obj_as(struct rmr, obj));
		break;
	case DAT_HANDLE_TYPE_SRQ:
		srq_destroy(obj_as(struct srq, obj));
		break;
	case DAT_HANDLE_TYPE_LMR:
		lmr_destroy(obj_as(struct lmr, obj));
		break;
	case DAT_HANDLE_TYPE_PZ:
		pz_destroy(obj_as(struct pz, obj));
		break;
	case DAT_HANDLE_TYPE_EVD:
		evd_destroy(obj_as(struct evd, obj));
		break;
	case DAT_HANDLE_TYPE_CNO:
		cno_destroy(obj_as(struct cno, obj));
		break;
	default:
		break;
	}
}

/*
 * Other IAs of the adapter may send their events to an EVD of this one, which is about to be
 * destroyed.
 */
static void ia_orphan_async(struct ia *ia)
{
	struct ia *other;

	TAILQ_FOREACH(other, &ia->adapter->ias, link)
		if (other != ia && other->async && other->async->obj.ia == ia) {
			other->async->refs--;
			other->async = NULL;
		}
}

/* True if a thread waits on the object; it is told to leave. */
static bool obj_evict_waiter(struct obj *obj)
{
	struct evd *evd = obj_as(struct evd, obj);
	struct cno *cno = obj_as(struct cno, obj);

	if (obj->type == DAT_HANDLE_TYPE_EVD && evd->waiting)
		return evd->dying = true;
	if (obj->type == DAT_HANDLE_TYPE_CNO && cno->waiters > 0)
		return cno->dying = true;
	return false;
}

/*
 * Before their objects are destroyed, threads leave dat_evd_wait with DAT_ABORT and dat_cno_wait
 * with a NULL EVD.
 */
static void ia_evict_waiters(struct ia *ia)
{
	struct backend *b = ia->adapter->base.backend;
	struct obj *obj;

again:
	TAILQ_FOREACH(obj, &ia->objects, in_ia) {
		if (!obj_evict_waiter(obj))
			continue;
		backend_wake(b);
		backend_sleep(b);
		goto again;
	}
}

/* An object is destroyed before the objects that it refers to. */
static const DAT_HANDLE_TYPE teardown_order[] = {
	DAT_HANDLE_TYPE_CR,  DAT_HANDLE_TYPE_PSP, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_EP,
	DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_PZ,
	DAT_HANDLE_TYPE_EVD, DAT_HANDLE_TYPE_CNO,
};

static void ia_destroy_all(struct ia *ia)
{
	struct obj *obj, *next;

	for (size_t i = 0; i < sizeof(teardown_order) / sizeof(teardown_order[0]); i++) {
		for (obj = TAILQ_FIRST(&ia->objects); obj; obj = next) {
			next = TAILQ_NEXT(obj, in_ia);
			if (obj->type == teardown_order[i])
				ia_destroy_object(obj);
		}
	}
}

static bool ia_has_only_async(const struct ia *ia)
{
	const struct obj *obj;

	TAILQ_FOREACH(obj, &ia->objects, in_ia)
		if (!ia->own_async || obj != &ia->own_async->obj)
			return false;
	/* It has the IA's own reference, and none of another IA. */
	return !ia->own_async || (ia->own_async->refs == 1 && !ia->own_async->waiting);
}

static bool ia_is_last(const struct ia *ia)
{
	const struct dat_adapter *adapter = ia->adapter;

	return !adapter->base.backend->kept && adapter->base.opens == 1 &&
	       TAILQ_FIRST(&adapter->base.backend->adapters) == &adapter->base &&
	       !TAILQ_NEXT(&adapter->base, link);
}

/*
 * An agent closes the IA while its thread waits, further down the stack, on an object of that IA or
 * on the world.
 */
static bool ia_closes_own_wait(const struct ia *ia)
{
	return agent_waits_below(ia) || (agent_waits_below(NULL) && ia_is_last(ia));
}

static void ia_close_locked(struct ia *ia)
{
	struct dat_adapter *adapter = ia->adapter;
	struct backend *b = adapter->base.backend;

	/* The handle is invalid from here on: no other call starts on it while waiters leave. */
	obj_hide(&ia->obj);
	ia_evict_waiters(ia);
	async_drop(&ia->catastrophe);
	ia->closing = true;
	ia_orphan_async(ia);
	if (ia->async)
		ia->async->refs--;
	ia->async = NULL;
	ia_destroy_all(ia);
	TAILQ_REMOVE(&adapter->ias, ia, link);
	obj_fini(&ia->obj);
	free(ia);
	backend_close_adapter(&adapter->base);
	if (TAILQ_EMPTY(&b->adapters) && !b->kept)
		backend_end_world(b);
}

DAT_RETURN dat__ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_IA, &b);
	struct ia *ia = obj_as(struct ia, obj);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return obj_leave(b, obj, "dat_ia_close", BAD_ARG(2));
	if ((flags == DAT_CLOSE_GRACEFUL_FLAG && !ia_has_only_async(ia)) || ia_closes_own_wait(ia))
		return obj_leave(b, obj, "dat_ia_close",
				 DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE));
	ia_close_locked(ia);
	backend_leave(b);
	return DAT_SUCCESS;
}
