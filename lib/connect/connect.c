/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connect.c - connect and disconnect an Endpoint, and handle what the NIC reports about its
 * connection. Requests on the passive side are in cr.c.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api.h"
#include "lib/cause.h"
#include "lib/ep/ep.h"
#include "host/fault_door.h"

#define BAD_EP DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

/* ---- connect ---- */

/*
 * The arguments that dat_ep_connect and dat_ep_dup_connect share; `first` is the position of the
 * timeout.
 */
struct connect_args {
	DAT_TIMEOUT timeout;
	DAT_COUNT size;
	const void *data;
	DAT_QOS qos;
	int first;
};

static DAT_RETURN connect_check(const struct ep *ep, const struct connect_args *r)
{
	if (r->timeout == 0)
		return BAD_ARG_NUMBER(r->first);
	if (r->size < 0 || (uint32_t)r->size > ep->obj.ia->adapter->base.attr.max_private_data)
		return BAD_ARG_NUMBER(r->first + 1);
	if (r->size > 0 && !r->data)
		return BAD_ARG_NUMBER(r->first + 2);
	if (r->qos & ~(uint32_t)(DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY |
				 DAT_QOS_PREMIUM))
		return BAD_ARG_NUMBER(r->first + 3);
	return DAT_SUCCESS;
}

static size_t sockaddr_size(const DAT_SOCK_ADDR *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6);
}

static DAT_RETURN connect_error(int err)
{
	switch (err) {
	case -EAFNOSUPPORT:
		return DAT_FAIL(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	case -EADDRNOTAVAIL:
		return DAT_FAIL(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	default:
		return nic_refusal(err, DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	}
}

static DAT_RETURN ep_start_connect(struct ep *ep, const DAT_SOCK_ADDR6 *remote, DAT_CONN_QUAL qual,
				   const struct connect_args *r)
{
	struct nic_conn_param param = { .private_data = r->data,
					.private_data_size = (uint32_t)r->size };
	struct nic *nic = obj_nic(&ep->obj);
	uint64_t deadline = NIC_TIME_NEVER;
	DAT_SOCK_ADDR6 *copy;
	int err;

	if (r->qos != DAT_QOS_BEST_EFFORT)
		return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	copy = ep_copy_address(nic, remote);
	if (!copy)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (r->timeout != DAT_TIMEOUT_INFINITE)
		deadline = nic->ops->now(nic) + r->timeout * NS_PER_US;
	ep_ask_for_reads(ep, &param);
	err = nic->ops->connect(ep->nic, (const struct sockaddr *)copy, qual, deadline, &param);
	if (err) {
		free(copy);
		return connect_error(err);
	}
	ep_set_peer(ep, copy, qual);
	ep_change_state(ep, EP_CONNECT);
	backend_busy(ep->obj.nic);
	return DAT_SUCCESS;
}

static DAT_RETURN connect_locked(struct ep *ep, const DAT_SOCK_ADDR *remote, DAT_CONN_QUAL qual,
				 const struct connect_args *r, DAT_CONNECT_FLAGS flags)
{
	DAT_SOCK_ADDR6 address = { 0 };
	DAT_RETURN ret;

	if (!remote)
		return BAD_ARG(2);
	if (remote->sa_family != AF_INET && remote->sa_family != AF_INET6)
		return DAT_FAIL(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	ret = connect_check(ep, r);
	if (ret != DAT_SUCCESS)
		return ret;
	if ((uint32_t)flags & ~(uint32_t)DAT_CONNECT_MULTIPATH_FLAG)
		return BAD_ARG(8);
	if (ep_state_next(ep->state, EP_CONNECT) < 0)
		return ep_state_error(ep->state);
	if (flags != DAT_CONNECT_DEFAULT_FLAG)
		return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	memcpy(&address, remote, sockaddr_size(remote));
	return ep_start_connect(ep, &address, qual, r);
}

DAT_RETURN dat__ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
			   DAT_CONNECT_FLAGS flags)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);
	struct connect_args r = { .timeout = timeout,
				  .size = size,
				  .data = data,
				  .qos = qos,
				  .first = 4 };

	if (!obj)
		return BAD_EP;
	return obj_leave(b, obj, "dat_ep_connect",
			 connect_locked(obj_as(struct ep, obj), remote, qual, &r, flags));
}

/*
 * Connect to the peer of dup_handle. Its connect flags are the defaults: no others are supported.
 */
static DAT_RETURN dup_connect_locked(struct ep *ep, DAT_EP_HANDLE dup_handle,
				     const struct connect_args *r)
{
	const struct ep *dup =
		obj_as(struct ep, obj_find(obj_backend(&ep->obj), dup_handle, DAT_HANDLE_TYPE_EP));
	DAT_RETURN ret;

	if (!dup || dup->obj.ia != ep->obj.ia)
		return BAD_EP;
	ret = connect_check(ep, r);
	if (ret != DAT_SUCCESS)
		return ret;
	if (ep_state_next(ep->state, EP_CONNECT) < 0)
		return ep_state_error(ep->state);
	if (dup->state != DAT_EP_STATE_CONNECTED)
		return ep_state_error(dup->state);
	return ep_start_connect(ep, dup->remote, dup->remote_port, r);
}

DAT_RETURN dat__ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup, DAT_TIMEOUT timeout,
			       DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);
	struct connect_args r = { .timeout = timeout,
				  .size = size,
				  .data = data,
				  .qos = qos,
				  .first = 3 };

	if (!obj)
		return BAD_EP;
	return obj_leave(b, obj, "dat_ep_dup_connect",
			 dup_connect_locked(obj_as(struct ep, obj), dup, &r));
}

/* ---- disconnect ---- */

/* There is no connection to end yet, or the EP belongs to a service point or a request. */
#define NO_DISCONNECT_STATES EP_PRECONNECT_STATES

static DAT_RETURN disconnect_locked(struct ep *ep, DAT_CLOSE_FLAGS flags)
{
	bool abrupt = flags == DAT_CLOSE_ABRUPT_FLAG;

	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return BAD_ARG(2);
	if (ep_in(ep, NO_DISCONNECT_STATES))
		return ep_state_error(ep->state);
	if (ep->state == DAT_EP_STATE_DISCONNECTED)
		return DAT_SUCCESS;
	obj_trace(ep, "disconnect flag=%s", abrupt ? "abrupt" : "graceful");
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING && !abrupt)
		return DAT_SUCCESS;
	if (ep->state == DAT_EP_STATE_CONNECTED)
		ep_change_state(ep, EP_DISCONNECT);
	backend_busy(ep->obj.nic);
	ep->nic->nic->ops->disconnect(ep->nic, abrupt);
	return DAT_SUCCESS;
}

DAT_RETURN dat__ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);

	if (!obj)
		return BAD_EP;
	return obj_leave(b, obj, "dat_ep_disconnect",
			 disconnect_locked(obj_as(struct ep, obj), flags));
}

/* ---- upcalls ---- */

static void ep_post_connection_event(struct ep *ep, DAT_EVENT_NUMBER number, DAT_COUNT size)
{
	DAT_EVENT event = { .event_number = number };
	DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

	if (!ep->connect_evd)
		return;
	data->ep_handle = ep->obj.handle;
	data->private_data_size = size;
	data->private_data = size ? ep->private_data : NULL;
	evd_post_connection(ep->connect_evd, &event,
			    number == DAT_CONNECTION_EVENT_ESTABLISHED ? ep : NULL);
}

/* Private data stays with the EP until the EP is freed or UNCONNECTED again. */
static DAT_COUNT ep_keep_private_data(struct ep *ep, const struct nic_conn_param *peer)
{
	if (peer->private_data_size == 0)
		return 0;
	ep->private_data =
		nic_calloc(obj_nic(&ep->obj), 1, peer->private_data_size, "private_data");
	if (!ep->private_data)
		return 0;
	memcpy(ep->private_data, peer->private_data, peer->private_data_size);
	return (DAT_COUNT)peer->private_data_size;
}

/* Fit default RDMA Read limits to the number that the peer serves and the number that it starts. */
static void ep_fit_reads(struct ep *ep, const struct nic_conn_param *peer)
{
	uint32_t in = (uint32_t)ep->attr.max_rdma_read_in;
	uint32_t out = (uint32_t)ep->attr.max_rdma_read_out;

	if (ep->default_reads)
		ep_set_reads(ep, in > peer->rd_out ? in : peer->rd_out,
			     out < peer->rd_in ? out : peer->rd_in);
}

void ep_on_established(void *qp_ctx, const struct nic_conn_param *peer)
{
	struct ep *ep = qp_ctx;
	DAT_COUNT size = 0;

	if (!ep_can_change(ep, EP_ESTABLISHED))
		return;
	if (peer) {
		size = ep_keep_private_data(ep, peer);
		ep_fit_reads(ep, peer);
	}
	ep_change_state(ep, EP_ESTABLISHED);
	/* The adapter failed before the connection was established. */
	if (obj_adapter(&ep->obj)->base.failed)
		ep->nic->nic->ops->qp_break(ep->nic);
	ep_post_connection_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED, size);
}

void ep_on_conn_end(void *qp_ctx, enum nic_conn_end why)
{
	struct ep *ep = qp_ctx;

	if (!ep_can_change(ep, cause_ends[why].state))
		return;
	ep->breaking = false;
	ep_change_state(ep, cause_ends[why].state);
	ep_post_connection_event(ep, cause_ends[why].event, 0);
}
