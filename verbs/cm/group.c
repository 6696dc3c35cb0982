/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * group.c - multicast: a group has a GID that is made of its IP address, as IP over InfiniBand
 * makes it; on Ethernet it is the address itself, and there is no LID. There is no SA to ask, so a
 * join succeeds at once; the program's QP is attached when the program fetches the event, as with
 * the real library.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "cm.h"

#define MLID_FIRST 0xc000u
#define MLIDS      0x3fffu
#define EVERY_QP   0xffffffu /* instead of a number */
#define HOPS_MOST  0xff

/* ---- the GID of an address ---- */

static bool is_on_ethernet(const struct cm_id *id)
{
	struct ibv_port_attr port;

	vb_port(id->base.verbs, &port);
	return port.link_layer == IBV_LINK_LAYER_ETHERNET;
}

static uint8_t signature_of(const struct cm_id *id)
{
	return id->base.ps == RDMA_PS_UDP ? 0x01 : 0x1b;
}

/* A group without members: the SA of a real network would choose it. */
static union ibv_gid new_gid(const struct cm_id *id)
{
	static uint32_t last;
	uint32_t number = htonl(cm_device_attr(id->device)->number), count = htonl(++last);
	union ibv_gid gid = { .raw = { 0xff, 0x12, 0xa0, 0x1b } };

	memcpy(gid.raw + 8, &number, sizeof(number));
	memcpy(gid.raw + 12, &count, sizeof(count));
	return gid;
}

static union ibv_gid gid_of_ipv4(const struct cm_id *id, uint32_t addr)
{
	union ibv_gid gid = { .raw = { 0xff, 0x12, 0x40, signature_of(id), 0xff, 0xff } };

	gid.raw[12] = addr >> 24 & 0x0f;
	gid.raw[13] = (uint8_t)(addr >> 16);
	gid.raw[14] = (uint8_t)(addr >> 8);
	gid.raw[15] = (uint8_t)addr;
	return gid;
}

/* An address that is such a GID already stays as it is. */
static union ibv_gid gid_of_ipv6(const struct cm_id *id, const uint8_t addr[16])
{
	union ibv_gid gid = { .raw = { 0xff, 0x12, 0x60, signature_of(id), 0xff, 0xff } };

	if (addr[0] == 0xff && (addr[1] & 0xf0) == 0x10 && addr[2] == 0xa0 && addr[3] == 0x1b)
		memcpy(gid.raw, addr, sizeof(gid.raw));
	else
		memcpy(gid.raw + 6, addr + 6, 10);
	return gid;
}

static union ibv_gid gid_on_ethernet(const struct sockaddr *addr)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	if (addr->sa_family == AF_INET)
		memcpy(gid.raw + 12, &((const struct sockaddr_in *)addr)->sin_addr, 4);
	else
		memcpy(gid.raw, &((const struct sockaddr_in6 *)addr)->sin6_addr, 16);
	return gid;
}

static union ibv_gid gid_of(const struct cm_id *id, const struct sockaddr *addr)
{
	if (is_on_ethernet(id))
		return gid_on_ethernet(addr);
	if (cm_is_any(addr))
		return new_gid(id);
	if (addr->sa_family == AF_INET)
		return gid_of_ipv4(id, ntohl(((const struct sockaddr_in *)addr)->sin_addr.s_addr));
	return gid_of_ipv6(id, ((const struct sockaddr_in6 *)addr)->sin6_addr.s6_addr);
}

static uint16_t lid_of(const struct cm_id *id, const union ibv_gid *gid)
{
	if (is_on_ethernet(id))
		return 0;
	return (uint16_t)(MLID_FIRST + (gid->raw[14] << 8 | gid->raw[15]) % MLIDS);
}

/* ---- join ---- */

static void set_event(const struct cm_id *id, struct cm_event *event, struct cm_group *group)
{
	struct ibv_ah_attr to = { .dlid = group->lid,
				  .is_global = 1,
				  .port_num = VB_PORT,
				  .grh = { .dgid = group->gid, .hop_limit = HOPS_MOST } };

	event->group = group;
	event->event.param.ud = (struct rdma_ud_param){ .private_data = group->context,
							.ah_attr = to,
							.qp_num = EVERY_QP,
							.qkey = cm_datagram_qkey(id) };
}

/* The lock is held. */
static void trace_group(const struct cm_id *id, const char *call, const union ibv_gid *gid)
{
	char text[INET6_ADDRSTRLEN];

	cm_trace(id, "%s gid=%s", call, inet_ntop(AF_INET6, gid->raw, text, sizeof(text)));
}

/* How a program joins a group. */
struct joining {
	const char *call;
	const struct sockaddr *addr;
	bool listens;
	void *context;
};

/* The lock is held. */
static int join_group(struct cm_id *id, const struct joining *how)
{
	union ibv_gid gid;
	struct cm_group *group;
	struct cm_event *event;

	if (!id->device || id->base.qp_type != IBV_QPT_UD ||
	    (id->state != CM_BOUND && id->state != CM_ADDRESS))
		return -EINVAL;
	if (cm_is_rnic(id))
		return -ENOSYS;
	/* No SA chooses one there, and Linux does not either. */
	if (is_on_ethernet(id) && cm_is_any(how->addr))
		return -EINVAL;
	group = calloc(1, sizeof(*group));
	if (!group)
		return -ENOMEM;
	gid = gid_of(id, how->addr);
	trace_group(id, how->call, &gid);
	event = cm_event_add(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	if (!event) {
		free(group);
		return -ENOMEM;
	}
	memcpy(&group->addr, how->addr, cm_address_size(how->addr));
	group->context = how->context;
	group->listens = how->listens;
	group->gid = gid;
	group->lid = lid_of(id, &gid);
	LIST_INSERT_HEAD(&id->groups, group, link);
	set_event(id, event, group);
	return 0;
}

static int join_by(struct rdma_cm_id *base, const struct joining *how)
{
	struct cm_id *id = cm_id_of(base);
	int err;

	if (!how->addr || cm_address_size(how->addr) == 0)
		return cm_told(id, how->call, -EINVAL);
	cm_enter();
	err = join_group(id, how);
	cm_trace_refusal(id, how->call, err);
	cm_leave();
	return err ? cm_fail(err) : cm_complete(id);
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	const struct joining how = { "rdma_join_multicast", addr, true, context };

	return join_by(id, &how);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
			   void *context)
{
	const uint32_t known = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	struct joining how = { .call = "rdma_join_multicast_ex", .context = context };
	int err = 0;

	if (!attr)
		err = -EINVAL;
	else if (attr->comp_mask & ~known)
		err = -EOPNOTSUPP;
	else if (attr->comp_mask != known || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		err = -EINVAL;
	if (err)
		return cm_told(cm_id_of(id), how.call, err);
	how.addr = attr->addr;
	how.listens = attr->join_flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	return join_by(id, &how);
}

int cm_group_attach(struct cm_id *id, struct cm_group *group)
{
	int err;

	if (!id->base.qp || !group->listens)
		return 0;
	err = ibv_attach_mcast(id->base.qp, &group->gid, group->lid);
	group->attached = !err;
	return err;
}

/* ---- leave ---- */

static void leave_group(struct cm_id *id, struct cm_group *group)
{
	if (group->attached && id->base.qp)
		ibv_detach_mcast(id->base.qp, &group->gid, group->lid);
	cm_enter();
	cm_event_drop_group(id, group);
	cm_leave();
	cm_await_acked(id, &group->acked, &group->given);
	free(group);
}

int rdma_leave_multicast(struct rdma_cm_id *base, struct sockaddr *addr)
{
	struct cm_id *id = cm_id_of(base);
	size_t size = addr ? cm_address_size(addr) : 0;
	struct cm_group *group;

	if (size == 0)
		return cm_told(id, "rdma_leave_multicast", -EINVAL);
	cm_enter();
	LIST_FOREACH(group, &id->groups, link)
	if (memcmp(&group->addr, addr, size) == 0)
		break;
	if (group)
		LIST_REMOVE(group, link);
	if (group)
		trace_group(id, "rdma_leave_multicast", &group->gid);
	else
		cm_trace_refusal(id, "rdma_leave_multicast", -EADDRNOTAVAIL);
	cm_leave();
	if (!group)
		return cm_fail(EADDRNOTAVAIL);
	leave_group(id, group);
	return 0;
}

void cm_groups_leave(struct cm_id *id)
{
	struct cm_group *group;

	while ((group = LIST_FIRST(&id->groups)) != NULL) {
		LIST_REMOVE(group, link);
		leave_group(id, group);
	}
}
