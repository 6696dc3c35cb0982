/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet sequence numbers, as traces and rules show them. */
#include "emu/rdma.h"
#include "wire.h"

#define PSN_MASK      0xffffffu
#define PSN_NEAR_WRAP 64u /* a first PSN is at most so far from the wrap: wrapping gets tested */

static uint32_t packets_of(const struct emu_world *w, const struct emu_qp *qp, uint32_t length)
{
	uint32_t mtu = emu_wire_mtu(w, qp);

	return length <= mtu ? 1 : (uint32_t)(((uint64_t)length + mtu - 1) / mtu);
}

uint32_t emu_wire_packets(const struct emu_world *w, const struct emu_qp *qp,
			  const struct emu_swqe *swqe)
{
	return packets_of(w, qp, emu_rdma_request_bytes(swqe));
}

uint32_t emu_wire_span(const struct emu_world *w, const struct emu_qp *qp,
		       const struct emu_swqe *swqe)
{
	return swqe->opcode == NIC_OP_BIND ? 1 : packets_of(w, qp, swqe->length);
}

void emu_wire_count(struct emu_world *w, struct emu_qp *qp, uint32_t index)
{
	if ((int32_t)(index - qp->psn_counted) < 0)
		return;
	qp->psn_counted = index + 1;
	qp->psn_more += emu_wire_span(w, qp, emu_wqe(w, &qp->sq, index)) - 1;
}

uint32_t emu_wire_first_psn(const struct emu_qp *qp)
{
	return PSN_MASK - (qp->epoch * 7 + qp->name) % PSN_NEAR_WRAP;
}

/* Packets beyond one a request, of those from `index` on that are counted. */
static __attribute__((noinline)) uint32_t counted_from(struct emu_world *w, const struct emu_qp *qp,
						       uint32_t index)
{
	uint32_t more = 0;

	for (uint32_t i = index; (int32_t)(qp->psn_counted - i) > 0 && emu_go_on(w); i++)
		more += emu_wire_span(w, qp, emu_wqe(w, &qp->sq, i)) - 1;
	return more;
}

/* Counted from the newest request back, so that posting one costs nothing. */
uint32_t emu_wire_psn(struct emu_world *w, const struct emu_qp *qp, uint32_t index, uint32_t packet)
{
	uint32_t psn = emu_wire_first_psn(qp) + qp->psn_more + index + packet;

	if (__builtin_expect((int32_t)(qp->psn_counted - index) > 0, 0))
		psn -= counted_from(w, qp, index);
	return psn & PSN_MASK;
}
