/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim show: print the timeline of a trace file. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "picture.h"
#include "run.h"
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

static int show_file(const struct terminal *terminal, const char *path, const char *svg)
{
	struct text content = { 0 }, error = { 0 };
	int code = EXIT_PASS;
	bool good;

	good = read_whole(path, TRACE_BYTES_MAX, &content, &error);
	if (good && svg)
		good = draw(svg, path, &content, terminal->all, &error);
	else if (good)
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
	const char *svg = NULL;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(help_show, stdout);
			return EXIT_PASS;
		}
		if (!strcmp(argv[i], "--pcapng"))
			return usage_error("show", "%s is not built yet", argv[i]);
		if (!strcmp(argv[i], "--all")) {
			terminal.all = true;
		} else if (!strcmp(argv[i], "--svg")) {
			if (++i == argc)
				return usage_error("show", "--svg: expected a file to write");
			svg = argv[i];
		} else {
			return usage_error("show", "unknown option %s", argv[i]);
		}
	}
	if (i + 1 != argc)
		return usage_error("show", "expected one trace file");
	return show_file(&terminal, argv[i], svg);
}
