/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture.h - what a capture knows of the ends of connections: which requests they posted, so that
 * a packet's length and sequence number are known also where its line does not say them; and who is
 * connected with whom, under which communication identifiers.
 *
 * An end is named as the trace names it, "emu0.ep1", or by its adapter where the trace says no more.
 * Spans point into the trace's text.
 */
#ifndef DATSIM_CAPTURE_H
#define DATSIM_CAPTURE_H

#include "roce.h"
#include "trace.h"

enum request_kind {
	REQUEST_SEND,
	REQUEST_WRITE,
	REQUEST_READ,
	REQUEST_BIND,
	NUM_REQUEST_KINDS
};

struct request {
	uint64_t message;
	uint64_t bytes;
	enum request_kind kind;
	uint32_t psn;  /* of its first packet, from the beginning of the connection */
	uint32_t line; /* of the script; 0: not known */
	uint32_t msn;  /* messages up to this one */
	uint32_t sofar[NUM_REQUEST_KINDS]; /* the same, of each kind */
};

struct end {
	struct span object;
	struct span adapter;
	uint32_t qpn;     /* 0: no EP */
	uint32_t address; /* IPv4 */
	size_t peer;      /* index + 1; 0: not known */
	uint32_t id;      /* of this end of the connection */
	uint64_t transaction;
	struct request *requests; /* in order of message */
	size_t request_count;
	/* iWARP */
	size_t connection;  /* index + 1; 0: none */
	bool connects_anew; /* its next request is not a repetition */
	struct span cause;  /* why it refused a message, last */
	uint64_t refused;   /* that message */
	uint32_t line; /* of the script, at which it last connected, accepted or disconnected */
};

struct ends {
	struct end *end;
	size_t count;
	uint32_t mtu;  /* 256 to 65536 */
	uint32_t line; /* of the script, now */
	uint32_t last_id;
	uint64_t last_transaction;
};

/* The index of an end, made if it was not there. */
size_t ends_of(struct ends *ends, struct span object);
void ends_pair(struct ends *ends, size_t a, size_t b);
/* A post_ line. */
void ends_post(struct ends *ends, const struct trace_line *line);
/* The index of the first request that is not before a message. */
size_t ends_request_from(const struct end *end, uint64_t message);
/* NULL: nothing is known of it. */
const struct request *ends_request(const struct ends *ends, size_t end, uint64_t message);
/* As many packets as it takes, or its response takes. */
uint64_t request_span(const struct ends *ends, const struct request *request);
void ends_free(struct ends *ends);

/* A line of the trace as a packet; its frames are made when nothing more is to be said about it. */
struct carried {
	struct trace_line line;
	size_t from, to; /* ends */
	struct span op;
	uint64_t message, packet;
	uint32_t bytes; /* of payload */
	bool lost;      /* it does not arrive */
	bool corrupt;   /* which is why */
	struct roce_packet roce;
	uint8_t mad[ROCE_MAD];
	bool listened; /* iWARP: somebody listens for this request for a connection */
};

struct wire {
	struct ends ends;
	uint32_t retry, rnr_retry, rnr_timer; /* the timer as an AETH has it */
	bool iwarp;
	struct connection *connections;
	size_t connection_count;
};

/* What the header of a trace says of its wire. */
void wire_begin(struct wire *wire, const char *text, size_t length, bool iwarp);
void wire_end(struct wire *wire);
/*
 * capture_packet.c, capture_cm.c: what a packet's line means. The line may also say what a fault did to
 * a packet: then its object is a link. False: it is none that the wire has.
 */
bool wire_packet(struct wire *wire, const struct trace_line *line, struct carried *carried);
bool wire_cm(struct wire *wire, const struct trace_line *line, struct carried *carried);
/* Of a request for a connection or a reply: private data, at most so much; how many Reads. */
uint32_t wire_private(const struct trace_line *line, uint8_t *bytes, uint32_t most);
uint32_t wire_reads(const struct trace_line *line, const char *key, uint32_t usual);
/* What completes or ends a connection names its sender's adapter only: the EP there. */
void wire_find_sender(const struct wire *wire, struct carried *carried);
/* By its name: a request, not an answer. */
bool wire_is_request(struct span op);
/* From an "ignore" line: a packet that has no line of its own. False: what it was is not known. */
bool wire_ignored(struct wire *wire, const struct trace_line *line, struct carried *carried);

/* A part of a request or of a Read's response. */
struct data {
	enum request_kind kind;
	bool response;
	const struct request *request; /* NULL: not known */
	uint32_t bytes;
	bool last; /* of its message */
};
/* False: it is something else. */
bool wire_data(const struct wire *wire, const struct carried *carried, struct data *data);

/* capture.c: a frame of the packet that is being written, for the adapter of an end. */
struct capture;
void capture_frame(struct capture *capture, size_t to, const uint8_t *frame, size_t length);

/* capture_iwarp.c: the line is a packet that iWARP has. */
bool iwarp_packet(struct wire *wire, struct carried *carried);
/* Its frames. frame: room for each. */
void iwarp_put(struct wire *wire, const struct carried *carried, struct capture *capture,
	       uint8_t frame[FRAME_MAX]);
void iwarp_free(struct wire *wire);

#endif
