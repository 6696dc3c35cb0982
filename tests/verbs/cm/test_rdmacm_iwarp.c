/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices of the profile iwarp: what RNICs do not have is refused and not promised, and librdmacm
 * alone connects their queue pairs.
 */
#include <rdma/rdma_verbs.h>
#include <stdlib.h>

#include "cm_pair.h"

/* Declared in a header for drivers only. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

static char out[64] = "hello", in[64];
static struct ibv_mr *from, *to;

static void connect_with_memory(void)
{
	cm_begin();
	cm_connect();
	from = rdma_reg_msgs(cm_client, out, sizeof(out));
	to = rdma_reg_msgs(cm_server, in, sizeof(in));
	ck_assert(from && to);
}

static void end_with_memory(void)
{
	ck_assert_int_eq(rdma_dereg_mr(from), 0);
	ck_assert_int_eq(rdma_dereg_mr(to), 0);
	cm_end();
}

static void expect_completion(int found, const struct ibv_wc *wc, enum ibv_wc_status status)
{
	ck_assert_int_eq(found, 1);
	ck_assert_str_eq(ibv_wc_status_str(wc->status), ibv_wc_status_str(status));
}

/* ---- what devices say ---- */

START_TEST(devices_are_rnics)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	char type[16];

	cm_begin();
	ck_assert_int_eq((int)cm_listener->verbs->device->node_type, IBV_NODE_RNIC);
	ck_assert_int_eq((int)cm_listener->verbs->device->transport_type, IBV_TRANSPORT_IWARP);
	ck_assert_int_eq(ibv_query_device(cm_listener->verbs, &attr), 0);
	ck_assert_int_eq(attr.atomic_cap, IBV_ATOMIC_NONE);
	ck_assert_int_eq(attr.max_ah, 0);
	ck_assert_int_eq(attr.max_mcast_grp, 0);
	ck_assert(!(attr.device_cap_flags & IBV_DEVICE_RC_RNR_NAK_GEN));
	ck_assert_int_eq(ibv_query_port(cm_listener->verbs, 1, &port), 0);
	ck_assert_int_eq(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	ck_assert_uint_eq(port.lid, 0);
	ck_assert_uint_eq(port.flags, 0);
	ck_assert_int_gt(ibv_read_sysfs_file(cm_listener->verbs->device->ibdev_path, "node_type",
					     type, sizeof(type)),
			 0);
	ck_assert_str_eq(type, "4: RNIC");
	cm_end();
}
END_TEST

/* ---- what they refuse ---- */

static struct ibv_qp *qp_of(enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_cq *cq = ibv_create_cq(cm_listener->verbs, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex init = { .send_cq = cq,
					    .recv_cq = cq,
					    .cap = { 4, 4, 1, 1, 0 },
					    .qp_type = type,
					    .pd = cm_listener->pd,
					    .send_ops_flags = ops,
					    .comp_mask = IBV_QP_INIT_ATTR_PD };
	struct ibv_qp *qp;

	ck_assert_ptr_nonnull(cq);
	if (ops)
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	errno = 0;
	qp = ibv_create_qp_ex(cm_listener->verbs, &init);
	if (!qp)
		ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	return qp;
}

static void refused_qp(enum ibv_qp_type type, uint64_t ops)
{
	ck_assert_ptr_null(qp_of(type, ops));
	ck_assert_int_eq(errno, EOPNOTSUPP);
}

START_TEST(queue_pairs_are_of_type_rc)
{
	struct ibv_ah_attr way = { .port_num = 1, .is_global = 1 };

	cm_begin();
	refused_qp(IBV_QPT_UD, 0);
	refused_qp(IBV_QPT_UC, 0);
	refused_qp(IBV_QPT_RC, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
	refused_qp(IBV_QPT_RC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
	errno = 0;
	ck_assert_ptr_null(ibv_create_ah(cm_listener->pd, &way));
	ck_assert_int_eq(errno, EOPNOTSUPP);
	cm_end();
}
END_TEST

START_TEST(no_bytes_are_no_region)
{
	char bytes[16];

	cm_begin();
	errno = 0;
	ck_assert_ptr_null(ibv_reg_mr(cm_listener->pd, bytes + 8, 0, IBV_ACCESS_LOCAL_WRITE));
	ck_assert_int_eq(errno, EINVAL);
	cm_end();
}
END_TEST

START_TEST(there_are_no_multicast_groups)
{
	struct sockaddr_in to_all = cm_address("239.1.2.3", 0), here = cm_address("198.18.0.1", 0);
	struct rdma_cm_id *id;

	cm_begin();
	ck_assert_int_eq(rdma_create_id(cm_channel, &id, NULL, RDMA_PS_UDP), 0);
	ck_assert_int_eq(rdma_bind_addr(id, (struct sockaddr *)&here), 0);
	CM_REFUSED(rdma_join_multicast(id, (struct sockaddr *)&to_all, NULL), ENOSYS);
	cm_destroy(&id);
	cm_end();
}
END_TEST

START_TEST(a_queue_pair_is_not_connected_by_number)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp;
	struct ibv_cq *cq;

	cm_begin();
	qp = qp_of(IBV_QPT_RC, 0);
	ck_assert_ptr_nonnull(qp);
	cq = qp->send_cq;
	ck_assert_int_eq(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
					       IBV_QP_ACCESS_FLAGS),
			 0);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = qp->qp_num,
				     .ah_attr = { .port_num = 1, .is_global = 1 } };
	ck_assert_int_eq(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	ck_assert_int_eq(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 EINVAL);
	ck_assert_int_eq((int)qp->state, (int)IBV_QPS_RTR);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	cm_end();
}
END_TEST

static int post(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { (uintptr_t)out, 8, from->lkey };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 }, *bad = NULL;
	int err;

	wr.wr.rdma.remote_addr = (uintptr_t)in;
	wr.wr.rdma.rkey = to->rkey;
	err = ibv_post_send(cm_client->qp, &wr, &bad);
	ck_assert_ptr_eq(bad, err ? &wr : NULL);
	return err;
}

START_TEST(there_are_no_atomics_and_no_immediate_data)
{
	connect_with_memory();
	ck_assert_int_eq(post(IBV_WR_SEND_WITH_IMM), EINVAL);
	ck_assert_int_eq(post(IBV_WR_RDMA_WRITE_WITH_IMM), EINVAL);
	ck_assert_int_eq(post(IBV_WR_ATOMIC_CMP_AND_SWP), EINVAL);
	ck_assert_int_eq(post(IBV_WR_ATOMIC_FETCH_AND_ADD), EINVAL);
	end_with_memory();
}
END_TEST

/* ---- connections ---- */

START_TEST(librdmacm_connects_and_messages_go_both_ways)
{
	struct ibv_wc wc;

	connect_with_memory();
	ck_assert_int_eq((int)cm_client->qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(rdma_post_recv(cm_server, NULL, in, sizeof(in), to), 0);
	ck_assert_int_eq(rdma_post_send(cm_client, NULL, out, sizeof(out), from, 0), 0);
	expect_completion(rdma_get_recv_comp(cm_server, &wc), &wc, IBV_WC_SUCCESS);
	expect_completion(rdma_get_send_comp(cm_client, &wc), &wc, IBV_WC_SUCCESS);
	ck_assert_str_eq(in, "hello");
	ck_assert_int_eq(rdma_post_recv(cm_client, NULL, out, sizeof(out), from), 0);
	ck_assert_int_eq(rdma_post_send(cm_server, NULL, in, sizeof(in), to, 0), 0);
	expect_completion(rdma_get_recv_comp(cm_client, &wc), &wc, IBV_WC_SUCCESS);
	expect_completion(rdma_get_send_comp(cm_server, &wc), &wc, IBV_WC_SUCCESS);
	end_with_memory();
}
END_TEST

/* The adapter of the active side sends the first message by itself, so the passive side may. */
START_TEST(the_passive_side_may_send_first_once_established)
{
	struct ibv_wc wc;

	connect_with_memory();
	ck_assert_int_eq(rdma_post_recv(cm_client, NULL, out, sizeof(out), from), 0);
	ck_assert_int_eq(rdma_post_send(cm_server, NULL, in, sizeof(in), to, 0), 0);
	expect_completion(rdma_get_recv_comp(cm_client, &wc), &wc, IBV_WC_SUCCESS);
	end_with_memory();
}
END_TEST

START_TEST(before_that_it_cannot_post)
{
	struct rdma_conn_param param = cm_param("");
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_RTR);
	ck_assert_int_eq(ibv_post_send(cm_server->qp, &wr, &bad), EINVAL);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
	ck_assert_int_eq(ibv_post_send(cm_server->qp, &wr, &bad), 0);
	cm_end();
}
END_TEST

START_TEST(reads_beyond_those_agreed_wait_for_their_turn)
{
	struct ibv_mr *source, *sink;
	struct ibv_wc wc;

	cm_begin();
	cm_connect(); /* with two RDMA Reads at a time */
	source = rdma_reg_read(cm_server, out, sizeof(out));
	sink = rdma_reg_write(cm_client, in, sizeof(in));
	ck_assert(source && sink);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(rdma_post_read(cm_client, NULL, in, sizeof(in), sink, 0,
						(uintptr_t)out, source->rkey),
				 0);
	for (int i = 0; i < 4; i++)
		expect_completion(rdma_get_send_comp(cm_client, &wc), &wc, IBV_WC_SUCCESS);
	ck_assert_str_eq(in, "hello");
	ck_assert_int_eq(rdma_dereg_mr(source), 0);
	ck_assert_int_eq(rdma_dereg_mr(sink), 0);
	cm_end();
}
END_TEST

static void expect_disconnected(void)
{
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_int_eq((int)cm_client->qp->state, (int)IBV_QPS_ERR);
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_ERR);
}

START_TEST(a_send_without_a_receive_ends_the_connection)
{
	struct ibv_wc wc;

	connect_with_memory();
	ck_assert_int_eq(rdma_post_recv(cm_client, NULL, in, 0, to), 0);
	ck_assert_int_eq(rdma_post_send(cm_client, NULL, out, sizeof(out), from, 0), 0);
	expect_completion(rdma_get_send_comp(cm_client, &wc), &wc, IBV_WC_WR_FLUSH_ERR);
	expect_completion(rdma_get_recv_comp(cm_client, &wc), &wc, IBV_WC_WR_FLUSH_ERR);
	expect_disconnected();
	end_with_memory();
}
END_TEST

START_TEST(a_bad_key_ends_the_connection)
{
	struct ibv_wc wc;

	connect_with_memory();
	ck_assert_int_eq(rdma_post_write(cm_client, NULL, out, sizeof(out), from, 0, (uintptr_t)in,
					 to->rkey ^ 0x100),
			 0);
	expect_completion(rdma_get_send_comp(cm_client, &wc), &wc, IBV_WC_REM_ACCESS_ERR);
	expect_disconnected();
	end_with_memory();
}
END_TEST

START_TEST(a_disconnect_ends_both_queue_pairs)
{
	connect_with_memory();
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	expect_disconnected();
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	cm_expect_quiet();
	end_with_memory();
}
END_TEST

START_TEST(a_listener_has_nothing_to_disconnect)
{
	cm_begin();
	CM_REFUSED(rdma_disconnect(cm_listener), EINVAL);
	cm_end();
}
END_TEST

START_TEST(a_rejection_has_its_private_data)
{
	cm_begin();
	cm_ask();
	ck_assert_int_eq(rdma_reject(cm_server, "no", 2), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_str_eq(cm_data, "no");
	ck_assert_int_eq(cm_last.param.conn.private_data_len, 2);
	ck_assert_int_eq(cm_last.status, -ECONNREFUSED);
	cm_end();
}
END_TEST

START_TEST(a_port_without_a_listener_resets)
{
	struct rdma_conn_param param = cm_param("");

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT + 1);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(cm_last.status, -ECONNRESET);
	cm_end();
}
END_TEST

static void fill(Suite *suite)
{
	setenv("DATSIM_PROFILE", "iwarp", 1);
	unit_add(suite, devices_are_rnics, 1, NULL);
	unit_add(suite, queue_pairs_are_of_type_rc, 1, NULL);
	unit_add(suite, no_bytes_are_no_region, 1, NULL);
	unit_add(suite, there_are_no_multicast_groups, 1, NULL);
	unit_add(suite, a_queue_pair_is_not_connected_by_number, 1, NULL);
	unit_add(suite, there_are_no_atomics_and_no_immediate_data, 1, NULL);
	unit_add(suite, librdmacm_connects_and_messages_go_both_ways, 1, NULL);
	unit_add(suite, the_passive_side_may_send_first_once_established, 1, NULL);
	unit_add(suite, before_that_it_cannot_post, 1, NULL);
	unit_add(suite, reads_beyond_those_agreed_wait_for_their_turn, 1, NULL);
	unit_add(suite, a_send_without_a_receive_ends_the_connection, 1, NULL);
	unit_add(suite, a_bad_key_ends_the_connection, 1, NULL);
	unit_add(suite, a_disconnect_ends_both_queue_pairs, 1, NULL);
	unit_add(suite, a_listener_has_nothing_to_disconnect, 1, NULL);
	unit_add(suite, a_rejection_has_its_private_data, 1, NULL);
	unit_add(suite, a_port_without_a_listener_resets, 1, NULL);
}

UNIT_SUITE("rdmacm_iwarp")
