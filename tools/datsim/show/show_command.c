/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim show: shows a trace file as a timeline, a diagram (SVG) or a packet capture (pcapng). */
#include "tools/datsim/commands.h"

#include <stdio.h>
#include <string.h>

#include "tools/datsim/files.h"
#include "tools/datsim/show/capture/pcapng.h"
#include "picture.h"
#include "tools/datsim/run/run.h"
#include "show.h"
#include "trace.h"

static bool draw_svg(const char *svg, const char *path, const struct text *content, bool all,
		     struct text *error)
{
	struct picture picture;
	bool good;

	good = picture_read(&picture, path, text_of(content), content->length, all, error) &&
	       svg_write(&picture, svg, error);
	picture_free(&picture);
	return good;
}

/* The files to write; a timeline is printed if there are none. */
struct wanted {
	const char *svg, *pcapng;
	bool all; /* --all */
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

static int show_file(const struct terminal *terminal, const char *path, const struct wanted *wanted)
{
	struct text content = { 0 }, error = { 0 };
	int code = EXIT_PASS;
	bool good;

	good = read_whole(path, TRACE_BYTES_MAX, &content, &error) &&
	       has_events(path, &content, &error);
	if (good && wanted->svg)
		good = draw_svg(wanted->svg, path, &content, terminal->all, &error);
	if (good && wanted->pcapng)
		good = capture_write(wanted->pcapng, path, text_of(&content), content.length,
				     &error);
	if (good && !wanted->svg && !wanted->pcapng)
		good = show_trace(terminal, path, text_of(&content), content.length, &error);
	if (good)
		note_if_cut(path, &content, &error);
	else
		code = EXIT_USAGE;
	fputs(text_of(&error), stderr);
	text_free(&content);
	text_free(&error);
	return code;
}

static const struct option options[] = {
	{ "--all", NULL,
	  "set-up, tear-down, acknowledgements and completions of successful Sends too",
	  OPTION_FLAG, OPTION_SETS(struct wanted, all) },
	{ "--svg", "FILE",
	  "write a sequence diagram instead: a line for each EP, time down the page, packets as "
	  "arrows, and beside it the level of each shared receive queue with its watermark",
	  OPTION_TEXT, .wants = "a file to write", OPTION_SETS(struct wanted, svg) },
	{ "--pcapng", "FILE",
	  "write a capture for Wireshark instead: each packet as RoCEv2 (profile ib) or "
	  "iWARP over TCP (iwarp) at its virtual nanosecond; a comment gives its line of "
	  "the script and of the trace, and the fault that hit it. Dropped packets are "
	  "included and marked so. Payloads, RDMA addresses and keys are zeros, because the"
	  " trace does not have them",
	  OPTION_TEXT, .wants = "a file to write", OPTION_SETS(struct wanted, pcapng) },
	{ .name = NULL },
};

static int run_command(char **argv)
{
	struct terminal terminal = terminal_of(stdout);
	struct wanted wanted = { 0 };
	struct operands files;

	if (!options_read(&command_show, argv, &wanted, &files))
		return files.code;
	if (files.count != 1)
		return usage_error("show", "expected one trace file");
	terminal.all = wanted.all;
	return show_file(&terminal, files.word[0], &wanted);
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
