/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a NIC: its table behind the door (host/nic.h), what each event does, and what
 * happens to a message that arrives, from its first packet to its completion. Start reading the
 * emulator here.
 *
 * emu/           The NIC in one process, one file for each object or role: queue pairs (qp), the
 *                requester (tx) and the responder (respond, partial), RDMA (rdma), queue pairs
 *                without answers (unreliable), completion queues (cq), receive queues (srq,
 *                receive.h), memory (mem, mw; pages, guard: what the program does with it),
 *                connection management (cm), upcalls to lib (upcall).
 * emu/fabric/    What the NIC stands on: the layout of all state (layout.h), memory for it (arena),
 *                the event queue (queue), virtual time (clock), adapters, the trace, creating a
 *                world. sharing.h is the table of hooks for several processes, which a private
 *                fabric does not have.
 * emu/wire/      Packets: links and holds (link), rules that lose or delay packets (rules), packets
 *                one by one where an observer wants to see them (wire, packet, psn), order and
 *                acknowledgement (sequence), retransmission (retry), what ib and iwarp do
 *                differently (profile).
 * emu/shared/    A fabric of several processes: its lock, inboxes, direct delivery, recovery from a
 *                death.
 * emu/lockstep/  The processes of a shared fabric take turns, so that a run can be repeated
 *                exactly.
 *
 * Calls go from the last two folders to the first three, and back only by the hooks of sharing.h.
 */
#include "nic_model.h"

#include "cm.h"
#include "cq.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/trace.h"
#include "emu/hostile/ends.h"
#include "emu/hostile/posted.h"
#include "emu/hostile/sent.h"
#include "emu/fabric/world.h"
#include "emu/wire/link.h"
#include "emu/wire/retry.h"
#include "emu/wire/rules.h"
#include "emu/fabric/group.h"
#include "mem.h"
#include "mw.h"
#include "emu/number/number.h"
#include "qp.h"
#include "quick.h"
#include "respond.h"
#include "srq.h"
#include "tx.h"
#include "emu/number/unreliable.h"

/* ---- the table behind the door, and the file that has each entry ---- */

const struct nic_ops emu_ops = {
	.size = sizeof(struct nic_ops),

	/* fabric/world.c: the adapter */
	.close = emu_adapter_close,
	.query = emu_adapter_query,

	/* mem.c, mw.c: protection domains, memory regions, memory windows */
	.pd_alloc = emu_pd_alloc,
	.pd_free = emu_pd_free,
	.mr_reg = emu_mr_reg,
	.mr_dereg = emu_mr_dereg,
	.mr_base = emu_mr_base,
	.mr_change = emu_mr_change,
	.mr_windows = emu_mr_windows,
	.mw_alloc = emu_mw_alloc,
	.mw_free = emu_mw_free,
	.mw_query = emu_mw_query,

	/* cq.c: completion queues */
	.cq_create = emu_cq_create,
	.cq_resize = emu_cq_resize,
	.cq_destroy = emu_cq_destroy,
	.cq_poll = emu_cq_poll,
	.cq_count = emu_cq_count,
	.cq_limit = emu_cq_limit,
	.cq_arm = emu_cq_arm,
	.cq_arm_solicited = emu_cq_arm_solicited,

	/* srq.c: receive queues, shared and of one QP */
	.srq_create = emu_srq_create,
	.srq_resize = emu_srq_resize,
	.srq_destroy = emu_srq_destroy,
	.srq_post = emu_srq_post,
	.srq_limit = emu_srq_limit,
	.srq_count = emu_srq_count,
	.post_recv = emu_post_recv,

	/* qp.c: queue pairs */
	.qp_create = emu_qp_create,
	.qp_modify = emu_qp_modify,
	.qp_reset = emu_qp_reset,
	.qp_destroy = emu_qp_destroy,
	.qp_query = emu_qp_query,
	.qp_taken_limit = emu_qp_taken_limit,
	.qp_break = emu_qp_ask_break,
	.qp_to = emu_number_connect,
	.qp_group = emu_group_change,
	.qp_fail = emu_qp_fail,
	.qp_alarm = emu_qp_alarm,
	.disconnect = emu_qp_disconnect,

	/* tx.c: the requester */
	.post_send = emu_post_send,

	/* quick_post.c, quick.c: the ordinary message */
	.send_one = emu_send_one,
	.recv_one = emu_recv_one,
	.cq_spin = emu_cq_spin,
	.spin_one = emu_spin_one,
	.spin_one_traced = emu_spin_one_traced,

	/* cm.c: connection management */
	.listen = emu_listen,
	.unlisten = emu_unlisten,
	.connect = emu_connect,
	.accept = emu_accept,
	.confirm = emu_confirm,
	.refuse = emu_refuse,
	.reject = emu_reject,
	.handoff = emu_handoff,

	/* fabric/clock.c: virtual time and waiting */
	.now = emu_now,
	.wait = emu_wait,
	.sim_step = emu_step,
	.sim_pending = emu_pending,

	/* hostile/posted.c */
	.sim_violations = emu_posted_violations,

	/* wire/link.c, wire/rules.c: links, holds, packet rules */
	.sim_set_link = emu_set_link,
	.sim_hold_link = emu_hold_link,
	.sim_release_link = emu_release_link,
	.sim_port = emu_port_set,
	.sim_hold_message = emu_hold_message,
	.sim_release_message = emu_release_message,
	.packet_rule_add = emu_rule_add,
	.packet_rule_fired = emu_rule_fired,
	.packet_rules_clear = emu_rules_clear,

	/* fabric/trace.c */
	.sim_trace = emu_trace_switch,
	.sim_trace_read = emu_trace_read,
	.trace = emu_trace_vline,
	.trace_event = emu_trace_event,
};

/* ---- what an event does ---- */

void emu_dispatch(struct emu_world *w, struct emu_event *e)
{
	if (w->fab->observed > 0 && emu_wire_takes(w, e))
		return;
	switch (emu_event_kind(e)) {
	case EMU_EV_DATA:
	case EMU_EV_DATA_REST:
	case EMU_EV_LAND:
		if (!emu_qp_stale(emu_qp_at(w, e->qp), e))
			emu_respond(w, emu_qp_at(w, e->qp), e->index, e->packet, emu_event_kind(e));
		break;
	case EMU_EV_ACK:
		emu_retry_ack(w, e);
		break;
	case EMU_EV_RNR:
	case EMU_EV_NAK:
	case EMU_EV_NAK_SEQUENCE:
	case EMU_EV_RNR_TIMER:
		emu_tx_answer(w, e);
		break;
	case EMU_EV_RESPONSE:
	case EMU_EV_RESPONSE_REST:
	case EMU_EV_LAND_RESPONSE:
		emu_retry_response(w, e);
		break;
	case EMU_EV_RETRY_TIMER:
		emu_retry_timer(w, e);
		break;
	case EMU_EV_ACK_DUE:
		emu_respond_ack_due(w, e);
		break;
	case EMU_EV_TERMINATE:
	case EMU_EV_BREAK:
	case EMU_EV_DISCONNECT:
		emu_qp_end_event(w, e);
		break;
	case EMU_EV_CM_REQUEST:
	case EMU_EV_CM_REPLY:
	case EMU_EV_CM_READY:
	case EMU_EV_CM_GONE:
	case EMU_EV_CM_TIMEOUT:
		emu_cm_event(w, e);
		break;
	case EMU_EV_UNANSWERED:
		emu_unreliable.arrives(w, e);
		break;
	case EMU_EV_SENT:
		emu_sent_event(w, e);
		break;
	case EMU_EV_RETRY_EARLY:
		emu_retry_early(w, e);
		break;
	case EMU_EV_ALARM:
		emu_qp_alarm_event(w, e);
		break;
	case EMU_EV_NONE:
	case EMU_EV_COUNT:
		EMU_SURE(w, false);
	}
}

/*
 * ---- a message arrives ----
 *
 * The sender's requester (tx.c) queued a DATA event for the time at which the message arrives. The
 * work request stays on the send queue until it is acknowledged, so the event holds only its index.
 *
 * Nearly every message is a Send of one packet that is expected next, finds a Receive, and needs no
 * check of a key, limit or rule: quick.c does it all at once. All others go through the steps
 * below, one check at a time. receive.h has the code that both paths share with direct delivery
 * between processes (emu/shared/direct.c).
 */

/*
 * ---- step by step ----
 *
 * A packet (or the rest of a message) passes these steps; each looks at one thing and names the
 * next. A Send of one packet takes CONNECTION, TURN, OPCODE, BUFFER, LIMIT, PLACE, FINISH,
 * WAITING. Of several packets the first ends in KEEP in place of FINISH; each later one goes from
 * OPCODE to PLACE, and the last from there to WAITING. The steps are in respond.c;
 * those about order and acknowledgement in wire/sequence.c. RDMA keeps its part in rdma.c, messages
 * that are not complete in partial.c.
 */
static const struct {
	const char *name;
	enum emu_step (*run)(struct emu_world *w, struct emu_arrival *a);
} steps[EMU_STEPS] = {
	[EMU_STEP_CONNECTION] = { "CONNECTION", emu_step_connection },
	[EMU_STEP_TURN] = { "TURN", emu_step_turn },
	[EMU_STEP_OPCODE] = { "OPCODE", emu_step_opcode },
	[EMU_STEP_KEY] = { "KEY", emu_step_key },
	[EMU_STEP_BUFFER] = { "BUFFER", emu_step_buffer },
	[EMU_STEP_LIMIT] = { "LIMIT", emu_step_limit },
	[EMU_STEP_PLACE] = { "PLACE", emu_step_place },
	[EMU_STEP_LAND] = { "LAND", emu_step_land },
	[EMU_STEP_KEEP] = { "KEEP", emu_step_keep },
	[EMU_STEP_ANSWER] = { "ANSWER", emu_step_answer },
	[EMU_STEP_FINISH] = { "FINISH", emu_step_finish },
	[EMU_STEP_WAITING] = { "WAITING", emu_step_waiting },
	[EMU_STEP_NOT_READY] = { "NOT_READY", emu_step_not_ready },
	[EMU_STEP_PARK] = { "PARK", emu_step_park },
	[EMU_STEP_SEQUENCE] = { "SEQUENCE", emu_step_sequence },
	[EMU_STEP_DUPLICATE] = { "DUPLICATE", emu_step_duplicate },
	[EMU_STEP_INJECT] = { "INJECT", emu_step_inject },
	[EMU_STEP_REFUSE] = { "REFUSE", emu_step_refuse },
	[EMU_STEP_UNSENT] = { "UNSENT", emu_step_unsent },
	[EMU_STEP_SILENT] = { "SILENT", emu_step_silent },
	[EMU_STEP_IGNORE] = { "IGNORE", emu_step_ignore },
	[EMU_STEP_DONE] = { "DONE", NULL },
};

const char *emu_step_name(enum emu_step step)
{
	return steps[step].name;
}

static void run_steps(struct emu_world *w, struct emu_arrival *a)
{
	enum emu_step next = EMU_STEP_CONNECTION;

	while (next != EMU_STEP_DONE) {
		enum emu_step step = next;

		next = steps[step].run(w, a);
		a->at = step;
	}
}

void emu_respond(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet,
		 enum emu_event_kind kind)
{
	struct emu_arrival a = { .qp = qp, .index = index, .packet = packet, .kind = kind };

	run_steps(w, &a);
}

void emu_respond_injected(struct emu_world *w, struct emu_qp *qp, uint32_t index, uint32_t packet,
			  const struct nic_packet_rule *rule)
{
	struct emu_arrival a = { .qp = qp,
				 .index = index,
				 .packet = packet,
				 .kind = EMU_EV_DATA,
				 .rule = rule };

	run_steps(w, &a);
}
