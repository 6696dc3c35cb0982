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
#include <sys/wait.h>
#include <unistd.h>

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

static void expect_no_call(struct rdma_cm_id *gone)
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

	REFUSED(rdma_destroy_id(gone));
	REFUSED(rdma_bind_addr(gone, addr));
	REFUSED(rdma_resolve_addr(gone, NULL, addr, 100));
	REFUSED(rdma_resolve_route(gone, 100));
	REFUSED(rdma_listen(gone, 1));
	REFUSED(rdma_get_request(gone, &asks));
	REFUSED(rdma_connect(gone, &param));
	REFUSED(rdma_establish(gone));
	REFUSED(rdma_accept(gone, &param));
	REFUSED(rdma_reject(gone, NULL, 0));
	REFUSED(rdma_notify(gone, IBV_EVENT_COMM_EST));
	REFUSED(rdma_disconnect(gone));
	REFUSED(rdma_migrate_id(gone, channel));
	REFUSED(rdma_migrate_id(gone, NULL));
	REFUSED(rdma_set_option(gone, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	REFUSED(rdma_set_local_ece(gone, &ece));
	REFUSED(rdma_get_remote_ece(gone, &ece));
	REFUSED(rdma_init_qp_attr(gone, &attr, &mask));
	REFUSED(rdma_create_qp(gone, NULL, &init));
	REFUSED(rdma_create_srq(gone, NULL, &srq));
	REFUSED(rdma_join_multicast(gone, addr, NULL));
	rdma_destroy_qp(gone);
	rdma_destroy_srq(gone);
	rdma_destroy_ep(gone);
}

START_TEST(an_id_that_is_gone_takes_no_call)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 4, .max_sge = 1 } };

	begin();
	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	rdma_destroy_qp(id);
	rdma_destroy_qp(id);
	ck_assert_int_eq(rdma_create_srq(id, NULL, &srq), 0);
	rdma_destroy_srq(id);
	rdma_destroy_srq(id);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
	expect_no_call(id);
	end();
}
END_TEST

/* It may make ids of its own, and its parent's go on. */
START_TEST(an_id_of_its_parent_takes_no_call_of_a_forked_child)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct rdma_cm_id *idle;
	int status;
	pid_t child;

	begin();
	ck_assert_int_eq(rdma_create_qp(id, NULL, &init), 0);
	ck_assert_int_eq(rdma_create_id(channel, &idle, NULL, RDMA_PS_TCP), 0);
	child = fork();
	if (child == 0) {
		expect_no_call(id);
		expect_no_call(idle);
		rdma_destroy_event_channel(channel);
		begin();
		ck_assert_int_eq(rdma_destroy_id(id), 0);
		_exit(0);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	rdma_destroy_qp(id);
	ck_assert_int_eq(rdma_destroy_id(idle), 0);
	ck_assert_int_eq(rdma_destroy_id(id), 0);
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
	unit_add(suite, an_id_of_its_parent_takes_no_call_of_a_forked_child, 1, NULL);
	unit_add(suite, a_channel_that_is_gone_takes_no_call, 1, NULL);
}

UNIT_SUITE("rdmacm_gone")
