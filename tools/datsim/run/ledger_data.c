/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contents of messages and RDMA. The first four bytes of a message are the number of its Send
 * and the rest follows from it, so the bytes at the receiver name the Send that they have to match.
 * An RDMA carries the same kind of bytes, with its own number. If the script chose its location,
 * other DTOs may use the same memory, and it is compared only if none of them could have touched
 * it.
 */
#include "world.h"

#include <string.h>

#define EMPTY_BYTE 0x5a
#define SMALL_BYTE 0xc3
#define NUMBERED   4 /* bytes; a shorter message does not name its Send */

#define DISTURBED_MAX 20000 /* entries searched for one that touched the same memory */

unsigned char message_byte(size_t number, uint64_t length, uint64_t i)
{
	if (length < NUMBERED)
		return (unsigned char)(SMALL_BYTE + i);
	if (i < NUMBERED)
		return (unsigned char)(number >> (8 * i));
	return (unsigned char)(number * 31 + i * 7 + (i >> 8));
}

/* ---- before the post ---- */

/*
 * Write the bytes of a piece, which begins at byte `from` of message `number`; without a number,
 * poison.
 */
static void fill_piece(const struct piece *piece, size_t number, uint64_t length, uint64_t from,
		       bool message)
{
	unsigned char *bytes;
	size_t i;

	if (!piece->region)
		return;
	bytes = piece->region->bytes + piece->offset;
	if (!message)
		memset(bytes, EMPTY_BYTE, piece->length);
	for (i = 0; message && i < piece->length; i++)
		bytes[i] = message_byte(number, length, from + i);
}

void ledger_fill(struct run *run, size_t number)
{
	const struct dto *dto = &run->ledger.dtos[number];
	bool source = dto->kind == DTO_SEND || dto->kind == DTO_WRITE;
	const struct piece *piece;
	uint64_t done = 0;
	size_t i;

	/* What a peer reads from here, the script has filled. */
	if (dto->kind == DTO_BIND || !dto->piece_count)
		return;
	piece = &run->ledger.pieces[dto->first_piece];
	for (i = 0; i < dto->piece_count; i++, piece++) {
		fill_piece(piece, number, dto->length, done, source);
		done += piece->length;
	}
	if (dto->remote.carved)
		fill_piece(&dto->remote, number, dto->remote.length, 0, dto->kind == DTO_READ);
}

/* ---- whose bytes ---- */

static bool pieces_overlap(const struct piece *a, const struct piece *b)
{
	return a->region && a->region == b->region && a->offset < b->offset + b->length &&
	       b->offset < a->offset + a->length;
}

static bool dto_touches(const struct run *run, const struct dto *dto, const struct piece *piece)
{
	size_t i;

	for (i = 0; i < dto->piece_count; i++) {
		if (pieces_overlap(&run->ledger.pieces[dto->first_piece + i], piece))
			return true;
	}
	return pieces_overlap(&dto->remote, piece);
}

bool ledger_disturbed(const struct run *run, size_t number, const struct piece *piece)
{
	const struct dto *dto = &run->ledger.dtos[number], *other = run->ledger.dtos;
	size_t i;

	/* Searching so many entries would take too long: assume that another DTO did. */
	if (!piece->carved && run->ledger.count > DISTURBED_MAX)
		return true;
	/* A buffer cut from a region is used by no other DTO. */
	for (i = 0; !piece->carved && i < run->ledger.count; i++, other++) {
		if (i == number || other->kind == DTO_BIND ||
		    (i < number && other->reaped && other->reaped <= dto->posted))
			continue;
		if (dto_touches(run, other, piece))
			return true;
	}
	return false;
}

/* ---- what arrived ---- */

/* The local segments of a DTO as one sequence of bytes. */
struct reader {
	const struct piece *piece, *end;
	size_t at;
};

static bool next_byte(struct reader *reader, unsigned char *byte)
{
	while (reader->piece < reader->end && reader->at == reader->piece->length) {
		reader->piece++;
		reader->at = 0;
	}
	if (reader->piece == reader->end || !reader->piece->region)
		return false;
	*byte = reader->piece->region->bytes[reader->piece->offset + reader->at++];
	return true;
}

static struct reader reader_of(const struct run *run, const struct dto *dto)
{
	struct reader reader = { NULL, NULL, 0 };

	if (dto->piece_count) {
		reader.piece = &run->ledger.pieces[dto->first_piece];
		reader.end = reader.piece + dto->piece_count;
	}
	return reader;
}

static bool is_number_known(struct run *run, const struct dto *recv, uint64_t length,
			    size_t *number)
{
	struct reader reader = reader_of(run, recv);
	unsigned char byte;
	size_t i, n = 0;

	for (i = 0; i < NUMBERED; i++) {
		if (!next_byte(&reader, &byte))
			return false;
		n |= (size_t)byte << (8 * i);
	}
	*number = n;
	return n < run->ledger.count && run->ledger.dtos[n].kind == DTO_SEND &&
	       run->ledger.dtos[n].length == length;
}

/* Are the bytes those of message `number`, and is what follows them untouched? */
static bool is_message(struct run *run, const struct dto *dto, size_t number, uint64_t length)
{
	struct reader reader = reader_of(run, dto);
	unsigned char byte;
	uint64_t i;

	for (i = 0; next_byte(&reader, &byte); i++) {
		if (byte != (i < length ? message_byte(number, length, i) : EMPTY_BYTE))
			return false;
	}
	return true;
}

static bool is_all_ours(const struct run *run, const struct dto *dto)
{
	size_t i;

	for (i = 0; i < dto->piece_count; i++) {
		if (!run->ledger.pieces[dto->first_piece + i].region)
			return false;
	}
	return true;
}

static bool check_message(struct run *run, int ep, const struct dto *recv, uint64_t length)
{
	struct object *object = &run->objects[ep];
	size_t number = 0;

	if (length > recv->length)
		return checker_failed(run, "at most as many bytes as the Receive has",
				      "a message of more");
	if (!is_all_ours(run, recv))
		return true;
	if (length < NUMBERED) {
		if (!is_message(run, recv, 0, length))
			return checker_failed(run, "a message with the bytes that were sent",
					      "one with others");
		return true;
	}
	if (!is_number_known(run, recv, length, &number) || !is_message(run, recv, number, length))
		return checker_failed(run, "a message with the bytes of one Send, all of them",
				      "one with others");
	if (run->ledger.dtos[number].delivered)
		return checker_failed(run, "each message once", "a message for the second time");
	if (number < object->last_message)
		return checker_failed(run, "messages in the order of their Sends",
				      "one that was sent earlier");
	object->last_message = number;
	run->ledger.dtos[number].delivered = true;
	return true;
}

/* ---- RDMA ---- */

static bool check_write(struct run *run, const struct dto *dto, size_t number)
{
	const struct piece *remote = &dto->remote;
	uint64_t i;

	/* With complete=sent it may still be on its way. */
	if (run->script->config.hostile & DAT_SIM_HOSTILE_SENT)
		return true;
	if (!remote->region || !is_all_ours(run, dto) || ledger_disturbed(run, number, remote))
		return true;
	for (i = 0; i < remote->length; i++) {
		unsigned char byte = remote->region->bytes[remote->offset + i];

		if (i < dto->length ? byte != message_byte(number, dto->length, i)
				    : remote->carved && byte != EMPTY_BYTE)
			return checker_failed(run, "the bytes of the RDMA Write at the peer",
					      "other bytes");
	}
	return true;
}

static bool check_read(struct run *run, const struct dto *dto, size_t number)
{
	const struct piece *remote = &dto->remote;
	struct reader reader = reader_of(run, dto);
	unsigned char byte;
	uint64_t i;

	if (!remote->region || !is_all_ours(run, dto) || ledger_disturbed(run, number, remote))
		return true;
	for (i = 0; i < dto->piece_count; i++) {
		if (ledger_disturbed(run, number, &run->ledger.pieces[dto->first_piece + i]))
			return true;
	}
	for (i = 0; next_byte(&reader, &byte); i++) {
		if (byte !=
		    (i < remote->length ? remote->region->bytes[remote->offset + i] : EMPTY_BYTE))
			return checker_failed(run, "the bytes of the peer, read", "other bytes");
	}
	return true;
}

bool ledger_check_data(struct run *run, int ep, size_t number, uint64_t length)
{
	const struct dto *dto = &run->ledger.dtos[number];

	switch (dto->kind) {
	case DTO_RECV:
		return check_message(run, ep, dto, length);
	case DTO_WRITE:
		return check_write(run, dto, number);
	case DTO_READ:
		return check_read(run, dto, number);
	default:
		return true;
	}
}
