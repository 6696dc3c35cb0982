/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids and channels of librdmacm that a program names after it has destroyed them. Each call says
 * EINVAL, and an id that lives goes on.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <string.h>

#include "tests/support/support.h"

#define EMU0 "198.18.0.1"
#define PORT 7471

#define REFUSED(call)                            \
	do {                                     \
		errno = 0;                       \
		ck_assert_int_eq(call, -1);      \
		ck_assert_int_eq(errno, EINVAL); \
	} while (0)

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static struct sockaddr_in here(uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	ck_assert_int_eq(inet_pton(AF_INET, EMU0, &in.sin_addr), 1);
	return in;
}

static void begin(void)
{
	struct sockaddr_in in = here(PORT);

	channel = rdma_create_event_channel();
	ck_assert_ptr_nonnull(channel);
	ck_assert_int_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_bind_addr(id, (struct sockaddr *)&in), 0);
}

/* Its port is free again. */
static void end(void)
{
	struct sockaddr_in in = here(PORT);

	ck_assert_int_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	ck_assert_int_eq(rdma_bind_addr(id, (struct sockaddr *)&in), 0);
	ck_assert_int_eq(rdma_listen(id, 1), 0);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

START_TEST(an_id_that_is_gone_takes_no_call)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_ece ece = { .vendor_id = 1 };
	struct rdma_conn_param param = { 0 };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct sockaddr_in in = here(PORT + 1);
	struct sockaddr *addr = (struct sockaddr *)&in;
	struct rdma_cm_id *asks;
	uint8_t tos = 1;
	int mask;

	begin();
	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	rdma_destroy_qp(id);
	rdma_destroy_qp(id);
	ck_assert_int_eq(rdma_create_srq(id, NULL, &srq), 0);
	rdma_destroy_srq(id);
	rdma_destroy_srq(id);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	REFUSED(rdma_destroy_id(id));
	REFUSED(rdma_bind_addr(id, addr));
	REFUSED(rdma_resolve_addr(id, NULL, addr, 100));
	REFUSED(rdma_resolve_route(id, 100));
	REFUSED(rdma_listen(id, 1));
	REFUSED(rdma_get_request(id, &asks));
	REFUSED(rdma_connect(id, &param));
	REFUSED(rdma_establish(id));
	REFUSED(rdma_accept(id, &param));
	REFUSED(rdma_reject(id, NULL, 0));
	REFUSED(rdma_notify(id, IBV_EVENT_COMM_EST));
	REFUSED(rdma_disconnect(id));
	REFUSED(rdma_migrate_id(id, channel));
	REFUSED(rdma_migrate_id(id, NULL));
	REFUSED(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	REFUSED(rdma_set_local_ece(id, &ece));
	REFUSED(rdma_get_remote_ece(id, &ece));
	REFUSED(rdma_init_qp_attr(id, &attr, &mask));
	REFUSED(rdma_create_qp(id, NULL, &init));
	REFUSED(rdma_create_srq(id, NULL, &srq));
	REFUSED(rdma_join_multicast(id, addr, NULL));
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	rdma_destroy_ep(id);
	end();
}
END_TEST

START_TEST(a_channel_that_is_gone_takes_no_call)
{
	struct rdma_event_channel *gone = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *none;

	begin();
	ck_assert_ptr_nonnull(gone);
	rdma_destroy_event_channel(gone);
	rdma_destroy_event_channel(gone);
	REFUSED(rdma_get_cm_event(gone, &event));
	REFUSED(rdma_create_id(gone, &none, NULL, RDMA_PS_TCP));
	REFUSED(rdma_migrate_id(id, gone));
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, an_id_that_is_gone_takes_no_call, 1, NULL);
	unit_add(suite, a_channel_that_is_gone_takes_no_call, 1, NULL);
}

UNIT_SUITE("rdmacm_gone")
