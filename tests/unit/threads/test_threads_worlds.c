/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Worlds that begin and end while other threads open adapters, and while the process forks: a
 * private fabric, a shared one, and one in lockstep.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/backend.h"
#include "lib/front.h"
#include "tests/support/runtime.h"
#include "tests/support/support.h"

enum {
	THREADS = 4,
	ROUNDS = 100
};

static void setup_shared(void)
{
	runtime_begin("worlds");
	setenv("DATSIM_FABRIC", "worlds", 1);
}

static void setup_lockstep(void)
{
	setenv("DATSIM_LOCKSTEP", "1000", 1);
	setup_shared();
}

static DAT_RETURN open_and_close(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret = dat_ia_open((DAT_NAME_PTR) "emu0", 8, &async, &ia);

	return ret == DAT_SUCCESS ? dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) : ret;
}

static void *open_and_close_often(void *arg)
{
	DAT_RETURN *ret = arg;

	for (int n = 0; n < ROUNDS && *ret == DAT_SUCCESS; n++)
		*ret = open_and_close();
	return NULL;
}

/*
 * The last close ends the world, and waits for the library's thread without the lock. An open that
 * comes then once joined the fabric again, and the one that closed could not leave it.
 */
START_TEST(a_world_that_ends_has_ended_when_an_adapter_is_opened_again)
{
	DAT_RETURN rets[THREADS] = { DAT_SUCCESS };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, open_and_close_often, &rets[i]),
				 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		must(rets[i]);
	}
	runtime_end_any();
}
END_TEST

/*
 * A call that sleeps in the world keeps it from ending: here as if another thread were in one. The
 * child has no such thread.
 */
START_TEST(G3_a_world_of_a_forked_child_ends_though_a_thread_of_its_parent_sleeps_in_one)
{
	struct backend *b;
	int status;
	pid_t child;

	side_open(&w.a, "emu0");
	must(dat_backend_chosen(&b));
	backend_use(b);
	child = fork();
	if (child == 0)
		_exit(open_and_close() == DAT_SUCCESS ? 0 : 1);
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	backend_unuse(b);
	side_close(&w.a);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test_bare(suite, a_world_that_ends_has_ended_when_an_adapter_is_opened_again);
	unit_add(suite, a_world_that_ends_has_ended_when_an_adapter_is_opened_again, 1,
		 setup_shared);
	unit_add(suite, a_world_that_ends_has_ended_when_an_adapter_is_opened_again, 1,
		 setup_lockstep);
	unit_test_bare(
		suite,
		G3_a_world_of_a_forked_child_ends_though_a_thread_of_its_parent_sleeps_in_one);
}

UNIT_SUITE("worlds")
