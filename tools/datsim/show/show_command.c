/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim show: a trace file as a timeline, a diagram, a capture. */
#include "tools/datsim/commands.h"

#include <stdio.h>
#include <string.h>

#include "tools/datsim/files.h"
#include "pcapng.h"
#include "picture.h"
#include "tools/datsim/run/run.h"
#include "show.h"

static bool draw(const char *svg, const char *path, const struct text *content, bool all,
		 struct text *error)
{
	struct picture picture;
	bool good;

	good = picture_read(&picture, path, text_of(content), content->length, all, error) &&
	       svg_write(&picture, svg, error);
	picture_free(&picture);
	return good;
}

/* What to make of a trace: a timeline if nothing else. */
struct wanted {
	const char *svg, *pcapng; /* files to write */
};

static int show_file(const struct terminal *terminal, const char *path, const struct wanted *wanted)
{
	struct text content = { 0 }, error = { 0 };
	int code = EXIT_PASS;
	bool good;

	good = read_whole(path, TRACE_BYTES_MAX, &content, &error);
	if (good && wanted->svg)
		good = draw(wanted->svg, path, &content, terminal->all, &error);
	if (good && wanted->pcapng)
		good = capture_write(wanted->pcapng, path, text_of(&content), content.length,
				     &error);
	if (good && !wanted->svg && !wanted->pcapng)
		good = show_trace(terminal, path, text_of(&content), content.length, &error);
	if (!good)
		code = EXIT_USAGE;
	fputs(text_of(&error), stderr);
	text_free(&content);
	text_free(&error);
	return code;
}

int command_show(int argc, char **argv)
{
	struct terminal terminal = terminal_of(stdout);
	struct wanted wanted = { 0 };
	const char **file;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(help_show, stdout);
			return EXIT_PASS;
		}
		if (!strcmp(argv[i], "--all")) {
			terminal.all = true;
			continue;
		}
		file = !strcmp(argv[i], "--svg")      ? &wanted.svg
		       : !strcmp(argv[i], "--pcapng") ? &wanted.pcapng
						      : NULL;
		if (!file)
			return usage_error("show", "unknown option %s", argv[i]);
		if (++i == argc)
			return usage_error("show", "%s: expected a file to write", argv[i - 1]);
		*file = argv[i];
	}
	if (i + 1 != argc)
		return usage_error("show", "expected one trace file");
	return show_file(&terminal, argv[i], &wanted);
}
