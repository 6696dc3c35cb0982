/* SPDX-License-Identifier: BSD-3-Clause */
/* libdat-turns.so alone: semaphores, locks, barriers and condition variables. */
#include <mqueue.h>
#include <sys/msg.h>

#include "turns_table.h"

/* ---- semaphores ---- */

START_TEST(a_semaphore_is_waited_for)
{
	struct timespec ts;

	begin();
	ck_assert_int_eq(sem_init(&sem, 0, 1), 0);
	ck_assert_int_eq(sem_wait(&sem), 0);
	expect("");
	set_hook(2, post);
	ck_assert_int_eq(sem_wait(&sem), 0);
	expect("wait ever, wait ever, tell");
	answer = OUTSIDE_HOPELESS;
	set_hook(1, post);
	ck_assert_int_eq(sem_wait(&sem), 0);
	expect("wait ever, tell, leave");
	answer = OUTSIDE_AGAIN;
	ts = in_ns(50000);
	ck_assert_int_eq(sem_clockwait(&sem, CLOCK_MONOTONIC, &ts), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	expect("wait 50000");
	ts = in_ns(50000);
	set_hook(1, post);
	ck_assert_int_eq(sem_clockwait(&sem, CLOCK_MONOTONIC, &ts), 0);
	expect("wait 50000, tell");
	ts = (struct timespec){ .tv_sec = 1 };
	ck_assert_int_eq(sem_timedwait(&sem, &ts), -1);
	ck_assert_int_eq(errno, ETIMEDOUT);
	expect("wait 2000");
	errno = ENOENT;
	post();
	ck_assert_int_eq(errno, ENOENT);
	expect("tell");
	ck_assert_int_eq(sem_timedwait(&sem, &ts), 0);
	expect("");
}
END_TEST

/* ---- locks ---- */

START_TEST(a_mutex_is_waited_for)
{
	struct timespec ts;

	begin();
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	expect("");
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), EBUSY);
	expect("wait 1000");
	set_hook(2, let_go);
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	expect("wait ever, wait ever, tell");
	let_go();
	expect("");
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), 0);
	expect("");
	ts = in_ns(50000);
	ck_assert_int_eq(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	expect("wait 50000");
	ts = in_ns(50000);
	set_hook(1, let_go);
	ck_assert_int_eq(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &ts), 0);
	expect("wait 50000, tell");
	ts = (struct timespec){ .tv_sec = 1 };
	ck_assert_int_eq(pthread_mutex_timedlock(&mutex, &ts), ETIMEDOUT);
	expect("wait 2000");
	ts.tv_nsec = 1000000000;
	ck_assert_int_eq(pthread_mutex_timedlock(&mutex, &ts), EINVAL);
	expect("");
	let_go();
	ck_assert_int_eq(pthread_mutex_timedlock(&mutex, &ts), 0);
	expect("");
	let_go();
	expect("");
}
END_TEST

static void let_write(void)
{
	ck_assert_int_eq(pthread_rwlock_unlock(&rwlock), 0);
}

START_TEST(a_thread_is_told_that_it_would_wait_for_itself)
{
	static const struct timespec never = { .tv_sec = 4000000000 };
	pthread_mutexattr_t attr;
	pthread_mutex_t own;

	begin();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	ck_assert_int_eq(pthread_mutex_init(&own, &attr), 0);
	ck_assert_int_eq(pthread_mutex_lock(&own), 0);
	ck_assert_int_eq(pthread_mutex_timedlock(&own, &never), EDEADLK);
	ck_assert_int_eq(pthread_mutex_lock(&own), EDEADLK);
	ck_assert_int_eq(pthread_join(pthread_self(), NULL), EDEADLK);
	expect("");
	ck_assert_int_eq(pthread_mutex_trylock(&own), EBUSY);
	ck_assert_int_eq(pthread_mutex_unlock(&own), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&own), EPERM);
}
END_TEST

/* Another thread has it: the one that writes is told that it would wait for itself. */
static int other[2], others;

static void *write_until_told(void *arg)
{
	char byte;

	ck_assert_int_eq(pthread_rwlock_wrlock(&rwlock), 0);
	__atomic_store_n(&others, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_read, other[0], &byte, 1);
	let_write();
	__atomic_store_n(&others, 0, __ATOMIC_SEQ_CST);
	return arg;
}

static void await_other(int number)
{
	while (__atomic_load_n(&others, __ATOMIC_SEQ_CST) != number)
		syscall(SYS_sched_yield);
}

static void have_other_write(void)
{
	pthread_t thread;

	ck_assert_int_eq(pipe(other), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, write_until_told, NULL), 0);
	ck_assert_int_eq(pthread_detach(thread), 0);
	await_other(1);
}

static void let_other_go(void)
{
	ck_assert_int_eq(syscall(SYS_write, other[1], "x", 1), 1);
	await_other(0);
}

START_TEST(a_lock_for_reading_and_writing_is_waited_for)
{
	begin();
	ck_assert_int_eq(pthread_rwlock_rdlock(&rwlock), 0);
	ck_assert_int_eq(pthread_rwlock_tryrdlock(&rwlock), 0);
	expect("");
	ck_assert_int_eq(pthread_rwlock_trywrlock(&rwlock), EBUSY);
	expect("wait 1000");
	let_write();
	expect("");
	set_hook(2, let_write);
	ck_assert_int_eq(pthread_rwlock_wrlock(&rwlock), 0);
	expect("wait ever, wait ever, tell");
	ck_assert_int_eq(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
	expect("wait 1000");
	let_write();
	have_other_write();
	set_hook(1, let_other_go);
	ck_assert_int_eq(pthread_rwlock_rdlock(&rwlock), 0);
	expect("wait ever, tell");
	let_write();
	ck_assert_int_eq(pthread_rwlock_trywrlock(&rwlock), 0);
	expect("");
}
END_TEST

typedef int timed_lock(pthread_rwlock_t *lock, const struct timespec *abs);

static int read_by_clock(pthread_rwlock_t *lock, const struct timespec *abs)
{
	return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, abs);
}

static int write_by_clock(pthread_rwlock_t *lock, const struct timespec *abs)
{
	return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, abs);
}

START_TEST(a_lock_for_reading_and_writing_is_waited_for_until_a_time)
{
	static timed_lock *const timed[] = { read_by_clock, write_by_clock,
					     pthread_rwlock_timedrdlock,
					     pthread_rwlock_timedwrlock };
	struct timespec ts;

	begin();
	have_other_write();
	if (_i < 2) {
		ts = in_ns(50000);
		ck_assert_int_eq(timed[_i](&rwlock, &ts), ETIMEDOUT);
		expect("wait 50000");
		ts = in_ns(50000);
		set_hook(1, let_other_go);
		ck_assert_int_eq(timed[_i](&rwlock, &ts), 0);
		expect("wait 50000, tell");
	} else {
		ts = (struct timespec){ .tv_sec = 1 };
		ck_assert_int_eq(timed[_i](&rwlock, &ts), ETIMEDOUT);
		expect("wait 2000");
		let_other_go();
		ck_assert_int_eq(timed[_i](&rwlock, &ts), 0);
	}
	/* The one for reading leaves it to other readers, the one for writing does not. */
	ck_assert_int_eq(pthread_rwlock_tryrdlock(&rwlock), _i % 2 ? EBUSY : 0);
	ts.tv_nsec = 1000000000;
	ck_assert_int_eq(timed[_i](&rwlock, &ts), EINVAL);
}
END_TEST

/* As glibc does it: of the time before all else, and of itself only the thread that writes. */
START_TEST(a_lock_for_reading_and_writing_is_refused_as_by_libc)
{
	static timed_lock *const timed[] = { read_by_clock, write_by_clock,
					     pthread_rwlock_timedrdlock,
					     pthread_rwlock_timedwrlock };
	static const struct timespec never = { .tv_sec = 4000000000 };
	static const struct timespec bad = { .tv_nsec = 1000000000 };

	begin();
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(timed[i](&rwlock, &bad), EINVAL);
	ck_assert_int_eq(pthread_rwlock_clockrdlock(&rwlock, CLOCK_TAI, &never), EINVAL);
	ck_assert_int_eq(pthread_rwlock_wrlock(&rwlock), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(timed[i](&rwlock, &never), EDEADLK);
	ck_assert_int_eq(pthread_rwlock_rdlock(&rwlock), EDEADLK);
	ck_assert_int_eq(pthread_rwlock_wrlock(&rwlock), EDEADLK);
	expect("");
	ck_assert_int_eq(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
	let_write();
	ck_assert_int_eq(pthread_rwlock_trywrlock(&rwlock), 0);
}
END_TEST

static pthread_spinlock_t spin;

static void let_spin(void)
{
	ck_assert_int_eq(pthread_spin_unlock(&spin), 0);
}

START_TEST(a_spin_lock_is_waited_for)
{
	ck_assert_int_eq(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
	begin();
	ck_assert_int_eq(pthread_spin_lock(&spin), 0);
	expect("");
	ck_assert_int_eq(pthread_spin_trylock(&spin), EBUSY);
	expect("wait 1000");
	set_hook(2, let_spin);
	ck_assert_int_eq(pthread_spin_lock(&spin), 0);
	expect("wait ever, wait ever, tell");
	let_spin();
	expect("");
	ck_assert_int_eq(pthread_spin_trylock(&spin), 0);
	expect("");
}
END_TEST

/* ---- barriers ---- */

static pthread_barrier_t barrier;

/* As another thread, the last one to come. */
static void come_last(void)
{
	ck_assert_int_eq(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
}

static void come_third_and_last(void)
{
	set_hook(1, come_last);
	ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
}

static void make_barrier(unsigned int count)
{
	ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, count), 0);
}

START_TEST(threads_wait_at_a_barrier_for_the_last_one)
{
	make_barrier(2);
	begin();
	for (int i = 0; i < 3; i++) {
		set_hook(2, come_last);
		ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
		expect("wait ever, wait ever, tell");
	}
	ck_assert_int_eq(pthread_barrier_destroy(&barrier), 0);
	make_barrier(3);
	set_hook(1, come_third_and_last);
	ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
	expect("wait ever, wait ever, tell");
	ck_assert_int_eq(pthread_barrier_destroy(&barrier), 0);
	make_barrier(1);
	come_last();
	expect("tell");
	answer = OUTSIDE_HOPELESS;
	ck_assert_int_eq(pthread_barrier_destroy(&barrier), 0);
	make_barrier(2);
	set_hook(1, come_last);
	ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
	expect("wait ever, tell, leave");
}
END_TEST

START_TEST(a_barrier_of_several_processes_is_told_to_all)
{
	pthread_barrierattr_t attr;

	make_barrier(2);
	begin();
	ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
	ck_assert_int_eq(pthread_barrierattr_init(&attr), 0);
	ck_assert_int_eq(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0);
	ck_assert_int_eq(pthread_barrier_init(&barrier, &attr, 1), 0);
	come_last();
	expect("tell fd");
}
END_TEST

static void make_shared(unsigned int count)
{
	pthread_barrierattr_t attr;

	ck_assert_int_eq(pthread_barrierattr_init(&attr), 0);
	ck_assert_int_eq(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED), 0);
	ck_assert_int_eq(pthread_barrier_init(&barrier, &attr, count), 0);
}

static void leave_last(void)
{
	((uint32_t *)&barrier)[4]++;
}

/* One that was through before waits for that in pthread_barrier_destroy. */
START_TEST(a_thread_that_leaves_a_barrier_of_several_processes_tells)
{
	begin();
	make_shared(2);
	set_hook(1, come_last);
	ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
	expect("wait fd ever, tell fd, tell fd");
	((uint32_t *)&barrier)[4]--;
	set_hook(2, leave_last);
	ck_assert_int_eq(pthread_barrier_destroy(&barrier), 0);
	expect("wait fd ever, wait fd ever");
}
END_TEST

/*
 * One that is not in lockstep comes after this thread is counted and before it looks which rounds
 * are over. What it does is in libc's words, of all that came and all whose rounds are over.
 */
START_TEST(a_round_that_another_process_has_ended_is_not_waited_for)
{
	uint32_t *words = (void *)&barrier;

	begin();
	make_shared(2);
	words[1] = 2;
	set_hook(1, abort);
	ck_assert_int_eq(pthread_barrier_wait(&barrier), 0);
	ck_assert_uint_eq(words[1], 2);
	expect("");
}
END_TEST

/* ---- condition variables ---- */

static void signal_one(void)
{
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), 0); /* the waiter does not hold it */
	ck_assert_int_eq(pthread_cond_signal(&cond), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
}

static void expect_held(void)
{
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), EBUSY);
	expect("wait 1000");
}

START_TEST(a_condition_is_waited_for)
{
	pthread_condattr_t attr;
	struct timespec ts;

	begin();
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	ck_assert_int_eq(pthread_cond_init(&cond, &attr), 0);
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	set_hook(2, _i ? signal_all : signal_one);
	ck_assert_int_eq(pthread_cond_wait(&cond, &mutex), 0);
	expect("wait ever, wait ever, tell");
	expect_held();
	ts = in_ns(50000);
	ck_assert_int_eq(pthread_cond_timedwait(&cond, &mutex, &ts), ETIMEDOUT);
	expect("wait 50000");
	expect_held();
	ts = in_ns(50000);
	set_hook(1, _i ? signal_all : signal_one);
	ck_assert_int_eq(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &ts), 0);
	expect("wait 50000, tell");
	expect_held();
	/* No thread waits. */
	signal_all();
	ck_assert_int_eq(pthread_cond_signal(&cond), 0);
	expect("");
	let_go();
	expect("");
	ck_assert_int_eq(pthread_cond_destroy(&cond), 0);
}
END_TEST

static pthread_mutex_t robust;

static void *die_with_it(void *arg)
{
	ck_assert_int_eq(pthread_mutex_trylock(&robust), 0);
	ck_assert_int_eq(pthread_cond_signal(&cond), 0);
	return arg;
}

/* It ends with the mutex. */
static void let_owner_die(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, die_with_it, NULL), 0);
	while (pthread_tryjoin_np(thread, NULL) == EBUSY)
		syscall(SYS_sched_yield);
}

START_TEST(a_wait_for_a_condition_has_the_errors_of_its_mutex)
{
	pthread_mutexattr_t attr;
	struct timespec ts;

	begin();
	ck_assert_int_eq(pthread_cond_init(&cond, NULL), 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	ck_assert_int_eq(pthread_mutex_init(&robust, &attr), 0);
	ts = (struct timespec){ .tv_sec = 4000000000 };
	ck_assert_int_eq(pthread_cond_timedwait(&cond, &robust, &ts), EPERM);
	expect("");
	ck_assert_int_eq(pthread_mutex_lock(&robust), 0);
	set_hook(1, let_owner_die);
	if (_i)
		ck_assert_int_eq(pthread_cond_timedwait(&cond, &robust, &ts), EOWNERDEAD);
	else
		ck_assert_int_eq(pthread_cond_wait(&cond, &robust), EOWNERDEAD);
	ck_assert_int_eq(pthread_mutex_consistent(&robust), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&robust), 0);
	ck_assert_int_eq(pthread_mutex_lock(&robust), 0);
}
END_TEST

static void give_up(void)
{
	pthread_exit(NULL);
}

/* The thread does not wait again. */
static void cancel_self(void)
{
	set_hook(1, give_up);
	ck_assert_int_eq(pthread_cancel(pthread_self()), 0);
}

static bool held; /* the mutex, in the handler of a cancelled thread */

static void unlock_held(void *arg)
{
	(void)arg;
	hook_at = 0;
	held = pthread_mutex_trylock(&mutex) == EBUSY;
	heard[0] = '\0';
	pthread_mutex_unlock(&mutex);
}

static void *wait_for_cond(void *arg)
{
	ck_assert_int_eq(pthread_mutex_lock(&mutex), 0);
	pthread_cleanup_push(unlock_held, NULL);
	pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return arg;
}

static void *wait_for_signal(void *arg)
{
	pause();
	return arg;
}

/* Joined by libc's own call. */
static void expect_cancelled(void *(*run)(void *))
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	__typeof__(&pthread_tryjoin_np) try = libc ? dlsym(libc, "pthread_tryjoin_np") : NULL;
	pthread_t thread;
	void *value = NULL;

	set_hook(1, cancel_self);
	ck_assert_int_eq(pthread_create(&thread, NULL, run, NULL), 0);
	ck_assert_ptr_nonnull(try);
	while (try(thread, &value) == EBUSY)
		syscall(SYS_sched_yield);
	ck_assert_ptr_eq(value, PTHREAD_CANCELED);
}

START_TEST(a_thread_that_waits_for_a_condition_is_cancelled_with_the_mutex_held)
{
	begin();
	ck_assert_int_eq(pthread_cond_init(&cond, NULL), 0);
	expect_cancelled(wait_for_cond);
	ck_assert(held);
	expect("");
	ck_assert_int_eq(pthread_mutex_trylock(&mutex), 0);
	ck_assert_int_eq(pthread_mutex_unlock(&mutex), 0);
	expect("");
}
END_TEST

START_TEST(a_thread_that_pauses_is_cancelled)
{
	begin();
	expect_cancelled(wait_for_signal);
	expect("wait fd ever, tell fd");
}
END_TEST

static void *sleep_for_no_time(void *arg)
{
	while (!arg)
		usleep(0);
	return arg;
}

static void *sleep_until_long_ago(void *arg)
{
	const struct timespec long_ago = { .tv_sec = 1 };

	while (!arg)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &long_ago, NULL);
	return arg;
}

START_TEST(a_thread_that_sleeps_for_no_time_again_and_again_is_cancelled)
{
	begin();
	expect_cancelled(_i ? sleep_until_long_ago : sleep_for_no_time);
	expect("wait 2000, tell fd");
}
END_TEST

static int notes; /* an empty queue of System V */
static mqd_t queue;

static void *wait_for_note(void *arg)
{
	char note[16];

	msgrcv(notes, note, 8, 0, 0);
	return arg;
}

static void *wait_for_message(void *arg)
{
	char message[8];

	mq_receive(queue, message, sizeof(message), NULL);
	return arg;
}

START_TEST(a_thread_that_waits_for_a_message_is_cancelled)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[32];

	begin();
	snprintf(name, sizeof(name), "/turns-locks-%d", (int)getpid());
	notes = msgget(IPC_PRIVATE, 0600);
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	ck_assert(notes >= 0 && queue >= 0);
	ck_assert_int_eq(mq_unlink(name), 0);
	expect_cancelled(_i ? wait_for_message : wait_for_note);
	ck_assert_int_eq(msgctl(notes, IPC_RMID, NULL), 0);
}
END_TEST

static void fill(Suite *suite)
{
	unit_add(suite, a_semaphore_is_waited_for, 1, NULL);
	unit_add(suite, a_mutex_is_waited_for, 1, NULL);
	unit_add(suite, a_thread_is_told_that_it_would_wait_for_itself, 1, NULL);
	unit_add(suite, a_lock_for_reading_and_writing_is_waited_for, 1, NULL);
	unit_add(suite, a_lock_for_reading_and_writing_is_waited_for_until_a_time, 4, NULL);
	unit_add(suite, a_lock_for_reading_and_writing_is_refused_as_by_libc, 1, NULL);
	unit_add(suite, a_spin_lock_is_waited_for, 1, NULL);
	unit_add(suite, threads_wait_at_a_barrier_for_the_last_one, 1, NULL);
	unit_add(suite, a_barrier_of_several_processes_is_told_to_all, 1, NULL);
	unit_add(suite, a_thread_that_leaves_a_barrier_of_several_processes_tells, 1, NULL);
	unit_add(suite, a_round_that_another_process_has_ended_is_not_waited_for, 1, NULL);
	unit_add(suite, a_condition_is_waited_for, 2, NULL);
	unit_add(suite, a_wait_for_a_condition_has_the_errors_of_its_mutex, 2, NULL);
	unit_add(suite, a_thread_that_waits_for_a_condition_is_cancelled_with_the_mutex_held, 1,
		 NULL);
	unit_add(suite, a_thread_that_pauses_is_cancelled, 1, NULL);
	unit_add(suite, a_thread_that_sleeps_for_no_time_again_and_again_is_cancelled, 2, NULL);
	unit_add(suite, a_thread_that_waits_for_a_message_is_cancelled, 2, NULL);
}

int main(int argc, char **argv)
{
	(void)argc;
	return turns_main(argv, "turns_locks", fill);
}
