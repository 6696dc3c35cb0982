/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the lines of libdat, by another stderr (said.h). */
#include "said.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char ours[] = "libdat: ";

/* The stream is the process's, and so is this. */
static struct {
	FILE *before;
	struct text line, kept;
} said;

static bool is_kept(const char *line, size_t length)
{
	const char *p = text_of(&said.kept), *nl;

	for (; *p; p = nl + 1) {
		nl = strchr(p, '\n');
		if ((size_t)(nl + 1 - p) == length && !memcmp(p, line, length))
			return true;
	}
	return false;
}

static void take_line(const char *line, size_t length)
{
	if (strncmp(line, ours, strlen(ours)) != 0)
		fwrite(line, 1, length, said.before);
	else if (!is_kept(line, length))
		text_append(&said.kept, line, length);
}

static ssize_t take_bytes(void *cookie, const char *bytes, size_t length)
{
	const char *nl;

	(void)cookie;
	text_append(&said.line, bytes, length);
	while ((nl = strchr(text_of(&said.line), '\n'))) {
		size_t n = (size_t)(nl + 1 - said.line.s);

		take_line(said.line.s, n);
		memmove(said.line.s, said.line.s + n, said.line.length - n + 1);
		said.line.length -= n;
	}
	return (ssize_t)length;
}

void said_begin(void)
{
	const cookie_io_functions_t functions = { .write = take_bytes };
	FILE *keeper = fopencookie(NULL, "w", functions);

	said.before = stderr;
	if (!keeper)
		return;
	setvbuf(keeper, NULL, _IONBF, 0);
	stderr = keeper;
}

void said_end(struct text *text)
{
	if (stderr != said.before) {
		fclose(stderr);
		stderr = said.before;
	}
	fwrite(text_of(&said.line), 1, said.line.length, stderr);
	text_append(text, text_of(&said.kept), said.kept.length);
	text_free(&said.line);
	text_free(&said.kept);
}
