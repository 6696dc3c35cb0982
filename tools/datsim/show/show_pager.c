/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts a pager (show_pager.h). */
#include "show_pager.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/datsim/util.h"

static bool in_path(const char *program)
{
	const char *path = getenv("PATH");
	struct text file = { 0 };
	bool found = false;
	size_t length;

	for (; path && *path && !found; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		file.length = 0;
		text_add(&file, "%.*s/%s", (int)length, path, program);
		found = access(text_of(&file), X_OK) == 0;
	}
	text_free(&file);
	return found;
}

FILE *pager_begin(FILE *out)
{
	const char *command = getenv("PAGER"), *kind = getenv("TERM");
	FILE *stream;

	if (!isatty(fileno(out)))
		return out;
	/* less asks for a key there before it shows anything. */
	if (!command && (!kind || !*kind || !strcmp(kind, "dumb")))
		return out;
	if (!command && in_path("less"))
		command = "less";
	if (!command || !*command || !strcmp(command, "cat"))
		return out;
	/* Of less: end at once if all fits the screen, keep colours, leave the text there. */
	setenv("LESS", "FRX", 0);
	fflush(out);
	stream = popen(command, "we");
	if (!stream)
		return out;
	/*
	 * The user may leave the pager before the end. Ctrl-C means the pager, too: a shell that
	 * goes on while it is there would read from the same terminal.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	return stream;
}

void pager_end(FILE *stream, FILE *out)
{
	if (stream != out)
		pclose(stream);
}
