/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of librdmacm: each field that a call or an event fills, and each limit with the value
 * beside it.
 */
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_verbs.h>

#include "tests/verbs/cm/cm_pair.h"

#define GROUP "239.1.2.3"

static char bytes[256];

static struct rdma_conn_param param_of(uint8_t size)
{
	memset(bytes, 'x', sizeof(bytes));
	return (struct rdma_conn_param){ .private_data = bytes, .private_data_len = size };
}

/* ---- limits ---- */

START_TEST(a_request_has_its_limits)
{
	struct rdma_conn_param param = param_of(57);

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	CM_REFUSED(rdma_connect(cm_client, NULL), EINVAL);
	CM_REFUSED(rdma_connect(cm_client, &param), EINVAL);
	param = param_of(56);
	param.responder_resources = 129;
	CM_REFUSED(rdma_connect(cm_client, &param), EINVAL);
	param.responder_resources = 128;
	param.initiator_depth = 129;
	CM_REFUSED(rdma_connect(cm_client, &param), EINVAL);
	param.initiator_depth = 128;
	param.qp_num = 0x2000123;
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	CM_REFUSED(rdma_connect(cm_client, &param), EINVAL);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	ck_assert_uint_eq(cm_last.param.conn.private_data_len, 56);
	ck_assert_mem_eq(cm_data, bytes, 56);
	ck_assert_uint_eq(cm_data[56], 0);
	ck_assert_uint_eq(cm_last.param.conn.initiator_depth, 128);
	ck_assert_uint_eq(cm_last.param.conn.responder_resources, 128);
	ck_assert_uint_eq(cm_last.param.conn.qp_num, 0x123);
	ck_assert_uint_eq(cm_last.param.conn.retry_count, 0);
	ck_assert_uint_eq(cm_last.param.conn.rnr_retry_count, 0);
	ck_assert_uint_eq(cm_last.param.conn.flow_control, 1);
	ck_assert_int_eq(cm_last.status, 0);
	cm_end();
}
END_TEST

static void expect_zeros(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		ck_assert_int_eq(cm_data[i], 0);
}

/* As on InfiniBand, whose packets do not say how much of their room a program filled. */
START_TEST(private_data_is_as_long_as_its_packet)
{
	struct rdma_conn_param param = cm_param("answer");

	cm_begin();
	cm_ask();
	ck_assert_str_eq(cm_data, "question");
	ck_assert_uint_eq(cm_last.param.conn.private_data_len, 56);
	expect_zeros(strlen("question"), 56);
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_str_eq(cm_data, "answer");
	ck_assert_uint_eq(cm_last.param.conn.private_data_len, 196);
	expect_zeros(strlen("answer"), 196);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_uint_eq(cm_last.param.conn.private_data_len, 0);
	cm_end();
}
END_TEST

START_TEST(a_request_without_parameters_asks_for_as_much_as_there_is)
{
	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, NULL), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	ck_assert_uint_eq(cm_last.param.conn.initiator_depth, 128);
	ck_assert_uint_eq(cm_last.param.conn.responder_resources, 128);
	ck_assert_uint_eq(cm_last.param.conn.retry_count, 7);
	ck_assert_uint_eq(cm_last.param.conn.rnr_retry_count, 7);
	ck_assert_uint_eq(cm_last.param.conn.private_data_len, 56);
	expect_zeros(0, 56);
	ck_assert_uint_eq(cm_last.param.conn.qp_num, cm_client->qp->qp_num);
	cm_end();
}
END_TEST

START_TEST(an_answer_has_its_limits)
{
	struct rdma_conn_param param = param_of(197);

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	CM_REFUSED(rdma_accept(cm_server, &param), EINVAL);
	param = param_of(196);
	param.responder_resources = 129;
	CM_REFUSED(rdma_accept(cm_server, &param), EINVAL);
	/* As many as the device and the peer's request permit: it had 3 and 2. */
	param.responder_resources = RDMA_MAX_RESP_RES;
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	CM_REFUSED(rdma_accept(cm_server, &param), EINVAL);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	ck_assert_uint_eq(cm_last.param.conn.private_data_len, 196);
	ck_assert_mem_eq(cm_data, bytes, 196);
	ck_assert_uint_eq(cm_last.param.conn.responder_resources, 3);
	ck_assert_uint_eq(cm_last.param.conn.initiator_depth, 2);
	ck_assert_uint_eq(cm_last.param.conn.qp_num, cm_server->qp->qp_num);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	cm_end();
}
END_TEST

START_TEST(a_rejection_has_its_limits)
{
	cm_begin();
	CM_REFUSED(rdma_reject(cm_client, NULL, 0), EINVAL);
	cm_ask();
	memset(bytes, 'x', sizeof(bytes));
	CM_REFUSED(rdma_reject(cm_server, bytes, 149), EINVAL);
	ck_assert_int_eq(rdma_reject(cm_server, _i ? NULL : bytes, 148), 0);
	CM_REFUSED(rdma_reject(cm_server, bytes, 1), EINVAL);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(cm_last.status, 28);
	ck_assert_uint_eq(cm_last.param.conn.private_data_len, 148);
	ck_assert_mem_eq(cm_data, bytes, _i ? 0 : 148);
	ck_assert_int_eq((int)cm_client->qp->state, (int)IBV_QPS_ERR);
	cm_end();
}
END_TEST

START_TEST(an_end_has_its_status)
{
	static const struct {
		const char *ip;
		uint16_t port;
		enum rdma_cm_event_type type;
		int status;
	} ends[] = {
		{ CM_THERE, CM_PORT + 1, RDMA_CM_EVENT_REJECTED, 8 },
		{ CM_NOWHERE, CM_PORT, RDMA_CM_EVENT_UNREACHABLE, -EHOSTUNREACH },
	};
	struct rdma_conn_param param = param_of(1);

	cm_begin();
	cm_resolve(cm_client, ends[_i].ip, ends[_i].port);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(ends[_i].type);
	ck_assert_int_eq(cm_last.status, ends[_i].status);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	ck_assert_uint_eq(cm_last.param.conn.private_data_len, _i ? 0 : 148);
	expect_zeros(0, 148);
	cm_end();
}
END_TEST

START_TEST(an_option_has_its_limits)
{
	uint8_t code;
	int on = 1;

	cm_begin();
	for (code = 30; code < 34; code++)
		ck_assert_int_eq(rdma_set_option(cm_client, RDMA_OPTION_ID,
						 RDMA_OPTION_ID_ACK_TIMEOUT, &code, 1),
				 code < 32 ? 0 : -1);
	CM_REFUSED(rdma_set_option(cm_client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &code, 2),
		   EINVAL);
	CM_REFUSED(rdma_set_option(cm_client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, NULL, 1),
		   EINVAL);
	CM_REFUSED(rdma_set_option(cm_client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
				   (void *)4096, 1),
		   EFAULT);
	ck_assert_int_eq(rdma_set_option(cm_client, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on,
					 sizeof(on)),
			 0);
	CM_REFUSED(rdma_set_option(cm_listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on,
				   sizeof(on)),
		   EINVAL);
	CM_REFUSED(rdma_set_option(cm_client, RDMA_OPTION_ID, 99, &on, sizeof(on)), ENOSYS);
	CM_REFUSED(rdma_set_option(cm_client, 99, 0, &on, sizeof(on)), ENOSYS);
	CM_REFUSED(rdma_set_option(cm_client, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &on, 4), EINVAL);
	cm_end();
}
END_TEST

/* ---- what a call fills ---- */

START_TEST(a_route_says_where_it_goes)
{
	const struct ibv_sa_path_rec *path;
	union ibv_gid here, there = { .raw = { 0 } };
	struct sockaddr_in in = cm_address(CM_THERE, CM_PORT);

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	ck_assert_int_eq(cm_client->route.num_paths, 1);
	path = cm_client->route.path_rec;
	ck_assert_int_eq(ibv_query_gid(cm_client->verbs, 1, 1, &here), 0);
	there.raw[10] = there.raw[11] = 0xff;
	memcpy(there.raw + 12, &in.sin_addr, 4);
	ck_assert_mem_eq(&path->sgid, &here, sizeof(here));
	ck_assert_mem_eq(&path->dgid, &there, sizeof(there));
	ck_assert_uint_eq(path->slid, htons(1));
	ck_assert_uint_eq(path->dlid, htons(2));
	ck_assert_uint_eq(path->pkey, 0xffff);
	ck_assert_int_eq(path->reversible, 1);
	ck_assert_uint_eq(path->numb_path, 1);
	ck_assert_uint_eq(path->mtu_selector, 2);
	ck_assert_uint_eq(path->mtu, IBV_MTU_4096);
	ck_assert_uint_eq(path->rate_selector, 2);
	ck_assert_uint_eq(path->rate, IBV_RATE_100_GBPS);
	ck_assert_uint_eq(path->packet_life_time_selector, 2);
	ck_assert_uint_eq(path->packet_life_time, 16);
	ck_assert_mem_eq(&cm_client->route.addr.addr.ibaddr.sgid, &here, sizeof(here));
	ck_assert_mem_eq(&cm_client->route.addr.addr.ibaddr.dgid, &there, sizeof(there));
	ck_assert_uint_eq(cm_client->route.addr.addr.ibaddr.pkey, 0xffff);
	ck_assert_uint_eq(rdma_get_dst_port(cm_client), htons(CM_PORT));
	ck_assert_mem_eq(&cm_client->route.addr.dst_sin, &in, sizeof(in));
	ck_assert_uint_eq(cm_client->port_num, 1);
	ck_assert_ptr_nonnull(cm_client->pd);
	ck_assert_ptr_eq(cm_client->pd->context, cm_client->verbs);
	cm_end();
}
END_TEST

static struct ibv_qp_attr attr_of(struct rdma_cm_id *id, enum ibv_qp_state state, int expected)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask = -1;

	ck_assert_int_eq(rdma_init_qp_attr(id, &attr, &mask), 0);
	ck_assert_int_eq(mask, expected | IBV_QP_STATE);
	ck_assert_int_eq((int)attr.qp_state, (int)state);
	return attr;
}

/* The passive side before it accepts; then what both sides' queue pairs got. */
START_TEST(attributes_are_those_of_the_request)
{
	const int rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC;
	const int init = IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
	struct rdma_conn_param param = cm_param("answer");
	struct ibv_qp_attr attr, far;
	struct ibv_qp_init_attr unused;
	uint8_t timeout = 9;

	cm_begin();
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	attr = attr_of(cm_client, IBV_QPS_INIT, init);
	ck_assert_uint_eq(attr.qp_access_flags, 0);
	ck_assert_uint_eq(attr.port_num, 1);
	attr.qp_state = IBV_QPS_RTR;
	CM_REFUSED(rdma_init_qp_attr(cm_client, &attr, &(int){ 0 }), EINVAL);
	attr.qp_state = IBV_QPS_RTS;
	CM_REFUSED(rdma_init_qp_attr(cm_client, &attr, &(int){ 0 }), EINVAL);
	attr.qp_state = IBV_QPS_SQD;
	CM_REFUSED(rdma_init_qp_attr(cm_client, &attr, &(int){ 0 }), EINVAL);
	cm_make_qp(cm_client);
	param.retry_count = 5;
	param.rnr_retry_count = 4;
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	attr = attr_of(cm_server, IBV_QPS_INIT, init);
	ck_assert_uint_eq(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
							IBV_ACCESS_REMOTE_ATOMIC);
	attr = attr_of(cm_server, IBV_QPS_RTR, rtr);
	ck_assert_uint_eq(attr.dest_qp_num, cm_client->qp->qp_num);
	ck_assert_int_eq((int)attr.path_mtu, (int)IBV_MTU_4096);
	ck_assert_uint_eq(attr.ah_attr.dlid, 1);
	ck_assert_uint_eq(attr.ah_attr.port_num, 1);
	ck_assert_uint_eq(attr.max_dest_rd_atomic, 2);
	ck_assert_uint_eq(attr.min_rnr_timer, 0);
	attr = attr_of(cm_server, IBV_QPS_RTS, rts);
	ck_assert_uint_eq(attr.timeout, 17);
	ck_assert_uint_eq(attr.retry_cnt, 5);
	ck_assert_uint_eq(attr.rnr_retry, 4);
	ck_assert_uint_eq(attr.max_rd_atomic, 3);
	ck_assert_int_eq(rdma_set_option(cm_server, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					 &timeout, 1),
			 0);
	ck_assert_uint_eq(attr_of(cm_server, IBV_QPS_RTS, rts).timeout, 9);
	cm_make_qp(cm_server);
	param.responder_resources = 1;
	param.initiator_depth = 0;
	param.retry_count = 6;
	param.rnr_retry_count = 2;
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_int_eq(ibv_query_qp(cm_client->qp, &attr, 0, &unused), 0);
	ck_assert_int_eq(ibv_query_qp(cm_server->qp, &far, 0, &unused), 0);
	ck_assert_uint_eq(attr.rq_psn, far.sq_psn);
	ck_assert_uint_eq(attr.sq_psn, far.rq_psn);
	ck_assert_uint_ne(attr.sq_psn, attr.rq_psn);
	ck_assert_uint_eq(attr.dest_qp_num, cm_server->qp->qp_num);
	ck_assert_uint_eq(far.dest_qp_num, cm_client->qp->qp_num);
	ck_assert_uint_eq(attr.ah_attr.dlid, 2);
	ck_assert_uint_eq(far.ah_attr.dlid, 1);
	ck_assert_uint_eq(attr.retry_cnt, 5);
	ck_assert_uint_eq(attr.rnr_retry, 2);
	ck_assert_uint_eq(far.timeout, 9);
	ck_assert_uint_eq(attr.timeout, 17);
	ck_assert_uint_eq(far.max_dest_rd_atomic, 1);
	ck_assert_uint_eq(far.max_rd_atomic, 0);
	ck_assert_uint_eq(attr.max_rd_atomic, 1);
	ck_assert_uint_eq(attr.max_dest_rd_atomic, 0);
	cm_end();
}
END_TEST

/* ---- queues ---- */

static struct ibv_qp_init_attr queues(uint32_t send, uint32_t recv)
{
	return (struct ibv_qp_init_attr){ .cap = { send, recv, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
}

START_TEST(a_qp_gets_the_queues_that_the_program_brings_none_of)
{
	struct ibv_qp_init_attr init = queues(3, 5);
	struct rdma_cm_id *id;

	cm_begin();
	id = cm_client;
	CM_REFUSED(rdma_create_qp(id, NULL, &init), EINVAL);
	cm_resolve(id, CM_THERE, CM_PORT);
	init.qp_type = IBV_QPT_UD;
	CM_REFUSED(rdma_create_qp(id, NULL, &init), EINVAL);
	ck_assert(!id->send_cq && !id->recv_cq && !id->send_cq_channel && !id->recv_cq_channel);
	init = queues(3, 5);
	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	CM_REFUSED(rdma_create_qp(id, NULL, &init), EINVAL);
	ck_assert_int_eq(id->send_cq->cqe, 3);
	ck_assert_int_eq(id->recv_cq->cqe, 5);
	ck_assert(id->send_cq->channel == id->send_cq_channel && id->send_cq->cq_context == id);
	ck_assert(id->recv_cq->channel == id->recv_cq_channel && id->recv_cq->cq_context == id);
	ck_assert(id->qp->send_cq == id->send_cq && id->qp->recv_cq == id->recv_cq);
	ck_assert(init.send_cq == id->send_cq && init.recv_cq == id->recv_cq);
	ck_assert(id->qp->pd == id->pd && init.cap.max_inline_data == 32);
	rdma_destroy_qp(id);
	ck_assert(!id->qp && !id->send_cq && !id->recv_cq && !id->send_cq_channel &&
		  !id->recv_cq_channel);
	/* One queue serves both if the other would have no room. */
	for (uint32_t i = 0; i < 2; i++) {
		init = queues(i * 2, 2 - i * 2);
		ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
		ck_assert((id->send_cq != NULL) == (i == 1) && (id->recv_cq != NULL) == (i == 0));
		ck_assert(id->qp->send_cq == id->qp->recv_cq);
		rdma_destroy_qp(id);
	}
	cm_end();
}
END_TEST

START_TEST(a_qp_has_the_queues_that_the_program_brings)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = queues(1, 1);
	struct ibv_cq *send, *recv;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;

	cm_begin();
	id = cm_client;
	CM_REFUSED(rdma_create_srq(id, NULL, &srq), EINVAL);
	cm_resolve(id, CM_THERE, CM_PORT);
	send = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
	recv = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
	CM_REFUSED(rdma_create_qp(id, cm_listener->pd, &init), EINVAL);
	CM_REFUSED(rdma_create_srq(id, cm_listener->pd, &srq), EINVAL);
	pd = ibv_alloc_pd(id->verbs);
	ck_assert_int_eq(rdma_create_srq(id, pd, &srq), 0);
	ck_assert(id->pd != pd && id->srq->pd == pd); /* a QP may be in another domain */
	CM_REFUSED(rdma_create_srq(id, pd, &srq), EINVAL);
	init.send_cq = send;
	init.recv_cq = recv;
	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	ck_assert(id->qp->send_cq == send && id->qp->recv_cq == recv && id->qp->srq == id->srq);
	ck_assert(id->qp->pd == id->pd && init.srq == id->srq);
	ck_assert(!id->send_cq && !id->recv_cq && !id->send_cq_channel && !id->recv_cq_channel);
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	ck_assert_ptr_null(id->srq);
	ck_assert_int_eq(ibv_destroy_cq(send), 0);
	ck_assert_int_eq(ibv_destroy_cq(recv), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	cm_end();
}
END_TEST

START_TEST(an_srq_names_its_type_and_has_no_other_than_the_basic_one)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct rdma_cm_id *id;

	cm_begin();
	id = cm_client;
	cm_resolve(id, CM_THERE, CM_PORT);
	CM_REFUSED(rdma_create_srq_ex(id, &attr), EINVAL);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	attr.srq_type = IBV_SRQT_XRC;
	CM_REFUSED(rdma_create_srq_ex(id, &attr), EOPNOTSUPP);
	attr.srq_type = IBV_SRQT_BASIC;
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_RESERVED;
	CM_REFUSED(rdma_create_srq_ex(id, &attr), EOPNOTSUPP);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_TM;
	ck_assert_int_eq(rdma_create_srq_ex(id, &attr), 0);
	ck_assert(attr.pd == id->pd && id->srq->pd == id->pd);
	rdma_destroy_srq(id);
	cm_end();
}
END_TEST

/* ---- names ---- */

START_TEST(an_address_information_has_the_side_that_is_asked_for)
{
	struct sockaddr_in here = cm_address("198.18.0.1", 1), there = cm_address(CM_THERE, 2);
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_UDP };
	struct rdma_addrinfo *info;

	CM_REFUSED(rdma_getaddrinfo(NULL, NULL, NULL, &info), EINVAL);
	ck_assert_int_eq(rdma_getaddrinfo(CM_THERE, "7471", &hints, &info), 0);
	ck_assert(!info->ai_dst_addr && !info->ai_dst_len && info->ai_src_addr);
	ck_assert_int_eq(info->ai_src_len, sizeof(here));
	ck_assert_int_eq(info->ai_flags, RAI_PASSIVE);
	ck_assert_int_eq(info->ai_family, AF_INET);
	ck_assert_int_eq(info->ai_qp_type, IBV_QPT_UD);
	ck_assert_int_eq(info->ai_port_space, RDMA_PS_UDP);
	rdma_freeaddrinfo(info);
	hints = (struct rdma_addrinfo){ .ai_qp_type = IBV_QPT_UD,
					.ai_src_addr = (struct sockaddr *)&here,
					.ai_src_len = sizeof(here) };
	ck_assert_int_eq(rdma_getaddrinfo(CM_THERE, "7471", &hints, &info), 0);
	ck_assert_int_eq(info->ai_dst_len, sizeof(there));
	ck_assert_int_eq(info->ai_src_len, sizeof(here));
	ck_assert_mem_eq(info->ai_src_addr, &here, sizeof(here));
	ck_assert_ptr_ne(info->ai_src_addr, &here);
	ck_assert_int_eq(info->ai_port_space, RDMA_PS_UDP);
	rdma_freeaddrinfo(info);
	/* Without a name: what the caller knows. */
	hints.ai_qp_type = 0;
	hints.ai_family = AF_INET6;
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			hints.ai_family = AF_UNSPEC;
		if (i == 2) {
			hints.ai_dst_addr = (struct sockaddr *)&there;
			hints.ai_dst_len = sizeof(there);
			hints.ai_family = AF_INET6;
		}
		ck_assert_int_eq(rdma_getaddrinfo(NULL, NULL, &hints, &info), 0);
		ck_assert_int_eq(info->ai_family, i == 0 ? AF_INET6 : AF_INET);
		ck_assert_int_eq(info->ai_qp_type, IBV_QPT_RC);
		ck_assert_int_eq(info->ai_port_space, RDMA_PS_TCP);
		ck_assert_mem_eq(info->ai_src_addr, &here, sizeof(here));
		ck_assert_int_eq(info->ai_dst_len, i == 2 ? sizeof(there) : 0);
		ck_assert(i == 2 ? memcmp(info->ai_dst_addr, &there, sizeof(there)) == 0
				 : !info->ai_dst_addr);
		rdma_freeaddrinfo(info);
	}
	hints = (struct rdma_addrinfo){ .ai_flags = RAI_FAMILY | RAI_NUMERICHOST,
					.ai_family = AF_INET6 };
	ck_assert_int_ne(rdma_getaddrinfo(CM_THERE, "7471", &hints, &info), 0);
	hints.ai_family = AF_INET;
	ck_assert_int_ne(rdma_getaddrinfo("localhost", "7471", &hints, &info), 0);
	hints.ai_flags = RAI_FAMILY;
	ck_assert_int_eq(rdma_getaddrinfo("localhost", "7471", &hints, &info), 0);
	rdma_freeaddrinfo(info);
}
END_TEST

/* ---- multicast ---- */

START_TEST(a_join_has_its_fields)
{
	static const uint8_t v4[16] = { 0xff, 0x12, 0x40, 0x01, 0xff, 0xff, 0, 0,
					0,    0,    0,    0,    0x0f, 1,    2, 3 };
	static const uint8_t v6[16] = { 0xff, 0x12, 0x60, 0x01, 0xff, 0xff, 6,  7,
					8,    9,    10,   11,   12,   13,   14, 15 };
	static const uint8_t as_is[16] = { 0xff, 0x15, 0xa0, 0x1b, 4,  5,  6,  7,
					   8,    9,    10,   11,   12, 13, 14, 15 };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = cm_address(GROUP, 0);
	struct rdma_cm_join_mc_attr_ex ex = { .comp_mask = 3, .addr = (struct sockaddr *)&four };
	struct sockaddr *addr = _i ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	const uint8_t *gid = _i == 0 ? v4 : _i == 1 ? v6 : as_is;
	struct sockaddr_in there = cm_address(CM_THERE, CM_PORT);
	struct rdma_cm_id *id;

	for (uint8_t i = 0; i < 16; i++)
		six.sin6_addr.s6_addr[i] = i;
	six.sin6_addr.s6_addr[0] = 0xff;
	if (_i == 2)
		memcpy(&six.sin6_addr, as_is, 16);
	cm_begin();
	ck_assert_int_eq(rdma_create_id(cm_channel, &id, NULL, RDMA_PS_UDP), 0);
	CM_REFUSED(rdma_join_multicast(id, addr, &ex), EINVAL);
	ck_assert_int_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&there, CM_TIMEOUT), 0);
	cm_take(RDMA_CM_EVENT_ADDR_RESOLVED);
	CM_REFUSED(rdma_join_multicast(cm_listener, addr, &ex), EINVAL);
	ck_assert_int_eq(rdma_join_multicast(id, addr, &ex), 0);
	cm_take(RDMA_CM_EVENT_MULTICAST_JOIN);
	ck_assert(cm_last.id == id && cm_last.status == 0);
	ck_assert_ptr_eq(cm_last.param.ud.private_data, &ex);
	ck_assert_uint_eq(cm_last.param.ud.qp_num, 0xffffff);
	ck_assert_uint_eq(cm_last.param.ud.qkey, RDMA_UDP_QKEY);
	ck_assert_uint_eq(cm_last.param.ud.ah_attr.is_global, 1);
	ck_assert_uint_eq(cm_last.param.ud.ah_attr.port_num, 1);
	ck_assert_uint_eq(cm_last.param.ud.ah_attr.grh.hop_limit, 255);
	ck_assert_mem_eq(cm_last.param.ud.ah_attr.grh.dgid.raw, gid, 16);
	ck_assert_uint_eq(cm_last.param.ud.ah_attr.dlid,
			  0xc000 + (gid[14] << 8 | gid[15]) % 0x3fff);
	CM_REFUSED(rdma_leave_multicast(id, NULL), EINVAL);
	ck_assert_int_eq(rdma_leave_multicast(id, addr), 0);
	CM_REFUSED(rdma_leave_multicast(id, addr), EADDRNOTAVAIL);
	for (uint32_t i = 0; i < 4; i++) {
		ex.join_flags = i < 3 ? i : RDMA_MC_JOIN_FLAG_RESERVED;
		ex.comp_mask = i == 2 ? 1 : 3;
		if (i < 2)
			ck_assert_int_eq(rdma_join_multicast_ex(id, &ex, NULL), 0);
		else
			CM_REFUSED(rdma_join_multicast_ex(id, &ex, NULL), EINVAL);
	}
	ex.comp_mask = 7;
	CM_REFUSED(rdma_join_multicast_ex(id, &ex, NULL), EOPNOTSUPP);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	cm_expect_quiet();
	cm_end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_request_has_its_limits, 1, NULL);
	unit_add(suite, private_data_is_as_long_as_its_packet, 1, NULL);
	unit_add(suite, a_request_without_parameters_asks_for_as_much_as_there_is, 1, NULL);
	unit_add(suite, an_answer_has_its_limits, 1, NULL);
	unit_add(suite, a_rejection_has_its_limits, 2, NULL);
	unit_add(suite, an_end_has_its_status, 2, NULL);
	unit_add(suite, an_option_has_its_limits, 1, NULL);
	unit_add(suite, a_route_says_where_it_goes, 1, NULL);
	unit_add(suite, attributes_are_those_of_the_request, 1, NULL);
	unit_add(suite, a_qp_gets_the_queues_that_the_program_brings_none_of, 1, NULL);
	unit_add(suite, a_qp_has_the_queues_that_the_program_brings, 1, NULL);
	unit_add(suite, an_srq_names_its_type_and_has_no_other_than_the_basic_one, 1, NULL);
	unit_add(suite, an_address_information_has_the_side_that_is_asked_for, 1, NULL);
	unit_add(suite, a_join_has_its_fields, 3, NULL);
}

UNIT_SUITE("rdmacm_values")
