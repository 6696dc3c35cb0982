/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * evd_api.c - the API calls on event dispatchers, except dat_evd_wait (evd_wait.c) and
 * dat_evd_dequeue (evd.c).
 */
#include <stdlib.h>
#include <string.h>

#include "lib/api.h"
#include "cno.h"
#include "host/fault_door.h"

#define BAD_EVD   DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1)
#define ALL_FLAGS ((DAT_EVD_FLAGS)(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG))

static DAT_RETURN evd_create_locked(struct ia *ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno_handle,
				    DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *out)
{
	struct evd *evd;
	struct cno *cno;
	DAT_RETURN ret;

	if (!cno_find(ia, cno_handle, &cno))
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (qlen < 1)
		return BAD_ARG(2);
	if (flags == 0 || (flags & ~ALL_FLAGS))
		return BAD_ARG(4);
	if (!out)
		return BAD_ARG(5);
	if (qlen > ia->adapter->base.attr.max_cqe)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	ret = evd_make(ia, qlen, flags, &evd);
	if (ret != DAT_SUCCESS)
		return ret;
	cno_attach(evd, cno);
	evd_update_path(evd);
	obj_trace(evd, "create qlen=%d", qlen);
	*out = evd->obj.handle;
	return DAT_SUCCESS;
}

DAT_RETURN dat__evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	struct backend *b;
	struct obj *obj = obj_enter(ia, DAT_HANDLE_TYPE_IA, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return obj_leave(b, obj, "dat_evd_create",
			 evd_create_locked(obj_as(struct ia, obj), qlen, cno, flags, evd));
}

static DAT_EVD_STATE evd_state(const struct evd *evd)
{
	uint32_t state = evd->enabled ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED;

	state |= evd->waitable ? DAT_EVD_STATE_WAITABLE : DAT_EVD_STATE_UNWAITABLE;
	if (evd->solicited > 0)
		state |= DAT_EVD_STATE_CONFIG_SOLICITED;
	else if (evd->selective == 0 && evd->threshold > 0)
		state |= DAT_EVD_STATE_CONFIG_THRESHOLD;
	else
		state |= DAT_EVD_STATE_CONFIG_NOTIFY;
	return (DAT_EVD_STATE)state;
}

static DAT_RETURN evd_query_locked(struct evd *evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	if (mask & ~DAT_EVD_FIELD_ALL)
		return BAD_ARG(2);
	if (mask == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	memset(param, 0, sizeof(*param)); /* padding, too */
	param->ia_handle = evd->obj.ia->obj.handle;
	param->evd_qlen = evd->qlen;
	param->evd_state = evd_state(evd);
	param->cno_handle = evd->cno ? evd->cno->obj.handle : DAT_HANDLE_NULL;
	param->evd_flags = evd->flags;
	backend_idle(evd->obj.nic);
	return DAT_SUCCESS;
}

DAT_RETURN dat__evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EVD, &b);

	if (!obj)
		return BAD_EVD;
	return obj_leave_asked(b, obj, "dat_evd_query",
			       evd_query_locked(obj_as(struct evd, obj), mask, param));
}

/* Grow or shrink the queue without losing an event; queued events must fit. */
static DAT_RETURN evd_resize_locked(struct evd *evd, DAT_COUNT qlen)
{
	const struct nic_ops *ops = obj_nic(&evd->obj)->ops;
	DAT_COUNT before = evd->qlen;
	struct evd_queue queue;
	int err = 0;

	if (qlen < 1)
		return BAD_ARG(2);
	if (qlen > evd->obj.ia->adapter->base.attr.max_cqe)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	/* The EVD would never hold as many events as the thread waits for. */
	if (evd_has_waiter(evd) && evd->awaited > (uint32_t)qlen)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	if (evd_count(evd) > (uint32_t)qlen)
		return DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	if (!evd_queue_init(&queue, obj_nic(&evd->obj), qlen))
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	/* Should a device report something meanwhile, its event has to fit into both queues. */
	evd->qlen = qlen < before ? qlen : before;
	if (evd->cq)
		err = ops->cq_resize(evd->cq, (uint32_t)qlen);
	if (err) {
		evd->qlen = before;
		evd_queue_fini(&queue);
		return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD));
	}
	evd_queue_replace(&evd->queue, &queue);
	evd->qlen = qlen;
	evd_update_limit(evd);
	/* While it is full the overflow goes on, and has been told. */
	evd->overflowed = evd->overflowed && evd_count(evd) >= (uint32_t)qlen;
	evd_update_quick(evd);
	obj_trace(evd, "resize qlen=%d", qlen);
	evd_queue_waiting_notes(evd);
	return DAT_SUCCESS;
}

DAT_RETURN dat__evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EVD, &b);

	if (!obj)
		return BAD_EVD;
	return obj_leave(b, obj, "dat_evd_resize",
			 evd_resize_locked(obj_as(struct evd, obj), qlen));
}

static DAT_RETURN evd_post_se_locked(struct evd *evd, const DAT_EVENT *event)
{
	DAT_EVENT copy;

	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return BAD_ARG(2);
	copy = *event;
	/* A full queue refuses a software event; that is no overflow. */
	if (!evd_post(evd, &copy))
		return DAT_FAIL(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

DAT_RETURN dat__evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EVD, &b);

	if (!obj)
		return BAD_EVD;
	return obj_leave_asked(b, obj, "dat_evd_post_se",
			       evd_post_se_locked(obj_as(struct evd, obj), event));
}

/* ---- states ---- */

DAT_RETURN dat__evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno_handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EVD, &b);
	struct evd *evd = obj_as(struct evd, obj);
	char name[64] = "NULL";
	struct cno *cno;

	if (!obj)
		return BAD_EVD;
	if (!cno_find(evd->obj.ia, cno_handle, &cno))
		return obj_leave(b, obj, "dat_evd_modify_cno",
				 DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO));
	cno_attach(evd, cno);
	evd_update_path(evd);
	if (cno)
		obj_name(&cno->obj, name, sizeof(name));
	obj_trace(evd, "modify_cno cno=%s", name);
	backend_leave(b);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_set_enabled(DAT_EVD_HANDLE handle, bool enabled)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EVD, &b);
	struct evd *evd = obj_as(struct evd, obj);

	if (!obj)
		return BAD_EVD;
	evd->enabled = enabled;
	evd_update_path(evd);
	obj_trace(evd, "%s", enabled ? "enable" : "disable");
	backend_leave(b);
	return DAT_SUCCESS;
}

DAT_RETURN dat__evd_enable(DAT_EVD_HANDLE handle)
{
	return evd_set_enabled(handle, true);
}

DAT_RETURN dat__evd_disable(DAT_EVD_HANDLE handle)
{
	return evd_set_enabled(handle, false);
}

static DAT_RETURN evd_set_waitable(DAT_EVD_HANDLE handle, bool waitable)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EVD, &b);
	struct evd *evd = obj_as(struct evd, obj);

	if (!obj)
		return BAD_EVD;
	evd->waitable = waitable;
	obj_trace(evd, "%s", waitable ? "clear_unwaitable" : "set_unwaitable");
	/* The waiter leaves with DAT_INVALID_STATE. */
	if (!waitable && evd->waiting)
		evd->made_unwaitable = true;
	evd->obj.nic->attention = true;
	evd_wake(evd);
	backend_leave(b);
	return DAT_SUCCESS;
}

DAT_RETURN dat__evd_set_unwaitable(DAT_EVD_HANDLE handle)
{
	return evd_set_waitable(handle, false);
}

DAT_RETURN dat__evd_clear_unwaitable(DAT_EVD_HANDLE handle)
{
	return evd_set_waitable(handle, true);
}

DAT_RETURN dat__evd_free(DAT_EVD_HANDLE handle)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EVD, &b);
	struct evd *evd = obj_as(struct evd, obj);

	if (!obj)
		return BAD_EVD;
	if (evd->refs > 0)
		return obj_leave(b, obj, "dat_evd_free",
				 DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE));
	if (evd->waiting)
		return obj_leave(b, obj, "dat_evd_free",
				 DAT_FAIL(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER));
	evd_destroy(evd);
	backend_leave(b);
	return DAT_SUCCESS;
}
