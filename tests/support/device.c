/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same tests on a verbs device: UNIT_DEVICE names it (tests/hwlab does). What a fabric has done at once a
 * device takes a moment for, so what is expected may come late, and before a look that expects nothing a moment
 * passes. A test that needs the simulation says SKIP where it meets it; tests/hwlab/suite.sh understands.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/support.h"

#define PATIENCE_NS UINT64_C(2000000000)
#define SETTLE_NS   10000000
#define STEP_NS     200000

const char *device;

static DAT_UINT64 machine_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (DAT_UINT64)ts.tv_sec * UINT64_C(1000000000) + (DAT_UINT64)ts.tv_nsec;
}

static void pass(long ns)
{
	struct timespec ts = { .tv_nsec = ns };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

void device_settle(void)
{
	if (device)
		pass(SETTLE_NS);
}

bool device_again(DAT_UINT64 *until)
{
	if (!device)
		return false;
	if (!*until)
		*until = machine_ns() + PATIENCE_NS;
	pass(STEP_NS);
	return machine_ns() < *until;
}

void device_cannot(const char *what)
{
	if (device && strncmp(what, "dat_sim_", strlen("dat_sim_")) == 0)
		ck_abort_msg("SKIP %.*s: the emulator only", (int)strcspn(what, "("), what);
}

/* Tests name the adapters emu0 and emu1: a dat.conf makes both mean the device. */
void device_begin(void)
{
	char path[64];
	int fd;

	device = getenv("UNIT_DEVICE");
	if (!device)
		return;
	setenv("DAT_PROVIDER", "hw", 1);
	fd = memfd_create("dat.conf", 0);
	dprintf(fd, "emu0 u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 \"%s\" \"\"\n", device);
	dprintf(fd, "emu1 u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 \"%s\" \"\"\n", device);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", path, 1);
}
