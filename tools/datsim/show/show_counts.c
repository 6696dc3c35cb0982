/* SPDX-License-Identifier: BSD-3-Clause */
/* Words the counts of shared receive queues for a timeline. */
#include "show.h"

#include <string.h>

#include "show_verbs.h"

#define BAR 10

static struct queue *queue_of(struct timeline *timeline, struct span object)
{
	size_t i;

	for (i = 0; i < timeline->queue_count; i++) {
		if (span_equal(timeline->queues[i].object, object))
			return &timeline->queues[i];
	}
	timeline->queues =
		mem_grow(timeline->queues, (timeline->queue_count + 1) * sizeof(*timeline->queues));
	memset(&timeline->queues[timeline->queue_count], 0, sizeof(*timeline->queues));
	timeline->queues[timeline->queue_count].object = object;
	return &timeline->queues[timeline->queue_count++];
}

static void add_bar(const struct timeline *timeline, struct text *text, const struct queue *queue)
{
	static const char *const glyphs[2][3] = { { "#", "o", "." }, { "█", "▒", "·" } };
	const char *const *glyph = glyphs[timeline->terminal->utf8];
	uint64_t i, cells = queue->max < BAR ? queue->max : BAR;
	uint64_t scale = queue->max ? queue->max : 1, at;

	text_add(text, "[");
	for (i = 0; i < cells; i++) {
		at = i * scale / (cells ? cells : 1);
		text_add(text, "%s",
			 at < queue->available     ? glyph[0]
			 : at < queue->outstanding ? glyph[1]
						   : glyph[2]);
	}
	text_add(text, "] ");
}

static void show_counts(struct timeline *timeline, struct row *row, const struct queue *queue)
{
	struct text *text = &row->cells[COLUMN_COUNTS];

	if (timeline->bars)
		add_bar(timeline, text, queue);
	text_add(text, "%llu/%llu/%llu", (unsigned long long)queue->max,
		 (unsigned long long)queue->available, (unsigned long long)queue->outstanding);
}

static void set_counts(struct queue *queue, const struct trace_line *line)
{
	if (trace_value(line, "max").length)
		queue->max = trace_number(line, "max");
	if (trace_value(line, "low").length)
		queue->low = trace_number(line, "low");
	if (trace_value(line, "available").length)
		queue->available = trace_number(line, "available");
	if (trace_value(line, "outstanding").length)
		queue->outstanding = trace_number(line, "outstanding");
	else if (span_starts(line->verb, "ibv_"))
		queue->outstanding =
			queue->available; /* verbs does not count those that were taken */
}

void queue_counts(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	struct queue *queue = queue_of(timeline, line->object);

	set_counts(queue, line);
	if (span_is(line->verb, "create"))
		queue->verbs = !trace_value(line, "low").length;
	if (trace_value(line, "max").length || trace_value(line, "available").length)
		show_counts(timeline, row, queue);
}

bool srq_is_verbs(struct timeline *timeline, const struct trace_line *line)
{
	return is_kind(line->object, ".srq") && span_is(line->verb, "free") &&
	       queue_of(timeline, line->object)->verbs;
}

void take_counts(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	struct span from = trace_value(line, "from");
	struct queue *queue;

	if (span_is(from, "rq")) {
		text_add(&row->cells[COLUMN_COUNTS], "taken: ");
		text_span(&row->cells[COLUMN_COUNTS], trace_value(line, "taken"));
		return;
	}
	queue = queue_of(timeline, from);
	set_counts(queue, line);
	if (verbs_object(line))
		queue->outstanding = queue->available;
	show_counts(timeline, row, queue);
}

void reap_counts(struct timeline *timeline, const struct trace_line *line, struct row *row)
{
	struct queue *queue;

	if (!trace_value(line, "srq").length)
		return;
	queue = queue_of(timeline, trace_value(line, "srq"));
	set_counts(queue, line);
	show_counts(timeline, row, queue);
}
