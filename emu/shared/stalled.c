/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery: requests and connections whose event was lost with a dead process: stalled.h. */
#include "stalled.h"

#include "emu/cm.h"
#include "emu/fabric/queue.h"
#include "emu/qp.h"
#include "emu/wire/retry.h"
#include "inbox.h"
#include "recover.h"
#include "shared.h"

/* The QPs that have something in flight. */
struct moving {
	uint8_t qp[EMU_MARKS(EMU_QPS)];
};

static void mark_qp(struct moving *moving, uint32_t qp)
{
	if (qp <= EMU_QPS)
		emu_mark(moving->qp, qp);
}

/* The packets of a request go to the peer of its QP, all that answer it to the QP itself. */
static void mark_event(struct emu_world *w, struct moving *moving, const struct emu_event *event)
{
	enum emu_event_kind kind = emu_event_kind(event);
	const struct emu_qp *qp;

	if (!emu_event_is_valid(event))
		return;
	qp = emu_qp_at(w, event->qp);
	if (emu_qp_stale(qp, event))
		return;
	if (kind == EMU_EV_DATA || kind == EMU_EV_DATA_REST || kind == EMU_EV_ACK_DUE)
		mark_qp(moving, qp->peer);
	else
		mark_qp(moving, event->qp);
}

static void mark_inboxes(struct emu_world *w, struct moving *moving)
{
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++) {
		const struct emu_process *p = emu_process(w, i);
		const struct emu_message *message = emu_inbox_at(w, p->used ? p->inbox : 0);

		for (; message && emu_go_on(w); message = emu_inbox_at(w, message->next))
			if (message->kind == EMU_MESSAGE_RUN)
				mark_event(w, moving, &message->event);
	}
}

static void mark_held(struct emu_world *w, struct moving *moving, emu_ref ref)
{
	while (ref && emu_go_on(w)) {
		const struct emu_held *held = emu_at(w, ref);

		mark_event(w, moving, &held->event);
		ref = held->next;
	}
}

/* A parked packet is not in flight: it waits for an earlier one. */
static void mark_all(struct emu_world *w, struct moving *moving)
{
	const struct emu_fabric *fab = w->fab;

	for (uint32_t i = 0; i < emu_events(fab); i++)
		mark_event(w, moving, &fab->heap[i]);
	mark_inboxes(w, moving);
	for (uint32_t i = 1; i <= EMU_HIGH(fab, links, link); i++)
		mark_held(w, moving, fab->link[i].held);
	for (uint32_t i = 1; i <= EMU_HIGH(fab, qps, qp); i++) {
		mark_held(w, moving, fab->qp[i].held);
		mark_held(w, moving, fab->qp[i].early);
	}
}

static bool has_requests(struct emu_world *w, const struct emu_qp *qp)
{
	return qp->head.live && emu_qp_running(qp) && emu_wq_count(&qp->sq) > 0 &&
	       emu_qp_at(w, qp->peer)->epoch == qp->peer_epoch;
}

uint32_t emu_stalled_resume(struct emu_world *w)
{
	struct moving moving = { { 0 } };
	uint32_t found = 0;

	mark_all(w, &moving);
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, qps, qp); i++) {
		struct emu_qp *qp = &w->fab->qp[i];

		if (!has_requests(w, qp) || qp->timer || emu_is_marked(moving.qp, i))
			continue;
		emu_retry_on(w, qp);
		found++;
	}
	return found;
}

/* ---- connections without an end, and requests for one without an answer ---- */

/* Events of the queue, of inboxes and of holds: they run when it is time. */
struct queued {
	uint8_t request[EMU_MARKS(EMU_CONNS)]; /* a connection's request or reply */
	uint8_t end[EMU_MARKS(EMU_QPS)];       /* the end of a QP's connection */
};

static bool is_end(enum emu_event_kind kind)
{
	return kind == EMU_EV_TERMINATE || kind == EMU_EV_BREAK || kind == EMU_EV_DISCONNECT;
}

static void queued_event(struct emu_world *w, const struct emu_event *event, struct queued *queued)
{
	enum emu_event_kind kind = emu_event_kind(event);

	if ((kind == EMU_EV_CM_REQUEST || kind == EMU_EV_CM_REPLY) && event->index <= EMU_CONNS)
		emu_mark(queued->request, event->index);
	if (is_end(kind) && event->qp <= EMU_QPS && !emu_qp_stale(emu_qp_at(w, event->qp), event))
		emu_mark(queued->end, event->qp);
}

static void queued_inbox(struct emu_world *w, uint16_t process, struct queued *queued)
{
	const struct emu_process *p = emu_process(w, process);
	const struct emu_message *message = emu_inbox_at(w, p->used ? p->inbox : 0);

	for (; message && emu_go_on(w); message = emu_inbox_at(w, message->next))
		if (message->kind == EMU_MESSAGE_RUN)
			queued_event(w, &message->event, queued);
}

static void queued_held(struct emu_world *w, emu_ref ref, struct queued *queued)
{
	while (ref && emu_go_on(w)) {
		const struct emu_held *held = emu_at(w, ref);

		queued_event(w, &held->event, queued);
		ref = held->next;
	}
}

static void queued_all(struct emu_world *w, struct queued *queued)
{
	const struct emu_fabric *fab = w->fab;

	for (uint32_t i = 0; i < emu_events(fab); i++)
		queued_event(w, &fab->heap[i], queued);
	for (uint16_t i = 1; i <= EMU_PROCESSES; i++)
		queued_inbox(w, i, queued);
	for (uint32_t i = 1; i <= EMU_HIGH(fab, links, link); i++)
		queued_held(w, fab->link[i].held, queued);
}

static void refuse_lost_requests(struct emu_world *w, const struct queued *queued)
{
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, conns, conn); i++) {
		const struct emu_conn *conn = &w->fab->conn[i];

		/* A request that has arrived and is not answered yet waits for its listener. */
		if (conn->head.live && (conn->answered || !conn->arrived) &&
		    !emu_is_marked(queued->request, i))
			emu_cm_turn_down(w, i);
	}
}

/* One whose end a rule lost is to know nothing of it: it is half-open, as without the death. */
static bool is_orphan(struct emu_world *w, const struct emu_qp *qp)
{
	bool connected = emu_qp_running(qp) || (qp->state == EMU_QP_CONNECTING && qp->peer);

	return qp->head.live && connected && !qp->numbered && !qp->half_open &&
	       emu_qp_at(w, qp->peer)->epoch != qp->peer_epoch;
}

void emu_stalled_end(struct emu_world *w)
{
	struct queued queued = { .request = { 0 } };

	queued_all(w, &queued);
	refuse_lost_requests(w, &queued);
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, qps, qp); i++) {
		struct emu_qp *qp = &w->fab->qp[i];

		if (is_orphan(w, qp) && !emu_is_marked(queued.end, i))
			emu_schedule(w, w->fab->now, EMU_EV_TERMINATE, i, qp->epoch, 0, 0);
	}
}
