/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns_queue.c - message queues, of POSIX and of System V, and semaphores of System V, of a
 * program in lockstep. A change of one may end the wait of a thread in any process.
 */
#define _GNU_SOURCE
#include <mqueue.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

#include "turns.h"

#define OPS_MOST 500 /* of one call, as Linux has it */

struct queue_call {
	/* Does not block. If the call is a cancellation point, so is this. */
	long (*try)(const struct queue_call *call);
	int again;     /* errno, if it would block */
	int late;      /* errno, if the time is over */
	uint64_t ns;   /* the time, from now on; OUTSIDE_NEVER: there is no limit */
	bool restarts; /* after a handler with SA_RESTART */
	int id;
	void *what;
	size_t size;
	long type; /* of a message, or its priority */
	int flags;
	unsigned int *priority;
};

static long call_failed(int err)
{
	errno = err;
	return -1;
}

/* Linux gives EIDRM to a thread that waits for what is removed; here its next try gets EINVAL. */
static long done_with(const struct queue_call *call, long result, bool waited)
{
	if (result >= 0)
		turns_tell(true);
	else if (waited && !call->restarts && errno == EINVAL)
		errno = EIDRM;
	return result;
}

/* *real: the caller has to block as usual. */
static long call_until(const struct queue_call *call, bool *real)
{
	uint64_t end = call->ns == OUTSIDE_NEVER ? OUTSIDE_NEVER : turns_now() + call->ns, t = 0;
	bool waited = false;
	long result;

	*real = false;
	while ((result = call->try(call)) < 0 && errno == call->again) {
		if (waited && turns_interrupted(call->restarts && end == OUTSIDE_NEVER))
			return -1;
		t = end == OUTSIDE_NEVER ? 0 : turns_now();
		if (t >= end) {
			if (!waited)
				turns_found_nothing();
			return call_failed(call->late);
		}
		waited = true;
		*real = !turns_wait_fd(turns_left(end, t));
		if (*real)
			return -1;
	}
	return done_with(call, result, waited);
}

/* After a call that does not block. If it found nothing others run, so that a loop of them ends. */
static long after_call(bool ours, long result, int again)
{
	if (ours && result >= 0)
		turns_tell(true);
	else if (ours && errno == again)
		turns_found_nothing();
	return result;
}

/* ---- messages of System V ---- */

static long try_msgrcv(const struct queue_call *call)
{
	return REAL(msgrcv)(call->id, call->what, call->size, call->type, call->flags | IPC_NOWAIT);
}

static long try_msgsnd(const struct queue_call *call)
{
	return REAL(msgsnd)(call->id, call->what, call->size, call->flags | IPC_NOWAIT);
}

ssize_t turns_msgrcv(int id, void *to, size_t n, long type, int flags) __asm__("msgrcv");
ssize_t turns_msgrcv(int id, void *to, size_t n, long type, int flags)
{
	const struct queue_call call = { .try = try_msgrcv,
					 .again = ENOMSG,
					 .ns = OUTSIDE_NEVER,
					 .id = id,
					 .what = to,
					 .size = n,
					 .type = type,
					 .flags = flags };
	bool ours = PROGRAM, real = true;
	long got = 0;

	if (ours && !(flags & IPC_NOWAIT))
		got = call_until(&call, &real);
	return real ? after_call(ours, REAL(msgrcv)(id, to, n, type, flags), ENOMSG) : got;
}

int turns_msgsnd(int id, const void *from, size_t n, int flags) __asm__("msgsnd");
int turns_msgsnd(int id, const void *from, size_t n, int flags)
{
	const struct queue_call call = { .try = try_msgsnd,
					 .again = EAGAIN,
					 .ns = OUTSIDE_NEVER,
					 .id = id,
					 .what = (void *)(uintptr_t)from,
					 .size = n,
					 .flags = flags };
	bool ours = PROGRAM, real = true;
	long result = 0;

	if (ours && !(flags & IPC_NOWAIT))
		result = call_until(&call, &real);
	return (int)(real ? after_call(ours, REAL(msgsnd)(id, from, n, flags), EAGAIN) : result);
}

int turns_msgctl(int id, int command, struct msqid_ds *buf) __asm__("msgctl");
int turns_msgctl(int id, int command, struct msqid_ds *buf)
{
	int result = REAL(msgctl)(id, command, buf);

	if (result >= 0 && (command == IPC_RMID || command == IPC_SET) && PROGRAM)
		turns_tell(true);
	return result;
}

/* ---- semaphores of System V ---- */

static long try_semop(const struct queue_call *call)
{
	return REAL(semop)(call->id, call->what, call->size);
}

/*
 * Do all of them wait where they have to? If only some do, an error does not tell which of them
 * could not go on, and the kernel has to wait.
 */
static bool all_wait(const struct sembuf *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ops[i].sem_flg & IPC_NOWAIT)
			return false;
	return n > 0 && n <= OPS_MOST;
}

static long semop_in_turn(int id, const struct sembuf *ops, size_t n, uint64_t ns, bool *real)
{
	struct sembuf copies[OPS_MOST];
	const struct queue_call call = { .try = try_semop,
					 .again = EAGAIN,
					 .late = EAGAIN,
					 .ns = ns,
					 .id = id,
					 .what = copies,
					 .size = n };

	memcpy(copies, ops, n * sizeof(*ops));
	for (size_t i = 0; i < n; i++)
		copies[i].sem_flg |= IPC_NOWAIT;
	return call_until(&call, real);
}

int turns_semop(int id, struct sembuf *ops, size_t n) __asm__("semop");
int turns_semop(int id, struct sembuf *ops, size_t n)
{
	bool ours = PROGRAM, real = true;
	long result = 0;

	if (ours && ops && all_wait(ops, n))
		result = semop_in_turn(id, ops, n, OUTSIDE_NEVER, &real);
	return (int)(real ? after_call(ours, REAL(semop)(id, ops, n), EAGAIN) : result);
}

int turns_semtimedop(int id, struct sembuf *ops, size_t n,
		     const struct timespec *ts) __asm__("semtimedop");
int turns_semtimedop(int id, struct sembuf *ops, size_t n, const struct timespec *ts)
{
	bool ours = PROGRAM && (!ts || turns_is_valid(ts)), real = true;
	long result = 0;

	if (ours && ops && all_wait(ops, n))
		result = semop_in_turn(id, ops, n, ts ? turns_later(turns_ns(ts)) : OUTSIDE_NEVER,
				       &real);
	return (int)(real ? after_call(ours, REAL(semtimedop)(id, ops, n, ts), EAGAIN) : result);
}

int turns_semctl(int id, int number, int command, ...) __asm__("semctl");
int turns_semctl(int id, int number, int command, ...)
{
	void *arg;
	va_list args;
	int result;

	va_start(args, command);
	arg = va_arg(args, void *); /* union semun, or nothing that matters */
	va_end(args);
	result = REAL(semctl)(id, number, command, arg);
	if (result >= 0 && (command == SETVAL || command == SETALL || command == IPC_RMID) &&
	    PROGRAM)
		turns_tell(true);
	return result;
}

/* ---- messages of POSIX ---- */

/* A call with a time in the past does not block. */
static const struct timespec over;

static long try_receive(const struct queue_call *call)
{
	return REAL(mq_timedreceive)(call->id, call->what, call->size, call->priority, &over);
}

static long try_send(const struct queue_call *call)
{
	return REAL(mq_timedsend)(call->id, call->what, call->size, (unsigned int)call->type,
				  &over);
}

/* EAGAIN comes from a queue with O_NONBLOCK: others run, so that a loop of such calls ends. */
static long mq_in_turn(struct queue_call *call, const struct timespec *abs, bool *real)
{
	long result;

	call->again = call->late = ETIMEDOUT;
	call->restarts = true;
	call->ns = abs ? turns_until(CLOCK_REALTIME, abs) : OUTSIDE_NEVER;
	result = call_until(call, real);
	if (!*real && result < 0 && errno == EAGAIN)
		turns_found_nothing();
	return result;
}

static long receive_in_turn(bool ours, struct queue_call *call, const struct timespec *abs)
{
	bool real = !ours || (abs && !turns_is_valid(abs));
	struct timespec room;
	long got = 0;

	if (!real)
		got = mq_in_turn(call, abs, &real);
	if (!real)
		return got;
	if (!abs)
		return REAL(mq_receive)(call->id, call->what, call->size, call->priority);
	return REAL(mq_timedreceive)(call->id, call->what, call->size, call->priority,
				     turns_real_time(ours, CLOCK_REALTIME, abs, &room));
}

static int send_in_turn(bool ours, struct queue_call *call, const struct timespec *abs)
{
	bool real = !ours || (abs && !turns_is_valid(abs));
	unsigned int priority = (unsigned int)call->type;
	struct timespec room;
	long result = 0;

	if (!real)
		result = mq_in_turn(call, abs, &real);
	if (!real)
		return (int)result;
	if (!abs)
		return REAL(mq_send)(call->id, call->what, call->size, priority);
	return REAL(mq_timedsend)(call->id, call->what, call->size, priority,
				  turns_real_time(ours, CLOCK_REALTIME, abs, &room));
}

#define RECEIVE(to_, n_, priority_)                                           \
	{                                                                     \
		.try = try_receive, .id = queue, .what = (to_), .size = (n_), \
		.priority = (priority_)                                       \
	}
#define SEND(from_, n_, priority_)                                                              \
	{                                                                                       \
		.try = try_send, .id = queue, .what = (void *)(uintptr_t)(from_), .size = (n_), \
		.type = (priority_)                                                             \
	}

ssize_t turns_mq_receive(mqd_t queue, char *to, size_t n,
			 unsigned int *priority) __asm__("mq_receive");
ssize_t turns_mq_receive(mqd_t queue, char *to, size_t n, unsigned int *priority)
{
	struct queue_call call = RECEIVE(to, n, priority);

	return receive_in_turn(PROGRAM, &call, NULL);
}

ssize_t turns_mq_timedreceive(mqd_t queue, char *to, size_t n, unsigned int *priority,
			      const struct timespec *abs) __asm__("mq_timedreceive");
ssize_t turns_mq_timedreceive(mqd_t queue, char *to, size_t n, unsigned int *priority,
			      const struct timespec *abs)
{
	struct queue_call call = RECEIVE(to, n, priority);

	return receive_in_turn(PROGRAM, &call, abs);
}

int turns_mq_send(mqd_t queue, const char *from, size_t n,
		  unsigned int priority) __asm__("mq_send");
int turns_mq_send(mqd_t queue, const char *from, size_t n, unsigned int priority)
{
	struct queue_call call = SEND(from, n, priority);

	return send_in_turn(PROGRAM, &call, NULL);
}

int turns_mq_timedsend(mqd_t queue, const char *from, size_t n, unsigned int priority,
		       const struct timespec *abs) __asm__("mq_timedsend");
int turns_mq_timedsend(mqd_t queue, const char *from, size_t n, unsigned int priority,
		       const struct timespec *abs)
{
	struct queue_call call = SEND(from, n, priority);

	return send_in_turn(PROGRAM, &call, abs);
}
