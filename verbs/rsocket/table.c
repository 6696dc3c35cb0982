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

#include "host/nic_process.h"
#include "rsocket.h"

#define NUMBERS_FIRST 64u
#define NUMBERS_MOST  65536u

static struct {
	pthread_mutex_t mutex;
	struct rs_socket **by_number;
	unsigned int size;
	struct rs_list listeners;
	unsigned int listening;
} table = { .mutex = PTHREAD_MUTEX_INITIALIZER,
	    .listeners = TAILQ_HEAD_INITIALIZER(table.listeners) };

/* ---- references ---- */

static void free_socket(struct rs_socket *rs)
{
	rs_drop_accepted(rs);
	rs_link_free(rs);
	if (rs->channel)
		rdma_destroy_event_channel(rs->channel);
	if (rs->fd >= 0)
		process_close(rs->fd);
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

/* The table's mutex is held. */
static void unlist_listener(struct rs_socket *rs)
{
	if (!rs->listed)
		return;
	TAILQ_REMOVE(&table.listeners, rs, link);
	table.listening--;
	rs->listed = false;
}

static int add_socket(struct rs_socket *rs, struct rs_socket *locked)
{
	struct rs_socket *old = NULL;
	int err;

	pthread_mutex_lock(&table.mutex);
	err = make_room((unsigned int)rs->fd);
	if (!err) {
		old = table.by_number[rs->fd];
		table.by_number[rs->fd] = rs;
		rs->refs++;
		if (old)
			unlist_listener(old);
	}
	pthread_mutex_unlock(&table.mutex);
	if (old) {
		if (old != locked)
			pthread_mutex_lock(&old->mutex);
		old->fd = -1; /* the program closed it */
		old->closed = true;
		if (old != locked)
			pthread_mutex_unlock(&old->mutex);
		rs_put(old);
	}
	return err;
}

struct rs_socket *rs_make(int domain, struct rs_socket *locked)
{
	struct rs_socket *rs = calloc(1, sizeof(*rs));
	int err = 0;

	if (!rs)
		return vb_failed(-ENOMEM);
	*rs = (struct rs_socket){ .refs = 1, .domain = domain, .options = rs_options_usual };
	pthread_mutex_init(&rs->mutex, NULL);
	TAILQ_INIT(&rs->accepted);
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
		err = add_socket(rs, locked);
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
	unlist_listener(rs);
	mine = at_number(rs->fd) == rs;
	if (mine) {
		table.by_number[rs->fd] = NULL;
		rs->refs--;
	}
	pthread_mutex_unlock(&table.mutex);
	rs_wake(rs);
}

/* ---- listeners ---- */

void rs_listens(struct rs_socket *rs)
{
	pthread_mutex_lock(&table.mutex);
	if (!rs->closed && !rs->listed) {
		TAILQ_INSERT_TAIL(&table.listeners, rs, link);
		table.listening++;
		rs->listed = true;
	}
	pthread_mutex_unlock(&table.mutex);
}

/* Without memory there are none: raccept and rpoll look for the requests of their own. */
unsigned int rs_listeners(struct rs_socket ***list)
{
	struct rs_socket *rs;
	unsigned int n = 0;

	pthread_mutex_lock(&table.mutex);
	*list = table.listening ? calloc(table.listening, sizeof(struct rs_socket *)) : NULL;
	TAILQ_FOREACH(rs, &table.listeners, link) {
		if (!*list)
			break;
		rs->refs++;
		(*list)[n++] = rs;
	}
	pthread_mutex_unlock(&table.mutex);
	return n;
}

void rs_wake_all(void)
{
	unsigned int size;
	struct rs_socket *rs;

	pthread_mutex_lock(&table.mutex);
	size = table.size;
	pthread_mutex_unlock(&table.mutex);
	for (unsigned int i = 0; i < size; i++) {
		rs = rs_find((int)i);
		if (!rs)
			continue;
		rs_wake(rs);
		rs_leave(rs, 0);
	}
}

void rs_forget(void)
{
	pthread_mutex_init(&table.mutex, NULL);
	TAILQ_INIT(&table.listeners);
	table.listening = 0;
	table.by_number = NULL; /* another thread may have been about to change it */
	table.size = 0;
}
