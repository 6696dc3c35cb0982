/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the next schedule. The wall clock is read for --seconds and for the progress display
 * only; schedules do not depend on it.
 */
#include "explore.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "tools/datsim/commands.h"
#include "tools/datsim/files.h"

double course_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ", 17 s left", by the clock or by the rate so far */
static void add_left(const struct course *course, uint64_t done, double passed, struct text *line)
{
	double left = (double)course->seconds - passed, by_rate;

	if (course->runs && done) {
		by_rate = passed * (double)(course->runs - done) / (double)done;
		if (!course->seconds || by_rate < left)
			left = by_rate;
	}
	if (course->seconds || (course->runs && done))
		text_add(line, ", %.0f s left", left > 0 ? left : 0);
}

void course_line(const struct course *course, uint64_t done, double passed, struct text *line)
{
	if (course->doing.length) {
		text_append(line, text_of(&course->doing), course->doing.length);
	} else {
		text_add(line, "%llu ", (unsigned long long)done);
		if (course->runs)
			text_add(line, "of %llu ", (unsigned long long)course->runs);
		text_add(line, "schedule%s, %.0f a second, %llu failed",
			 (course->runs ? course->runs : done) == 1 ? "" : "s",
			 (double)done / passed, (unsigned long long)course->failed);
		add_left(course, done, passed, line);
	}
	if (course->longest >= 1)
		text_add(line, ", a run takes %.0f s", course->longest);
}

void course_tell(struct course *course, uint64_t done)
{
	struct text line = { 0 };
	double now;

	if (!course->progress)
		return;
	now = course_clock();
	if (course->began == 0)
		course->began = course->told = now;
	if (now - course->told < 0.5)
		return;
	course_line(course, done, now - course->began, &line);
	stderr_overwrite(text_of(&line));
	course->told = now;
	text_free(&line);
}

void course_doing(struct course *course, const char *format, ...)
{
	va_list args;

	if (!course->progress)
		return;
	course->doing.length = 0;
	va_start(args, format);
	text_vadd(&course->doing, format, args);
	va_end(args);
	course_tell(course, course->done);
}

int course_refuse(struct course *course, const char *format, ...)
{
	va_list args;

	course->reason.length = 0;
	va_start(args, format);
	text_vadd(&course->reason, format, args);
	va_end(args);
	return usage_error(course->merges ? "merge" : "explore", "%s", text_of(&course->reason));
}

/* False: time is up. */
static bool look_at_clock(struct course *course)
{
	double now;

	course_tell(course, course->done);
	if (!course->seconds)
		return true;
	now = course_clock();
	if (!course->done)
		course->began = now;
	return now - course->began < (double)course->seconds;
}

uint64_t course_before(const struct course *course, uint64_t number)
{
	return (number - course->first) / course->shards;
}

void course_go_on(const struct course *course, uint64_t number)
{
	if (course->store)
		fputs("datsim explore: to go on from there: the same command with --resume\n",
		      stderr);
	else
		fprintf(stderr,
			"datsim explore: to go on from there: the same command with --first %llu\n",
			(unsigned long long)(number - (course->shard - 1)));
}

bool course_next(struct course *course, uint64_t *number)
{
	if ((course->runs && course->done >= course->runs) || !look_at_clock(course))
		return false;
	*number = course->first + course->shard - 1 + course->done * course->shards;
	course->done++;
	return true;
}

void course_end(struct course *course)
{
	course->doing.length = 0;
	if (course->progress)
		stderr_overwrite("");
}
