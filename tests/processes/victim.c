/* SPDX-License-Identifier: BSD-3-Clause */
/* The victim, in phases: connections to itself (both sides) and one to the server. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "die.h"

#define QUALIFIER 7801
#define RECEIVES  6
#define LOW       4

static char hello[] = "hello";

struct life {
	void (*phase)(const char *name);
	struct pair_node node;
	DAT_EVD_HANDLE requests, active_end, passive_end, dto, bound;
	DAT_CNO_HANDLE cno;
	DAT_PSP_HANDLE psp;
	DAT_SRQ_HANDLE srq;
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE active, passive, spare;
	struct peer peer;
};

static void make_evd(struct life *life, DAT_EVD_FLAGS flags, DAT_CNO_HANDLE cno,
		     DAT_EVD_HANDLE *evd)
{
	pair_check(dat_evd_create(life->node.ia, PAIR_QUEUE_LENGTH, cno, flags, evd),
		   "dat_evd_create");
}

static void make_queues(struct life *life)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECEIVES, .max_recv_iov = 2 };
	DAT_LMR_TRIPLET segment;

	life->phase("EVDs, a CNO, an RMR, a PSP");
	pair_check(dat_cno_create(life->node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &life->cno),
		   "dat_cno_create");
	make_evd(life, DAT_EVD_CR_FLAG, life->cno, &life->requests);
	make_evd(life, DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL, &life->active_end);
	make_evd(life, DAT_EVD_CONNECTION_FLAG, DAT_HANDLE_NULL, &life->passive_end);
	make_evd(life, DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL, &life->dto);
	make_evd(life, DAT_EVD_RMR_BIND_FLAG | DAT_EVD_DTO_FLAG, DAT_HANDLE_NULL, &life->bound);
	pair_check(dat_evd_resize(life->dto, PAIR_QUEUE_LENGTH * 3), "dat_evd_resize");
	pair_check(dat_rmr_create(life->node.pz, &life->rmr), "dat_rmr_create");
	pair_check(dat_psp_create(life->node.ia, QUALIFIER, life->requests, DAT_PSP_CONSUMER_FLAG,
				  &life->psp),
		   "dat_psp_create");
	life->phase("an SRQ");
	pair_check(dat_srq_create(life->node.ia, life->node.pz, &attr, &life->srq),
		   "dat_srq_create");
	for (int i = 0; i < RECEIVES; i++) {
		segment = pair_segment(&life->node, i);
		pair_check(dat_srq_post_recv(life->srq, 1, &segment,
					     (DAT_DTO_COOKIE){ .as_64 = (DAT_UINT64)i }),
			   "dat_srq_post_recv");
	}
	pair_check(dat_srq_resize(life->srq, RECEIVES * 4), "dat_srq_resize");
	pair_check(dat_srq_set_lw(life->srq, LOW), "dat_srq_set_lw");
}

static void make_eps(struct life *life)
{
	DAT_EP_ATTR attr;
	DAT_EP_PARAM param;

	life->phase("EPs");
	pair_check(dat_ep_create(life->node.ia, life->node.pz, life->dto, life->bound,
				 life->active_end, NULL, &life->active),
		   "dat_ep_create");
	pair_check(dat_ep_create(life->node.ia, life->node.pz, life->dto, life->dto,
				 life->passive_end, NULL, &life->spare),
		   "dat_ep_create");
	pair_check(dat_ep_query(life->spare, DAT_EP_FIELD_ALL, &param), "dat_ep_query");
	attr = param.ep_attr;
	pair_check(dat_ep_create_with_srq(life->node.ia, life->node.pz, life->dto, life->dto,
					  life->passive_end, life->srq, &attr, &life->passive),
		   "dat_ep_create_with_srq");
	pair_check(dat_ep_set_watermark(life->passive, 1, DAT_HW_DEFAULT), "dat_ep_set_watermark");
}

static DAT_CR_HANDLE ask_oneself(struct life *life)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	pair_check(dat_ep_connect(life->active, (DAT_IA_ADDRESS_PTR)&here, QUALIFIER,
				  DAT_TIMEOUT_INFINITE, sizeof(hello), hello, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   "dat_ep_connect");
	pair_check(dat_cno_wait(life->cno, DAT_TIMEOUT_INFINITE, &evd), "dat_cno_wait");
	event = expect_event(life->requests, DAT_CONNECTION_REQUEST_EVENT);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

static void connect_to_oneself(struct life *life)
{
	life->phase("a connection turned down");
	pair_check(dat_cr_reject(ask_oneself(life)), "dat_cr_reject");
	expect_event(life->active_end, DAT_CONNECTION_EVENT_PEER_REJECTED);
	pair_check(dat_ep_reset(life->active), "dat_ep_reset");
	life->phase("a connection to itself");
	pair_check(dat_cr_accept(ask_oneself(life), life->passive, sizeof(hello), hello),
		   "dat_cr_accept");
	expect_event(life->active_end, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_event(life->passive_end, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void send_to_oneself(struct life *life)
{
	DAT_LMR_TRIPLET segment = pair_segment(&life->node, RECEIVES);

	life->phase("Sends to itself");
	for (DAT_UINT64 i = 0; i < 3; i++) {
		pair_check(dat_ep_post_send(life->active, 1, &segment,
					    (DAT_DTO_COOKIE){ .as_64 = i },
					    DAT_COMPLETION_DEFAULT_FLAG),
			   "dat_ep_post_send");
		expect_dto(life->dto, i);
		expect_dto(life->bound, i);
	}
	expect_event(life->node.async, DAT_ASYNC_SRQ_LOW_WATERMARK);
}

static void write_to_oneself(struct life *life)
{
	DAT_LMR_TRIPLET segment = pair_segment(&life->node, 1);
	DAT_RMR_TRIPLET window = { .target_address = segment.virtual_address,
				   .segment_length = segment.segment_length };
	DAT_RMR_COOKIE bind = { .as_64 = 77 };

	life->phase("a bind, an RDMA Write and a Read");
	pair_check(dat_rmr_bind(life->rmr, &segment, DAT_MEM_PRIV_ALL_FLAG, life->active, bind,
				DAT_COMPLETION_DEFAULT_FLAG, &window.rmr_context),
		   "dat_rmr_bind");
	expect_event(life->bound, DAT_RMR_BIND_COMPLETION_EVENT);
	segment = pair_segment(&life->node, RECEIVES);
	pair_check(dat_ep_post_rdma_write(life->passive, 1, &segment,
					  (DAT_DTO_COOKIE){ .as_64 = 8 }, &window,
					  DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_rdma_write");
	expect_dto(life->dto, 8);
	pair_check(dat_ep_post_rdma_read(life->passive, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = 9 },
					 &window, DAT_COMPLETION_DEFAULT_FLAG),
		   "dat_ep_post_rdma_read");
	expect_dto(life->dto, 9);
}

static void visit_server(struct life *life)
{
	struct peer *peer = &life->peer;

	peer->node = life->node;
	peer->dto = life->dto;
	peer->connect = life->active_end;
	pair_check(dat_ep_create(peer->node.ia, peer->node.pz, peer->dto, peer->dto, peer->connect,
				 NULL, &peer->ep),
		   "dat_ep_create");
	life->phase("a connection to the server");
	peer_connect(peer);
	life->phase("questions to it");
	peer_ask(peer);
	peer_ask(peer);
}

static void end_connections(struct life *life)
{
	life->phase("a connection to the server that ends");
	pair_check(dat_ep_disconnect(life->peer.ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
	expect_event(life->active_end, DAT_CONNECTION_EVENT_DISCONNECTED);
	life->phase("one to itself that breaks");
	pair_check(dat_ep_disconnect(life->active, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
	expect_event(life->active_end, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_event(life->passive_end, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void end(struct life *life)
{
	life->phase("the end of EPs, RMR, SRQ and PSP");
	pair_check(dat_ep_free(life->peer.ep), "dat_ep_free");
	pair_check(dat_ep_free(life->active), "dat_ep_free");
	pair_check(dat_ep_free(life->passive), "dat_ep_free");
	pair_check(dat_ep_free(life->spare), "dat_ep_free");
	pair_check(dat_rmr_free(life->rmr), "dat_rmr_free");
	pair_check(dat_srq_free(life->srq), "dat_srq_free");
	pair_check(dat_psp_free(life->psp), "dat_psp_free");
	life->phase("the end of EVDs");
	pair_check(dat_evd_free(life->requests), "dat_evd_free");
	pair_check(dat_evd_free(life->active_end), "dat_evd_free");
	pair_check(dat_evd_free(life->passive_end), "dat_evd_free");
	pair_check(dat_evd_free(life->dto), "dat_evd_free");
	pair_check(dat_evd_free(life->bound), "dat_evd_free");
	pair_check(dat_cno_free(life->cno), "dat_cno_free");
	life->phase("the end of the adapter");
	pair_close(&life->node);
}

void victim_live(void (*phase)(const char *name))
{
	static struct life life;

	life = (struct life){ .phase = phase };
	phase("an adapter, a PZ, an LMR");
	pair_open(&life.node, "emu0", RECEIVES + 2);
	make_queues(&life);
	make_eps(&life);
	connect_to_oneself(&life);
	send_to_oneself(&life);
	write_to_oneself(&life);
	visit_server(&life);
	end_connections(&life);
	end(&life);
	phase("nothing more");
}
