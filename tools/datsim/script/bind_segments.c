/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds memory in arguments: the segments of a DTO, of an RMR, and the remote buffer of an RDMA. */
#include "bind.h"

#include <string.h>

static bool unknown_memory_key(struct binder *binder, const struct setting *setting,
			       const char *const *keys, const char *list)
{
	struct suggest suggest;

	diag_add(&binder->script->diag, setting->at, "expected %s, found \"%s\"", list,
		 setting->key);
	suggest_start(&suggest, setting->key, (int)strlen(setting->key));
	for (; *keys; keys++)
		suggest_try(&suggest, *keys);
	diag_suggest(&binder->script->diag, &suggest);
	return false;
}

/* Settings of these keys (NULL-terminated): mem and rmr name objects, the others take a number. */
static bool bind_memory(struct binder *binder, struct value *value, const char *const *keys,
			const char *list)
{
	struct setting *setting;
	bool good;
	size_t i;

	for (setting = value->settings; setting; setting = setting->next) {
		for (i = 0; keys[i] && strcmp(keys[i], setting->key); i++)
			;
		if (!keys[i] || setting->unequal)
			return unknown_memory_key(binder, setting, keys, list);
		if (!strcmp(setting->key, "mem"))
			good = bind_of_type(binder, setting->value, DAT_HANDLE_TYPE_LMR, "an LMR");
		else if (!strcmp(setting->key, "rmr"))
			good = bind_of_type(binder, setting->value, DAT_HANDLE_TYPE_RMR, "an RMR");
		else
			good = bind_bytes(binder, setting->value);
		if (!good)
			return false;
	}
	return true;
}

bool bind_segment(struct binder *binder, struct value *value)
{
	static const char *const keys[] = { "mem",         "offset",          "length",
					    "lmr_context", "virtual_address", NULL };

	if (value->kind == VALUE_STRUCT)
		return bind_memory(binder, value, keys,
				   "mem, offset, length, lmr_context or virtual_address");
	if (value->kind == VALUE_NUMBER || is_variable(binder, value))
		return bind_bytes(binder, value);
	diag_add(&binder->script->diag, value->at,
		 "expected a size or {mem=... offset=... length=...}");
	return false;
}

bool bind_segments(struct binder *binder, struct value *value)
{
	struct value *element;
	int n = 0;

	if (value->kind == VALUE_NULL)
		return true;
	if (value->kind != VALUE_LIST)
		return bind_segment(binder, value);
	for (element = value->elements; element; element = element->next) {
		if (++n > CALL_SEGMENTS_MAX) {
			diag_add(&binder->script->diag, element->at, "expected at most %d segments",
				 CALL_SEGMENTS_MAX);
			return false;
		}
		if (!bind_segment(binder, element))
			return false;
	}
	return true;
}

bool bind_remote(struct binder *binder, struct value *value)
{
	static const char *const keys[] = { "mem",    "rmr",         "offset",
					    "length", "rmr_context", "target_address",
					    NULL };

	if (value->kind == VALUE_NULL)
		return true;
	if (value->kind == VALUE_STRUCT)
		return bind_memory(binder, value, keys,
				   "mem, rmr, offset, length, rmr_context or target_address");
	return bind_of_type(binder, value, DAT_HANDLE_TYPE_LMR, "an LMR");
}
