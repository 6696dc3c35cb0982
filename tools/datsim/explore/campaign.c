/* SPDX-License-Identifier: BSD-3-Clause */
/* A campaign: what is known, what is new, how far it has come, and the summary. */
#include "campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/datsim/commands.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

#define SAVE_SECONDS 5 /* of a thousand shards: 200 writes a second into one folder */

const char *campaign_version(void)
{
	return PACKAGE_VERSION;
}

/* ---- its position ---- */

static double cpu_seconds(void)
{
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
			children.ru_stime.tv_sec) +
	       (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
			children.ru_stime.tv_usec) /
		       1e6;
}

static void position_here(const struct campaign *campaign, struct position *position)
{
	const struct course *course = campaign->course;

	*position = (struct position){ .seed = course->seed,
				       .first = course->first,
				       .shard = course->shard,
				       .shards = course->shards,
				       .kinds = course->kinds };
	text_add(&position->target, "%s", text_of(&campaign->target));
}

void campaign_save(struct campaign *campaign, uint64_t done, bool end)
{
	struct position position;
	struct text content = { 0 };
	double now = course_clock();

	if (!campaign->course->store || (!end && now - campaign->saved < SAVE_SECONDS))
		return;
	/* A later run is to find those again whose file could not be written. */
	campaign->unsaved = campaign->store.unwritten > 0;
	if (campaign->unsaved)
		return;
	campaign->saved = now;
	position_here(campaign, &position);
	position.done = done;
	position.failed = campaign->failed;
	position.cpu = campaign->cpu_before + cpu_seconds();
	for (size_t i = 0; i < campaign->store.count; i++) {
		if (campaign->store.list[i].count)
			position_count(&position, text_of(&campaign->store.list[i].name),
				       campaign->store.list[i].count);
	}
	position.coverage = campaign->coverage;
	position_format(&position, &content);
	campaign->unsaved = !store_write(&campaign->store, text_of(&campaign->position), &content);
	position.coverage = (struct coverage){ .list = NULL };
	position_free(&position);
	text_free(&content);
}

static void go_on(struct campaign *campaign, struct position *position)
{
	struct entry *entry;

	campaign->course->done = campaign->before = position->done;
	campaign->failed = position->failed;
	campaign->cpu_before = position->cpu;
	campaign->coverage = position->coverage;
	position->coverage = (struct coverage){ .list = NULL };
	for (size_t i = 0; i < position->count; i++) {
		entry = store_find(&campaign->store, text_of(&position->counts[i].name));
		/* More than once, if merge gave two failures one name. */
		if (entry)
			entry->count += position->counts[i].count;
	}
}

/* Go on where an earlier run was. False: its position cannot be read. */
static bool campaign_resume(struct campaign *campaign)
{
	struct text content = { 0 }, error = { 0 }, path = { 0 };
	struct position position = { .done = 0 };
	bool found = store_read(&campaign->store, text_of(&campaign->position), &content, &error);

	text_add(&path, "%s/%s", campaign->course->store, text_of(&campaign->position));
	if (found && position_parse(&position, text_of(&path), &content, &error))
		go_on(campaign, &position);
	fputs(text_of(&error), stderr);
	found = !error.length;
	position_free(&position);
	text_free(&path);
	text_free(&error);
	text_free(&content);
	return found;
}

/* ---- begin ---- */

bool campaign_wanted(const struct course *course)
{
	return course->store || course->json || course->coverage;
}

bool campaign_begin(struct campaign *campaign, struct course *course, const char *target)
{
	struct position position;

	*campaign = (struct campaign){ .course = course, .store = { .fd = -1 } };
	text_printable(&campaign->target, target, strlen(target));
	campaign->began = campaign->saved = course_clock();
	position_here(campaign, &position);
	position_name(&position, &campaign->position);
	position_free(&position);
	if ((course->store && !store_open(&campaign->store, course->store, true)) ||
	    (course->resume && !campaign_resume(campaign))) {
		text_add(&course->reason, "the store %s cannot be used", course->store);
		return false;
	}
	course->began = course->told = course_clock();
	return true;
}

void campaign_free(struct campaign *campaign)
{
	store_close(&campaign->store);
	coverage_free(&campaign->coverage);
	text_free(&campaign->target);
	text_free(&campaign->position);
}

/* ---- failures ---- */

void campaign_note(struct campaign *campaign, int code)
{
	if (!campaign->code)
		campaign->code = code;
}

bool campaign_is_full(const struct campaign *campaign)
{
	return campaign->fresh >= campaign->course->failures;
}

struct entry *campaign_knows(struct campaign *campaign, const char *ending,
			     const struct lines *lines,
			     bool (*fails)(const struct lines *lines, void *ctx), void *ctx)
{
	struct text shape = { 0 };
	struct entry *entry, *known = NULL;
	struct lines some;

	signature_shape(&shape, lines);
	for (size_t i = 0; !known; i++) {
		entry = store_match(&campaign->store, text_of(&campaign->target), ending,
				    text_of(&shape), &i);
		if (!entry)
			break;
		if (!shape_restrict(lines, text_of(&entry->shape), &some) ||
		    (fails && fails(&some, ctx)))
			known = entry;
		free(some.line);
	}
	text_free(&shape);
	if (known) {
		known->count++;
		campaign->failed++;
	}
	return known;
}

void campaign_entry(const struct campaign *campaign, struct entry *entry, const char *ending,
		    const struct lines *lines)
{
	memset(entry, 0, sizeof(*entry));
	text_add(&entry->target, "%s", text_of(&campaign->target));
	text_add(&entry->ending, "%s", ending);
	text_add(&entry->version, "%s", campaign_version());
	signature_shape(&entry->shape, lines);
	lines_join(lines, true, &entry->lines);
	entry->seed = campaign->course->seed;
	entry_name(entry);
}

bool campaign_keep(struct campaign *campaign, struct entry *entry)
{
	size_t unwritten = campaign->store.unwritten;
	bool fresh;

	store_put(&campaign->store, entry, &fresh)->count++;
	campaign->failed++;
	campaign->fresh += fresh;
	return campaign->store.unwritten == unwritten;
}

static const char *state_words(enum entry_state state)
{
	switch (state) {
	case ENTRY_NEW:
		return "new";
	case ENTRY_FAILS:
		return "still fails";
	case ENTRY_OTHER:
		return "fails in another way";
	case ENTRY_HOLDS:
		return "no longer fails";
	case ENTRY_KNOWN:
		break;
	}
	return "not tried";
}

void campaign_add_before(const struct campaign *campaign, uint64_t before, struct text *text)
{
	text_add(text, "after %llu ", (unsigned long long)before);
	if (campaign && campaign->failed)
		text_add(text, "other%s", before == 1 ? "" : "s");
	else
		text_add(text, "that hold%s", before == 1 ? "s" : "");
}

void campaign_tell_known(const struct campaign *campaign, const struct entry *entry)
{
	printf("%s: %s/%s.dsim %s%s: %s\n", text_of(&campaign->target), campaign->store.dir,
	       text_of(&entry->name), state_words(entry->state),
	       entry->state == ENTRY_HOLDS ? ", as it did" : "",
	       text_of(entry->state == ENTRY_OTHER ? &entry->now : &entry->says));
}

/* ---- the end ---- */

static void tell_ways(const struct campaign *campaign)
{
	for (size_t i = 0; i < campaign->store.count; i++) {
		const struct entry *entry = &campaign->store.list[i];

		if (strcmp(text_of(&entry->target), text_of(&campaign->target)) != 0 ||
		    (!entry->count && entry->state != ENTRY_FAILS))
			continue;
		printf("  %s, %s, %llu schedule%s: %s\n", text_of(&entry->name),
		       state_words(entry->state), (unsigned long long)entry->count,
		       entry->count == 1 ? "" : "s", text_of(&entry->says));
	}
}

/* "... hold", or "..., of which 5 fail, in 2 ways, 1 of them new:" */
static void tell_sum(const struct campaign *campaign)
{
	const struct course *course = campaign->course;
	uint64_t ways = 0;

	printf("%s: %llu schedule%s of seed %llu", text_of(&campaign->target),
	       (unsigned long long)course->done, course->done == 1 ? "" : "s",
	       (unsigned long long)course->seed);
	if (campaign->before)
		printf(" (%llu of them in earlier runs)", (unsigned long long)campaign->before);
	if (!campaign->failed) {
		puts(campaign->interrupted && course->done == 1 ? " has ended"
		     : campaign->interrupted                    ? " have ended"
		     : course->done == 1                        ? " holds"
								: " hold");
		return;
	}
	for (size_t i = 0; i < campaign->store.count; i++)
		ways += campaign->store.list[i].count > 0;
	printf(", of which %llu fail%s, in %llu way%s, %llu of them new:\n",
	       (unsigned long long)campaign->failed, campaign->failed == 1 ? "s" : "",
	       (unsigned long long)ways, ways == 1 ? "" : "s", (unsigned long long)campaign->fresh);
}

int campaign_end(struct campaign *campaign)
{
	struct text table = { 0 };
	int code = campaign->code;

	if (campaign->course->store || !campaign->failed)
		tell_sum(campaign);
	if (campaign->course->store)
		tell_ways(campaign);
	if (campaign->store.unwritten)
		printf("  the folder is not whole: %zu could not be written\n",
		       campaign->store.unwritten);
	if (campaign->unsaved && !code)
		campaign->code = code = EXIT_USAGE;
	if (campaign->course->coverage) {
		coverage_tell(&campaign->coverage, &table);
		fputs(text_of(&table), stdout);
		text_free(&table);
	}
	if (campaign->course->json && !campaign_write_json(campaign) && !code)
		code = EXIT_USAGE;
	return code;
}

void campaign_interrupted(struct campaign *campaign, int code)
{
	campaign->interrupted = true;
	campaign->code = code;
	campaign_end(campaign);
}

int campaign_report(struct campaign *campaign, int code)
{
	if (!campaign->course->json || campaign->course->reported)
		return code;
	campaign->code = code;
	if (code && !campaign->interrupted && !campaign->course->reason.length)
		text_add(&campaign->course->reason, "standard error says why");
	return campaign_write_json(campaign) || code ? code : EXIT_USAGE;
}

void campaign_tell_of_end(const struct campaign *campaign)
{
	fprintf(stderr, "datsim explore: it was asked to end: %llu schedule%s ended, and ",
		(unsigned long long)campaign->course->done,
		campaign->course->done == 1 ? " has" : "s have");
	if (campaign->failed)
		fprintf(stderr, "%llu %s failed\n", (unsigned long long)campaign->failed,
			campaign->failed == 1 ? "has" : "have");
	else
		fputs("none has failed\n", stderr);
}
