/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that closed its standard streams: libdat uses none of their descriptors, so what is
 * printed to one of them does not go into an arena or a trace.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/kernel/standard.h"
#include "tests/support/conf.h"

static char folder[] = "/tmp/libdat-streams-XXXXXX";

static void setup_folder(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
}

static void remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

/* Open, look, close. */
static int open_one(int mask)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";
	DAT_IA_HANDLE ia;

	if (dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS)
		return 1;
	if (standard_used(mask))
		return 2;
	if (dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS)
		return 3;
	return standard_used(mask) ? 4 : 0;
}

static void open_without_streams(void)
{
	for (int mask = 1; mask < STANDARD_SETS; mask++)
		standard_close_and_run(mask, open_one);
}

START_TEST(a_private_fabric_uses_no_standard_stream)
{
	open_without_streams();
	remove_folder();
}
END_TEST

START_TEST(a_shared_fabric_uses_no_standard_stream)
{
	setenv("DATSIM_FABRIC", "streams", 1);
	if (_i)
		setenv("DATSIM_LOCKSTEP", "1000", 1);
	open_without_streams();
	remove_folder();
}
END_TEST

/* A regular file, a device, and a pipe */
START_TEST(a_trace_uses_no_standard_stream)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/trace", folder);
	if (_i == 2)
		ck_assert_int_eq(mkfifo(path, 0600), 0);
	setenv("DATSIM_TRACE", _i == 1 ? "/dev/null" : path, 1);
	open_without_streams();
	remove_folder();
}
END_TEST

START_TEST(a_dat_conf_uses_no_standard_stream)
{
	conf_text("emu0 u1.2 threadsafe default \"\" libdat.1.2 emu0 \"\"\n");
	open_without_streams();
	remove_folder();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_private_fabric_uses_no_standard_stream, 1, setup_folder);
	unit_add(suite, a_shared_fabric_uses_no_standard_stream, 2, setup_folder);
	unit_add(suite, a_trace_uses_no_standard_stream, 3, setup_folder);
	unit_add(suite, a_dat_conf_uses_no_standard_stream, 1, setup_folder);
}

UNIT_SUITE_OF_PROCESSES("descriptors")
