/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checkers that are always on: each DTO completes once, on its own EVD, in order, with its own
 * cookie; each message arrives once, whole, in its sender's order; nothing is written beside a
 * buffer.
 *
 * A message carries the number of its Send in its first four bytes; the rest follows from it, so a
 * receiver's bytes name the Send they must be equal to.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define COOKIE_BASE UINT64_C(0x0da7000000000000) /* no script gives such cookies */
#define EMPTY_BYTE  0x5a
#define SMALL_BYTE  0xc3
#define NUMBERED    4 /* bytes; shorter messages do not tell their number */

static void *grow(void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room ? 2 * *room : 64;
	return mem_grow(array, *room * size);
}

size_t ledger_post(struct run *run, bool is_send, int queue)
{
	struct ledger *ledger = &run->ledger;
	struct dto *dto;

	ledger->dtos = grow(ledger->dtos, ledger->count, &ledger->room, sizeof(*dto));
	dto = &ledger->dtos[ledger->count];
	memset(dto, 0, sizeof(*dto));
	dto->is_send = is_send;
	dto->queue = queue;
	dto->first_piece = ledger->piece_count;
	return ledger->count++;
}

void ledger_piece(struct run *run, const struct piece *piece)
{
	struct ledger *ledger = &run->ledger;
	struct dto *dto = &ledger->dtos[ledger->count - 1];

	ledger->pieces =
		grow(ledger->pieces, ledger->piece_count, &ledger->piece_room, sizeof(*piece));
	ledger->pieces[ledger->piece_count++] = *piece;
	dto->piece_count++;
	dto->length += piece->length;
}

DAT_CONTEXT ledger_cookie(size_t number)
{
	return (DAT_CONTEXT){ .as_64 = COOKIE_BASE + number };
}

/* Byte `i` of message `number`, `length` bytes long. */
static unsigned char message_byte(size_t number, uint64_t length, uint64_t i)
{
	if (length < NUMBERED)
		return (unsigned char)(SMALL_BYTE + i);
	if (i < NUMBERED)
		return (unsigned char)(number >> (8 * i));
	return (unsigned char)(number * 31 + i * 7 + (i >> 8));
}

void ledger_fill(struct run *run, size_t number)
{
	const struct dto *dto = &run->ledger.dtos[number];
	const struct piece *piece = &run->ledger.pieces[dto->first_piece];
	uint64_t done = 0;
	size_t i, j;

	for (i = 0; i < dto->piece_count; i++, piece++) {
		for (j = 0; piece->region && j < piece->length; j++)
			piece->region->bytes[piece->offset + j] =
				dto->is_send ? message_byte(number, dto->length, done + j)
					     : EMPTY_BYTE;
		done += piece->length;
	}
}

static void give_back(struct run *run, const struct dto *dto)
{
	size_t i;

	for (i = 0; i < dto->piece_count; i++)
		region_return(&run->ledger.pieces[dto->first_piece + i]);
}

void ledger_undo(struct run *run)
{
	struct ledger *ledger = &run->ledger;

	give_back(run, &ledger->dtos[ledger->count - 1]);
	ledger->count--;
	ledger->piece_count = ledger->dtos[ledger->count].first_piece;
}

void ledger_drop(struct run *run, int queue)
{
	size_t i;

	for (i = 0; i < run->ledger.count; i++) {
		if (run->ledger.dtos[i].queue == queue)
			run->ledger.dtos[i].done = true;
	}
}

uint64_t ledger_label(const struct run *run, uint64_t cookie)
{
	size_t number = (size_t)(cookie - COOKIE_BASE);

	if (cookie < COOKIE_BASE || number >= run->ledger.count ||
	    !run->ledger.dtos[number].labelled)
		return cookie;
	return run->ledger.dtos[number].label;
}

static bool violated(struct run *run, const char *expected, const char *actual)
{
	struct text want = { 0 }, got = { 0 };

	text_add(&want, "%s", expected);
	text_add(&got, "%s", actual);
	return run_fail(run, EXIT_CHECKER, &want, &got,
			"a checker that is always on found a fault");
}

/* ---- what arrived ---- */

/* The bytes of a Receive one after the other. */
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
	struct reader reader = { &run->ledger.pieces[dto->first_piece], NULL, 0 };

	reader.end = reader.piece + dto->piece_count;
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
	return n < run->ledger.count && run->ledger.dtos[n].is_send &&
	       run->ledger.dtos[n].length == length;
}

/* Are the bytes those of message `number`, and is what follows them untouched? */
static bool is_message(struct run *run, const struct dto *recv, size_t number, uint64_t length)
{
	struct reader reader = reader_of(run, recv);
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
		return violated(run, "at most as many bytes as the Receive has", "more bytes");
	if (!is_all_ours(run, recv))
		return true;
	if (length < NUMBERED) {
		if (!is_message(run, recv, 0, length))
			return violated(run, "the bytes that were sent", "other bytes");
		return true;
	}
	if (!is_number_known(run, recv, length, &number) || !is_message(run, recv, number, length))
		return violated(run, "the bytes of one Send, all of them", "other bytes");
	if (run->ledger.dtos[number].delivered)
		return violated(run, "each message once", "a message for the second time");
	if (number < object->last_message)
		return violated(run, "messages in the order of their Sends", "an earlier one");
	object->last_message = number;
	run->ledger.dtos[number].delivered = true;
	return true;
}

/* ---- completions ---- */

static bool check_queue(struct run *run, int ep, int evd, const struct dto *dto)
{
	const struct object *object = &run->objects[ep];
	int on = dto->is_send ? object->request_evd : object->recv_evd;

	if (dto->queue != ep && (dto->is_send || object->srq != dto->queue))
		return violated(run, "a completion for the EP it was posted to",
				"a completion for another EP");
	if (on >= 0 && on != evd)
		return violated(run, "a completion on its own EVD", "a completion on another EVD");
	return true;
}

static bool check_order(struct run *run, const struct dto *dto, size_t number)
{
	struct object *queue = &run->objects[dto->queue];
	size_t *last = dto->is_send ? &queue->last_send : &queue->last_recv;

	/* An SRQ promises no order over its EPs. */
	if (!dto->is_send && run->script->symbols[dto->queue].type == DAT_HANDLE_TYPE_SRQ)
		return true;
	if (*last > number)
		return violated(run, "completions in the order of the posts", "an earlier post");
	*last = number;
	return true;
}

static bool check_guards(struct run *run, const struct dto *dto)
{
	size_t i;

	for (i = 0; i < dto->piece_count; i++) {
		if (!piece_guards_whole(&run->ledger.pieces[dto->first_piece + i]))
			return violated(run, "nothing written beside a buffer",
					"guard bytes overwritten");
	}
	return true;
}

bool ledger_event(struct run *run, int evd, const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *data = &event->event_data.dto_completion_event_data;
	size_t number = (size_t)(data->user_cookie.as_64 - COOKIE_BASE);
	struct dto *dto;
	int ep;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		return true;
	if (data->user_cookie.as_64 < COOKIE_BASE || number >= run->ledger.count)
		return violated(run, "a cookie that was posted", "a cookie that was not");
	dto = &run->ledger.dtos[number];
	ep = object_of(run, data->ep_handle);
	if (ep < 0 || !run->objects[ep].alive)
		return violated(run, "a completion of an EP that is there",
				"a completion of an EP that is not");
	if (dto->done)
		return violated(run, "each DTO completes once", "a completion for the second time");
	dto->done = true;
	if (!check_queue(run, ep, evd, dto) || !check_order(run, dto, number) ||
	    !check_guards(run, dto))
		return false;
	if (!dto->is_send && data->status == DAT_DTO_SUCCESS &&
	    !check_message(run, ep, dto, data->transfered_length))
		return false;
	give_back(run, dto);
	return true;
}

void ledger_pending(const struct run *run, struct text *text)
{
	size_t *open = mem_zero((size_t)run->script->symbol_count, 2 * sizeof(*open));
	const struct symbol *symbol = run->script->symbols;
	const struct dto *dto;
	size_t i, n;
	int q;

	for (i = 0; i < run->ledger.count; i++) {
		dto = &run->ledger.dtos[i];
		open[2 * dto->queue + dto->is_send] += !dto->done;
	}
	for (q = 0; q < run->script->symbol_count; q++, symbol++) {
		for (i = 0; i < 2; i++) {
			n = open[2 * q + (int)i];
			if (n)
				text_add(text, "%zu %s%s on %s.%s not reaped\n", n,
					 i ? "Send" : "Receive", n == 1 ? "" : "s",
					 run->script->actors[symbol->actor].name, symbol->name);
		}
	}
	free(open);
}
