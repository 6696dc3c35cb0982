/* SPDX-License-Identifier: BSD-3-Clause */
/* series.c - runs a script again and again: series.h. */
#include "series.h"

#include <string.h>

static void series_unload(struct series *series)
{
	if (series->loaded)
		script_free(&series->script);
	series->loaded = false;
}

/* Is it the script that was read, but for the lines that vary? */
static bool series_has(const struct series *series, const char *name, const struct text *text,
		       size_t at, size_t bytes)
{
	const char *own = text_of(&series->text), *s = text_of(text);

	return series->loaded && series->gap.at == at &&
	       series->text.length + bytes == text->length && !memcmp(own, s, at) &&
	       !memcmp(own + at, s + at + bytes, series->text.length - at) &&
	       !strcmp(series->script.source.name, name);
}

/* False: without the lines that vary it is no script. */
static bool series_load(struct series *series, const char *name, const struct text *text, size_t at,
			size_t bytes)
{
	struct verdict verdict;

	series_unload(series);
	series->text.length = 0;
	text_append(&series->text, text_of(text), at);
	text_append(&series->text, text_of(text) + at + bytes, text->length - at - bytes);
	series->loaded = true;
	if (run_load(&series->script, name, text_of(&series->text), series->text.length,
		     &verdict)) {
		gap_open(&series->gap, &series->script, at);
		series->seed = series->script.config.seed;
		return true;
	}
	verdict_free(&verdict);
	series_unload(series);
	return false;
}

void series_run(struct series *series, const char *name, const struct text *text, size_t at,
		size_t bytes, const struct options *options, struct verdict *verdict)
{
	struct options with_pool = *options;

	with_pool.pool = &series->pool;
	if (!series_has(series, name, text, at, bytes) &&
	    !series_load(series, name, text, at, bytes)) {
		run_text(name, text_of(text), text->length, &with_pool, verdict);
		return;
	}
	if (gap_fill(&series->gap, &series->script, text_of(text), text->length, bytes)) {
		series->script.config.seed = series->seed;
		run_script(&series->script, &with_pool, verdict);
		return;
	}
	series_unload(series);
	run_text(name, text_of(text), text->length, &with_pool, verdict);
}

void series_free(struct series *series)
{
	series_unload(series);
	pool_free(&series->pool);
	text_free(&series->text);
}
