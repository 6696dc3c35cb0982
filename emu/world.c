/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "clock.h"
#include "direct.h"
#include "fabrics.h"
#include "hosts.h"
#include "link.h"
#include "profile.h"
#include "shared.h"
#include "spare.h"
#include "trace.h"
#include "world.h"

#define EMU_NETWORK      0xc6120000u /* 198.18.0.0, the range set aside for test networks */
#define EMU_PREFIX       24u
#define EMU_ADAPTER_LAST 253u /* emu253 = 198.18.0.254 */
#define EMU_LISTED       2u   /* adapters that are listed before anybody opens one */

struct nic_world {
	struct emu_world emu;
};

static uint64_t splitmix(uint64_t *x)
{
	uint64_t z = (*x += 0x9e3779b97f4a7c15ul);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
	return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

uint64_t emu_random(struct emu_world *w)
{
	uint64_t *s = w->fab->random;
	uint64_t result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

void emu_configure(struct emu_fabric *fab, const struct nic_config *config)
{
	struct emu_config *c = &fab->config;
	uint64_t x = config->seed;

	c->profile = (uint32_t)emu_profile_find(config->profile);
	c->seed = config->seed;
	c->latency_ns = config->latency_ns;
	c->bandwidth_bps = config->bandwidth_bps;
	c->rnr_timer_ns = config->rnr_timer_ns;
	c->poll_quantum_ns = config->poll_quantum_ns;
	c->mtu = config->mtu;
	c->rnr_retry = config->rnr_retry;
	c->retry = config->retry;
	c->retry_timer_ns = config->retry_timer_ns;
	c->address = config->prefix ? config->network : EMU_NETWORK;
	/* But for the network's own and its broadcast. */
	c->addresses = (1u << (32 - (config->prefix ? config->prefix : EMU_PREFIX))) - 2;
	for (int i = 0; i < 4; i++)
		fab->random[i] = splitmix(&x);
}

static void init_nic(struct emu_world *w, uint16_t adapter)
{
	w->nics[adapter] = (struct emu_nic){
		.base = {
			.ops = w->process ? &emu_shared_ops : &emu_ops,
			.caps = EMU_CAPS,
			.poll_quantum_ns = w->fab->config.poll_quantum_ns,
			.tracing = w->fab->trace_on,
		},
		.world = w,
		.adapter = adapter,
	};
}

static int join(const struct nic_config *config, struct nic_world **world)
{
	struct emu_world *w = emu_world_map_bare();
	int err;

	if (!w)
		return -ENOMEM;
	err = emu_shared_join(w, config);
	if (err) {
		emu_world_unmap_bare(w);
		return err;
	}
	init_nic(w, 0);
	*world = (struct nic_world *)w;
	return 0;
}

static int world_create(const struct nic_config *config, struct nic_world **world)
{
	struct emu_world *w;
	int err = -ENOMEM;

	if (emu_profile_find(config->profile) < 0)
		return -EINVAL;
	if (config->fabric)
		return join(config, world);
	w = emu_world_map();
	if (!w)
		goto fail;
	err = emu_trace_open(w, config->trace_file);
	if (err)
		goto unmap_world;
	emu_configure(w->fab, config);
	w->fab->trace_on = config->trace;
	emu_trace_begin(w);
	init_nic(w, 0);
	*world = (struct nic_world *)w;
	return 0;

unmap_world:
	emu_world_unmap(w);
fail:
	return err;
}

static void world_destroy(struct nic_world *world)
{
	struct emu_world *w = &world->emu;

	if (w->process) {
		emu_shared_leave(w);
		emu_world_unmap_bare(w);
		return;
	}
	for (uint32_t i = 1; i <= EMU_ADAPTERS; i++)
		assert(!w->fab->adapters[i].open);
	emu_trace_close(w);
	emu_world_unmap(w);
}

/* "emu0" .. "emu253"; -1: no such name. */
static int parse_name(const char *name)
{
	char *end;
	unsigned long n;

	if (strncmp(name, "emu", 3) != 0 || name[3] < '0' || name[3] > '9')
		return -1;
	if (name[3] == '0' && name[4] != '\0')
		return -1;
	n = strtoul(name + 3, &end, 10);
	return *end == '\0' && n <= EMU_ADAPTER_LAST ? (int)n : -1;
}

bool emu_adapter_possible(const char *name)
{
	return parse_name(name) >= 0;
}

static bool adapter_name(struct nic_world *world, unsigned int i, char *name, size_t size)
{
	(void)world;
	if (i >= EMU_LISTED)
		return false;
	snprintf(name, size, "emu%u", i);
	return true;
}

uint16_t emu_adapter_find(struct emu_world *w, const char *name)
{
	for (uint16_t i = 1; i <= EMU_ADAPTERS; i++)
		if (w->fab->adapters[i].open && strcmp(w->fab->adapters[i].name, name) == 0)
			return i;
	return 0;
}

const char *emu_adapter_name(struct emu_world *w, uint16_t adapter)
{
	return w->fab->adapters[adapter].name;
}

void emu_adapter_address(struct emu_world *w, uint16_t adapter, struct sockaddr_storage *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;
	uint32_t number = w->fab->adapters[adapter].number;

	memset(addr, 0, sizeof(*addr));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(w->fab->config.address + number);
}

static uint16_t find_number(struct emu_world *w, uint32_t number)
{
	for (uint16_t i = 1; i <= EMU_ADAPTERS; i++)
		if (w->fab->adapters[i].open && w->fab->adapters[i].number == number)
			return i;
	return 0;
}

/* The IPv4 address that it is; false: it is another one. */
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
		/* No host has the wildcard, multicast or broadcast as its address. */
		if (ip == INADDR_ANY || ip >= 0xe0000000u) {
			*err = -EADDRNOTAVAIL;
			return 0;
		}
		number = ip - w->fab->config.address;
		if (number >= 1 && number <= w->fab->config.addresses)
			return find_number(w, number);
	}
	return w->process && emu_hosts_is_here(addr) ? emu_hosts_listener(w, port, from) : 0;
}

/* The lowest number that none has. */
static uint16_t free_number(struct emu_world *w)
{
	uint16_t number = 1;

	while (find_number(w, number))
		number++;
	return number;
}

/* In a shared fabric each process has an emu0. */
static void name_adapter(struct emu_world *w, uint16_t index, const char *name)
{
	struct emu_adapter *adapter = &w->fab->adapters[index];

	if (w->process) {
		snprintf(adapter->name, sizeof(adapter->name), "%.22s-%.8s", w->membership->node,
			 name);
		adapter->number = free_number(w);
	} else {
		snprintf(adapter->name, sizeof(adapter->name), "%s", name);
		adapter->number = (uint16_t)(parse_name(name) + 1);
	}
}

static int adapter_open(struct nic_world *world, const char *name, const struct nic_upcalls *up,
			void *ctx, struct nic **nic)
{
	struct emu_world *w = &world->emu;
	struct emu_adapter *adapter;
	uint16_t index = 0;

	/* Where adapters are numbered by their names, some may have no address. */
	if (parse_name(name) < 0 ||
	    (!w->process && (uint32_t)parse_name(name) >= w->fab->config.addresses))
		return -ENODEV;
	for (uint16_t i = EMU_ADAPTERS; i > 0; i--)
		if (!w->fab->adapters[i].open)
			index = i;
	if (!index || (w->process && free_number(w) > w->fab->config.addresses))
		return -ENOMEM;
	adapter = &w->fab->adapters[index];
	*adapter = (struct emu_adapter){ .generation = adapter->generation + 1,
					 .process = w->process };
	name_adapter(w, index, name);
	adapter->open = true;
	for (uint32_t i = 1; i <= EMU_ADAPTERS; i++) {
		struct emu_link fresh = { 0 };

		emu_link_init(&fresh, w->fab->config.latency_ns, w->fab->config.bandwidth_bps);
		w->fab->links[emu_link_at(index, i)] = w->fab->links[emu_link_at(i, index)] = fresh;
	}
	init_nic(w, index);
	w->nics[index].base.up = up;
	w->nics[index].base.ctx = ctx;
	memcpy(w->nics[index].base.label, adapter->name, sizeof(adapter->name) - 1);
	if (w->process)
		emu_clock_share(w, &w->nics[index].base);
	*nic = &w->nics[index].base;
	return 0;
}

static struct nic *control(struct nic_world *world)
{
	return &world->emu.nics[0].base;
}

const struct nic_backend emu_backend = {
	.size = sizeof(struct nic_backend),
	.name = "emu",
	.simulated = true,
	.world_create = world_create,
	.world_destroy = world_destroy,
	.adapter_name = adapter_name,
	.open = adapter_open,
	.control = control,
	.shared = emu_shared,
	.enter = emu_shared_enter,
	.leave = emu_shared_exit,
	.settle = emu_shared_settle,
	.quiet = emu_direct_quiet,
	.quick = emu_direct_quick,
	.sleep = emu_shared_sleep,
	.ring = emu_shared_ring,
	.watch = emu_shared_watch,
	.await = emu_shared_await,
	.lockstep = emu_shared_lockstep,
	.thread_ends = emu_shared_thread_ends,
	.fabric_make = emu_fabric_make,
	.fabric_end = emu_fabric_end,
	.fabric_next = emu_fabric_next,
	.fabric_member = emu_fabric_member,
	.fabric_hold = emu_fabric_hold,
};
