/* SPDX-License-Identifier: BSD-3-Clause */
/* The script's values into the slots of a call. */
#include "invoke.h"

#include <arpa/inet.h>
#include <string.h>

DAT_HANDLE value_handle(const struct run *run, const struct value *value)
{
	switch (value->kind) {
	case VALUE_NAME:
	case VALUE_STALE:
		return run->objects[value->symbol].handle;
	case VALUE_GARBAGE:
		return (DAT_HANDLE)(uintptr_t)UINT64_C(0xdeadbeefdeadbee8);
	case VALUE_NUMBER:
		return (DAT_HANDLE)(uintptr_t)value->number;
	default:
		return DAT_HANDLE_NULL;
	}
}

/* ---- structures in ---- */

static void fill_struct(struct invocation *inv, const struct value *value, void *base)
{
	const struct setting *setting;
	const struct value *v;
	uint64_t number;

	for (setting = value->settings; setting; setting = setting->next) {
		v = setting->value;
		number = v->number;
		if (setting->member->kind == MEMBER_HANDLE)
			number = (uint64_t)(uintptr_t)value_handle(inv->run, v);
		else if (setting->member->kind == MEMBER_ADDRESS)
			number =
				v->actor_index < 0
					? 0
					: (uint64_t)(uintptr_t)&inv->run->addresses[v->actor_index];
		member_set(setting->member, base, number);
	}
}

/* The bits of the members that the structure after it names. */
static uint64_t mask_of(const struct value *value)
{
	const struct setting *setting;
	uint64_t mask = 0;

	for (setting = value ? value->settings : NULL; setting; setting = setting->next)
		mask |= setting->member->mask;
	return mask;
}

/* ---- segments ---- */

static bool no_room(struct invocation *inv, uint64_t length)
{
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

/* {mem= offset= length=} or {lmr_context= virtual_address= length=} */
static bool explicit_segment(struct invocation *inv, const struct value *value,
			     DAT_LMR_TRIPLET *triplet, struct piece *piece)
{
	const struct value *mem = setting_of(value, "mem"), *offset = setting_of(value, "offset");
	const struct value *length = setting_of(value, "length"), *v;
	struct region *region = mem ? inv->run->objects[mem->symbol].region : NULL;

	piece->length = length ? length->number : 0;
	if (region && !offset) {
		if (!region_carve(region, piece->length, piece))
			return no_room(inv, piece->length);
	} else if (region) {
		piece->offset = offset->number;
		if (piece->offset <= region->size && piece->length <= region->size - piece->offset)
			piece->region = region;
	}
	if (region) {
		triplet->lmr_context = region->context;
		triplet->virtual_address = (DAT_VADDR)(uintptr_t)region->bytes + piece->offset;
	}
	v = setting_of(value, "lmr_context");
	if (v)
		triplet->lmr_context = (DAT_LMR_CONTEXT)v->number;
	v = setting_of(value, "virtual_address");
	if (v)
		triplet->virtual_address = v->number;
	triplet->segment_length = piece->length;
	return true;
}

static struct region *memory_of(const struct run *run, int actor)
{
	int mem = script_symbol(run->script, actor, "mem");

	return mem < 0 ? NULL : run->objects[mem].region;
}

static bool add_segment(struct invocation *inv, const struct value *value)
{
	DAT_LMR_TRIPLET *triplet = &inv->segments[inv->segment_count];
	struct region *region = memory_of(inv->run, inv->st->actor_index);
	struct piece piece = { 0 };

	if (value->kind == VALUE_STRUCT) {
		if (!explicit_segment(inv, value, triplet, &piece))
			return false;
	} else {
		if (!region || !region_carve(region, value->number, &piece))
			return no_room(inv, value->number);
		triplet->lmr_context = region->context;
		triplet->virtual_address = (DAT_VADDR)(uintptr_t)region->bytes + piece.offset;
		triplet->segment_length = piece.length;
	}
	inv->segment_count++;
	ledger_piece(inv->run, &piece);
	return true;
}

static bool set_segments(struct invocation *inv, const struct value *value, union slot *slot)
{
	const struct value *element;

	inv->dto = ledger_post(inv->run, inv->call->row->effect == CALL_SENDS,
			       inv->call->in[0]->symbol);
	if (value->kind == VALUE_NUMBER && !add_segment(inv, value))
		return false;
	for (element = value->kind == VALUE_LIST ? value->elements : NULL; element;
	     element = element->next) {
		if (!add_segment(inv, element))
			return false;
	}
	ledger_fill(inv->run, inv->dto);
	slot->pointer = inv->segment_count ? inv->segments : NULL;
	return true;
}

/* ---- one parameter ---- */

static bool set_address(struct invocation *inv, const struct value *value, union storage *storage,
			union slot *slot)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&storage->address;

	if (value->kind == VALUE_NULL)
		return true;
	slot->pointer = storage;
	memset(storage, 0, sizeof(*storage));
	if (value->actor_index >= 0) {
		memcpy(storage, &inv->run->addresses[value->actor_index],
		       sizeof(inv->run->addresses[0]));
		return true;
	}
	in->sin_family = AF_INET;
	if (inet_pton(AF_INET, value->text, &in->sin_addr) == 1)
		return true;
	return run_fail(inv->run, EXIT_USAGE, NULL, NULL, "\"%s\" is not an IPv4 address",
			value->text);
}

static void set_data(struct invocation *inv, int i, const struct value *value)
{
	const struct value *size = inv->call->in[i - 1];
	size_t length = value && value->kind == VALUE_STRING ? strlen(value->text) : 0;
	size_t k;

	for (k = 0; k < DATA_MAX; k++)
		inv->data[k] = (unsigned char)k;
	if (length)
		memcpy(inv->data, value->text, length < DATA_MAX ? length : DATA_MAX);
	inv->slots[i - 1].count = size ? (DAT_COUNT)size->number : (DAT_COUNT)length;
	inv->slots[i].pointer = value && value->kind == VALUE_NULL ? NULL : inv->data;
}

/* Memory for an LMR; of an absurd length only a page is there, as such a length is an error. */
static void set_region(struct invocation *inv, int i, const struct value *value)
{
	const struct value *length = inv->call->in[i + 1];
	uint64_t size = length ? length->number : 0;

	if (value)
		return; /* NULL */
	if (!size || size > SCRIPT_MEMORY_MAX)
		size = 4096;
	inv->region = region_new(size);
	inv->slots[i].region.for_va = inv->region->bytes;
}

static void set_name(struct invocation *inv, int i, const struct value *value)
{
	union storage *storage = &inv->storage[i];
	size_t n;

	if (value->kind == VALUE_NULL)
		return;
	memset(storage, 0, sizeof(*storage));
	n = strlen(value->text);
	memcpy(storage->name, value->text,
	       n < sizeof(storage->name) ? n : sizeof(storage->name) - 1);
	inv->slots[i].pointer = storage;
}

static void set_event(struct invocation *inv, int i, const struct value *value)
{
	DAT_EVENT *event = &inv->storage[i].event;

	if (value->kind == VALUE_NULL)
		return;
	memset(event, 0, sizeof(*event));
	event->event_number = DAT_SOFTWARE_EVENT;
	event->event_data.software_event_data.pointer = (void *)(uintptr_t)value->number;
	inv->slots[i].pointer = event;
}

static void set_output(struct invocation *inv, int i, const struct value *value)
{
	if (value && value->kind == VALUE_NULL)
		return;
	memset(&inv->storage[i], POISON, sizeof(inv->storage[i]));
	if (inv->call->row->params[i].kind == PARAM_INOUT_HANDLE)
		inv->storage[i].handle = value ? value_handle(inv->run, value) : DAT_HANDLE_NULL;
	inv->slots[i].pointer = &inv->storage[i];
}

static void set_cookie(struct invocation *inv, int i, const struct value *value)
{
	struct dto *dto = &inv->run->ledger.dtos[inv->dto];

	inv->slots[i].context = ledger_cookie(inv->dto);
	dto->labelled = value != NULL;
	dto->label = value ? value->number : 0;
}

static bool fill_slot(struct invocation *inv, int i)
{
	const struct param *param = &inv->call->row->params[i];
	const struct value *value = inv->call->in[i];
	union slot *slot = &inv->slots[i];

	if (param_is_output(param) || param->kind == PARAM_INOUT_HANDLE) {
		set_output(inv, i, value);
		return true;
	}
	switch (param->kind) {
	case PARAM_HANDLE:
		slot->handle = value ? value_handle(inv->run, value) : DAT_HANDLE_NULL;
		return true;
	case PARAM_STRUCT:
		if (!value || value->kind == VALUE_NULL)
			return true;
		memset(&inv->storage[i], 0, sizeof(inv->storage[i]));
		fill_struct(inv, value, &inv->storage[i]);
		slot->pointer = &inv->storage[i];
		return true;
	case PARAM_MASK_OF_STRUCT:
		slot->number = value ? value->number : mask_of(inv->call->in[i + 1]);
		return true;
	case PARAM_SEGMENT_COUNT:
	case PARAM_DATA_SIZE:
		return true; /* set together with the parameter after it */
	case PARAM_SEGMENTS:
		if (!set_segments(inv, value, slot))
			return false;
		inv->slots[i - 1].count = inv->call->in[i - 1]
						  ? (DAT_COUNT)inv->call->in[i - 1]->number
						  : inv->segment_count;
		return true;
	case PARAM_COOKIE:
		set_cookie(inv, i, value);
		return true;
	case PARAM_CONTEXT:
		slot->context.as_64 = value->number;
		return true;
	case PARAM_NAME:
		set_name(inv, i, value);
		return true;
	case PARAM_ADDRESS:
		return set_address(inv, value, &inv->storage[i], slot);
	case PARAM_DATA:
		set_data(inv, i, value);
		return true;
	case PARAM_REGION:
		set_region(inv, i, value);
		return true;
	case PARAM_EVENT:
		set_event(inv, i, value);
		return true;
	default:
		break;
	}
	slot->number = value ? value->number : param->standard;
	if (param->is_signed)
		slot->count = (DAT_COUNT)(value ? value->number : param->standard);
	return true;
}

bool fill_slots(struct invocation *inv)
{
	int i;

	for (i = 0; inv->call->row->params[i].kind != PARAM_END; i++) {
		if (!fill_slot(inv, i))
			return false;
	}
	return true;
}
