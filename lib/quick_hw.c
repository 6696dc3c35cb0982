/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of every message on real hardware, where what they cost is added to what verbs cost: without the lock
 * and by one call of the backend each. What is not as usual goes the general way (dto.c, evd.c), from its beginning.
 *
 * They do not pass backend_leave. No agent can be due meanwhile: while there is one, these are not in the table.
 */
#include "api.h"
#include "backend_hw.h"
#include "dto.h"
#include "ep.h"
#include "evd_event.h"
#include "quick_hw.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)

/* The one backend of this kind; its address is known here, so nothing is loaded to find it. */
#define BIAS (&backend_hw.bias)

void quick_hw_choose(struct backend *b, bool careful)
{
	b->provider.evd_dequeue_func = careful ? dat__evd_dequeue_careful : dat__evd_dequeue_hw;
	b->provider.ep_post_send_func = careful ? dat__ep_post_send_careful : dat__ep_post_send_hw;
	b->provider.ep_post_recv_func = careful ? dat__ep_post_recv_careful : dat__ep_post_recv_hw;
	b->provider.srq_post_recv_func = careful ? dat__srq_post_recv : dat__srq_post_recv_hw;
}

/* Inside, the object if the call is a quick one on it, else NULL. */
static inline struct obj *find(DAT_HANDLE handle, enum obj_quick call)
{
	struct obj *obj = ((const struct slot *)handle)->object;

	return LIKELY(obj && (obj->quick & call)) ? obj : NULL;
}

static inline DAT_RETURN leave(DAT_RETURN ret)
{
	bias_leave_first();
	return ret;
}

static COLD DAT_RETURN leave_refused(int err)
{
	return leave(dto_no_room(err));
}

/* ---- Send ---- */

static inline DAT_RETURN send_one(struct ep *ep, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	int err = nic_send_one(ep->nic, (uint32_t)iov->segment_length, iov->virtual_address,
			       cookie.as_64, ep->send_window.lkey);

	return LIKELY(!err) ? leave(DAT_SUCCESS) : leave_refused(err);
}

/* From another LMR than the last one; or anything else, not inside too: the gate is closed. */
static COLD DAT_RETURN send_other(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct ep *ep = bias_enter(BIAS) ? obj_as(struct ep, find(handle, OBJ_QUICK_SEND)) : NULL;

	if (ep && dto_is_usual(segments, iov, flags) && dto_move_send_window(ep, iov))
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
	ep = obj_as(struct ep, find(handle, OBJ_QUICK_SEND));
	if (!LIKELY(ep && dto_is_usual(segments, iov, flags) &&
		    lmr_window_covers(&ep->send_window, iov)))
		return send_other(handle, segments, iov, cookie, flags);
	return send_one(ep, iov, cookie);
}

/* ---- Receive ---- */

static COLD DAT_RETURN recv_refused(struct ep *ep, int err)
{
	ep->recv_outstanding--;
	return leave_refused(err);
}

static inline DAT_RETURN recv_one(struct ep *ep, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	int err;

	ep->recv_outstanding++; /* before the post: a flush may reap it inside */
	err = nic_recv_one(ep->nic, (uint32_t)iov->segment_length, iov->virtual_address,
			   cookie.as_64, ep->recv_window.lkey);
	return LIKELY(!err) ? leave(DAT_SUCCESS) : recv_refused(ep, err);
}

/* As send_other. */
static COLD DAT_RETURN recv_other(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct ep *ep = bias_enter(BIAS) ? obj_as(struct ep, find(handle, OBJ_QUICK_RECV)) : NULL;

	if (ep && dto_is_usual(segments, iov, flags) && dto_has_recv_room(ep) &&
	    dto_move_recv_window(ep, iov))
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
	ep = obj_as(struct ep, find(handle, OBJ_QUICK_RECV));
	if (!LIKELY(ep && dto_is_usual(segments, iov, flags) && dto_has_recv_room(ep) &&
		    lmr_window_covers(&ep->recv_window, iov)))
		return recv_other(handle, segments, iov, cookie, flags);
	return recv_one(ep, iov, cookie);
}

static COLD DAT_RETURN srq_refused(struct srq *srq, int err)
{
	srq->outstanding--;
	return leave(nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ)));
}

static inline DAT_RETURN srq_recv_one(struct srq *srq, const DAT_LMR_TRIPLET *iov,
				      DAT_DTO_COOKIE cookie)
{
	int err;

	srq->outstanding++;
	err = nic_srq_recv_one(srq->nic, (uint32_t)iov->segment_length, iov->virtual_address,
			       cookie.as_64, srq->window.lkey);
	return LIKELY(!err) ? leave(DAT_SUCCESS) : srq_refused(srq, err);
}

static inline bool srq_is_usual(const struct srq *srq, DAT_COUNT segments,
				const DAT_LMR_TRIPLET *iov)
{
	return dto_is_usual(segments, iov, DAT_COMPLETION_DEFAULT_FLAG) &&
	       srq->outstanding < srq->max_recv_dtos;
}

static COLD DAT_RETURN srq_recv_other(DAT_SRQ_HANDLE handle, DAT_COUNT segments,
				      DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	struct srq *srq = bias_enter(BIAS) ? obj_as(struct srq, find(handle, OBJ_QUICK_SRQ)) : NULL;

	if (srq && srq_is_usual(srq, segments, iov) && srq_move_window(srq, iov))
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
	srq = obj_as(struct srq, find(handle, OBJ_QUICK_SRQ));
	if (!LIKELY(srq && srq_is_usual(srq, segments, iov) &&
		    lmr_window_covers(&srq->window, iov)))
		return srq_recv_other(handle, segments, iov, cookie);
	return srq_recv_one(srq, iov, cookie);
}

/* ---- dequeue ---- */

static inline void hand_over(DAT_EVD_HANDLE evd, const struct nic_wc *wc, DAT_EVENT *event)
{
	if (wc->opcode == NIC_OP_RECV)
		ep_reaped(wc->qp);
	evd_completion(evd, wc, event);
	if (!LIKELY(wc->opcode != NIC_OP_BIND))
		evd_become_bind(event);
}

static COLD DAT_RETURN dequeue_other(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	bias_leave();
	return dat__evd_dequeue_careful(handle, event);
}

DAT_RETURN dat__evd_dequeue_hw(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	const struct nic_wc *wc;
	struct evd *evd;

	if (!LIKELY(bias_enter(BIAS)))
		return dequeue_other(handle, event);
	evd = obj_as(struct evd, find(handle, OBJ_QUICK_DEQUEUE));
	if (!LIKELY(evd && event))
		return dequeue_other(handle, event);
	wc = nic_cq_next(evd->cq);
	if (!LIKELY(wc))
		return leave(DAT_QUEUE_EMPTY);
	hand_over(handle, wc, event);
	return leave(DAT_SUCCESS);
}
