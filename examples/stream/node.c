/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What server and client have in common: an adapter with EVDs and buffers, and the three ways to
 * get the next event.
 */
#include "stream.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define QUEUE_LENGTH 4096
#define TIMEOUT_US   100000000 /* far longer than any wait here takes */

void stream_check(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fprintf(stderr, "stream: %s: %s %s\n", call, major, minor);
	exit(1);
}

void stream_fail(const char *what)
{
	fprintf(stderr, "stream: %s\n", what);
	exit(1);
}

static void make_queues(struct stream_node *node)
{
	static const DAT_EVD_FLAGS flags[STREAM_QUEUES] = { DAT_EVD_CR_FLAG,
							    DAT_EVD_CONNECTION_FLAG,
							    DAT_EVD_DTO_FLAG, DAT_EVD_DTO_FLAG };

	node->cno = DAT_HANDLE_NULL;
	if (node->way == STREAM_CNO)
		stream_check(dat_cno_create(node->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &node->cno),
			     "dat_cno_create");
	for (int i = 0; i < STREAM_QUEUES; i++)
		stream_check(dat_evd_create(node->ia, QUEUE_LENGTH, node->cno, flags[i],
					    &node->evd[i]),
			     "dat_evd_create");
}

void stream_open(struct stream_node *node, enum stream_way way, int buffers)
{
	size_t size = (size_t)buffers * STREAM_LARGEST;
	DAT_REGION_DESCRIPTION region;
	DAT_RMR_CONTEXT remote;
	DAT_VADDR address;
	DAT_VLEN length;

	node->way = way;
	node->async = DAT_HANDLE_NULL;
	stream_check(dat_ia_open((DAT_NAME_PTR) "emu0", 8, &node->async, &node->ia), "dat_ia_open");
	stream_check(dat_pz_create(node->ia, &node->pz), "dat_pz_create");
	make_queues(node);
	node->memory = calloc(1, size);
	if (!node->memory)
		stream_fail("out of memory");
	region.for_va = node->memory;
	stream_check(dat_lmr_create(node->ia, DAT_MEM_TYPE_VIRTUAL, region, size, node->pz,
				    DAT_MEM_PRIV_ALL_FLAG, &node->lmr, &node->key, &remote, &length,
				    &address),
		     "dat_lmr_create");
}

void stream_close(struct stream_node *node)
{
	for (int i = 0; i < STREAM_QUEUES; i++)
		stream_check(dat_evd_free(node->evd[i]), "dat_evd_free");
	if (node->cno != DAT_HANDLE_NULL)
		stream_check(dat_cno_free(node->cno), "dat_cno_free");
	stream_check(dat_lmr_free(node->lmr), "dat_lmr_free");
	stream_check(dat_pz_free(node->pz), "dat_pz_free");
	stream_check(dat_ia_close(node->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	free(node->memory);
}

unsigned char *stream_buffer(const struct stream_node *node, int buffer)
{
	return node->memory + (size_t)buffer * STREAM_LARGEST;
}

DAT_LMR_TRIPLET stream_segment(const struct stream_node *node, int buffer, unsigned int length)
{
	return (DAT_LMR_TRIPLET){
		.lmr_context = node->key,
		.virtual_address = (DAT_VADDR)(uintptr_t)stream_buffer(node, buffer),
		.segment_length = length,
	};
}

/* Get an event from any of the EVDs. 0: there is none. */
static int poll_all(struct stream_node *node, enum stream_queue *queue, DAT_EVENT *event)
{
	for (int i = 0; i < STREAM_QUEUES; i++) {
		*queue = (enum stream_queue)i;
		if (dat_evd_dequeue(node->evd[i], event) == DAT_SUCCESS)
			return 1;
	}
	return 0;
}

/* A thread cannot wait for four EVDs at once without a CNO: wait briefly for each. */
static void wait_briefly(struct stream_node *node, enum stream_queue *queue, DAT_EVENT *event,
			 int *got)
{
	DAT_COUNT more;

	for (int i = STREAM_QUEUES - 1; i >= 0 && !*got; i--) {
		*queue = (enum stream_queue)i;
		*got = dat_evd_wait(node->evd[i], 200, 1, event, &more) == DAT_SUCCESS;
	}
}

DAT_EVENT stream_next(struct stream_node *node, enum stream_queue *queue)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	int got = poll_all(node, queue, &event);

	while (!got) {
		if (node->way == STREAM_WAIT)
			wait_briefly(node, queue, &event, &got);
		/* The CNO's EVD is only a hint: poll all of them. */
		if (node->way == STREAM_CNO)
			stream_check(dat_cno_wait(node->cno, TIMEOUT_US, &evd), "dat_cno_wait");
		got = got || poll_all(node, queue, &event);
	}
	return event;
}

const DAT_DTO_COMPLETION_EVENT_DATA *stream_done(const DAT_EVENT *event)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number != DAT_DTO_COMPLETION_EVENT || dto->status != DAT_DTO_SUCCESS)
		stream_fail("a transfer failed");
	return dto;
}
