/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing adapters, and the limits of an adapter: ruling G9; "page_": the pages. */
#include "tests/support/support.h"

/* ---- closing ---- */

START_TEST(page_a_graceful_close_is_refused_while_objects_are_left)
{
	DAT_EVD_HANDLE async = NO_HANDLE, evd;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	static char emu0[] = "emu0";

	must(dat_ia_open(emu0, 8, &async, &ia));
	must(dat_pz_create(ia, &pz));
	must_fail(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_IA_IN_USE);
	must(dat_pz_query(pz, 0, NULL));
	must(dat_pz_free(pz));
	must(dat_evd_create(ia, 8, NO_HANDLE, DAT_EVD_DTO_FLAG, &evd));
	must_fail(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_IA_IN_USE);
	must(dat_evd_free(evd));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	must_fail(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_IA);
}
END_TEST

START_TEST(page_everything_freed_by_hand_leaves_a_graceful_close)
{
	DAT_PSP_HANDLE psp;

	srq_pair(10);
	psp = listen_at(&w.b, QUAL);
	post_srqs(&w.b, 0, 3);
	deliver(&w.a, w.a.ep, 1);
	must(dat_ep_free(w.b.ep));
	must(dat_srq_free(w.b.srq));
	must(dat_psp_free(psp));
	must(dat_lmr_free(w.b.lmr));
	must(dat_evd_free(w.b.recv));
	must(dat_evd_free(w.b.request));
	must(dat_evd_free(w.b.connect));
	must(dat_evd_free(w.b.cr));
	must(dat_pz_free(w.b.pz));
	must(dat_ia_close(w.b.ia, DAT_CLOSE_GRACEFUL_FLAG));
	w.b.ia = NO_HANDLE;
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}
END_TEST

START_TEST(page_an_unknown_close_flag_is_an_invalid_parameter)
{
	static const int bad[] = { 2, -1, 0x10 };

	must_fail(dat_ia_close(w.a.ia, (DAT_CLOSE_FLAGS)bad[_i]), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	must(dat_ia_query(w.a.ia, NULL, 0, NULL, 0, NULL));
}
END_TEST

/* One object of each kind, each in active use */
START_TEST(page_an_abrupt_close_with_everything_alive_leaks_nothing)
{
	DAT_EP_HANDLE asking = plain_ep(&w.a);

	srq_pair(10);
	(void)request(asking, &w.b, QUAL + 1);
	listen_at(&w.b, QUAL);
	post_srqs(&w.b, 0, 5);
	must(dat_srq_set_lw(w.b.srq, 5));
	must(dat_ep_set_watermark(w.b.ep, 0, 8));
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	send_half(&w.a, w.a.ep, 2, 1);
	post_send(&w.b, w.b.ep, 9, SHORT);
	side_close(&w.b);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_SRQ), 0);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 0);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_PSP), 0);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_EP), 2);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_IA), 1);
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(page_the_peer_of_a_closed_adapter_is_disconnected)
{
	plain_pair();
	side_close(&w.b);
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_state(w.a.ep, DAT_EP_STATE_DISCONNECTED);
}
END_TEST

START_TEST(page_the_handles_of_a_closed_instance_are_stale)
{
	DAT_HANDLE handles[] = { w.a.ia,      w.a.pz, w.a.recv, w.a.async,
				 w.a.connect, w.a.cr, w.a.lmr,  plain_ep(&w.a) };
	DAT_HANDLE_TYPE type;
	size_t i;

	side_close(&w.a);
	for (i = 0; i < COUNT(handles); i++)
		must_fail(dat_get_handle_type(handles[i], &type), DAT_INVALID_HANDLE, ANY_SUBTYPE);
}
END_TEST

START_TEST(page_an_adapter_can_be_opened_again)
{
	int round;

	for (round = 0; round < 20; round++) {
		plain_pair();
		post_recv(&w.b, w.b.ep, 0);
		deliver(&w.a, w.a.ep, 1);
		side_close(&w.a);
		side_close(&w.b);
		ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
		side_open(&w.a, "emu0");
		side_open(&w.b, "emu1");
	}
}
END_TEST

/* What was sent to it before took a minute, and what is sent now has no need to wait for that. */
START_TEST(an_adapter_that_is_opened_again_has_links_as_new)
{
	static const char *const names[] = { "emu0", "emu1" };

	plain_pair();
	for (int i = 0; i < 2; i++) {
		must(dat_sim_set_link(w.sim, names[i], names[!i], UINT64_C(60000000000), 0));
		must(dat_sim_set_link(w.sim, names[i], names[!i], LATENCY_NS, 0));
	}
	side_close(&w.b);
	side_open(&w.b, "emu1");
	w.a.ep = plain_ep(&w.a);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	advance_us(3); /* there is no listener */
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
END_TEST

/* ---- G9: limits ---- */

/* Creates objects until one is refused. Returns their number, and the refusal in *ret. */
#define CREATE_UNTIL_REFUSED(count, ret, call)          \
	do {                                            \
		DAT_HANDLE created;                     \
		(count) = 0;                            \
		while (((ret) = (call)) == DAT_SUCCESS) \
			(count)++;                      \
	} while (0)

START_TEST(G9_endpoints_end_at_max_eps)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_COUNT n;
	DAT_RETURN ret;

	attr.max_recv_dtos = attr.max_request_dtos = attr.max_recv_iov = attr.max_request_iov = 1;
	CREATE_UNTIL_REFUSED(n, ret,
			     dat_ep_create(w.a.ia, w.a.pz, w.a.recv, w.a.request, w.a.connect,
					   &attr, &created));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	ck_assert_int_eq(n, ia_attr(&w.a).max_eps);
}
END_TEST

START_TEST(G9_EVDs_end_at_max_evds)
{
	DAT_COUNT n, before = 5; /* those of w.a itself */
	DAT_RETURN ret;

	CREATE_UNTIL_REFUSED(n, ret,
			     dat_evd_create(w.a.ia, 1, NO_HANDLE, DAT_EVD_SOFTWARE_FLAG, &created));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	ck_assert_int_eq(before + n, ia_attr(&w.a).max_evds);
}
END_TEST

START_TEST(G9_EVDs_with_completions_end_too)
{
	DAT_COUNT n, before = 5;
	DAT_RETURN ret;

	CREATE_UNTIL_REFUSED(n, ret,
			     dat_evd_create(w.a.ia, 1, NO_HANDLE, DAT_EVD_DTO_FLAG, &created));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	ck_assert_int_eq(before + n, ia_attr(&w.a).max_evds);
}
END_TEST

START_TEST(G9_SRQs_end_at_max_srqs)
{
	DAT_SRQ_ATTR attr = { 1, 1, 0 };
	DAT_COUNT n;
	DAT_RETURN ret;

	CREATE_UNTIL_REFUSED(n, ret, dat_srq_create(w.a.ia, w.a.pz, &attr, &created));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	ck_assert_int_eq(n, ia_attr(&w.a).max_srqs);
}
END_TEST

START_TEST(G9_zones_end_at_max_pzs)
{
	DAT_COUNT n;
	DAT_RETURN ret;

	CREATE_UNTIL_REFUSED(n, ret, dat_pz_create(w.a.ia, &created));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN);
	ck_assert_int_eq(1 + n, ia_attr(&w.a).max_pzs);
}
END_TEST

START_TEST(G9_regions_end_at_max_lmrs)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_COUNT n;
	DAT_RETURN ret;

	CREATE_UNTIL_REFUSED(n, ret,
			     dat_lmr_create(w.a.ia, DAT_MEM_TYPE_VIRTUAL, region, 8, w.a.pz,
					    DAT_MEM_PRIV_ALL_FLAG, &created, NULL, NULL, NULL,
					    NULL));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	ck_assert_int_eq(1 + n, ia_attr(&w.a).max_lmrs);
}
END_TEST

START_TEST(G9_listeners_end)
{
	DAT_COUNT n;
	DAT_RETURN ret;

	CREATE_UNTIL_REFUSED(n, ret,
			     dat_psp_create(w.a.ia, (DAT_CONN_QUAL)n + 1, w.a.cr,
					    DAT_PSP_CONSUMER_FLAG, &created));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	ck_assert_int_gt(n, 0);
}
END_TEST

/* Public and reserved service points share one limit. */
START_TEST(G9_listeners_of_all_kinds_end_together)
{
	DAT_CONN_QUAL qual = 0;
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_PSP_HANDLE psp = listen_at(&w.a, QUAL - 1);
	DAT_RSP_HANDLE rsp = NO_HANDLE;
	DAT_COUNT n, publics;
	DAT_RETURN ret;

	CREATE_UNTIL_REFUSED(publics, ret,
			     dat_psp_create_any(w.a.ia, &qual, w.a.cr, DAT_PSP_CONSUMER_FLAG,
						&created));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	must_fail(dat_rsp_create(w.a.ia, QUAL, ep, w.a.cr, &rsp), DAT_INSUFFICIENT_RESOURCES,
		  DAT_RESOURCE_DEVICE);
	expect_state(ep, DAT_EP_STATE_UNCONNECTED);
	must(dat_psp_free(psp));
	CREATE_UNTIL_REFUSED(n, ret,
			     dat_rsp_create(w.a.ia, QUAL + (DAT_CONN_QUAL)n, NO_HANDLE, w.a.cr,
					    &created));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_PSP), publics);
}
END_TEST

START_TEST(G9_endpoints_of_one_srq_end_at_max_ep_per_srq)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_IA_ATTR limits = ia_attr(&w.a);
	DAT_COUNT n;
	DAT_RETURN ret;

	attr.max_recv_dtos = attr.max_request_dtos = attr.max_request_iov = 1;
	w.a.srq = make_srq(&w.a, 1, 0);
	CREATE_UNTIL_REFUSED(n, ret,
			     dat_ep_create_with_srq(w.a.ia, w.a.pz, w.a.recv, w.a.request,
						    w.a.connect, w.a.srq, &attr, &created));
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	ck_assert_int_eq(n, limits.max_ep_per_srq < limits.max_eps ? limits.max_ep_per_srq
								   : limits.max_eps);
}
END_TEST

START_TEST(G9_instances_end)
{
	static char emu0[] = "emu0";
	static DAT_IA_HANDLE ias[100000];
	DAT_COUNT n = 0;
	DAT_RETURN ret;

	for (;;) {
		DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;

		ck_assert_int_lt(n, COUNT(ias));
		ret = dat_ia_open(emu0, 1, &async, &ias[n]);
		if (ret != DAT_SUCCESS)
			break;
		n++;
	}
	must_fail(ret, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	ck_assert_int_gt(n, 0);
	must(dat_ia_close(ias[0], DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ia_open(emu0, 1, &(DAT_EVD_HANDLE){ DAT_EVD_ASYNC_EXISTS }, &ias[0]));
	while (n > 0)
		must(dat_ia_close(ias[--n], DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(G9_limits_are_per_adapter_over_all_its_instances)
{
	static char emu0[] = "emu0";
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE second;
	DAT_PZ_HANDLE pz, last = NO_HANDLE;
	DAT_COUNT left = ia_attr(&w.a).max_pzs - 1, i;

	must(dat_ia_open(emu0, 8, &async, &second));
	for (i = 0; i < left; i++)
		must(dat_pz_create(i % 2 ? second : w.a.ia, &last));
	must_fail(dat_pz_create(w.a.ia, &pz), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must_fail(dat_pz_create(second, &pz), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	must(dat_pz_create(w.b.ia, &pz)); /* on another adapter */
	must(dat_pz_free(last));
	must(dat_pz_create(w.a.ia, &pz));
	must(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_pz_create(w.a.ia, &pz));
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, page_a_graceful_close_is_refused_while_objects_are_left);
	unit_test(suite, page_everything_freed_by_hand_leaves_a_graceful_close);
	unit_test_loop(suite, page_an_unknown_close_flag_is_an_invalid_parameter, 3);
	unit_test(suite, page_an_abrupt_close_with_everything_alive_leaks_nothing);
	unit_test(suite, page_the_peer_of_a_closed_adapter_is_disconnected);
	unit_test(suite, page_the_handles_of_a_closed_instance_are_stale);
	unit_test(suite, page_an_adapter_can_be_opened_again);
	unit_test(suite, an_adapter_that_is_opened_again_has_links_as_new);
	unit_test(suite, G9_endpoints_end_at_max_eps);
	unit_test(suite, G9_EVDs_end_at_max_evds);
	unit_test(suite, G9_EVDs_with_completions_end_too);
	unit_test(suite, G9_SRQs_end_at_max_srqs);
	unit_test(suite, G9_zones_end_at_max_pzs);
	unit_test(suite, G9_regions_end_at_max_lmrs);
	unit_test(suite, G9_listeners_end);
	unit_test(suite, G9_listeners_of_all_kinds_end_together);
	unit_test(suite, G9_endpoints_of_one_srq_end_at_max_ep_per_srq);
	unit_test(suite, G9_instances_end);
	unit_test(suite, G9_limits_are_per_adapter_over_all_its_instances);
}

UNIT_SUITE("ia_limits")
