/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an adapter of the passthrough that cannot be opened says, and which error it is. On the
 * devices of tests/stubverbs.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <dat/dat_registry.h>

#include "host/nic.h"
#include "host/nic_backend.h"
#include "tests/stubverbs/stub.h"
#include "tests/support/conf.h"

#define STUB ((DAT_NAME_PTR) "stub0")

static DAT_RETURN open_stub(const char **said)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	said_start();
	ret = dat_ia_open(STUB, 8, &async, &ia);
	*said = said_stop();
	return ret;
}

START_TEST(no_device_is_said_and_no_provider)
{
	const char *said;

	stub_config.none = true;
	must_fail(open_stub(&said), DAT_PROVIDER_NOT_FOUND, ANY_SUBTYPE);
	ck_assert_said(said, "DAT_PROVIDER=hw: ");
	ck_assert_int_eq(stub_lists(), 0);
}
END_TEST

/* Does each thread but this one block these signals? Returns the number of those threads. */
static int threads_that_block(uint64_t signals)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	char path[300], line[128];
	uint64_t blocked;
	FILE *status;
	int n = 0;

	ck_assert_ptr_nonnull(tasks);
	while ((task = readdir(tasks)) != NULL) {
		if (task->d_name[0] == '.' || atoi(task->d_name) == gettid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		status = fopen(path, "r");
		ck_assert_ptr_nonnull(status);
		while (fgets(line, sizeof(line), status))
			if (sscanf(line, "SigBlk: %" SCNx64, &blocked) == 1)
				ck_assert_uint_eq(blocked & signals, signals);
		fclose(status);
		n++;
	}
	closedir(tasks);
	return n;
}

START_TEST(signals_are_for_the_threads_of_the_program)
{
	const uint64_t signals = 1ul << (SIGINT - 1) | 1ul << (SIGTERM - 1) | 1ul << (SIGUSR1 - 1) |
				 1ul << (SIGCHLD - 1);
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;

	must(dat_ia_open(STUB, 8, &async, &ia));
	ck_assert_int_ge(threads_that_block(signals), 1);
	must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}
END_TEST

START_TEST(a_kernel_without_verbs_is_said)
{
	const char *said;

	stub_fail("ibv_get_device_list", 1, ENOSYS, true);
	must_fail(open_stub(&said), DAT_PROVIDER_NOT_FOUND, ANY_SUBTYPE);
	ck_assert_said(said, "ib_uverbs");
}
END_TEST

/* The call cannot be cancelled; the thread can be afterwards, and when something was said, too. */
START_TEST(a_thread_that_opened_a_device_may_be_cancelled_as_before)
{
	const char *said;
	int state = -1;

	if (_i == 1)
		stub_fail("ibv_get_device_list", 1, ENOSYS, true);
	if (_i == 2)
		setenv("DAT_PROVIDER", "other", 1);
	ck_assert_int_eq(open_and_close("stub0", &said) == DAT_SUCCESS, _i == 0);
	ck_assert_int_eq(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state), 0);
	ck_assert_int_eq(state, PTHREAD_CANCEL_ENABLE);
}
END_TEST

/* The first look says that there are devices, the second cannot tell which. */
START_TEST(devices_that_cannot_be_listed_have_no_names)
{
	DAT_PROVIDER_INFO infos[8], *list[8];
	DAT_COUNT n = -1;

	for (int i = 0; i < 8; i++)
		list[i] = &infos[i];
	conf_clear();
	stub_fail("ibv_get_device_list", 2, ENOMEM, false);
	must(dat_registry_list_providers(8, &n, list));
	ck_assert_int_eq(n, 0);
}
END_TEST

START_TEST(too_few_descriptors_for_a_device_are_insufficient_resources)
{
	const char *said;

	stub_fail("rdma_create_event_channel", 1, EMFILE, true);
	must_fail(open_stub(&said), DAT_INSUFFICIENT_RESOURCES, ANY_SUBTYPE);
	ck_assert_said(said, "Too many open files");
}
END_TEST

START_TEST(a_link_that_is_down_is_said)
{
	const char *said;

	stub_config.port_down = true;
	ck_assert_int_ne(open_stub(&said), DAT_SUCCESS);
	ck_assert_said(said, "link is down");
	ck_assert_int_eq(objects(DAT_SIM_ALL_HANDLE_TYPES), 0);
}
END_TEST

START_TEST(no_permission_is_said)
{
	const char *said;

	stub_fail("rdma_bind_addr", 1, EACCES, true);
	stub_fail("ibv_open_device", 1, EACCES, true);
	ck_assert_int_ne(open_stub(&said), DAT_SUCCESS);
	ck_assert_said(said, "permission");
}
END_TEST

START_TEST(a_word_that_no_port_can_do_is_said)
{
	const char *said;

	setenv("DAT_HW_PORT_DOWN", "ignore", 1);
	ck_assert_int_ne(open_stub(&said), DAT_SUCCESS);
	ck_assert_said(said, "expected retry");
}
END_TEST

START_TEST(a_number_of_retries_that_no_device_has_is_said)
{
	const char *said;

	setenv("DAT_HW_RNR_RETRY", "8", 1);
	ck_assert_int_ne(open_stub(&said), DAT_SUCCESS);
	ck_assert_said(said, "expected a whole number from 0 to 7");
}
END_TEST

START_TEST(no_connection_manager_is_said)
{
	const char *said;

	stub_fail("rdma_create_event_channel", 1, ENOENT, true);
	must_fail(open_stub(&said), DAT_PROVIDER_NOT_FOUND, ANY_SUBTYPE);
	ck_assert_said(said, "rdma_ucm");
}
END_TEST

/* A device that has no address; why, its ports tell. */
static const struct {
	const char *call; /* that fails, too */
	bool port_down;
	const char *says;
} addressless[] = {
	{ NULL, false, "has no IP address" },
	{ NULL, true, "no port is active" },
	{ "ibv_query_device", false, "no port is active" },
	{ "ibv_open_device", false, "cannot be opened" },
};

START_TEST(a_device_without_an_address_is_said)
{
	const char *said;

	stub_fail("rdma_bind_addr", 1, ENODEV, true);
	if (addressless[_i].call)
		stub_fail(addressless[_i].call, 1, EIO, true);
	stub_config.port_down = addressless[_i].port_down;
	ck_assert_int_ne(open_stub(&said), DAT_SUCCESS);
	ck_assert_said(said, addressless[_i].says);
}
END_TEST

START_TEST(the_second_of_two_devices_is_one_as_well)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	DAT_IA_HANDLE ia;

	stub_config.second = true;
	said_start();
	ck_assert_int_ne(dat_ia_open((DAT_NAME_PTR) "stub1", 8, &async, &ia), DAT_SUCCESS);
	ck_assert_said(said_stop(), "stub1 has no IP address");
	must_fail(dat_ia_open((DAT_NAME_PTR) "stub2", 8, &async, &ia), DAT_PROVIDER_NOT_FOUND,
		  ANY_SUBTYPE);
}
END_TEST

static char heard[512];

static void hear(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(heard, sizeof(heard), format, args);
	va_end(args);
}

/* Which of the sizes that the two must agree on differs. */
START_TEST(a_passthrough_of_another_version_is_refused)
{
	const struct nic_host hosts[] = {
		{ .size = sizeof(struct nic_host) - 1,
		  .ops_size = sizeof(struct nic_ops),
		  .upcalls_size = sizeof(struct nic_upcalls),
		  .say = hear },
		{ .size = sizeof(struct nic_host),
		  .ops_size = sizeof(struct nic_ops) + 1,
		  .upcalls_size = sizeof(struct nic_upcalls),
		  .say = hear },
		{ .size = sizeof(struct nic_host),
		  .ops_size = sizeof(struct nic_ops),
		  .upcalls_size = sizeof(struct nic_upcalls) - sizeof(void *),
		  .say = hear },
		{ .size = sizeof(struct nic_host),
		  .ops_size = sizeof(struct nic_ops),
		  .upcalls_size = sizeof(struct nic_upcalls),
		  .quick_size = 1,
		  .say = hear },
	};
	const struct nic_backend *(*entry)(const struct nic_host *);
	void *module = dlopen(getenv("DAT_HW_MODULE"), RTLD_NOW | RTLD_LOCAL);
	void *symbol = module ? dlsym(module, "dat_nic_backend_1") : NULL;

	ck_assert_ptr_nonnull(symbol);
	memcpy(&entry, &symbol, sizeof(symbol));
	ck_assert_ptr_null(entry(&hosts[_i]));
	ck_assert_said(heard, "another version");
}
END_TEST

START_TEST(a_device_that_does_not_answer_is_said)
{
	const char *said;

	stub_fail("ibv_query_device", 1, EIO, true);
	ck_assert_int_ne(open_stub(&said), DAT_SUCCESS);
	ck_assert_said(said, "does not answer");
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, no_device_is_said_and_no_provider);
	unit_test_bare(suite, signals_are_for_the_threads_of_the_program);
	unit_test_bare(suite, a_kernel_without_verbs_is_said);
	unit_add(suite, a_thread_that_opened_a_device_may_be_cancelled_as_before, 3, setup_fabric);
	unit_test_bare(suite, devices_that_cannot_be_listed_have_no_names);
	unit_test_bare(suite, too_few_descriptors_for_a_device_are_insufficient_resources);
	unit_test_bare(suite, a_link_that_is_down_is_said);
	unit_test_bare(suite, no_permission_is_said);
	unit_test_bare(suite, the_second_of_two_devices_is_one_as_well);
	unit_test_bare(suite, a_word_that_no_port_can_do_is_said);
	unit_test_bare(suite, a_device_that_does_not_answer_is_said);
	unit_test_bare(suite, a_number_of_retries_that_no_device_has_is_said);
	unit_test_bare(suite, no_connection_manager_is_said);
	unit_add(suite, a_device_without_an_address_is_said, COUNT(addressless), setup_fabric);
	unit_add(suite, a_passthrough_of_another_version_is_refused, 4, setup_fabric);
}

int main(void)
{
	return unit_run_on_stub("open", fill);
}
