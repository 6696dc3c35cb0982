/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resolve.c - the way to a peer: its address, and a route.
 *
 * Nothing is asked of a peer before the connection request, so every address that a host can have
 * resolves. While the device's port is down no question gets out, and the outcome is known when it
 * comes up, or at the end of the time that the program gives. The alarm of a connection of the
 * NIC's, which carries nothing, tells that end.
 */
#include <netinet/in.h>
#include <string.h>

#include "cm.h"
#include "verbs/wait.h"

#define NS_PER_MS 1000000ul

/* ---- waiting for the port ---- */

static struct ibv_port_attr port_of(const struct cm_id *id)
{
	struct ibv_port_attr port;

	vb_port(id->base.verbs, &port);
	return port;
}

/* Until the port comes up, or so long; a negative time has no end, as Linux has it. */
static int await_port(struct cm_id *id, enum cm_state state, int timeout_ms)
{
	int err = cm_conn_make(id);

	if (!err && timeout_ms >= 0)
		err = id->nic->nic->ops->qp_alarm(id->nic, (uint64_t)timeout_ms * NS_PER_MS);
	if (err)
		cm_conn_free(id);
	else
		id->state = state;
	return err;
}

void cm_resolve_end(struct cm_id *id, int status)
{
	bool route = id->state == CM_ROUTING;
	enum rdma_cm_event_type good = RDMA_CM_EVENT_ADDR_RESOLVED, bad = RDMA_CM_EVENT_ADDR_ERROR;

	if (route) {
		good = RDMA_CM_EVENT_ROUTE_RESOLVED;
		bad = RDMA_CM_EVENT_ROUTE_ERROR;
	}
	if (status)
		id->state = route ? CM_ADDRESS : CM_BOUND;
	else
		id->state = route ? CM_ROUTE : CM_ADDRESS;
	cm_event_add(id, status ? bad : good, status);
}

/* ---- the address ---- */

/* The port, if the id has one, stays. */
static void take_device_address(struct cm_id *id)
{
	struct sockaddr *own = &id->base.route.addr.src_addr;
	uint16_t port = cm_port(own);

	if (own->sa_family && !cm_is_any(own))
		return;
	memcpy(&id->base.route.addr.src_storage, &cm_device_attr(id->device)->addr,
	       sizeof(struct sockaddr_in));
	cm_set_port(own, port);
}

/*
 * As long as hosts take to ask for an address. Meanwhile a peer that was told of the connection by
 * other means, and has only to listen, does so: perftest relies on that.
 */
#define RESOLVE_NS 100000

/* The lock is held; the device, if there is one, becomes the id's. */
static int resolve_id(struct cm_id *id, const struct sockaddr *to, struct cm_device *device,
		      int timeout_ms)
{
	int err;

	if (id->state != CM_BOUND || (!id->device && !device))
		return -EINVAL;
	err = vb_fault(vb_context_of((device ? device : id->device)->verbs), NULL,
		       VB_CALL_RESOLVE_ADDR);
	if (err)
		return err;
	if (device)
		cm_join_device(id, device);
	take_device_address(id);
	memset(&id->base.route.addr.dst_storage, 0, sizeof(struct sockaddr_storage));
	memcpy(&id->base.route.addr.dst_storage, to, cm_address_size(to));
	id->state = CM_RESOLVING;
	if (port_of(id).state == IBV_PORT_ACTIVE) {
		cm_trace(id, "rdma_resolve_addr port=%u", cm_port(to));
		cm_resolve_end(id, 0);
		return 0;
	}
	err = await_port(id, CM_RESOLVING, timeout_ms);
	if (err)
		id->state = CM_BOUND;
	else
		cm_trace(id, "rdma_resolve_addr port=%u", cm_port(to));
	if (err && device)
		cm_leave_device(id);
	return err;
}

/* The family of the destination: as the program bound the id, or as it was before, if it failed. */
static bool is_of_family(const struct cm_id *id, const struct sockaddr *from,
			 const struct sockaddr *to)
{
	const struct rdma_addr *addr = &id->base.route.addr;
	sa_family_t family = from ? from->sa_family : 0;

	if (id->state == CM_BOUND)
		family = addr->dst_addr.sa_family ? addr->dst_addr.sa_family
						  : addr->src_addr.sa_family;
	return !family || family == to->sa_family;
}

/* Called without the lock, before the id is bound. *idle: the id has yet to be bound. */
static int check_addresses(struct cm_id *id, const struct sockaddr *from, const struct sockaddr *to,
			   bool *idle)
{
	int err = 0;

	if (!to || cm_address_size(to) == 0 ||
	    (from && from->sa_family && cm_address_size(from) == 0))
		return -EINVAL;
	cm_enter();
	if (id->state > CM_BOUND || !is_of_family(id, from, to))
		err = -EINVAL;
	*idle = id->state == CM_IDLE;
	cm_leave();
	return err;
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *from, struct sockaddr *to,
		      int timeout_ms)
{
	static struct sockaddr_in any = { .sin_family = AF_INET };
	struct cm_id *id = cm_id_of(base);
	struct cm_device *device = NULL;
	bool idle;
	int err = check_addresses(id, from, to, &idle);

	if (err)
		return cm_told(id, "rdma_resolve_addr", err);
	if (idle && cm_bind(id, from && from->sa_family ? from : (struct sockaddr *)&any,
			    "rdma_resolve_addr"))
		return -1;
	if (!id->device)
		err = cm_device_get(0, &device);
	if (err)
		return cm_fail(err);
	cm_enter();
	vb_pass_time(cm_backend(), RESOLVE_NS);
	err = resolve_id(id, to, device, timeout_ms);
	cm_device_refuse(device ? device : id->device, "rdma_resolve_addr", err);
	cm_leave();
	if (err)
		cm_device_put(device);
	return err ? cm_fail(err) : cm_complete(id);
}

/* ---- the route ---- */

/* Before the peer answers: a LID, if the address is one of the fabric. */
static void fill_path(struct cm_id *id)
{
	const struct nic_attr *attr = cm_device_attr(id->device);
	const struct sockaddr_in *own = (const struct sockaddr_in *)&attr->addr;
	const struct sockaddr_in *to = &id->base.route.addr.dst_sin;
	uint32_t first = ntohl(own->sin_addr.s_addr) - attr->number;
	struct ibv_sa_path_rec *path = &id->path;

	*path = (struct ibv_sa_path_rec){ .slid = htons(attr->number),
					  .reversible = 1,
					  .numb_path = 1,
					  .pkey = htons(VB_PKEY),
					  .mtu_selector = 2,
					  .mtu = IBV_MTU_4096,
					  .rate_selector = 2,
					  .rate = IBV_RATE_100_GBPS,
					  .packet_life_time_selector = 2,
					  .packet_life_time = CM_PACKET_LIFE };
	path->sgid = vb_gid(vb_context_of(id->base.verbs), 1);
	if (to->sin_family == AF_INET) {
		path->dgid.raw[10] = path->dgid.raw[11] = 0xff;
		memcpy(path->dgid.raw + 12, &to->sin_addr, 4);
		if (ntohl(to->sin_addr.s_addr) - first < UINT16_MAX)
			path->dlid = htons((uint16_t)(ntohl(to->sin_addr.s_addr) - first));
	}
	id->base.route.path_rec = path;
	id->base.route.num_paths = 1;
	id->base.route.addr.addr.ibaddr =
		(struct rdma_ib_addr){ .sgid = path->sgid, .dgid = path->dgid, .pkey = path->pkey };
}

/* The fabric has one path, whichever the program names. The caller then calls cm_resolve_end. */
int cm_path_set(struct cm_id *id)
{
	if (id->state != CM_ADDRESS)
		return -EINVAL;
	fill_path(id);
	id->state = CM_ROUTING;
	return 0;
}

/* The lock is held. InfiniBand asks its subnet manager for the path, by the port; others do not. */
static int route_id(struct cm_id *id, int timeout_ms)
{
	struct ibv_port_attr port;
	int err = id->state != CM_ADDRESS ? -EINVAL : cm_fault(id, VB_CALL_RESOLVE_ROUTE);

	if (err)
		return err;
	fill_path(id);
	port = port_of(id);
	if (port.link_layer == IBV_LINK_LAYER_INFINIBAND && port.state != IBV_PORT_ACTIVE) {
		err = await_port(id, CM_ROUTING, timeout_ms);
		if (!err)
			cm_trace(id, "rdma_resolve_route");
		return err;
	}
	cm_trace(id, "rdma_resolve_route");
	id->state = CM_ROUTING;
	cm_resolve_end(id, 0);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
	struct cm_id *id = cm_id_of(base);
	int err;

	cm_enter();
	err = route_id(id, timeout_ms);
	cm_trace_refusal(id, "rdma_resolve_route", err);
	cm_leave();
	return err ? cm_fail(err) : cm_complete(id);
}
