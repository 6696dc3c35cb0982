/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and completions, as traces show them. */
#include <endian.h>
#include <stdio.h>

#include "emu/fabric/adapter.h"
#include "emu/fabric/trace.h"
#include "qp.h"
#include "quick.h"
#include "emu/wire/wire.h"

/* ---- requests ---- */

#define POST_TEXT 160

/* What a request of verbs has beyond those of uDAPL. */
static void post_text(const struct emu_qp *qp, const struct nic_send_wr *wr, char text[POST_TEXT])
{
	size_t n = 0;

#define ADD(...) (n += (size_t)snprintf(text + n, POST_TEXT - n, __VA_ARGS__))
	if (wr->opcode == NIC_OP_SWAP)
		ADD(" rkey=%u compare=%lu swap=%lu", wr->rkey, wr->compare, wr->operand);
	else if (wr->opcode == NIC_OP_ADD)
		ADD(" rkey=%u add=%lu", wr->rkey, wr->operand);
	else if (wr->opcode == NIC_OP_WRITE || wr->opcode == NIC_OP_READ)
		ADD(" rkey=%u", wr->rkey);
	else if (wr->opcode == NIC_OP_BIND && !wr->mw)
		ADD(" invalidate=%u", wr->rkey);
	else if (qp->kind == NIC_QP_DATAGRAM)
		ADD(" qpn=%u qkey=%u", wr->to->qp, wr->to->qkey);
	if (wr->flags & NIC_WR_IMM)
		ADD(" imm=%u", be32toh(wr->imm));
	if (wr->flags & NIC_WR_INVALIDATE)
		ADD(" invalidate=%u", wr->imm);
	if (wr->flags & NIC_WR_SUPPRESS)
		ADD(" unsignaled=1");
	/* One that needs more bits is probably an address, which would make equal runs differ. */
	if (wr->wr_id <= UINT32_MAX)
		ADD(" wr_id=%lu", wr->wr_id);
#undef ADD
}

/* A Send of a QP that has a record of its own kind. */
static bool is_ordinary(const struct emu_qp *qp, const struct nic_send_wr *wr)
{
	return wr->opcode == NIC_OP_SEND && qp->kind != NIC_QP_DATAGRAM &&
	       !(wr->flags & (NIC_WR_IMM | NIC_WR_INVALIDATE)) && wr->wr_id <= UINT32_MAX;
}

static EMU_COLD void trace_post_text(struct emu_world *w, const struct emu_qp *qp,
				     const struct nic_send_wr *wr, uint32_t message)
{
	static const char *const verbs[] = {
		[NIC_OP_SEND] = "post_send",      [NIC_OP_WRITE] = "post_rdma_write",
		[NIC_OP_READ] = "post_rdma_read", [NIC_OP_SWAP] = "post_compare_swap",
		[NIC_OP_ADD] = "post_fetch_add",
	};
	char text[POST_TEXT] = "";

	if (qp->noun != NIC_NOUN_EP)
		post_text(qp, wr, text);
	if (wr->opcode == NIC_OP_BIND)
		emu_trace_line(w, EMU_QP " post_bind bytes=%lu message=%u%s", EMU_QP_OF(w, qp),
			       wr->mw ? wr->bind_length : 0, message, text);
	else
		emu_trace_line(w, EMU_QP " %s bytes=%u segments=%u message=%u%s", EMU_QP_OF(w, qp),
			       verbs[wr->opcode], wr->length, wr->num_sge, message, text);
}

/* A request that uDAPL posted: its record has numbers only. */
static inline void trace_post_ep(struct emu_world *w, const struct emu_qp *qp, uint32_t length,
				 uint32_t segments, uint32_t message, enum nic_opcode opcode)
{
	emu_record_of(w, EMU_RECORD_POST, qp, length, segments, message, (uint32_t)opcode);
}

void emu_trace_post(struct emu_world *w, const struct emu_qp *qp, const struct nic_send_wr *wr,
		    uint32_t message)
{
	if (qp->noun == NIC_NOUN_EP && wr->opcode <= NIC_OP_READ)
		trace_post_ep(w, qp, wr->length, wr->num_sge, message, wr->opcode);
	else if (qp->noun != NIC_NOUN_EP && is_ordinary(qp, wr))
		emu_record_of(w,
			      wr->flags & NIC_WR_SUPPRESS ? EMU_RECORD_POST_UNSIGNALED
							  : EMU_RECORD_POST_QP,
			      qp, wr->length, wr->num_sge, message, (uint32_t)wr->wr_id);
	else
		trace_post_text(w, qp, wr, message);
}

void emu_trace_delivered(struct emu_world *w, const struct emu_qp *from, const struct emu_qp *to,
			 const struct nic_send_wr *wr, uint32_t index)
{
	uint32_t psn = emu_wire_psn(w, from, index, 0), available = emu_wq_count(&to->rq);
	bool usual = !to->srq && wr->num_sge == 1;

	if (usual && from->noun == NIC_NOUN_EP) {
		emu_record_between(w, EMU_RECORD_DIRECT, from, to, index + 1, wr->length, psn,
				   available, emu_unreaped(to));
	} else if (usual && is_ordinary(from, wr) && !(wr->flags & NIC_WR_SUPPRESS)) {
		emu_record_between(w, EMU_RECORD_DIRECT_QP, from, to, index + 1, wr->length, psn,
				   available, emu_unreaped(to), (uint32_t)wr->wr_id);
	} else {
		emu_trace_post(w, from, wr, index + 1);
		emu_trace_arrival(w, to, from, index, wr->length);
		emu_trace_acked(w, from, index, psn, wr->length, NIC_OP_SEND);
	}
}

static int trace_send_of_verbs(struct emu_world *w, const struct emu_qp *qp,
			       const struct emu_swqe *wqe)
{
	/* The line of a Send has nothing of the other fields. */
	struct nic_send_wr wr = { .wr_id = wqe->wr_id,
				  .length = wqe->length,
				  .opcode = NIC_OP_SEND,
				  .num_sge = 1 };

	emu_trace_post(w, qp, &wr, wqe->message);
	return 0;
}

int emu_trace_send_one(struct nic_qp *base)
{
	const struct emu_local_qp *local = emu_local_qp(base);
	const struct emu_qp *qp = local->entry;
	const struct emu_swqe *wqe = emu_wqe_in(local->sq, &qp->sq, qp->sq.put - 1);

	if (qp->noun != NIC_NOUN_EP)
		return trace_send_of_verbs(local->world, qp, wqe);
	trace_post_ep(local->world, qp, wqe->length, 1, wqe->message, NIC_OP_SEND);
	return 0;
}

/* ---- completions ---- */

void emu_complete_message(struct emu_world *w, struct emu_qp *qp, const struct emu_rwqe *wqe,
			  const struct emu_told *told)
{
	const struct emu_cq *cq = &EMU_AT(w->fab->cq, qp->recv_cq);
	struct emu_cqe *cqe = (struct emu_cqe *)emu_at(w, cq->ring) + (cq->put & cq->mask);

	if (emu_posted_on(w))
		emu_posted_done(w, qp, wqe->mem_epoch,
				told->flags & NIC_WR_WRITTEN ? 0 : told->length);
	if (w->fab->trace_on)
		emu_trace_completion(w, qp, NIC_OP_RECV, NIC_WC_SUCCESS, told->length, qp->rx_next);
	/* If the CQ has no room the entry is a free one, or the oldest. */
	if (told->flags & (NIC_WR_IMM | NIC_WR_INVALIDATE) && cq->put - cq->get < cq->limit)
		cqe->imm = told->imm;
	emu_cq_push(w, qp->recv_cq, emu_qp_index(w, qp), wqe->wr_id, told->length, NIC_OP_RECV,
		    NIC_WC_SUCCESS,
		    emu_recv_flags(wqe, told->flags) |
			    (told->flags &
			     (NIC_WR_IMM | NIC_WR_WRITTEN | NIC_WR_GLOBAL | NIC_WR_INVALIDATE)));
}

void emu_trace_completion(struct emu_world *w, const struct emu_qp *qp, enum nic_opcode opcode,
			  enum nic_wc_status status, uint32_t length, uint32_t message)
{
	if (opcode == NIC_OP_BIND)
		length = 0; /* a BIND's length is lib's own */
	emu_record_of(w, EMU_RECORD_COMPLETE, qp, (uint32_t)opcode, (uint32_t)status, length,
		      message);
}
