/* SPDX-License-Identifier: BSD-3-Clause */
/* hostile.c - see hostile.h. */
#include "hostile.h"

#include <string.h>

#include <dat/sim.h>

static const struct {
	const char *key, *value;
	uint32_t set, clear;
} ways[] = {
	{ "watch", "posted", DAT_SIM_HOSTILE_WATCH, 0 },
	{ "poison", "on", DAT_SIM_HOSTILE_POISON, 0 },
	{ "placement", "tail", DAT_SIM_HOSTILE_TAIL, DAT_SIM_HOSTILE_RANDOM },
	{ "placement", "random", DAT_SIM_HOSTILE_RANDOM, DAT_SIM_HOSTILE_TAIL },
	{ "ends", "device", DAT_SIM_HOSTILE_ENDS, 0 },
	{ "retry", "spurious", DAT_SIM_HOSTILE_RETRY, 0 },
	{ "complete", "sent", DAT_SIM_HOSTILE_SENT, 0 },
	{ "watch", "off", 0, DAT_SIM_HOSTILE_WATCH },
	{ "poison", "off", 0, DAT_SIM_HOSTILE_POISON },
	{ "placement", "off", 0, DAT_SIM_HOSTILE_TAIL | DAT_SIM_HOSTILE_RANDOM },
	{ "ends", "off", 0, DAT_SIM_HOSTILE_ENDS },
	{ "retry", "off", 0, DAT_SIM_HOSTILE_RETRY },
	{ "complete", "off", 0, DAT_SIM_HOSTILE_SENT },
};

const char *const hostile_keys[] = { "watch", "poison",   "placement", "ends",
				     "retry", "complete", NULL };

bool hostile_set(const char *key, const char *value, uint32_t *set)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!strcmp(ways[i].key, key) && !strcmp(ways[i].value, value)) {
			*set = (*set & ~ways[i].clear) | ways[i].set;
			return true;
		}
	}
	return false;
}

const char *hostile_values(const char *key)
{
	static const char *const values[] = { "posted or off",       "on or off",
					      "tail, random or off", "device or off",
					      "spurious or off",     "sent or off" };
	size_t i;

	for (i = 0; hostile_keys[i]; i++) {
		if (!strcmp(hostile_keys[i], key))
			return values[i];
	}
	return NULL;
}

void hostile_text(uint32_t set, struct text *text)
{
	const char *between = "";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!(set & ways[i].set))
			continue;
		text_add(text, "%s%s=%s", between, ways[i].key, ways[i].value);
		between = ",";
	}
}

static bool is_way(const char *word, size_t length)
{
	char key[16], value[16];
	uint32_t set = 0;
	size_t n = strcspn(word, "=");

	if (length == 3 && !memcmp(word, "all", 3))
		return true;
	if (n + 1 >= length || n >= sizeof(key) || length - n > sizeof(value))
		return false;
	memcpy(key, word, n);
	key[n] = '\0';
	memcpy(value, word + n + 1, length - n - 1);
	value[length - n - 1] = '\0';
	return hostile_set(key, value, &set) && set;
}

bool hostile_take(void *member, const char *list)
{
	const char *word = list;
	size_t n;

	for (;; word += n + 1) {
		n = strcspn(word, ",");
		if (!is_way(word, n))
			return false;
		if (!word[n])
			break;
	}
	/* A fabric has one of the two. */
	if (strstr(list, "placement=tail") && strstr(list, "placement=random"))
		return false;
	*(const char **)member = list;
	return true;
}
