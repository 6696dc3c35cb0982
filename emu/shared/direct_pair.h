/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * direct_pair.h - what all requests that are executed at their post have in common: whether the two
 * queue pairs are ready for that, and how the request completes. Lock: the fabric's.
 */
#ifndef EMU_SHARED_DIRECT_PAIR_H
#define EMU_SHARED_DIRECT_PAIR_H

#include "emu/cq.h"
#include "emu/qp.h"
#include "emu/wire/wire.h"
#include "shared.h"

/*
 * The link has neither latency nor a bandwidth limit, and no packet is in flight that this one
 * would overtake.
 */
static inline bool emu_direct_link_is_instant(const struct emu_link *link, uint64_t now)
{
	return (link->latency_ns | link->ns_per_byte) == 0 && link->not_before <= now;
}

/*
 * Nothing of this connection is in flight in this direction, both ends may take their fast paths,
 * and nothing observes single packets.
 */
static inline bool emu_direct_is_idle(struct emu_world *w, const struct emu_qp *from,
				      const struct emu_qp *to)
{
	const struct emu_fabric *fab = w->fab;
	const struct emu_process *p = emu_process(w, w->process);

	return !fab->observed && !p->inbox && !p->overrun && from->tx_fast && from->sq.max > 0 &&
	       emu_wq_count(&from->sq) == 0 && from->sq_next == from->sq.put && to->rx_fast &&
	       to->epoch == from->peer_epoch && from->epoch == to->peer_epoch &&
	       to->rx_next == from->sq.put &&
	       emu_direct_link_is_instant(&EMU_AT(fab->link, from->link), fab->now) &&
	       emu_direct_link_is_instant(&EMU_AT(fab->link, to->link), fab->now);
}

/*
 * cq->get is on the owner's cache line; it is read only when the cached copy says the CQ is full.
 */
static inline bool emu_direct_has_room(struct emu_cq *cq, uint32_t limit)
{
	if (cq->put - cq->cached_get >= limit)
		cq->cached_get = __atomic_load_n(&cq->get, __ATOMIC_ACQUIRE);
	return cq->put - cq->cached_get < limit;
}

static inline bool emu_direct_is_ready(struct emu_cq *cq)
{
	return !cq->armed && emu_direct_has_room(cq, cq->limit);
}

/* Packets have a line each, so a request is one packet while there is a trace. */
static inline bool emu_direct_may_trace(const struct emu_fabric *fab, const struct emu_qp *from,
					uint32_t length)
{
	return !fab->trace_on || length <= from->mtu;
}

/*
 * Complete the request. It was never on the wire, but it and its packets count, so that later
 * packets have the sequence numbers they would have had.
 */
static inline __attribute__((always_inline)) void
emu_direct_complete(struct emu_world *w, struct emu_qp *from, uint32_t index,
		    const struct nic_send_wr *wr, enum nic_opcode opcode)
{
	uint32_t put = from->sq.put;

	if (wr->length > from->mtu) {
		struct emu_swqe *wqe = emu_wqe(w, &from->sq, put);

		wqe->opcode = (uint8_t)opcode;
		wqe->length = wr->length;
		emu_wire_count(w, from, put);
	}
	from->sq.put = from->sq.get = from->sq_next = put + 1;
	if (from->rnr_tries) /* on a line that the peer reads */
		from->rnr_tries = 0;
	if (!(wr->flags & NIC_WR_SUPPRESS))
		emu_cq_push(w, from->send_cq, index, wr->wr_id, wr->length, opcode, NIC_WC_SUCCESS,
			    wr->flags & NIC_WR_QUIET);
}

#endif /* EMU_SHARED_DIRECT_PAIR_H */
