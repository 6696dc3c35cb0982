/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * floor.c - the minimum that a deterministic network in one process has to do for a message.
 *
 * Work requests go into rings. A Send adds an arrival event, due after the latency of the link;
 * when a poll finds nothing, the clock moves to the next event. The arrival takes a Receive, copies
 * the data, adds a completion and an acknowledgement event, which adds the Send's completion.
 * Events are in a heap ordered by time and sequence number. Nothing is checked, nothing can fail.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define NOINLINE   __attribute__((noinline))
#define LATENCY_NS 1000
#define CQ_SIZE    128u
#define HEAP_SIZE  2048

enum event_kind {
	EVENT_ARRIVAL,
	EVENT_ACK
};

struct work {
	uint64_t cookie;
	uint8_t *at;
	uint32_t length;
};

struct ring {
	struct work *work;
	uint32_t mask, put, get;
};

struct qp {
	struct ring send, recv;
	uint32_t acked; /* Sends before this one are complete; from here to send.get: in flight */
	struct qp *peer;
	struct cq *send_cq, *recv_cq;
};

/* As large as a completion of the library */
struct completion {
	uint64_t number, queue, qp, cookie, status, length;
};

struct cq {
	struct completion entry[CQ_SIZE];
	uint32_t put, get;
};

struct event {
	uint64_t time, sequence;
	enum event_kind kind;
	struct qp *qp;
};

static struct event heap[HEAP_SIZE];
static unsigned int heap_used;
static uint64_t now, sequence;
static struct cq send_cq, recv_cq;
static struct qp *qps; /* two for each pair */
static uint8_t *memory;
static int pairs, in_flight;

/* ---- events ---- */

static inline int event_before(const struct event *a, const struct event *b)
{
	return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

static NOINLINE void heap_push(uint64_t time, enum event_kind kind, struct qp *qp)
{
	struct event event = { .time = time, .sequence = sequence++, .kind = kind, .qp = qp };
	unsigned int at = heap_used++;

	while (at > 0 && event_before(&event, &heap[(at - 1) / 2])) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = event;
}

static NOINLINE struct event heap_pop(void)
{
	struct event first = heap[0], last = heap[--heap_used];
	unsigned int at = 0, child;

	while ((child = 2 * at + 1) < heap_used) {
		if (child + 1 < heap_used && event_before(&heap[child + 1], &heap[child]))
			child++;
		if (!event_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return first;
}

/* ---- the adapter ---- */

static inline void cq_add(struct cq *cq, struct qp *qp, const struct work *work, uint32_t length)
{
	struct completion *entry = &cq->entry[cq->put++ % CQ_SIZE];

	entry->number = 1;
	entry->queue = (uintptr_t)cq;
	entry->qp = (uintptr_t)qp;
	entry->cookie = work->cookie;
	entry->status = 0;
	entry->length = length;
}

static void qp_arrival(struct qp *from)
{
	struct qp *to = from->peer;
	const struct work *send = &from->send.work[from->send.get++ & from->send.mask];
	const struct work *recv = &to->recv.work[to->recv.get++ & to->recv.mask];

	memcpy(recv->at, send->at, send->length);
	cq_add(to->recv_cq, to, recv, send->length);
	heap_push(now + LATENCY_NS, EVENT_ACK, from);
}

static void qp_ack(struct qp *qp)
{
	const struct work *send = &qp->send.work[qp->acked++ & qp->send.mask];

	cq_add(qp->send_cq, qp, send, send->length);
}

static void run_event(void)
{
	struct event event = heap_pop();

	now = event.time;
	if (event.kind == EVENT_ARRIVAL)
		qp_arrival(event.qp);
	else
		qp_ack(event.qp);
}

static NOINLINE void post_recv(struct qp *qp, uint8_t *at, uint32_t length, uint64_t cookie)
{
	qp->recv.work[qp->recv.put++ & qp->recv.mask] = (struct work){ cookie, at, length };
}

static NOINLINE void post_send(struct qp *qp, uint8_t *at, uint32_t length, uint64_t cookie)
{
	qp->send.work[qp->send.put++ & qp->send.mask] = (struct work){ cookie, at, length };
	heap_push(now + LATENCY_NS, EVENT_ARRIVAL, qp);
}

static NOINLINE void cq_poll(struct cq *cq, struct completion *completion)
{
	while (cq->get == cq->put)
		run_event();
	*completion = cq->entry[cq->get++ % CQ_SIZE];
}

/* ---- the job ---- */

static void make_ring(struct ring *ring)
{
	uint32_t size = 16;

	while (size < (uint32_t)in_flight)
		size *= 2;
	ring->work = calloc(size, sizeof(*ring->work));
	ring->mask = size - 1;
	ring->put = ring->get = 0;
	if (!ring->work)
		bench_die("memory", 0);
}

static void floor_set_up(int pair_count, int in_flight_count)
{
	pairs = pair_count;
	in_flight = in_flight_count;
	qps = calloc((size_t)pairs * 2, sizeof(*qps));
	memory = calloc((size_t)pairs * 2, BENCH_BYTES);
	if (!qps || !memory)
		bench_die("memory", 0);
	for (int n = 0; n < 2 * pairs; n++) {
		make_ring(&qps[n].send);
		make_ring(&qps[n].recv);
		qps[n].peer = &qps[n ^ 1];
		qps[n].send_cq = &send_cq;
		qps[n].recv_cq = &recv_cq;
	}
}

static void floor_tear_down(void)
{
	for (int n = 0; n < 2 * pairs; n++) {
		free(qps[n].send.work);
		free(qps[n].recv.work);
	}
	free(qps);
	free(memory);
}

static void run_batch(int p)
{
	struct qp *from = &qps[2 * p], *to = &qps[2 * p + 1];
	uint8_t *source = memory + (size_t)p * 2 * BENCH_BYTES, *target = source + BENCH_BYTES;
	struct completion completion;

	for (int n = 0; n < in_flight; n++)
		post_recv(to, target, BENCH_BYTES, (uint64_t)n);
	for (int n = 0; n < in_flight; n++)
		post_send(from, source, BENCH_BYTES, (uint64_t)n);
	for (int n = 0; n < in_flight; n++)
		cq_poll(&recv_cq, &completion);
	for (int n = 0; n < in_flight; n++)
		cq_poll(&send_cq, &completion);
	if (completion.length != BENCH_BYTES)
		bench_die("a completion of the floor", 0);
}

/* The same for one message, so that the loops are not measured. */
static void run_one(int p)
{
	struct qp *from = &qps[2 * p], *to = &qps[2 * p + 1];
	uint8_t *source = memory + (size_t)p * 2 * BENCH_BYTES, *target = source + BENCH_BYTES;
	struct completion completion;

	post_recv(to, target, BENCH_BYTES, 1);
	post_send(from, source, BENCH_BYTES, 1);
	cq_poll(&recv_cq, &completion);
	if (completion.length != BENCH_BYTES)
		bench_die("a Receive of the floor", 0);
	cq_poll(&send_cq, &completion);
	if (completion.length != BENCH_BYTES)
		bench_die("a Send of the floor", 0);
}

static void floor_run(long rounds)
{
	for (long n = 0; n < rounds; n += in_flight)
		for (int p = 0; p < pairs; p++) {
			if (in_flight == 1)
				run_one(p);
			else
				run_batch(p);
		}
}

const struct bench_side bench_floor = { "floor", floor_set_up, floor_run, floor_tear_down };
