/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds set-up lines: fabric, use, and link, which changes a link later on. */
#include "bind.h"
#include "hostile.h"
#include "keywords.h"

#include <stdio.h>
#include <string.h>

bool bind_unknown_key(struct binder *binder, const struct setting *setting, const char *const *keys)
{
	struct suggest suggest;
	struct text list = { 0 };
	size_t i;

	suggest_start(&suggest, setting->key, (int)strlen(setting->key));
	for (i = 0; keys[i]; i++) {
		suggest_try(&suggest, keys[i]);
		text_add(&list, "%s%s", i ? ", " : "", keys[i]);
	}
	diag_add(&binder->script->diag, setting->at, "expected one of %s, found \"%s\"",
		 text_of(&list), setting->key);
	diag_suggest(&binder->script->diag, &suggest);
	text_free(&list);
	return false;
}

bool bind_twice(struct binder *binder, const char *what, struct place at, const char *instead)
{
	diag_add(&binder->script->diag, at, "\"%s\" is there twice: expected it once%s", what,
		 instead);
	return false;
}

bool bind_once(struct binder *binder, const struct setting *settings, const char *instead)
{
	const struct setting *key, *next;

	for (key = settings; key; key = key->next)
		for (next = key->next; next; next = next->next)
			if (same_word(key->key, next->key))
				return bind_twice(binder, next->key, next->at, instead);
	return true;
}

static bool is_equal_setting(struct binder *binder, const struct setting *setting)
{
	if (!setting->unequal)
		return true;
	diag_add(&binder->script->diag, setting->at, "expected %s=value", setting->key);
	return false;
}

/* ---- fabric ---- */

static bool bind_hostile(struct binder *binder, const char *key, const struct value *value)
{
	if (value->kind == VALUE_NAME && !value->actor &&
	    hostile_set(key, value->text, &binder->script->config.hostile))
		return true;
	return bind_expected_word(binder, value, hostile_values(key));
}

static bool bind_profile(struct binder *binder, const struct value *value)
{
	if (value->kind == VALUE_NAME && !strcmp(value->text, "ib"))
		binder->script->config.profile = DAT_SIM_PROFILE_IB;
	else if (value->kind == VALUE_NAME && !strcmp(value->text, "iwarp"))
		binder->script->config.profile = DAT_SIM_PROFILE_IWARP;
	else {
		return bind_expected_word(binder, value, "ib or iwarp");
	}
	return true;
}

/* A number of bytes, 4K too, becomes a plain number. */
static bool bind_plain_bytes(struct binder *binder, struct value *value)
{
	if (!value_bytes(binder, value, &value->number))
		return false;
	value->unit = "";
	value->billionths = 0;
	return true;
}

static bool bind_seed(struct binder *binder, const struct value *value)
{
	if (value->kind == VALUE_NUMBER && !value->negative && !*value->unit &&
	    !value->billionths) {
		binder->script->config.seed = value->number;
		return true;
	}
	diag_add(&binder->script->diag, value->at, "expected a number from 0 to %llu",
		 (unsigned long long)UINT64_MAX);
	return false;
}

static bool bind_fabric_number(struct binder *binder, const char *key, struct value *value)
{
	DAT_SIM_CONFIG *config = &binder->script->config;
	int64_t number;

	if (!strcmp(key, "mtu")) {
		if ((*value->unit && !bind_plain_bytes(binder, value)) ||
		    !value_between(binder, value, 256, 65536, &number))
			return false;
		config->mtu = (DAT_UINT32)number;
	} else if (!strcmp(key, "rnr_retry")) {
		if (!value_between(binder, value, 0, 7, &number))
			return false;
		config->rnr_retry = (DAT_UINT32)number;
	} else {
		return bind_seed(binder, value);
	}
	return true;
}

static bool bind_fabric_setting(struct binder *binder, const struct setting *setting)
{
	DAT_SIM_CONFIG *config = &binder->script->config;
	const char *key = setting->key;
	size_t i;

	for (i = 0; fabric_keys[i] && strcmp(fabric_keys[i], key); i++)
		;
	if (!fabric_keys[i])
		return bind_unknown_key(binder, setting, fabric_keys);
	if (!is_equal_setting(binder, setting))
		return false;
	if (!strcmp(key, "profile"))
		return bind_profile(binder, setting->value);
	if (!strcmp(key, "latency"))
		return value_ns(binder, setting->value, &config->latency_ns);
	if (!strcmp(key, "rnr_timer"))
		return value_ns(binder, setting->value, &config->rnr_timer_ns);
	if (!strcmp(key, "quantum"))
		return value_ns(binder, setting->value, &config->poll_quantum_ns);
	if (!strcmp(key, "bandwidth"))
		return value_rate(binder, setting->value, &config->bandwidth_bps);
	if (hostile_values(key))
		return bind_hostile(binder, key, setting->value);
	return bind_fabric_number(binder, key, setting->value);
}

bool bind_fabric(struct binder *binder, struct statement *st)
{
	bool good = bind_once(binder, st->fabric, " in a line");
	struct setting *setting;

	for (setting = st->fabric; setting; setting = setting->next)
		good = bind_fabric_setting(binder, setting) && good;
	return good;
}

bool bind_link(struct binder *binder, struct statement *st)
{
	struct setting *setting;
	uint64_t number;

	if (!bind_once(binder, st->traffic.settings, " in a line"))
		return false;
	for (setting = st->traffic.settings; setting; setting = setting->next) {
		if (!is_equal_setting(binder, setting))
			return false;
		if (!strcmp(setting->key, "latency")) {
			if (!value_ns(binder, setting->value, &number))
				return false;
		} else if (!strcmp(setting->key, "bandwidth")) {
			if (!value_rate(binder, setting->value, &number))
				return false;
		} else {
			return bind_unknown_key(binder, setting, link_keys);
		}
		setting->value->number = number;
	}
	return true;
}

/* ---- use ---- */

enum use_number {
	USE_COUNT,
	USE_BYTES,
	USE_SIGNED
};

static const struct use_key {
	const char *key;
	enum use_number kind;
	bool connected_only;
	size_t offset;
	uint64_t standard;
	int64_t least, most;
} use_keys[] = {
	{ "eps", USE_COUNT, true, offsetof(struct use, eps), 1, 1, SCRIPT_EPS_MAX },
	{ "max", USE_COUNT, true, offsetof(struct use, srq_max), 16, 1, INT32_MAX },
	{ "lw", USE_COUNT, true, offsetof(struct use, srq_lw), 0, 0, INT32_MAX },
	{ "soft", USE_SIGNED, true, offsetof(struct use, soft), 0, -1, INT32_MAX },
	{ "recv", USE_COUNT, true, offsetof(struct use, recv), 16, 0, INT32_MAX },
	{ "request", USE_COUNT, true, offsetof(struct use, request), 16, 0, INT32_MAX },
	{ "iov", USE_COUNT, true, offsetof(struct use, iov), 4, 0, INT32_MAX },
	{ "qual", USE_COUNT, true, offsetof(struct use, qual), 1000, 1, INT32_MAX },
	{ "qlen", USE_COUNT, false, offsetof(struct use, qlen), 64, 1, INT32_MAX },
	{ "memory", USE_BYTES, false, offsetof(struct use, memory), 1u << 20, 4096,
	  SCRIPT_MEMORY_MAX },
};

static bool bind_use_setting(struct binder *binder, struct use *use, const struct setting *setting)
{
	static const char *const bare[] = { NULL };
	const struct use_key *key = use_keys, *end = use_keys + ARRAY_SIZE(use_keys);
	int64_t number;

	if (!is_equal_setting(binder, setting))
		return false;
	if (use->kind == USE_CONNECTED && !strcmp(setting->key, "srq")) {
		if (setting->value->kind != VALUE_NAME || setting->value->actor) {
			diag_add(&binder->script->diag, setting->value->at,
				 "expected a name for the SRQ, such as srq=S");
			return false;
		}
		use->srq = setting->value->text;
		use->srq_at = setting->value->at;
		return true;
	}
	while (key < end && (strcmp(key->key, setting->key) || use->kind == USE_BARE ||
			     (key->connected_only && use->kind != USE_CONNECTED)))
		key++;
	if (key == end && use->kind == USE_BARE)
		return bind_unknown_key(binder, setting, bare);
	if (key == end)
		return bind_unknown_key(binder, setting,
					use->kind == USE_CONNECTED ? use_keys_connected
								   : use_keys_adapter);
	if (key->kind == USE_BYTES) {
		if (!bind_plain_bytes(binder, setting->value))
			return false;
	} else if (!bind_number(binder, setting->value, GROUP_COUNT)) {
		return false;
	}
	if (!value_between(binder, setting->value, key->least, key->most, &number))
		return false;
	memcpy((char *)use + key->offset, &number, sizeof(number));
	return true;
}

static bool bind_use_actor(struct binder *binder, struct use_actor *actor)
{
	struct script *script = binder->script;

	if (script_actor(script, actor->name) >= 0) {
		diag_add(&script->diag, actor->at,
			 "expected another name: there already is an actor \"%s\"", actor->name);
		return false;
	}
	if (script->actor_count == SCRIPT_ACTORS_MAX) {
		diag_add(&script->diag, actor->at, "expected at most %d actors", SCRIPT_ACTORS_MAX);
		return false;
	}
	actor->index = script->actor_count++;
	script->actors[actor->index].name = actor->name;
	script->actors[actor->index].adapter = actor->adapter;
	return true;
}

/* The objects that every actor on an adapter gets. */
static bool name_adapter_objects(struct binder *binder, struct use_actor *actor)
{
	static const struct {
		const char *name;
		int type;
	} objects[USE_OBJECTS] = {
		[USE_IA] = { "ia", DAT_HANDLE_TYPE_IA },
		[USE_ASYNC] = { "async", DAT_HANDLE_TYPE_EVD },
		[USE_PZ] = { "pz", DAT_HANDLE_TYPE_PZ },
		[USE_MEM] = { "mem", DAT_HANDLE_TYPE_LMR },
		[USE_RECV] = { "recv", DAT_HANDLE_TYPE_EVD },
		[USE_REQUEST] = { "request", DAT_HANDLE_TYPE_EVD },
		[USE_CONNECT] = { "connect", DAT_HANDLE_TYPE_EVD },
		[USE_CR] = { "cr", DAT_HANDLE_TYPE_EVD },
	};
	int owner = -1, symbol;

	for (int i = USE_IA; i < USE_OBJECTS; i++) {
		symbol = bind_symbol(binder, actor->index, objects[i].name, actor->at,
				     objects[i].type, owner);
		if (symbol < 0)
			return false;
		if (i == USE_IA)
			actor->objects = owner = symbol;
	}
	return true;
}

/* Names the EPs ep, ep2 ... of an actor. */
static bool name_endpoints(struct binder *binder, struct use_actor *actor, uint64_t count)
{
	struct arena *arena = &binder->script->arena;
	char name[24];
	int n, symbol;

	for (uint64_t i = 1; i <= count; i++) {
		n = snprintf(name, sizeof(name), i == 1 ? "ep" : "ep%u", (unsigned int)i);
		symbol = bind_symbol(binder, actor->index, arena_copy(arena, name, (size_t)n),
				     binder->st->at, DAT_HANDLE_TYPE_EP, actor->objects + USE_IA);
		if (symbol < 0)
			return false;
		if (i == 1)
			actor->eps = symbol;
	}
	return true;
}

/* Every actor but the last connects to the last, which has an EP for each EP of the others. */
static bool name_connected_objects(struct binder *binder, struct use *use, int clients)
{
	struct use_actor *actor, *last = use->actors;
	int ia;

	while (last->next)
		last = last->next;
	if (use->eps * (uint64_t)clients > SCRIPT_EPS_MAX) {
		diag_add(&binder->script->diag, binder->st->at,
			 "expected at most %d EPs at \"%s\", found %d actors with eps=%llu",
			 SCRIPT_EPS_MAX, last->name, clients, (unsigned long long)use->eps);
		return false;
	}
	ia = last->objects + USE_IA;
	use->psp_symbol =
		bind_symbol(binder, last->index, "psp", binder->st->at, DAT_HANDLE_TYPE_PSP, ia);
	if (use->psp_symbol < 0)
		return false;
	if (use->srq) {
		use->srq_symbol = bind_symbol(binder, last->index, use->srq, use->srq_at,
					      DAT_HANDLE_TYPE_SRQ, ia);
		if (use->srq_symbol < 0)
			return false;
	}
	for (actor = use->actors; actor != last; actor = actor->next) {
		if (!name_endpoints(binder, actor, use->eps))
			return false;
	}
	return name_endpoints(binder, last, use->eps * (uint64_t)clients);
}

static void default_settings(struct use *use)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(use_keys); i++)
		memcpy((char *)use + use_keys[i].offset, &use_keys[i].standard, sizeof(uint64_t));
	use->srq_iov = 4;
}

static bool name_objects(struct binder *binder, struct statement *st)
{
	struct use *use = &st->use;
	struct use_actor *actor;
	int n = 0;

	for (actor = use->actors; actor; actor = actor->next, n++) {
		if (!bind_use_actor(binder, actor))
			return false;
		if (use->kind != USE_BARE && !name_adapter_objects(binder, actor))
			return false;
	}
	if (use->kind != USE_CONNECTED)
		return true;
	if (n < 2) {
		diag_add(&binder->script->diag, st->at,
			 "expected two or more actors to connect, such as a@emu0 b@emu1 or "
			 "a,b@emu0.. s@emu2, found %d",
			 n);
		return false;
	}
	return name_connected_objects(binder, use, n - 1);
}

bool bind_use(struct binder *binder, struct statement *st)
{
	bool good = bind_once(binder, st->use.settings, " in a line");
	struct setting *setting;

	default_settings(&st->use);
	for (setting = st->use.settings; setting; setting = setting->next) {
		if (bind_use_setting(binder, &st->use, setting))
			continue;
		good = false;
		st->hides_names |= !strcmp(setting->key, "eps");
	}
	return good && name_objects(binder, st);
}

bool bind_recover_use(struct binder *binder, struct statement *st)
{
	/* Its settings were not read, if it was refused before that. */
	if (!st->use.memory && bind_use(binder, st))
		return true;
	return name_objects(binder, st);
}
