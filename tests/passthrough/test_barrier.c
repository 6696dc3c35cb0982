/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process whose seccomp filter, loaded after the first adapter was opened, refuses membarrier:
 * without it the lock that is biased to one thread (host/bias.h) does not exclude: the bias ends.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/stubverbs/stub.h"
#include "tests/support/conf.h"

/* In all threads. */
static void refuse_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = COUNT(code), .filter = code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				 &program),
			 0);
}

START_TEST(G7_a_lock_without_its_barrier_is_an_ordinary_one)
{
	DAT_EP_HANDLE a, b;
	const char *said;

	plain_pair();
	post_recvs(&w.b, w.b.ep, 0, 4);
	post_send(&w.a, w.a.ep, 0, SHORT);
	refuse_membarrier();
	said_start();
	/* The library's thread takes the lock: it makes a connection. */
	a = plain_ep(&w.a);
	b = plain_ep(&w.b);
	connect_eps(&w.a, a, &w.b, b);
	said = said_stop();
	ck_assert_said(said, "membarrier");
	ck_assert_int_eq(drain(w.b.recv), 1);
	for (int i = 1; i < 4; i++)
		post_send(&w.a, w.a.ep, i, SHORT);
	ck_assert_int_eq(drain(w.b.recv), 3);
	/* It is said once. */
	said_start();
	must(dat_ep_disconnect(a, DAT_CLOSE_ABRUPT_FLAG));
	expect_connection(w.b.connect, b, DAT_CONNECTION_EVENT_DISCONNECTED);
	ck_assert_str_eq(said_stop(), "");
}
END_TEST

/* The second thread of the program, whose first call finds the lock biased to the first. */
static void *call_from_here(void *cancel)
{
	DAT_EP_PARAM param;

	must(dat_ep_query(w.b.ep, DAT_EP_FIELD_ALL, &param));
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, cancel);
	return NULL;
}

START_TEST(G7_a_thread_that_meets_no_barrier_can_be_cancelled_after_the_call)
{
	const char *said;
	pthread_t thread;
	int cancel = -1;

	plain_pair();
	post_send(&w.a, w.a.ep, 0, SHORT);
	refuse_membarrier();
	said_start();
	ck_assert_int_eq(pthread_create(&thread, NULL, call_from_here, &cancel), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	said = said_stop();
	ck_assert_said(said, "membarrier");
	ck_assert_int_eq(cancel, PTHREAD_CANCEL_ENABLE);
}
END_TEST

static void fill(Suite *suite)
{
	unit_test(suite, G7_a_thread_that_meets_no_barrier_can_be_cancelled_after_the_call);
	unit_test(suite, G7_a_lock_without_its_barrier_is_an_ordinary_one);
}

/* valgrind knows no seccomp: ENOSYS. */
static bool seccomp_there(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int main(void)
{
	if (!seccomp_there()) {
		printf("1..0 # SKIP no seccomp: %s\n", strerror(errno));
		return EXIT_SUCCESS;
	}
	return unit_run_on_stub("barrier", fill);
}
