/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdma.c - post RDMA Writes and RDMA Reads on an Endpoint. The local segments and the lengths are
 * checked here; access to the peer's memory is checked by the peer's NIC.
 */
#include "lib/api.h"
#include "dto.h"
#include "ep.h"
#include "lib/memory/lmr.h"

/* The arguments of a post as the Consumer gave them, and the work request made from them. */
struct rdma {
	DAT_COUNT segments;
	const DAT_LMR_TRIPLET *iov;
	const DAT_RMR_TRIPLET *remote;
	DAT_COMPLETION_FLAGS flags;
	struct nic_send_wr wr;
};

/*
 * A Write copies all local segments to the remote buffer, a Read all of the remote buffer to the
 * local segments. The source may be shorter than the target, not longer.
 */
static DAT_RETURN rdma_check_lengths(const struct ep *ep, struct rdma *r, DAT_VLEN local)
{
	bool read = r->wr.opcode == NIC_OP_READ;
	DAT_VLEN remote, moved;

	if (!read && local > ep->attr.max_rdma_size)
		return BAD_ARG(3);
	if (!r->remote)
		return BAD_ARG(5);
	remote = r->remote->segment_length;
	if (read ? remote > local : local > remote)
		return DAT_FAIL(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	moved = read ? remote : local;
	if (moved > ep->attr.max_rdma_size)
		return BAD_ARG(5);
	r->wr.length = (uint32_t)moved;
	r->wr.remote_addr = r->remote->target_address;
	r->wr.rkey = r->remote->rmr_context;
	return DAT_SUCCESS;
}

static DAT_RETURN rdma_post_locked(struct ep *ep, struct rdma *r)
{
	bool read = r->wr.opcode == NIC_OP_READ;
	DAT_COUNT most = read ? ep->attr.max_rdma_read_iov : ep->attr.max_rdma_write_iov;
	struct lmr_need need = { .pz = ep->pz,
				 .privileges = read ? LMR_NEED_WRITE : LMR_NEED_READ,
				 .first_arg = 2 };
	struct nic_sge sge[LMR_SEGMENTS_MAX];
	DAT_VLEN local;
	DAT_RETURN ret;
	int err;

	if (r->segments < 0 || r->segments > most)
		return BAD_ARG(2);
	ret = lmr_translate(ep->obj.ia->adapter, need, r->segments, r->iov, sge, &local);
	if (ret == DAT_SUCCESS)
		ret = rdma_check_lengths(ep, r, local);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!dto_flags_ok(r->flags, DTO_RDMA_FLAGS, ep->attr.request_completion_flags))
		return BAD_ARG(6);
	if (!ep_in(ep, EP_POST_STATES))
		return ep_state_error(ep->state);
	/* The EP may have no Read in flight. */
	if (read && ep->attr.max_rdma_read_out == 0)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	r->wr.sge = sge;
	r->wr.num_sge = (uint16_t)r->segments;
	r->wr.flags = (uint8_t)dto_wr_flags(r->flags);
	err = ep->obj.nic->ops->post_send(ep->nic, &r->wr);
	if (err)
		return dto_no_room(err);
	dto_posted(&ep->obj);
	return DAT_SUCCESS;
}

static DAT_RETURN rdma_post(DAT_EP_HANDLE handle, struct rdma *r, const char *call)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return obj_leave(b, obj, call, rdma_post_locked(obj_as(struct ep, obj), r));
}

DAT_RETURN dat__ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	struct rdma r = { .segments = segments,
			  .iov = iov,
			  .remote = remote,
			  .flags = flags,
			  .wr = { .wr_id = cookie.as_64, .opcode = NIC_OP_READ } };

	return rdma_post(ep, &r, "dat_ep_post_rdma_read");
}

DAT_RETURN dat__ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	struct rdma r = { .segments = segments,
			  .iov = iov,
			  .remote = remote,
			  .flags = flags,
			  .wr = { .wr_id = cookie.as_64, .opcode = NIC_OP_WRITE } };

	return rdma_post(ep, &r, "dat_ep_post_rdma_write");
}
