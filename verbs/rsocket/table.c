/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.c - the rsockets of this process by their numbers, and their references.
 *
 * A program may close(2) a number, against the rules. The kernel then gives it to another file; if
 * that is an eventfd of a new rsocket, this one takes the place, and the old one is freed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rsocket.h"

#define NUMBERS_FIRST 64u
#define NUMBERS_MOST  65536u

static struct {
	pthread_mutex_t mutex;
	struct rs_socket **by_number;
	unsigned int size;
} table = { .mutex = PTHREAD_MUTEX_INITIALIZER };

/* ---- references ---- */

static void free_socket(struct rs_socket *rs)
{
	rs_link_free(rs);
	if (rs->channel)
		rdma_destroy_event_channel(rs->channel);
	if (rs->fd >= 0)
		close(rs->fd);
	pthread_mutex_destroy(&rs->mutex);
	free(rs);
}

void rs_put(struct rs_socket *rs)
{
	bool last;

	pthread_mutex_lock(&table.mutex);
	last = --rs->refs == 0;
	pthread_mutex_unlock(&table.mutex);
	if (last)
		free_socket(rs);
}

/* The table's mutex is held. */
static struct rs_socket *at_number(int fd)
{
	return fd >= 0 && (unsigned int)fd < table.size ? table.by_number[fd] : NULL;
}

struct rs_socket *rs_find(int fd)
{
	struct rs_socket *rs;

	pthread_mutex_lock(&table.mutex);
	rs = at_number(fd);
	if (rs)
		rs->refs++;
	pthread_mutex_unlock(&table.mutex);
	if (rs)
		pthread_mutex_lock(&rs->mutex);
	return rs;
}

struct rs_socket *rs_enter(int fd)
{
	struct rs_socket *rs = rs_find(fd);

	if (rs && !rs->closed)
		return rs;
	if (rs)
		rs_leave(rs, 0);
	return vb_failed(-EBADF);
}

ssize_t rs_leave(struct rs_socket *rs, ssize_t result)
{
	pthread_mutex_unlock(&rs->mutex);
	rs_put(rs);
	return result < 0 ? cm_fail((int)result) : result;
}

/* ---- the table ---- */

/* The table's mutex is held. -EMFILE: the number is too large. */
static int make_room(unsigned int number)
{
	unsigned int size = table.size ? table.size : NUMBERS_FIRST;
	struct rs_socket **larger;

	if (number >= NUMBERS_MOST)
		return -EMFILE;
	while (size <= number)
		size *= 2;
	if (size == table.size)
		return 0;
	larger = realloc(table.by_number, size * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	memset(larger + table.size, 0, (size - table.size) * sizeof(*larger));
	table.by_number = larger;
	table.size = size;
	return 0;
}

static int add_socket(struct rs_socket *rs)
{
	struct rs_socket *old = NULL;
	int err;

	pthread_mutex_lock(&table.mutex);
	err = make_room((unsigned int)rs->fd);
	if (!err) {
		old = table.by_number[rs->fd];
		table.by_number[rs->fd] = rs;
		rs->refs++;
	}
	pthread_mutex_unlock(&table.mutex);
	if (old) {
		pthread_mutex_lock(&old->mutex);
		old->fd = -1; /* the program closed it */
		old->closed = true;
		rs_leave(old, 0);
	}
	return err;
}

struct rs_socket *rs_make(int domain)
{
	struct rs_socket *rs = calloc(1, sizeof(*rs));
	int err = 0;

	if (!rs)
		return vb_failed(-ENOMEM);
	*rs = (struct rs_socket){ .refs = 1, .domain = domain, .options = rs_options_usual };
	pthread_mutex_init(&rs->mutex, NULL);
	TAILQ_INIT(&rs->own_maps);
	TAILQ_INIT(&rs->peer_maps);
	STAILQ_INIT(&rs->notices);
	rs->fd = vb_event_fd();
	if (rs->fd < 0)
		err = -errno;
	if (!err) {
		rs->channel = rs_channel_make();
		err = rs->channel ? 0 : -errno;
	}
	if (!err)
		err = add_socket(rs);
	if (!err)
		return rs;
	rs_put(rs);
	return vb_failed(err);
}

void rs_close(struct rs_socket *rs)
{
	bool mine;

	rs->closed = true;
	pthread_mutex_lock(&table.mutex);
	mine = at_number(rs->fd) == rs;
	if (mine) {
		table.by_number[rs->fd] = NULL;
		rs->refs--;
	}
	pthread_mutex_unlock(&table.mutex);
	rs_wake(rs);
}

void rs_forget(void)
{
	pthread_mutex_init(&table.mutex, NULL);
	table.by_number = NULL; /* another thread may have been about to change it */
	table.size = 0;
}
