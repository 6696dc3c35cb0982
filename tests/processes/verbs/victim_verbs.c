/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The victim of die.h as a program of libibverbs and librdmacm, in phases: a client of the server,
 * a member of groups, and a pair of QPs of its own, of which one receives from an SRQ.
 */
#include <string.h>

#include "exchange.h"
#include "tests/processes/die.h"

#define DEPTH    8
#define RECEIVES 6
#define LIMIT    5

/* Words of atomics to itself: where `before` goes, and the target. */
enum {
	BEFORE = 1,
	TARGET,
};

struct life {
	struct exchange x; /* with the server */
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *asks, *serves;
};

static struct exchange_memory memory;

/* ---- a pair of QPs of its own ---- */

static struct ibv_qp *make_end(struct life *life, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = { .send_cq = life->cq,
					 .recv_cq = life->cq,
					 .srq = srq,
					 .cap = { DEPTH, srq ? 0 : DEPTH, 2, srq ? 0 : 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = ibv_create_qp(life->x.pd, &init);

	exchange_need(qp, "ibv_create_qp");
	return qp;
}

static void connect_end(struct life *life, struct ibv_qp *qp, const struct ibv_qp *to)
{
	struct exchange_target target = { .number = to->qp_num, .lid = life->x.lid };

	exchange_need(exchange_connect_qp(qp, &target), "ibv_modify_qp");
}

static void make_pair(struct life *life)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = RECEIVES, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = LIMIT };
	struct ibv_recv_wr *bad;

	life->cq = ibv_create_cq(life->x.id->verbs, 4 * DEPTH, NULL, NULL, 0);
	exchange_need(life->cq, "ibv_create_cq");
	life->srq = ibv_create_srq(life->x.pd, &init);
	exchange_need(life->srq, "ibv_create_srq");
	for (uint64_t i = 0; i < RECEIVES; i++) {
		struct ibv_sge segment =
			exchange_segment(&life->x, &memory.message[i], sizeof(memory.message[i]));
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &segment, .num_sge = 1 };

		exchange_need(!ibv_post_srq_recv(life->srq, &wr, &bad), "ibv_post_srq_recv");
	}
	exchange_need(!ibv_modify_srq(life->srq, &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");
	life->asks = make_end(life, NULL);
	life->serves = make_end(life, life->srq);
	connect_end(life, life->asks, life->serves);
	connect_end(life, life->serves, life->asks);
}

static void end_pair(struct life *life)
{
	exchange_need(!ibv_destroy_qp(life->asks), "ibv_destroy_qp");
	exchange_need(!ibv_destroy_qp(life->serves), "ibv_destroy_qp");
	exchange_need(!ibv_destroy_srq(life->srq), "ibv_destroy_srq");
	exchange_need(!ibv_destroy_cq(life->cq), "ibv_destroy_cq");
}

/* ---- requests to itself ---- */

static void await(struct life *life, int completions)
{
	struct ibv_wc wc;
	int count;

	for (; completions > 0; completions -= count) {
		count = ibv_poll_cq(life->cq, 1, &wc);
		exchange_need(count >= 0, "ibv_poll_cq");
		exchange_need(count == 0 || wc.status == IBV_WC_SUCCESS, "a completion");
	}
}

static void post(struct life *life, struct ibv_send_wr wr, volatile void *at, size_t length)
{
	struct ibv_sge segment = exchange_segment(&life->x, at, length);

	wr.sg_list = &segment;
	wr.num_sge = 1;
	exchange_need(!exchange_post(life->asks, &wr), "ibv_post_send");
}

static void send_to_oneself(struct life *life)
{
	const struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	for (int i = 0; i < 2; i++)
		post(life, wr, &memory.answer[0], sizeof(memory.answer[0]));
	await(life, 4);
}

static void count_at_oneself(struct life *life)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
	uint64_t *count = memory.count;

	count[TARGET] = 40;
	wr.wr.atomic.remote_addr = (uintptr_t)&count[TARGET];
	wr.wr.atomic.rkey = life->x.mr->rkey;
	wr.wr.atomic.compare_add = 2;
	post(life, wr, &count[BEFORE], sizeof(count[BEFORE]));
	await(life, 1);
	exchange_need(count[BEFORE] == 40 && count[TARGET] == 42, "fetch and add");
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 42;
	wr.wr.atomic.swap = 7;
	post(life, wr, &count[BEFORE], sizeof(count[BEFORE]));
	await(life, 1);
	exchange_need(count[BEFORE] == 42 && count[TARGET] == 7, "compare and swap");
}

static void change_groups(struct life *life)
{
	union ibv_gid gid = exchange_gid((const uint8_t[14]){ "others" });

	exchange_need(!ibv_attach_mcast(life->x.ud, &gid, EXCHANGE_MLID), "ibv_attach_mcast");
	exchange_need(ibv_attach_mcast(life->asks, &gid, EXCHANGE_MLID) != 0,
		      "a QP of type RC joins");
	exchange_need(!ibv_detach_mcast(life->x.ud, &gid, EXCHANGE_MLID), "ibv_detach_mcast");
}

void victim_live(void (*phase)(const char *name))
{
	static struct life life;

	memset(&life, 0, sizeof(life));
	phase("an adapter, a PD, an MR, an SRQ, a QP for datagrams, a group, a window");
	exchange_open(&life.x, &memory);
	phase("an SRQ and QPs connected by number");
	make_pair(&life);
	phase("Sends to itself");
	send_to_oneself(&life);
	phase("atomics to itself");
	count_at_oneself(&life);
	phase("a group joined and left");
	change_groups(&life);
	phase("a connection to the server");
	exchange_connect(&life.x);
	phase("a question to it, a datagram to the group, atomics");
	exchange_ask(&life.x);
	phase("the same again");
	exchange_ask(&life.x);
	phase("the end of the connection");
	exchange_disconnect(&life.x);
	phase("the end of the pair");
	end_pair(&life);
	phase("the end of all objects");
	exchange_close(&life.x);
	phase("nothing more");
}
