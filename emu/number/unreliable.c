/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester of a QP whose packets are never answered: posting, the packets of a request one
 * after the other, completion.
 */
#include "unreliable.h"
#include "unreliable_land.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/fabric/adapter.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/trace.h"
#include "emu/wire/link.h"
#include "emu/wire/links.h"
#include "emu/fabric/group.h"
#include "emu/mem.h"
#include "number.h"
#include "pause.h"
#include "emu/qp.h"
#include "emu/tx.h"

#define PACKET_MASK ((1u << EMU_EV_TRIES) - 1)

_Static_assert(EMU_MEMBERS < EMU_EVENTS_RESERVE / 2, "the copies of a datagram need no more");

static struct emu_path *path_of(struct emu_world *w, const struct emu_qp *qp)
{
	return &EMU_AT(w->fab->path, emu_qp_index(w, qp));
}

/* ---- completion ---- */

/* In the order of posting. One that waits in a pause has its packets left. */
static void retire_finished(struct emu_world *w, struct emu_qp *qp)
{
	for (uint32_t n = 0; emu_wq_count(&qp->sq) > 0 && n < EMU_MAX_QP_WR; n++) {
		const struct emu_letter *letter = emu_letter(emu_wqe(w, &qp->sq, qp->sq.get));

		if (letter->left > 0)
			return;
		emu_tx_retire(w, qp, (enum nic_wc_status)letter->status);
		emu_pause_retired(w, qp);
	}
}

/* A packet has arrived or is lost; or the request failed, and none of it will be sent any more. */
static void finish_packet(struct emu_world *w, struct emu_qp *qp, const struct emu_event *event)
{
	uint32_t packet = event->packet & PACKET_MASK;
	struct emu_swqe *wqe = emu_wqe(w, &qp->sq, event->index);
	struct emu_letter *letter = emu_letter(wqe);

	if (qp->kind == NIC_QP_DATAGRAM)
		letter->left -= letter->left > 0;
	else if (letter->status != NIC_WC_SUCCESS || packet + 1 >= emu_wire_packets(w, qp, wqe))
		letter->left = 0;
	retire_finished(w, qp);
}

/* ---- the packets of a connected QP ---- */

static void schedule_packet(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
			    uint32_t packet, uint64_t time)
{
	if (time < w->fab->now)
		time = w->fab->now;
	emu_schedule(w, time, EMU_EV_UNANSWERED, emu_qp_index(w, qp), qp->epoch, index, packet);
}

/* The first packet of the oldest request that has none on the wire; or that request failed. */
static void start_next(struct emu_world *w, struct emu_qp *qp)
{
	uint32_t end = emu_pause_end(w, qp);

	for (uint32_t n = 0; qp->sq_next != end && n < EMU_MAX_QP_WR; n++) {
		const struct emu_letter *letter = emu_letter(emu_wqe(w, &qp->sq, qp->sq_next));

		if (letter->left > 0) {
			schedule_packet(w, qp, qp->sq_next, 0, letter->arrival);
			return;
		}
		qp->sq_next++;
	}
}

static void unreliable_go_on(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);
	uint32_t packet = event->packet & PACKET_MASK;
	uint64_t mtu = emu_wire_mtu(w, qp), left;
	struct emu_swqe *wqe;

	if (emu_qp_stale(qp, event) || qp->kind == NIC_QP_DATAGRAM ||
	    !emu_wq_has(&qp->sq, event->index))
		return;
	wqe = emu_wqe(w, &qp->sq, event->index);
	if (qp->sq_next != event->index || emu_letter(wqe)->packet != packet)
		return;
	emu_letter(wqe)->packet++;
	if (packet + 1 < emu_wire_packets(w, qp, wqe)) {
		left = wqe->length - (packet + 1) * mtu;
		schedule_packet(w, qp, event->index, packet + 1,
				w->fab->now + emu_link_serialise(&EMU_AT(w->fab->link, qp->link),
								 left < mtu ? left : mtu));
		return;
	}
	qp->sq_next++;
	start_next(w, qp);
}

/* ---- posting ---- */

/* The adapter's own link to itself stands for the way to an adapter that does not exist. */
static uint32_t link_to(struct emu_world *w, struct emu_qp *qp, uint16_t number)
{
	uint16_t adapter = emu_adapter_by_number(w, number);

	return emu_link_get(w, qp->adapter, adapter ? adapter : qp->adapter);
}

static uint64_t put_on_wire(struct emu_world *w, const struct emu_qp *qp, uint32_t link,
			    uint32_t bytes)
{
	uint32_t mtu = emu_wire_mtu(w, qp);

	if (!link) /* no memory for one of its own, so without a queue of packets */
		return emu_link_answer(w->fab, link);
	return emu_link_transmit(w->fab, &EMU_AT(w->fab->link, link), bytes,
				 bytes < mtu ? bytes : mtu);
}

static bool keys_allow(struct emu_world *w, const struct emu_qp *qp, const struct nic_send_wr *wr)
{
	struct emu_sgl own = { .pd = qp->pd,
			       .access = NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE };

	for (uint32_t i = 0; i < wr->num_sge; i++)
		if (wr->sge[i].length > 0 && !emu_key_allows(w, &own, &wr->sge[i]))
			return false;
	return true;
}

static enum nic_wc_status copy_message(struct emu_world *w, const struct emu_qp *qp,
				       const struct nic_send_wr *wr, uint8_t *to)
{
	if (wr->length > w->config.mtu)
		return NIC_WC_LOCAL_LENGTH;
	if (!keys_allow(w, qp, wr))
		return NIC_WC_LOCAL_PROTECTION;
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		const struct nic_sge *sge = &wr->sge[i];

		if (sge->length == 0)
			continue;
		if (emu_guard_copy(to, emu_memory(sge->addr), sge->length))
			return NIC_WC_LOCAL_PROTECTION;
		to += sge->length;
	}
	return NIC_WC_SUCCESS;
}

static void take_datagram(struct emu_world *w, const struct emu_qp *qp,
			  const struct nic_send_wr *wr, struct emu_letter *letter)
{
	const struct nic_to *to = wr->to;
	uint8_t *message = (uint8_t *)(letter + 1);

	letter->adapter = to->adapter;
	letter->to = to->qp;
	letter->qkey = to->qkey;
	letter->sl = to->sl;
	letter->global = to->global;
	letter->group = to->qp == NIC_QP_GROUP && to->global;
	memset(message, 0, NIC_GRH);
	if (to->global)
		memcpy(message, to->grh, NIC_GRH);
	if (letter->status == NIC_WC_SUCCESS)
		letter->status = (uint8_t)copy_message(w, qp, wr, message + NIC_GRH);
}

/* A key that becomes invalid after the post is found when the packet arrives. */
static void take_connected(struct emu_world *w, struct emu_qp *qp, const struct nic_send_wr *wr,
			   struct emu_swqe *wqe)
{
	struct emu_letter *letter = emu_letter(wqe);

	if (letter->status == NIC_WC_SUCCESS && !keys_allow(w, qp, wr))
		letter->status = NIC_WC_LOCAL_PROTECTION;
	wqe->num_sge = wr->num_sge;
	emu_copy_sge((struct nic_sge *)(letter + 1), wr->sge, wr->num_sge);
}

/* A copy for each member; if there is none, one that has no receiver. */
static void send_to_group(struct emu_world *w, const struct emu_qp *qp, uint32_t index,
			  struct emu_letter *letter)
{
	const uint8_t *gid = emu_letter_group(letter);
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);
	uint32_t place = 0, to = emu_group_next(w, gid, &place);

	letter->left = 0;
	do {
		uint32_t link =
			emu_link_get(w, qp->adapter, to ? emu_qp_at(w, to)->adapter : qp->adapter);

		letter->left++;
		schedule_packet(w, qp, index, to, put_on_wire(w, qp, link, wqe->length));
		to = emu_group_next(w, gid, &place);
	} while (to);
}

/*
 * It is lost if the event queue is full. A post fails then; but all that waited in a pause is sent
 * at once. The copies for one group always have room.
 */
static void send_datagram(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);
	struct emu_letter *letter = emu_letter(emu_wqe(w, &qp->sq, index));

	qp->sq_next = index + 1;
	if (!emu_clock_has_room(w))
		letter->left = 0;
	if (letter->left == 0)
		return;
	if (letter->group)
		send_to_group(w, qp, index, letter);
	else
		schedule_packet(w, qp, index, emu_number_index(letter->to),
				put_on_wire(w, qp, link_to(w, qp, letter->adapter), wqe->length));
}

/* It goes where the path leads now, which may have changed in a pause. */
static void send_connected(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	const struct emu_path *path = path_of(w, qp);
	const struct emu_swqe *wqe = emu_wqe(w, &qp->sq, index);
	struct emu_letter *letter = emu_letter(emu_wqe(w, &qp->sq, index));

	letter->adapter = path->adapter;
	letter->to = path->to;
	qp->link = link_to(w, qp, letter->adapter);
	if (letter->left)
		letter->arrival = put_on_wire(w, qp, qp->link, wqe->length);
	emu_wire_count(w, qp, index);
	if (qp->sq_next == index)
		start_next(w, qp);
}

/* A request begins. If it fails here, or is behind one that did, it has no packet. */
static void begin_request(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	struct emu_letter *letter = emu_letter(emu_wqe(w, &qp->sq, index));
	struct emu_path *path = path_of(w, qp);

	if (path->stopped)
		letter->status = NIC_WC_FLUSHED;
	letter->left = letter->status == NIC_WC_SUCCESS;
	path->stopped |= !letter->left && letter->status != NIC_WC_FLUSHED;
}

static void send_request(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	if (qp->kind == NIC_QP_DATAGRAM)
		send_datagram(w, qp, index);
	else
		send_connected(w, qp, index);
}

/* All begin before the first one is sent, for that looks for the next one that has a packet. */
static void unreliable_resume(struct emu_world *w, struct emu_qp *qp)
{
	uint32_t first = path_of(w, qp)->pause_at, count = qp->sq.put - first;

	for (uint32_t n = 0; n < count && n < EMU_MAX_QP_WR; n++)
		begin_request(w, qp, first + n);
	for (uint32_t n = 0; n < count && n < EMU_MAX_QP_WR; n++)
		send_request(w, qp, first + n);
	retire_finished(w, qp);
}

static bool has_request(const struct emu_qp *qp, const struct nic_send_wr *wr)
{
	if (qp->kind == NIC_QP_DATAGRAM)
		return wr->opcode == NIC_OP_SEND && wr->to && wr->num_sge <= qp->max_send_sge;
	return (wr->opcode == NIC_OP_SEND || wr->opcode == NIC_OP_WRITE) &&
	       wr->num_sge <= qp->max_send_sge;
}

static int unreliable_post(struct emu_world *w, struct emu_qp *qp, const struct nic_send_wr *wr)
{
	const struct emu_path *path = path_of(w, qp);
	bool sends = path->sends && !path->stopped;
	struct emu_letter *letter;
	struct emu_swqe *wqe;

	if (qp->state != EMU_QP_UNANSWERED || !has_request(qp, wr))
		return -EINVAL;
	if (emu_wq_count(&qp->sq) >= qp->sq.max)
		return -EAGAIN;
	if (!emu_clock_has_room(w))
		return -ENOMEM;
	wqe = emu_wqe(w, &qp->sq, qp->sq.put++);
	*wqe = (struct emu_swqe){ .wr_id = wr->wr_id,
				  .remote_addr = wr->remote_addr,
				  .rkey = wr->rkey,
				  .length = wr->length,
				  .message = qp->sq.put,
				  .opcode = wr->opcode,
				  .flags = wr->flags,
				  .step = wr->imm };
	if (emu_posted_on(w))
		wqe->mem_epoch = emu_posted_request(w, qp, wr, wqe->message);
	letter = emu_letter(wqe);
	*letter =
		(struct emu_letter){ .status = sends ? NIC_WC_SUCCESS : NIC_WC_FLUSHED, .left = 1 };
	if (w->fab->trace_on)
		emu_trace_post(w, qp, wr, wqe->message);
	if (qp->kind == NIC_QP_DATAGRAM)
		take_datagram(w, qp, wr, letter);
	else
		take_connected(w, qp, wr, wqe);
	if (!qp->paused) {
		begin_request(w, qp, qp->sq.put - 1);
		send_request(w, qp, qp->sq.put - 1);
	}
	retire_finished(w, qp);
	return 0;
}

/* ---- packets ---- */

uint32_t emu_unreliable_to(struct emu_world *w, const struct emu_event *event)
{
	const struct emu_qp *qp = emu_qp_at(w, event->qp);
	uint32_t to = qp->kind == NIC_QP_DATAGRAM ? event->packet & PACKET_MASK
						  : emu_number_index(path_of(w, qp)->to);

	return to <= EMU_QPS ? to : 0;
}

/* Another QP may have the index by now. */
static bool is_for(struct emu_world *w, const struct emu_letter *letter, const struct emu_qp *to)
{
	return letter->to == emu_number_of(w, emu_qp_index(w, to)) &&
	       letter->adapter == to->adapter;
}

static bool find_request(struct emu_world *w, const struct emu_event *event,
			 struct emu_unanswered *u)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp), *to;
	const struct emu_letter *letter;

	if (emu_qp_stale(qp, event) || qp->state != EMU_QP_UNANSWERED ||
	    !emu_wq_has(&qp->sq, event->index))
		return false;
	*u = (struct emu_unanswered){ .sender = qp,
				      .swqe = emu_wqe(w, &qp->sq, event->index),
				      .index = event->index,
				      .packets = 1 };
	if (u->swqe->opcode > NIC_OP_WRITE)
		return false; /* garbage */
	if (qp->kind == NIC_QP_UNRELIABLE) {
		u->packet = event->packet & PACKET_MASK;
		u->packets = emu_wire_packets(w, qp, u->swqe);
	}
	to = emu_qp_at(w, emu_unreliable_to(w, event));
	letter = emu_letter(u->swqe);
	if (to->head.live && to->kind == qp->kind && to->state == EMU_QP_UNANSWERED &&
	    (letter->group || is_for(w, letter, to)))
		u->qp = to;
	return true;
}

static bool unreliable_packet(struct emu_world *w, const struct emu_event *event,
			      struct emu_packet *p)
{
	static const char *const ops[2][2][4] = {
		{ { "UC_SEND_MIDDLE", "UC_SEND_FIRST", "UC_SEND_LAST", "UC_SEND_ONLY" },
		  { "UC_WRITE_MIDDLE", "UC_WRITE_FIRST", "UC_WRITE_LAST", "UC_WRITE_ONLY" } },
		{ { "UD_SEND_ONLY", "UD_SEND_ONLY", "UD_SEND_ONLY", "UD_SEND_ONLY" },
		  { "UD_SEND_ONLY", "UD_SEND_ONLY", "UD_SEND_ONLY", "UD_SEND_ONLY" } },
	};
	struct emu_unanswered u;

	if (!find_request(w, event, &u))
		return false;
	*p = (struct emu_packet){
		.what = u.swqe->opcode == NIC_OP_WRITE ? NIC_PACKET_WRITE : NIC_PACKET_SEND,
		.from = u.sender->adapter,
		.source = u.sender,
		.target = u.qp,
		.requester = u.sender,
		.request = u.swqe,
		.index = u.index,
		.packet = u.packet,
		.first = u.packet == 0,
		.last = u.packet + 1 >= u.packets,
		.unanswered = true,
	};
	p->to = u.qp ? u.qp->adapter : emu_adapter_by_number(w, emu_letter(u.swqe)->adapter);
	p->op = ops[u.sender->kind == NIC_QP_DATAGRAM][u.swqe->opcode == NIC_OP_WRITE]
		   [2 * p->last + p->first];
	return true;
}

static void trace_packet(struct emu_world *w, const struct emu_event *event,
			 const struct emu_unanswered *u)
{
	uint64_t mtu = emu_wire_mtu(w, u->sender), left = u->swqe->length - u->packet * mtu;
	char to[EMU_NAME + 16], key[24] = "";
	struct emu_packet p;

	if (!unreliable_packet(w, event, &p))
		return;
	if (u->qp)
		snprintf(to, sizeof(to), EMU_QP, EMU_QP_OF(w, u->qp));
	else
		snprintf(to, sizeof(to), "%s", emu_adapter_name(w, p.to));
	if (u->sender->kind == NIC_QP_DATAGRAM)
		snprintf(key, sizeof(key), " qkey=%u", emu_letter(u->swqe)->qkey);
	emu_trace_line(w, EMU_QP " packet to=%s op=%s message=%u packet=%u bytes=%lu psn=%u%s",
		       EMU_QP_OF(w, u->sender), to, p.op, u->swqe->message, u->packet,
		       left < mtu ? left : mtu, emu_wire_psn(w, u->sender, u->index, u->packet),
		       key);
}

/*
 * The request fails, and those behind it are flushed, which ends a pause. Their packets on the way
 * will be ignored.
 */
static void fail_request(struct emu_world *w, const struct emu_unanswered *u,
			 enum nic_wc_status status)
{
	struct emu_qp *qp = u->sender;

	emu_letter(u->swqe)->status = (uint8_t)status;
	path_of(w, qp)->stopped = true;
	for (uint32_t i = u->index + 1, n = 0; i != qp->sq.put && n < EMU_MAX_QP_WR; i++, n++) {
		struct emu_letter *letter = emu_letter(emu_wqe(w, &qp->sq, i));

		letter->left = 0;
		letter->status = NIC_WC_FLUSHED;
	}
	qp->paused = false;
	qp->sq_next = qp->sq.put;
}

static void unreliable_arrives(struct emu_world *w, const struct emu_event *event)
{
	struct emu_unanswered u;
	enum nic_wc_status status;

	if (!find_request(w, event, &u) || emu_unreliable_lands(w, event, &u))
		return;
	if (w->fab->trace_on)
		trace_packet(w, event, &u);
	unreliable_go_on(w, event);
	status = emu_unreliable_deliver(w, &u);
	if (status != NIC_WC_SUCCESS)
		fail_request(w, &u, status);
	if (!emu_qp_stale(u.sender, event))
		finish_packet(w, u.sender, event);
}

static void unreliable_lost(struct emu_world *w, const struct emu_event *event)
{
	struct emu_qp *qp = emu_qp_at(w, event->qp);

	if (emu_qp_stale(qp, event) || !emu_wq_has(&qp->sq, event->index))
		return;
	unreliable_go_on(w, event);
	finish_packet(w, qp, event);
}

const struct emu_unreliable emu_unreliable = {
	.post = unreliable_post,
	.resume = unreliable_resume,
	.packet = unreliable_packet,
	.go_on = unreliable_go_on,
	.arrives = unreliable_arrives,
	.lost = unreliable_lost,
};
