/* SPDX-License-Identifier: BSD-3-Clause */
/* quick_post.c - the posts of an ordinary message: quick.c says what that is. */
#include "emu/fabric/clock.h"
#include "emu/wire/link.h"
#include "nic_model.h"
#include "qp.h"
#include "quick.h"

_Static_assert(offsetof(struct emu_qp, link) == 2 * EMU_LINE &&
		       offsetof(struct emu_qp, sq_acked) == 3 * EMU_LINE,
	       "a message changes nothing on the third line of its QPs, and needs no fourth");

static inline struct nic_sge one_segment(uint64_t addr, uint32_t length, uint32_t lkey)
{
	return (struct nic_sge){ .addr = addr, .length = length, .lkey = lkey };
}

/*
 * The front posts in full what is no ordinary request. These have the arguments of the short posts,
 * which therefore move none of them for their sake.
 */
static EMU_COLD int send_refused(struct nic_qp *base, uint64_t addr, void *request, uint64_t wr_id)
{
	(void)addr;
	return base->nic->up->send_refused(base, request, wr_id);
}

static EMU_COLD int recv_refused(struct nic_qp *base, uint64_t addr, void *request, uint64_t wr_id)
{
	(void)addr;
	return base->nic->up->recv_refused(base, request, wr_id);
}

/* The line of a Receive is the front's. */
static __attribute__((noinline)) int recv_posted(struct nic_qp *base, uint64_t addr, void *request,
						 uint64_t wr_id)
{
	(void)addr;
	return base->nic->up->recv_posted(base, request, wr_id);
}

/* sq_next: if earlier requests wait, this one waits behind them. */
static inline bool can_send_one(const struct emu_local_qp *local, uint32_t length)
{
	const struct emu_qp *qp = local->entry;

	return qp->tx_fast && qp->sq_next == qp->sq.put && emu_wq_count(&qp->sq) < qp->sq.max &&
	       length <= qp->mtu && emu_clock_has_much_room(local->world);
}

static inline __attribute__((always_inline)) void
post_one(struct nic_qp *base, uint64_t addr, uint64_t wr_id, uint32_t length, uint32_t lkey)
{
	/* What the tests loaded is loaded again: there are no registers to keep it in. */
	struct emu_local_qp *local = EMU_KEEP(emu_local_qp(base));
	struct emu_qp *qp = local->entry;
	struct emu_fabric *fab = local->world->fab;
	struct emu_swqe *wqe;
	uint64_t arrival;
	uint32_t put;

	local->base.nic->idle = 0;
	put = qp->sq.put;
	wqe = emu_wqe_in(local->sq, &qp->sq, put);
	wqe->wr_id = wr_id;
	wqe->mem_epoch = fab->mem_epoch;
	EMU_ALONE(wqe->mem_epoch);
	wqe->length = length;
	EMU_ALONE(wqe->length);
	wqe->message = put + 1;
	wqe->opcode = NIC_OP_SEND;
	wqe->flags = 0;
	wqe->num_sge = 1;
	wqe->sge[0] = one_segment(addr, length, lkey);
	qp->sq.put = qp->sq_next = put + 1;
	arrival = emu_link_transmit(fab, EMU_KEEP(&EMU_AT(fab->link, qp->link)), length, length);
	emu_schedule(local->world, arrival, EMU_EV_DATA, qp->peer, qp->peer_epoch, put, 0);
}

static __attribute__((noinline)) int send_one_traced(struct nic_qp *base, uint64_t addr,
						     void *request, uint64_t wr_id, uint32_t length,
						     uint32_t lkey)
{
	(void)request;
	post_one(base, addr, wr_id, length, lkey);
	return emu_trace_send_one(base);
}

int emu_send_one(struct nic_qp *base, uint64_t addr, void *request, uint64_t wr_id, uint32_t length,
		 uint32_t lkey)
{
	if (!can_send_one(emu_local_qp(base), length))
		return send_refused(base, addr, request, wr_id);
	if (__builtin_expect(emu_local_qp(base)->world->fab->trace_on, 0))
		return send_one_traced(base, addr, request, wr_id, length, lkey);
	post_one(base, addr, wr_id, length, lkey);
	return 0;
}

int emu_recv_one(struct nic_qp *base, uint64_t addr, void *request, uint64_t wr_id, uint32_t length,
		 uint32_t lkey)
{
	struct emu_qp *qp = emu_local_qp(base)->entry;
	struct emu_fabric *fab;
	struct emu_rwqe *wqe;

	if (!qp->rq_fast || emu_wq_count(&qp->rq) >= qp->rq.max)
		return recv_refused(base, addr, request, wr_id);
	base->nic->idle = 0;
	wqe = emu_wqe_in(emu_local_qp(base)->rq, &qp->rq, qp->rq.put++);
	wqe->wr_id = wr_id;
	fab = emu_local_qp(base)->world->fab;
	wqe->mem_epoch = fab->mem_epoch;
	wqe->num_sge = 1;
	wqe->flags = 0;
	wqe->sge[0] = one_segment(addr, length, lkey);
	return __builtin_expect(fab->trace_on, 0) ? recv_posted(base, addr, request, wr_id) : 0;
}
