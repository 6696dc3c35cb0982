/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * librdmacm for QPs of type UD: a question and its answer, and multicast groups. The server is at
 * emu1, the client at emu0, both in this process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "tests/support/support.h"

#define EMU0    "198.18.0.1"
#define EMU1    "198.18.0.2"
#define GROUP   "239.1.2.3"
#define PORT    7471
#define TIMEOUT 1000
#define GRH     40

/* As InfiniBand numbers answers: include/rdma/ib_cm.h of Linux */
#define SIDR_UNSUPPORTED 1
#define SIDR_REJECTED    2

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *client, *server;
static struct rdma_cm_event last;
static char last_data[256];
static char buffer[256];

#define REFUSED(call, why)                      \
	do {                                    \
		errno = 0;                      \
		ck_assert_int_eq(call, -1);     \
		ck_assert_int_eq(errno, (why)); \
	} while (0)

static struct sockaddr *in_address(const char *ip, uint16_t port)
{
	static struct sockaddr_in in[2];
	static int next;
	struct sockaddr_in *one = &in[next++ % 2];

	*one = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
	ck_assert_int_eq(inet_pton(AF_INET, ip, &one->sin_addr), 1);
	return (struct sockaddr *)one;
}

static struct rdma_cm_event *fetch(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	ck_assert_int_eq(rdma_get_cm_event(channel, &event), 0);
	ck_assert_str_eq(rdma_event_str(event->event), rdma_event_str(type));
	last = *event;
	return event;
}

static void take(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = fetch(type);

	memset(last_data, 0, sizeof(last_data));
	if (type != RDMA_CM_EVENT_MULTICAST_JOIN && event->param.ud.private_data)
		memcpy(last_data, event->param.ud.private_data, event->param.ud.private_data_len);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
}

static void expect_quiet(void)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };

	ck_assert_int_eq(poll(&pfd, 1, 0), 0);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1
	};

	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	ck_assert_int_eq((int)id->qp->state, (int)IBV_QPS_RTS);
}

static void begin(void)
{
	server = NULL;
	channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(channel);
	ck_assert_int_eq(rdma_create_id(channel, &listener, &listener, RDMA_PS_UDP), 0);
	ck_assert_int_eq(rdma_bind_addr(listener, in_address(EMU1, PORT)), 0);
	ck_assert_int_eq(rdma_listen(listener, 2), 0);
	ck_assert_int_eq(rdma_create_id(channel, &client, NULL, RDMA_PS_UDP), 0);
}

static void resolve(const char *ip, uint16_t port)
{
	ck_assert_int_eq(
		rdma_resolve_addr(client, in_address(EMU0, 0), in_address(ip, port), TIMEOUT), 0);
	take(RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(client, TIMEOUT), 0);
	take(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_qp(client);
}

static void destroy(struct rdma_cm_id *id)
{
	if (id && id->qp)
		rdma_destroy_qp(id);
	if (id)
		ck_assert_int_eq(rdma_destroy_id(id), 0);
}

static void end(void)
{
	destroy(client);
	destroy(server);
	destroy(listener);
	rdma_destroy_event_channel(channel);
}

static void ask(void)
{
	struct rdma_conn_param param = { .private_data = "question", .private_data_len = 8 };

	resolve(EMU1, PORT);
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	take(RDMA_CM_EVENT_CONNECT_REQUEST);
	server = last.id;
	ck_assert_ptr_eq(last.listen_id, listener);
	ck_assert_str_eq(last_data, "question");
}

/* ---- a question and its answer ---- */

static void send_to(struct rdma_cm_id *from, const struct rdma_ud_param *to, const char *text)
{
	struct ibv_sge sge = { .addr = (uintptr_t)text, .length = (uint32_t)strlen(text) + 1 };
	struct ibv_ah_attr attr = to->ah_attr;
	struct ibv_ah *ah = ibv_create_ah(from->pd, &attr);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE,
				  .wr.ud = { .ah = ah,
					     .remote_qpn = to->qp_num,
					     .remote_qkey = to->qkey } },
			   *bad;
	struct ibv_wc wc;

	ck_assert_ptr_nonnull(ah);
	ck_assert_int_eq(ibv_post_send(from->qp, &wr, &bad), 0);
	ck_assert_int_eq(rdma_get_send_comp(from, &wc), 1);
	ck_assert_int_eq((int)wc.status, (int)IBV_WC_SUCCESS);
	ck_assert_int_eq(ibv_destroy_ah(ah), 0);
}

static struct ibv_mr *receive(struct rdma_cm_id *id)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, buffer, sizeof(buffer));

	ck_assert_ptr_nonnull(mr);
	memset(buffer, 0, sizeof(buffer));
	ck_assert_int_eq(rdma_post_recv(id, NULL, buffer, sizeof(buffer), mr), 0);
	return mr;
}

START_TEST(an_answer_names_a_queue_pair)
{
	struct rdma_conn_param param = { .private_data = "answer", .private_data_len = 6 };
	struct rdma_ud_param to;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	begin();
	ask();
	make_qp(server);
	mr = receive(server);
	ck_assert_int_eq(rdma_accept(server, &param), 0);
	take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(last.id, client);
	to = last.param.ud;
	ck_assert_str_eq(last_data, "answer");
	ck_assert_uint_eq(to.qp_num, server->qp->qp_num);
	ck_assert_uint_eq(to.qkey, RDMA_UDP_QKEY);
	ck_assert_uint_eq(to.ah_attr.port_num, 1);
	send_to(client, &to, "letter");
	ck_assert_int_eq(rdma_get_recv_comp(server, &wc), 1);
	ck_assert_uint_eq(wc.src_qp, client->qp->qp_num);
	ck_assert_str_eq(buffer + GRH, "letter");
	ck_assert_int_eq(rdma_dereg_mr(mr), 0);
	/* Nothing is connected: no side hears of the other's end. */
	ck_assert_int_eq(rdma_disconnect(client), 0);
	ck_assert_int_eq((int)client->qp->state, (int)IBV_QPS_ERR);
	destroy(client);
	client = NULL;
	expect_quiet();
	end();
}
END_TEST

START_TEST(the_server_may_have_gone)
{
	struct rdma_conn_param param = { .private_data_len = 0 };

	begin();
	ask();
	make_qp(server);
	ck_assert_int_eq(rdma_accept(server, &param), 0);
	take(RDMA_CM_EVENT_ESTABLISHED);
	destroy(server);
	server = NULL;
	expect_quiet();
	ck_assert_int_eq((int)client->qp->state, (int)IBV_QPS_RTS);
	end();
}
END_TEST

START_TEST(a_rejection_is_unreachable)
{
	begin();
	ask();
	ck_assert_int_eq(rdma_reject(server, "no", 2), 0);
	take(RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_int_eq(last.status, SIDR_REJECTED);
	ck_assert_str_eq(last_data, "no");
	end();
}
END_TEST

START_TEST(a_rejection_has_room_for_136_bytes)
{
	char text[137] = { 0 };

	begin();
	ask();
	REFUSED(rdma_reject(server, text, 137), EINVAL);
	memset(text, 'x', 136);
	ck_assert_int_eq(rdma_reject(server, text, 136), 0);
	take(RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_str_eq(last_data, text);
	end();
}
END_TEST

/* Of datagrams only the private data counts. */
START_TEST(a_question_needs_no_parameters)
{
	struct rdma_conn_param param = { .private_data_len = 255,
					 .responder_resources = 254,
					 .initiator_depth = 254 };

	begin();
	ck_assert_int_eq(rdma_resolve_addr(client, NULL, in_address(EMU1, PORT), TIMEOUT), 0);
	take(RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(client, TIMEOUT), 0);
	take(RDMA_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_int_eq(rdma_connect(client, _i ? &param : NULL), 0);
	take(RDMA_CM_EVENT_CONNECT_REQUEST);
	server = last.id;
	ck_assert_uint_eq(last.param.ud.private_data_len, 180);
	ck_assert_int_eq(rdma_accept(server, &param), 0);
	take(RDMA_CM_EVENT_ESTABLISHED);
	end();
}
END_TEST

START_TEST(so_is_a_port_without_a_listener)
{
	struct rdma_conn_param param = { .private_data_len = 0 };

	begin();
	resolve(EMU1, PORT + 1);
	ck_assert_int_eq(rdma_connect(client, &param), 0);
	take(RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_int_eq(last.status, SIDR_UNSUPPORTED);
	end();
}
END_TEST

/* No answer, no data. */
START_TEST(an_address_that_nobody_has_says_nothing)
{
	begin();
	resolve("198.18.0.99", PORT);
	ck_assert_int_eq(rdma_connect(client, NULL), 0);
	take(RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_int_eq(last.status, -ETIMEDOUT);
	ck_assert_ptr_null(last.param.ud.private_data);
	end();
}
END_TEST

START_TEST(each_port_space_has_its_key)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rdma_cm_id *id;

	begin();
	ck_assert_int_eq(rdma_create_id(channel, &id, NULL, _i ? RDMA_PS_UDP : RDMA_PS_IPOIB), 0);
	ck_assert_int_eq(rdma_bind_addr(id, in_address(EMU0, 0)), 0);
	make_qp(id);
	ck_assert_int_eq(ibv_query_qp(id->qp, &attr, IBV_QP_QKEY, &init), 0);
	ck_assert_uint_eq(attr.qkey, _i ? RDMA_UDP_QKEY : 0x0b1b);
	destroy(id);
	end();
}
END_TEST

START_TEST(a_qp_of_another_type_is_refused)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	begin();
	REFUSED(rdma_create_qp(listener, NULL, &init), EINVAL);
	end();
}
END_TEST

/* ---- multicast ---- */

/* The client's id is at emu0, the server's (the listener here, which does not listen) at emu1. */
static void begin_groups(void)
{
	begin();
	destroy(listener);
	ck_assert_int_eq(rdma_create_id(channel, &listener, &listener, RDMA_PS_UDP), 0);
	ck_assert_int_eq(rdma_bind_addr(listener, in_address(EMU1, PORT)), 0);
	ck_assert_int_eq(rdma_bind_addr(client, in_address(EMU0, 0)), 0);
	make_qp(client);
	make_qp(listener);
}

START_TEST(a_group_is_joined_left_and_reached)
{
	static int context;
	struct rdma_ud_param to;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	begin_groups();
	mr = receive(listener);
	ck_assert_int_eq(rdma_join_multicast(listener, in_address(GROUP, 0), &context), 0);
	take(RDMA_CM_EVENT_MULTICAST_JOIN);
	ck_assert_ptr_eq(last.id, listener);
	ck_assert_ptr_eq(last.param.ud.private_data, &context);
	ck_assert_int_eq(rdma_join_multicast(client, in_address(GROUP, 0), NULL), 0);
	take(RDMA_CM_EVENT_MULTICAST_JOIN);
	to = last.param.ud;
	ck_assert_uint_eq(to.qp_num, 0xffffff);
	ck_assert_uint_eq(to.qkey, RDMA_UDP_QKEY);
	ck_assert(to.ah_attr.is_global && to.ah_attr.dlid >= 0xc000);
	/* As IP over InfiniBand makes it, with the signature of librdmacm. */
	ck_assert_int_eq(memcmp(to.ah_attr.grh.dgid.raw,
				"\xff\x12\x40\x01\xff\xff\0\0\0\0\0\0\x0f\x01\x02\x03", 16),
			 0);
	send_to(client, &to, "to all");
	ck_assert_int_eq(rdma_get_recv_comp(listener, &wc), 1);
	ck_assert_str_eq(buffer + GRH, "to all");
	ck_assert_int_eq(ibv_destroy_qp(listener->qp), EBUSY);
	ck_assert_int_eq(rdma_leave_multicast(listener, in_address(GROUP, 0)), 0);
	REFUSED(rdma_leave_multicast(listener, in_address(GROUP, 0)), EADDRNOTAVAIL);
	ck_assert_int_eq(rdma_leave_multicast(client, in_address(GROUP, 0)), 0);
	ck_assert_int_eq(rdma_dereg_mr(mr), 0);
	end();
}
END_TEST

START_TEST(who_only_sends_is_not_attached)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
	};
	union ibv_gid gid;

	begin_groups();
	REFUSED(rdma_join_multicast_ex(client, &attr, NULL), EINVAL);
	attr.addr = in_address(GROUP, 0);
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	REFUSED(rdma_join_multicast_ex(client, &attr, NULL), EINVAL);
	attr.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	attr.comp_mask |= RDMA_CM_JOIN_MC_ATTR_RESERVED;
	REFUSED(rdma_join_multicast_ex(client, &attr, NULL), EOPNOTSUPP);
	attr.comp_mask &= ~(uint32_t)RDMA_CM_JOIN_MC_ATTR_RESERVED;
	ck_assert_int_eq(rdma_join_multicast_ex(client, &attr, NULL), 0);
	take(RDMA_CM_EVENT_MULTICAST_JOIN);
	gid = last.param.ud.ah_attr.grh.dgid;
	ck_assert_int_eq(ibv_detach_mcast(client->qp, &gid, 0xc001), EINVAL);
	end(); /* an id that is destroyed leaves its groups */
}
END_TEST

START_TEST(a_group_that_is_left_takes_its_event_along)
{
	begin_groups();
	ck_assert_int_eq(rdma_join_multicast(client, in_address(GROUP, 0), NULL), 0);
	ck_assert_int_eq(rdma_leave_multicast(client, in_address(GROUP, 0)), 0);
	expect_quiet();
	end();
}
END_TEST

START_TEST(a_group_of_any_address_is_a_new_one)
{
	union ibv_gid first;

	begin_groups();
	ck_assert_int_eq(rdma_join_multicast(client, in_address("0.0.0.0", 0), NULL), 0);
	take(RDMA_CM_EVENT_MULTICAST_JOIN);
	first = last.param.ud.ah_attr.grh.dgid;
	ck_assert_int_eq(rdma_join_multicast(listener, in_address("0.0.0.0", 0), NULL), 0);
	take(RDMA_CM_EVENT_MULTICAST_JOIN);
	ck_assert_int_ne(memcmp(&first, &last.param.ud.ah_attr.grh.dgid, sizeof(first)), 0);
	ck_assert_int_eq(rdma_leave_multicast(client, in_address("0.0.0.0", 0)), 0);
	ck_assert_int_eq(rdma_leave_multicast(listener, in_address("0.0.0.0", 0)), 0);
	end();
}
END_TEST

/* Linux wants it bound to a device, or its address resolved; a route is too late. */
START_TEST(an_id_joins_before_it_has_a_route)
{
	begin();
	REFUSED(rdma_join_multicast(listener, in_address(GROUP, 0), NULL), EINVAL);
	ck_assert_int_eq(rdma_resolve_addr(client, NULL, in_address(EMU1, PORT), TIMEOUT), 0);
	take(RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_join_multicast(client, in_address(GROUP, 0), NULL), 0);
	take(RDMA_CM_EVENT_MULTICAST_JOIN);
	ck_assert_int_eq(rdma_resolve_route(client, TIMEOUT), 0);
	take(RDMA_CM_EVENT_ROUTE_RESOLVED);
	REFUSED(rdma_join_multicast(client, in_address(GROUP, 1), NULL), EINVAL);
	expect_quiet();
	ck_assert_int_eq(rdma_leave_multicast(client, in_address(GROUP, 0)), 0);
	end();
}
END_TEST

START_TEST(a_join_needs_a_device_and_an_address)
{
	struct rdma_cm_id *other;

	begin();
	REFUSED(rdma_join_multicast(client, in_address(GROUP, 0), NULL), EINVAL);
	REFUSED(rdma_join_multicast(client, NULL, NULL), EINVAL);
	REFUSED(rdma_leave_multicast(client, NULL), EINVAL);
	ck_assert_int_eq(rdma_create_id(channel, &other, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_bind_addr(other, in_address(EMU0, 0)), 0);
	REFUSED(rdma_join_multicast(other, in_address(GROUP, 0), NULL), EINVAL);
	ck_assert_int_eq(rdma_destroy_id(other), 0);
	end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, an_answer_names_a_queue_pair, 1, NULL);
	unit_add(suite, the_server_may_have_gone, 1, NULL);
	unit_add(suite, a_rejection_is_unreachable, 1, NULL);
	unit_add(suite, a_rejection_has_room_for_136_bytes, 1, NULL);
	unit_add(suite, a_question_needs_no_parameters, 2, NULL);
	unit_add(suite, so_is_a_port_without_a_listener, 1, NULL);
	unit_add(suite, an_address_that_nobody_has_says_nothing, 1, NULL);
	unit_add(suite, each_port_space_has_its_key, 2, NULL);
	unit_add(suite, a_qp_of_another_type_is_refused, 1, NULL);
	unit_add(suite, a_group_is_joined_left_and_reached, 1, NULL);
	unit_add(suite, who_only_sends_is_not_attached, 1, NULL);
	unit_add(suite, a_group_that_is_left_takes_its_event_along, 1, NULL);
	unit_add(suite, a_group_of_any_address_is_a_new_one, 1, NULL);
	unit_add(suite, an_id_joins_before_it_has_a_route, 1, NULL);
	unit_add(suite, a_join_needs_a_device_and_an_address, 1, NULL);
}

UNIT_SUITE("rdmacm_datagram")
