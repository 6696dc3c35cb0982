/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_verbs.c - the job of bench_message over bare verbs, with one message outstanding.
 *
 *	bench_verbs ROUNDS ADDRESS	on the device at that address; prints the ns of a message
 *	bench_verbs ROUNDS number	on the first device, a pair connected by number, for
 *					instructions.sh
 *	bench_verbs ROUNDS		on the device of tests/stubverbs; instructions-hw.sh counts
 *					the instructions of each step
 */
#include <arpa/inet.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "bench_verbs.h"

#define PORT       4711
#define RESOLVE_MS 60000
#define STUB       "192.0.2.1"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *from_id, *to_id;

static struct ibv_qp *make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = qp_init();

	must_be(rdma_create_qp(id, mr->pd, &init) == 0, "rdma_create_qp");
	return id->qp;
}

static struct rdma_cm_id *expect_event(enum rdma_cm_event_type type, const char *what)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	must_be(rdma_get_cm_event(channel, &event) == 0 && event->event == type, what);
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void set_up(const char *address)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct rdma_cm_id *listener;

	must_be(inet_aton(address, &at.sin_addr), "the address");
	channel = rdma_create_event_channel();
	must_be(channel && rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0 &&
			rdma_bind_addr(listener, (struct sockaddr *)&at) == 0 &&
			rdma_listen(listener, 1) == 0,
		"rdma_listen");
	must_be(rdma_create_id(channel, &from_id, NULL, RDMA_PS_TCP) == 0 &&
			rdma_resolve_addr(from_id, NULL, (struct sockaddr *)&at, RESOLVE_MS) == 0,
		"rdma_resolve_addr");
	expect_event(RDMA_CM_EVENT_ADDR_RESOLVED, "the route");
	must_be(rdma_resolve_route(from_id, RESOLVE_MS) == 0, "rdma_resolve_route");
	expect_event(RDMA_CM_EVENT_ROUTE_RESOLVED, "the route");
	make_objects(from_id->verbs);
	from = make_qp(from_id);
	must_be(rdma_connect(from_id, &param) == 0, "rdma_connect");
	to_id = expect_event(RDMA_CM_EVENT_CONNECT_REQUEST, "the request");
	to = make_qp(to_id);
	must_be(rdma_accept(to_id, &param) == 0, "rdma_accept");
	expect_event(RDMA_CM_EVENT_ESTABLISHED, "the connection");
	expect_event(RDMA_CM_EVENT_ESTABLISHED, "the connection");
}

static void set_up_by_number(void)
{
	struct ibv_qp_init_attr init;

	open_first_device();
	init = qp_init();
	from = ibv_create_qp(mr->pd, &init);
	to = ibv_create_qp(mr->pd, &init);
	must_be(from && to, "ibv_create_qp");
	connect_by_number();
}

/* ---- the job ---- */

static inline void post_send(struct ibv_send_wr *wr, uint64_t number)
{
	struct ibv_send_wr *bad;

	wr->wr_id = number;
	must_be(ibv_post_send(from, wr, &bad) == 0, "ibv_post_send");
}

/* In line, as run_one of library.c: no call is counted but those of the job. */
static void run_in_line(long rounds)
{
	struct job job;
	struct ibv_wc wc;

	prepare_job(&job);
	for (long n = 0; n < rounds; n++) {
		post_recv(&job.recv, 1);
		post_send(&job.send, 1);
		take_recv(&wc);
		poll_one(send_cq, &wc);
	}
}

/* ---- each call in its own function, as the steps of library.c: instructions-hw.sh ---- */

static __attribute__((noinline)) void step_post_recv(struct ibv_recv_wr *wr, uint64_t number)
{
	post_recv(wr, number);
}

static __attribute__((noinline)) void step_post_send(struct ibv_send_wr *wr, uint64_t number)
{
	post_send(wr, number);
}

static __attribute__((noinline)) void step_take_recv(struct ibv_wc *wc)
{
	take_recv(wc);
}

static __attribute__((noinline)) void step_take_send(struct ibv_wc *wc)
{
	poll_one(send_cq, wc);
}

static __attribute__((noinline)) void run_steps(long rounds)
{
	struct job job;
	struct ibv_wc wc;

	prepare_job(&job);
	for (long n = 0; n < rounds; n++) {
		step_post_recv(&job.recv, (uint64_t)n);
		step_post_send(&job.send, (uint64_t)n);
		step_take_recv(&wc);
		step_take_send(&wc);
	}
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;

	if (argc > 2 && strcmp(argv[2], "number") == 0) {
		set_up_by_number();
		run_in_line(rounds);
		return 0;
	}
	set_up(argc > 2 ? argv[2] : STUB);
	if (argc > 2)
		printf("%.0f\n", bench_quickest(run_steps, rounds));
	else
		run_steps(rounds);
	return 0;
}
