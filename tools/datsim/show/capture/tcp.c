/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Positions of packets in a TCP stream (tcp.h): sorted pieces, split where only a part has arrived.
 */
#include "tcp.h"

#include <stdlib.h>
#include <string.h>

#include "tools/datsim/util.h"

static bool is_before(const struct piece *a, uint64_t message, uint64_t packet)
{
	return a->message < message || (a->message == message && a->packet < packet);
}

/* The first piece that begins after a packet; the piece before it may contain the packet. */
static size_t piece_after(const struct pieces *pieces, uint64_t message, uint64_t packet)
{
	size_t low = 0, high = pieces->count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (is_before(&pieces->piece[middle], message, packet) ||
		    (pieces->piece[middle].message == message &&
		     pieces->piece[middle].packet == packet))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void piece_insert(struct pieces *pieces, size_t index, const struct piece *piece)
{
	if ((pieces->count & (pieces->count - 1)) == 0)
		pieces->piece = mem_grow(pieces->piece, (pieces->count ? 2 * pieces->count : 1) *
								sizeof(*pieces->piece));
	memmove(pieces->piece + index + 1, pieces->piece + index,
		(pieces->count - index) * sizeof(*pieces->piece));
	pieces->piece[index] = *piece;
	pieces->count++;
}

/* Split a piece before a packet, if the packet is inside it. */
static void piece_split(struct pieces *pieces, size_t index, uint64_t packet)
{
	struct piece *piece = &pieces->piece[index], rest = *piece;
	uint64_t before = packet - piece->packet;

	if (!before || before >= piece->packets)
		return;
	rest.packet = packet;
	rest.packets -= before;
	rest.at += before * piece->each;
	rest.bytes -= before * piece->each;
	piece->packets = before;
	piece->bytes = before * piece->each;
	piece_insert(pieces, index + 1, &rest);
}

/* Mark the packets of *piece, which are a part of the piece at index, as arrived. */
static void piece_arrive(struct pieces *pieces, size_t index, const struct piece *piece)
{
	if (!pieces->piece[index].arrived) {
		piece_split(pieces, index, piece->packet);
		index += pieces->piece[index].packet != piece->packet;
		piece_split(pieces, index, piece->packet + piece->packets);
		pieces->piece[index].arrived = true;
	}
	while (pieces->first_missing < pieces->count &&
	       pieces->piece[pieces->first_missing].arrived)
		pieces->first_missing++;
}

bool half_place(struct half *half, enum piece_kind kind, struct piece *piece)
{
	struct pieces *pieces = &half->kind[kind];
	size_t index = piece_after(pieces, piece->message, piece->packet);
	const struct piece *in = index ? &pieces->piece[index - 1] : NULL;

	if (in && in->message == piece->message && piece->packet - in->packet < in->packets) {
		piece->at = in->at + (piece->packet - in->packet) * in->each;
		if (piece->arrived)
			piece_arrive(pieces, index - 1, piece);
		return true;
	}
	if (index < pieces->count)
		return false;
	piece->at = half->next;
	half->next += piece->bytes;
	piece_insert(pieces, index, piece);
	if (piece->arrived)
		piece_arrive(pieces, index, piece);
	return true;
}

const struct piece *half_last(const struct half *half, enum piece_kind kind)
{
	const struct pieces *pieces = &half->kind[kind];

	return pieces->count ? &pieces->piece[pieces->count - 1] : NULL;
}

uint64_t half_end_of(const struct half *half, enum piece_kind kind, uint64_t message)
{
	const struct pieces *pieces = &half->kind[kind];
	size_t index = piece_after(pieces, message, UINT64_MAX);

	if (!index || pieces->piece[index - 1].message != message)
		return 0;
	return pieces->piece[index - 1].at + pieces->piece[index - 1].bytes;
}

uint64_t half_arrived(const struct half *half)
{
	uint64_t arrived = half->next;
	int kind;

	for (kind = 0; kind < NUM_PIECE_KINDS; kind++) {
		const struct pieces *pieces = &half->kind[kind];

		if (pieces->first_missing < pieces->count &&
		    pieces->piece[pieces->first_missing].at < arrived)
			arrived = pieces->piece[pieces->first_missing].at;
	}
	return arrived;
}

void half_free(struct half *half)
{
	int kind;

	for (kind = 0; kind < NUM_PIECE_KINDS; kind++)
		free(half->kind[kind].piece);
}
