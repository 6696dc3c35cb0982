/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which schedule is next. The wall clock is looked at for --seconds and for the terminal; what a
 * schedule does never depends on it.
 */
#include "explore.h"

#include <stdio.h>
#include <time.h>

static double wall_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* False: time is up. */
static bool look_at_clock(struct course *course)
{
	double now;

	if (!course->seconds && !course->progress)
		return true;
	now = wall_seconds();
	if (!course->done)
		course->began = course->told = now;
	if (course->progress && now - course->told >= 0.5) {
		fprintf(stderr, "\r%llu schedules, %.0f a second ",
			(unsigned long long)course->done,
			(double)course->done / (now - course->began));
		course->told = now;
	}
	return !course->seconds || now - course->began < (double)course->seconds;
}

bool course_next(struct course *course, uint64_t *number)
{
	if ((course->runs && course->done >= course->runs) || !look_at_clock(course))
		return false;
	*number = course->first + course->shard - 1 + course->done * course->shards;
	course->done++;
	return true;
}

void course_end(const struct course *course)
{
	if (course->progress)
		fputs("\r\033[K", stderr);
}
