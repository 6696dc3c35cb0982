/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random bytes as a trace: its timeline, diagram and page, full and short, and its capture.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/datsim/show/capture/pcapng.h"
#include "tools/datsim/show/html.h"
#include "tools/datsim/show/picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void timeline(FILE *out, const char *text, size_t size, bool all)
{
	struct terminal terminal = { .out = out, .colour = all, .utf8 = all, .all = all };
	struct text error = { 0 };

	show_trace(&terminal, "fuzz", text, size, &error);
	text_free(&error);
}

static void diagram(const char *text, size_t size, bool all)
{
	struct terminal how = { .utf8 = true, .all = all };
	struct text error = { 0 };
	struct picture picture;

	if (picture_read(&picture, "fuzz", text, size, &how, &error)) {
		svg_write(&picture, "/dev/null", &error);
		html_write(&picture, "/dev/null", size, &error);
	}
	picture_free(&picture);
	text_free(&error);
}

static void capture(const char *text, size_t size)
{
	struct text error = { 0 };

	capture_write("/dev/null", "fuzz", text, size, NULL, &error);
	text_free(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out;
	char *text = malloc(size + 1);
	int all;

	if (!out)
		out = fopen("/dev/null", "w");
	memcpy(text, data, size);
	text[size] = '\0';
	for (all = 0; all < 2; all++) {
		timeline(out, text, size, all);
		diagram(text, size, all);
	}
	capture(text, size);
	free(text);
	return 0;
}
