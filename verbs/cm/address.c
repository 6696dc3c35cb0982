/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * address.c - addresses and ports: their parts, the device that has one, binding.
 *
 * A device has the address of its adapter. Addresses of this machine, loopback included, mean the
 * first device here, and at a peer the adapter that listens at the port.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "cm.h"
#include "host/nic_process.h"

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

bool cm_is_same_host(const struct sockaddr *a, const struct sockaddr *b)
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

/* A link-local address means nothing without its link, as the kernel has it. */
static bool lacks_link(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) &&
	       in6->sin6_scope_id == 0;
}

static bool is_this_machine(const struct sockaddr *addr)
{
	bool here = is_loopback(addr);
	struct ifaddrs *all, *one;
	int cancel, err;

	if (here)
		return true;
	cancel = process_cancel_hold();
	err = getifaddrs(&all);
	process_cancel_release(cancel);
	if (err)
		return false;
	for (one = all; one && !here; one = one->ifa_next)
		here = one->ifa_addr && cm_is_same_host(one->ifa_addr, addr);
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
		return vb_setting_for_hw() ? -EADDRNOTAVAIL : cm_device_get(0, device);
	*device = NULL;
	/* All are opened before one is closed, for the last one that is closed ends the world. */
	for (unsigned int i = 0; !err && i < CM_DEVICES; i++) {
		err = cm_device_get(i, &all[i]);
		if (!err &&
		    cm_is_same_host((const struct sockaddr *)&cm_device_attr(all[i])->addr, addr))
			*device = all[i];
	}
	for (unsigned int i = 0; i < CM_DEVICES; i++)
		if (all[i] && (err || all[i] != *device))
			cm_device_put(all[i]);
	return err || *device ? err : -EADDRNOTAVAIL;
}

void cm_join_device(struct cm_id *id, struct cm_device *device)
{
	if (!id->inner)
		cm_device_know(device);
	id->device = device;
	id->base.verbs = device->verbs;
	id->base.pd = device->pd;
	id->base.port_num = VB_PORT;
}

void cm_leave_device(struct cm_id *id)
{
	id->device = NULL;
	id->base.verbs = NULL;
	id->base.pd = NULL;
	id->base.port_num = 0;
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
		cm_set_port(addr, port);
		if (!cm_id_check_port(id, addr, false))
			return 0;
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
	/* As where /proc/sys/net/ipv6/bindv6only is 0. */
	if (!id->chose_family)
		id->one_family = addr->sa_family == AF_INET;
	err = cm_port(own) == 0 ? choose_port(id, own, first)
				: cm_id_check_port(id, own, id->reuse_address);
	if (err)
		return err;
	memcpy(&id->base.route.addr.src_storage, &storage, sizeof(storage));
	if (device)
		cm_join_device(id, device);
	id->state = CM_BOUND;
	return 0;
}

int cm_bind(struct cm_id *id, const struct sockaddr *addr, const char *call)
{
	struct cm_device *device = NULL;
	unsigned int first;
	int err = lacks_link(addr) ? -EINVAL : 0;

	if (!err && !cm_is_any(addr))
		err = device_of(addr, &device);
	if (err)
		return cm_told(id, call, err);
	first = cm_port(addr) ? 0 : first_port(device);
	cm_enter();
	err = bind_id(id, addr, device, first);
	cm_device_refuse(id->device ? id->device : device, call, err);
	cm_leave();
	if (err)
		cm_device_put(device);
	return cm_result(err);
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct cm_id *id = cm_id_of(base);

	if (!addr || cm_address_size(addr) == 0)
		return cm_told(id, "rdma_bind_addr", -EINVAL);
	if (cm_bind(id, addr, "rdma_bind_addr"))
		return -1;
	cm_note(id, "rdma_bind_addr port=%u", cm_port(&base->route.addr.src_addr));
	return 0;
}
