/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp.h - where in a TCP stream something lies that a trace knows by message and packet.
 *
 * What one end sends is placed as it becomes known, and has its place for good: what comes again comes
 * with the same sequence numbers. Positions count from the SYN, which is at 0.
 */
#ifndef DATSIM_TCP_H
#define DATSIM_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each kind is in order of message and packet; between kinds, first come, first placed. */
enum piece_kind {
	PIECE_REQUEST,
	PIECE_RESPONSE, /* of a Read: its message is the Read's */
	PIECE_CONTROL,
	NUM_PIECE_KINDS
};

/* Some packets of one message, one behind another. */
struct piece {
	uint64_t message, packet, packets;
	uint64_t bytes; /* on the stream */
	uint64_t each;  /* on the stream, of each packet but the last of the message */
	uint64_t at;
	bool arrived;
};

struct pieces {
	struct piece *piece;
	size_t count;
	size_t waited_for; /* the first that did not arrive */
};

/* What one end sends. */
struct half {
	uint64_t next;
	uint64_t acked; /* by the other end */
	struct pieces kind[NUM_PIECE_KINDS];
};

/*
 * Gives a piece its place (piece->at): the one that its first packet has, or the next. False: there is
 * none, for it lies before others of its kind and was not placed with them.
 */
bool half_place(struct half *half, enum piece_kind kind, struct piece *piece);
/* The last piece of a kind; NULL: there is none. */
const struct piece *half_last(const struct half *half, enum piece_kind kind);
/* Where the last placed byte of a message ends; 0: nothing of it is placed. */
uint64_t half_end_of(const struct half *half, enum piece_kind kind, uint64_t message);
/* Up to here everything has arrived. */
uint64_t half_arrived(const struct half *half);
void half_free(struct half *half);

#endif
