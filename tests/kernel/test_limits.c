/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits of the process (setrlimit): what is lacking is DAT_INSUFFICIENT_RESOURCES with a message
 * that names the reason, and no signal ends the program.
 */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "emu/fabric/layout.h"
#include "host/bias.h"
#include "tests/support/conf.h"
#include "tests/support/runtime.h"

#define POOL_FITS (64ul << 20) /* one of the sizes that are tried */

static char trace[64];

static void setup_folder(void)
{
	runtime_begin("limits");
	snprintf(trace, sizeof(trace), "%s/trace", runtime_folder());
}

static void limit(int resource, rlim_t most)
{
	struct rlimit limits;

	ck_assert_int_eq(getrlimit(resource, &limits), 0);
	limits.rlim_cur = most < limits.rlim_max ? most : limits.rlim_max;
	ck_assert_int_eq(setrlimit(resource, &limits), 0);
}

static void unlimit_and_remove(int resource)
{
	limit(resource, RLIM_INFINITY);
	runtime_remove();
}

static DAT_RETURN ia_open_close(void)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";
	DAT_IA_HANDLE ia;
	DAT_RETURN ret = dat_ia_open(name, 8, &async, &ia);

	return ret == DAT_SUCCESS ? dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) : ret;
}

#define must_lack(call) must_fail(call, DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE)

/* ---- RLIMIT_FSIZE ---- */

START_TEST(a_shared_fabric_is_smaller_where_files_are_limited)
{
	const char *said;

	setenv("DATSIM_FABRIC", "limits", 1);
	limit(RLIMIT_FSIZE, sizeof(struct emu_fabric) + POOL_FITS);
	must(open_and_close("emu0", &said));
	ck_assert_str_eq(said, "");
	unlimit_and_remove(RLIMIT_FSIZE);
}
END_TEST

START_TEST(a_file_too_large_for_the_limit_is_no_signal)
{
	const char *said;

	if (_i)
		setenv("DATSIM_TRACE", trace, 1);
	else
		setenv("DATSIM_FABRIC", "limits", 1);
	limit(RLIMIT_FSIZE, 4096);
	must_lack(open_and_close("emu0", &said));
	ck_assert_said(said, "ulimit -f");
	unlimit_and_remove(RLIMIT_FSIZE);
}
END_TEST

/* The trace is written as it grows, or, of a shared fabric, at the end. */
START_TEST(a_trace_too_large_for_the_limit_ends_early)
{
	const rlim_t most = _i ? sizeof(struct emu_fabric) + POOL_FITS : 64 << 10;
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";
	DAT_PZ_HANDLE pz;
	DAT_IA_HANDLE ia;
	struct stat st;

	setenv("DATSIM_TRACE", trace, 1);
	if (_i)
		setenv("DATSIM_FABRIC", "limits", 1);
	limit(RLIMIT_FSIZE, most);
	said_start();
	must(dat_ia_open(name, 8, &async, &ia));
	for (int i = 0; i < 2000; i++) {
		must(dat_pz_create(ia, &pz));
		must(dat_pz_free(pz));
	}
	if (_i)
		limit(RLIMIT_FSIZE, 4096);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	ck_assert_said(said_stop(), "ulimit -f");
	ck_assert_int_eq(stat(trace, &st), 0);
	ck_assert_uint_gt(st.st_size, 0);
	ck_assert_uint_le(st.st_size, most);
	unlimit_and_remove(RLIMIT_FSIZE);
}
END_TEST

/* ---- RLIMIT_NOFILE ---- */

/* One descriptor more from open to open, until there are enough. */
START_TEST(too_few_descriptors_are_insufficient_resources)
{
	const char *said = "";
	DAT_RETURN ret = DAT_ABORT;
	int most;

	if (_i == 0)
		setenv("DATSIM_FABRIC", "limits", 1);
	if (_i == 1)
		setenv("DATSIM_TRACE", trace, 1);
	if (_i == 2)
		conf_text("emu0 u1.2 threadsafe default \"\" libdat.1.2 emu0 \"\"\n");
	for (most = 3; most < 40 && ret != DAT_SUCCESS; most++) {
		said_start();
		limit(RLIMIT_NOFILE, (rlim_t)most);
		ret = ia_open_close();
		limit(RLIMIT_NOFILE, RLIM_INFINITY);
		said = said_stop();
		if (ret != DAT_SUCCESS) {
			ck_assert_int_eq(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
			ck_assert_said(said, "Too many open files");
		}
	}
	ck_assert_int_gt(most, 4);
	ck_assert_int_eq(ret, DAT_SUCCESS);
	ck_assert_str_eq(said, "");
	unlimit_and_remove(RLIMIT_NOFILE);
}
END_TEST

/* ---- RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK ---- */

/* Sanitizers and valgrind need addresses of their own. */
static bool addresses_are_ours(void)
{
	const char *preload = getenv("LD_PRELOAD");

#if defined(__SANITIZE_ADDRESS__) || defined(BIAS_SANITIZED)
	return false;
#endif
	return !preload || !strstr(preload, "vgpreload");
}

/* A private fabric, and a shared one, which needs more; and a private one without data. */
START_TEST(too_few_addresses_are_insufficient_resources)
{
	const int what = _i < 2 ? RLIMIT_AS : RLIMIT_DATA;
	DAT_RETURN ret = DAT_ABORT;
	bool refused = false;

	if (!addresses_are_ours())
		goto out;
	if (_i == 1)
		setenv("DATSIM_FABRIC", "limits", 1);
	for (rlim_t most = 64 << 20; ret != DAT_SUCCESS; most *= 2) {
		ck_assert_uint_lt(most, (rlim_t)1 << 46);
		limit(what, most);
		ret = ia_open_close();
		limit(what, RLIM_INFINITY);
		refused |= ret != DAT_SUCCESS;
		if (ret != DAT_SUCCESS)
			ck_assert_int_eq(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	}
	ck_assert(refused);
out:
	unlimit_and_remove(what);
}
END_TEST

START_TEST(a_fabric_needs_no_locked_memory)
{
	if (_i)
		setenv("DATSIM_FABRIC", "limits", 1);
	limit(RLIMIT_MEMLOCK, 0);
	must(ia_open_close());
	unlimit_and_remove(RLIMIT_MEMLOCK);
}
END_TEST

/* ---- other settings ---- */

START_TEST(E11_a_runtime_folder_with_a_long_name_is_named)
{
	char path[300], expected[100];
	const char *said;

	snprintf(path, sizeof(path), "%s/%0200d", runtime_folder(), 0);
	snprintf(expected, sizeof(expected), "XDG_RUNTIME_DIR=%.32s", path);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	setenv("XDG_RUNTIME_DIR", path, 1);
	setenv("DATSIM_FABRIC", "limits", 1);
	must_fail(open_and_close("emu0", &said), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	ck_assert_said(said, expected);
	unlimit_and_remove(RLIMIT_FSIZE);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_shared_fabric_is_smaller_where_files_are_limited, 1, setup_folder);
	unit_add(suite, a_file_too_large_for_the_limit_is_no_signal, 2, setup_folder);
	unit_add(suite, a_trace_too_large_for_the_limit_ends_early, 2, setup_folder);
	unit_add(suite, too_few_descriptors_are_insufficient_resources, 3, setup_folder);
	unit_add(suite, too_few_addresses_are_insufficient_resources, 3, setup_folder);
	unit_add(suite, a_fabric_needs_no_locked_memory, 2, setup_folder);
	unit_add(suite, E11_a_runtime_folder_with_a_long_name_is_named, 1, setup_folder);
}

UNIT_SUITE_OF_PROCESSES("limits")
