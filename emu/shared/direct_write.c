/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An RDMA Write between two processes that is executed at its post: direct.h.
 *
 * Of the target it changes rx_next and the memory it writes to. If this process dies in between,
 * the connection breaks anyway, so there is no record to roll back from.
 */
#include "direct.h"
#include "direct_pair.h"
#include "emu/fabric/clock.h"
#include "emu/fabric/trace.h"
#include "emu/number/number.h"
#include "emu/payload/reach.h"
#include "emu/quick.h"
#include "emu/rdma.h"
#include "emu/receive.h"

/* Fences do not matter: nothing is in flight. */
static bool is_plain(const struct nic_send_wr *wr)
{
	return wr->num_sge == 1 && !(wr->flags & (NIC_WR_IMM | NIC_WR_INVALIDATE));
}

static bool is_possible(struct emu_world *w, const struct emu_qp *from, const struct emu_qp *to,
			const struct nic_send_wr *wr)
{
	return is_plain(wr) && emu_direct_is_idle(w, from, to) &&
	       emu_direct_is_ready(&EMU_AT(w->fab->cq, from->send_cq)) &&
	       emu_direct_may_trace(w->fab, from, wr->length) &&
	       emu_reach_has(w, emu_process_of(w, to->adapter));
}

static void trace_write(struct emu_world *w, const struct emu_arrival *a,
			const struct nic_send_wr *wr)
{
	w->fab->now = emu_clock_real(w);
	emu_trace_post(w, a->sender, wr, a->index + 1);
	emu_trace_packet(w, a);
	emu_trace_acked(w, a->sender, a->index, emu_wire_psn(w, a->sender, a->index, 0), wr->length,
			NIC_OP_WRITE);
}

bool emu_direct_write(struct nic_qp *base, const struct nic_send_wr *wr)
{
	struct emu_world *w = emu_local_qp(base)->world;
	struct emu_qp *from = emu_local_qp(base)->entry;
	struct emu_arrival a = { .qp = emu_qp_at(w, from->peer),
				 .sender = from,
				 .index = from->sq.put,
				 .packets = 1,
				 .to = wr->length,
				 .last = true };

	if (!is_possible(w, from, a.qp, wr))
		return false;
	emu_rdma_fill(w, from, a.index, wr);
	a.swqe = emu_wqe(w, &from->sq, a.index);
	/* A Write that fails does so on the general path, which posts it again. */
	if (emu_rdma_allowed(w, &a) != EMU_CAUSE_NONE || emu_rdma_write(w, &a) != EMU_COPY_OK)
		return false;
	emu_recv_expect_after(a.qp, a.index);
	if (__builtin_expect(w->fab->trace_on, 0))
		trace_write(w, &a, wr);
	emu_direct_complete(w, from, base->index, wr, NIC_OP_WRITE);
	return true;
}
