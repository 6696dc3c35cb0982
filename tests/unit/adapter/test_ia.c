/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening, querying and closing adapters: rulings E10, G3, G4, G6, G7, G10, A5; "page_": man pages.
 */
#include <time.h>

#include "tests/support/support.h"

static char emu0[] = "emu0";

static DAT_IA_HANDLE open_as(char *name, DAT_EVD_HANDLE *async)
{
	DAT_IA_HANDLE ia = NO_HANDLE;

	must(dat_ia_open(name, 8, async, &ia));
	return ia;
}

/* ---- opening ---- */

START_TEST(page_opening_makes_an_async_EVD)
{
	DAT_EVD_HANDLE async = NO_HANDLE, shown = NO_HANDLE;
	DAT_IA_HANDLE ia = open_as(emu0, &async);
	DAT_EVD_PARAM param;

	ck_assert_ptr_nonnull(async);
	must(dat_evd_query(async, DAT_EVD_FIELD_ALL, &param));
	ck_assert_int_ge(param.evd_qlen, 8);
	ck_assert_int_ne(param.evd_flags & DAT_EVD_ASYNC_FLAG, 0);
	ck_assert_ptr_eq(param.ia_handle, ia);
	must(dat_ia_query(ia, &shown, 0, NULL, 0, NULL));
	ck_assert_ptr_eq(shown, async);
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 2);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
}
END_TEST

START_TEST(page_an_unknown_adapter_is_not_found)
{
	static char unknown[] = "no-such-adapter0";
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&w;

	must_fail(dat_ia_open(unknown, 8, &async, &ia), DAT_PROVIDER_NOT_FOUND,
		  DAT_NAME_NOT_REGISTERED);
	ck_assert_ptr_eq(ia, &w);
	ck_assert_ptr_null(async);
}
END_TEST

/*
 * passthrough/fabric.sh runs this in lockstep. The process joins a fabric, and reads virtual time
 * from then on: it must not begin hours before or after that of the machine.
 */
START_TEST(the_clock_goes_on_while_an_adapter_is_looked_for)
{
	static char unknown[] = "no-such-adapter0";
	DAT_EVD_HANDLE async = NO_HANDLE;
	struct timespec before, after;
	DAT_IA_HANDLE ia;

	clock_gettime(CLOCK_MONOTONIC, &before);
	must_fail(dat_ia_open(unknown, 8, &async, &ia), DAT_PROVIDER_NOT_FOUND,
		  DAT_NAME_NOT_REGISTERED);
	clock_gettime(CLOCK_MONOTONIC, &after);
	ck_assert_int_ge(after.tv_sec, before.tv_sec);
	ck_assert_int_le(after.tv_sec, before.tv_sec + 600);
}
END_TEST

START_TEST(page_names_that_are_no_names)
{
	static char longest[DAT_NAME_MAX_LENGTH + 50], empty[] = "";
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&w;

	memset(longest, 'e', sizeof(longest) - 1);
	ck_assert_uint_ne(dat_ia_open(longest, 8, &async, &ia), DAT_SUCCESS);
	must_fail(dat_ia_open(empty, 8, &async, &ia), DAT_PROVIDER_NOT_FOUND,
		  DAT_NAME_NOT_REGISTERED);
	ck_assert_ptr_eq(ia, &w);
}
END_TEST

START_TEST(page_versions_have_to_match)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&w;

	must_fail(dat_ia_openv(emu0, 8, &async, &ia, 2, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
		  DAT_MAJOR_NOT_FOUND);
	must_fail(dat_ia_openv(emu0, 8, &async, &ia, 0, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
		  DAT_MAJOR_NOT_FOUND);
	must_fail(dat_ia_openv(emu0, 8, &async, &ia, 1, 3, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
		  DAT_MINOR_NOT_FOUND);
	ck_assert_ptr_eq(ia, &w);
	must(dat_ia_openv(emu0, 8, &async, &ia, 1, 1, DAT_FALSE));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(G7_both_kinds_of_thread_safety_are_served)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;

	must(dat_ia_openv(emu0, 8, &async, &ia, 1, 2, _i ? DAT_TRUE : DAT_FALSE));
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(page_a_queue_length_below_1_is_an_invalid_parameter)
{
	static const DAT_COUNT lengths[] = { 0, -1, INT_MIN };
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&w;

	must_fail(dat_ia_open(emu0, lengths[_i], &async, &ia), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	ck_assert_ptr_eq(ia, &w);
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
}
END_TEST

START_TEST(G3_NULL_pointers_are_an_invalid_parameter)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;

	must_fail(dat_ia_open(NULL, 8, &async, &ia), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	must_fail(dat_ia_open(emu0, 8, NULL, &ia), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(dat_ia_open(emu0, 8, &async, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	ck_assert_ptr_null(async);
}
END_TEST

START_TEST(page_the_same_adapter_opens_several_times)
{
	DAT_EVD_HANDLE first = NO_HANDLE, second = NO_HANDLE;
	DAT_IA_HANDLE a = open_as(emu0, &first), b = open_as(emu0, &second);

	ck_assert_ptr_ne(a, b);
	ck_assert_ptr_ne(first, second);
	must(dat_ia_close(a, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ia_query(b, NULL, 0, NULL, 0, NULL));
	must(dat_ia_close(b, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(page_ASYNC_EXISTS_gives_OUT_OF_SCOPE)
{
	DAT_EVD_HANDLE first = NO_HANDLE, second = DAT_EVD_ASYNC_EXISTS, shown = NO_HANDLE;
	DAT_IA_HANDLE a = open_as(emu0, &first), b;

	must(dat_ia_open(emu0, 0, &second, &b)); /* the length is ignored */
	ck_assert_ptr_eq(second, DAT_EVD_OUT_OF_SCOPE);
	must(dat_ia_query(b, &shown, 0, NULL, 0, NULL));
	ck_assert_ptr_eq(shown, DAT_EVD_OUT_OF_SCOPE);
	must(dat_ia_close(b, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ia_close(a, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(G6_an_EVD_made_with_the_ASYNC_bit_serves_a_later_open)
{
	DAT_EVD_HANDLE first = NO_HANDLE, mine = NO_HANDLE, given, shown = NO_HANDLE;
	DAT_IA_HANDLE a = open_as(emu0, &first), b;

	must(dat_evd_create(a, 4, NO_HANDLE, DAT_EVD_ASYNC_FLAG, &mine));
	given = mine;
	must(dat_ia_open(emu0, 0, &given, &b));
	ck_assert_ptr_eq(given, mine);
	must(dat_ia_query(b, &shown, 0, NULL, 0, NULL));
	ck_assert_ptr_eq(shown, mine);
	must_fail(dat_evd_free(mine), DAT_INVALID_STATE, ANY_SUBTYPE);
	must(dat_ia_close(b, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_evd_free(mine)); /* the Consumer still owns it */
	must(dat_ia_close(a, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(G3_a_bad_async_EVD_is_an_invalid_handle)
{
	DAT_EVD_HANDLE first = NO_HANDLE, other = NO_HANDLE, given;
	DAT_IA_HANDLE a = open_as(emu0, &first), ia = (DAT_IA_HANDLE)&w;

	must(dat_evd_create(a, 4, NO_HANDLE, DAT_EVD_DTO_FLAG, &other));
	given = other; /* without the valid-handle flag */
	must_fail(dat_ia_open(emu0, 8, &given, &ia), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EVD_ASYNC);
	ck_assert_ptr_eq(given, other);
	given = (DAT_EVD_HANDLE)0xdeadbeef;
	must_fail(dat_ia_open(emu0, 8, &given, &ia), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EVD_ASYNC);
	given = a;
	must_fail(dat_ia_open(emu0, 8, &given, &ia), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EVD_ASYNC);
	ck_assert_ptr_eq(ia, &w);
	must(dat_ia_close(a, DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

START_TEST(page_the_first_opening_has_nobody_elses_async_EVD)
{
	static char emu1[] = "emu1";
	DAT_EVD_HANDLE first = NO_HANDLE, stale = NO_HANDLE, made = NO_HANDLE;
	DAT_IA_HANDLE b, ia = (DAT_IA_HANDLE)&w;
	DAT_EVD_HANDLE bad[5] = { DAT_EVD_ASYNC_EXISTS, DAT_EVD_OUT_OF_SCOPE,
				  (DAT_EVD_HANDLE)(uintptr_t)3 };
	size_t i;

	must(dat_ia_open(emu1, 8, &first, &b));
	must(dat_evd_create(b, 4, NO_HANDLE, DAT_EVD_ASYNC_FLAG, &stale));
	must(dat_evd_free(stale));
	must(dat_evd_create(b, 4, NO_HANDLE, DAT_EVD_ASYNC_FLAG, &made));
	bad[3] = stale;
	bad[4] = made; /* valid, but of another adapter */
	for (i = 0; i < COUNT(bad); i++) {
		DAT_EVD_HANDLE given = bad[i];

		must_fail(dat_ia_open(emu0, 8, &given, &ia), DAT_INVALID_HANDLE,
			  DAT_INVALID_HANDLE_EVD_ASYNC);
		ck_assert_ptr_eq(given, bad[i]);
		ck_assert_ptr_eq(ia, &w);
	}
	ck_assert_int_eq(objects(DAT_HANDLE_TYPE_IA), 1);
	must(dat_ia_close(b, DAT_CLOSE_ABRUPT_FLAG));
}
END_TEST

/*
 * An instance whose async EVD was borrowed from an instance that is now closed has no async EVD;
 * others may provide one again.
 */
START_TEST(page_an_async_EVD_that_was_lent_ends_with_its_owner)
{
	DAT_EVD_HANDLE own = NO_HANDLE, lent, shown = NO_HANDLE, later = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE a = open_as(emu0, &own), b, c;

	lent = own;
	must(dat_ia_open(emu0, -1, &lent, &b)); /* the length is ignored */
	ck_assert_ptr_eq(lent, own);
	must_fail(dat_ia_close(a, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		  DAT_INVALID_STATE_IA_IN_USE);
	must(dat_ia_close(a, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_ia_query(b, &shown, 0, NULL, 0, NULL));
	ck_assert_ptr_eq(shown, DAT_EVD_OUT_OF_SCOPE);
	must_fail(dat_ia_open(emu0, 8, &later, &c), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_EVD_ASYNC);
	own = NO_HANDLE;
	c = open_as(emu0, &own);
	must(dat_ia_close(b, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ia_close(c, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(G10_RO_AWARE_in_front_of_a_name_is_stripped)
{
	static char aware[] = "RO_AWARE_emu0";
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia = open_as(aware, &async);
	DAT_IA_ATTR attr;

	must(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_ADAPTER_NAME, &attr, 0, NULL));
	ck_assert_str_eq(attr.adapter_name, "emu0");
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

/* ---- querying ---- */

START_TEST(E10_the_emulators_provider_attributes)
{
	DAT_PROVIDER_ATTR attr;
	int i, j;

	memset(&attr, 0xee, sizeof(attr));
	must(dat_ia_query(w.a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	ck_assert_int_eq(attr.srq_watermarks_supported, 0x111);
	ck_assert_int_eq(attr.srq_info_supported, 0x11);
	ck_assert_int_eq(attr.ep_recv_info_supported, 0x11);
	ck_assert_int_eq(attr.srq_supported, DAT_TRUE);
	ck_assert_int_eq(attr.srq_ep_pz_difference_supported, DAT_TRUE);
	ck_assert_int_eq(attr.max_private_data_size, 256);
	ck_assert_uint_eq(attr.dapl_version_major, 1);
	ck_assert_uint_eq(attr.dapl_version_minor, 2);
	ck_assert_uint_gt(attr.optimal_buffer_alignment, 0);
	ck_assert_uint_eq(DAT_OPTIMAL_ALIGNMENT % attr.optimal_buffer_alignment, 0);
	for (i = 0; i < 6; i++)
		for (j = 0; j < 6; j++)
			ck_assert_int_eq(attr.evd_stream_merging_supported[i][j], DAT_TRUE);
}
END_TEST

START_TEST(page_an_adapter_tells_its_name_and_address)
{
	DAT_IA_ATTR a = ia_attr(&w.a), b = ia_attr(&w.b);

	ck_assert_str_eq(a.adapter_name, "emu0");
	ck_assert_str_eq(b.adapter_name, "emu1");
	ck_assert_ptr_nonnull(a.ia_address_ptr);
	ck_assert_int_eq(a.ia_address_ptr->sa_family, b.ia_address_ptr->sa_family);
	ck_assert_mem_ne(a.ia_address_ptr, b.ia_address_ptr, sizeof(DAT_SOCK_ADDR));
}
END_TEST

/* The simulated adapter is version 1.0; a device has its own. */
START_TEST(page_an_adapter_tells_its_versions)
{
	DAT_IA_ATTR attr = ia_attr(&w.a);

	if (device)
		return;
	ck_assert_uint_eq(attr.hardware_version_major, 1);
	ck_assert_uint_eq(attr.hardware_version_minor, 0);
	ck_assert_uint_eq(attr.firmware_version_major, 1);
	ck_assert_uint_eq(attr.firmware_version_minor, 0);
}
END_TEST

START_TEST(G9_every_limit_is_finite_and_above_0)
{
	DAT_IA_ATTR a = ia_attr(&w.a);
	const DAT_COUNT limits[] = {
		a.max_eps,
		a.max_dto_per_ep,
		a.max_rdma_read_per_ep_in,
		a.max_rdma_read_per_ep_out,
		a.max_evds,
		a.max_evd_qlen,
		a.max_iov_segments_per_dto,
		a.max_lmrs,
		a.max_pzs,
		a.max_srqs,
		a.max_ep_per_srq,
		a.max_recv_per_srq,
		a.max_iov_segments_per_rdma_read,
		a.max_iov_segments_per_rdma_write,
		a.max_rdma_read_in,
		a.max_rdma_read_out,
	};
	size_t i;

	for (i = 0; i < COUNT(limits); i++)
		ck_assert_msg(limits[i] > 0 && limits[i] < INT_MAX, "limit %zu is %d", i,
			      limits[i]);
	ck_assert_int_gt(a.max_rmrs, 0);
	ck_assert_int_lt(a.max_rmrs, INT_MAX);
	ck_assert_uint_gt(a.max_message_size, 0);
	ck_assert_uint_lt(a.max_message_size, UINT64_MAX);
	ck_assert_uint_gt(a.max_rdma_size, 0);
	ck_assert_uint_gt(a.max_lmr_block_size, 0);
}
END_TEST

START_TEST(G4_masks_of_a_query)
{
	DAT_IA_ATTR attr;
	DAT_PROVIDER_ATTR provider;

	must(dat_ia_query(w.a.ia, NULL, 0, NULL, 0, NULL));
	must_fail(dat_ia_query(w.a.ia, NULL, DAT_IA_FIELD_ALL + 1, &attr, 0, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(dat_ia_query(w.a.ia, NULL, UINT64_C(1) << 63, &attr, 0, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	must_fail(dat_ia_query(w.a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &provider),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	must_fail(dat_ia_query(w.a.ia, NULL, DAT_IA_FIELD_IA_MAX_EPS, NULL, 0, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	must_fail(dat_ia_query(w.a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL),
		  DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, page_opening_makes_an_async_EVD);
	unit_test_bare(suite, page_an_unknown_adapter_is_not_found);
	unit_test_bare(suite, the_clock_goes_on_while_an_adapter_is_looked_for);
	unit_test_bare(suite, page_names_that_are_no_names);
	unit_test_bare(suite, page_versions_have_to_match);
	unit_add(suite, G7_both_kinds_of_thread_safety_are_served, 2, setup_fabric);
	unit_add(suite, page_a_queue_length_below_1_is_an_invalid_parameter, 3, setup_fabric);
	unit_test_bare(suite, G3_NULL_pointers_are_an_invalid_parameter);
	unit_test_bare(suite, page_the_same_adapter_opens_several_times);
	unit_test_bare(suite, page_ASYNC_EXISTS_gives_OUT_OF_SCOPE);
	unit_test_bare(suite, G6_an_EVD_made_with_the_ASYNC_bit_serves_a_later_open);
	unit_test_bare(suite, G3_a_bad_async_EVD_is_an_invalid_handle);
	unit_test_bare(suite, page_the_first_opening_has_nobody_elses_async_EVD);
	unit_test_bare(suite, page_an_async_EVD_that_was_lent_ends_with_its_owner);
	unit_test_bare(suite, G10_RO_AWARE_in_front_of_a_name_is_stripped);
	unit_test(suite, E10_the_emulators_provider_attributes);
	unit_test(suite, page_an_adapter_tells_its_name_and_address);
	unit_test(suite, page_an_adapter_tells_its_versions);
	unit_test(suite, G9_every_limit_is_finite_and_above_0);
	unit_test(suite, G4_masks_of_a_query);
}

UNIT_SUITE("ia")
