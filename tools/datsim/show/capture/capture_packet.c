/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decodes the packet lines of a trace: sender, receiver, payload and sequence numbers of requests,
 * responses and acknowledgements, as RoCEv2 has them.
 */
#include "capture.h"

#include <string.h>

#include "tools/datsim/show/trace_fault.h"

#define MTU_DEFAULT       4096
#define MTU_MOST          65536
#define RETRY_DEFAULT     7
#define RNR_RETRY_DEFAULT 6
#define RNR_TIMER_DEFAULT 100000

/* The AETH code of the shortest RNR timer that is at least ns. Code 0 is the longest timer. */
static uint32_t timer_code(uint64_t ns)
{
	static const uint32_t in_10us[31] = {
		1,    2,    3,    4,    6,     8,     12,    16,    24,    32,   48,
		64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536, 2048,
		3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};
	uint32_t code = 0;

	while (code < 31 && in_10us[code] * 10000ull < ns)
		code++;
	return (code + 1) & 31;
}

void wire_begin(struct wire *wire, const char *text, size_t length, bool iwarp)
{
	uint64_t timer = trace_setting_number(text, length, "rnr_timer_ns", RNR_TIMER_DEFAULT);
	uint64_t mtu = trace_setting_number(text, length, "mtu", MTU_DEFAULT);

	memset(wire, 0, sizeof(*wire));
	wire->ends.mtu = (uint32_t)(mtu < MTU_LEAST ? MTU_LEAST : mtu > MTU_MOST ? MTU_MOST : mtu);
	wire->retry = (uint32_t)trace_setting_number(text, length, "retry", RETRY_DEFAULT);
	wire->rnr_retry =
		(uint32_t)trace_setting_number(text, length, "rnr_retry", RNR_RETRY_DEFAULT);
	wire->rnr_timer = timer_code(timer);
	wire->iwarp = iwarp;
}

void wire_end(struct wire *wire)
{
	ends_free(&wire->ends);
	iwarp_free(wire);
}

/* ---- sender and receiver ---- */

static void set_ends(struct wire *wire, const struct trace_line *line, struct carried *carried)
{
	struct span from, to;

	packet_ends(line, &from, &to);
	carried->from = ends_of(&wire->ends, from);
	carried->to = ends_of(&wire->ends, to);
	if (wire->ends.end[carried->from].qpn && wire->ends.end[carried->to].qpn)
		ends_pair(&wire->ends, carried->from, carried->to);
}

static void set_addresses(const struct wire *wire, struct carried *carried)
{
	const struct end *from = &wire->ends.end[carried->from];
	const struct end *to = &wire->ends.end[carried->to];

	carried->roce.from = from->address;
	carried->roce.to = to->address;
	carried->roce.from_qpn = from->qpn;
	carried->roce.to_qpn = to->qpn;
}

/* ---- requests and responses ---- */

static const struct {
	const char *op;
	enum request_kind kind;
	bool response;
	enum roce_opcode places[4]; /* middle, first, last, only */
} data_ops[] = {
	{ "SEND",
	  REQUEST_SEND,
	  false,
	  { ROCE_SEND_MIDDLE, ROCE_SEND_FIRST, ROCE_SEND_LAST, ROCE_SEND_ONLY } },
	{ "WRITE",
	  REQUEST_WRITE,
	  false,
	  { ROCE_WRITE_MIDDLE, ROCE_WRITE_FIRST, ROCE_WRITE_LAST, ROCE_WRITE_ONLY } },
	{ "UC_SEND",
	  REQUEST_SEND,
	  false,
	  { ROCE_UC_SEND_MIDDLE, ROCE_UC_SEND_FIRST, ROCE_UC_SEND_LAST, ROCE_UC_SEND_ONLY } },
	{ "UC_WRITE",
	  REQUEST_WRITE,
	  false,
	  { ROCE_UC_WRITE_MIDDLE, ROCE_UC_WRITE_FIRST, ROCE_UC_WRITE_LAST, ROCE_UC_WRITE_ONLY } },
	{ "UD_SEND",
	  REQUEST_SEND,
	  false,
	  { ROCE_UD_SEND_ONLY, ROCE_UD_SEND_ONLY, ROCE_UD_SEND_ONLY, ROCE_UD_SEND_ONLY } },
	{ "READ_RESPONSE",
	  REQUEST_READ,
	  true,
	  { ROCE_READ_RESPONSE_MIDDLE, ROCE_READ_RESPONSE_FIRST, ROCE_READ_RESPONSE_LAST,
	    ROCE_READ_RESPONSE_ONLY } },
	{ "COMPARE_SWAP",
	  REQUEST_ATOMIC,
	  false,
	  { ROCE_COMPARE_SWAP, ROCE_COMPARE_SWAP, ROCE_COMPARE_SWAP, ROCE_COMPARE_SWAP } },
	{ "FETCH_ADD",
	  REQUEST_ATOMIC,
	  false,
	  { ROCE_FETCH_ADD, ROCE_FETCH_ADD, ROCE_FETCH_ADD, ROCE_FETCH_ADD } },
	{ "ATOMIC_RESPONSE",
	  REQUEST_ATOMIC,
	  true,
	  { ROCE_ATOMIC_ACK, ROCE_ATOMIC_ACK, ROCE_ATOMIC_ACK, ROCE_ATOMIC_ACK } },
	{ "READ_REQUEST",
	  REQUEST_READ,
	  false,
	  { ROCE_READ_REQUEST, ROCE_READ_REQUEST, ROCE_READ_REQUEST, ROCE_READ_REQUEST } },
};

static size_t data_op(struct span op)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(data_ops) && !span_starts(op, data_ops[i].op))
		i++;
	return i;
}

bool wire_is_request(struct span op)
{
	size_t i = data_op(op);

	return i < ARRAY_SIZE(data_ops) && !data_ops[i].response;
}

static bool ends_in(struct span op, const char *s)
{
	size_t n = strlen(s);

	return op.length >= n && !memcmp(op.s + op.length - n, s, n);
}

/* Bit 0: the first packet of its message, bit 1: the last. */
static int place_of(const struct wire *wire, const struct carried *carried,
		    const struct request *request)
{
	static const char *const names[] = { "_MIDDLE", "_FIRST", "_LAST", "_ONLY" };
	int i;

	for (i = 0; i < 4; i++) {
		if (ends_in(carried->op, names[i]))
			return i;
	}
	if (!request)
		return 3;
	return (carried->packet == 0) | (carried->packet + 1 >= request_span(&wire->ends, request))
						<< 1;
}

static uint32_t bytes_of(const struct wire *wire, const struct carried *carried,
			 const struct request *request)
{
	uint64_t mtu = request_mtu(&wire->ends, request), before, left;

	if (trace_value(&carried->line, "bytes").length)
		left = trace_number(&carried->line, "bytes");
	else if (!request)
		left = 0;
	else if (carried->packet > request->bytes / mtu)
		left = 0;
	else {
		before = carried->packet * mtu;
		left = request->bytes - before < mtu ? request->bytes - before : mtu;
	}
	return left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
}

bool wire_data(const struct wire *wire, const struct carried *carried, struct data *data)
{
	size_t i = data_op(carried->op);

	if (i == ARRAY_SIZE(data_ops))
		return false;
	data->kind = data_ops[i].kind;
	data->response = data_ops[i].response;
	data->request = ends_request(&wire->ends, data->response ? carried->to : carried->from,
				     carried->message);
	data->bytes = data->kind == REQUEST_ATOMIC ||
				      (data->kind == REQUEST_READ && !data->response)
			      ? 0
			      : bytes_of(wire, carried, data->request);
	data->last = place_of(wire, carried, data->request) & 2;
	return true;
}

static uint32_t psn_of(const struct carried *carried, const struct request *request,
		       uint64_t packet)
{
	if (trace_value(&carried->line, "psn").length)
		return (uint32_t)trace_number(&carried->line, "psn");
	return request ? request->psn + (uint32_t)packet : 0;
}

static bool set_data(const struct wire *wire, struct carried *carried)
{
	const struct request *request;
	struct data data;

	if (!wire_data(wire, carried, &data))
		return false;
	request = data.request;
	carried->roce.opcode =
		data_ops[data_op(carried->op)].places[place_of(wire, carried, request)];
	carried->roce.psn = psn_of(carried, request, carried->packet);
	carried->bytes = data.bytes;
	carried->mtu = request_mtu(&wire->ends, request);
	carried->roce.dma_length = request ? (uint32_t)request->bytes : data.bytes;
	/* A READ whose response broke off asks for the rest. */
	if (request && carried->roce.opcode == ROCE_READ_REQUEST &&
	    carried->packet < request->bytes / carried->mtu + 1)
		carried->roce.dma_length -= (uint32_t)(carried->packet * carried->mtu);
	carried->roce.syndrome = ROCE_SYNDROME_ACK;
	carried->roce.msn = request ? request->msn : (uint32_t)carried->message;
	if (request && !data.response) {
		carried->roce.rkey = request->rkey;
		carried->roce.compare = request->compare;
		carried->roce.operand = request->operand;
		carried->roce.tail = request->tail;
		carried->roce.tail_value = request->tail_value;
		carried->datagram_to = request->qpn;
	}
	return true;
}

/* ---- answers ---- */

static const struct {
	const char *op, *code;
	uint32_t syndrome;
	bool of_all; /* acknowledges the message; else only the one before it */
} answers[] = {
	{ "ACK", "", ROCE_SYNDROME_ACK, true },
	{ "RNR_NAK", "", ROCE_SYNDROME_RNR, false },
	{ "NAK_SEQUENCE", "", ROCE_SYNDROME_NAK, false },
	{ "NAK", "REMOTE_ACCESS", ROCE_SYNDROME_NAK | 2, false },
	{ "NAK", "REMOTE_INVALID", ROCE_SYNDROME_NAK | 1, false },
	{ "NAK", "BAD_RESPONSE", ROCE_SYNDROME_NAK | 31, false },
	{ "NAK", "", ROCE_SYNDROME_NAK | 3, false },
};

/*
 * Uses the cause of a refusal to tell an invalid request from a remote operational error: a program
 * of uDAPL gets the same status for both, and the packet's line has that.
 */
static bool is_invalid_request(const struct end *end, uint64_t message)
{
	static const char *const causes[] = { "TOO_LONG", "TOO_MANY_READS", "UNALIGNED", "MTU",
					      "NAK_INVALID" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(causes); i++) {
		if (end->refused == message && span_is(end->cause, causes[i]))
			return true;
	}
	return false;
}

static bool set_answer(const struct wire *wire, struct carried *carried)
{
	const struct request *request = ends_request(&wire->ends, carried->to, carried->message);
	struct span code = trace_value(&carried->line, "code");
	uint64_t packet = carried->packet;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		if (span_is(carried->op, answers[i].op) &&
		    (!*answers[i].code || span_is(code, answers[i].code)))
			break;
	}
	if (i == ARRAY_SIZE(answers))
		return false;
	if (answers[i].of_all && request)
		packet = request_span(&wire->ends, request) - 1;
	carried->roce.opcode = ROCE_ACK;
	carried->roce.psn = psn_of(carried, request, packet);
	carried->roce.syndrome = (uint8_t)answers[i].syndrome;
	if (span_is(code, "REMOTE_RESPONDER") &&
	    is_invalid_request(&wire->ends.end[carried->from], carried->message))
		carried->roce.syndrome = ROCE_SYNDROME_NAK | 1;
	if (answers[i].syndrome == ROCE_SYNDROME_RNR)
		carried->roce.syndrome |= (uint8_t)wire->rnr_timer;
	carried->roce.msn = request ? request->msn : (uint32_t)carried->message;
	if (!answers[i].of_all)
		carried->roce.msn--;
	return true;
}

/* ---- a line ---- */

static bool is_roce(struct wire *wire, struct carried *carried)
{
	bool known = set_data(wire, carried) || set_answer(wire, carried);

	carried->roce.qkey = (uint32_t)trace_number(&carried->line, "qkey");
	if (!known)
		known = wire_cm(wire, &carried->line, carried);
	set_addresses(wire, carried);
	if (carried->datagram_to)
		carried->roce.to_qpn = carried->datagram_to;
	if (carried->roce.data) {
		carried->roce.qkey = ROCE_QKEY_CM;
		carried->roce.from_qpn = carried->roce.to_qpn = 1;
	}
	return known;
}

bool wire_packet(struct wire *wire, const struct trace_line *line, struct carried *carried)
{
	memset(carried, 0, sizeof(*carried));
	carried->line = *line;
	carried->op = trace_value(line, "op");
	carried->message = trace_number(line, "message");
	carried->packet = trace_number(line, "packet");
	set_ends(wire, line, carried);
	return wire->iwarp ? iwarp_packet(wire, carried) : is_roce(wire, carried);
}

/* The object of an ignore line is the receiver. */
bool wire_ignored(struct wire *wire, const struct trace_line *line, struct carried *carried)
{
	static const char *const ops[] = { [REQUEST_SEND] = "SEND",
					   [REQUEST_WRITE] = "WRITE",
					   [REQUEST_READ] = "READ_REQUEST" };
	const struct request *request;
	const char *op;

	memset(carried, 0, sizeof(*carried));
	carried->line = *line;
	carried->to = ends_of(&wire->ends, line->object);
	if (!wire->ends.end[carried->to].peer)
		return false;
	carried->from = wire->ends.end[carried->to].peer - 1;
	carried->message = trace_number(line, "message");
	carried->packet = trace_number(line, "packet");
	request = ends_request(&wire->ends, carried->from, carried->message);
	if (!request || request->kind == REQUEST_BIND)
		return false;
	if (request->kind == REQUEST_ATOMIC)
		op = request->adds ? "FETCH_ADD" : "COMPARE_SWAP";
	else
		op = ops[request->kind];
	carried->op = (struct span){ op, strlen(op) };
	return wire->iwarp ? iwarp_packet(wire, carried) : is_roce(wire, carried);
}
