/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, querying and closing adapters. */
#include "tests/sweep/sweep.h"

static char emu0[] = "emu0", unknown[] = "no-such-adapter0", no_name[] = "";
static DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

#define OPEN(name, qlen, evd, major, minor, safe) \
	TRY(dat_ia_openv(name, qlen, evd, &out.handle, major, minor, safe))

PROVOKE(open_unknown_name, dat_ia_openv(unknown, 8, &async, &out.handle, 1, 2, DAT_FALSE))
PROVOKE(open_empty_name, dat_ia_openv(no_name, 8, &async, &out.handle, 1, 2, DAT_FALSE))
PROVOKE(open_other_major, dat_ia_openv(emu0, 8, &async, &out.handle, 2, 0, DAT_FALSE))
PROVOKE(open_newer_minor, dat_ia_openv(emu0, 8, &async, &out.handle, 1, 3, DAT_FALSE))
PROVOKE(open_NULL_name, dat_ia_openv(NULL, 8, &async, &out.handle, 1, 2, DAT_FALSE))
PROVOKE(open_no_queue, dat_ia_openv(emu0, 0, &async, &out.handle, 1, 2, DAT_FALSE))
PROVOKE(open_no_place_for_the_EVD, dat_ia_openv(emu0, 8, NULL, &out.handle, 1, 2, DAT_FALSE))
PROVOKE(open_no_output, dat_ia_openv(emu0, 8, &async, NULL, 1, 2, DAT_FALSE))
PROVOKE(open_neither_true_nor_false,
	dat_ia_openv(emu0, 8, &async, &out.handle, 1, 2, (DAT_BOOLEAN)2))
PROVOKE(open_queue_too_long,
	dat_ia_openv(emu0, ia_attr(&w.a).max_evd_qlen + 1, &async, &out.handle, 1, 2, DAT_FALSE))

static DAT_RETURN open_name_too_long(void)
{
	static char name[DAT_NAME_MAX_LENGTH + 1];

	memset(name, 'x', DAT_NAME_MAX_LENGTH);
	return OPEN(name, 8, &async, 1, 2, DAT_FALSE);
}

/* Neither an EVD, nor one for asynchronous events, nor one of this adapter */
static DAT_RETURN open_with_a_zone(void)
{
	DAT_EVD_HANDLE given = w.a.pz;

	return OPEN(emu0, 8, &given, 1, 2, DAT_FALSE);
}

static DAT_RETURN open_with_another_stream(void)
{
	DAT_EVD_HANDLE given = w.a.recv;

	return OPEN(emu0, 8, &given, 1, 2, DAT_FALSE);
}

static DAT_RETURN open_with_another_adapters_EVD(void)
{
	DAT_EVD_HANDLE given = w.b.async;

	return OPEN(emu0, 8, &given, 1, 2, DAT_FALSE);
}

static DAT_RETURN open_the_first_with_ASYNC_EXISTS(void)
{
	DAT_EVD_HANDLE given = DAT_EVD_ASYNC_EXISTS;
	static char emu7[] = "emu7";

	return OPEN(emu7, 8, &given, 1, 2, DAT_FALSE);
}

static DAT_RETURN open_once_too_often(void)
{
	DAT_EVD_HANDLE given;
	DAT_IA_HANDLE ias[1000];
	DAT_RETURN ret = DAT_SUCCESS;
	size_t n = 0;

	for (;;) {
		given = DAT_EVD_ASYNC_EXISTS;
		ck_assert_uint_lt(n, COUNT(ias));
		if (dat_ia_open(emu0, 1, &given, &ias[n]) != DAT_SUCCESS)
			break;
		n++;
	}
	given = DAT_EVD_ASYNC_EXISTS;
	ret = OPEN(emu0, 1, &given, 1, 2, DAT_FALSE);
	while (n > 0)
		must(dat_ia_close(ias[--n], DAT_CLOSE_GRACEFUL_FLAG));
	return ret;
}

static DAT_RETURN open_and_close(void)
{
	DAT_EVD_HANDLE own = NO_HANDLE;
	DAT_IA_HANDLE ia = NO_HANDLE;
	DAT_RETURN ret = dat_ia_open(emu0, 8, &own, &ia);

	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return ret;
}

PROVOKE(query_unknown_bit,
	dat_ia_query(w.a.ia, &out.handle, DAT_IA_FIELD_ALL + 1, &out.ia, 0, NULL))
PROVOKE(query_no_structure, dat_ia_query(w.a.ia, &out.handle, DAT_IA_FIELD_ALL, NULL, 0, NULL))
PROVOKE(query_unknown_provider_bit,
	dat_ia_query(w.a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &out.provider))
PROVOKE(query_no_provider_structure,
	dat_ia_query(w.a.ia, &out.handle, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL))

PROVOKE(close_unknown_flag, dat_ia_close(w.a.ia, (DAT_CLOSE_FLAGS)2))
PROVOKE(close_with_objects_left, dat_ia_close(w.a.ia, DAT_CLOSE_GRACEFUL_FLAG))

/* Another instance still sends its events there. */
static DAT_RETURN close_while_others_use_the_async_EVD(void)
{
	DAT_EVD_HANDLE own = NO_HANDLE, given;
	DAT_IA_HANDLE first, second;
	DAT_RETURN ret;

	must(dat_ia_open(emu0, 8, &own, &first));
	given = own;
	must(dat_ia_open(emu0, 8, &given, &second));
	ret = TRY(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG));
	return ret;
}

static const struct sweep_row rows[] = {
	ROW(dat_ia_open, SUCCESS, NO_SUBTYPE, open_and_close),
	ROW(dat_ia_open, PROVIDER_NOT_FOUND, NAME_NOT_REGISTERED, open_unknown_name),
	ROW(dat_ia_open, PROVIDER_NOT_FOUND, NAME_NOT_REGISTERED, open_empty_name),
	ROW(dat_ia_open, PROVIDER_NOT_FOUND, MAJOR_NOT_FOUND, open_other_major),
	ROW(dat_ia_open, PROVIDER_NOT_FOUND, MINOR_NOT_FOUND, open_newer_minor),
	ROW_ARG(dat_ia_open, 1, open_NULL_name),
	ROW_ARG(dat_ia_open, 1, open_name_too_long),
	ROW_ARG(dat_ia_open, 2, open_no_queue),
	ROW_ARG(dat_ia_open, 3, open_no_place_for_the_EVD),
	ROW_ARG(dat_ia_open, 4, open_no_output),
	ROW_ARG(dat_ia_open, 7, open_neither_true_nor_false),
	ROW(dat_ia_open, INVALID_HANDLE, INVALID_HANDLE_EVD_ASYNC, open_with_a_zone),
	ROW(dat_ia_open, INVALID_HANDLE, INVALID_HANDLE_EVD_ASYNC, open_with_another_stream),
	ROW(dat_ia_open, INVALID_HANDLE, INVALID_HANDLE_EVD_ASYNC, open_with_another_adapters_EVD),
	ROW(dat_ia_open, INVALID_HANDLE, INVALID_HANDLE_EVD_ASYNC,
	    open_the_first_with_ASYNC_EXISTS),
	ROW(dat_ia_open, INSUFFICIENT_RESOURCES, RESOURCE_TEVD, open_queue_too_long),
	ROW(dat_ia_open, INSUFFICIENT_RESOURCES, RESOURCE_DEVICE, open_once_too_often),
	ROW_ARG(dat_ia_query, 3, query_unknown_bit),
	ROW_ARG(dat_ia_query, 4, query_no_structure),
	ROW_ARG(dat_ia_query, 5, query_unknown_provider_bit),
	ROW_ARG(dat_ia_query, 6, query_no_provider_structure),
	ROW_ARG(dat_ia_close, 2, close_unknown_flag),
	ROW(dat_ia_close, INVALID_STATE, INVALID_STATE_IA_IN_USE, close_with_objects_left),
	ROW(dat_ia_close, INVALID_STATE, INVALID_STATE_IA_IN_USE,
	    close_while_others_use_the_async_EVD),
};

SWEEP_TABLE(sweep_ia);
