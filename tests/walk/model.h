/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * model.h - what the counters of one SRQ and of the Endpoints around it must be.
 *
 * Written from the rulings alone: it knows neither the library nor the network, only what a
 * Consumer was told. The walk tells it every call and, after every step, what it saw; the model
 * says whether that can be. Where the pages leave freedom (which of two Endpoints gets the last
 * buffer, how far a message came in half a microsecond) it accepts what it is shown within bounds;
 * as soon as the network is quiet there is one right answer, and it asks for that.
 *
 * A connection runs one way: messages go from its sending Endpoint to its receiving one, which
 * draws from the SRQ or, if plain, from its own receive queue.
 */
#ifndef WALK_MODEL_H
#define WALK_MODEL_H

#include <stdbool.h>

#include "tests/oracle/oracle.h"

#define MODEL_CONNS    16
#define MODEL_MESSAGES 256 /* of one connection, from the send until its Receive is reaped */
#define MODEL_NOT_HELD (-1)

/* Of one Endpoint */
enum model_state {
	MODEL_ABSENT,
	MODEL_UNCONNECTED,
	MODEL_CONNECTED,
	MODEL_PENDING, /* disconnecting gracefully */
	MODEL_ENDED,
};

/* How a DTO completed */
enum model_status {
	MODEL_SUCCESS,
	MODEL_FLUSHED,
	MODEL_TOO_LONG,
	MODEL_NOT_READY,
	MODEL_RESPONDER,
	MODEL_OTHER,
	MODEL_STATUSES
};

/* Why a connection may have ended; bits */
enum model_cause {
	MODEL_ASKED = 1,   /* one end disconnected or was freed */
	MODEL_HARD = 2,    /* the hard watermark */
	MODEL_STARVED = 4, /* a message found no buffer */
	MODEL_LONG = 8,    /* a message was longer than its buffer */
};

/* How much time went by since the last look */
enum model_time {
	MODEL_STILL,
	MODEL_SOME,
	MODEL_SETTLED, /* all that could happen did, nothing was posted since */
};

enum model_link {
	MODEL_OPEN,
	MODEL_CLOSING, /* lets a few more packets pass */
	MODEL_CLOSED,
};

/* An asynchronous event owed to the Consumer: at least and at most so many of them */
struct model_due {
	int least, most;
};

struct model_message {
	int length, packets;
	int held; /* stops after so many packets; MODEL_NOT_HELD */
	bool too_long;
	bool reaped;
};

struct model_conn {
	/* the receiving Endpoint; its counts restart when it becomes UNCONNECTED */
	enum model_state recv;
	bool plain;
	int max_recv; /* plain: its size */
	struct oracle_recv buf;
	struct model_due soft_due;
	int good; /* reaped successes */
	int bad[MODEL_STATUSES];
	bool crossed;    /* a message crossed the hard mark */
	bool must_break; /* a call crossed it: at the next look it is broken */
	bool must_end;   /* disconnected abruptly: at the next look it has ended */

	/* the sending Endpoint */
	enum model_state send;
	int sent, done; /* posted, completed */
	int acked;      /* the first so many completed with success */
	int failed[MODEL_STATUSES];
	int late, late_done; /* posted when ENDED: flushed at once */
	bool send_must_end;  /* disconnected abruptly */
	bool asked_by_sender;

	/* the connection */
	unsigned int causes;
	bool starved;                /* a message found no buffer and still waits */
	int whole_least, whole_most; /* bounds of how many messages completed */
	int whole_known;             /* so many were whole when the network was last quiet */
	struct model_message message[MODEL_MESSAGES]; /* number n at n % MODEL_MESSAGES */
};

struct model {
	/* the world */
	bool in_order;  /* profile ib */
	bool patient;   /* RNR is retried forever */
	int async_room; /* length of the asynchronous EVD */
	enum model_link forth, back;

	struct oracle_srq srq;
	struct model_due lw_due;
	int fired;      /* asynchronous events since the EVD was last emptied */
	int overfilled; /* times an event was set again while others were pending */

	struct model_conn conn[MODEL_CONNS];
	char error[256];
};

/* What a look at one connection showed */
struct model_seen {
	int nbufs, span; /* dat_ep_recv_query */
	int queued;      /* completions on its recv EVD */
	bool recv_ended, recv_broken;
	bool send_ended, send_broken;
};

/* ---- the SRQ: model_srq.c ---- */

enum oracle_answer model_srq_create(struct model *m, int max, int lw);
enum oracle_answer model_srq_post(struct model *m);
enum oracle_answer model_set_lw(struct model *m, int lw);
enum oracle_answer model_resize(struct model *m, int max);
enum oracle_answer model_srq_free(struct model *m);
void model_check_lw(struct model *m);

/* All asynchronous events were dequeued: so many of the SRQ, soft[i] of connection i. */
bool model_async_emptied(struct model *m, int lw_events, const int *soft);

/* ---- Endpoints: model_ep.c. soft: srq_soft_hw at creation ---- */

void model_recv_create(struct model *m, int i, bool plain, int max_recv, int soft);
void model_send_create(struct model *m, int i);
void model_recv_free(struct model *m, int i);
void model_send_free(struct model *m, int i);
enum oracle_answer model_recv_reset(struct model *m, int i);
enum oracle_answer model_send_reset(struct model *m, int i);
void model_connected(struct model *m, int i);
enum oracle_answer model_disconnect(struct model *m, int i, bool sender, bool abrupt);
enum oracle_answer model_set_watermark(struct model *m, int i, int soft, int hard);
enum oracle_answer model_ep_post(struct model *m, int i);
void model_check_soft(struct model *m, int i);

/* A Send; held: stop after so many packets. On an ENDED Endpoint it counts as late. */
enum oracle_answer model_send(struct model *m, int i, int length, int packets, int held,
			      bool too_long);
void model_release(struct model *m, int i, int number);

/* A Receive completion was reaped; number: of the message, for successes. */
bool model_reap(struct model *m, int i, enum model_status status, bool was_taken, int number);
/* A Send completion was reaped. */
bool model_send_done(struct model *m, int i, bool late, int number, enum model_status status);

/* ---- looking: model_look.c. false: this cannot be, m->error says what ---- */

bool model_look(struct model *m, const struct model_seen *seen, enum model_time time);

/* Messages that could take a buffer, or complete, if buffers and time were there */
int model_takeable(const struct model *m, int i);
int model_completable(const struct model *m, int i);
/* Does a sender retry forever, so that the fabric never goes idle? */
bool model_retries(const struct model *m);

bool model_fail(struct model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline struct model_message *model_message(struct model_conn *c, int number)
{
	return &c->message[number % MODEL_MESSAGES];
}

static inline bool model_alive(enum model_state state)
{
	return state == MODEL_CONNECTED || state == MODEL_PENDING;
}

#endif /* WALK_MODEL_H */
