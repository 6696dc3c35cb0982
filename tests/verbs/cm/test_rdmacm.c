/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librdmacm, used as a program uses it: every event and when it comes, every refusal. The server is
 * at emu1, the client at emu0, both in this process.
 */
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cm_pair.h"

/* ---- connections ---- */

START_TEST(a_request_says_who_asks_and_what_for)
{
	cm_begin();
	cm_ask();
	ck_assert_ptr_eq(cm_last.listen_id, cm_listener);
	ck_assert_ptr_eq(cm_server->context, &cm_listener);
	ck_assert_str_eq(cm_data, "question");
	/* From this side: it may start what the peer serves. */
	ck_assert_uint_eq(cm_last.param.conn.initiator_depth, 3);
	ck_assert_uint_eq(cm_last.param.conn.responder_resources, 2);
	ck_assert_uint_eq(cm_last.param.conn.flow_control, 1);
	ck_assert_uint_eq(cm_last.param.conn.qp_num, cm_client->qp->qp_num);
	ck_assert_uint_eq(rdma_get_src_port(cm_server), htons(CM_PORT));
	ck_assert_uint_eq(rdma_get_dst_port(cm_server), rdma_get_src_port(cm_client));
	ck_assert_uint_eq(cm_server->route.addr.dst_sin.sin_addr.s_addr,
			  cm_client->route.addr.src_sin.sin_addr.s_addr);
	cm_end();
}
END_TEST

/* libfabric's ofi_rxm knows its peers by the addresses that they listen at, and binds to those. */
START_TEST(a_request_comes_from_the_address_that_the_client_is_bound_to)
{
	struct sockaddr_in in = cm_address("127.0.0.1", 0);

	cm_begin();
	ck_assert_int_eq(rdma_bind_addr(cm_client, (struct sockaddr *)&in), 0);
	cm_ask();
	ck_assert_uint_eq(rdma_get_dst_port(cm_server), rdma_get_src_port(cm_client));
	ck_assert_uint_eq(cm_client->route.addr.src_sin.sin_addr.s_addr, in.sin_addr.s_addr);
	ck_assert_uint_eq(cm_server->route.addr.dst_sin.sin_addr.s_addr, in.sin_addr.s_addr);
	cm_end();
}
END_TEST

START_TEST(both_sides_are_connected_with_what_was_agreed)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cm_begin();
	cm_connect();
	ck_assert_int_eq((int)cm_client->qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(ibv_query_qp(cm_client->qp, &attr, 0, &init), 0);
	ck_assert_uint_eq(attr.dest_qp_num, cm_server->qp->qp_num);
	ck_assert_uint_eq(attr.retry_cnt, 5);
	ck_assert_uint_eq(attr.rnr_retry, 4);
	ck_assert_uint_eq(attr.max_rd_atomic, 3);
	ck_assert_uint_eq(attr.max_dest_rd_atomic, 2);
	ck_assert_int_eq(ibv_query_qp(cm_server->qp, &attr, 0, &init), 0);
	ck_assert_uint_eq(attr.dest_qp_num, cm_client->qp->qp_num);
	ck_assert_int_eq((int)attr.qp_state, (int)IBV_QPS_RTS);
	cm_end();
}
END_TEST

START_TEST(more_than_7_retries_are_7)
{
	struct rdma_conn_param param = cm_param("question");

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	cm_make_qp(cm_client);
	param.retry_count = 15;
	param.rnr_retry_count = 8;
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	ck_assert_uint_eq(cm_last.param.conn.retry_count, 7);
	ck_assert_uint_eq(cm_last.param.conn.rnr_retry_count, 7);
	cm_end();
}
END_TEST

START_TEST(a_message_goes_through_the_calls_of_rdma_verbs_h)
{
	char out[] = "hello", in[16] = "";
	struct ibv_mr *from, *to;
	struct ibv_wc wc;

	cm_begin();
	cm_connect();
	from = rdma_reg_msgs(cm_client, out, sizeof(out));
	to = rdma_reg_msgs(cm_server, in, sizeof(in));
	ck_assert_ptr_nonnull(from);
	ck_assert_ptr_nonnull(to);
	ck_assert_int_eq(rdma_post_recv(cm_server, in, in, sizeof(in), to), 0);
	ck_assert_int_eq(rdma_post_send(cm_client, out, out, sizeof(out), from, 0), 0);
	ck_assert_int_eq(rdma_get_recv_comp(cm_server, &wc), 1);
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_int_eq(rdma_get_send_comp(cm_client, &wc), 1);
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_str_eq(in, "hello");
	ck_assert_int_eq(rdma_dereg_mr(from), 0);
	ck_assert_int_eq(rdma_dereg_mr(to), 0);
	cm_end();
}
END_TEST

START_TEST(a_disconnect_is_an_event_at_both_sides_once)
{
	cm_begin();
	cm_connect();
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	ck_assert_int_eq((int)cm_client->qp->state, (int)IBV_QPS_ERR);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
	/* The peer's QP stays as it is until its program says so. */
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_ERR);
	cm_expect_quiet();
	cm_end();
}
END_TEST

START_TEST(the_peer_of_a_destroyed_id_is_disconnected)
{
	cm_begin();
	cm_connect();
	cm_destroy(&cm_client);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
	cm_end();
}
END_TEST

START_TEST(a_rejection_carries_its_private_data)
{
	cm_begin();
	cm_ask();
	ck_assert_int_eq(rdma_reject(cm_server, "no", 2), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(cm_last.status, 28);
	ck_assert_str_eq(cm_data, "no");
	ck_assert_int_eq((int)cm_client->qp->state, (int)IBV_QPS_ERR);
	CM_REFUSED(rdma_reject(cm_server, "no", 2), EINVAL);
	cm_end();
}
END_TEST

START_TEST(a_request_whose_id_is_destroyed_is_rejected)
{
	cm_begin();
	cm_ask();
	cm_destroy(&cm_server);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	cm_end();
}
END_TEST

/* The clients have a channel of their own: no request is fetched before the last is refused. */
START_TEST(a_request_beyond_the_backlog_is_rejected)
{
	struct rdma_event_channel *listens, *asks = rdma_create_event_channel();
	struct rdma_conn_param param = cm_param("");
	struct rdma_cm_id *askers[3];

	ck_assert_ptr_nonnull(asks);
	cm_begin(); /* with a backlog of 2 */
	listens = cm_channel;
	cm_channel = asks;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(rdma_create_id(asks, &askers[i], NULL, RDMA_PS_TCP), 0);
		cm_resolve(askers[i], CM_THERE, CM_PORT);
		cm_make_qp(askers[i]);
		ck_assert_int_eq(rdma_connect(askers[i], &param), 0);
	}
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(cm_last.id, askers[2]);
	cm_channel = listens;
	for (int i = 0; i < 2; i++) {
		cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
		ck_assert_int_eq(rdma_destroy_id(cm_last.id), 0);
	}
	cm_channel = asks;
	for (int i = 0; i < 2; i++) {
		cm_take(RDMA_CM_EVENT_REJECTED);
		ck_assert_ptr_eq(cm_last.id, askers[i]);
	}
	for (int i = 0; i < 3; i++)
		cm_destroy(&askers[i]);
	rdma_destroy_event_channel(asks);
	cm_channel = listens;
	cm_end();
}
END_TEST

START_TEST(a_port_without_a_listener_rejects)
{
	struct rdma_conn_param param = cm_param("");

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT + 1);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(cm_last.status, 8);
	cm_end();
}
END_TEST

START_TEST(an_address_that_nobody_has_is_unreachable)
{
	struct rdma_conn_param param = cm_param("");

	cm_begin();
	cm_resolve(cm_client, CM_NOWHERE, CM_PORT);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_int_eq(cm_last.status, -EHOSTUNREACH);
	cm_end();
}
END_TEST

/* ---- QPs that the program makes itself ---- */

static struct ibv_qp *own_qp(struct rdma_cm_id *id, struct ibv_pd **pd, struct ibv_cq **cq)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC
	};

	*pd = ibv_alloc_pd(id->verbs);
	*cq = ibv_create_cq(id->verbs, 8, NULL, NULL, 0);
	ck_assert(*pd && *cq);
	init.send_cq = init.recv_cq = *cq;
	return ibv_create_qp(*pd, &init);
}

static void step(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	ck_assert_int_eq(rdma_init_qp_attr(id, &attr, &mask), 0);
	ck_assert_int_eq(ibv_modify_qp(qp, &attr, mask), 0);
}

/* Without payload. */
static void message(struct ibv_qp *from, struct ibv_qp *to)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv;
	struct ibv_wc wc;

	ck_assert_int_eq(ibv_post_recv(to, &recv, &bad_recv), 0);
	ck_assert_int_eq(ibv_post_send(from, &send, &bad), 0);
	while (ibv_poll_cq(from->send_cq, 1, &wc) == 0)
		continue;
	ck_assert_msg(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	ck_assert_int_eq(ibv_poll_cq(to->recv_cq, 1, &wc), 1);
	ck_assert_msg(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
}

START_TEST(a_path_that_the_program_names_is_its_route)
{
	struct rdma_conn_param param = cm_param("");
	struct sockaddr_in in = cm_address(CM_THERE, CM_PORT);
	/* The second one is for both directions, and for all packets. */
	struct ibv_path_data paths[2] = {
		{ .flags = IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_OUTBOUND },
		{ .flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL }
	};

	cm_begin();
	CM_REFUSED(rdma_set_option(cm_client, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, paths,
				   sizeof(paths)),
		   EINVAL);
	ck_assert_int_eq(rdma_resolve_addr(cm_client, NULL, (struct sockaddr *)&in, CM_TIMEOUT), 0);
	cm_take(RDMA_CM_EVENT_ADDR_RESOLVED);
	for (size_t size = 0; size <= sizeof(paths[0]); size += sizeof(paths[0]) / 2)
		CM_REFUSED(rdma_set_option(cm_client, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, paths,
					   size),
			   EINVAL);
	CM_REFUSED(rdma_set_option(cm_client, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, (void *)4096,
				   sizeof(paths)),
		   EFAULT);
	ck_assert_int_eq(rdma_set_option(cm_client, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, paths,
					 sizeof(paths)),
			 0);
	cm_take(RDMA_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_int_eq(cm_client->route.num_paths, 1);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	cm_end();
}
END_TEST

START_TEST(without_a_qp_the_response_comes_and_the_program_establishes)
{
	struct rdma_conn_param param = cm_param("question");
	struct ibv_pd *pds[2];
	struct ibv_cq *cqs[2];
	struct ibv_qp *qps[2];
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int mask;
	struct ibv_qp_attr early = { .qp_state = IBV_QPS_RTR };

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	qps[0] = own_qp(cm_client, &pds[0], &cqs[0]);
	CM_REFUSED(rdma_connect(cm_client, NULL), EINVAL);
	CM_REFUSED(rdma_init_qp_attr(cm_client, &early, &mask), EINVAL);
	param.qp_num = qps[0]->qp_num;
	param.retry_count = 3;
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	ck_assert_uint_eq(cm_last.param.conn.qp_num, qps[0]->qp_num);
	qps[1] = own_qp(cm_server, &pds[1], &cqs[1]);
	/* A server may send before, or when the connection is there. */
	for (int state = IBV_QPS_INIT; state <= (_i ? IBV_QPS_RTR : IBV_QPS_RTS); state++)
		step(cm_server, qps[1], (enum ibv_qp_state)state);
	param.qp_num = qps[1]->qp_num;
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_RESPONSE);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	ck_assert_uint_eq(cm_last.param.conn.qp_num, qps[1]->qp_num);
	cm_expect_quiet();
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		step(cm_client, qps[0], (enum ibv_qp_state)state);
	ck_assert_int_eq(rdma_establish(cm_client), 0);
	CM_REFUSED(rdma_establish(cm_client), EINVAL);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
	if (_i)
		step(cm_server, qps[1], IBV_QPS_RTS);
	/* The server's queue pair tries as often as the client's program wants. */
	ck_assert_int_eq(ibv_query_qp(qps[1], &attr, IBV_QP_RETRY_CNT, &init), 0);
	ck_assert_uint_eq(attr.retry_cnt, 3);
	message(qps[0], qps[1]);
	message(qps[1], qps[0]);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ibv_destroy_qp(qps[i]), 0);
		ck_assert_int_eq(ibv_destroy_cq(cqs[i]), 0);
		ck_assert_int_eq(ibv_dealloc_pd(pds[i]), 0);
	}
	cm_end();
}
END_TEST

/* The one that comes by the peer's answer is not told again. */
START_TEST(an_id_that_was_notified_is_established_once)
{
	struct rdma_conn_param param = cm_param("answer");
	struct rdma_cm_id *first;

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	CM_REFUSED(rdma_notify(cm_server, IBV_EVENT_SQ_DRAINED), EINVAL);
	ck_assert_int_eq(rdma_notify(cm_server, IBV_EVENT_COMM_EST), 0);
	/* The answer may come to the client before. */
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	first = cm_last.id;
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(first == cm_server ? cm_last.id : first, cm_client);
	ck_assert_ptr_eq(first == cm_server ? first : cm_last.id, cm_server);
	message(cm_client->qp, cm_server->qp);
	cm_expect_quiet();
	cm_end();
}
END_TEST

/* The client gives up between the server's answer and its own: by a call, or as it is destroyed. */
START_TEST(an_answer_that_is_given_up_is_rejected)
{
	struct rdma_conn_param param = cm_param("question");
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	qp = own_qp(cm_client, &pd, &cq);
	param.qp_num = qp->qp_num;
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_RESPONSE);
	if (_i == 0)
		ck_assert_int_eq(rdma_reject(cm_client, NULL, 0), 0);
	ck_assert_int_eq(ibv_destroy_qp(qp), 0);
	ck_assert_int_eq(ibv_destroy_cq(cq), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	if (_i == 1)
		cm_destroy(&cm_client);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
	ck_assert_int_eq(cm_last.status, 28);
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_ERR);
	cm_end();
}
END_TEST

static int lines_of(const char *file, const char *part)
{
	FILE *trace = fopen(file, "r");
	char line[512];
	int n = 0;

	ck_assert_ptr_nonnull(trace);
	while (fgets(line, sizeof(line), trace))
		n += strstr(line, part) != NULL;
	fclose(trace);
	return n;
}

START_TEST(a_response_that_is_rejected_leaves_nothing_to_free_again)
{
	struct rdma_conn_param param = cm_param("question");
	struct ibv_pd *pds[2];
	struct ibv_cq *cqs[2];
	struct ibv_qp *qps[2];
	char file[64];

	snprintf(file, sizeof(file), "test_rdmacm.%d.trace", (int)getpid());
	setenv("DATSIM_TRACE", file, 1);
	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	unsetenv("DATSIM_TRACE");
	qps[0] = own_qp(cm_client, &pds[0], &cqs[0]);
	param.qp_num = qps[0]->qp_num;
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	qps[1] = own_qp(cm_server, &pds[1], &cqs[1]);
	param.qp_num = qps[1]->qp_num;
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_RESPONSE);
	ck_assert_int_eq(rdma_reject(cm_client, NULL, 0), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ibv_destroy_qp(qps[i]), 0);
		ck_assert_int_eq(ibv_destroy_cq(cqs[i]), 0);
		ck_assert_int_eq(ibv_dealloc_pd(pds[i]), 0);
	}
	cm_end();
	ck_assert_int_eq(lines_of(file, " emu0.id1 free"), 1);
	unlink(file);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_request_says_who_asks_and_what_for, 1, NULL);
	unit_add(suite, a_request_comes_from_the_address_that_the_client_is_bound_to, 1, NULL);
	unit_add(suite, both_sides_are_connected_with_what_was_agreed, 1, NULL);
	unit_add(suite, more_than_7_retries_are_7, 1, NULL);
	unit_add(suite, a_message_goes_through_the_calls_of_rdma_verbs_h, 1, NULL);
	unit_add(suite, a_disconnect_is_an_event_at_both_sides_once, 1, NULL);
	unit_add(suite, the_peer_of_a_destroyed_id_is_disconnected, 1, NULL);
	unit_add(suite, a_rejection_carries_its_private_data, 1, NULL);
	unit_add(suite, a_request_whose_id_is_destroyed_is_rejected, 1, NULL);
	unit_add(suite, a_request_beyond_the_backlog_is_rejected, 1, NULL);
	unit_add(suite, a_port_without_a_listener_rejects, 1, NULL);
	unit_add(suite, an_address_that_nobody_has_is_unreachable, 1, NULL);
	unit_add(suite, a_path_that_the_program_names_is_its_route, 1, NULL);
	unit_add(suite, without_a_qp_the_response_comes_and_the_program_establishes, 2, NULL);
	unit_add(suite, an_id_that_was_notified_is_established_once, 1, NULL);
	unit_add(suite, an_answer_that_is_given_up_is_rejected, 2, NULL);
	unit_add(suite, a_response_that_is_rejected_leaves_nothing_to_free_again, 1, NULL);
}

/* A device stays open until the program ends, and the last test wants a trace of its fabric. */
UNIT_SUITE_OF_PROCESSES("rdmacm")
