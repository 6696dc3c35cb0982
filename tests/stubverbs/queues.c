/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues and their channels */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "stub.h"

static struct stub_cq *cqs;

uint32_t stub_ring_size(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size *= 2;
	return size;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct stub_channel *channel;

	if (stub_refuses("ibv_create_comp_channel"))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	channel->v.context = context;
	channel->v.fd = eventfd(0, EFD_SEMAPHORE);
	stub_count(1);
	return &channel->v;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	free(channel);
	stub_count(-1);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct stub_cq *cq = stub_refuses("ibv_create_cq") ? NULL : calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	if (cqe < 1 || cqe > STUB_CQE || vector < 0 || vector >= context->num_comp_vectors) {
		free(cq);
		errno = EINVAL;
		return NULL;
	}
	cq->v = (struct ibv_cq){ .context = context, .channel = channel, .cq_context = cq_context };
	cq->depth = stub_ring_size((uint32_t)cqe);
	cq->mask = cq->depth - 1;
	cq->v.cqe = (int)cq->depth;
	cq->at = calloc(cq->depth, sizeof(*cq->at));
	cq->vector = vector;
	stub_lock();
	cq->next_of_all = cqs;
	cqs = cq;
	stub_unlock();
	stub_count(1);
	return &cq->v;
}

int stub_cqs_of(int vector)
{
	struct stub_cq *cq;
	int n = 0;

	stub_lock();
	for (cq = cqs; cq; cq = cq->next_of_all)
		n += cq->vector == vector;
	stub_unlock();
	return n;
}

int ibv_resize_cq(struct ibv_cq *base, int cqe)
{
	struct stub_cq *cq = (struct stub_cq *)base;
	uint32_t depth = stub_ring_size((uint32_t)cqe), n = 0;
	int error = stub_refuses("ibv_resize_cq");
	struct ibv_wc *at;

	if (error)
		return error;
	if (cqe > STUB_CQE || cq->put - cq->get > depth)
		return EINVAL;
	at = calloc(depth, sizeof(*at));
	while (cq->get != cq->put)
		at[n++] = cq->at[cq->get++ & cq->mask];
	free(cq->at);
	cq->at = at;
	cq->get = 0;
	cq->put = cq->seen = n;
	cq->depth = depth;
	cq->mask = depth - 1;
	cq->v.cqe = (int)depth;
	return 0;
}

static void leave_channel(struct stub_cq *cq)
{
	struct stub_channel *channel = (struct stub_channel *)cq->v.channel;
	struct stub_cq **at;

	if (!cq->waiting)
		return;
	for (at = &channel->first; *at != cq; at = &(*at)->next)
		;
	*at = cq->next;
	stub_unsignal(channel->v.fd);
}

int ibv_destroy_cq(struct ibv_cq *base)
{
	struct stub_cq *cq = (struct stub_cq *)base, **at;

	if (stub_is_used(cq, NULL, NULL))
		return EBUSY;
	stub_lock();
	leave_channel(cq);
	for (at = &cqs; *at != cq; at = &(*at)->next_of_all)
		;
	*at = cq->next_of_all;
	stub_unlock();
	stub_forget_events(cq);
	free(cq->at);
	free(cq);
	stub_count(-1);
	return 0;
}

static int reads_of_broken;

void stub_break_channels(void)
{
	struct stub_cq *cq;

	stub_lock();
	for (cq = cqs; cq; cq = cq->next_of_all) {
		if (!cq->v.channel)
			continue;
		((struct stub_channel *)cq->v.channel)->broken = true;
		stub_signal(cq->v.channel->fd);
	}
	stub_unlock();
}

int stub_reads_of_broken(void)
{
	int n;

	stub_lock();
	n = reads_of_broken;
	stub_unlock();
	return n;
}

void stub_await_read_of_broken(void)
{
	stub_lock();
	while (reads_of_broken == 0)
		stub_wait();
	stub_unlock();
}

static bool is_broken(const struct stub_channel *channel)
{
	bool broken;

	stub_lock();
	broken = channel->broken;
	reads_of_broken += broken;
	stub_changed();
	stub_unlock();
	return broken;
}

int ibv_get_cq_event(struct ibv_comp_channel *base, struct ibv_cq **cq, void **cq_context)
{
	struct stub_channel *channel = (struct stub_channel *)base;
	struct stub_cq *first;
	uint64_t value;

	if (is_broken(channel)) {
		errno = EIO;
		return -1;
	}
	if (read(base->fd, &value, sizeof(value)) < 0)
		return -1;
	stub_lock();
	first = channel->first;
	if (first) {
		channel->first = first->next;
		first->waiting = false;
		stub_changed();
		*cq = &first->v;
		*cq_context = first->v.cq_context;
	}
	stub_unlock();
	if (!first)
		errno = EAGAIN;
	return first ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	(void)cq;
	(void)n;
}

void stub_cq_exists(const struct ibv_cq *base)
{
	const struct stub_cq *cq = cqs;

	while (cq && &cq->v != base)
		cq = cq->next_of_all;
	if (!cq)
		abort();
}
