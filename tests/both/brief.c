/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * brief server | client - a uDAPL server that disconnects before its client, of librdmacm, has
 * heard that it accepts. The client says what it hears.
 */
#include <arpa/inet.h>
#include <dat/udat.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUALIFIER  7701
#define LATENCY_US 1000 /* of the fabric */

static void need(int good, const char *what)
{
	if (good)
		return;
	printf("brief: %s failed\n", what);
	exit(1);
}

/* ---- the server ---- */

static void must(DAT_RETURN ret, const char *what)
{
	need(ret == DAT_SUCCESS, what);
}

static DAT_EVENT await_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event;
	DAT_COUNT more;

	need(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more) == DAT_SUCCESS &&
		     event.event_number == number,
	     "dat_evd_wait");
	return event;
}

static void be_server(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd, dto;
	char name[] = "emu0";
	DAT_CR_HANDLE cr;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	must(dat_ia_open(name, 8, &async, &ia), "dat_ia_open");
	must(dat_pz_create(ia, &pz), "dat_pz_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			    &evd),
	     "dat_evd_create");
	must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &dto), "dat_evd_create");
	must(dat_ep_create(ia, pz, dto, dto, evd, NULL, &ep), "dat_ep_create");
	must(dat_psp_create(ia, QUALIFIER, evd, DAT_PSP_CONSUMER_FLAG, &psp), "dat_psp_create");
	event = await_event(evd, DAT_CONNECTION_REQUEST_EVENT);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	must(dat_cr_accept(cr, ep, 0, NULL), "dat_cr_accept");
	/* The answer is half way. */
	need(DAT_GET_TYPE(dat_evd_wait(evd, LATENCY_US / 2, 1, &event, &more)) ==
		     DAT_TIMEOUT_EXPIRED,
	     "a wait for nothing");
	must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "dat_ep_disconnect");
	(void)await_event(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), "dat_ia_close");
}

/* ---- the client ---- */

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;

static void await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	need(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
	puts(rdma_event_str(event->event));
	need(event->event == type, "the event");
	rdma_ack_cm_event(event);
}

static void send_one(struct ibv_cq *cq)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	need(ibv_post_send(id->qp, &wr, &bad) == 0, "ibv_post_send");
	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	puts(ibv_wc_status_str(wc.status));
}

static void be_client(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(QUALIFIER) };
	struct ibv_qp_init_attr init = { .cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_pd *pd;

	inet_pton(AF_INET, "198.18.0.1", &to.sin_addr);
	channel = rdma_create_event_channel();
	need(channel && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	need(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000) == 0, "rdma_resolve_addr");
	await(RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(id, 1000) == 0, "rdma_resolve_route");
	await(RDMA_CM_EVENT_ROUTE_RESOLVED);
	pd = ibv_alloc_pd(id->verbs);
	init.send_cq = init.recv_cq = ibv_create_cq(id->verbs, 8, NULL, NULL, 0);
	need(pd && init.send_cq && rdma_create_qp(id, pd, &init) == 0, "rdma_create_qp");
	need(rdma_connect(id, &param) == 0, "rdma_connect");
	await(RDMA_CM_EVENT_ESTABLISHED);
	send_one(init.send_cq);
	await(RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(id);
	ibv_destroy_cq(init.send_cq);
	ibv_dealloc_pd(pd);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "server") == 0) {
		be_server();
	} else if (argc == 2 && strcmp(argv[1], "client") == 0) {
		be_client();
	} else {
		fputs("usage: brief server | client\n", stderr);
		return 2;
	}
	return 0;
}
