/* SPDX-License-Identifier: BSD-3-Clause */
/* A hunt that goes on after a failure: what is known is counted, what is not is shortened, kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hunt.h"
#include "tools/datsim/commands.h"
#include "tools/datsim/files.h"

#define PLACE "HERE.dsim" /* of the file's name in a replay line */

/* ---- a run has ended ---- */

static void count_coverage(struct hunt *hunt, const struct runner *runner)
{
	struct text path = { 0 }, trace = { 0 }, error = { 0 };

	if (!hunt->course->coverage)
		return;
	runner_trace(&hunt->runners, (int)(runner - hunt->runners.list), &path);
	if (read_whole(text_of(&path), TRACE_BYTES_MAX, &trace, &error))
		coverage_read(&hunt->campaign->coverage, text_of(&trace), trace.length);
	else
		coverage_read(&hunt->campaign->coverage, "", 0);
	text_free(&error);
	text_free(&trace);
	text_free(&path);
}

static void lines_of_schedule(struct hunt *hunt, uint64_t number, struct lines *lines)
{
	schedule_make(&hunt->schedule, &hunt->plan, hunt->course->seed, number);
	lines_split(lines, &hunt->plan, &hunt->schedule);
}

void hunt_take(struct hunt *hunt, const struct runner *runner)
{
	struct hunt_failure *failure = &hunt->pending[hunt->pending_count];
	struct text said = { 0 };
	struct lines lines;

	count_coverage(hunt, runner);
	if (runner->outcome.how == ENDED_WELL)
		return;
	*failure = (struct hunt_failure){ .number = runner->number, .outcome = runner->outcome };
	runner_said(runner, &said);
	signature_ending(&failure->ending, &runner->outcome, text_of(&said));
	signature_says(&failure->says, &runner->outcome, text_of(&said));
	lines_of_schedule(hunt, runner->number, &lines);
	if (campaign_knows(hunt->campaign, text_of(&failure->ending), &lines, NULL, NULL)) {
		campaign_note(hunt->campaign, outcome_code(&runner->outcome));
		text_free(&failure->ending);
		text_free(&failure->says);
	} else {
		hunt->pending_count++;
		hunt->found = true;
	}
	lines_free(&lines);
	text_free(&said);
}

void hunt_save(struct hunt *hunt, bool end)
{
	const struct runners *runners = &hunt->runners;
	uint64_t done, before;

	if (!hunt->campaign || hunt->found)
		return;
	done = hunt->course->done;
	for (int i = 0; i < runners->count; i++) {
		before = course_before(hunt->course, runners->list[i].number);
		if (runners->list[i].busy && before < done)
			done = before;
	}
	campaign_save(hunt->campaign, done, end);
}

/* ---- what is kept ---- */

static void take_replay(const struct hunt *hunt, struct entry *entry)
{
	struct text line = { 0 };
	const char *place;

	hunt_replay(hunt, PLACE, &line);
	place = strstr(text_of(&line), PLACE);
	text_append(&entry->before, line.s, (size_t)(place - line.s));
	text_add(&entry->after, "%s", place + strlen(PLACE));
	text_free(&line);
}

static void make_entry(struct hunt *hunt, const struct lines *lines, bool shrunk,
		       struct entry *entry)
{
	campaign_entry(hunt->campaign, entry, text_of(&hunt->ending), lines);
	entry->schedule = hunt->number;
	entry->shrunk = shrunk;
	entry->repeats = true;
	text_append(&entry->says, text_of(&hunt->says), hunt->says.length);
	text_append(&entry->explained, text_of(&hunt->explained), hunt->explained.length);
	take_replay(hunt, entry);
}

bool hunt_write(struct hunt *hunt, const char *path, const struct text *lines)
{
	bool good = true;

	if (!hunt->entry)
		return write_whole_or_say(path, lines);
	hunt->entry->repeats = hunt->repeats;
	if (!hunt->course->store)
		good = write_whole_or_say(path, lines);
	good = campaign_keep(hunt->campaign, hunt->entry) && good;
	hunt->entry = NULL;
	return good;
}

/* Is it one of the known failures after all, now that it is short? */
static bool is_known(struct hunt *hunt, const struct entry *entry)
{
	const struct entry *known = store_find(&hunt->campaign->store, text_of(&entry->name));

	return known && (known->state == ENTRY_FAILS || known->state == ENTRY_NEW);
}

/* The entry, which is not in the store, is explained, printed, and put there. */
static void report_new(struct hunt *hunt, struct lines *lines, struct entry *entry)
{
	hunt_explain(hunt, lines);
	if (ended_asked(&hunt->ended)) {
		entry_free(entry);
		return;
	}
	text_append(&entry->explained, text_of(&hunt->explained), hunt->explained.length);
	hunt->entry = entry;
	hunt_report_lines(hunt, lines);
	hunt->entry = NULL;
}

/* hunt->failure is none that is known: shorten it, print it and keep it. */
static void keep_failure(struct hunt *hunt, struct lines *lines)
{
	struct entry entry;

	if (!hunt->course->as_found) {
		lines_free(lines);
		hunt_shorten(hunt, lines);
		if (ended_asked(&hunt->ended))
			return;
	}
	hunt->explained.length = 0;
	make_entry(hunt, lines, !hunt->course->as_found, &entry);
	if (is_known(hunt, &entry)) {
		campaign_keep(hunt->campaign, &entry);
	} else if (hunt->course->as_found) {
		printf("%s: schedule %llu of seed %llu: %s: %s.dsim\n", text_of(&hunt->title),
		       (unsigned long long)hunt->number, (unsigned long long)hunt->course->seed,
		       text_of(&entry.says), text_of(&entry.name));
		campaign_keep(hunt->campaign, &entry);
	} else {
		report_new(hunt, lines, &entry);
	}
}

static int by_number(const void *a, const void *b)
{
	const struct hunt_failure *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* The campaign has no room for this failure: a later run goes on with its schedule. */
static void leave_from(struct hunt *hunt, uint64_t number)
{
	uint64_t before = course_before(hunt->course, number);

	if (before < hunt->course->done)
		hunt->course->done = before;
}

void hunt_settle(struct hunt *hunt)
{
	struct hunt_failure *failure;
	struct lines lines;

	qsort(hunt->pending, (size_t)hunt->pending_count, sizeof(hunt->pending[0]), by_number);
	for (int i = 0; i < hunt->pending_count; i++) {
		failure = &hunt->pending[i];
		if (!ended_asked(&hunt->ended) && !campaign_is_full(hunt->campaign)) {
			hunt->number = failure->number;
			hunt->failure = failure->outcome;
			hunt->ending = failure->ending;
			hunt->says = failure->says;
			lines_of_schedule(hunt, failure->number, &lines);
			if (!campaign_knows(hunt->campaign, text_of(&failure->ending), &lines,
					    hunt_fails_so, hunt))
				keep_failure(hunt, &lines);
			campaign_note(hunt->campaign, outcome_code(&failure->outcome));
			lines_free(&lines);
			hunt->ending = hunt->says = (struct text){ .s = NULL };
		} else if (!ended_asked(&hunt->ended)) {
			leave_from(hunt, failure->number);
		}
		text_free(&failure->ending);
		text_free(&failure->says);
	}
	/* Asked to end, it has not kept those that are left: no position is behind them. */
	hunt->found = hunt->pending_count > 0 && ended_asked(&hunt->ended);
	hunt->pending_count = 0;
	fflush(stdout);
}

/* ---- the known ones first ---- */

/* Run an entry. False: it cannot be run, or the tool has to end. */
static bool run_entry(struct hunt *hunt, const struct entry *entry, struct outcome *outcome,
		      struct text *ending)
{
	struct text settings = { 0 }, said = { 0 }, error = { 0 };
	bool good = !entry->is_script && hunt_compile(hunt, text_of(&entry->lines),
						      entry->lines.length, &settings, &error);

	if (!good)
		fprintf(stderr, "datsim: %s.dsim has no schedule for these programs\n%s",
			text_of(&entry->name), text_of(&error));
	good = good && runner_run(&hunt->runners, text_of(&settings), outcome);
	if (good) {
		runner_said(&hunt->runners.list[0], &said);
		signature_ending(ending, outcome, text_of(&said));
	}
	text_free(&said);
	text_free(&error);
	text_free(&settings);
	return good;
}

static bool is_ours(const struct hunt *hunt, const struct entry *entry)
{
	return !strcmp(text_of(&entry->target), text_of(&hunt->campaign->target));
}

static void try_entry(struct hunt *hunt, struct entry *entry)
{
	struct text ending = { 0 };
	struct outcome outcome;

	if (run_entry(hunt, entry, &outcome, &ending)) {
		entry->state = outcome.how == ENDED_WELL                            ? ENTRY_HOLDS
			       : !strcmp(text_of(&ending), text_of(&entry->ending)) ? ENTRY_FAILS
										    : ENTRY_OTHER;
		campaign_note(hunt->campaign, outcome_code(&outcome));
		text_free(&entry->now);
		outcome_add(&entry->now, &outcome);
		campaign_tell_known(hunt->campaign, entry);
	}
	text_free(&ending);
}

void hunt_try_known(struct hunt *hunt)
{
	struct store *store = &hunt->campaign->store;

	for (size_t i = 0; i < store->count && !ended_asked(&hunt->ended); i++) {
		if (is_ours(hunt, &store->list[i]))
			try_entry(hunt, &store->list[i]);
	}
	fflush(stdout);
}

/* ---- merge ---- */

static void shrink_entry(struct hunt *hunt, struct entry *entry, struct lines *lines)
{
	struct shrinking shrinking = { .lines = lines,
				       .fails = hunt_fails_so,
				       .ctx = hunt,
				       .words = true };

	hunt->number = entry->schedule;
	hunt->lines_before = lines->count;
	shrink_lines(&shrinking);
	hunt->explained.length = 0;
	hunt_explain(hunt, lines);
}

/* Shorten an entry that is as it was found; it may get another name, and meet another there. */
static bool shorten_entry(struct hunt *hunt, struct entry *entry)
{
	struct store *store = &hunt->campaign->store;
	struct text ending = { 0 }, old = { 0 };
	struct entry fresh;
	struct lines lines;
	uint64_t seed = entry->seed;
	bool is_new, good = run_entry(hunt, entry, &hunt->failure, &ending);

	if (!good || strcmp(text_of(&ending), text_of(&entry->ending)) != 0) {
		printf("%s.dsim is not shrunk: it does not fail in its way here\n",
		       text_of(&entry->name));
		text_free(&ending);
		return false;
	}
	hunt->ending = ending;
	text_append(&hunt->says, text_of(&entry->says), entry->says.length);
	entry_lines(entry, &lines);
	shrink_entry(hunt, entry, &lines);
	make_entry(hunt, &lines, true, &fresh);
	fresh.seed = seed;
	text_add(&old, "%s", text_of(&entry->name));
	if (!ended_asked(&hunt->ended)) {
		entry->shrunk = false;
		printf("%s.dsim is shrunk: %zu line%s, %s.dsim\n", text_of(&old), lines.count,
		       lines.count == 1 ? "" : "s", text_of(&fresh.name));
		good = position_rename(store, text_of(&old), text_of(&fresh.name)) &&
		       store_put(store, &fresh, &is_new) && !store->unwritten;
		entry = store_find(store, text_of(&old));
		if (good && entry && !entry->shrunk)
			store_remove(store, entry);
	}
	lines_free(&lines);
	text_free(&old);
	text_free(&hunt->ending);
	text_free(&hunt->says);
	return good;
}

void hunt_shrink_store(struct hunt *hunt)
{
	struct store *store = &hunt->campaign->store;
	size_t i = 0;

	while (i < store->count && !ended_asked(&hunt->ended)) {
		struct entry *entry = &store->list[i];

		/* Another takes the place of one that is removed. */
		if (entry->shrunk || !is_ours(hunt, entry) || entry->is_script ||
		    !shorten_entry(hunt, entry))
			i++;
	}
	fflush(stdout);
}
