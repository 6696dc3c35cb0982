/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs several programs for one schedule of datsim explore: group.h. */
#include "group.h"
#include "orphans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXIT_SIGNAL_ABOVE 128

/* The first program that a signal ended, or whose exit status was not 0, by itself; -1: none. */
static int first_failed(const struct programs *programs, bool by_signal)
{
	for (int i = 0; i < programs->count; i++)
		if (!programs->one[i].stuck && !programs->one[i].cut &&
		    programs->one[i].code != 0 && programs->one[i].by_signal == by_signal)
			return i;
	return -1;
}

/* "nothing can wake server, client" */
static void find_stuck(const struct programs *programs, struct outcome *outcome)
{
	struct text names = { 0 };

	for (int i = 0; i < programs->count; i++)
		if (programs->one[i].stuck)
			text_add(&names, "%s%s", names.length ? ", " : "", programs->one[i].name);
	if (names.length) {
		outcome->how = ENDED_STUCK;
		snprintf(outcome->what, sizeof(outcome->what), "nothing can wake %s",
			 text_of(&names));
	}
	text_free(&names);
}

/* A program that waits for one that failed is no failure of its own. */
void group_outcome(const struct programs *programs, struct outcome *outcome)
{
	int i = first_failed(programs, true);
	bool by_signal = i >= 0;

	*outcome = (struct outcome){ .how = ENDED_WELL };
	if (i < 0)
		i = first_failed(programs, false);
	if (programs->late) {
		outcome->how = ENDED_HUNG;
		if (i < 0)
			return;
		/* The others may have waited for this one: it is what there is to repair. */
		outcome->code = programs->one[i].code;
		snprintf(outcome->who, sizeof(outcome->who), "%s", programs->one[i].name);
		return;
	}
	if (i < 0) {
		find_stuck(programs, outcome);
		return;
	}
	outcome->how = by_signal ? ENDED_SIGNAL : ENDED_CODE;
	outcome->code = programs->one[i].code - (by_signal ? EXIT_SIGNAL_ABOVE : 0);
	snprintf(outcome->who, sizeof(outcome->who), "%s", programs->one[i].name);
}

void group_run(const struct programs *programs, int fd, double seconds)
{
	struct group_end end = { .tag = GROUP_TAG };
	struct programs mine = *programs;
	struct ended ended;
	int code;

	ended_watch(&ended);
	orphans_adopt(NULL, 0);
	mine.ended = &ended;
	mine.limit = seconds;
	code = programs_run(&mine);
	group_outcome(&mine, &end.outcome);
	for (int i = 0; i < mine.count; i++)
		end.outside |= mine.one[i].outside;
	/* No program is to blame: there is no fabric, or no process. stderr says why. */
	if (code != 0 && end.outcome.how == ENDED_WELL)
		_exit(code);
	while (send(fd, &end, sizeof(end), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
	_exit(EXIT_PASS);
}
