/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Being told of completions: completion channels, and what CQs are armed for.
 *
 * Where lib wants to hear of solicited completions only, the device picks them (base.picks): that one came is
 * then known by the channel's event and by nothing else, so the CQ is armed again as soon as it has told, and
 * what is found without an event is no news. iWARP has no such events.
 */
#include "hw.h"

static void arm_verbs(struct hw_cq *cq, enum hw_armed what)
{
	if (cq->verbs_armed >= what)
		return;
	if (ibv_req_notify_cq(cq->verbs, what == HW_ARMED_SOLICITED) == 0)
		cq->verbs_armed = what;
}

/* Events, taken off the channel: was there one? */
static bool take_events(struct hw_cq *cq)
{
	struct ibv_cq *verbs;
	bool taken = false;
	void *ctx;

	while (ibv_get_cq_event(cq->channel, &verbs, &ctx) == 0) {
		ibv_ack_cq_events(verbs, 1);
		cq->verbs_armed = HW_ARMED_NOT;
		taken = true;
	}
	return taken;
}

static bool can_pick(const struct hw_cq *cq)
{
	return cq->base.solicited_only && !cq->sink && !hw_cq_ours(cq) &&
	       !hw_nic(cq->base.nic)->iwarp;
}

/*
 * An event that waits may be of what was polled meanwhile; it counts only if something is found besides. So does
 * what is found if the device was not asked before it came.
 */
static void arm_to_pick(struct hw_cq *cq)
{
	bool open = !cq->base.picks || cq->verbs_armed == HW_ARMED_NOT;
	uint32_t put = cq->put;

	open |= take_events(cq);
	cq->base.picks = true;
	arm_verbs(cq, HW_ARMED_SOLICITED);
	hw_cq_fill(cq);
	if (open && cq->put != put)
		hw_cq_notify(cq);
}

/* Arming raises nothing for what is there already. */
static void arm_for_any(struct hw_cq *cq)
{
	cq->base.picks = false;
	if (cq->verbs_armed == HW_ARMED_ANY)
		return;
	arm_verbs(cq, HW_ARMED_ANY);
	hw_cq_fill(cq);
}

/* Who waits sleeps at the channel, else the loop does; for ourselves it always does. */
static void watch(struct hw_cq *cq)
{
	if (!cq->base.waited || hw_cq_ours(cq))
		hw_watch(&cq->watch);
}

void hw_cq_arm(struct nic_cq *base)
{
	struct hw_cq *cq = hw_cq(base);

	cq->armed = true;
	hw_cq_choose(cq);
	if (can_pick(cq))
		arm_to_pick(cq);
	else
		arm_for_any(cq);
	watch(cq);
}

void hw_cq_keep(struct hw_cq *cq)
{
	arm_for_any(cq);
	watch(cq);
}

void hw_cq_channel(struct hw_cq *cq)
{
	bool told = take_events(cq);

	cq->base.picks &= can_pick(cq);
	if (cq->base.picks) {
		/* At once, so that nothing is missed; for nobody it is not armed at all. */
		if (cq->armed)
			arm_verbs(cq, HW_ARMED_SOLICITED);
		hw_cq_fill(cq);
		if (told)
			hw_cq_notify(cq);
		if (cq->armed)
			watch(cq);
		return;
	}
	hw_cq_fill(cq);
	if (cq->armed || hw_cq_ours(cq) || cq->sink)
		hw_cq_keep(cq);
}
