/* SPDX-License-Identifier: BSD-3-Clause */
/* Consumer notification objects. */
#include <signal.h>
#include <sys/time.h>

#include "tests/sweep/sweep.h"

static DAT_CNO_HANDLE cno;

static void a_cno(void)
{
	must(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
}

#define PROVOKE_CNO(how, call)      \
	static DAT_RETURN how(void) \
	{                           \
		a_cno();            \
		return TRY(call);   \
	}

PROVOKE(create_no_output, dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL))
PROVOKE_CNO(query_unknown_bit, dat_cno_query(cno, (DAT_CNO_PARAM_MASK)4, &out.cno))
PROVOKE_CNO(query_no_structure, dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL))
PROVOKE_CNO(wait_no_output, dat_cno_wait(cno, 10, NULL))

static DAT_RETURN create_one_too_many(void)
{
	DAT_RETURN ret;

	UNTIL_REFUSED(ret, dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &made));
	return TRY(dat_cno_create(w.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &out.handle));
}

static DAT_RETURN free_with_an_EVD(void)
{
	a_cno();
	must(dat_evd_modify_cno(w.a.recv, cno));
	return TRY(dat_cno_free(cno));
}

/* ---- wait ---- */

/* Ruling G2: the handle is written, as NULL. */
static DAT_RETURN wait_in_vain(void)
{
	DAT_EVD_HANDLE evd = w.a.recv;
	DAT_RETURN ret;

	a_cno();
	ret = TRY(dat_cno_wait(cno, 10, &evd));
	ck_assert_ptr_null(evd);
	return ret;
}

static void do_nothing(int signo)
{
	(void)signo;
}

/* Only the signal can end the wait; it comes again in case the first one came too early. */
static DAT_RETURN wait_with_a_signal(void)
{
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } },
			       never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = do_nothing };
	DAT_RETURN ret;

	a_cno();
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	sweep_before();
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	ret = dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &out.handle);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	return sweep_after("dat_cno_wait", ret);
}

/* ---- free during a wait: another CNO's agent, which runs inside the wait, frees the CNO ---- */

static DAT_RETURN freed;

static void free_it(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	freed = TRY(dat_cno_free(cno));
}

static DAT_RETURN free_while_somebody_waits(void)
{
	const DAT_OS_WAIT_PROXY_AGENT agent = { .proxy_agent_func = free_it };
	DAT_CNO_HANDLE other;
	DAT_EVD_HANDLE evd;

	a_cno();
	must(dat_cno_create(w.a.ia, agent, &other));
	plain_pair();
	must(dat_evd_modify_cno(w.a.recv, other));
	post_recv(&w.a, w.a.ep, 0);
	post_send(&w.b, w.b.ep, 0, SHORT);
	ck_assert_int_eq(dat_cno_wait(cno, 100, &evd), DAT_QUEUE_EMPTY);
	return freed;
}

static const struct sweep_row rows[] = {
	ROW_ARG(dat_cno_create, 3, create_no_output),
	ROW(dat_cno_create, INSUFFICIENT_RESOURCES, RESOURCE_DEVICE, create_one_too_many),
	ROW(dat_cno_free, INVALID_STATE, INVALID_STATE_CNO_IN_USE, free_with_an_EVD),
	ROW(dat_cno_free, INVALID_STATE, INVALID_STATE_CNO_IN_USE, free_while_somebody_waits),
	ROW_ARG(dat_cno_query, 2, query_unknown_bit),
	ROW_ARG(dat_cno_query, 3, query_no_structure),
	ROW_ARG(dat_cno_wait, 3, wait_no_output),
	ROW(dat_cno_wait, QUEUE_EMPTY, NO_SUBTYPE, wait_in_vain),
	ROW(dat_cno_wait, INTERRUPTED_CALL, SUB_INTERRUPTED, wait_with_a_signal),
};

SWEEP_TABLE(sweep_cno);
