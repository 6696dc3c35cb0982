/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nic_ops.wait: a thread sleeps at the completion channel of its CQ, and at an eventfd by which
 * other threads wake it.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hw.h"
#include "host/nic_process.h"

uint64_t hw_now(struct nic *nic)
{
	(void)nic;
	return hw_host->monotonic_ns();
}

static struct hw_waiter *waiter_take(struct nic_world *w)
{
	struct hw_waiter *waiter = LIST_FIRST(&w->spare_waiters);

	if (waiter) {
		LIST_REMOVE(waiter, link);
		return waiter;
	}
	waiter = malloc(sizeof(*waiter));
	if (!waiter)
		return NULL;
	waiter->fd = process_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (waiter->fd < 0) {
		free(waiter);
		return NULL;
	}
	return waiter;
}

void hw_waiters_free(struct nic_world *w)
{
	struct hw_waiter *waiter;

	while ((waiter = LIST_FIRST(&w->spare_waiters)) != NULL) {
		LIST_REMOVE(waiter, link);
		close(waiter->fd);
		free(waiter);
	}
}

static void signal_fd(int fd)
{
	uint64_t one = 1;

	/* It fails only if the counter is full, and then the descriptor is readable anyway. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

static void clear_fd(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) < 0)
		return; /* it was not written to */
}

void hw_wake(struct nic *nic)
{
	struct hw_waiter *waiter;

	(void)nic;
	if (!hw_world)
		return;
	LIST_FOREACH(waiter, &hw_world->waiters, link)
	signal_fd(waiter->fd);
}

/* Sleep without the lock; what poll returned, or a negative errno. */
static int wait_sleep(struct hw_waiter *waiter, struct hw_cq *cq, uint64_t ns)
{
	struct pollfd fds[2] = { { .fd = waiter->fd, .events = POLLIN },
				 { .fd = cq && !cq->mute ? cq->channel->fd : -1,
				   .events = POLLIN } };
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000ul),
			       .tv_nsec = (long)(ns % 1000000000ul) };
	int n, err, cancel;

	/* A thread cancelled here would stay on the list of waiters. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	hw_host->unlock();
	n = ppoll(fds, 2, ns == NIC_TIME_NEVER ? NULL : &ts, NULL);
	err = errno;
	hw_host->lock();
	pthread_setcancelstate(cancel, &cancel);
	return n < 0 ? -err : n;
}

/*
 * True: a completion or an upcall since lib polled. Completions before the arming were found by it.
 */
static bool wait_gained(struct hw_cq *cq, struct nic *nic)
{
	uint32_t put = cq->put;
	bool told;

	hw_cq_fill(cq);
	told = cq->told;
	cq->told = false;
	return told || cq->put != put || nic->attention;
}

enum nic_wait hw_wait(struct nic *nic, struct nic_cq *base, uint64_t deadline)
{
	struct nic_world *w = hw_world;
	uint64_t ns = NIC_TIME_NEVER, now;
	struct hw_cq *cq = hw_cq(base);
	struct hw_waiter *waiter;
	int n;

	if (cq && wait_gained(cq, nic))
		return NIC_WAIT_RAN;
	if (deadline != NIC_TIME_NEVER) {
		now = hw_now(nic);
		if (now >= deadline)
			return NIC_WAIT_DEADLINE;
		ns = deadline - now;
	}
	waiter = waiter_take(w);
	if (!waiter)
		return NIC_WAIT_INTERRUPTED;
	LIST_INSERT_HEAD(&w->waiters, waiter, link);
	n = wait_sleep(waiter, cq, ns);
	LIST_REMOVE(waiter, link);
	clear_fd(waiter->fd);
	LIST_INSERT_HEAD(&w->spare_waiters, waiter, link);
	if (cq)
		hw_cq_channel(cq);
	if (n == -EINTR)
		return NIC_WAIT_INTERRUPTED;
	return n == 0 ? NIC_WAIT_DEADLINE : NIC_WAIT_RAN;
}
