/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the packets of a trace to a capture file, with their trace lines and faults as comments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/files.h"
#include "capture_state.h"
#include "pcapng.h"
#include "tools/datsim/show/trace_fault.h"

/* ---- the file ---- */

static uint32_t interface_of(struct capture *capture, struct span adapter)
{
	uint32_t i;

	for (i = 0; i < capture->interface_count; i++) {
		if (capture->interfaces[i].length == adapter.length &&
		    !memcmp(capture->interfaces[i].s, adapter.s, adapter.length))
			return i;
	}
	capture->interfaces = mem_grow(capture->interfaces, (i + 1) * sizeof(*capture->interfaces));
	capture->interfaces[i] = adapter;
	capture->interface_count++;
	pcapng_interface(capture->out, adapter.s, adapter.length);
	return i;
}

/* The opcode for the first, middle, last or only packet of a message of this opcode's kind. */
static enum roce_opcode opcode_at(enum roce_opcode opcode, bool first, bool last)
{
	/* bit 0: the first packet, bit 1: the last */
	static const enum roce_opcode places[][4] = {
		{ ROCE_SEND_MIDDLE, ROCE_SEND_FIRST, ROCE_SEND_LAST, ROCE_SEND_ONLY },
		{ ROCE_WRITE_MIDDLE, ROCE_WRITE_FIRST, ROCE_WRITE_LAST, ROCE_WRITE_ONLY },
		{ ROCE_READ_RESPONSE_MIDDLE, ROCE_READ_RESPONSE_FIRST, ROCE_READ_RESPONSE_LAST,
		  ROCE_READ_RESPONSE_ONLY },
		{ ROCE_UC_SEND_MIDDLE, ROCE_UC_SEND_FIRST, ROCE_UC_SEND_LAST, ROCE_UC_SEND_ONLY },
		{ ROCE_UC_WRITE_MIDDLE, ROCE_UC_WRITE_FIRST, ROCE_UC_WRITE_LAST,
		  ROCE_UC_WRITE_ONLY },
	};
	size_t kind, place;

	for (kind = 0; kind < ARRAY_SIZE(places); kind++) {
		for (place = 0; place < 4; place++) {
			if (places[kind][place] != opcode)
				continue;
			return places[kind][(place & 1 && first) | (place & 2 && last) << 1];
		}
	}
	return opcode;
}

void capture_frame(struct capture *capture, size_t to, const uint8_t *frame, size_t length)
{
	if (!capture->takes)
		return;
	capture->any = true;
	pcapng_packet(capture->out, interface_of(capture, capture->wire.ends.end[to].adapter),
		      capture->ns, frame, length, &capture->comment);
}

static uint32_t mtu_of(const struct capture *capture)
{
	return capture->carried.mtu ? capture->carried.mtu : capture->wire.ends.mtu;
}

/* A line of a trace that was not recorded packet by packet may stand for several packets. */
static void put_roce(struct capture *capture)
{
	struct roce_packet packet = capture->carried.roce, part = packet;
	uint32_t mtu = mtu_of(capture), bytes = capture->carried.bytes, done = 0;

	part.corrupt = capture->carried.corrupt;
	if (packet.data)
		part.data = capture->carried.mad; /* not the original's: *carried was copied */
	do {
		part.length = bytes - done < mtu || packet.data ? bytes - done : mtu;
		part.opcode = opcode_at(packet.opcode, !done, done + part.length == bytes);
		capture_frame(capture, capture->carried.to, capture->frame,
			      roce_build(&part, capture->frame));
		part.psn++;
		done += part.length;
	} while (done < bytes && !ferror(capture->out));
}

/* The frames of a packet that the filter leaves out still advance the streams of TCP. */
static bool filter_takes_it(const struct capture *capture)
{
	const struct show_filter *filter = capture->filter;
	const struct end *end = capture->wire.ends.end;

	if (!filter)
		return true;
	return filter_takes_time(filter, capture->carried.line.ns, capture->names.names.begin_ns) &&
	       filter_takes_packet(filter, &capture->names, end[capture->carried.from].object,
				   end[capture->carried.to].object) &&
	       (capture->matches || filter_takes_words(filter, text_of(&capture->comment)));
}

void capture_settle(struct capture *capture)
{
	struct carried *carried = &capture->carried;
	uint32_t mtu = mtu_of(capture);

	if (!capture->carrying)
		return;
	capture->carrying = false;
	capture->takes = filter_takes_it(capture);
	if (carried->bytes > mtu && !carried->roce.data)
		text_add(&capture->comment, "\none of several packets of this line");
	if (carried->bytes / mtu >= PARTS_MAX) {
		carried->bytes = PARTS_MAX * mtu;
		text_add(&capture->comment, ", the first %u", PARTS_MAX);
	}
	if (capture->wire.iwarp)
		iwarp_put(&capture->wire, carried, capture, capture->frame);
	else
		put_roce(capture);
}

/* ---- lines ---- */

/* Make it the current packet, which is written later. */
static void begin_packet(struct capture *capture, const struct trace_line *line,
			 const struct carried *carried)
{
	uint64_t begin = capture->names.names.begin_ns;

	capture->carried = *carried;
	capture->carrying = true;
	capture->matches = capture->row_matches;
	comment_begin(capture, line, carried);
	/* The timeline's clock begins with the script; what comes before that has no time of it. */
	capture->ns = line->ns > begin ? line->ns - begin : 0;
	if (line->ns < begin)
		text_add(&capture->comment, "\nset-up, %llu ns before the script begins",
			 (unsigned long long)(begin - line->ns));
}

static bool take_packet(struct capture *capture, const struct trace_line *line)
{
	struct carried carried;

	capture_settle(capture);
	if (!wire_packet(&capture->wire, line, &carried))
		return false;
	begin_packet(capture, line, &carried);
	return true;
}

static bool take_fault(struct capture *capture, const struct trace_line *line, bool arrives)
{
	if (arrives) {
		comment_mark(capture, line);
		return true;
	}
	if (!take_packet(capture, line))
		return false;
	capture->carried.lost = true;
	capture->carried.corrupt = span_is(line->verb, "corrupt");
	text_add(&capture->comment, "\n");
	comment_fault(capture, line, &capture->comment);
	return true;
}

/* Did the receiver ignore the packet in a step that comes before the packet's own line? */
static bool ignored_early(const struct trace_line *line)
{
	static const char *const steps[] = { "TURN", "SEQUENCE", "DUPLICATE" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		if (span_is(trace_value(line, "at"), steps[i]))
			return true;
	}
	return false;
}

/* An "ignore" line: the receiver drops a packet. */
static void take_ignore(struct capture *capture, const struct trace_line *line)
{
	struct carried carried;

	if (ignored_early(line)) {
		capture_settle(capture);
		if (!wire_ignored(&capture->wire, line, &carried))
			return;
		begin_packet(capture, line, &carried);
		comment_marks(capture, &carried);
	}
	if (!capture->carrying)
		return;
	capture->matches |= capture->row_matches;
	text_add(&capture->comment, "\nignored by the receiver: ");
	comment_ascii(&capture->comment, trace_value(line, "at"));
}

/* Remember the current script line, and the script line of each rule. */
static void take_line_number(struct capture *capture, const struct trace_line *line)
{
	struct span number = line->rest;
	uint64_t rule = trace_number(line, "add");

	if (span_is(line->verb, "note") && is_inner_note(number) && span_starts(number, LINE_NOTE))
		capture->wire.ends.line = span_number(number, strlen(LINE_NOTE));
	if (span_is(line->verb, "rule") && rule && rule < RULES_MAX)
		capture->rules[rule] = capture->wire.ends.line;
}

/*
 * Remember script lines of connection management, and facts that iWARP's packets need: listeners,
 * causes of refusals, new connection requests.
 */
static void take_state(struct capture *capture, const struct trace_line *line)
{
	struct ends *ends = &capture->wire.ends;
	size_t index;

	take_line_number(capture, line);
	if (span_is(line->verb, "disconnect") ||
	    (span_is(line->verb, "state") &&
	     memmem(trace_value(line, "to").s, trace_value(line, "to").length, "PENDING", 7))) {
		index = ends_of(ends, line->object);
		ends->end[index].line = ends->line;
	}

	if (span_is(line->verb, "create") &&
	    memmem(line->object.s, line->object.length, ".cr", 3)) {
		capture->carried.listened = true;
	} else if (span_is(line->verb, "fail")) {
		index = ends_of(ends, line->object);
		ends->end[index].cause = trace_value(line, "cause");
		ends->end[index].refused = trace_number(line, "message");
	} else if (span_is(line->verb, "state") &&
		   span_is(trace_value(line, "to"), "ACTIVE_CONNECTION_PENDING")) {
		index = ends_of(ends, line->object);
		ends->end[index].connects_anew = true;
	}
}

/* False: a packet that the transport does not have. */
static bool take_line(struct capture *capture, const struct trace_line *line)
{
	bool arrives;

	take_state(capture, line);
	if (span_is(line->verb, "packet")) {
		if (!take_packet(capture, line))
			return false;
		comment_marks(capture, &capture->carried);
		return true;
	}
	if (span_starts(line->verb, "post_") && trace_value(line, "message").length) {
		ends_post(&capture->wire.ends, line);
		return true;
	}
	if (span_is(line->verb, "create") && trace_value(line, "qpn").length) {
		ends_number(&capture->wire.ends, line);
		return true;
	}
	if (span_is(line->verb, "path")) {
		ends_path(&capture->wire.ends, line);
		return true;
	}
	if (span_is(line->verb, "ignore")) {
		take_ignore(capture, line);
		return true;
	}
	return !is_fault(line, &arrives) || take_fault(capture, line, arrives);
}

/* What the filter's pattern is compared with: the line's row of the timeline. */
static bool row_matches(struct capture *capture, const struct trace_line *line)
{
	struct row row = { .ns = line->ns };
	bool matches = false;
	size_t i;

	if (!capture->filter || !capture->filter->by_words)
		return false;
	if (span_is(line->verb, "note")) {
		rule_note(&capture->names, line);
		return false;
	}
	cells_of(&capture->names, line, &row);
	for (i = 0; i < NUM_COLUMNS; i++) {
		matches |= row.cells[i].length &&
			   filter_takes_words(capture->filter, text_of(&row.cells[i]));
		text_free(&row.cells[i]);
	}
	return matches;
}

bool capture_lines(struct capture *capture, struct trace_reader *reader)
{
	struct trace_line line;

	while (trace_next(reader, &line)) {
		if (capture->follows)
			names_follow(&capture->names.names, &line);
		capture->row_matches = row_matches(capture, &line);
		if (take_line(capture, &line))
			continue;
		text_add(&reader->error, "%s:%d: a packet that %s does not have: ", reader->name,
			 reader->line, capture->wire.iwarp ? "iWARP" : "RoCEv2");
		text_printable(&reader->error, line.rest.s, line.rest.length);
		text_add(&reader->error, "\n");
		return false;
	}
	return !reader->error.length;
}

/* The transport of the trace. False: its profile has no capture. */
static bool find_transport(const char *name, const char *text, size_t length, bool *iwarp,
			   struct text *error)
{
	struct span profile = { "ib", 2 };

	trace_setting(text, length, "profile", &profile);
	*iwarp = span_is(profile, "iwarp");
	if (*iwarp || span_is(profile, "ib"))
		return true;
	text_add(error, "%s: --pcapng expects a trace of profile ib or iwarp, found profile ",
		 name);
	text_printable(error, profile.s, profile.length);
	text_add(error, "\n");
	return false;
}

struct capture *capture_begin(FILE *out, const struct show_filter *filter)
{
	static const struct terminal plain = { .width = 0 };
	struct capture *capture = mem_zero(1, sizeof(*capture));

	capture->out = out;
	capture->filter = filter;
	capture->names.terminal = &plain;
	capture->marks = mem_zero(MARKS_MAX, sizeof(*capture->marks));
	pcapng_begin(out);
	return capture;
}

bool capture_header(struct capture *capture, const char *name, const char *text, size_t length,
		    struct text *error)
{
	bool iwarp;

	if (!find_transport(name, text, length, &iwarp, error))
		return false;
	trace_setting(text, length, "script", &capture->script);
	wire_begin(&capture->wire, text, length, iwarp);
	capture->follows = true;
	return true;
}

void capture_free(struct capture *capture)
{
	if (!capture)
		return;
	while (capture->mark_count)
		text_free(&capture->marks[--capture->mark_count].words);
	text_free(&capture->comment);
	free(capture->marks);
	free(capture->interfaces);
	timeline_free(&capture->names);
	wire_end(&capture->wire);
	free(capture);
}

/* Write the packets of a whole trace. False: the reader has the error. */
static bool write_packets(FILE *out, struct trace_reader *reader, const struct trace_reader *whole,
			  const struct show_filter *filter)
{
	size_t length = (size_t)(whole->end - whole->at);
	struct capture *capture = capture_begin(out, filter);
	bool good = capture_header(capture, reader->name, whole->at, length, &reader->error);

	capture->follows = false;
	names_collect(&capture->names.names, whole->at, length);
	good = good && capture_lines(capture, reader);
	if (good)
		capture_settle(capture);
	if (good && filter && !capture->any)
		text_add(&reader->error, "%s: note: no packet fits the filter\n", reader->name);
	capture_free(capture);
	return good;
}

bool capture_write(const char *path, const char *name, const char *text, size_t length,
		   const struct show_filter *filter, struct text *error)
{
	const struct trace_reader whole = { .at = text, .end = text + length };
	struct trace_reader reader;
	FILE *out = NULL;
	bool good, iwarp = false;

	good = trace_open(&reader, name, text, length) &&
	       find_transport(name, text, length, &iwarp, &reader.error);
	if (good)
		good = (out = create_output(path, &reader.error)) != NULL;
	if (good)
		good = write_packets(out, &reader, &whole, filter);
	if (out)
		good = finish_file(out, path, &reader.error) && good;
	text_append(error, text_of(&reader.error), reader.error.length);
	trace_close(&reader);
	return good;
}
