/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting and disconnecting an Endpoint, and what the network answers. The passive side's
 * requests are in cr.c.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "ep.h"

#define BAD_EP DAT_FAIL(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

/* ---- connect ---- */

static DAT_RETURN check_connect(const struct ep *ep, const DAT_SOCK_ADDR *remote,
				DAT_TIMEOUT timeout, DAT_COUNT size, const void *data, DAT_QOS qos,
				DAT_CONNECT_FLAGS flags)
{
	const struct adapter *adapter = ep->obj.ia->adapter;

	if (!remote)
		return BAD_ARG(2);
	if (remote->sa_family != AF_INET && remote->sa_family != AF_INET6)
		return DAT_FAIL(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	if (timeout == 0)
		return BAD_ARG(4);
	if (size < 0 || (uint32_t)size > adapter->attr.max_private_data)
		return BAD_ARG(5);
	if (size > 0 && !data)
		return BAD_ARG(6);
	if (qos & ~(uint32_t)(DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY |
			      DAT_QOS_PREMIUM))
		return BAD_ARG(7);
	if ((uint32_t)flags & ~(uint32_t)DAT_CONNECT_MULTIPATH_FLAG)
		return BAD_ARG(8);
	if (ep_state_next(ep->state, EP_CONNECT) < 0)
		return ep_state_error(ep->state);
	if (qos != DAT_QOS_BEST_EFFORT || flags != DAT_CONNECT_DEFAULT_FLAG)
		return DAT_FAIL(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static size_t address_size(const DAT_SOCK_ADDR *addr)
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
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
}

static DAT_RETURN connect_locked(struct ep *ep, const DAT_SOCK_ADDR *remote, DAT_CONN_QUAL qual,
				 DAT_TIMEOUT timeout, const struct nic_conn_param *param)
{
	struct nic *nic = obj_nic(&ep->obj);
	uint64_t deadline = NIC_TIME_NEVER;
	struct sockaddr_storage *copy = calloc(1, sizeof(*copy));
	int err;

	if (!copy)
		return DAT_FAIL(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	memcpy(copy, remote, address_size(remote));
	if (timeout != DAT_TIMEOUT_INFINITE)
		deadline = nic->ops->now(nic) + timeout * NS_PER_US;
	err = nic->ops->connect(ep->nic, (const struct sockaddr *)copy, qual, deadline, param);
	if (err) {
		free(copy);
		return connect_error(err);
	}
	ep_forget_peer(ep);
	ep->remote = copy;
	ep->remote_port = qual;
	ep_change_state(ep, EP_CONNECT);
	backend_busy(ep->obj.nic);
	return DAT_SUCCESS;
}

DAT_RETURN dat__ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
			   DAT_CONNECT_FLAGS flags)
{
	struct backend *b;
	struct obj *obj = obj_enter(handle, DAT_HANDLE_TYPE_EP, &b);
	struct nic_conn_param param = { .private_data = data, .private_data_size = (uint32_t)size };
	struct ep *ep = obj_as(struct ep, obj);
	DAT_RETURN ret;

	if (!obj)
		return BAD_EP;
	ret = check_connect(ep, remote, timeout, size, data, qos, flags);
	if (ret == DAT_SUCCESS)
		ret = connect_locked(ep, remote, qual, timeout, &param);
	return obj_leave(b, obj, "dat_ep_connect", ret);
}

/* ---- disconnect ---- */

/* Nothing to end yet, or another's claim: not for disconnect to touch. */
#define NO_DISCONNECT_STATES EP_QUIET_STATES

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

/* ---- what the network says ---- */

static void connection_event(struct ep *ep, DAT_EVENT_NUMBER number, DAT_COUNT size)
{
	DAT_EVENT event = { .event_number = number };
	DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

	if (!ep->connect_evd)
		return;
	data->ep_handle = ep->obj.handle;
	data->private_data_size = size;
	data->private_data = size ? ep->private_data : NULL;
	evd_post_or_overflow(ep->connect_evd, &event);
}

void ep_on_established(void *qp_ctx, const void *private_data, uint32_t size)
{
	struct ep *ep = qp_ctx;

	if (size) {
		ep->private_data = malloc(size);
		if (ep->private_data)
			memcpy(ep->private_data, private_data, size);
		else
			size = 0;
	}
	ep_change_state(ep, EP_ESTABLISHED);
	connection_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED, (DAT_COUNT)size);
}

/* One row a reason: no two causes look the same to the Consumer unless DAT has one event for them. */
static const struct {
	DAT_EVENT_NUMBER event;
	enum ep_cause cause;
} ends[] = {
	[NIC_END_REJECTED] = { DAT_CONNECTION_EVENT_PEER_REJECTED, EP_REFUSED },
	[NIC_END_NO_LISTENER] = { DAT_CONNECTION_EVENT_NON_PEER_REJECTED, EP_REFUSED },
	[NIC_END_UNREACHABLE] = { DAT_CONNECTION_EVENT_UNREACHABLE, EP_REFUSED },
	[NIC_END_TIMED_OUT] = { DAT_CONNECTION_EVENT_TIMED_OUT, EP_REFUSED },
	[NIC_END_DISCONNECTED] = { DAT_CONNECTION_EVENT_DISCONNECTED, EP_ENDED },
	[NIC_END_BROKEN] = { DAT_CONNECTION_EVENT_BROKEN, EP_ENDED },
	[NIC_END_ACCEPT_FAILED] = { DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
				    EP_ACCEPT_FAILED },
};

void ep_on_conn_end(void *qp_ctx, enum nic_conn_end why)
{
	struct ep *ep = qp_ctx;

	ep->breaking = false;
	ep_change_state(ep, ends[why].cause);
	connection_event(ep, ends[why].event, 0);
}
