/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that do not end: when they are killed, and what they did all the time (hang.h). */
#include "hang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "round.h"
#include "tools/datsim/files.h"

bool hang_take(void *member, const char *value)
{
	double seconds;

	if (!*value || value[strspn(value, "0123456789.")])
		return false;
	seconds = strtod(value, NULL);
	if (seconds < 0.01 || seconds > 3600)
		return false;
	*(double *)member = seconds;
	return true;
}

static double seconds_of(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? 0 : (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

double hang_clock(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

bool hang_reached(pid_t pid, double began, double seconds)
{
	double real = hang_clock() - began;
	clockid_t clock;

	if (real < seconds)
		return false;
	return real > 10 * seconds ||
	       (!clock_getcpuclockid(pid, &clock) && seconds_of(clock) > seconds);
}

void hang_limit_trace(void)
{
	char bytes[24];

	snprintf(bytes, sizeof(bytes), "%u", ROUND_TRACE_BYTES);
	setenv("DATSIM_TRACE_BYTES", bytes, 0);
}

void hang_tell(const char *trace, double seconds, struct text *text)
{
	struct text content = { 0 }, error = { 0 };
	struct round round;

	text_add(text, "datsim: ended after %g seconds (--hang)", seconds);
	if (trace && read_whole(trace, TRACE_BYTES_MAX, &content, &error) &&
	    round_read(&round, text_of(&content), content.length)) {
		text_add(text, ": it goes round:\n  ");
		round_words(&round, text);
		round_cut(&round, &content);
		write_whole(trace, text_of(&content), content.length, &error);
	}
	text_add(text, "\n");
	text_free(&content);
	text_free(&error);
}
