/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What both sides of a connection agree on beside DAT, on the device of tests/stubverbs: extensions
 * (ECE), and the type of service and acknowledgement timeout that the user asks for.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/conf.h"

enum {
	VENDOR = 0x15b3,
	OTHER_VENDOR = 0x1077,
};

/* The only QP with this peer: w.a's was created first. */
static struct stub_qp *qp_of(const struct side *side)
{
	for (uint32_t i = 1; i < STUB_QP; i++) {
		struct stub_qp *qp = stub_qp_by_number(i);

		if (qp && qp->peer)
			return side == &w.a ? qp : qp->peer;
	}
	ck_abort_msg("no QP is connected");
}

/* Two Endpoints whose QPs have these extensions, connected. */
static void connect_with(uint32_t a, uint32_t b)
{
	stub_config.ece_vendor = VENDOR;
	stub_config.ece_options = a;
	w.a.ep = plain_ep(&w.a);
	stub_config.ece_options = b;
	w.b.ep = plain_ep(&w.b);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
}

static void expect_options(uint32_t options)
{
	ck_assert_uint_eq(qp_of(&w.a)->ece_options, options);
	ck_assert_uint_eq(qp_of(&w.b)->ece_options, options);
}

static void expect_transfer(void)
{
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 1, SHORT);
	expect_dto(w.b.recv, w.b.ep, 0, DAT_DTO_SUCCESS);
}

START_TEST(both_devices_have_the_extensions_that_both_can)
{
	connect_with(0x7, 0xd);
	expect_options(0x5);
	ck_assert_int_eq(qp_of(&w.a)->ece_sets, 1);
	ck_assert_int_eq(qp_of(&w.b)->ece_sets, 1);
	expect_transfer();
}
END_TEST

/* The QP is another one, and agrees anew. */
START_TEST(a_reset_Endpoint_agrees_on_extensions_again)
{
	connect_with(0x7, 0xd);
	disconnect_pair();
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	stub_config.ece_options = 0x3;
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	expect_options(0x3);
}
END_TEST

START_TEST(a_device_of_another_vendor_gets_no_extensions)
{
	stub_config.ece_foreign = OTHER_VENDOR;
	connect_with(0x7, 0xd);
	ck_assert_uint_eq(qp_of(&w.b)->ece_options, 0);
	expect_transfer();
}
END_TEST

/* The request carries none, so the answer must not, and the active side's are cleared. */
START_TEST(an_older_kernel_carries_no_extensions)
{
	stub_config.ece_unheard = true;
	connect_with(0x7, 0xd);
	ck_assert_uint_eq(qp_of(&w.a)->ece_options, 0);
	ck_assert_int_eq(qp_of(&w.b)->ece_sets, 0);
	expect_transfer();
}
END_TEST

static const struct {
	const char *call;
	int error;
} old[] = {
	{ "ibv_query_ece", EOPNOTSUPP },
	{ "ibv_query_ece", EINVAL },
	{ "rdma_set_local_ece", ENOSYS },
	{ "rdma_get_remote_ece", ENOSYS },
};

START_TEST(a_device_or_library_without_extensions_connects)
{
	stub_fail(old[_i].call, 1, old[_i].error, true);
	connect_with(0x7, 0xd);
	expect_transfer();
}
END_TEST

/* The answer then says that there are none. */
START_TEST(a_device_that_refuses_the_extensions_of_a_request_answers_with_none)
{
	stub_fail("ibv_set_ece", 1, EOPNOTSUPP, false);
	connect_with(0x7, 0xd);
	ck_assert_uint_eq(qp_of(&w.a)->ece_options, 0);
	expect_transfer();
}
END_TEST

START_TEST(iWARP_has_no_extensions)
{
	stub_config.ece_vendor = VENDOR;
	plain_pair();
	ck_assert_int_eq(qp_of(&w.a)->ece_sets, 0);
	ck_assert_int_eq(qp_of(&w.b)->ece_sets, 0);
}
END_TEST

/* ---- options ---- */

static void setup_on_infiniband(void)
{
	stub_config.iwarp = false;
	setup_sides();
}

static void setup_on_iwarp(void)
{
	stub_config.iwarp = true;
	setup_sides();
}

static void setup_service(void)
{
	stub_config.iwarp = false;
	setenv("DAT_HW_TOS", "104", 1);
	setenv("DAT_HW_ACK_TIMEOUT", "19", 1);
	setup_sides();
}

/* A listener has the type of service, too: on iWARP its connections take it from there. */
START_TEST(connections_have_the_type_of_service_that_the_user_named)
{
	listen_at(&w.b, QUAL + 1);
	plain_pair();
	ck_assert_int_eq(stub_service_type(true), 104);
	ck_assert_int_eq(stub_service_type(false), 104);
}
END_TEST

START_TEST(both_sides_have_the_ack_timeout_that_the_user_named)
{
	plain_pair();
	ck_assert_int_eq(qp_of(&w.a)->ack_timeout, 19);
	ck_assert_int_eq(qp_of(&w.b)->ack_timeout, 19);
}
END_TEST

/* rxe takes 7 for no limit: then neither end notices that the other machine is gone. */
START_TEST(a_message_without_an_answer_has_so_many_retries_that_every_device_counts_them)
{
	plain_pair();
	ck_assert_int_eq(qp_of(&w.a)->retries, 6);
	ck_assert_int_eq(qp_of(&w.b)->retries, 6);
}
END_TEST

/* The kernel's default, the longest, would delay a Send before its Receive by 655 ms. */
START_TEST(a_message_without_a_Receive_is_sent_again_soon)
{
	plain_pair();
	ck_assert_int_eq(qp_of(&w.a)->rnr_timer, 12);
	ck_assert_int_eq(qp_of(&w.b)->rnr_timer, 12);
}
END_TEST

START_TEST(what_the_user_did_not_name_is_left_to_the_kernel)
{
	plain_pair();
	ck_assert_int_eq(stub_service_type(false), -1);
	ck_assert_int_eq(qp_of(&w.a)->ack_timeout, -1);
	ck_assert_int_eq(qp_of(&w.b)->ack_timeout, -1);
}
END_TEST

static const char *open_and_say(void)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;
	const char *said;

	said_start();
	ck_assert_int_ne(dat_ia_open((DAT_NAME_PTR) "stub0", 8, &async, &ia), DAT_SUCCESS);
	said = said_stop();
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
	return said;
}

static const struct {
	const char *name, *value, *said;
} garbage[] = {
	{ "DAT_HW_TOS", "256", "DAT_HW_TOS=256: expected a whole number from 0 to 255" },
	{ "DAT_HW_TOS", "-1", "DAT_HW_TOS=-1: expected" },
	{ "DAT_HW_TOS", "0x68", "DAT_HW_TOS=0x68: expected" },
	{ "DAT_HW_TOS", "", "DAT_HW_TOS=: expected" },
	{ "DAT_HW_TOS", " 1", "DAT_HW_TOS= 1: expected" },
	{ "DAT_HW_TOS", "4294967296", "DAT_HW_TOS=4294967296: expected" },
	{ "DAT_HW_ACK_TIMEOUT", "32",
	  "DAT_HW_ACK_TIMEOUT=32: expected a whole number from 0 to 31" },
	{ "DAT_HW_ACK_TIMEOUT", "1 s", "DAT_HW_ACK_TIMEOUT=1 s: expected" },
	{ "DAT_HW_RNR_RETRY", "8", "DAT_HW_RNR_RETRY=8: expected a whole number from 0 to 7" },
};

START_TEST(E11_a_value_that_is_no_such_number_is_said)
{
	const char *said;

	setenv(garbage[_i].name, garbage[_i].value, 1);
	said = open_and_say();
	ck_assert_said(said, garbage[_i].said);
}
END_TEST

static const char *const options[] = { "DAT_HW_TOS", "DAT_HW_ACK_TIMEOUT" };

START_TEST(E11_an_option_that_the_kernel_does_not_have_is_said)
{
	const char *said;

	setenv(options[_i], "7", 1);
	stub_fail("rdma_set_option", 1, ENOSYS, true);
	said = open_and_say();
	ck_assert_said(said, options[_i]);
}
END_TEST

START_TEST(an_option_that_a_request_refuses_fails_the_call_and_leaves_nothing)
{
	int before;

	w.a.ep = plain_ep(&w.a);
	before = stub_objects();
	stub_fail("rdma_set_option", 1, EINVAL, true);
	ck_assert_int_ne(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE), DAT_SUCCESS);
	ck_assert_int_eq(stub_objects(), before);
	expect_state(w.a.ep, DAT_EP_STATE_UNCONNECTED);
}
END_TEST

/* The adapter took the option, and the id of a connection does not: the connection fails. */
START_TEST(an_option_that_a_connection_refuses_fails_it)
{
	DAT_CR_HANDLE cr;

	w.a.ep = plain_ep(&w.a);
	w.b.ep = plain_ep(&w.b);
	cr = request(w.a.ep, &w.b, QUAL);
	stub_fail("rdma_set_option", 1, EINVAL, true);
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_connection(w.b.connect, w.b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, both_devices_have_the_extensions_that_both_can, 1, setup_on_infiniband);
	unit_add(suite, a_reset_Endpoint_agrees_on_extensions_again, 1, setup_on_infiniband);
	unit_add(suite, a_device_of_another_vendor_gets_no_extensions, 1, setup_on_infiniband);
	unit_add(suite, an_older_kernel_carries_no_extensions, 1, setup_on_infiniband);
	unit_add(suite, a_device_or_library_without_extensions_connects, COUNT(old),
		 setup_on_infiniband);
	unit_add(suite, a_device_that_refuses_the_extensions_of_a_request_answers_with_none, 1,
		 setup_on_infiniband);
	unit_add(suite, iWARP_has_no_extensions, 1, setup_on_iwarp);
	unit_add(suite, connections_have_the_type_of_service_that_the_user_named, 1, setup_service);
	unit_add(suite, both_sides_have_the_ack_timeout_that_the_user_named, 1, setup_service);
	unit_add(suite, what_the_user_did_not_name_is_left_to_the_kernel, 1, setup_on_infiniband);
	unit_add(suite,
		 a_message_without_an_answer_has_so_many_retries_that_every_device_counts_them, 1,
		 setup_on_infiniband);
	unit_add(suite, a_message_without_a_Receive_is_sent_again_soon, 1, setup_on_infiniband);
	unit_add(suite, E11_a_value_that_is_no_such_number_is_said, COUNT(garbage), setup_fabric);
	unit_add(suite, E11_an_option_that_the_kernel_does_not_have_is_said, COUNT(options),
		 setup_fabric);
	unit_add(suite, an_option_that_a_request_refuses_fails_the_call_and_leaves_nothing, 1,
		 setup_service);
	unit_add(suite, an_option_that_a_connection_refuses_fails_it, 1, setup_service);
}

int main(void)
{
	return unit_run_on_stub("extensions", fill);
}
