/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agents of CNOs: ruling E2, and the pages of dat_cno_create and dat_cno_modify_agent. Also the
 * waiting states of an EVD that must change during a wait: an agent changes them.
 */
#include "tests/support/support.h"

/* What the agent saw, and the action it takes */
static struct {
	int calls;
	DAT_EVD_HANDLE evd;
	DAT_UINT64 at_ns;
	void (*act)(void);
} seen;

static DAT_CNO_HANDLE cno;
static DAT_EVD_HANDLE evd, other;
static DAT_RETURN result;

static void agent(DAT_PVOID data, DAT_EVD_HANDLE notified)
{
	ck_assert_ptr_eq(data, &seen);
	seen.calls++;
	seen.evd = notified;
	must(dat_sim_now(w.sim, &seen.at_ns));
	if (seen.act)
		seen.act();
}

static const DAT_OS_WAIT_PROXY_AGENT some = { &seen, agent };
static const DAT_OS_WAIT_PROXY_AGENT no_agent;

/* Creates a CNO of `side` with an agent, and an EVD that notifies it. */
static void watch(struct side *side, void (*act)(void))
{
	memset(&seen, 0, sizeof(seen));
	seen.act = act;
	must(dat_cno_create(side->ia, some, &cno));
	must(dat_evd_create(side->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	must(dat_evd_create(side->ia, 8, NO_HANDLE, DAT_EVD_SOFTWARE_FLAG, &other));
}

static bool has_agent(void)
{
	DAT_CNO_PARAM param;

	must(dat_cno_query(cno, DAT_CNO_FIELD_AGENT, &param));
	ck_assert_ptr_eq(param.agent.instance_data, param.agent.proxy_agent_func ? &seen : NULL);
	return param.agent.proxy_agent_func == agent;
}

/* A connected pair; the agent is notified of receives of w.b. */
static void watched_pair(void (*act)(void))
{
	plain_pair();
	watch(&w.b, act);
	must(dat_evd_modify_cno(w.b.recv, cno));
	post_recvs(&w.b, w.b.ep, 0, 4);
}

/* ---- one shot ---- */

START_TEST(E2_an_agent_is_called_once)
{
	watch(&w.a, NULL);
	ck_assert(has_agent());
	post_se(evd, 1);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_ptr_eq(seen.evd, evd);
	ck_assert(!has_agent());
	post_se(evd, 2);
	ck_assert_int_eq(drain(evd), 2);
	post_se(evd, 3);
	ck_assert_int_eq(seen.calls, 1);
}
END_TEST

START_TEST(E2_modify_agent_associates_again)
{
	watch(&w.a, NULL);
	post_se(evd, 1);
	must(dat_cno_modify_agent(cno, some));
	ck_assert(has_agent());
	ck_assert_int_eq(seen.calls, 1); /* the earlier trigger was already reported */
	post_se(evd, 2);
	ck_assert_int_eq(seen.calls, 2);
	must(dat_cno_modify_agent(cno, some));
	must(dat_cno_modify_agent(cno, no_agent));
	ck_assert(!has_agent());
	post_se(evd, 3);
	ck_assert_int_eq(seen.calls, 2);
}
END_TEST

START_TEST(page_a_trigger_goes_to_the_agent_and_to_the_CNO)
{
	DAT_EVD_HANDLE notified = NO_HANDLE;

	watch(&w.a, NULL);
	post_se(evd, 1);
	must(dat_cno_wait(cno, 0, &notified));
	ck_assert_ptr_eq(notified, evd);
	ck_assert_int_eq(seen.calls, 1);
}
END_TEST

START_TEST(page_a_latched_trigger_that_moves_with_its_EVD_calls_the_new_agent)
{
	DAT_CNO_HANDLE before;

	watch(&w.a, NULL);
	must(dat_cno_create(w.a.ia, no_agent, &before));
	must(dat_evd_modify_cno(evd, before));
	post_se(evd, 1);
	ck_assert_int_eq(seen.calls, 0);
	must(dat_evd_modify_cno(evd, cno));
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_ptr_eq(seen.evd, evd);
	expect_silence(before);
	expect_notified(cno, evd);
}
END_TEST

START_TEST(page_a_disabled_EVD_calls_no_agent)
{
	watch(&w.a, NULL);
	must(dat_evd_disable(evd));
	post_se(evd, 1);
	ck_assert_int_eq(seen.calls, 0);
	ck_assert(has_agent());
}
END_TEST

START_TEST(page_a_CNO_is_freed_with_its_agent_uncalled)
{
	watch(&w.a, NULL);
	must(dat_evd_free(evd));
	must(dat_cno_free(cno));
	ck_assert_int_eq(seen.calls, 0);
}
END_TEST

START_TEST(page_when_the_IA_is_closed_agents_are_called_with_no_EVD)
{
	watch(&w.a, NULL);
	seen.evd = evd;
	side_close(&w.a);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_ptr_eq(seen.evd, NO_HANDLE);
}
END_TEST

/* ---- any call that lets the event happen calls the agent before it returns ---- */

START_TEST(E2_a_poll_elsewhere_calls_the_agent)
{
	DAT_EVENT event;

	watched_pair(NULL);
	post_send(&w.a, w.a.ep, 0, SHORT);
	ck_assert_int_eq(seen.calls, 0);
	must(dat_sim_advance(w.sim, LATENCY_NS - 1));
	ck_assert_int_eq(seen.calls, 0);
	/* The message is due in one nanosecond: the next wait lets it arrive. */
	must_fail(dat_evd_wait(w.b.request, 1, 1, &event, NULL), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_ptr_eq(seen.evd, w.b.recv);
}
END_TEST

/* A dequeue that finds nothing lets a quantum pass; this EVD passes completions on uncopied. */
START_TEST(E2_a_vain_dequeue_elsewhere_calls_the_agent)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);
	DAT_EVENT event;

	config.poll_quantum_ns = 10 * LATENCY_NS;
	fabric_create(&config);
	side_open(&w.a, "emu0");
	side_open(&w.b, "emu1");
	watched_pair(NULL);
	post_send(&w.a, w.a.ep, 0, SHORT);
	ck_assert_int_eq(seen.calls, 0);
	ck_assert_uint_eq(dat_evd_dequeue(w.b.request, &event), DAT_QUEUE_EMPTY);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_ptr_eq(seen.evd, w.b.recv);
}
END_TEST

START_TEST(E2_a_post_that_is_flushed_at_once_calls_the_agent)
{
	DAT_LMR_TRIPLET iov;

	plain_pair();
	watch(&w.a, NULL);
	must(dat_evd_modify_cno(w.a.recv, cno));
	must(dat_evd_modify_cno(w.a.request, cno));
	disconnect_pair();
	ck_assert_int_eq(seen.calls, 0);
	iov = segment(&w.a, 0, SHORT);
	must(dat_ep_post_recv(w.a.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_ptr_eq(seen.evd, w.a.recv);
	must(dat_cno_modify_agent(cno, some));
	must(dat_ep_post_send(w.a.ep, 1, &iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	ck_assert_int_eq(seen.calls, 2);
	ck_assert_ptr_eq(seen.evd, w.a.request);
}
END_TEST

START_TEST(E2_while_time_passes_an_agent_is_called_at_its_time)
{
	DAT_UINT64 start;

	watched_pair(NULL);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	if (_i == 0)
		advance_us(1000);
	else
		run_quiet();
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_uint_eq(seen.at_ns - start, LATENCY_NS);
}
END_TEST

/* ---- an agent may use the whole API ---- */

static void dequeue_and_rearm(void)
{
	DAT_EVENT event;

	if (seen.evd == NO_HANDLE)
		return; /* the IA is being closed */
	must(dat_evd_dequeue(seen.evd, &event));
	must(dat_cno_modify_agent(cno, some));
}

START_TEST(E2_an_agent_that_associates_itself_again_sees_every_message)
{
	watched_pair(dequeue_and_rearm);
	for (int n = 0; n < 4; n++)
		post_send(&w.a, w.a.ep, n, SHORT);
	run_quiet();
	ck_assert_int_eq(seen.calls, 4);
	ck_assert(has_agent());
	expect_no_event(w.b.recv);
}
END_TEST

static void feed_itself(void)
{
	static int depth;

	ck_assert_int_eq(depth++, 0);
	ck_assert_int_eq(drain(evd), 1);
	if (seen.calls < 1000) {
		must(dat_cno_modify_agent(cno, some));
		post_se(evd, seen.calls);
	}
	depth--;
}

START_TEST(E2_an_agent_that_triggers_itself_does_not_nest)
{
	watch(&w.a, feed_itself);
	post_se(evd, 0);
	ck_assert_int_eq(seen.calls, 1000);
}
END_TEST

static void send_answer(void)
{
	post_send(&w.b, w.b.ep, 5, SHORT);
}

START_TEST(E2_an_agents_answer_wakes_the_waiter_it_interrupts)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	watched_pair(send_answer);
	post_recv(&w.a, w.a.ep, 7);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_evd_wait(w.a.recv, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_uint_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 7);
}
END_TEST

static void post_other(void)
{
	post_se(other, 4);
}

START_TEST(E2_an_agent_wakes_a_CNO_waiter_it_interrupts)
{
	DAT_EVD_HANDLE notified = NO_HANDLE;
	DAT_CNO_HANDLE second;

	watched_pair(post_other);
	must(dat_cno_create(w.b.ia, no_agent, &second));
	must(dat_evd_modify_cno(other, second));
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_cno_wait(second, DAT_TIMEOUT_INFINITE, &notified));
	ck_assert_ptr_eq(notified, other);
}
END_TEST

static void free_all(void)
{
	must(dat_evd_free(evd));
	must(dat_evd_modify_cno(w.b.recv, NO_HANDLE));
	must(dat_cno_free(cno));
}

START_TEST(E2_an_agent_may_free_its_CNO)
{
	watched_pair(free_all);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CNO), 0);
}
END_TEST

static void free_last_evd(void)
{
	result = dat_evd_free(other);
}

START_TEST(page_a_CNO_waiter_leaves_when_the_last_EVD_is_freed)
{
	DAT_EVD_HANDLE notified = (DAT_EVD_HANDLE)&w;
	DAT_CNO_HANDLE second;

	watched_pair(free_last_evd);
	must(dat_cno_create(w.b.ia, no_agent, &second));
	must(dat_evd_modify_cno(other, second));
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_cno_wait(second, DAT_TIMEOUT_INFINITE, &notified));
	ck_assert_ptr_eq(notified, NO_HANDLE);
	must(result);
	must(dat_cno_free(second));
}
END_TEST

static DAT_CNO_HANDLE waited_on;

static void try_free_cno(void)
{
	result = dat_cno_free(waited_on);
}

START_TEST(page_a_CNO_is_not_freed_under_a_waiter)
{
	DAT_EVD_HANDLE notified;

	watched_pair(try_free_cno);
	must(dat_cno_create(w.b.ia, no_agent, &waited_on));
	post_send(&w.a, w.a.ep, 0, SHORT);
	ck_assert_uint_eq(dat_cno_wait(waited_on, 100, &notified), DAT_QUEUE_EMPTY);
	ck_assert_int_eq(seen.calls, 1);
	must_fail(result, DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
	must(dat_cno_free(waited_on));
}
END_TEST

static void close_under_the_waiter(void)
{
	result = dat_ia_close(w.b.ia, DAT_CLOSE_ABRUPT_FLAG);
}

START_TEST(G3_an_agent_cannot_close_what_its_own_thread_waits_on)
{
	DAT_EVD_HANDLE notified;
	DAT_EVENT event;

	watched_pair(close_under_the_waiter);
	must(dat_cno_create(w.b.ia, no_agent, &waited_on));
	post_send(&w.a, w.a.ep, 0, SHORT);
	if (_i == 0)
		must_fail(dat_evd_wait(other, 100, 1, &event, NULL), DAT_TIMEOUT_EXPIRED,
			  ANY_SUBTYPE);
	else
		ck_assert_uint_eq(dat_cno_wait(waited_on, 100, &notified), DAT_QUEUE_EMPTY);
	ck_assert_int_eq(seen.calls, 1);
	must_fail(result, DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
}
END_TEST

static void close_it(void)
{
	must(dat_ia_close(w.b.ia, DAT_CLOSE_ABRUPT_FLAG));
	w.b.ia = NO_HANDLE;
}

START_TEST(E2_an_agent_may_close_the_IA_where_nobody_waits)
{
	watched_pair(close_it);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CNO), 0);
}
END_TEST

START_TEST(C1_an_event_during_a_wait_in_vain_is_the_waiters)
{
	DAT_EVD_HANDLE notified = (DAT_EVD_HANDLE)&w;
	DAT_CNO_HANDLE second;
	DAT_COUNT nmore = -77;
	DAT_EVENT event;

	watched_pair(post_other);
	must(dat_cno_create(w.b.ia, no_agent, &second));
	must(dat_evd_modify_cno(other, second));
	post_send(&w.a, w.a.ep, 0, SHORT);
	must_fail(dat_evd_wait(other, 100, 2, &event, &nmore), DAT_TIMEOUT_EXPIRED, ANY_SUBTYPE);
	ck_assert_int_eq(nmore, 1);
	ck_assert_uint_eq(dat_cno_wait(second, 0, &notified), DAT_QUEUE_EMPTY);
}
END_TEST

/* ---- an EVD becomes unwaitable during a wait ---- */

static bool and_back;

static void make_unwaitable(void)
{
	must(dat_evd_set_unwaitable(other));
	if (and_back)
		must(dat_evd_clear_unwaitable(other));
}

START_TEST(page_set_unwaitable_sends_the_waiter_away)
{
	DAT_UINT64 start;
	DAT_EVENT event;
	DAT_COUNT nmore = -77;

	and_back = _i == 1;
	watched_pair(make_unwaitable);
	start = now_ns();
	post_send(&w.a, w.a.ep, 0, SHORT);
	must_fail(dat_evd_wait(other, DAT_TIMEOUT_INFINITE, 1, &event, &nmore), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_EVD_UNWAITABLE);
	ck_assert_uint_eq(now_ns() - start, LATENCY_NS);
	ck_assert_int_eq(nmore, -77);
	if (and_back)
		must_fail(dat_evd_wait(other, 10, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED,
			  ANY_SUBTYPE);
}
END_TEST

static void look_at_the_waiters_EVD(void)
{
	DAT_EVENT event;

	must_fail(dat_evd_dequeue(other, &event), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	must_fail(dat_evd_wait(other, 0, 1, &event, NULL), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_EVD_WAITER);
	result = dat_evd_free(other);
	post_se(other, 1);
}

START_TEST(page_the_EVD_is_the_waiters_own)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	watched_pair(look_at_the_waiters_EVD);
	post_send(&w.a, w.a.ep, 0, SHORT);
	must(dat_evd_wait(other, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	ck_assert_int_eq(seen.calls, 1);
	must_fail(result, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, E2_an_agent_is_called_once);
	unit_test(suite, E2_modify_agent_associates_again);
	unit_test(suite, page_a_trigger_goes_to_the_agent_and_to_the_CNO);
	unit_test(suite, page_a_latched_trigger_that_moves_with_its_EVD_calls_the_new_agent);
	unit_test(suite, page_a_disabled_EVD_calls_no_agent);
	unit_test(suite, page_a_CNO_is_freed_with_its_agent_uncalled);
	unit_test(suite, page_when_the_IA_is_closed_agents_are_called_with_no_EVD);
	unit_test_all(suite, E2_a_poll_elsewhere_calls_the_agent);
	unit_add(suite, E2_a_vain_dequeue_elsewhere_calls_the_agent, 1, NULL);
	unit_test_all(suite, E2_a_post_that_is_flushed_at_once_calls_the_agent);
	unit_test_loop(suite, E2_while_time_passes_an_agent_is_called_at_its_time, 2);
	unit_test_all(suite, E2_an_agent_that_associates_itself_again_sees_every_message);
	unit_test(suite, E2_an_agent_that_triggers_itself_does_not_nest);
	unit_test_all(suite, E2_an_agents_answer_wakes_the_waiter_it_interrupts);
	unit_test(suite, E2_an_agent_wakes_a_CNO_waiter_it_interrupts);
	unit_test(suite, E2_an_agent_may_free_its_CNO);
	unit_test(suite, page_a_CNO_waiter_leaves_when_the_last_EVD_is_freed);
	unit_test(suite, page_a_CNO_is_not_freed_under_a_waiter);
	unit_test_loop(suite, G3_an_agent_cannot_close_what_its_own_thread_waits_on, 2);
	unit_test(suite, E2_an_agent_may_close_the_IA_where_nobody_waits);
	unit_test(suite, C1_an_event_during_a_wait_in_vain_is_the_waiters);
	unit_test_loop(suite, page_set_unwaitable_sends_the_waiter_away, 2);
	unit_test(suite, page_the_EVD_is_the_waiters_own);
}

UNIT_SUITE("cno_agent")
