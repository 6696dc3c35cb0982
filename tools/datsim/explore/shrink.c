/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortens a failing script while it fails in the same way. */
#include "tools/datsim/story/explain.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 3000

/* Of a script. */
struct shrinker {
	const char *name;
	const struct verdict *failure;
	struct options options;
	bool holds_without; /* it passes without the faults */
};

/* ---- lines ---- */

void lines_split(struct lines *lines, const struct plan *plan, const struct schedule *schedule)
{
	const char *p = text_of(&schedule->text), *nl;
	size_t first = 0, room = 0, n;
	/* Of a program, which has no lines of its own, all are. */
	size_t faults = schedule->fault_count + (plan->program ? schedule->way_count : 0);
	const char *q;

	for (q = plan->text; q < plan->text + plan->faults_at; q++)
		first += *q == '\n';
	first += plan->program ? 0 : schedule->way_count;
	memset(lines, 0, sizeof(*lines));
	for (; *p; p = *nl ? nl + 1 : nl) {
		nl = strchrnul(p, '\n');
		if (lines->count == room) {
			room = room ? 2 * room : 64;
			lines->line = mem_grow(lines->line, room * sizeof(*lines->line));
		}
		n = (size_t)(nl - p);
		lines->line[lines->count].text = mem_zero(1, n + 1);
		memcpy(lines->line[lines->count].text, p, n);
		lines->line[lines->count].kind =
			lines->count >= first && lines->count < first + faults ? LINE_FAULT
									       : LINE_SCRIPT;
		lines->count++;
	}
}

void lines_join(const struct lines *lines, bool faults, struct text *text)
{
	size_t i;

	text->length = 0;
	text_append(text, "", 0);
	for (i = 0; i < lines->count; i++) {
		if (!lines->line[i].text || (!faults && lines->line[i].kind == LINE_FAULT))
			continue;
		text_put(text, lines->line[i].text);
		text_append(text, "\n", 1);
	}
}

void lines_free(struct lines *lines)
{
	size_t i;

	for (i = 0; i < lines->count; i++)
		free(lines->line[i].text);
	free(lines->line);
	memset(lines, 0, sizeof(*lines));
}

/* ---- trying ---- */

const char *failure_title(const struct verdict *verdict, size_t *length)
{
	const char *p = strstr(text_of(&verdict->report), ": ");
	const char *end;

	p = p ? p + 2 : text_of(&verdict->report);
	end = p + strcspn(p, "\n(");
	while (end > p && end[-1] == ' ')
		end--;
	*length = (size_t)(end - p);
	return p;
}

bool same_failure(const struct verdict *a, const struct verdict *b)
{
	size_t m, n;
	const char *p = failure_title(a, &m), *q = failure_title(b, &n);

	return a->code == b->code && a->kind == b->kind && m == n && !memcmp(p, q, n);
}

static bool script_fails_so(const struct lines *lines, void *ctx)
{
	struct shrinker *shrinker = ctx;
	struct text text = { 0 };
	struct verdict verdict;
	bool good;

	lines_join(lines, true, &text);
	run_text(shrinker->name, text_of(&text), text.length, &shrinker->options, &verdict);
	good = same_failure(&verdict, shrinker->failure);
	verdict_free(&verdict);
	if (good && shrinker->holds_without) {
		lines_join(lines, false, &text);
		run_text(shrinker->name, text_of(&text), text.length, &shrinker->options, &verdict);
		good = verdict.code == EXIT_PASS;
		verdict_free(&verdict);
	}
	text_free(&text);
	return good;
}

static bool fails_so(struct shrinking *shrinking)
{
	if (shrinking->ended && ended_asked(shrinking->ended))
		return false;
	if (shrinking->course)
		course_doing(shrinking->course, "a failure is shortened: %d run%s, %zu line%s left",
			     shrinking->tries, shrinking->tries == 1 ? "" : "s",
			     shrinking->lines->count, shrinking->lines->count == 1 ? "" : "s");
	return ++shrinking->tries <= TRIES_MAX &&
	       shrinking->fails(shrinking->lines, shrinking->ctx);
}

/* ---- fewer lines ---- */

/* Remove lines first .. first + n - 1 if the rest still fails; true if so. */
static bool shrink_drop(struct shrinking *shrinking, size_t first, size_t n)
{
	struct lines *lines = shrinking->lines, all = *lines;
	size_t i;

	lines->line = mem_zero(all.count, sizeof(*lines->line));
	memcpy(lines->line, all.line, first * sizeof(*lines->line));
	memcpy(lines->line + first, all.line + first + n,
	       (all.count - first - n) * sizeof(*lines->line));
	lines->count = all.count - n;
	if (!fails_so(shrinking)) {
		free(lines->line);
		*lines = all;
		return false;
	}
	for (i = first; i < first + n; i++)
		free(all.line[i].text);
	free(all.line);
	return true;
}

/* From the end, because later lines depend on earlier ones. */
static bool drop_lines(struct shrinking *shrinking, size_t chunk)
{
	size_t at = shrinking->lines->count;
	bool any = false;

	while (at > 0) {
		size_t first = at > chunk ? at - chunk : 0;

		any |= shrink_drop(shrinking, first, at - first);
		at = first;
	}
	return any;
}

/* The rest of a line after `word`; NULL: the line does not begin with `word`. */
static const char *behind_word(const char *line, const char *word)
{
	const char *colon = !strncmp(line, "for ", 4) ? strstr(line, ": ") : NULL;

	line += colon ? (size_t)(colon - line) + 1 : 0;
	line += strspn(line, " \t");
	line += *line == '+' ? strcspn(line, " \t") : 0;
	line += strspn(line, " \t");
	return strncmp(line, word, strlen(word)) ? NULL : line + strlen(word);
}

static bool same_words(const char *hold, const char *release)
{
	for (;; hold++, release++) {
		hold += strspn(hold, " \t");
		release += strspn(release, " \t");
		if (!*release || *release == '#')
			return !*hold || *hold == '#' || !strncmp(hold, "after ", 6);
		if (*hold != *release)
			return false;
	}
}

/* Remove both lines of a hold and its release: the release alone would fail. */
static bool drop_pair(struct shrinking *shrinking, size_t hold, size_t release)
{
	struct lines *lines = shrinking->lines;
	char *text = lines->line[release].text;

	lines->line[release].text = NULL;
	if (!shrink_drop(shrinking, hold, 1)) {
		lines->line[release].text = text;
		return false;
	}
	free(text);
	memmove(lines->line + release - 1, lines->line + release,
		(lines->count - release) * sizeof(*lines->line));
	lines->count--;
	return true;
}

static bool drop_holds(struct shrinking *shrinking)
{
	const struct lines *lines = shrinking->lines;
	const char *hold, *release;
	bool any = false;
	size_t i, j;

	for (i = lines->count; i-- > 0;) {
		hold = behind_word(lines->line[i].text, "hold ");
		for (j = i + 1; hold && j < lines->count; j++) {
			release = behind_word(lines->line[j].text, "release ");
			if (!release || !same_words(hold, release))
				continue;
			any |= drop_pair(shrinking, i, j);
			break;
		}
	}
	return any;
}

static bool drop_faults(struct shrinking *shrinking)
{
	bool any = false;
	size_t i;

	for (i = shrinking->lines->count; i-- > 0;) {
		if (shrinking->lines->line[i].kind == LINE_FAULT)
			any |= shrink_drop(shrinking, i, 1);
	}
	return any;
}

/* ---- smaller numbers ---- */

/*
 * The next number to reduce: any number of a fault line, but only a repeat count of other lines.
 * NULL: none.
 */
static char *number_in(const struct line *line, char *from)
{
	char *p;

	for (p = from; *p && *p != '#'; p++) {
		if (!isdigit((unsigned char)*p) || p == line->text)
			continue;
		if (line->kind == LINE_FAULT && (p[-1] == ' ' || p[-1] == '='))
			return p;
		if (p[-1] == 'x' && p - 1 > line->text && p[-2] == ' ')
			return p;
		p += strspn(p, "0123456789") - 1;
	}
	return NULL;
}

static bool try_number(struct shrinking *shrinking, struct line *line, size_t at,
		       unsigned long value)
{
	char *old = line->text;
	size_t digits = strspn(old + at, "0123456789");
	struct text text = { 0 };

	if (value == 1 && old[at - 1] == 'x')
		text_add(&text, "%.*s%s", (int)at - 2, old, old + at + digits);
	else
		text_add(&text, "%.*s%lu%s", (int)at, old, value, old + at + digits);
	line->text = text.s;
	if (fails_so(shrinking)) {
		free(old);
		return true;
	}
	line->text = old;
	text_free(&text);
	return false;
}

static bool shorten_line(struct shrinking *shrinking, struct line *line)
{
	bool any = false;
	char *p = line->text;
	unsigned long value;
	size_t at;

	while ((p = number_in(line, p))) {
		at = (size_t)(p - line->text);
		value = strtoul(p, NULL, 10);
		if (value > 1 && try_number(shrinking, line, at, 1))
			any = true;
		else
			while (value > 3 && try_number(shrinking, line, at, value / 2)) {
				any = true;
				value /= 2;
			}
		p = line->text + (at < strlen(line->text) ? at : strlen(line->text));
		p += strspn(p, "0123456789");
	}
	return any;
}

static bool shrink_pass(struct shrinking *shrinking)
{
	bool any = false;
	size_t i;

	for (i = 0; i < shrinking->lines->count; i++)
		any |= shorten_line(shrinking, &shrinking->lines->line[i]);
	return any;
}

static bool drop_words(struct shrinking *shrinking)
{
	static const char *const words[] = { " optional", " until=" };
	struct line *line;
	bool any = false;
	size_t i, w;
	char *old, *at, *end;

	for (i = 0; i < shrinking->lines->count; i++) {
		line = &shrinking->lines->line[i];
		for (w = 0; line->kind == LINE_FAULT && w < ARRAY_SIZE(words); w++) {
			at = strstr(line->text, words[w]);
			if (!at)
				continue;
			old = strdup(line->text);
			end = at + strlen(words[w]) + strcspn(at + strlen(words[w]), " ");
			memmove(at, end, strlen(end) + 1);
			if (fails_so(shrinking)) {
				any = true;
				free(old);
			} else {
				free(line->text);
				line->text = old;
			}
		}
	}
	return any;
}

void shrink_lines(struct shrinking *shrinking)
{
	struct lines *lines = shrinking->lines;
	size_t chunk;
	bool any = true;

	while (any && shrinking->tries < TRIES_MAX) {
		any = drop_faults(shrinking);
		for (chunk = lines->count / 2; chunk > 1; chunk /= 2)
			any |= drop_lines(shrinking, chunk);
		any |= drop_lines(shrinking, 1);
		any |= drop_holds(shrinking);
		any |= shrink_pass(shrinking);
		any |= shrinking->words && drop_words(shrinking);
	}
}

static void simple_seed(struct shrinker *shrinker, struct shrinking *shrinking)
{
	uint64_t seed = shrinker->options.seed;

	shrinker->options.seed = 1;
	if (!fails_so(shrinking))
		shrinker->options.seed = seed;
}

static void explain_script(struct shrinking *shrinking, size_t left_out)
{
	struct explaining explaining = { .lines = shrinking->lines,
					 .fails = shrinking->fails,
					 .ctx = shrinking->ctx,
					 .plan = shrinking->plan,
					 .left_out = left_out,
					 .tries_most = EXPLAIN_TRIES,
					 .course = shrinking->course,
					 .ended = shrinking->ended };

	explain_lines(&explaining, shrinking->explained);
}

void shrink_script(struct shrinking *shrinking, const char *name, const struct verdict *failure,
		   uint64_t *seed)
{
	struct shrinker shrinker = { .name = name,
				     .failure = failure,
				     .options = { .has_seed = true, .seed = *seed } };
	size_t before = shrinking->lines->count;

	shrinking->fails = script_fails_so;
	shrinking->ctx = &shrinker;
	shrinker.holds_without = true;
	if (!fails_so(shrinking))
		shrinker.holds_without = false;
	simple_seed(&shrinker, shrinking);
	shrink_lines(shrinking);
	simple_seed(&shrinker, shrinking);
	if (shrinking->explained)
		explain_script(shrinking, before - shrinking->lines->count);
	*seed = shrinker.options.seed;
}
