/* SPDX-License-Identifier: BSD-3-Clause */
/* What a united store has: failures, schedules of all shards, coverage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge.h"
#include "tools/datsim/commands.h"

struct sum {
	struct store store;
	struct coverage coverage;
	uint64_t shards, done, failed;
	double cpu;
	struct json json; /* of the shards */
};

static void shard_json(const struct position *position, struct json *json)
{
	json_open(json, NULL, '{');
	json_string(json, "target", text_of(&position->target));
	json_number(json, "seed", position->seed);
	json_number(json, "first", position->first);
	json_number(json, "shard", position->shard);
	json_number(json, "shards", position->shards);
	json_number(json, "schedules", position->done);
	json_number(json, "failed", position->failed);
	json_real(json, "cpu_seconds", position->cpu);
	json_close(json, '}');
}

static void add_position(const struct position *position, void *ctx)
{
	struct sum *sum = ctx;
	struct entry *entry;

	sum->shards++;
	sum->done += position->done;
	sum->failed += position->failed;
	sum->cpu += position->cpu;
	coverage_unite(&sum->coverage, &position->coverage);
	for (size_t i = 0; i < position->count; i++) {
		entry = store_find(&sum->store, text_of(&position->counts[i].name));
		if (entry)
			entry->count += position->counts[i].count;
	}
	shard_json(position, &sum->json);
}

/* Shortened, several failures may be one, which may have been there. */
static uint64_t count_fresh(const struct merge *merge, const struct sum *sum)
{
	struct text name = { 0 };
	uint64_t fresh = 0;

	for (size_t i = 0; i < sum->store.count; i++) {
		name.length = 0;
		text_add(&name, "\n%s\n", text_of(&sum->store.list[i].name));
		fresh += !strstr(text_of(&merge->known), text_of(&name));
	}
	text_free(&name);
	return fresh < merge->fresh ? fresh : merge->fresh;
}

static void tell_failures(const struct merge *merge, const struct sum *sum)
{
	uint64_t raw = 0;

	printf("%s: %zu failure%s, %llu of them new to it; %llu schedule%s of %llu shard%s, of "
	       "which %llu failed\n",
	       merge->course.store, sum->store.count, sum->store.count == 1 ? "" : "s",
	       (unsigned long long)count_fresh(merge, sum), (unsigned long long)sum->done,
	       sum->done == 1 ? "" : "s", (unsigned long long)sum->shards,
	       sum->shards == 1 ? "" : "s", (unsigned long long)sum->failed);
	for (size_t i = 0; i < sum->store.count; i++) {
		const struct entry *entry = &sum->store.list[i];

		printf("  %s, %llu schedule%s: %s: %s\n", text_of(&entry->name),
		       (unsigned long long)entry->count, entry->count == 1 ? "" : "s",
		       text_of(&entry->target), text_of(&entry->says));
		raw += !entry->shrunk;
	}
	if (raw)
		printf("%llu of them %s not shrunk: give the program%s behind --\n",
		       (unsigned long long)raw, raw == 1 ? "is" : "are", raw == 1 ? "" : "s");
}

static bool tell_json(const struct merge *merge, struct sum *sum)
{
	struct json *json = &sum->json;
	bool good;

	json_close(json, ']');
	json_open(json, "folders", '[');
	for (size_t i = 0; i < merge->count; i++)
		json_string(json, NULL, merge->folders[i]);
	json_close(json, ']');
	json_number(json, "schedules", sum->done);
	json_number(json, "failed", sum->failed);
	json_number(json, "new", count_fresh(merge, sum));
	json_real(json, "cpu_seconds", sum->cpu);
	entries_json(&sum->store, NULL, json);
	coverage_json(&sum->coverage, json);
	json_close(json, '}');
	good = json_write(json, merge->course.json);
	return good;
}

static bool add_all(const struct merge *merge, struct sum *sum)
{
	struct text table = { 0 };

	json_open(&sum->json, NULL, '{');
	json_string(&sum->json, "datsim", campaign_version());
	json_string(&sum->json, "store", merge->course.store);
	json_open(&sum->json, "shards", '[');
	if (!store_open(&sum->store, merge->course.store, false) ||
	    !position_each(&sum->store, add_position, sum))
		return false;
	tell_failures(merge, sum);
	if (merge->course.coverage) {
		coverage_tell(&sum->coverage, &table);
		fputs(text_of(&table), stdout);
		text_free(&table);
	}
	return !merge->course.json || tell_json(merge, sum);
}

int merge_tell(const struct merge *merge)
{
	struct sum sum = { .store = { .fd = -1 } };
	bool good = add_all(merge, &sum);

	store_close(&sum.store);
	coverage_free(&sum.coverage);
	text_free(&sum.json.text);
	return good ? EXIT_PASS : EXIT_USAGE;
}
