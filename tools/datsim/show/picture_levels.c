/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The graphs of a picture: the Receives on a shared receive queue, and the Receives of an EP that
 * are taken and not reaped.
 */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

static struct graph *graph_of(struct picture *picture, struct span object)
{
	size_t i;

	for (i = 0; i < picture->graph_count; i++) {
		if (span_equal(picture->graphs[i].object, object))
			return &picture->graphs[i];
	}
	return NULL;
}

static struct graph *graph_add(struct picture *picture, struct span object, bool is_srq)
{
	struct graph *graph = graph_of(picture, object);
	size_t lifeline;

	if (graph || !picture_lifeline(picture, object, &lifeline))
		return graph;
	picture->graphs =
		mem_grow(picture->graphs, (picture->graph_count + 1) * sizeof(*picture->graphs));
	graph = &picture->graphs[picture->graph_count++];
	*graph = (struct graph){ .object = object,
				 .name = name_of(&picture->words, object),
				 .is_srq = is_srq,
				 .lifeline = lifeline,
				 .top = 1 };
	return graph;
}

/* Add a level from ns on; it begins as a copy of the previous one. */
static struct level *level_at(struct graph *graph, uint64_t ns)
{
	static const struct level none = { .low = -1, .hard = -1 };
	struct level *level;

	if (!(graph->level_count & (graph->level_count - 1)))
		graph->levels =
			mem_grow(graph->levels, (graph->level_count ? 2 * graph->level_count : 1) *
							sizeof(*graph->levels));
	level = &graph->levels[graph->level_count];
	*level = graph->level_count ? level[-1] : none;
	level->ns = ns;
	level->fired = false;
	graph->level_count++;
	return level;
}

static int64_t count_value(const struct trace_line *line, const char *key)
{
	uint64_t n = trace_number(line, key);

	return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

static void raise_top(struct graph *graph, int64_t value)
{
	if (value > graph->top)
		graph->top = value;
}

/* The number of a watermark; "-1" is none. */
static int64_t mark_value(const struct trace_line *line, const char *key)
{
	return span_starts(trace_value(line, key), "-") ? -1 : count_value(line, key);
}

static void level_fires(struct level *level)
{
	level->armed = false;
	level->fired = true;
}

/* A line about an SRQ: its own, or a take or reap by one of its EPs. It contains the counts. */
static void srq_level(struct picture *picture, const struct trace_line *line, struct span object)
{
	struct graph *graph = graph_add(picture, object, true);
	struct level *level;

	if (!graph)
		return;
	level = level_at(graph, line->ns);
	if (trace_value(line, "max").length)
		raise_top(graph, count_value(line, "max"));
	if (trace_value(line, "low").length) {
		level->low = count_value(line, "low");
		level->armed = level->low > 0;
	}
	if (trace_value(line, "available").length)
		level->filled = count_value(line, "available");
	if (trace_value(line, "outstanding").length)
		level->whole = count_value(line, "outstanding");
	graph->uncounted |= span_starts(line->verb, "ibv_");
	if (level->whole < level->filled || graph->uncounted)
		level->whole = level->filled;
	if (span_is(trace_value(line, "number"), "IBV_EVENT_SRQ_LIMIT_REACHED"))
		level_fires(level);
	raise_top(graph, level->whole);
}

static void ep_level(struct picture *picture, const struct trace_line *line)
{
	struct graph *graph = graph_of(picture, line->object);
	struct level *level;

	if (span_is(line->verb, "set_watermark") && !graph)
		graph = graph_add(picture, line->object, false);
	if (!graph)
		return;
	level = level_at(graph, line->ns);
	if (span_is(line->verb, "set_watermark")) {
		level->low = mark_value(line, "soft");
		level->hard = mark_value(line, "hard");
		level->armed = level->low >= 0;
		raise_top(graph, level->low + 1);
		raise_top(graph, level->hard + 1);
	} else if (span_is(line->verb, "take")) {
		level->filled = count_value(line, "taken");
	} else if (level->filled > 0) {
		level->filled--;
	}
	level->whole = level->filled;
	raise_top(graph, level->filled);
}

/* A watermark event, whose object is the SRQ or EP of the watermark. */
static void watermark_fired(struct picture *picture, const struct trace_line *line)
{
	struct graph *graph = graph_of(picture, trace_value(line, "object"));
	struct level *level;

	if (!graph)
		return;
	level = level_at(graph, line->ns);
	level_fires(level);
}

void picture_levels(struct picture *picture, const struct trace_line *line)
{
	struct span event = trace_value(line, "number"), from = trace_value(line, "from");
	struct span srq = trace_value(line, "srq");
	bool recv = span_is(trace_value(line, "op"), "RECV");

	if (span_is(line->verb, "event") && memmem(event.s, event.length, "WATERMARK", 9)) {
		watermark_fired(picture, line);
		return;
	}
	if (memmem(line->object.s, line->object.length, ".srq", 4)) {
		srq_level(picture, line, line->object);
		return;
	}
	if (span_is(line->verb, "set_watermark") || span_is(line->verb, "take") ||
	    (span_is(line->verb, "reap") && recv))
		ep_level(picture, line);
	if (span_is(line->verb, "take") && !span_is(from, "rq"))
		srq_level(picture, line, from);
	else if (span_is(line->verb, "reap") && srq.length)
		srq_level(picture, line, srq);
}
