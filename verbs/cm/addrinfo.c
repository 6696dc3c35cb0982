/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * addrinfo.c - rdma_getaddrinfo: names of hosts and services, as the machine's resolver knows them.
 * All members of a fabric are on one machine, so any name of it means any of them, and the port
 * tells which one listens.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

/* ---- from the machine's resolver ---- */

static struct sockaddr *copy_address(const struct sockaddr *addr, socklen_t size)
{
	struct sockaddr *copy = calloc(1, size);

	if (copy)
		memcpy(copy, addr, size);
	return copy;
}

/* The side that the caller's flags name; false: no memory. */
static bool set_side(struct rdma_addrinfo *info, const struct sockaddr *addr, socklen_t size,
		     const char *name)
{
	struct sockaddr *copy = copy_address(addr, size);
	char *named = name ? strdup(name) : NULL;

	if (!copy || (name && !named)) {
		free(copy);
		free(named);
		return false;
	}
	if (info->ai_flags & RAI_PASSIVE) {
		info->ai_src_addr = copy;
		info->ai_src_len = size;
		info->ai_src_canonname = named;
	} else {
		info->ai_dst_addr = copy;
		info->ai_dst_len = size;
		info->ai_dst_canonname = named;
	}
	return true;
}

static void set_kind(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints)
{
	info->ai_flags = hints->ai_flags;
	info->ai_qp_type = hints->ai_qp_type;
	info->ai_port_space = hints->ai_port_space;
	if (!info->ai_qp_type)
		info->ai_qp_type = info->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	if (!info->ai_port_space)
		info->ai_port_space = info->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
}

static bool is_datagram(const struct rdma_addrinfo *hints)
{
	return hints->ai_qp_type == IBV_QPT_UD || hints->ai_port_space == RDMA_PS_UDP;
}

/* 0, an EAI_ code, or -1 with errno: as the real call mixes them. */
static int ask_resolver(const char *node, const char *service, const struct rdma_addrinfo *hints,
			struct rdma_addrinfo *info)
{
	struct addrinfo ask = { .ai_socktype = is_datagram(hints) ? SOCK_DGRAM : SOCK_STREAM };
	struct addrinfo *found;
	int err;

	if (hints->ai_flags & RAI_PASSIVE)
		ask.ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		ask.ai_flags |= AI_NUMERICHOST;
	if (hints->ai_flags & RAI_FAMILY)
		ask.ai_family = hints->ai_family;
	err = getaddrinfo(node, service, &ask, &found);
	if (err)
		return err;
	info->ai_family = found->ai_family;
	if (!set_side(info, found->ai_addr, found->ai_addrlen, found->ai_canonname))
		err = cm_fail(ENOMEM);
	freeaddrinfo(found);
	return err;
}

/* ---- the call ---- */

/* Some callers leave the family to the addresses. */
static int family_of(const struct rdma_addrinfo *info, const struct rdma_addrinfo *hints)
{
	if (info->ai_dst_addr)
		return info->ai_dst_addr->sa_family;
	if (hints->ai_family == AF_UNSPEC && info->ai_src_addr)
		return info->ai_src_addr->sa_family;
	return hints->ai_family;
}

/* What only the caller can know: its own address, or the peer's. */
static int take_hints(struct rdma_addrinfo *info, const struct rdma_addrinfo *hints, bool asked)
{
	if (!info->ai_src_len && hints->ai_src_len) {
		info->ai_src_addr = copy_address(hints->ai_src_addr, hints->ai_src_len);
		if (!info->ai_src_addr)
			return cm_fail(ENOMEM);
		info->ai_src_len = hints->ai_src_len;
	}
	if (!asked && hints->ai_dst_len) {
		info->ai_dst_addr = copy_address(hints->ai_dst_addr, hints->ai_dst_len);
		if (!info->ai_dst_addr)
			return cm_fail(ENOMEM);
		info->ai_dst_len = hints->ai_dst_len;
	}
	if (!asked)
		info->ai_family = family_of(info, hints);
	return 0;
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res)
{
	static const struct rdma_addrinfo none;
	bool asks = node || service;
	struct rdma_addrinfo *info;
	int err;

	if (!asks && !hints)
		return cm_fail(EINVAL);
	info = calloc(1, sizeof(*info));
	if (!info)
		return cm_fail(ENOMEM);
	if (!hints)
		hints = &none;
	set_kind(info, hints);
	err = asks ? ask_resolver(node, service, hints, info) : 0;
	if (!err)
		err = take_hints(info, hints, asks);
	if (err) {
		rdma_freeaddrinfo(info);
		return err;
	}
	*res = info;
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
	struct rdma_addrinfo *next;

	for (; info; info = next) {
		next = info->ai_next;
		free(info->ai_src_addr);
		free(info->ai_dst_addr);
		free(info->ai_src_canonname);
		free(info->ai_dst_canonname);
		free(info->ai_route);
		free(info->ai_connect);
		free(info);
	}
}
