/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares outputs and events with the values in the script, and prints them as a script writes
 * them.
 */
#include "world.h"

#include <string.h>

bool match_number(struct run *run, const struct setting *setting, uint64_t number, size_t size)
{
	uint64_t wanted;
	bool same;

	if (setting->value->kind == VALUE_ANY)
		return true;
	if (setting->value->kind == VALUE_NEW) {
		run->objects[setting->value->symbol].number = number;
		return true;
	}
	wanted = value_number(run, setting->value);
	if (size == sizeof(uint32_t))
		same = (uint32_t)wanted == (uint32_t)number;
	else
		same = wanted == number;
	return same != setting->unequal;
}

static bool is_cookie(const struct member *member)
{
	return !strcmp(member->name, "cookie");
}

/* Compare the addresses only: the port does not identify an adapter. */
bool same_address(const void *a, const void *b)
{
	const struct sockaddr_in6 *six = a, *other = b;
	const struct sockaddr_in *four = a, *another = b;

	if (six->sin6_family != other->sin6_family)
		return false;
	if (six->sin6_family == AF_INET)
		return four->sin_addr.s_addr == another->sin_addr.s_addr;
	return !memcmp(&six->sin6_addr, &other->sin6_addr, sizeof(six->sin6_addr));
}

static int actor_at(const struct run *run, const void *address)
{
	int i;

	for (i = 0; address && i < run->script->actor_count; i++) {
		if (run->has_address[i] && same_address(address, &run->addresses[i]))
			return i;
	}
	return -1;
}

static const void *address_in(const struct member *member, const void *base)
{
	const void *address;

	memcpy(&address, (const char *)base + member->offset, sizeof(address));
	return address;
}

static DAT_HANDLE handle_in(const struct member *member, const void *base)
{
	return (DAT_HANDLE)(uintptr_t)member_get(member, base);
}

/* Private data as text. */
static bool match_data(const struct member *member, const void *base, const char *text)
{
	const char *data = address_in(member, base);
	DAT_COUNT size;

	memcpy(&size, (const char *)base + member->size_offset, sizeof(size));
	return size >= 0 && (size_t)size == strlen(text) &&
	       !memcmp(data ? data : "", text, (size_t)size);
}

/* The value common to all elements; false: they differ. */
static bool every_one(const struct member *member, const void *base, DAT_BOOLEAN *value)
{
	const char *at = (const char *)base + member->offset;
	size_t i;

	memcpy(value, at, sizeof(*value));
	for (i = 0; i < member->size; i += sizeof(*value)) {
		if (memcmp(at + i, value, sizeof(*value)) != 0)
			return false;
	}
	return true;
}

static bool match_agent(const struct run *run, const struct member *member, const void *base,
			const struct value *value)
{
	DAT_OS_WAIT_PROXY_AGENT agent;
	uint64_t number;

	memcpy(&agent, (const char *)base + member->offset, sizeof(agent));
	if (value->kind == VALUE_NULL)
		return !agent.proxy_agent_func;
	return agent_number(&agent, &number) && number == value_number(run, value);
}

static bool match_member(struct run *run, const struct setting *setting, const void *base)
{
	const struct member *member = setting->member;
	const struct value *value = setting->value;
	const void *address;
	DAT_BOOLEAN every;
	uint64_t number;
	bool same = true;

	if (value->kind == VALUE_ANY)
		return true;
	if (value->kind == VALUE_NEW && member->kind == MEMBER_HANDLE) {
		object_found(run, value->symbol, handle_in(member, base));
		return true;
	}
	switch (member->kind) {
	case MEMBER_HANDLE:
		same = handle_in(member, base) == value_handle(run, value);
		break;
	case MEMBER_ADDRESS:
		address = address_in(member, base);
		if (value->kind == VALUE_NULL)
			same = !address;
		else
			same = address &&
			       same_address(address, &run->addresses[value->actor_index]);
		break;
	case MEMBER_TEXT:
		same = !strncmp((const char *)base + member->offset, value->text, member->size);
		break;
	case MEMBER_DATA:
		same = match_data(member, base, value->text);
		break;
	case MEMBER_EVERY:
		same = every_one(member, base, &every) && every == value_number(run, value);
		break;
	case MEMBER_AGENT:
		same = match_agent(run, member, base, value);
		break;
	case MEMBER_NUMBER:
		number = member_get(member, base);
		if (is_cookie(member))
			number = ledger_label(run, number);
		return match_number(run, setting, number, member->size);
	}
	return same != setting->unequal;
}

static void print_data(struct text *text, const struct member *member, const void *base)
{
	const char *data = address_in(member, base);
	DAT_COUNT size;

	memcpy(&size, (const char *)base + member->size_offset, sizeof(size));
	text_append(text, "\"", 1);
	text_printable(text, data ? data : "", data && size > 0 ? (size_t)size : 0);
	text_append(text, "\"", 1);
}

static void print_agent(struct text *text, const struct member *member, const void *base)
{
	DAT_OS_WAIT_PROXY_AGENT agent;
	uint64_t number;

	memcpy(&agent, (const char *)base + member->offset, sizeof(agent));
	if (agent_number(&agent, &number))
		text_add(text, "%llu", (unsigned long long)number);
	else
		text_add(text, "%s", agent.proxy_agent_func ? "unknown" : "NULL");
}

void print_member(const struct run *run, struct text *text, const struct member *member,
		  const void *base)
{
	const char *s = (const char *)base + member->offset;
	DAT_BOOLEAN every;
	int actor;

	text_add(text, "%s=", member->name);
	switch (member->kind) {
	case MEMBER_HANDLE:
		text_handle(run, text, run->st ? run->st->actor_index : -1,
			    handle_in(member, base));
		return;
	case MEMBER_ADDRESS:
		actor = actor_at(run, address_in(member, base));
		if (actor >= 0)
			text_add(text, "%s", run->script->actors[actor].name);
		else
			text_add(text, "%s", address_in(member, base) ? "unknown" : "NULL");
		return;
	case MEMBER_TEXT:
		text_append(text, "\"", 1);
		text_printable(text, s, strnlen(s, member->size));
		text_append(text, "\"", 1);
		return;
	case MEMBER_DATA:
		print_data(text, member, base);
		return;
	case MEMBER_AGENT:
		print_agent(text, member, base);
		return;
	case MEMBER_EVERY:
		if (every_one(member, base, &every))
			group_print(text, member->group, every, false, sizeof(every));
		else
			text_add(text, "mixed");
		return;
	case MEMBER_NUMBER:
		break;
	}
	if (is_cookie(member))
		text_add(text, "%llu",
			 (unsigned long long)ledger_label(run, member_get(member, base)));
	else
		group_print(text, member->group, member_get(member, base), member->is_signed,
			    member->size);
}

bool settings_fit(struct run *run, const struct setting *settings, int param, const void *base)
{
	const struct setting *setting;

	for (setting = settings; setting; setting = setting->next) {
		if (setting->param != param || !setting->member)
			continue;
		if (setting->value->kind == VALUE_NEW || !match_member(run, setting, base))
			return false;
	}
	return true;
}

bool match_settings(struct run *run, const struct setting *settings, int param, const void *base,
		    struct text *actual, const char *separator)
{
	const struct setting *setting;
	bool same = true;

	for (setting = settings; setting; setting = setting->next) {
		if (setting->param != param || !setting->member)
			continue;
		if (actual->length)
			text_add(actual, "%s", separator);
		print_member(run, actual, setting->member, base);
		if (!match_member(run, setting, base))
			same = false;
	}
	return same;
}
