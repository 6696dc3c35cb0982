/* SPDX-License-Identifier: BSD-3-Clause */
/* When the payload of a packet of type UC is placed: unreliable_land.h. */
#include "unreliable_land.h"

#include "emu/fabric/clock.h"
#include "emu/qp.h"

/* Time between two stages, as in emu_land_later. */
static uint64_t stage_ns(const struct emu_world *w)
{
	return w->config.poll_quantum_ns + 1;
}

static void come_again(struct emu_world *w, const struct emu_event *event, uint64_t time)
{
	struct emu_event next = { .order = EMU_EV_UNANSWERED | EMU_EV_ARRIVED,
				  .qp = event->qp,
				  .epoch = event->epoch,
				  .index = event->index,
				  .packet = event->packet };

	emu_reschedule(w, &next, time);
}

bool emu_unreliable_waits(struct emu_world *w, const struct emu_event *event,
			  const struct emu_unanswered *u)
{
	struct emu_path *path = &EMU_AT(w->fab->path, emu_qp_index(w, u->sender));
	bool goes_on = path->landing > 0 && path->land_index == u->index &&
		       path->land_packet == u->packet;
	uint64_t now = w->fab->now;

	if (u->sender->kind != NIC_QP_UNRELIABLE)
		return false;
	/* A packet that a rule delayed may come while another lands: it waits for the end. */
	if (!goes_on && path->landing > 0 && path->landed_ns >= now &&
	    path->landed_ns <= now + EMU_LAND_STAGES * stage_ns(w)) {
		come_again(w, event, path->landed_ns + 1);
		return true;
	}
	if (!goes_on) {
		path->landing = 0;
		path->land_index = u->index;
		path->land_packet = u->packet;
		path->landed_ns = now;
	}
	if (path->landing + 1u >= EMU_LAND_STAGES || !emu_unreliable_place(w, u, path->landing)) {
		path->landing = 0;
		return false;
	}
	path->landing++;
	path->landed_ns = now + (EMU_LAND_STAGES - path->landing) * stage_ns(w);
	come_again(w, event, now + stage_ns(w));
	return true;
}
