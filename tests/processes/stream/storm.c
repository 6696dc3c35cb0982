/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storm - a Send is answered "receiver not ready" at once and indefinitely, so more retries are due
 * than any process can run. A call made meanwhile runs only a few of them, a wait ends at its
 * timeout, and the Send completes when a Receive is posted. The test does not depend on the
 * machine's speed: the fabric numbers its events, and the test compares numbers.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <dat/sim.h>

#include "tests/processes/die.h"
#include "emu/shared/shared.h"
#include "emu/fabric/spare.h"

#define QUALIFIER 7970
#define FULL      1500000u /* events: from then on every process lags behind */
#define FEW       20000u   /* while a call was made, by others too */
#define TRIES     50
#define WAIT_US   20000

struct ends {
	struct pair_node node;
	DAT_EVD_HANDLE events, send, recv;
	DAT_EP_HANDLE from, to;
};

static int look(struct emu_world *w, void *arg)
{
	*(uint64_t *)arg = w->fab->sequence;
	return 0;
}

/* The number of events so far */
static uint64_t count(void)
{
	struct nic_config config = { .fabric = getenv("DATSIM_FABRIC") };
	struct emu_world *w = emu_world_map_bare();
	uint64_t sequence;

	if (!w || emu_shared_look(w, &config, true, look, &sequence))
		pair_fail("the fabric cannot be looked at");
	emu_world_unmap_bare(w);
	return sequence;
}

static DAT_EVD_HANDLE make_evd(const struct pair_node *node, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd;

	pair_check(dat_evd_create(node->ia, PAIR_QUEUE_LENGTH, DAT_HANDLE_NULL, flags, &evd),
		   "dat_evd_create");
	return evd;
}

static void begin(struct ends *e)
{
	struct sockaddr_in host = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	pair_open(&e->node, "emu0", 2);
	e->events = make_evd(&e->node, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG);
	e->send = make_evd(&e->node, DAT_EVD_DTO_FLAG);
	e->recv = make_evd(&e->node, DAT_EVD_DTO_FLAG);
	pair_check(dat_psp_create(e->node.ia, QUALIFIER, e->events, DAT_PSP_CONSUMER_FLAG, &psp),
		   "dat_psp_create");
	pair_check(dat_ep_create(e->node.ia, e->node.pz, e->send, e->send, e->events, NULL,
				 &e->from),
		   "dat_ep_create");
	pair_check(dat_ep_create(e->node.ia, e->node.pz, e->recv, e->recv, e->events, NULL, &e->to),
		   "dat_ep_create");
	pair_check(dat_ep_connect(e->from, (DAT_IA_ADDRESS_PTR)&host, QUALIFIER,
				  DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	event = expect_event(e->events, DAT_CONNECTION_REQUEST_EVENT);
	pair_check(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, e->to, 0, NULL),
		   "dat_cr_accept");
	expect_event(e->events, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_event(e->events, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void start_storm(const struct ends *e)
{
	DAT_LMR_TRIPLET message = pair_segment(&e->node, 0);

	pair_check(dat_ep_post_send(e->from, 1, &message, (DAT_DTO_COOKIE){ .as_64 = 1 },
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_send");
	while (count() < FULL)
		usleep(1000);
}

/* The least of several: other processes may run events between two samples. */
static uint64_t events_of_a_call(const struct ends *e)
{
	uint64_t least = UINT64_MAX, before, after;
	DAT_EVENT event;

	for (int i = 0; i < TRIES && least > FEW; i++) {
		before = count();
		if (DAT_GET_TYPE(dat_evd_dequeue(e->recv, &event)) != DAT_QUEUE_EMPTY)
			pair_fail("something came");
		after = count();
		if (after - before < least)
			least = after - before;
	}
	return least;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

/* And not before it is time. */
static void expect_timeout(const struct ends *e)
{
	uint64_t begun = now_us();
	DAT_EVENT event;
	DAT_COUNT more;

	if (DAT_GET_TYPE(dat_evd_wait(e->recv, WAIT_US, 1, &event, &more)) != DAT_TIMEOUT_EXPIRED)
		pair_fail("a wait for nothing does not end as it should");
	if (now_us() - begun < WAIT_US)
		pair_fail("time passes faster than it does");
}

static void end_storm(const struct ends *e)
{
	DAT_LMR_TRIPLET message = pair_segment(&e->node, 1);

	pair_check(dat_ep_post_recv(e->to, 1, &message, (DAT_DTO_COOKIE){ .as_64 = 2 },
				    DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_recv");
	expect_dto(e->recv, 2);
	expect_dto(e->send, 1);
	pair_check(dat_ia_close(e->node.ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
	free(e->node.messages);
}

int main(void)
{
	struct ends ends;
	uint64_t events;

	hang_begin("a storm of retries");
	begin(&ends);
	expect_timeout(&ends);
	start_storm(&ends);
	events = events_of_a_call(&ends);
	if (events > FEW) {
		printf("a call has the lock for %llu events\n", (unsigned long long)events);
		return 1;
	}
	expect_timeout(&ends);
	end_storm(&ends);
	return 0;
}
