/* SPDX-License-Identifier: BSD-3-Clause */
/* front.c - uDAPL's table for the host: host/front.h. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "front.h"
#include "host/nic_process.h"
#include "host/outside/outside.h"
#include "lib/connect/cr.h"
#include "lib/ep/dto.h"
#include "lib/ep/ep.h"
#include "lib/ep/srq.h"
#include "lib/evd/evd.h"
#include "lib/path/path.h"
#include "lib/path/quick_hw.h"
#include "lib/sim/fault_call.h"

#define LEFT_NAMES 5 /* the number of objects that are named */

/* The two rules of host/front.h. */
_Static_assert(offsetof(struct obj, nic) == offsetof(struct host_obj, nic), "host_obj is first");
_Static_assert(offsetof(struct dat_adapter, base) == 0, "the host's part is first");

/* ---- its part of a backend ---- */

static struct front *front_attach(struct backend *b)
{
	static struct dat_front fronts[2]; /* one for "emu", one for "hw" */
	struct dat_front *front = &fronts[0];

	while (front->front.backend)
		front++;
	front->front = (struct front){ .ops = &dat_front_ops, .backend = b };
	front->provider = dat__provider;
	front->provider.device_name = b->kind->name;
	front->provider.extension = b;
	return &front->front;
}

static void front_world_ended(struct front *base)
{
	struct dat_front *front = (struct dat_front *)base;

	if (front->sim != DAT_HANDLE_NULL)
		handle_retire(front->sim);
	front->sim = DAT_HANDLE_NULL;
}

static void front_forget(struct front *base)
{
	struct dat_front *front = (struct dat_front *)base;

	front->sim = DAT_HANDLE_NULL;
	memset(front->live, 0, sizeof(front->live));
	LIST_INIT(&front->shares);
}

/* " emu0.ia1 emu0.pz1": each IA, followed by its objects. */
static void front_name_objects(const struct dat_adapter *adapter, char *names, size_t size,
			       unsigned int *named)
{
	struct obj *obj;
	struct ia *ia;
	char name[64];

	TAILQ_FOREACH(ia, &adapter->ias, link) {
		for (obj = &ia->obj; obj && *named < LEFT_NAMES; (*named)++) {
			obj_name(obj, name, sizeof(name));
			snprintf(names + strlen(names), size - strlen(names), " %s", name);
			obj = obj == &ia->obj ? TAILQ_FIRST(&ia->objects) : TAILQ_NEXT(obj, in_ia);
		}
	}
}

static unsigned int front_objects_left(struct front *base, char *names, size_t size)
{
	const struct dat_front *front = (struct dat_front *)base;
	unsigned int n = 0, named = 0;
	struct adapter *adapter;

	for (unsigned int i = 0; i < OBJ_TYPES; i++)
		n += front->live[i];
	TAILQ_FOREACH(adapter, &base->backend->adapters, link)
		if (adapter->front == base)
			front_name_objects((struct dat_adapter *)adapter, names, size, &named);
	return n;
}

/* ---- adapters ---- */

static struct adapter *front_adapter_alloc(void)
{
	struct dat_adapter *adapter = calloc(1, sizeof(*adapter));

	if (!adapter)
		return NULL;
	TAILQ_INIT(&adapter->ias);
	return &adapter->base;
}

static void front_adapter_free(struct adapter *base)
{
	struct dat_adapter *adapter = (struct dat_adapter *)base;

	free(adapter->lmrs);
	free(adapter);
}

static void front_repeat_cq_limits(struct adapter *base)
{
	struct dat_adapter *adapter = (struct dat_adapter *)base;
	struct obj *obj;
	struct ia *ia;

	TAILQ_FOREACH(ia, &adapter->ias, link)
		TAILQ_FOREACH(obj, &ia->objects, in_ia)
			if (obj->type == DAT_HANDLE_TYPE_EVD)
				evd_update_limit(obj_as(struct evd, obj));
}

static void front_adapter_failed(void *nic_ctx)
{
	struct dat_adapter *adapter = nic_ctx;

	if (adapter->base.failed)
		return;
	adapter->base.failed = true;
	async_send_catastrophe(adapter);
	ep_break_all(adapter);
}

/* ---- the table ---- */

static uint32_t front_qp_name(const void *qp_ctx, const char **noun)
{
	*noun = "ep";
	return ((const struct ep *)qp_ctx)->obj.id;
}

/* No Endpoint is connected by number. */
static void front_no_qp_event(void *qp_ctx, enum nic_qp_event what)
{
	(void)qp_ctx;
	(void)what;
}

/* DAT has no events of ports; a removal is a failure, which was reported. */
static void front_no_adapter_event(void *nic_ctx, enum nic_adapter_event what)
{
	(void)nic_ctx;
	(void)what;
}

static const struct nic_upcalls front_upcalls = {
	.quick = &quick_hw_front,
	.send_refused = dto_send_refused,
	.recv_refused = dto_recv_refused,
	.recv_posted = dto_recv_posted,
	.completed = evd_on_completed,
	.completed_traced = evd_on_completed_traced,
	.no_completion = evd_on_no_completion,
	.cq_notify = evd_on_notify,
	.cq_lost = evd_on_lost,
	.srq_limit = srq_on_limit,
	.qp_soft_limit = ep_on_soft_limit,
	.qp_event = front_no_qp_event,
	.conn_request = cr_on_request,
	.established = ep_on_established,
	.conn_end = ep_on_conn_end,
	.adapter_failed = front_adapter_failed,
	.adapter_event = front_no_adapter_event,
	BACKEND_SERVICES,
};

const struct front_ops dat_front_ops = {
	.name = "uDAPL",
	.api = FAULT_TEXT_DAT,
	.quick_size = &quick_hw_size,
	.up = &front_upcalls,
	.attach = front_attach,
	.adapter_alloc = front_adapter_alloc,
	.adapter_free = front_adapter_free,
	.use_path = path_use,
	.repeat_cq_limits = front_repeat_cq_limits,
	.qp_name = front_qp_name,
	.call_fault = fault_call_text_rule,
	.world_ended = front_world_ended,
	.forget = front_forget,
	.objects_left = front_objects_left,
};

/* ---- taking part before an adapter is open ---- */

static bool front_attend(void)
{
	const char *wanted = process_env("DAT_PROVIDER");

	return (!wanted || strcmp(wanted, "emu") == 0) && outside_attend(&dat_front_ops);
}

static void __attribute__((constructor)) front_offer(void)
{
	if (libdat_outside_offer)
		libdat_outside_offer(front_attend);
}
