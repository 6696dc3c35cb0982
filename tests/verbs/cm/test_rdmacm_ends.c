/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How connections of librdmacm end: RDMA_CM_EVENT_TIMEWAIT_EXIT, when it comes and when it does
 * not. Time follows the clock here; cm_events.sh has the exact values.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cm_pair.h"
#include "tests/support/asleep.h"

#define TIMEWAIT_NS 128000000

/* The shortest time: that of a device which answers within 0.13 s. */
static void hurry(struct rdma_cm_id *id)
{
	uint8_t timeout = 1;

	ck_assert_int_eq(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
					 sizeof(timeout)),
			 0);
}

static void connect_hurried(void)
{
	cm_begin();
	hurry(cm_client);
	cm_connect();
	hurry(cm_server);
}

/* The client disconnects, and both hear of it. */
static void part(void)
{
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
}

static void take_exit(const struct rdma_cm_id *id)
{
	cm_take(RDMA_CM_EVENT_TIMEWAIT_EXIT);
	ck_assert_ptr_eq(cm_last.id, id);
	ck_assert_int_eq(cm_last.status, 0);
}

static uint64_t now(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	ck_assert_int_eq(ibv_query_rt_values_ex(cm_client->verbs, &values), 0);
	return (uint64_t)values.raw_clock.tv_sec * 1000000000ul +
	       (uint64_t)values.raw_clock.tv_nsec;
}

/* No event comes in timewait. The machine may take longer than that to get here. */
static void expect_quiet_timewait(uint64_t begin)
{
	struct pollfd pfd = { .fd = cm_channel->fd, .events = POLLIN };
	bool quiet = poll(&pfd, 1, 0) == 0;

	ck_assert(quiet || now() - begin >= TIMEWAIT_NS);
}

START_TEST(timewait_begins_with_the_disconnect)
{
	uint64_t begin;

	connect_hurried();
	begin = now();
	part();
	expect_quiet_timewait(begin);
	take_exit(cm_client);
	ck_assert_uint_ge(now() - begin, TIMEWAIT_NS);
	cm_expect_quiet();
	cm_end();
}
END_TEST

START_TEST(the_other_side_begins_when_it_disconnects_too)
{
	uint64_t begin;

	connect_hurried();
	part();
	take_exit(cm_client);
	begin = now();
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	expect_quiet_timewait(begin);
	take_exit(cm_server);
	ck_assert_uint_ge(now() - begin, TIMEWAIT_NS);
	cm_end();
}
END_TEST

/* The server's event comes later than a second one of the client would. */
START_TEST(a_second_disconnect_changes_nothing)
{
	connect_hurried();
	part();
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	take_exit(cm_client);
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	take_exit(cm_server);
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	cm_expect_quiet();
	cm_end();
}
END_TEST

START_TEST(an_id_that_is_destroyed_before_has_no_event)
{
	connect_hurried();
	part();
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	cm_destroy(&cm_client);
	take_exit(cm_server);
	cm_expect_quiet();
	cm_end();
}
END_TEST

START_TEST(an_unfetched_event_goes_with_its_id)
{
	connect_hurried();
	part();
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	take_exit(cm_client);
	cm_destroy(&cm_server);
	cm_expect_quiet();
	cm_end();
}
END_TEST

START_TEST(the_peer_of_a_destroyed_id_waits_too)
{
	connect_hurried();
	cm_destroy(&cm_client);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	take_exit(cm_server);
	cm_end();
}
END_TEST

/* Clients that were never connected: a rejected one, and one at an address without an adapter. */
START_TEST(without_a_connection_there_is_no_timewait)
{
	struct rdma_conn_param param = cm_param("");
	struct rdma_cm_id *rejected;

	cm_begin();
	hurry(cm_client);
	cm_ask();
	ck_assert_int_eq(rdma_reject(cm_server, NULL, 0), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	rejected = cm_client;
	cm_destroy(&cm_server);
	ck_assert_int_eq(rdma_create_id(cm_channel, &cm_client, NULL, RDMA_PS_TCP), 0);
	hurry(cm_client);
	cm_resolve(cm_client, CM_NOWHERE, CM_PORT);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_UNREACHABLE);
	ck_assert_int_eq(rdma_disconnect(cm_client), 0);
	cm_destroy(&cm_client);
	ck_assert_int_eq(rdma_create_id(cm_channel, &cm_client, NULL, RDMA_PS_TCP), 0);
	hurry(cm_client);
	cm_connect();
	part();
	take_exit(cm_client);
	cm_expect_quiet();
	cm_destroy(&rejected);
	cm_end();
}
END_TEST

/* The queue pair of the id, reset, is that of the next one. */
START_TEST(afterwards_the_queue_pair_serves_another_id)
{
	struct rdma_conn_param param = cm_param("");
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct rdma_cm_id *old;
	int mask;

	connect_hurried();
	part();
	take_exit(cm_client);
	ck_assert_int_eq(ibv_modify_qp(cm_client->qp, &attr, IBV_QP_STATE), 0);
	old = cm_client;
	cm_destroy(&cm_server);
	ck_assert_int_eq(rdma_create_id(cm_channel, &cm_client, NULL, RDMA_PS_TCP), 0);
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	attr.qp_state = IBV_QPS_INIT;
	ck_assert_int_eq(rdma_init_qp_attr(cm_client, &attr, &mask), 0);
	ck_assert_int_eq(ibv_modify_qp(old->qp, &attr, mask), 0);
	cm_client->qp = old->qp;
	cm_client->send_cq = old->send_cq;
	cm_client->recv_cq = old->recv_cq;
	cm_client->send_cq_channel = old->send_cq_channel;
	cm_client->recv_cq_channel = old->recv_cq_channel;
	old->qp = NULL;
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	ck_assert_int_eq((int)cm_client->qp->state, (int)IBV_QPS_RTS);
	cm_destroy(&old);
	cm_end();
}
END_TEST

struct destroyer {
	pid_t tid;
	bool acknowledged; /* by the other thread */
	bool waited;
};

/* All tests of the program may run in one process, so nothing of this is static. */
static void *destroy_client(void *arg)
{
	struct destroyer *destroyer = arg;

	__atomic_store_n(&destroyer->tid, gettid(), __ATOMIC_RELEASE);
	cm_destroy(&cm_client);
	destroyer->waited = __atomic_load_n(&destroyer->acknowledged, __ATOMIC_ACQUIRE);
	return NULL;
}

START_TEST(a_destroy_waits_for_the_acknowledgement)
{
	struct destroyer destroyer = { 0 };
	struct rdma_cm_event *event;
	pthread_t thread;

	connect_hurried();
	part();
	event = cm_fetch(cm_channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	ck_assert_int_eq(pthread_create(&thread, NULL, destroy_client, &destroyer), 0);
	until_thread_asleep(&destroyer.tid);
	__atomic_store_n(&destroyer.acknowledged, true, __ATOMIC_RELEASE);
	ck_assert_int_eq(rdma_ack_cm_event(event), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(destroyer.waited);
	ck_assert_ptr_null(cm_client);
	cm_end();
}
END_TEST

START_TEST(a_migrated_id_has_it_on_its_new_channel)
{
	struct rdma_event_channel *other = rdma_create_event_channel();

	connect_hurried();
	part();
	ck_assert_int_eq(rdma_migrate_id(cm_client, other), 0);
	ck_assert_int_eq(rdma_ack_cm_event(cm_fetch(other, RDMA_CM_EVENT_TIMEWAIT_EXIT)), 0);
	ck_assert_ptr_eq(cm_last.id, cm_client);
	cm_expect_quiet();
	cm_destroy(&cm_client);
	rdma_destroy_event_channel(other);
	cm_end();
}
END_TEST

/* ---- channels that go before their ids ---- */

/* The number of the descriptor may be another file's by then. */
START_TEST(a_channel_that_goes_ends_the_connections_of_its_ids)
{
	struct rdma_event_channel *other;
	int fd, again;
	uint64_t n;

	cm_begin();
	cm_connect();
	other = rdma_create_event_channel();
	ck_assert_int_eq(rdma_migrate_id(cm_client, other), 0);
	fd = other->fd;
	rdma_destroy_event_channel(other);
	again = eventfd(0, EFD_NONBLOCK);
	ck_assert_int_eq(again, fd);
	cm_take(RDMA_CM_EVENT_DISCONNECTED);
	ck_assert_ptr_eq(cm_last.id, cm_server);
	ck_assert_int_eq(rdma_disconnect(cm_server), 0);
	ck_assert_int_eq(read(again, &n, sizeof(n)), -1);
	CM_REFUSED(rdma_resolve_route(cm_client, CM_TIMEOUT), EINVAL);
	cm_end();
	close(again);
}
END_TEST

/* A request waits at the listener, which has a channel of its own. */
static struct rdma_event_channel *await_request_elsewhere(struct rdma_conn_param *param)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct pollfd pfd = { .fd = other->fd, .events = POLLIN };

	cm_resolve(cm_client, CM_THERE, CM_PORT);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_migrate_id(cm_listener, other), 0);
	ck_assert_int_eq(rdma_connect(cm_client, param), 0);
	ck_assert_int_eq(poll(&pfd, 1, -1), 1);
	return other;
}

START_TEST(a_channel_that_goes_rejects_its_requests)
{
	struct rdma_conn_param param = cm_param("question");
	struct rdma_event_channel *other;

	cm_begin();
	other = await_request_elsewhere(&param);
	rdma_destroy_event_channel(other);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(cm_last.status, 28);
	cm_destroy(&cm_client);
	ck_assert_int_eq(rdma_create_id(cm_channel, &cm_client, NULL, RDMA_PS_TCP), 0);
	cm_resolve(cm_client, CM_THERE, CM_PORT);
	cm_make_qp(cm_client);
	ck_assert_int_eq(rdma_connect(cm_client, &param), 0);
	cm_take(RDMA_CM_EVENT_REJECTED);
	ck_assert_int_eq(cm_last.status, 8);
	cm_end();
}
END_TEST

/* A request that was not fetched moves with its listener. */
START_TEST(a_request_outlives_the_channel_that_it_came_to)
{
	struct rdma_conn_param param = cm_param("question");
	struct rdma_event_channel *other;

	cm_begin();
	other = await_request_elsewhere(&param);
	ck_assert_int_eq(rdma_migrate_id(cm_listener, cm_channel), 0);
	rdma_destroy_event_channel(other);
	cm_take(RDMA_CM_EVENT_CONNECT_REQUEST);
	cm_server = cm_last.id;
	ck_assert_ptr_eq(cm_server->channel, cm_channel);
	cm_make_qp(cm_server);
	ck_assert_int_eq(rdma_accept(cm_server, &param), 0);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	cm_take(RDMA_CM_EVENT_ESTABLISHED);
	cm_end();
}
END_TEST

/* ---- the last use of a device ---- */

static void *use_often(void *arg)
{
	struct rdma_cm_id *id;

	for (int n = 0; n < 50; n++)
		if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
		    rdma_bind_addr(id, (struct sockaddr *)arg) || rdma_destroy_id(id))
			return NULL;
	return arg;
}

static void *list_often(void *arg)
{
	int n = 1;

	for (int i = 0; i < 50 && n > 0; i++)
		rdma_free_devices(rdma_get_devices(&n));
	return n > 0 ? arg : NULL;
}

/* For ThreadSanitizer: the lock covers the count of a device's users. */
START_TEST(devices_are_listed_while_ids_come_and_go)
{
	struct sockaddr_in addr[4];
	pthread_t threads[4];
	void *result;

	for (int i = 0; i < 4; i++) {
		addr[i] = (struct sockaddr_in){ .sin_family = AF_INET };
		addr[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, i % 2 ? list_often : use_often,
						&addr[i]),
				 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		ck_assert_ptr_nonnull(result);
	}
}
END_TEST

/* ---- a connection that ends while its id is used ---- */

static int set_service_type(struct rdma_cm_id *id)
{
	uint8_t tos = 0;

	return rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
}

static int set_ece(struct rdma_cm_id *id)
{
	struct ibv_ece ece = { .vendor_id = 1 };

	return rdma_set_local_ece(id, &ece);
}

static int get_ece(struct rdma_cm_id *id)
{
	struct ibv_ece ece;

	return rdma_get_remote_ece(id, &ece);
}

static int migrate_nowhere(struct rdma_cm_id *id)
{
	return rdma_migrate_id(id, cm_channel);
}

static int listen_too(struct rdma_cm_id *id)
{
	return rdma_listen(id, 1);
}

static int resolve_again(struct rdma_cm_id *id)
{
	struct sockaddr_in to = cm_address(CM_THERE, CM_PORT);

	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, CM_TIMEOUT);
}

static const struct {
	int (*call)(struct rdma_cm_id *id);
	int result;
} uses[] = {
	{ set_service_type, 0 }, { migrate_nowhere, 0 }, { rdma_disconnect, 0 }, { set_ece, -1 },
	{ get_ece, -1 },         { listen_too, -1 },     { resolve_again, -1 },
};

static void *end_connection(void *over)
{
	struct rdma_cm_event *event;

	if (rdma_disconnect(cm_server) || rdma_get_cm_event(cm_channel, &event) ||
	    rdma_ack_cm_event(event))
		return NULL;
	__atomic_store_n((bool *)over, true, __ATOMIC_RELAXED);
	return over;
}

/*
 * For ThreadSanitizer: the lock covers the state of an id. The other thread's calls came first, but
 * only that lock orders them before the calls of this thread.
 */
START_TEST(an_id_is_used_while_its_connection_ends)
{
	bool over = false;
	pthread_t thread;
	void *result;

	cm_begin();
	cm_connect();
	ck_assert_int_eq(pthread_create(&thread, NULL, end_connection, &over), 0);
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		sched_yield();
	ck_assert_int_eq(uses[_i].call(cm_client), uses[_i].result);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_ptr_nonnull(result);
	cm_end();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_channel_that_goes_ends_the_connections_of_its_ids, 1, NULL);
	unit_add(suite, a_channel_that_goes_rejects_its_requests, 1, NULL);
	unit_add(suite, a_request_outlives_the_channel_that_it_came_to, 1, NULL);
	unit_add(suite, timewait_begins_with_the_disconnect, 1, NULL);
	unit_add(suite, the_other_side_begins_when_it_disconnects_too, 1, NULL);
	unit_add(suite, a_second_disconnect_changes_nothing, 1, NULL);
	unit_add(suite, an_id_that_is_destroyed_before_has_no_event, 1, NULL);
	unit_add(suite, an_unfetched_event_goes_with_its_id, 1, NULL);
	unit_add(suite, the_peer_of_a_destroyed_id_waits_too, 1, NULL);
	unit_add(suite, without_a_connection_there_is_no_timewait, 1, NULL);
	unit_add(suite, afterwards_the_queue_pair_serves_another_id, 1, NULL);
	unit_add(suite, a_destroy_waits_for_the_acknowledgement, 1, NULL);
	unit_add(suite, a_migrated_id_has_it_on_its_new_channel, 1, NULL);
	unit_add(suite, devices_are_listed_while_ids_come_and_go, 1, NULL);
	unit_add(suite, an_id_is_used_while_its_connection_ends, sizeof(uses) / sizeof(uses[0]),
		 NULL);
}

UNIT_SUITE("rdmacm_ends")
