/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ep_modify.c - dat_ep_modify, which changes all or nothing (ruling M6): a modified copy of the
 * attributes and references is made and checked, then the state is checked, then the NIC applies
 * the change, and only then the EP changes.
 */
#include <string.h>

#include "lib/api.h"
#include "ep.h"
#include "lib/memory/pz.h"
#include "lib/path/quick_hw.h"

/* Attributes that are single values, and the states in which each may be changed. */
static const struct field {
	uint64_t bit;
	size_t offset, size;
	uint32_t states;
} fields[] = {
#define FIELD(mask, name, states)                                         \
	{                                                                 \
		DAT_EP_FIELD_EP_ATTR_##mask, offsetof(DAT_EP_ATTR, name), \
			sizeof(((DAT_EP_ATTR *)0)->name), states          \
	}
	FIELD(SERVICE_TYPE, service_type, EP_PRECONNECT_STATES),
	FIELD(MAX_MESSAGE_SIZE, max_message_size, EP_PRECONNECT_STATES),
	FIELD(MAX_RDMA_SIZE, max_rdma_size, EP_PRECONNECT_STATES),
	FIELD(QOS, qos, EP_PRECONNECT_STATES),
	FIELD(RECV_COMPLETION_FLAGS, recv_completion_flags, EP_PRECONNECT_STATES),
	FIELD(REQUEST_COMPLETION_FLAGS, request_completion_flags, EP_PRECONNECT_STATES),
	FIELD(MAX_RECV_DTOS, max_recv_dtos, EP_PRECONNECT_STATES),
	FIELD(MAX_REQUEST_DTOS, max_request_dtos, EP_PRECONNECT_STATES),
	FIELD(MAX_RECV_IOV, max_recv_iov, EP_PRECONNECT_STATES),
	FIELD(MAX_REQUEST_IOV, max_request_iov, EP_PRECONNECT_STATES),
	FIELD(MAX_RDMA_READ_IN, max_rdma_read_in, EP_PRECONNECT_STATES),
	FIELD(MAX_RDMA_READ_OUT, max_rdma_read_out, EP_PRECONNECT_STATES),
	FIELD(MAX_RDMA_READ_IOV, max_rdma_read_iov, EP_PRECONNECT_STATES),
	FIELD(MAX_RDMA_WRITE_IOV, max_rdma_write_iov, EP_PRECONNECT_STATES),
	FIELD(NUM_TRANSPORT_ATTR, ep_transport_specific_count, EP_STATE_BIT(UNCONNECTED)),
	FIELD(TRANSPORT_SPECIFIC_ATTR, ep_transport_specific, EP_STATE_BIT(UNCONNECTED)),
	FIELD(NUM_PROVIDER_ATTR, ep_provider_specific_count, EP_STATE_BIT(UNCONNECTED)),
	FIELD(PROVIDER_SPECIFIC_ATTR, ep_provider_specific, EP_STATE_BIT(UNCONNECTED)),
#undef FIELD
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Ruling M1: these never change. */
#define NEVER_FIELDS                                                                          \
	(DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | \
	 DAT_EP_FIELD_LOCAL_PORT_QUAL | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR |                  \
	 DAT_EP_FIELD_REMOTE_PORT_QUAL | DAT_EP_FIELD_SRQ_HANDLE |                            \
	 DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW)

#define EVD_FIELDS                                                        \
	(DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
	 DAT_EP_FIELD_CONNECT_EVD_HANDLE)

/* Ruling G3a: a bad handle inside the struct is a bad parameter. */
static bool ep_modify_references(struct ep *to, uint64_t mask, const DAT_EP_PARAM *param)
{
	if (mask & DAT_EP_FIELD_PZ_HANDLE) {
		struct obj *pz =
			obj_find(obj_backend(&to->obj), param->pz_handle, DAT_HANDLE_TYPE_PZ);

		if (!pz || pz->ia != to->obj.ia)
			return false;
		to->pz = obj_as(struct pz, pz);
	}
	if ((mask & DAT_EP_FIELD_RECV_EVD_HANDLE) &&
	    !ep_find_evd(to->obj.ia, param->recv_evd_handle, DAT_EVD_DTO_FLAG, &to->recv_evd))
		return false;
	if ((mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE) &&
	    !ep_find_evd(to->obj.ia, param->request_evd_handle, DAT_EVD_DTO_FLAG, &to->request_evd))
		return false;
	if ((mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE) &&
	    !ep_find_evd(to->obj.ia, param->connect_evd_handle, DAT_EVD_CONNECTION_FLAG,
			 &to->connect_evd))
		return false;
	return true;
}

static DAT_RETURN ep_modify_attributes(struct ep *to, uint64_t mask, const DAT_EP_PARAM *param)
{
	DAT_RETURN ret;

	for (size_t i = 0; i < FIELDS; i++)
		if (mask & fields[i].bit)
			memcpy((char *)&to->attr + fields[i].offset,
			       (const char *)&param->ep_attr + fields[i].offset, fields[i].size);
	if (mask & (DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN | DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT))
		to->default_reads = false;
	ret = ep_attr_check(to->obj.ia->adapter, &to->attr, to->srq != NULL, 3, &to->attr);
	return ret == DAT_SUCCESS ? ret : BAD_ARG(3);
}

static DAT_RETURN ep_modify_check_states(const struct ep *ep, const struct ep *to, uint64_t mask)
{
	uint32_t states = ~0u;

	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		states &= EP_STATE_BIT(UNCONNECTED) | EP_STATE_BIT(TENTATIVE_CONNECTION_PENDING);
	if (mask & EVD_FIELDS)
		states &= EP_PRECONNECT_STATES;
	for (size_t i = 0; i < FIELDS; i++)
		if (mask & fields[i].bit)
			states &= fields[i].states;
	if (!ep_in(ep, states))
		return ep_state_error(ep->state);
	if ((mask & DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS) && ep->recv_posted)
		return ep_state_error(ep->state);
	if (!ep->srq && to->attr.max_recv_dtos < ep->recv_outstanding)
		return ep_state_error(ep->state);
	return DAT_SUCCESS;
}

static void ep_move_stream(struct evd *from, DAT_COMPLETION_FLAGS from_flags, struct evd *to,
			   DAT_COMPLETION_FLAGS to_flags)
{
	ep_detach(from, from_flags);
	ep_attach(to, to_flags);
}

static DAT_RETURN ep_modify_apply(struct ep *ep, const struct ep *to)
{
	struct nic_qp_init init;
	int err;

	ep_nic_init(to, &to->attr, &init);
	err = ep->nic->nic->ops->qp_modify(ep->nic, &init);
	if (err)
		return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP));
	ep_move_stream(ep->recv_evd, ep->attr.recv_completion_flags, to->recv_evd,
		       to->attr.recv_completion_flags);
	ep_move_stream(ep->request_evd, ep_request_stream_flags(&ep->attr), to->request_evd,
		       ep_request_stream_flags(&to->attr));
	ep_move_stream(ep->connect_evd, DAT_COMPLETION_DEFAULT_FLAG, to->connect_evd,
		       DAT_COMPLETION_DEFAULT_FLAG);
	if (ep->pz)
		ep->pz->users--;
	if (to->pz)
		to->pz->users++;
	lmr_range_close(&ep->send_range);
	lmr_range_close(&ep->recv_range);
	ep->pz = to->pz;
	ep->recv_evd = to->recv_evd;
	ep->request_evd = to->request_evd;
	ep->connect_evd = to->connect_evd;
	ep_set_attr(ep, &to->attr);
	ep->default_reads = to->default_reads;
	quick_hw_label(ep);
	return DAT_SUCCESS;
}

static DAT_RETURN ep_modify_locked(struct ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	uint64_t bits = (uint64_t)mask;
	struct ep to = *ep;
	DAT_RETURN ret;

	if (bits & ~(uint64_t)DAT_EP_FIELD_ALL)
		return BAD_ARG(2);
	if (bits & NEVER_FIELDS)
		return BAD_ARG(2);
	if (bits == 0)
		return DAT_SUCCESS;
	if (!param)
		return BAD_ARG(3);
	if (!ep_modify_references(&to, bits, param))
		return BAD_ARG(3);
	ret = ep_modify_attributes(&to, bits, param);
	if (ret == DAT_SUCCESS)
		ret = ep_modify_check_states(ep, &to, bits);
	if (ret == DAT_SUCCESS)
		ret = ep_modify_apply(ep, &to);
	if (ret == DAT_SUCCESS)
		obj_trace(ep, "modify mask=%lx", bits);
	return ret;
}

DAT_RETURN dat__ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);

	if (!obj)
		return DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return obj_leave(b, obj, "dat_ep_modify",
			 ep_modify_locked(obj_as(struct ep, obj), mask, param));
}
