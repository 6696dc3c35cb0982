/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ledger of posted DTOs and their memory. It is a checker that is always on: each DTO completes
 * once, on its own EVD, in the order of its queue, with its own cookie.
 */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define COOKIE_BASE UINT64_C(0x0da7000000000000) /* scripts use smaller cookies */

static void *array_grow(void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = *room ? 2 * *room : 64;
	return mem_grow(array, *room * size);
}

/* ---- posts ---- */

size_t ledger_post(struct run *run, enum dto_kind kind, int queue)
{
	struct ledger *ledger = &run->ledger;
	struct dto *dto;

	ledger->dtos = array_grow(ledger->dtos, ledger->count, &ledger->room, sizeof(*dto));
	dto = &ledger->dtos[ledger->count];
	memset(dto, 0, sizeof(*dto));
	dto->kind = kind;
	dto->queue = queue;
	dto->rmr = -1;
	dto->peer = -1;
	dto->first_piece = ledger->piece_count;
	dto->posted = ledger->reaped;
	return ledger->count++;
}

void ledger_piece(struct run *run, const struct piece *piece)
{
	struct ledger *ledger = &run->ledger;
	struct dto *dto = &ledger->dtos[ledger->count - 1];

	ledger->pieces = array_grow(ledger->pieces, ledger->piece_count, &ledger->piece_room,
				    sizeof(*piece));
	ledger->pieces[ledger->piece_count++] = *piece;
	dto->piece_count++;
	dto->length += piece->length;
}

DAT_CONTEXT ledger_cookie(size_t number)
{
	return (DAT_CONTEXT){ .as_64 = COOKIE_BASE + number };
}

/* A memory window keeps its last binding for as long as the script runs. */
static void give_back(struct run *run, const struct dto *dto)
{
	size_t i;

	if (dto->kind == DTO_BIND)
		return;
	for (i = 0; i < dto->piece_count; i++)
		region_return(&run->ledger.pieces[dto->first_piece + i]);
	region_return(&dto->remote);
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

/* ---- completions ---- */

bool checker_found(struct run *run, struct text *expected, struct text *actual)
{
	return run_fail(run, EXIT_CHECKER, expected, actual,
			"a checker that is always on found a fault");
}

bool checker_failed(struct run *run, const char *expected, const char *actual)
{
	struct text want = { 0 }, got = { 0 };

	text_add(&want, "%s", expected);
	text_add(&got, "%s", actual);
	return checker_found(run, &want, &got);
}

static const char *const kinds[DTO_KINDS] = {
	[DTO_RECV] = "Receive",   [DTO_SEND] = "Send", [DTO_WRITE] = "RDMA Write",
	[DTO_READ] = "RDMA Read", [DTO_BIND] = "bind",
};

/* "the Send of a.ep with cookie 7" */
void text_dto(const struct run *run, struct text *text, const struct dto *dto)
{
	const struct symbol *symbol = &run->script->symbols[dto->queue];
	size_t number = (size_t)(dto - run->ledger.dtos), i, nth = 0;

	for (i = 0; i <= number; i++)
		nth += run->ledger.dtos[i].queue == dto->queue &&
		       run->ledger.dtos[i].kind == dto->kind;
	text_add(text, "%s %zu of %s.%s", kinds[dto->kind], nth,
		 run->script->actors[symbol->actor].name, symbol->name);
	if (dto->labelled)
		text_add(text, ", cookie %llu,", (unsigned long long)dto->label);
}

static bool dto_wrong(struct run *run, const struct dto *dto, const char *expected,
		      const char *actual)
{
	struct text want = { 0 }, got = { 0 };

	text_add(&want, "%s", expected);
	text_dto(run, &got, dto);
	text_add(&got, " %s", actual);
	return checker_found(run, &want, &got);
}

static bool check_queue(struct run *run, int ep, int evd, const struct dto *dto)
{
	const struct object *object = &run->objects[ep];
	int on = dto->kind == DTO_RECV ? object->recv_evd : object->request_evd;

	if (dto->queue != ep && (dto->kind != DTO_RECV || object->srq != dto->queue))
		return dto_wrong(run, dto, "a completion for the EP it was posted to",
				 "completed for another EP");
	if (on >= 0 && on != evd)
		return dto_wrong(run, dto, "a completion on its own EVD",
				 "completed on another EVD");
	return true;
}

static bool check_order(struct run *run, const struct dto *dto, size_t number)
{
	struct object *queue = &run->objects[dto->queue];
	size_t *last = dto->kind == DTO_RECV ? &queue->last_recv : &queue->last_request;

	/* An SRQ guarantees no order across its EPs. */
	if (run->script->symbols[dto->queue].type == DAT_HANDLE_TYPE_SRQ)
		return true;
	if (*last > number)
		return dto_wrong(run, dto, "completions in the order of the posts",
				 "completed after one that was posted later");
	*last = number;
	return true;
}

static bool check_guards(struct run *run, const struct dto *dto)
{
	bool whole = piece_guards_whole(&dto->remote);
	const struct piece *piece;
	size_t i;

	if (dto->remote.region)
		whole = whole && region_guards_whole(dto->remote.region);
	for (i = 0; i < dto->piece_count; i++) {
		piece = &run->ledger.pieces[dto->first_piece + i];
		whole = whole && piece_guards_whole(piece) &&
			(!piece->region || region_guards_whole(piece->region));
	}
	return whole || dto_wrong(run, dto, "nothing written beside a buffer",
				  "completed, and guard bytes beside its buffer are overwritten");
}

/* The entry that a completion belongs to; NULL: there is none, which fails the run. */
static struct dto *dto_of(struct run *run, DAT_CONTEXT cookie)
{
	size_t number = (size_t)(cookie.as_64 - COOKIE_BASE);

	if (cookie.as_64 >= COOKIE_BASE && number < run->ledger.count)
		return &run->ledger.dtos[number];
	checker_failed(run, "a completion with a cookie that was posted",
		       "a completion with one that was not");
	return NULL;
}

static bool dto_reap(struct run *run, struct dto *dto, int ep, int evd)
{
	if (dto->done)
		return dto_wrong(run, dto, "each DTO completes once",
				 "completed for the second time");
	dto->done = true;
	dto->reaped = ++run->ledger.reaped;
	return check_queue(run, ep, evd, dto) &&
	       check_order(run, dto, (size_t)(dto - run->ledger.dtos)) && check_guards(run, dto);
}

static bool reap_dto(struct run *run, int evd, const DAT_DTO_COMPLETION_EVENT_DATA *data)
{
	struct dto *dto = dto_of(run, data->user_cookie);
	int ep = object_of(run, data->ep_handle);

	if (!dto)
		return false;
	if (ep < 0 || !run->objects[ep].alive)
		return dto_wrong(run, dto, "completions of EPs that exist",
				 "completed for an EP that does not exist");
	if (dto->kind == DTO_BIND)
		return dto_wrong(run, dto, "RMR_BIND_COMPLETION for a bind", "completed as a DTO");
	if (dto->suppressed && data->status == DAT_DTO_SUCCESS)
		return dto_wrong(run, dto, "no completion of a suppressed request that succeeded",
				 "completed nevertheless");
	if (!dto_reap(run, dto, ep, evd))
		return false;
	if (run->script->symbols[dto->queue].type == DAT_HANDLE_TYPE_SRQ)
		srq_reaped(run, dto->queue, ep);
	if (dto->peer >= 0 && data->status == DAT_DTO_SUCCESS)
		srq_arrived(run, dto);
	if (data->status == DAT_DTO_SUCCESS &&
	    !ledger_check_data(run, ep, (size_t)(dto - run->ledger.dtos), data->transfered_length))
		return false;
	give_back(run, dto);
	return true;
}

static bool reap_bind(struct run *run, int evd, const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data)
{
	struct dto *dto = dto_of(run, data->user_cookie);

	if (!dto)
		return false;
	if (dto->kind != DTO_BIND)
		return dto_wrong(run, dto, "DTO_COMPLETION for what is no bind",
				 "completed as a bind");
	if (dto->rmr != object_of(run, data->rmr_handle))
		return dto_wrong(run, dto, "a completion that names the RMR of the bind",
				 "completed with another RMR");
	return dto_reap(run, dto, dto->queue, evd);
}

bool ledger_event(struct run *run, int evd, const DAT_EVENT *event)
{
	switch ((int)event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		return reap_dto(run, evd, &event->event_data.dto_completion_event_data);
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return reap_bind(run, evd, &event->event_data.rmr_completion_event_data);
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
		run->overflowed = true;
		return true;
	case DAT_ASYNC_SRQ_LOW_WATERMARK:
		return srq_event(run, &event->event_data.asynch_error_event_data);
	case DAT_ASYNC_EP_SOFT_HIGH_WATERMARK:
		return ep_event(run, &event->event_data.asynch_error_event_data);
	default:
		return true;
	}
}

void ledger_pending(const struct run *run, struct text *text)
{
	size_t *open = mem_zero((size_t)run->script->symbol_count, DTO_KINDS * sizeof(*open));
	const struct symbol *symbol = run->script->symbols;
	const struct dto *dto;
	size_t i, n;
	int q;

	for (i = 0; i < run->ledger.count; i++) {
		dto = &run->ledger.dtos[i];
		if (dto->queue >= 0)
			open[DTO_KINDS * dto->queue + (int)dto->kind] += !dto->done &&
									 !dto->suppressed;
	}
	for (q = 0; q < run->script->symbol_count; q++, symbol++) {
		for (i = 0; i < DTO_KINDS; i++) {
			n = open[DTO_KINDS * q + (int)i];
			if (n)
				text_add(text, "%zu %s%s on %s.%s not reaped\n", n, kinds[i],
					 n == 1 ? "" : "s", run->script->actors[symbol->actor].name,
					 symbol->name);
		}
	}
	free(open);
}
