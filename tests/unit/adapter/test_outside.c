/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input from outside the program: addresses of both families, a trace file that can be written and
 * one that cannot, a missing provider, and NULL output pointers of <dat/sim.h>.
 * Rulings E4, E11; "sim_": sim.h.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/conf.h"

/* ---- addresses ---- */

static DAT_RETURN connect_to(const void *remote)
{
	return dat_ep_connect(w.a.ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)remote, QUAL,
			      DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

/* ::ffff:a.b.c.d names the host a.b.c.d. */
START_TEST(E4_an_IPv4_address_may_be_written_as_an_IPv6_one)
{
	struct sockaddr_in6 remote = { .sin6_family = AF_INET6 };
	const struct sockaddr_in *in = (const struct sockaddr_in *)address(&w.b);

	remote.sin6_addr.s6_addr[10] = remote.sin6_addr.s6_addr[11] = 0xff;
	memcpy(&remote.sin6_addr.s6_addr[12], &in->sin_addr, 4);
	w.a.ep = plain_ep(&w.a);
	listen_at(&w.b, QUAL);
	must(connect_to(&remote));
	run_quiet();
	expect_event(w.b.cr, DAT_CONNECTION_REQUEST_EVENT);
}
END_TEST

START_TEST(E4_an_IPv6_address_of_nobody_is_unreachable)
{
	struct sockaddr_in6 remote = { .sin6_family = AF_INET6 };

	remote.sin6_addr.s6_addr[0] = 0x20;
	remote.sin6_addr.s6_addr[15] = 1;
	w.a.ep = plain_ep(&w.a);
	must(connect_to(&remote));
	run_quiet();
	expect_connection(w.a.connect, w.a.ep, DAT_CONNECTION_EVENT_UNREACHABLE);
}
END_TEST

/* ---- the environment ---- */

START_TEST(E11_a_provider_that_is_not_there_is_not_found)
{
	static const char *const wanted[] = { "hw", "no-such-provider", "" };
	const char *said;

	setenv("DAT_PROVIDER", wanted[_i], 1);
	must_fail(open_and_close("no-such-adapter", &said), DAT_PROVIDER_NOT_FOUND,
		  DAT_NAME_NOT_REGISTERED);
	ck_assert_str_ne(said, "");
	unsetenv("DAT_PROVIDER");
}
END_TEST

/*
 * A fabric that lives as long as its adapter is open, with DATSIM_TRACE=path. Collects the messages
 * at its begin and its end.
 */
static DAT_RETURN trace_to(const char *path, const char **said)
{
	DAT_EVD_HANDLE async = NO_HANDLE;
	char name[] = "emu0";
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	setenv("DATSIM_TRACE", path, 1);
	said_start();
	ret = dat_ia_open(name, 8, &async, &ia);
	if (ret == DAT_SUCCESS)
		ret = dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
	*said = said_stop();
	unsetenv("DATSIM_TRACE");
	return ret;
}

START_TEST(E11_a_trace_that_cannot_be_written_is_an_error)
{
	static const char *const bad[] = { "/no/such/folder/trace", "/proc/version", "/" };
	const char *said;

	must_fail(trace_to(bad[_i], &said), DAT_INVALID_PARAMETER, ANY_SUBTYPE);
	ck_assert_said(said, bad[_i]);
	must(open_and_close("emu0", &said));
}
END_TEST

START_TEST(E11_a_trace_may_go_to_what_is_no_plain_file)
{
	const char *said;

	must(trace_to("/dev/null", &said));
	ck_assert_str_eq(said, "");
	must(trace_to("/dev/full", &said));
	ck_assert_said(said, "/dev/full");
}
END_TEST

START_TEST(E11_a_trace_ends_with_its_number_of_lines)
{
	char path[] = "/tmp/libdat-trace-XXXXXX", line[256], last[256] = "";
	int fd = mkstemp(path);
	const char *said;
	FILE *file;

	ck_assert_int_ge(fd, 0);
	must(trace_to(path, &said));
	file = fdopen(fd, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		memcpy(last, line, sizeof(last));
	fclose(file);
	unlink(path);
	ck_assert_int_eq(strncmp(last, "# end lines=", strlen("# end lines=")), 0);
}
END_TEST

/* ---- sim.h ---- */

#define must_refuse(call) must_fail((call), DAT_INVALID_PARAMETER, ANY_SUBTYPE)

START_TEST(sim_NULL_is_an_invalid_parameter)
{
	DAT_COUNT count;
	size_t length;

	w.a.ep = plain_ep(&w.a);
	must_refuse(dat_sim_config_init(NULL));
	must_refuse(dat_sim_of(w.a.ia, NULL));
	must_refuse(dat_sim_backend(w.a.ia, NULL));
	must_refuse(dat_sim_now(w.sim, NULL));
	must_refuse(dat_sim_set_link(w.sim, NULL, "emu1", 1, 0));
	must_refuse(dat_sim_set_link(w.sim, "emu0", NULL, 1, 0));
	must_refuse(dat_sim_hold_link(w.sim, NULL, "emu1", 0));
	must_refuse(dat_sim_hold_link(w.sim, "emu0", NULL, 0));
	must_refuse(dat_sim_hold_link(w.sim, "emu0", "emu1", -1));
	must_refuse(dat_sim_release_link(w.sim, NULL, "emu1"));
	must_refuse(dat_sim_release_link(w.sim, "emu0", NULL));
	must_refuse(dat_sim_hold_message(w.a.ep, 0, 0));
	must_refuse(dat_sim_hold_message(w.a.ep, 1, -1));
	must_refuse(dat_sim_count_objects(DAT_HANDLE_TYPE_EP, NULL));
	must_refuse(dat_sim_name(w.a.ep, NULL, 4));
	must_refuse(dat_sim_name(w.a.ep, (char *)&count, 0));
	must_refuse(dat_sim_trace(w.sim, (DAT_BOOLEAN)2));
	must_refuse(dat_sim_trace_read(w.sim, NULL, &length));
	must_refuse(dat_sim_trace_note(w.sim, NULL));
	expect_state(w.a.ep, DAT_EP_STATE_UNCONNECTED);
}
END_TEST

static void setup_nothing(void)
{
}

static void fill(Suite *suite)
{
	unit_test_all(suite, E4_an_IPv4_address_may_be_written_as_an_IPv6_one);
	unit_test_all(suite, E4_an_IPv6_address_of_nobody_is_unreachable);
	unit_add(suite, E11_a_provider_that_is_not_there_is_not_found, 3, setup_nothing);
	unit_add(suite, E11_a_trace_that_cannot_be_written_is_an_error, 3, setup_nothing);
	unit_add(suite, E11_a_trace_may_go_to_what_is_no_plain_file, 1, setup_nothing);
	unit_add(suite, E11_a_trace_ends_with_its_number_of_lines, 1, setup_nothing);
	unit_test(suite, sim_NULL_is_an_invalid_parameter);
}

UNIT_SUITE("outside")
