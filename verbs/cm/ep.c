/* SPDX-License-Identifier: BSD-3-Clause */
/* ep.c - rdma_create_ep: an id with all that belongs to it, in one call. */
#include <stdlib.h>
#include <string.h>

#include "cm.h"

#define TIMEOUT_MS 2000

/* A listener: every request gets a QP of this kind. */
static int make_passive(struct cm_id *id, const struct rdma_addrinfo *info, struct ibv_pd *pd,
			const struct ibv_qp_init_attr *init)
{
	if (rdma_bind_addr(&id->base, info->ai_src_addr))
		return -1;
	if (pd)
		id->base.pd = pd;
	if (!init)
		return 0;
	id->ep_init = malloc(sizeof(*id->ep_init));
	if (!id->ep_init)
		return -1;
	*id->ep_init = *init;
	id->ep_init->qp_type = (enum ibv_qp_type)info->ai_qp_type;
	return 0;
}

/* For rdma_connect, whose own private data comes behind it. */
static int keep_connect_data(struct cm_id *id, const struct rdma_addrinfo *info)
{
	if (info->ai_connect_len == 0)
		return 0;
	id->connect_data = malloc(info->ai_connect_len);
	if (!id->connect_data)
		return cm_fail(ENOMEM);
	memcpy(id->connect_data, info->ai_connect, info->ai_connect_len);
	id->connect_size = info->ai_connect_len;
	return 0;
}

static int make_active(struct rdma_cm_id *id, const struct rdma_addrinfo *info, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *init)
{
	if (rdma_resolve_addr(id, info->ai_src_addr, info->ai_dst_addr, TIMEOUT_MS) ||
	    rdma_resolve_route(id, TIMEOUT_MS))
		return -1;
	if (init) {
		init->qp_type = (enum ibv_qp_type)info->ai_qp_type;
		if (rdma_create_qp(id, pd, init))
			return -1;
	}
	return keep_connect_data(cm_id_of(id), info);
}

static void end_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *info, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *init)
{
	struct rdma_cm_id *id;
	int err;

	if (!info)
		return cm_fail(EINVAL);
	if (rdma_create_id(NULL, &id, NULL, (enum rdma_port_space)info->ai_port_space))
		return -1;
	id->qp_type = (enum ibv_qp_type)info->ai_qp_type;
	if (info->ai_flags & RAI_PASSIVE)
		err = make_passive(cm_id_of(id), info, pd, init);
	else
		err = make_active(id, info, pd, init);
	if (err) {
		err = errno;
		end_ep(id);
		return cm_fail(err);
	}
	*out = id;
	return cm_told(cm_id_of(id), "rdma_create_ep", 0);
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	cm_note(cm_id_of(id), "rdma_destroy_ep");
	end_ep(id);
}
