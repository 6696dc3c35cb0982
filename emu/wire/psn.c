/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet sequence numbers, as traces and rules show them. */
#include "emu/rdma.h"
#include "wire.h"

uint32_t emu_wire_packets_of(const struct emu_world *w, const struct emu_qp *qp, uint32_t length)
{
	uint32_t mtu = emu_wire_mtu(w, qp);

	return length <= mtu ? 1 : (uint32_t)(((uint64_t)length + mtu - 1) / mtu);
}

uint32_t emu_wire_packets(const struct emu_world *w, const struct emu_qp *qp,
			  const struct emu_swqe *swqe)
{
	return emu_wire_packets_of(w, qp, emu_rdma_request_bytes(swqe));
}

void emu_wire_count(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	if ((int32_t)(index - qp->psn_counted) < 0)
		return;
	qp->psn_counted = index + 1;
	qp->psn_more += emu_wire_span(w, qp, emu_wqe(w, &qp->sq, index)) - 1;
}

uint32_t emu_wire_counted_from(struct emu_world *w, const struct emu_qp *qp, uint32_t index)
{
	uint32_t more = 0;

	for (uint32_t i = index; (int32_t)(qp->psn_counted - i) > 0 && emu_go_on(w); i++)
		more += emu_wire_span(w, qp, emu_wqe(w, &qp->sq, i)) - 1;
	return more;
}
