/* SPDX-License-Identifier: BSD-3-Clause */
/* cm_value.c - ids and structures of librdmacm as arguments: see cm_kit.h. */
#include <arpa/inet.h>
#include <string.h>

#include "cm_kit.h"
#include "tests/support/support.h"

/* ---- ids, channels, events ---- */

/* The state `good` first, then all. */
static uint64_t make_id(uint64_t good, unsigned int value)
{
	return (uintptr_t)fuzz_kit_id((enum fuzz_id)(value == 0 ? good : value - 1));
}
/* Without those whose calls wait, and get EAGAIN from their own channel after all is done. */
const struct fuzz_kind fuzz_id = { 1 + ID_SYNC, make_id };
const struct fuzz_kind fuzz_any_id = { 1 + IDS, make_id };

/* Their queue pairs would be left. */
static uint64_t make_lone_id(uint64_t good, unsigned int value)
{
	struct rdma_cm_id *id = fuzz_kit_id((enum fuzz_id)value);

	(void)good;
	if (id->qp)
		rdma_destroy_qp(id);
	return (uintptr_t)id;
}
const struct fuzz_kind fuzz_lone_id = { IDS, make_lone_id };

/* Ids that have a queue pair: the real library follows the pointer. */
static uint64_t make_with_qp(uint64_t good, unsigned int value)
{
	static const enum fuzz_id all[] = { ID_QP,      ID_ASKING, ID_ASKED,   ID_ACTIVE,
					    ID_PASSIVE, ID_OVER,   ID_DATAGRAM };

	(void)good;
	if (all[value] == ID_DATAGRAM && fuzz_kit_iwarp())
		value = 0;
	return (uintptr_t)fuzz_kit_id(all[value]);
}
const struct fuzz_kind fuzz_with_qp = { 7, make_with_qp };

static uint64_t make_with_srq(uint64_t good, unsigned int value)
{
	struct rdma_cm_id *id = fuzz_kit_id(value ? ID_ROUTE : ID_ADDRESS);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };

	(void)good;
	ck_assert_int_eq(rdma_create_srq(id, NULL, &init), 0);
	return (uintptr_t)id;
}
const struct fuzz_kind fuzz_with_srq = { 2, make_with_srq };

static uint64_t make_channel(uint64_t good, unsigned int value)
{
	(void)good;
	return value ? 0 : (uintptr_t)fuzz_kit_channel();
}
const struct fuzz_kind fuzz_channel = { 1, make_channel };
const struct fuzz_kind fuzz_channel_or_null = { 2, make_channel };

/* One that was fetched. */
static uint64_t make_event(uint64_t good, unsigned int value)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	(void)good;
	if (value)
		return 0;
	id = fuzz_kit_id(ID_IDLE);
	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1), 0);
	ck_assert_int_eq(rdma_get_cm_event(id->channel, &event), 0);
	return (uintptr_t)event;
}
const struct fuzz_kind fuzz_event = { 2, make_event };

/* ---- structures ---- */

/* An address of the device, or of port `good` at the other one. */
static uint64_t make_addr(uint64_t good, unsigned int value)
{
	static const sa_family_t families[] = { AF_UNSPEC, AF_UNIX, AF_INET6, AF_IB, 0xffff };
	struct sockaddr_storage *addr = fuzz_room(sizeof(*addr));
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	if (value > 2 + COUNT(families))
		return 0;
	if (value == 1 + COUNT(families))
		fuzz_fill(addr, sizeof(*addr));
	addr->ss_family = value && value <= COUNT(families) ? families[value - 1] : AF_INET;
	in->sin_port = htons((uint16_t)good);
	if (value == 0)
		ck_assert_int_eq(inet_pton(AF_INET, "198.18.0.2", &in->sin_addr), 1);
	return (uintptr_t)addr;
}
const struct fuzz_kind fuzz_addr = { 9, make_addr };

static uint64_t make_param(uint64_t good, unsigned int value)
{
	struct rdma_conn_param *param = fuzz_room(sizeof(*param));

	(void)good;
	if (value == 4)
		return 0;
	if (value == 2)
		memset(param, 0xff, sizeof(*param));
	if (value == 3)
		fuzz_fill(param, sizeof(*param));
	param->private_data = fuzz_room(256);
	if (value == 0)
		param->private_data_len = 8;
	return (uintptr_t)param;
}
const struct fuzz_kind fuzz_param = { 5, make_param };

/* The program's completion queues are of another context, or missing. */
static void spoil_init(struct ibv_qp_init_attr *init, unsigned int value)
{
	if (value == 2)
		memset(init, 0xff, sizeof(*init));
	if (value == 3)
		fuzz_fill(init, sizeof(*init));
	init->send_cq = value == 3 ? fuzz_a.cq : NULL;
	init->recv_cq = value == 4 ? fuzz_b.cq : NULL;
	init->srq = NULL;
	if (value == 0 || value == 4) {
		init->cap = (struct ibv_qp_cap){ 4, 4, 1, 1, 0 };
		init->qp_type = IBV_QPT_RC;
	}
}

static uint64_t make_init(uint64_t good, unsigned int value)
{
	struct ibv_qp_init_attr_ex *init = fuzz_room(sizeof(*init));

	spoil_init((struct ibv_qp_init_attr *)init, value);
	if (value == 3)
		fuzz_fill(&init->comp_mask, sizeof(init->comp_mask));
	init->pd = value == 4 ? fuzz_b.pd : NULL;
	return good && value == 5 ? 0 : (uintptr_t)init;
}
const struct fuzz_kind fuzz_init = { 5, make_init }, fuzz_init_or_null = { 6, make_init };

static uint64_t make_pd(uint64_t good, unsigned int value)
{
	(void)good;
	return value ? (uintptr_t)fuzz_b.pd : 0;
}
const struct fuzz_kind fuzz_pd = { 2, make_pd };

static uint64_t make_srq_init(uint64_t good, unsigned int value)
{
	struct ibv_srq_init_attr_ex *init = fuzz_room(sizeof(*init));

	(void)good;
	if (value == 2)
		memset(init, 0xff, sizeof(*init));
	if (value == 3)
		fuzz_fill(init, sizeof(*init));
	init->pd = value == 3 ? fuzz_b.pd : NULL;
	init->cq = NULL;
	init->xrcd = NULL;
	if (value)
		return (uintptr_t)init;
	init->attr = (struct ibv_srq_attr){ .max_wr = 4, .max_sge = 1 };
	init->comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	return (uintptr_t)init;
}
const struct fuzz_kind fuzz_srq_init = { 4, make_srq_init };

/* A state that a queue pair of the id may enter; others. */
static uint64_t make_attr(uint64_t good, unsigned int value)
{
	struct ibv_qp_attr *attr = fuzz_room(sizeof(*attr));

	if (value > 2)
		fuzz_fill(attr, sizeof(*attr));
	attr->qp_state = (enum ibv_qp_state)(value ? value - 1 : good);
	return (uintptr_t)attr;
}
const struct fuzz_kind fuzz_attr = { 9, make_attr };

static uint64_t make_join(uint64_t good, unsigned int value)
{
	struct rdma_cm_join_mc_attr_ex *join = fuzz_room(sizeof(*join));

	if (value == 2)
		memset(join, 0xff, sizeof(*join));
	if (value == 3)
		fuzz_fill(join, sizeof(*join));
	join->addr = value == 4 ? NULL : (struct sockaddr *)make_addr(good, value);
	if (value == 0 || value == 4) {
		join->comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
		join->join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	}
	return (uintptr_t)join;
}
const struct fuzz_kind fuzz_join = { 5, make_join };

static uint64_t make_ece(uint64_t good, unsigned int value)
{
	struct ibv_ece *ece = fuzz_room(sizeof(*ece));

	(void)good;
	if (value == 1)
		memset(ece, 0xff, sizeof(*ece));
	if (value == 2)
		fuzz_fill(ece, sizeof(*ece));
	if (value == 0)
		ece->vendor_id = 1;
	return value == 4 ? 0 : (uintptr_t)ece;
}
const struct fuzz_kind fuzz_ece = { 5, make_ece };

/* A passive one; the lengths are those of the addresses. */
static uint64_t make_info(uint64_t good, unsigned int value)
{
	struct rdma_addrinfo *info = fuzz_room(sizeof(*info));

	if (value == 2)
		memset(info, 0xff, sizeof(*info));
	if (value == 3)
		fuzz_fill(info, sizeof(*info));
	if (value == 0 || value == 4)
		*info = (struct rdma_addrinfo){ .ai_flags = RAI_PASSIVE,
						.ai_qp_type = IBV_QPT_RC,
						.ai_port_space = RDMA_PS_TCP };
	info->ai_src_addr = value == 4 ? NULL : (struct sockaddr *)make_addr(good, value % 3);
	info->ai_dst_addr = value % 2 ? (struct sockaddr *)make_addr(good, value) : NULL;
	info->ai_src_len = info->ai_src_addr ? sizeof(struct sockaddr_in) : 0;
	info->ai_dst_len = info->ai_dst_addr ? sizeof(struct sockaddr_in) : 0;
	info->ai_src_canonname = info->ai_dst_canonname = NULL;
	info->ai_route = info->ai_connect = NULL;
	info->ai_route_len = info->ai_connect_len = 0;
	info->ai_next = NULL;
	return value == 5 ? 0 : (uintptr_t)info;
}
const struct fuzz_kind fuzz_info = { 5, make_info }, fuzz_info_or_null = { 6, make_info };

static uint64_t make_node(uint64_t good, unsigned int value)
{
	return value == 1 ? 0 : fuzz_text.make(good, value ? 3 : 0);
}
const struct fuzz_kind fuzz_node = { 3, make_node };

static uint64_t make_devices(uint64_t good, unsigned int value)
{
	(void)good;
	return value ? 0 : (uintptr_t)rdma_get_devices(NULL);
}
const struct fuzz_kind fuzz_devices = { 2, make_devices };

static uint64_t make_infos(uint64_t good, unsigned int value)
{
	struct rdma_addrinfo *info = NULL, hints = { .ai_flags = RAI_NUMERICHOST };

	(void)good;
	if (value == 0)
		ck_assert_int_eq(rdma_getaddrinfo("127.0.0.1", "7", &hints, &info), 0);
	return (uintptr_t)info;
}
const struct fuzz_kind fuzz_infos = { 2, make_infos };
