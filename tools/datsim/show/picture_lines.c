/* SPDX-License-Identifier: BSD-3-Clause */
/* The lifelines of a picture, and their order from left to right. */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

#include "trace_fault.h"

bool picture_is_ep(struct span object)
{
	struct span adapter = adapter_of(object);

	const char *kind = object.s + adapter.length;

	return object.length > adapter.length + 3 &&
	       (!memcmp(kind, ".ep", 3) || !memcmp(kind, ".qp", 3));
}

bool picture_lifeline(const struct picture *picture, struct span object, size_t *lifeline)
{
	struct span adapter = adapter_of(object);
	size_t i;

	for (i = 0; i < picture->lifeline_count; i++) {
		if (span_equal(picture->lifelines[i].object, object) ||
		    (object.length && span_equal(picture->lifelines[i].id, object))) {
			*lifeline = i;
			return true;
		}
	}
	/* An EVD, SRQ or listener has the lifeline of its adapter's first EP. */
	for (i = 0; i < picture->lifeline_count; i++) {
		if (span_equal(adapter_of(picture->lifelines[i].object), adapter)) {
			*lifeline = i;
			return true;
		}
	}
	return false;
}

static void add_lifeline(struct picture *picture, struct span object, uint64_t qpn)
{
	GROW(picture->lifelines, picture->lifeline_count);
	picture->lifelines[picture->lifeline_count++] =
		(struct lifeline){ .object = object,
				   .name = name_of(&picture->words, object),
				   .qpn = qpn };
}

static bool has_lifeline(const struct picture *picture, struct span object)
{
	size_t i;

	for (i = 0; i < picture->lifeline_count; i++) {
		if (span_equal(picture->lifelines[i].object, object))
			return true;
	}
	return false;
}

/* Programs in the order of the timeline's columns. */
static int by_adapter(const void *a, const void *b, void *names)
{
	struct span x = ((const struct lifeline *)a)->object;
	struct span y = ((const struct lifeline *)b)->object;
	struct span ax = adapter_of(x), ay = adapter_of(y);
	size_t nx = node_index(names, ax), ny = node_index(names, ay);

	if (nx != ny)
		return nx < ny ? -1 : 1;
	/* emu2 before emu10, ep2 before ep10 */
	if (ax.length != ay.length)
		return ax.length < ay.length ? -1 : 1;
	if (memcmp(ax.s, ay.s, ax.length) != 0)
		return memcmp(ax.s, ay.s, ax.length);
	if (x.length != y.length)
		return x.length < y.length ? -1 : 1;
	return memcmp(x.s, y.s, x.length);
}

/* Set the neighbour of each lifeline: its first peer, if that has no neighbour yet. */
static void find_peers(struct picture *picture, const char *text, size_t length)
{
	struct trace_reader reader;
	struct trace_line line;
	struct span from, to;
	size_t a, b;

	if (trace_open(&reader, "", text, length)) {
		while (trace_next(&reader, &line)) {
			packet_ends(&line, &from, &to);
			if (!span_is(line.verb, "packet") || !picture_is_ep(from) ||
			    !picture_is_ep(to) || !picture_lifeline(picture, from, &a) ||
			    !picture_lifeline(picture, to, &b) || a == b)
				continue;
			if (picture->lifelines[a].beside || picture->lifelines[b].beside)
				continue;
			picture->lifelines[a].beside = b + 1;
			picture->lifelines[b].beside = a + 1;
		}
	}
	trace_close(&reader);
}

/* Order the lifelines so that neighbours stand side by side, at the place of the first of them. */
static void put_side_by_side(struct picture *picture)
{
	struct lifeline *lines = picture->lifelines, *order;
	size_t i, n = 0, beside;

	order = mem_zero(picture->lifeline_count + 1, sizeof(*order));
	for (i = 0; i < picture->lifeline_count; i++) {
		beside = lines[i].beside;
		if (beside && beside - 1 < i)
			continue;
		order[n] = lines[i];
		order[n].beside = beside ? n + 2 : 0;
		n++;
		if (beside) {
			order[n] = lines[beside - 1];
			order[n].beside = n;
			n++;
		}
	}
	free(lines);
	picture->lifelines = order;
}

/* The connection of an id is drawn on the lifeline of its QP, which the call names. */
static void take_id(struct picture *picture, const struct trace_line *line)
{
	struct span adapter = adapter_of(line->object);
	uint64_t qpn = trace_number(line, "qpn");
	size_t i;

	if (!qpn || !(span_is(line->verb, "rdma_connect") || span_is(line->verb, "rdma_accept")))
		return;
	/* A number is used again after its QP is gone. */
	for (i = picture->lifeline_count; i-- > 0;) {
		if (picture->lifelines[i].qpn != qpn ||
		    !span_equal(adapter_of(picture->lifelines[i].object), adapter))
			continue;
		picture->lifelines[i].id = line->object;
		return;
	}
}

/* Make the lifelines: every EP, and every adapter that sends but has no EP. */
void picture_lifelines(struct picture *picture, const char *text, size_t length)
{
	struct trace_reader reader;
	struct trace_line line;
	size_t ignored;

	if (trace_open(&reader, "", text, length)) {
		while (trace_next(&reader, &line)) {
			if (picture_is_ep(line.object) && !has_lifeline(picture, line.object))
				add_lifeline(picture, line.object, trace_number(&line, "qpn"));
			take_id(picture, &line);
		}
	}
	trace_close(&reader);
	if (trace_open(&reader, "", text, length)) {
		while (trace_next(&reader, &line)) {
			if (span_is(line.verb, "packet") &&
			    !picture_lifeline(picture, line.object, &ignored))
				add_lifeline(picture, line.object, 0);
		}
	}
	trace_close(&reader);
	if (picture->lifeline_count)
		qsort_r(picture->lifelines, picture->lifeline_count, sizeof(*picture->lifelines),
			by_adapter, &picture->words.names);
	find_peers(picture, text, length);
	put_side_by_side(picture);
}
