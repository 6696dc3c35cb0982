/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the next schedule. The wall clock is read for --seconds and for the progress display
 * only; schedules do not depend on it.
 */
#include "explore.h"

#include <stdio.h>
#include <time.h>

double course_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void course_tell(struct course *course, uint64_t done)
{
	double now;

	if (!course->progress)
		return;
	now = course_clock();
	if (!done)
		course->began = course->told = now;
	if (now - course->told < 0.5)
		return;
	fprintf(stderr, "\r%llu schedules, %.0f a second ", (unsigned long long)done,
		(double)done / (now - course->began));
	course->told = now;
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
