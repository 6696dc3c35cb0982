/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oracle.h - the counts of Shared Receive Queues and Endpoints, from the rulings alone.
 *
 * The oracle knows neither the library nor the network. A test tells it of every call, of every
 * completion it reaps, and of every buffer that a message took. The oracle keeps the counts, says
 * what a call must return, and when a watermark is crossed. How far messages came is the test's
 * own knowledge: a walk works it out (tests/walk/model.h), a random program learns it from queries
 * (tests/random/look.c). datsim's checkers share nothing with this.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>

#define ORACLE_INFINITE (-1) /* a high watermark that is off */

enum oracle_answer {
	ORACLE_OK,
	ORACLE_FULL,
	ORACLE_BAD_VALUE,
	ORACLE_BAD_STATE,
	ORACLE_EITHER, /* success or ORACLE_FULL: the pages allow both */
};

/* ---- Shared Receive Queues: srq.c; rulings Q, L, Z ---- */

struct oracle_srq {
	int limit; /* the adapter's largest SRQ */
	int max;
	int available;   /* posted, and no message took them */
	int outstanding; /* posted, and not reaped */
	int lost;        /* thrown away with an Endpoint: the buffers' addresses are not known */
	int lw;
	bool lw_armed;
};

enum oracle_answer oracle_srq_create(struct oracle_srq *srq, int max, int lw);
void oracle_srq_free(struct oracle_srq *srq);
enum oracle_answer oracle_srq_post(struct oracle_srq *srq);
enum oracle_answer oracle_srq_set_lw(struct oracle_srq *srq, int lw);
enum oracle_answer oracle_srq_resize(struct oracle_srq *srq, int max);
/* Messages took so many buffers. The caller checks that available does not fall below 0. */
void oracle_srq_take(struct oracle_srq *srq, int count);
void oracle_srq_reap(struct oracle_srq *srq);
/* An Endpoint was reset or freed: taken buffers that were not reaped go with it. */
void oracle_srq_throw_away(struct oracle_srq *srq, int taken);
/* Is the low watermark crossed? That is one event; it disarms the mark. */
bool oracle_srq_fires(struct oracle_srq *srq);

/* ---- the receiving side of an Endpoint: recv.c; rulings H, V ---- */

/* The counts restart when the Endpoint becomes UNCONNECTED, the marks do not. */
struct oracle_recv {
	int soft, hard;
	bool soft_armed, hard_armed;
	int posted;       /* on its own receive queue */
	int taken;        /* buffers that messages took */
	int completed;    /* completions queued so far */
	int reaped;       /* of those, reaped */
	int reaped_taken; /* of those, buffers that were taken */
};

/* soft: srq_soft_hw at creation */
void oracle_recv_create(struct oracle_recv *recv, int soft);
void oracle_recv_restart(struct oracle_recv *recv);
enum oracle_answer oracle_recv_set_watermark(struct oracle_recv *recv, int soft, int hard);
/* A Receive on the Endpoint's own queue; ended: it is flushed, as nothing is connected. */
enum oracle_answer oracle_recv_post(struct oracle_recv *recv, int max, bool ended);
/* A completion is reaped; taken: a message had taken its buffer. false: none was queued. */
bool oracle_recv_reap(struct oracle_recv *recv, bool taken);
/* Is the mark crossed? Once per setting. */
bool oracle_recv_soft_fires(struct oracle_recv *recv);
bool oracle_recv_hard_fires(struct oracle_recv *recv);

/* Buffers taken and not reaped: what the high watermarks are compared with (ruling H1) */
static inline int oracle_recv_unreaped(const struct oracle_recv *recv)
{
	return recv->taken - recv->reaped_taken;
}

#endif /* ORACLE_H */
