/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of every message on hardware: what of them is DAT's. Each checks the handle's object,
 * the arguments and the segment, without the lock, and jumps to the function of the QP or CQ that
 * does the rest (host/nic_quick.h). Any other than the usual call goes the general way (dto.c,
 * evd.c), from its beginning.
 *
 * These calls do not pass backend_leave. No call of an agent can be due meanwhile: while there is
 * an agent, these functions are not in the tables. doc/paths.md has the rules and the figures.
 */
#include "config.h"

#include <string.h>

#include "lib/api.h"
#include "host/backend_hw.h"
#include "host/nic_quick.h"
#include "lib/ep/dto.h"
#include "lib/ep/ep.h"
#include "lib/evd/evd_event.h"
#include "quick_hw.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)

/* The one backend of this kind. Its address is known here, so nothing is loaded to find it. */
#define BIAS (&backend_hw.bias)

const size_t quick_hw_size = sizeof(struct nic_quick_qp);

/* ---- the tables of handles ---- */

/* A handle leads to the table of its object's type, so no call need ask for the type. */
static DAT_PROVIDER ep_calls, evd_calls, srq_calls;

void quick_hw_choose(struct backend *b, bool careful)
{
	if (!ep_calls.extension)
		ep_calls = evd_calls = srq_calls = dat_front_of(b)->provider;
	api_set_call(&evd_calls.evd_dequeue_func,
		     careful ? dat__evd_dequeue_careful : dat__evd_dequeue_hw);
	api_set_call(&ep_calls.ep_post_send_func,
		     careful ? dat__ep_post_send_careful : dat__ep_post_send_hw);
	api_set_call(&ep_calls.ep_post_recv_func,
		     careful ? dat__ep_post_recv_careful : dat__ep_post_recv_hw);
	api_set_call(&srq_calls.srq_post_recv_func,
		     careful ? dat__srq_post_recv : dat__srq_post_recv_hw);
}

void quick_hw_calls(struct obj *obj)
{
	struct handle_slot *slot = obj->handle;
	DAT_PROVIDER *calls = obj->type == DAT_HANDLE_TYPE_EP    ? &ep_calls
			      : obj->type == DAT_HANDLE_TYPE_EVD ? &evd_calls
								 : &srq_calls;

	if (obj_backend(obj)->module)
		__atomic_store_n(&slot->provider, calls, __ATOMIC_RELAXED);
}

/* Inside the lock: the object is there, and of the type that the table is for. */
static HOT struct obj *quick_object(DAT_HANDLE handle)
{
	return ((const struct handle_slot *)handle)->object;
}

static inline DAT_RETURN quick_leave(DAT_RETURN ret)
{
	bias_leave_first();
	return ret;
}

/* ---- labels ---- */

#define DTO_OFFSET(field) offsetof(DAT_EVENT, event_data.dto_completion_event_data.field)

_Static_assert(offsetof(struct nic_quick_event, wr_id) == DTO_OFFSET(user_cookie) &&
		       offsetof(struct nic_quick_event, status) == DTO_OFFSET(status) &&
		       offsetof(struct nic_quick_event, length) == DTO_OFFSET(transfered_length) &&
		       sizeof(DAT_DTO_COMPLETION_STATUS) == sizeof(uint32_t) &&
		       sizeof(DAT_VLEN) == sizeof(uint64_t) && DAT_DTO_SUCCESS == 0,
	       "a struct nic_quick_event is a DTO completion event");

static void make_label(const struct ep *ep, const struct evd *evd, uint64_t label[3])
{
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_DTO_COMPLETION_EVENT;
	event.evd_handle = evd ? evd->obj.handle : DAT_HANDLE_NULL;
	event.event_data.dto_completion_event_data.ep_handle = ep->obj.handle;
	memcpy(label, &event, 3 * sizeof(label[0]));
}

void quick_hw_label(struct ep *ep)
{
	struct nic_quick_qp *qp = nic_quick_qp(ep->nic);
	uint64_t send[3], recv[3];

	if (!obj_backend(&ep->obj)->module)
		return;
	make_label(ep, ep->request_evd, send);
	make_label(ep, ep->recv_evd, recv);
	qp->recv_outstanding = &ep->recv_outstanding;
	qp->label(qp, send, recv);
}

/* ---- Send ---- */

static inline DAT_RETURN send_one(const struct ep *ep, const DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie)
{
	struct nic_quick_qp *qp = nic_quick_qp(ep->nic);
	/* Read again: to keep it from the check of the bounds takes a register more. */
	DAT_VADDR addr = *(const volatile DAT_VADDR *)&iov->virtual_address;

	return (DAT_RETURN)qp->send(qp, addr, iov, cookie.as_64, (uint32_t)iov->segment_length);
}

static bool send_range_moves(struct ep *ep, const DAT_LMR_TRIPLET *iov)
{
	struct nic_quick_qp *qp = nic_quick_qp(ep->nic);

	if (!dto_move_send_range(ep, iov))
		return false;
	qp->set_lkey(qp, false, ep->send_range.lkey);
	return true;
}

/*
 * From another LMR than the last Send; or any other call, and the thread may be outside the lock.
 */
static COLD DAT_RETURN send_other(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct ep *ep = bias_enter(BIAS) ? obj_as(struct ep, quick_object(handle)) : NULL;

	if (ep && (ep->obj.quick & OBJ_QUICK_SEND) && dto_is_simple(segments, iov, flags) &&
	    send_range_moves(ep, iov))
		return send_one(ep, iov, cookie);
	bias_leave();
	return dat__ep_post_send_careful(handle, segments, iov, cookie, flags);
}

DAT_RETURN dat__ep_post_send_hw(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct ep *ep;

	if (!LIKELY(bias_enter(BIAS)))
		return send_other(handle, segments, iov, cookie, flags);
	ep = obj_as(struct ep, quick_object(handle));
	if (!LIKELY(dto_is_simple(segments, iov, flags)))
		return send_other(handle, segments, iov, cookie, flags);
	/* Segments and flags are known now. To name them frees two registers, which are scarce. */
	if (!LIKELY(lmr_range_covers(&ep->send_range, iov)))
		return send_other(handle, 1, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return send_one(ep, iov, cookie);
}

/* ---- Receive ---- */

static inline DAT_RETURN recv_one(struct ep *ep, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	struct nic_quick_qp *qp;

	/*
	 * Before the post, because a flush may reap it inside; in memory, because registers are
	 * scarce.
	 */
	__asm__("" : "+m"(ep->recv_outstanding));
	ep->recv_outstanding++;
	qp = nic_quick_qp(ep->nic);
	return (DAT_RETURN)qp->recv(qp, iov->virtual_address, iov, cookie.as_64,
				    (uint32_t)iov->segment_length);
}

static bool recv_range_moves(struct ep *ep, const DAT_LMR_TRIPLET *iov)
{
	struct nic_quick_qp *qp = nic_quick_qp(ep->nic);

	if (!dto_move_recv_range(ep, iov))
		return false;
	qp->set_lkey(qp, true, ep->recv_range.lkey);
	return true;
}

static COLD DAT_RETURN recv_other(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct ep *ep = bias_enter(BIAS) ? obj_as(struct ep, quick_object(handle)) : NULL;

	if (ep && (ep->obj.quick & OBJ_QUICK_RECV) && dto_is_simple(segments, iov, flags) &&
	    dto_has_recv_room(ep) && recv_range_moves(ep, iov))
		return recv_one(ep, iov, cookie);
	bias_leave();
	return dat__ep_post_recv_careful(handle, segments, iov, cookie, flags);
}

DAT_RETURN dat__ep_post_recv_hw(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct ep *ep;

	if (!LIKELY(bias_enter(BIAS)))
		return recv_other(handle, segments, iov, cookie, flags);
	ep = obj_as(struct ep, quick_object(handle));
	if (!LIKELY(dto_is_simple(segments, iov, flags)))
		return recv_other(handle, segments, iov, cookie, flags);
	if (!LIKELY(dto_has_recv_room(ep) && lmr_range_covers(&ep->recv_range, iov)))
		return recv_other(handle, 1, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return recv_one(ep, iov, cookie);
}

/* ---- Receive on an SRQ ---- */

static COLD DAT_RETURN srq_refused(struct srq *srq, int err)
{
	srq->outstanding--;
	return quick_leave(
		nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ)));
}

static inline DAT_RETURN srq_recv_one(struct srq *srq, const DAT_LMR_TRIPLET *iov,
				      DAT_DTO_COOKIE cookie)
{
	int err;

	srq->outstanding++;
	err = nic_quick_srq(srq->nic)->recv(srq->nic, iov->virtual_address,
					    (uint32_t)iov->segment_length, cookie.as_64,
					    srq->range.lkey);
	return LIKELY(!err) ? quick_leave(DAT_SUCCESS) : srq_refused(srq, err);
}

static inline bool srq_is_simple(const struct srq *srq, DAT_COUNT segments,
				 const DAT_LMR_TRIPLET *iov)
{
	return dto_is_simple(segments, iov, DAT_COMPLETION_DEFAULT_FLAG) &&
	       srq->outstanding < srq->max_recv_dtos;
}

static COLD DAT_RETURN srq_recv_other(DAT_SRQ_HANDLE handle, DAT_COUNT segments,
				      DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	struct srq *srq = bias_enter(BIAS) ? obj_as(struct srq, quick_object(handle)) : NULL;

	if (srq && srq_is_simple(srq, segments, iov) && srq_move_range(srq, iov))
		return srq_recv_one(srq, iov, cookie);
	bias_leave();
	return dat__srq_post_recv(handle, segments, iov, cookie);
}

DAT_RETURN dat__srq_post_recv_hw(DAT_SRQ_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				 DAT_DTO_COOKIE cookie)
{
	struct srq *srq;

	if (!LIKELY(bias_enter(BIAS)))
		return srq_recv_other(handle, segments, iov, cookie);
	srq = obj_as(struct srq, quick_object(handle));
	if (!LIKELY(srq_is_simple(srq, segments, iov) && lmr_range_covers(&srq->range, iov)))
		return srq_recv_other(handle, segments, iov, cookie);
	return srq_recv_one(srq, iov, cookie);
}

/* ---- dequeue ---- */

/* The gate is closed, or the arguments are bad. */
static COLD DAT_RETURN dequeue_careful(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	bias_leave();
	return dat__evd_dequeue_careful(handle, event);
}

DAT_RETURN dat__evd_dequeue_hw(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct evd *evd;

	if (!LIKELY(bias_enter(BIAS)))
		return dequeue_careful(handle, event);
	evd = obj_as(struct evd, quick_object(handle));
	if (!LIKELY(event))
		return dequeue_careful(handle, event);
	return (DAT_RETURN)evd->quick_cq->poll(evd->quick_cq, (struct nic_quick_event *)event);
}

/* Events may be in the EVD's own queue. */
static COLD int poll_careful(struct nic_quick_cq *cq, struct nic_quick_event *event)
{
	const struct evd *evd = cq->cq.ctx;

	return (int)dequeue_careful(evd->obj.handle, (DAT_EVENT *)event);
}

void quick_hw_choose_evd(struct evd *evd, bool quick)
{
	evd->careful_cq = (struct nic_quick_cq){ .cq = { .ctx = evd }, .poll = poll_careful };
	evd->quick_cq = quick && evd->cq ? nic_quick_cq(evd->cq) : &evd->careful_cq;
}

/* ---- what the NIC hands back ---- */

static COLD int front_send(void *qp_ctx, const void *request, uint64_t wr_id)
{
	const struct ep *ep = qp_ctx;
	DAT_LMR_TRIPLET iov = *(const DAT_LMR_TRIPLET *)request;
	DAT_DTO_COOKIE cookie = { .as_64 = wr_id };

	bias_leave_first();
	return (int)dat__ep_post_send_careful(ep->obj.handle, 1, &iov, cookie,
					      DAT_COMPLETION_DEFAULT_FLAG);
}

static COLD int front_recv(void *qp_ctx, const void *request, uint64_t wr_id)
{
	struct ep *ep = qp_ctx;
	DAT_LMR_TRIPLET iov = *(const DAT_LMR_TRIPLET *)request;
	DAT_DTO_COOKIE cookie = { .as_64 = wr_id };

	ep->recv_outstanding--;
	bias_leave_first();
	return (int)dat__ep_post_recv_careful(ep->obj.handle, 1, &iov, cookie,
					      DAT_COMPLETION_DEFAULT_FLAG);
}

static COLD int front_send_refused(void *qp_ctx, int err)
{
	(void)qp_ctx;
	return (int)quick_leave(dto_no_room(err));
}

static COLD int front_recv_refused(void *qp_ctx, int err)
{
	struct ep *ep = qp_ctx;

	ep->recv_outstanding--;
	return (int)quick_leave(dto_no_room(err));
}

static int front_completed(void *cq_ctx, const struct nic_wc *wc, struct nic_quick_event *out)
{
	const struct evd *evd = cq_ctx;
	DAT_EVENT *event = (DAT_EVENT *)out;

	if (wc->opcode == NIC_OP_RECV)
		ep_reaped(wc->qp);
	evd_completion(evd->obj.handle, wc, event);
	if (wc->opcode == NIC_OP_BIND)
		evd_become_bind(event);
	return (int)quick_leave(DAT_SUCCESS);
}

const struct nic_quick_front quick_hw_front = {
	.empty = (int)DAT_QUEUE_EMPTY,
	.send = front_send,
	.recv = front_recv,
	.send_refused = front_send_refused,
	.recv_refused = front_recv_refused,
	.completed = front_completed,
};
