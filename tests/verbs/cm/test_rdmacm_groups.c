/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups on InfiniBand: their GIDs, as Linux makes them of addresses, and who is in them.
 */
#include <pthread.h>
#include <unistd.h>

#include "cm_pair.h"
#include "tests/support/asleep.h"

#define IPV4 "239.129.2.3"
#define IPV6 "ff0e::1:2:3:4:5"
#define MGID "ff18:a01b:fe80:1::7"

static const struct {
	enum rdma_port_space ps;
	const char *ip, *gid;
	uint16_t lid;
} groups[] = {
	{ RDMA_PS_UDP, IPV4, "ff12:4001:ffff::f81:203", 0xc203 },
	{ RDMA_PS_UDP, "239.1.255.255", "ff12:4001:ffff::f01:ffff", 0xc003 },
	{ RDMA_PS_IPOIB, IPV4, "ff12:401b:ffff::f81:203", 0xc203 },
	{ RDMA_PS_UDP, IPV6, "ff12:6001:ffff:1:2:3:4:5", 0xc005 },
	{ RDMA_PS_IPOIB, IPV6, "ff12:601b:ffff:1:2:3:4:5", 0xc005 },
	{ RDMA_PS_UDP, MGID, MGID, 0xc007 },
};

START_TEST(the_gid_of_a_group_is_made_of_its_address)
{
	struct sockaddr_storage to = { .ss_family = AF_INET6 };
	struct sockaddr_in here = cm_address("198.18.0.1", 0);
	char gid[INET6_ADDRSTRLEN];

	if (inet_pton(AF_INET6, groups[_i].ip, &((struct sockaddr_in6 *)&to)->sin6_addr) != 1)
		*(struct sockaddr_in *)&to = cm_address(groups[_i].ip, 0);
	cm_begin();
	cm_destroy(&cm_client);
	ck_assert_int_eq(rdma_create_id(cm_channel, &cm_client, NULL, groups[_i].ps), 0);
	ck_assert_int_eq(rdma_bind_addr(cm_client, (struct sockaddr *)&here), 0);
	ck_assert_int_eq(rdma_join_multicast(cm_client, (struct sockaddr *)&to, NULL), 0);
	cm_take(RDMA_CM_EVENT_MULTICAST_JOIN);
	inet_ntop(AF_INET6, cm_last.param.ud.ah_attr.grh.dgid.raw, gid, sizeof(gid));
	ck_assert_str_eq(gid, groups[_i].gid);
	ck_assert_uint_eq(cm_last.param.ud.ah_attr.dlid, groups[_i].lid);
	ck_assert_uint_eq(cm_last.param.ud.ah_attr.grh.hop_limit, 0xff);
	ck_assert_int_eq(rdma_leave_multicast(cm_client, (struct sockaddr *)&to), 0);
	cm_end();
}
END_TEST

/* The client is an id of datagrams with a queue pair, and joins the group. */
static void begin_joined(struct sockaddr_in *to)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_UD };
	struct sockaddr_in here = cm_address("198.18.0.1", 0);

	*to = cm_address(IPV4, 0);
	cm_begin();
	cm_destroy(&cm_client);
	ck_assert_int_eq(rdma_create_id(cm_channel, &cm_client, NULL, RDMA_PS_UDP), 0);
	ck_assert_int_eq(rdma_bind_addr(cm_client, (struct sockaddr *)&here), 0);
	ck_assert_int_eq(rdma_create_qp(cm_client, NULL, &init), 0);
	ck_assert_int_eq(rdma_join_multicast(cm_client, (struct sockaddr *)to, NULL), 0);
}

/* A queue pair that is in a group cannot be destroyed. */
START_TEST(who_leaves_or_goes_takes_the_queue_pair_out_of_the_group)
{
	struct ibv_cq *send_cq, *recv_cq;
	struct sockaddr_in to;
	struct ibv_qp *qp;

	begin_joined(&to);
	cm_take(RDMA_CM_EVENT_MULTICAST_JOIN);
	qp = cm_client->qp;
	send_cq = cm_client->send_cq;
	recv_cq = cm_client->recv_cq;
	ck_assert_int_eq(ibv_destroy_qp(qp), EBUSY);
	if (_i == 0)
		ck_assert_int_eq(rdma_leave_multicast(cm_client, (struct sockaddr *)&to), 0);
	else
		ck_assert_int_eq(rdma_destroy_id(cm_client), 0);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(send_cq), 0);
	ck_assert_int_eq(ibv_destroy_cq(recv_cq), 0);
	if (_i == 0) {
		cm_client->qp = NULL;
		ck_assert_int_eq(rdma_destroy_id(cm_client), 0);
	}
	cm_client = NULL;
	cm_end();
}
END_TEST

struct leaver {
	struct sockaddr_in to;
	pid_t tid;
	bool acknowledged; /* by the other thread */
	bool waited;
};

static void *leave_group(void *arg)
{
	struct leaver *leaver = arg;

	__atomic_store_n(&leaver->tid, gettid(), __ATOMIC_RELEASE);
	ck_assert_int_eq(rdma_leave_multicast(cm_client, (struct sockaddr *)&leaver->to), 0);
	leaver->waited = __atomic_load_n(&leaver->acknowledged, __ATOMIC_ACQUIRE);
	return NULL;
}

START_TEST(who_leaves_waits_for_the_acknowledgement)
{
	struct leaver leaver = { .waited = false };
	struct rdma_cm_event *event;
	pthread_t thread;

	begin_joined(&leaver.to);
	event = cm_fetch(cm_channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	ck_assert_int_eq(pthread_create(&thread, NULL, leave_group, &leaver), 0);
	until_thread_asleep(&leaver.tid);
	__atomic_store_n(&leaver.acknowledged, true, __ATOMIC_RELEASE);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(leaver.waited);
	cm_end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, who_leaves_or_goes_takes_the_queue_pair_out_of_the_group, 2, NULL);
	unit_add(suite, who_leaves_waits_for_the_acknowledgement, 1, NULL);
	unit_add(suite, the_gid_of_a_group_is_made_of_its_address,
		 sizeof(groups) / sizeof(groups[0]), NULL);
}

UNIT_SUITE("rdmacm_groups")
