/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of explore and of merge for programs: datsim(1) describes it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "campaign.h"
#include "tools/datsim/files.h"
#include "tools/datsim/program/origin.h"

#define JSON_FD 197 /* standard output as it was, while it leads to standard error */

void json_prepare(const char *path)
{
	if (!path || strcmp(path, "-") != 0)
		return;
	fflush(stdout);
	dup3(STDOUT_FILENO, JSON_FD, O_CLOEXEC);
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

bool json_write(const struct json *json, const char *path)
{
	size_t at = 0;
	ssize_t n;

	if (strcmp(path, "-") != 0)
		return write_whole_or_say(path, &json->text);
	fflush(stdout);
	while (at < json->text.length &&
	       (n = write(JSON_FD, json->text.s + at, json->text.length - at)) > 0)
		at += (size_t)n;
	if (at < json->text.length)
		fputs("datsim: cannot write the JSON to standard output\n", stderr);
	return at == json->text.length;
}

static const char *state_word(enum entry_state state)
{
	static const char *const words[] = {
		[ENTRY_KNOWN] = "not-tried", [ENTRY_FAILS] = "fails", [ENTRY_OTHER] = "other",
		[ENTRY_HOLDS] = "holds",     [ENTRY_NEW] = "new",
	};

	return words[state];
}

static void lines_json(const struct entry *entry, struct json *json)
{
	struct lines lines;

	entry_lines(entry, &lines);
	json_open(json, "lines", '[');
	for (size_t i = 0; i < lines.count; i++)
		json_string(json, NULL, lines.line[i].text);
	json_close(json, ']');
	lines_free(&lines);
}

static void explained_json(const struct entry *entry, struct json *json)
{
	const char *line = text_of(&entry->explained), *end;
	struct text one = { 0 };

	json_open(json, "explained", '[');
	for (; (end = strchr(line, '\n')); line = end + 1) {
		one.length = 0;
		text_append(&one, line, (size_t)(end - line));
		json_string(json, NULL, text_of(&one));
	}
	json_close(json, ']');
	text_free(&one);
}

static void replay_json(const struct store *store, const struct entry *entry, struct json *json)
{
	struct text path = { 0 }, replay = { 0 };

	if (store->dir) {
		store_path(store, entry, &path);
		json_string(json, "file", text_of(&path));
		text_put(&replay, text_of(&entry->before));
		path_add(&replay, text_of(&path));
		text_put(&replay, text_of(&entry->after));
		json_string(json, "replay", text_of(&replay));
	}
	text_free(&path);
	text_free(&replay);
}

static void entry_json(const struct store *store, const struct entry *entry, struct json *json)
{
	json_open(json, NULL, '{');
	json_string(json, "name", text_of(&entry->name));
	json_string(json, "target", text_of(&entry->target));
	json_string(json, "ending", text_of(&entry->ending));
	json_string(json, "shape", text_of(&entry->shape));
	json_string(json, "says", text_of(&entry->says));
	json_string(json, "state", state_word(entry->state));
	if (entry->state == ENTRY_OTHER)
		json_string(json, "now", text_of(&entry->now));
	json_number(json, "schedule", entry->schedule);
	json_number(json, "seed", entry->seed);
	json_number(json, "count", entry->count);
	json_string(json, "version", text_of(&entry->version));
	json_bool(json, "shrunk", entry->shrunk);
	json_bool(json, "repeats", entry->repeats);
	replay_json(store, entry, json);
	lines_json(entry, json);
	explained_json(entry, json);
	json_close(json, '}');
}

void entries_json(const struct store *store, const char *target, struct json *json)
{
	json_open(json, "failures", '[');
	for (size_t i = 0; i < store->count; i++) {
		if (!target || !strcmp(text_of(&store->list[i].target), target))
			entry_json(store, &store->list[i], json);
	}
	json_close(json, ']');
}

bool campaign_write_json(struct campaign *campaign)
{
	struct course *course = campaign->course;
	double seconds = course_clock() - campaign->began;
	uint64_t ran = course->done - campaign->before;
	struct json json = { .depth = 0 };
	bool good;

	json_open(&json, NULL, '{');
	json_string(&json, "datsim", campaign_version());
	json_string(&json, "target", text_of(&campaign->target));
	json_number(&json, "seed", course->seed);
	json_number(&json, "first", course->first);
	json_number(&json, "shard", course->shard);
	json_number(&json, "shards", course->shards);
	json_number(&json, "jobs", (uint64_t)course->jobs);
	json_bool(&json, "lockstep", course->lockstep);
	json_bool(&json, "interrupted", campaign->interrupted);
	if (course->reason.length)
		json_string(&json, "reason", text_of(&course->reason));
	json_number(&json, "schedules", course->done);
	json_number(&json, "schedules_before", campaign->before);
	json_number(&json, "failed", campaign->failed);
	json_number(&json, "new", campaign->fresh);
	json_real(&json, "seconds", seconds);
	json_real(&json, "rate", seconds > 0 ? (double)ran / seconds : 0);
	json_number(&json, "exit_status", (uint64_t)campaign->code);
	entries_json(&campaign->store, text_of(&campaign->target), &json);
	if (course->coverage)
		coverage_json(&campaign->coverage, &json);
	json_close(&json, '}');
	good = json_write(&json, course->json);
	course->reported = true;
	text_free(&json.text);
	return good;
}
