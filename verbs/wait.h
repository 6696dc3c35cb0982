/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait.h - letting time pass, and waiting for one of several descriptors, as time passes in the
 * world: virtual time in lockstep and in a process without other threads, else real time. The lock
 * is held, and released meanwhile.
 */
#ifndef VERBS_WAIT_H
#define VERBS_WAIT_H

#include <poll.h>

#include "host/backend.h"

struct vb_qp;

/* The call takes so long, and others run meanwhile. */
void vb_pass_time(struct backend *b, uint64_t ns);
/*
 * A call found nothing, or changed nothing. Time passes after many of them in a row (backend_idle),
 * for the program may repeat it.
 */
void vb_idle(struct backend *b, struct nic *nic);

/*
 * Let requests that the queue pair has in flight arrive, for at most that time. A device puts them
 * on the wire right after the post, and takes longer than that to change the queue pair's state.
 */
void vb_qp_let_arrive(const struct vb_qp *qp, uint64_t ns);

/* Block until there may be an event on fd, or fail: EAGAIN, EBADF, EINTR. The lock is held. */
int vb_event_wait(struct backend *b, int fd, const char *call);

struct vb_wait {
	struct pollfd *fds;
	nfds_t n;
	bool foreign;     /* some are the program's own, which any process may make readable */
	uint64_t left;    /* ns, NIC_TIME_NEVER: without limit; the time that passes is taken off */
	const char *call; /* by which the program waits */
};

/*
 * As poll(2), or a negative errno. Without time left it is a test; one that finds nothing lets a
 * little virtual time pass, for the program may repeat it. The thread may be cancelled, and has not
 * the lock then.
 */
int vb_event_wait_many(struct backend *b, struct vb_wait *wait);

#endif /* VERBS_WAIT_H */
