/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a trace into a picture (picture.h): arrows of packets, labels of calls and events, states
 * of EPs and notes.
 */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

#include "show_verbs.h"
#include "trace_fault.h"

#define DEFAULT_LATENCY_NS 1000 /* if the trace does not have it */
#define RULE_WIDTH         84u  /* characters of a rule in one line */
#define POSTS_KEPT         512u /* how many are searched for a packet's post */

/* ---- what a line of the trace adds ---- */

static struct span whole_line(const struct trace_line *line)
{
	return (struct span){ line->object.s,
			      (size_t)(line->rest.s - line->object.s) + line->rest.length };
}

/* Where a line is behind the first event of the trace. */
static size_t place_of(const struct picture *picture, const struct trace_line *line)
{
	return (size_t)(line->object.s - picture->first);
}

static char *copy_text(struct picture *picture, const struct text *text)
{
	return arena_copy(&picture->memory, text_of(text), text->length);
}

static void add_label(struct picture *picture, size_t lifeline, const struct trace_line *line,
		      enum mood mood, const struct text *text)
{
	uint64_t ns = line->ns;
	struct label *last = picture->label_count ? &picture->labels[picture->label_count - 1]
						  : NULL;

	/* A repeated call is one label with a count. */
	if (last && last->lifeline == lifeline && last->ns == ns &&
	    !strcmp(last->text, text_of(text))) {
		last->times++;
		return;
	}
	GROW(picture->labels, picture->label_count);
	picture->labels[picture->label_count++] = (struct label){
		.lifeline = lifeline,
		.ns = ns,
		.mood = mood,
		.times = 1,
		.at = place_of(picture, line),
		.text = copy_text(picture, text),
	};
}

static bool is_lost(const struct trace_line *line)
{
	bool arrives;

	return is_fault(line, &arrives) && !arrives;
}

/* NAKs and lost packets stand out; ACKs are drawn faintly. */
static enum mood arrow_mood(const struct trace_line *line)
{
	struct span op = trace_value(line, "op");

	if (is_lost(line) || memmem(op.s, op.length, "NAK", 3) || span_is(op, "TERMINATE"))
		return MOOD_WRONG;
	return span_is(op, "ACK") ? MOOD_ROUTINE : MOOD_NORMAL;
}

static void remember_post(struct picture *picture, const struct trace_line *line)
{
	GROW(picture->posts, picture->post_count);
	picture->posts[picture->post_count++] =
		(struct post){ .ep = line->object,
			       .message = trace_number(line, "message"),
			       .ns = line->ns,
			       .at = place_of(picture, line) };
}

static size_t oldest_post(const struct picture *picture)
{
	return picture->post_count > POSTS_KEPT ? picture->post_count - POSTS_KEPT : 0;
}

/* The EP retransmits, starting with a message. */
static void post_again(struct picture *picture, const struct trace_line *line)
{
	size_t i;

	for (i = picture->post_count; i-- > oldest_post(picture);) {
		struct post *post = &picture->posts[i];

		if (post->message < trace_number(line, "message") ||
		    !span_equal(post->ep, line->object))
			continue;
		post->ns = line->ns;
		post->at = place_of(picture, line);
		post->left = false;
	}
}

/*
 * When a packet left; the trace has only the time of its arrival. The first packet of a message
 * leaves when the message is posted or retransmitted, any other packet one link latency before its
 * arrival.
 */
static void leave_from(struct picture *picture, const struct trace_line *line, struct span from,
		       struct arrow *arrow)
{
	uint64_t message = trace_number(line, "message");
	size_t i;

	for (i = picture->post_count; i-- > oldest_post(picture);) {
		struct post *post = &picture->posts[i];

		if (post->left || post->message != message || !span_equal(post->ep, from) ||
		    trace_number(line, "packet") || !trace_value(line, "packet").length)
			continue;
		post->left = true;
		arrow->posted = true;
		arrow->sent_ns = post->ns;
		arrow->sent_at = post->at;
		return;
	}
	arrow->sent_ns = line->ns > picture->latency_ns ? line->ns - picture->latency_ns : 0;
}

static void leave_packet(struct picture *picture, const struct trace_line *line,
			 struct arrow *arrow)
{
	struct span from, to;

	packet_ends(line, &from, &to);
	leave_from(picture, line, from, arrow);
	if (span_is(trace_value(line, "op"), "CM_REQ"))
		arrow->call[0] = "connect(", arrow->call[1] = "ACTIVE_CONNECTION_PENDING";
	else if (span_is(trace_value(line, "op"), "CM_REP"))
		arrow->call[0] = "accept(", arrow->call[1] = "COMPLETION_PENDING";
}

/*
 * The lifelines of a packet's sender and receiver. The end of a connection names only an adapter as
 * the sender: that is the receiver's peer.
 */
static bool find_ends(struct picture *picture, const struct trace_line *line, size_t *from,
		      size_t *to)
{
	struct span sender, receiver;
	struct lifeline *lines = picture->lifelines;

	packet_ends(line, &sender, &receiver);
	if (!picture_lifeline(picture, sender, from) || !picture_lifeline(picture, receiver, to))
		return false;
	if (picture_is_ep(sender) && picture_is_ep(receiver)) {
		lines[*from].peer = *to + 1;
		lines[*to].peer = *from + 1;
	} else if (picture_is_ep(receiver) && lines[*to].peer) {
		*from = lines[*to].peer - 1;
	}
	return true;
}

static void put_arrow(struct picture *picture, const struct trace_line *line, struct arrow *arrow)
{
	arrow->came_ns = line->ns;
	arrow->line = whole_line(line);
	arrow->at = place_of(picture, line);
	GROW(picture->arrows, picture->arrow_count);
	picture->arrows[picture->arrow_count++] = *arrow;
}

static void add_arrow(struct picture *picture, const struct trace_line *line, const struct row *row)
{
	struct arrow arrow = { .mood = arrow_mood(line), .lost = is_lost(line) };
	const char *words = text_of(&row->cells[COLUMN_WIRE]), *blank = strchr(words, ' ');
	const struct lifeline *lines = picture->lifelines;
	struct text label = { 0 };

	if (!find_ends(picture, line, &arrow.from, &arrow.to))
		return;
	leave_packet(picture, line, &arrow);
	put_arrow(picture, line, &arrow);
	if (arrow.mood == MOOD_ROUTINE)
		return;
	/* "a>b SEND #4" without "a>b", which the arrow itself shows, unless it comes from afar. */
	text_add(&label, "%s", blank ? blank + 1 : words);
	if (arrow.lost)
		text_add(&label, " %s", text_of(&row->cells[COLUMN_EVENT]));
	if (lines[arrow.from].beside != arrow.to + 1) {
		text_add(&label, " from ");
		text_span(&label, lines[arrow.from].name);
	}
	add_label(picture, arrow.to, line, arrow.mood == MOOD_NORMAL ? MOOD_PACKET : arrow.mood,
		  &label);
	text_free(&label);
}

/* A packet that the receiver ignores before it gets a line of its own. */
static void add_ignored(struct picture *picture, const struct trace_line *line)
{
	struct arrow arrow = { .mood = MOOD_ROUTINE, .ignored = true };
	struct span at = trace_value(line, "at");

	if (!span_is(line->verb, "ignore") ||
	    !(span_is(at, "DUPLICATE") || span_is(at, "SEQUENCE") || span_is(at, "TURN")) ||
	    !picture_lifeline(picture, line->object, &arrow.to) ||
	    !picture->lifelines[arrow.to].peer)
		return;
	arrow.from = picture->lifelines[arrow.to].peer - 1;
	leave_from(picture, line, picture->lifelines[arrow.from].object, &arrow);
	put_arrow(picture, line, &arrow);
}

static void add_stretch(struct picture *picture, const struct trace_line *line)
{
	struct stretch *stretch;
	size_t lifeline;

	if (!picture_lifeline(picture, line->object, &lifeline))
		return;
	GROW(picture->stretches, picture->stretch_count);
	stretch = &picture->stretches[picture->stretch_count++];
	stretch->lifeline = lifeline;
	stretch->ns = line->ns;
	stretch->state = trace_value(line, "to");
	/* The EP has left its connection. */
	if (span_is(stretch->state, "UNCONNECTED") || span_is(stretch->state, "RESET"))
		picture->lifelines[lifeline].peer = 0;
}

static void add_paragraph(struct picture *picture, const struct trace_line *line, struct span words)
{
	struct text text = { 0 };
	bool drawn = picture->drawn && picture->end_ns == line->ns;

	text_printable(&text, words.s, words.length);
	GROW(picture->paragraphs, picture->paragraph_count);
	picture->paragraphs[picture->paragraph_count++] =
		(struct paragraph){ .ns = line->ns,
				    .above = !drawn,
				    .text = copy_text(picture, &text) };
	text_free(&text);
}

/* A rule concerns no lifeline: it is a note, of as many lines as it needs. */
static void add_rule(struct picture *picture, const struct trace_line *line, const struct row *row)
{
	const struct text *words = &row->cells[COLUMN_PROGRAM];
	struct span left = { text_of(words), words->length };
	size_t n;

	while (left.length) {
		n = left.length;
		if (n > RULE_WIDTH)
			for (n = RULE_WIDTH; n && left.s[n] != ' ';)
				n--;
		n = n ? n : left.length;
		add_paragraph(picture, line, (struct span){ left.s, n });
		n += n < left.length;
		left.s += n;
		left.length -= n;
	}
}

static enum mood event_mood(const struct trace_line *line, const struct row *row)
{
	struct span number = trace_value(line, "number");

	if (memmem(number.s, number.length, "WATERMARK", 9) ||
	    span_is(number, "IBV_EVENT_SRQ_LIMIT_REACHED"))
		return MOOD_WATERMARK;
	return row->alarm ? MOOD_WRONG : MOOD_EVENT;
}

/* The object beside which a line is drawn: the EP of an event, the receiver of a faulted packet. */
static struct span label_object(const struct trace_line *line)
{
	struct span object = trace_value(line, "object"), from, to;
	bool arrives;

	if (is_fault(line, &arrives)) {
		packet_ends(line, &from, &to);
		return to;
	}
	return span_is(line->verb, "event") && object.length ? object : line->object;
}

static bool is_routine(const struct trace_line *line)
{
	static const char *const verbs[] = { "take", "create", "free", "dequeue",
					     "reap", "return", "path", "heard" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (span_is(line->verb, verbs[i]))
			return true;
	}
	if (verbs_undrawn(line))
		return true;
	return span_is(line->verb, "complete") && span_is(trace_value(line, "op"), "SEND") &&
	       span_is(trace_value(line, "status"), "SUCCESS");
}

/* Put the label of a line beside its lifeline: an event, a call or an action of the adapter. */
static void label_line(struct picture *picture, const struct trace_line *line,
		       const struct row *row, size_t lifeline)
{
	const struct text *wire = &row->cells[COLUMN_WIRE], *event = &row->cells[COLUMN_EVENT];
	const char *blank = strchr(text_of(wire), ' ');
	struct text label = { 0 };
	bool arrives;

	if (is_fault(line, &arrives)) {
		text_add(&label, "%s %s", blank ? blank + 1 : "", text_of(event));
		add_label(picture, lifeline, line, MOOD_WRONG, &label);
		text_free(&label);
	} else if (event->length) {
		add_label(picture, lifeline, line, event_mood(line, row), event);
	} else if (row->cells[COLUMN_PROGRAM].length) {
		add_label(picture, lifeline, line,
			  span_is(line->verb, "refuse") ? MOOD_WRONG : MOOD_NORMAL,
			  &row->cells[COLUMN_PROGRAM]);
	} else if (wire->length) {
		add_label(picture, lifeline, line,
			  span_is(line->verb, "fail") ? MOOD_WRONG : MOOD_NORMAL, wire);
	}
}

static bool takes_line(const struct picture *picture, const struct trace_line *line,
		       const struct row *row)
{
	const struct show_filter *filter = picture->terminal.filter;

	return !filter || (filter_takes_time(filter, line->ns, picture->origin_ns) &&
			   filter_takes(filter, &picture->words, line, row));
}

static void draw_cells(struct picture *picture, const struct trace_line *line,
		       const struct row *row, bool all)
{
	size_t lifeline;

	add_ignored(picture, line);
	if (span_is(line->verb, "packet") || is_lost(line))
		add_arrow(picture, line, row);
	else if ((all || !is_routine(line)) &&
		 picture_lifeline(picture, label_object(line), &lifeline))
		label_line(picture, line, row, lifeline);
	if (!picture->drawn && picture->terminal.filter)
		picture->begin_ns = line->ns;
	picture->end_ns = line->ns;
	picture->drawn = true;
}

static void draw_line(struct picture *picture, const struct trace_line *line, bool all)
{
	struct row row = { .ns = line->ns };
	int i;

	cells_of(&picture->words, line, &row);
	if (takes_line(picture, line, &row)) {
		if (!span_is(line->verb, "rule"))
			draw_cells(picture, line, &row, all);
		else if (all || !trace_value(line, "fired").length)
			add_rule(picture, line, &row);
	}
	for (i = 0; i < NUM_COLUMNS; i++)
		text_free(&row.cells[i]);
}
/* ---- the whole trace ---- */

static void read_note(struct picture *picture, const struct trace_line *line, bool *begun,
		      bool *over)
{
	rule_note(&picture->words, line);
	if (is_inner_note(line->rest))
		return;
	if (span_is(line->rest, "script begins")) {
		*begun = true;
		picture->begin_ns = picture->origin_ns = line->ns;
	} else if (span_is(line->rest, "script ends")) {
		*over = true;
	} else if (*begun && !*over) {
		add_paragraph(picture, line, line->rest);
	}
}

static void read_lines(struct picture *picture, struct trace_reader *reader, bool all, bool begun)
{
	struct trace_line line;
	bool over = false;
	size_t from, to;

	while (trace_next(reader, &line)) {
		if (span_is(line.verb, "note")) {
			read_note(picture, &line, &begun, &over);
			continue;
		}
		/* Lines before the start are not drawn, but states and counts follow from them. */
		picture_levels(picture, &line);
		if (span_is(line.verb, "state"))
			add_stretch(picture, &line);
		if (!all && (!begun || over)) {
			if (span_is(line.verb, "packet"))
				find_ends(picture, &line, &from, &to);
			continue;
		}
		if (span_starts(line.verb, "post_") && trace_value(&line, "message").length)
			remember_post(picture, &line);
		else if (span_is(line.verb, "retry"))
			post_again(picture, &line);
		draw_line(picture, &line, all);
	}
}

/* Positions do not depend on the header, which has the name of the script. */
static const char *find_first(const char *text, size_t length)
{
	const char *first = text;
	struct trace_reader reader;
	struct trace_line line;

	if (trace_open(&reader, "", text, length) && trace_next(&reader, &line))
		first = line.object.s;
	trace_close(&reader);
	return first;
}

bool picture_read(struct picture *picture, const char *name, const char *text, size_t length,
		  const struct terminal *how, struct text *error)
{
	struct trace_reader reader;
	bool good, all = how->all;

	memset(picture, 0, sizeof(*picture));
	picture->terminal = *how;
	picture->terminal.utf8 = true;
	picture->words.terminal = &picture->terminal;
	picture->title = name;
	picture->trace = text;
	picture->first = find_first(text, length);
	good = trace_open(&reader, name, text, length);
	if (good) {
		names_collect(&picture->words.names, text, length);
		rules_collect(&picture->words, text, length);
		picture_lifelines(picture, text, length);
		picture->latency_ns =
			trace_setting_number(text, length, "latency_ns", DEFAULT_LATENCY_NS);
		read_lines(picture, &reader, all, all || !picture->words.names.begins);
		if (all && !how->filter)
			picture->begin_ns = picture->origin_ns = 0;
		if (picture->end_ns < picture->begin_ns)
			picture->end_ns = picture->begin_ns;
		good = !reader.error.length;
	}
	text_append(error, text_of(&reader.error), reader.error.length);
	trace_close(&reader);
	return good;
}

void picture_shorten(struct picture *picture, size_t labels)
{
	if (picture->label_count > labels && picture->labels[labels].ns < picture->end_ns)
		picture->end_ns = picture->labels[labels].ns;
}

void picture_free(struct picture *picture)
{
	size_t i;

	for (i = 0; i < picture->graph_count; i++)
		free(picture->graphs[i].levels);
	free(picture->graphs);
	free(picture->posts);
	free(picture->paragraphs);
	free(picture->labels);
	free(picture->arrows);
	free(picture->stretches);
	free(picture->lifelines);
	timeline_free(&picture->words);
	arena_free(&picture->memory);
}
