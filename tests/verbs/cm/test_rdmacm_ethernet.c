/* SPDX-License-Identifier: BSD-3-Clause */
/* librdmacm on devices of link layer Ethernet (DATSIM_LINK_LAYER, which is read once). */
#include <stdlib.h>

#include "cm_pair.h"

#define CLIENT_IP "198.18.0.1"

static void make_id(struct rdma_cm_id **id, const char *ip)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct sockaddr_in in = cm_address(ip, 0);

	ck_assert_int_eq(rdma_create_id(cm_channel, id, NULL, RDMA_PS_UDP), 0);
	ck_assert_int_eq(rdma_bind_addr(*id, (struct sockaddr *)&in), 0);
	ck_assert_int_eq(rdma_create_qp(*id, NULL, &init), 0);
}

/* Both of type UD: the client at emu0, the server at emu1. */
static void begin_groups(void)
{
	cm_channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(cm_channel);
	make_id(&cm_client, CLIENT_IP);
	make_id(&cm_server, CM_THERE);
}

static void join(struct rdma_cm_id *id, struct sockaddr *addr)
{
	ck_assert_int_eq(rdma_join_multicast(id, addr, NULL), 0);
	cm_take(RDMA_CM_EVENT_MULTICAST_JOIN);
	ck_assert(cm_last.id == id && cm_last.param.ud.qp_num == 0xffffff);
	ck_assert_uint_eq(cm_last.param.ud.ah_attr.dlid, 0);
	ck_assert_int_eq(cm_last.param.ud.ah_attr.is_global, 1);
}

static void send_to(struct rdma_cm_id *id, struct rdma_ud_param *to)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	wr.wr.ud.ah = ibv_create_ah(id->pd, &to->ah_attr);
	ck_assert_ptr_nonnull(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = to->qp_num;
	wr.wr.ud.remote_qkey = to->qkey;
	ck_assert_int_eq(ibv_post_send(id->qp, &wr, &bad), 0);
	while (ibv_poll_cq(id->send_cq, 1, &wc) == 0)
		;
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_destroy_ah(wr.wr.ud.ah), 0);
}

static void expect_datagram(struct rdma_cm_id *id)
{
	struct ibv_wc wc;
	int n = 0;

	for (int i = 0; i < 100000 && n == 0; i++)
		n = ibv_poll_cq(id->recv_cq, 1, &wc);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
}

/* As RoCE v2 has it: for IPv4 the mapped address, for IPv6 the address as it is. */
START_TEST(the_gid_of_a_group_is_its_address)
{
	struct sockaddr_in in = cm_address("239.1.2.3", 0), any = cm_address("0.0.0.0", 0);
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	static char buffer[64];
	struct ibv_sge sge = { (uintptr_t)buffer, sizeof(buffer), 0 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_mr *mr;
	union ibv_gid gid;

	begin_groups();
	mr = ibv_reg_mr(cm_server->pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	ck_assert_ptr_nonnull(mr);
	sge.lkey = mr->lkey;
	ck_assert_int_eq(ibv_post_recv(cm_server->qp, &wr, &bad), 0);
	join(cm_server, (struct sockaddr *)&in);
	ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:239.1.2.3", &gid), 1);
	ck_assert_mem_eq(&cm_last.param.ud.ah_attr.grh.dgid, &gid, sizeof(gid));
	join(cm_client, (struct sockaddr *)&in);
	send_to(cm_client, &cm_last.param.ud);
	expect_datagram(cm_server);
	ck_assert_int_eq(rdma_leave_multicast(cm_server, (struct sockaddr *)&in), 0);
	ck_assert_int_eq(inet_pton(AF_INET6, "ff0e::1:2", &in6.sin6_addr), 1);
	join(cm_client, (struct sockaddr *)&in6);
	ck_assert_mem_eq(&cm_last.param.ud.ah_attr.grh.dgid, &in6.sin6_addr, sizeof(gid));
	CM_REFUSED(rdma_join_multicast(cm_client, (struct sockaddr *)&any, NULL), EINVAL);
	ck_assert_int_eq(ibv_dereg_mr(mr), 0);
	cm_end();
}
END_TEST

static void fill(Suite *suite)
{
	setenv("DATSIM_LINK_LAYER", "ethernet", 1);
	unit_add(suite, the_gid_of_a_group_is_its_address, 1, NULL);
}

UNIT_SUITE("rdmacm_ethernet")
