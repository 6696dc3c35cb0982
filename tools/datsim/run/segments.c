/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in the arguments of a call: segments, memory windows, the peer's end of an RDMA. */
#include "invoke.h"

#include <string.h>

/* A call that is not made has posted nothing, and the report says so. */
static bool no_room(struct invocation *inv, uint64_t length)
{
	if (call_posts(inv->call->row))
		ledger_undo(inv->run);
	return run_fail(inv->run, EXIT_USAGE, NULL, NULL,
			"no room for %llu bytes in the fixture's memory: give `use` a memory=",
			(unsigned long long)length);
}

static const struct value *setting_of(const struct value *value, const char *key)
{
	const struct setting *setting;

	for (setting = value->settings; setting; setting = setting->next) {
		if (!strcmp(setting->key, key))
			return setting->value;
	}
	return NULL;
}

/* The number in a setting, or `standard` if the script does not give it. */
static uint64_t number_of(const struct invocation *inv, const struct value *value, const char *key,
			  uint64_t standard)
{
	const struct value *v = setting_of(value, key);

	return v ? value_number(inv->run, v) : standard;
}

/* Let the piece begin at this offset of the region, if the offset is inside it. */
static void piece_place(struct piece *piece, struct region *region, uint64_t offset)
{
	piece->offset = offset;
	if (region && offset <= region->size && piece->length <= region->size - offset)
		piece->region = region;
}

/* {mem= offset= length=} or {lmr_context= virtual_address= length=} */
static bool explicit_segment(struct invocation *inv, const struct value *value,
			     DAT_LMR_TRIPLET *triplet, struct piece *piece)
{
	const struct value *mem = setting_of(value, "mem"), *offset = setting_of(value, "offset");
	const struct object *lmr = mem ? &inv->run->objects[mem->symbol] : NULL;
	struct region *region = lmr ? lmr->region : NULL;

	piece->length = number_of(inv, value, "length", 0);
	if (region && !offset) {
		if (!region_carve(region, piece->length, piece))
			return no_room(inv, piece->length);
	} else if (region) {
		inv->run->by_address = true;
		piece_place(piece, region, value_number(inv->run, offset));
	}
	if (region) {
		triplet->lmr_context = lmr->lmr_context;
		triplet->virtual_address = (DAT_VADDR)(uintptr_t)region->bytes + piece->offset;
	}
	triplet->lmr_context =
		(DAT_LMR_CONTEXT)number_of(inv, value, "lmr_context", triplet->lmr_context);
	inv->run->by_address |= setting_of(value, "virtual_address") != NULL;
	triplet->virtual_address =
		number_of(inv, value, "virtual_address", triplet->virtual_address);
	triplet->segment_length = piece->length;
	return true;
}

/* A bare size: this many bytes of the actor's `mem`. */
static bool cut_segment(struct invocation *inv, const struct value *value, DAT_LMR_TRIPLET *triplet,
			struct piece *piece)
{
	int mem = script_symbol(inv->run->script, inv->st->actor_index, "mem");
	const struct object *lmr = mem < 0 ? NULL : &inv->run->objects[mem];
	uint64_t length = value_number(inv->run, value);

	if (!lmr || !lmr->region || !region_carve(lmr->region, length, piece))
		return no_room(inv, length);
	triplet->lmr_context = lmr->lmr_context;
	triplet->virtual_address = (DAT_VADDR)(uintptr_t)lmr->region->bytes + piece->offset;
	triplet->segment_length = piece->length;
	return true;
}

static bool add_segment(struct invocation *inv, const struct value *value)
{
	DAT_LMR_TRIPLET *triplet = &inv->segments[inv->segment_count];
	struct piece piece = { 0 };

	if (!(value->kind == VALUE_STRUCT ? explicit_segment(inv, value, triplet, &piece)
					  : cut_segment(inv, value, triplet, &piece)))
		return false;
	inv->segment_count++;
	if (call_posts(inv->call->row))
		ledger_piece(inv->run, &piece);
	else
		region_return(&piece);
	return true;
}

/* The EP or SRQ that the call posts to. */
static int queue_of(const struct invocation *inv)
{
	const struct param *param;
	int i;

	for (i = 0; (param = &inv->call->row->params[i])->kind != PARAM_END; i++) {
		if (param->kind == PARAM_HANDLE &&
		    (param->type == DAT_HANDLE_TYPE_EP || param->type == DAT_HANDLE_TYPE_SRQ))
			return value_object(inv->run, inv->call->in[i]);
	}
	return -1;
}

static void open_entry(struct invocation *inv)
{
	static const enum dto_kind kinds[] = {
		[CALL_SENDS] = DTO_SEND, [CALL_RECEIVES] = DTO_RECV, [CALL_WRITES] = DTO_WRITE,
		[CALL_READS] = DTO_READ, [CALL_BINDS] = DTO_BIND,
	};

	inv->queue = queue_of(inv);
	inv->dto = ledger_post(inv->run, kinds[inv->call->row->effect], inv->queue);
}

bool set_span(struct invocation *inv, const struct value *value, union call_value *arg)
{
	const struct value *element = value->kind == VALUE_LIST ? value->elements : NULL;

	if (value->kind != VALUE_LIST && value->kind != VALUE_NULL && !add_segment(inv, value))
		return false;
	for (; element; element = element->next) {
		if (!add_segment(inv, element))
			return false;
	}
	arg->pointer = inv->segment_count ? inv->segments : NULL;
	return true;
}

bool set_segments(struct invocation *inv, const struct value *value, union call_value *arg)
{
	open_entry(inv);
	return set_span(inv, value, arg);
}

bool set_triplet(struct invocation *inv, const struct value *value, union call_value *arg)
{
	open_entry(inv);
	inv->run->ledger.dtos[inv->dto].rmr = value_object(inv->run, inv->call->in[0]);
	if (value->kind == VALUE_NULL)
		return true;
	arg->pointer = inv->segments;
	return add_segment(inv, value);
}

/* ---- the peer's end ---- */

static bool remote_memory(struct invocation *inv, const struct object *lmr,
			  const struct value *value, DAT_RMR_TRIPLET *triplet, struct piece *piece)
{
	const struct value *offset = value->kind == VALUE_STRUCT ? setting_of(value, "offset")
								 : NULL;

	if (!lmr->region)
		return true;
	if (offset)
		piece_place(piece, lmr->region, value_number(inv->run, offset));
	else if (!region_carve(lmr->region, piece->length, piece))
		return no_room(inv, piece->length);
	triplet->rmr_context = lmr->rmr_context;
	triplet->target_address = (DAT_VADDR)(uintptr_t)lmr->region->bytes + piece->offset;
	return true;
}

static void remote_window(struct invocation *inv, const struct window *window,
			  const struct value *value, DAT_RMR_TRIPLET *triplet, struct piece *piece)
{
	uint64_t offset = number_of(inv, value, "offset", 0);

	triplet->rmr_context = window->context;
	triplet->target_address = window->address + offset;
	if (window->region)
		piece_place(piece, window->region, window->offset + offset);
}

bool set_remote(struct invocation *inv, int i, const struct value *value, union call_value *arg)
{
	struct dto *dto = &inv->run->ledger.dtos[inv->dto];
	DAT_RMR_TRIPLET *triplet = &inv->storage[i].remote;
	bool is_struct = value->kind == VALUE_STRUCT;
	const struct value *mem = is_struct ? setting_of(value, "mem") : value;
	const struct value *rmr = is_struct ? setting_of(value, "rmr") : NULL;
	struct piece piece = { 0 };

	if (value->kind == VALUE_NULL)
		return true;
	inv->run->by_address |= is_struct;
	memset(triplet, 0, sizeof(*triplet));
	piece.length = is_struct ? number_of(inv, value, "length", dto->length) : dto->length;
	if (mem && !remote_memory(inv, &inv->run->objects[value_object(inv->run, mem)], value,
				  triplet, &piece))
		return false;
	if (rmr)
		remote_window(inv, &inv->run->objects[value_object(inv->run, rmr)].window, value,
			      triplet, &piece);
	if (is_struct) {
		triplet->rmr_context =
			(DAT_RMR_CONTEXT)number_of(inv, value, "rmr_context", triplet->rmr_context);
		triplet->target_address =
			number_of(inv, value, "target_address", triplet->target_address);
		if (setting_of(value, "target_address"))
			piece.region = NULL; /* the script gave a raw address */
	}
	triplet->segment_length = piece.length;
	dto->remote = piece;
	arg->pointer = triplet;
	return true;
}
