/* SPDX-License-Identifier: BSD-3-Clause */
/* datsim show: print the timeline of a trace file. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "run.h"
#include "show.h"

static int show_file(const struct terminal *terminal, const char *path)
{
	struct text content = { 0 }, error = { 0 };
	int code = EXIT_PASS;

	if (!read_whole(path, TRACE_BYTES_MAX, &content, &error) ||
	    !show_trace(terminal, path, text_of(&content), content.length, &error))
		code = EXIT_USAGE;
	fputs(text_of(&error), stderr);
	text_free(&content);
	text_free(&error);
	return code;
}

int command_show(int argc, char **argv)
{
	struct terminal terminal = terminal_of(stdout);
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--help")) {
			fputs(help_show, stdout);
			return EXIT_PASS;
		}
		if (!strcmp(argv[i], "--svg") || !strcmp(argv[i], "--pcapng"))
			return usage_error("show", "%s is not built yet", argv[i]);
		if (strcmp(argv[i], "--all"))
			return usage_error("show", "unknown option %s", argv[i]);
		terminal.all = true;
	}
	if (i + 1 != argc)
		return usage_error("show", "expected one trace file");
	return show_file(&terminal, argv[i]);
}
