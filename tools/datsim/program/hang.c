/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that do not end: when they are killed, and what they did all the time (hang.h). */
#include "hang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "round.h"
#include "tools/datsim/files.h"

#define TRACE_MOST (256ul << 20) /* unless DATSIM_TRACE_BYTES is set */

bool hang_take(void *member, const char *value)
{
	double seconds;
	char *end;

	if (!*value || value[strspn(value, "0123456789.")])
		return false;
	seconds = strtod(value, &end);
	if (*end || seconds < 0.01 || seconds > 3600)
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

/* Say what they repeat, and leave it out of the file. False: they do not go round. */
static bool tell_round(const char *trace, const char *before, struct text *text)
{
	struct text content = { 0 }, error = { 0 };
	struct round round;
	bool good = trace && read_whole(trace, TRACE_BYTES_MAX, &content, &error) &&
		    round_read(&round, text_of(&content), content.length);

	if (good) {
		text_add(text, "%s", before);
		round_words(&round, text);
		round_cut(&round, &content);
		write_whole(trace, text_of(&content), content.length, &error);
	}
	text_free(&content);
	text_free(&error);
	return good;
}

void hang_tell(const char *trace, double seconds, struct text *text)
{
	text_add(text, "datsim: ended after %g seconds (--hang)", seconds);
	tell_round(trace, ": it goes round:\n  ", text);
	text_add(text, "\n");
}

void hang_tell_ended(const char *trace, struct text *text)
{
	if (tell_round(trace, "datsim: ended by a signal: it goes round:\n  ", text))
		text_add(text, "\n");
}

/* Of a trace of which most is the round: a program that does other things, too, has messages. */
static void look_at_trace(struct hang_look *look)
{
	struct text content = { 0 }, error = { 0 }, words = { 0 };
	struct round round;

	if (read_whole(look->trace, TRACE_BYTES_MAX, &content, &error) &&
	    round_read(&round, text_of(&content), content.length) && round.cut_at &&
	    round.cut_at < content.length / 2) {
		look->told = true;
		round_words(&round, &words);
		fprintf(stderr,
			"datsim run: it goes round: %s. Ctrl-C ends it, and --hang S does; the "
			"trace ends at %lu MiB (DATSIM_TRACE_BYTES)\n",
			text_of(&words), TRACE_MOST >> 20);
	}
	text_free(&words);
	text_free(&content);
	text_free(&error);
}

void hang_look(struct hang_look *look)
{
	struct stat st;

	if (!look || !look->trace || look->told || stat(look->trace, &st) || !S_ISREG(st.st_mode))
		return;
	if (!look->next)
		look->next = ROUND_TRACE_BYTES;
	if (st.st_size < look->next)
		return;
	look->next = 2 * st.st_size;
	look_at_trace(look);
}
