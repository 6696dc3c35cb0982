/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ends.h - the two ends of a connection, each a process of its own that does as the main process
 * tells it, and the round that both tests of RNR wait begin with:
 *
 *   sender     posts Send 1; the receiver has no Receive, and the RNR timer runs
 *   receiver   posts two Receives
 *   main       takes the fabric's lock, stops both, releases the lock
 *   ...        what the test is about: a third process makes the timer due, and runs it
 *   sender     goes on, and posts Send 2
 *   receiver   goes on; both Sends must arrive, in order (ruling Q6)
 *
 * The RNR timer has to be set to longer than the test takes (DATSIM_RNR_TIMER_NS), so that it runs
 * when the main process says so. The fabric's state says when a step is over.
 */
#ifndef PROCESSES_ENDS_H
#define PROCESSES_ENDS_H

#include "die.h"
#include "emu/shared/shared.h"

struct end {
	struct pair_node node;
	DAT_EVD_HANDLE dto, connect;
	DAT_EP_HANDLE ep;
	pid_t pid;
	int orders[2], reports[2]; /* pipes from and to the main process */
};

struct ends {
	struct end sender, receiver;
};

/* Start both, and connect them. Values of DATSIM_COPY; NULL: that of this process. */
void ends_start(struct ends *ends, const char *sender_copy, const char *receiver_copy);
/* The first half of a round: both are stopped, and the RNR timer is the only event. */
void ends_wait_and_stop(struct ends *ends);
/* With the lock held: if it has not run yet, it is due now. */
int ends_make_due(struct emu_world *w, void *arg);
/* The second half: both Sends arrive, or the test fails. */
void ends_go_on(struct ends *ends);
void ends_finish(struct ends *ends);

/* Map the fabric, take its lock, and call a function that looks; its result. */
int ends_look(int (*what)(struct emu_world *w, void *arg), void *arg);

#endif
