/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds all points of a script where an operation can fail, and runs it once for each chosen point.
 */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#include "host/random.h"
#include "tools/datsim/run/point.h"
#include "explore.h"
#include "tools/datsim/program/origin.h"
#include "tools/datsim/show/trace.h"

#define DTO_COMPLETIONS                                                                 \
	(DAT_SIM_COMPLETION_SEND | DAT_SIM_COMPLETION_WRITE | DAT_SIM_COMPLETION_READ | \
	 DAT_SIM_COMPLETION_RECV)

/* The rules of each kind. Events need three, because they can fail in three ways. */
static const struct course_of_rule {
	enum sweep_kind kind;
	DAT_SIM_CALL_FAULT rule;
} rules[] = {
	{ SWEEP_ALLOC, { .verdict = DAT_SIM_CALL_FAIL, .call = "alloc" } },
	{ SWEEP_POST, { .verdict = DAT_SIM_CALL_FAIL, .call = "post" } },
	{ SWEEP_EVENT,
	  { .verdict = DAT_SIM_COMPLETE_AS,
	    .completions = DTO_COMPLETIONS,
	    .status = DAT_DTO_ERR_TRANSPORT } },
	{ SWEEP_EVENT,
	  { .verdict = DAT_SIM_COMPLETE_AS,
	    .completions = DAT_SIM_COMPLETION_BIND,
	    .status = (DAT_DTO_COMPLETION_STATUS)DAT_RMR_OPERATION_FAILED } },
	{ SWEEP_EVENT, { .verdict = DAT_SIM_EVENT_LOSE, .event = DAT_SIM_ANY_EVENT } },
};

/* ---- sites ---- */

static void sites_append(struct sites *sites, const char *name)
{
	size_t n = strlen(name) + 1;

	if (sites->count == sites->room) {
		sites->room = sites->room ? 2 * sites->room : 64;
		sites->names = mem_grow(sites->names, sites->room * sizeof(*sites->names));
	}
	sites->names[sites->count] = mem_zero(1, n);
	memcpy(sites->names[sites->count++], name, n);
}

bool sites_add(struct sites *sites, const char *name)
{
	size_t i;

	for (i = 0; i < sites->count; i++) {
		if (!strcmp(sites->names[i], name))
			return false;
	}
	sites_append(sites, name);
	return true;
}

void sites_free(struct sites *sites)
{
	while (sites->count)
		free(sites->names[--sites->count]);
	free(sites->names);
}

/* ---- which points there are ---- */

static const char *line_of(const struct point *point, uint64_t n)
{
	size_t i;

	for (i = 0; i < point->line_count; i++) {
		if (n <= point->lines[i].until)
			return point->lines[i].what;
	}
	return "the end";
}

/* Read the sites of all points in order, from the trace of a run in which nothing fails. */
static bool list_sites(const char *path, const struct verdict *verdict, const struct point *point,
		       struct sites *points)
{
	struct trace_reader reader;
	struct trace_line line;
	struct text name = { 0 };
	bool good = trace_open(&reader, path, text_of(&verdict->trace), verdict->trace.length);

	while (good && points->count < point->fired && trace_next(&reader, &line)) {
		struct span at = trace_value(&line, "at");

		if (!span_is(line.verb, "fault") ||
		    trace_number(&line, "rule") != (uint64_t)point->id)
			continue;
		name.length = 0;
		text_append(&name, at.s, at.length);
		text_add(&name, " in %s", line_of(point, points->count + 1));
		sites_append(points, text_of(&name));
	}
	text_free(&name);
	trace_close(&reader);
	return good;
}

/* Is the point chosen? Depends on the base name of the script only, not on its folder. */
static bool point_is_chosen(struct sweep *sweep, const char *path, const char *site, uint64_t n)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	uint64_t state = sweep->seed ^ (n * 0x9e3779b97f4a7c15u);
	bool fresh = sites_add(&sweep->sites, site);

	if (fresh)
		sweep->covers(site);
	if (sweep->only)
		return n == sweep->only;
	for (; *name; name++)
		state = (state ^ (unsigned char)*name) * 0x100000001b3u;
	return fresh || random_next(&state) % 100 < sweep->percent;
}

/* ---- running them ---- */

static bool run_point(const char *path, struct point *point, struct verdict *verdict)
{
	struct options options = { .once = true, .point = point };

	run_file(path, &options, verdict);
	return verdict->code == EXIT_PASS || verdict->code == EXIT_UNSUPPORTED;
}

static void sweep_report(const struct sweep *sweep, const char *path, const char *site, uint64_t n,
			 const struct verdict *verdict, struct swept *swept)
{
	static const char *const kinds[] = { "alloc", "post", "event" };
	const char *text = text_of(&verdict->report), *replay = strstr(text, "replay:   ");

	swept->failed = n;
	text_add(&swept->report, "point %llu (%s): ", (unsigned long long)n, site);
	/* Replace the replay line of the report: a point is repeated by `datsim sweep`. */
	text_append(&swept->report, text, replay ? (size_t)(replay - text) : strlen(text));
	text_add(&swept->report, "replay:   ");
	knobs_add(&swept->report);
	text_add(&swept->report, "datsim sweep --nth %s%s --only %llu ", kinds[sweep->kind],
		 sweep->persistent ? " --persistent" : "", (unsigned long long)n);
	path_add(&swept->report, path);
	text_add(&swept->report, "\n");
}

/* Run the points of one rule; *before counts the points of the rules before it. */
static bool sweep_rule(struct sweep *sweep, const char *path, const DAT_SIM_CALL_FAULT *rule,
		       uint64_t *before, struct swept *swept)
{
	struct point point = { .rule = *rule };
	struct verdict verdict;
	struct sites points = { 0 };
	bool good;
	uint64_t n;

	point.rule.verdict = DAT_SIM_CALL_PASS;
	point.rule.status = DAT_DTO_SUCCESS;
	good = run_point(path, &point, &verdict) && list_sites(path, &verdict, &point, &points);
	if (!good)
		text_append(&swept->report, text_of(&verdict.report), verdict.report.length);
	swept->unfit = verdict.code == EXIT_USAGE;
	verdict_free(&verdict);
	for (n = 1; good && n <= points.count; n++) {
		if (!point_is_chosen(sweep, path, points.names[n - 1], *before + n))
			continue;
		point.rule = *rule;
		if (sweep->persistent)
			point.rule.after = n - 1;
		else
			point.rule.nth = n;
		sweep->runs(*before + n);
		swept->ran++;
		good = run_point(path, &point, &verdict);
		if (!good)
			sweep_report(sweep, path, points.names[n - 1], *before + n, &verdict,
				     swept);
		verdict_free(&verdict);
	}
	*before += points.count;
	sites_free(&points);
	point_free(&point);
	return good;
}

bool sweep_script(struct sweep *sweep, const char *path, struct swept *swept)
{
	uint64_t before = 0;
	bool good = true;
	size_t i;

	memset(swept, 0, sizeof(*swept));
	for (i = 0; good && i < ARRAY_SIZE(rules); i++) {
		if (rules[i].kind == sweep->kind)
			good = sweep_rule(sweep, path, &rules[i].rule, &before, swept);
	}
	swept->points = before;
	return good;
}
