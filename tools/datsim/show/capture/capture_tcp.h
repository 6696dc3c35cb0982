/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture_tcp.h - the TCP connections of an iWARP capture: the connection of a packet, its start
 * and end, and segments with their sequence numbers.
 *
 * The trace has no lines for TCP's own segments: a connection request (CM_REQ) is written as the
 * TCP handshake and the MPA request, a "ready to use" (CM_RTU) as an RDMA Write of no bytes.
 */
#ifndef DATSIM_CAPTURE_TCP_H
#define DATSIM_CAPTURE_TCP_H

#include "capture.h"
#include "iwarp.h"
#include "tcp.h"

/* Pieces of kind PIECE_CONTROL, in their order on a stream. */
enum control {
	CONTROL_SYN = 1,
	CONTROL_MPA,
	CONTROL_READY,
	CONTROL_TERMINATE,
	CONTROL_FIN
};

/* A TCP connection; side 0 requested it. */
struct connection {
	size_t end[2];
	uint32_t port[2];
	uint32_t first[2]; /* sequence numbers of the SYNs */
	struct half half[2];
	bool open; /* the handshake is done */
};

/* The packet that is being written, and its connection. */
struct tcp {
	struct wire *wire;
	const struct carried *carried;
	struct capture *capture;
	uint8_t *frame; /* FRAME_MAX */
	struct connection *connection;
	int side; /* the sender's */
};

/* Find the packet's connection, or make it. */
void tcp_find(struct tcp *tcp);
/* Write a segment without data, at a position of the stream. */
void tcp_put(struct tcp *tcp, uint8_t flags, uint64_t at);
/* Write an MPA frame; returns the position of its end. */
uint64_t tcp_put_fpdu(struct tcp *tcp, const struct ddp_segment *segment, uint64_t at,
		      uint8_t flags);
/* The other end acknowledges the stream up to `end`, or as far as it has arrived. */
void tcp_acked(struct half *half, uint64_t end);

/* Write packets of connection management, and errors. */
void tcp_put_request(struct tcp *tcp);
void tcp_put_reply(struct tcp *tcp);
void tcp_put_rejection(struct tcp *tcp);
void tcp_put_ready(struct tcp *tcp);
void tcp_put_end(struct tcp *tcp);
void tcp_put_gone(struct tcp *tcp);
void tcp_put_terminate(struct tcp *tcp, const struct terminate *why,
		       const struct ddp_segment *at_fault, bool end);

#endif
