/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning and end of a run: the fabric, the objects by name, the freeing of everything. */
#include <stdlib.h>
#include <string.h>

#include "device.h"

#include "invoke.h"

bool world_begin(struct run *run, const struct script *script, bool traced)
{
	DAT_SIM_CONFIG config = script->config;
	struct text actual = { 0 };
	DAT_RETURN ret;
	int i;

	memset(run, 0, sizeof(*run));
	run->script = script;
	run->objects = mem_zero((size_t)script->symbol_count, sizeof(*run->objects));
	for (i = 0; i < script->symbol_count; i++) {
		run->objects[i].recv_evd = -1;
		run->objects[i].request_evd = -1;
		run->objects[i].srq = -1;
		run->objects[i].ep.peer = -1;
		run->any_timed |= script->symbols[i].timed;
	}
	run->traced = traced;
	config.trace = traced ? DAT_TRUE : DAT_FALSE;
	dat_sim_count_objects(DAT_SIM_ALL_HANDLE_TYPES, &run->objects_before);
	if (on_device()) {
		run->real = run->fabric_up = true;
		run->origin_ns = run_clock(run);
		return true;
	}
	ret = dat_sim_create(&config, &run->sim);
	if (ret == DAT_SUCCESS) {
		run->fabric_up = true;
		/* Checkers ask, too; make_call shows what the script asks. */
		if (traced)
			dat_sim_trace_queries(run->sim, DAT_FALSE);
		checks_begin(run);
		return true;
	}
	text_add(&actual, "dat_sim_create = ");
	text_result(&actual, ret);
	switch (DAT_GET_TYPE(ret)) {
	case DAT_MODEL_NOT_SUPPORTED:
		return run_fail(run, EXIT_UNSUPPORTED, NULL, &actual, "not on this backend");
	case DAT_PROVIDER_NOT_FOUND:
		return run_fail(run, EXIT_USAGE, NULL, &actual,
				"no such backend; stderr says what was looked for");
	case DAT_INVALID_PARAMETER:
		return run_fail(run, EXIT_USAGE, NULL, &actual,
				"no fabric: a DATSIM_ variable makes no sense, see stderr");
	default:
		return run_fail(run, EXIT_INTERNAL, NULL, &actual, "no fabric");
	}
}

/* ---- objects ---- */

/* The trace names objects by adapter and number; the report needs the script's names. */
static void note_name(struct run *run, int symbol, DAT_HANDLE handle)
{
	const struct symbol *s = &run->script->symbols[symbol];
	char name[64];
	struct text note = { 0 };

	if (!run->traced || dat_sim_name(handle, name, sizeof(name)) != DAT_SUCCESS)
		return;
	text_add(&note, "name %s %s.%s", name, run->script->actors[s->actor].name, s->name);
	dat_sim_trace_note(run->sim, text_of(&note));
	text_free(&note);
}

void object_made(struct run *run, int symbol, DAT_HANDLE handle)
{
	run->objects[symbol].handle = handle;
	run->objects[symbol].alive = true;
	if (run->script->symbols[symbol].type == DAT_HANDLE_TYPE_EP)
		ep_is_new(run, symbol);
	note_name(run, symbol, handle);
}

void object_gone(struct run *run, int symbol)
{
	int type = run->script->symbols[symbol].type;

	run->objects[symbol].alive = false;
	if (type == DAT_HANDLE_TYPE_EP || type == DAT_HANDLE_TYPE_SRQ)
		ledger_drop(run, symbol);
}

int object_of(const struct run *run, DAT_HANDLE handle)
{
	int i;

	for (i = run->script->symbol_count - 1; i >= 0; i--) {
		if (run->objects[i].handle == handle && handle != DAT_HANDLE_NULL &&
		    !run->objects[i].alias)
			return i;
	}
	return -1;
}

void run_stray(struct run *run, DAT_HANDLE handle, int type)
{
	if (run->stray_count == run->stray_room) {
		run->stray_room = run->stray_room ? 2 * run->stray_room : 16;
		run->strays = mem_grow(run->strays, run->stray_room * sizeof(*run->strays));
	}
	run->strays[run->stray_count].handle = handle;
	run->strays[run->stray_count++].type = type;
}

void object_found(struct run *run, int symbol, DAT_HANDLE handle)
{
	struct object *object = &run->objects[symbol];

	object->alias = handle == DAT_HANDLE_NULL || object_of(run, handle) >= 0;
	object->borrowed = true; /* its maker frees it */
	if (object->alias) {
		object->handle = handle;
		object->alive = true;
	} else {
		object_made(run, symbol, handle);
		object->ep.seen = false;
	}
}

/* ---- freeing ---- */

static DAT_RETURN free_close(DAT_HANDLE ia)
{
	return dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
}

/* An object is freed before the objects that it uses. */
static const struct {
	int type;
	DAT_RETURN (*free)(DAT_HANDLE handle);
} order[] = {
	{ DAT_HANDLE_TYPE_RSP, dat_rsp_free }, { DAT_HANDLE_TYPE_CR, dat_cr_reject },
	{ DAT_HANDLE_TYPE_EP, dat_ep_free },   { DAT_HANDLE_TYPE_SRQ, dat_srq_free },
	{ DAT_HANDLE_TYPE_PSP, dat_psp_free }, { DAT_HANDLE_TYPE_RMR, dat_rmr_free },
	{ DAT_HANDLE_TYPE_LMR, dat_lmr_free }, { DAT_HANDLE_TYPE_EVD, dat_evd_free },
	{ DAT_HANDLE_TYPE_CNO, dat_cno_free }, { DAT_HANDLE_TYPE_PZ, dat_pz_free },
	{ DAT_HANDLE_TYPE_IA, free_close },
};

/* Unanswered connection requests sit in an EVD and would keep it busy. */
static bool collect_events(struct run *run)
{
	DAT_EVENT event;
	bool good = true;
	int i, n;

	for (i = 0; i < run->script->symbol_count; i++) {
		if (!run->objects[i].alive || run->script->symbols[i].type != DAT_HANDLE_TYPE_EVD)
			continue;
		for (n = 0; n < BUSY_LIMIT_STEPS; n++) {
			if (dat_evd_dequeue(run->objects[i].handle, &event) != DAT_SUCCESS)
				break;
			if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
				run_stray(run, event.event_data.cr_arrival_event_data.cr_handle,
					  DAT_HANDLE_TYPE_CR);
			good = good && ledger_event(run, i, &event);
		}
	}
	return good;
}

static bool cannot_free(struct run *run, DAT_HANDLE handle, DAT_RETURN ret)
{
	struct text expected = { 0 }, actual = { 0 };

	text_add(&expected, "everything can be freed at the end");
	text_handle(run, &actual, -1, handle);
	text_add(&actual, " cannot: ");
	text_result(&actual, ret);
	return run_fail(run, EXIT_CHECKER, &expected, &actual, "the end of the script");
}

static bool clear_type(struct run *run, int type, DAT_RETURN (*free_it)(DAT_HANDLE handle))
{
	struct object *object;
	DAT_RETURN ret;
	bool good = true;
	size_t k;
	int i;

	for (i = 0; i < run->script->symbol_count; i++) {
		object = &run->objects[i];
		if (!object->alive || object->borrowed || run->script->symbols[i].type != type)
			continue;
		ret = free_it(object->handle);
		object_gone(run, i);
		if (ret != DAT_SUCCESS)
			good = cannot_free(run, object->handle, ret);
	}
	for (k = 0; k < run->stray_count; k++) {
		if (run->strays[k].type != type)
			continue;
		ret = free_it(run->strays[k].handle);
		if (ret != DAT_SUCCESS)
			good = cannot_free(run, run->strays[k].handle, ret);
	}
	return good;
}

static bool check_none_left(struct run *run)
{
	struct text expected = { 0 }, actual = { 0 };
	DAT_COUNT left = 0;

	dat_sim_count_objects(DAT_SIM_ALL_HANDLE_TYPES, &left);
	if (left == run->objects_before)
		return true;
	text_add(&expected, "no object left");
	text_add(&actual, "%d object%s left", left - run->objects_before,
		 left - run->objects_before == 1 ? "" : "s");
	return run_fail(run, EXIT_CHECKER, &expected, &actual, "objects left");
}

static void clear_registry(struct run *run)
{
	DAT_PROVIDER_INFO info;

	while (run->provider_count) {
		memset(&info, 0, sizeof(info));
		strncpy(info.ia_name, run->providers[--run->provider_count],
			sizeof(info.ia_name) - 1);
		dat_registry_remove_provider(tool_provider(), &info);
	}
}

bool world_clear(struct run *run)
{
	bool good = true;
	size_t i;

	if (!run->fabric_up)
		return true;
	dat_sim_trace_note(run->sim, "script ends");
	run->st = NULL;
	good = collect_events(run) && checks_end(run);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		good = clear_type(run, order[i].type, order[i].free) && good;
	clear_registry(run);
	return good && check_none_left(run);
}

/* ---- the end ---- */

static void keep_trace(struct run *run, struct text *trace)
{
	const char *text;
	size_t length;

	if (run->traced && dat_sim_trace_read(run->sim, &text, &length) == DAT_SUCCESS)
		text_append(trace, text, length);
}

void world_end(struct run *run, struct text *trace)
{
	struct watch *watch, *next;
	size_t k;
	int i;

	if (run->fabric_up) {
		keep_trace(run, trace);
		for (i = 0; i < run->script->symbol_count; i++) {
			/* A failed free left objects behind: close abruptly. */
			if (run->script->symbols[i].type == DAT_HANDLE_TYPE_IA &&
			    run->objects[i].handle)
				dat_ia_close(run->objects[i].handle, DAT_CLOSE_ABRUPT_FLAG);
		}
		if (!run->real)
			dat_sim_destroy(run->sim);
	}
	for (i = 0; run->objects && i < run->script->symbol_count; i++)
		free(run->objects[i].surfaced);
	for (k = 0; k < run->region_count; k++)
		region_hand_on(run, run->regions[k]);
	for (watch = run->watches; watch; watch = next) {
		next = watch->next;
		free(watch);
	}
	free(run->regions);
	packets_end(run);
	free(run->agent_calls);
	free(run->providers);
	free(run->endpoints);
	free(run->queues);
	free(run->objects);
	free(run->ledger.dtos);
	free(run->ledger.pieces);
	free(run->strays);
	free(run->holds);
	free(run->faults);
	run_forgive(run);
}
