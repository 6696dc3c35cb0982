/* SPDX-License-Identifier: BSD-3-Clause */
/* poll.c - rpoll and rselect: waiting for rsockets, and for other descriptors beside them. */
#include <stdlib.h>
#include <string.h>

#include "rsocket.h"

#define FDS_MOST 65536u

/* ---- what an rsocket is ready for ---- */

static short connected_events(const struct rs_socket *rs)
{
	short events = 0;

	if (rs->rx.count > 0 || rs->peer_ended || rs->read_shut)
		events |= POLLIN;
	if (rs_may_send(rs) || rs->write_shut)
		events |= POLLOUT;
	if (rs->peer_ended || rs->read_shut)
		events |= POLLRDHUP;
	if (rs->peer_ended && rs->write_shut)
		events |= POLLHUP;
	return events;
}

/* Until the program has read all that came, the end of the connection is no news. */
static short over_events(const struct rs_socket *rs)
{
	short events = POLLIN | POLLOUT | POLLRDHUP;

	if (rs->rx.count > 0)
		return events;
	return (short)(events | POLLHUP | (rs->error ? POLLERR : 0));
}

static short events_of(const struct rs_socket *rs)
{
	switch (rs->state) {
	case RS_OPEN:
	case RS_BOUND:
		return POLLOUT | POLLHUP;
	case RS_LISTENING:
		return rs->accepted_count > 0 || rs->accept_error ? POLLIN : 0;
	case RS_CONNECTING:
		return 0;
	case RS_ACCEPTING:
	case RS_CONNECTED:
		return connected_events(rs);
	case RS_REFUSED:
		return POLLIN | POLLOUT | POLLERR | POLLHUP;
	case RS_OVER:
		break;
	}
	return over_events(rs);
}

static short wanted_events(const struct pollfd *pfd)
{
	short events = pfd->events | POLLERR | POLLHUP;

	if (events & POLLRDNORM)
		events |= POLLIN;
	if (events & POLLWRNORM)
		events |= POLLOUT;
	return events;
}

/* What rpoll returns for this rsocket: no completion is looked for. */
static short ready_events(const struct rs_socket *rs, const struct pollfd *pfd)
{
	return rs->closed ? POLLNVAL : (short)(events_of(rs) & wanted_events(pfd));
}

/* ---- rounds ---- */

/* The descriptors that one round waits for. */
struct round {
	struct pollfd *fds; /* the program's */
	nfds_t n;
	struct rs_socket **sockets; /* one for each of fds, with a reference; NULL: not ours */
	struct pollfd *all;         /* of ours RS_FDS each, and the others */
	nfds_t *place;              /* of each of fds in all */
	nfds_t count;
};

static void free_round(struct round *r)
{
	for (nfds_t i = 0; r->sockets && i < r->n; i++)
		if (r->sockets[i])
			rs_put(r->sockets[i]);
	free(r->sockets);
	free(r->all);
	free(r->place);
}

static int begin_round(struct round *r, struct pollfd *fds, nfds_t n)
{
	*r = (struct round){ .fds = fds, .n = n };
	r->sockets = calloc(n + 1, sizeof(struct rs_socket *));
	r->all = calloc(n * RS_FDS + 1, sizeof(struct pollfd));
	r->place = calloc(n + 1, sizeof(nfds_t));
	if (!r->sockets || !r->all || !r->place) {
		free_round(r);
		return -ENOMEM;
	}
	for (nfds_t i = 0; i < n; i++) {
		r->sockets[i] = rs_find(fds[i].fd);
		if (r->sockets[i])
			pthread_mutex_unlock(&r->sockets[i]->mutex);
	}
	return 0;
}

/* Test the rsockets; how many are ready. */
static int test_sockets(struct round *r)
{
	int ready = 0;

	for (nfds_t i = 0; i < r->n; i++) {
		struct rs_socket *rs = r->sockets[i];
		struct pollfd *pfd = &r->fds[i];

		pfd->revents = 0;
		if (!rs)
			continue;
		pthread_mutex_lock(&rs->mutex);
		rs_progress(rs); /* one that may be sent to may have something to read, too */
		pfd->revents = ready_events(rs, pfd);
		pthread_mutex_unlock(&rs->mutex);
		ready += pfd->revents != 0;
	}
	return ready;
}

/* Get ready to sleep. False: something has happened. end_gather follows in any case. */
static bool gather_fds(struct round *r)
{
	bool quiet = true;

	r->count = 0;
	for (nfds_t i = 0; i < r->n; i++) {
		struct rs_socket *rs = r->sockets[i];
		int n = 0;

		r->place[i] = r->count;
		if (!rs) {
			r->all[r->count++] = r->fds[i];
			continue;
		}
		pthread_mutex_lock(&rs->mutex);
		n = rs_wait_begin(rs, &r->all[r->count]);
		/* Since the test, another thread may have handled what this one waits for. */
		if (n > 0 && ready_events(rs, &r->fds[i]))
			quiet = false;
		/* The program does not ask for requests: they do not wake it. */
		if (rs->state == RS_LISTENING && !(wanted_events(&r->fds[i]) & POLLIN))
			r->all[r->count + 1].fd = -1;
		pthread_mutex_unlock(&rs->mutex);
		r->count += (nfds_t)n;
		quiet &= n > 0;
	}
	return quiet;
}

static nfds_t place_after(const struct round *r, nfds_t i)
{
	return i + 1 < r->n ? r->place[i + 1] : r->count;
}

/* Awake again. How many of the program's own descriptors are ready. */
static int end_gather(struct round *r)
{
	int ready = 0;

	for (nfds_t i = 0; i < r->n; i++) {
		struct rs_socket *rs = r->sockets[i];

		if (!rs) {
			r->fds[i].revents = r->all[r->place[i]].revents;
			ready += r->fds[i].revents != 0;
		} else if (place_after(r, i) > r->place[i]) {
			pthread_mutex_lock(&rs->mutex);
			rs_wait_end(rs);
			pthread_mutex_unlock(&rs->mutex);
		}
	}
	return ready;
}

static bool has_foreign(const struct round *r)
{
	for (nfds_t i = 0; i < r->n; i++)
		if (!r->sockets[i] && r->fds[i].fd >= 0)
			return true;
	return false;
}

static void end_cancelled(void *arg)
{
	struct round *r = arg;

	end_gather(r);
	free_round(r);
}

/*
 * Sleep until something may have happened, or only look if some are ready. How many of the
 * program's own descriptors are ready, or a negative errno.
 */
static int sleep_round(struct round *r, int ready, uint64_t *left, const char *call)
{
	struct vb_wait wait = { .fds = r->all, .foreign = has_foreign(r), .call = call };
	bool quiet = gather_fds(r) && !ready;
	int err = 0;

	wait.n = r->count;
	wait.left = quiet ? *left : 0;
	pthread_cleanup_push(end_cancelled, r);
	if (quiet || wait.foreign)
		err = rs_sleep(&wait);
	pthread_cleanup_pop(0);
	if (quiet)
		*left = wait.left;
	ready = end_gather(r);
	return err ? err : ready;
}

int rs_poll(struct pollfd *fds, nfds_t n, uint64_t ns, const char *call)
{
	int ready, got, err = 0;
	struct round r;
	bool last;

	if (n > FDS_MOST)
		return -EINVAL;
	if (!fds && n > 0)
		return -EFAULT;
	if (!cm_backend())
		err = cm_begin();
	if (!err)
		err = begin_round(&r, fds, n);
	if (err)
		return err;
	do {
		ready = test_sockets(&r);
		if (ready && !has_foreign(&r))
			break;
		last = ns == 0;
		got = sleep_round(&r, ready, &ns, call);
		ready = got < 0 && !ready ? got : ready + (got > 0 ? got : 0);
	} while (ready == 0 && !last);
	free_round(&r);
	return ready;
}

int rpoll(struct pollfd *fds, nfds_t n, int ms)
{
	uint64_t ns = ms < 0 ? NIC_TIME_NEVER : (uint64_t)ms * NS_PER_US * 1000;
	int ready = rs_poll(fds, n, ns, "rpoll");

	return ready < 0 ? cm_fail(ready) : ready;
}

/* ---- select ---- */

static nfds_t fill_fds(struct pollfd *fds, int n, const fd_set *r, const fd_set *w, const fd_set *x)
{
	nfds_t count = 0;
	int events;

	for (int fd = 0; fd < n; fd++) {
		events = (r && FD_ISSET(fd, r) ? POLLIN : 0) |
			 (w && FD_ISSET(fd, w) ? POLLOUT : 0) |
			 (x && FD_ISSET(fd, x) ? POLLPRI : 0);
		if (events)
			fds[count++] = (struct pollfd){ .fd = fd, .events = (short)events };
	}
	return count;
}

/* Leave the descriptor in a set if it is ready for what that is about. */
static int keep_ready(fd_set *set, const struct pollfd *pfd, int about, int ready)
{
	if (!set || !(pfd->events & about))
		return 0;
	if (pfd->revents & ready)
		return 1;
	FD_CLR(pfd->fd, set);
	return 0;
}

static int select_fds(struct pollfd *fds, int n, fd_set *r, fd_set *w, fd_set *x, uint64_t ns)
{
	nfds_t count = fill_fds(fds, n, r, w, x);
	int ready = rs_poll(fds, count, ns, "rselect"), all = 0;

	if (ready < 0)
		return ready;
	for (nfds_t i = 0; i < count; i++)
		if (fds[i].revents & POLLNVAL)
			return -EBADF;
	for (nfds_t i = 0; i < count; i++) {
		all += keep_ready(r, &fds[i], POLLIN, POLLIN | POLLHUP | POLLERR);
		all += keep_ready(w, &fds[i], POLLOUT, POLLOUT | POLLERR);
		all += keep_ready(x, &fds[i], POLLPRI, POLLPRI);
	}
	return all;
}

static int select_and_free(struct pollfd *fds, int n, fd_set *r, fd_set *w, fd_set *x, uint64_t ns)
{
	int ready;

	pthread_cleanup_push(free, fds);
	ready = select_fds(fds, n, r, w, x, ns);
	pthread_cleanup_pop(1);
	return ready;
}

int rselect(int n, fd_set *r, fd_set *w, fd_set *x, struct timeval *timeout)
{
	uint64_t ns = NIC_TIME_NEVER;
	struct pollfd *fds;
	int ready;

	if (n < 0 || n > FD_SETSIZE)
		return cm_fail(EINVAL);
	if (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0))
		return cm_fail(EINVAL);
	if (timeout && timeout->tv_sec < INT32_MAX)
		ns = ((uint64_t)timeout->tv_sec * 1000000 + (uint64_t)timeout->tv_usec) * NS_PER_US;
	fds = calloc((size_t)n + 1, sizeof(*fds));
	if (!fds)
		return cm_fail(ENOMEM);
	ready = select_and_free(fds, n, r, w, x, ns);
	return ready < 0 ? cm_fail(ready) : ready;
}
