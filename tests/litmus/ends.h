/* SPDX-License-Identifier: BSD-3-Clause */
/* ends.h - two processes of a fabric that are connected: an end in each of litmus.h's worlds. */
#ifndef TESTS_LITMUS_ENDS_H
#define TESTS_LITMUS_ENDS_H

#include "emu/shared/direct.h"
#include "emu/shared/shared.h"
#include "tests/litmus/litmus.h"

enum {
	DEPTH = 4,    /* Receives at a time, so that the rings wrap */
	AHEAD = 300,  /* as many as never wait for room: more than inline CQEs */
	WORDS = 64,   /* most of a message */
	SEGMENTS = 3, /* most of a request */
};

struct end {
	struct nic_world *world;
	struct nic *nic;
	struct nic_cq *send_cq, *recv_cq;
	struct nic_qp *qp;
	struct nic_srq *srq; /* NULL: the QP has a receive queue of its own */
	struct nic_mr *mr;
	struct nic_pd *pd;
	bool established;
	uint64_t memory[DEPTH][WORDS];
};

extern struct end ends[2];
extern struct litmus_worlds ends_worlds;

/*
 * Fixtures: both are there, and connected. At most DEPTH Receives and completions; or AHEAD of one
 * of them; or the Receives of ends[1] are on an SRQ.
 */
void ends_setup(void);
void ends_setup_srq(void);
void ends_setup_long_queue(void);
void ends_setup_many_receives(void);
void ends_teardown(void);
/* Ends the connection and makes another one of the same QPs. */
void ends_connect_again(void);
/* Connects ends[0] to a new QP of ends[1]; the old one is still there. */
void ends_change_peer(void);
void ends_destroy_peer(struct nic_qp *old);

/* Runs the events that are due in the process of this end; or in both, until none is queued. */
void ends_run(struct end *end);
void ends_run_all(void);
void ends_trace_on(void);
/*
 * Copies up to `lines` lines of a trace without their times, and with the numbers that each request
 * has of its own (message, psn, wr_id) less n.
 */
void ends_copy_lines(const char *text, int lines, char *out, unsigned long n);

#endif /* TESTS_LITMUS_ENDS_H */
