/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes an event as a packet: its ends, its work request, its number in the request, its
 * opcode.
 */
#include <stdio.h>

#include "emu/fabric/clock.h"
#include "emu/qp.h"
#include "emu/rdma.h"
#include "emu/number/unreliable.h"
#include "emu/fabric/trace.h"
#include "wire.h"
#include "emu/fabric/adapter.h"

static const struct {
	const char *op;
	enum nic_packet what; /* 0: no packet */
} kinds[EMU_EV_COUNT] = {
	[EMU_EV_DATA] = { "SEND", NIC_PACKET_SEND },
	[EMU_EV_DATA_REST] = { "SEND", NIC_PACKET_SEND },
	[EMU_EV_ACK] = { "ACK", NIC_PACKET_ACK },
	[EMU_EV_RNR] = { "RNR_NAK", NIC_PACKET_RNR_NAK },
	[EMU_EV_NAK] = { "NAK", NIC_PACKET_NAK },
	[EMU_EV_NAK_SEQUENCE] = { "NAK_SEQUENCE", NIC_PACKET_NAK },
	[EMU_EV_RESPONSE] = { "READ_RESPONSE", NIC_PACKET_READ_RESPONSE },
	[EMU_EV_RESPONSE_REST] = { "READ_RESPONSE", NIC_PACKET_READ_RESPONSE },
	[EMU_EV_TERMINATE] = { "TERMINATE", NIC_PACKET_DISCONNECT },
	[EMU_EV_DISCONNECT] = { "CM_DREQ", NIC_PACKET_DISCONNECT },
	[EMU_EV_CM_REQUEST] = { "CM_REQ", NIC_PACKET_CM },
	[EMU_EV_CM_REPLY] = { "CM_REP", NIC_PACKET_CM },
	[EMU_EV_CM_READY] = { "CM_RTU", NIC_PACKET_CM },
	[EMU_EV_UNANSWERED] = { "SEND", NIC_PACKET_SEND },
	[EMU_EV_CM_GONE] = { "CM_GONE", NIC_PACKET_CM },
};

/*
 * The half-open QP whose peer was the event's QP in that epoch. Rare, so a linear search will do.
 */
static struct emu_qp *find_half_open(struct emu_world *w, const struct emu_event *event)
{
	for (uint32_t i = 1; i <= EMU_HIGH(w->fab, qps, qp) && emu_go_on(w); i++) {
		struct emu_qp *qp = &w->fab->qp[i];

		if (qp->head.live && qp->half_open && qp->peer == event->qp &&
		    qp->peer_epoch == event->epoch)
			return qp;
	}
	return NULL;
}

static void set_request(struct emu_world *w, struct emu_packet *p, const struct emu_event *event)
{
	const struct emu_qp *qp = p->requester;

	p->index = event->index;
	p->packet = event->packet & ((1u << EMU_EV_TRIES) - 1);
	if (!qp || event->index - qp->sq.get >= emu_wq_count(&qp->sq))
		return;
	p->request = emu_wqe(w, &qp->sq, event->index);
}

static void set_data(struct emu_world *w, struct emu_packet *p, const struct emu_event *event)
{
	static const char *const ops[][4] = {
		{ "SEND_MIDDLE", "SEND_FIRST", "SEND_LAST", "SEND_ONLY" },
		{ "WRITE_MIDDLE", "WRITE_FIRST", "WRITE_LAST", "WRITE_ONLY" },
		{ "READ_REQUEST", "READ_REQUEST", "READ_REQUEST", "READ_REQUEST" },
	};

	uint8_t opcode;

	p->requester = p->source;
	set_request(w, p, event);
	if (!p->request)
		return;
	opcode = p->request->opcode;
	if (!emu_rdma_goes_over_wire(opcode)) {
		p->request = NULL; /* garbage: no such request goes over the wire */
		return;
	}
	p->first = p->packet == 0;
	p->last = p->packet + 1 >= emu_wire_packets(w, p->requester, p->request);
	if (emu_rdma_is_atomic(opcode)) {
		p->op = opcode == NIC_OP_SWAP ? "COMPARE_SWAP" : "FETCH_ADD";
		p->what = NIC_PACKET_READ_REQUEST;
		return;
	}
	p->op = ops[opcode][2 * p->last + p->first];
	p->what = (enum nic_packet)(NIC_PACKET_SEND << opcode);
}

static bool set_connection(struct emu_world *w, struct emu_packet *p, const struct emu_event *event)
{
	const struct emu_conn *conn = &EMU_AT(w->fab->conn, event->index);
	bool request = emu_event_kind(event) == EMU_EV_CM_REQUEST;

	/* A duplicate of a request that has been answered. */
	if (!conn->head.live || conn->qp != event->qp || conn->epoch != event->epoch)
		return false;
	p->from = request ? conn->from : conn->to;
	p->to = request ? conn->to : conn->from;
	if (request)
		p->source = emu_qp_at(w, conn->qp);
	else
		p->target = emu_qp_at(w, conn->qp);
	return true;
}

bool emu_packet_of(struct emu_world *w, const struct emu_event *event, struct emu_packet *p)
{
	enum emu_event_kind kind = emu_event_kind(event);
	struct emu_qp *target;

	if (!kinds[kind].what)
		return false;
	*p = (struct emu_packet){ .op = kinds[kind].op,
				  .what = kinds[kind].what,
				  .first = true,
				  .last = true };
	if (kind == EMU_EV_UNANSWERED)
		return emu_unreliable.packet(w, event, p);
	if (kind == EMU_EV_CM_REQUEST || kind == EMU_EV_CM_REPLY)
		return set_connection(w, p, event);
	target = emu_qp_at(w, event->qp);
	p->to = target->adapter;
	p->from = target->peer_adapter;
	if (target->epoch == event->epoch) {
		p->target = target;
		p->source = emu_qp_at(w, target->peer);
		if (p->source->epoch != target->peer_epoch)
			p->source = NULL;
	} else {
		p->source = find_half_open(w, event);
		p->unheard = p->source != NULL;
		if (p->source) {
			p->from = p->source->adapter;
			p->to = p->source->peer_adapter;
		}
	}
	if (kind == EMU_EV_DATA || kind == EMU_EV_DATA_REST) {
		set_data(w, p, event);
	} else if (p->what & (NIC_PACKET_ACK | NIC_PACKET_NAK | NIC_PACKET_RNR_NAK |
			      NIC_PACKET_READ_RESPONSE)) {
		p->requester = p->target;
		set_request(w, p, event);
	}
	if (p->what & (NIC_PACKET_NAK | NIC_PACKET_RNR_NAK) && kind != EMU_EV_NAK_SEQUENCE)
		p->packet = 0; /* the NAK is for the whole request */
	else if (p->what == NIC_PACKET_ACK && p->request)
		p->packet = emu_wire_span(w, p->requester, p->request) - 1;
	if (p->what == NIC_PACKET_READ_RESPONSE && p->request) {
		p->first = p->packet == 0 || (p->request->flags & EMU_READ_RESUMED);
		p->last = p->packet + 1 >= emu_wire_span(w, p->requester, p->request);
	}
	return true;
}

static size_t end_text(struct emu_world *w, const struct emu_qp *qp, const char *key, char *text,
		       size_t size)
{
	if (!qp)
		return 0;
	return (size_t)snprintf(text, size, " %s=" EMU_QP, key, EMU_QP_OF(w, qp));
}

void emu_packet_text(struct emu_world *w, const struct emu_packet *p, char text[EMU_PACKET_TEXT])
{
	const size_t size = EMU_PACKET_TEXT;
	size_t n = (size_t)snprintf(text, size, "op=%s", p->op);

	n += end_text(w, p->source, "from", text + n, size - n);
	n += end_text(w, p->target, "to", text + n, size - n);
	uint32_t packet = p->packet;

	/* A READ is asked for again from where its response broke off. */
	if (p->request && p->what == NIC_PACKET_READ_REQUEST)
		packet = emu_rdma_asked(p->request);
	if (p->request)
		snprintf(text + n, size - n, " message=%u packet=%u psn=%u", p->request->message,
			 packet, emu_wire_psn(w, p->requester, p->index, packet));
}
