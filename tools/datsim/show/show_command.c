/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim show: shows a trace file as a timeline, a diagram (SVG) or a packet capture (pcapng). */
#include "tools/datsim/commands.h"

#include <stdio.h>
#include <string.h>

#include "tools/datsim/colour.h"
#include "tools/datsim/files.h"
#include "tools/datsim/show/capture/pcapng.h"
#include "html.h"
#include "picture.h"
#include "tools/datsim/run/run.h"
#include "show.h"
#include "show_pager.h"
#include "trace.h"

static bool draw_picture(const char *svg, const char *html, const char *path,
			 const struct text *content, const struct terminal *terminal,
			 struct text *error)
{
	struct picture picture;
	bool good;

	good = picture_read(&picture, path, text_of(content), content->length, terminal, error);
	if (good && svg)
		good = svg_write(&picture, svg, error);
	if (good && html)
		good = html_write(&picture, html, content->length, error);
	picture_free(&picture);
	return good;
}

/* The files to write; a timeline is printed if there are none. */
struct wanted {
	const char *svg, *html, *pcapng;
	bool all; /* --all */
	struct show_filter filter;
	const char *pattern; /* --grep */
	int colour, width;
	bool no_pager;
};

/* A fabric that no program used leaves a trace of its settings only. */
static bool has_events(const char *path, const struct text *content, struct text *error)
{
	struct trace_reader reader;
	struct trace_line line;
	bool good = trace_open(&reader, path, text_of(content), content->length);

	if (good && !trace_next(&reader, &line) && !reader.error.length) {
		text_add(error, "%s: %s\n", path,
			 reader.torn ? "it is cut off before its first event"
				     : "nothing happens in this trace: no program opened an "
				       "adapter");
		good = false;
	}
	text_append(error, text_of(&reader.error), good ? 0 : reader.error.length);
	trace_close(&reader);
	return good;
}

static void note_if_cut(const char *path, const struct text *content, struct text *notes)
{
	bool torn;

	if (trace_is_cut(text_of(content), content->length, &torn))
		text_add(notes, "%s: note: the trace is cut off%s; %s\n", path,
			 torn ? " within a line" : "",
			 torn ? "the disk was full, or its program was killed"
			      : "its program was killed, or closed no adapter");
}

static bool print_timeline(struct terminal *terminal, const char *path, const struct wanted *wanted,
			   const struct text *content, struct text *error)
{
	FILE *out = terminal->out;
	bool good;

	terminal->out = wanted->no_pager ? out : pager_begin(out);
	good = show_trace(terminal, path, text_of(content), content->length, error);
	pager_end(terminal->out, out);
	terminal->out = out;
	return good;
}

static int show_file(struct terminal *terminal, const char *path, const struct wanted *wanted)
{
	struct text content = { 0 }, error = { 0 };
	int code = EXIT_PASS;
	bool good;

	good = read_whole(path, TRACE_BYTES_MAX, &content, &error) &&
	       has_events(path, &content, &error);
	if (good && terminal->filter)
		good = filter_fits_trace(terminal->filter, path, text_of(&content), content.length,
					 &error);
	if (good && (wanted->svg || wanted->html))
		good = draw_picture(wanted->svg, wanted->html, path, &content, terminal, &error);
	if (good && wanted->pcapng)
		good = capture_write(wanted->pcapng, path, text_of(&content), content.length,
				     terminal->filter, &error);
	if (good && !wanted->svg && !wanted->html && !wanted->pcapng)
		good = print_timeline(terminal, path, wanted, &content, &error);
	if (good)
		note_if_cut(path, &content, &error);
	else
		code = EXIT_USAGE;
	fputs(text_of(&error), stderr);
	text_free(&content);
	text_free(&error);
	return code;
}

static bool take_from(void *member, const char *value)
{
	struct show_filter *filter = member;

	filter->timed = true;
	return filter_time(value, &filter->from_ns);
}

static bool take_until(void *member, const char *value)
{
	struct show_filter *filter = member;

	filter->timed = true;
	return filter_time(value, &filter->until_ns);
}

static const struct option options[] = {
	{ "--all", NULL,
	  "set-up, tear-down, acknowledgements, completions of successful Sends, and what verbs "
	  "programs ask of their devices too",
	  OPTION_FLAG, OPTION_SETS(struct wanted, all) },
	{ "--from", "TIME",
	  "only what happened from this time of the timeline on: 12.5us, 3ms; without a unit, "
	  "microseconds",
	  OPTION_OWN, .wants = "a time such as 12.5us or 3ms", .take = take_from,
	  OPTION_SETS(struct wanted, filter) },
	{ "--until", "TIME", "only what happened up to this time", OPTION_OWN,
	  .wants = "a time such as 12.5us or 3ms", .take = take_until,
	  OPTION_SETS(struct wanted, filter) },
	{ "--ep", "NAME",
	  "only what concerns this EP, by its name in the timeline or in the trace, packets "
	  "included; ep1 stands for the ep1 of every program",
	  OPTION_TEXT, .wants = "an EP, such as b.ep or emu1.ep2",
	  OPTION_SETS(struct wanted, filter.ep) },
	{ "--qp", "NAME", "the same for a QP of verbs", OPTION_TEXT,
	  .wants = "a QP, such as emu1.qp2", OPTION_SETS(struct wanted, filter.ep) },
	{ "--program", "NAME",
	  "only what a program did (by its node) or an actor of the script, and packets from and "
	  "to it",
	  OPTION_TEXT, .wants = "a node, an actor or an adapter",
	  OPTION_SETS(struct wanted, filter.program) },
	{ "--grep", "PATTERN",
	  "only rows that match this extended regular expression; of --pcapng, packets whose "
	  "row or comment does",
	  OPTION_TEXT, .wants = "a regular expression", OPTION_SETS(struct wanted, pattern) },
	OPTION_COLOUR(struct wanted, colour),
	{ "--width", "N",
	  "columns of the timeline; otherwise those of the terminal, or COLUMNS, or 100",
	  OPTION_NUMBER, .least = 40, .most = 2000, OPTION_SETS(struct wanted, width) },
	{ "--no-pager", NULL, "do not page on a terminal; neither does PAGER=", OPTION_FLAG,
	  OPTION_SETS(struct wanted, no_pager) },
	{ "--svg", "FILE",
	  "write a sequence diagram instead: a line for each EP, time down the page, packets as "
	  "arrows, and beside it the level of each shared receive queue with its watermark"
	  "; of more than 300 rows, FILE is an index of pages beside it, NAME-1.svg and so on",
	  OPTION_TEXT, .wants = "a file to write", OPTION_SETS(struct wanted, svg) },
	{ "--html", "FILE",
	  "write one HTML page instead, with timeline and diagram: click on a row for its arrow, "
	  "and back; filter by EP or QP, search, zoom (Ctrl and wheel). It needs no network",
	  OPTION_TEXT, .wants = "a file to write", OPTION_SETS(struct wanted, html) },
	{ "--pcapng", "FILE",
	  "write a capture for Wireshark instead: each packet as RoCEv2 (profile ib) or "
	  "iWARP over TCP (iwarp) at its virtual nanosecond; a comment gives its line of "
	  "the script and of the trace, and the fault that hit it. Dropped packets are "
	  "included and marked so. Payloads, RDMA addresses and keys are zeros, because the"
	  " trace does not have them. With - as FILE it goes into a pipe: datsim show --pcapng - "
	  "FILE.trace | wireshark -k -i -",
	  OPTION_TEXT, .wants = "a file to write", OPTION_SETS(struct wanted, pcapng) },
	{ .name = NULL },
};

static int bad_pattern(const char *pattern, struct text *error)
{
	struct text word = { 0 };

	text_printable(&word, pattern, strlen(pattern));
	usage_error("show", "--grep wants a regular expression, got %s: %s", text_of(&word),
		    text_of(error));
	text_free(&word);
	text_free(error);
	return EXIT_USAGE;
}

static void set_terminal(struct terminal *terminal, const struct wanted *wanted)
{
	const struct show_filter *filter = &wanted->filter;

	terminal->all = wanted->all;
	if (wanted->width)
		terminal->width = wanted->width;
	if (wanted->colour != COLOUR_AUTO)
		terminal->colour = wanted->colour == COLOUR_ALWAYS;
	if (filter->timed || filter->ep || filter->program || filter->by_words)
		terminal->filter = filter;
}

/* Each output is a file of its own. */
static bool outputs_differ(const struct wanted *wanted, const char *trace)
{
	const struct named_file files[] = {
		{ "the trace", trace, false },
		{ "--svg", wanted->svg, true },
		{ "--html", wanted->html, true },
		{ "--pcapng", wanted->pcapng, true },
		{ .what = NULL },
	};

	return files_differ("show", files);
}

static int run_command(char **argv)
{
	struct terminal terminal = terminal_of(stdout);
	struct wanted wanted = { .filter.until_ns = UINT64_MAX };
	struct operands files;
	struct text error = { 0 };
	int code;

	if (!options_read(&command_show, argv, &wanted, &files))
		return files.code;
	if (files.count != 1)
		return usage_error("show", "expected one trace file");
	if (output_is_terminal(wanted.pcapng))
		return usage_error("show", "--pcapng -: expected a pipe or a file as standard "
					   "output, found a terminal: add | wireshark -k -i -");
	if (!outputs_differ(&wanted, files.word[0]))
		return EXIT_USAGE;
	if (wanted.filter.from_ns > wanted.filter.until_ns)
		return usage_error("show", "--from is later than --until");
	if (wanted.pattern && !filter_pattern(&wanted.filter, wanted.pattern, &error))
		return bad_pattern(wanted.pattern, &error);
	set_terminal(&terminal, &wanted);
	code = show_file(&terminal, files.word[0], &wanted);
	filter_free(&wanted.filter);
	return code;
}

const struct command command_show = {
	.name = "show",
	.operands = "FILE.trace",
	.summary = "print the timeline of a trace",
	.about = about_show,
	.options = options,
	.details = details_show,
	.run = run_command,
};
