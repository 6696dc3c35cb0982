/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of the connection manager, each of which may be lost, and what devices say in them.
 * On the devices of tests/stubverbs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

/* Into the Receive of slot 0 */
static void message_passes(void)
{
	post_send(&w.a, w.a.ep, 9, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 9, DAT_DTO_SUCCESS);
}

/* ---- lost messages ---- */

enum way {
	FREE,
	RESET,
	DISCONNECT,
	DISCONNECT_AND_FREE,
	FREE_WHILE_IT_ENDS,
	WAYS
};

static void leave(enum way way)
{
	if (way == DISCONNECT || way == DISCONNECT_AND_FREE) {
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	if (way == FREE_WHILE_IT_ENDS) {
		stub_config.early = false;
		for (int i = 0; i < 3; i++)
			post_send(&w.a, w.a.ep, 4 + i, SHORT); /* one has no Receive */
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	}
	if (way == FREE || way == DISCONNECT_AND_FREE || way == FREE_WHILE_IT_ENDS)
		must(dat_ep_free(w.a.ep));
	if (way == RESET) {
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(dat_ep_reset(w.a.ep));
	}
}

/* Also if it only receives, so that no Send of its own could tell. */
START_TEST(a_peer_hears_of_the_end_though_the_first_message_of_it_is_lost)
{
	int before;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 2);
	stub_config.lose = STUB_DREQ;
	stub_config.resends = false;
	leave(_i);
	stub_config.lose = STUB_NONE;
	expect_no_event(w.b.connect);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	before = stub_objects();
	stub_resend();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	ck_assert_int_eq(drain(w.b.recv), 2);
	/* The id that waited for the answer is gone, and so is the peer's. */
	stub_await_objects(before - 2);
}
END_TEST

/* ---- answers ---- */

/* A device that refuses a state of the QP: the peer does not wait for its own limit. */
START_TEST(a_request_that_cannot_be_accepted_is_rejected_at_once)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_fail("rdma_init_qp_attr", 2, EIO, false);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
}
END_TEST

/* The side that asked has the answer, and its last message is lost. */
static void accept_in_part(void)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_config.lose = STUB_RTU;
	stub_config.resends = false;
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_state(w.b.ep, DAT_EP_STATE_COMPLETION_PENDING);
}

/* When that comes at last, the end is in progress, or it is over. */
START_TEST(an_end_before_the_last_message_of_the_connection_is_told_after_it)
{
	int before;

	accept_in_part();
	if (_i)
		post_recv(&w.b, w.b.ep, 0);
	stub_lock();
	stub_config.flush_polls = _i ? 1 << 30 : 0;
	stub_unlock();
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	if (!_i)
		expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_no_event(w.a.connect);
	before = stub_objects();
	stub_resend();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	stub_lock();
	stub_config.flush_polls = 0;
	stub_unlock();
	if (_i)
		expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* No id waits for anything. */
	stub_await_objects(before - 2);
}
END_TEST

/* The QP is destroyed when the last message comes: the id, which ends the connection, has none. */
START_TEST(an_Endpoint_that_is_freed_before_the_last_message_ends_its_connection)
{
	int before;

	accept_in_part();
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_free(w.b.ep));
	w.b.ep = NO_HANDLE;
	expect_no_event(w.a.connect);
	before = stub_objects();
	stub_resend();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	stub_await_objects(before - 2);
}
END_TEST

static const enum rdma_cm_event_type ends_of_waiting[] = {
	RDMA_CM_EVENT_REJECTED,      RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE,
	RDMA_CM_EVENT_TIMEWAIT_EXIT, RDMA_CM_EVENT_DISCONNECTED,
};

/* The id of the freed Endpoint is kept for the peer, which may have gone. */
START_TEST(an_id_that_waits_for_its_peer_goes_with_any_end)
{
	DAT_CR_HANDLE cr;
	int before;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_config.lose = STUB_REP;
	stub_config.resends = false;
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	must(dat_ep_disconnect(w.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	before = stub_objects();
	stub_cm_event(ends_of_waiting[_i], 0, false);
	stub_await_objects(before - 1);
}
END_TEST

START_TEST(a_connection_whose_peer_rejects_it_late_is_disconnected)
{
	accept_in_part();
	must(dat_ep_free(w.b.ep));
	w.b.ep = DAT_HANDLE_NULL;
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* The QP that has Receives. */
static struct stub_qp *receiving_qp(void)
{
	struct stub_qp *qp = NULL;

	for (uint32_t i = 0; i < STUB_QP; i++)
		if (stub_qp_by_number(i) &&
		    stub_qp_by_number(i)->own.put != stub_qp_by_number(i)->own.get)
			qp = stub_qp_by_number(i);
	ck_assert_ptr_nonnull(qp);
	return qp;
}

/* The rejection tells the cause of the flush, unless it is too late for that. */
START_TEST(a_late_rejection_may_follow_a_flush)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	accept_in_part();
	post_recv(&w.a, w.a.ep, 1);
	stub_config.lose = STUB_DREQ;
	stub_to_error(receiving_qp());
	expect_dto(w.a.recv, w.a.ep, 1, DAT_DTO_ERR_FLUSHED);
	must(dat_ep_free(w.b.ep));
	w.b.ep = DAT_HANDLE_NULL;
	must(dat_evd_wait(w.a.connect, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		  event.event_number == DAT_CONNECTION_EVENT_BROKEN);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

/* A completion that the test makes of the oldest Receive of the QP; no event tells of it. */
static void complete_oldest(struct stub_qp *qp, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = status, .opcode = IBV_WC_RECV, .qp_num = qp->v.qp_num };

	stub_lock();
	wc.wr_id = qp->own.at[qp->own.get++ & qp->own.mask].wr_id;
	stub_complete((struct stub_cq *)qp->v.recv_cq, &wc, false);
	stub_unlock();
}

static void flush_now(bool now)
{
	stub_lock();
	stub_config.flush_polls = now ? 0 : 1 << 30;
	stub_unlock();
}

/* The error has not been polled when the event comes: a disconnect, or a late rejection. */
START_TEST(an_error_tells_the_cause_of_an_end_better_than_its_event)
{
	if (_i)
		accept_in_part();
	else
		plain_pair();
	post_recv(&w.a, w.a.ep, 0);
	complete_oldest(receiving_qp(), IBV_WC_LOC_LEN_ERR);
	stub_config.lose = STUB_NONE;
	must(dat_ep_free(w.b.ep));
	w.b.ep = DAT_HANDLE_NULL;
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_ERR_LOCAL_LENGTH);
}
END_TEST

/* The end is in progress while two causes of it come, one after the other. */
START_TEST(the_first_cause_of_an_end_that_is_known_is_the_one_that_is_told)
{
	struct stub_qp *qp;

	plain_pair();
	post_recvs(&w.a, w.a.ep, 0, 2);
	qp = receiving_qp();
	flush_now(false);
	if (_i) {
		/* The flush says only that there is an end. */
		complete_oldest(qp, IBV_WC_WR_FLUSH_ERR);
		expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_ERR_FLUSHED);
		expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		stub_settle();
		stub_async(IBV_EVENT_QP_FATAL, qp);
	} else {
		stub_async(IBV_EVENT_QP_FATAL, qp);
		expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	}
	stub_settle();
	flush_now(true);
	expect_connection(w.a.connect, w.a.ep,
			  _i ? DAT_CONNECTION_EVENT_DISCONNECTED : DAT_CONNECTION_EVENT_BROKEN);
}
END_TEST

static const int ends[] = { -ETIMEDOUT, -ENETUNREACH };

/* A message has told of the connection, and the kernel has given up before it hears of that. */
START_TEST(a_connection_whose_last_message_never_comes_is_broken)
{
	accept_in_part();
	stub_fail("rdma_notify", 1, EINVAL, true);
	post_recv(&w.b, w.b.ep, 0);
	message_passes();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	stub_cm_event(RDMA_CM_EVENT_UNREACHABLE, ends[_i], false);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
}
END_TEST

/* ---- many at once ---- */

/* More than the event thread has read: it may be held up while many connections end. */
START_TEST(five_hundred_requests_at_once_all_arrive)
{
	enum {
		MANY = 500
	};
	DAT_EP_HANDLE eps[MANY];

	w.b.cr = make_evd(&w.b, MANY, DAT_EVD_CR_FLAG);
	w.a.connect = make_evd(&w.a, 2 * MANY, DAT_EVD_CONNECTION_FLAG);
	listen_at(&w.b, QUAL);
	stub_config.lose = STUB_REQ;
	stub_config.resends = false;
	for (int i = 0; i < MANY; i++) {
		eps[i] = plain_ep(&w.a);
		must(try_connect(eps[i], &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	}
	stub_settle();
	stub_resend();
	stub_settle();
	expect_no_event(w.a.connect);
	ck_assert_int_eq(drain(w.b.cr), MANY);
}
END_TEST

/* ---- ends in progress ---- */

/* Neither can be over: the device does not flush, or a Send has no Receive. */
static void begin_to_end(bool in_order)
{
	if (in_order) {
		stub_config.early = false; /* a Send that is sent would be over */
		post_send(&w.a, w.a.ep, 0, SHORT);
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	} else {
		stub_config.flush_polls = 1 << 30;
		post_recv(&w.a, w.a.ep, 0);
		must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	}
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECT_PENDING);
}

/* What this thread has freed, up to this size, is used for something else. */
static void use_what_was_freed(void)
{
	enum {
		MOST = 1024,
		EACH = 8,
	};
	void *taken[EACH];

	for (size_t size = 16; size <= MOST; size += 16) {
		for (int i = 0; i < EACH; i++) {
			taken[i] = malloc(size);
			ck_assert_ptr_nonnull(taken[i]);
			memset(taken[i], 0x5a, size);
			__asm__ volatile("" : : "r"(taken[i]) : "memory");
		}
		for (int i = 0; i < EACH; i++)
			free(taken[i]);
	}
}

START_TEST(an_EP_that_is_freed_while_its_connection_ends_is_forgotten)
{
	DAT_EP_HANDLE a, b;

	plain_pair();
	begin_to_end(_i);
	must(dat_ep_free(w.a.ep));
	use_what_was_freed();
	w.a.ep = plain_ep(&w.a);
	stub_lock();
	stub_config.flush_polls = 0;
	stub_unlock();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_reset(w.b.ep));
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	/* The timer that brings the end of this connection looks at all that end. */
	a = plain_ep(&w.a);
	b = plain_ep(&w.b);
	connect_eps(&w.a, a, &w.b, b);
	must(dat_ep_disconnect(a, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.a.connect, a, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.b.connect, b, DAT_CONNECTION_EVENT_DISCONNECTED);
	post_recv(&w.b, w.b.ep, 0);
	message_passes();
	expect_no_event(w.a.connect);
}
END_TEST

/* Time passes, until a connection that is asked for now is given up. */
static void pass_time(DAT_TIMEOUT us)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	stub_config.lose = STUB_REQ;
	must(try_connect(ep, &w.b, QUAL + 1, us));
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_TIMED_OUT);
}

/* On a busy machine the time is over before that, and then the event is dropped. */
START_TEST(an_EP_that_is_freed_while_it_asks_has_no_deadline_any_more)
{
	const DAT_TIMEOUT us = 2000;

	stub_config.lose = STUB_REQ;
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.a.ep, &w.b, QUAL, us));
	must(dat_ep_free(w.a.ep));
	use_what_was_freed();
	drain(w.a.connect);
	stub_config.lose = STUB_NONE;
	w.a.ep = plain_ep(&w.a);
	post_recv(&w.b, w.b.ep, 0);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	pass_time(us);
	message_passes();
	expect_no_event(w.a.connect);
}
END_TEST

/* ---- rejections ---- */

static const struct stub_config kinds[] = {
	{ .iwarp = false },
	{ .iwarp = true },                       /* as siw */
	{ .iwarp = true, .reset = -ECONNRESET }, /* as irdma and cxgb4 */
};

static void setup_kind(int kind)
{
	stub_config = kinds[kind];
	setup_sides();
}

START_TEST(a_program_that_rejects_is_told_from_nobody_there)
{
	DAT_CR_HANDLE cr;

	setup_kind(_i);
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	must(dat_ep_reset(w.a.ep));
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_reject(cr));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
}
END_TEST

/* ---- other ends of a request ---- */

static const struct {
	enum rdma_cm_event_type type;
	int status;
	DAT_EVENT_NUMBER number;
} fates[] = {
	{ RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, DAT_CONNECTION_EVENT_TIMED_OUT },
	{ RDMA_CM_EVENT_UNREACHABLE, -ENETUNREACH, DAT_CONNECTION_EVENT_UNREACHABLE },
	{ RDMA_CM_EVENT_CONNECT_ERROR, -EIO, DAT_CONNECTION_EVENT_UNREACHABLE },
	{ RDMA_CM_EVENT_REJECTED, 4, DAT_CONNECTION_EVENT_TIMED_OUT },      /* IB_CM_REJ_TIMEOUT */
	{ RDMA_CM_EVENT_REJECTED, 28, DAT_CONNECTION_EVENT_PEER_REJECTED }, /* by its consumer */
};

START_TEST(who_asks_hears_what_librdmacm_says)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_cm_event(fates[_i].type, fates[_i].status, true);
	expect_connection(w.a.connect, w.a.ep, fates[_i].number);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
	must(dat_cr_reject(cr));
	expect_no_event(w.a.connect);
}
END_TEST

/* The program cannot know it yet when it accepts. */
START_TEST(a_request_whose_peer_is_gone_cannot_be_accepted)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_cm_event(fates[_i].type, fates[_i].status, false);
	stub_settle();
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
}
END_TEST

/* The answer is lost, and librdmacm gives up. */
START_TEST(an_answer_that_does_not_arrive_is_an_error_of_who_accepts)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_config.lose = STUB_REP;
	stub_config.resends = false;
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	stub_cm_event(fates[_i].type, fates[_i].status, false);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	expect_state(w.b.ep, DAT_EP_STATE_DISCONNECTED);
	stub_cm_event(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, true);
	must(dat_ep_free(w.a.ep));
}
END_TEST

/* With nothing but a listener and an unanswered request. */
START_TEST(a_device_may_be_removed_before_there_is_a_connection)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	(void)listen_at(&w.b, QUAL + 1);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_remove_device();
	(void)expect_event(w.a.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	(void)expect_event(w.b.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_BROKEN);
	stub_settle();
	must(dat_cr_reject(cr));
}
END_TEST

/* ---- private data ---- */

/* 56 bytes of a peer of another kind, of which the last looks like a length of libdat. */
static const uint8_t lengths[] = { 0, 20, 53, 54, 56, 100, 127 };

START_TEST(A5_private_data_of_another_kind_of_peer_is_whole)
{
	uint8_t data[56];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	memset(data, 7, sizeof(data));
	data[55] = 0x80 | lengths[_i];
	stub_config.foreign = data;
	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, 56);
	ck_assert_mem_eq(param.private_data, data, 56);
	must(dat_cr_reject(cr));
}
END_TEST

/* No more than an adapter says that there may be. */
START_TEST(A5_private_data_of_another_kind_of_peer_is_cut)
{
	uint8_t data[255];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	stub_config.iwarp = _i;
	setup_sides();
	memset(data, 7, sizeof(data));
	stub_config.foreign = data;
	stub_config.foreign_size = _i ? 255 : 100;
	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, _i ? 196 : 56);
	must(dat_cr_reject(cr));
}
END_TEST

/* Up to the most, and where the mark behind the data has no room. */
START_TEST(A5_private_data_arrives_with_its_size)
{
	const DAT_COUNT size = _i < 2 ? _i : 50 + _i;
	uint8_t data[64];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	memset(data, 7, sizeof(data));
	w.a.ep = plain_ep(&w.a);
	(void)listen_at(&w.b, QUAL);
	must(dat_ep_connect(w.a.ep, address(&w.b), QUAL, DAT_TIMEOUT_INFINITE, size, data,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = expect_event(w.b.cr, DAT_CONNECTION_REQUEST_EVENT)
		     .event_data.cr_arrival_event_data.cr_handle;
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, size);
	ck_assert(size == 0 || memcmp(param.private_data, data, (size_t)size) == 0);
	must(dat_cr_reject(cr));
}
END_TEST

/*
 * 55 bytes of libdat's data leave no room for a mark. What another kind of peer sends can therefore
 * equal them, and loses its last byte; no other private data does.
 */
START_TEST(private_data_of_another_peer_loses_a_byte_only_if_libdat_could_have_sent_it)
{
	static uint8_t data[56];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	memset(data, 7, sizeof(data));
	data[55] = 0x80 | 55;
	stub_config.foreign = data;
	w.a.ep = plain_ep(&w.a);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, 55);
	ck_assert_mem_eq(param.private_data, data, 56);
	must(dat_cr_reject(cr));
}
END_TEST

/* ---- attempts that are repeated ---- */

/* With a deadline they are repeated until then, without one for a minute. */
START_TEST(a_name_that_nobody_answers_for_is_asked_for_again)
{
	DAT_CR_HANDLE cr;

	stub_config.unresolved_addr = _i ? 5 : 40;
	stub_config.unresolved_route = _i ? 5 : 40;
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	post_recv(&w.b, w.b.ep, 0);
	(void)listen_at(&w.b, QUAL);
	must(try_connect(w.a.ep, &w.b, QUAL, _i ? DAT_TIMEOUT_INFINITE : 600000000));
	cr = expect_event(w.b.cr, DAT_CONNECTION_REQUEST_EVENT)
		     .event_data.cr_arrival_event_data.cr_handle;
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	ck_assert_int_eq(stub_config.unresolved_addr + stub_config.unresolved_route, 0);
	message_passes();
}
END_TEST

START_TEST(a_name_that_nobody_ever_answers_for_is_unreachable)
{
	stub_config.unresolved_addr = INT_MAX;
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}
END_TEST

START_TEST(an_Endpoint_that_found_nobody_asks_as_often_the_next_time)
{
	stub_config.unresolved_addr = INT_MAX;
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	must(dat_ep_reset(w.a.ep));
	stub_config.unresolved_addr = 5;
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	ck_assert_int_eq(stub_config.unresolved_addr, 0);
}
END_TEST

/* With the Receives that are posted already, on both sides. */
START_TEST(a_request_that_is_taken_for_an_old_connection_is_made_again)
{
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	post_recv(&w.a, w.a.ep, 1);
	post_recv(&w.b, w.b.ep, 0);
	stub_config.stale = 3;
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	ck_assert_int_eq(stub_config.stale, 0);
	message_passes();
	post_send(&w.b, w.b.ep, 8, SHORT);
	expect_dto(w.a.recv, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.b.request, w.b.ep, 8, DAT_DTO_SUCCESS);
}
END_TEST

static void setup_on_infiniband(void)
{
	stub_config.iwarp = false;
	setup_sides();
}

static void fill(Suite *suite)
{
	unit_add(suite, who_asks_hears_what_librdmacm_says, COUNT(fates), setup_on_infiniband);
	unit_add(suite, a_request_whose_peer_is_gone_cannot_be_accepted, COUNT(fates),
		 setup_on_infiniband);
	unit_add(suite, an_answer_that_does_not_arrive_is_an_error_of_who_accepts, COUNT(fates),
		 setup_on_infiniband);
	unit_add(suite, a_request_that_cannot_be_accepted_is_rejected_at_once, 1,
		 setup_on_infiniband);
	unit_add(suite, an_end_before_the_last_message_of_the_connection_is_told_after_it, 2,
		 setup_on_infiniband);
	unit_add(suite, an_Endpoint_that_is_freed_before_the_last_message_ends_its_connection, 1,
		 setup_on_infiniband);
	unit_add(suite, an_id_that_waits_for_its_peer_goes_with_any_end, COUNT(ends_of_waiting),
		 setup_on_infiniband);
	unit_add(suite, a_connection_whose_peer_rejects_it_late_is_disconnected, 1,
		 setup_on_infiniband);
	unit_add(suite, an_error_tells_the_cause_of_an_end_better_than_its_event, 2,
		 setup_on_infiniband);
	unit_add(suite, the_first_cause_of_an_end_that_is_known_is_the_one_that_is_told, 2,
		 setup_on_infiniband);
	unit_add(suite, a_connection_whose_last_message_never_comes_is_broken, COUNT(ends),
		 setup_on_infiniband);
	unit_add(suite, a_late_rejection_may_follow_a_flush, 1, setup_on_infiniband);
	unit_add(suite, a_device_may_be_removed_before_there_is_a_connection, 1,
		 setup_on_infiniband);
	unit_add(suite, A5_private_data_of_another_kind_of_peer_is_whole, COUNT(lengths),
		 setup_on_infiniband);
	unit_add(suite, A5_private_data_of_another_kind_of_peer_is_cut, 2, setup_fabric);
	unit_add(suite, A5_private_data_arrives_with_its_size, 6, setup_on_infiniband);
	unit_add(suite, private_data_of_another_peer_loses_a_byte_only_if_libdat_could_have_sent_it,
		 1, setup_on_infiniband);
	unit_test(suite, five_hundred_requests_at_once_all_arrive);
	unit_test_loop(suite, an_EP_that_is_freed_while_its_connection_ends_is_forgotten, 2);
	unit_add(suite, an_EP_that_is_freed_while_it_asks_has_no_deadline_any_more, 1,
		 setup_on_infiniband);
	unit_test_loop(suite, a_name_that_nobody_answers_for_is_asked_for_again, 2);
	unit_test(suite, a_name_that_nobody_ever_answers_for_is_unreachable);
	unit_test(suite, an_Endpoint_that_found_nobody_asks_as_often_the_next_time);
	unit_add(suite, a_request_that_is_taken_for_an_old_connection_is_made_again, 1,
		 setup_on_infiniband);
	unit_add(suite, a_program_that_rejects_is_told_from_nobody_there, COUNT(kinds),
		 setup_fabric);
	unit_add(suite, a_peer_hears_of_the_end_though_the_first_message_of_it_is_lost, WAYS,
		 setup_on_infiniband);
}

int main(void)
{
	return unit_run_on_stub("cm", fill);
}
