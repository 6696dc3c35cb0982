/* SPDX-License-Identifier: BSD-3-Clause */
/* Who runs an event of a shared fabric: shared.h. */
#include "clock.h"
#include "qp.h"
#include "reach.h"
#include "shared.h"

static bool has_payload(enum emu_event_kind kind)
{
	return kind == EMU_EV_DATA || kind == EMU_EV_DATA_REST || kind == EMU_EV_RESPONSE ||
	       kind == EMU_EV_RESPONSE_REST;
}

static bool ends_in_upcall(enum emu_event_kind kind)
{
	return kind == EMU_EV_TERMINATE || kind == EMU_EV_BREAK || kind == EMU_EV_DISCONNECT ||
	       (kind >= EMU_EV_CM_REQUEST && kind <= EMU_EV_CM_TIMEOUT);
}

/* On the queue until it runs: who stops it looks for it there. */
static bool is_timer(enum emu_event_kind kind)
{
	return kind == EMU_EV_RNR_TIMER || kind == EMU_EV_RETRY_TIMER || kind == EMU_EV_CM_TIMEOUT;
}

uint16_t emu_shared_runner(struct emu_world *w, const struct emu_event *event)
{
	enum emu_event_kind kind = emu_event_kind(event);
	const struct emu_qp *qp = emu_qp_at(w, event->qp);
	uint16_t owner = emu_process_of(w, qp->adapter), peer, runner;

	if (is_timer(kind))
		return 0;
	if (kind == EMU_EV_CM_REQUEST)
		owner = emu_process_of(w, w->fab->conn[event->index].to);
	if (ends_in_upcall(kind))
		return owner == w->process ? 0 : owner;
	peer = emu_process_of(w, qp->peer_adapter);
	runner = owner == w->process || peer == w->process ? w->process : owner;
	/* What nobody alive has anything to do with is stale: anybody may find that. */
	if (has_payload(kind) && peer && !emu_reach_process(w, peer))
		runner = peer;
	return runner == w->process ? 0 : runner;
}
