/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dto.c - post Sends and Receives on an Endpoint. This is on the path of every message: it
 * allocates nothing and makes no system call.
 */
#include <errno.h>

#include "lib/api.h"
#include "dto.h"
#include "ep.h"
#include "lib/memory/lmr.h"
#include "lib/memory/pz.h"
#include "srq.h"

#define BAD_EP DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

#define SEND_FLAGS                                                                      \
	((uint32_t)(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG | \
		    DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG))
#define RECV_FLAGS ((uint32_t)DAT_COMPLETION_UNSIGNALLED_FLAG)

uint32_t dto_wr_flags(DAT_COMPLETION_FLAGS flags)
{
	uint32_t wr = 0;

	if (flags == DAT_COMPLETION_DEFAULT_FLAG)
		return 0;
	if (flags & DAT_COMPLETION_SUPPRESS_FLAG)
		wr |= NIC_WR_SUPPRESS;
	if (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		wr |= NIC_WR_SOLICITED;
	if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
		wr |= NIC_WR_QUIET;
	if (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		wr |= NIC_WR_FENCE;
	return wr;
}

bool dto_flags_ok(DAT_COMPLETION_FLAGS flags, uint32_t known, DAT_COMPLETION_FLAGS ep_flags)
{
	if (flags == DAT_COMPLETION_DEFAULT_FLAG)
		return true;
	if ((uint32_t)flags & ~known)
		return false;
	return !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG) ||
	       (ep_flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

DAT_RETURN dto_no_room(int err)
{
	return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES,
					 err == -EAGAIN ? DAT_RESOURCE_TEP : DAT_RESOURCE_MEMORY));
}

static DAT_RETURN dto_send_locked(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct nic_sge sge[LMR_SEGMENTS_MAX];
	struct nic_send_wr wr;
	struct lmr_need need = { .pz = ep->pz, .privileges = LMR_NEED_READ, .first_arg = 2 };
	DAT_VLEN length;
	DAT_RETURN ret;
	int err;

	if ((uint32_t)segments > (uint32_t)ep->attr.max_request_iov)
		return BAD_ARG(2);
	ret = lmr_translate(ep->obj.ia->adapter, need, segments, iov, sge, &length);
	if (ret != DAT_SUCCESS)
		return ret;
	if (length > ep->attr.max_message_size)
		return BAD_ARG(3);
	if (!dto_flags_ok(flags, SEND_FLAGS, ep->attr.request_completion_flags))
		return BAD_ARG(5);
	if (!ep_in(ep, EP_POST_STATES))
		return ep_state_error(ep->state);
	/* Send does not read the fields of RDMA and binds, so they stay unset. */
	wr.wr_id = cookie.as_64;
	wr.sge = sge;
	wr.num_sge = (uint16_t)segments;
	wr.length = (uint32_t)length;
	wr.opcode = NIC_OP_SEND;
	wr.flags = (uint8_t)dto_wr_flags(flags);
	err = ep->obj.nic->ops->post_send(ep->nic, &wr);
	if (err)
		return dto_no_room(err);
	dto_posted(&ep->obj);
	return DAT_SUCCESS;
}

COLD DAT_RETURN dat__ep_post_send_careful(DAT_EP_HANDLE handle, DAT_COUNT segments,
					  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					  DAT_COMPLETION_FLAGS flags)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);

	if (!obj)
		return BAD_EP;
	return obj_leave(b, obj, "dat_ep_post_send",
			 dto_send_locked(obj_as(struct ep, obj), segments, iov, cookie, flags));
}

COLD bool dto_move_send_range(struct ep *ep, const DAT_LMR_TRIPLET *iov)
{
	struct lmr_need need = { .pz = ep->pz, .privileges = LMR_NEED_READ };

	return lmr_range_move(&ep->send_range, obj_adapter(&ep->obj), &need,
			      ep->attr.max_message_size, iov);
}

typedef bool dto_post_fast(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);

static HOT bool dto_send_segment(struct ep *ep, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				 uint8_t flags)
{
	struct nic_send_wr wr;
	struct nic_sge sge;

	dto_fill_sge(&sge, iov, &ep->send_range);
	wr.wr_id = cookie.as_64;
	wr.sge = &sge;
	wr.num_sge = 1;
	wr.length = sge.length;
	wr.opcode = NIC_OP_SEND;
	wr.flags = flags;
	if (ep->obj.nic->ops->post_send(ep->nic, &wr))
		return false;
	backend_busy(ep->obj.nic);
	return true;
}

/*
 * The fast Send. False: the post is not simple, or the NIC refused it; the caller then starts the
 * general path from its beginning.
 */
static HOT bool dto_send_fast(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return dto_send_is_simple(ep, segments, iov, flags) && dto_send_segment(ep, iov, cookie, 0);
}

/* The same with flags that any EP takes and that do not change how the Send is executed. */
static __attribute__((noinline)) bool dto_send_flagged(struct ep *ep, DAT_COUNT segments,
						       const DAT_LMR_TRIPLET *iov,
						       DAT_DTO_COOKIE cookie,
						       DAT_COMPLETION_FLAGS flags)
{
	const uint32_t fast = (uint32_t)DAT_COMPLETION_SUPPRESS_FLAG |
			      (uint32_t)DAT_COMPLETION_SOLICITED_WAIT_FLAG;

	return !((uint32_t)flags & ~fast) &&
	       dto_send_is_simple(ep, segments, iov, DAT_COMPLETION_DEFAULT_FLAG) &&
	       dto_send_segment(ep, iov, cookie, (uint8_t)dto_wr_flags(flags));
}

/* From another LMR than the last Send, or one that the NIC does not take alone. */
static COLD DAT_RETURN dto_send_other(struct ep *ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				      DAT_DTO_COOKIE cookie)
{
	if (dto_send_fast(ep, segments, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG))
		return DAT_SUCCESS;
	return dat__ep_post_send_careful(ep->obj.handle, segments, iov, cookie,
					 DAT_COMPLETION_DEFAULT_FLAG);
}

COLD int dto_send_refused(struct nic_qp *qp, void *iov, uint64_t cookie)
{
	return (int)dto_send_other(qp->ctx, 1, iov, (DAT_DTO_COOKIE){ .as_64 = cookie });
}

/* A Send with flags or several segments, or on an EP that is not ready. */
static __attribute__((noinline)) DAT_RETURN
dto_send_unlike(struct ep *ep, DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
		DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (ep && dto_send_flagged(ep, segments, iov, cookie, flags))
		return DAT_SUCCESS;
	return dat__ep_post_send_careful(handle, segments, iov, cookie, flags);
}

/*
 * Without a lock while the process has a single thread; see obj_peek. The NIC is called last, so no
 * register has to be saved. After the first test there is one segment and no flag: dto_send_other
 * names them itself.
 */
DAT_RETURN dat__ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct ep *ep = obj_as(struct ep, obj_peek(handle, OBJ_QUICK_SEND));

	if (!ep || !dto_is_simple(segments, iov, flags))
		return dto_send_unlike(ep, handle, segments, iov, cookie, flags);
	if (!lmr_range_covers(&ep->send_range, iov))
		return dto_send_other(ep, segments, iov, cookie);
	return (DAT_RETURN)ep->nic->nic->ops->send_one(ep->nic, iov->virtual_address, iov,
						       cookie.as_64, (uint32_t)iov->segment_length,
						       ep->send_range.lkey);
}

/* A post in a shared fabric: under the biased lock, fast if the EP allows `call`. */
static HOT bool dto_post_biased(DAT_EP_HANDLE handle, enum obj_quick call, dto_post_fast *post,
				DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct backend *b;
	struct obj *obj = obj_peek_biased(handle, DAT_HANDLE_TYPE_EP, &b);
	bool done = false;

	if (obj) {
		done = (obj->quick & call) &&
		       post(obj_as(struct ep, obj), segments, iov, cookie, flags);
		obj_unpeek(b);
	}
	return done;
}

static __attribute__((noinline)) DAT_RETURN
dto_send_biased_unlike(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
		       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (flags != DAT_COMPLETION_DEFAULT_FLAG &&
	    dto_post_biased(handle, OBJ_QUICK_SEND, dto_send_flagged, segments, iov, cookie, flags))
		return DAT_SUCCESS;
	return dat__ep_post_send_careful(handle, segments, iov, cookie, flags);
}

DAT_RETURN dat__ep_post_send_biased(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (dto_post_biased(handle, OBJ_QUICK_SEND, dto_send_fast, segments, iov, cookie, flags))
		return DAT_SUCCESS;
	return dto_send_biased_unlike(handle, segments, iov, cookie, flags);
}

/* Ruling Q5: an EP made with an SRQ takes no posts of its own. */
static COLD DAT_RETURN dto_recv_on_srq(const struct ep *ep, DAT_COUNT segments)
{
	return segments < 0 ? BAD_ARG(2) : ep_state_error(ep->state);
}

static void dto_trace_recv(const struct ep *ep, DAT_VLEN length, DAT_COUNT segments)
{
	struct nic *nic = ep->obj.nic;

	if (length <= UINT32_MAX)
		nic->ops->trace_event(nic, NIC_TRACE_EP_RECV, ep->obj.id, (uint32_t)length,
				      (uint32_t)segments, (uint32_t)ep->recv_outstanding);
	else
		obj_trace_line(&ep->obj, "post_recv bytes=%lu segments=%d outstanding=%d", length,
			       segments, ep->recv_outstanding);
}

static DAT_RETURN dto_recv_locked(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct nic_sge sge[LMR_SEGMENTS_MAX];
	struct nic_recv_wr wr = { .wr_id = cookie.as_64, .sge = sge };
	struct lmr_need need = { .pz = ep->pz, .privileges = LMR_NEED_WRITE, .first_arg = 2 };
	DAT_VLEN length;
	DAT_RETURN ret;
	int err;

	if (__builtin_expect(ep->srq != NULL, 0))
		return dto_recv_on_srq(ep, segments);
	if ((uint32_t)segments > (uint32_t)ep->attr.max_recv_iov)
		return BAD_ARG(2);
	ret = lmr_translate(ep->obj.ia->adapter, need, segments, iov, sge, &length);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!dto_flags_ok(flags, RECV_FLAGS, ep->attr.recv_completion_flags))
		return BAD_ARG(5);
	if (!dto_has_recv_room(ep))
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	wr.num_sge = (uint16_t)segments;
	wr.flags = (uint8_t)dto_wr_flags(flags);
	ep->recv_outstanding++; /* before the post: a flush may reap it inside */
	err = ep->obj.nic->ops->post_recv(ep->nic, &wr);
	if (err) {
		ep->recv_outstanding--;
		return dto_no_room(err);
	}
	ep->recv_posted = true;
	ep_update_quick(ep);
	backend_busy(ep->obj.nic);
	if (__builtin_expect(ep->obj.nic->tracing, 0))
		dto_trace_recv(ep, length, segments);
	return DAT_SUCCESS;
}

COLD DAT_RETURN dat__ep_post_recv_careful(DAT_EP_HANDLE handle, DAT_COUNT segments,
					  DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					  DAT_COMPLETION_FLAGS flags)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);

	if (!obj)
		return BAD_EP;
	return obj_leave(b, obj, "dat_ep_post_recv",
			 dto_recv_locked(obj_as(struct ep, obj), segments, iov, cookie, flags));
}

COLD bool dto_move_recv_range(struct ep *ep, const DAT_LMR_TRIPLET *iov)
{
	struct lmr_need need = { .pz = ep->pz, .privileges = LMR_NEED_WRITE };
	const struct dat_adapter *adapter = obj_adapter(&ep->obj);

	return lmr_range_move(&ep->recv_range, adapter, &need, adapter->base.attr.max_msg_size,
			      iov);
}

/* The fast Receive, like dto_send_fast, without its line in the trace. */
static HOT bool dto_recv_silent(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct nic_recv_wr wr;
	struct nic_sge sge;

	if (!dto_recv_is_simple(ep, segments, iov, flags))
		return false;
	dto_fill_sge(&sge, iov, &ep->recv_range);
	wr.wr_id = cookie.as_64;
	wr.sge = &sge;
	wr.num_sge = 1;
	wr.flags = 0;
	ep->recv_outstanding++; /* before the post: a flush may reap it inside */
	if (ep->obj.nic->ops->post_recv(ep->nic, &wr)) {
		ep->recv_outstanding--;
		return false;
	}
	backend_busy(ep->obj.nic);
	return true;
}

static COLD DAT_RETURN dto_recv_other(struct ep *ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				      DAT_DTO_COOKIE cookie)
{
	if (!dto_recv_silent(ep, segments, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG))
		return dat__ep_post_recv_careful(ep->obj.handle, segments, iov, cookie,
						 DAT_COMPLETION_DEFAULT_FLAG);
	if (ep->obj.nic->tracing)
		dto_trace_recv(ep, iov->segment_length, segments);
	return DAT_SUCCESS;
}

COLD int dto_recv_refused(struct nic_qp *qp, void *iov, uint64_t cookie)
{
	struct ep *ep = qp->ctx;

	ep->recv_outstanding--;
	return (int)dto_recv_other(ep, 1, iov, (DAT_DTO_COOKIE){ .as_64 = cookie });
}

int dto_recv_posted(struct nic_qp *qp, void *iov, uint64_t cookie)
{
	(void)cookie;
	dto_trace_recv(qp->ctx, ((const DAT_LMR_TRIPLET *)iov)->segment_length, 1);
	return 0;
}

DAT_RETURN dat__ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct ep *ep = obj_as(struct ep, obj_peek(handle, OBJ_QUICK_RECV));

	if (!ep || !dto_is_simple(segments, iov, flags))
		return dat__ep_post_recv_careful(handle, segments, iov, cookie, flags);
	if (!dto_has_recv_room(ep) || !lmr_range_covers(&ep->recv_range, iov))
		return dto_recv_other(ep, segments, iov, cookie);
	ep->recv_outstanding++;
	return (DAT_RETURN)ep->nic->nic->ops->recv_one(ep->nic, iov->virtual_address, iov,
						       cookie.as_64, (uint32_t)iov->segment_length,
						       ep->recv_range.lkey);
}

/*
 * In a traced shared world: with the world's lock from before the post, for the message that takes
 * the Receive is to have its lines after this one's.
 */
static __attribute__((noinline)) bool dto_recv_noted(struct ep *ep, DAT_COUNT segments,
						     const DAT_LMR_TRIPLET *iov,
						     DAT_DTO_COOKIE cookie,
						     DAT_COMPLETION_FLAGS flags)
{
	struct backend *b = obj_backend(&ep->obj);
	bool done;

	if (b->kind->line_begin(b->shared, NULL) != NIC_LINE_READY)
		return false;
	done = dto_recv_silent(ep, segments, iov, cookie, flags);
	if (done)
		dto_trace_recv(ep, iov->segment_length, segments);
	b->kind->line_end(b->shared);
	return done;
}

static HOT bool dto_recv_shared(struct ep *ep, DAT_COUNT segments, const DAT_LMR_TRIPLET *iov,
				DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (__builtin_expect(ep->obj.nic->tracing, 0))
		return dto_recv_noted(ep, segments, iov, cookie, flags);
	return dto_recv_silent(ep, segments, iov, cookie, flags);
}

DAT_RETURN dat__ep_post_recv_biased(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (dto_post_biased(handle, OBJ_QUICK_RECV, dto_recv_shared, segments, iov, cookie, flags))
		return DAT_SUCCESS;
	return dat__ep_post_recv_careful(handle, segments, iov, cookie, flags);
}
