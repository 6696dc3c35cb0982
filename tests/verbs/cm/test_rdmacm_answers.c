/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a request of librdmacm carries, and what becomes of an answer that fails, is taken back, or
 * comes after its client has gone.
 */
#include <poll.h>
#include <stdlib.h>

#include "cm_pair.h"

/* ---- private data of rdma_create_ep ---- */

/* A client with private data of its own, on the channel of all. */
static void make_client(const char *data, size_t size)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;

	ck_assert_int_eq(rdma_getaddrinfo(CM_THERE, "7471", &hints, &info), 0);
	info->ai_connect = malloc(size);
	ck_assert_ptr_nonnull(info->ai_connect);
	memcpy(info->ai_connect, data, size);
	info->ai_connect_len = size;
	cm_destroy(&cm_client);
	ck_assert_int_eq(rdma_create_ep(&cm_client, info, NULL, NULL), 0);
	rdma_freeaddrinfo(info);
	ck_assert_int_eq(rdma_migrate_id(cm_client, cm_channel), 0);
	cm_make_qp(cm_client);
}

static void take_request(const char *data)
{
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	ck_assert_str_eq(cm_data, data);
}

START_TEST(the_data_of_ai_connect_comes_before_that_of_the_call)
{
	struct rdma_conn_param param = cm_param("question");

	cm_begin();
	make_client("a ", 2);
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	take_request("a question");
	cm_end();
}
END_TEST

START_TEST(the_data_of_ai_connect_needs_no_parameters)
{
	cm_begin();
	make_client("alone", 5);
	ck_assert_int_eq(rdma_connect(cm_client, NULL), 0);
	take_request("alone");
	cm_end();
}
END_TEST

/* Both parts share the 56 bytes; a refused call leaves the first one for the next call. */
START_TEST(the_data_of_ai_connect_takes_of_the_room_of_the_request)
{
	struct rdma_conn_param param = cm_param("12345678");
	char most[49] = "";

	memset(most, 'x', sizeof(most));
	cm_begin();
	make_client(most, sizeof(most));
	CM_REFUSED(rdma_connect(cm_client, &param), EINVAL);
	param.private_data_len = 7;
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	ck_assert_int_eq(cm_last.param.conn.private_data_len, 56);
	ck_assert_str_eq(cm_data + 48, "x1234567");
	cm_end();
}
END_TEST

/* ---- an answer that fails ---- */

/* All queue pairs that the device of the id has left. */
static struct ibv_qp **take_queue_pairs(const struct rdma_cm_id *id, int *n)
{
	struct ibv_qp_init_attr init = { .send_cq = id->send_cq,
					 .recv_cq = id->recv_cq,
					 .cap = { 1, 1, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_device_attr attr;
	struct ibv_qp **qps;

	ck_assert_int_eq(ibv_query_device(id->verbs, &attr), 0);
	qps = calloc((size_t)attr.max_qp, sizeof(struct ibv_qp *));
	ck_assert_ptr_nonnull(qps);
	*n = 0;
	while (*n < attr.max_qp && (qps[*n] = ibv_create_qp(id->pd, &init)) != NULL)
		++*n;
	ck_assert_int_lt(*n, attr.max_qp);
	return qps;
}

/* The connection itself needs one more queue pair; the program's is ready by then. */
START_TEST(an_accept_that_fails_late_rejects_and_ends_its_queue_pair)
{
	struct rdma_conn_param param = cm_param("answer");
	struct ibv_qp **qps;
	int n;

	setenv("DATSIM_FABRIC", "answers", 1); /* where a device has fewer */
	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	qps = take_queue_pairs(cm_server, &n);
	CM_REFUSED(rdma_accept(cm_server, &param), ENOMEM);
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_ERR);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	ck_assert_int_eq(cm_last.status, 28);
	while (n > 0)
		ck_assert_int_eq(ibv_destroy_qp(qps[--n]), 0);
	free(qps);
	CM_REFUSED(rdma_accept(cm_server, &param), EINVAL);
	cm_end();
}
END_TEST

/* The end, which comes behind the answer, is no event then. */
START_TEST(an_answer_of_a_server_that_has_gone_is_CONNECT_ERROR)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_conn_param param = cm_param("answer");
	struct pollfd pfd = { .events = POLLIN };
	struct rdma_cm_id *later;

	ck_assert_ptr_nonnull(other);
	cm_begin();
	cm_ask();
	ck_assert_int_eq(rdma_migrate_id(cm_client, other), 0);
	pfd.fd = other->fd;
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_destroy(&cm_server);
	ck_assert_int_eq(poll(&pfd, 1, -1), 1);
	/* What comes from there later has come, too. */
	ck_assert_int_eq(rdma_create_id(cm_channel, &later, NULL, RDMA_PS_TCP), 0);
	cm_resolve(later, CM_THERE, CM_PORT + 1);
	cm_make_qp(later);
	ck_assert_int_eq(rdma_connect(later, NULL), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	cm_destroy(&later);
	ck_assert_int_eq(rdma_ack_cm_event(cm_fetch(other, RDMA_CM_EVENT_CONNECT_ERROR)), 0);
	ck_assert_int_eq(cm_last.status, -EINVAL);
	ck_assert_int_eq((int)cm_client->qp->state, (int)IBV_QPS_ERR);
	ck_assert_int_eq(poll(&pfd, 1, 0), 0);
	ck_assert_int_eq(rdma_migrate_id(cm_client, cm_channel), 0);
	rdma_destroy_event_channel(other);
	cm_end();
}
END_TEST

/* ---- what an answer carries ---- */

START_TEST(an_answer_has_room_for_196_bytes)
{
	struct rdma_conn_param param = cm_param("");
	char data[197];

	memset(data, 'x', sizeof(data));
	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	param.private_data = data;
	param.private_data_len = 197;
	CM_REFUSED(rdma_accept(cm_server, &param), EINVAL);
	param.private_data_len = 196;
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_uint_eq(cm_last.param.conn.private_data_len, 196);
	ck_assert_mem_eq(cm_data, data, 196);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	cm_end();
}
END_TEST

/* Of RDMA Reads at a time. The client serves 3 and starts 2. */
START_TEST(an_answer_that_names_no_depths_agrees_to_those_of_the_request)
{
	struct rdma_conn_param param = cm_param("");
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	param.responder_resources = RDMA_MAX_RESP_RES;
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	ck_assert_int_eq(rdma_accept(cm_server, _i ? &param : NULL), 0);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_uint_eq(cm_last.param.conn.responder_resources, 3);
	ck_assert_uint_eq(cm_last.param.conn.initiator_depth, 2);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_int_eq(ibv_query_qp(cm_server->qp, &attr, 0, &init), 0);
	ck_assert_uint_eq(attr.max_rd_atomic, 3);
	ck_assert_uint_eq(attr.max_dest_rd_atomic, 2);
	cm_end();
}
END_TEST

/* ---- an answer that comes too late, or is taken back ---- */

/* The packet that says so comes after the answer; there is one event of it. */
START_TEST(an_accept_whose_client_has_gone_is_followed_by_UNREACHABLE)
{
	struct rdma_conn_param param = cm_param("answer");

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	cm_destroy(&cm_client);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_ptr_eq(cm_last.id, cm_server);
	ck_assert_int_eq(cm_last.status, -ETIMEDOUT);
	cm_expect_quiet();
	CM_REFUSED(rdma_accept(cm_server, &param), EINVAL);
	cm_end();
}
END_TEST

START_TEST(an_accept_that_waits_fails_when_its_client_has_gone)
{
	struct rdma_conn_param param = cm_param("answer");

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_migrate_id(cm_server, NULL), 0);
	cm_destroy(&cm_client);
	CM_REFUSED(rdma_accept(cm_server, &param), ETIMEDOUT);
	cm_end();
}
END_TEST

START_TEST(a_rejection_of_an_answer_has_its_limit_and_arrives_without_data)
{
	struct rdma_conn_param param = cm_param("");
	char data[149] = "reason";

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	param.qp_num = 1;
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_RESPONSE);
	CM_REFUSED(rdma_reject(cm_client, data, 149), EINVAL);
	ck_assert_int_eq(rdma_reject(cm_client, data, 148), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
	ck_assert_int_eq(cm_last.status, 28);
	ck_assert_str_eq(cm_data, "");
	cm_end();
}
END_TEST

/* ---- a disconnect without a connection ---- */

static void expect_dead(const struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	ck_assert_int_eq(ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init), 0);
	ck_assert_int_eq((int)attr.qp_state, (int)IBV_QPS_ERR);
}

/* As with Linux; the program can still reject it. */
START_TEST(a_disconnect_of_a_request_ends_its_queue_pair_only)
{
	struct rdma_conn_param param = cm_param("answer");

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	expect_dead(cm_server);
	cm_expect_quiet();
	CM_REFUSED(rdma_accept(cm_server, &param), EINVAL);
	ck_assert_int_eq(rdma_reject(cm_server, "no", 2), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	ck_assert_str_eq(cm_data, "no");
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	cm_expect_quiet();
	cm_end();
}
END_TEST

START_TEST(a_disconnect_of_a_request_that_is_sent_ends_its_queue_pair_only)
{
	cm_begin();
	cm_ask();
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	expect_dead(cm_client);
	cm_expect_quiet();
	ck_assert_int_eq(rdma_reject(cm_server, NULL, 0), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	cm_end();
}
END_TEST

/* Programs end like that, and wait until their Receives are flushed. */
START_TEST(a_disconnect_before_the_request_is_refused_and_ends_the_queue_pair)
{
	struct ibv_recv_wr wr = { .wr_id = 7 }, *bad;
	struct ibv_wc wc = { 0 };

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	cm_make_qp(cm_client);
	ck_assert_int_eq(ibv_post_recv(cm_client->qp, &wr, &bad), 0);
	CM_REFUSED(rdma_disconnect(cm_client), EINVAL);
	expect_dead(cm_client);
	ck_assert_int_eq(ibv_poll_cq(cm_client->recv_cq, 1, &wc), 1);
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_WR_FLUSH_ERR);
	ck_assert_uint_eq(wc.wr_id, 7);
	cm_end();
}
END_TEST

START_TEST(a_listener_at_a_device_survives_a_disconnect)
{
	cm_begin();
	ck_assert_int_eq(rdma_disconnect(cm_listener), 0);
	cm_connect();
	cm_end();
}
END_TEST

/* It is not taken for the end of a connection that a call without a channel would wait for. */
START_TEST(a_request_that_waits_at_a_listener_survives_a_disconnect)
{
	struct pollfd pfd = { .events = POLLIN };

	cm_begin();
	ck_assert_int_eq(rdma_migrate_id(cm_listener, NULL), 0);
	pfd.fd = cm_listener->channel->fd;
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, NULL), 0);
	ck_assert_int_eq(rdma_disconnect(cm_listener), 0);
	ck_assert_int_eq(poll(&pfd, 1, 0), 1);
	ck_assert_int_eq(rdma_get_request(cm_listener, &cm_server), 0);
	cm_end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, the_data_of_ai_connect_comes_before_that_of_the_call, 1, NULL);
	unit_add(suite, the_data_of_ai_connect_needs_no_parameters, 1, NULL);
	unit_add(suite, the_data_of_ai_connect_takes_of_the_room_of_the_request, 1, NULL);
	unit_add(suite, an_accept_that_fails_late_rejects_and_ends_its_queue_pair, 1, NULL);
	unit_add(suite, an_answer_of_a_server_that_has_gone_is_CONNECT_ERROR, 1, NULL);
	unit_add(suite, an_answer_has_room_for_196_bytes, 1, NULL);
	unit_add(suite, an_answer_that_names_no_depths_agrees_to_those_of_the_request, 2, NULL);
	unit_add(suite, an_accept_whose_client_has_gone_is_followed_by_UNREACHABLE, 1, NULL);
	unit_add(suite, an_accept_that_waits_fails_when_its_client_has_gone, 1, NULL);
	unit_add(suite, a_rejection_of_an_answer_has_its_limit_and_arrives_without_data, 1, NULL);
	unit_add(suite, a_disconnect_of_a_request_ends_its_queue_pair_only, 1, NULL);
	unit_add(suite, a_disconnect_of_a_request_that_is_sent_ends_its_queue_pair_only, 1, NULL);
	unit_add(suite, a_disconnect_before_the_request_is_refused_and_ends_the_queue_pair, 1,
		 NULL);
	unit_add(suite, a_listener_at_a_device_survives_a_disconnect, 1, NULL);
	unit_add(suite, a_request_that_waits_at_a_listener_survives_a_disconnect, 1, NULL);
}

/* Not all are on the same fabric. */
UNIT_SUITE_OF_PROCESSES("rdmacm_answers")
