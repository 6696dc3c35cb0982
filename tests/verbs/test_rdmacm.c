/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librdmacm, used as a program uses it: every event and when it comes, every refusal. The server is
 * at emu1, the client at emu0, both in this process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "tests/support/support.h"

#define THERE   "198.18.0.2"
#define NOWHERE "198.18.0.99"
#define PORT    7471
#define TIMEOUT 1000

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *client, *server;
static struct rdma_cm_event last; /* a copy of the last event, with its private data */
static char last_data[256];

static struct sockaddr_in in_address(const char *ip, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, ip, &in.sin_addr), 1);
	return in;
}

static struct rdma_cm_event *fetch(struct rdma_event_channel *from, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_get_cm_event(from, &event), 0);
	ck_assert_str_eq(rdma_event_str(event->event), rdma_event_str(type));
	last = *event;
	memset(last_data, 0, sizeof(last_data));
	if (event->event > RDMA_CM_EVENT_ROUTE_ERROR && event->param.conn.private_data)
		memcpy(last_data, event->param.conn.private_data,
		       event->param.conn.private_data_len);
	return event;
}

static void take(enum rdma_cm_event_type type)
{
	ck_assert_int_eq(rdma_ack_cm_event(fetch(channel, type)), 0);
}

static void expect_quiet(void)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };

	ck_assert_int_eq(poll(&pfd, 1, 0), 0);
}

#define REFUSED(call, why)                      \
	do {                                    \
		errno = 0;                      \
		ck_assert_int_eq(call, -1);     \
		ck_assert_int_eq(errno, (why)); \
	} while (0)

static void begin(void)
{
	struct sockaddr_in in = in_address(THERE, PORT);

	server = NULL;
	channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(channel);
	ck_assert_int_eq(rdma_create_id(channel, &listener, &listener, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_bind_addr(listener, (struct sockaddr *)&in), 0);
	ck_assert_int_eq(rdma_listen(listener, 2), 0);
	ck_assert_int_eq(rdma_create_id(channel, &client, NULL, RDMA_PS_TCP), 0);
}

static void destroy(struct rdma_cm_id **id)
{
	if (!*id)
		return;
	if ((*id)->qp)
		rdma_destroy_qp(*id);
	ck_assert_int_eq(rdma_destroy_id(*id), 0);
	*id = NULL;
}

static void end(void)
{
	destroy(&client);
	destroy(&server);
	destroy(&listener);
	rdma_destroy_event_channel(channel);
}

static void resolve(struct rdma_cm_id *id, const char *ip, uint16_t port)
{
	struct sockaddr_in in = in_address(ip, port);

	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, TIMEOUT), 0);
	take(RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_ptr_eq(last.id, id);
	ck_assert_int_eq(rdma_resolve_route(id, TIMEOUT), 0);
	take(RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1
	};

	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	ck_assert_int_eq((int)id->qp->state, (int)IBV_QPS_INIT);
}

static struct rdma_conn_param param_of(const char *data)
{
	return (struct rdma_conn_param){ .private_data = data,
					 .private_data_len = (uint8_t)strlen(data),
					 .responder_resources = 3,
					 .initiator_depth = 2,
					 .retry_count = 5,
					 .rnr_retry_count = 4 };
}

/* The client asks; the server's id is there. */
static void ask(void)
{
	struct rdma_conn_param param = param_of("question");

	resolve(client, THERE, PORT);
	make_qp(client);
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	take(RDMA_CM_EVENT_CONNECT_REQUEST);
	server = last.id;
}

static void connect_both(void)
{
	struct rdma_conn_param param = param_of("answer");

	ask();
	make_qp(server);
	ck_assert_int_eq(rdma_accept(server, &param), 0);
	take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(last.id, client);
	ck_assert_str_eq(last_data, "answer");
	take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(last.id, server);
}

/* ---- connections ---- */

START_TEST(a_request_says_who_asks_and_what_for)
{
	begin();
	ask();
	ck_assert_ptr_eq(last.listen_id, listener);
	ck_assert_ptr_eq(server->context, &listener);
	ck_assert_str_eq(last_data, "question");
	/* From this side: it may start what the peer serves. */
	ck_assert_uint_eq(last.param.conn.initiator_depth, 3);
	ck_assert_uint_eq(last.param.conn.responder_resources, 2);
	ck_assert_uint_eq(last.param.conn.qp_num, client->qp->qp_num);
	ck_assert_uint_eq(rdma_get_src_port(server), htons(PORT));
	ck_assert_uint_eq(rdma_get_dst_port(server), rdma_get_src_port(client));
	ck_assert_uint_eq(server->route.addr.dst_sin.sin_addr.s_addr,
			  client->route.addr.src_sin.sin_addr.s_addr);
	end();
}
END_TEST

START_TEST(both_sides_are_connected_with_what_was_agreed)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	begin();
	connect_both();
	ck_assert_int_eq((int)client->qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(ibv_query_qp(client->qp, &attr, 0, &init), 0);
	ck_assert_uint_eq(attr.dest_qp_num, server->qp->qp_num);
	ck_assert_uint_eq(attr.retry_cnt, 5);
	ck_assert_uint_eq(attr.rnr_retry, 4);
	ck_assert_uint_eq(attr.max_rd_atomic, 3);
	ck_assert_uint_eq(attr.max_dest_rd_atomic, 2);
	ck_assert_int_eq(ibv_query_qp(server->qp, &attr, 0, &init), 0);
	ck_assert_uint_eq(attr.dest_qp_num, client->qp->qp_num);
	ck_assert_int_eq((int)attr.qp_state, (int)IBV_QPS_RTS);
	end();
}
END_TEST

START_TEST(more_than_7_retries_are_7)
{
	struct rdma_conn_param param = param_of("question");

	begin();
	resolve(client, THERE, PORT);
	make_qp(client);
	param.retry_count = 15;
	param.rnr_retry_count = 8;
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	take(RDMA_CM_EVENT_CONNECT_REQUEST);
	server = last.id;
	ck_assert_uint_eq(last.param.conn.retry_count, 7);
	ck_assert_uint_eq(last.param.conn.rnr_retry_count, 7);
	end();
}
END_TEST

START_TEST(a_message_goes_through_the_calls_of_rdma_verbs_h)
{
	char out[] = "hello", in[16] = "";
	struct ibv_mr *from, *to;
	struct ibv_wc wc;

	begin();
	connect_both();
	from = rdma_reg_msgs(client, out, sizeof(out));
	to = rdma_reg_msgs(server, in, sizeof(in));
	ck_assert_ptr_nonnull(from);
	ck_assert_ptr_nonnull(to);
	ck_assert_int_eq(rdma_post_recv(server, in, in, sizeof(in), to), 0);
	ck_assert_int_eq(rdma_post_send(client, out, out, sizeof(out), from, 0), 0);
	ck_assert_int_eq(rdma_get_recv_comp(server, &wc), 1);
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_int_eq(rdma_get_send_comp(client, &wc), 1);
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_str_eq(in, "hello");
	ck_assert_int_eq(rdma_dereg_mr(from), 0);
	ck_assert_int_eq(rdma_dereg_mr(to), 0);
	end();
}
END_TEST

START_TEST(a_disconnect_is_an_event_at_both_sides_once)
{
	begin();
	connect_both();
	ck_assert_int_eq(rdma_disconnect(client), 0);
	ck_assert_int_eq((int)client->qp->state, (int)IBV_QPS_ERR);
	take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_ptr_eq(last.id, client);
	take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_ptr_eq(last.id, server);
	/* The peer's QP stays as it is until its program says so. */
	ck_assert_int_eq((int)server->qp->state, (int)IBV_QPS_RTS);
	ck_assert_int_eq(rdma_disconnect(server), 0);
	ck_assert_int_eq((int)server->qp->state, (int)IBV_QPS_ERR);
	expect_quiet();
	end();
}
END_TEST

START_TEST(the_peer_of_a_destroyed_id_is_disconnected)
{
	begin();
	connect_both();
	destroy(&client);
	take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_ptr_eq(last.id, server);
	end();
}
END_TEST

START_TEST(a_rejection_carries_its_private_data)
{
	begin();
	ask();
	ck_assert_int_eq(rdma_reject(server, "no", 2), 0);
	take(RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(last.status, 28);
	ck_assert_str_eq(last_data, "no");
	ck_assert_int_eq((int)client->qp->state, (int)IBV_QPS_ERR);
	REFUSED(rdma_reject(server, "no", 2), EINVAL);
	end();
}
END_TEST

START_TEST(a_request_whose_id_is_destroyed_is_rejected)
{
	begin();
	ask();
	destroy(&server);
	take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(last.id, client);
	end();
}
END_TEST

/* The clients have a channel of their own: no request is fetched before the last is refused. */
START_TEST(a_request_beyond_the_backlog_is_rejected)
{
	struct rdma_event_channel *listens, *asks = rdma_create_event_channel();
	struct rdma_conn_param param = param_of("");
	struct rdma_cm_id *askers[3];

	ck_assert_ptr_nonnull(asks);
	begin(); /* with a backlog of 2 */
	listens = channel;
	channel = asks;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(rdma_create_id(asks, &askers[i], NULL, RDMA_PS_TCP), 0);
		resolve(askers[i], THERE, PORT);
		make_qp(askers[i]);
		ck_assert_int_eq(rdma_connect(askers[i], &param), 0);
	}
	take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(last.id, askers[2]);
	channel = listens;
	for (int i = 0; i < 2; i++) {
		take(RDMA_CM_EVENT_CONNECT_REQUEST);
		ck_assert_int_eq(rdma_destroy_id(last.id), 0);
	}
	channel = asks;
	for (int i = 0; i < 2; i++) {
		take(RDMA_CM_EVENT_REJECTED);
		ck_assert_ptr_eq(last.id, askers[i]);
	}
	for (int i = 0; i < 3; i++)
		destroy(&askers[i]);
	rdma_destroy_event_channel(asks);
	channel = listens;
	end();
}
END_TEST

START_TEST(a_port_without_a_listener_rejects)
{
	struct rdma_conn_param param = param_of("");

	begin();
	resolve(client, THERE, PORT + 1);
	make_qp(client);
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	take(RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(last.status, 8);
	end();
}
END_TEST

START_TEST(an_address_that_nobody_has_is_unreachable)
{
	struct rdma_conn_param param = param_of("");

	begin();
	resolve(client, NOWHERE, PORT);
	make_qp(client);
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	take(RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_int_eq(last.status, -ETIMEDOUT);
	end();
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

START_TEST(without_a_qp_the_response_comes_and_the_program_establishes)
{
	struct rdma_conn_param param = param_of("question");
	struct ibv_pd *pds[2];
	struct ibv_cq *cqs[2];
	struct ibv_qp *qps[2];
	int mask;
	struct ibv_qp_attr early = { .qp_state = IBV_QPS_RTR };

	begin();
	resolve(client, THERE, PORT);
	qps[0] = own_qp(client, &pds[0], &cqs[0]);
	REFUSED(rdma_connect(client, NULL), EINVAL);
	REFUSED(rdma_init_qp_attr(client, &early, &mask), EINVAL);
	param.qp_num = qps[0]->qp_num;
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	take(RDMA_CM_EVENT_CONNECT_REQUEST);
	server = last.id;
	ck_assert_uint_eq(last.param.conn.qp_num, qps[0]->qp_num);
	qps[1] = own_qp(server, &pds[1], &cqs[1]);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		step(server, qps[1], (enum ibv_qp_state)state);
	param.qp_num = qps[1]->qp_num;
	ck_assert_int_eq(rdma_accept(server, &param), 0);
	take(RDMA_CM_EVENT_CONNECT_RESPONSE);
	ck_assert_ptr_eq(last.id, client);
	ck_assert_uint_eq(last.param.conn.qp_num, qps[1]->qp_num);
	expect_quiet();
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		step(client, qps[0], (enum ibv_qp_state)state);
	ck_assert_int_eq(rdma_establish(client), 0);
	REFUSED(rdma_establish(client), EINVAL);
	take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(last.id, server);
	message(qps[0], qps[1]);
	message(qps[1], qps[0]);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ibv_destroy_qp(qps[i]), 0);
		ck_assert_int_eq(ibv_destroy_cq(cqs[i]), 0);
		ck_assert_int_eq(ibv_dealloc_pd(pds[i]), 0);
	}
	end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_request_says_who_asks_and_what_for, 1, NULL);
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
	unit_add(suite, without_a_qp_the_response_comes_and_the_program_establishes, 1, NULL);
}

UNIT_SUITE("rdmacm")
