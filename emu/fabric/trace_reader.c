/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the records of a trace one after the other, and makes their text (trace_text.c).
 *
 * In a shared fabric another process may have written anything there, and may go on doing so: each
 * record is copied before it is looked at, and one that is none ends the text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter.h"
#include "record.h"
#include "ring.h"
#include "trace.h"

bool emu_reader_open(struct emu_trace_reader *reader, bool shared)
{
	*reader = (struct emu_trace_reader){ .at = 0 };
	if (shared)
		reader->names = calloc(EMU_ADAPTERS + 1, EMU_NAME);
	return !shared || reader->names;
}

void emu_reader_close(struct emu_trace_reader *reader)
{
	free(reader->names);
	*reader = (struct emu_trace_reader){ .ended = true };
}

static size_t reader_note(struct emu_trace_reader *reader, uint64_t now, const char *text,
			  char *out)
{
	reader->lines++;
	return (size_t)sprintf(out, "%lu - note %s\n", now, text);
}

static size_t reader_last_note(struct emu_trace_reader *reader, uint64_t now, const char *text,
			       char *out)
{
	reader->ended = true;
	return reader_note(reader, now, text, out);
}

static size_t reader_line(struct emu_trace_reader *reader, uint64_t now, const char *text,
			  size_t most, char *out)
{
	size_t length = strnlen(text, most < EMU_TRACE_LINE - 32 ? most : EMU_TRACE_LINE - 32);
	char *to = emu_put_number(out, now);

	*to++ = ' ';
	memcpy(to, text, length);
	to += length;
	*to++ = '\n';
	reader->lines++;
	return (size_t)(to - out);
}

/* ---- records ---- */

/* Positions between which records may be read. False: there is garbage in place of them. */
static bool reader_bounds(const struct emu_world *w, uint64_t *oldest, uint64_t *end)
{
	uint64_t length = w->fab->trace_length, room = w->fab->trace_room;

	if (w->config.trace_ring)
		return emu_ring_bounds(w, oldest, end);
	if (room > EMU_TRACE_BYTES)
		room = EMU_TRACE_BYTES;
	*oldest = 0;
	*end = length < room ? length : room;
	return true;
}

/* A copy of the record at that position. False: there is none that makes sense. */
static bool reader_load(const struct emu_world *w, uint64_t at, uint64_t end, struct emu_record *r)
{
	uint64_t segment_end = emu_segment_end(w, at);
	size_t bytes;

	if (end > segment_end)
		end = segment_end;
	if (end - at < EMU_RECORD_HEAD)
		return false;
	memcpy(r, emu_trace_at(w, at), EMU_RECORD_HEAD);
	if (r->head.kind == EMU_RECORD_END)
		return w->config.trace_ring != 0;
	bytes = r->head.words * (size_t)EMU_WORD;
	if (bytes <= EMU_RECORD_HEAD || bytes > end - at)
		return false;
	if (r->head.kind == EMU_RECORD_TEXT)
		return true;
	if (!emu_record_least(r->head.kind) || bytes > sizeof(*r) ||
	    r->head.words < emu_record_least(r->head.kind))
		return false;
	memcpy(r->value, emu_trace_at(w, at) + EMU_RECORD_HEAD, bytes - EMU_RECORD_HEAD);
	return true;
}

static uint64_t next_position(const struct emu_world *w, uint64_t at, const struct emu_record *r)
{
	return r->head.kind == EMU_RECORD_END ? emu_segment_end(w, at)
					      : at + r->head.words * (uint64_t)EMU_WORD;
}

static void take_name(struct emu_trace_reader *reader, const struct emu_record *r)
{
	if (reader->names)
		memcpy(reader->names[r->head.adapter <= EMU_ADAPTERS ? r->head.adapter : 0],
		       r->value, EMU_NAME);
}

/* ---- a trace that keeps its end ---- */

/*
 * The names that the adapters had at the oldest record. Each is in the first record of kind ADAPTER
 * about it, which is written when the adapter gets its name and when it loses it; one without such
 * a record has the name still.
 */
static void find_names(struct emu_world *w, struct emu_trace_reader *reader)
{
	uint64_t found[EMU_ADAPTERS / 64 + 1] = { 0 }, at = reader->at;
	struct emu_record r = { .head = { 0 } };

	for (uint16_t i = 1; i <= emu_adapter_high(w->fab); i++)
		memcpy(reader->names[i], emu_adapter_name(w, i), EMU_NAME);
	for (; at < reader->end && reader_load(w, at, reader->end, &r);
	     at = next_position(w, at, &r)) {
		uint64_t bit = 1ul << r.head.adapter % 64;

		if (r.head.kind != EMU_RECORD_ADAPTER || r.head.adapter > EMU_ADAPTERS ||
		    (found[r.head.adapter / 64] & bit))
			continue;
		found[r.head.adapter / 64] |= bit;
		take_name(reader, &r);
	}
}

/* Records that were not read were dropped: go on with the oldest one. */
static void reader_skip(struct emu_world *w, struct emu_trace_reader *reader, uint64_t oldest)
{
	reader->at = reader->from = oldest;
	reader->skipped = true;
	if (reader->names)
		find_names(w, reader);
}

static size_t reader_gap(struct emu_world *w, struct emu_trace_reader *reader, char *out)
{
	struct emu_record r = { .head = { 0 } };

	reader->skipped = false;
	reader_load(w, reader->at, reader->end, &r);
	return reader_note(reader, r.head.now, EMU_RING_DROPPED, out);
}

/* ---- all records ---- */

void emu_reader_look(struct emu_world *w, struct emu_trace_reader *reader)
{
	uint64_t oldest;

	reader->garbage = !reader_bounds(w, &oldest, &reader->end);
	if (!reader->garbage && reader->at < oldest)
		reader_skip(w, reader, oldest);
}

/* The text of the record at the reader's position, which has been loaded. */
static size_t reader_text(struct emu_world *w, struct emu_trace_reader *reader,
			  const struct emu_record *r, char *out)
{
	switch (r->head.kind) {
	case EMU_RECORD_END:
		return 0;
	case EMU_RECORD_ADAPTER:
		take_name(reader, r);
		return 0;
	case EMU_RECORD_TEXT:
		return reader_line(reader, r->head.now,
				   emu_trace_at(w, reader->at) + EMU_RECORD_HEAD,
				   r->head.words * (size_t)EMU_WORD - EMU_RECORD_HEAD, out);
	default:
		return emu_record_text(w, reader, r, out);
	}
}

bool emu_reader_next(struct emu_world *w, struct emu_trace_reader *reader, char *out,
		     size_t *length)
{
	struct emu_record r = { .head = { 0 } };
	uint64_t lines = reader->lines;

	if (reader->ended || (!reader->garbage && reader->at >= reader->end))
		return false;
	if (!reader->garbage && reader->skipped) {
		*length = reader_gap(w, reader, out);
	} else if (!reader->garbage && reader_load(w, reader->at, reader->end, &r)) {
		*length = reader_text(w, reader, &r, out);
		reader->at = next_position(w, reader->at, &r);
	} else {
		*length = reader_last_note(reader, r.head.now,
					   "garbage in the trace: later lines are missing", out);
	}
	if (!reader->ended && reader->length + *length + EMU_TRACE_ROOM > w->config.trace_bytes) {
		reader->lines = lines;
		*length = reader_last_note(reader, r.head.now, EMU_TRACE_FULL, out);
	}
	reader->length += *length;
	return true;
}
