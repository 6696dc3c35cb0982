/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes records to the trace in the fabric, and keeps the text of those that were read.
 */
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter.h"
#include "arena.h"
#include "ring.h"
#include "sharing.h"

#define LONG_TRACE (1ul << 20)

/* ---- records ---- */

/* Records that begin before this place have room, and room for the notes at the end. */
static uint64_t limit_of(uint64_t room)
{
	uint64_t most = EMU_TRACE_ROOM + sizeof(struct emu_record);

	return room > most ? room - most : 0;
}

static struct emu_record *next_record(struct emu_world *w)
{
	return (struct emu_record *)emu_trace_at(w, w->fab->trace_length);
}

/* A line was written where next_record points to. */
static void finish_text(struct emu_world *w, size_t length)
{
	uint16_t words = emu_record_words(length + 1);

	next_record(w)->head = (struct emu_record_head){ .now = w->fab->now,
							 .kind = EMU_RECORD_TEXT,
							 .words = words };
	__asm__ volatile("" ::: "memory");
	w->fab->trace_length += words * (uint64_t)EMU_WORD;
}

/* In place of the record for which there was no room. */
static void note_full(struct emu_world *w)
{
	static const char text[] = "- note " EMU_TRACE_FULL;

	w->fab->trace_full = true;
	w->fab->trace_on = false;
	w->trace_limit = 0;
	_Static_assert(EMU_RECORD_HEAD + sizeof(text) <= EMU_RING_ROOM, "there is room for it");
	memcpy(next_record(w)->value, text, sizeof(text));
	finish_text(w, sizeof(text) - 1);
}

/* A long trace gets large pages: faults for each 4 KiB would take longer than the messages. */
static void make_long(struct emu_world *w)
{
	uint64_t most = w->config.trace_ring ? w->config.trace_ring : EMU_TRACE_BYTES;

	w->trace_is_long = true;
	if (most > LONG_TRACE)
		emu_want_large_pages(w->fab->trace + LONG_TRACE, most - LONG_TRACE);
}

/* As emu_ring_make_room, for a trace that keeps its beginning. */
static bool make_more_room(struct emu_world *w, size_t bytes)
{
	struct emu_fabric *fab = w->fab;
	uint64_t length = fab->trace_length, room = fab->trace_room;

	/* Another process wrote garbage to these fields. */
	if (room > EMU_TRACE_BYTES || length > room || length % EMU_WORD) {
		fab->trace_on = false;
		return false;
	}
	if (room - length < bytes + EMU_TRACE_ROOM && !emu_trace_grow(w, bytes))
		return false;
	w->trace_limit = limit_of(fab->trace_room);
	if (!emu_is_shared(w) && length < LONG_TRACE && w->trace_limit > LONG_TRACE)
		w->trace_limit = LONG_TRACE; /* to make it long there */
	return true;
}

/* Make room for a record of that many bytes. False: the trace is full, or garbage. */
static bool make_room(struct emu_world *w, size_t bytes)
{
	if (!w->fab->trace_on)
		return false;
	w->trace_mask = emu_trace_mask(w);
	if (!emu_is_shared(w) && !w->trace_is_long && w->fab->trace_length >= LONG_TRACE)
		make_long(w);
	if (w->config.trace_ring ? emu_ring_make_room(w, bytes) : make_more_room(w, bytes))
		return true;
	if (w->fab->trace_on)
		note_full(w);
	return false;
}

void emu_record_elsewhere(struct emu_world *w, const struct emu_record *record)
{
	size_t bytes = record->head.words * (size_t)EMU_WORD;

	if (w->trace_fd >= 0) {
		emu_trace_file_record(w, record);
	} else if (make_room(w, bytes)) {
		memcpy(next_record(w), record, bytes);
		__asm__ volatile("" ::: "memory");
		w->fab->trace_length += bytes;
	}
}

/* What the heads of all records of a kind have in common. Values: name, a, b, c. */
#define FRONT(event, noun, values)                      \
	[event] = { .kind = EMU_RECORD_FRONT + (event), \
		    .nouns = (noun),                    \
		    .words = (EMU_RECORD_HEAD + (values) * sizeof(uint32_t)) / EMU_WORD }
static const struct emu_record_head front_heads[NIC_TRACE_KINDS] = {
	FRONT(NIC_TRACE_EP_RECV, NIC_NOUN_EP, 4),
	FRONT(NIC_TRACE_EP_REAP_RECV, NIC_NOUN_EP, 2),
	FRONT(NIC_TRACE_EP_REAP_REQUEST, NIC_NOUN_EP, 2),
	FRONT(NIC_TRACE_QP_RECV, NIC_NOUN_QP, 4),
	FRONT(NIC_TRACE_QP_POLL_RECV, NIC_NOUN_QP, 4),
	FRONT(NIC_TRACE_QP_POLL_SEND, NIC_NOUN_QP, 4),
	FRONT(NIC_TRACE_SRQ_RECV, 0, 4),
	FRONT(NIC_TRACE_IBV_SRQ_RECV, 0, 4),
	FRONT(NIC_TRACE_EP_REAP_SRQ, NIC_NOUN_EP, 4),
};

/* All values are written; those that the record does not have are behind its end. */
void emu_trace_event(struct nic *nic, enum nic_trace_kind kind, uint32_t name, uint32_t a,
		     uint32_t b, uint32_t c)
{
	struct emu_world *w = emu_world_of(nic);
	struct emu_record beside;
	emu_record_place *record;

	/* The front asks whether its adapter is traced; it still is when the trace is full. */
	if (!w->fab->trace_on)
		return;
	record = emu_record_begin(w, &beside);
	record->head = front_heads[kind];
	record->head.now = w->fab->now;
	record->head.adapter = emu_nic(nic)->adapter;
	record->value[0] = name;
	EMU_ALONE(record->value[0]);
	record->value[1] = a;
	EMU_ALONE(record->value[1]);
	record->value[2] = b;
	EMU_ALONE(record->value[2]);
	record->value[3] = c;
	emu_record_end(w, record, &beside, front_heads[kind].words);
}

/* Behind the note that the trace is full there is nothing. */
void emu_trace_take_back(struct emu_world *w, uint64_t length)
{
	if (w->fab->trace_full || length >= w->fab->trace_length)
		return;
	w->fab->trace_length = length;
	w->trace_limit = 0; /* it may be that of a segment which those lines entered */
}

void emu_trace_adapter(struct emu_world *w, uint16_t adapter)
{
	struct emu_record record = { .head = { .now = w->fab->now,
					       .kind = EMU_RECORD_ADAPTER,
					       .words = emu_record_words(EMU_NAME),
					       .adapter = adapter } };

	_Static_assert(EMU_NAME <= sizeof(record.value), "a name fits into a record");
	/* In a private fabric each number has its name. */
	if (!emu_is_shared(w) || !w->fab->trace_on)
		return;
	memcpy(record.value, emu_adapter_name(w, adapter), EMU_NAME);
	emu_record_elsewhere(w, &record);
}

/* ---- lines ---- */

static void text_record(struct emu_world *w, const char *format, va_list args)
{
	size_t most = EMU_TRACE_LINE, length;
	int n;

	if (!make_room(w, EMU_RECORD_HEAD + most))
		return;
	n = vsnprintf((char *)next_record(w)->value, most, format, args);
	length = n < 0 ? 0 : (size_t)n;
	finish_text(w, length < most ? length : most - 1);
}

static void trace_vline(struct emu_world *w, const char *format, va_list args)
{
	if (w->trace_fd >= 0)
		emu_trace_file_vline(w, format, args);
	else
		text_record(w, format, args);
}

void emu_trace_line(struct emu_world *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	trace_vline(w, format, args);
	va_end(args);
}

void emu_trace_vline(struct nic *nic, const char *format, va_list args)
{
	struct emu_world *w = emu_world_of(nic);

	if (w->fab->trace_on)
		trace_vline(w, format, args);
}

const char *emu_trace_noun(uint8_t noun)
{
	static const char *const
		nouns[] = { [NIC_NOUN_EP] = "ep", [NIC_NOUN_QP] = "qp", [NIC_NOUN_ID] = "id" };

	return noun < NIC_NOUNS ? nouns[noun] : "?";
}

/* ---- reading ---- */

/* The text of all records that were there when it was read last. */
struct emu_trace_text {
	struct emu_trace_reader reader;
	char *text; /* ended by a NUL */
	size_t length, room;
};

void emu_trace_forget(struct emu_world *w)
{
	struct emu_trace_text *t = w->trace_text;

	w->trace_text = NULL;
	if (!t)
		return;
	emu_reader_close(&t->reader);
	free(t->text);
	free(t);
}

/* Room for a line more. */
static bool text_grow(struct emu_trace_text *t)
{
	size_t room = t->room ? 2 * t->room : 8ul * EMU_TRACE_LINE;
	char *text;

	if (t->length + EMU_TRACE_LINE < t->room)
		return true;
	text = realloc(t->text, room);
	if (!text)
		return false;
	t->text = text;
	t->room = room;
	return true;
}

/* NULL: no memory. */
static struct emu_trace_text *text_open(struct emu_world *w)
{
	struct emu_trace_text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (!emu_reader_open(&t->reader, emu_is_shared(w)) || !text_grow(t)) {
		emu_reader_close(&t->reader);
		free(t);
		return NULL;
	}
	t->length = t->reader.length = emu_trace_header(w, t->text);
	return t;
}

int emu_trace_read(struct nic *nic, const char **text, size_t *length)
{
	return emu_trace_text(emu_world_of(nic), text, length);
}

int emu_trace_text(struct emu_world *w, const char **text, size_t *length)
{
	struct emu_trace_text *t = w->trace_text;
	size_t n;

	/* Lines that were dropped meanwhile are not read again. */
	if (t && w->config.trace_ring && t->reader.from < w->fab->trace_oldest)
		emu_trace_forget(w);
	t = w->trace_text;
	if (w->trace_fd >= 0) {
		/* The writer of a line puts a NUL behind it. */
		*text = w->fab->trace;
		*length = w->fab->trace_length;
		return 0;
	}
	if (!t)
		t = w->trace_text = text_open(w);
	if (!t)
		return -ENOMEM;
	emu_reader_look(w, &t->reader);
	while (text_grow(t)) {
		if (!emu_reader_next(w, &t->reader, t->text + t->length, &n)) {
			t->text[t->length] = '\0';
			*text = t->text;
			*length = t->length;
			return 0;
		}
		t->length += n;
	}
	return -ENOMEM;
}

static void name_adapters(struct emu_world *w)
{
	for (uint16_t i = 1; i <= emu_adapter_high(w->fab); i++)
		if (emu_adapter_name(w, i)[0])
			emu_trace_adapter(w, i);
}

void emu_trace_switch(struct nic *nic, bool on)
{
	struct emu_world *w = emu_world_of(nic);
	bool was_on = w->fab->trace_on;

	if (w->fab->trace_full)
		return;
	/* Their names may change until the trace is on again. */
	if (was_on && !on)
		name_adapters(w);
	w->fab->trace_on = on;
	for (uint32_t i = 0; i <= w->nic_high; i++)
		w->nics[i].base.tracing = on;
	if (on && !was_on)
		name_adapters(w);
}
