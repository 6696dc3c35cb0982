/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first message of a connection, which a device may have before librdmacm has told that the
 * connection is established: it makes the connection established, and its event comes first.
 */
#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

/* The QP that was created last. */
static struct stub_qp *newest_qp(void)
{
	struct stub_qp *qp = NULL;

	for (uint32_t i = 0; i < STUB_QP; i++)
		qp = stub_qp_by_number(i) ? stub_qp_by_number(i) : qp;
	ck_assert_ptr_nonnull(qp);
	return qp;
}

/* The peer may send as soon as it has the answer, before librdmacm reports the connection. */
static void first_message(bool srq)
{
	int notified = stub_notified();
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	if (srq) {
		w.b.srq = make_srq(&w.b, 4, DAT_SRQ_LW_DEFAULT);
		w.b.ep = srq_ep(&w.b, w.b.srq);
		post_srqs(&w.b, 0, 1);
	} else {
		w.b.ep = plain_ep(&w.b);
		post_recv(&w.b, w.b.ep, 0);
	}
	post_recv(&w.a, w.a.ep, 2);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_config.quiet_accept = true;
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_state(w.b.ep, DAT_EP_STATE_COMPLETION_PENDING);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	/* The kernel does not wait for the peer's last message any longer. */
	ck_assert_int_eq(stub_notified() - notified, !stub_config.iwarp);
	post_send(&w.b, w.b.ep, 3, SHORT);
	expect_dto(w.a.recv, w.a.ep, 2, DAT_DTO_SUCCESS);
}

START_TEST(the_first_message_can_be_answered_though_librdmacm_is_late)
{
	first_message(false);
}
END_TEST

START_TEST(the_first_message_through_an_SRQ_can_be_answered_though_librdmacm_is_late)
{
	first_message(true);
}
END_TEST

/*
 * Accept a connection on an EP of side b, all of whose events but those of requests go to one EVD.
 * The device does not tell that it is established; n messages of side a are there.
 */
static DAT_EVD_HANDLE send_at_once(DAT_COUNT qlen, int n)
{
	DAT_EVD_FLAGS flags =
		(DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE evd;
	DAT_CR_HANDLE cr;

	must(dat_evd_create(w.b.ia, qlen, DAT_HANDLE_NULL, flags, &evd));
	w.a.ep = plain_ep(&w.a);
	must(dat_ep_create(w.b.ia, w.b.pz, evd, w.b.request, evd, NULL, &w.b.ep));
	post_recvs(&w.b, w.b.ep, 0, 4);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_config.quiet_accept = true;
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (int i = 0; i < n; i++)
		post_send(&w.a, w.a.ep, 4 + i, SHORT);
	return evd;
}

static void free_both(DAT_EVD_HANDLE evd)
{
	must(dat_ep_free(w.b.ep));
	w.b.ep = DAT_HANDLE_NULL;
	must(dat_evd_free(evd));
}

/* The event thread sees the first one, or a dequeue does. */
START_TEST(first_messages_come_after_ESTABLISHED_and_in_order_on_one_EVD)
{
	DAT_EVD_HANDLE evd = send_at_once(4, 3);
	DAT_EVENT event;

	/* The test has not looked at the CQ before. */
	must(dat_evd_dequeue(evd, &event));
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (int i = 0; i < 3; i++)
		expect_dto(evd, w.b.ep, i, DAT_DTO_SUCCESS);
	expect_no_event(evd);
	free_both(evd);
}
END_TEST

/* Both are there when the wait begins, and nothing wakes it later. */
START_TEST(A2a_a_wait_counts_ESTABLISHED_beside_the_message_that_brings_it)
{
	DAT_EVD_HANDLE evd = send_at_once(8, 1);
	DAT_COUNT nmore = -1;
	DAT_EVENT event;

	must(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 2, &event, &nmore));
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	ck_assert_int_eq(nmore, 1);
	expect_dto(evd, w.b.ep, 0, DAT_DTO_SUCCESS);
	free_both(evd);
}
END_TEST

START_TEST(a_software_event_finds_no_room_beside_ESTABLISHED_and_its_message)
{
	DAT_EVD_HANDLE evd = send_at_once(2, 1);
	DAT_EVENT software = { .event_number = DAT_SOFTWARE_EVENT }, event;

	must_fail(dat_evd_post_se(evd, &software), DAT_QUEUE_FULL, ANY_SUBTYPE);
	must(dat_evd_dequeue(evd, &event));
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_dto(evd, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_no_event(evd);
	free_both(evd);
}
END_TEST

/* The EVD has room for one of the two. */
START_TEST(E1_a_resize_counts_ESTABLISHED_beside_the_message_that_brings_it)
{
	DAT_EVD_HANDLE evd = send_at_once(4, 1);
	DAT_EVENT event;

	must_fail(dat_evd_resize(evd, 1), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	must(dat_evd_resize(evd, 2));
	must(dat_evd_dequeue(evd, &event));
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_dto(evd, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_no_event(evd);
	free_both(evd);
}
END_TEST

static void complete_two_more(struct ibv_cq *cq)
{
	struct stub_qp *qp = newest_qp();
	struct ibv_wc wc = { .status = IBV_WC_SUCCESS,
			     .opcode = IBV_WC_RECV,
			     .byte_len = SHORT,
			     .qp_num = qp->v.qp_num };

	if (cq != qp->v.recv_cq)
		return;
	stub_after_poll = NULL;
	for (int i = 0; i < 2; i++) {
		wc.wr_id = qp->own.at[qp->own.get++ & qp->own.mask].wr_id;
		stub_complete((struct stub_cq *)cq, &wc, true);
	}
}

/* The event thread has done its part, and none of the completions that come now wakes it. */
static void quiet_events(DAT_EVD_HANDLE evd)
{
	struct stub_cq *cq = (struct stub_cq *)newest_qp()->v.recv_cq;

	stub_await_events_taken(&cq->v);
	expect_no_event(evd);
	stub_lock();
	cq->armed = STUB_NOT_ARMED;
	stub_unlock();
}

/* One completion is there at the first look, and two more at the second. */
START_TEST(a_software_event_finds_no_room_beside_completions_that_come_meanwhile)
{
	DAT_EVD_HANDLE evd = send_at_once(3, 1);
	DAT_EVENT software = { .event_number = DAT_SOFTWARE_EVENT }, event;

	must(dat_evd_dequeue(evd, &event));
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_dto(evd, w.b.ep, 0, DAT_DTO_SUCCESS);
	quiet_events(evd);
	post_send(&w.a, w.a.ep, 5, SHORT);
	stub_after_poll = complete_two_more;
	must_fail(dat_evd_post_se(evd, &software), DAT_QUEUE_FULL, ANY_SUBTYPE);
	ck_assert_ptr_null(stub_after_poll);
	for (int i = 1; i < 4; i++)
		expect_dto(evd, w.b.ep, i, DAT_DTO_SUCCESS);
	expect_no_event(evd);
	free_both(evd);
}
END_TEST

/* The device says that the peer sends already: that ends the wait for the peer's last message. */
START_TEST(a_connection_that_the_device_knows_of_is_established)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_config.quiet_accept = true;
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_no_event(w.b.connect);
	stub_async(IBV_EVENT_COMM_EST, newest_qp());
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}
END_TEST

/* ---- iWARP: the side that asks ---- */

/* The side that accepts sends as soon as it has answered, and the other has not read the answer. */
static void accept_and_greet(bool srq)
{
	char hello[] = { 'h', 'e', 'l', 'l', 'o' };
	DAT_CR_HANDLE cr;

	stub_config = (struct stub_config){ .iwarp = true, .hears_late = true };
	setup_sides();
	w.b.ep = plain_ep(&w.b);
	if (srq) {
		w.a.srq = make_srq(&w.a, 4, DAT_SRQ_LW_DEFAULT);
		w.a.ep = srq_ep(&w.a, w.a.srq);
		post_srqs(&w.a, 0, 2);
	} else {
		w.a.ep = plain_ep(&w.a);
		post_recvs(&w.a, w.a.ep, 0, 2);
	}
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_accept(cr, w.b.ep, sizeof(hello), hello));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	for (int i = 2; i < 4; i++) {
		post_send(&w.b, w.b.ep, i, SHORT);
		expect_dto(w.b.request, w.b.ep, i, DAT_DTO_SUCCESS);
	}
	/* The program could not answer it yet. */
	expect_no_event(w.a.recv);
	expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
}

START_TEST(a_greeting_that_overtakes_the_answer_comes_after_ESTABLISHED)
{
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_COUNT nmore;
	DAT_EVENT event;

	accept_and_greet(_i);
	stub_resend();
	must(dat_evd_wait(w.a.recv, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
	ck_assert_int_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	expect_dto(w.a.recv, w.a.ep, 1, DAT_DTO_SUCCESS);
	must(dat_evd_dequeue(w.a.connect, &event));
	ck_assert_int_eq(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	data = &event.event_data.connect_event_data;
	ck_assert_int_eq(data->private_data_size, 5);
	ck_assert_mem_eq(data->private_data, "hello", 5);
	post_recv(&w.b, w.b.ep, 5);
	post_send(&w.a, w.a.ep, 4, SHORT);
	expect_dto(w.b.recv, w.b.ep, 5, DAT_DTO_SUCCESS);
}
END_TEST

/* The stream breaks before the answer is read. */
START_TEST(a_flush_does_not_overtake_the_greetings_before_it)
{
	struct stub_qp *qp;

	accept_and_greet(false);
	post_recv(&w.a, w.a.ep, 5);
	qp = newest_qp();
	stub_to_error(qp);
	stub_to_error(qp->peer);
	expect_no_event(w.a.recv);
	stub_resend();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.recv, w.a.ep, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.recv, w.a.ep, 5, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* Its buffers are not lost: of an SRQ they have to come back. */
START_TEST(a_greeting_that_overtakes_the_end_of_the_attempt_is_there)
{
	accept_and_greet(_i);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_dto(w.a.recv, w.a.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.recv, w.a.ep, 1, DAT_DTO_SUCCESS);
	if (_i)
		srq_counts(w.a.srq, 4, 0, 0);
}
END_TEST

START_TEST(Q4_a_greeting_to_an_Endpoint_that_is_freed_gives_its_buffers_back)
{
	int objects;

	accept_and_greet(_i);
	objects = stub_objects();
	must(dat_ep_free(w.a.ep));
	w.a.ep = NO_HANDLE;
	if (_i)
		srq_counts(w.a.srq, 4, 0, 0);
	expect_no_event(w.a.recv);
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	stub_await_objects(objects - 2);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_test(suite, the_first_message_can_be_answered_though_librdmacm_is_late);
	unit_test(suite, the_first_message_through_an_SRQ_can_be_answered_though_librdmacm_is_late);
	unit_test(suite, first_messages_come_after_ESTABLISHED_and_in_order_on_one_EVD);
	unit_test(suite, A2a_a_wait_counts_ESTABLISHED_beside_the_message_that_brings_it);
	unit_test(suite, a_software_event_finds_no_room_beside_ESTABLISHED_and_its_message);
	unit_test(suite, E1_a_resize_counts_ESTABLISHED_beside_the_message_that_brings_it);
	unit_test(suite, a_software_event_finds_no_room_beside_completions_that_come_meanwhile);
	unit_test(suite, a_connection_that_the_device_knows_of_is_established);
	unit_add(suite, a_greeting_that_overtakes_the_answer_comes_after_ESTABLISHED, 2,
		 setup_nothing);
	unit_add(suite, a_flush_does_not_overtake_the_greetings_before_it, 1, setup_nothing);
	unit_add(suite, a_greeting_that_overtakes_the_end_of_the_attempt_is_there, 2,
		 setup_nothing);
	unit_add(suite, Q4_a_greeting_to_an_Endpoint_that_is_freed_gives_its_buffers_back, 2,
		 setup_nothing);
}

int main(void)
{
	return unit_run_on_stub("first", fill);
}
