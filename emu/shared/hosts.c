/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells whether an address belongs to this machine, and finds the adapter that listens at a port.
 */
#include "hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "emu/cm.h"

static bool is_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
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

bool emu_hosts_is_here(const struct sockaddr *addr)
{
	struct ifaddrs *all, *one;
	bool here = is_loopback(addr);

	if (here || getifaddrs(&all))
		return here;
	for (one = all; one && !here; one = one->ifa_next)
		here = one->ifa_addr && is_same(one->ifa_addr, addr);
	freeifaddrs(all);
	return here;
}

uint16_t emu_hosts_listener(struct emu_world *w, uint64_t port, uint16_t from)
{
	if (emu_cm_listener(w, from, port))
		return from;
	for (uint16_t i = 1; i <= emu_adapter_high(w->fab); i++)
		if (w->fab->adapters[i].open && emu_cm_listener(w, i, port))
			return i;
	return from;
}
