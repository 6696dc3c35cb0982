/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts of SRQs against a model of the tool's own, by rulings Q1, Q2, Q4, L3 and Z3. The
 * outstanding count is known exactly: Receives posted and not reaped. The available count lies
 * between two bounds, because a message takes its buffer at some moment between its Send and its
 * completion; with nothing in flight the bounds are equal.
 */
#include <string.h>

#include "world.h"

void srq_is_new(struct run *run, int srq, DAT_COUNT max, DAT_COUNT low)
{
	run->objects[srq].srq_model =
		(struct srq_model){ .known = true, .max = max, .low = low, .armed = low > 0 };
}

void srq_sent(struct run *run, struct dto *dto)
{
	const struct ep_model *from = &run->objects[dto->queue].ep;
	struct object *to;

	if (from->state != DAT_EP_STATE_CONNECTED)
		return;
	if (from->peer < 0) {
		run->strangers = true;
		return;
	}
	to = &run->objects[from->peer];
	if (to->srq < 0)
		return;
	dto->peer = from->peer;
	to->ep.sent++;
	run->objects[to->srq].srq_model.sent++;
}

void srq_arrived(struct run *run, const struct dto *dto)
{
	struct object *to = &run->objects[dto->peer];

	/* With complete=sent it may still be on its way, or never arrive. */
	if (run->script->config.hostile & DAT_SIM_HOSTILE_SENT)
		return;
	to->ep.arrived++;
	if (to->srq >= 0)
		run->objects[to->srq].srq_model.arrived++;
}

void srq_reaped(struct run *run, int srq, int ep)
{
	struct srq_model *model = &run->objects[srq].srq_model;

	run->objects[ep].ep.reaped++;
	model->reaped++;
	if (model->outstanding)
		model->outstanding--;
}

/* Q4: the Receives that the EP had taken and that were not reaped count as reaped at once. */
void srq_purged(struct run *run, int ep)
{
	const struct object *object = &run->objects[ep];
	const struct ep_model *gone = &object->ep;
	struct srq_model *model;

	if (object->srq < 0)
		return;
	model = &run->objects[object->srq].srq_model;
	model->least += gone->arrived > gone->reaped ? gone->arrived - gone->reaped : 0;
	model->most += gone->sent > gone->reaped ? gone->sent - gone->reaped : 0;
}

/* L3: one event for each setting of the mark. */
bool srq_event(struct run *run, const DAT_ASYNCH_ERROR_EVENT_DATA *data)
{
	int srq = object_of(run, data->dat_handle);
	struct srq_model *model = srq < 0 ? NULL : &run->objects[srq].srq_model;

	if (!model || !model->known || ++model->fired <= model->armed)
		return true;
	return checker_failed(run, "one event for each setting of a low watermark (ruling L3)",
			      "SRQ_LOW_WATERMARK once more");
}

/* ---- the comparison ---- */

static bool srq_count_differs(struct run *run, int srq, const char *count, long long least,
			      long long most, long long found)
{
	const struct symbol *symbol = &run->script->symbols[srq];
	const char *actor = run->script->actors[symbol->actor].name;
	const struct srq_model *model = &run->objects[srq].srq_model;
	struct text expected = { 0 }, actual = { 0 };

	text_add(&expected, "%s.%s: %s=%lld", actor, symbol->name, count, least);
	if (most != least)
		text_add(&expected, " to %lld", most);
	text_add(&expected, ", as %llu were posted, %llu messages sent and %llu reaped (ruling Q1)",
		 (unsigned long long)model->posted, (unsigned long long)model->sent,
		 (unsigned long long)model->reaped);
	text_add(&actual, "%s.%s: %s=%lld", actor, symbol->name, count, found);
	return checker_found(run, &expected, &actual);
}

/* Does the script itself make EVDs overflow? */
static bool script_overflows(const struct run *run)
{
	const struct fault_word *word;
	size_t i;

	for (i = 0; i < run->fault_count; i++) {
		for (word = run->faults[i].st->fault.words; word; word = word->next) {
			if (!strcmp(word->word, "overflow"))
				return true;
		}
	}
	return false;
}

/* Could completions of Receives of this SRQ be lost because their EVD is full? */
static bool may_be_lost(const struct run *run, int srq)
{
	DAT_COUNT room = run->objects[srq].srq_model.max;
	const struct object *object;
	DAT_EVD_PARAM evd;
	int i;

	if (script_overflows(run))
		return true;
	for (i = 0; i < run->endpoint_count; i++) {
		object = &run->objects[run->endpoints[i]];
		if (!object->alive || object->srq != srq)
			continue;
		if (object->recv_evd < 0 || !run->objects[object->recv_evd].alive ||
		    dat_evd_query(run->objects[object->recv_evd].handle, DAT_EVD_FIELD_ALL, &evd) !=
			    DAT_SUCCESS)
			return true;
		/* Whether there is room is only known if no other event is queued. */
		if (evd.evd_flags != DAT_EVD_DTO_FLAG || evd.evd_qlen < 2 * room)
			return true;
	}
	return false;
}

static bool check_outstanding(struct run *run, int srq, uint64_t found)
{
	struct srq_model *model = &run->objects[srq].srq_model;
	uint64_t wanted = model->outstanding, least, most;

	most = wanted > model->least ? wanted - model->least : 0;
	if (run->strangers && model->most)
		model->most = wanted;
	least = wanted > model->most ? wanted - model->most : 0;
	model->least = model->most = 0;
	if (model->vague || (found >= least && found <= most)) {
		model->reaped += wanted > found ? wanted - found : 0;
		model->outstanding = found;
		return true;
	}
	if (found < least && may_be_lost(run, srq)) {
		model->vague = true;
		return true;
	}
	return srq_count_differs(run, srq, "outstanding_dto_count", (long long)least,
				 (long long)most, (long long)found);
}

static bool check_available(struct run *run, int srq, DAT_COUNT found)
{
	const struct srq_model *model = &run->objects[srq].srq_model;
	uint64_t taken = model->arrived > model->reaped ? model->arrived : model->reaped;
	long long least = 0, most = 0;

	if (model->posted > model->sent && !run->strangers)
		least = (long long)(model->posted - model->sent);
	if (model->posted > taken)
		most = (long long)(model->posted - taken);
	/* Lost completions count as reaped; how many Receives were taken is then unknown. */
	if (model->vague)
		most = (long long)model->posted;
	if (found >= least && found <= most)
		return true;
	return srq_count_differs(run, srq, "available_dto_count", least, most, found);
}

static bool check_set(struct run *run, int srq, const DAT_SRQ_PARAM *param)
{
	const struct srq_model *model = &run->objects[srq].srq_model;
	struct text expected = { 0 }, actual = { 0 };

	if (param->max_recv_dtos == model->max && param->low_watermark == model->low)
		return true;
	text_add(&expected, "max_recv_dtos=%d, low_watermark=%d, as they were set", model->max,
		 model->low);
	text_add(&actual, "max_recv_dtos=%d, low_watermark=%d", param->max_recv_dtos,
		 param->low_watermark);
	return checker_found(run, &expected, &actual);
}

bool check_srq(struct run *run, int srq)
{
	struct object *object = &run->objects[srq];
	DAT_SRQ_PARAM param;

	if (!run->may_look || !object->alive || object->alias || !object->srq_model.known ||
	    dat_srq_query(object->handle, DAT_SRQ_FIELD_ALL, &param) != DAT_SUCCESS)
		return true;
	return check_set(run, srq, &param) &&
	       check_outstanding(run, srq, (uint64_t)param.outstanding_dto_count) &&
	       check_available(run, srq, param.available_dto_count);
}
