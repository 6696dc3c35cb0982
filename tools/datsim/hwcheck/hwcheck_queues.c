/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of shared receive queues, watermarks, many connections, and time. */
#include <stdlib.h>

#include "hwcheck.h"

enum {
	SRQ_SIZE = 32,
	CHURN_QUICK = 50,
	CHURN_MOST = 20000,
	PINGS_QUICK = 2000,
	PINGS = 100000,
	ROUNDS = 10,
	PING_BYTES = 64
};

static void srq_open(struct probe *c, DAT_COUNT low_watermark)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = SRQ_SIZE,
			      .max_recv_iov = 1,
			      .low_watermark = low_watermark };

	if (c->attr.max_srqs == 0)
		probe_skip("the adapter has no shared receive queues");
	MUST(dat_srq_create(c->b.ia, c->b.pz, &attr, &c->srq));
}

static void srq_expect(struct probe *c, DAT_COUNT outstanding, const char *when)
{
	DAT_SRQ_PARAM param;

	MUST(dat_srq_query(c->srq, DAT_SRQ_FIELD_ALL, &param));
	if (param.outstanding_dto_count != outstanding)
		probe_fail("%s: expected %d outstanding Receives, got %d", when, (int)outstanding,
			   (int)param.outstanding_dto_count);
	if (param.available_dto_count != outstanding)
		probe_fail("%s: expected %d available Receives, got %d", when, (int)outstanding,
			   (int)param.available_dto_count);
}

static void fill_srq(struct probe *c)
{
	for (int i = 0; i < SRQ_SIZE; i++)
		probe_recv(c, i, PROBE_SLOT);
}

/* An SRQ gives out Receives in the order in which they were posted, but need not. */
static int take_message(struct probe *c)
{
	DAT_EVENT event = probe_event(c->b.recv, DAT_DTO_COMPLETION_EVENT, "the message");
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	if (dto->status != DAT_DTO_SUCCESS)
		probe_fail("the message: status %d", (int)dto->status);
	return (int)dto->user_cookie.as_64;
}

/*
 * Each Endpoint is freed while it is connected: the Receives that the device held for it come back
 * (LAST_WQE_REACHED).
 */
static void probe_srq(struct probe *c)
{
	int slot;

	srq_open(c, 0);
	fill_srq(c);
	for (int i = 0; i < 4; i++) {
		probe_pair(c);
		probe_fill(&c->a, 0, PROBE_SLOT, i);
		probe_send(c, 0, PROBE_SLOT);
		slot = take_message(c);
		probe_holds(&c->b, slot, PROBE_SLOT, i, "the message");
		probe_completion(c->a.request, 0, "the Send");
		probe_recv(c, slot, PROBE_SLOT);
		MUST(dat_ep_free(c->b.ep));
		probe_event(c->a.connect, DAT_CONNECTION_EVENT_DISCONNECTED, "the end");
		MUST(dat_ep_free(c->a.ep));
		srq_expect(c, SRQ_SIZE, "after an Endpoint was freed");
	}
}

static void probe_low_watermark(struct probe *c)
{
	srq_open(c, 0);
	fill_srq(c);
	probe_pair(c);
	MUST(dat_srq_set_lw(c->srq, SRQ_SIZE - 2));
	for (int i = 0; i < 3; i++) {
		probe_send(c, 0, 64);
		take_message(c);
		probe_completion(c->a.request, 0, "the Send");
	}
	probe_event(c->b.async, DAT_ASYNC_SRQ_LOW_WATERMARK, "the low watermark");
	probe_disconnect(c);
}

static void probe_high_watermark(struct probe *c)
{
	probe_pair(c);
	for (int i = 0; i < 4; i++)
		probe_recv(c, i, PROBE_SLOT);
	MUST(dat_ep_set_watermark(c->b.ep, 2, DAT_WATERMARK_INFINITE));
	for (int i = 0; i < 3; i++) {
		probe_send(c, 0, 64);
		probe_completion(c->a.request, 0, "the Send");
	}
	probe_event(c->b.async, DAT_ASYNC_EP_SOFT_HIGH_WATERMARK, "the high watermark");
	probe_disconnect(c);
}

/* ---- many connections, one after the other ---- */

/* One side is freed, and the other hears of it; both sides by turns. */
static void churn_once(struct probe *c, int round)
{
	int slot;

	probe_pair(c);
	probe_fill(&c->a, 0, 64, round);
	probe_send(c, 0, 64);
	slot = take_message(c);
	probe_holds(&c->b, slot, 64, round, "the message");
	probe_completion(c->a.request, 0, "the Send");
	probe_recv(c, slot, PROBE_SLOT);
	MUST(dat_ep_free(round % 2 ? c->a.ep : c->b.ep));
	probe_event(round % 2 ? c->b.connect : c->a.connect, DAT_CONNECTION_EVENT_DISCONNECTED,
		    "the end");
	MUST(dat_ep_free(round % 2 ? c->b.ep : c->a.ep));
}

static void probe_churn(struct probe *c)
{
	int most = c->quick ? CHURN_QUICK : CHURN_MOST, round = 0;

	srq_open(c, 0);
	fill_srq(c);
	while (round < most && probe_now_ns() < c->until_ns) {
		churn_once(c, round);
		round++;
		if (round % 16 == 0)
			srq_expect(c, SRQ_SIZE, "in between");
	}
	if (round == 0)
		probe_skip("no time left");
	srq_expect(c, SRQ_SIZE, "at the end");
	probe_note("%d connections", round);
}

/* ---- time ---- */

static void take_polled(DAT_EVD_HANDLE evd)
{
	uint64_t until = 0;
	DAT_EVENT event;
	DAT_RETURN ret;

	while (DAT_GET_TYPE(ret = dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY) {
		if (!until)
			until = probe_now_ns() + PROBE_EVENT_US * UINT64_C(1000);
		else if (probe_now_ns() > until)
			probe_fail("no event for %d s", PROBE_EVENT_US / 1000000);
	}
	probe_call(ret, "dat_evd_dequeue");
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		probe_fail("a message: status %d",
			   (int)event.event_data.dto_completion_event_data.status);
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The nanoseconds of a message, with its two posts and its two polls. */
static uint64_t ping_messages(struct probe *c, int messages)
{
	uint64_t start = probe_now_ns();

	for (int i = 0; i < messages; i++) {
		probe_recv(c, 1, PROBE_SLOT);
		probe_send(c, 0, PING_BYTES);
		take_polled(c->b.recv);
		take_polled(c->a.request);
	}
	return (probe_now_ns() - start) / (uint64_t)messages;
}

static void probe_latency(struct probe *c)
{
	int messages = (c->quick ? PINGS_QUICK : PINGS) / ROUNDS, n = 0;
	uint64_t times[ROUNDS];

	probe_pair(c);
	ping_messages(c, messages);
	while (n < ROUNDS && (n < 1 || probe_now_ns() < c->until_ns))
		times[n++] = ping_messages(c, messages);
	qsort(times, (size_t)n, sizeof(times[0]), compare_times);
	probe_disconnect(c);
	probe_result(times[n / 2]);
	probe_note("%.2f us", (double)times[n / 2] / 1000);
}

/* A thread that sleeps is woken by the device's event, which polling never needs. */
static void probe_wakeup(struct probe *c)
{
	probe_pair(c);
	for (int i = 0; i < 100; i++) {
		probe_recv(c, 1, PROBE_SLOT);
		probe_message(c, 1, PING_BYTES);
	}
	probe_disconnect(c);
}

const struct hwcheck_row hwcheck_queues[] = {
	{ "Endpoints give back the Receives of their SRQ", probe_srq },
	{ "the low watermark of an SRQ", probe_low_watermark },
	{ "the high watermark of an Endpoint", probe_high_watermark },
	{ "connections come and go on one SRQ", probe_churn },
	{ "a thread that waits is woken", probe_wakeup },
	{ "a message of 64 bytes, polled", probe_latency },
	{ NULL, NULL },
};
