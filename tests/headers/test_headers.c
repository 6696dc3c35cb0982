/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public headers against the tables: every value, every size and offset, every name.
 * gen_header_test.awk makes header_rows.h from them at build time.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "tests/support/asserts.h"

struct value_row {
	const char *name;
	uint64_t expected;
	uint64_t actual;
};

struct layout_row {
	const char *name;
	size_t offset, actual_offset;
	size_t size, actual_size;
};

/* Signed values are widened with their sign, pointers are taken as numbers. */
#define NUMBER(x) ((uint64_t) _Generic((x), void * : (uintptr_t)(x), default : (x)))

/* clang-format off */
#define VALUE(name, value) { #name, value, NUMBER(name) }
#define TYPE(type, size) { #type, 0, 0, size, sizeof(type) }
#define FIELD(type, field, offset, size) \
	{ #type "." #field, offset, offsetof(type, field), size, sizeof(((type *)0)->field) }
/* clang-format on */

#include "tests/headers/header_rows.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Collects what differs, so that one run shows all of it. */
struct report {
	char text[8192];
	size_t length;
};

static void differs(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void differs(struct report *report, const char *format, ...)
{
	size_t room = sizeof(report->text) - report->length;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(report->text + report->length, room, format, args);
	va_end(args);
	if (n > 0)
		report->length += (size_t)n < room ? (size_t)n : room - 1;
}

START_TEST(G5_values_equal_the_illumos_column)
{
	struct report report = { .length = 0 };
	size_t i;

	ck_assert_uint_ge(COUNT(values), 420);
	for (i = 0; i < COUNT(values); i++)
		if (values[i].actual != values[i].expected)
			differs(&report, "%s: expected %#" PRIx64 ", got %#" PRIx64 "; ",
				values[i].name, values[i].expected, values[i].actual);
	ck_assert_msg(report.length == 0, "%s", report.text);
}
END_TEST

START_TEST(layout_equals_x86_64)
{
	struct report report = { .length = 0 };
	size_t i;

	ck_assert_uint_ge(COUNT(layout), 300);
	for (i = 0; i < COUNT(layout); i++) {
		const struct layout_row *row = &layout[i];

		if (row->actual_offset != row->offset || row->actual_size != row->size)
			differs(&report,
				"%s: expected offset %zu size %zu, got offset %zu size %zu; ",
				row->name, row->offset, row->size, row->actual_offset,
				row->actual_size);
	}
	ck_assert_msg(report.length == 0, "%s", report.text);
}
END_TEST

START_TEST(G1_a_return_splits_into_class_type_and_subtype)
{
	DAT_RETURN ret = DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_SRQ_IN_USE;

	ck_assert_uint_eq(DAT_GET_TYPE(ret), DAT_INVALID_STATE);
	ck_assert_uint_eq(DAT_GET_SUBTYPE(ret), DAT_INVALID_STATE_SRQ_IN_USE);
	ck_assert(!DAT_IS_WARNING(ret));
	ck_assert(DAT_IS_WARNING(DAT_CLASS_WARNING | DAT_ABORT));
}
END_TEST

START_TEST(G5_NOT_IMPLEMENTED_fits_the_type_mask)
{
	ck_assert_uint_eq(DAT_GET_TYPE(DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED | DAT_INVALID_ARG1),
			  DAT_NOT_IMPLEMENTED);
}
END_TEST

/* One switch takes the watermark numbers and all others: they differ from each other. */
static const char *stream(DAT_EVENT_NUMBER number)
{
	switch ((int)number) {
	case DAT_ASYNC_SRQ_LOW_WATERMARK:
	case DAT_ASYNC_EP_SOFT_HIGH_WATERMARK:
		return "watermark";
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
	case DAT_ASYNC_ERROR_EP_BROKEN:
	case DAT_ASYNC_ERROR_TIMED_OUT:
	case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
		return "error";
	case DAT_DTO_COMPLETION_EVENT:
	case DAT_RMR_BIND_COMPLETION_EVENT:
	case DAT_CONNECTION_REQUEST_EVENT:
	case DAT_CONNECTION_EVENT_ESTABLISHED:
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
	case DAT_CONNECTION_EVENT_TIMED_OUT:
	case DAT_CONNECTION_EVENT_UNREACHABLE:
	case DAT_SOFTWARE_EVENT:
		return "other";
	default:
		return "none";
	}
}

START_TEST(W1_watermark_events_have_numbers_of_their_own)
{
	DAT_EVENT event;

	ck_assert_int_eq(DAT_ASYNC_SRQ_LOW_WATERMARK, 0x08011);
	ck_assert_int_eq(DAT_ASYNC_EP_SOFT_HIGH_WATERMARK, 0x08012);
	event.event_number = DAT_ASYNC_SRQ_LOW_WATERMARK;
	ck_assert_str_eq(stream(event.event_number), "watermark");
	event.event_number = DAT_ASYNC_EP_SOFT_HIGH_WATERMARK;
	ck_assert_str_eq(stream(event.event_number), "watermark");
	ck_assert_str_eq(stream(DAT_ASYNC_ERROR_EP_BROKEN), "error");
	ck_assert_str_eq(stream(DAT_SOFTWARE_EVENT), "other");
}
END_TEST

START_TEST(E10_attribute_bits)
{
	ck_assert_int_eq(DAT_SRQ_WATERMARK_LOW | DAT_SRQ_WATERMARK_SOFT_HIGH |
				 DAT_SRQ_WATERMARK_HARD_HIGH,
			 0x111);
	ck_assert_int_eq(DAT_SRQ_WATERMARK_LOW, 0x001);
	ck_assert_int_eq(DAT_SRQ_WATERMARK_SOFT_HIGH, 0x010);
	ck_assert_int_eq(DAT_SRQ_WATERMARK_HARD_HIGH, 0x100);
	ck_assert_int_eq(DAT_SRQ_INFO_AVAILABLE_DTO_COUNT, 0x01);
	ck_assert_int_eq(DAT_SRQ_INFO_OUTSTANDING_DTO_COUNT, 0x10);
	ck_assert_int_eq(DAT_EP_RECV_INFO_NBUFS_ALLOCATED, 0x01);
	ck_assert_int_eq(DAT_EP_RECV_INFO_BUFS_ALLOC_SPAN, 0x10);
}
END_TEST

START_TEST(stream_numbers_index_the_merge_matrix)
{
	ck_assert_int_eq(DAT_EVD_STREAM_SOFTWARE, 0);
	ck_assert_int_eq(DAT_EVD_STREAM_CR, 1);
	ck_assert_int_eq(DAT_EVD_STREAM_DTO, 2);
	ck_assert_int_eq(DAT_EVD_STREAM_CONNECTION, 3);
	ck_assert_int_eq(DAT_EVD_STREAM_RMR_BIND, 4);
	ck_assert_int_eq(DAT_EVD_STREAM_ASYNC, 5);
	ck_assert_uint_eq(sizeof(((DAT_PROVIDER_ATTR *)0)->evd_stream_merging_supported) /
				  sizeof(DAT_BOOLEAN),
			  DAT_EVD_STREAM_COUNT * DAT_EVD_STREAM_COUNT);
}
END_TEST

START_TEST(older_names_reach_the_same_things)
{
	ck_assert_uint_eq(offsetof(DAT_IA_ATTR, max_mtu_size),
			  offsetof(DAT_IA_ATTR, max_message_size));
	ck_assert_uint_eq(offsetof(DAT_EP_ATTR, max_mtu_size),
			  offsetof(DAT_EP_ATTR, max_message_size));
	ck_assert_uint_eq(offsetof(DAT_IA_ATTR, max_rdma_read_per_ep),
			  offsetof(DAT_IA_ATTR, max_rdma_read_per_ep_in));
	ck_assert_uint_eq(DAT_IA_FIELD_IA_MAX_DTO_PER_OP, DAT_IA_FIELD_IA_MAX_DTO_PER_EP);
	ck_assert_int_eq(sizeof(DAT_RMR_BIND_COMPLETION_STATUS), sizeof(DAT_DTO_COMPLETION_STATUS));
	ck_assert_ptr_null(DAT_HANDLE_NULL);
}
END_TEST

START_TEST(version_and_names)
{
	DAT_OS_WAIT_PROXY_AGENT agent = DAT_OS_WAIT_PROXY_AGENT_NULL;

	ck_assert_int_eq(DAT_VERSION_MAJOR, 1);
	ck_assert_int_eq(DAT_VERSION_MINOR, 2);
	ck_assert_int_eq(DAT_THREADSAFE, DAT_FALSE);
	ck_assert_int_eq(DAT_OPTIMAL_ALIGNMENT, 256);
	ck_assert_str_eq(DAT_PROVIDER_INIT_FUNC_STR, "dat_provider_init");
	ck_assert_str_eq(DAT_PROVIDER_FINI_FUNC_STR, "dat_provider_fini");
	ck_assert_ptr_null(agent.instance_data);
	ck_assert(agent.proxy_agent_func == NULL);
}
END_TEST

/* A provider as others write them: filled members and the macros that jump through them */
static DAT_IA_HANDLE called_with;

static DAT_RETURN srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			     DAT_SRQ_HANDLE *srq)
{
	(void)pz;
	called_with = ia;
	*srq = attr;
	return DAT_SUCCESS;
}

static DAT_RETURN srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark)
{
	(void)srq;
	return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | (DAT_RETURN)low_watermark;
}

START_TEST(redirection_macros_call_the_provider)
{
	DAT_PROVIDER provider = { .srq_create_func = srq_create, .srq_set_lw_func = srq_set_lw };
	DAT_PROVIDER *object = &provider;
	DAT_SRQ_ATTR attr = { 0 };
	DAT_SRQ_HANDLE srq = NULL;

	ck_assert_uint_eq(DAT_SRQ_CREATE(&object, NULL, &attr, &srq), DAT_SUCCESS);
	ck_assert_ptr_eq(called_with, &object);
	ck_assert_ptr_eq(srq, &attr);
	ck_assert_uint_eq(DAT_GET_SUBTYPE(DAT_SRQ_SET_LW(&object, 7)), 7);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("headers");
	TCase *tcase = tcase_create("headers");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, G5_values_equal_the_illumos_column);
	if (sizeof(void *) == 8 && sizeof(long) == 8)
		tcase_add_test(tcase, layout_equals_x86_64);
	tcase_add_test(tcase, G1_a_return_splits_into_class_type_and_subtype);
	tcase_add_test(tcase, G5_NOT_IMPLEMENTED_fits_the_type_mask);
	tcase_add_test(tcase, W1_watermark_events_have_numbers_of_their_own);
	tcase_add_test(tcase, E10_attribute_bits);
	tcase_add_test(tcase, stream_numbers_index_the_merge_matrix);
	tcase_add_test(tcase, older_names_reach_the_same_things);
	tcase_add_test(tcase, version_and_names);
	tcase_add_test(tcase, redirection_macros_call_the_provider);
	suite_add_tcase(suite, tcase);

	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
