/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fault_door.c - install and remove the decorator of faults, and pass upcalls through it to the
 * front that owns the object.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "fault_door.h"

/* ---- services for the decorator ---- */

/*
 * The name of an adapter in rules. In a shared fabric several processes have an adapter of one
 * name, so it is the one in traces.
 */
static const char *name_of(const struct adapter *adapter)
{
	return adapter->backend->shared ? adapter->nic->label : adapter->name;
}

static const char *adapter_name(const struct nic *nic)
{
	return nic->ctx ? name_of(nic->ctx) : "";
}

static const struct front_ops *front_of(const void *ctx)
{
	const struct adapter *adapter = ((const struct host_obj *)ctx)->nic->ctx;

	return adapter->front->ops;
}

static uint32_t qp_name(const void *qp_ctx, const char **noun)
{
	return front_of(qp_ctx)->qp_name(qp_ctx, noun);
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

static void process_restarts(void *host_ctx)
{
	struct backend *b = host_ctx;

	if (b->shared)
		b->kind->outside(b->shared, NIC_OUTSIDE_RESTARTS);
}

/*
 * ---- upcalls, past the decorator: to the front whose object it is; those of the calls of
 * PATH_PRIVATE and PATH_TRACED cannot come while there is one ----
 */

static void upcall_pass_notify(void *cq_ctx)
{
	front_of(cq_ctx)->up->cq_notify(cq_ctx);
}

static void upcall_pass_lost(void *cq_ctx, void *qp_ctx, enum nic_opcode opcode)
{
	front_of(qp_ctx)->up->cq_lost(cq_ctx, qp_ctx, opcode);
}

static void upcall_pass_srq_limit(void *srq_ctx)
{
	front_of(srq_ctx)->up->srq_limit(srq_ctx);
}

static void upcall_pass_soft_limit(void *qp_ctx)
{
	front_of(qp_ctx)->up->qp_soft_limit(qp_ctx);
}

static void upcall_pass_qp_event(void *qp_ctx, enum nic_qp_event what)
{
	front_of(qp_ctx)->up->qp_event(qp_ctx, what);
}

static void upcall_pass_conn_request(void *listener_ctx, struct nic_conn *conn)
{
	front_of(listener_ctx)->up->conn_request(listener_ctx, conn);
}

static void upcall_pass_established(void *qp_ctx, const struct nic_conn_param *peer)
{
	front_of(qp_ctx)->up->established(qp_ctx, peer);
}

static void upcall_pass_conn_end(void *qp_ctx, enum nic_conn_end why)
{
	front_of(qp_ctx)->up->conn_end(qp_ctx, why);
}

static void upcall_pass_adapter_failed(void *nic_ctx)
{
	((struct adapter *)nic_ctx)->front->ops->up->adapter_failed(nic_ctx);
}

static void upcall_pass_adapter_event(void *nic_ctx, enum nic_adapter_event what)
{
	((struct adapter *)nic_ctx)->front->ops->up->adapter_event(nic_ctx, what);
}

static const struct nic_upcalls passed = {
	.cq_notify = upcall_pass_notify,
	.cq_lost = upcall_pass_lost,
	.srq_limit = upcall_pass_srq_limit,
	.qp_soft_limit = upcall_pass_soft_limit,
	.qp_event = upcall_pass_qp_event,
	.conn_request = upcall_pass_conn_request,
	.established = upcall_pass_established,
	.conn_end = upcall_pass_conn_end,
	.adapter_failed = upcall_pass_adapter_failed,
	.adapter_event = upcall_pass_adapter_event,
	BACKEND_SERVICES,
};

/* ---- upcalls from the NIC while there is a decorator: each asks it first ---- */

/* True: the decorator keeps the upcall for later, or for good. */
static bool upcall_spoilt(uint32_t event, void *ctx, struct nic_conn *conn,
			  const struct nic_conn_param *peer)
{
	struct nic *nic = ((struct host_obj *)ctx)->nic;
	struct nic_fault_upcall upcall = { .event = event,
					   .nic = nic,
					   .ctx = ctx,
					   .conn = conn,
					   .peer = peer };

	return nic_fault_upcall(((struct adapter *)nic->ctx)->backend->fault, &upcall);
}

static void upcall_ask_notify(void *cq_ctx)
{
	if (!upcall_spoilt(NIC_EVENT_NOTIFY, cq_ctx, NULL, NULL))
		upcall_pass_notify(cq_ctx);
}

static void upcall_ask_srq_limit(void *srq_ctx)
{
	if (!upcall_spoilt(NIC_EVENT_SRQ_LIMIT, srq_ctx, NULL, NULL))
		upcall_pass_srq_limit(srq_ctx);
}

static void upcall_ask_soft_limit(void *qp_ctx)
{
	if (!upcall_spoilt(NIC_EVENT_SOFT_LIMIT, qp_ctx, NULL, NULL))
		upcall_pass_soft_limit(qp_ctx);
}

static void upcall_ask_conn_request(void *listener_ctx, struct nic_conn *conn)
{
	if (!upcall_spoilt(NIC_EVENT_CONN_REQUEST, listener_ctx, conn, NULL))
		upcall_pass_conn_request(listener_ctx, conn);
}

static void upcall_ask_established(void *qp_ctx, const struct nic_conn_param *peer)
{
	if (!upcall_spoilt(NIC_EVENT_ESTABLISHED, qp_ctx, NULL, peer))
		upcall_pass_established(qp_ctx, peer);
}

static void upcall_ask_conn_end(void *qp_ctx, enum nic_conn_end why)
{
	if (!upcall_spoilt((uint32_t)NIC_EVENT_END << why, qp_ctx, NULL, NULL))
		upcall_pass_conn_end(qp_ctx, why);
}

static void upcall_ask_qp_event(void *qp_ctx, enum nic_qp_event what)
{
	uint32_t alarm = what == NIC_QP_ALARM ? front_of(qp_ctx)->alarm(qp_ctx) : NIC_ALARMS;

	if (alarm == NIC_ALARMS ||
	    !upcall_spoilt((uint32_t)NIC_EVENT_ALARM << alarm, qp_ctx, NULL, NULL))
		upcall_pass_qp_event(qp_ctx, what);
}

static const struct nic_upcalls asked = {
	.cq_notify = upcall_ask_notify,
	.cq_lost = upcall_pass_lost,
	.srq_limit = upcall_ask_srq_limit,
	.qp_soft_limit = upcall_ask_soft_limit,
	.qp_event = upcall_ask_qp_event,
	.conn_request = upcall_ask_conn_request,
	.established = upcall_ask_established,
	.conn_end = upcall_ask_conn_end,
	.adapter_failed = upcall_pass_adapter_failed,
	.adapter_event = upcall_pass_adapter_event,
	BACKEND_SERVICES,
};

/* ---- install and remove ---- */

struct nic_faults *fault_door(struct backend *b)
{
	struct nic_fault_host host = { .adapter_name = adapter_name,
				       .qp_name = qp_name,
				       .adapter = find_adapter,
				       .restarts = process_restarts,
				       .up = &passed,
				       .ctx = b };
	struct adapter *adapter;
	struct nic *control;

	if (b->fault)
		return b->fault;
	control = b->kind->control(b->world);
	b->fault = nic_fault_create(&b->ops, control, &host, b->seed);
	if (!b->fault)
		return NULL;
	b->door = nic_fault_ops(b->fault);
	control->ops = b->door;
	TAILQ_FOREACH(adapter, &b->adapters, link) {
		adapter->nic->ops = b->door;
		adapter->nic->up = &asked;
		/* The decorator divides each CQ's limit from now on, so it has to learn them. */
		adapter->front->ops->repeat_cq_limits(adapter);
	}
	path_block(b, PATH_BLOCK_FAULTS, 1);
	return b->fault;
}

struct nic_faults *fault_door_take(struct backend *b)
{
	struct nic_faults *fault = b->fault;

	if (fault)
		path_block(b, PATH_BLOCK_FAULTS, -1);
	b->fault = NULL;
	b->door = &b->ops;
	return fault;
}

void fault_door_end(struct nic_faults *fault)
{
	if (fault)
		nic_fault_destroy(fault);
}

const struct nic_upcalls *fault_door_upcalls(const struct front *front)
{
	return front->backend->fault ? &asked : front->ops->up;
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

void *nic_malloc(struct nic *nic, size_t size, const char *where)
{
	return nic_has_memory(nic, where) ? malloc(size) : NULL;
}

void *nic_calloc(struct nic *nic, size_t n, size_t size, const char *where)
{
	return nic_has_memory(nic, where) ? calloc(n, size) : NULL;
}

void *nic_realloc(struct nic *nic, void *old, size_t size, const char *where)
{
	return nic_has_memory(nic, where) ? realloc(old, size) : NULL;
}
