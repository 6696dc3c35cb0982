/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of one failure: written, and read with every value checked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "tools/datsim/program/origin.h"

#define FIRST "# datsim failure 1\n"
#define LAST  "# ----\n"

/* ---- writing ---- */

void store_path(const struct store *store, const struct entry *entry, struct text *path)
{
	text_add(path, "%s/%s.dsim", store->dir, text_of(&entry->name));
}

void entry_name(struct entry *entry)
{
	text_free(&entry->name);
	signature_name(&entry->name, text_of(&entry->target), text_of(&entry->ending),
		       text_of(&entry->shape));
}

static void add_header(struct text *content, const char *key, const struct text *value)
{
	struct text plain = { 0 };

	text_printable(&plain, text_of(value), value->length);
	for (size_t i = 0; i < plain.length; i++) {
		if (plain.s[i] == '\n')
			plain.s[i] = ' ';
	}
	text_add(content, "# %s: %s\n", key, text_of(&plain));
	text_free(&plain);
}

/* A line of the header for each of its lines. */
static void add_explained(struct text *content, const struct text *explained)
{
	const char *line = text_of(explained), *end;
	struct text one = { 0 };

	for (; (end = strchr(line, '\n')); line = end + 1) {
		one.length = 0;
		text_append(&one, line, (size_t)(end - line));
		add_header(content, "explained", &one);
	}
	text_free(&one);
}

void entry_format(const struct store *store, const struct entry *entry, struct text *content)
{
	struct text path = { 0 }, replay = { 0 };

	store_path(store, entry, &path);
	text_add(&replay, "%s", text_of(&entry->before));
	path_add(&replay, text_of(&path));
	text_add(&replay, "%s", text_of(&entry->after));
	text_add(content, FIRST);
	add_header(content, "target", &entry->target);
	add_header(content, "ending", &entry->ending);
	add_header(content, "shape", &entry->shape);
	add_header(content, "says", &entry->says);
	text_add(content, "# found: schedule %llu of seed %llu\n",
		 (unsigned long long)entry->schedule, (unsigned long long)entry->seed);
	add_header(content, "version", &entry->version);
	text_add(content, "# shrunk: %s\n", entry->shrunk ? "yes" : "no");
	text_add(content, "# repeats: %s\n", entry->repeats ? "yes" : "no");
	if (entry->is_script)
		text_add(content, "# script: seed %llu, faults %zu + %zu\n",
			 (unsigned long long)entry->fabric_seed, entry->faults_at,
			 entry->fault_count);
	add_header(content, "replay", &replay);
	add_explained(content, &entry->explained);
	text_add(content, LAST "%s", text_of(&entry->lines));
	text_free(&path);
	text_free(&replay);
}

/* ---- reading ---- */

bool header_value(const char **at, const char *key, struct span *value)
{
	size_t n = strlen(key);

	if (strncmp(*at, "# ", 2) != 0 || strncmp(*at + 2, key, n) != 0 ||
	    strncmp(*at + 2 + n, ": ", 2) != 0)
		return false;
	value->s = *at + n + 4;
	value->length = strcspn(value->s, "\n");
	if (value->s[value->length] != '\n')
		return false;
	*at = value->s + value->length + 1;
	return true;
}

/* Digits at *s, which moves behind them. */
static bool take_number(const char **s, uint64_t *value)
{
	size_t n = strspn(*s, "0123456789");

	errno = 0;
	*value = strtoull(*s, NULL, 10);
	if (n < 1 || errno)
		return false;
	*s += n;
	return true;
}

static bool take_word(const char **s, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*s, word, n) != 0)
		return false;
	*s += n;
	return true;
}

bool header_number(const char **at, const char *key, uint64_t *value)
{
	struct span span;
	const char *from = *at, *s;

	if (header_value(&from, key, &span)) {
		s = span.s;
		if (take_number(&s, value) && s == span.s + span.length) {
			*at = from;
			return true;
		}
	}
	return false;
}

static bool take_text(const char **at, const char *key, struct text *text)
{
	struct span value;

	if (!header_value(at, key, &value) || !value.length)
		return false;
	text_free(text);
	text_printable(text, value.s, value.length);
	return true;
}

static bool take_bool(const char **at, const char *key, bool *set)
{
	struct span value;
	const char *from = *at;

	if (!header_value(&from, key, &value) || (!span_is(value, "yes") && !span_is(value, "no")))
		return false;
	*set = span_is(value, "yes");
	*at = from;
	return true;
}

static bool take_found(const char **at, struct entry *entry)
{
	const char *s = *at;

	if (!take_word(&s, "# found: schedule ") || !take_number(&s, &entry->schedule) ||
	    !take_word(&s, " of seed ") || !take_number(&s, &entry->seed) || *s != '\n')
		return false;
	*at = s + 1;
	return true;
}

/* Only a script has this line. */
static bool take_script(const char **at, struct entry *entry)
{
	uint64_t faults_at, count;
	const char *s = *at;

	entry->is_script = take_word(&s, "# script: ");
	if (!entry->is_script)
		return true;
	if (!take_word(&s, "seed ") || !take_number(&s, &entry->fabric_seed) ||
	    !take_word(&s, ", faults ") || !take_number(&s, &faults_at) || !take_word(&s, " + ") ||
	    !take_number(&s, &count) || *s != '\n' || faults_at > STORE_FILE_MOST ||
	    count > STORE_FILE_MOST)
		return false;
	entry->faults_at = faults_at;
	entry->fault_count = count;
	*at = s + 1;
	return true;
}

/* The length of a word of a shell's command line, with its quotes. */
static size_t word_length(const char *word)
{
	bool quoted = false;
	size_t n = 0;

	for (; word[n] && (quoted || word[n] != ' '); n++) {
		if (word[n] == '\'')
			quoted = !quoted;
		else if (word[n] == '\\' && !quoted && word[n + 1])
			n++;
	}
	return n;
}

/* Split the replay line around the file's name, whose folder may be another one now. */
static bool take_replay(const char **at, struct entry *entry)
{
	struct text line = { 0 }, file = { 0 };
	const char *word;
	size_t n = 0;
	bool found = false;

	text_add(&file, "%s.dsim", text_of(&entry->name));
	take_text(at, "replay", &line);
	for (word = text_of(&line); !found && *word; word += found ? 0 : n + (word[n] == ' ')) {
		n = word_length(word);
		found = memmem(word, n, file.s, file.length) != NULL;
	}
	if (found) {
		text_append(&entry->before, line.s, (size_t)(word - line.s));
		text_add(&entry->after, "%s", word + n);
	}
	text_free(&file);
	text_free(&line);
	return found;
}

static void take_explained(const char **at, struct entry *entry)
{
	struct span value;

	while (header_value(at, "explained", &value)) {
		text_printable(&entry->explained, value.s, value.length);
		text_add(&entry->explained, "\n");
	}
}

/* What stands at the place where the parse failed: the number of the line, and the line. */
static bool is_bad(const char *path, const struct text *content, const char *at, const char *wanted,
		   struct text *error)
{
	int line = 1;

	for (const char *p = text_of(content); p < at; p++)
		line += *p == '\n';
	text_add(error, "%s:%d: expected %s, found \"", path, line, wanted);
	text_printable(error, at, strcspn(at, "\n") < 60 ? strcspn(at, "\n") : 60);
	text_add(error, "\": this is no failure of a store, or it is damaged; move it away\n");
	return false;
}

static bool parse_header(struct entry *entry, const char **at, const char **wanted)
{
	*wanted = "\"# datsim failure 1\"";
	if (!take_word(at, FIRST))
		return false;
	*wanted = "\"# target: \" and the names of the programs or of the script";
	if (!take_text(at, "target", &entry->target))
		return false;
	*wanted = "\"# ending: \" and how it ends";
	if (!take_text(at, "ending", &entry->ending))
		return false;
	*wanted = "\"# shape: \" and kinds of faults";
	if (!take_text(at, "shape", &entry->shape))
		return false;
	*wanted = "\"# says: \" and a text";
	if (!take_text(at, "says", &entry->says))
		return false;
	*wanted = "\"# found: schedule N of seed N\"";
	if (!take_found(at, entry))
		return false;
	*wanted = "\"# version: \" and a version of datsim";
	if (!take_text(at, "version", &entry->version))
		return false;
	*wanted = "\"# shrunk: yes\" or \"no\"";
	if (!take_bool(at, "shrunk", &entry->shrunk))
		return false;
	*wanted = "\"# repeats: yes\" or \"no\"";
	if (!take_bool(at, "repeats", &entry->repeats))
		return false;
	*wanted = "\"# script: seed N, faults N + N\"";
	if (!take_script(at, entry))
		return false;
	*wanted = "\"# replay: \" and a command with this file's name";
	if (!take_replay(at, entry))
		return false;
	take_explained(at, entry);
	*wanted = "\"# ----\", the end of the header";
	return take_word(at, LAST);
}

static size_t count_lines(const char *s)
{
	size_t n = 0;

	while ((s = strchr(s, '\n'))) {
		n++;
		s++;
	}
	return n;
}

bool entry_parse(struct entry *entry, const char *path, const char *name,
		 const struct text *content, struct text *error)
{
	const char *at = text_of(content), *wanted = "";
	struct text proper = { 0 };
	bool good;

	memset(entry, 0, sizeof(*entry));
	text_append(&entry->name, name, strlen(name) - strlen(".dsim"));
	if (!parse_header(entry, &at, &wanted))
		return is_bad(path, content, at, wanted, error);
	text_put(&entry->lines, at);
	if (!entry->lines.length || entry->lines.s[entry->lines.length - 1] != '\n')
		return is_bad(path, content, at, "lines of a script, each with its end", error);
	if (entry->is_script &&
	    entry->faults_at + entry->fault_count > count_lines(text_of(&entry->lines)))
		return is_bad(path, content, at, "as many lines as its header has faults", error);
	signature_name(&proper, text_of(&entry->target), text_of(&entry->ending),
		       text_of(&entry->shape));
	good = !strcmp(text_of(&proper), text_of(&entry->name));
	if (!good)
		text_add(error,
			 "%s: expected the name %s.dsim, which follows from its target, ending and "
			 "shape: rename it\n",
			 path, text_of(&proper));
	text_free(&proper);
	return good;
}

void entry_free(struct entry *entry)
{
	struct text *texts[] = { &entry->name,    &entry->target, &entry->ending,   &entry->shape,
				 &entry->says,    &entry->now,    &entry->before,   &entry->after,
				 &entry->version, &entry->lines,  &entry->explained };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		text_free(texts[i]);
}

/* ---- its lines ---- */

void entry_lines(const struct entry *entry, struct lines *lines)
{
	const char *p = text_of(&entry->lines), *nl;
	struct line *line;

	lines->count = 0;
	lines->line = mem_zero(count_lines(p) + 1, sizeof(*lines->line));
	for (; (nl = strchr(p, '\n')); p = nl + 1) {
		line = &lines->line[lines->count];
		line->text = strndup(p, (size_t)(nl - p));
		line->kind = !entry->is_script ||
					     (lines->count >= entry->faults_at &&
					      lines->count < entry->faults_at + entry->fault_count)
				     ? LINE_FAULT
				     : LINE_SCRIPT;
		lines->count++;
	}
}

void entry_find_faults(struct entry *entry, const struct lines *lines)
{
	entry->faults_at = entry->fault_count = 0;
	for (size_t i = 0; i < lines->count; i++) {
		if (lines->line[i].kind != LINE_FAULT)
			continue;
		if (!entry->fault_count)
			entry->faults_at = i;
		entry->fault_count++;
	}
}

bool entry_is_better(const struct entry *a, const struct entry *b)
{
	size_t m = count_lines(text_of(&a->lines)), n = count_lines(text_of(&b->lines));

	if (a->shrunk != b->shrunk)
		return a->shrunk;
	if (m != n)
		return m < n;
	if (a->lines.length != b->lines.length)
		return a->lines.length < b->lines.length;
	return strcmp(text_of(&a->lines), text_of(&b->lines)) < 0;
}
