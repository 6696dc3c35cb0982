/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c - threads that sleep in a call of an rsocket, and how others wake them. */
#include "host/nic_process.h"
#include "rsocket.h"

void rs_wake(struct rs_socket *rs)
{
	if (rs->woken == rs->waiters)
		return;
	cm_enter();
	for (; rs->woken < rs->waiters; rs->woken++)
		vb_event_tell(cm_backend(), rs->fd);
	cm_leave();
}

/* Of the completion channel: there is at most one. */
static void fetch_event(struct rs_socket *rs)
{
	struct ibv_cq *cq;
	void *context;

	if (!rs->armed || ibv_get_cq_event(rs->comp, &cq, &context))
		return;
	ibv_ack_cq_events(cq, 1);
	rs->armed = false;
}

int rs_wait_begin(struct rs_socket *rs, struct pollfd fds[RS_FDS])
{
	int n = 0;

	fetch_event(rs);
	if (rs->cq && !rs->armed)
		rs->armed = ibv_req_notify_cq(rs->cq, 0) == 0;
	if (rs_progress(rs) > 0)
		return 0;
	rs->waiters++;
	fds[n++] = (struct pollfd){ .fd = rs->fd, .events = POLLIN };
	fds[n++] = (struct pollfd){ .fd = rs->channel->fd, .events = POLLIN };
	if (rs->comp)
		fds[n++] = (struct pollfd){ .fd = rs->comp->fd, .events = POLLIN };
	return n;
}

void rs_wait_end(struct rs_socket *rs)
{
	rs->waiters--;
	if (rs->woken > rs->waiters) {
		vb_event_taken(rs->fd);
		rs->woken--;
	}
	fetch_event(rs);
}

static void end_cancelled(void *rs)
{
	pthread_mutex_lock(&((struct rs_socket *)rs)->mutex);
	rs_wait_end(rs);
	rs_leave(rs, 0);
}

int rs_wait_for(struct rs_socket *rs, uint64_t *left, const char *call)
{
	struct pollfd fds[RS_FDS];
	struct vb_wait wait = { .fds = fds, .left = *left, .call = call };
	int n = rs_wait_begin(rs, fds);

	if (n == 0)
		return 0;
	pthread_mutex_unlock(&rs->mutex);
	wait.n = (nfds_t)n;
	pthread_cleanup_push(end_cancelled, rs);
	n = rs_sleep(&wait);
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&rs->mutex);
	rs_wait_end(rs);
	*left = wait.left;
	if (rs->closed)
		return -EBADF;
	return n == -EINTR && !process_interrupted() ? 0 : n;
}

int rs_wait(struct rs_socket *rs, const char *call)
{
	uint64_t left = NIC_TIME_NEVER;

	return rs_wait_for(rs, &left, call);
}

void rs_pause(struct rs_socket *rs)
{
	struct vb_wait wait = { .call = "rpoll" };
	int cancel;

	if (rs->cq)
		return; /* a poll of it let time pass */
	cancel = process_cancel_hold();
	cm_enter();
	vb_event_wait_many(cm_backend(), &wait);
	cm_leave();
	process_cancel_release(cancel);
}
