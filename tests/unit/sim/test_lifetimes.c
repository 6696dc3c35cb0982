/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects that end while others still refer to them, and packets that come at a bad moment. */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/support.h"

static void move_recv_evd(DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd)
{
	DAT_EP_PARAM param = { .recv_evd_handle = evd };

	must(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
}

/* Three completions for an EVD with room for two */
static void overflow_once(DAT_EVD_HANDLE evd)
{
	DAT_EP_HANDLE from = plain_ep(&w.a), to = plain_ep(&w.b);

	move_recv_evd(to, evd);
	connect_eps(&w.a, from, &w.b, to);
	post_recvs(&w.b, to, 0, 3);
	for (int n = 0; n < 3; n++)
		post_send(&w.a, from, n, SHORT);
	run_quiet();
	expect_async(w.b.async, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd, DAT_EVD_OVERFLOW_ERROR);
	expect_connection(w.a.connect, from, DAT_CONNECTION_EVENT_BROKEN);
	expect_connection(w.b.connect, to, DAT_CONNECTION_EVENT_BROKEN);
	must(dat_ep_free(from));
	must(dat_ep_free(to));
}

START_TEST(E9_each_overflow_of_an_EVD_is_told)
{
	DAT_EVD_HANDLE evd = make_evd(&w.b, 2, DAT_EVD_DTO_FLAG);

	overflow_once(evd);
	overflow_once(evd);
	must(dat_evd_free(evd));
}
END_TEST

static void ask_a_closed_adapter(const char *next)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_PSP_HANDLE psp;

	must(try_connect(ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	side_close(&w.b);
	side_open(&w.b, next);
	psp = listen_at(&w.b, QUAL);
	run_quiet();
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	expect_no_event(w.b.cr);
	must(dat_psp_free(psp));
	must(dat_ep_free(ep));
}

START_TEST(E4_a_request_for_a_closed_adapter_does_not_reach_the_next_one)
{
	ask_a_closed_adapter("emu7");
}
END_TEST

/* It has the name and the place of the one before. */
START_TEST(E4_a_request_for_a_closed_adapter_does_not_reach_one_of_its_name)
{
	ask_a_closed_adapter("emu1");
}
END_TEST

START_TEST(E4_what_a_link_holds_for_a_closing_adapter_finds_nobody)
{
	DAT_EP_HANDLE ep = plain_ep(&w.a);

	hold_link("emu0", "emu1");
	must(try_connect(ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	side_close(&w.b);
	run_quiet();
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_UNREACHABLE);
	side_open(&w.b, "emu1");
	must(dat_ep_free(ep));
}
END_TEST

START_TEST(page_a_request_whose_EVD_goes_is_turned_away)
{
	DAT_EVD_HANDLE evd = make_evd(&w.b, 4, DAT_EVD_CR_FLAG);
	DAT_EP_HANDLE ep = plain_ep(&w.a);
	DAT_PSP_HANDLE psp;

	must(dat_psp_create(w.b.ia, QUAL, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	must(try_connect(ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 1);
	must(dat_psp_free(psp));
	must(dat_evd_free(evd));
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_CR), 0);
	run_quiet();
	expect_connection(w.a.connect, ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	must(dat_ep_free(ep));
}
END_TEST

START_TEST(A5_private_data_may_be_echoed_from_the_request_itself)
{
	DAT_EP_HANDLE from = plain_ep(&w.a), to = plain_ep(&w.b);
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	unsigned char data[64];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	for (size_t n = 0; n < sizeof(data); n++)
		data[n] = (unsigned char)n;
	must(dat_ep_connect(from, address(&w.b), QUAL, DAT_TIMEOUT_INFINITE, sizeof(data), data,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	must(dat_cr_accept(cr, to, 60, (char *)param.private_data + 4));
	run_quiet();
	event = expect_connection(w.a.connect, from, DAT_CONNECTION_EVENT_ESTABLISHED);
	ck_assert_int_eq(event.event_data.connect_event_data.private_data_size, 60);
	ck_assert_mem_eq(event.event_data.connect_event_data.private_data, data + 4, 60);
	expect_connection(w.b.connect, to, DAT_CONNECTION_EVENT_ESTABLISHED);
	must(dat_psp_free(psp));
	must(dat_ep_free(from));
	must(dat_ep_free(to));
}
END_TEST

START_TEST(page_a_message_may_be_received_over_the_memory_it_comes_from)
{
	DAT_REGION_DESCRIPTION region = { .for_va = slot(&w.a, 0) };
	DAT_LMR_TRIPLET iov = { .virtual_address = (uintptr_t)slot(&w.a, 0) + 16,
				.segment_length = SHORT };
	unsigned char before[SHORT];
	DAT_LMR_HANDLE lmr;

	plain_pair();
	must(dat_lmr_create(w.b.ia, DAT_MEM_TYPE_VIRTUAL, region, SLOT_SIZE, w.b.pz,
			    DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &lmr, &iov.lmr_context, NULL, NULL,
			    NULL));
	fill_slot(&w.a, 0, 7);
	memcpy(before, slot(&w.a, 0), sizeof(before));
	must(dat_ep_post_recv(w.b.ep, 1, &iov, cookie(0), DAT_COMPLETION_DEFAULT_FLAG));
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	ck_assert_mem_eq(slot(&w.a, 0) + 16, before, sizeof(before));
	must(dat_lmr_free(lmr));
}
END_TEST

/* A packet that must wait for its turn on the wire does not keep the world busy. */
START_TEST(sim_a_released_link_goes_on_packet_by_packet)
{
	int steps = 0;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 2);
	must(dat_sim_set_link(w.sim, "emu0", "emu1", LATENCY_NS, 1000000));
	must(dat_sim_hold_link(w.sim, "emu0", "emu1", 1));
	post_send(&w.a, w.a.ep, 0, LONG);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	release_link("emu0", "emu1");
	while (dat_sim_step(w.sim) == DAT_SUCCESS)
		ck_assert_int_lt(++steps, 20);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_SUCCESS);
}
END_TEST

START_TEST(H2_on_iwarp_receives_end_in_message_order_too)
{
	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 2);
	must(dat_ep_set_watermark(w.b.ep, DAT_WATERMARK_INFINITE, 1));
	send_half(&w.a, w.a.ep, 1, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	run_quiet();
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_BROKEN);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_ERR_FLUSHED);
	expect_dto(w.b.recv, w.b.ep, 1, DAT_DTO_ERR_FLUSHED);
}
END_TEST

/* A fabric that an open made ends with the last close, though one before it was kept. */
START_TEST(sim_a_fabric_is_kept_by_who_created_it_only)
{
	DAT_SIM_CONFIG config = fabric_config(DAT_SIM_PROFILE_IB);

	must(dat_sim_destroy(w.sim));
	side_open(&w.a, "emu0");
	side_close(&w.a);
	must(dat_sim_create(&config, &w.sim));
}
END_TEST

/* Exit status of the child: 0, or the number of the expectation that failed */
static int look_as_child(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "emu0";
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;

	if (DAT_GET_TYPE(dat_pz_create(w.a.ia, &pz)) != DAT_INVALID_HANDLE)
		return 1;
	if (objects(DAT_SIM_ALL_HANDLE_TYPES) != 0)
		return 2;
	if (dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS || ia == w.a.ia)
		return 3;
	if (dat_pz_create(ia, &pz) != DAT_SUCCESS)
		return 4;
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS ? 0 : 5;
}

START_TEST(G3_a_forked_child_has_none_of_its_parents_handles)
{
	int status;
	pid_t child;

	plain_pair();
	child = fork();
	if (child == 0)
		_exit(look_as_child());
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	/* The parent has lost nothing. */
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	run_quiet();
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_all(suite, E9_each_overflow_of_an_EVD_is_told);
	unit_test(suite, E4_a_request_for_a_closed_adapter_does_not_reach_the_next_one);
	unit_test(suite, E4_a_request_for_a_closed_adapter_does_not_reach_one_of_its_name);
	unit_test(suite, E4_what_a_link_holds_for_a_closing_adapter_finds_nobody);
	unit_test(suite, page_a_request_whose_EVD_goes_is_turned_away);
	unit_test(suite, A5_private_data_may_be_echoed_from_the_request_itself);
	unit_test_all(suite, page_a_message_may_be_received_over_the_memory_it_comes_from);
	unit_test_all(suite, sim_a_released_link_goes_on_packet_by_packet);
	unit_test_iwarp(suite, H2_on_iwarp_receives_end_in_message_order_too);
	unit_test_bare(suite, sim_a_fabric_is_kept_by_who_created_it_only);
	unit_test(suite, G3_a_forked_child_has_none_of_its_parents_handles);
}

UNIT_SUITE("lifetimes")
