/* SPDX-License-Identifier: BSD-3-Clause */
/* gap.c - exchanges lines of a script: gap.h. */
#include "gap.h"

#include <string.h>

#include "tools/datsim/script/bind.h"

static int count_lines(const char *text, size_t from, size_t to)
{
	const char *p = text + from, *end = text + to, *nl;
	int lines = 0;

	for (; p < end; p = nl + 1, lines++) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			return lines + 1;
	}
	return lines;
}

void gap_open(struct gap *gap, struct script *script, size_t at)
{
	const struct source *source = &script->source;

	*gap = (struct gap){ .at = at,
			     .line = 1 + count_lines(source->text, 0, at),
			     .behind = count_lines(source->text, at, source->length),
			     .link = &script->statements,
			     .mark = arena_mark(&script->arena) };
	while (*gap->link && (*gap->link)->at.line < gap->line)
		gap->link = &(*gap->link)->next;
	gap->next = *gap->link;
}

/* Lines of these kinds make no name and take no time, so that no other line depends on them. */
static bool gap_takes(const struct statement *st)
{
	return (st->kind == STATEMENT_FAULT || st->kind == STATEMENT_LINK) && !st->loop &&
	       st->when.kind == WHEN_DEFAULT;
}

static void gap_empty(struct gap *gap, struct script *script)
{
	struct statement *st;

	*gap->link = gap->next;
	for (st = gap->next; st; st = st->next)
		st->at.line -= gap->lines;
	gap->lines = 0;
	arena_rewind(&script->arena, gap->mark);
}

bool gap_fill(struct gap *gap, struct script *script, const char *text, size_t length, size_t bytes)
{
	struct part part = { gap->at, gap->at + bytes, gap->line, gap->link };
	struct binder binder = { .script = script, .acted = true, .steps = script->steps };
	const char *must_fail = script->must_fail;
	struct statement *st;

	gap_empty(gap, script);
	*gap->link = NULL;
	gap->lines = count_lines(text, part.from, part.to);
	if (gap->line - 1 + gap->lines + gap->behind > SCRIPT_LINES_MAX ||
	    length > SCRIPT_BYTES_MAX)
		return false;
	script->source.text = text;
	script->source.length = length;
	part.end = script_parse(script, &part, bind_take, &binder);
	bind_forget_lost(&binder);
	for (st = *gap->link; st; st = st->next) {
		if (!gap_takes(st))
			return false;
	}
	*part.end = gap->next;
	for (st = gap->next; st; st = st->next)
		st->at.line += gap->lines;
	return !script->diag.count && script->must_fail == must_fail;
}
