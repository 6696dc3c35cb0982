/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quick.c - the short variants of the calls of every message: Sends, one Receive, a poll.
 *
 * The ordinary Send has one segment, and no flag but IBV_SEND_SIGNALED. Sends that are inline or
 * solicited, lists of Sends, and the only Send of a batch (ibv_wr_complete) have short variants as
 * well, which take some more instructions (send_flagged).
 *
 * The table of a context has them while the host's path permits (host/path.h). A call that is not
 * the ordinary one leaves its short variant before it has changed anything and is made again in
 * full, by post.c or cq.c, which alone determine the error.
 */
#include <string.h>

#include "quick.h"
#include "trace.h"

/* ---- the range that a queue pair posted from, or into, last ---- */

void vb_range_close(struct vb_range *range)
{
	if (range->size > 0)
		LIST_REMOVE(range, link);
	range->size = 0;
}

void vb_ranges_close(struct vb_mr *mr)
{
	while (!LIST_EMPTY(&mr->ranges))
		vb_range_close(LIST_FIRST(&mr->ranges));
}

/* False: the key does not permit it, or the segment is empty. */
static __attribute__((noinline, cold)) bool move_range(struct vb_qp *qp, struct vb_range *range,
						       const struct ibv_sge *sge, bool write)
{
	const struct nic_sge segment = { sge->addr, sge->length, sge->lkey };
	struct vb_mr *mr = vb_region_of(qp->obj.context, VB_OF(qp->ibv.pd, pd), &segment, write);

	if (!mr || sge->length == 0)
		return false;
	vb_range_close(range);
	*range = (struct vb_range){ .end = mr->iova + mr->ibv.length,
				    .size = mr->ibv.length,
				    .shift = (uintptr_t)mr->ibv.addr - mr->iova,
				    .lkey = mr->ibv.lkey };
	LIST_INSERT_HEAD(&mr->ranges, range, link);
	return true;
}

static inline bool range_covers(const struct vb_range *range, const struct ibv_sge *sge)
{
	uint64_t left = range->end - sge->addr;

	/* Outside the range the difference exceeds its size; an empty length wraps. */
	return sge->lkey == range->lkey && left <= range->size && sge->length - 1ul < left;
}

static inline bool use_range(struct vb_qp *qp, struct vb_range *range, const struct ibv_sge *sge,
			     bool write, struct nic_sge *out)
{
	if (__builtin_expect(!range_covers(range, sge), 0) && !move_range(qp, range, sge, write))
		return false;
	out->addr = sge->addr + range->shift;
	out->length = sge->length;
	out->lkey = sge->lkey;
	return true;
}

/* ---- posts; false: the call has to be made in full ---- */

void vb_qp_choose_quick(struct vb_qp *qp)
{
	bool ready = qp->ibv.state == IBV_QPS_RTS, reset = qp->ibv.state == IBV_QPS_RESET;

	qp->quick = 0;
	if (qp->ibv.qp_type != IBV_QPT_RC)
		return;
	if (ready)
		qp->quick |= VB_QUICK_SEND;
	if (!reset && !qp->ibv.srq)
		qp->quick |= VB_QUICK_RECV;
}

/* Is it ordinary, but perhaps the first of a list? */
static inline bool is_ordinary(const struct vb_qp *qp, const struct ibv_send_wr *wr)
{
	return (qp->quick & VB_QUICK_SEND) && wr->num_sge == 1 && wr->opcode == IBV_WR_SEND &&
	       !(wr->send_flags & ~(unsigned int)IBV_SEND_SIGNALED);
}

static inline bool is_one_send(const struct vb_qp *qp, const struct ibv_send_wr *wr)
{
	return wr && !wr->next && is_ordinary(qp, wr);
}

static inline bool is_signaled(const struct vb_qp *qp, const struct ibv_send_wr *wr)
{
	return (wr->send_flags | qp->signaled) & IBV_SEND_SIGNALED;
}

static inline bool is_one_recv(const struct vb_qp *qp, const struct ibv_recv_wr *wr)
{
	return (qp->quick & VB_QUICK_RECV) && wr && !wr->next && wr->num_sge == 1;
}

static inline bool send_segment(struct vb_qp *qp, uint64_t wr_id, struct nic_sge *sge,
				uint8_t flags)
{
	struct nic *nic = qp->obj.host.nic;
	struct nic_send_wr out;

	if (sge->length > VB_QUICK_BYTES)
		return false;
	/* A Send does not read the fields of other requests, so they stay unset. */
	out.wr_id = wr_id;
	out.sge = sge;
	out.num_sge = 1;
	out.length = sge->length;
	out.opcode = NIC_OP_SEND;
	out.flags = flags;
	if (nic->ops->post_send(qp->nic, &out))
		return false;
	backend_busy(nic);
	return true;
}

/* Post an ordinary Send. */
static inline bool send_one(struct vb_qp *qp, const struct ibv_send_wr *wr)
{
	struct nic_sge sge;

	return use_range(qp, &qp->send_range, wr->sg_list, false, &sge) &&
	       send_segment(qp, wr->wr_id, &sge, is_signaled(qp, wr) ? 0 : NIC_WR_SUPPRESS);
}

static bool send_inline(struct vb_qp *qp, const struct ibv_send_wr *wr)
{
	struct nic_sge sge;

	if (!vb_inline_take(qp, wr, &sge) ||
	    !send_segment(qp, wr->wr_id, &sge, vb_send_flags(qp, wr->send_flags)))
		return false;
	vb_inline_use(qp);
	return true;
}

#define QUICK_FLAGS                                                           \
	((unsigned int)IBV_SEND_SIGNALED | (unsigned int)IBV_SEND_SOLICITED | \
	 (unsigned int)IBV_SEND_INLINE)

static __attribute__((noinline)) bool send_flagged(struct vb_qp *qp, const struct ibv_send_wr *wr)
{
	struct nic_sge sge;

	if (!(qp->quick & VB_QUICK_SEND) || wr->opcode != IBV_WR_SEND ||
	    (wr->send_flags & ~QUICK_FLAGS))
		return false;
	if (wr->send_flags & IBV_SEND_INLINE)
		return send_inline(qp, wr);
	return wr->num_sge == 1 && use_range(qp, &qp->send_range, wr->sg_list, false, &sge) &&
	       send_segment(qp, wr->wr_id, &sge, vb_send_flags(qp, wr->send_flags));
}

/* Returns the first request that was not posted; NULL: all were. */
static __attribute__((noinline)) struct ibv_send_wr *send_list(struct vb_qp *qp,
							       struct ibv_send_wr *wr)
{
	while (wr && (is_ordinary(qp, wr) ? send_one(qp, wr) : send_flagged(qp, wr)))
		wr = wr->next;
	return wr;
}

/* The only request of a batch; its inline payload is in its slot. */
static bool send_batched(struct vb_qp *qp, const struct vb_wr *wr)
{
	struct nic_sge sge = { wr->slot.addr, wr->slot.length, wr->slot.lkey };

	if (!wr->in_slot)
		return send_flagged(qp, &wr->ibv);
	if (!(qp->quick & VB_QUICK_SEND) || wr->ibv.opcode != IBV_WR_SEND ||
	    (wr->ibv.send_flags & ~QUICK_FLAGS) ||
	    !send_segment(qp, wr->ibv.wr_id, &sge, vb_send_flags(qp, wr->ibv.send_flags)))
		return false;
	vb_inline_use(qp);
	return true;
}

static inline bool recv_one(struct vb_qp *qp, const struct ibv_recv_wr *wr)
{
	struct nic *nic = qp->obj.host.nic;
	struct nic_recv_wr out;
	struct nic_sge sge;

	if (!is_one_recv(qp, wr) || !use_range(qp, &qp->recv_range, wr->sg_list, true, &sge))
		return false;
	out.wr_id = wr->wr_id;
	out.sge = &sge;
	out.num_sge = 1;
	out.flags = 0;
	if (nic->ops->post_recv(qp->nic, &out))
		return false;
	backend_busy(nic);
	return true;
}

/* ---- polls ---- */

/* One has been taken, and more were asked for. */
static __attribute__((noinline)) int poll_more(struct vb_cq *cq, int n, struct ibv_wc *wc)
{
	struct nic_wc one;
	int got = 1;

	while (got < n && cq->nic->nic->ops->cq_poll(cq->nic, &one, 1) == 1)
		vb_wc_fill(&wc[got++], &one);
	return got;
}

/* At least one was asked for. */
static inline int poll_some(struct vb_cq *cq, int n, struct ibv_wc *wc)
{
	struct nic_wc one;

	if (!__builtin_expect(cq->nic->nic->ops->cq_spin(cq->nic, &one), 1))
		return 0;
	vb_wc_fill(wc, &one);
	return n == 1 ? 1 : poll_more(cq, n, wc);
}

static inline bool polls_nic(const struct vb_cq *cq, int n)
{
	return n > 0 && cq->kept_first == cq->kept_end;
}

/* ---- in a private world: without a lock while the process has one thread ---- */

/*
 * A Send that is not ordinary, from another region than the last one, or that the NIC does not take
 * by its short entry.
 */
static __attribute__((noinline)) int quick_send_other(struct vb_qp *qp, struct ibv_send_wr *wr,
						      struct ibv_send_wr **bad)
{
	struct ibv_send_wr *rest = wr ? send_list(qp, wr) : NULL;

	return wr && !rest ? 0 : vb_post_send(&qp->ibv, rest, bad);
}

static int quick_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct vb_qp *qp = VB_OF(ibv, qp);
	const struct vb_range *range = &qp->send_range;
	const struct ibv_sge *sge;

	if (!__libc_single_threaded)
		return vb_post_send(ibv, wr, bad);
	if (!is_one_send(qp, wr))
		return quick_send_other(qp, wr, bad);
	sge = wr->sg_list;
	if (!is_signaled(qp, wr) || !range_covers(range, sge) ||
	    qp->obj.host.nic->ops->send_one(qp->nic, sge->addr + range->shift, wr, wr->wr_id,
					    sge->length, range->lkey))
		return quick_send_other(qp, wr, bad);
	return 0;
}

static int quick_batch(struct vb_qp *qp, const struct vb_batch *batch)
{
	if (__libc_single_threaded && batch->n == 1 && send_batched(qp, batch->wrs))
		return 0;
	return vb_post_batch(qp, batch);
}

static __attribute__((noinline, cold)) int
quick_recv_other(struct vb_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	if (!recv_one(qp, wr))
		return vb_post_recv(&qp->ibv, wr, bad);
	if (vb_traced(&qp->obj))
		vb_trace_recv(&qp->obj, wr, wr->sg_list->length);
	return 0;
}

static int quick_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vb_qp *qp = VB_OF(ibv, qp);
	const struct vb_range *range = &qp->recv_range;
	const struct ibv_sge *sge;

	if (!__libc_single_threaded || !is_one_recv(qp, wr))
		return vb_post_recv(ibv, wr, bad);
	sge = wr->sg_list;
	if (!range_covers(range, sge) ||
	    qp->obj.host.nic->ops->recv_one(qp->nic, sge->addr + range->shift, wr, wr->wr_id,
					    sge->length, range->lkey))
		return quick_recv_other(qp, wr, bad);
	return 0;
}

static int quick_poll(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
	struct vb_cq *cq = VB_OF(ibv, cq);

	if (__libc_single_threaded && polls_nic(cq, n))
		return poll_some(cq, n, wc);
	return vb_cq_poll(ibv, n, wc);
}

/* While it is traced. The NIC writes the line of a Send, and front.c that of a Receive. */
static int traced_poll(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
	struct vb_cq *cq = VB_OF(ibv, cq);

	if (__libc_single_threaded && polls_nic(cq, n))
		return vb_cq_poll_nic(cq, n, wc);
	return vb_cq_poll(ibv, n, wc);
}

/* ---- in a world shared by processes: under the biased lock ---- */

static struct backend *backend_of(const struct ibv_context *context)
{
	return vb_backend(nic_container_of(context, struct vb_context, ex.context));
}

/* A call into the program of another front may have become due. */
static void leave_biased(struct backend *b)
{
	bool due = !TAILQ_EMPTY(&b->calls_due);

	backend_leave_biased(b);
	if (__builtin_expect(due, 0)) {
		backend_enter(b);
		backend_leave(b);
	}
}

static int biased_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct vb_qp *qp = VB_OF(ibv, qp);
	struct backend *b = backend_of(ibv->context);
	bool done, entered = vb_batch_enter(qp);

	if (!wr || !backend_enter_biased(b)) {
		vb_batch_leave(qp, entered);
		return vb_post_send(ibv, wr, bad);
	}
	if (is_one_send(qp, wr)) {
		done = send_one(qp, wr);
	} else {
		wr = send_list(qp, wr);
		done = !wr;
	}
	leave_biased(b);
	vb_batch_leave(qp, entered);
	return done ? 0 : vb_post_send(ibv, wr, bad);
}

static int biased_batch(struct vb_qp *qp, const struct vb_batch *batch)
{
	struct backend *b = backend_of(qp->ibv.context);
	bool done;

	if (batch->n != 1 || !backend_enter_biased(b))
		return vb_post_batch(qp, batch);
	done = send_batched(qp, batch->wrs);
	leave_biased(b);
	return done ? 0 : vb_post_batch(qp, batch);
}

/*
 * While it is traced: with the world's lock from before the post, for the message that takes the
 * Receive is to have its lines after this one's.
 */
static __attribute__((noinline)) bool noted_recv(struct backend *b, struct vb_qp *qp,
						 const struct ibv_recv_wr *wr)
{
	bool done;

	if (b->kind->line_begin(b->shared, NULL) != NIC_LINE_READY)
		return false;
	done = recv_one(qp, wr);
	if (done)
		vb_trace_recv(&qp->obj, wr, wr->sg_list->length);
	b->kind->line_end(b->shared);
	return done;
}

static int biased_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct backend *b = backend_of(ibv->context);
	struct vb_qp *qp = VB_OF(ibv, qp);
	bool done;

	if (!backend_enter_biased(b))
		return vb_post_recv(ibv, wr, bad);
	done = vb_traced(&qp->obj) ? noted_recv(b, qp, wr) : recv_one(qp, wr);
	leave_biased(b);
	return done ? 0 : vb_post_recv(ibv, wr, bad);
}

/* While it is traced, each Receive has a line of its own. */
static int biased_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vb_srq *srq = VB_OF(ibv, srq);
	struct backend *b = backend_of(ibv->context);
	bool some = wr != NULL;

	if (!backend_enter_biased(b))
		return vb_post_srq_recv(ibv, wr, bad);
	if (!vb_traced(&srq->obj))
		while (wr && vb_srq_post_one(srq->obj.context, srq, wr) == 0)
			wr = wr->next;
	backend_busy(srq->obj.host.nic);
	leave_biased(b);
	return some && !wr ? 0 : vb_post_srq_recv(ibv, wr, bad);
}

/* While it is traced. *quiet: is there nothing that would have to be done with both locks? */
static __attribute__((noinline)) int noted_poll(struct backend *b, struct vb_cq *cq, int n,
						struct ibv_wc *wc, bool *quiet)
{
	enum nic_line line = b->kind->line_begin(b->shared, cq->nic);
	int got;

	*quiet = line != NIC_LINE_DUE;
	if (line != NIC_LINE_READY)
		return 0;
	got = vb_cq_poll_nic(cq, n, wc);
	b->kind->line_end(b->shared);
	return got;
}

static int biased_poll(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
	struct vb_cq *cq = VB_OF(ibv, cq);
	struct backend *b = backend_of(ibv->context);
	bool quiet = true;
	int got = 0;

	if (!backend_enter_biased(b))
		return vb_cq_poll(ibv, n, wc);
	if (polls_nic(cq, n))
		got = vb_traced(&cq->obj) ? noted_poll(b, cq, n, wc, &quiet) : poll_some(cq, n, wc);
	quiet = quiet && cq->kept_first == cq->kept_end && b->kind->quiet(b->shared);
	leave_biased(b);
	if (got == 0 && !quiet)
		return vb_cq_poll(ibv, n, wc);
	if (got == 0)
		backend_count_empty_poll(b);
	else
		__atomic_store_n(&b->empty_polls, 0, __ATOMIC_RELAXED); /* host/quick.c counts */
	return got;
}

/* ---- the choice ---- */

static const struct {
	int (*poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	vb_post_batch_call *post_batch;
} calls[PATH_COUNT] = {
	[PATH_CAREFUL] = { vb_cq_poll, vb_post_send, vb_post_recv, vb_post_srq_recv,
			   vb_post_batch },
	[PATH_PRIVATE] = { quick_poll, quick_send, quick_recv, vb_post_srq_recv, quick_batch },
	[PATH_TRACED] = { traced_poll, quick_send, quick_recv, vb_post_srq_recv, quick_batch },
	[PATH_SHARED] = { biased_poll, biased_send, biased_recv, biased_srq_recv, biased_batch },
	/* The host never chooses it for this front. */
	[PATH_HARDWARE] = { vb_cq_poll, vb_post_send, vb_post_recv, vb_post_srq_recv,
			    vb_post_batch },
};

/* Other threads may read the table meanwhile. */
#define SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

void vb_use_path(struct vb_context *context, enum path path)
{
	struct ibv_context_ops *ops = &context->ex.context.ops;

	SET(ops->poll_cq, calls[path].poll_cq);
	SET(ops->post_send, calls[path].post_send);
	SET(ops->post_recv, calls[path].post_recv);
	SET(ops->post_srq_recv, calls[path].post_srq_recv);
	SET(context->post_batch, calls[path].post_batch);
}
