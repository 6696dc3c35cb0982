/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address.c - addresses and ports: binding, and the way to a peer.
 *
 * A device has the address of its adapter. Addresses of this machine, loopback included, mean the
 * first device here, and at a peer the adapter that listens at the port. Nothing is asked of a peer
 * before the connection request, so every address that a host can have resolves at once.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "cm.h"

#define PORT_FIRST 49152 /* of those that are given out */
#define PORTS      (65536 - PORT_FIRST)
#define PORTS_EACH 512 /* of an adapter, before it takes those of others */

/* ---- parts of an address ---- */

size_t cm_address_size(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

uint16_t cm_port(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return ntohs(((const struct sockaddr_in *)addr)->sin_port);
	case AF_INET6:
		return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
	default:
		return 0;
	}
}

void cm_set_port(struct sockaddr *addr, uint16_t port)
{
	if (addr->sa_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

bool cm_is_any(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == INADDR_ANY;
	case AF_INET6:
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	default:
		return true;
	}
}

static bool is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	if (a->sa_family != b->sa_family)
		return false;
	return a->sa_family == AF_INET ? a4->sin_addr.s_addr == b4->sin_addr.s_addr
				       : IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr);
}

static bool is_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool is_this_machine(const struct sockaddr *addr)
{
	bool here = is_loopback(addr);
	struct ifaddrs *all, *one;

	if (here || getifaddrs(&all))
		return here;
	for (one = all; one && !here; one = one->ifa_next)
		here = one->ifa_addr && is_same_host(one->ifa_addr, addr);
	freeifaddrs(all);
	return here;
}

uint64_t cm_service(const struct cm_id *id, uint16_t port)
{
	return id->base.ps == RDMA_PS_TCP ? port : (uint64_t)id->base.ps << 16 | port;
}

/* ---- the device of an address ---- */

/* -EADDRNOTAVAIL: no device has it. */
static int device_of(const struct sockaddr *addr, struct cm_device **device)
{
	struct cm_device *all[CM_DEVICES] = { NULL };
	int err = 0;

	if (is_this_machine(addr))
		return cm_device_get(0, device);
	*device = NULL;
	/* All are opened before one is closed, for the last one that is closed ends the world. */
	for (unsigned int i = 0; !err && i < CM_DEVICES; i++) {
		err = cm_device_get(i, &all[i]);
		if (!err &&
		    is_same_host((const struct sockaddr *)&cm_device_attr(all[i])->addr, addr))
			*device = all[i];
	}
	for (unsigned int i = 0; i < CM_DEVICES; i++)
		if (all[i] && (err || all[i] != *device))
			cm_device_put(all[i]);
	return err || *device ? err : -EADDRNOTAVAIL;
}

void cm_join_device(struct cm_id *id, struct cm_device *device)
{
	id->device = device;
	id->base.verbs = device->verbs;
	id->base.pd = device->pd;
	id->base.port_num = VB_PORT;
}

/* ---- bind ---- */

/*
 * Where the search for a free port begins. A machine's address means any process of the
 * fabric that listens at the port, so each gets other ports.
 */
static unsigned int first_port(struct cm_device *device)
{
	struct cm_device *open = NULL;
	unsigned int number = 1;

	if (device || !cm_device_get(0, &open))
		number = cm_device_attr(device ? device : open)->number;
	cm_device_put(open);
	return (number - 1) * PORTS_EACH;
}

/* The lock is held. */
static int choose_port(struct cm_id *id, struct sockaddr *addr, unsigned int first)
{
	static unsigned int last;
	uint16_t port;

	for (int i = 0; i < PORTS; i++) {
		port = (uint16_t)(PORT_FIRST + (first + last++) % PORTS);
		if (!cm_id_has_port(id, addr, port)) {
			cm_set_port(addr, port);
			return 0;
		}
	}
	return -EADDRINUSE;
}

/* The lock is held; the device, if there is one, becomes the id's. */
static int bind_id(struct cm_id *id, const struct sockaddr *addr, struct cm_device *device,
		   unsigned int first)
{
	struct sockaddr_storage storage = { 0 };
	struct sockaddr *own = (struct sockaddr *)&storage;
	int err = 0;

	if (id->state != CM_IDLE)
		return -EINVAL;
	if (device)
		err = vb_fault(vb_context_of(device->verbs), NULL, VB_CALL_BIND_ADDR);
	if (err)
		return err;
	memcpy(own, addr, cm_address_size(addr));
	if (cm_port(own) == 0)
		err = choose_port(id, own, first);
	else if (!id->reuse_address && cm_id_has_port(id, own, cm_port(own)))
		err = -EADDRINUSE;
	if (err)
		return err;
	memcpy(&id->base.route.addr.src_storage, &storage, sizeof(storage));
	if (device)
		cm_join_device(id, device);
	id->state = CM_BOUND;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct cm_id *id = cm_id_of(base);
	struct cm_device *device = NULL;
	unsigned int first;
	int err = 0;

	if (!addr)
		return cm_fail(EINVAL);
	if (cm_address_size(addr) == 0)
		return cm_fail(EAFNOSUPPORT);
	if (!cm_is_any(addr))
		err = device_of(addr, &device);
	if (err)
		return cm_fail(err);
	first = cm_port(addr) ? 0 : first_port(device);
	cm_enter();
	err = bind_id(id, addr, device, first);
	cm_leave();
	if (err)
		cm_device_put(device);
	return cm_result(err);
}

/* ---- resolve ---- */

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
static int resolve_id(struct cm_id *id, const struct sockaddr *to, struct cm_device *device)
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
	id->state = CM_ADDRESS;
	cm_event_add(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *from, struct sockaddr *to,
		      int timeout_ms)
{
	static struct sockaddr_in any = { .sin_family = AF_INET };
	struct cm_id *id = cm_id_of(base);
	struct cm_device *device = NULL;
	int err = 0;

	(void)timeout_ms;
	if (!to || (from && from->sa_family && cm_address_size(from) == 0))
		return cm_fail(EINVAL);
	if (cm_address_size(to) == 0)
		return cm_fail(EAFNOSUPPORT);
	if (id->state > CM_BOUND)
		return cm_fail(EINVAL);
	if (id->state == CM_IDLE &&
	    rdma_bind_addr(base, from && from->sa_family ? from : (struct sockaddr *)&any))
		return -1;
	if (!id->device)
		err = cm_device_get(0, &device);
	if (err)
		return cm_fail(err);
	cm_enter();
	vb_pass_time(cm_backend(), RESOLVE_NS);
	err = resolve_id(id, to, device);
	cm_leave();
	if (err)
		cm_device_put(device);
	return err ? cm_fail(err) : cm_complete(id);
}

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
	ibv_query_gid(id->base.verbs, VB_PORT, 1, &path->sgid);
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

int rdma_resolve_route(struct rdma_cm_id *base, int timeout_ms)
{
	struct cm_id *id = cm_id_of(base);
	int err;

	(void)timeout_ms;
	cm_enter();
	err = id->state != CM_ADDRESS ? -EINVAL : cm_fault(id, VB_CALL_RESOLVE_ROUTE);
	if (err)
		return cm_leave_with(err);
	fill_path(id);
	id->state = CM_ROUTE;
	cm_event_add(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	cm_leave();
	return cm_complete(id);
}
