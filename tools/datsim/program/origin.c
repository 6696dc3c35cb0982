/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the command that made a trace into its header, and splits such a command into words. */
#include "origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/files.h"
#include "tools/datsim/run/run.h"
#include "tools/datsim/show/trace.h"

static const char command_mark[] = "# command=";
static const char script_mark[] = "# script=";

/* The knobs that influence a run. */
static const char *const knobs[] = {
	"DAT_PROVIDER",          "DATSIM_PROFILE",         "DATSIM_SEED",
	"DATSIM_LATENCY_NS",     "DATSIM_BANDWIDTH_BPS",   "DATSIM_MTU",
	"DATSIM_RNR_RETRY",      "DATSIM_RNR_TIMER_NS",    "DATSIM_RETRY",
	"DATSIM_RETRY_TIMER_NS", "DATSIM_POLL_QUANTUM_NS", "DATSIM_FAULTS",
	"DATSIM_SCRIPT",         "DATSIM_STUCK",           "DATSIM_ADDRESSES",
	"DATSIM_TRACE_BYTES",    "DATSIM_HOSTILE",         "DATSIM_TRACE_LAST",
};

/* Is the word valid UTF-8, without a newline? */
static bool is_printable(const char *word)
{
	size_t left = strlen(word), n;

	for (; left; word += n, left -= n) {
		n = *word == '\n' ? 0 : utf8_length(word, left);
		if (!n)
			return false;
	}
	return true;
}

/*
 * "$'a\012b'", of which shells make a newline, or any byte. A quote and a backslash are numbers,
 * too: what only looks for the ends of words need not know of this.
 */
static void add_escaped(struct text *text, const char *word)
{
	size_t left = strlen(word), n;

	text_add(text, "$'");
	for (; left; word += n, left -= n) {
		n = strchr("\n'\\", *word) ? 0 : utf8_length(word, left);
		if (n)
			text_append(text, word, n);
		else
			text_add(text, "\\%03o", (unsigned int)(unsigned char)*word);
		n = n ? n : 1;
	}
	text_add(text, "'");
}

void word_add(struct text *text, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./-+=@%:,";

	if (*word && strspn(word, plain) == strlen(word)) {
		text_add(text, "%s", word);
		return;
	}
	if (!is_printable(word)) {
		add_escaped(text, word);
		return;
	}
	text_add(text, "'");
	for (; *word; word++) {
		if (*word == '\'')
			text_add(text, "'\\''");
		else
			text_append(text, word, 1);
	}
	text_add(text, "'");
}

void path_add(struct text *text, const char *path)
{
	struct text word = { 0 };

	text_add(&word, "%s%s", *path == '-' ? "./" : "", path);
	word_add(text, text_of(&word));
	text_free(&word);
}

void knobs_add(struct text *text)
{
	const char *value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		value = getenv(knobs[i]);
		if (!value)
			continue;
		text_add(text, "%s=", knobs[i]);
		word_add(text, value);
		text_add(text, " ");
	}
}

bool is_knob(const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		if (strlen(knobs[i]) == length && !memcmp(knobs[i], name, length))
			return true;
	}
	return false;
}

void knobs_unset(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		unsetenv(knobs[i]);
}

void trace_last_leave_out(const char *command, const char *option)
{
	if (!getenv("DATSIM_TRACE_LAST"))
		return;
	fprintf(stderr, "datsim %s: note: %s needs the whole trace; DATSIM_TRACE_LAST is ignored\n",
		command, option ? option : "it");
	unsetenv("DATSIM_TRACE_LAST");
}

/* ---- into a trace ---- */

/* False: the trace has no first line. */
static bool join_origin(const struct text *trace, const char *command, const char *script,
			struct text *whole)
{
	const char *text = text_of(trace), *first = strchr(text, '\n');

	if (!first)
		return false;
	text_append(whole, text, (size_t)(first - text) + 1);
	text_add(whole, "%s%s\n", command_mark, command);
	if (script) {
		text_add(whole, "%s", script_mark);
		text_printable(whole, script, strlen(script));
		text_add(whole, "\n");
	}
	text_append(whole, first + 1, trace->length - (size_t)(first - text) - 1);
	return true;
}

void origin_insert(struct text *trace, const char *command, const char *script)
{
	struct text whole = { 0 };

	if (!join_origin(trace, command, script, &whole))
		return;
	text_free(trace);
	*trace = whole;
}

/* Without room for the command, restore the trace as it was: that is better than no trace. */
static bool write_with_origin(const char *path, const struct text *trace, const struct text *whole)
{
	struct text error = { 0 }, unread = { 0 };
	bool good = write_whole(path, text_of(whole), whole->length, &error);

	if (!good && write_whole(path, text_of(trace), trace->length, &unread))
		text_add(&error,
			 "  the trace was kept without the command that made it, which datsim "
			 "replay needs\n");
	fputs(text_of(&error), stderr);
	text_free(&unread);
	text_free(&error);
	return good;
}

bool origin_insert_file(const char *path, const char *command)
{
	struct text trace = { 0 }, whole = { 0 }, unread = { 0 };
	struct trace_reader reader = { 0 };
	bool good = true;

	if (read_whole(path, TRACE_BYTES_MAX, &trace, &unread) &&
	    trace_open(&reader, path, text_of(&trace), trace.length) &&
	    join_origin(&trace, command, NULL, &whole))
		good = write_with_origin(path, &trace, &whole);
	trace_close(&reader);
	text_free(&whole);
	text_free(&trace);
	text_free(&unread);
	return good;
}

bool is_origin(const char *line, size_t length)
{
	struct span span = { line, length };

	return span_starts(span, command_mark) || span_starts(span, script_mark);
}

/* ---- out of it again ---- */

/* The byte of three octal digits behind a backslash. */
static bool take_octal(const char **at, const char *end, struct text *word)
{
	unsigned int value = 0;
	char byte;
	int i;

	for (i = 0; i < 3; i++) {
		if (++*at == end || **at < '0' || **at > '7')
			return false;
		value = value * 8 + (unsigned int)(**at - '0');
	}
	byte = (char)value;
	text_append(word, &byte, 1);
	return value && value < 256;
}

/*
 * Read one word from *at, up to a blank; text between quotes is kept as it is, except that
 * backslashes count between $' and '.
 */
static bool take_word(const char **at, const char *end, struct text *word)
{
	bool quoted = false, escapes = false, good = true;

	for (; good && *at < end && (quoted || **at != ' '); ++*at) {
		if (**at == '\'') {
			quoted = !quoted;
			escapes &= quoted;
		} else if (!quoted && **at == '$' && *at + 1 < end && (*at)[1] == '\'') {
			escapes = true;
		} else if (escapes && **at == '\\') {
			good = take_octal(at, end, word);
		} else if (!quoted && **at == '\\') {
			if (++*at == end)
				return false;
			text_append(word, *at, 1);
		} else {
			text_append(word, *at, 1);
		}
	}
	return good && !quoted;
}

bool command_line_split(struct command_line *cmd, const char *line, size_t length)
{
	const char *end = line + length;
	struct text word = { 0 };
	bool good = true;

	memset(cmd, 0, sizeof(*cmd));
	while (good && line < end) {
		if (*line == ' ') {
			line++;
			continue;
		}
		word.length = 0;
		good = cmd->count < WORDS_MAX && take_word(&line, end, &word);
		if (good)
			cmd->word[cmd->count++] =
				arena_copy(&cmd->memory, text_of(&word), word.length);
	}
	text_free(&word);
	return good && cmd->count > 0;
}

void command_line_free(struct command_line *cmd)
{
	arena_free(&cmd->memory);
}
