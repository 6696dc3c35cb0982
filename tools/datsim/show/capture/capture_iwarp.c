/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the packets of a trace as iWARP: a TCP connection for each connection, with DDP segments
 * at their positions in its streams.
 */
#include <string.h>

#include "capture.h"
#include "capture_tcp.h"
#include "iwarp.h"

/* ---- requests and responses ---- */

static enum rdmap_opcode opcode_of(enum request_kind kind, bool response)
{
	return response                ? RDMAP_READ_RESPONSE
	       : kind == REQUEST_WRITE ? RDMAP_WRITE
	       : kind == REQUEST_READ  ? RDMAP_READ_REQUEST
				       : RDMAP_SEND;
}

/* The bytes of a packet on the stream: one DDP segment, or several if it does not fit IPv4. */
static uint64_t packet_bytes(enum rdmap_opcode opcode, uint32_t bytes)
{
	uint64_t sum = 0;

	for (; bytes > IWARP_PAYLOAD_MAX; bytes -= IWARP_PAYLOAD_MAX)
		sum += fpdu_bytes(opcode, IWARP_PAYLOAD_MAX);
	return sum + fpdu_bytes(opcode, bytes);
}

/* The piece of the stream for payload that begins with a given packet of a message. */
static struct piece piece_of(const struct wire *wire, enum rdmap_opcode opcode, uint64_t message,
			     uint64_t packet, uint64_t bytes)
{
	uint64_t mtu = wire->ends.mtu, whole = bytes / mtu, rest = bytes % mtu;
	struct piece piece = { .message = message, .packet = packet };

	if (opcode == RDMAP_READ_REQUEST) {
		piece.packets = 1;
		piece.bytes = piece.each = fpdu_bytes(opcode, READ_REQUEST_BYTES);
		return piece;
	}
	piece.each = packet_bytes(opcode, (uint32_t)mtu);
	piece.packets = whole + (rest || !whole);
	piece.bytes =
		whole * piece.each + (rest || !whole ? packet_bytes(opcode, (uint32_t)rest) : 0);
	return piece;
}

/* Place the packets [from, to) of a request. */
static void place_packets(const struct wire *wire, struct half *half, const struct request *request,
			  bool response, uint64_t from, uint64_t to)
{
	uint64_t mtu = wire->ends.mtu, bytes = request->bytes;
	struct piece piece;

	if (from >= to)
		return;
	if (to < bytes / mtu)
		bytes = to * mtu;
	bytes -= from * mtu < bytes ? from * mtu : bytes;
	piece = piece_of(wire, opcode_of(request->kind, response), request->message, from, bytes);
	half_place(half, response ? PIECE_RESPONSE : PIECE_REQUEST, &piece);
}

static uint64_t packets_of(const struct wire *wire, const struct request *request, bool response)
{
	return request->kind == REQUEST_READ && !response ? 1 : request_span(&wire->ends, request);
}

/*
 * Place the packets of earlier requests that have not arrived: a message may overtake them in the
 * trace, but comes after them in the stream. Binds are not sent, and only Reads have responses.
 */
static void place_earlier(const struct wire *wire, struct half *half, const struct end *poster,
			  const struct piece *piece, bool response)
{
	const struct piece *last = half_last(half, response ? PIECE_RESPONSE : PIECE_REQUEST);
	uint64_t message = last ? last->message : 0,
		 packet = last ? last->packet + last->packets : 0;
	const struct request *request;
	size_t i;

	for (i = ends_request_from(poster, message); i < poster->request_count; i++) {
		request = &poster->requests[i];
		if (request->message > piece->message)
			break;
		if (response ? request->kind != REQUEST_READ : request->kind == REQUEST_BIND)
			continue;
		place_packets(wire, half, request, response,
			      request->message == message ? packet : 0,
			      request->message == piece->message
				      ? piece->packet
				      : packets_of(wire, request, response));
	}
}

/* The segments of one packet. */
static uint64_t put_packet(struct tcp *tcp, const struct ddp_segment *packet, uint64_t at)
{
	struct ddp_segment segment = *packet;
	uint32_t left = packet->length;

	do {
		segment.length = left < IWARP_PAYLOAD_MAX ? left : IWARP_PAYLOAD_MAX;
		left -= segment.length;
		segment.last = packet->last && !left;
		at = tcp_put_fpdu(tcp, &segment, at, 0);
		segment.offset += segment.length;
	} while (left);
	return at;
}

/* Set the fields that are equal in all segments of a message. */
static void set_message(const struct data *data, struct ddp_segment *segment,
			uint8_t payload[READ_REQUEST_BYTES])
{
	const struct request *request = data->request;

	segment->opcode = opcode_of(data->kind, data->response);
	segment->msn = request ? request->sofar[data->kind] : 0;
	segment->queue = data->kind == REQUEST_READ ? DDP_QUEUE_READ : DDP_QUEUE_SEND;
	if (segment->opcode != RDMAP_READ_REQUEST)
		return;
	read_request_build(request ? (uint32_t)request->bytes : 0, payload);
	segment->data = payload;
	segment->length = READ_REQUEST_BYTES;
	segment->last = true;
}

/* An answer acknowledges its request. */
static void acknowledge_request(struct tcp *tcp)
{
	struct half *asker = &tcp->connection->half[!tcp->side];

	tcp_acked(asker, half_end_of(asker, PIECE_REQUEST, tcp->carried->message));
}

static void put_data(struct tcp *tcp, const struct data *data)
{
	const struct carried *carried = tcp->carried;
	const struct wire *wire = tcp->wire;
	const struct end *poster = &wire->ends.end[data->response ? carried->to : carried->from];
	uint32_t mtu = wire->ends.mtu, bytes = carried->bytes, done = 0;
	struct half *half = &tcp->connection->half[tcp->side];
	uint8_t payload[READ_REQUEST_BYTES];
	struct ddp_segment segment = { .length = 0 };
	struct piece piece;

	set_message(data, &segment, payload);
	piece = piece_of(wire, segment.opcode, carried->message, carried->packet, bytes);
	piece.arrived = !carried->lost;
	if (data->request)
		place_earlier(wire, half, poster, &piece, data->response);
	if (!half_place(half, data->response ? PIECE_RESPONSE : PIECE_REQUEST, &piece)) {
		tcp_put(tcp, TCP_ACK, half->next);
		return;
	}
	if (data->response)
		acknowledge_request(tcp);
	if (segment.data) {
		put_packet(tcp, &segment, piece.at);
		return;
	}
	segment.offset = carried->packet * mtu;
	do {
		segment.length = bytes - done < mtu ? bytes - done : mtu;
		done += segment.length;
		segment.last = data->last && done == bytes;
		piece.at = put_packet(tcp, &segment, piece.at);
		segment.offset += segment.length;
	} while (done < bytes);
}

/* ---- answers ---- */

static void put_ack(struct tcp *tcp)
{
	acknowledge_request(tcp);
	tcp_put(tcp, TCP_ACK, tcp->connection->half[tcp->side].next);
}

/* The error codes of RFC 5040, section 4.8, and RFC 5041, section 7. */
static const struct {
	const char *cause;
	struct terminate why;
	struct terminate of_read; /* RDMAP checks Reads */
} reasons[] = {
	{ "NO_BUFFER", { LAYER_DDP, 2, 2 }, { LAYER_DDP, 2, 2 } },
	{ "OVER_LIMIT", { LAYER_DDP, 2, 2 }, { LAYER_DDP, 2, 2 } },
	{ "TOO_MANY_READS", { LAYER_DDP, 2, 2 }, { LAYER_DDP, 2, 2 } },
	{ "TOO_LONG", { LAYER_DDP, 2, 5 }, { LAYER_DDP, 2, 5 } },
	{ "REMOTE_KEY", { LAYER_DDP, 1, 0 }, { LAYER_RDMAP, 1, 0 } },
	{ "TARGET", { LAYER_RDMAP, 0, 0 }, { LAYER_RDMAP, 0, 0 } },
	{ "NO_MEMORY", { LAYER_RDMAP, 0, 0 }, { LAYER_RDMAP, 0, 0 } },
};

static struct terminate reason_of(const struct end *end, const struct carried *carried, bool read)
{
	bool access = span_is(trace_value(&carried->line, "code"), "REMOTE_ACCESS");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reasons) && end->refused == carried->message; i++) {
		if (span_is(end->cause, reasons[i].cause))
			return read ? reasons[i].of_read : reasons[i].why;
	}
	/* The cause is not known: an unspecified remote protection or remote operation error. */
	return (struct terminate){ LAYER_RDMAP, access ? 1 : 2, 0xff };
}

/* A refusal: a Terminate message with the reason, which ends the stream. */
static void put_refusal(struct tcp *tcp)
{
	const struct carried *carried = tcp->carried;
	const struct wire *wire = tcp->wire;
	const struct request *request = ends_request(&wire->ends, carried->to, carried->message);
	struct ddp_segment at_fault = { .last = true };
	uint8_t payload[READ_REQUEST_BYTES];
	struct data data = { .request = request };
	struct terminate why;

	data.kind = request ? request->kind : REQUEST_SEND;
	why = reason_of(&wire->ends.end[carried->from], carried, data.kind == REQUEST_READ);
	if (!request || (why.layer == LAYER_RDMAP && why.type == 0)) {
		tcp_put_terminate(tcp, &why, NULL, false);
		return;
	}
	set_message(&data, &at_fault, payload);
	if (!at_fault.data) {
		at_fault.length = request->bytes < wire->ends.mtu ? (uint32_t)request->bytes
								  : wire->ends.mtu;
		at_fault.last = at_fault.length == request->bytes;
	}
	tcp_put_terminate(tcp, &why, &at_fault, false);
}

/* A QP that goes to the error state sends a Terminate, unless its peer has sent one already. */
static void put_break(struct tcp *tcp)
{
	static const struct terminate local = { LAYER_RDMAP, 0, 0 };
	struct connection *connection = tcp->connection;

	if (half_end_of(&connection->half[!tcp->side], PIECE_CONTROL, CONTROL_TERMINATE))
		tcp_put(tcp, TCP_RST | TCP_ACK, connection->half[tcp->side].next);
	else
		tcp_put_terminate(tcp, &local, NULL, true);
}

/* ---- a line ---- */

static const struct {
	const char *op;
	void (*put)(struct tcp *);
} ops[] = {
	{ "ACK", put_ack },          { "NAK", put_refusal },          { "RNR_NAK", put_refusal },
	{ "NAK_SEQUENCE", put_ack }, { "TERMINATE", put_break },      { "CM_REQ", tcp_put_request },
	{ "CM_REP", tcp_put_reply }, { "CM_REJ", tcp_put_rejection }, { "CM_RTU", tcp_put_ready },
	{ "CM_DREQ", tcp_put_end },  { "CM_GONE", tcp_put_gone },
};

static size_t op_of(struct span op)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(ops) && !span_is(op, ops[i].op))
		i++;
	return i;
}

bool iwarp_packet(struct wire *wire, struct carried *carried)
{
	struct data data;

	if (!wire_data(wire, carried, &data)) {
		if (!span_is(carried->op, "CM_REQ") && !span_is(carried->op, "CM_REJ"))
			wire_find_sender(wire, carried);
		return op_of(carried->op) < ARRAY_SIZE(ops);
	}
	carried->bytes = data.bytes;
	return true;
}

void iwarp_put(struct wire *wire, const struct carried *carried, struct capture *capture,
	       uint8_t frame[FRAME_MAX])
{
	struct tcp tcp = { .wire = wire, .carried = carried, .capture = capture, .frame = frame };
	struct data data;

	tcp_find(&tcp);
	if (wire_data(wire, carried, &data))
		put_data(&tcp, &data);
	else
		ops[op_of(carried->op)].put(&tcp);
}
