/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, numbers and addresses of the adapters of a fabric. */
#include "adapter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sharing.h"

/* The number in "emu0" .. "emu4095"; -1: no such name. */
static int parse_name(const char *name)
{
	char *end;
	unsigned long n;

	if (strncmp(name, "emu", 3) != 0 || name[3] < '0' || name[3] > '9')
		return -1;
	if (name[3] == '0' && name[4] != '\0')
		return -1;
	n = strtoul(name + 3, &end, 10);
	return *end == '\0' && n < EMU_ADAPTERS ? (int)n : -1;
}

bool emu_adapter_possible(const char *name)
{
	return parse_name(name) >= 0;
}

/* In a shared fabric the name has that of a process before it. */
static uint16_t find_shared(struct emu_world *w, const char *name)
{
	for (uint16_t i = 1; i <= emu_adapter_high(w->fab); i++)
		if (w->fab->adapters[i].open && strcmp(w->fab->adapters[i].name, name) == 0)
			return i;
	return 0;
}

uint16_t emu_adapter_find(struct emu_world *w, const char *name)
{
	if (emu_is_shared(w))
		return find_shared(w, name);
	return emu_adapter_by_number(w, (uint32_t)(parse_name(name) + 1));
}

const char *emu_adapter_name(struct emu_world *w, uint16_t adapter)
{
	return w->fab->adapters[adapter <= EMU_ADAPTERS ? adapter : 0].name;
}

void emu_adapter_address(struct emu_world *w, uint16_t adapter, struct sockaddr_storage *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	memset(addr, 0, sizeof(*addr));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(w->config.address + adapter);
}

uint16_t emu_adapter_by_number(struct emu_world *w, uint32_t number)
{
	return number <= EMU_ADAPTERS && w->fab->adapters[number].open ? (uint16_t)number : 0;
}

/* Convert to an IPv4 address. False: it is none. */
static bool as_ipv4(const struct sockaddr *addr, struct sockaddr_in *v4)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;

	*v4 = (struct sockaddr_in){ .sin_family = AF_INET };
	if (addr->sa_family == AF_INET)
		v4->sin_addr = ((const struct sockaddr_in *)addr)->sin_addr;
	else if (IN6_IS_ADDR_V4MAPPED(in6))
		memcpy(&v4->sin_addr, in6->s6_addr + 12, sizeof(v4->sin_addr));
	else
		return false;
	return true;
}

uint16_t emu_adapter_by_address(struct emu_world *w, const struct sockaddr *addr, uint64_t port,
				uint16_t from, int *err)
{
	struct sockaddr_in v4;
	uint32_t ip, number;

	*err = addr->sa_family != AF_INET && addr->sa_family != AF_INET6 ? -EAFNOSUPPORT : 0;
	if (*err)
		return 0;
	if (as_ipv4(addr, &v4)) {
		addr = (const struct sockaddr *)&v4;
		ip = ntohl(v4.sin_addr.s_addr);
		/* Wildcard, multicast and broadcast are not addresses of a host. */
		if (ip == INADDR_ANY || ip >= 0xe0000000u) {
			*err = -EADDRNOTAVAIL;
			return 0;
		}
		number = ip - w->config.address;
		if (number >= 1 && number <= w->config.addresses)
			return emu_adapter_by_number(w, number);
	}
	return emu_find_host(w, addr, port, from);
}

/* The lowest number that no open adapter of a shared fabric has. */
static uint32_t free_number(struct emu_world *w)
{
	uint32_t number = 1;

	while (emu_adapter_by_number(w, number))
		number++;
	return number;
}

/* All numbers have their address, and their entry of the table. */
static bool number_fits(const struct emu_world *w, uint32_t number)
{
	return number <= w->config.addresses &&
	       number <= (emu_is_shared(w) ? EMU_TOGETHER : EMU_ADAPTERS);
}

int emu_adapter_number(struct emu_world *w, const char *name, uint16_t *number)
{
	int own = parse_name(name);
	uint32_t n = emu_is_shared(w) ? free_number(w) : (uint32_t)own + 1;

	if (own < 0)
		return -ENODEV;
	if (!number_fits(w, n) && emu_is_shared(w)) {
		fprintf(stderr,
			"libdat: %s cannot be opened: all adapters of the shared fabric are open, "
			"%u of at most %u, with %u addresses\n",
			name, n - 1, EMU_TOGETHER, w->config.addresses);
		return -ENOMEM;
	}
	if (!number_fits(w, n))
		return -ENODEV;
	*number = (uint16_t)n;
	return 0;
}
