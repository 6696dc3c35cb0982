/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ends of connections in a capture: their addresses and QP numbers, and the requests they
 * posted.
 */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#define QPN_FIRST    0x100u      /* ep1 is 0x101: the lowest QP numbers are reserved */
#define ADDRESS_BASE 0xc6120000u /* emu0 is 198.18.0.1, as in dat_ia_query */

/* The number at the end of a name. */
static uint32_t number_of(struct span name)
{
	uint32_t number = 0, digit = 1;

	while (name.length && name.s[name.length - 1] >= '0' && name.s[name.length - 1] <= '9') {
		number += digit * (uint32_t)(name.s[--name.length] - '0');
		digit *= 10;
	}
	return number;
}

static bool span_same(struct span a, struct span b)
{
	return a.length == b.length && !memcmp(a.s, b.s, a.length);
}

/*
 * On a shared fabric the names of adapters have no numbers of the fabric's ("server-emu0"), so they
 * are numbered as they appear.
 */
static uint32_t address_of(const struct ends *ends, const struct end *end)
{
	uint32_t last = ADDRESS_BASE;
	size_t i;

	if (!memchr(end->adapter.s, '-', end->adapter.length))
		return ADDRESS_BASE + (number_of(end->adapter) + 1) % 0xffffff;
	for (i = 0; i < ends->count; i++) {
		if (span_same(ends->end[i].adapter, end->adapter))
			return ends->end[i].address;
		if (ends->end[i].address > last)
			last = ends->end[i].address;
	}
	return last + 1;
}

size_t ends_of(struct ends *ends, struct span object)
{
	const char *dot = memchr(object.s, '.', object.length);
	struct end *end;
	size_t i;

	for (i = 0; i < ends->count; i++) {
		if (span_same(ends->end[i].object, object))
			return i;
	}
	if ((ends->count & (ends->count - 1)) == 0)
		ends->end = mem_grow(ends->end,
				     (ends->count ? 2 * ends->count : 1) * sizeof(*ends->end));
	end = &ends->end[ends->count];
	memset(end, 0, sizeof(*end));
	end->object = end->adapter = object;
	if (dot) {
		end->adapter.length = (size_t)(dot - object.s);
		end->qpn = (QPN_FIRST + number_of(object)) & 0xffffff;
	}
	end->address = address_of(ends, end);
	return ends->count++;
}

void ends_pair(struct ends *ends, size_t a, size_t b)
{
	ends->end[a].peer = b + 1;
	ends->end[b].peer = a + 1;
}

void ends_number(struct ends *ends, const struct trace_line *line)
{
	size_t index = ends_of(ends, line->object);
	struct end *end = &ends->end[index];

	end->qpn = (uint32_t)trace_number(line, "qpn") & 0xffffff;
	/* The name may be that of an earlier QP. */
	if (span_is(line->verb, "create")) {
		end->request_count = 0;
		end->mtu = 0;
	}
}

void ends_path(struct ends *ends, const struct trace_line *line)
{
	size_t index = ends_of(ends, line->object);
	uint64_t mtu = trace_number(line, "mtu");

	if (mtu >= MTU_LEAST && mtu <= ends->mtu)
		ends->end[index].mtu = (uint32_t)mtu;
}

uint32_t request_mtu(const struct ends *ends, const struct request *request)
{
	return request && request->mtu ? request->mtu : ends->mtu;
}

uint64_t request_span(const struct ends *ends, const struct request *request)
{
	uint32_t mtu = request_mtu(ends, request);

	if (request->kind == REQUEST_BIND || request->kind == REQUEST_ATOMIC ||
	    request->bytes <= mtu)
		return 1;
	return (request->bytes - 1) / mtu + 1;
}

static enum request_kind kind_of(struct span verb)
{
	if (span_is(verb, "post_compare_swap") || span_is(verb, "post_fetch_add"))
		return REQUEST_ATOMIC;
	return span_is(verb, "post_rdma_write")  ? REQUEST_WRITE
	       : span_is(verb, "post_rdma_read") ? REQUEST_READ
	       : span_is(verb, "post_bind")      ? REQUEST_BIND
						 : REQUEST_SEND;
}

static void take_verbs(struct request *request, const struct trace_line *line)
{
	bool immediate = trace_value(line, "imm").length > 0;

	request->rkey = (uint32_t)trace_number(line, "rkey");
	request->qpn = (uint32_t)trace_number(line, "qpn");
	request->compare = trace_number(line, "compare");
	request->adds = trace_value(line, "add").length > 0;
	request->operand = trace_number(line, request->adds ? "add" : "swap");
	if (immediate)
		request->tail = ROCE_TAIL_IMMEDIATE;
	else if (trace_value(line, "invalidate").length)
		request->tail = ROCE_TAIL_INVALIDATE;
	request->tail_value = (uint32_t)trace_number(line, immediate ? "imm" : "invalidate");
}

void ends_post(struct ends *ends, const struct trace_line *line)
{
	size_t index = ends_of(ends, line->object);
	struct end *end = &ends->end[index];
	struct request *last, *request;
	uint64_t message = trace_number(line, "message");

	/* Message numbers start again with every connection. */
	if (end->request_count && message <= end->requests[end->request_count - 1].message)
		end->request_count = 0;
	if ((end->request_count & (end->request_count - 1)) == 0)
		end->requests =
			mem_grow(end->requests, (end->request_count ? 2 * end->request_count : 1) *
							sizeof(*end->requests));
	request = &end->requests[end->request_count];
	last = end->request_count++ ? request - 1 : NULL;
	*request = (struct request){ .message = message,
				     .line = ends->line,
				     .bytes = trace_number(line, "bytes"),
				     .mtu = end->mtu,
				     .kind = kind_of(line->verb) };
	take_verbs(request, line);
	if (last) {
		request->psn = last->psn + (uint32_t)request_span(ends, last);
		request->msn = last->msn;
		memcpy(request->sofar, last->sofar, sizeof(request->sofar));
	}
	request->sofar[request->kind]++;
	request->msn += request->kind != REQUEST_BIND;
}

size_t ends_request_from(const struct end *end, uint64_t message)
{
	size_t low = 0, high = end->request_count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (end->requests[middle].message < message)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct request *ends_request(const struct ends *ends, size_t index, uint64_t message)
{
	const struct end *end = &ends->end[index];
	size_t i = ends_request_from(end, message);

	return i < end->request_count && end->requests[i].message == message ? &end->requests[i]
									     : NULL;
}

void ends_free(struct ends *ends)
{
	size_t i;

	for (i = 0; i < ends->count; i++)
		free(ends->end[i].requests);
	free(ends->end);
}
