/* SPDX-License-Identifier: BSD-3-Clause */
/* front.c - the verbs front's table for the host: host/front.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/forks.h"
#include "host/nic_process.h"
#include "host/outside/outside.h"

#include "gone.h"
#include "trace.h"
#include "vb.h"

static const size_t no_quick;

#define LEFT_NAMES 8

/* ---- objects ---- */

void vb_obj_add(struct vb_context *context, struct vb_obj *obj, enum vb_kind kind)
{
	obj->host.nic = context->nic;
	obj->context = context;
	obj->kind = kind;
	obj->id = ++context->adapter->last_id[kind];
	obj->users = 0;
	TAILQ_INSERT_TAIL(&context->objects, obj, link);
}

void vb_obj_remove(struct vb_obj *obj)
{
	vb_obj_trace(obj, "free");
	TAILQ_REMOVE(&obj->context->objects, obj, link);
}

/* ---- the table ---- */

static struct front *front_attach(struct backend *b)
{
	static struct front front;

	front = (struct front){ .ops = &vb_front_ops, .backend = b };
	return &front;
}

static struct adapter *front_adapter_alloc(void)
{
	struct vb_adapter *adapter = calloc(1, sizeof(*adapter));

	return adapter ? &adapter->base : NULL;
}

static void front_adapter_free(struct adapter *base)
{
	free(base);
}

static void front_use_path(struct front *front, enum path path)
{
	struct vb_context *context;
	struct adapter *adapter;

	TAILQ_FOREACH(adapter, &front->backend->adapters, link)
		if (adapter->front == front)
			LIST_FOREACH(context, &((struct vb_adapter *)adapter)->contexts, link)
	vb_use_path(context, path);
}

static void front_repeat_cq_limits(struct adapter *base)
{
	struct vb_context *context;
	struct vb_obj *obj;

	LIST_FOREACH(context, &((struct vb_adapter *)base)->contexts, link)
	TAILQ_FOREACH(obj, &context->objects, link)
		if (obj->kind == VB_CQ)
			vb_cq_limit(nic_container_of(obj, struct vb_cq, obj));
}

static uint32_t front_qp_name(const void *qp_obj, const char **noun)
{
	const struct vb_obj *obj = qp_obj;

	*noun = vb_obj_noun(obj);
	return obj->id;
}

static void front_world_ended(struct front *front)
{
	(void)front;
}

static void front_forget(struct front *front)
{
	struct adapter *adapter;

	TAILQ_FOREACH(adapter, &front->backend->adapters, link)
		if (adapter->front == front)
			vb_gone_in_child((struct vb_adapter *)adapter);
	vb_world_forget();
	if (vb_cm)
		vb_cm->forget();
}

/* The first few are named: an object, or a device itself. */
static void name_left(char *names, size_t size, unsigned int n, const char *label,
		      const struct vb_obj *obj)
{
	size_t length = strlen(names);

	if (n >= LEFT_NAMES)
		return;
	if (obj)
		snprintf(names + length, size - length, " %s.%s%u", label, vb_obj_noun(obj),
			 obj->id);
	else
		snprintf(names + length, size - length, " %s", label);
}

static unsigned int front_objects_left(struct front *front, char *names, size_t size)
{
	struct vb_context *context;
	struct adapter *adapter;
	struct vb_obj *obj;
	unsigned int n = 0;

	TAILQ_FOREACH(adapter, &front->backend->adapters, link) {
		if (adapter->front != front)
			continue;
		LIST_FOREACH(context, &((struct vb_adapter *)adapter)->contexts, link)
		{
			name_left(names, size, n++, adapter->nic->label, NULL);
			TAILQ_FOREACH(obj, &context->objects, link)
				name_left(names, size, n++, adapter->nic->label, obj);
		}
	}
	return n;
}

/* ---- upcalls ---- */

static void front_no_soft_limit(void *qp_obj)
{
	(void)qp_obj;
}

static void front_on_qp_event(void *ctx, enum nic_qp_event what)
{
	struct vb_obj *obj = ctx;

	if (obj->kind == VB_QP)
		vb_qp_on_event(nic_container_of(obj, struct vb_qp, obj), what);
	else if (what == NIC_QP_ALARM)
		vb_cm->alarm(obj);
}

static void front_on_request(void *listener, struct nic_conn *conn)
{
	vb_cm->request(listener, conn);
}

static void front_on_established(void *ctx, const struct nic_conn_param *peer)
{
	struct vb_obj *obj = ctx;
	struct vb_qp *qp;

	if (obj->kind == VB_CONN) {
		vb_cm->established(obj, peer);
		return;
	}
	qp = nic_container_of(obj, struct vb_qp, obj);
	vb_qp_enter(qp, IBV_QPS_RTS, "connection");
	if (qp->conn)
		vb_cm->established(qp->conn, peer);
}

static void front_on_end(void *ctx, enum nic_conn_end why)
{
	struct vb_obj *obj = ctx;

	if (obj->kind == VB_CONN)
		vb_cm->end(obj, why);
	else
		vb_qp_on_end(obj, why);
}

static void front_adapter_failed(void *nic_ctx)
{
	struct vb_adapter *adapter = nic_ctx;
	struct ibv_async_event event = { .event_type = IBV_EVENT_DEVICE_FATAL };
	struct vb_context *context;
	struct vb_obj *obj;

	if (adapter->base.failed)
		return;
	adapter->base.failed = true;
	LIST_FOREACH(context, &adapter->contexts, link)
	{
		vb_async_add(context, &event);
		TAILQ_FOREACH(obj, &context->objects, link)
			if (obj->kind == VB_QP)
				vb_qp_fail(nic_container_of(obj, struct vb_qp, obj), "device");
	}
}

static void set_port(struct vb_adapter *adapter, bool up)
{
	struct ibv_async_event event = {
		.element = { .port_num = VB_PORT },
		.event_type = up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR,
	};
	struct vb_context *context;

	if (adapter->port_down == !up)
		return;
	__atomic_store_n(&adapter->port_down, !up, __ATOMIC_RELAXED);
	LIST_FOREACH(context, &adapter->contexts, link)
	vb_async_add(context, &event);
}

static void front_adapter_event(void *nic_ctx, enum nic_adapter_event what)
{
	struct vb_adapter *adapter = nic_ctx;
	struct vb_context *context;

	if (what != NIC_ADAPTER_REMOVED)
		set_port(adapter, what == NIC_ADAPTER_PORT_UP);
	if (vb_cm)
		LIST_FOREACH(context, &adapter->contexts, link)
	vb_cm->adapter(&context->ex.context, what);
}

/* quick.c makes it in full, because a post that fails names the request to the program. */
static int front_on_refused(struct nic_qp *qp, void *request, uint64_t wr_id)
{
	(void)qp;
	(void)request;
	(void)wr_id;
	return -EAGAIN;
}

static int front_on_recv_posted(struct nic_qp *qp, void *request, uint64_t wr_id)
{
	const struct ibv_recv_wr *wr = request;

	(void)wr_id;
	vb_trace_recv(qp->ctx, wr, wr->sg_list->length);
	return 0;
}

static const struct nic_upcalls front_upcalls = {
	.send_refused = front_on_refused,
	.recv_refused = front_on_refused,
	.recv_posted = front_on_recv_posted,
	.cq_notify = vb_cq_on_notify,
	.cq_lost = vb_cq_on_lost,
	.srq_limit = vb_srq_on_limit,
	.qp_soft_limit = front_no_soft_limit,
	.qp_event = front_on_qp_event,
	.conn_request = front_on_request,
	.established = front_on_established,
	.conn_end = front_on_end,
	.adapter_failed = front_adapter_failed,
	.adapter_event = front_adapter_event,
	BACKEND_SERVICES,
};

const struct front_ops vb_front_ops = {
	.name = "verbs",
	.api = FAULT_TEXT_VERBS,
	.quick_size = &no_quick,
	.up = &front_upcalls,
	.attach = front_attach,
	.adapter_alloc = front_adapter_alloc,
	.adapter_free = front_adapter_free,
	.use_path = front_use_path,
	.repeat_cq_limits = front_repeat_cq_limits,
	.qp_name = front_qp_name,
	.alarm = vb_alarm,
	.call_fault = vb_call_fault,
	.world_ended = front_world_ended,
	.forget = front_forget,
	.objects_left = front_objects_left,
};

/*
 * With DAT_PROVIDER=hw the program wants hardware, and there is none here. The backend hw is never
 * this library's: the passthrough would be on itself.
 */
int vb_chosen(struct backend **b)
{
	const char *wanted;
	int err = vb_setting_check();

	forks_stop();
	if (err)
		return err;
	wanted = process_env("DAT_PROVIDER");
	if (!wanted || strcmp(wanted, "hw") != 0)
		return backend_chosen(&vb_front_ops, b);
	if (!vb_setting_for_hw())
		return -ENODEV;
	backend_emulator(&vb_front_ops, b);
	return 0;
}

/* ---- taking part before a device is open ---- */

static bool front_attend(void)
{
	const char *wanted = process_env("DAT_PROVIDER");

	return (!wanted || strcmp(wanted, "hw") != 0 || process_env("DATSIM_VERBS")) &&
	       outside_attend(&vb_front_ops);
}

static void __attribute__((constructor)) front_offer(void)
{
	if (libdat_outside_offer)
		libdat_outside_offer(front_attend);
}
