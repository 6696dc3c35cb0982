/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the TCP side of an iWARP capture: handshakes, MPA frames and the ends of connections.
 */
#include "capture_tcp.h"

#include <stdlib.h>
#include <string.h>

#define PORT_FIRST 49152u /* of the sides that connect */
#define PORTS      16384u
#define FIRST_STEP 0x01000193u /* between the first sequence numbers */

/* ---- finding the connection ---- */

static struct connection *new_connection(struct wire *wire, size_t from, size_t to, uint32_t port)
{
	uint32_t index = (uint32_t)wire->connection_count;
	struct connection *connection;

	if ((index & (index - 1)) == 0)
		wire->connections = mem_grow(wire->connections, (index ? 2 * (size_t)index : 1) *
									sizeof(*wire->connections));
	wire->connection_count++;
	connection = &wire->connections[index];
	*connection = (struct connection){
		.end = { from, to },
		.port = { PORT_FIRST + index % PORTS, port ? port : PORT_FIRST - 1 },
		.first = { (2 * index + 1) * FIRST_STEP, (2 * index + 2) * FIRST_STEP }
	};
	wire->ends.end[from].connection = wire->connection_count;
	return connection;
}

/* A connection whose start is not in the trace. */
static struct connection *old_connection(struct wire *wire, const struct carried *carried)
{
	struct connection *connection = new_connection(wire, carried->from, carried->to, 0);
	int side;

	wire->ends.end[carried->to].connection = wire->connection_count;
	connection->open = true;
	for (side = 0; side < 2; side++)
		connection->half[side].next = connection->half[side].acked = 1;
	return connection;
}

static bool is_connection_request(const struct carried *carried)
{
	return span_is(carried->op, "CM_REQ");
}

static struct connection *requested_connection(struct wire *wire, const struct carried *carried)
{
	struct end *from = &wire->ends.end[carried->from];
	uint32_t port = (uint32_t)trace_number(&carried->line, "qual") & 0xffff;

	if (from->connection && !from->connects_anew)
		return &wire->connections[from->connection - 1];
	from->connects_anew = false;
	return new_connection(wire, carried->from, carried->to, port);
}

void tcp_find(struct tcp *tcp)
{
	const struct carried *carried = tcp->carried;
	struct wire *wire = tcp->wire;
	size_t from = wire->ends.end[carried->from].connection;
	size_t to = wire->ends.end[carried->to].connection;

	if (is_connection_request(carried)) {
		tcp->connection = requested_connection(wire, carried);
		tcp->side = 0;
	} else if (to) {
		tcp->connection = &wire->connections[to - 1];
		tcp->side = tcp->connection->end[0] == carried->to;
	} else if (from) {
		tcp->connection = &wire->connections[from - 1];
		tcp->side = tcp->connection->end[0] != carried->from;
	} else {
		tcp->connection = old_connection(wire, carried);
		tcp->side = 0;
	}
}

/* ---- segments ---- */

static void put_segment(struct tcp *tcp, uint8_t flags, uint64_t at, const uint8_t *data,
			size_t length)
{
	const struct connection *connection = tcp->connection;
	const struct end *end = tcp->wire->ends.end;
	int side = tcp->side, other = !side;
	struct tcp_segment segment = {
		.from = end[connection->end[side]].address,
		.to = end[connection->end[other]].address,
		.from_port = connection->port[side],
		.to_port = connection->port[other],
		.sequence = connection->first[side] + (uint32_t)at,
		.ack = connection->first[other] + (uint32_t)connection->half[other].acked,
		.flags = flags,
		.corrupt = tcp->carried->corrupt,
		.data = data,
		.length = length,
	};

	capture_frame(tcp->capture, connection->end[other], tcp->frame,
		      tcp_build(&segment, tcp->frame));
}

void tcp_put(struct tcp *tcp, uint8_t flags, uint64_t at)
{
	put_segment(tcp, flags, at, NULL, 0);
}

uint64_t tcp_put_fpdu(struct tcp *tcp, const struct ddp_segment *segment, uint64_t at,
		      uint8_t flags)
{
	static uint8_t fpdu[TCP_PAYLOAD_MAX];
	size_t length = fpdu_build(segment, fpdu);

	put_segment(tcp, flags | TCP_PUSH | TCP_ACK, at, fpdu, length);
	return at + length;
}

void tcp_acked(struct half *half, uint64_t end)
{
	uint64_t arrived = half_arrived(half);

	if (end > arrived)
		end = arrived;
	if (half->acked < end)
		half->acked = end;
}

/* The position of a control segment: its earlier one, or the next. */
static uint64_t place_control(struct tcp *tcp, enum control control, size_t bytes)
{
	struct half *half = &tcp->connection->half[tcp->side];
	struct piece piece = { .message = control,
			       .packets = 1,
			       .bytes = bytes,
			       .each = bytes,
			       .arrived = !tcp->carried->lost };

	return half_place(half, PIECE_CONTROL, &piece) ? piece.at : half->next;
}

/* ---- the beginning ---- */

static void put_syn(struct tcp *tcp)
{
	tcp_put(tcp, TCP_SYN, place_control(tcp, CONTROL_SYN, 1));
}

static void put_handshake(struct tcp *tcp)
{
	struct connection *connection = tcp->connection;
	struct tcp answer = *tcp;

	if (connection->open)
		return;
	connection->open = true;
	tcp->side = 0;
	answer.side = 1;
	tcp_acked(&connection->half[0], 1);
	tcp_put(&answer, TCP_SYN | TCP_ACK, place_control(&answer, CONTROL_SYN, 1));
	tcp_acked(&connection->half[1], 1);
	tcp_put(tcp, TCP_ACK, 1);
}

static void put_mpa(struct tcp *tcp, bool rejected, uint8_t flags)
{
	const struct trace_line *line = &tcp->carried->line;
	uint8_t private[MPA_PRIVATE_MAX], bytes[MPA_FRAME_MAX];
	struct mpa_frame mpa = { .reply = tcp->side == 1,
				 .rejected = rejected,
				 .reads_in = wire_reads(line, "reads_in", MPA_READS_UNKNOWN),
				 .reads_out = wire_reads(line, "reads_out", MPA_READS_UNKNOWN),
				 .data = private };
	size_t length;

	mpa.length = wire_private(line, private, MPA_PRIVATE_MAX);
	length = mpa_build(&mpa, bytes);
	put_segment(tcp, flags | TCP_PUSH | TCP_ACK, place_control(tcp, CONTROL_MPA, length), bytes,
		    length);
}

void tcp_put_request(struct tcp *tcp)
{
	put_syn(tcp);
	if (!tcp->carried->listened)
		return;
	put_handshake(tcp);
	put_mpa(tcp, false, 0);
}

/* A reply acknowledges the connection request. */
static void acknowledge_request(struct tcp *tcp)
{
	struct half *asker = &tcp->connection->half[0];
	struct tcp request = *tcp;

	request.side = 0;
	put_handshake(&request);
	tcp_acked(asker, half_end_of(asker, PIECE_CONTROL, CONTROL_MPA));
}

void tcp_put_reply(struct tcp *tcp)
{
	struct end *end = &tcp->wire->ends.end[tcp->carried->from];

	/* The line of a lost reply may name only an adapter. */
	if (end->qpn) {
		tcp->connection->end[1] = tcp->carried->from;
		end->connection = (size_t)(tcp->connection - tcp->wire->connections) + 1;
	}
	acknowledge_request(tcp);
	put_mpa(tcp, false, 0);
}

void tcp_put_rejection(struct tcp *tcp)
{
	if (!span_is(trace_value(&tcp->carried->line, "reason"), "REJECTED")) {
		tcp_acked(&tcp->connection->half[0], 1);
		tcp_put(tcp, TCP_RST | TCP_ACK, tcp->connection->half[1].next);
		return;
	}
	acknowledge_request(tcp);
	put_mpa(tcp, true, TCP_FIN);
}

void tcp_put_ready(struct tcp *tcp)
{
	static const struct ddp_segment nothing = { .opcode = RDMAP_WRITE, .last = true };
	struct half *other = &tcp->connection->half[!tcp->side];

	tcp_acked(other, half_end_of(other, PIECE_CONTROL, CONTROL_MPA));
	tcp_put_fpdu(tcp, &nothing, place_control(tcp, CONTROL_READY, fpdu_bytes(RDMAP_WRITE, 0)),
		     0);
}

/* ---- the end ---- */

void tcp_put_end(struct tcp *tcp)
{
	tcp_put(tcp, TCP_FIN | TCP_ACK, place_control(tcp, CONTROL_FIN, 1));
}

void tcp_put_gone(struct tcp *tcp)
{
	tcp_put(tcp, TCP_RST | TCP_ACK, tcp->connection->half[tcp->side].next);
}

void tcp_put_terminate(struct tcp *tcp, const struct terminate *why,
		       const struct ddp_segment *at_fault, bool end)
{
	uint8_t data[TERMINATE_MAX];
	struct ddp_segment segment = { .opcode = RDMAP_TERMINATE,
				       .last = true,
				       .queue = DDP_QUEUE_TERMINATE,
				       .msn = 1,
				       .data = data };
	uint64_t at;

	segment.length = (uint32_t)terminate_build(why, at_fault, data);
	at = place_control(tcp, CONTROL_TERMINATE, fpdu_bytes(RDMAP_TERMINATE, segment.length));
	tcp_put_fpdu(tcp, &segment, at, end ? TCP_FIN : 0);
	if (end)
		place_control(tcp, CONTROL_FIN, 1);
}

void iwarp_free(struct wire *wire)
{
	size_t i;

	for (i = 0; i < wire->connection_count; i++) {
		half_free(&wire->connections[i].half[0]);
		half_free(&wire->connections[i].half[1]);
	}
	free(wire->connections);
}
