/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Network interfaces: the one that the device has; or several, some of which have addresses of the
 * device; or none, as where the device is that of another network namespace.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

/* The first is always there. The device's first address is the last of them: it has an IPv4 one. */
static const struct stub_interface {
	const char *name, *address;
	unsigned int flags;
	bool of_device;
} interfaces[] = {
	{ "stub0", "192.0.2.1", IFF_UP | IFF_RUNNING, true },
	{ "tun0", NULL, IFF_UP, false },
	{ "lo", "127.0.0.1", IFF_UP | IFF_LOOPBACK, false },
	{ "eth9", "203.0.113.9", IFF_UP, false },
	{ "stub1", "fe80::1", IFF_UP, true },
	{ "stub1", "2001:db8::1", IFF_UP, true },
	{ "stub2", "192.0.2.2", IFF_UP, true },
};

struct stub_ifaddrs {
	struct ifaddrs v;
	struct sockaddr_storage addr;
};

static size_t interface_count(void)
{
	return stub_config.addresses ? sizeof(interfaces) / sizeof(interfaces[0]) : 1;
}

static void address_of(const struct stub_interface *interface, struct sockaddr_storage *addr)
{
	bool v6 = strchr(interface->address, ':') != NULL;
	void *bytes = v6 ? (void *)&((struct sockaddr_in6 *)addr)->sin6_addr
			 : (void *)&((struct sockaddr_in *)addr)->sin_addr;

	memset(addr, 0, sizeof(*addr));
	addr->ss_family = v6 ? AF_INET6 : AF_INET;
	inet_pton(addr->ss_family, interface->address, bytes);
}

static bool is_same(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET6)
		return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
					  &((const struct sockaddr_in6 *)b)->sin6_addr);
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

bool stub_has_address(const struct sockaddr *addr)
{
	struct sockaddr_storage own;

	for (size_t i = 0; i < interface_count(); i++) {
		if (!interfaces[i].of_device)
			continue;
		address_of(&interfaces[i], &own);
		if (is_same(addr, (struct sockaddr *)&own))
			return true;
	}
	return false;
}

int getifaddrs(struct ifaddrs **list)
{
	size_t n = stub_config.by_gid ? 0 : interface_count();
	struct stub_ifaddrs *all;

	if (stub_refuses("getifaddrs"))
		return -1;
	all = calloc(n + 1, sizeof(*all));
	/* The last interface comes first. */
	for (size_t i = 0; i < n; i++) {
		const struct stub_interface *interface = &interfaces[n - 1 - i];

		all[i].v.ifa_name = (char *)(uintptr_t)interface->name;
		all[i].v.ifa_flags = interface->flags;
		all[i].v.ifa_next = i + 1 < n ? &all[i + 1].v : NULL;
		if (!interface->address)
			continue;
		address_of(interface, &all[i].addr);
		all[i].v.ifa_addr = (struct sockaddr *)&all[i].addr;
	}
	*list = n ? &all[0].v : NULL;
	if (!n)
		free(all);
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	free(list);
}
