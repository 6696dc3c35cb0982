/* SPDX-License-Identifier: BSD-3-Clause */
/* ends.c - see ends.h. */
#include "ends.h"

#include "emu/fabric/adapter.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/config.h"
#include "emu/fabric/trace.h"
#include "emu/qp.h"
#include "emu/wire/link.h"
#include "emu/wire/profile.h"
#include "emu/wire/wire.h"

#define AGAIN       1u  /* the `index` of a disconnect request that was lost before */
#define COPIES_MOST 16u /* packets that one spurious retry sends */

/* One in four. */
static bool ends_by_chance(struct emu_world *w, enum nic_hostile mode)
{
	return (w->config.hostile & mode) && emu_random(w) % 4 == 0;
}

enum nic_conn_end emu_ends_told(struct emu_world *w, enum nic_conn_end why)
{
	if ((w->config.hostile & NIC_HOSTILE_ENDS) && emu_random(w) % 2 == 0)
		return NIC_END_DISCONNECTED;
	return why;
}

bool emu_ends_loses(struct emu_world *w, const struct emu_event *event)
{
	const struct emu_qp *qp = emu_qp_at(w, event->qp);

	if (emu_event_kind(event) != EMU_EV_DISCONNECT || event->index == AGAIN ||
	    !ends_by_chance(w, NIC_HOSTILE_ENDS))
		return false;
	emu_trace(w, "%s lost to=" EMU_QP " op=CM_DREQ by=ends",
		  emu_adapter_name(w, qp->peer_adapter), EMU_QP_OF(w, qp));
	emu_schedule(w, w->fab->now + w->config.retry_timer_ns, EMU_EV_DISCONNECT, event->qp,
		     event->epoch, AGAIN, 0);
	return true;
}

/* ---- retries ---- */

bool emu_retry_is_spurious(struct emu_world *w, struct emu_qp *qp)
{
	uint64_t usual = emu_link_answer(w->fab, qp->link), poll = w->config.poll_quantum_ns + 1;
	uint64_t late = 4 * EMU_AT(w->fab->link, qp->link).latency_ns + 2 * poll;

	if (emu_profile(w)->stream || !ends_by_chance(w, NIC_HOSTILE_RETRY))
		return false;
	/* Longer than a poll, so that the program can see that the request has not completed. */
	emu_schedule(w, usual + poll, EMU_EV_RETRY_EARLY, qp->peer, qp->peer_epoch, qp->rx_next - 1,
		     0);
	emu_schedule(w, usual + late, EMU_EV_ACK, qp->peer, qp->peer_epoch, qp->rx_next - 1, 0);
	return true;
}

/* The packets of a request, as the responder gets them for the second time. */
static uint32_t send_copy(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
			  uint32_t room)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);
	uint32_t packets = emu_wire_packets(w, qp, wqe);
	struct emu_event copy = { .order = EMU_EV_DATA | EMU_EV_ARRIVED,
				  .qp = qp->peer,
				  .epoch = qp->peer_epoch,
				  .index = index };

	if ((wqe->opcode != NIC_OP_SEND && wqe->opcode != NIC_OP_WRITE) || packets > room)
		return 0;
	emu_trace(w, EMU_QP " retry try=1 message=%u packet=0 by=spurious", EMU_QP_OF(w, qp),
		  wqe->message);
	for (; copy.packet < packets; copy.packet++)
		emu_reschedule(w, &copy, emu_link_answer(w->fab, qp->link));
	return packets;
}

void emu_retry_early(struct emu_world *w, const struct emu_event *event)
{
	const struct emu_qp *qp = emu_qp_at(w, event->qp);
	uint32_t room = COPIES_MOST;

	if (emu_qp_stale(qp, event) || !emu_qp_running(qp) ||
	    event->index - qp->sq.get >= emu_wq_count(&qp->sq))
		return;
	for (uint32_t i = qp->sq.get; i != event->index + 1 && room > 0; i++)
		room -= send_copy(w, qp, i, room) ?: 1;
}
