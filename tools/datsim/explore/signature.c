/* SPDX-License-Identifier: BSD-3-Clause */
/* The ending of a run and the shape of a schedule, as texts that equal failures share. */
#include "signature.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/show/trace.h"

#define SAID_MOST 200 /* bytes of what the program said */

/* ---- texts without numbers ---- */

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || strchr("._-+", c);
}

/* Is this word the name of a file with folders in front? Then *at moves behind the last of them. */
static void skip_folders(const char **at, const char *end)
{
	const char *p = *at, *slash = NULL;

	while (p < end && (is_name(*p) || *p == '/')) {
		if (*p == '/')
			slash = p;
		p++;
	}
	if (slash && slash + 1 < p)
		*at = slash + 1;
}

/* Add `length` bytes with '#' for each number, decimal or hexadecimal, and files by their names. */
static void add_plain(struct text *text, const char *s, size_t length)
{
	const char *end = s + length;
	bool in_word = false;

	while (s < end) {
		if (!in_word)
			skip_folders(&s, end);
		in_word = is_name(*s);
		if (s + 2 < end && s[0] == '0' && s[1] == 'x' && isxdigit((unsigned char)s[2])) {
			for (s += 2; s < end && isxdigit((unsigned char)*s); s++)
				;
			text_append(text, "#", 1);
		} else if (isdigit((unsigned char)*s)) {
			for (; s < end && isdigit((unsigned char)*s); s++)
				;
			text_append(text, "#", 1);
		} else {
			text_printable(text, s++, 1);
		}
	}
}

/* The name of a node without the number that tells it from others of that name. */
static void add_node(struct text *text, const char *name, size_t length)
{
	while (length > 1 && isdigit((unsigned char)name[length - 1]))
		length--;
	text_printable(text, name, length);
}

/* ---- what the program said ---- */

static bool span_has(struct span line, const char *word)
{
	return memmem(line.s, line.length, word, strlen(word)) != NULL;
}

static bool is_telling(struct span line)
{
	static const char *const words[] = { "Assertion",
					     "SUMMARY: ", "runtime error: ", "assertion", "panic" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (span_has(line, words[i]))
			return true;
	}
	return false;
}

/* The first line that tells; with `any`, if there is none, the last one with a letter. */
static struct span line_of(const char *said, bool any)
{
	struct span line, last = { "", 0 };
	size_t i;

	for (; *said; said += line.length + (said[line.length] == '\n')) {
		line = (struct span){ said, strcspn(said, "\n") };
		if (is_telling(line))
			return line;
		for (i = 0; any && i < line.length && !isalpha((unsigned char)line.s[i]); i++)
			;
		if (any && i < line.length)
			last = line;
	}
	return last;
}

/* Other messages are no part of it: one bug may show in several ways, as chance will have it. */
static void add_said(struct text *ending, const char *said)
{
	struct span line = line_of(said, false);

	if (!line.length)
		return;
	text_add(ending, "; says: ");
	add_plain(ending, line.s, line.length < SAID_MOST ? line.length : SAID_MOST);
}

void signature_says(struct text *says, const struct outcome *outcome, const char *said)
{
	struct span line = line_of(said, true);

	outcome_add(says, outcome);
	if (!line.length || (outcome->how != ENDED_CODE && outcome->how != ENDED_SIGNAL))
		return;
	text_add(says, "; it said: ");
	text_printable(says, line.s, line.length < SAID_MOST ? line.length : SAID_MOST);
}

/* ---- endings ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct text *)a)->s, ((const struct text *)b)->s);
}

#define SET_MOST 64

/* Add the texts, each once and in order, with `front` in front of each; and free them. */
static void add_set(struct text *text, const char *front, struct text *list, size_t count)
{
	size_t i;

	qsort(list, count, sizeof(list[0]), by_text);
	for (i = 0; i < count; i++) {
		if (i == 0 || strcmp(list[i].s, list[i - 1].s) != 0)
			text_add(text, "%s%s", front, list[i].s);
	}
	for (i = 0; i < count; i++)
		text_free(&list[i]);
}

/* The kinds of the objects that were left: their number, so "...", too, depends on the seed. */
static void add_left(struct text *ending, const char *what)
{
	struct text list[SET_MOST] = { { 0 } };
	size_t count = 0, n;

	for (; *what && count < SET_MOST; what += n) {
		what += strspn(what, " ");
		n = strcspn(what, " ");
		if (n && strncmp(what, "...", n) != 0)
			add_plain(&list[count++], what, n);
	}
	add_set(ending, " ", list, count);
}

/* "nothing can wake server, client; dat_evd_wait on client-emu#.evd# waits forever; ..." */
static void add_waits(struct text *ending, const char *what, const char *said)
{
	static const char front[] = "libdat: ", waits[] = " waits forever";
	struct text list[SET_MOST] = { { 0 } };
	struct span line;
	size_t count = 0;

	text_add(ending, " ");
	add_plain(ending, what, strcspn(what, ":"));
	for (; *said && count < SET_MOST; said += line.length + (said[line.length] == '\n')) {
		line = (struct span){ said, strcspn(said, "\n") };
		if (!span_starts(line, front) || !span_has(line, waits))
			continue;
		line.s += strlen(front);
		/* A program may say anything: nothing is left of "libdat: : x waits forever". */
		if (*line.s != ':')
			add_plain(&list[count++], line.s, strcspn(line.s, ":\n"));
		line.s = said;
	}
	add_set(ending, "; ", list, count);
}

void signature_ending(struct text *ending, const struct outcome *outcome, const char *said)
{
	const char *what = outcome->what;

	if (outcome->who[0] && outcome->how != ENDED_HUNG) {
		add_node(ending, outcome->who, strlen(outcome->who));
		text_add(ending, " ");
	}
	switch (outcome->how) {
	case ENDED_CODE:
		text_add(ending, "exits with %d", outcome->code);
		add_said(ending, said);
		break;
	case ENDED_SIGNAL:
		text_add(ending, "is ended by signal %d", outcome->code);
		add_said(ending, said);
		break;
	case ENDED_STUCK:
		text_add(ending, "is stuck;");
		add_waits(ending, what, outcome->who[0] || strstr(what, " waits ") ? "" : said);
		break;
	case ENDED_LEFT:
		text_add(ending, "leaves objects;");
		add_left(ending, what);
		break;
	case ENDED_WRONG:
		text_add(ending, "breaks a rule; ");
		add_plain(ending, what, strcspn(what, ":"));
		break;
	case ENDED_HUNG:
		text_add(ending, "hangs");
		if (!outcome->who[0])
			break;
		text_add(ending, "; ");
		add_node(ending, outcome->who, strlen(outcome->who));
		text_add(ending, " ended with %d", outcome->code);
		add_said(ending, said);
		break;
	case ENDED_WELL:
		text_add(ending, "ends well");
		break;
	}
}

void signature_verdict(struct text *ending, const struct verdict *verdict)
{
	size_t length;
	const char *title = failure_title(verdict, &length);

	text_add(ending, "%s",
		 verdict->code == EXIT_CHECKER     ? "breaks a rule; "
		 : verdict->code == EXIT_NOT_QUIET ? "is unquiet; "
						   : "fails; ");
	add_plain(ending, title, length);
}

/* ---- shapes ---- */

/* Word `index` of a line. */
static struct span word_of(const char *line, int index)
{
	for (;; index--) {
		line += strspn(line, " \t");
		if (index == 0)
			return (struct span){ line, strcspn(line, " \t") };
		line += strcspn(line, " \t");
	}
}

/* A loss that has no end takes its link down. */
static bool is_break(const char *line)
{
	static const char *const ways[] = { "down", "dead", "nak" };
	struct span way = word_of(line, 3);

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (span_is(way, ways[i]))
			return true;
	}
	return span_is(way, "drop") && !strstr(line, " nth=") && !strstr(line, " times=") &&
	       !strstr(line, " until=");
}

/* Every schedule watches buffers; a failure that this finds has an ending of its own. */
static bool is_usual_setting(struct span setting)
{
	static const char *const usual[] = { "seed=",      "latency=", "bandwidth=", "mtu=",
					     "rnr_timer=", "quantum=", "watch=" };

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		if (span_starts(setting, usual[i]))
			return true;
	}
	return false;
}

/* Add the kind of a fault line; nothing for a setting, or a turn, that no program should notice. */
static void add_kind(struct text *kind, const char *line)
{
	struct span first = word_of(line, 0), second = word_of(line, 1), third = word_of(line, 2);

	if (span_is(first, "fabric")) {
		if (!is_usual_setting(second))
			text_printable(kind, second.s, strcspn(second.s, "= \t"));
	} else if (span_is(first, "turn")) {
		return;
	} else if (span_is(first, "fault") && span_is(second, "kill")) {
		text_add(kind, "kill ");
		add_node(kind, third.s, third.length);
	} else if (span_is(first, "fault") && span_is(second, "link")) {
		text_add(kind, is_break(line) ? "break" : "timing");
	} else if (span_is(first, "link")) {
		text_add(kind, "timing");
	} else if (span_is(first, "fault")) {
		text_add(kind, "fault ");
		text_printable(kind, second.s, second.length);
	} else {
		text_printable(kind, first.s, first.length);
	}
}

/* Has the list `shape` that kind? */
static bool has_kind(const char *shape, const char *kind, size_t length)
{
	size_t n;

	for (; *shape; shape += n + (shape[n] ? 2 : 0)) {
		n = strcspn(shape, ",");
		if (n == length && !memcmp(shape, kind, n))
			return true;
	}
	return false;
}

bool shape_has(const char *shape, const char *part)
{
	size_t n;

	for (; *part; part += n + (part[n] ? 2 : 0)) {
		n = strcspn(part, ",");
		if (!has_kind(shape, part, n))
			return false;
	}
	return true;
}

static int by_pointer(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void signature_shape(struct text *shape, const struct lines *lines)
{
	char **list = mem_zero(lines->count + 1, sizeof(*list));
	size_t count = 0, i;

	for (i = 0; i < lines->count; i++) {
		struct text kind = { 0 };

		if (lines->line[i].kind == LINE_FAULT)
			add_kind(&kind, lines->line[i].text);
		if (kind.length)
			list[count++] = kind.s;
		else
			text_free(&kind);
	}
	qsort(list, count, sizeof(*list), by_pointer);
	if (count == 0)
		text_add(shape, "timing");
	for (i = 0; i < count; i++) {
		if (i == 0 || strcmp(list[i], list[i - 1]) != 0)
			text_add(shape, "%s%s", i ? ", " : "", list[i]);
	}
	for (i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

bool shape_restrict(const struct lines *all, const char *shape, struct lines *some)
{
	size_t i;

	some->line = mem_zero(all->count + 1, sizeof(*some->line));
	some->count = 0;
	for (i = 0; i < all->count; i++) {
		struct text kind = { 0 };

		if (all->line[i].kind == LINE_FAULT)
			add_kind(&kind, all->line[i].text);
		if (!kind.length || has_kind(shape, kind.s, kind.length))
			some->line[some->count++] = all->line[i];
		text_free(&kind);
	}
	return some->count < all->count;
}

/* ---- names ---- */

/* FNV-1a, of 64 bits */
static uint64_t hash_of(uint64_t hash, const char *s)
{
	do {
		hash = (hash ^ (unsigned char)*s) * 1099511628211u;
	} while (*s++);
	return hash;
}

void signature_name(struct text *name, const char *target, const char *ending, const char *shape)
{
	static const struct {
		const char *in, *word;
	} words[] = {
		{ "exits with ", "exit" }, { "is ended by signal ", "signal" },
		{ "is stuck", "stuck" },   { "hangs", "hang" },
		{ "leaves ", "left" },     { "breaks a rule", "rule" },
		{ "is unquiet", "quiet" }, { "fails", "fail" },
	};
	uint64_t hash = hash_of(hash_of(hash_of(14695981039346656037u, target), ending), shape);
	const char *word = "failure", *at;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		at = strstr(ending, words[i].in);
		if (at && !memchr(ending, ';', (size_t)(at - ending)) &&
		    (at == ending || at[-1] == ' ')) {
			word = words[i].word;
			break;
		}
	}
	text_add(name, "%s-%016llx", word, (unsigned long long)hash);
}
