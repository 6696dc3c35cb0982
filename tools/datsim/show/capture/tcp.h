/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp.h - positions in a TCP stream of packets that a trace numbers by message and packet.
 *
 * Each packet that an end sends gets a position when it is first seen, and keeps it: a
 * retransmission has the same sequence numbers. Positions count from the SYN, which is at 0.
 */
#ifndef DATSIM_TCP_H
#define DATSIM_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces of a kind are in order of message and packet; different kinds are placed as they come. */
enum piece_kind {
	PIECE_REQUEST,
	PIECE_RESPONSE, /* of a Read; its message number is the Read's */
	PIECE_CONTROL,
	NUM_PIECE_KINDS
};

/* Consecutive packets of one message. */
struct piece {
	uint64_t message, packet, packets;
	uint64_t bytes; /* on the stream */
	uint64_t each;  /* on the stream: of each packet but the message's last */
	uint64_t at;
	bool arrived;
};

struct pieces {
	struct piece *piece;
	size_t count;
	size_t first_missing; /* the first piece that has not arrived */
};

/* The stream that one end sends. */
struct half {
	uint64_t next;  /* position of the next new piece */
	uint64_t acked; /* up to here by the other end */
	struct pieces kind[NUM_PIECE_KINDS];
};

/*
 * Set the position of a piece (piece->at): that of its first packet if it has one, else the next
 * free one. False: the piece precedes others of its kind but was not placed before them.
 */
bool half_place(struct half *half, enum piece_kind kind, struct piece *piece);
/* The last piece of a kind, or NULL. */
const struct piece *half_last(const struct half *half, enum piece_kind kind);
/* The end of the last placed byte of a message; 0: none is placed. */
uint64_t half_end_of(const struct half *half, enum piece_kind kind, uint64_t message);
/* The position up to which everything has arrived. */
uint64_t half_arrived(const struct half *half);
void half_free(struct half *half);

#endif
