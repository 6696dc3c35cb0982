/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_verbs.c - the job of bench_message over bare verbs, with one message outstanding.
 *
 *	bench_verbs ROUNDS ADDRESS	on the device at that address; prints the ns of a message
 *	bench_verbs ROUNDS number	on the first device, a pair connected by number, for
 *					instructions.sh
 *	bench_verbs ROUNDS KIND		the same with Sends of another kind: a name of `kinds`
 *	bench_verbs ROUNDS		on the device of tests/stubverbs; instructions-hw.sh counts
 *					the instructions of each step
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "bench.h"

#define BYTES      BENCH_BYTES
#define LIST       8 /* requests of a list */
#define PORT       4711
#define RESOLVE_MS 60000
#define STUB       "192.0.2.1"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *from_id, *to_id;
static struct ibv_qp *from, *to;
static struct ibv_cq *send_cq, *recv_cq;
static struct ibv_mr *mr;
static unsigned char memory[2 * BYTES];

/* How a Send is posted: the first as in the job, the others as well but for what is said. */
static const struct kind {
	const char *name;
	unsigned int flags; /* beside IBV_SEND_SIGNALED, or IBV_SEND_SIGNALED for none */
	int segments, list;
	int batch; /* by ibv_wr_start and ibv_wr_complete */
} kinds[] = {
	{ "number", 0, 1, 1, 0 },
	{ "ordinary", 0, 1, 1, 0 },
	{ "unsignaled", IBV_SEND_SIGNALED, 1, 1, 0 },
	{ "inline", IBV_SEND_INLINE, 1, 1, 0 },
	{ "solicited", IBV_SEND_SOLICITED, 1, 1, 0 },
	{ "segments", 0, 2, 1, 0 },
	{ "list", 0, 1, LIST, 0 },
	{ "batch", 0, 1, 1, 1 },
	{ "inline-batch", IBV_SEND_INLINE, 1, 1, 1 },
};

static void must_be(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_verbs: %s failed\n", what);
	exit(1);
}

static struct ibv_qp_init_attr qp_init(void)
{
	return (struct ibv_qp_init_attr){
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
}

static struct ibv_qp *make_qp_of_kind(struct ibv_context *context, const struct kind *kind)
{
	struct ibv_qp_init_attr init = qp_init();
	struct ibv_qp_init_attr_ex ex = { .send_cq = send_cq,
					  .recv_cq = recv_cq,
					  .cap = init.cap,
					  .qp_type = IBV_QPT_RC,
					  .comp_mask = IBV_QP_INIT_ATTR_PD,
					  .pd = mr->pd };

	ex.cap.max_send_sge = (uint32_t)kind->segments;
	if (kind->flags & IBV_SEND_INLINE)
		ex.cap.max_inline_data = BYTES;
	if (kind->batch) {
		ex.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		ex.send_ops_flags = IBV_QP_EX_WITH_SEND;
	}
	return ibv_create_qp_ex(context, &ex);
}

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

static void make_objects(struct ibv_context *context)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);

	must_be(pd != NULL, "ibv_alloc_pd");
	send_cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	recv_cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	must_be(send_cq && recv_cq && mr, "set-up");
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

/* ---- connected by number ---- */

static void move_qp(struct ibv_qp *qp, uint32_t to_number, uint16_t lid)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	must_be(ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS) == 0,
		"INIT");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = to_number,
				     .max_dest_rd_atomic = 1,
				     .min_rnr_timer = 12,
				     .ah_attr = { .dlid = lid, .port_num = 1 } };
	must_be(ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				      IBV_QP_MIN_RNR_TIMER) == 0,
		"RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	must_be(ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
		"RTS");
}

static void set_up_by_number(const struct kind *kind)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_port_attr port;

	must_be(context && ibv_query_port(context, 1, &port) == 0, "the first device");
	make_objects(context);
	from = make_qp_of_kind(context, kind);
	to = make_qp_of_kind(context, kind);
	must_be(from && to, "ibv_create_qp_ex");
	move_qp(from, to->qp_num, port.lid);
	move_qp(to, from->qp_num, port.lid);
	ibv_free_device_list(list);
}

static inline void poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n;

	while ((n = ibv_poll_cq(cq, 1, wc)) == 0)
		sched_yield();
	must_be(n == 1 && wc->status == IBV_WC_SUCCESS, "a completion");
}

/* ---- the job ---- */

struct job {
	struct ibv_sge source, target;
	struct ibv_recv_wr recv;
	struct ibv_send_wr send;
};

static void prepare_job(struct job *job)
{
	*job = (struct job){
		.source = { .addr = (uintptr_t)memory, .length = BYTES, .lkey = mr->lkey },
		.target = { .addr = (uintptr_t)memory + BYTES, .length = BYTES, .lkey = mr->lkey },
		.recv = { .sg_list = &job->target, .num_sge = 1 },
		.send = { .sg_list = &job->source,
			  .num_sge = 1,
			  .opcode = IBV_WR_SEND,
			  .send_flags = IBV_SEND_SIGNALED },
	};
}

static inline void post_recv(struct ibv_recv_wr *wr, uint64_t number)
{
	struct ibv_recv_wr *bad;

	wr->wr_id = number;
	must_be(ibv_post_recv(to, wr, &bad) == 0, "ibv_post_recv");
}

static inline void post_send(struct ibv_send_wr *wr, uint64_t number)
{
	struct ibv_send_wr *bad;

	wr->wr_id = number;
	must_be(ibv_post_send(from, wr, &bad) == 0, "ibv_post_send");
}

static inline void take_recv(struct ibv_wc *wc)
{
	poll_one(recv_cq, wc);
	must_be(wc->byte_len == BYTES, "a Receive");
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

/* ---- Sends of another kind ---- */

static void post_batch(unsigned int flags)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(from);

	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	if (flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(ex, memory, BYTES);
	else
		ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)memory, BYTES);
	must_be(ibv_wr_complete(ex) == 0, "ibv_wr_complete");
}

static void post_list(const struct kind *kind)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)memory, BYTES / (uint32_t)kind->segments, mr->lkey },
		{ (uintptr_t)memory + BYTES / 2, BYTES / 2, mr->lkey },
	};
	struct ibv_send_wr wr[LIST], *bad;

	for (int i = 0; i < kind->list; i++)
		wr[i] = (struct ibv_send_wr){ .wr_id = 1,
					      .next = i + 1 < kind->list ? &wr[i + 1] : NULL,
					      .sg_list = sge,
					      .num_sge = kind->segments,
					      .opcode = IBV_WR_SEND,
					      .send_flags = kind->flags ^ IBV_SEND_SIGNALED };
	must_be(ibv_post_send(from, wr, &bad) == 0, "ibv_post_send");
}

static __attribute__((noinline)) void run_kind(const struct kind *kind, long rounds)
{
	int signaled = !(kind->flags & IBV_SEND_SIGNALED);
	struct job job;
	struct ibv_wc wc;

	prepare_job(&job);
	for (long n = 0; n < rounds; n++) {
		for (int i = 0; i < kind->list; i++)
			post_recv(&job.recv, 1);
		if (kind->batch)
			post_batch(kind->flags);
		else
			post_list(kind);
		for (int i = 0; i < kind->list; i++)
			take_recv(&wc);
		for (int i = 0; signaled && i < kind->list; i++)
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

	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[2], kinds[i].name) != 0)
			continue;
		set_up_by_number(&kinds[i]);
		if (i == 0)
			run_in_line(rounds);
		else
			run_kind(&kinds[i], rounds);
		return 0;
	}
	set_up(argc > 2 ? argv[2] : STUB);
	if (argc > 2)
		printf("%.0f\n", bench_quickest(run_steps, rounds));
	else
		run_steps(rounds);
	return 0;
}
