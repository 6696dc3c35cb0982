/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of adapters. An adapter is a port of a device at a local IP address, because connections
 * are made by address. Its names are the device (which means the device's first address: IPv4
 * before IPv6, global before link-local), the network interface, and the address in text.
 *
 * The addresses are those of network interfaces. A device that is not the kernel's has none of
 * them: then those that its GIDs contain are tried.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

#define PLACES_MAX  256
#define DEVICES_MAX 64

struct hw_places {
	struct hw_place place[PLACES_MAX];
	int n;
	/* Devices that stay open: closed and opened again, one might get another address. */
	struct ibv_context *held[DEVICES_MAX];
	int n_held;
};

socklen_t hw_address_size(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET ? sizeof(struct sockaddr_in)
					  : sizeof(struct sockaddr_in6);
}

static const void *address_bytes(const struct sockaddr_storage *addr, size_t *size)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

	*size = addr->ss_family == AF_INET ? sizeof(in->sin_addr) : sizeof(in6->sin6_addr);
	return addr->ss_family == AF_INET ? (const void *)&in->sin_addr
					  : (const void *)&in6->sin6_addr;
}

const char *hw_address_text(const struct sockaddr_storage *addr, char *text, size_t size)
{
	size_t bytes;

	if (!inet_ntop(addr->ss_family, address_bytes(addr, &bytes), text, (socklen_t)size))
		snprintf(text, size, "?");
	return text;
}

/* ---- devices ---- */

int hw_find_devices(void)
{
	struct ibv_device **list;
	int n = 0;

	errno = 0;
	list = ibv_get_device_list(&n);
	if (list)
		ibv_free_device_list(list);
	if (list && n > 0)
		return 0;
	if (!list && errno == ENOSYS)
		hw_host->say("DAT_PROVIDER=hw: the kernel has no verbs: module ib_uverbs is not "
			     "loaded (modprobe "
			     "ib_uverbs)");
	else if (access("/sys/class/infiniband_verbs", F_OK) != 0)
		hw_host->say("DAT_PROVIDER=hw: no /sys/class/infiniband_verbs: load the kernel "
			     "module ib_uverbs, and the "
			     "driver of the adapter");
	else
		hw_host->say("DAT_PROVIDER=hw: no verbs device: nothing usable in "
			     "/sys/class/infiniband; load the adapter's driver, or add a software "
			     "device (rdma "
			     "link add)");
	return -ENODEV;
}

bool hw_adapter_name(unsigned int i, char *name, size_t size)
{
	struct ibv_device **list;
	int n = 0;

	/* A caller that asks for a list is told why it is empty. */
	if (i == 0 && hw_find_devices())
		return false;
	list = ibv_get_device_list(&n);
	if (!list)
		return false;
	if (i < (unsigned int)n)
		snprintf(name, size, "%s", ibv_get_device_name(list[i]));
	ibv_free_device_list(list);
	return i < (unsigned int)n;
}

static bool is_device(const char *name)
{
	char other[NIC_ADAPTER_NAME];

	for (unsigned int i = 0; hw_adapter_name(i, other, sizeof(other)); i++)
		if (strcmp(other, name) == 0)
			return true;
	return false;
}

/* ---- addresses ---- */

/* A device's first address is the one of the lowest rank. */
static int address_rank(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET)
		return 0;
	return IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) ? 2 : 1;
}

/* Find the device that librdmacm uses for the address. */
static bool find_device(struct nic_world *w, struct hw_place *place)
{
	struct rdma_cm_id *id;
	bool found = false;

	if (rdma_create_id(w->channel, &id, NULL, RDMA_PS_TCP))
		return false;
	if (rdma_bind_addr(id, (struct sockaddr *)&place->addr) == 0 && id->verbs) {
		snprintf(place->device, sizeof(place->device), "%s",
			 ibv_get_device_name(id->verbs->device));
		found = true;
	}
	rdma_destroy_id(id);
	return found;
}

/* Find the place's device, and sort the place in. */
static void add_place(struct nic_world *w, struct hw_places *p, struct hw_place *place)
{
	int at;

	if (p->n == PLACES_MAX || !find_device(w, place))
		return;
	for (at = p->n++;
	     at > 0 && address_rank(&p->place[at - 1].addr) > address_rank(&place->addr); at--)
		p->place[at] = p->place[at - 1];
	p->place[at] = *place;
}

static void add_interface(struct nic_world *w, struct hw_places *p, const struct ifaddrs *ifa)
{
	struct hw_place place = { .device = "" };

	if (!ifa->ifa_addr || (ifa->ifa_flags & IFF_LOOPBACK) ||
	    (ifa->ifa_addr->sa_family != AF_INET && ifa->ifa_addr->sa_family != AF_INET6))
		return;
	place.addr.ss_family = ifa->ifa_addr->sa_family;
	memcpy(&place.addr, ifa->ifa_addr, hw_address_size(&place.addr));
	snprintf(place.netdev, sizeof(place.netdev), "%s", ifa->ifa_name);
	add_place(w, p, &place);
}

static void add_gid(struct nic_world *w, struct hw_places *p, const union ibv_gid *gid)
{
	struct hw_place place = { .addr = { .ss_family = AF_INET } };
	struct in6_addr in6;

	memcpy(&in6, gid, sizeof(in6));
	if (!IN6_IS_ADDR_V4MAPPED(&in6))
		return;
	memcpy(&((struct sockaddr_in *)&place.addr)->sin_addr, &in6.s6_addr[12], 4);
	add_place(w, p, &place);
}

static void add_gids(struct nic_world *w, struct hw_places *p, struct ibv_context *verbs)
{
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	union ibv_gid gid;

	if (ibv_query_device(verbs, &dev))
		return;
	for (uint8_t i = 1; i <= dev.phys_port_cnt; i++) {
		if (ibv_query_port(verbs, i, &port))
			continue;
		for (int at = 0; at < port.gid_tbl_len; at++)
			if (ibv_query_gid(verbs, i, at, &gid) == 0)
				add_gid(w, p, &gid);
	}
}

/* All local addresses that belong to a device, by rank. NULL: no memory. */
static struct hw_places *find_places(struct nic_world *w)
{
	struct hw_places *p = calloc(1, sizeof(*p));
	struct ifaddrs *list, *ifa;

	if (!p)
		return NULL;
	if (getifaddrs(&list)) {
		free(p);
		return NULL;
	}
	for (ifa = list; ifa; ifa = ifa->ifa_next)
		add_interface(w, p, ifa);
	freeifaddrs(list);
	return p;
}

void hw_places_free(struct hw_places *p)
{
	for (int i = 0; p && i < p->n_held; i++)
		ibv_close_device(p->held[i]);
	free(p);
}

static bool is_address(const struct hw_place *place, const char *name)
{
	struct in6_addr wanted;
	size_t size;
	const void *bytes = address_bytes(&place->addr, &size);

	return inet_pton(place->addr.ss_family, name, &wanted) == 1 &&
	       memcmp(&wanted, bytes, size) == 0;
}

static const struct hw_place *place_known(const struct hw_places *p, const char *name)
{
	for (int i = 0; i < p->n; i++)
		if (strcmp(p->place[i].device, name) == 0)
			return &p->place[i];
	for (int i = 0; i < p->n; i++)
		if ((p->place[i].netdev[0] && strcmp(p->place[i].netdev, name) == 0) ||
		    is_address(&p->place[i], name))
			return &p->place[i];
	return NULL;
}

static bool has_place(const struct hw_places *p, const char *device)
{
	for (int i = 0; i < p->n; i++)
		if (strcmp(p->place[i].device, device) == 0)
			return true;
	return false;
}

/* Also those of devices that no interface belongs to; each is held open. */
static void find_gids(struct nic_world *w, struct hw_places *p)
{
	struct ibv_context *verbs;
	struct ibv_device **list;
	int n = 0;

	list = ibv_get_device_list(&n);
	for (int i = 0; list && i < n && p->n_held < DEVICES_MAX; i++) {
		if (has_place(p, ibv_get_device_name(list[i])))
			continue;
		verbs = ibv_open_device(list[i]);
		if (verbs)
			p->held[p->n_held++] = verbs;
	}
	for (int i = 0; i < p->n_held; i++)
		add_gids(w, p, p->held[i]);
	if (list)
		ibv_free_device_list(list);
}

static const struct hw_place *place_find(struct nic_world *w, struct hw_places *p, const char *name)
{
	const struct hw_place *place = place_known(p, name);

	if (place)
		return place;
	find_gids(w, p);
	return place_known(p, name);
}

void hw_canonical(struct nic_world *w, const char *name, char *out, size_t size)
{
	struct hw_places *p = is_device(name) ? NULL : find_places(w);
	const struct hw_place *place = p ? place_find(w, p, name) : NULL;

	if (!place)
		snprintf(out, size, "%s", name);
	else if (place == place_known(p, place->device))
		snprintf(out, size, "%s", place->device);
	else
		hw_address_text(&place->addr, out, size);
	hw_places_free(p);
}

/* ---- reasons why a device cannot be used ---- */

/* The libraries may lose the reason: EACCES, or ENOENT if the file does not exist. */
int hw_device_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/dev/infiniband/%s", name);
	return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) ? errno : 0;
}

static struct ibv_context *open_by_name(const char *name, int *err)
{
	struct ibv_device **list;
	struct ibv_context *verbs = NULL;
	int n = 0;

	*err = ENODEV;
	list = ibv_get_device_list(&n);
	if (!list)
		return NULL;
	for (int i = 0; i < n; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) != 0)
			continue;
		errno = 0;
		verbs = ibv_open_device(list[i]);
		*err = errno ? errno : EIO;
		if (!verbs && *err != EACCES && *err != EPERM && hw_device_file(list[i]->dev_name))
			*err = hw_device_file(list[i]->dev_name);
	}
	ibv_free_device_list(list);
	return verbs;
}

static bool any_port_up(struct ibv_context *verbs)
{
	struct ibv_device_attr dev;
	struct ibv_port_attr port;

	if (ibv_query_device(verbs, &dev))
		return false;
	for (int i = 1; i <= dev.phys_port_cnt; i++)
		if (ibv_query_port(verbs, (uint8_t)i, &port) == 0 && port.state == IBV_PORT_ACTIVE)
			return true;
	return false;
}

static int say_why_not(const char *device)
{
	struct ibv_context *verbs;
	int err;

	verbs = open_by_name(device, &err);
	if (!verbs && (err == EACCES || err == EPERM)) {
		hw_host->say("adapter %s: no permission to open its device in /dev/infiniband "
			     "(uverbs*): give "
			     "this user read and write access to it",
			     device);
		return -EACCES;
	}
	if (!verbs) {
		hw_host->say("adapter %s cannot be opened: %s", device, strerror(err));
		return -EIO;
	}
	if (any_port_up(verbs))
		hw_host->say("adapter %s has no IP address, which connections need: give its "
			     "network interface one (ip addr add)",
			     device);
	else
		hw_host->say("adapter %s: no port is active: the link is down (see ibv_devinfo -d "
			     "%s; ip link "
			     "set its network interface up)",
			     device, device);
	ibv_close_device(verbs);
	return -ENETDOWN;
}

int hw_find_place(struct nic_world *w, const char *name, struct hw_place *place,
		  struct hw_places **out)
{
	struct hw_places *p = find_places(w);
	const struct hw_place *found = p ? place_find(w, p, name) : NULL;
	int err;

	if (!p)
		return -ENOMEM;
	if (found) {
		*place = *found;
		*out = p;
		return 0;
	}
	err = is_device(name) ? say_why_not(name) : -ENODEV;
	hw_places_free(p);
	return err;
}
