/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notifications of completions: completion channels, and arming of CQs.
 *
 * If lib wants notifications of solicited completions only, the device selects them (base.picks).
 * Then an event of the channel is the only sign that one came: the CQ is armed again as soon as an
 * event is read, and completions found without an event are not reported. iWARP has no such events.
 */
#include <errno.h>

#include "guard.h"

static void cq_arm_verbs(struct hw_cq *cq, enum hw_armed what)
{
	if (cq->verbs_armed >= what)
		return;
	if (ibv_req_notify_cq(cq->verbs, what == HW_ARMED_SOLICITED) == 0)
		cq->verbs_armed = what;
}

/*
 * Read all events of the channel. True: there was one. When the kernel has removed the device, its
 * channels have an error, and poll reports that each time.
 */
static bool cq_take_events(struct hw_cq *cq)
{
	struct ibv_cq *verbs;
	bool taken = false;
	void *ctx;

	if (cq->mute)
		return false;
	while (ibv_get_cq_event(cq->channel, &verbs, &ctx) == 0) {
		ibv_ack_cq_events(verbs, 1);
		cq->verbs_armed = HW_ARMED_NOT;
		taken = true;
	}
	if (errno != EAGAIN && errno != EINTR) {
		cq->mute = true;
		hw_unwatch(&cq->watch);
	}
	return taken;
}

static bool cq_can_pick(const struct hw_cq *cq)
{
	return cq->base.solicited_only && !cq->sink && !hw_cq_watched(cq) && !cq->overcommitted &&
	       !hw_nic(cq->base.nic)->iwarp;
}

/*
 * An event in the channel may belong to a completion that was polled meanwhile, so it counts only
 * if a completion is found. A completion found also counts if the device was not armed when it
 * came.
 */
static void cq_arm_to_pick(struct hw_cq *cq)
{
	bool open = !cq->base.picks || cq->verbs_armed == HW_ARMED_NOT;
	uint32_t put = cq->put;

	open |= cq_take_events(cq);
	cq->base.picks = true;
	cq_arm_verbs(cq, HW_ARMED_SOLICITED);
	hw_cq_fill(cq);
	if (open && cq->put != put)
		hw_cq_notify(cq);
}

/* Arming raises no event for completions that are there already: look for them. */
static void cq_arm_for_any(struct hw_cq *cq)
{
	cq->base.picks = false;
	if (cq->verbs_armed == HW_ARMED_ANY)
		return;
	cq_arm_verbs(cq, HW_ARMED_ANY);
	hw_cq_fill(cq);
}

/*
 * A waiter polls the channel itself. Without one, or if completions have to be seen also when it
 * has left, the event thread does.
 */
static void cq_watch(struct hw_cq *cq)
{
	if (cq->mute)
		return;
	if (!cq->base.waited || hw_cq_watched(cq) || cq->overcommitted)
		hw_watch(&cq->watch);
}

void hw_cq_arm(struct nic_cq *base)
{
	struct hw_cq *cq = hw_cq(base);

	cq->armed = true;
	hw_cq_choose(cq);
	if (cq_can_pick(cq))
		cq_arm_to_pick(cq);
	else
		cq_arm_for_any(cq);
	cq_watch(cq);
}

void hw_cq_keep_armed(struct hw_cq *cq)
{
	cq_arm_for_any(cq);
	cq_watch(cq);
}

void hw_cq_channel(struct hw_cq *cq)
{
	bool told = cq_take_events(cq);

	cq->base.picks &= cq_can_pick(cq);
	if (cq->base.picks) {
		/* Arm at once, so that no event is missed; if lib wants none, do not arm. */
		if (cq->armed)
			cq_arm_verbs(cq, HW_ARMED_SOLICITED);
		hw_cq_fill(cq);
		if (told)
			hw_cq_notify(cq);
		if (cq->armed)
			cq_watch(cq);
		return;
	}
	hw_cq_fill(cq);
	if (cq->armed || hw_cq_watched(cq) || cq->sink)
		hw_cq_keep_armed(cq);
	else if (told && cq->overcommitted)
		hw_guard_busy(cq);
}
