/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder of a QP whose packets are never answered: what it cannot take, it drops.
 */
#include "emu/fabric/adapter.h"
#include "emu/fabric/group.h"
#include "emu/fabric/trace.h"
#include "emu/mem.h"
#include "number.h"
#include "pause.h"
#include "emu/qp.h"
#include "emu/receive.h"
#include "unreliable_land.h"
#include "emu/upcall.h"

/* rx_packet of a QP that waits for the first packet of a message. */
#define NO_PACKET UINT32_MAX

static void ignore_packet(struct emu_world *w, const struct emu_unanswered *u, const char *why)
{
	if (!w->fab->trace_on)
		return;
	emu_trace_line(w, EMU_QP " ignore at=%s message=%u packet=%u psn=%u", EMU_QP_OF(w, u->qp),
		       why, u->swqe->message, u->packet,
		       emu_wire_psn(w, u->sender, u->index, u->packet));
}

static const struct emu_path *path_of(struct emu_world *w, const struct emu_qp *qp)
{
	return &EMU_AT(w->fab->path, emu_qp_index(w, qp));
}

/* ---- the Receive ---- */

static uint64_t room_of(const struct emu_rwqe *wqe)
{
	uint64_t room = 0;

	for (uint32_t i = 0; i < wqe->num_sge && i < EMU_MAX_SGE; i++)
		room += wqe->sge[i].length;
	return room;
}

static void take_receive(struct emu_world *w, struct emu_qp *qp)
{
	struct emu_srq *srq = emu_recv_srq(w, qp);
	struct emu_wq *wq = emu_recv_queue(qp, srq);

	emu_recv_take(qp, wq);
	if (!srq || emu_wq_count(wq) >= srq->limit)
		return;
	srq->limit = 0;
	emu_up_srq_limit(w, qp->srq);
}

/* A local key does not permit it: that is the end of this QP, and no matter of the sender's. */
static void fail_receive(struct emu_world *w, struct emu_qp *qp, const struct emu_rwqe *wqe)
{
	emu_complete_recv(w, qp, wqe, NIC_WC_LOCAL_PROTECTION);
	emu_qp_end(w, qp, NIC_END_BROKEN, EMU_EV_NONE);
}

static void complete_receive(struct emu_world *w, const struct emu_unanswered *u,
			     const struct emu_rwqe *wqe, uint32_t more)
{
	struct emu_told told = emu_recv_told(u->swqe);

	u->qp->rx_next = u->swqe->message; /* the trace numbers the completion so */
	told.length += more;
	if (emu_letter(u->swqe)->global)
		told.flags |= NIC_WR_GLOBAL;
	emu_complete_message(w, u->qp, wqe, &told);
}

static struct emu_sgl receive_sgl(struct emu_world *w, const struct emu_qp *qp,
				  const struct emu_rwqe *wqe)
{
	return (struct emu_sgl){ .sge = wqe->sge,
				 .num_sge = wqe->num_sge,
				 .posted = wqe->mem_epoch,
				 .pd = qp->srq ? EMU_AT(w->fab->srq, qp->srq).pd : qp->pd,
				 .adapter = qp->adapter,
				 .access = NIC_ACCESS_LOCAL_WRITE };
}

/* ---- a datagram ---- */

/* posted: the record of the Receive, if there are any (emu/hostile/posted.h). */
static bool store_bytes(struct emu_world *w, const struct emu_qp *qp, uint32_t posted,
			uint64_t addr, const void *from, uint64_t length)
{
	struct emu_place to = { EMU_AT(w->fab->adapters, qp->adapter).process, addr, posted };
	bool stored;

	if (emu_is_shared(w))
		return w->sharing->store(w, &to, from, length);
	emu_posted_look(w, posted, addr, length);
	stored = !emu_guard_copy(emu_memory(addr), from, length);
	emu_posted_wrote(w, addr, length);
	return stored;
}

/* Copy a message from the arena to the segments of a Receive. False: a key does not permit it. */
static bool scatter_message(struct emu_world *w, const struct emu_qp *qp,
			    const struct emu_rwqe *wqe, const uint8_t *from, uint32_t left)
{
	struct emu_sgl dst = receive_sgl(w, qp, wqe);

	for (uint32_t i = 0; left > 0 && i < wqe->num_sge && i < EMU_MAX_SGE; i++) {
		const struct nic_sge *sge = &wqe->sge[i];
		uint32_t n = sge->length < left ? sge->length : left;

		if (n == 0)
			continue;
		if (!emu_key_allows(w, &dst, sge) ||
		    !store_bytes(w, qp, wqe->mem_epoch, sge->addr, from, n))
			return false;
		from += n;
		left -= n;
	}
	return true;
}

/* The entry of the next completion; it counts only if the CQ has room. */
static void note_sender(struct emu_world *w, const struct emu_unanswered *u)
{
	const struct emu_cq *cq = &EMU_AT(w->fab->cq, u->qp->recv_cq);
	struct emu_cqe *cqe = (struct emu_cqe *)emu_at(w, cq->ring) + (cq->put & cq->mask);

	if (cq->put - cq->get >= cq->limit)
		return;
	cqe->src_qp = emu_number_of(w, emu_qp_index(w, u->sender));
	cqe->src_adapter = u->sender->adapter;
	cqe->src_sl = emu_letter(u->swqe)->sl;
}

static void deliver_datagram(struct emu_world *w, const struct emu_unanswered *u)
{
	const struct emu_letter *letter = emu_letter(u->swqe);
	uint32_t length = u->swqe->length < w->config.mtu ? u->swqe->length : w->config.mtu;
	struct emu_wq *wq = emu_recv_queue(u->qp, emu_recv_srq(w, u->qp));
	const struct emu_rwqe *wqe = emu_wqe(w, wq, wq->get);

	if (letter->group && !emu_group_has(w, emu_qp_index(w, u->qp), emu_letter_group(letter)))
		return ignore_packet(w, u, "GROUP");
	if (letter->qkey != path_of(w, u->qp)->qkey)
		return ignore_packet(w, u, "Q_KEY");
	if (emu_wq_count(wq) == 0)
		return ignore_packet(w, u, "NO_RECEIVE");
	if (room_of(wqe) < NIC_GRH + length)
		return ignore_packet(w, u, "LENGTH");
	take_receive(w, u->qp);
	if (!scatter_message(w, u->qp, wqe, (const uint8_t *)(letter + 1), NIC_GRH + length))
		return fail_receive(w, u->qp, wqe);
	note_sender(w, u);
	complete_receive(w, u, wqe, NIC_GRH);
}

/* ---- a packet of a connected QP ---- */

/* Is it the packet expected next, or the first one of a message? All before that is forgotten. */
static bool is_in_order(const struct emu_unanswered *u)
{
	struct emu_qp *qp = u->qp;

	if (u->packet > 0)
		return qp->rx_next == u->index && qp->rx_packet == u->packet;
	qp->rx_next = u->index;
	qp->rx_packet = 0;
	return true;
}

/* A message that is not received whole leaves its Receive to the next one. */
static const char *drop_rest(struct emu_qp *qp, const char *why)
{
	qp->rx_packet = NO_PACKET;
	return why;
}

/* If so, *place is the address of the message's first byte. */
static bool may_write(struct emu_world *w, const struct emu_unanswered *u, uint64_t *place)
{
	struct emu_remote remote = { .addr = u->swqe->remote_addr,
				     .length = u->swqe->length,
				     .rkey = u->swqe->rkey,
				     .access = NIC_ACCESS_REMOTE_WRITE,
				     .qp = emu_qp_index(w, u->qp) };

	if (!(path_of(w, u->qp)->access & NIC_ACCESS_REMOTE_WRITE))
		return false;
	if (remote.length > 0 && !emu_remote_allows(w, u->qp->pd, &remote))
		return false;
	*place = remote.place;
	return true;
}

/* Bytes [from, to) of a packet. */
static enum emu_copy copy_bytes(struct emu_world *w, const struct emu_unanswered *u,
				const struct emu_sgl *dst, uint64_t from, uint64_t to)
{
	uint64_t at = u->packet * (uint64_t)emu_wire_mtu(w, u->sender);
	struct emu_sgl src = { .sge = (struct nic_sge *)(emu_letter(u->swqe) + 1),
			       .num_sge = u->swqe->num_sge,
			       .posted = u->swqe->mem_epoch,
			       .pd = u->sender->pd,
			       .adapter = u->sender->adapter,
			       .access = NIC_ACCESS_LOCAL_READ | NIC_ACCESS_LOCAL_WRITE };

	return emu_copy(w, dst, &src, at + from, at + to);
}

static uint64_t packet_length(struct emu_world *w, const struct emu_unanswered *u)
{
	uint64_t mtu = emu_wire_mtu(w, u->sender), left = u->swqe->length - u->packet * mtu;

	return left < mtu ? left : mtu;
}

static enum emu_copy copy_packet(struct emu_world *w, const struct emu_unanswered *u,
				 const struct emu_sgl *dst)
{
	return copy_bytes(w, u, dst, 0, packet_length(w, u));
}

/* Place a packet; NULL: done, else why it is dropped. */
static const char *place_packet(struct emu_world *w, const struct emu_unanswered *u,
				enum nic_wc_status *status)
{
	bool write = u->swqe->opcode == NIC_OP_WRITE, last = u->packet + 1 >= u->packets;
	bool takes = last && emu_recv_is_taken_by(u->swqe);
	struct emu_qp *qp = u->qp;
	const struct emu_rwqe *wqe = emu_wqe(w, &qp->rq, qp->rq.get);
	struct nic_sge to = { .length = u->swqe->length };
	struct emu_sgl dst = { .sge = &to, .num_sge = 1, .adapter = qp->adapter, .allowed = true };
	enum emu_copy copied;

	if (!is_in_order(u))
		return "ORDER";
	if (qp->mtu != u->sender->mtu && (u->packets > 1 || u->swqe->length > qp->mtu))
		return "MTU";
	if ((takes || !write) && emu_wq_count(&qp->rq) == 0)
		return drop_rest(qp, "NO_RECEIVE");
	if (write && !may_write(w, u, &to.addr))
		return drop_rest(qp, "KEY");
	if (!write)
		dst = receive_sgl(w, qp, wqe);
	copied = copy_packet(w, u, &dst);
	if (copied == EMU_COPY_BAD_SOURCE) {
		*status = NIC_WC_LOCAL_PROTECTION;
		return drop_rest(qp, "UNSENT");
	}
	if (copied == EMU_COPY_TOO_LONG || (copied != EMU_COPY_OK && write))
		return drop_rest(qp, write ? "KEY" : "LENGTH");
	if (copied != EMU_COPY_OK) {
		take_receive(w, qp);
		fail_receive(w, qp, wqe);
		return NULL;
	}
	qp->rx_packet = last ? NO_PACKET : u->packet + 1;
	if (takes) {
		take_receive(w, qp);
		complete_receive(w, u, wqe, 0);
	}
	return NULL;
}

/* Does the path of the receiver lead back to the sender? */
static bool leads_back(struct emu_world *w, const struct emu_unanswered *u)
{
	const struct emu_path *back = path_of(w, u->qp);

	return back->to == emu_number_of(w, emu_qp_index(w, u->sender)) &&
	       back->adapter == u->sender->adapter;
}

/* ---- placement=tail, placement=random ---- */

struct landing {
	const struct emu_unanswered *u;
	const struct emu_sgl *dst;
};

static enum emu_copy land_bytes(struct emu_world *w, void *ctx, uint64_t from, uint64_t to)
{
	const struct landing *l = ctx;

	return copy_bytes(w, l->u, l->dst, from, to);
}

/* Is it taken, as place_packet decides later? */
static bool is_taken(struct emu_world *w, const struct emu_unanswered *u)
{
	const struct emu_qp *qp = u->qp;
	bool write = u->swqe->opcode == NIC_OP_WRITE, last = u->packet + 1 >= u->packets;

	if (!qp || !leads_back(w, u) || u->swqe->length == 0)
		return false;
	if (u->packet > 0 && (qp->rx_next != u->index || qp->rx_packet != u->packet))
		return false;
	if (qp->mtu != u->sender->mtu && (u->packets > 1 || u->swqe->length > qp->mtu))
		return false;
	if (!write)
		return emu_wq_count(&qp->rq) > 0;
	return !(last && emu_recv_is_taken_by(u->swqe)) || emu_wq_count(&qp->rq) > 0;
}

bool emu_unreliable_place(struct emu_world *w, const struct emu_unanswered *u, uint32_t stage)
{
	bool write = u->swqe->opcode == NIC_OP_WRITE;
	struct nic_sge to = { .length = u->swqe->length };
	struct emu_sgl dst = { .sge = &to, .num_sge = 1, .allowed = true };
	struct landing landing = { u, &dst };

	if (!is_taken(w, u) || (write && !may_write(w, u, &to.addr)))
		return false;
	dst.adapter = u->qp->adapter;
	if (!write)
		dst = receive_sgl(w, u->qp, emu_wqe(w, &u->qp->rq, u->qp->rq.get));
	return emu_land_stage(w, stage, packet_length(w, u), land_bytes, &landing) == EMU_COPY_OK;
}

enum nic_wc_status emu_unreliable_deliver(struct emu_world *w, const struct emu_unanswered *u)
{
	enum nic_wc_status status = NIC_WC_SUCCESS;
	const char *why;

	if (!u->qp)
		return status;
	if (u->sender->kind == NIC_QP_DATAGRAM) {
		deliver_datagram(w, u);
		return status;
	}
	if (!leads_back(w, u)) {
		ignore_packet(w, u, "PEER");
		return status;
	}
	emu_pause_hear(w, u->qp);
	why = place_packet(w, u, &status);
	if (why)
		ignore_packet(w, u, why);
	return status;
}
