/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that closed its standard streams: libdat uses none of their descriptors, so what is
 * printed to one of them does not go into an arena or a trace.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/nic.h"
#include "host/nic_backend.h"
#include "tests/kernel/standard.h"
#include "tests/support/conf.h"
#include "tests/support/runtime.h"

static void setup_folder(void)
{
	runtime_begin("streams");
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
	runtime_remove();
}
END_TEST

START_TEST(a_shared_fabric_uses_no_standard_stream)
{
	setenv("DATSIM_FABRIC", "streams", 1);
	if (_i)
		setenv("DATSIM_LOCKSTEP", "1000", 1);
	open_without_streams();
	runtime_remove();
}
END_TEST

/* A regular file, a device, and a pipe */
START_TEST(a_trace_uses_no_standard_stream)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/trace", runtime_folder());
	if (_i == 2)
		ck_assert_int_eq(mkfifo(path, 0600), 0);
	setenv("DATSIM_TRACE", _i == 1 ? "/dev/null" : path, 1);
	open_without_streams();
	runtime_remove();
}
END_TEST

START_TEST(a_dat_conf_uses_no_standard_stream)
{
	conf_text("emu0 u1.2 threadsafe default \"\" libdat.1.2 emu0 \"\"\n");
	open_without_streams();
	runtime_remove();
}
END_TEST

/* ---- of a forked child ---- */

/* A process that opens an adapter, and has a child that does nothing. The child says its number. */
static void __attribute__((noreturn)) open_and_fork(int say)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";
	DAT_IA_HANDLE ia;
	pid_t pid;

	if (dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS)
		_exit(1);
	pid = fork();
	if (pid == 0) {
		pid = getpid();
		if (write(say, &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
	}
	poll(NULL, 0, 60000);
	_exit(0);
}

START_TEST(a_child_that_lives_does_not_hide_its_parents_death)
{
	struct nic_member member;
	pid_t pid, child = 0;
	int ends[2];

	setenv("DATSIM_FABRIC", "streams", 1);
	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		open_and_fork(ends[1]);
	ck_assert_int_eq(read(ends[0], &child, sizeof(child)), sizeof(child));
	ck_assert_int_eq(emu_backend.fabric_member("streams", 0, &member), 0);
	ck_assert_int_eq(member.pid, pid);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(emu_backend.fabric_member("streams", 0, &member), -ERANGE);
	kill(child, SIGKILL);
	runtime_remove();
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_private_fabric_uses_no_standard_stream, 1, setup_folder);
	unit_add(suite, a_shared_fabric_uses_no_standard_stream, 2, setup_folder);
	unit_add(suite, a_trace_uses_no_standard_stream, 3, setup_folder);
	unit_add(suite, a_dat_conf_uses_no_standard_stream, 1, setup_folder);
	unit_add(suite, a_child_that_lives_does_not_hide_its_parents_death, 1, setup_folder);
}

UNIT_SUITE_OF_PROCESSES("descriptors")
