/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ids of librdmacm own of verbs: queue pairs, completion queues, shared receive queues; which
 * are taken, which are made, and what is left if that fails.
 */
#include <arpa/inet.h>
#include <rdma/rdma_verbs.h>

#include "cm_ids.h"

static struct ibv_qp_init_attr init_of(uint32_t sends, uint32_t receives)
{
	return (struct ibv_qp_init_attr){ .cap = { .max_send_wr = sends,
						   .max_recv_wr = receives,
						   .max_send_sge = 1,
						   .max_recv_sge = 1 },
					  .qp_type = IBV_QPT_RC };
}

/* Both ids are at emu0. */
static void begin_bound(void)
{
	begin();
	ck_assert_int_eq(bind_to(a, EMU0, PORT), 0);
	ck_assert_int_eq(bind_to(b, EMU0, PORT + 1), 0);
}

static void expect_no_queues(const struct rdma_cm_id *id)
{
	ck_assert_ptr_null(id->qp);
	ck_assert_ptr_null(id->recv_cq);
	ck_assert_ptr_null(id->send_cq);
	ck_assert_ptr_null(id->recv_cq_channel);
	ck_assert_ptr_null(id->send_cq_channel);
}

/* ---- queue pairs ---- */

START_TEST(a_queue_pair_that_fails_leaves_no_completion_queues)
{
	struct ibv_qp_init_attr wide = init_of(1, 1), init = init_of(1, 1);
	struct ibv_qp_init_attr long_sends = init_of(1u << 30, 1);

	begin_bound();
	wide.cap.max_send_sge = 1 << 20;
	REFUSED(rdma_create_qp(a, NULL, &wide), EINVAL);
	expect_no_queues(a);
	ck_assert_int_eq(rdma_create_qp(a, NULL, &long_sends), -1);
	expect_no_queues(a);
	ck_assert_int_eq(rdma_create_qp(a, NULL, &init), 0);
	REFUSED(rdma_create_qp(a, NULL, &init), EINVAL);
	rdma_destroy_qp(a);
	expect_no_queues(a);
	rdma_destroy_qp(a);
	end();
}
END_TEST

/* One is made for what has requests, and serves for the other half too. */
START_TEST(a_queue_pair_has_the_one_completion_queue_that_there_is)
{
	struct ibv_qp_init_attr init = _i ? init_of(4, 0) : init_of(0, 4), none = init_of(0, 0);

	begin_bound();
	ck_assert_int_eq(rdma_create_qp(a, NULL, &init), 0);
	ck_assert_ptr_eq(a->qp->send_cq, a->qp->recv_cq);
	ck_assert_ptr_eq(_i ? a->send_cq : a->recv_cq, a->qp->recv_cq);
	ck_assert_ptr_null(_i ? a->recv_cq : a->send_cq);
	REFUSED(rdma_create_qp(b, NULL, &none), EINVAL);
	rdma_destroy_qp(a);
	end();
}
END_TEST

START_TEST(a_queue_pair_uses_the_completion_queues_of_its_id)
{
	struct ibv_qp_init_attr init = init_of(1, 1);
	struct ibv_cq *own, *other;

	begin_bound();
	own = ibv_create_cq(a->verbs, 4, NULL, NULL, 0);
	other = ibv_create_cq(a->verbs, 4, NULL, NULL, 0);
	ck_assert(own && other);
	*(_i ? &a->send_cq : &a->recv_cq) = own;
	*(_i ? &init.send_cq : &init.recv_cq) = other;
	REFUSED(rdma_create_qp(a, NULL, &init), EINVAL);
	ck_assert_ptr_eq(_i ? a->send_cq : a->recv_cq, own);
	*(_i ? &init.send_cq : &init.recv_cq) = own;
	ck_assert_int_eq(rdma_create_qp(a, NULL, &init), 0);
	ck_assert_ptr_eq(_i ? a->qp->send_cq : a->qp->recv_cq, own);
	rdma_destroy_qp(a);
	ck_assert_int_eq(ibv_destroy_cq(other), 0);
	end();
}
END_TEST

START_TEST(a_protection_domain_is_of_the_device_of_the_id)
{
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = init_of(1, 1);
	struct ibv_context **devices;
	struct ibv_pd *here, *there;

	begin_bound();
	devices = rdma_get_devices(NULL);
	ck_assert_ptr_nonnull(devices);
	here = ibv_alloc_pd(devices[0]);
	there = ibv_alloc_pd(devices[1]);
	ck_assert(here && there);
	REFUSED(rdma_create_qp(a, there, &init), EINVAL);
	REFUSED(rdma_create_srq(a, there, &shared), EINVAL);
	ck_assert_int_eq(rdma_create_qp(a, here, &init), 0);
	ck_assert_ptr_eq(a->qp->pd, here);
	ck_assert_ptr_eq(a->pd, here);
	rdma_destroy_qp(a);
	ck_assert_int_eq(ibv_dealloc_pd(here), 0);
	ck_assert_int_eq(ibv_dealloc_pd(there), 0);
	rdma_free_devices(devices);
	end();
}
END_TEST

/* ---- shared receive queues ---- */

START_TEST(a_queue_pair_has_the_shared_receive_queue_of_its_id)
{
	struct ibv_srq_init_attr_ex untyped = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = init_of(1, 1);

	begin_bound();
	REFUSED(rdma_create_srq_ex(a, &untyped), EINVAL);
	ck_assert_int_eq(rdma_create_srq(a, NULL, &shared), 0);
	ck_assert_ptr_nonnull(a->srq);
	REFUSED(rdma_create_srq(a, NULL, &shared), EINVAL);
	ck_assert_int_eq(rdma_create_qp(a, NULL, &init), 0);
	ck_assert_ptr_eq(a->qp->srq, a->srq);
	ck_assert_int_eq(ibv_destroy_srq(a->srq), EBUSY);
	rdma_destroy_qp(a);
	rdma_destroy_srq(a);
	ck_assert_ptr_null(a->srq);
	rdma_destroy_srq(a);
	end();
}
END_TEST

/* ---- rdma_create_ep ---- */

START_TEST(an_endpoint_that_fails_leaves_no_id)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(PORT + 2) };
	struct ibv_qp_init_attr wide = init_of(1, 1);
	struct rdma_cm_id *id;

	begin();
	ck_assert_int_eq(inet_pton(AF_INET, EMU0, &own.sin_addr), 1);
	hints.ai_src_addr = (struct sockaddr *)&own;
	hints.ai_src_len = sizeof(own);
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	wide.cap.max_send_sge = 1 << 20;
	REFUSED(rdma_create_ep(&id, info, NULL, &wide), EINVAL);
	ck_assert_int_eq(bind_to(a, EMU0, PORT + 2), 0); /* the port is free */
	REFUSED(rdma_create_ep(&id, info, NULL, NULL), EADDRINUSE);
	info->ai_flags = RAI_PASSIVE;
	REFUSED(rdma_create_ep(&id, info, NULL, NULL), EADDRINUSE);
	hints = (struct rdma_addrinfo){ .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	REFUSED(rdma_create_ep(&id, &hints, NULL, NULL), EINVAL);
	REFUSED(rdma_create_ep(&id, NULL, NULL, NULL), EINVAL);
	rdma_freeaddrinfo(info);
	end();
}
END_TEST

START_TEST(an_endpoint_of_another_type_does_not_connect)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_qp_type = IBV_QPT_UC };
	struct rdma_conn_param param = { .qp_num = 77 };
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;

	begin();
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	ck_assert_int_eq(rdma_create_ep(&id, info, NULL, NULL), 0);
	ck_assert_int_eq((int)id->qp_type, (int)IBV_QPT_UC);
	REFUSED(rdma_connect(id, &param), EOPNOTSUPP);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(info);
	end();
}
END_TEST

/* The program finds the id of the request in the event, and the next call acknowledges that. */
START_TEST(a_request_that_gets_no_queue_pair_is_left_to_the_program)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr wide = init_of(1, 1);
	struct rdma_conn_param param = { .qp_num = 77 };
	struct rdma_cm_id *listener, *child = NULL;
	struct rdma_addrinfo *info;

	begin();
	wide.cap.max_send_sge = 1 << 20;
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	ck_assert_int_eq(rdma_create_ep(&listener, info, NULL, &wide), 0);
	ck_assert_int_eq(rdma_listen(listener, 1), 0);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	ck_assert_int_eq(rdma_connect(a, &param), 0);
	REFUSED(rdma_get_request(listener, &child), EINVAL);
	ck_assert_ptr_null(child);
	ck_assert_ptr_nonnull(listener->event);
	ck_assert_int_eq(rdma_destroy_id(listener->event->id), 0);
	take(channel, RDMA_CM_EVENT_REJECTED);
	rdma_destroy_ep(listener);
	rdma_freeaddrinfo(info);
	end();
}
END_TEST

START_TEST(rdma_destroy_ep_takes_the_shared_receive_queue_along)
{
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_context **devices;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;

	begin();
	devices = rdma_get_devices(NULL);
	ck_assert_ptr_nonnull(devices);
	pd = ibv_alloc_pd(devices[0]);
	ck_assert_ptr_nonnull(pd);
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	ck_assert_int_eq(rdma_create_ep(&id, info, NULL, NULL), 0);
	ck_assert_int_eq(rdma_create_srq(id, pd, &shared), 0);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	rdma_destroy_ep(id);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	rdma_freeaddrinfo(info);
	rdma_free_devices(devices);
	end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_queue_pair_that_fails_leaves_no_completion_queues, 1, NULL);
	unit_add(suite, a_queue_pair_has_the_one_completion_queue_that_there_is, 2, NULL);
	unit_add(suite, a_queue_pair_uses_the_completion_queues_of_its_id, 2, NULL);
	unit_add(suite, a_protection_domain_is_of_the_device_of_the_id, 1, NULL);
	unit_add(suite, a_queue_pair_has_the_shared_receive_queue_of_its_id, 1, NULL);
	unit_add(suite, an_endpoint_that_fails_leaves_no_id, 1, NULL);
	unit_add(suite, an_endpoint_of_another_type_does_not_connect, 1, NULL);
	unit_add(suite, a_request_that_gets_no_queue_pair_is_left_to_the_program, 1, NULL);
	unit_add(suite, rdma_destroy_ep_takes_the_shared_receive_queue_along, 1, NULL);
}

UNIT_SUITE("rdmacm_queues")
