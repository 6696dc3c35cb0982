/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * async.c - events that a program waits for by a descriptor (event_fd.c): the wait, and the
 * asynchronous events of a context.
 *
 * A program can wait for the descriptor by poll or epoll. One that calls the library to wait sleeps
 * in the door's `wait`, where virtual time passes.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gone.h"
#include "host/forks.h"
#include "host/helper.h"
#include "host/nic_process.h"
#include "host/say.h"
#include "trace.h"
#include "vb.h"
#include "wait.h"

#define NS_PER_MS 1000000ul
#define PAUSE_NS  2000ul /* of virtual time pass in a test that finds nothing and does not wait */

/* ---- the world, and what tells of an event ---- */

static bool in_lockstep(const struct backend *b)
{
	return b->shared && b->kind->lockstep(b->shared);
}

/*
 * A thread may wait before the process has opened a device, outside any fabric; it has to come in
 * when there is one. The descriptor is readable while there is.
 */
static int world_fd = -1;
static unsigned int world_waiters; /* threads */

/* The lock is held. */
int vb_world_fd(void)
{
	if (world_fd < 0)
		world_fd = vb_event_fd();
	return world_fd;
}

void vb_world_began(struct backend *b)
{
	const uint64_t one = 1;
	long n = syscall(SYS_write, vb_world_fd(), &one, sizeof(one));

	(void)n;
	if (!in_lockstep(b))
		return;
	for (unsigned int i = 0; i < world_waiters; i++)
		b->kind->outside(b->shared, NIC_OUTSIDE_CALLS);
}

void vb_world_ends(void)
{
	vb_event_taken(world_fd);
}

void vb_world_forget(void)
{
	world_fd = -1; /* it is the parent's */
	world_waiters = 0;
}

static void set_attention(struct backend *b, bool on)
{
	struct adapter *adapter;

	TAILQ_FOREACH(adapter, &b->adapters, link)
		adapter->nic->attention = on;
}

void vb_event_tell(struct backend *b, int fd)
{
	const uint64_t one = 1;
	long n = syscall(SYS_write, fd, &one, sizeof(one));

	(void)n; /* the program closed it: it will not look */
	set_attention(b, true);
	if (!__libc_single_threaded)
		backend_wake(b);
}

static void leave_cancelled(void *backend)
{
	backend_leave(backend);
}

/* The lock is held; a thread that is cancelled leaves it. */
static void test_cancel(struct backend *b)
{
	pthread_cleanup_push(leave_cancelled, b);
	pthread_testcancel();
	pthread_cleanup_pop(0);
}

/* Sleep in the kernel, where the thread may be cancelled: another thread runs events. */
static int wait_for_fd(struct backend *b, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int n, err;

	backend_leave(b);
	n = poll(&pfd, 1, -1);
	err = errno;
	backend_enter(b);
	return n >= 0 || (err == EINTR && !process_interrupted()) ? 0 : -err;
}

static void end_cancelled(void *backend)
{
	backend_enter(backend);
	world_waiters--;
	backend_leave(backend);
}

static int wait_for_world(struct backend *b)
{
	int err;

	/* It may be about to end, which needs turns. */
	if (in_lockstep(b))
		b->kind->outside(b->shared, NIC_OUTSIDE_LEAVES);
	world_waiters++;
	pthread_cleanup_push(end_cancelled, b);
	err = wait_for_fd(b, vb_world_fd());
	pthread_cleanup_pop(0);
	world_waiters--;
	return err;
}

/* The world does not end while a thread sleeps in it, even if the adapter is closed. */
static enum nic_wait wait_in_world(struct backend *b, uint64_t deadline)
{
	struct adapter *adapter = TAILQ_FIRST(&b->adapters);
	enum nic_wait outcome;

	set_attention(b, false);
	backend_use(b);
	outcome = adapter->nic->ops->wait(adapter->nic, NULL, deadline);
	backend_unuse(b);
	return outcome;
}

void vb_pass_time(struct backend *b, uint64_t ns)
{
	struct adapter *adapter = TAILQ_FIRST(&b->adapters);
	enum nic_wait outcome = NIC_WAIT_RAN;
	uint64_t deadline;

	if (!adapter)
		return;
	deadline = adapter->nic->ops->now(adapter->nic) + ns;
	while (outcome == NIC_WAIT_RAN && !TAILQ_EMPTY(&b->adapters))
		outcome = wait_in_world(b, deadline);
}

void vb_idle(struct backend *b, struct nic *nic)
{
	if (backend_idles(nic))
		vb_pass_time(b, nic->poll_quantum_ns);
}

/* Where the call is of no device. */
static void idle_anywhere(struct backend *b)
{
	if (!TAILQ_EMPTY(&b->adapters))
		vb_idle(b, TAILQ_FIRST(&b->adapters)->nic);
}

static void tell_hopeless(const char *call)
{
	char why[128];

	snprintf(why, sizeof(why),
		 "%s waits forever: nothing can bring the event that it waits for", call);
	say("%s", why);
	forks_stuck(why);
}

int vb_event_wait(struct backend *b, int fd, const char *call)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if (flags & O_NONBLOCK) {
		idle_anywhere(b);
		return -EAGAIN;
	}
	test_cancel(b);
	if (TAILQ_EMPTY(&b->adapters) && !__libc_single_threaded)
		return wait_for_world(b);
	if (b->helper && !in_lockstep(b))
		return wait_for_fd(b, fd);
	switch (TAILQ_EMPTY(&b->adapters) ? NIC_WAIT_HOPELESS : wait_in_world(b, NIC_TIME_NEVER)) {
	case NIC_WAIT_HOPELESS:
		tell_hopeless(call);
		return -EINTR;
	case NIC_WAIT_INTERRUPTED:
		return -EINTR;
	case NIC_WAIT_RAN:
	case NIC_WAIT_DEADLINE:
		break;
	}
	return 0;
}

/* ---- several descriptors ---- */

/* Nothing is pending: only another process can make a descriptor readable. */
static int wait_in_kernel(struct backend *b, struct vb_wait *wait)
{
	uint64_t began = backend_monotonic_ns(), ms = wait->left / NS_PER_MS, gone;
	int n, err;

	if (wait->left % NS_PER_MS)
		ms++;
	backend_leave(b);
	n = poll(wait->fds, wait->n, ms > INT_MAX ? -1 : (int)ms);
	err = errno;
	if (n == 0 && wait->left == 0)
		sched_yield(); /* the caller may spin until another process goes on */
	backend_enter(b);
	gone = backend_monotonic_ns() - began;
	if (wait->left != NIC_TIME_NEVER)
		wait->left = n != 0 && gone < wait->left ? wait->left - gone : 0;
	return n < 0 ? -err : n;
}

static int test_now(struct vb_wait *wait)
{
	int cancel = process_cancel_hold(), n = poll(wait->fds, wait->n, 0);

	process_cancel_release(cancel);
	return n < 0 ? -errno : n;
}

/* As wait_in_world; the descriptors may be other people's. */
static enum nic_wait wait_once(struct backend *b, const struct vb_wait *wait, uint64_t deadline)
{
	if (wait->foreign && in_lockstep(b))
		b->kind->outside(b->shared, NIC_OUTSIDE_WAITS);
	return wait_in_world(b, deadline);
}

static int give_up_hope(struct backend *b, struct vb_wait *wait)
{
	if (!wait->foreign)
		return -EINTR;
	if (in_lockstep(b))
		b->kind->outside(b->shared, NIC_OUTSIDE_LEAVES);
	return wait_in_kernel(b, wait);
}

static uint64_t world_now(struct backend *b)
{
	struct nic *nic = TAILQ_FIRST(&b->adapters)->nic;

	return nic->ops->now(nic);
}

static int wait_in_time(struct backend *b, struct vb_wait *wait)
{
	uint64_t now = world_now(b), end = NIC_TIME_NEVER;
	enum nic_wait outcome = NIC_WAIT_RAN;
	int n;

	if (wait->left < NIC_TIME_NEVER - now)
		end = now + (wait->left ? wait->left : PAUSE_NS);
	for (;;) {
		n = test_now(wait);
		if (n || TAILQ_EMPTY(&b->adapters))
			return n;
		now = world_now(b);
		if (end != NIC_TIME_NEVER)
			wait->left = end > now ? end - now : 0;
		if (wait->left == 0)
			return 0;
		test_cancel(b);
		outcome = wait_once(b, wait, end);
		if (outcome == NIC_WAIT_HOPELESS && !wait->foreign)
			tell_hopeless(wait->call);
		/* In lockstep the next wait lasts, and datsim run ends the programs. */
		if (outcome == NIC_WAIT_HOPELESS && (wait->foreign || !in_lockstep(b)))
			return give_up_hope(b, wait);
		if (outcome == NIC_WAIT_INTERRUPTED)
			return -EINTR;
	}
}

int vb_event_wait_many(struct backend *b, struct vb_wait *wait)
{
	if (TAILQ_EMPTY(&b->adapters) || (b->helper && !in_lockstep(b)))
		return wait_in_kernel(b, wait);
	return wait_in_time(b, wait);
}

void vb_event_helper(struct backend *b)
{
	bool alone = __libc_single_threaded;

	if (b->helper || b->shared || !b->world || (alone && forks_stay_alone()))
		return;
	if (alone)
		pthread_mutex_lock(&b->lock);
	if (!helper_start(b) && alone)
		pthread_mutex_unlock(&b->lock);
	if (b->helper && !b->threaded)
		backend_tell_threaded(b);
}

/* ---- asynchronous events ---- */

void vb_async_add(struct vb_context *context, const struct ibv_async_event *event)
{
	struct vb_async *entry = malloc(sizeof(*entry));

	if (!entry)
		return; /* as a kernel without memory: the event is lost */
	entry->event = *event;
	TAILQ_INSERT_TAIL(&context->events, entry, link);
	if (context->nic->tracing)
		vb_trace_async(context, "event", event);
	vb_event_tell(vb_backend(context), context->ex.context.async_fd);
}

static const void *element_of(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return event->element.cq;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return event->element.qp;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return event->element.srq;
	default:
		return NULL;
	}
}

void vb_async_forget(struct vb_context *context, const void *element)
{
	struct vb_async *entry, *next;

	for (entry = TAILQ_FIRST(&context->events); entry; entry = next) {
		next = TAILQ_NEXT(entry, link);
		if (element_of(&entry->event) != element)
			continue;
		TAILQ_REMOVE(&context->events, entry, link);
		vb_event_taken(context->ex.context.async_fd);
		free(entry);
	}
}

static uint32_t *given_of(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return &VB_OF(event->element.cq, cq)->given_async;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return &VB_OF(event->element.srq, srq)->given_async;
	default:
		return element_of(event) ? &VB_OF(event->element.qp, qp)->given_async : NULL;
	}
}

/* The lock is held, and after an error released. */
static int await_event(struct vb_context *context)
{
	struct vb_stay stay = vb_stay_in(context, NULL);
	bool closed;
	int err = 0;

	while (!err && TAILQ_EMPTY(&context->events)) {
		err = vb_event_wait(stay.b, context->ex.context.async_fd, "ibv_get_async_event");
		if (!vb_stays(&stay, &closed))
			vb_sleep_forever(stay.b);
	}
	if (err)
		backend_leave(stay.b);
	return err;
}

VB_NEW(ibv_get_async_event);
int ibv_get_async_event(struct ibv_context *ibv, struct ibv_async_event *event)
{
	struct vb_context *context;
	struct vb_async *entry;
	uint32_t *given;
	int err;

	if (vb_is_gone(ibv)) {
		errno = EINVAL;
		return -1;
	}
	context = vb_enter(ibv);
	err = await_event(context);
	if (err) {
		errno = -err;
		return -1;
	}
	entry = TAILQ_FIRST(&context->events);
	TAILQ_REMOVE(&context->events, entry, link);
	vb_event_taken(ibv->async_fd);
	*event = entry->event;
	given = given_of(event);
	if (given)
		++*given;
	if (context->nic->tracing)
		vb_trace_async(context, "ibv_get_async_event", event);
	vb_leave(context);
	free(entry);
	return 0;
}

static void acknowledge_event(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	++*completed;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

/* An object stays until its event is acknowledged. One of the device itself names no device. */
static void note_acknowledgement(const struct ibv_async_event *event)
{
	struct ibv_context *ibv = event->element.qp->context;

	if (!vb_note_begin(ibv))
		return;
	vb_trace_async(vb_context_of(ibv), "ibv_ack_async_event", event);
	vb_note_end(ibv);
}

VB_NEW(ibv_ack_async_event);
void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_srq *srq = event->element.srq;
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;

	if (!element_of(event))
		return;
	note_acknowledgement(event);
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		acknowledge_event(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		acknowledge_event(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	default:
		acknowledge_event(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	}
}
