/* SPDX-License-Identifier: BSD-3-Clause */
/* The file that says how far one shard of a campaign has come. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign.h"

#define FIRST "# datsim position 1"

/* Another seed, shard or set of faults is another campaign. */
void position_name(const struct position *position, struct text *name)
{
	struct text what = { 0 }, hash = { 0 };

	text_add(&what, "%llu %llu %llu", (unsigned long long)position->seed,
		 (unsigned long long)position->first, (unsigned long long)position->kinds);
	signature_name(&hash, text_of(&position->target), text_of(&what), "position");
	text_add(name, "shard-%llu-of-%llu%s.position", (unsigned long long)position->shard,
		 (unsigned long long)position->shards, strrchr(text_of(&hash), '-'));
	text_free(&what);
	text_free(&hash);
}

void position_count(struct position *position, const char *name, uint64_t count)
{
	position->counts =
		mem_grow(position->counts, (position->count + 1) * sizeof(*position->counts));
	position->counts[position->count] = (typeof(*position->counts)){ .count = count };
	text_add(&position->counts[position->count++].name, "%s", name);
}

void position_free(struct position *position)
{
	for (size_t i = 0; i < position->count; i++)
		text_free(&position->counts[i].name);
	free(position->counts);
	text_free(&position->target);
	coverage_free(&position->coverage);
	memset(position, 0, sizeof(*position));
}

/* ---- writing ---- */

static void add_number(struct text *content, const char *key, uint64_t value)
{
	text_add(content, "# %s: %llu\n", key, (unsigned long long)value);
}

void position_format(const struct position *position, struct text *content)
{
	text_add(content, FIRST "\n# target: ");
	text_printable(content, text_of(&position->target), position->target.length);
	text_add(content, "\n");
	add_number(content, "seed", position->seed);
	add_number(content, "first", position->first);
	add_number(content, "shard", position->shard);
	add_number(content, "shards", position->shards);
	add_number(content, "kinds", position->kinds);
	add_number(content, "done", position->done);
	add_number(content, "failed", position->failed);
	add_number(content, "cpu-ms", (uint64_t)(position->cpu * 1e3));
	for (size_t i = 0; i < position->count; i++)
		text_add(content, "# count: %s %llu\n", text_of(&position->counts[i].name),
			 (unsigned long long)position->counts[i].count);
	coverage_format(&position->coverage, content);
	text_add(content, "# ----\n");
}

/* ---- reading ---- */

/* A name as signature_name makes them. */
static bool is_name(const char *s, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '-')
			return false;
	}
	return length > 0 && length < 64;
}

static bool take_count(const char **at, struct position *position)
{
	struct span value;
	const char *from = *at;
	char name[64];
	size_t n, digits;

	if (position->count >= STORE_MOST || !header_value(&from, "count", &value))
		return false;
	n = strcspn(value.s, " \n");
	digits = strspn(value.s + n + 1, "0123456789");
	if (!is_name(value.s, n) || digits < 1 || digits > 18 || n + 1 + digits != value.length)
		return false;
	memcpy(name, value.s, n);
	name[n] = '\0';
	position_count(position, name, strtoull(value.s + n + 1, NULL, 10));
	*at = from;
	return true;
}

static bool parse_numbers(struct position *position, const char **at, const char **wanted)
{
	uint64_t cpu = 0;
	const struct {
		const char *key;
		uint64_t *value;
	} numbers[] = {
		{ "seed", &position->seed },     { "first", &position->first },
		{ "shard", &position->shard },   { "shards", &position->shards },
		{ "kinds", &position->kinds },   { "done", &position->done },
		{ "failed", &position->failed }, { "cpu-ms", &cpu },
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		*wanted = numbers[i].key;
		if (!header_number(at, numbers[i].key, numbers[i].value))
			return false;
	}
	*wanted = "a shard from 1 to shards";
	position->cpu = (double)cpu / 1e3;
	return position->shard >= 1 && position->shard <= position->shards;
}

static bool parse_position(struct position *position, const char **at, const char **wanted)
{
	struct span value;

	*wanted = "\"" FIRST "\"";
	if (strncmp(*at, FIRST "\n", strlen(FIRST) + 1) != 0)
		return false;
	*at += strlen(FIRST) + 1;
	*wanted = "target";
	if (!header_value(at, "target", &value) || !value.length)
		return false;
	text_printable(&position->target, value.s, value.length);
	if (!parse_numbers(position, at, wanted))
		return false;
	while (take_count(at, position))
		;
	*wanted = "count: NAME N, or covered-schedules";
	if (!header_number(at, "covered-schedules", &position->coverage.schedules))
		return false;
	while (coverage_take(at, &position->coverage))
		;
	*wanted = "covered: KIND N N NAME, or the line ----";
	return !strcmp(*at, "# ----\n");
}

bool position_parse(struct position *position, const char *path, const struct text *content,
		    struct text *error)
{
	const char *at = text_of(content), *wanted = "";
	int line = 1;

	memset(position, 0, sizeof(*position));
	if (parse_position(position, &at, &wanted))
		return true;
	for (const char *p = text_of(content); p < at; p++)
		line += *p == '\n';
	text_add(error, "%s:%d: expected %s, found \"", path, line, wanted);
	text_printable(error, at, strcspn(at, "\n") < 60 ? strcspn(at, "\n") : 60);
	text_add(error, "\": this is no position of a campaign, or it is damaged; remove it\n");
	return false;
}

/* ---- all of a store ---- */

struct positions {
	const struct store *store;
	void (*take)(const struct position *position, void *ctx);
	void *ctx;
	const char *from, *to; /* a name that changes */
};

static bool load_position(const struct store *store, const char *name, struct position *position)
{
	struct text path = { 0 }, content = { 0 }, error = { 0 };
	bool good = store_read(store, name, &content, &error);

	text_add(&path, "%s/%s", store->dir, name);
	memset(position, 0, sizeof(*position));
	if (good && !position_parse(position, text_of(&path), &content, &error)) {
		position_free(position);
		good = false;
	}
	fputs(text_of(&error), stderr);
	text_free(&error);
	text_free(&content);
	text_free(&path);
	return good;
}

static bool take_each(struct store *store, const char *name, void *ctx)
{
	struct positions *all = ctx;
	struct position position;
	bool good = load_position(store, name, &position);

	if (good)
		all->take(&position, all->ctx);
	position_free(&position);
	return good;
}

bool position_each(const struct store *store,
		   void (*take)(const struct position *position, void *ctx), void *ctx)
{
	struct positions all = { .take = take, .ctx = ctx };

	return store_each(store, ".position", take_each, &all);
}

static bool rename_each(struct store *store, const char *name, void *ctx)
{
	struct positions *all = ctx;
	struct text content = { 0 };
	struct position position;
	bool good = load_position(store, name, &position), any = false;

	for (size_t i = 0; i < position.count; i++) {
		struct text *counted = &position.counts[i].name;

		if (strcmp(text_of(counted), all->from) != 0)
			continue;
		text_free(counted);
		text_add(counted, "%s", all->to);
		any = true;
	}
	if (any) {
		position_format(&position, &content);
		good = store_write(store, name, &content);
	}
	text_free(&content);
	position_free(&position);
	return good;
}

bool position_rename(const struct store *store, const char *from, const char *to)
{
	struct positions all = { .from = from, .to = to };

	return !strcmp(from, to) || store_each(store, ".position", rename_each, &all);
}
