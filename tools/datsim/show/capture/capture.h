/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture.h - the state of a capture: for each end of a connection its peer, its communication
 * identifier and the requests that it posted. The requests give the length and the sequence number
 * of packets whose lines do not contain them.
 *
 * An end has its name in the trace, "emu0.ep1", or that of its adapter if the trace names no EP.
 * Spans point into the trace's text.
 */
#ifndef DATSIM_CAPTURE_H
#define DATSIM_CAPTURE_H

#include "roce.h"
#include "tools/datsim/show/trace.h"

enum request_kind {
	REQUEST_SEND,
	REQUEST_WRITE,
	REQUEST_READ,
	REQUEST_BIND,
	REQUEST_ATOMIC,
	NUM_REQUEST_KINDS
};

struct request {
	uint64_t message;
	uint64_t bytes;
	enum request_kind kind;
	uint32_t psn;  /* of its first packet, counted from the start of the connection */
	uint32_t line; /* of the script; 0: not known */
	uint32_t msn;  /* number of messages up to this one */
	uint32_t mtu;  /* of its QP; 0: the fabric's */
	/* Of verbs: */
	uint32_t rkey, qpn; /* qpn: of the receiver of a datagram; 0: not known */
	uint64_t compare, operand;
	bool adds; /* of an atomic: it is no compare and swap */
	enum roce_tail tail;
	uint32_t tail_value;
	uint32_t sofar[NUM_REQUEST_KINDS]; /* the same for each kind */
};

struct end {
	struct span object;
	struct span adapter;
	uint32_t qpn;     /* 0: no EP */
	uint32_t mtu;     /* 0: the fabric's */
	uint32_t address; /* IPv4 */
	size_t peer;      /* index + 1; 0: not known */
	uint32_t id;      /* communication identifier of this end */
	uint64_t transaction;
	struct request *requests; /* in order of message */
	size_t request_count;
	/* iWARP */
	size_t connection;  /* index + 1; 0: none */
	bool connects_anew; /* its next connection request is not a retransmission */
	struct span cause;  /* of its last refusal of a message */
	uint64_t refused;   /* that message */
	uint32_t line;      /* of the script that last connected, accepted or disconnected it */
};

struct ends {
	struct end *end;
	size_t count;
	uint32_t mtu;  /* 256 to 65536 */
	uint32_t line; /* the current line of the script */
	uint32_t last_id;
	uint64_t last_transaction;
};

#define MTU_LEAST 256u

/* The index of an end; a new name makes a new end. */
size_t ends_of(struct ends *ends, struct span object);
void ends_pair(struct ends *ends, size_t a, size_t b);
/* Record the request of a post_ line. */
void ends_post(struct ends *ends, const struct trace_line *line);
/* The index of the first request whose message number is at least this one. */
size_t ends_request_from(const struct end *end, uint64_t message);
/* The request of a message; NULL: not known. */
const struct request *ends_request(const struct ends *ends, size_t end, uint64_t message);
/* Record the number that a line gives to a QP of verbs. */
void ends_number(struct ends *ends, const struct trace_line *line);
/* Record what a "path" line says of its end. */
void ends_path(struct ends *ends, const struct trace_line *line);
/* Payload of its packets; the fabric's if the request is not known. */
uint32_t request_mtu(const struct ends *ends, const struct request *request);
/* The number of PSNs that the request uses, or a Read's response. */
uint64_t request_span(const struct ends *ends, const struct request *request);
void ends_free(struct ends *ends);

/* A packet of the trace. Its frames are written once no further line can concern it. */
struct carried {
	struct trace_line line;
	size_t from, to; /* ends */
	struct span op;
	uint64_t message, packet;
	uint32_t bytes; /* of payload */
	uint32_t mtu;
	bool lost;            /* does not arrive */
	bool corrupt;         /* does not arrive because it was corrupted */
	uint32_t datagram_to; /* number of the QP that a datagram is for; 0: as its line says */
	struct roce_packet roce;
	uint8_t mad[ROCE_MAD];
	bool listened; /* iWARP: a listener exists for this connection request */
};

struct wire {
	struct ends ends;
	uint32_t retry, rnr_retry, rnr_timer; /* rnr_timer: the code of an AETH */
	bool iwarp;
	struct connection *connections;
	size_t connection_count;
};

/* Read the settings of the fabric from the header of a trace. */
void wire_begin(struct wire *wire, const char *text, size_t length, bool iwarp);
void wire_end(struct wire *wire);
/*
 * capture_packet.c, capture_cm.c: decode the line of a packet. It may also be the line of a fault
 * that hit a packet, whose object is a link. False: the transport has no such packet.
 */
bool wire_packet(struct wire *wire, const struct trace_line *line, struct carried *carried);
bool wire_cm(struct wire *wire, const struct trace_line *line, struct carried *carried);
/* Of a connection request or reply: its private data, at most `most` bytes; its number of Reads. */
uint32_t wire_private(const struct trace_line *line, uint8_t *bytes, uint32_t most);
uint32_t wire_reads(const struct trace_line *line, const char *key, uint32_t fallback);
/*
 * The line of a packet that completes or ends a connection names only the sender's adapter: set the
 * sender to the receiver's peer.
 */
void wire_find_sender(const struct wire *wire, struct carried *carried);
/* Is the packet of this name a request, as opposed to an answer? */
bool wire_is_request(struct span op);
/* The packet of an "ignore" line, which has no other line. False: its request is not known. */
bool wire_ignored(struct wire *wire, const struct trace_line *line, struct carried *carried);

/* The payload of one packet of a request or of a Read's response. */
struct data {
	enum request_kind kind;
	bool response;
	const struct request *request; /* NULL: not known */
	uint32_t bytes;
	bool last; /* of its message */
};
/* False: the packet carries no part of a message. */
bool wire_data(const struct wire *wire, const struct carried *carried, struct data *data);

/* capture.c: write a frame of the current packet, as received by the adapter of an end. */
struct capture;
void capture_frame(struct capture *capture, size_t to, const uint8_t *frame, size_t length);

/* capture_iwarp.c: decode a packet. False: iWARP has no such packet. */
bool iwarp_packet(struct wire *wire, struct carried *carried);
/* Write its frames; `frame` is a scratch buffer. */
void iwarp_put(struct wire *wire, const struct carried *carried, struct capture *capture,
	       uint8_t frame[FRAME_MAX]);
void iwarp_free(struct wire *wire);

#endif
