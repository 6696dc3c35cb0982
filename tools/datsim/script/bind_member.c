/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binds a value that is written to a member of a structure, or compared with it, and memory in
 * arguments: the segments of a DTO, of an RMR, and the remote buffer of an RDMA.
 */
#include "bind.h"

#include <string.h>

/* The handle type of a member, by its name. */
static int type_of_member(const struct member *member)
{
	static const struct {
		const char *part;
		int type;
	} parts[] = {
		{ "cno", DAT_HANDLE_TYPE_CNO }, { "evd", DAT_HANDLE_TYPE_EVD },
		{ "srq", DAT_HANDLE_TYPE_SRQ }, { "lmr", DAT_HANDLE_TYPE_LMR },
		{ "rmr", DAT_HANDLE_TYPE_RMR }, { "pz", DAT_HANDLE_TYPE_PZ },
		{ "ia", DAT_HANDLE_TYPE_IA },   { "ep", DAT_HANDLE_TYPE_EP },
		{ "cr", DAT_HANDLE_TYPE_CR },
	};
	size_t i;

	if (member->kind == MEMBER_NUMBER)
		return SYMBOL_NUMBER;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strstr(member->name, parts[i].part))
			return parts[i].type;
	}
	return SYMBOL_ANY;
}

static bool bind_new_member(struct binder *binder, const struct setting *setting,
			    const struct member *member)
{
	if (setting->unequal || (member->kind != MEMBER_NUMBER && member->kind != MEMBER_HANDLE)) {
		diag_add(&binder->script->diag, setting->value->at,
			 "expected a value for %s, which is neither a number nor a handle and "
			 "cannot be named",
			 member->name);
		return false;
	}
	return bind_new_name(binder, setting->value, type_of_member(member));
}

static bool bind_text(struct binder *binder, const struct value *value)
{
	if (value->kind == VALUE_STRING)
		return true;
	diag_add(&binder->script->diag, value->at, "expected a text in quotes");
	return false;
}

static bool bind_address_member(struct binder *binder, struct value *value)
{
	if (value->kind == VALUE_NULL)
		return true;
	if (value->kind == VALUE_NAME && !value->actor) {
		value->actor_index = bind_actor(binder, value->text, value->at);
		return value->actor_index >= 0;
	}
	diag_add(&binder->script->diag, value->at, "expected the name of an actor");
	return false;
}

bool bind_member(struct binder *binder, struct setting *setting, const struct member *member)
{
	struct value *value = setting->value;
	int64_t number;

	setting->member = member;
	if (value->kind == VALUE_ANY)
		return true;
	if (value->kind == VALUE_NEW)
		return bind_new_member(binder, setting, member);
	switch (member->kind) {
	case MEMBER_HANDLE:
		return bind_handle(binder, value);
	case MEMBER_ADDRESS:
		return bind_address_member(binder, value);
	case MEMBER_TEXT:
	case MEMBER_DATA:
		return bind_text(binder, value);
	case MEMBER_AGENT:
		return value->kind == VALUE_NULL || bind_number(binder, value, GROUP_NONE);
	case MEMBER_EVERY:
		return bind_number(binder, value, member->group);
	case MEMBER_NUMBER:
		break;
	}
	if (value->kind == VALUE_NULL && member->silent)
		return true; /* a pointer: NULL is the number 0 */
	if (value->kind == VALUE_NUMBER && *value->unit && member->size == sizeof(uint64_t)) {
		if (!bind_bytes(binder, value))
			return false;
	}
	if (!bind_number(binder, value, member->group))
		return false;
	if (member->size == sizeof(uint64_t) || value->kind == VALUE_VARIABLE)
		return true;
	return value_between(binder, value, INT32_MIN, UINT32_MAX, &number);
}

/* ---- memory ---- */

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

	if (!bind_once(binder, value->settings, ""))
		return false;
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
