/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exchange.h - programs of libibverbs and librdmacm on a shared fabric: a server, and clients that
 * exchange verified data with it.
 *
 *   client                                       server
 *   binds a window for the answer
 *   sends its question (RC, by librdmacm)   -->  takes it from an SRQ
 *                                           <--  writes the answer through the window
 *                                           <--  says so, which invalidates the window
 *   sends it to its group (UD)              -->  is in that group, too
 *                                           <--  answers by an address handle
 *   reads the answer at the server, counts  -->
 *   there and swaps (RC, by number)
 *
 *   exchange.c        what both have, and how they post and wait
 *   exchange_ask.c    a client
 *   exchange_serve.c  the server
 */
#ifndef TESTS_EXCHANGE_H
#define TESTS_EXCHANGE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "examples/pair/pair.h"

#define EXCHANGE_PORT     7700
#define EXCHANGE_MESSAGES 8
#define EXCHANGE_CLIENTS  4 /* of a server, at the same time */
#define EXCHANGE_GRH      40u
#define EXCHANGE_QKEY     0x22222222u
#define EXCHANGE_MLID     0xc001 /* any of a group */

/* wr_id: of requests the opcode and this bit, of Receives the place of the message or letter. */
#define EXCHANGE_SENT (1u << 16)

struct exchange_letter {
	uint8_t grh[EXCHANGE_GRH];
	struct pair_message message;
};

/* The registered memory of one process. */
struct exchange_memory {
	struct pair_message message[EXCHANGE_MESSAGES]; /* that are received */
	struct pair_message answer[EXCHANGE_CLIENTS];   /* of the server, which clients read */
	struct exchange_letter letter[EXCHANGE_MESSAGES];
	uint64_t count[EXCHANGE_CLIENTS], swap[EXCHANGE_CLIENTS]; /* by atomics of clients */
};

/* Private data: where a side's answer and counters are, and the number of its other QP. */
struct exchange_target {
	uint64_t answer, count, swap;
	uint32_t key, number;
	uint16_t lid;
	uint8_t group[14]; /* the end of its GID */
};

struct exchange {
	struct exchange_memory *memory;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id; /* listener, or connection */
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	struct ibv_srq *srq; /* of the server */
	struct ibv_qp *ud;   /* for datagrams */
	struct ibv_qp *qp;   /* of a client: connected by number */
	struct ibv_mw *window;
	uint32_t key; /* of the window */
	struct ibv_ah *group;
	struct exchange_target peer;
	uint16_t lid;
	uint64_t round;
	bool turns; /* in lockstep: a poll that finds nothing ends the turn */
};

/* ---- provided by the program ---- */

/* A call fails, or what comes is wrong. */
void exchange_fail(const char *what) __attribute__((noreturn));
static inline void exchange_need(bool good, const char *what)
{
	if (!good)
		exchange_fail(what);
}

/* ---- exchange.c ---- */

/* Make what both need: a channel, an id that is bound to an address, and all on its device. */
void exchange_begin(struct exchange *x, struct exchange_memory *memory, uint16_t port);
void exchange_free(struct exchange *x);
struct ibv_qp *exchange_make_qp(struct exchange *x, enum ibv_qp_type type);
/* Connect a QP by number; false: a call fails. */
bool exchange_connect_qp(struct ibv_qp *qp, const struct exchange_target *to);
union ibv_gid exchange_gid(const uint8_t end[14]);
struct rdma_conn_param exchange_param(const struct exchange_target *mine);

/* The segment of memory, which is in struct exchange_memory. */
struct ibv_sge exchange_segment(const struct exchange *x, const volatile void *at, size_t length);
/* Post a signaled request. A wr_id of 0 becomes the opcode and EXCHANGE_SENT. */
int exchange_post(struct ibv_qp *qp, struct ibv_send_wr *wr);
int exchange_receive(struct ibv_qp *qp, uint64_t id, struct ibv_sge segment);
/* Sleep until there may be a completion or an event, for so long at most. */
void exchange_wait(struct exchange *x, int patience_ms);

/* ---- exchange_ask.c ---- */

extern int exchange_patience_ms; /* with each event and completion */
extern int exchange_tries;       /* to connect */

void exchange_open(struct exchange *x, struct exchange_memory *memory);
void exchange_connect(struct exchange *x);
void exchange_ask(struct exchange *x);
void exchange_disconnect(struct exchange *x);
void exchange_close(struct exchange *x);

/* ---- exchange_serve.c ---- */

/* A server whose clients come and go; `check` is called now and then, and ends it by false. */
void exchange_serve(struct exchange_memory *memory, bool (*check)(void));

#endif
