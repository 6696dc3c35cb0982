/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same tests on a verbs device, which UNIT_DEVICE names (tests/hwlab sets it). A device needs a
 * moment for things that a fabric has done at once: an expected event may come late, and a test
 * waits a moment before it checks that nothing has come. A test that needs the simulation says SKIP
 * at that point; tests/hwlab/judge.awk understands it.
 *
 * UNIT_SETTLE_MS is that moment and UNIT_PATIENCE_MS the longest delay of an expected event, both
 * long enough for a slow machine. UNIT_IN_VAIN names the tests that expect an event which never
 * comes on this device, UNIT_SKIP the tests that are not run. UNIT_ROWS=N runs N rows of each test
 * that is a table.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/support.h"

#define PATIENCE_MS UINT64_C(60000)
#define IN_VAIN_MS  UINT64_C(1000)
#define SETTLE_MS   UINT64_C(10)
#define STEP_NS     UINT64_C(200000) /* between two looks for an event, at first */
#define STEP_MAX_NS UINT64_C(10000000)

const char *device;
static DAT_UINT64 settle_ns;
static unsigned long links_before; /* of /proc/self/task, before the first adapter was opened */

static DAT_UINT64 machine_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (DAT_UINT64)ts.tv_sec * UINT64_C(1000000000) + (DAT_UINT64)ts.tv_nsec;
}

static void pass(DAT_UINT64 ns)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / UINT64_C(1000000000)),
			       .tv_nsec = (long)(ns % UINT64_C(1000000000)) };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

void device_settle(void)
{
	if (device)
		pass(settle_ns);
}

static DAT_UINT64 number_of(const char *variable, DAT_UINT64 otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Is the name in this variable, a list separated by spaces? */
static bool names(const char *variable, const char *name)
{
	const char *at = getenv(variable);
	size_t length = strlen(name);

	for (; at && *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		if (strncmp(at, name, length) == 0 && (at[length] == ' ' || !at[length]))
			return true;
	}
	return false;
}

bool device_skips(const char *test)
{
	return device && names("UNIT_SKIP", test);
}

int device_rows(int rows)
{
	int most = device ? (int)number_of("UNIT_ROWS", 0) : 0;

	return most > 0 && most < rows ? most : rows;
}

DAT_TIMEOUT device_patience_us(void)
{
	DAT_UINT64 ms = names("UNIT_IN_VAIN", tcase_name())
				? IN_VAIN_MS
				: number_of("UNIT_PATIENCE_MS", PATIENCE_MS);

	return (DAT_TIMEOUT)(ms * 1000);
}

bool device_again(DAT_UINT64 *until)
{
	DAT_UINT64 patience = (DAT_UINT64)device_patience_us() * 1000;
	DAT_UINT64 waited, step;

	if (!device)
		return false;
	if (!*until)
		*until = machine_ns() + patience;
	waited = machine_ns() + patience - *until;
	step = waited / 4 > STEP_NS ? waited / 4 : STEP_NS;
	pass(step < STEP_MAX_NS ? step : STEP_MAX_NS);
	return machine_ns() < *until;
}

/* The links of the folder: a task is a folder in it. */
static unsigned long task_links(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) ? 0 : (unsigned long)st.st_nlink;
}

#ifdef __SANITIZE_THREAD__
static void *do_nothing(void *arg)
{
	return arg;
}

/* ThreadSanitizer has a thread of its own, at the latest when the program starts one. */
static void begin_sanitizer_thread(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, do_nothing, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
#else
static void begin_sanitizer_thread(void)
{
}
#endif

void device_count_threads(void)
{
	if (!device || links_before)
		return;
	begin_sanitizer_thread();
	links_before = task_links();
}

void device_await_destroyed(void)
{
	DAT_UINT64 until = 0;

	while (links_before && task_links() > links_before + 1 && device_again(&until))
		;
}

void device_cannot(const char *what)
{
	if (device && strncmp(what, "dat_sim_", strlen("dat_sim_")) == 0)
		ck_abort_msg("SKIP %.*s: the emulator only", (int)strcspn(what, "("), what);
}

/* Each test is a process of its own: load what all of them would load before they are forked. */
static void load_verbs(void)
{
	const char *module = getenv("DAT_HW_MODULE");
	void *dl = module ? dlopen(module, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
	void *list = dl ? dlsym(dl, "ibv_get_device_list") : NULL;
	void *free_list = dl ? dlsym(dl, "ibv_free_device_list") : NULL;
	void **(*get_devices)(int *);
	void (*free_devices)(void **);
	void **devices;

	if (!list || !free_list)
		return;
	memcpy(&get_devices, &list, sizeof(list));
	memcpy(&free_devices, &free_list, sizeof(free_list));
	devices = get_devices(NULL);
	if (devices)
		free_devices(devices);
}

/* Tests call their adapters emu0 and emu1: a dat.conf maps both names to the device. */
void device_begin(void)
{
	char path[64];
	int fd;

	device = getenv("UNIT_DEVICE");
	if (!device)
		return;
	settle_ns = number_of("UNIT_SETTLE_MS", SETTLE_MS) * 1000000;
	setenv("DAT_PROVIDER", "hw", 1);
	fd = memfd_create("dat.conf", 0);
	dprintf(fd, "emu0 u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 \"%s\" \"\"\n", device);
	dprintf(fd, "emu1 u1.2 nonthreadsafe default libdat.so.1 dapl.1.2 \"%s\" \"\"\n", device);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", path, 1);
	load_verbs();
}
