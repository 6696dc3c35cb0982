/* SPDX-License-Identifier: BSD-3-Clause */
/* The script's values become the arguments of a call. */
#include "invoke.h"

#include <arpa/inet.h>
#include <string.h>

uint64_t value_number(const struct run *run, const struct value *value)
{
	return value->kind == VALUE_VARIABLE ? run->objects[value->symbol].number : value->number;
}

int value_object(const struct run *run, const struct value *value)
{
	if (value->symbol >= 0 && run->objects[value->symbol].alias)
		return object_of(run, run->objects[value->symbol].handle);
	return value->symbol;
}

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
		number = value_number(inv->run, v);
		if (setting->member->kind == MEMBER_TEXT) {
			strncpy((char *)base + setting->member->offset, v->text,
				setting->member->size - 1);
			continue;
		}
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

static void set_struct(struct invocation *inv, int i, const struct value *value)
{
	memset(&inv->storage[i], 0, sizeof(inv->storage[i]));
	fill_struct(inv, value, &inv->storage[i]);
	inv->args[i].pointer = &inv->storage[i];
}

/* The mask bits of the members that the structure in the next parameter sets. */
static uint64_t mask_of(const struct value *value)
{
	const struct setting *setting;
	uint64_t mask = 0;

	for (setting = value ? value->settings : NULL; setting; setting = setting->next)
		mask |= setting->member->mask;
	return mask;
}

/* ---- one parameter ---- */

static bool set_address(struct invocation *inv, const struct value *value, union storage *storage,
			union call_value *arg)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&storage->address;

	if (value->kind == VALUE_NULL)
		return true;
	arg->pointer = storage;
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
	inv->args[i - 1].count = size ? (DAT_COUNT)value_number(inv->run, size) : (DAT_COUNT)length;
	inv->args[i].pointer = value && value->kind == VALUE_NULL ? NULL : inv->data;
}

static struct region *shared_region(const struct run *run, const char *name)
{
	size_t i;

	for (i = 0; i < run->region_count; i++) {
		if (run->regions[i]->shared && !strcmp(run->regions[i]->shared, name))
			return run->regions[i];
	}
	return NULL;
}

/* Memory for an LMR. With an absurd length the call has to fail, so one page is enough. */
static void make_region(struct invocation *inv, int i, const char *shared)
{
	const struct value *length = inv->call->in[i + 1];
	uint64_t size = length ? value_number(inv->run, length) : 0;

	if (!size || size > SCRIPT_MEMORY_MAX)
		size = 4096;
	inv->region = shared ? shared_region(inv->run, shared) : NULL;
	if (!inv->region)
		inv->region = region_new(inv->run, size, shared);
}

/* Fill the member of DAT_REGION_DESCRIPTION that belongs to the memory type. */
static void set_region(struct invocation *inv, int i, const struct value *value)
{
	DAT_REGION_DESCRIPTION *region = &inv->args[i].region;
	const struct value *type = inv->call->in[i - 1];
	uint64_t mem_type = type ? value_number(inv->run, type) : DAT_MEM_TYPE_VIRTUAL;
	const char *name = value && value->kind == VALUE_STRING ? value->text : NULL;
	size_t n;

	if (value && value->kind == VALUE_NULL)
		return;
	if (value && value->kind == VALUE_NAME)
		inv->region = inv->run->objects[value->symbol].region;
	else
		make_region(inv, i, name);
	if (mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL) {
		n = name ? strlen(name) : 0;
		memset(inv->cookie, 0, sizeof(inv->cookie));
		memcpy(inv->cookie, name ? name : "",
		       n < sizeof(inv->cookie) ? n : sizeof(inv->cookie));
		region->for_shared_memory.virtual_address = inv->region ? inv->region->bytes : NULL;
		region->for_shared_memory.shared_memory_id = &inv->cookie;
	} else if (mem_type == DAT_MEM_TYPE_LMR) {
		region->for_lmr_handle = value ? value_handle(inv->run, value) : DAT_HANDLE_NULL;
	} else {
		region->for_va = inv->region ? inv->region->bytes : NULL;
	}
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
	inv->args[i].pointer = storage;
}

static void set_event(struct invocation *inv, int i, const struct value *value)
{
	DAT_EVENT *event = &inv->storage[i].event;

	if (value->kind == VALUE_NULL)
		return;
	memset(event, 0, sizeof(*event));
	event->event_number = DAT_SOFTWARE_EVENT;
	event->event_data.software_event_data.pointer =
		(void *)(uintptr_t)value_number(inv->run, value);
	inv->args[i].pointer = event;
}

/* An array of pointers to as many structures as any call can ask for. */
static void set_list(struct invocation *inv, int i)
{
	size_t k;

	inv->list = mem_zero(CALL_LIST_MAX, sizeof(*inv->list) + sizeof(*inv->list[0]));
	for (k = 0; k < CALL_LIST_MAX; k++)
		inv->list[k] = (DAT_PROVIDER_INFO *)(inv->list + CALL_LIST_MAX) + k;
	memset(inv->list[0], POISON, CALL_LIST_MAX * sizeof(*inv->list[0]));
	inv->args[i].pointer = inv->list;
}

static void set_output(struct invocation *inv, int i, const struct value *value)
{
	if (value && value->kind == VALUE_NULL)
		return;
	if (inv->call->row->params[i].kind == PARAM_OUT_LIST) {
		set_list(inv, i);
		return;
	}
	memset(&inv->storage[i], POISON, sizeof(inv->storage[i]));
	if (inv->call->row->params[i].kind == PARAM_INOUT_HANDLE)
		inv->storage[i].handle = value ? value_handle(inv->run, value) : DAT_HANDLE_NULL;
	inv->args[i].pointer = &inv->storage[i];
}

static void set_cookie(struct invocation *inv, int i, const struct value *value)
{
	struct dto *dto = &inv->run->ledger.dtos[inv->dto];

	inv->args[i].context = ledger_cookie(inv->dto);
	dto->labelled = value != NULL;
	dto->label = value ? value_number(inv->run, value) : 0;
}

/* The number of segments: as the script says, even if it is wrong. */
static DAT_COUNT count_of(const struct invocation *inv, int i)
{
	const struct value *count = inv->call->in[i];

	return count ? (DAT_COUNT)value_number(inv->run, count) : inv->segment_count;
}

/* Parameters that are built from segments, or that count them. */
static bool fill_memory(struct invocation *inv, int i, const struct value *value,
			union call_value *arg)
{
	switch (inv->call->row->params[i].kind) {
	case PARAM_SEGMENTS:
		if (!set_segments(inv, value, arg))
			return false;
		inv->args[i - 1].count = count_of(inv, i - 1);
		return true;
	case PARAM_SPAN:
		return set_span(inv, value, arg);
	case PARAM_LENGTH:
		arg->number = value ? value_number(inv->run, value) : (uint64_t)inv->segment_count;
		return true;
	case PARAM_TRIPLET:
		return set_triplet(inv, value, arg);
	case PARAM_REMOTE:
		return set_remote(inv, i, value, arg);
	default:
		return true; /* set together with the parameter after it */
	}
}

static void fill_number(struct invocation *inv, int i, const struct value *value,
			union call_value *arg)
{
	const struct param *param = &inv->call->row->params[i];

	arg->number = value ? value_number(inv->run, value) : param->standard;
	if (param->is_signed)
		arg->count = (DAT_COUNT)arg->number;
}

static bool fill_slot(struct invocation *inv, int i)
{
	const struct param *param = &inv->call->row->params[i];
	const struct value *value = inv->call->in[i];
	union call_value *arg = &inv->args[i];
	bool none = !value || value->kind == VALUE_NULL;

	if (param_is_output(param) || param->kind == PARAM_INOUT_HANDLE) {
		set_output(inv, i, value);
		return true;
	}
	switch (param->kind) {
	case PARAM_HANDLE:
		arg->handle = value ? value_handle(inv->run, value) : DAT_HANDLE_NULL;
		break;
	case PARAM_STRUCT:
		if (!none)
			set_struct(inv, i, value);
		break;
	case PARAM_MASK_OF_STRUCT:
		arg->number = value ? value_number(inv->run, value) : mask_of(inv->call->in[i + 1]);
		break;
	case PARAM_COOKIE:
		set_cookie(inv, i, value);
		break;
	case PARAM_CONTEXT:
		arg->context.as_64 = value_number(inv->run, value);
		break;
	case PARAM_NAME:
		set_name(inv, i, value);
		break;
	case PARAM_ADDRESS:
		return set_address(inv, value, &inv->storage[i], arg);
	case PARAM_DATA:
		set_data(inv, i, value);
		break;
	case PARAM_REGION:
		set_region(inv, i, value);
		break;
	case PARAM_EVENT:
		set_event(inv, i, value);
		break;
	case PARAM_AGENT:
		if (!none)
			arg->agent = agent_new(inv->run, inv->st->actor_index,
					       value_number(inv->run, value));
		break;
	case PARAM_PROVIDER:
		arg->pointer = value ? NULL : tool_provider();
		break;
	case PARAM_NUMBER:
	case PARAM_TIMEOUT:
		fill_number(inv, i, value, arg);
		break;
	default:
		return fill_memory(inv, i, value, arg);
	}
	return true;
}

bool fill_slots(struct invocation *inv)
{
	int i;

	for (i = 0; inv->call->row->params[i].kind != PARAM_END; i++) {
		if (!fill_slot(inv, i))
			return false;
	}
	if (call_posts(inv->call->row))
		ledger_fill(inv->run, inv->dto);
	return true;
}
