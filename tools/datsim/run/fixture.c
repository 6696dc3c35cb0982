/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `use`: the objects that nearly every script needs, made by the public calls that a program would
 * use. A call that fails here fails the script, and the report shows the call and its result.
 */
#include "world.h"

#include <string.h>

#include "device.h"

#define FIXTURE_LIMIT_NS UINT64_C(1000000000)

struct setup {
	struct run *run;
	const struct use *use;
	const struct use_actor *actor;
};

static bool setup_made(struct setup *setup, const char *call, DAT_RETURN ret)
{
	struct text actual = { 0 };

	if (ret == DAT_SUCCESS)
		return true;
	if (!point_allows(setup->run, call, ret))
		return false;
	text_add(&actual, "%s: %s = ", setup->actor->name, call);
	text_result(&actual, ret);
	return run_fail(setup->run, EXIT_FAILED, NULL, &actual, "set-up failed");
}

static int symbol_of(const struct setup *setup, enum use_object object)
{
	return setup->actor->objects + (int)object;
}

static DAT_HANDLE handle_of(const struct setup *setup, enum use_object object)
{
	return setup->run->objects[symbol_of(setup, object)].handle;
}

static void made_object(const struct setup *setup, enum use_object object, DAT_HANDLE handle)
{
	object_made(setup->run, symbol_of(setup, object), handle);
}

/* ---- an adapter ---- */

DAT_RETURN learn_address(struct run *run, int actor, DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR attr;
	DAT_RETURN ret;
	size_t size;

	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADDRESS_PTR, &attr, DAT_PROVIDER_FIELD_NONE,
			   NULL);
	if (ret != DAT_SUCCESS)
		return ret;
	size = attr.ia_address_ptr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							  : sizeof(struct sockaddr_in);
	memcpy(&run->addresses[actor], attr.ia_address_ptr, size);
	run->has_address[actor] = true;
	return DAT_SUCCESS;
}

static bool open_adapter(struct setup *setup)
{
	struct run *run = setup->run;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	ret = dat_ia_open((DAT_NAME_PTR)setup->actor->adapter, (DAT_COUNT)setup->use->qlen, &async,
			  &ia);
	if (!setup_made(setup, "dat_ia_open", ret))
		return false;
	made_object(setup, USE_IA, ia);
	made_object(setup, USE_ASYNC, async);
	run->objects[symbol_of(setup, USE_ASYNC)].borrowed = true;
	return setup_made(setup, "dat_ia_query", learn_address(run, setup->actor->index, ia));
}

static bool make_queues(struct setup *setup)
{
	static const struct {
		enum use_object object;
		DAT_EVD_FLAGS flags;
	} queues[] = {
		{ USE_RECV, DAT_EVD_DTO_FLAG },
		{ USE_REQUEST, (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG) },
		{ USE_CONNECT, DAT_EVD_CONNECTION_FLAG },
		{ USE_CR, DAT_EVD_CR_FLAG },
	};
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		ret = dat_evd_create(handle_of(setup, USE_IA), (DAT_COUNT)setup->use->qlen,
				     DAT_HANDLE_NULL, queues[i].flags, &evd);
		if (!setup_made(setup, "dat_evd_create", ret))
			return false;
		made_object(setup, queues[i].object, evd);
	}
	return true;
}

static bool make_memory(struct setup *setup)
{
	struct region *region = region_new(setup->run, (size_t)setup->use->memory, NULL);
	DAT_REGION_DESCRIPTION where = { .for_va = region->bytes };
	struct object *object = &setup->run->objects[symbol_of(setup, USE_MEM)];
	DAT_LMR_HANDLE lmr;
	DAT_VLEN size;
	DAT_VADDR address;
	DAT_RETURN ret;

	object->region = region;
	ret = dat_lmr_create(handle_of(setup, USE_IA), DAT_MEM_TYPE_VIRTUAL, where,
			     setup->use->memory, handle_of(setup, USE_PZ), DAT_MEM_PRIV_ALL_FLAG,
			     &lmr, &object->lmr_context, &object->rmr_context, &size, &address);
	if (!setup_made(setup, "dat_lmr_create", ret))
		return false;
	made_object(setup, USE_MEM, lmr);
	return true;
}

static bool use_adapter(struct setup *setup)
{
	DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;

	if (!open_adapter(setup))
		return false;
	if (!setup_made(setup, "dat_pz_create", dat_pz_create(handle_of(setup, USE_IA), &pz)))
		return false;
	made_object(setup, USE_PZ, pz);
	return make_memory(setup) && make_queues(setup);
}

/* ---- a connection ---- */

static bool make_srq(struct setup *setup)
{
	const struct use *use = setup->use;
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = (DAT_COUNT)use->srq_max,
		.max_recv_iov = (DAT_COUNT)use->srq_iov,
		.low_watermark = (DAT_COUNT)use->srq_lw,
	};
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	ret = dat_srq_create(handle_of(setup, USE_IA), handle_of(setup, USE_PZ), &attr, &srq);
	if (!setup_made(setup, "dat_srq_create", ret))
		return false;
	object_made(setup->run, use->srq_symbol, srq);
	srq_is_new(setup->run, use->srq_symbol, attr.max_recv_dtos, attr.low_watermark);
	return true;
}

static DAT_EP_ATTR endpoint_attributes(const struct use *use, bool passive)
{
	return (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_recv_dtos = (DAT_COUNT)use->recv,
		.max_request_dtos = (DAT_COUNT)use->request,
		.max_recv_iov = (DAT_COUNT)use->iov,
		.max_request_iov = (DAT_COUNT)use->iov,
		.max_rdma_read_in = 4,
		.max_rdma_read_out = 4,
		.srq_soft_hw = passive ? (DAT_COUNT)use->soft : 0,
	};
}

static bool make_endpoint(struct setup *setup, int symbol, bool passive)
{
	bool on_srq = passive && setup->use->srq;
	struct object *object = &setup->run->objects[symbol];
	DAT_EP_ATTR attr = endpoint_attributes(setup->use, passive);
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	object->recv_evd = symbol_of(setup, USE_RECV);
	object->request_evd = symbol_of(setup, USE_REQUEST);
	if (on_srq) {
		object->srq = setup->use->srq_symbol;
		ret = dat_ep_create_with_srq(handle_of(setup, USE_IA), handle_of(setup, USE_PZ),
					     handle_of(setup, USE_RECV),
					     handle_of(setup, USE_REQUEST),
					     handle_of(setup, USE_CONNECT),
					     setup->run->objects[object->srq].handle, &attr, &ep);
	} else {
		ret = dat_ep_create(handle_of(setup, USE_IA), handle_of(setup, USE_PZ),
				    handle_of(setup, USE_RECV), handle_of(setup, USE_REQUEST),
				    handle_of(setup, USE_CONNECT), &attr, &ep);
	}
	if (!setup_made(setup, on_srq ? "dat_ep_create_with_srq" : "dat_ep_create", ret))
		return false;
	object_made(setup->run, symbol, ep);
	if (attr.srq_soft_hw)
		ep_marked(setup->run, symbol, attr.srq_soft_hw);
	return true;
}

static bool listen_on(struct setup *setup)
{
	DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
	DAT_RETURN ret;

	ret = dat_psp_create(handle_of(setup, USE_IA), setup->use->qual, handle_of(setup, USE_CR),
			     DAT_PSP_CONSUMER_FLAG, &psp);
	if (!setup_made(setup, "dat_psp_create", ret))
		return false;
	object_made(setup->run, setup->use->psp_symbol, psp);
	return true;
}

/* Run the fabric until the event of this number comes out of the EVD. */
static bool setup_await(struct setup *setup, enum use_object evd, DAT_EVENT_NUMBER wanted,
			DAT_EVENT *event)
{
	struct run *run = setup->run;
	const char *name = run->script->symbols[symbol_of(setup, evd)].name;
	struct text expected = { 0 }, actual = { 0 };
	bool stepped = true, got = false;
	uint64_t limit =
		run_now(run) + (run->real ? DEVICE_PATIENCE_NS * run->slow : FIXTURE_LIMIT_NS);

	while (stepped) {
		if (!run_dequeue(run, symbol_of(setup, evd), event, &got))
			return false;
		if (got)
			break;
		if (!run_step(run, limit, &stepped))
			return false;
	}
	if (got && event->event_number == wanted)
		return true;
	text_add(&expected, "%s: event %s ", setup->actor->name, name);
	group_print(&expected, GROUP_EVENT, wanted, false, sizeof(wanted));
	text_add(&actual, "%s: %sevent %s ", setup->actor->name, got ? "" : "no ", name);
	if (got)
		group_print(&actual, GROUP_EVENT, event->event_number, false, sizeof(wanted));
	return run_fail(run, EXIT_FAILED, &expected, &actual, "set-up failed: no connection");
}

static bool connect_endpoints(struct setup *a, struct setup *b, DAT_EP_HANDLE a_ep,
			      DAT_EP_HANDLE b_ep)
{
	DAT_IA_ADDRESS_PTR address = (DAT_IA_ADDRESS_PTR)&a->run->addresses[b->actor->index];
	DAT_EVENT event;
	DAT_RETURN ret;

	ret = dat_ep_connect(a_ep, address, a->use->qual, DAT_TIMEOUT_INFINITE, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (!setup_made(a, "dat_ep_connect", ret) ||
	    !setup_await(b, USE_CR, DAT_CONNECTION_REQUEST_EVENT, &event))
		return false;
	ret = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b_ep, 0, NULL);
	if (ret != DAT_SUCCESS)
		run_stray(b->run, event.event_data.cr_arrival_event_data.cr_handle,
			  DAT_HANDLE_TYPE_CR);
	return setup_made(b, "dat_cr_accept", ret) &&
	       setup_await(a, USE_CONNECT, DAT_CONNECTION_EVENT_ESTABLISHED, &event) &&
	       setup_await(b, USE_CONNECT, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/* Connect each EP of `a` to one of `b`, which has the symbol b_ep and those after it. */
static bool connect_actor(struct setup *a, struct setup *b, int b_ep)
{
	int a_ep = a->actor->eps, i;

	for (i = 0; i < (int)a->use->eps; i++) {
		if (!make_endpoint(a, a_ep + i, false) || !make_endpoint(b, b_ep + i, true) ||
		    !connect_endpoints(a, b, a->run->objects[a_ep + i].handle,
				       b->run->objects[b_ep + i].handle))
			return false;
		ep_met(a->run, a_ep + i, b_ep + i);
		b->run->objects[b_ep + i].ep.passive = true;
	}
	return true;
}

/* Every actor connects to the last one. */
static bool use_connected(const struct setup *setup)
{
	const struct use *use = setup->use;
	struct setup a = *setup, b = *setup;
	int b_ep;

	b.actor = use->actors;
	while (b.actor->next)
		b.actor = b.actor->next;
	if ((use->srq && !make_srq(&b)) || !listen_on(&b))
		return false;
	b_ep = b.actor->eps;
	for (a.actor = use->actors; a.actor != b.actor; a.actor = a.actor->next) {
		if (!connect_actor(&a, &b, b_ep))
			return false;
		b_ep += (int)use->eps;
	}
	return true;
}

bool run_fixture(struct run *run, const struct use *use)
{
	struct setup setup = { run, use, NULL };
	const struct use_actor *actor;

	for (actor = use->actors; actor && use->kind != USE_BARE; actor = actor->next) {
		setup.actor = actor;
		if (!use_adapter(&setup))
			return false;
	}
	return use->kind != USE_CONNECTED || use_connected(&setup);
}
