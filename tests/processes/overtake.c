/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overtake [SENDER RECEIVER THIRD] - ruling Q6 on a fabric of three processes: a Send that waits
 * behind one in RNR wait completes. Each argument is a value of DATSIM_COPY, for that process.
 *
 * The test forces the order of events in which the second Send used to overtake the first one and
 * was lost (ends.h). The main process is the third one: it owns no end of the connection and only
 * polls, until it has run the RNR timer and left the packet of Send 1 to one of the two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ends.h"

static int has_events(struct emu_world *w, void *arg)
{
	(void)arg;
	return w->fab->events > 0;
}

/* A poll runs the events that are due. */
static void fire_timer(DAT_EVD_HANDLE empty)
{
	DAT_EVENT event;

	while (ends_look(has_events, NULL))
		if (DAT_GET_TYPE(dat_evd_dequeue(empty, &event)) != DAT_QUEUE_EMPTY)
			pair_fail("an empty EVD has an event");
}

int main(int argc, char **argv)
{
	struct ends ends = { 0 };
	struct pair_node node;
	DAT_EVD_HANDLE empty;

	if (argc != 1 && argc != 4) {
		fputs("usage: overtake [SENDER RECEIVER THIRD]\n", stderr);
		return 2;
	}
	hang_begin("a Send behind one in RNR wait");
	ends_start(&ends, argc > 1 ? argv[1] : NULL, argc > 1 ? argv[2] : NULL);
	if (argc > 1)
		setenv("DATSIM_COPY", argv[3], 1);
	pair_open(&node, "emu0", 1);
	pair_check(dat_evd_create(node.ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
				  &empty),
		   "dat_evd_create");
	ends_wait_and_stop(&ends);
	ends_look(ends_make_due, NULL);
	fire_timer(empty);
	ends_go_on(&ends);
	ends_finish(&ends);
	pair_check(dat_evd_free(empty), "dat_evd_free");
	pair_close(&node);
	return 0;
}
