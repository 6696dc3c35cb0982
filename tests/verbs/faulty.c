/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for faults.sh: both ends of RDMA connections in one process. It makes each call that a
 * fault can make fail, says which one failed and how, and makes it again; it says the status of
 * each completion that is no success, and each event that is no everyday one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_pair.h"

#define TRIES      2
#define PORT       7471
#define WC(status) [IBV_WC_##status] = "IBV_WC_" #status

static const char *const statuses[] = {
	WC(SUCCESS),
	WC(LOC_LEN_ERR),
	WC(LOC_QP_OP_ERR),
	WC(LOC_EEC_OP_ERR),
	WC(LOC_PROT_ERR),
	WC(WR_FLUSH_ERR),
	WC(MW_BIND_ERR),
	WC(BAD_RESP_ERR),
	WC(LOC_ACCESS_ERR),
	WC(REM_INV_REQ_ERR),
	WC(REM_ACCESS_ERR),
	WC(REM_OP_ERR),
	WC(RETRY_EXC_ERR),
	WC(RNR_RETRY_EXC_ERR),
	WC(LOC_RDD_VIOL_ERR),
	WC(REM_INV_RD_REQ_ERR),
	WC(REM_ABORT_ERR),
	WC(INV_EECN_ERR),
	WC(INV_EEC_STATE_ERR),
	WC(FATAL_ERR),
	WC(RESP_TIMEOUT_ERR),
	WC(GENERAL_ERR),
	WC(TM_ERR),
	WC(TM_RNDV_INCOMPLETE),
};

static struct verbs_end a, b;

static void failed(const char *call, int err)
{
	printf("%s: %s\n", call, strerrorname_np(err));
}

/* A call that returns 0, or an errno, or -1 and errno; a second failure ends the program. */
#define MAKE(name, call)                                     \
	do {                                                 \
		int tries = 0, err;                          \
		while ((err = (call)) != 0) {                \
			failed(name, err < 0 ? errno : err); \
			if (++tries == TRIES)                \
				exit(1);                     \
		}                                            \
	} while (0)
/* A call that returns a pointer, or NULL and errno. */
#define GET(name, pointer, call) MAKE(name, ((pointer) = (call)) ? 0 : -1)

/* ---- libibverbs ---- */

static void open_end(struct verbs_end *end, int device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	end->context = list && list[0] ? ibv_open_device(list[device]) : NULL;
	if (!end->context) {
		puts("no device");
		exit(1);
	}
	ibv_free_device_list(list);
	ibv_query_port(end->context, 1, &end->port);
	GET("ibv_alloc_pd", end->pd, ibv_alloc_pd(end->context));
	GET("ibv_reg_mr", end->mr,
	    ibv_reg_mr(end->pd, end->buffer, BUFFER,
		       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_ATOMIC));
	GET("ibv_create_cq", end->cq, ibv_create_cq(end->context, 16, NULL, NULL, 0));
}

static void make_qp(struct verbs_end *end)
{
	struct ibv_qp_init_attr init = { .send_cq = end->cq,
					 .recv_cq = end->cq,
					 .srq = end->srq,
					 .cap = { 4, 4, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };

	GET("ibv_create_qp", end->qp, ibv_create_qp(end->pd, &init));
}

static void close_end(struct verbs_end *end)
{
	ibv_destroy_qp(end->qp);
	if (end->srq)
		ibv_destroy_srq(end->srq);
	ibv_destroy_cq(end->cq);
	ibv_dereg_mr(end->mr);
	ibv_dealloc_pd(end->pd);
	ibv_close_device(end->context);
}

static void expect_completion(struct verbs_end *end)
{
	struct ibv_wc wc;

	if (!verbs_poll(end, &wc))
		puts("a completion is missing");
	else if (wc.status != IBV_WC_SUCCESS)
		puts(statuses[wc.status]);
}

static void make_objects(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr srq_attr = { .srq_limit = 1 };
	struct ibv_ah_attr ah_attr = { .dlid = 1, .port_num = 1 };
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	GET("ibv_alloc_pd", pd, ibv_alloc_pd(a.context));
	GET("ibv_reg_mr", mr, ibv_reg_mr(pd, a.buffer, 64, IBV_ACCESS_LOCAL_WRITE));
	MAKE("ibv_rereg_mr",
	     ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) ? -1 : 0);
	GET("ibv_alloc_mw", mw, ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	GET("ibv_create_comp_channel", channel, ibv_create_comp_channel(a.context));
	GET("ibv_create_cq", cq, ibv_create_cq(a.context, 4, NULL, channel, 0));
	MAKE("ibv_resize_cq", ibv_resize_cq(cq, 8));
	MAKE("ibv_req_notify_cq", ibv_req_notify_cq(cq, 0));
	GET("ibv_create_srq", srq, ibv_create_srq(pd, &srq_init));
	MAKE("ibv_modify_srq", ibv_modify_srq(srq, &srq_attr, IBV_SRQ_LIMIT));
	GET("ibv_create_ah", ah, ibv_create_ah(pd, &ah_attr));
	ibv_destroy_ah(ah);
	ibv_destroy_srq(srq);
	ibv_destroy_cq(cq);
	ibv_destroy_comp_channel(channel);
	ibv_dealloc_mw(mw);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
}

/* A QP of type UD in a multicast group. */
static void join_group(void)
{
	struct ibv_qp_init_attr init = { .send_cq = a.cq,
					 .recv_cq = a.cq,
					 .cap = { .max_send_wr = 1, .max_recv_wr = 1 },
					 .qp_type = IBV_QPT_UD };
	const union ibv_gid gid = { .raw = { 0xff, 1 } };
	struct ibv_qp *qp;

	GET("ibv_create_qp", qp, ibv_create_qp(a.pd, &init));
	MAKE("ibv_attach_mcast", ibv_attach_mcast(qp, &gid, 0xc001));
	ibv_detach_mcast(qp, &gid, 0xc001);
	ibv_destroy_qp(qp);
}

static void make_pair(void)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	make_qp(&a);
	make_qp(&b);
	for (int i = 0; i < 3; i++) {
		MAKE("ibv_modify_qp", verbs_modify(&a, &b, states[i]));
		MAKE("ibv_modify_qp", verbs_modify(&b, &a, states[i]));
	}
}

/* The device's own events. */
static void say_async(void)
{
	struct pollfd pfd = { .fd = a.context->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (poll(&pfd, 1, 0) == 1 && !ibv_get_async_event(a.context, &event)) {
		puts(ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
}

static int send_atomic(void)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 8, a.mr->lkey };
	struct ibv_send_wr wr = verbs_wr(&b, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge), *bad;

	wr.wr.atomic.remote_addr = (uintptr_t)b.buffer;
	wr.wr.atomic.rkey = b.mr->rkey;
	return ibv_post_send(a.qp, &wr, &bad);
}

static void use_pair(void)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;

	GET("ibv_alloc_mw", mw, ibv_alloc_mw(a.pd, IBV_MW_TYPE_1));
	MAKE("ibv_post_recv", verbs_recv(&b, 1, 0, 64));
	MAKE("ibv_post_send", verbs_send(&a, &b, IBV_WR_SEND, 64, 0));
	expect_completion(&a);
	expect_completion(&b);
	MAKE("ibv_post_send", verbs_send(&a, &b, IBV_WR_RDMA_WRITE, 64, 0));
	expect_completion(&a);
	MAKE("ibv_post_send", verbs_send(&a, &b, IBV_WR_RDMA_READ, 64, 0));
	expect_completion(&a);
	MAKE("ibv_post_send", send_atomic());
	expect_completion(&a);
	bind.bind_info = (struct ibv_mw_bind_info){ .mr = NULL };
	MAKE("ibv_bind_mw", ibv_bind_mw(a.qp, mw, &bind));
	expect_completion(&a);
	ibv_dealloc_mw(mw);
}

/* A Send that takes a shared receive queue below its limit. */
static void use_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 1 };

	b.srq = ibv_create_srq(b.pd, &init);
	if (!b.srq)
		exit(1);
	make_pair();
	MAKE("ibv_post_srq_recv", verbs_recv(&b, 2, 0, 64));
	ibv_modify_srq(b.srq, &limit, IBV_SRQ_LIMIT);
	MAKE("ibv_post_send", verbs_send(&a, &b, IBV_WR_SEND, 64, 0));
	expect_completion(&a);
	expect_completion(&b);
}

static void use_verbs(void)
{
	make_objects();
	join_group();
	make_pair();
	use_pair();
	say_async();
	ibv_destroy_qp(a.qp);
	ibv_destroy_qp(b.qp);
	use_srq();
	say_async();
}

/* ---- librdmacm ---- */

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;

static struct rdma_cm_id *await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(channel, &event)) {
		printf("no %s\n", rdma_event_str(type));
		exit(1);
	}
	if (event->event != type)
		puts(rdma_event_str(event->event));
	id = event->id;
	rdma_ack_cm_event(event);
	return id;
}

static void make_cm_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };

	MAKE("rdma_create_qp", rdma_create_qp(id, NULL, &init));
}

static struct sockaddr_in address(const char *ip)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, ip, &in.sin_addr);
	return in;
}

static struct rdma_cm_id *ask(const char *ip)
{
	struct rdma_conn_param param = { .retry_count = 1 };
	struct sockaddr_in in = address(ip);
	struct rdma_cm_id *id;

	rdma_create_id(channel, &id, NULL, RDMA_PS_TCP);
	MAKE("rdma_resolve_addr", rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 1000));
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	MAKE("rdma_resolve_route", rdma_resolve_route(id, 1000));
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	make_cm_qp(id);
	MAKE("rdma_connect", rdma_connect(id, &param));
	return id;
}

static void forget_id(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

static void connect_and_part(void)
{
	struct rdma_conn_param param = { .retry_count = 1 };
	struct rdma_cm_id *client = ask("198.18.0.2"), *server;

	server = await(RDMA_CM_EVENT_CONNECT_REQUEST);
	make_cm_qp(server);
	MAKE("rdma_accept", rdma_accept(server, &param));
	await(RDMA_CM_EVENT_ESTABLISHED);
	await(RDMA_CM_EVENT_ESTABLISHED);
	MAKE("rdma_disconnect", rdma_disconnect(client));
	await(RDMA_CM_EVENT_DISCONNECTED);
	await(RDMA_CM_EVENT_DISCONNECTED);
	forget_id(client);
	forget_id(server);
}

static void be_rejected(void)
{
	struct rdma_cm_id *client = ask("198.18.0.2"), *server;

	server = await(RDMA_CM_EVENT_CONNECT_REQUEST);
	MAKE("rdma_reject", rdma_reject(server, NULL, 0));
	await(RDMA_CM_EVENT_REJECTED);
	forget_id(client);
	forget_id(server);
}

static void reach_nobody(void)
{
	struct rdma_cm_id *client = ask("198.18.0.99");

	await(RDMA_CM_EVENT_UNREACHABLE);
	forget_id(client);
}

static void use_cm(void)
{
	struct sockaddr_in in = address("198.18.0.2");

	channel = rdma_create_event_channel();
	rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP);
	MAKE("rdma_bind_addr", rdma_bind_addr(listener, (struct sockaddr *)&in));
	MAKE("rdma_listen", rdma_listen(listener, 2));
	connect_and_part();
	be_rejected();
	reach_nobody();
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
}

/* Destroy a QP while its requests wait for a Receive; close nothing. */
static int leave(void)
{
	open_end(&a, 0);
	open_end(&b, 1);
	make_pair();
	for (int i = 0; i < 2; i++)
		MAKE("ibv_post_send", verbs_send(&a, &b, IBV_WR_SEND, 64, 0));
	return ibv_destroy_qp(a.qp);
}

/*
 * With "verbs", without librdmacm: several of these on one fabric have other addresses. With
 * "leave" it leaves things.
 */
int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "leave") == 0)
		return leave();
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_end(&a, 0);
	open_end(&b, 1);
	use_verbs();
	if (argc == 1)
		use_cm();
	close_end(&a);
	close_end(&b);
	puts("done");
	return 0;
}
