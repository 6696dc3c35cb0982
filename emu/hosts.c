/* SPDX-License-Identifier: BSD-3-Clause */
#include "hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "cm.h"

bool emu_hosts_is_here(uint32_t ip)
{
	struct ifaddrs *all, *one;
	bool here = ip >> 24 == IN_LOOPBACKNET;

	if (here || getifaddrs(&all))
		return here;
	for (one = all; one && !here; one = one->ifa_next)
		here = one->ifa_addr && one->ifa_addr->sa_family == AF_INET &&
		       ntohl(((const struct sockaddr_in *)one->ifa_addr)->sin_addr.s_addr) == ip;
	freeifaddrs(all);
	return here;
}

uint16_t emu_hosts_listener(struct emu_world *w, uint64_t port, uint16_t from)
{
	if (emu_cm_listener(w, from, port))
		return from;
	for (uint16_t i = 1; i <= EMU_ADAPTERS; i++)
		if (w->fab->adapters[i].open && emu_cm_listener(w, i, port))
			return i;
	return from;
}
