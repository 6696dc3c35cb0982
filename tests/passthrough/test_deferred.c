/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that the kernel is slow to destroy - an id that asked for a connection and has no answer,
 * and its QP - delay no call. On the device of tests/stubverbs their destruction takes until the
 * test releases it.
 */

#include "tests/stubverbs/stub.h"
#include "tests/support/support.h"

static int before;

/* An EP of side a, with or without an SRQ, with an unanswered request at side b */
static DAT_CR_HANDLE ask(bool with_srq, DAT_EP_HANDLE *ep)
{
	before = stub_objects();
	if (with_srq) {
		w.a.srq = make_srq(&w.a, 4, DAT_SRQ_LW_DEFAULT);
		*ep = srq_ep(&w.a, w.a.srq);
		post_srqs(&w.a, 8, 2);
	} else {
		*ep = plain_ep(&w.a);
		post_recvs(&w.a, *ep, 8, 2);
	}
	return request(*ep, &w.b, QUAL + 1);
}

/* Everything else works: messages, connections, new objects and their destruction. */
static void others_go_on(void)
{
	DAT_EP_HANDLE a = plain_ep(&w.a), b = plain_ep(&w.b);
	DAT_EVD_HANDLE evd = make_evd(&w.a, 8, DAT_EVD_DTO_FLAG);

	connect_eps(&w.a, a, &w.b, b);
	post_recv(&w.b, w.b.ep, 0);
	post_recv(&w.b, b, 1);
	post_send(&w.a, w.a.ep, 2, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, w.a.ep, 2, DAT_DTO_SUCCESS);
	post_send(&w.a, a, 3, SHORT);
	expect_dto(w.b.recv, b, 1, DAT_DTO_SUCCESS);
	expect_dto(w.a.request, a, 3, DAT_DTO_SUCCESS);
	must(dat_ep_disconnect(a, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.a.connect, a, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_connection(w.b.connect, b, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_free(a));
	must(dat_ep_free(b));
	must(dat_evd_free(evd));
}

static void let_go(void)
{
	stub_hold(false);
	stub_await_objects(before);
	ck_assert_int_eq(stub_objects(), before);
}

START_TEST(an_EP_that_was_not_answered_is_freed_at_once)
{
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;

	plain_pair();
	cr = ask(_i, &ep);
	stub_hold(true);
	must(dat_ep_free(ep));
	stub_await_held(1);
	others_go_on();
	must(dat_cr_reject(cr));
	if (_i)
		must(dat_srq_free(w.a.srq));
	let_go();
}
END_TEST

/* The answer that is missing is that to the request, and not an earlier one to the name. */
START_TEST(an_EP_whose_name_was_asked_for_twice_is_freed_at_once_as_well)
{
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;

	plain_pair();
	stub_config.unresolved_addr = _i == 0;
	stub_config.unresolved_route = _i == 1;
	cr = ask(false, &ep);
	ck_assert_int_eq(stub_config.unresolved_addr + stub_config.unresolved_route, 0);
	stub_hold(true);
	must(dat_ep_free(ep));
	stub_await_held(1);
	others_go_on();
	must(dat_cr_reject(cr));
	let_go();
}
END_TEST

/* The first is being destroyed, by a thread of the library's, while the others follow. */
START_TEST(EPs_that_were_not_answered_are_freed_in_a_row)
{
	DAT_EP_HANDLE ep[8];
	DAT_CR_HANDLE cr[8];

	plain_pair();
	before = stub_objects();
	for (int i = 0; i < 8; i++) {
		ep[i] = plain_ep(&w.a);
		cr[i] = request(ep[i], &w.b, QUAL + 1 + (DAT_CONN_QUAL)i);
	}
	for (int i = 0; i < 8; i++)
		must(dat_ep_free(ep[i]));
	others_go_on();
	for (int i = 0; i < 8; i++)
		must(dat_cr_reject(cr[i]));
	let_go();
}
END_TEST

/* The event loop, which delivers the DISCONNECTED event, does not wait either. */
START_TEST(an_EP_that_gave_up_asking_can_be_used_again_at_once)
{
	DAT_EP_HANDLE ep, b;
	DAT_CR_HANDLE cr;

	plain_pair();
	cr = ask(_i, &ep);
	stub_hold(true);
	must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	ck_assert_int_eq(drain(w.a.recv), _i ? 0 : 2);
	stub_await_held(1);
	must(dat_ep_reset(ep));
	b = plain_ep(&w.b);
	connect_eps(&w.a, ep, &w.b, b);
	if (!_i)
		post_recv(&w.a, ep, 4);
	post_send(&w.b, b, 5, SHORT);
	expect_dto(w.a.recv, ep, _i ? 8 : 4, DAT_DTO_SUCCESS);
	others_go_on();
	must(dat_cr_reject(cr));
	must(dat_ep_free(ep));
	must(dat_ep_free(b));
	if (_i)
		must(dat_srq_free(w.a.srq));
	let_go();
}
END_TEST

/*
 * The side that accepts cannot know yet that the other one has gone. On iWARP it is connected until
 * it hears of that.
 */
static void expect_nobody(DAT_EP_HANDLE ep)
{
	if (stub_config.iwarp) {
		expect_connection(w.b.connect, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		expect_connection(w.b.connect, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	} else {
		expect_connection(w.b.connect, ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	}
	expect_state(ep, DAT_EP_STATE_DISCONNECTED);
}

START_TEST(a_request_that_was_given_up_a_moment_ago_is_accepted_in_vain)
{
	DAT_EP_HANDLE ep, b;
	DAT_CR_HANDLE cr;

	plain_pair();
	before = stub_objects();
	ep = plain_ep(&w.a);
	b = plain_ep(&w.b);
	if (_i)
		post_recvs(&w.a, ep, 8, 2);
	cr = request(ep, &w.b, QUAL + 1);
	stub_hold(true);
	must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	stub_await_held(1);
	must(dat_cr_accept(cr, b, 0, NULL));
	stub_hold(false);
	expect_nobody(b);
	must(dat_ep_reset(ep));
	must(dat_ep_reset(b));
	connect_eps(&w.a, ep, &w.b, b);
	others_go_on();
	must(dat_ep_free(ep));
	must(dat_ep_free(b));
	let_go();
}
END_TEST

/* The objects that the EP depends on are destroyed after it. */
START_TEST(an_adapter_with_an_EP_that_was_not_answered_is_closed_at_once)
{
	DAT_EP_HANDLE ep;
	int closed;

	plain_pair();
	side_close(&w.a);
	side_close(&w.b);
	closed = stub_objects();
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	(void)ask(_i, &ep);
	stub_hold(true);
	side_close(&w.a);
	stub_await_held(1);
	side_close(&w.b);
	ck_assert_int_gt(stub_objects(), closed);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	others_go_on();
	side_close(&w.a);
	side_close(&w.b);
	stub_hold(false);
	stub_await_objects(closed);
	ck_assert_int_eq(stub_objects(), closed);
}
END_TEST

/* The peer has not heard of the end, and never will. */
START_TEST(an_id_that_waits_for_its_peer_goes_with_the_last_adapter)
{
	int closed;

	side_close(&w.a);
	side_close(&w.b);
	closed = stub_objects();
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	plain_pair();
	stub_config.lose = STUB_DREQ;
	stub_config.resends = false;
	must(dat_ep_free(w.a.ep));
	side_close(&w.a);
	side_close(&w.b);
	stub_await_objects(closed);
	ck_assert_int_eq(stub_objects(), closed);
}
END_TEST

static struct stub_qp *asking_qp(void)
{
	struct stub_qp *qp = NULL;

	for (uint32_t i = 0; i < STUB_QP; i++)
		if (stub_qp_by_number(i) && stub_qp_by_number(i)->asked)
			qp = stub_qp_by_number(i);
	ck_assert_ptr_nonnull(qp);
	return qp;
}

/* Late completions and events find no Endpoint. */
START_TEST(what_comes_late_for_an_EP_that_is_gone_is_dropped)
{
	struct ibv_wc late = { .status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV };
	struct stub_qp *qp;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;

	plain_pair();
	cr = ask(false, &ep);
	qp = asking_qp();
	late.wr_id = qp->own.at[0].wr_id;
	late.qp_num = qp->v.qp_num;
	stub_hold(true);
	must(dat_ep_free(ep));
	stub_await_held(1);
	stub_complete((struct stub_cq *)qp->v.recv_cq, &late, false);
	stub_async(IBV_EVENT_QP_FATAL, qp);
	must(dat_cr_reject(cr));
	ck_assert_int_eq(drain(w.a.recv), 0);
	others_go_on();
	expect_no_event(w.a.async);
	expect_no_event(w.a.connect);
	let_go();
}
END_TEST

/* The QP is flushed as late as it is destroyed. Its completions name memory that goes with it. */
START_TEST(no_completion_is_left_of_an_EP_that_is_gone)
{
	DAT_EP_HANDLE ep, next;
	DAT_CR_HANDLE cr;
	struct stub_cq *cq;
	uint32_t put;

	plain_pair();
	stub_config.cleans = false;
	stub_config.flush_polls = INT_MAX / 2;
	cr = ask(false, &ep);
	cq = (struct stub_cq *)asking_qp()->v.recv_cq;
	put = cq->put;
	/* The CQ of the stub is for one thread at a time: none uses it while it is flushed. */
	stub_hold(true);
	must(dat_ep_free(ep));
	must(dat_cr_reject(cr));
	stub_hold(false);
	stub_await_objects(before);
	/* When the next one is being destroyed, nothing of the former is there any more. */
	next = plain_ep(&w.b);
	cr = request(next, &w.a, QUAL + 2);
	stub_hold(true);
	must(dat_ep_free(next));
	stub_await_held(1);
	stub_lock();
	ck_assert_uint_eq(cq->put, put + 2);
	ck_assert_uint_eq(cq->get, cq->put);
	stub_unlock();
	must(dat_cr_reject(cr));
	let_go();
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, an_EP_that_was_not_answered_is_freed_at_once, 2);
	unit_test_loop(suite, an_EP_whose_name_was_asked_for_twice_is_freed_at_once_as_well, 2);
	unit_test(suite, EPs_that_were_not_answered_are_freed_in_a_row);
	unit_test_loop(suite, an_EP_that_gave_up_asking_can_be_used_again_at_once, 2);
	unit_test_loop(suite, a_request_that_was_given_up_a_moment_ago_is_accepted_in_vain, 2);
	unit_test_loop(suite, an_adapter_with_an_EP_that_was_not_answered_is_closed_at_once, 2);
	unit_test(suite, an_id_that_waits_for_its_peer_goes_with_the_last_adapter);
	unit_test(suite, no_completion_is_left_of_an_EP_that_is_gone);
	unit_test(suite, what_comes_late_for_an_EP_that_is_gone_is_dropped);
}

int main(void)
{
	return unit_run_on_stub("deferred", fill);
}
