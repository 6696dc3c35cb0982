/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks at the end, when no event is pending and every event was dequeued: a last look, every
 * DTO that has to complete has completed, and no guard byte beside a buffer was changed.
 */
#include "world.h"

static bool is_quiet(const struct run *run)
{
	DAT_COUNT events = 0;
	size_t i;

	for (i = 0; i < run->hold_count; i++) {
		if (!run->holds[i].released)
			return false;
	}
	return dat_sim_pending(run->sim, &events, NULL) == DAT_SUCCESS && !events;
}

/* Must this DTO have completed by now? Only if its completion would have been reported. */
static bool is_due(const struct run *run, const struct dto *dto)
{
	const struct object *ep;
	DAT_EP_STATE state;
	int evd;

	if (dto->done || dto->suppressed || dto->queue < 0 ||
	    run->script->symbols[dto->queue].type != DAT_HANDLE_TYPE_EP)
		return false;
	ep = &run->objects[dto->queue];
	evd = dto->kind == DTO_RECV ? ep->recv_evd : ep->request_evd;
	if (!ep->alive || evd < 0 || !run->objects[evd].alive ||
	    dat_ep_get_status(ep->handle, &state, NULL, NULL) != DAT_SUCCESS)
		return false;
	return state == DAT_EP_STATE_DISCONNECTED ||
	       (state == DAT_EP_STATE_CONNECTED && dto->kind != DTO_RECV);
}

static bool check_completed(struct run *run)
{
	struct text expected = { 0 }, actual = { 0 };
	size_t i;

	for (i = 0; i < run->ledger.count; i++) {
		if (!is_due(run, &run->ledger.dtos[i]))
			continue;
		text_add(&expected, "each DTO completes once");
		text_dto(run, &actual, &run->ledger.dtos[i]);
		text_add(&actual, " never completes: nothing is pending any more");
		return checker_found(run, &expected, &actual);
	}
	return true;
}

/* With every completion reaped, each Receive that the EP took from the SRQ is accounted for. */
static bool check_buffers(struct run *run)
{
	struct text expected = { 0 }, actual = { 0 };
	const struct symbol *symbol;
	const struct object *srq;
	DAT_SRQ_PARAM param;
	DAT_COUNT missing;
	int i;

	for (i = 0; i < run->queue_count; i++) {
		srq = &run->objects[run->queues[i]];
		symbol = &run->script->symbols[run->queues[i]];
		if (!srq->alive || srq->alias || srq->srq_model.vague ||
		    dat_srq_query(srq->handle, DAT_SRQ_FIELD_ALL, &param) != DAT_SUCCESS ||
		    param.available_dto_count == param.outstanding_dto_count)
			continue;
		text_add(&expected, "each Receive that was taken completes");
		missing = param.outstanding_dto_count - param.available_dto_count;
		text_add(&actual, "%s.%s: %d of those taken never complete%s",
			 run->script->actors[symbol->actor].name, symbol->name, missing,
			 missing == 1 ? "s" : "");
		return checker_found(run, &expected, &actual);
	}
	return true;
}

static bool check_bytes(struct run *run)
{
	bool whole = true;
	size_t i;

	for (i = 0; i < run->ledger.piece_count; i++)
		whole = whole && piece_guards_whole(&run->ledger.pieces[i]);
	for (i = 0; i < run->region_count; i++)
		whole = whole && region_guards_whole(run->regions[i]);
	return whole || checker_failed(run, "nothing written beside buffers and registered memory",
				       "guard bytes there are overwritten");
}

bool checks_end(struct run *run)
{
	if (run->failure.code != EXIT_PASS || !check_bytes(run) || !checks_look(run))
		return false;
	if (!run->may_look || !run->begun || run->overflowed || !is_quiet(run))
		return true;
	return check_completed(run) && check_buffers(run);
}
