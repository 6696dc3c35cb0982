/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace of each run: where it goes, and what it says of a run that ended without an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account.h"
#include "round.h"
#include "runner.h"
#include "tools/datsim/files.h"

#define NAMED_MOST 8     /* objects that were left */
#define SAID_MOST  16384 /* bytes, the last ones */

void runner_said(const struct runner *runner, struct text *said)
{
	char last[SAID_MOST];
	off_t length = runner->words >= 0 ? lseek(runner->words, 0, SEEK_END) : 0;
	ssize_t n = pread(runner->words, last, sizeof(last),
			  length > SAID_MOST ? length - SAID_MOST : 0);

	said->length = 0;
	for (ssize_t i = 0; i < n; i++) {
		if (!last[i])
			last[i] = ' ';
	}
	text_append(said, last, n > 0 ? (size_t)n : 0);
}

void runner_trace(const struct runners *runners, int which, struct text *path)
{
	text_add(path, "%s/trace%d", runners->traces, which);
}

static int number_of(const struct runners *runners, const struct runner *runner)
{
	return (int)(runner - runners->list);
}

void runner_add_trace(const struct runners *runners, const struct runner *runner,
		      const char *settings, struct text *text)
{
	struct text path = { 0 };

	text_add(text, "%s", settings);
	if (!runners->traces)
		return;
	runner_trace(runners, number_of(runners, runner), &path);
	unlink(text_of(&path));
	text_add(text, "DATSIM_TRACE=%s\n", text_of(&path));
	if (runners->trace_bytes && !getenv("DATSIM_TRACE_BYTES"))
		text_add(text, "DATSIM_TRACE_BYTES=%u\n", runners->trace_bytes);
	text_free(&path);
}

/* "RULE: OBJECT WHAT...": the first of the lines "checker: RULE: ...". */
static void tell_first(const struct watch *watch, struct outcome *outcome)
{
	const char *line = text_of(&watch->violations), *rule = strchr(line, ' ');

	line = rule ? rule + 1 : line;
	snprintf(outcome->what, sizeof(outcome->what), "%.*s", (int)strcspn(line, "\n"), line);
}

static void check_events(const struct watch *watch, struct outcome *outcome)
{
	if (watch->violation_count == 0)
		return;
	outcome->how = ENDED_WRONG;
	tell_first(watch, outcome);
}

static const char kill_mark[] = " does=kill ";

/*
 * The line "server-emu0 fault rule=1001 does=kill at=process" says that one was killed. The first
 * such line is at `first`, or there is none: so many objects may be left that looking for it each
 * time would take long.
 */
static bool was_killed(const struct text *content, const char *first, struct span object)
{
	const char *at = first, *line;
	size_t node = strcspn(object.s, ".");

	for (; at; at = strstr(at + 1, kill_mark)) {
		for (line = at; line > text_of(content) && line[-1] != '\n'; line--)
			;
		line += strcspn(line, " ") + 1;
		if (!strncmp(line, object.s, node) && line[node] == ' ')
			return true;
	}
	return false;
}

/* The library of each of several programs does not report what it left: the trace does. */
static void check_left(const struct text *content, const struct tallies *left,
		       struct outcome *outcome)
{
	const char *killed = strstr(text_of(content), kill_mark);
	struct text names = { 0 };
	int n = 0;

	for (size_t i = 0; i < left->count; i++) {
		if (was_killed(content, killed, left->list[i].what) || n++ >= NAMED_MOST)
			continue;
		text_add(&names, " ");
		text_printable(&names, left->list[i].what.s, left->list[i].what.length);
	}
	if (n > 0) {
		outcome->how = ENDED_LEFT;
		outcome->code = n;
		snprintf(outcome->what, sizeof(outcome->what), "%s%s", text_of(&names),
			 n > NAMED_MOST ? " ..." : "");
	}
	text_free(&names);
}

static void check_several(const struct runners *runners, const struct text *content,
			  const char *path, struct outcome *outcome)
{
	struct account account;
	struct text error = { 0 };

	if (account_read(&account, path, text_of(content), content->length, &error)) {
		if (!runners->leaves && !account.full)
			check_left(content, &account.left, outcome);
		check_events(&account.watch, outcome);
	}
	account_free(&account);
	text_free(&error);
}

static void check_one(const struct text *content, struct outcome *outcome)
{
	struct watch watch;

	watch_read(&watch, text_of(content), content->length);
	check_events(&watch, outcome);
	watch_free(&watch);
}

/* What a program that hangs does all the time. */
static void check_round(const struct text *content, struct outcome *outcome)
{
	struct round round;
	struct text words = { 0 };

	if (round_read(&round, text_of(content), content->length)) {
		round_words(&round, &words);
		snprintf(outcome->what, sizeof(outcome->what), "%s", text_of(&words));
	}
	text_free(&words);
}

void runner_check_trace(const struct runners *runners, struct runner *runner)
{
	struct outcome *outcome = &runner->outcome;
	struct text path = { 0 }, content = { 0 }, error = { 0 };
	bool ended_well = outcome->how == ENDED_WELL || outcome->how == ENDED_LEFT;

	runner->preempted = runner->outside;
	if (!runners->traces || (!runners->several && !ended_well && outcome->how != ENDED_HUNG))
		return;
	runner_trace(runners, number_of(runners, runner), &path);
	if (read_whole(text_of(&path), TRACE_BYTES_MAX, &content, &error)) {
		runner->preempted |= strstr(text_of(&content), " - note preempted: ") != NULL;
		/* A program that failed need not have a whole trace. */
		if (outcome->how == ENDED_HUNG)
			check_round(&content, outcome);
		else if (ended_well && runners->several)
			check_several(runners, &content, text_of(&path), outcome);
		else if (ended_well)
			check_one(&content, outcome);
	}
	text_free(&error);
	text_free(&content);
	text_free(&path);
}
