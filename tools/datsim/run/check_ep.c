/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of EPs against the state table of the manual: which changes may happen while time
 * passes, which ones a call may cause on the EP that it names, and which EP is connected with
 * which.
 */
#include <string.h>

#include "world.h"

#define S(name) DAT_EP_STATE_##name

struct change {
	DAT_EP_STATE from, to;
	const char *call; /* NULL: caused by the network */
};

static const struct change changes[] = {
	{ S(UNCONNECTED), S(ACTIVE_CONNECTION_PENDING), "dat_ep_connect" },
	{ S(UNCONNECTED), S(ACTIVE_CONNECTION_PENDING), "dat_ep_dup_connect" },
	{ S(UNCONNECTED), S(RESERVED), "dat_rsp_create" },
	{ S(RESERVED), S(UNCONNECTED), "dat_rsp_free" },
	{ S(UNCONNECTED), S(COMPLETION_PENDING), "dat_cr_accept" },
	{ S(PASSIVE_CONNECTION_PENDING), S(COMPLETION_PENDING), "dat_cr_accept" },
	{ S(TENTATIVE_CONNECTION_PENDING), S(COMPLETION_PENDING), "dat_cr_accept" },
	{ S(PASSIVE_CONNECTION_PENDING), S(UNCONNECTED), "dat_cr_reject" },
	{ S(PASSIVE_CONNECTION_PENDING), S(UNCONNECTED), "dat_cr_handoff" },
	{ S(CONNECTED), S(DISCONNECT_PENDING), "dat_ep_disconnect" },
	{ S(DISCONNECTED), S(UNCONNECTED), "dat_ep_reset" },
	{ S(RESERVED), S(PASSIVE_CONNECTION_PENDING), NULL },
	{ S(ACTIVE_CONNECTION_PENDING), S(CONNECTED), NULL },
	{ S(ACTIVE_CONNECTION_PENDING), S(DISCONNECTED), NULL },
	{ S(COMPLETION_PENDING), S(CONNECTED), NULL },
	{ S(COMPLETION_PENDING), S(DISCONNECTED), NULL },
	{ S(CONNECTED), S(DISCONNECTED), NULL },
	{ S(DISCONNECT_PENDING), S(DISCONNECTED), NULL },
};

static bool by_itself(DAT_EP_STATE from, DAT_EP_STATE to)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		if (!changes[i].call && changes[i].from == from && changes[i].to == to)
			return true;
	}
	return false;
}

static bool is_legal(DAT_EP_STATE from, DAT_EP_STATE to, const char *call)
{
	const struct change *change;

	if (by_itself(from, to))
		return true;
	for (change = changes; call && change < changes + ARRAY_SIZE(changes); change++) {
		if (change->call && !strcmp(change->call, call) && change->from == from &&
		    (change->to == to || by_itself(change->to, to)))
			return true;
	}
	return false;
}

static bool ep_change_illegal(struct run *run, int ep, DAT_EP_STATE to, const char *call,
			      bool failed)
{
	const struct symbol *symbol = &run->script->symbols[ep];
	struct text expected = { 0 }, actual = { 0 };

	if (failed)
		text_add(&expected, "%s fails and changes nothing", call);
	else
		text_add(&expected, "a change of state that the manual has");
	text_add(&actual, "%s.%s from ", run->script->actors[symbol->actor].name, symbol->name);
	group_print(&actual, GROUP_EP_STATE, run->objects[ep].ep.state, false, sizeof(to));
	text_add(&actual, " to ");
	group_print(&actual, GROUP_EP_STATE, to, false, sizeof(to));
	if (call && !failed)
		text_add(&actual, " by %s", call);
	return checker_found(run, &expected, &actual);
}

/* ---- the peers of EPs ---- */

/*
 * The passive side knows the port of its peer; the active side only the qualifier it connected to.
 */
static bool are_peers(struct run *run, int passive, const DAT_EP_PARAM *param, int active)
{
	const struct ep_model *other = &run->objects[active].ep;
	int actor = run->script->symbols[active].actor;

	return run->objects[active].alive && !run->objects[active].alias && !other->passive &&
	       run->objects[passive].ep.passive && other->port == param->remote_port_qual &&
	       run->has_address[actor] && param->remote_ia_address_ptr &&
	       same_address(param->remote_ia_address_ptr, &run->addresses[actor]);
}

static void find_peer(struct run *run, int ep)
{
	bool passive = run->objects[ep].ep.passive;
	DAT_EP_PARAM param;
	int i, other;

	if (dat_ep_query(run->objects[ep].handle, DAT_EP_FIELD_ALL, &param) != DAT_SUCCESS)
		return;
	for (i = 0; i < run->endpoint_count; i++) {
		other = run->endpoints[i];
		if (!passive && (!run->objects[other].alive || !run->objects[other].ep.passive ||
				 dat_ep_query(run->objects[other].handle, DAT_EP_FIELD_ALL,
					      &param) != DAT_SUCCESS))
			continue;
		if (passive ? are_peers(run, ep, &param, other) : are_peers(run, other, &param, ep))
			ep_met(run, ep, other);
	}
}

void ep_met(struct run *run, int ep, int peer)
{
	run->objects[ep].ep.peer = peer;
	run->objects[peer].ep.peer = ep;
}

/* ---- the soft high watermark ---- */

/* An attribute of 0 sets no watermark; an argument of the call always sets one. */
void ep_marked(struct run *run, int ep, DAT_COUNT soft)
{
	run->objects[ep].ep.armed += soft >= 0;
}

/* H2: one event for each setting. */
bool ep_event(struct run *run, const DAT_ASYNCH_ERROR_EVENT_DATA *data)
{
	int ep = object_of(run, data->dat_handle);
	struct ep_model *model = ep < 0 ? NULL : &run->objects[ep].ep;

	if (!model || ++model->fired <= model->armed)
		return true;
	return checker_failed(run,
			      "one event for each setting of a soft high watermark (ruling H2)",
			      "EP_SOFT_HIGH_WATERMARK once more");
}

/* ---- looking ---- */

void ep_is_new(struct run *run, int ep)
{
	struct ep_model *model = &run->objects[ep].ep;
	DAT_EP_PARAM param = { .local_port_qual = 0 };

	*model = (struct ep_model){ .state = DAT_EP_STATE_UNCONNECTED, .peer = -1 };
	/* An EP that came with a connection request, or from a fixture, may be in any state. */
	model->seen = run->begun;
	if (run->queue_count && dat_ep_query(run->objects[ep].handle, DAT_EP_FIELD_LOCAL_PORT_QUAL,
					     &param) == DAT_SUCCESS)
		model->port = param.local_port_qual;
}

static void ep_entered(struct run *run, int ep, DAT_EP_STATE state)
{
	struct ep_model *model = &run->objects[ep].ep;

	model->state = state;
	if (state == DAT_EP_STATE_UNCONNECTED) {
		model->peer = -1;
		model->passive = false;
		model->sent = model->arrived = model->reaped = 0;
	}
	if (state == DAT_EP_STATE_COMPLETION_PENDING)
		model->passive = true;
	if (state == DAT_EP_STATE_CONNECTED && model->peer < 0 && run->queue_count)
		find_peer(run, ep);
}

bool check_ep(struct run *run, int ep, const char *call, bool failed)
{
	struct object *object = &run->objects[ep];
	DAT_EP_STATE state;

	if (!run->may_look || !object->alive || object->alias ||
	    dat_ep_get_status(object->handle, &state, NULL, NULL) != DAT_SUCCESS)
		return true;
	if (object->ep.seen && state == object->ep.state)
		return true;
	if (object->ep.seen && (failed || !is_legal(object->ep.state, state, call)) &&
	    !(failed && by_itself(object->ep.state, state)))
		return ep_change_illegal(run, ep, state, call, failed);
	object->ep.seen = true;
	ep_entered(run, ep, state);
	return true;
}
