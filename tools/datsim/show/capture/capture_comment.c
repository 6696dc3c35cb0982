/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comment of a packet in a capture: its line of the script and of the trace, and its faults.
 */
#include <stdlib.h>
#include <string.h>

#include "capture_state.h"
#include "tools/datsim/show/trace_fault.h"

void comment_ascii(struct text *text, struct span span)
{
	size_t i = text->length;

	text_printable(text, span.s, span.length);
	for (; i < text->length; i++) {
		if ((unsigned char)text->s[i] >= 0x7f)
			text->s[i] = '?';
	}
}

static void add_script_line(const struct capture *capture, uint32_t line, struct text *text)
{
	if (!line)
		return;
	comment_ascii(text, capture->script);
	text_add(text, ":%u\n", line);
}

/* The script line of a packet: it posted the request, or made or ended the connection. */
static uint32_t line_of(const struct capture *capture, const struct carried *carried)
{
	const struct ends *ends = &capture->wire.ends;
	const struct request *request;

	if (!trace_value(&carried->line, "message").length)
		return ends->end[carried->from].line;
	request = ends_request(ends, carried->from, carried->message);
	if (!wire_is_request(carried->op))
		request = ends_request(ends, carried->to, carried->message);
	return request ? request->line : 0;
}

void comment_fault(const struct capture *capture, const struct trace_line *line, struct text *text)
{
	uint64_t rule = trace_number(line, "rule");

	fault_words(line, text);
	if (rule && rule < RULES_MAX && capture->rules[rule]) {
		text_add(text, ", ");
		comment_ascii(text, capture->script);
		text_add(text, ":%u", capture->rules[rule]);
	}
}

void comment_begin(struct capture *capture, const struct trace_line *line,
		   const struct carried *carried)
{
	struct span from = capture->wire.ends.end[carried->from].object;
	struct span to = capture->wire.ends.end[carried->to].object;
	struct text *comment = &capture->comment;

	comment->length = 0;
	add_script_line(capture, line_of(capture, carried), comment);
	if (name_of(&capture->names, from).s != from.s || name_of(&capture->names, to).s != to.s) {
		comment_ascii(comment, name_of(&capture->names, from));
		text_add(comment, " > ");
		comment_ascii(comment, name_of(&capture->names, to));
		text_add(comment, "\n");
	}
	text_add(comment, "%llu ", (unsigned long long)line->ns);
	comment_ascii(comment,
		      (struct span){ line->object.s,
				     (size_t)(line->rest.s - line->object.s) + line->rest.length });
}

void comment_marks(struct capture *capture, const struct carried *carried)
{
	size_t i, kept = 0;

	for (i = 0; i < capture->mark_count; i++) {
		struct mark *mark = &capture->marks[i];

		/* The fault line may have the short name: "SEND" for "SEND_ONLY". */
		if (mark->message == carried->message && mark->packet == carried->packet &&
		    mark->op.length <= carried->op.length &&
		    !memcmp(mark->op.s, carried->op.s, mark->op.length)) {
			text_add(&capture->comment, "\n%s", text_of(&mark->words));
			text_free(&mark->words);
		} else {
			capture->marks[kept++] = *mark;
		}
	}
	capture->mark_count = kept;
}

void comment_mark(struct capture *capture, const struct trace_line *line)
{
	struct mark *mark;

	if (capture->mark_count == MARKS_MAX) {
		text_free(&capture->marks[0].words);
		memmove(capture->marks, capture->marks + 1, --capture->mark_count * sizeof(*mark));
	}
	mark = &capture->marks[capture->mark_count++];
	*mark = (struct mark){ .op = trace_value(line, "op"),
			       .message = trace_number(line, "message"),
			       .packet = trace_number(line, "packet") };
	comment_fault(capture, line, &mark->words);
}
