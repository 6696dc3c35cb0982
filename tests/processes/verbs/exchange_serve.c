/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server of exchange.h. What fails of a client ends that client; what fails of the server's own
 * objects ends the server.
 */
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

#define WAIT_MS 20

/* wr_id of Receives of letters, and of the answers that are sent from there. */
#define LETTERS 1000u

struct client {
	struct rdma_cm_id *id; /* NULL: the place is free */
	struct ibv_qp *qp;     /* connected by number */
	union ibv_gid group;
	bool in_group;
	struct exchange_target target;
};

static struct exchange server;
static struct client clients[EXCHANGE_CLIENTS];

/* ---- Receives ---- */

static void receive_question(uint64_t i)
{
	struct pair_message *message = &server.memory->message[i];
	struct ibv_sge segment = exchange_segment(&server, message, sizeof(*message));
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &segment, .num_sge = 1 }, *bad;

	exchange_need(!ibv_post_srq_recv(server.srq, &wr, &bad), "ibv_post_srq_recv");
}

static void receive_letter(uint64_t i)
{
	struct exchange_letter *letter = &server.memory->letter[i];

	exchange_need(!exchange_receive(server.ud, LETTERS + i,
					exchange_segment(&server, letter, sizeof(*letter))),
		      "ibv_post_recv");
}

/* ---- clients ---- */

static struct client *free_place(void)
{
	for (int i = 0; i < EXCHANGE_CLIENTS; i++)
		if (!clients[i].id)
			return &clients[i];
	return NULL;
}

static struct client *client_of(uint32_t qp_num)
{
	for (int i = 0; i < EXCHANGE_CLIENTS; i++)
		if (clients[i].id && clients[i].id->qp && clients[i].id->qp->qp_num == qp_num)
			return &clients[i];
	return NULL;
}

static struct exchange_target target_for(const struct client *client)
{
	size_t i = (size_t)(client - clients);

	return (struct exchange_target){ .answer = (uintptr_t)&server.memory->answer[i],
					 .count = (uintptr_t)&server.memory->count[i],
					 .swap = (uintptr_t)&server.memory->swap[i],
					 .key = server.mr->rkey,
					 .number = client->qp->qp_num,
					 .lid = server.lid };
}

static bool prepare(struct client *client)
{
	struct ibv_qp_init_attr init = { .send_cq = server.cq,
					 .recv_cq = server.cq,
					 .srq = server.srq,
					 .cap = { 16, 0, 1, 0, 0 },
					 .qp_type = IBV_QPT_RC };
	size_t i = (size_t)(client - clients);

	server.memory->count[i] = server.memory->swap[i] = 0;
	if (rdma_create_qp(client->id, server.pd, &init))
		return false;
	client->qp = exchange_make_qp(&server, IBV_QPT_RC);
	if (!client->qp || !exchange_connect_qp(client->qp, &client->target))
		return false;
	client->group = exchange_gid(client->target.group);
	client->in_group = ibv_attach_mcast(server.ud, &client->group, EXCHANGE_MLID) == 0;
	return client->in_group;
}

static void handle_completions(void);

/* What the QP has received goes to the SRQ again. */
static void end_client(struct client *client)
{
	handle_completions();
	if (client->in_group)
		ibv_detach_mcast(server.ud, &client->group, EXCHANGE_MLID);
	if (client->qp)
		ibv_destroy_qp(client->qp);
	if (client->id->qp)
		rdma_destroy_qp(client->id);
	rdma_destroy_id(client->id);
	*client = (struct client){ 0 };
}

/* False: the id is to be destroyed, once the event is acknowledged. */
static bool welcome(struct rdma_cm_event *event)
{
	struct client *client = free_place();
	struct exchange_target mine;
	struct rdma_conn_param param;

	if (!client || event->param.conn.private_data_len < sizeof(client->target)) {
		rdma_reject(event->id, NULL, 0);
		return false;
	}
	client->id = event->id;
	memcpy(&client->target, event->param.conn.private_data, sizeof(client->target));
	if (!prepare(client)) {
		rdma_reject(event->id, NULL, 0);
		return true;
	}
	mine = target_for(client);
	param = exchange_param(&mine);
	rdma_accept(client->id, &param);
	return true;
}

static void handle_event(void)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id, *gone = NULL;
	enum rdma_cm_event_type type;

	if (rdma_get_cm_event(server.channel, &event))
		return;
	id = event->id;
	type = event->event;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST && !welcome(event))
		gone = id;
	rdma_ack_cm_event(event);
	if (gone)
		rdma_destroy_id(gone);
	for (int i = 0; i < EXCHANGE_CLIENTS; i++)
		if (clients[i].id == id && type != RDMA_CM_EVENT_CONNECT_REQUEST &&
		    type != RDMA_CM_EVENT_ESTABLISHED)
			end_client(&clients[i]);
}

/* ---- answers ---- */

static void answer_question(struct client *client, const struct pair_message *question,
			    uint32_t window)
{
	struct pair_message *answer = &server.memory->answer[client - clients];
	struct ibv_sge segment = exchange_segment(&server, answer, sizeof(*answer));
	struct ibv_send_wr write = { .opcode = IBV_WR_RDMA_WRITE,
				     .sg_list = &segment,
				     .num_sge = 1 };
	struct ibv_send_wr note = { .opcode = IBV_WR_SEND_WITH_INV,
				    .sg_list = &segment,
				    .num_sge = 1,
				    .invalidate_rkey = window };

	pair_answer(question, answer);
	write.wr.rdma.remote_addr = client->target.answer;
	write.wr.rdma.rkey = window;
	if (exchange_post(client->id->qp, &write) == 0)
		exchange_post(client->id->qp, &note);
}

static void answer_letter(const struct ibv_wc *wc, struct exchange_letter *letter)
{
	struct ibv_ah_attr attr = { .dlid = wc->slid, .port_num = 1 };
	struct ibv_sge segment =
		exchange_segment(&server, &letter->message, sizeof(letter->message));
	struct ibv_send_wr wr = { .wr_id = EXCHANGE_SENT | wc->wr_id,
				  .opcode = IBV_WR_SEND,
				  .sg_list = &segment,
				  .num_sge = 1 };
	struct pair_message question = letter->message;

	pair_answer(&question, &letter->message);
	wr.wr.ud.ah = ibv_create_ah(server.pd, &attr);
	wr.wr.ud.remote_qpn = wc->src_qp;
	wr.wr.ud.remote_qkey = EXCHANGE_QKEY;
	exchange_need(wr.wr.ud.ah, "ibv_create_ah");
	exchange_need(!exchange_post(server.ud, &wr), "ibv_post_send");
	ibv_destroy_ah(wr.wr.ud.ah);
}

static void handle_receive(const struct ibv_wc *wc)
{
	struct client *client = client_of(wc->qp_num);
	uint64_t i = wc->wr_id;

	if (i >= LETTERS) {
		i -= LETTERS;
		exchange_need(i < EXCHANGE_MESSAGES && wc->status == IBV_WC_SUCCESS, "a letter");
		answer_letter(wc, &server.memory->letter[i]);
		return;
	}
	exchange_need(i < EXCHANGE_MESSAGES, "a Receive that was not posted");
	if (client && wc->status == IBV_WC_SUCCESS)
		answer_question(client, &server.memory->message[i], wc->imm_data);
	receive_question(i);
}

/* The memory of a letter is free again once its answer has been sent. */
static void handle_sent(const struct ibv_wc *wc)
{
	uint64_t i = (wc->wr_id & ~EXCHANGE_SENT) - LETTERS;

	if (i < EXCHANGE_MESSAGES)
		receive_letter(i);
}

static void handle_completions(void)
{
	struct ibv_wc wc;
	int count;

	while ((count = ibv_poll_cq(server.cq, 1, &wc)) == 1)
		if (wc.wr_id & EXCHANGE_SENT)
			handle_sent(&wc);
		else
			handle_receive(&wc);
	exchange_need(count == 0, "ibv_poll_cq");
}

void exchange_serve(struct exchange_memory *memory, bool (*check)(void))
{
	exchange_begin(&server, memory, EXCHANGE_PORT);
	for (uint64_t i = 0; i < EXCHANGE_MESSAGES; i++) {
		receive_question(i);
		receive_letter(i);
	}
	exchange_need(!rdma_listen(server.id, EXCHANGE_CLIENTS), "rdma_listen");
	while (check()) {
		handle_completions();
		handle_event();
		if (server.turns)
			continue;
		exchange_need(!ibv_req_notify_cq(server.cq, 0), "ibv_req_notify_cq");
		handle_completions();
		exchange_wait(&server, WAIT_MS);
	}
}
