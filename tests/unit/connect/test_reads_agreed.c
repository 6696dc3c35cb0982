/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of RDMA Reads that two Endpoints grant each other: the page of dat_cr_accept. An
 * accepting EP must serve as many as the peer starts, and start no more than the peer serves;
 * default values are adjusted to fit.
 */
#include "tests/support/support.h"

#define DEFAULT_READS 8
#define UNSET         (-1)

/* Ruling A1: an EP without attributes gets the defaults. */
static DAT_EP_HANDLE ep_with_reads(struct side *side, DAT_COUNT in, DAT_COUNT out)
{
	DAT_EP_ATTR attr = ep_attr();

	if (in == UNSET)
		return plain_ep_with(side, NULL);
	attr.max_rdma_read_in = in;
	attr.max_rdma_read_out = out;
	return plain_ep_with(side, &attr);
}

static void expect_reads(DAT_EP_HANDLE ep, DAT_COUNT in, DAT_COUNT out)
{
	DAT_EP_PARAM param;

	must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ck_assert_int_eq(param.ep_attr.max_rdma_read_in, in);
	ck_assert_int_eq(param.ep_attr.max_rdma_read_out, out);
}

/* clang-format off */
static const struct {
	struct { DAT_COUNT in, out; } a, b;	/* asked for; a connects */
	bool fits;
	struct { DAT_COUNT in, out; } a_then, b_then;
} rows[] = {
	{ { 0, 0 },	    { 0, 0 },	    true,  { 0, 0 },	{ 0, 0 } },
	{ { 4, 4 },	    { 4, 4 },	    true,  { 4, 4 },	{ 4, 4 } },
	{ { 4, 2 },	    { 8, 1 },	    true,  { 4, 2 },	{ 8, 1 } },
	{ { 4, 5 },	    { 4, 4 },	    false, { 4, 5 },	{ 4, 4 } },
	{ { 4, 4 },	    { 4, 5 },	    false, { 4, 4 },	{ 4, 5 } },
	{ { 0, 1 },	    { 0, 0 },	    false, { 0, 1 },	{ 0, 0 } },
	{ { 0, 0 },	    { 0, 1 },	    false, { 0, 0 },	{ 0, 1 } },
	{ { 128, 128 },	    { 128, 128 },   true,  { 128, 128 }, { 128, 128 } },
	{ { UNSET, UNSET }, { UNSET, UNSET }, true, { 8, 8 },	{ 8, 8 } },
	{ { UNSET, UNSET }, { 0, 0 },	    true,  { 8, 0 },	{ 0, 0 } },
	{ { UNSET, UNSET }, { 3, 20 },	    true,  { 20, 3 },	{ 3, 20 } },
	{ { 0, 0 },	    { UNSET, UNSET }, true, { 0, 0 },	{ 8, 0 } },
	{ { 3, 20 },	    { UNSET, UNSET }, true, { 3, 20 },	{ 20, 3 } },
};
/* clang-format on */

START_TEST(page_the_accepting_endpoint_has_to_fit_and_defaults_are_fitted)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;

	w.a.ep = ep_with_reads(&w.a, rows[_i].a.in, rows[_i].a.out);
	w.b.ep = ep_with_reads(&w.b, rows[_i].b.in, rows[_i].b.out);
	cr = request(w.a.ep, &w.b, QUAL);
	if (rows[_i].fits) {
		must(dat_cr_accept(cr, w.b.ep, 0, NULL));
		run_quiet();
		expect_state(w.a.ep, DAT_EP_STATE_CONNECTED);
		expect_state(w.b.ep, DAT_EP_STATE_CONNECTED);
	} else {
		must_fail(dat_cr_accept(cr, w.b.ep, 0, NULL), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG2);
		run_quiet();
		must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		expect_state(w.a.ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
		expect_state(w.b.ep, DAT_EP_STATE_UNCONNECTED);
		must(dat_cr_accept(cr, ep_with_reads(&w.b, UNSET, UNSET), 0, NULL));
	}
	expect_reads(w.a.ep, rows[_i].a_then.in, rows[_i].a_then.out);
	expect_reads(w.b.ep, rows[_i].b_then.in, rows[_i].b_then.out);
}
END_TEST

START_TEST(page_after_a_reset_defaults_are_defaults_again)
{
	DAT_EP_HANDLE other = ep_with_reads(&w.b, UNSET, UNSET);

	w.a.ep = ep_with_reads(&w.a, UNSET, UNSET);
	w.b.ep = ep_with_reads(&w.b, 3, 20);
	connect_eps(&w.a, w.a.ep, &w.b, w.b.ep);
	expect_reads(w.a.ep, 20, 3);
	disconnect_pair();
	expect_reads(w.a.ep, 20, 3);
	must(dat_ep_reset(w.a.ep));
	must(dat_ep_reset(w.b.ep));
	expect_reads(w.a.ep, DEFAULT_READS, DEFAULT_READS);
	expect_reads(w.b.ep, 3, 20);
	connect_eps(&w.a, w.a.ep, &w.b, other);
	expect_reads(w.a.ep, DEFAULT_READS, DEFAULT_READS);
	expect_reads(other, DEFAULT_READS, DEFAULT_READS);
}
END_TEST

START_TEST(page_what_modify_sets_is_no_default)
{
	DAT_EP_PARAM param = { .ep_attr.max_rdma_read_out = 2 };
	DAT_CR_HANDLE cr;

	w.a.ep = ep_with_reads(&w.a, 1, 4);
	w.b.ep = ep_with_reads(&w.b, UNSET, UNSET);
	must(dat_ep_modify(w.b.ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, &param));
	cr = request(w.a.ep, &w.b, QUAL);
	must_fail(dat_cr_accept(cr, w.b.ep, 0, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	expect_reads(w.b.ep, DEFAULT_READS, 2);
	param.ep_attr.max_rdma_read_out = 1;
	must(dat_ep_modify(w.b.ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, &param));
	must(dat_cr_accept(cr, w.b.ep, 0, NULL));
	expect_reads(w.b.ep, DEFAULT_READS, 1);
}
END_TEST

START_TEST(page_an_endpoint_made_for_the_request_matches_it)
{
	DAT_PSP_HANDLE psp = listen_for_eps(&w.b, QUAL);
	DAT_CR_HANDLE cr;

	w.a.ep = ep_with_reads(&w.a, 5, 100);
	must(try_connect(w.a.ep, &w.b, QUAL, DAT_TIMEOUT_INFINITE));
	run_quiet();
	cr = expect_request(w.b.cr, psp);
	w.b.ep = ep_of_request(cr);
	expect_reads(w.b.ep, 100, 5);
	configure(&w.b, w.b.ep);
	must(dat_cr_accept(cr, NO_HANDLE, 0, NULL));
	run_quiet();
	expect_reads(w.b.ep, 100, 5);
	expect_reads(w.a.ep, 5, 100);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_loop(suite, page_the_accepting_endpoint_has_to_fit_and_defaults_are_fitted,
		       COUNT(rows));
	unit_test_all(suite, page_after_a_reset_defaults_are_defaults_again);
	unit_test_all(suite, page_what_modify_sets_is_no_default);
	unit_test_all(suite, page_an_endpoint_made_for_the_request_matches_it);
}

UNIT_SUITE("reads_agreed")
