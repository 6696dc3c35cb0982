/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of the door (host/nic.h) are called with the backend's lock, whatever the program's
 * calls do before, and a call that an agent makes leaves the lock free. The test stands in front of
 * the door and looks whether the lock is free, so no second thread has to come at the right moment.
 */
#include <pthread.h>
#include <semaphore.h>

#include "host/backend.h"
#include "lib/object.h"
#include "tests/support/support.h"

static const struct nic_ops *behind;
static struct nic_ops watched;
static unsigned int calls, unlocked;

static pthread_mutex_t *lock(void)
{
	return &backend_next(NULL)->lock;
}

static void look(void)
{
	calls++;
	if (pthread_mutex_trylock(lock()) == 0) {
		pthread_mutex_unlock(lock());
		unlocked++;
	}
}

/* Hangs if this thread has the lock. */
static void take_and_release(void)
{
	pthread_mutex_lock(lock());
	pthread_mutex_unlock(lock());
}

#define WATCH(entry, object)                         \
	static void watch_##entry(struct object *it) \
	{                                            \
		look();                              \
		behind->entry(it);                   \
	}
WATCH(pd_free, nic_pd)
WATCH(mr_dereg, nic_mr)
WATCH(mw_free, nic_mw)
WATCH(cq_arm, nic_cq)
WATCH(cq_destroy, nic_cq)
WATCH(srq_destroy, nic_srq)
WATCH(qp_destroy, nic_qp)
WATCH(unlisten, nic_listener)

static void stand_in_front(DAT_IA_HANDLE ia)
{
	struct nic *nic = ((struct handle_slot *)ia)->object->nic;

	pthread_mutex_lock(lock()); /* the library's helper may be there */
	behind = nic->ops;
	watched = *behind;
	watched.pd_free = watch_pd_free;
	watched.mr_dereg = watch_mr_dereg;
	watched.mw_free = watch_mw_free;
	watched.cq_arm = watch_cq_arm;
	watched.cq_destroy = watch_cq_destroy;
	watched.srq_destroy = watch_srq_destroy;
	watched.qp_destroy = watch_qp_destroy;
	watched.unlisten = watch_unlisten;
	nic->ops = &watched;
	calls = unlocked = 0;
	pthread_mutex_unlock(lock());
}

/*
 * A second thread, which never calls the library: a process of one thread takes no lock. Each has a
 * semaphore of its own. That of a test that failed stays there if tests are not forked, and would
 * take the post that is meant for the next one.
 */
static pthread_t bystander;
static sem_t go_home[16];
static unsigned int bystanders;

static void *stand_by(void *go)
{
	while (sem_wait(go) != 0)
		;
	return go;
}

static void begin_threads(void)
{
	sem_t *go = &go_home[bystanders];

	ck_assert_uint_lt(++bystanders, COUNT(go_home));
	ck_assert_int_eq(sem_init(go, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&bystander, NULL, stand_by, go), 0);
}

static void end_threads(void)
{
	ck_assert_int_eq(sem_post(&go_home[bystanders - 1]), 0);
	ck_assert_int_eq(pthread_join(bystander, NULL), 0);
}

START_TEST(every_object_is_freed_with_the_lock)
{
	DAT_PZ_HANDLE pz = NO_HANDLE;
	DAT_EVD_HANDLE evd;
	DAT_SRQ_HANDLE srq;
	DAT_RMR_HANDLE rmr;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE ep;

	begin_threads();
	must(dat_pz_create(w.a.ia, &pz));
	evd = make_evd(&w.a, 8, DAT_EVD_DTO_FLAG);
	srq = make_srq(&w.a, 4, DAT_SRQ_LW_DEFAULT);
	rmr = make_rmr(&w.a);
	psp = listen_at(&w.a, QUAL);
	ep = plain_ep(&w.a);
	stand_in_front(w.a.ia);
	must(dat_ep_free(ep));
	must(dat_psp_free(psp));
	must(dat_rmr_free(rmr));
	must(dat_srq_free(srq));
	must(dat_evd_free(evd));
	must(dat_lmr_free(w.a.lmr));
	must(dat_pz_free(pz));
	ck_assert_uint_ge(calls, 7);
	ck_assert_uint_eq(unlocked, 0);
	end_threads();
}
END_TEST

static unsigned int agents;

static void note(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	agents++;
	take_and_release();
}

/* The message is due when the wait begins, and the agent is called from there. */
START_TEST(a_wait_goes_on_with_the_lock_after_an_agent)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { NULL, note };
	DAT_CNO_HANDLE cno;
	DAT_EVENT event;

	agents = 0;
	plain_pair();
	must(dat_cno_create(w.b.ia, agent, &cno));
	must(dat_evd_modify_cno(w.b.recv, cno));
	post_recv(&w.b, w.b.ep, 0);
	post_send(&w.a, w.a.ep, 0, SHORT);
	begin_threads();
	stand_in_front(w.b.ia);
	must_fail(dat_evd_wait(w.b.request, 1000, 1, &event, NULL), DAT_TIMEOUT_EXPIRED,
		  ANY_SUBTYPE);
	ck_assert_uint_eq(agents, 1);
	ck_assert_uint_ge(calls, 1);
	ck_assert_uint_eq(unlocked, 0);
	end_threads();
}
END_TEST

static struct {
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
} second;

static void free_second(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	ck_assert_ptr_eq(evd, second.evd);
	must(dat_evd_free(second.evd));
	must(dat_cno_free(second.cno));
	agents++;
}

/* The call of the second agent is due, and is made by the call that would associate another. */
static void modify_second(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	post_se(second.evd, 1);
	ck_assert_uint_eq(agents, 0);
	must_fail(dat_cno_modify_agent(second.cno, DAT_OS_WAIT_PROXY_AGENT_NULL),
		  DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	ck_assert_uint_eq(agents, 1);
	take_and_release();
}

START_TEST(an_agent_that_frees_its_CNO_leaves_the_lock_free)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { NULL, modify_second }, frees = { NULL, free_second };
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;

	agents = 0;
	must(dat_cno_create(w.a.ia, agent, &cno));
	must(dat_evd_create(w.a.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	must(dat_cno_create(w.a.ia, frees, &second.cno));
	must(dat_evd_create(w.a.ia, 8, second.cno, DAT_EVD_SOFTWARE_FLAG, &second.evd));
	begin_threads();
	post_se(evd, 1);
	ck_assert_uint_eq(agents, 1);
	end_threads();
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, every_object_is_freed_with_the_lock);
	unit_test(suite, a_wait_goes_on_with_the_lock_after_an_agent);
	unit_test(suite, an_agent_that_frees_its_CNO_leaves_the_lock_free);
}

UNIT_SUITE("the lock at the door")
