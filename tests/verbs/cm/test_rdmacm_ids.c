/* SPDX-License-Identifier: BSD-3-Clause */
/* Ids of librdmacm without a connection: queue pairs, wrong states, options, devices. */
#include "cm_ids.h"

#include <fcntl.h>
#include <rdma/rdma_verbs.h>

START_TEST(rdma_destroy_ep_takes_the_queue_pair_along)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_context **devices;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;

	begin();
	devices = rdma_get_devices(NULL);
	ck_assert_ptr_nonnull(devices);
	pd = ibv_alloc_pd(devices[0]);
	ck_assert_ptr_nonnull(pd);
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	ck_assert_int_eq(rdma_create_ep(&id, info, pd, &init), 0);
	ck_assert_ptr_nonnull(id->qp);
	ck_assert_int_eq(ibv_dealloc_pd(pd), EBUSY);
	rdma_destroy_ep(id);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	rdma_freeaddrinfo(info);
	rdma_free_devices(devices);
	end();
}
END_TEST

/* That of the listener, which rdma_create_ep was given. */
START_TEST(a_request_gets_a_queue_pair_in_the_listeners_protection_domain)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct rdma_cm_id *listener, *child;
	struct rdma_conn_param param = { 0 };
	struct ibv_context **devices;
	struct rdma_addrinfo *info;
	struct ibv_pd *pd;

	begin();
	devices = rdma_get_devices(NULL);
	ck_assert_ptr_nonnull(devices);
	pd = ibv_alloc_pd(devices[1]);
	ck_assert_ptr_nonnull(pd);
	ck_assert_int_eq(rdma_getaddrinfo(EMU1, "7471", &hints, &info), 0);
	ck_assert_int_eq(rdma_create_ep(&listener, info, pd, &init), 0);
	ck_assert_ptr_eq(listener->pd, pd);
	ck_assert_int_eq(rdma_listen(listener, 1), 0);
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	take(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	param.qp_num = 1;
	ck_assert_int_eq(rdma_connect(a, &param), 0);
	ck_assert_int_eq(rdma_get_request(listener, &child), 0);
	ck_assert_ptr_eq(child->qp->pd, pd);
	ck_assert_ptr_eq(child->pd, pd);
	rdma_destroy_ep(child);
	rdma_destroy_ep(listener);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	rdma_freeaddrinfo(info);
	rdma_free_devices(devices);
	end();
}
END_TEST

/* ---- refusals ---- */

START_TEST(a_call_in_the_wrong_state_is_refused)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };

	begin();
	REFUSED(rdma_resolve_route(a, 1000), EINVAL);
	REFUSED(rdma_connect(a, &param), EINVAL);
	REFUSED(rdma_accept(a, &param), EINVAL);
	REFUSED(rdma_reject(a, NULL, 0), EINVAL);
	REFUSED(rdma_disconnect(a), EINVAL);
	REFUSED(rdma_establish(a), EINVAL);
	REFUSED(rdma_notify(a, IBV_EVENT_COMM_EST), EINVAL);
	REFUSED(rdma_create_qp(a, NULL, &init), EINVAL);
	ck_assert_int_eq(rdma_listen(a, 0), 0);
	REFUSED(rdma_listen(a, 0), EINVAL);
	REFUSED(rdma_disconnect(a), EINVAL);
	REFUSED(resolve_to(a, EMU1), EINVAL);
	REFUSED(rdma_get_request(a, &b), EINVAL);
	end();
}
END_TEST

START_TEST(a_connect_with_bad_parameters_is_refused)
{
	struct rdma_conn_param param = { .private_data = "x", .private_data_len = 57 };
	struct ibv_device_attr limits;

	begin();
	ck_assert_int_eq(resolve_to(a, EMU1), 0);
	ck_assert_int_eq(rdma_resolve_route(a, 1000), 0);
	REFUSED(rdma_connect(a, NULL), EINVAL);
	REFUSED(rdma_connect(a, &param), EINVAL);
	param = (struct rdma_conn_param){ .responder_resources = 254 };
	REFUSED(rdma_connect(a, &param), EINVAL);
	param = (struct rdma_conn_param){ .initiator_depth = 254 };
	REFUSED(rdma_connect(a, &param), EINVAL);
	ck_assert_int_eq(ibv_query_device(a->verbs, &limits), 0);
	param = (struct rdma_conn_param){ .qp_num = 77,
					  .responder_resources = (uint8_t)limits.max_qp_rd_atom,
					  .initiator_depth = (uint8_t)limits.max_qp_init_rd_atom };
	ck_assert_int_eq(rdma_connect(a, &param), 0);
	end();
}
END_TEST

START_TEST(an_option_is_known_and_has_its_size)
{
	struct ibv_ece no_vendor = { .options = 1 };
	struct ibv_ece later = { .vendor_id = 1, .comp_mask = 1 };
	uint8_t byte = 32;
	int word = 1;

	begin();
	REFUSED(rdma_set_option(a, 7, 0, &byte, 1), ENOSYS);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, 99, &byte, 1), ENOSYS);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &word, 4), EINVAL);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1), EINVAL);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &byte, 1), EINVAL);
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, (void *)1, 1), EFAULT);
	REFUSED(rdma_set_local_ece(a, &no_vendor), EINVAL);
	REFUSED(rdma_set_local_ece(a, &later), EINVAL);
	ck_assert_int_eq(rdma_get_remote_ece(a, &later), 0);
	ck_assert(later.vendor_id == 0 && later.options == 0 && later.comp_mask == 0);
	ck_assert_int_eq(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1), 0);
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	ck_assert_int_eq(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &word, 4), 0);
	ck_assert_int_eq(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &word, 4), 0);
	word = 0;
	REFUSED(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &word, 4), EINVAL);
	/* It is as it was, so another id may have the port. */
	word = 1;
	ck_assert_int_eq(rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &word, 4), 0);
	ck_assert_int_eq(bind_to(b, EMU1, PORT), 0);
	ck_assert_int_eq(resolve_to(b, EMU1), 0);
	REFUSED(rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &word, 4), EINVAL);
	end();
}
END_TEST

START_TEST(an_unknown_port_space_is_refused)
{
	channel = rdma_create_event_channel();
	REFUSED(rdma_create_id(channel, &a, NULL, (enum rdma_port_space)5), EINVAL);
	rdma_destroy_event_channel(channel);
}
END_TEST

START_TEST(the_devices_are_those_of_libibverbs)
{
	struct ibv_context **list;
	int n;

	list = rdma_get_devices(&n);
	ck_assert_ptr_nonnull(list);
	ck_assert_int_eq(n, 2);
	ck_assert_str_eq(ibv_get_device_name(list[0]->device), "emu0");
	ck_assert_ptr_null(list[2]);
	begin();
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	ck_assert_ptr_eq(a->verbs, list[1]);
	end();
	rdma_free_devices(list);
}
END_TEST

/* As librpma does it: an id is the way from an address to a device. */
START_TEST(a_device_outlives_the_id_that_found_it)
{
	struct ibv_device_attr attr;
	struct ibv_context *verbs;
	struct ibv_pd *pd;

	begin();
	ck_assert_int_eq(bind_to(a, EMU1, PORT), 0);
	verbs = a->verbs;
	end();
	ck_assert_int_eq(ibv_query_device(verbs, &attr), 0);
	pd = ibv_alloc_pd(verbs);
	ck_assert_ptr_nonnull(pd);
	begin();
	ck_assert_int_eq(bind_to(b, EMU1, PORT), 0);
	ck_assert_ptr_eq(b->verbs, verbs);
	ck_assert_ptr_nonnull(b->pd);
	end();
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, rdma_destroy_ep_takes_the_queue_pair_along, 1, NULL);
	unit_add(suite, a_request_gets_a_queue_pair_in_the_listeners_protection_domain, 1, NULL);
	unit_add(suite, a_call_in_the_wrong_state_is_refused, 1, NULL);
	unit_add(suite, a_connect_with_bad_parameters_is_refused, 1, NULL);
	unit_add(suite, an_option_is_known_and_has_its_size, 1, NULL);
	unit_add(suite, an_unknown_port_space_is_refused, 1, NULL);
	unit_add(suite, the_devices_are_those_of_libibverbs, 1, NULL);
	unit_add(suite, a_device_outlives_the_id_that_found_it, 1, NULL);
}

UNIT_SUITE("rdmacm_ids")
