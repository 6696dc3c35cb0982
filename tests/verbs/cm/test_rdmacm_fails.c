/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls and events of librdmacm in which a step fails, or another thread comes between two steps:
 * the queue pair does not move, there is no descriptor.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#include "cm_pair.h"

/* ---- queue pairs that do not move ---- */

static bool rejects_meanwhile;
static const struct ibv_qp *fails; /* once, on its way to RTR */
static bool fails_at_once;         /* the next one */

/* The library calls this one, without its lock. */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*real)(struct ibv_qp *, struct ibv_qp_attr *, int);

	if (rejects_meanwhile && attr->qp_state == IBV_QPS_RTS) {
		rejects_meanwhile = false;
		ck_assert_int_eq(rdma_reject(cm_server, NULL, 0), 0);
	}
	if (fails_at_once || (qp == fails && attr->qp_state == IBV_QPS_RTR)) {
		fails_at_once = false;
		fails = NULL;
		return EIO;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "ibv_modify_qp");
	return real(qp, attr, mask);
}

/* What another thread may do happens here in the call itself, at the same place in each run. */
START_TEST(an_accept_fails_if_its_request_is_rejected_meanwhile)
{
	struct rdma_conn_param param = cm_param("answer");

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	rejects_meanwhile = true;
	CM_REFUSED(rdma_accept(cm_server, &param), EINVAL);
	ck_assert(!rejects_meanwhile);
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_ERR);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	cm_expect_quiet();
	cm_end();
}
END_TEST

/* Both queue pairs are in ERR then, and the server hears that its answer is rejected. */
START_TEST(an_answer_for_a_queue_pair_that_fails_is_CONNECT_ERROR)
{
	struct rdma_conn_param param = cm_param("answer");

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	fails = cm_client->qp;
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_ERROR);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	ck_assert_int_eq(cm_last.status, -EIO);
	ck_assert_int_eq((int)cm_client->qp->state, (int)IBV_QPS_ERR);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_ERR);
	cm_expect_quiet();
	cm_end();
}
END_TEST

START_TEST(a_queue_pair_that_cannot_be_in_INIT_is_none)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct ibv_pd *pd;

	cm_begin();
	pd = ibv_alloc_pd(cm_listener->verbs);
	ck_assert_ptr_nonnull(pd);
	fails_at_once = true;
	CM_REFUSED(rdma_create_qp(cm_listener, pd, &init), EIO);
	ck_assert_ptr_null(cm_listener->qp);
	ck_assert_ptr_null(cm_listener->send_cq);
	ck_assert_int_eq(ibv_dealloc_pd(pd), 0);
	cm_end();
}
END_TEST

/* An id without a channel may be asked for a request by mistake. */
START_TEST(an_event_that_is_no_request_is_left_to_the_program)
{
	cm_begin();
	cm_connect();
	ck_assert_int_eq(rdma_migrate_id(cm_server, NULL), 0);
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	CM_REFUSED(rdma_get_request(cm_server, &cm_client), EINVAL);
	ck_assert_ptr_nonnull(cm_server->event);
	ck_assert_int_eq((int)cm_server->event->event, (int)RDMA_CM_EVENT_DISCONNECTED);
	cm_end();
}
END_TEST

START_TEST(an_accept_whose_queue_pair_fails_may_be_repeated)
{
	struct rdma_conn_param param = cm_param("answer");

	cm_begin();
	cm_ask();
	cm_make_qp(cm_server);
	fails = cm_server->qp;
	CM_REFUSED(rdma_accept(cm_server, &param), EIO);
	ck_assert_int_eq((int)cm_server->qp->state, (int)IBV_QPS_INIT);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	cm_end();
}
END_TEST

/* ---- a request that cannot be told ---- */

/* Of descriptors there are none for the channel of its id. */
START_TEST(a_request_whose_id_gets_no_channel_is_rejected)
{
	struct pollfd pfd = { .events = POLLIN };
	struct rlimit limit;

	cm_begin();
	ck_assert_int_eq(rdma_migrate_id(cm_listener, NULL), 0);
	pfd.fd = cm_listener->channel->fd;
	ck_assert_int_eq(fcntl(pfd.fd, F_SETFL, O_NONBLOCK), 0);
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, NULL), 0);
	ck_assert_int_eq(poll(&pfd, 1, -1), 1);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, limit.rlim_max }), 0);
	CM_REFUSED(rdma_get_request(cm_listener, &cm_server), EAGAIN);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	cm_end(); /* it waits for no event of the listener */
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, an_accept_fails_if_its_request_is_rejected_meanwhile, 1, NULL);
	unit_add(suite, an_answer_for_a_queue_pair_that_fails_is_CONNECT_ERROR, 1, NULL);
	unit_add(suite, a_queue_pair_that_cannot_be_in_INIT_is_none, 1, NULL);
	unit_add(suite, an_event_that_is_no_request_is_left_to_the_program, 1, NULL);
	unit_add(suite, an_accept_whose_queue_pair_fails_may_be_repeated, 1, NULL);
	unit_add(suite, a_request_whose_id_gets_no_channel_is_rejected, 1, NULL);
}

UNIT_SUITE_OF_PROCESSES("rdmacm_fails")
