/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * walk.h - a random walk over the public API, step by step beside a model of what must be.
 *
 * A walk is a world (two adapters, one SRQ, pairs of Endpoints, registered memory), a generator of
 * its own and a table of operations. Each step takes one operation at random, does it, and looks:
 * all counts, all events, all completions with their data are compared with the model. The seed
 * decides everything; even seeds walk in profile ib, odd ones in iwarp.
 */
#ifndef WALK_H
#define WALK_H

#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>
#include <dat/sim.h>

#include "model.h"

#define WALK_PAIRS    12
#define WALK_BUFFERS  1024 /* for Receives */
#define WALK_SLOTS    32   /* for Sends, of one pair */
#define WALK_REQUESTS 16   /* outstanding Sends of a pair, at most */
#define WALK_RECEIVES 24   /* of a plain Endpoint */
#define WALK_LOG      30
#define WALK_GUARD    32 /* bytes behind each buffer that must never change */
#define WALK_POISON   0xa5

struct walk;

struct walk_op {
	const char *name;
	unsigned int weight;
	bool (*run)(struct walk *w); /* false: does not apply now, nothing was done */
	bool holds;                  /* the network, or lets it go */
};

/* srq_ops.c: of many Endpoints on one Shared Receive Queue. */
extern const struct walk_op walk_srq_ops[];

struct walk_kind {
	const char *program;
	const struct walk_op *ops;
	int pairs, plain; /* of the pairs, so many have plain Endpoints */
	bool exact;       /* let the network settle after each step */
	bool watermarks;  /* Endpoints are created with a soft mark now and then */
	bool lossy;       /* packets are lost, late, doubled, out of order; nothing is held */
	unsigned int seeds[8];
	unsigned int steps;
};

/* What a walk met, for the summary: a walk that met nothing proves nothing. */
enum walk_count {
	WALK_SENT,
	WALK_RECEIVED,
	WALK_BYTES,
	WALK_FLUSHED,
	WALK_THROWN_AWAY,
	WALK_LOW_EVENTS,
	WALK_SOFT_EVENTS,
	WALK_CONNECTED,
	WALK_ENDED,
	WALK_HARD_BREAKS,
	WALK_STARVED_BREAKS,
	WALK_LONG_BREAKS,
	WALK_FULL,
	WALK_REFUSED,
	WALK_RESIZED,
	WALK_HALF_WAY,
	WALK_OVERTAKEN,
	WALK_OVERFILLED,
	WALK_COUNTS
};

struct buffer {
	bool out;        /* posted, and not seen completed */
	int plain;       /* of the plain Endpoint of this pair, or -1: of the SRQ */
	int order;       /* plain: the Receives of an Endpoint are numbered from 0 */
	uint32_t serial; /* how often this buffer was posted: part of the cookie */
};

struct pair {
	DAT_EP_HANDLE a, b; /* a sends, b receives; NULL: not there */
	DAT_EVD_HANDLE recv_evd;
	bool plain;
	bool ran_short;         /* plain: a message was sent that had no Receive of its own yet */
	uint32_t id;            /* of the connection; part of what messages contain */
	bool a_up, b_up;        /* ESTABLISHED came */
	struct model_seen seen; /* ends noticed since the last look */
};

struct walk {
	const struct walk_kind *kind;
	uint64_t seed, state; /* of the generator */
	unsigned int step, steps;
	uint64_t hash; /* over the names and numbers of all operations */
	char log[WALK_LOG][80];
	unsigned long count[WALK_COUNTS];

	DAT_SIM_CONFIG config;
	DAT_SIM_HANDLE sim;
	DAT_IA_HANDLE a, b;
	DAT_EVD_HANDLE async_a, async_b, conn_a, conn_b, request_evd, cr_evd;
	DAT_COUNT recv_qlen; /* of each pair's recv EVD */
	DAT_PZ_HANDLE pz_a, pz_b;
	DAT_PSP_HANDLE psp;
	DAT_IA_ADDRESS_PTR address;
	DAT_SRQ_HANDLE srq;
	DAT_LMR_HANDLE lmr_a, lmr_b;
	DAT_LMR_CONTEXT lkey_a, lkey_b;
	uint8_t *memory_a, *memory_b;
	unsigned int buffer_size, slot_size;
	struct buffer buffer[WALK_BUFFERS];
	uint32_t connections; /* so many were made */
	struct pair pair[MODEL_CONNS];
	enum model_time time; /* what went by since the last look */
	bool busy;            /* the last settling ended with the network still busy */
	bool lazy;            /* leave asynchronous events where they are for a while */
	struct model model;
};

/* ---- the walk: walk.c ---- */

/* A main() for a walk: WALK_SEED, WALK_STEPS, WALK_TRACE=FILE in the environment. */
int walk_main(const struct walk_kind *kind);
uint64_t walk_random(struct walk *w);
/* 0 .. n-1 */
int walk_pick(struct walk *w, int n);
bool walk_chance(struct walk *w, int percent);
/* Say what is being done: into the log, the hash and the trace */
void walk_says(struct walk *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void walk_fails(struct walk *w, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
/* The call must have given this. */
void walk_expect(struct walk *w, const char *call, DAT_RETURN got, enum oracle_answer wanted);
void walk_ok(struct walk *w, const char *call, DAT_RETURN got);

/* ---- the world: world.c ---- */

void world_open(struct walk *w);
void world_close(struct walk *w);
void world_settle(struct walk *w);
void world_advance(struct walk *w, DAT_UINT64 ns);
void world_new_srq(struct walk *w, int max, int lw);
unsigned int world_packets(const struct walk *w, unsigned int length);

/* ---- memory: memory.c ---- */

/* A free buffer, filled with poison, as one or two segments; -1: none is free */
int buffer_take(struct walk *w, int plain, int order, DAT_LMR_TRIPLET iov[2], int *segments,
		DAT_DTO_COOKIE *cookie);
/* Which one a completion names; it must be out. */
int buffer_of(struct walk *w, DAT_DTO_COOKIE cookie);
void buffer_give_back(struct walk *w, int b);
/* plain: all of that pair's; -1: all of the SRQ's. How many there were */
int buffer_forget(struct walk *w, int plain);
int buffer_count(const struct walk *w, int plain);
/* Does the buffer hold message n of pair p, whole and nothing else? */
bool buffer_holds(struct walk *w, int b, int p, int n);
void buffer_check_guard(struct walk *w, int b);
/* Write message n of pair p into its slot */
void slot_fill(struct walk *w, int p, int n, unsigned int length, DAT_LMR_TRIPLET iov[2],
	       int *segments);
void slot_spoil(struct walk *w, int p, int n);

/* ---- Endpoints: pair.c ---- */

void pair_create(struct walk *w, int p);
void pair_connect(struct walk *w, int p);
void pair_free_a(struct walk *w, int p);
void pair_free_b(struct walk *w, int p);
/* held: packets that pass first, or MODEL_NOT_HELD */
void pair_send(struct walk *w, int p, unsigned int length, int held, bool too_long);
/* Reap one completion that must be there. */
void pair_reap(struct walk *w, int p);
/* A completion came on the request EVD. */
void pair_send_done(struct walk *w, const DAT_EVENT *event);

/* ---- looking: look.c ---- */

/* Compare all there is with the model. */
void look(struct walk *w);
/* Take the asynchronous events off their EVD and compare. */
void look_async(struct walk *w);
/* Take off what came on the connect EVD. */
void look_connections(struct walk *w);

/* ---- operations both walks use: ops.c ---- */

bool op_srq_post(struct walk *w);
bool op_set_lw(struct walk *w);
bool op_resize(struct walk *w);
bool op_srq_free_busy(struct walk *w);
bool op_new_srq(struct walk *w);
bool op_send(struct walk *w);
bool op_send_too_long(struct walk *w);
bool op_send_anywhere(struct walk *w);
bool op_reap(struct walk *w);
bool op_reap_all(struct walk *w);
bool op_create(struct walk *w);
bool op_connect(struct walk *w);
bool op_disconnect(struct walk *w);
bool op_reset(struct walk *w);
bool op_free(struct walk *w);
bool op_ep_post(struct walk *w);
bool op_set_watermark(struct walk *w);
bool op_advance(struct walk *w);
bool op_steps(struct walk *w);
bool op_settle(struct walk *w);
bool op_hold_forth(struct walk *w);
bool op_hold_forth_later(struct walk *w);
bool op_hold_back(struct walk *w);
bool op_release_links(struct walk *w);
bool op_release_message(struct walk *w);
bool op_set_link(struct walk *w);
bool op_lazy(struct walk *w);

#endif /* WALK_H */
