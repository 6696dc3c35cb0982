/* SPDX-License-Identifier: BSD-3-Clause */
/* Private data, listeners and the arguments of the connection calls: rulings A5, G2, G3, G4. */
#include "tests/support/support.h"

enum {
	MOST = 256
};

static unsigned char asked[MOST + 1], answered[MOST + 1];

static void fill_data(void)
{
	int i;

	for (i = 0; i <= MOST; i++) {
		asked[i] = (unsigned char)(i * 3 + 1);
		answered[i] = (unsigned char)(i * 5 + 2);
	}
}

static DAT_RETURN connect_with(DAT_COUNT size, unsigned char *data)
{
	return dat_ep_connect(w.a.ep, address(&w.b), QUAL, DAT_TIMEOUT_INFINITE, size, data,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* ---- A5 ---- */

START_TEST(A5_private_data_arrives_with_its_exact_length_on_both_sides)
{
	static const DAT_COUNT sizes[] = { 0, 1, 55, 56, 64, 255, MOST };
	DAT_COUNT size = sizes[_i];
	DAT_CONNECTION_EVENT_DATA data;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);

	fill_data();
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must(connect_with(size, asked));
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_int_eq(param.private_data_size, size);
	ck_assert(size == 0 || memcmp(param.private_data, asked, (size_t)size) == 0);
	must(dat_cr_accept(cr, w.b.ep, size, answered));
	run_quiet();
	data = expect_event(w.a.connect, DAT_CONNECTION_EVENT_ESTABLISHED)
		       .event_data.connect_event_data;
	ck_assert_int_eq(data.private_data_size, size);
	ck_assert(size == 0 || memcmp(data.private_data, answered, (size_t)size) == 0);
}
END_TEST

START_TEST(A5_the_passive_side_gets_no_private_data)
{
	DAT_CONNECTION_EVENT_DATA data;
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_accept(cr, w.b.ep, 8, answered));
	run_quiet();
	data = expect_event(w.b.connect, DAT_CONNECTION_EVENT_ESTABLISHED)
		       .event_data.connect_event_data;
	ck_assert_int_eq(data.private_data_size, 0);
}
END_TEST

START_TEST(A5_private_data_is_copied_in_the_call)
{
	unsigned char data[8] = "request", answer[8] = "answer!";
	DAT_CONNECTION_EVENT_DATA event;
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	must(connect_with(sizeof(data), data));
	memset(data, 0, sizeof(data));
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ck_assert_mem_eq(param.private_data, "request", 8);
	must(dat_cr_accept(cr, plain_ep(&w.b), sizeof(answer), answer));
	memset(answer, 0, sizeof(answer));
	run_quiet();
	event = expect_event(w.a.connect, DAT_CONNECTION_EVENT_ESTABLISHED)
			.event_data.connect_event_data;
	ck_assert_mem_eq(event.private_data, "answer!", 8);
}
END_TEST

START_TEST(A5_active_private_data_stays_valid_while_connected)
{
	DAT_CONNECTION_EVENT_DATA event;
	DAT_CR_HANDLE cr;

	fill_data();
	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	must(dat_cr_accept(cr, w.b.ep, MOST, answered));
	run_quiet();
	event = expect_event(w.a.connect, DAT_CONNECTION_EVENT_ESTABLISHED)
			.event_data.connect_event_data;
	post_recvs(&w.b, w.b.ep, 0, 4);
	deliver(&w.a, w.a.ep, 4);
	must(dat_ep_disconnect(w.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	run_quiet();
	ck_assert_mem_eq(event.private_data, answered, MOST);
}
END_TEST

/* The private data survive the end of their sender and of their listener. */
START_TEST(A5_private_data_of_a_request_stays_valid_until_the_answer)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	DAT_CR_PARAM before, after;
	DAT_CR_HANDLE cr;
	int i;

	fill_data();
	w.a.ep = plain_ep(&w.a);
	must(connect_with(MOST, asked));
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &before));
	must(dat_ep_free(w.a.ep));
	for (i = 0; i < 20; i++) {
		w.a.ep = plain_ep(&w.a);
		must(connect_with(MOST, answered));
	}
	run_quiet();
	must(dat_psp_free(psp));
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &after));
	ck_assert_ptr_eq(before.private_data, after.private_data);
	ck_assert_ptr_eq(before.remote_ia_address_ptr, after.remote_ia_address_ptr);
	ck_assert_int_eq(before.private_data_size, MOST);
	ck_assert_mem_eq(before.private_data, asked, MOST);
	ck_assert_mem_eq(before.remote_ia_address_ptr, address(&w.a), sizeof(DAT_SOCK_ADDR));
	must(dat_cr_reject(cr));
}
END_TEST

START_TEST(A5_the_provider_says_256_bytes)
{
	DAT_PROVIDER_ATTR attr;

	must(dat_ia_query(w.a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE, &attr));
	ck_assert_int_eq(attr.max_private_data_size, MOST);
}
END_TEST

START_TEST(A5_more_than_the_maximum_is_an_invalid_parameter)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	must_fail(connect_with(MOST + 1, asked), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	must_fail(connect_with(INT_MAX, asked), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	must_fail(connect_with(-1, asked), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	expect_state(w.a.ep, DAT_EP_STATE_UNCONNECTED);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	must_fail(dat_cr_accept(cr, w.b.ep, MOST + 1, answered), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG3);
	must_fail(dat_cr_accept(cr, w.b.ep, -1, answered), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	expect_state(w.b.ep, DAT_EP_STATE_UNCONNECTED);
	must(dat_cr_accept(cr, w.b.ep, MOST, answered));
}
END_TEST

START_TEST(G3_NULL_private_data_is_fine_for_size_0_only)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	must_fail(connect_with(1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	cr = request(w.a.ep, &w.b, QUAL);
	must_fail(dat_cr_accept(cr, w.b.ep, 1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
}
END_TEST

/* ---- arguments of connect ---- */

START_TEST(page_a_timeout_of_0_is_an_invalid_parameter)
{
	w.a.ep = plain_ep(&w.a);
	must_fail(try_connect(w.a.ep, &w.b, QUAL, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	expect_state(w.a.ep, DAT_EP_STATE_UNCONNECTED);
}
END_TEST

START_TEST(G3_a_NULL_address_is_an_invalid_parameter)
{
	w.a.ep = plain_ep(&w.a);
	must_fail(dat_ep_connect(w.a.ep, NULL, QUAL, 1000, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}
END_TEST

START_TEST(page_a_QoS_the_provider_lacks_or_multipath_is_not_supported)
{
	DAT_PROVIDER_ATTR attr;

	must(dat_ia_query(w.a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	w.a.ep = plain_ep(&w.a);
	if (!(attr.dat_qos_supported & DAT_QOS_PREMIUM))
		must_fail(dat_ep_connect(w.a.ep, address(&w.b), QUAL, 1000, 0, NULL,
					 DAT_QOS_PREMIUM, DAT_CONNECT_DEFAULT_FLAG),
			  DAT_MODEL_NOT_SUPPORTED, ANY_SUBTYPE);
	if (!attr.supports_multipath)
		must_fail(dat_ep_connect(w.a.ep, address(&w.b), QUAL, 1000, 0, NULL,
					 DAT_QOS_BEST_EFFORT, DAT_CONNECT_MULTIPATH_FLAG),
			  DAT_MODEL_NOT_SUPPORTED, ANY_SUBTYPE);
	expect_state(w.a.ep, DAT_EP_STATE_UNCONNECTED);
}
END_TEST

START_TEST(G4_unknown_connect_flags_are_an_invalid_parameter)
{
	w.a.ep = plain_ep(&w.a);
	must_fail(dat_ep_connect(w.a.ep, address(&w.b), QUAL, 1000, 0, NULL, DAT_QOS_BEST_EFFORT,
				 (DAT_CONNECT_FLAGS)0x10),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
}
END_TEST

/* ---- listeners ---- */

START_TEST(page_a_listener_tells_what_it_was_made_with)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL + 3);
	DAT_PSP_PARAM param;

	memset(&param, 0xee, sizeof(param));
	must(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	ck_assert_ptr_eq(param.ia_handle, w.b.ia);
	ck_assert_uint_eq(param.conn_qual, QUAL + 3);
	ck_assert_ptr_eq(param.evd_handle, w.b.cr);
	ck_assert_int_eq(param.psp_flags, DAT_PSP_CONSUMER_FLAG);
}
END_TEST

START_TEST(page_a_qualifier_is_taken_once_per_adapter)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL), other = (DAT_PSP_HANDLE)&w;

	must_fail(dat_psp_create(w.b.ia, QUAL, w.b.cr, DAT_PSP_CONSUMER_FLAG, &other),
		  DAT_CONN_QUAL_IN_USE, ANY_SUBTYPE);
	ck_assert_ptr_eq(other, &w);
	listen_at(&w.a, QUAL);
	must(dat_psp_free(psp));
	listen_at(&w.b, QUAL);
}
END_TEST

START_TEST(page_a_listener_needs_an_EVD_for_requests)
{
	DAT_PSP_HANDLE psp = (DAT_PSP_HANDLE)&w;

	must_fail(dat_psp_create(w.b.ia, QUAL, w.b.recv, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	must_fail(dat_psp_create(w.b.ia, QUAL, NO_HANDLE, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	must_fail(dat_psp_create(w.b.ia, QUAL, w.b.cr, (DAT_PSP_FLAGS)2, &psp),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	ck_assert_ptr_eq(psp, &w);
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_PSP), 0);
}
END_TEST

START_TEST(page_requests_delivered_outlive_their_listener)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL); /* this call frees the listener */
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_PSP), 0);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	run_quiet();
	expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
}
END_TEST

START_TEST(page_one_listener_serves_many_requests)
{
	DAT_PSP_HANDLE psp = listen_at(&w.b, QUAL);
	DAT_EP_HANDLE active[8], passive[8];
	int i;

	for (i = 0; i < 8; i++) {
		active[i] = plain_ep(&w.a);
		passive[i] = plain_ep(&w.b);
		must(try_connect(active[i], &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	}
	run_quiet();
	for (i = 0; i < 8; i++)
		must(dat_cr_accept(expect_request(w.b.cr, psp), passive[i], 0, NULL));
	run_quiet();
	for (i = 0; i < 8; i++) {
		expect_connection(w.a.connect, active[i], DAT_CONNECTION_EVENT_ESTABLISHED);
		expect_connection(w.b.connect, passive[i], DAT_CONNECTION_EVENT_ESTABLISHED);
		post_recv(&w.b, passive[i], i);
		deliver(&w.a, active[i], 1);
		expect_dto(w.b.recv, passive[i], i, DAT_DTO_SUCCESS);
	}
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, A5_private_data_arrives_with_its_exact_length_on_both_sides, 7);
	unit_test_all(suite, A5_the_passive_side_gets_no_private_data);
	unit_test_all(suite, A5_private_data_is_copied_in_the_call);
	unit_test_all(suite, A5_active_private_data_stays_valid_while_connected);
	unit_test_all(suite, A5_private_data_of_a_request_stays_valid_until_the_answer);
	unit_test_all(suite, A5_the_provider_says_256_bytes);
	unit_test_all(suite, A5_more_than_the_maximum_is_an_invalid_parameter);
	unit_test_all(suite, G3_NULL_private_data_is_fine_for_size_0_only);
	unit_test_all(suite, page_a_timeout_of_0_is_an_invalid_parameter);
	unit_test_all(suite, G3_a_NULL_address_is_an_invalid_parameter);
	unit_test_all(suite, page_a_QoS_the_provider_lacks_or_multipath_is_not_supported);
	unit_test_all(suite, G4_unknown_connect_flags_are_an_invalid_parameter);
	unit_test_all(suite, page_a_listener_tells_what_it_was_made_with);
	unit_test_all(suite, page_a_qualifier_is_taken_once_per_adapter);
	unit_test_all(suite, page_a_listener_needs_an_EVD_for_requests);
	unit_test_all(suite, page_requests_delivered_outlive_their_listener);
	unit_test_all(suite, page_one_listener_serves_many_requests);
}

UNIT_SUITE("private_data")
