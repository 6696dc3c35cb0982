/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks - two threads with an adapter hand a token to and fro by every call of libc that blocks
 * and that libdat-turns.so covers. In lockstep neither may keep the turn while it is blocked.
 */
#include <dat/udat.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 5
#define MISSED 40

enum way {
	SEMAPHORE,
	CONDITION,
	MUTEX,
	TIMED,
	TRY,
	READER,
	READER_TIMED,
	SPIN,
	BARRIER,
	READ,
	POLL,
	PPOLL,
	SELECT,
	EPOLL,
	SLEEP,
	WAYS
};

static DAT_IA_HANDLE ia;
static sem_t posted[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn; /* whose it is, for CONDITION and locks */
static int wire[2];
static int polled[2]; /* epoll of each end */
static int handed;

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "blocks: %s\n", what);
	exit(1);
}

/* A call of libdat, so that both threads take turns. */
static void take_part(void)
{
	DAT_IA_ATTR attr;

	check(dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_MAX_EPS, &attr, 0, NULL) == DAT_SUCCESS,
	      "dat_ia_query failed");
}

static void nap(long ns)
{
	const struct timespec ts = { .tv_nsec = ns };

	check(nanosleep(&ts, NULL) == 0, "nanosleep failed");
}

/* ---- locks ---- */

static int lock(enum way way)
{
	const struct timespec late = { .tv_sec = INT32_MAX };
	int err;

	switch (way) {
	case TIMED:
		return pthread_mutex_timedlock(&mutex, &late);
	case TRY:
		while ((err = pthread_mutex_trylock(&mutex)) == EBUSY)
			;
		return err;
	case READER:
		return pthread_rwlock_rdlock(&rwlock);
	case READER_TIMED:
		return pthread_rwlock_timedrdlock(&rwlock, &late);
	case SPIN:
		return pthread_spin_lock(&spin);
	default:
		return pthread_mutex_lock(&mutex);
	}
}

static bool is_shared(enum way way)
{
	return way == READER || way == READER_TIMED;
}

static int lock_alone(enum way way)
{
	return is_shared(way) ? pthread_rwlock_wrlock(&rwlock) : lock(way);
}

static int unlock(enum way way)
{
	if (is_shared(way))
		return pthread_rwlock_unlock(&rwlock);
	return way == SPIN ? pthread_spin_unlock(&spin) : pthread_mutex_unlock(&mutex);
}

/* Except for SLEEP it sleeps with the lock, for which the other one has to wait. */
static void await_with_lock(int me, enum way way)
{
	check(lock(way) == 0, "a lock cannot be had");
	while (turn != me) {
		if (way == SLEEP)
			unlock(way);
		nap(1000);
		if (way != SLEEP)
			unlock(way);
		nap(1000);
		lock(way);
	}
	unlock(way);
}

static void pass_with_lock(int me, enum way way)
{
	check(lock_alone(way) == 0, "a lock cannot be had");
	turn = !me;
	if (is_shared(way))
		nap(5000);
	pthread_cond_signal(&changed);
	unlock(way);
}

/* ---- the token ---- */

static void await_readable(int me, enum way way)
{
	struct pollfd pfd = { .fd = wire[me], .events = POLLIN };
	const struct timespec day = { .tv_sec = 86400 };
	struct timeval hour = { .tv_sec = 3600 };
	struct epoll_event event;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(wire[me], &set);
	if (way == POLL)
		check(poll(&pfd, 1, -1) == 1, "poll found nothing");
	else if (way == PPOLL)
		check(ppoll(&pfd, 1, &day, NULL) == 1, "ppoll found nothing");
	else if (way == SELECT)
		check(select(wire[me] + 1, &set, NULL, NULL, &hour) == 1, "select found nothing");
	else if (way == EPOLL)
		check(epoll_wait(polled[me], &event, 1, 3600000) == 1, "epoll_wait found nothing");
}

static void await(int me, enum way way)
{
	char byte;

	switch (way) {
	case SEMAPHORE:
		check(sem_wait(&posted[me]) == 0, "sem_wait failed");
		break;
	case CONDITION:
		pthread_mutex_lock(&mutex);
		while (turn != me)
			pthread_cond_wait(&changed, &mutex);
		pthread_mutex_unlock(&mutex);
		break;
	case MUTEX:
	case TIMED:
	case TRY:
	case READER:
	case READER_TIMED:
	case SPIN:
	case SLEEP:
		await_with_lock(me, way);
		break;
	case BARRIER:
		pthread_barrier_wait(&barrier);
		break;
	default:
		await_readable(me, way);
		check(read(wire[me], &byte, 1) == 1, "read failed");
		break;
	}
	handed++;
}

static void hand_over(int me, enum way way)
{
	switch (way) {
	case SEMAPHORE:
		sem_post(&posted[!me]);
		break;
	case CONDITION:
	case MUTEX:
	case TIMED:
	case TRY:
	case READER:
	case READER_TIMED:
	case SPIN:
	case SLEEP:
		pass_with_lock(me, way);
		break;
	case BARRIER:
		nap(2000);
		pthread_barrier_wait(&barrier);
		break;
	default:
		check(write(wire[me], "", 1) == 1, "write failed");
		break;
	}
}

/* Number 0 begins. */
static void *play(void *arg)
{
	int me = *(const int *)arg;

	take_part();
	for (enum way way = SEMAPHORE; way < WAYS; way++)
		for (int i = 0; i < ROUNDS; i++) {
			if (me)
				await(me, way);
			take_part();
			hand_over(me, way);
			if (!me)
				await(me, way);
		}
	return NULL;
}

static void *lock_late(void *arg)
{
	take_part();
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void *end(void *arg)
{
	take_part();
	return arg;
}

/* Threads go on, and end, while another one waits for a mutex. */
static void end_beside_a_waiter(void)
{
	static pthread_mutex_t another = PTHREAD_MUTEX_INITIALIZER;
	pthread_t waiter, ending;

	pthread_mutex_lock(&mutex);
	check(pthread_create(&waiter, NULL, lock_late, NULL) == 0, "pthread_create failed");
	nap(1000);
	pthread_mutex_lock(&another);
	pthread_mutex_unlock(&another);
	check(pthread_create(&ending, NULL, end, NULL) == 0, "pthread_create failed");
	nap(1000);
	pthread_mutex_unlock(&mutex);
	check(pthread_join(ending, NULL) == 0, "pthread_join failed");
	check(pthread_join(waiter, NULL) == 0, "pthread_join failed");
}

static bool locked_late; /* with the lock */

static void *lock_when_others_do(void *arg)
{
	const struct timespec past = { 0 }, none = { .tv_nsec = -1 };
	enum way way = *(const enum way *)arg;

	take_part();
	check(pthread_mutex_trylock(&mutex) == EBUSY, "a locked mutex can be locked");
	check(pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT, "no end of the time");
	check(pthread_mutex_timedlock(&mutex, &none) == EINVAL, "that is no time");
	check(lock(way) == 0, "a lock cannot be had");
	locked_late = true;
	unlock(way);
	return NULL;
}

/*
 * A thread that sleeps only while it holds a lock leaves it to one that waits for it, but not at
 * once: it goes on after an unlock.
 */
static void lock_again_at_once(enum way way)
{
	pthread_t waiter;

	locked_late = false;
	pthread_mutex_lock(&mutex);
	check(way == MUTEX || lock_alone(way) == 0, "a lock cannot be had");
	check(pthread_create(&waiter, NULL, lock_when_others_do, &way) == 0,
	      "pthread_create failed");
	nap(3000);
	for (int i = 0; i < MISSED; i++) {
		nap(1000);
		unlock(way);
		check(lock_alone(way) == 0, "a lock cannot be had");
		check(i > MISSED / 4 || !locked_late, "a thread that locks again waits at once");
	}
	check(locked_late, "a thread that waits for a lock never gets it");
	unlock(way);
	if (way != MUTEX)
		pthread_mutex_unlock(&mutex);
	check(pthread_join(waiter, NULL) == 0, "pthread_join failed");
}

static void make_wire(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, wire) == 0, "socketpair failed");
	for (int i = 0; i < 2; i++) {
		check(sem_init(&posted[i], 0, 0) == 0, "sem_init failed");
		polled[i] = epoll_create1(0);
		check(polled[i] >= 0 && epoll_ctl(polled[i], EPOLL_CTL_ADD, wire[i], &event) == 0,
		      "epoll_ctl failed");
	}
}

int main(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	static int numbers[2] = { 0, 1 };
	char name[] = "emu0";
	pthread_t other;

	make_wire();
	check(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0 &&
		      pthread_barrier_init(&barrier, NULL, 2) == 0,
	      "no spin lock, or no barrier");
	check(dat_ia_open(name, 8, &async, &ia) == DAT_SUCCESS, "dat_ia_open failed");
	check(pthread_create(&other, NULL, play, &numbers[1]) == 0, "pthread_create failed");
	play(&numbers[0]);
	check(pthread_join(other, NULL) == 0, "pthread_join failed");
	end_beside_a_waiter();
	lock_again_at_once(MUTEX);
	lock_again_at_once(READER);
	check(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS, "dat_ia_close failed");
	printf("handed over %d times\n", handed);
	return 0;
}
