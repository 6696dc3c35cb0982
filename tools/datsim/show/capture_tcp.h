/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture_tcp.h - the TCP connections of a capture: which one a packet is on, how it begins and ends,
 * and segments with their sequence numbers.
 *
 * The trace has no line for what TCP does by itself: a request for a connection stands for the
 * handshake and MPA's request, "ready" for a Write of no bytes.
 */
#ifndef DATSIM_CAPTURE_TCP_H
#define DATSIM_CAPTURE_TCP_H

#include "capture.h"
#include "iwarp.h"
#include "tcp.h"

/* Pieces of kind PIECE_CONTROL, in the order that they have on a stream. */
enum control {
	CONTROL_SYN = 1,
	CONTROL_MPA,
	CONTROL_READY,
	CONTROL_TERMINATE,
	CONTROL_FIN
};

/* Side 0 asked for it. */
struct connection {
	size_t end[2];
	uint32_t port[2];
	uint32_t first[2]; /* sequence numbers of the SYNs */
	struct half half[2];
	bool open; /* the handshake is done */
};

/* A packet that is being written. */
struct tcp {
	struct wire *wire;
	const struct carried *carried;
	struct capture *capture;
	uint8_t *frame; /* FRAME_MAX */
	struct connection *connection;
	int side; /* that sends */
};

/* Finds its connection, or makes it. */
void tcp_find(struct tcp *tcp);
/* A segment without data, at a place of the stream. */
void tcp_put(struct tcp *tcp, uint8_t flags, uint64_t at);
/* A frame of MPA's there. Returns where it ends. */
uint64_t tcp_put_fpdu(struct tcp *tcp, const struct ddp_segment *segment, uint64_t at,
		      uint8_t flags);
/* The other end has everything up to here, as far as it arrived. */
void tcp_acked(struct half *half, uint64_t end);

/* What connection management and errors are on it. */
void tcp_put_request(struct tcp *tcp);
void tcp_put_reply(struct tcp *tcp);
void tcp_put_rejection(struct tcp *tcp);
void tcp_put_ready(struct tcp *tcp);
void tcp_put_end(struct tcp *tcp);
void tcp_put_gone(struct tcp *tcp);
void tcp_put_terminate(struct tcp *tcp, const struct terminate *why,
		       const struct ddp_segment *at_fault, bool end);

#endif
