/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the trace of a failed run, its diagram and its packets beside the script: story.h. */
#include "story.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/datsim/files.h"
#include "tools/datsim/program/origin.h"
#include "tools/datsim/run/run.h"
#include "tools/datsim/show/capture/pcapng.h"
#include "tools/datsim/show/picture.h"

#define DRAWN_MOST (1u << 20) /* bytes of a trace: a longer diagram is of no use */

/* "credit.shrunk.svg" beside "credit.shrunk.dsim" */
static void name_beside(const char *script, const char *ending, struct text *name)
{
	size_t n = strlen(script), end = n > 5 && !strcmp(script + n - 5, ".dsim") ? n - 5 : n;

	text_add(name, "%.*s%s", (int)end, script, ending);
}

static bool draw_svg(const struct story *story, const char *path, struct text *error)
{
	struct terminal terminal = { .out = stdout };
	struct picture picture;
	bool good;

	good = picture_read(&picture, story->name, text_of(story->trace), story->trace->length,
			    &terminal, error) &&
	       svg_write(&picture, path, error);
	picture_free(&picture);
	return good;
}

static bool has_packets(const struct story *story)
{
	return memmem(text_of(story->trace), story->trace->length, " packet ", 8) != NULL;
}

/* As `datsim test --trace` ends a trace. */
static void add_end(struct text *trace)
{
	size_t events = 0;

	for (const char *at = text_of(trace); at; at = strchr(at, '\n')) {
		at += *at == '\n';
		events += *at >= '0' && *at <= '9';
	}
	text_add(trace, "# end lines=%zu\n", events);
}

static void save_trace(const struct story *story, const char *script, const char *command,
		       struct text *text)
{
	struct text path = { 0 }, whole = { 0 };

	name_beside(script, ".trace", &path);
	text_append(&whole, text_of(story->trace), story->trace->length);
	origin_insert(&whole, command, story->of_script ? script : NULL);
	if (story->of_script)
		add_end(&whole);
	if (write_whole_or_say(text_of(&path), &whole))
		text_add(text, "trace:    %s (datsim show, datsim replay)\n", text_of(&path));
	text_free(&whole);
	text_free(&path);
}

static void save_picture(const struct story *story, const char *script, struct text *text)
{
	struct text path = { 0 }, error = { 0 };

	name_beside(script, ".svg", &path);
	unlink(text_of(&path));
	if (story->trace->length > DRAWN_MOST)
		text_add(text, "diagram:  none, because the trace is long (datsim show --svg)\n");
	else if (draw_svg(story, text_of(&path), &error))
		text_add(text, "diagram:  %s\n", text_of(&path));
	fputs(text_of(&error), stderr);
	text_free(&error);
	text_free(&path);
}

static void save_packets(const struct story *story, const char *script, struct text *text)
{
	struct text path = { 0 }, error = { 0 };

	name_beside(script, ".pcapng", &path);
	unlink(text_of(&path));
	if (has_packets(story) && capture_write(text_of(&path), story->name, text_of(story->trace),
						story->trace->length, NULL, &error))
		text_add(text, "packets:  %s (Wireshark)\n", text_of(&path));
	fputs(text_of(&error), stderr);
	text_free(&error);
	text_free(&path);
}

void story_save(const struct story *story, const char *script, const char *command,
		struct text *text)
{
	save_trace(story, script, command, text);
	save_picture(story, script, text);
	save_packets(story, script, text);
}
