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
	REQUEST_BIND
};

struct request {
	uint64_t message;
	uint64_t bytes;
	enum request_kind kind;
	uint32_t psn; /* of its first packet, from the beginning of the connection */
	uint32_t msn; /* messages up to this one */
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
};

struct ends {
	struct end *end;
	size_t count;
	uint32_t mtu; /* 256 to 65536 */
	uint32_t last_id;
	uint64_t last_transaction;
};

/* The index of an end, made if it was not there. */
size_t ends_of(struct ends *ends, struct span object);
void ends_pair(struct ends *ends, size_t a, size_t b);
/* A post_ line. */
void ends_post(struct ends *ends, const struct trace_line *line);
/* NULL: nothing is known of it. */
const struct request *ends_request(const struct ends *ends, size_t end, uint64_t message);
/* As many packets as it takes, or its response takes. */
uint64_t request_span(const struct ends *ends, const struct request *request);
void ends_free(struct ends *ends);

/* A line of the trace as a packet; its frame is made when nothing more is to be said about it. */
struct carried {
	size_t from, to; /* ends */
	struct span op;
	uint64_t message, packet;
	struct roce_packet roce;
	uint8_t mad[ROCE_MAD];
};

struct wire {
	struct ends ends;
	uint32_t retry, rnr_retry, rnr_timer; /* the timer as an AETH has it */
};

/* What the header of a trace says of its wire. */
void wire_begin(struct wire *wire, const char *text, size_t length);
/*
 * capture_packet.c, capture_cm.c: what a packet's line means. The line may also say what a fault did to
 * a packet: then its object is a link. False: it is none that RoCEv2 has.
 */
bool wire_packet(struct wire *wire, const struct trace_line *line, struct carried *carried);
bool wire_cm(struct wire *wire, const struct trace_line *line, struct carried *carried);
/* From an "ignore" line: a packet that has no line of its own. False: what it was is not known. */
bool wire_ignored(struct wire *wire, const struct trace_line *line, struct carried *carried);

#endif
