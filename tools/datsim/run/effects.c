/* SPDX-License-Identifier: BSD-3-Clause */
/* What a successful call changes in the records of the tool: new and freed objects, the ledger. */
#include <stdlib.h>
#include <string.h>

#include "invoke.h"

/* ---- arguments and outputs by name ---- */

static int position_of(const struct call *call, const char *name)
{
	int i;

	for (i = 0; call->row->params[i].kind != PARAM_END; i++) {
		if (!strcmp(call->row->params[i].name, name))
			return i;
	}
	return -1;
}

static int input_symbol(const struct invocation *inv, const char *name)
{
	int i = position_of(inv->call, name);

	return i < 0 || !inv->call->in[i] ? -1 : value_object(inv->run, inv->call->in[i]);
}

/* 0 if the call had no such output. */
static DAT_UINT32 context_out(const struct invocation *inv, const char *name)
{
	int i = position_of(inv->call, name);
	DAT_UINT32 context = 0;

	if (i >= 0 && inv->args[i].pointer)
		memcpy(&context, &inv->storage[i], sizeof(context));
	return context;
}

/* ---- new objects ---- */

/* The EVDs of an EP: the ledger checks that completions arrive on them. */
static void learn_endpoint(struct invocation *inv, int symbol)
{
	struct object *object = &inv->run->objects[symbol];
	const DAT_EP_ATTR *attr;

	object->recv_evd = input_symbol(inv, "recv_evd_handle");
	object->request_evd = input_symbol(inv, "request_evd_handle");
	object->srq = input_symbol(inv, "srq_handle");
	attr = inv->args[position_of(inv->call, "ep_attributes")].pointer;
	if (attr && attr->srq_soft_hw)
		ep_marked(inv->run, symbol, attr->srq_soft_hw);
}

static void learn_queue(struct invocation *inv, int symbol)
{
	const DAT_SRQ_ATTR *attr = inv->args[position_of(inv->call, "srq_attr")].pointer;

	srq_is_new(inv->run, symbol, attr->max_recv_dtos, attr->low_watermark);
}

/* An EP without a name takes Receives from an SRQ without the model knowing. */
static void forget_queue(struct invocation *inv)
{
	int srq = input_symbol(inv, "srq_handle");

	if (srq >= 0)
		inv->run->objects[srq].srq_model.known = false;
}

/* The settings that a call made on an SRQ or an EP. */
static void learn_setting(struct invocation *inv)
{
	int object = value_object(inv->run, inv->call->in[0]);
	struct srq_model *model = object < 0 ? NULL : &inv->run->objects[object].srq_model;

	if (object >= 0 && !strcmp(inv->call->name, "dat_ep_set_watermark"))
		ep_marked(inv->run, object, inv->args[1].count);
	if (model && !strcmp(inv->call->name, "dat_srq_resize"))
		model->max = inv->args[1].count;
	if (model && !strcmp(inv->call->name, "dat_srq_set_lw")) {
		model->low = inv->args[1].count;
		model->armed += model->low > 0;
	}
}

static void learn_modification(struct invocation *inv)
{
	const struct value *value = inv->call->in[2];
	const struct setting *setting;
	struct object *object;
	int ep;

	if (strcmp(inv->call->name, "dat_ep_modify") || value->kind != VALUE_STRUCT)
		return;
	ep = value_object(inv->run, inv->call->in[0]);
	if (ep < 0)
		return;
	object = &inv->run->objects[ep];
	for (setting = value->settings; setting; setting = setting->next) {
		if (!strcmp(setting->key, "recv_evd_handle"))
			object->recv_evd = value_object(inv->run, setting->value);
		else if (!strcmp(setting->key, "request_evd_handle"))
			object->request_evd = value_object(inv->run, setting->value);
	}
}

/* An actor without a fixture opens its adapter by a call of its own. */
static void learn_adapter(struct invocation *inv, DAT_IA_HANDLE ia)
{
	int actor = inv->st->actor_index;
	const char *name = inv->args[0].pointer;

	if (!inv->run->has_address[actor] && !strcmp(name, inv->run->script->actors[actor].adapter))
		learn_address(inv->run, actor, ia);
}

static void learn_memory(struct invocation *inv, struct object *object)
{
	object->region = inv->region;
	object->lmr_context = context_out(inv, "lmr_context");
	object->rmr_context = context_out(inv, "rmr_context");
}

static void learn_object(struct invocation *inv, int type, int symbol)
{
	switch (type) {
	case DAT_HANDLE_TYPE_IA:
		learn_adapter(inv, inv->run->objects[symbol].handle);
		return;
	case DAT_HANDLE_TYPE_LMR:
		learn_memory(inv, &inv->run->objects[symbol]);
		return;
	case DAT_HANDLE_TYPE_SRQ:
		learn_queue(inv, symbol);
		return;
	case DAT_HANDLE_TYPE_EP:
		learn_endpoint(inv, symbol);
		return;
	default:
		return;
	}
}

static void name_new_handles(struct invocation *inv)
{
	const struct target *target = inv->call->targets;
	const struct param *param;
	int i;

	for (i = 0; (param = &inv->call->row->params[i])->kind != PARAM_END; i++) {
		if ((param->kind != PARAM_OUT_HANDLE && param->kind != PARAM_INOUT_HANDLE) ||
		    !inv->args[i].pointer)
			continue;
		if (!target || target->symbol < 0) {
			if (param->type == DAT_HANDLE_TYPE_EP)
				forget_queue(inv);
			if (!param->borrowed)
				run_stray(inv->run, inv->storage[i].handle, param->type);
		} else {
			object_made(inv->run, target->symbol, inv->storage[i].handle);
			inv->run->objects[target->symbol].borrowed = param->borrowed;
			learn_object(inv, param->type, target->symbol);
		}
		target = target ? target->next : NULL;
	}
}

/* ---- windows ---- */

static void learn_window(struct invocation *inv)
{
	const struct dto *dto = &inv->run->ledger.dtos[inv->dto];
	const struct piece *piece;

	if (dto->rmr < 0 || !dto->piece_count)
		return;
	piece = &inv->run->ledger.pieces[dto->first_piece];
	inv->run->objects[dto->rmr].window = (struct window){
		.region = piece->region,
		.offset = piece->offset,
		.address = inv->segments[0].virtual_address,
		.length = inv->segments[0].segment_length,
		.context = context_out(inv, "rmr_context"),
	};
}

/* ---- EPs that came with a request ---- */

static void learn_request_ep(struct invocation *inv)
{
	DAT_CR_PARAM param = { .local_ep_handle = DAT_HANDLE_NULL };

	dat_sim_trace(inv->run->sim, DAT_FALSE);
	dat_cr_query(inv->args[0].handle, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param);
	dat_sim_trace(inv->run->sim, inv->run->traced ? DAT_TRUE : DAT_FALSE);
	inv->its_ep = param.local_ep_handle;
}

static void learn_reserved_ep(struct invocation *inv)
{
	DAT_RSP_PARAM param = { .ep_handle = DAT_HANDLE_NULL };

	dat_sim_trace(inv->run->sim, DAT_FALSE);
	dat_rsp_query(inv->args[0].handle, DAT_RSP_FIELD_EP_HANDLE, &param);
	dat_sim_trace(inv->run->sim, inv->run->traced ? DAT_TRUE : DAT_FALSE);
	inv->its_ep = param.ep_handle;
}

/*
 * An EP made for a connection request belongs to the program once it is accepted; otherwise it is
 * freed.
 */
static void cr_answered(struct invocation *inv)
{
	int ep = object_of(inv->run, inv->its_ep);

	if (inv->its_ep == DAT_HANDLE_NULL || (ep >= 0 && !inv->run->objects[ep].borrowed))
		return;
	if (strcmp(inv->call->name, "dat_cr_accept")) {
		if (ep >= 0)
			object_gone(inv->run, ep);
	} else if (ep >= 0) {
		inv->run->objects[ep].borrowed = false;
	} else {
		run_stray(inv->run, inv->its_ep, DAT_HANDLE_TYPE_EP);
	}
}

/* ---- the registry ---- */

static DAT_RETURN refuse_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			      DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	(void)async;
	(void)ia;
	return (DAT_RETURN)((DAT_UINT32)DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES |
			    DAT_RESOURCE_DEVICE);
}

DAT_PROVIDER *tool_provider(void)
{
	static DAT_PROVIDER provider = { .device_name = "datsim", .ia_open_func = refuse_open };

	return &provider;
}

static void provider_registered(struct invocation *inv)
{
	const struct value *info = inv->call->in[1];
	struct run *run = inv->run;
	const struct setting *setting;

	for (setting = info->settings; setting; setting = setting->next) {
		if (strcmp(setting->key, "ia_name"))
			continue;
		run->providers = mem_grow(run->providers,
					  (run->provider_count + 1) * sizeof(*run->providers));
		run->providers[run->provider_count++] = setting->value->text;
	}
}

/* ---- before and after ---- */

static bool is_disconnected(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state = DAT_EP_STATE_UNCONNECTED;

	dat_ep_get_status(ep, &state, NULL, NULL);
	return state == DAT_EP_STATE_DISCONNECTED;
}

void before_call(struct invocation *inv)
{
	const struct call_row *row = inv->call->row;
	int flags;

	if (row->effect == CALL_RESETS)
		inv->was_disconnected = is_disconnected(inv->args[0].handle);
	if (row->effect == CALL_ANSWERS)
		learn_request_ep(inv);
	if (!strcmp(row->name, "dat_rsp_free"))
		learn_reserved_ep(inv);
	if (!call_posts(row))
		return;
	flags = position_of(inv->call, "completion_flags");
	if (flags >= 0 && inv->call->row->effect != CALL_RECEIVES)
		inv->run->ledger.dtos[inv->dto].suppressed = inv->args[flags].number &
							     DAT_COMPLETION_SUPPRESS_FLAG;
}

static void call_succeeded(struct invocation *inv)
{
	struct run *run = inv->run;
	int first = inv->call->in[0] ? value_object(run, inv->call->in[0]) : -1, i;

	switch (inv->call->row->effect) {
	case CALL_BINDS:
		learn_window(inv);
		return;
	case CALL_ANSWERS:
		cr_answered(inv);
		break;
	case CALL_ADDS:
		provider_registered(inv);
		return;
	case CALL_RESETS:
		if (inv->was_disconnected && first >= 0) {
			ledger_drop(run, first);
			srq_purged(run, first);
		}
		return;
	case CALL_FREES:
	case CALL_CLOSES:
		break;
	case CALL_SENDS:
		if (inv->queue >= 0)
			srq_sent(run, &run->ledger.dtos[inv->dto]);
		return;
	case CALL_RECEIVES:
		if (inv->queue >= 0 &&
		    run->script->symbols[inv->queue].type == DAT_HANDLE_TYPE_SRQ) {
			run->objects[inv->queue].srq_model.posted++;
			run->objects[inv->queue].srq_model.outstanding++;
		}
		return;
	case CALL_WRITES:
	case CALL_READS:
		return;
	default:
		if (inv->call->in[0])
			learn_setting(inv);
		learn_modification(inv);
		return;
	}
	if (first < 0)
		return;
	if (run->script->symbols[first].type == DAT_HANDLE_TYPE_EP)
		srq_purged(run, first);
	object_gone(run, first);
	for (i = 0; inv->call->row->effect == CALL_CLOSES && i < run->script->symbol_count; i++) {
		if (run->script->symbols[i].owner == first)
			object_gone(run, i);
	}
}

void after_call(struct invocation *inv, DAT_RETURN ret)
{
	if (call_posts(inv->call->row) && (ret != DAT_SUCCESS || inv->queue < 0))
		ledger_undo(inv->run);
	if (ret != DAT_SUCCESS)
		return;
	call_succeeded(inv);
	name_new_handles(inv);
}
