/* SPDX-License-Identifier: BSD-3-Clause */
/* Coverage as a table, and in JSON. */
#include <string.h>

#include "coverage.h"

/* The names of emu/wire/cause.c; tests/datsim/coverage.sh compares. */
static const char *const causes[] = {
	"NO_BUFFER",   "OVER_LIMIT",     "SOURCE",       "TARGET", "TOO_LONG",       "NO_MEMORY",
	"REMOTE_KEY",  "TOO_MANY_READS", "UNALIGNED",    "MTU",    "INVALIDATE_KEY", "NAK_INVALID",
	"NAK_ACCESS",  "NAK_OPERATION",  "NAK_RESERVED", "RNR",    "RETRY",          "READ_KEY",
	"READ_TARGET", "READ_MTU",       "READ_LENGTH",  "BIND",   "INVALIDATE",     NULL,
};
static const char *const faults[] = {
	"drop", "corrupt", "delay",     "reorder",   "duplicate",
	"rnr",  "nak",     "link_down", "host_dead", NULL,
};

static const struct {
	const char *word, *title;
	const char *const *all; /* NULL: there is no list */
} kinds[] = {
	[COVER_CAUSE] = { "cause", "causes of broken connections", causes },
	[COVER_TRANSITION] = { "transition", "transitions of Endpoints and QPs", NULL },
	[COVER_CALL] = { "call", "calls that returned an error", NULL },
	[COVER_COMPLETION] = { "completion", "completions by status", NULL },
	[COVER_EVENT] = { "event", "events", NULL },
	[COVER_FAULT] = { "fault", "faults that acted", faults },
};

const char *cover_word(enum cover_kind kind)
{
	return kinds[kind].word;
}

static bool is_covered(const struct coverage *coverage, enum cover_kind kind, const char *name)
{
	for (size_t i = 0; i < coverage->count; i++) {
		if (coverage->list[i].kind == kind && !strcmp(coverage->list[i].name, name))
			return true;
	}
	return false;
}

static size_t count_kind(const struct coverage *coverage, enum cover_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < coverage->count; i++)
		n += coverage->list[i].kind == kind;
	return n;
}

/* "never reached: A B C", in lines of less than 100 columns */
static void tell_missing(const struct coverage *coverage, enum cover_kind kind, struct text *text)
{
	const char *const *name = kinds[kind].all;
	size_t line = 0;

	for (; name && *name; name++) {
		if (is_covered(coverage, kind, *name))
			continue;
		if (line && line + strlen(*name) > 70) {
			text_add(text, "\n");
			line = 0;
		}
		text_add(text, "%s%s", line ? " " : "    never reached: ", *name);
		line += strlen(*name) + 1;
	}
	text_add(text, "%s", line ? "\n" : "");
}

void coverage_tell(const struct coverage *coverage, struct text *text)
{
	int kind;

	if (!coverage->schedules) {
		text_add(text, "coverage of 0 schedules: none has run with --coverage\n");
		return;
	}
	text_add(text, "coverage of %llu schedule%s:%*s schedules        times\n",
		 (unsigned long long)coverage->schedules, coverage->schedules == 1 ? "" : "s", 30,
		 "");
	for (kind = 0; kind < COVER_KINDS; kind++) {
		text_add(text, "  %s: %zu\n", kinds[kind].title,
			 count_kind(coverage, (enum cover_kind)kind));
		for (size_t i = 0; i < coverage->count; i++) {
			const struct cover *cover = &coverage->list[i];

			if (cover->kind == (enum cover_kind)kind)
				text_add(text, "    %-54s %10llu %12llu\n", cover->name,
					 (unsigned long long)cover->schedules,
					 (unsigned long long)cover->times);
		}
		tell_missing(coverage, (enum cover_kind)kind, text);
	}
}

void coverage_json(const struct coverage *coverage, struct json *json)
{
	json_open(json, "coverage", '{');
	json_number(json, "schedules", coverage->schedules);
	for (int kind = 0; kind < COVER_KINDS; kind++) {
		const char *const *name = kinds[kind].all;

		json_open(json, kinds[kind].word, '{');
		for (size_t i = 0; i < coverage->count; i++) {
			const struct cover *cover = &coverage->list[i];

			if (cover->kind != (enum cover_kind)kind)
				continue;
			json_open(json, cover->name, '{');
			json_number(json, "schedules", cover->schedules);
			json_number(json, "times", cover->times);
			json_close(json, '}');
		}
		for (; name && *name; name++) {
			if (is_covered(coverage, (enum cover_kind)kind, *name))
				continue;
			json_open(json, *name, '{');
			json_number(json, "schedules", 0);
			json_number(json, "times", 0);
			json_close(json, '}');
		}
		json_close(json, '}');
	}
	json_close(json, '}');
}
