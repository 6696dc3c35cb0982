/* SPDX-License-Identifier: BSD-3-Clause */
/* A client of the server of exchange_serve.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exchange.h"

#define GROUP_NUMBER 0xffffffu
#define GROUP_LID    0xc001
#define WAIT_MS      20
#define PAUSE_NS     10000000

/* Messages and letters of a client. */
enum {
	QUESTION,
	ANSWER,
	FETCHED,
	NOTE,
};

/* Completions that are awaited, as bits. */
enum {
	BOUND = 1,
	SENT = 2,
	NOTED = 4,
	LETTER_SENT = 8,
	OWN_COPY = 16,
	REPLY = 32,
	READ = 64,
	ADDED = 128,
	SWAPPED = 256,
};

int exchange_patience_ms = INT_MAX;
int exchange_tries = INT_MAX;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static bool is_patient(uint64_t begun)
{
	return now_ms() - begun < (uint64_t)exchange_patience_ms;
}

/* ---- the connection ---- */

/* In lockstep, a call has to pass the turn on. */
static void pass_turn(struct exchange *x)
{
	struct ibv_wc wc;

	if (x->turns && ibv_poll_cq(x->cq, 1, &wc) != 0)
		exchange_fail("a completion that is not expected");
	exchange_wait(x, WAIT_MS);
}

/* The next event has this type, or rejects the connection: false. */
static bool await_event(struct exchange *x, enum rdma_cm_event_type type)
{
	uint64_t begun = now_ms();
	struct rdma_cm_event *event;
	bool good, refused;

	while (rdma_get_cm_event(x->channel, &event)) {
		exchange_need(errno == EAGAIN && is_patient(begun), "rdma_get_cm_event");
		pass_turn(x);
	}
	good = event->event == type;
	refused = type == RDMA_CM_EVENT_ESTABLISHED && event->event == RDMA_CM_EVENT_REJECTED;
	if (good && type == RDMA_CM_EVENT_ESTABLISHED) {
		good = event->param.conn.private_data_len >= sizeof(x->peer);
		if (good)
			memcpy(&x->peer, event->param.conn.private_data, sizeof(x->peer));
	}
	rdma_ack_cm_event(event);
	exchange_need(good || refused, "the event of a connection");
	return good;
}

static struct ibv_ah *group_handle(const struct exchange *x, union ibv_gid gid)
{
	struct ibv_ah_attr attr = { .dlid = GROUP_LID,
				    .port_num = 1,
				    .is_global = 1,
				    .grh = { .dgid = gid } };

	return ibv_create_ah(x->pd, &attr);
}

static void resolve(struct exchange *x)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(EXCHANGE_PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	exchange_need(!rdma_resolve_addr(x->id, NULL, (struct sockaddr *)&to, 1000),
		      "rdma_resolve_addr");
	await_event(x, RDMA_CM_EVENT_ADDR_RESOLVED);
	exchange_need(!rdma_resolve_route(x->id, 1000), "rdma_resolve_route");
	await_event(x, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* The group is this process's own. */
static struct exchange_target target_of(const struct exchange *x)
{
	struct exchange_target target = { .answer = (uintptr_t)&x->memory->message[ANSWER],
					  .lid = x->lid };
	pid_t pid = getpid();

	memcpy(target.group, &pid, sizeof(pid));
	return target;
}

void exchange_open(struct exchange *x, struct exchange_memory *memory)
{
	struct exchange_target mine;
	union ibv_gid gid;

	exchange_begin(x, memory, 0);
	mine = target_of(x);
	gid = exchange_gid(mine.group);
	exchange_need(!ibv_attach_mcast(x->ud, &gid, EXCHANGE_MLID), "ibv_attach_mcast");
	x->group = group_handle(x, gid);
	exchange_need(x->group, "ibv_create_ah");
	x->window = ibv_alloc_mw(x->pd, IBV_MW_TYPE_2);
	exchange_need(x->window, "ibv_alloc_mw");
	x->key = x->window->rkey;
}

static bool connect_once(struct exchange *x)
{
	struct ibv_qp_init_attr init = { .send_cq = x->cq,
					 .recv_cq = x->cq,
					 .cap = { 16, 16, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };
	struct exchange_target mine = target_of(x);
	struct rdma_conn_param param;

	resolve(x);
	exchange_need(!rdma_create_qp(x->id, x->pd, &init), "rdma_create_qp");
	x->qp = exchange_make_qp(x, IBV_QPT_RC);
	exchange_need(x->qp, "ibv_create_qp");
	mine.number = x->qp->qp_num;
	param = exchange_param(&mine);
	exchange_need(!rdma_connect(x->id, &param), "rdma_connect");
	return await_event(x, RDMA_CM_EVENT_ESTABLISHED);
}

/* The server may not listen yet. */
void exchange_connect(struct exchange *x)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	for (int i = 0; !connect_once(x); i++) {
		exchange_need(i < exchange_tries, "no connection");
		nanosleep(&pause, NULL);
		rdma_destroy_qp(x->id);
		ibv_destroy_qp(x->qp);
		x->qp = NULL;
		rdma_destroy_id(x->id);
		x->id = NULL;
		exchange_need(!rdma_create_id(x->channel, &x->id, NULL, RDMA_PS_TCP),
			      "rdma_create_id");
	}
	exchange_need(exchange_connect_qp(x->qp, &x->peer), "ibv_modify_qp");
}

void exchange_disconnect(struct exchange *x)
{
	struct ibv_wc wc;

	exchange_need(!rdma_disconnect(x->id), "rdma_disconnect");
	while (ibv_poll_cq(x->cq, 1, &wc) > 0)
		;
	await_event(x, RDMA_CM_EVENT_DISCONNECTED);
}

void exchange_close(struct exchange *x)
{
	struct exchange_target mine = target_of(x);
	union ibv_gid gid = exchange_gid(mine.group);

	exchange_need(!ibv_detach_mcast(x->ud, &gid, EXCHANGE_MLID), "ibv_detach_mcast");
	exchange_free(x);
}

/* ---- completions ---- */

static uint32_t kind_of(const struct exchange *x, const struct ibv_wc *wc)
{
	if (wc->opcode & IBV_WC_RECV)
		return wc->qp_num != x->ud->qp_num ? NOTED
		       : wc->src_qp == wc->qp_num  ? OWN_COPY
						   : REPLY;
	if (wc->qp_num == x->ud->qp_num)
		return LETTER_SENT;
	switch (wc->wr_id & ~EXCHANGE_SENT) {
	case IBV_WR_BIND_MW:
		return BOUND;
	case IBV_WR_SEND_WITH_IMM:
		return SENT;
	case IBV_WR_RDMA_READ:
		return READ;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return ADDED;
	default:
		return SWAPPED;
	}
}

static void check_answer(const struct exchange *x, const struct pair_message *answer)
{
	struct pair_message expected;

	pair_answer(&x->memory->message[QUESTION], &expected);
	exchange_need(!memcmp((const void *)answer, (const void *)&expected, sizeof(expected)),
		      "the answer");
}

static void check_completion(const struct exchange *x, const struct ibv_wc *wc, uint32_t kind)
{
	const struct exchange_memory *memory = x->memory;
	const struct pair_message *letter = &memory->letter[wc->wr_id % EXCHANGE_MESSAGES].message;

	exchange_need(wc->status == IBV_WC_SUCCESS, ibv_wc_status_str(wc->status));
	switch (kind) {
	case NOTED:
		exchange_need((wc->wc_flags & IBV_WC_WITH_INV) != 0, "the window is left");
		check_answer(x, &memory->message[ANSWER]);
		break;
	case OWN_COPY:
		exchange_need(!memcmp((const void *)letter,
				      (const void *)&memory->message[QUESTION], sizeof(*letter)),
			      "the copy of a letter to the group");
		break;
	case REPLY:
		check_answer(x, letter);
		break;
	default:
		break;
	}
}

/* Completions of a set of bits, in any order. */
static void await_completions(struct exchange *x, uint32_t kinds)
{
	uint64_t begun = now_ms();
	struct ibv_wc wc;
	uint32_t kind;
	int count;

	while (kinds) {
		count = ibv_poll_cq(x->cq, 1, &wc);
		if (count == 0 && !x->turns) {
			exchange_need(!ibv_req_notify_cq(x->cq, 0), "ibv_req_notify_cq");
			count = ibv_poll_cq(x->cq, 1, &wc);
		}
		if (count == 0) {
			exchange_need(is_patient(begun), "a completion");
			exchange_wait(x, WAIT_MS);
			continue;
		}
		exchange_need(count == 1, "ibv_poll_cq");
		kind = kind_of(x, &wc);
		check_completion(x, &wc, kind);
		exchange_need((kinds & kind) != 0, "a completion that is not expected");
		kinds &= ~kind;
	}
}

/* ---- one round ---- */

static void post(struct ibv_qp *qp, struct ibv_send_wr wr)
{
	exchange_need(!exchange_post(qp, &wr), "ibv_post_send");
}

static void bind_window(struct exchange *x)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	wr.bind_mw.mw = x->window;
	x->key = ibv_inc_rkey(x->key);
	wr.bind_mw.rkey = x->key;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = x->mr,
		.addr = (uintptr_t)&x->memory->message[ANSWER],
		.length = sizeof(struct pair_message),
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	post(x->id->qp, wr);
}

/* The server learns the window's key by the immediate data. */
static void send_question(struct exchange *x)
{
	struct pair_message *message = x->memory->message;
	struct ibv_sge segment = exchange_segment(x, &message[QUESTION], sizeof(*message));
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM,
				  .sg_list = &segment,
				  .num_sge = 1 };

	exchange_need(!exchange_receive(x->id->qp, NOTE,
					exchange_segment(x, &message[NOTE], sizeof(*message))),
		      "ibv_post_recv");
	bind_window(x);
	wr.imm_data = x->key;
	post(x->id->qp, wr);
	await_completions(x, BOUND | SENT | NOTED);
}

static void send_letter(struct exchange *x)
{
	struct pair_message *question = &x->memory->message[QUESTION];
	struct ibv_sge segment = exchange_segment(x, question, sizeof(*question));
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &segment, .num_sge = 1 };
	struct exchange_letter *letter = x->memory->letter;

	for (uint64_t i = 0; i < 2; i++)
		exchange_need(!exchange_receive(x->ud, i,
						exchange_segment(x, &letter[i], sizeof(*letter))),
			      "ibv_post_recv");
	wr.wr.ud.ah = x->group;
	wr.wr.ud.remote_qpn = GROUP_NUMBER;
	wr.wr.ud.remote_qkey = EXCHANGE_QKEY;
	post(x->ud, wr);
	await_completions(x, LETTER_SENT | OWN_COPY | REPLY);
}

static void fetch_answer(struct exchange *x)
{
	struct pair_message *fetched = &x->memory->message[FETCHED];
	struct ibv_sge segment = exchange_segment(x, fetched, sizeof(*fetched));
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = &segment, .num_sge = 1 };

	wr.wr.rdma.remote_addr = x->peer.answer;
	wr.wr.rdma.rkey = x->peer.key;
	post(x->qp, wr);
}

static void post_atomic(struct exchange *x, enum ibv_wr_opcode opcode, uint64_t to,
			uint64_t *before)
{
	struct ibv_sge segment = exchange_segment(x, before, sizeof(*before));
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &segment, .num_sge = 1 };

	wr.wr.atomic.remote_addr = to;
	wr.wr.atomic.rkey = x->peer.key;
	wr.wr.atomic.compare_add = opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? x->round - 1 : 1;
	wr.wr.atomic.swap = x->round;
	post(x->qp, wr);
}

void exchange_ask(struct exchange *x)
{
	struct exchange_memory *memory = x->memory;

	x->round++;
	pair_ask(&memory->message[QUESTION], x->round, (DAT_UINT64)getpid());
	send_question(x);
	send_letter(x);
	fetch_answer(x);
	post_atomic(x, IBV_WR_ATOMIC_FETCH_AND_ADD, x->peer.count, &memory->count[0]);
	post_atomic(x, IBV_WR_ATOMIC_CMP_AND_SWP, x->peer.swap, &memory->swap[0]);
	await_completions(x, READ | ADDED | SWAPPED);
	check_answer(x, &memory->message[FETCHED]);
	exchange_need(memory->count[0] == x->round - 1, "the sum before fetch and add");
	exchange_need(memory->swap[0] == x->round - 1, "the word before compare and swap");
}
