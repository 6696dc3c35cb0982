/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only thread of a private fabric waits forever and nothing is in flight: stderr says so once,
 * and names the events that could have woken it. Only a signal can end the wait; here a timer sends
 * it repeatedly, so its exact time does not matter.
 */
#include <signal.h>
#include <sys/single_threaded.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/support.h"

static int kept_stderr;
static FILE *caught;

static void on_alarm(int signal)
{
	(void)signal;
}

/*
 * stderr goes to a file. A signal comes every 5 ms and does not restart the interrupted call.
 */
static void begin(void)
{
	struct itimerval often = { .it_interval = { .tv_usec = 5000 },
				   .it_value = { .tv_usec = 5000 } };
	struct sigaction action = { .sa_handler = on_alarm };

	caught = tmpfile();
	ck_assert_ptr_nonnull(caught);
	fflush(stderr);
	kept_stderr = dup(STDERR_FILENO);
	ck_assert_int_ge(kept_stderr, 0);
	ck_assert_int_ge(dup2(fileno(caught), STDERR_FILENO), 0);
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
}

/* The text on stderr */
static const char *end(void)
{
	static const struct itimerval never;
	static char text[4096];
	size_t length;

	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	fflush(stderr);
	ck_assert_int_ge(dup2(kept_stderr, STDERR_FILENO), 0);
	close(kept_stderr);
	rewind(caught);
	length = fread(text, 1, sizeof(text) - 1, caught);
	text[length] = '\0';
	fclose(caught);
	return text;
}

static int lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void must_say(const char *text, DAT_HANDLE handle, const char *what)
{
	char wanted[128] = "";

	if (handle != NO_HANDLE)
		must(dat_sim_name(handle, wanted, sizeof(wanted)));
	snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "%s", what);
	ck_assert_msg(strstr(text, wanted), "\"%s\" is not in: %s", wanted, text);
}

static void wait_in_vain(DAT_EVD_HANDLE evd)
{
	DAT_COUNT nmore = -77;
	DAT_EVENT event;

	post_se(w.a.request, 1); /* an event on another EVD does not help */
	must_fail(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 2, &event, &nmore), DAT_INTERRUPTED_CALL,
		  DAT_SUB_INTERRUPTED);
	ck_assert_int_eq(nmore, 0); /* ruling G2 */
}

START_TEST(G2_a_wait_for_nothing_says_so_once)
{
	DAT_EP_HANDLE idle;
	const char *text;

	plain_pair();
	idle = plain_ep(&w.a);
	begin();
	wait_in_vain(w.a.recv);
	wait_in_vain(w.a.recv);
	text = end();
	ck_assert_int_eq(lines(text), 1);
	must_say(text, w.a.recv, " waits forever");
	must_say(text, w.a.ep, " (CONNECTED)");
	must_say(text, idle, " (UNCONNECTED)");
	ck_assert(!strstr(text, "emu1"));
}
END_TEST

START_TEST(G2_a_CNO_that_nothing_can_notify_says_so_once)
{
	DAT_EVD_HANDLE notified = (DAT_EVD_HANDLE)&w, disabled;
	DAT_CNO_HANDLE cno;
	const char *text;

	plain_pair();
	must(dat_cno_create(w.b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	must(dat_evd_modify_cno(w.b.recv, cno));
	must(dat_evd_create(w.b.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &disabled));
	must(dat_evd_disable(disabled));
	begin();
	for (int i = 0; i < 2; i++)
		must_fail(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &notified), DAT_INTERRUPTED_CALL,
			  DAT_SUB_INTERRUPTED);
	text = end();
	ck_assert_ptr_eq(notified, &w);
	ck_assert_int_eq(lines(text), 1);
	must_say(text, cno, " waits forever");
	must_say(text, w.b.recv, " fed by ");
	must_say(text, w.b.ep, " (CONNECTED)");
	must_say(text, disabled, " (disabled)");
	text = strstr(text, "; its EVDs: ");
	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_null(strstr(text + 1, "; its EVDs: "));
}
END_TEST

START_TEST(G2_a_CNO_without_an_EVD_says_so)
{
	DAT_EVD_HANDLE notified;
	DAT_CNO_HANDLE cno;

	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	begin();
	must_fail(dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &notified), DAT_INTERRUPTED_CALL,
		  DAT_SUB_INTERRUPTED);
	must_say(end(), NO_HANDLE, "it has no EVD");
}
END_TEST

START_TEST(page_a_wait_that_something_will_end_says_nothing)
{
	DAT_EVENT event;
	DAT_COUNT nmore;

	plain_pair();
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	begin();
	must(dat_evd_wait(w.b.recv, DAT_TIMEOUT_INFINITE, 1, &event, &nmore));
	must_fail(dat_evd_wait(w.b.recv, 1000000, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED,
		  ANY_SUBTYPE);
	ck_assert_str_eq(end(), "");
}
END_TEST

static void fill(Suite *suite)
{
	/* If a tool has added a thread of its own, no process here has a single thread. */
	if (!__libc_single_threaded)
		return;
	unit_test(suite, G2_a_wait_for_nothing_says_so_once);
	unit_test(suite, G2_a_CNO_that_nothing_can_notify_says_so_once);
	unit_test(suite, G2_a_CNO_without_an_EVD_says_so);
	unit_test(suite, page_a_wait_that_something_will_end_says_nothing);
}

UNIT_SUITE("hopeless")
