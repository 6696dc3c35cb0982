/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "ep.h"
#include "evd.h"
#include "fault_door.h"
#include "object.h"

/* ---- what the decorator asks ---- */

/* On a fabric that others share each has an adapter of that name: the trace's name is the one of a rule there. */
static const char *name_of(const struct adapter *adapter)
{
	return adapter->backend->shared ? adapter->nic->label : adapter->name;
}

static const char *adapter_name(const struct nic *nic)
{
	return nic->ctx ? name_of(nic->ctx) : "";
}

static uint32_t qp_name(const void *qp_ctx)
{
	return ((const struct ep *)qp_ctx)->obj.id;
}

static struct nic *find_adapter(void *host_ctx, const char *name)
{
	struct backend *b = host_ctx;
	struct adapter *adapter;

	TAILQ_FOREACH(adapter, &b->adapters, link)
		if (strcmp(name_of(adapter), name) == 0)
			return adapter->nic;
	return NULL;
}

/* ---- upcalls, in place of backend_upcalls: each asks first ---- */

static bool spoilt(uint32_t event, struct obj *obj, struct nic_conn *conn,
		   const struct nic_conn_param *peer)
{
	struct nic_fault_upcall upcall = { .event = event,
					   .nic = obj->nic,
					   .ctx = obj,
					   .conn = conn,
					   .peer = peer };

	return nic_fault_upcall(obj_backend(obj)->fault, &upcall);
}

static void on_notify(void *cq_ctx)
{
	if (!spoilt(NIC_EVENT_NOTIFY, cq_ctx, NULL, NULL))
		backend_upcalls.cq_notify(cq_ctx);
}

static void on_srq_limit(void *srq_ctx)
{
	if (!spoilt(NIC_EVENT_SRQ_LIMIT, srq_ctx, NULL, NULL))
		backend_upcalls.srq_limit(srq_ctx);
}

static void on_soft_limit(void *qp_ctx)
{
	if (!spoilt(NIC_EVENT_SOFT_LIMIT, qp_ctx, NULL, NULL))
		backend_upcalls.qp_soft_limit(qp_ctx);
}

static void on_conn_request(void *listener_ctx, struct nic_conn *conn)
{
	if (!spoilt(NIC_EVENT_CONN_REQUEST, listener_ctx, conn, NULL))
		backend_upcalls.conn_request(listener_ctx, conn);
}

static void on_established(void *qp_ctx, const struct nic_conn_param *peer)
{
	if (!spoilt(NIC_EVENT_ESTABLISHED, qp_ctx, NULL, peer))
		backend_upcalls.established(qp_ctx, peer);
}

static void on_conn_end(void *qp_ctx, enum nic_conn_end why)
{
	if (!spoilt((uint32_t)NIC_EVENT_END << why, qp_ctx, NULL, NULL))
		backend_upcalls.conn_end(qp_ctx, why);
}

/* ---- putting it in ---- */

/* Limits of completion queues are the decorator's to divide from now on: it hears them once more. */
static void tell_limits(struct adapter *adapter)
{
	struct obj *obj;
	struct ia *ia;

	TAILQ_FOREACH(ia, &adapter->ias, link)
		TAILQ_FOREACH(obj, &ia->objects, in_ia)
			if (obj->type == DAT_HANDLE_TYPE_EVD)
				evd_update_limit(obj_as(struct evd, obj));
}

struct nic_faults *fault_door(struct backend *b)
{
	struct nic_fault_host host = { .adapter_name = adapter_name,
				       .qp_name = qp_name,
				       .adapter = find_adapter,
				       .up = &backend_upcalls,
				       .ctx = b };
	struct adapter *adapter;
	struct nic *control;

	if (b->fault)
		return b->fault;
	control = b->kind->control(b->world);
	b->fault = nic_fault_create(&b->ops, control, &host, b->seed);
	if (!b->fault)
		return NULL;
	b->up = backend_upcalls;
	b->up.cq_notify = on_notify;
	b->up.srq_limit = on_srq_limit;
	b->up.qp_soft_limit = on_soft_limit;
	b->up.conn_request = on_conn_request;
	b->up.established = on_established;
	b->up.conn_end = on_conn_end;
	b->door = nic_fault_ops(b->fault);
	control->ops = b->door;
	TAILQ_FOREACH(adapter, &b->adapters, link) {
		adapter->nic->ops = b->door;
		adapter->nic->up = &b->up;
		tell_limits(adapter);
	}
	/* A call that failed must not be tried again in silence: no short ways. */
	agents_expect(b, 1);
	return b->fault;
}

struct nic_faults *fault_door_take(struct backend *b)
{
	struct nic_faults *fault = b->fault;

	if (fault)
		agents_expect(b, -1);
	b->fault = NULL;
	b->door = &b->ops;
	return fault;
}

void fault_door_end(struct nic_faults *fault)
{
	if (fault)
		nic_fault_destroy(fault);
}

int faults_fired(struct backend *b, uint32_t id, uint64_t *fired)
{
	struct nic *nic = b->kind->control(b->world);

	if (id <= NIC_FAULT_ID0)
		return nic->ops->packet_rule_fired(nic, id, fired);
	return b->fault ? nic_fault_fired(b->fault, id, fired) : -ENOENT;
}

/* ---- memory ---- */

bool nic_has_memory(struct nic *nic, const char *where)
{
	const struct backend *b = ((const struct adapter *)nic->ctx)->backend;

	return __builtin_expect(!b->fault, 1) || nic_fault_memory(b->fault, nic, where);
}

void *nic_calloc(struct nic *nic, size_t n, size_t size, const char *where)
{
	return nic_has_memory(nic, where) ? calloc(n, size) : NULL;
}

void *nic_realloc(struct nic *nic, void *old, size_t size, const char *where)
{
	return nic_has_memory(nic, where) ? realloc(old, size) : NULL;
}
