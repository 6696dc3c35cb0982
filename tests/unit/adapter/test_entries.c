/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of the door that a backend leaves out: an optional one is refused, so no caller has
 * to look for it; to call one that every backend must have ends the process.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/nic.h"
#include "tests/support/support.h"

static const struct nic_ops *const none = &nic_unsupported;

#define REFUSED(call) ck_assert_int_eq(none->call, -EOPNOTSUPP)

START_TEST(an_optional_entry_that_a_backend_lacks_is_refused)
{
	REFUSED(mw_alloc(NULL, NULL));
	REFUSED(cq_resize(NULL, 1));
	REFUSED(srq_resize(NULL, 1));
	REFUSED(srq_create(NULL, 1, 1, 0, NULL, NULL));
	REFUSED(handoff(NULL, 1));
	REFUSED(sim_set_link(NULL, NULL, NULL, 0, 0));
	REFUSED(sim_hold_link(NULL, NULL, NULL, 0));
	REFUSED(sim_release_link(NULL, NULL, NULL));
	REFUSED(sim_hold_message(NULL, 0, 0));
	REFUSED(sim_release_message(NULL, 0));
	REFUSED(sim_trace_read(NULL, NULL, NULL));
	REFUSED(packet_rule_add(NULL, NULL, NULL));
	REFUSED(packet_rule_fired(NULL, 1, NULL));
}
END_TEST

static void trace(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	none->trace(NULL, format, args);
	va_end(args);
}

START_TEST(entries_that_answer_without_a_backend_say_that_nothing_is_there)
{
	ck_assert_uint_eq(none->mr_windows(NULL), 0);
	ck_assert(!none->sim_step(NULL));
	ck_assert_uint_eq(none->sim_pending(NULL, NULL), 0);
	none->wake(NULL);
	none->sim_trace(NULL, true);
	none->packet_rules_clear(NULL);
	trace("- note %s", "for no trace");
}
END_TEST

/* A bug of the backend; stderr says which contract it breaks. */
START_TEST(an_entry_that_every_backend_must_have_ends_the_process)
{
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		none->close(NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, an_optional_entry_that_a_backend_lacks_is_refused);
	unit_test_bare(suite, entries_that_answer_without_a_backend_say_that_nothing_is_there);
	unit_test_bare(suite, an_entry_that_every_backend_must_have_ends_the_process);
}

UNIT_SUITE("entries")
