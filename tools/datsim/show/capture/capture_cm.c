/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of connection management as InfiniBand datagrams, with their identifiers. */
#include <string.h>

#include "capture.h"

uint32_t wire_private(const struct trace_line *line, uint8_t *bytes, uint32_t most)
{
	static const char digits[] = "0123456789abcdef";
	struct span hex = trace_value(line, "private");
	uint32_t length = 0;
	const char *high, *low;

	for (; hex.length >= 2 && length < most; hex.s += 2, hex.length -= 2) {
		high = memchr(digits, hex.s[0], 16);
		low = memchr(digits, hex.s[1], 16);
		if (!high || !low)
			break;
		bytes[length++] = (uint8_t)((high - digits) << 4 | (low - digits));
	}
	return length;
}

uint32_t wire_reads(const struct trace_line *line, const char *key, uint32_t fallback)
{
	return trace_value(line, key).length ? (uint32_t)trace_number(line, key) : fallback;
}

/* Each attempt to connect has an identifier, which the connection keeps. */
static uint32_t id_of(struct wire *wire, size_t index)
{
	struct end *end = &wire->ends.end[index];

	if (!end->id)
		end->id = ++wire->ends.last_id;
	return end->id;
}

static void new_id(struct wire *wire, size_t index)
{
	wire->ends.end[index].id = 0;
	id_of(wire, index);
}

void wire_find_sender(const struct wire *wire, struct carried *carried)
{
	if (!wire->ends.end[carried->from].qpn && wire->ends.end[carried->to].peer)
		carried->from = wire->ends.end[carried->to].peer - 1;
}

static void fill_message(struct wire *wire, const struct trace_line *line, struct carried *carried,
			 struct cm_message *message)
{
	struct end *from = &wire->ends.end[carried->from], *to = &wire->ends.end[carried->to];

	message->from = from->address;
	message->to = to->address;
	message->qpn = message->attribute == CM_DREQ ? to->qpn : from->qpn;
	message->psn = (uint32_t)trace_number(line, "psn");
	message->mtu = (uint32_t)wire->ends.mtu;
	message->retry = (uint8_t)wire->retry;
	message->rnr_retry = (uint8_t)wire->rnr_retry;
	message->service_id = trace_number(line, "qual");
	message->reads_in = (uint8_t)wire_reads(line, "reads_in", 0);
	message->reads_out = (uint8_t)wire_reads(line, "reads_out", 0);
	wire_private(line, message->private, sizeof(message->private));
	message->local_id = id_of(wire, carried->from);
	message->remote_id = id_of(wire, carried->to);
	/* An answer has the transaction of its request; a disconnect begins a new one. */
	if (message->attribute == CM_REQ || message->attribute == CM_DREQ)
		from->transaction = ++wire->ends.last_transaction;
	if (message->attribute == CM_RTU || message->attribute == CM_REQ ||
	    message->attribute == CM_DREQ || message->rejected)
		to->transaction = from->transaction;
	message->transaction = to->transaction;
}

static uint16_t reason_of(const struct trace_line *line, bool gone)
{
	if (gone)
		return CM_REASON_TIMEOUT;
	return span_is(trace_value(line, "reason"), "REJECTED") ? CM_REASON_CONSUMER
								: CM_REASON_SERVICE_ID;
}

bool wire_cm(struct wire *wire, const struct trace_line *line, struct carried *carried)
{
	static const struct {
		const char *op;
		enum cm_attribute attribute;
	} ops[] = {
		{ "CM_REQ", CM_REQ },
		{ "CM_REP", CM_REP },
		{ "CM_REJ", CM_REJ },
		{ "CM_RTU", CM_RTU },
		{ "CM_DREQ", CM_DREQ },
		{ "CM_GONE", CM_REJ },
		/* A QP that goes to the error state disconnects. */
		{ "TERMINATE", CM_DREQ },
	};
	struct cm_message message = { 0 };
	uint64_t qpn = trace_number(line, "qpn");
	bool gone = span_is(carried->op, "CM_GONE");
	size_t i = 0;

	while (i < ARRAY_SIZE(ops) && !span_is(carried->op, ops[i].op))
		i++;
	if (i == ARRAY_SIZE(ops))
		return false;
	message.attribute = ops[i].attribute;
	message.rejected = gone;
	message.reason = reason_of(line, gone);
	/* An id stands for the QP that it connects. */
	if (qpn)
		wire->ends.end[carried->from].qpn = (uint32_t)qpn & 0xffffff;
	if (message.attribute == CM_REQ || message.attribute == CM_REP)
		new_id(wire, carried->from);
	else
		wire_find_sender(wire, carried);
	fill_message(wire, line, carried, &message);
	cm_build(&message, carried->mad);
	carried->roce.opcode = ROCE_UD_SEND_ONLY;
	carried->roce.data = carried->mad;
	carried->bytes = ROCE_MAD;
	return true;
}
